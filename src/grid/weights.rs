//! Weights of rows as whole numbers, and the codes that they are kept by.

/// The largest weight of a row as a whole number: a row of weight `w` out of the largest `W` counts `v` times out of so many, `v` near
/// `w / W` of it.
///
/// With it what a row adds to a sum is a whole number of grid steps, and a row of a thousandth of the largest weight is told within 0.8% of
/// its own.
pub const WEIGHT_ONE: u64 = 1 << 16;

/// Weights below this many are told one by one, the others by so many steps between a power of two and the next.
const WHOLE: u32 = 256;

/// The number of weights that are told apart; each has a code below it, and none is the code of a weight of nothing.
pub const WEIGHT_LEVELS: u16 = (WHOLE + 8 * WHOLE) as u16;

/// The code of a weight that is `share` of the largest one; [`WEIGHT_LEVELS`] for one that counts for nothing, which is below half of
/// the smallest.
///
/// ```
/// use rhograd::grid::{WEIGHT_LEVELS, WEIGHT_ONE, weight_code, weight_of};
///
/// assert_eq!(weight_of(weight_code(1.0)), WEIGHT_ONE);
/// assert_eq!(weight_of(weight_code(0.5)), WEIGHT_ONE / 2);
/// assert_eq!(weight_code(1e-9), WEIGHT_LEVELS);
/// let third = weight_of(weight_code(1.0 / 3.0)) as f64 / WEIGHT_ONE as f64;
/// assert!((third * 3.0 - 1.0).abs() < 0.002);
/// ```
pub fn weight_code(share: f64) -> u16 {
    // A number that is none counts for nothing.
    let wanted = (share.clamp(0.0, 1.0) * WEIGHT_ONE as f64).round();
    if wanted.is_nan() || wanted < 1.0 {
        return WEIGHT_LEVELS;
    }
    let whole = wanted as u32;
    if whole < WHOLE {
        return (whole - 1) as u16;
    }
    let octave = whole.ilog2() - WHOLE.ilog2();
    // Nearest step; the last of an octave may be the first of the next.
    let step = (f64::from(whole) / f64::from(1u32 << octave)).round() as u32 - WHOLE;
    (WHOLE - 1 + octave * WHOLE + step) as u16
}

/// The weight that a code stands for, out of [`WEIGHT_ONE`]; zero for the code of nothing and those beyond.
pub fn weight_of(code: u16) -> u64 {
    let code = u32::from(code);
    if code >= u32::from(WEIGHT_LEVELS) {
        return 0;
    }
    match code.checked_sub(WHOLE - 1) {
        None => u64::from(code + 1),
        Some(above) => u64::from(WHOLE + above % WHOLE) << (above / WHOLE),
    }
}

/// The number of offsets that are told apart, evenly between their bounds; each has a code below it.
pub const OFFSET_LEVELS: u16 = 1024;

/// The code of an offset between its bounds, of the nearest that is told apart.
///
/// ```
/// use rhograd::grid::{offset_code, offset_of};
///
/// let bounds = (-2.0, 2.0);
/// assert!((offset_of(offset_code(0.7, bounds), bounds) - 0.7).abs() < 0.002);
/// assert_eq!(offset_of(offset_code(5.0, bounds), bounds), 2.0);
/// ```
pub fn offset_code(offset: f64, (lower, upper): (f64, f64)) -> u16 {
    // What is no number becomes 0, as a cast takes it.
    ((offset - lower) / (upper - lower) * f64::from(OFFSET_LEVELS - 1)).round().clamp(0.0, f64::from(OFFSET_LEVELS - 1))
        as u16
}

/// The offset that a code stands for.
pub fn offset_of(code: u16, (lower, upper): (f64, f64)) -> f64 {
    let share = f64::from(code.min(OFFSET_LEVELS - 1)) / f64::from(OFFSET_LEVELS - 1);
    // Both ends exactly.
    lower * (1.0 - share) + upper * share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_weights_ascend_together_up_to_the_largest() {
        let weights: Vec<u64> = (0..WEIGHT_LEVELS).map(weight_of).collect();
        assert!(weights.is_sorted_by(|a, b| a < b), "no two codes stand for one weight");
        assert_eq!((weights[0], *weights.last().unwrap()), (1, WEIGHT_ONE));
        for (code, weight) in (0..WEIGHT_LEVELS).zip(&weights) {
            assert_eq!(weight_code(*weight as f64 / WEIGHT_ONE as f64), code, "{weight}");
        }
        assert_eq!([WEIGHT_LEVELS, u16::MAX].map(weight_of), [0, 0]);
    }

    #[test]
    fn weights_are_near_what_they_stand_for_and_never_above_the_largest() {
        let shares = (0..200_000).map(|i| 1.0000001f64.powf(-f64::from(i) * 600.0));
        for share in shares.take_while(|share| *share > 0.9 / WEIGHT_ONE as f64) {
            let weight = weight_of(weight_code(share)) as f64 / WEIGHT_ONE as f64;
            let allowed = (share / 512.0).max(0.5 / WEIGHT_ONE as f64) * 1.01 + 0.5 / WEIGHT_ONE as f64;
            assert!((weight - share).abs() <= allowed && weight <= 1.0, "{share}: {weight}");
        }
        for share in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY, 1e-300, 0.49 / WEIGHT_ONE as f64] {
            assert_eq!(weight_of(weight_code(share)), 0, "{share}");
        }
        for share in [1.0, 1.5, f64::INFINITY, 0.9999999] {
            assert_eq!(weight_of(weight_code(share)), WEIGHT_ONE, "{share}");
        }
    }
}
