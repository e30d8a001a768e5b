//! The search for a planted text in what leaves a run.

/// The text itself, in hexadecimal and in base 64 at each alignment.
pub fn disguises(text: &str) -> Vec<Vec<u8>> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let hex: String = text.bytes().map(|b| format!("{b:02x}")).collect();
    let base64 = (0..3).map(|skip| {
        let group = |c: &[u8]| u32::from(c[0]) << 16 | u32::from(c[1]) << 8 | u32::from(c[2]);
        let digits = |n: u32| [18, 12, 6, 0].map(|shift| DIGITS[(n >> shift) as usize & 63]);
        text.as_bytes()[skip..].chunks_exact(3).flat_map(|c| digits(group(c))).collect::<Vec<u8>>()
    });
    [text.as_bytes().to_vec(), hex.clone().into_bytes(), hex.to_uppercase().into_bytes()]
        .into_iter()
        .chain(base64)
        .collect()
}

/// Whether no disguise of the marker occurs, in upper or lower case.
///
/// # Errors
/// Names the place where one does.
pub fn is_absent(marker: &str, place: &str, haystack: &[u8]) -> Result<(), String> {
    let haystack = haystack.to_ascii_lowercase();
    for needle in disguises(marker) {
        let needle = needle.to_ascii_lowercase();
        if haystack.windows(needle.len()).any(|window| window == needle) {
            return Err(format!("{marker} shows in {place}"));
        }
    }
    Ok(())
}
