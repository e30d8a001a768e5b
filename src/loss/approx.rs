//! Single-precision functions that vectorise and give the same bits on every instruction set.

/// `x` moved into `low..=high`; NaN stays NaN.
#[inline(always)]
pub(super) fn between(x: f32, low: f32, high: f32) -> f32 {
    let x = if x > high { high } else { x };
    if x < low { low } else { x }
}

/// `e^x` with relative error below 3e-7 for `|x| <= 87`, clamped beyond; NaN stays NaN.
///
/// `x = n ln 2 + r` with `|r| <= ln(2)/2`, a degree-6 Taylor polynomial in `r`, and `n` added to the
/// exponent. Only additions, multiplications and bit moves: it vectorises, and without fused
/// operations it gives the same bits on every instruction set.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    const SHIFT: f32 = 12_582_912.0; // 1.5 * 2^23: adding it rounds to an integer
    let x = between(x, -87.0, 87.0);
    let shifted = x * std::f32::consts::LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    // ln 2 in two parts, the first with few bits so that n times it is exact.
    let r = (x - n * 0.693_359_4) + n * 2.121_944_4e-4;
    let tail = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0));
    let p = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * tail)));
    let power = (shifted.to_bits() as i32).wrapping_sub(SHIFT.to_bits() as i32);
    p * f32::from_bits((power.wrapping_add(127) << 23) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_accurate() {
        let mut worst: f64 = 0.0;
        for i in -870_000..=870_000 {
            let x = i as f32 * 1e-4;
            let truth = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) / truth - 1.0).abs());
        }
        assert!(worst < 3e-7, "{worst:e}");
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(f32::INFINITY).is_finite() && exp(f32::NEG_INFINITY) > 0.0);
    }

    #[test]
    fn values_between_stay() {
        assert_eq!([-3.0, -0.5, 3.0].map(|x| between(x, -1.0, 1.0)), [-1.0, -0.5, 1.0]);
        assert!(between(f32::NAN, -1.0, 1.0).is_nan());
    }
}
