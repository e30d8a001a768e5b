//! Slopes in fixed point: integers with a proved error, for certificates that floating point could not give.

/// Fixed-point numbers here are integers over `2^62`.
pub const FRACTION_BITS: u32 = 62;

/// 1.0.
const ONE: i128 = 1 << FRACTION_BITS;

/// No slope of [`FixedSlope`] is further from the exact one than this many units of `2^-62`.
pub const SLOPE_ERROR: u64 = 16;

/// `floor(2^70 ln 2)`.
const LN_2: i128 = 818_323_753_292_969_962_226;

/// Terms of the exponential series: `0.7^21 / 21! < 2^-62`.
const TERMS: usize = 21;

/// `floor(2^62 / n!)`.
const INVERSE_FACTORIALS: [i128; TERMS] = {
    let mut table = [ONE; TERMS];
    let mut n = 1;
    while n < TERMS {
        // Dividing a floor again gives the floor of the quotient by the product.
        table[n] = table[n - 1] / n as i128;
        n += 1;
    }
    table
};

/// A convex loss of the margin whose slope lies in `[-1, 1]` and has a fixed-point form with a proved error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundedLoss {
    /// Slope `1 / (1 + e^-t) - y`, the label moved into {0, 1}.
    Logistic,
    /// Huber's loss with slope `clamp(t - y, -1, 1)`.
    Huber,
}

impl BoundedLoss {
    /// An upper bound on the second derivative, in quarters.
    pub fn smoothness_quarters(self) -> u64 {
        match self {
            BoundedLoss::Logistic => 1,
            BoundedLoss::Huber => 4,
        }
    }
}

/// The slope of a [`BoundedLoss`] in fixed point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedSlope {
    loss: BoundedLoss,
    /// What an encoded label of 1 stands for, over `2^62`.
    label_unit: i128,
}

impl FixedSlope {
    /// The slope of a loss; `label_scale` is what an encoded label of 1 stands for.
    pub fn new(loss: BoundedLoss, label_scale: f64) -> Self {
        // Labels are at most 2^15, so no product overflows; a scale that is no number becomes zero.
        let bounded = label_scale.clamp(-1e9, 1e9);
        FixedSlope { loss, label_unit: (bounded * ONE as f64) as i128 }
    }

    /// The slope at a margin over `2^62`, within [`SLOPE_ERROR`] of the exact one and never outside `[-1, 1]`.
    pub fn at(&self, margin: i128, label: i16) -> i64 {
        let slope = match self.loss {
            BoundedLoss::Logistic => sigmoid(margin) - i128::from(label.clamp(0, 1)) * ONE,
            BoundedLoss::Huber => margin.saturating_sub(i128::from(label) * self.label_unit),
        };
        slope.clamp(-ONE, ONE) as i64
    }

    /// The second derivative in floating point, for search directions only.
    pub fn curvature(&self, margin: i128, label: i16) -> f64 {
        match self.loss {
            BoundedLoss::Logistic => {
                let t = margin as f64 / ONE as f64;
                let p = 1.0 / (1.0 + (-t.abs()).exp());
                p * (1.0 - p)
            }
            BoundedLoss::Huber => {
                let residual = margin.saturating_sub(i128::from(label) * self.label_unit);
                if residual.saturating_abs() < ONE { 1.0 } else { 0.0 }
            }
        }
    }
}

/// `1 / (1 + e^-t)` over `2^62`, within 11 units.
fn sigmoid(margin: i128) -> i128 {
    let small = exp_minus(margin.saturating_abs());
    // e^-a / (1 + e^-a); its derivative in e^-a is at most 1, and the quotient is floored.
    let tail = (small << FRACTION_BITS) / (ONE + small);
    if margin < 0 { tail } else { ONE - tail }
}

/// `e^-a` over `2^62` for `a >= 0`, within 9 units.
///
/// With `a = k ln 2 + r`, `0 <= r < ln 2`: the reduction errs by at most `k 2^-70 < 2^-63` and the floor of r by one
/// unit. In Horner's rule every step errs by one unit for the floor of a product and one for its coefficient and
/// multiplies what it got by r, so the series errs by at most `2 / (1 - ln 2) < 6.6` units. Beyond `a = 44` the value is
/// below one unit.
fn exp_minus(a: i128) -> i128 {
    if a >= 44 * ONE {
        return 0;
    }
    let wide = a << 8;
    let halvings = wide / LN_2;
    let r = (wide - halvings * LN_2) >> 8;
    let series = INVERSE_FACTORIALS.iter().rev().fold(0, |sum, term| term - ((sum * r) >> FRACTION_BITS));
    series >> halvings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(t: f64) -> i128 {
        (t * ONE as f64) as i128
    }

    #[test]
    fn exponentials_multiply() {
        // e^-a e^-b = e^-(a+b) needs no other library; each side errs by at most 9 units.
        for i in 0..300i128 {
            for j in 0..40i128 {
                let (a, b) = (i * (ONE / 13) + i, j * (ONE / 7) + 3);
                let product = (exp_minus(a) * exp_minus(b)) >> FRACTION_BITS;
                assert!((product - exp_minus(a + b)).abs() <= 28, "{i} {j}");
            }
        }
        // floor(2^62 e^-1), from the decimal expansion of 1/e.
        assert!((exp_minus(ONE) - 1_696_544_475_317_221_318).abs() <= 9, "{}", exp_minus(ONE));
        assert_eq!(exp_minus(0), ONE);
    }

    #[test]
    fn slopes_are_those_of_the_losses() {
        let logistic = FixedSlope::new(BoundedLoss::Logistic, 1.0);
        for i in -5000..=5000 {
            let t = f64::from(i) / 64.0;
            let truth = 1.0 / (1.0 + (-t).exp());
            for label in [0, 1] {
                let slope = logistic.at(fixed(t), label) as f64 / ONE as f64;
                assert!((slope - (truth - f64::from(label))).abs() < 4e-16, "{t}");
            }
            assert!(logistic.at(fixed(t), 0) >= logistic.at(fixed(t) - 64, 0) - 32);
        }
        let huber = FixedSlope::new(BoundedLoss::Huber, 0.5);
        for (t, label, slope) in [(0.25, 1, -0.25), (9.0, 1, 1.0), (-9.0, 1, -1.0), (0.5, 1, 0.0)] {
            assert_eq!(huber.at(fixed(t), label) as f64 / ONE as f64, slope);
        }
    }

    #[test]
    fn extremes_stay_in_range() {
        for loss in [BoundedLoss::Logistic, BoundedLoss::Huber] {
            for scale in [1.0, f64::NAN, f64::INFINITY, -1e300] {
                let slope = FixedSlope::new(loss, scale);
                for margin in [i128::MIN, i128::MAX, 0, 44 * ONE, 44 * ONE - 1] {
                    for label in [i16::MIN, 0, 1, i16::MAX] {
                        assert!(i128::from(slope.at(margin, label)).abs() <= ONE);
                        assert!((0.0..=1.0).contains(&slope.curvature(margin, label)));
                    }
                }
            }
        }
    }
}
