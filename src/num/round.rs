//! Outward rounding: widening a computed value by more than its error, and printing without shrinking.

/// The value moved up by `ulps` units in the last place; infinities and NaN stay.
pub fn up(value: f64, ulps: u32) -> f64 {
    (0..ulps).fold(value, |x, _| x.next_up())
}

/// The value moved down by `ulps` units in the last place; infinities and NaN stay.
pub fn down(value: f64, ulps: u32) -> f64 {
    (0..ulps).fold(value, |x, _| x.next_down())
}

/// A decimal with at most `digits` significant digits that reads back as a number not below `value`.
///
/// Infinity prints as `inf` and NaN as `nan`.
pub fn decimal_up(value: f64, digits: u32) -> String {
    if !value.is_finite() {
        return if value.is_nan() {
            "nan".into()
        } else if value > 0.0 {
            "inf".into()
        } else {
            "-inf".into()
        };
    }
    let digits = digits.clamp(1, 17) as usize;
    let mut text = format!("{:.*e}", digits - 1, value);
    // A nearest decimal is at most half a unit below, so one unit up is enough; the bump itself is exact.
    if text.parse::<f64>().is_ok_and(|back| back < value) {
        text = bump(&text, value > 0.0);
    }
    unscientific(&text)
}

/// A decimal with at most `digits` significant digits that reads back as a number not above `value`.
pub fn decimal_down(value: f64, digits: u32) -> String {
    // The mirror image of rounding up.
    let text = decimal_up(-value, digits);
    match text.strip_prefix('-') {
        Some(positive) => positive.into(),
        None if text == "0" || text == "nan" => text,
        None => format!("-{text}"),
    }
}

/// Adds one unit in the last printed digit of `d.ddde±x` (towards plus infinity).
fn bump(text: &str, positive: bool) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let mut exponent: i32 = exponent.parse().unwrap_or(0);
    let unsigned = mantissa.trim_start_matches('-');
    let places = unsigned.split_once('.').map_or(0, |(_, f)| f.len());
    let digits: u64 = unsigned.replace('.', "").parse().unwrap_or(0);
    let mut next = if positive { digits + 1 } else { digits.saturating_sub(1) };
    if next.to_string().len() > places + 1 {
        next /= 10;
        exponent += 1;
    }
    let padded = format!("{next:0width$}", width = places + 1);
    let (head, tail) = padded.split_at(1);
    let sign = if positive { "" } else { "-" };
    if tail.is_empty() { format!("{sign}{head}e{exponent}") } else { format!("{sign}{head}.{tail}e{exponent}") }
}

/// Writes `d.ddde±x` without an exponent when it is short, dropping trailing zeros.
fn unscientific(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let places = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i64);
    format!("{sign}{}", plain(&mantissa.replace('.', ""), exponent - places))
}

/// Writes the integer `digits` times `10^power` for people: no trailing zeros, an exponent only when long.
pub(super) fn plain(digits: &str, power: i64) -> String {
    let significant = digits.trim_start_matches('0');
    let exponent = significant.len() as i64 - 1 + power;
    let digits = significant.trim_end_matches('0');
    if digits.is_empty() {
        return "0".into();
    }
    if !(-5..=15).contains(&exponent) {
        let (head, tail) = digits.split_at(1);
        let point = if tail.is_empty() { "" } else { "." };
        return format!("{head}{point}{tail}e{exponent}");
    }
    if exponent < 0 {
        return format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize));
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return format!("{digits}{}", "0".repeat(whole - digits.len()));
    }
    format!("{}.{}", &digits[..whole], &digits[whole..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn never_prints_below() {
        assert_eq!(decimal_up(1.3049, 3), "1.31");
        assert_eq!(decimal_up(0.25, 6), "0.25");
        assert_eq!(decimal_up(9.9999, 3), "10");
        assert_eq!(decimal_up(1e-6, 3), "1e-6");
        assert_eq!(decimal_up(0.0, 3), "0");
        assert_eq!(decimal_up(-1.3049, 3), "-1.3");
        assert_eq!(decimal_up(f64::INFINITY, 3), "inf");
        assert_eq!(decimal_up(123456.0, 3), "124000");
    }

    #[test]
    fn rounding_down_mirrors_rounding_up() {
        assert_eq!(decimal_down(1.3049, 3), "1.3");
        assert_eq!(decimal_down(6.297_775_325, 7), "6.297775");
        assert_eq!(decimal_down(-1.3049, 3), "-1.31");
        assert_eq!(decimal_down(0.0, 3), "0");
        assert_eq!(decimal_down(f64::INFINITY, 3), "inf");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100_000))]
        #[test]
        fn reads_back_at_or_above(bits in any::<u64>(), digits in 1u32..18) {
            let x = f64::from_bits(bits);
            prop_assume!(x.is_finite());
            let back: f64 = decimal_up(x, digits).parse().unwrap();
            prop_assert!(back >= x);
            prop_assert!(back <= x + 10f64.powi(1 - digits as i32) * x.abs() * 1.001 + 1e-322);
        }
    }
}
