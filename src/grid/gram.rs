//! The integers of a Gram matrix: how rows are rounded, and how entries are weighted.

/// Largest multiplier of a row.
pub const GRAM_MULTIPLIER: u64 = 127;

/// The weight of a person in a Gram matrix: each of its `k` rows counts `floor(PERSON_WEIGHT / k)` times.
pub const PERSON_WEIGHT: u64 = 1 << 12;

/// Rows are rounded to multiples of `2^5` first: a thirty-second of a percent of the full scale is far below the
/// noise of any Gram matrix, and keeps products small.
const SHIFT: u32 = 5;

/// Integer weights of diagonal and off-diagonal entries: their ratio is just below the root of two, so that the
/// norm of the released vector is at most [`DIAGONAL`] times the Frobenius norm of the matrix.
pub const DIAGONAL: u64 = 99;
/// See [`DIAGONAL`]; `140^2 <= 2 * 99^2`.
pub const OFF_DIAGONAL: u64 = 140;

/// The integer that stands for 1.0 in the rounded rows of a Gram matrix, for rows in which 1.0 stands as `one`.
pub fn gram_one(one: i16) -> i16 {
    coarse(one)
}

pub(crate) fn coarse(q: i16) -> i16 {
    ((i32::from(q) + (1 << (SHIFT - 1))) >> SHIFT) as i16
}

/// Calls `visit(index, row, column)` for the entries of the upper triangle in their order.
pub fn each_entry(dimension: usize, mut visit: impl FnMut(usize, usize, usize)) {
    let mut index = 0;
    for row in 0..dimension {
        for column in row..dimension {
            visit(index, row, column);
            index += 1;
        }
    }
}
