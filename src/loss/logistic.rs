//! Logistic loss.

use super::approx::exp;
use super::{BoundedLoss, Curved, Loss, Tuning, WhitenedTuning};
use crate::grid::Scoring;

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

    fn lipschitz(&self) -> f64 {
        1.0
    }

    fn smoothness(&self) -> f64 {
        0.25
    }

    fn tuning(&self) -> Tuning {
        // A little above 1/4 where the Gram matrix cut long rows: a rate of 6 is stable, 7 is not always.
        let whitened = WhitenedTuning { steps: 16, momentum: 0.3, averaged: true, ..WhitenedTuning::labels(6.0) };
        Tuning { step: 8.0, clip: [0.15, 0.15, 0.6], whitened, scoring: Scoring::Label, loss_cap: Some(4.0) }
    }

    fn prediction(&self, margin: f64) -> f64 {
        margin
    }

    fn reported(&self, margin: f64, label: f64) -> f64 {
        self.value(margin, label)
    }

    fn metric(&self) -> &'static str {
        "log_loss"
    }

    fn curved(&self) -> Option<Curved> {
        Some(Curved::Logistic)
    }

    fn bounded(&self) -> Option<BoundedLoss> {
        Some(BoundedLoss::Logistic)
    }
}

impl Logistic {
    /// `d^2l/dt^2` in single precision, never negative; pure like [`Loss::slope`], and its error harmless to privacy.
    #[inline(always)]
    pub fn curvature(self, margin: f32) -> f32 {
        let probability = 1.0 / (1.0 + exp(-margin));
        probability * (1.0 - probability)
    }

    /// Probability of label 1, `1 / (1 + e^-t)`.
    pub fn probability(margin: f64) -> f64 {
        1.0 / (1.0 + (-margin).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_is_the_derivative_and_the_constants_hold() {
        crate::loss::check::holds(&Logistic, &[0.0, 1.0], 20.0);
        for t in (-400..=400).map(|i| f64::from(i) * 0.05) {
            let value = |t: f64| Logistic.value(t, 1.0);
            let bend = (value(t + 1e-3) - 2.0 * value(t) + value(t - 1e-3)) / 1e-6;
            assert!((bend - f64::from(Logistic.curvature(t as f32))).abs() < 1e-6, "t={t}");
        }
    }
}
