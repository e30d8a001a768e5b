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
    plain(&text)
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
fn plain(text: &str) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.replace('.', "");
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return "0".into();
    }
    let body = if !(-5..=15).contains(&exponent) {
        let (head, tail) = digits.split_at(1);
        if tail.is_empty() { format!("{head}e{exponent}") } else { format!("{head}.{tail}e{exponent}") }
    } else if exponent < 0 {
        format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize))
    } else {
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            format!("{digits}{}", "0".repeat(whole - digits.len()))
        } else {
            format!("{}.{}", &digits[..whole], &digits[whole..])
        }
    };
    format!("{sign}{body}")
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
