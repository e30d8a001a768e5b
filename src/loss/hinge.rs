//! Huberised hinge loss, the smooth loss of a linear support vector machine.

use serde::{Deserialize, Serialize};

use super::approx::between;
use super::{BoundedLoss, Curved, Loss, Tuning, WhitenedTuning};
use crate::grid::Scoring;

/// `l(t, y) = phi(s t)` with `s = 2y - 1` for a label `y` in {0, 1}, and `phi(z)` zero above `1 + h`, `1 - z` below
/// `1 - h`, and `(1 + h - z)^2 / (4h)` between: 1-Lipschitz and `1 / (2h)`-smooth in `t`.
///
/// Reference: Chapelle 2007; Chaudhuri, Monteleoni, Sarwate 2011, Section 4.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hinge {
    /// `h` in `(0, 1]`, half the width of the strip where the loss is quadratic.
    pub width: f64,
}

impl Loss for Hinge {
    fn value(&self, margin: f64, label: f64) -> f64 {
        let (z, h) = ((2.0 * label - 1.0) * margin, self.width);
        let inside = (1.0 - z).clamp(-h, h);
        (inside + h).powi(2) / (4.0 * h) + (1.0 - z - inside).max(0.0)
    }

    #[inline(always)]
    fn slope(&self, margin: f32, label: f32) -> f32 {
        let sign = 2.0 * label - 1.0;
        let half = (0.5 / self.width) as f32;
        -sign * between((1.0 - sign * margin) * half + 0.5, 0.0, 1.0)
    }

    fn lipschitz(&self) -> f64 {
        1.0
    }

    fn smoothness(&self) -> f64 {
        0.5 / self.width
    }

    fn tuning(&self) -> Tuning {
        let whitened = WhitenedTuning { momentum: 0.6, averaged: true, ..WhitenedTuning::labels(3.5 * self.width) };
        Tuning { step: 4.0, clip: [0.15, 0.15, 0.6], whitened, scoring: Scoring::Score, loss_cap: Some(4.0) }
    }

    fn prediction(&self, margin: f64) -> f64 {
        margin
    }

    fn reported(&self, margin: f64, label: f64) -> f64 {
        Hinge::unsmoothed(margin, label)
    }

    fn metric(&self) -> &'static str {
        "hinge_loss"
    }

    fn curved(&self) -> Option<Curved> {
        None
    }

    fn bounded(&self) -> Option<BoundedLoss> {
        None
    }
}

impl Hinge {
    /// The hinge loss without rounding, `max(0, 1 - s t)`, by which scores are measured.
    pub fn unsmoothed(margin: f64, label: f64) -> f64 {
        (1.0 - (2.0 * label - 1.0) * margin).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_is_the_derivative_and_the_constants_hold() {
        for width in [0.125, 0.5, 1.0] {
            crate::loss::check::holds(&Hinge { width }, &[0.0, 1.0], 6.0);
        }
    }
}
