//! Plain decimal numbers such as `-12.345`, read eight bytes at a time.

/// Bytes that must stand behind every position that is read from.
pub(crate) const PADDING: usize = 16;

/// Exact powers of ten: a quotient of two exact numbers is rounded once.
const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

const ONES: u64 = u64::MAX / 255;
const TOPS: u64 = ONES << 7;

/// A number and the index of the comma or newline right behind it, for text of the form `-?[0-9]*(\.[0-9]*)?` with at
/// least one digit and at most 15 bytes; `None` for any other text, which says nothing about whether it is a number.
///
/// The value is the one that [`str::parse`] gives: digits make an integer below 10^15 < 2^53 and the power of ten is at
/// most 10^15 < 10^22, both exact in f64, so their quotient is the correctly rounded value (Clinger 1990).
#[inline(always)]
pub(crate) fn plain_decimal(text: &[u8], at: usize) -> Option<(f64, usize)> {
    let short = u64::from_le_bytes(text.get(at..at + 8)?.try_into().ok()?);
    if let Some(length) = separator(short) {
        return Some((short_decimal(short, length)?, at + length as usize));
    }
    let rest = u64::from_le_bytes(text.get(at + 8..at + 16)?.try_into().ok()?);
    let length = 8 + separator(rest)?;
    Some((long_decimal(u128::from(rest) << 64 | u128::from(short), length)?, at + length as usize))
}

/// The number between `at` and `stop`, in the form and with the value of [`plain_decimal`], wherever something else than a separator ends it.
#[inline(always)]
pub(crate) fn enclosed_decimal(text: &[u8], at: usize, stop: usize) -> Option<f64> {
    let eight = |at: usize| Some(u64::from_le_bytes(*text.get(at..)?.first_chunk()?));
    match stop - at {
        length @ 1..=7 => short_decimal(eight(at)?, length as u32),
        length @ 8..=15 => long_decimal(u128::from(eight(at + 8)?) << 64 | u128::from(eight(at)?), length as u32),
        _ => None,
    }
}

/// Index of the first comma or newline at or after `at`, if it stands within the eight bytes from there.
#[inline(always)]
pub(crate) fn near_separator(text: &[u8], at: usize) -> Option<usize> {
    let eight = text.get(at..)?.first_chunk()?;
    Some(at + separator(u64::from_le_bytes(*eight))? as usize)
}

/// Number of bytes before the first comma or newline.
#[inline(always)]
fn separator(text: u64) -> Option<u32> {
    let ends = zeros(text ^ (ONES * u64::from(b','))) | zeros(text ^ (ONES * u64::from(b'\n')));
    (ends != 0).then(|| ends.trailing_zeros() / 8)
}

/// The top bit of every byte up to the first that is zero is clear, that of the first zero byte is set.
#[inline(always)]
fn zeros(x: u64) -> u64 {
    x.wrapping_sub(ONES) & !x & TOPS
}

/// The number in the first `length` bytes, at most seven.
#[inline(always)]
fn short_decimal(text: u64, length: u32) -> Option<f64> {
    let negative = u32::from(text as u8 == b'-');
    let (text, length) = (text >> (8 * negative), length - negative);
    // Where there is no point, the end of the number stands in for it, and what is behind is shifted out below.
    let points = zeros(text ^ (ONES * u64::from(b'.'))) | 0x80 << (8 * length);
    let point = points.trailing_zeros() / 8;
    let pointed = u32::from(point < length);
    let before = (1 << (8 * point)) - 1;
    let digits = text & before | (text >> 8) & !before;
    let count = length - pointed;
    if count == 0 {
        return None;
    }
    let digits = (digits ^ (ONES * u64::from(b'0'))) << (64 - 8 * count);
    let value = eight_digits(digits)? as f64 / POWERS[(length - point - pointed) as usize & 15];
    Some(f64::from_bits(value.to_bits() | u64::from(negative) << 63))
}

/// The number in the first `length` bytes, at most fifteen.
#[inline(always)]
fn long_decimal(text: u128, length: u32) -> Option<f64> {
    const WIDE: u128 = u128::MAX / 255;
    let negative = u32::from(text as u8 == b'-');
    let (text, length) = (text >> (8 * negative), length - negative);
    let x = text ^ (WIDE * b'.' as u128);
    let points = x.wrapping_sub(WIDE) & !x & (WIDE << 7) | 0x80 << (8 * length);
    let point = points.trailing_zeros() / 8;
    let pointed = u32::from(point < length);
    let before = (1 << (8 * point)) - 1;
    let digits = text & before | (text >> 8) & !before;
    let count = length - pointed;
    if count == 0 {
        return None;
    }
    let digits = (digits ^ (WIDE * b'0' as u128)) << (128 - 8 * count);
    let integer = eight_digits(digits as u64)? * 100_000_000 + eight_digits((digits >> 64) as u64)?;
    let value = integer as f64 / POWERS[(length - point - pointed) as usize & 15];
    Some(f64::from_bits(value.to_bits() | u64::from(negative) << 63))
}

/// Eight values 0 to 9, the most significant in the lowest byte, as one integer; `None` if one is above 9.
#[inline(always)]
fn eight_digits(digits: u64) -> Option<u64> {
    // A byte above 9 gets its top bit set by adding 0x76, or has it set already.
    if (digits.wrapping_add(ONES * 0x76) | digits) & TOPS != 0 {
        return None;
    }
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(cell: &[u8], end: u8, behind: &[u8]) -> Option<(f64, usize)> {
        let mut text = b"??".to_vec();
        text.extend_from_slice(cell);
        text.push(end);
        text.extend_from_slice(behind);
        text.extend_from_slice(&[b'\n'; PADDING]);
        plain_decimal(&text, 2)
    }

    fn agrees(cell: &[u8], behind: &[u8]) {
        for end in [b',', b'\n'] {
            if let Some((value, stop)) = read(cell, end, behind) {
                let expected: f64 = std::str::from_utf8(cell).unwrap().parse().unwrap();
                assert_eq!(value.to_bits(), expected.to_bits(), "{cell:?}");
                assert_eq!(stop, 2 + cell.len());
            }
        }
    }

    #[test]
    fn plain_numbers_are_read_and_others_left_alone() {
        for plain in
            ["0", "-0", "7", "1.", ".5", "-.5", "-1.25", "1234567", "-123.456", "123456789012345", "-0.000000000001"]
        {
            agrees(plain.as_bytes(), b"9.9,1");
            assert!(read(plain.as_bytes(), b',', b"9").is_some(), "{plain}");
        }
        for other in [
            "",
            "-",
            ".",
            "-.",
            "--1",
            "+1",
            "1..2",
            " 1",
            "1 ",
            "1e5",
            "inf",
            "nan",
            "1\r",
            "1234567890123456",
            "\u{ff11}",
        ] {
            assert!(read(other.as_bytes(), b'\n', b"5").is_none(), "{other}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn numbers_have_the_value_of_the_standard_parser(
            sign in "-?", digits in "[0-9]{0,15}", point in 0usize..20, behind in "[0-9.,\n-]{0,9}",
        ) {
            let mut cell = digits.clone();
            if point <= digits.len() { cell.insert(point, '.'); }
            let cell = format!("{sign}{cell}");
            agrees(cell.as_bytes(), behind.as_bytes());
            prop_assert_eq!(read(cell.as_bytes(), b',', b"").is_some(), !digits.is_empty() && cell.len() <= 15);
        }

        #[test]
        fn no_other_text_is_taken_for_a_number(
            cell in proptest::collection::vec(prop_oneof![
                5 => proptest::sample::select(b"0123456789.-+ e".to_vec()), 1 => any::<u8>()], 0..17),
        ) {
            prop_assume!(!cell.contains(&b',') && !cell.contains(&b'\n'));
            agrees(&cell, b"1");
        }
    }
}
