//! Logistic loss.

use super::Loss;

/// `l(t, y) = ln(1 + e^t) - y t` for a label `y` in {0, 1}: 1-Lipschitz and 1/4-smooth in `t`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Logistic;

impl Loss for Logistic {
    fn value(&self, margin: f64, label: f64) -> f64 {
        margin.max(0.0) + (-margin.abs()).exp().ln_1p() - label * margin
    }

    #[inline(always)]
    fn slope(&self, margin: f32, label: f32) -> f32 {
        1.0 / (1.0 + exp(-margin)) - label
    }

    #[inline(always)]
    fn curvature(&self, margin: f32) -> f32 {
        let probability = 1.0 / (1.0 + exp(-margin));
        probability * (1.0 - probability)
    }

    fn lipschitz(&self) -> f64 {
        1.0
    }

    fn smoothness(&self) -> f64 {
        0.25
    }
}

impl Logistic {
    /// Probability of label 1, `1 / (1 + e^-t)`.
    pub fn probability(margin: f64) -> f64 {
        1.0 / (1.0 + (-margin).exp())
    }
}

/// `e^x` with relative error below 3e-7 for `|x| <= 87`, clamped beyond; NaN stays NaN.
///
/// `x = n ln 2 + r` with `|r| <= ln(2)/2`, a degree-6 Taylor polynomial in `r`, and `n` added to the
/// exponent. Only additions, multiplications and bit moves: it vectorises, and without fused
/// operations it gives the same bits on every instruction set.
#[inline(always)]
fn exp(x: f32) -> f32 {
    const SHIFT: f32 = 12_582_912.0; // 1.5 * 2^23: adding it rounds to an integer
    let low = if x > 87.0 { 87.0 } else { x };
    let x = if low < -87.0 { -87.0 } else { low };
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
    fn slope_is_the_derivative_and_the_constants_hold() {
        for i in -400..=400 {
            let t = f64::from(i) * 0.05;
            for y in [0.0, 1.0] {
                let h = 1e-5;
                let numeric = (Logistic.value(t + h, y) - Logistic.value(t - h, y)) / (2.0 * h);
                let slope = f64::from(Logistic.slope(t as f32, y as f32));
                assert!((numeric - slope).abs() < 1e-6, "t={t} y={y}");
                assert!(slope.abs() <= Logistic.lipschitz());
                let bend =
                    (Logistic.value(t + 1e-3, y) - 2.0 * Logistic.value(t, y) + Logistic.value(t - 1e-3, y)) / 1e-6;
                assert!((bend - f64::from(Logistic.curvature(t as f32))).abs() < 1e-6, "t={t}");
                let next = f64::from(Logistic.slope((t + 0.05) as f32, y as f32));
                assert!(next - slope <= 0.05 * Logistic.smoothness() + 1e-6);
            }
        }
    }
}
