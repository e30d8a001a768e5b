//! Concentrated privacy that may fail with a small probability.

use crate::accounting::directed::{delta_from_ln, group_size, ln_probability, ln_union};
use crate::accounting::notion::{ApproximateDp, Zcdp};
use crate::accounting::zcdp;
use crate::error::{Error, Fallible};
use crate::privacy::{Delta, Epsilon};

/// delta-approximate (xi, rho)-zCDP: both laws are mixtures, with weight delta on anything and the rest
/// on laws that are (xi, rho)-close.
///
/// Closed under post-processing, which acts on each part of the mixture.
///
/// Reference: Bun and Steinke 2016, Definition 8.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ApproximateZcdp {
    ln_delta: f64,
    zcdp: Zcdp,
}

impl ApproximateZcdp {
    /// From the logarithm of delta, at most 0, and the concentrated part.
    ///
    /// # Errors
    /// When `ln_delta` is positive or NaN.
    pub fn new(ln_delta: f64, zcdp: Zcdp) -> Fallible<Self> {
        Ok(ApproximateZcdp { ln_delta: ln_probability("ln delta", ln_delta)?, zcdp })
    }

    /// Without a failure probability.
    pub fn exact(zcdp: Zcdp) -> Self {
        ApproximateZcdp { ln_delta: f64::NEG_INFINITY, zcdp }
    }

    /// The logarithm of the failure probability.
    pub fn ln_delta(self) -> f64 {
        self.ln_delta
    }

    /// The failure probability, rounded up.
    pub fn delta(self) -> f64 {
        delta_from_ln(self.ln_delta)
    }

    /// The concentrated part.
    pub fn zcdp(self) -> Zcdp {
        self.zcdp
    }

    /// Both mechanisms, the second possibly chosen in view of the first output.
    ///
    /// `xi` and `rho` add; delta is `1 - (1 - delta)(1 - delta')`, rounded up.
    ///
    /// Reference: Bun and Steinke 2016, Lemma 8.2 (there with the sum of deltas).
    pub fn compose(self, other: Self) -> Self {
        ApproximateZcdp { ln_delta: ln_union(self.ln_delta, other.ln_delta), zcdp: self.zcdp.compose(other.zcdp) }
    }

    /// The guarantee for groups of `k` rows, when there is no failure probability.
    ///
    /// [`Zcdp::group`].
    ///
    /// # Errors
    /// When delta is positive and `k > 1`, for which no theorem is implemented, or `k` is 0.
    ///
    /// Reference: Bun and Steinke 2016, Proposition 1.9.
    pub fn group(self, k: u64) -> Fallible<Self> {
        if group_size(k)? == 1 {
            return Ok(self);
        }
        if self.ln_delta > f64::NEG_INFINITY {
            return Err(Error::parameter("group size", "needs delta = 0", "convert to (epsilon, delta) first"));
        }
        Ok(Self::exact(self.zcdp.group(k)?))
    }

    /// What is left of a total delta for the concentrated part.
    ///
    /// `(total - delta)/(1 - delta)`, rounded down; `None` when nothing is left.
    pub fn remaining_delta(self, total: Delta) -> Option<Delta> {
        if self.ln_delta == f64::NEG_INFINITY {
            return Some(total);
        }
        let spent = self.delta();
        let left = (total.value() - spent).next_down() / (1.0 - spent).next_up();
        Delta::new(left.next_down()).ok()
    }

    /// The epsilon at a total delta by the classical conversion.
    ///
    /// [`zcdp::epsilon_classical`] at `(total - delta)/(1 - delta)`.
    ///
    /// # Errors
    /// Never for a valid value; the conversion checks again.
    ///
    /// # Privacy
    /// An upper bound; infinite when delta leaves nothing of the total.
    ///
    /// Reference: Bun and Steinke 2016, Lemmas 3.5 and 8.8.
    pub fn to_epsilon_classical(self, total: Delta) -> Fallible<Epsilon> {
        match self.remaining_delta(total) {
            Some(delta) => zcdp::epsilon_classical(self.zcdp.xi(), self.zcdp.rho(), delta),
            None => Ok(Epsilon::INFINITE),
        }
    }

    /// The epsilon at a total delta by the best order.
    ///
    /// [`zcdp::epsilon_optimal`] at `(total - delta)/(1 - delta)`.
    ///
    /// # Errors
    /// Never for a valid value; the conversion checks again.
    ///
    /// # Privacy
    /// An upper bound; infinite when delta leaves nothing of the total.
    ///
    /// Reference: Canonne, Kamath and Steinke 2020, Proposition 12; Bun and Steinke 2016, Lemma 8.8.
    pub fn to_epsilon_optimal(self, total: Delta) -> Fallible<Epsilon> {
        match self.remaining_delta(total) {
            Some(delta) => zcdp::epsilon_optimal(self.zcdp.xi(), self.zcdp.rho(), delta),
            None => Ok(Epsilon::INFINITE),
        }
    }

    /// The logarithm of the total delta at epsilon by the best order.
    ///
    /// `delta + (1 - delta) delta'` with `delta'` of [`zcdp::ln_delta_optimal`].
    ///
    /// # Errors
    /// Never for a valid value; the conversion checks again.
    ///
    /// Reference: Bun and Steinke 2016, Lemma 8.8.
    pub fn to_approximate_dp_optimal(self, epsilon: Epsilon) -> Fallible<ApproximateDp> {
        let rest = zcdp::ln_delta_optimal(self.zcdp.xi(), self.zcdp.rho(), epsilon)?;
        ApproximateDp::from_epsilon_and_ln_delta(epsilon.value(), ln_union(self.ln_delta, rest))
    }
}

impl Default for ApproximateZcdp {
    fn default() -> Self {
        ApproximateZcdp { ln_delta: f64::NEG_INFINITY, zcdp: Zcdp::default() }
    }
}
