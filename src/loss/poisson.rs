//! Poisson loss with a bounded log-rate.

use serde::{Deserialize, Serialize};

use super::approx::{between, exp};
use super::{BoundedLoss, Curved, Loss, Tuning, WhitenedTuning};
use crate::grid::Scoring;

/// `l(t, y) = E(t) - y t` for a count `y` in `0..=most`, `E` the exponential inside `-b..=b`, continued by its tangents.
///
/// The negative log-likelihood of a rate `e^t` up to a constant, for `|t| <= b`. Slope `e^clamp(t, -b, b) - y`:
/// `max(e^b, most - e^-b)`-Lipschitz and `e^b`-smooth in `t`.
///
/// Reference: McCullagh and Nelder 1989, chapter 6.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Poisson {
    /// `b`, the largest absolute log-rate; positive.
    pub bound: f64,
    /// The largest label.
    pub most: f64,
}

impl Loss for Poisson {
    fn value(&self, margin: f64, label: f64) -> f64 {
        let inside = margin.clamp(-self.bound, self.bound);
        inside.exp() * (1.0 + margin - inside) - label * margin
    }

    #[inline(always)]
    fn slope(&self, margin: f32, label: f32) -> f32 {
        exp(between(margin, -self.bound as f32, self.bound as f32)) - label
    }

    fn lipschitz(&self) -> f64 {
        self.bound.exp().max(self.most - (-self.bound).exp())
    }

    fn smoothness(&self) -> f64 {
        self.bound.exp()
    }

    fn tuning(&self) -> Tuning {
        // Counts far above the mean are the rule, and a tight clip loses them.
        let whitened = WhitenedTuning { clip: [1.2, 2.0, 12.0], ..WhitenedTuning::numbers(0.6) };
        // The negative log-likelihood of a count is known up to a constant only.
        Tuning { step: 1.0, clip: [0.7, 1.0, 12.0], whitened, scoring: Scoring::Count, loss_cap: None }
    }

    fn prediction(&self, margin: f64) -> f64 {
        Poisson::rate(self.bound, margin)
    }

    fn reported(&self, margin: f64, label: f64) -> f64 {
        Poisson::deviance(self.prediction(margin), label)
    }

    fn metric(&self) -> &'static str {
        "deviance"
    }

    fn curved(&self) -> Option<Curved> {
        None
    }

    fn bounded(&self) -> Option<BoundedLoss> {
        None
    }
}

impl Poisson {
    /// The rate that a margin stands for, `e^clamp(t, -b, b)`.
    pub fn rate(bound: f64, margin: f64) -> f64 {
        margin.clamp(-bound, bound).exp()
    }

    /// Deviance of a count against a positive rate, `2 (y ln(y / rate) - y + rate)`.
    pub fn deviance(rate: f64, count: f64) -> f64 {
        let likelihood = if count > 0.0 { count * (count / rate).ln() } else { 0.0 };
        2.0 * (likelihood - count + rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_is_the_derivative_and_the_constants_hold() {
        for (bound, most) in [(1.0, 2.0), (2.0, 20.0), (3.0, 20.0)] {
            crate::loss::check::holds(&Poisson { bound, most }, &[0.0, 1.0, most], 6.0);
        }
    }

    #[test]
    fn deviance_is_zero_at_the_truth_only() {
        assert_eq!(Poisson::deviance(3.0, 3.0), 0.0);
        assert!(Poisson::deviance(3.0, 0.0) == 6.0 && Poisson::deviance(2.0, 3.0) > 0.0);
    }
}
