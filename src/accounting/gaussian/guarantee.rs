//! Gaussian differential privacy.

use crate::accounting::directed::{group_size, nonnegative};
use crate::accounting::event::squared_mu;
use crate::accounting::gaussian;
use crate::accounting::notion::{ApproximateDp, RdpCurve, TradeOff, Zcdp};
use crate::accounting::rdp::Component;
use crate::error::Fallible;
use crate::num::round::up;
use crate::privacy::{Adjacency, Delta, DpEvent, Epsilon};

/// Gaussian differential privacy: distinguishing neighbours is at least as hard as distinguishing
/// `N(0, 1)` from `N(mu, 1)`.
///
/// Closed under post-processing, which never lowers a trade-off curve. The value is kept as an upper
/// bound on `mu^2`, which adds under composition.
///
/// Reference: Dong, Roth and Su 2022, Definition 2.6.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GaussianDp {
    square: f64,
}

impl GaussianDp {
    /// Checks `mu >= 0`.
    ///
    /// # Errors
    /// When `mu` is negative or NaN.
    pub fn new(mu: f64) -> Fallible<Self> {
        let mu = nonnegative("mu", mu)?;
        Ok(GaussianDp { square: if mu == 0.0 { 0.0 } else { up(mu * mu, 1) } })
    }

    /// The guarantee of an event made of Gaussian mechanisms only.
    ///
    /// `mu^2 = sum 1/z^2`, with `z` halved under replace-one.
    ///
    /// # Errors
    /// When any part of the tree is not Gaussian, naming it, or a parameter is outside its range.
    ///
    /// # Privacy
    /// An upper bound under the given relation.
    ///
    /// Reference: Dong, Roth and Su 2022, Theorem 2.7 and Corollary 3.3.
    pub fn of_event(event: &DpEvent, adjacency: Adjacency) -> Fallible<Self> {
        Ok(GaussianDp { square: squared_mu(event, adjacency)? })
    }

    /// Its mu, rounded up.
    pub fn mu(self) -> f64 {
        if self.square == 0.0 { 0.0 } else { up(self.square.sqrt(), 1) }
    }

    /// Both mechanisms, the second possibly chosen in view of the first output.
    ///
    /// `mu^2 + mu'^2`, rounded up.
    ///
    /// Reference: Dong, Roth and Su 2022, Corollary 3.3.
    pub fn compose(self, other: Self) -> Self {
        GaussianDp { square: crate::accounting::directed::add_up(self.square, other.square) }
    }

    /// The guarantee for groups of `k` rows.
    ///
    /// `k mu`, rounded up.
    ///
    /// # Errors
    /// When `k` is 0.
    ///
    /// Reference: Dong, Roth and Su 2022, Theorem 2.14.
    pub fn group(self, k: u64) -> Fallible<Self> {
        let size = up(group_size(k)? as f64, 1);
        Ok(if k == 1 || self.square == 0.0 { self } else { GaussianDp { square: up(self.square * size * size, 2) } })
    }

    /// The concentrated guarantee.
    ///
    /// `rho = mu^2/2`.
    ///
    /// # Errors
    /// Never for a valid value.
    ///
    /// Reference: Dong, Roth and Su 2022, Corollary B.6.
    pub fn to_zcdp(self) -> Fallible<Zcdp> {
        Zcdp::new(0.0, if self.square == 0.0 { 0.0 } else { up(self.square / 2.0, 1) })
    }

    /// The curve of Renyi divergences.
    ///
    /// `mu^2 alpha / 2`.
    pub fn to_rdp_curve(self) -> RdpCurve {
        Component::Concentrated { xi: 0.0, rho: up(self.square / 2.0, 1) }.into()
    }

    /// The guarantee at delta, exactly.
    ///
    /// [`gaussian::epsilon`].
    ///
    /// # Errors
    /// When the search fails.
    ///
    /// Reference: Balle and Wang 2018, Theorem 8; Dong, Roth and Su 2022, Corollary 2.13.
    pub fn to_approximate_dp(self, delta: Delta) -> Fallible<ApproximateDp> {
        ApproximateDp::from_epsilon_and_ln_delta(gaussian::epsilon(self.mu(), delta)?.value(), delta.ln())
    }

    /// The logarithm of delta at epsilon, exactly.
    ///
    /// [`gaussian::ln_delta`].
    ///
    /// # Errors
    /// When the result is not a number.
    ///
    /// Reference: Balle and Wang 2018, Theorem 8.
    pub fn to_ln_delta(self, epsilon: Epsilon) -> Fallible<f64> {
        gaussian::ln_delta(self.mu(), epsilon)
    }

    /// The trade-off curve.
    ///
    /// `Phi(Phi^{-1}(1 - a) - mu)`.
    ///
    /// # Errors
    /// When mu is infinite.
    pub fn to_trade_off(self) -> Fallible<TradeOff> {
        TradeOff::gaussian(self.mu())
    }
}
