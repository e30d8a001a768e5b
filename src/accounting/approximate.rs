//! Approximate differential privacy, with delta as its logarithm.

use crate::accounting::directed::{UNIT, add_up, delta_from_ln, group_size, ln_probability, ln_union, nonnegative};
use crate::accounting::notion::PureDp;
use crate::error::Fallible;
use crate::num::round::up;

/// Approximate differential privacy: `P(S) <= e^epsilon Q(S) + delta` for every event and both orders.
///
/// Closed under post-processing. Delta is kept as `ln delta`, `-inf` for pure privacy.
///
/// Reference: Dwork, Kenthapadi, McSherry, Mironov and Naor 2006.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ApproximateDp {
    epsilon: f64,
    ln_delta: f64,
}

impl ApproximateDp {
    /// From epsilon and a delta in `[0, 1]`.
    ///
    /// # Errors
    /// When `epsilon` is negative or NaN or `delta` is no probability.
    pub fn new(epsilon: f64, delta: f64) -> Fallible<Self> {
        let delta = crate::accounting::directed::probability("delta", delta)?;
        let ln_delta = if delta == 0.0 { f64::NEG_INFINITY } else { up(delta.ln(), 1).min(0.0) };
        Self::from_epsilon_and_ln_delta(epsilon, ln_delta)
    }

    /// From epsilon and the logarithm of delta, at most 0.
    ///
    /// # Errors
    /// When `epsilon` is negative or NaN or `ln_delta` is positive or NaN.
    pub fn from_epsilon_and_ln_delta(epsilon: f64, ln_delta: f64) -> Fallible<Self> {
        let ln_delta = ln_probability("ln delta", ln_delta)?;
        Ok(ApproximateDp { epsilon: nonnegative("epsilon", epsilon)?, ln_delta })
    }

    /// Pure privacy, with delta 0.
    pub fn pure(pure: PureDp) -> Self {
        ApproximateDp { epsilon: pure.epsilon(), ln_delta: f64::NEG_INFINITY }
    }

    /// Its epsilon.
    pub fn epsilon(self) -> f64 {
        self.epsilon
    }

    /// The logarithm of its delta.
    pub fn ln_delta(self) -> f64 {
        self.ln_delta
    }

    /// Its delta, rounded up.
    pub fn delta(self) -> f64 {
        delta_from_ln(self.ln_delta)
    }

    /// Both mechanisms, the second possibly chosen in view of the first output.
    ///
    /// `(epsilon + epsilon', 1 - (1 - delta)(1 - delta'))`, rounded up.
    ///
    /// Reference: Kairouz, Oh and Viswanath 2015, Theorem 3.5 at its last point.
    pub fn compose(self, other: Self) -> Self {
        let ln_delta = ln_union(self.ln_delta, other.ln_delta);
        ApproximateDp { epsilon: add_up(self.epsilon, other.epsilon), ln_delta }
    }

    /// The guarantee for groups of `k` rows.
    ///
    /// `(k epsilon, delta (e^{k epsilon} - 1)/(e^epsilon - 1))`, delta at most 1, rounded up.
    ///
    /// # Errors
    /// When `k` is 0.
    ///
    /// Reference: Vadhan 2017, Lemma 2.2; the sum is geometric.
    pub fn group(self, k: u64) -> Fallible<Self> {
        let k = group_size(k)?;
        if k == 1 {
            return Ok(self);
        }
        let epsilon = PureDp::new(self.epsilon)?.group(k)?.epsilon();
        if self.ln_delta == f64::NEG_INFINITY {
            return Ok(ApproximateDp { epsilon, ln_delta: self.ln_delta });
        }
        let ln_delta = self.ln_delta + ln_geometric(self.epsilon, k);
        let ln_delta = if ln_delta.is_nan() { 0.0 } else { ln_delta };
        Ok(ApproximateDp { epsilon, ln_delta: (ln_delta + 32.0 * UNIT * (1.0 + ln_delta.abs())).min(0.0) })
    }
}

/// `ln((e^{k e} - 1)/(e^e - 1))`, and its limit `ln k` at 0.
fn ln_geometric(e: f64, k: u64) -> f64 {
    let k = up(k as f64, 1);
    let ln_expm1 = |x: f64| if x > 30.0 { x + (-(-x).exp()).ln_1p() } else { x.exp_m1().ln() };
    if k * e < 1e-290 { k.ln() + k * e } else { ln_expm1(k * e) - ln_expm1(e) }
}
