//! Looking at all of a release, its first and its last coordinate included.

/// Calls `look(index, one, other)` for each coordinate of two vectors of one length.
///
/// # Panics
/// Where there is none, or the lengths differ: a test that looks at nothing passes everything.
#[track_caller]
pub fn every_coordinate(one: &[i128], other: &[i128], mut look: impl FnMut(usize, i128, i128)) {
    assert!(!one.is_empty(), "there is nothing to look at");
    assert_eq!(one.len(), other.len(), "the lengths differ");
    one.iter().zip(other).enumerate().for_each(|(index, (a, b))| look(index, *a, *b));
}

/// Whether what is left of one release under two keys, once the noise that was paid for is taken off, is the same input.
///
/// Neighbours do not show a coordinate without noise: it moves between them no further than others.
///
/// # Errors
/// Names the first coordinate that has other noise than it was paid for, or none.
pub fn covered(first: &[i128], second: &[i128]) -> Result<(), String> {
    let mut bare = None;
    every_coordinate(first, second, |index, a, b| {
        if a != b && bare.is_none() {
            bare = Some(index);
        }
    });
    bare.map_or(Ok(()), |index| Err(format!("coordinate {index} has not its noise")))
}
