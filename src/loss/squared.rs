//! Squared loss.

use super::{BoundedLoss, Curved, Loss, Tuning, WhitenedTuning};
use crate::grid::Scoring;

/// `l(t, y) = (t - y)^2 / 2`: 1-smooth in `t`, Lipschitz only where margins are bounded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Squared;

impl Loss for Squared {
    fn value(&self, margin: f64, label: f64) -> f64 {
        0.5 * (margin - label) * (margin - label)
    }

    #[inline(always)]
    fn slope(&self, margin: f32, label: f32) -> f32 {
        margin - label
    }

    fn lipschitz(&self) -> f64 {
        f64::INFINITY
    }

    fn smoothness(&self) -> f64 {
        1.0
    }

    fn tuning(&self) -> Tuning {
        let whitened = WhitenedTuning { follows_labels: true, ..WhitenedTuning::numbers(1.0) };
        Tuning { step: 2.0, clip: [0.36, 0.15, 3.0], whitened, scoring: Scoring::Number, loss_cap: Some(2.0) }
    }

    fn prediction(&self, margin: f64) -> f64 {
        margin
    }

    fn reported(&self, margin: f64, label: f64) -> f64 {
        self.value(margin, label)
    }

    fn metric(&self) -> &'static str {
        "squared_error"
    }

    fn curved(&self) -> Option<Curved> {
        Some(Curved::Squared)
    }

    fn bounded(&self) -> Option<BoundedLoss> {
        // Its own slopes have no bound.
        Some(BoundedLoss::Huber)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_is_the_derivative_and_the_constants_hold() {
        crate::loss::check::holds(&Squared, &[-0.5, 0.0, 2.0], 8.0);
    }
}
