//! Zero-concentrated differential privacy with a constant part.

use crate::accounting::directed::{add_up, group_size, nonnegative};
use crate::accounting::notion::ApproximateDp;
use crate::accounting::zcdp;
use crate::error::Fallible;
use crate::num::round::up;
use crate::privacy::Delta;

/// Zero-concentrated differential privacy: `D_alpha <= xi + rho alpha` for every `alpha > 1`.
///
/// Closed under post-processing, as every Renyi divergence is.
///
/// Reference: Bun and Steinke 2016, Definitions 1.1 and 3.1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Zcdp {
    xi: f64,
    rho: f64,
}

impl Zcdp {
    /// Checks `xi >= 0` and `rho >= 0`.
    ///
    /// # Errors
    /// When either is negative or NaN.
    pub fn new(xi: f64, rho: f64) -> Fallible<Self> {
        Ok(Zcdp { xi: nonnegative("xi", xi)?, rho: nonnegative("rho", rho)? })
    }

    /// The constant part.
    pub fn xi(self) -> f64 {
        self.xi
    }

    /// The slope.
    pub fn rho(self) -> f64 {
        self.rho
    }

    /// Both mechanisms, the second possibly chosen in view of the first output.
    ///
    /// `(xi + xi', rho + rho')`, rounded up.
    ///
    /// Reference: Bun and Steinke 2016, Lemma 2.3.
    pub fn compose(self, other: Self) -> Self {
        Zcdp { xi: add_up(self.xi, other.xi), rho: add_up(self.rho, other.rho) }
    }

    /// The guarantee for groups of `k` rows.
    ///
    /// `(k H_k xi, k^2 rho)` with `H_k = 1 + 1/2 + ... + 1/k`, rounded up.
    ///
    /// # Errors
    /// When `k` is 0.
    ///
    /// Reference: Bun and Steinke 2016, Proposition 1.9 and Corollary 5.4.
    pub fn group(self, k: u64) -> Fallible<Self> {
        let k = group_size(k)?;
        if k == 1 {
            return Ok(self);
        }
        let size = up(k as f64, 1);
        let xi = if self.xi == 0.0 { 0.0 } else { up(self.xi * (size * harmonic_up(k)), 3) };
        let rho = if self.rho == 0.0 { 0.0 } else { up(self.rho * (size * size), 3) };
        Zcdp::new(xi, rho)
    }

    /// The guarantee at delta by the best order.
    ///
    /// [`zcdp::epsilon_optimal`].
    ///
    /// # Errors
    /// Never for a valid value; the conversion checks again.
    ///
    /// Reference: Canonne, Kamath and Steinke 2020, Proposition 12.
    pub fn to_approximate_dp_optimal(self, delta: Delta) -> Fallible<ApproximateDp> {
        let epsilon = zcdp::epsilon_optimal(self.xi, self.rho, delta)?.value();
        ApproximateDp::from_epsilon_and_ln_delta(epsilon, delta.ln())
    }
}

/// `1 + 1/2 + ... + 1/k`, rounded up; beyond a million terms `ln k + 0.57722 + 1/(2k)` bounds it.
fn harmonic_up(k: u64) -> f64 {
    if k <= 1_000_000 {
        let sum: f64 = (1..=k).rev().map(|i| 1.0 / i as f64).sum();
        sum * (1.0 + (k as f64 + 4.0).min(64.0) * f64::EPSILON)
    } else {
        (k as f64).ln() + 0.577_215_664_901_533 + 0.5 / k as f64 + 1e-13
    }
}
