//! Pure differential privacy.

use super::{ApproximateDp, RdpCurve, TradeOff, Zcdp, group_size};
use crate::accounting::directed::{add_up, nonnegative};
use crate::accounting::rdp::{Component, mechanisms};
use crate::error::Fallible;
use crate::num::round::up;

/// Pure epsilon-differential privacy: `P(S) <= e^epsilon Q(S)` for every event and both orders.
///
/// Closed under post-processing: the same epsilon holds for anything computed from the output.
///
/// Reference: Dwork, McSherry, Nissim and Smith 2006, Definition 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct PureDp {
    epsilon: f64,
}

impl PureDp {
    /// Checks `epsilon >= 0`; infinity means no guarantee.
    ///
    /// # Errors
    /// When `epsilon` is negative or NaN.
    pub fn new(epsilon: f64) -> Fallible<Self> {
        Ok(PureDp { epsilon: nonnegative("epsilon", epsilon)? })
    }

    /// Its epsilon.
    pub fn epsilon(self) -> f64 {
        self.epsilon
    }

    /// Both mechanisms, the second possibly chosen in view of the first output.
    ///
    /// `epsilon + epsilon'`, rounded up.
    ///
    /// Reference: Dwork and Roth 2014, Theorem 3.14.
    pub fn compose(self, other: Self) -> Self {
        PureDp { epsilon: add_up(self.epsilon, other.epsilon) }
    }

    /// The guarantee for groups of `k` rows.
    ///
    /// `k epsilon`, rounded up.
    ///
    /// # Errors
    /// When `k` is 0.
    ///
    /// Reference: Dwork and Roth 2014, Theorem 2.2.
    pub fn group(self, k: u64) -> Fallible<Self> {
        let k = group_size(k)?;
        Ok(if k == 1 || self.epsilon == 0.0 { self } else { PureDp { epsilon: up(self.epsilon * k as f64, 2) } })
    }

    /// The same guarantee with delta 0.
    ///
    /// `(epsilon, 0)`.
    pub fn to_approximate_dp(self) -> ApproximateDp {
        ApproximateDp::pure(self)
    }

    /// The smallest rho that every epsilon-DP mechanism has.
    ///
    /// `rho = epsilon tanh(epsilon/2)`.
    ///
    /// # Errors
    /// When epsilon is infinite.
    ///
    /// Reference: Bun and Steinke 2016, Proposition 1.4, with the constant made tight.
    pub fn to_zcdp(self) -> Fallible<Zcdp> {
        Zcdp::new(0.0, mechanisms::pure_rho(self.epsilon)?)
    }

    /// The smallest curve of Renyi divergences that every epsilon-DP mechanism has.
    ///
    /// [`mechanisms::pure`].
    pub fn to_rdp_curve(self) -> RdpCurve {
        Component::Pure { epsilon: self.epsilon }.into()
    }

    /// The trade-off curve of randomised response, the worst epsilon-DP mechanism.
    ///
    /// `max{0, 1 - e^epsilon a, e^-epsilon (1 - a)}`.
    ///
    /// # Errors
    /// When epsilon is infinite.
    ///
    /// Reference: Wasserman and Zhou 2010, Theorem 2.4.
    pub fn to_trade_off(self) -> Fallible<TradeOff> {
        TradeOff::approximate(self.to_approximate_dp())
    }
}
