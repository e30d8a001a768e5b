//! Huber loss.

use serde::{Deserialize, Serialize};

use super::approx::between;
use super::{BoundedLoss, Curved, Loss, Tuning, WhitenedTuning};
use crate::grid::Scoring;

/// `l(t, y) = r^2 / 2` for `|r| <= k` and `k |r| - k^2 / 2` beyond, `r = t - y`: k-Lipschitz and 1-smooth in `t`.
///
/// Reference: Huber 1964.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Huber {
    /// `k`, where the loss turns from quadratic to linear, in units of the label; positive.
    pub threshold: f64,
}

impl Loss for Huber {
    fn value(&self, margin: f64, label: f64) -> f64 {
        let r = (margin - label).abs();
        if r <= self.threshold { 0.5 * r * r } else { self.threshold * (r - 0.5 * self.threshold) }
    }

    #[inline(always)]
    fn slope(&self, margin: f32, label: f32) -> f32 {
        between(margin - label, -self.threshold as f32, self.threshold as f32)
    }

    fn lipschitz(&self) -> f64 {
        self.threshold
    }

    fn smoothness(&self) -> f64 {
        1.0
    }

    fn tuning(&self) -> Tuning {
        let whitened = WhitenedTuning::numbers(1.0);
        Tuning { step: 2.0, clip: [0.36, 0.15, 3.0], whitened, scoring: Scoring::Number, loss_cap: Some(2.0) }
    }

    fn prediction(&self, margin: f64) -> f64 {
        margin
    }

    fn reported(&self, margin: f64, label: f64) -> f64 {
        self.value(margin, label)
    }

    fn metric(&self) -> &'static str {
        "huber_loss"
    }

    fn curved(&self) -> Option<Curved> {
        None
    }

    fn bounded(&self) -> Option<BoundedLoss> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_is_the_derivative_and_the_constants_hold() {
        for threshold in [0.25, 1.345, 3.0] {
            crate::loss::check::holds(&Huber { threshold }, &[-1.5, 0.0, 0.7], 8.0);
        }
    }
}
