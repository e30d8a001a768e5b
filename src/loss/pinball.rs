//! Smoothed pinball loss, whose minimiser is a conditional quantile.

use serde::{Deserialize, Serialize};

use super::approx::between;
use super::{BoundedLoss, Curved, Loss, Tuning, WhitenedTuning};
use crate::grid::Scoring;

/// `l(t, y)`, the mean over `s` uniform in `-h..h` of `max((1 - q)(r + s), -q (r + s))`, `r = t - y`.
///
/// Its slope runs linearly from `-q` at `r = -h` to `1 - q` at `r = h`: `max(q, 1 - q)`-Lipschitz and `1 / (2h)`-smooth
/// in `t`. Outside that strip it is the pinball loss itself. Where targets have density `f`, the share of them below
/// the minimiser misses `q` by about `h^2 f' / 6`.
///
/// Reference: Koenker and Bassett 1978; smoothing by convolution: Fernandes, Guerre, Horta 2021.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pinball {
    /// `q` in `(0, 1)`.
    pub level: f64,
    /// `h`, half the width of the smoothed strip, in units of the label; positive.
    pub width: f64,
}

impl Loss for Pinball {
    fn value(&self, margin: f64, label: f64) -> f64 {
        let (r, h) = (margin - label, self.width);
        let inside = r.clamp(-h, h);
        (inside + h).powi(2) / (4.0 * h) + (r - inside).max(0.0) - self.level * r
    }

    #[inline(always)]
    fn slope(&self, margin: f32, label: f32) -> f32 {
        between((margin - label) * (0.5 / self.width) as f32 + 0.5, 0.0, 1.0) - self.level as f32
    }

    fn lipschitz(&self) -> f64 {
        self.level.max(1.0 - self.level)
    }

    fn smoothness(&self) -> f64 {
        0.5 / self.width
    }

    fn tuning(&self) -> Tuning {
        // The narrow strip asks for short steps, and momentum would overshoot: outside it one side pulls harder.
        // Slopes are uneven, so a clip below them would move the level; the Lipschitz constant cuts this one.
        let whitened = WhitenedTuning { steps: 60, clip: [3.0; 3], ..WhitenedTuning::numbers(3.8 * self.width) };
        Tuning { step: 2.0, clip: [3.0; 3], whitened, scoring: Scoring::Quantile, loss_cap: Some(2.0) }
    }

    fn prediction(&self, margin: f64) -> f64 {
        margin
    }

    fn reported(&self, margin: f64, label: f64) -> f64 {
        Pinball::unsmoothed(self.level, margin, label)
    }

    fn metric(&self) -> &'static str {
        "pinball"
    }

    fn curved(&self) -> Option<Curved> {
        None
    }

    fn bounded(&self) -> Option<BoundedLoss> {
        None
    }
}

impl Pinball {
    /// The pinball loss without smoothing, `max(q (y - p), (1 - q)(p - y))`, by which predictions are measured.
    pub fn unsmoothed(level: f64, prediction: f64, target: f64) -> f64 {
        (level * (target - prediction)).max((1.0 - level) * (prediction - target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_is_the_derivative_and_the_constants_hold() {
        for level in [0.05, 0.5, 0.9] {
            for width in [0.125, 0.25, 1.0] {
                crate::loss::check::holds(&Pinball { level, width }, &[-1.5, 0.0, 0.75], 6.0);
            }
        }
    }

    #[test]
    fn outside_the_strip_it_is_the_pinball_loss() {
        let loss = Pinball { level: 0.8, width: 0.2 };
        for r in [-3.0, -0.2, 0.2, 1.7] {
            assert!((loss.value(r, 0.0) - Pinball::unsmoothed(0.8, r, 0.0)).abs() < 1e-12, "{r}");
        }
    }
}
