//! Truncated concentrated differential privacy.

use crate::accounting::directed::{add_up, group_size, ln_delta_down, nonnegative};
use crate::accounting::notion::RdpCurve;
use crate::accounting::rdp::{Best, Component, Form, epsilon_at_order, ln_delta};
use crate::accounting::zcdp;
use crate::error::{Error, Fallible};
use crate::num::round::{down, up};
use crate::privacy::{Delta, Epsilon};

/// Truncated concentrated differential privacy: `D_alpha <= rho alpha` for `1 < alpha < omega`.
///
/// Closed under post-processing, as every Renyi divergence is.
///
/// Reference: Bun, Dwork, Rothblum and Steinke 2018, Definition 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncatedCdp {
    rho: f64,
    omega: f64,
}

impl TruncatedCdp {
    /// Checks `rho >= 0` and `omega > 1`, which may be infinite.
    ///
    /// # Errors
    /// When either is outside its range.
    pub fn new(rho: f64, omega: f64) -> Fallible<Self> {
        if omega.is_nan() || omega <= 1.0 {
            return Err(Error::parameter("omega", format!("is {omega}, must be above 1"), "use an order such as 10"));
        }
        Ok(TruncatedCdp { rho: nonnegative("rho", rho)?, omega })
    }

    /// The slope.
    pub fn rho(self) -> f64 {
        self.rho
    }

    /// The order where the bound ends.
    pub fn omega(self) -> f64 {
        self.omega
    }

    /// Both mechanisms, the second possibly chosen in view of the first output.
    ///
    /// `(rho + rho', min{omega, omega'})`, rho rounded up.
    ///
    /// Reference: Bun, Dwork, Rothblum and Steinke 2018, Lemma 2.
    pub fn compose(self, other: Self) -> Self {
        TruncatedCdp { rho: add_up(self.rho, other.rho), omega: self.omega.min(other.omega) }
    }

    /// The guarantee for groups of `k` rows.
    ///
    /// By doubling: `D_alpha <= 3^c rho 2^c alpha` for `2 <= alpha < omega/2^c` with `2^c >= k`, which is
    /// kept as a curve.
    ///
    /// # Errors
    /// When `k` is 0 or above `2^60`.
    ///
    /// Reference: Mironov 2017, Proposition 2.
    pub fn group(self, k: u64) -> Fallible<RdpCurve> {
        self.to_rdp_curve().group(group_size(k)?)
    }

    /// The curve, infinite from omega on.
    pub fn to_rdp_curve(self) -> RdpCurve {
        Component::Truncated { rho: self.rho, omega: self.omega }.into()
    }

    /// The epsilon at delta by the classical conversion.
    ///
    /// `rho + 2 sqrt(rho L)` if `L <= (omega-1)^2 rho`, else `rho omega + L/(omega-1)`.
    ///
    /// # Errors
    /// Never for a valid value; the conversion checks again.
    ///
    /// # Privacy
    /// An upper bound, rounded up.
    ///
    /// Reference: Bun, Dwork, Rothblum and Steinke 2018, Lemma 6.
    pub fn to_epsilon_classical(self, delta: Delta) -> Fallible<Epsilon> {
        let (l, u) = (-ln_delta_down(delta), self.omega - 1.0);
        if self.rho == 0.0 && self.omega == f64::INFINITY || l <= down(down(u * u, 1) * self.rho, 2) {
            return zcdp::epsilon_classical(0.0, self.rho, delta);
        }
        let end = if self.rho == 0.0 { 0.0 } else { self.rho * self.omega };
        let value = up(end + up(l / down(u, 1), 1), 3);
        Epsilon::new(if value.is_nan() { f64::INFINITY } else { value })
    }

    /// The epsilon at delta by the best order up to omega, and that order.
    ///
    /// The improved conversion of one order at `min{omega, alpha}`, where `rho (alpha-1)^2 + ln alpha = L`.
    ///
    /// # Errors
    /// Never for a valid value; the conversion checks again.
    ///
    /// # Privacy
    /// An upper bound, rounded up, never above the classical one. Order omega itself is the limit of
    /// the orders below.
    ///
    /// Reference: Canonne, Kamath and Steinke 2020, Proposition 12.
    pub fn to_epsilon_optimal(self, delta: Delta) -> Fallible<Best> {
        let classical = self.to_epsilon_classical(delta)?.value();
        let alpha = zcdp::order_for_epsilon(self.rho, delta)?.min(self.omega).min(1e300);
        let at = if alpha > 1.0 { alpha } else { 1f64.next_up() };
        let renyi = if self.rho == 0.0 { 0.0 } else { up(self.rho * at, 1) };
        let value = epsilon_at_order(at, renyi, delta, Form::Improved)?;
        Ok(Best { value: value.min(classical), alpha: at })
    }

    /// The logarithm of delta at epsilon by the best order below omega.
    ///
    /// # Errors
    /// Never for a valid value; the conversion checks again.
    ///
    /// # Privacy
    /// An upper bound, at most 0.
    ///
    /// Reference: Canonne, Kamath and Steinke 2020, Proposition 12.
    pub fn to_ln_delta(self, epsilon: Epsilon) -> Fallible<f64> {
        Ok(ln_delta(&self.to_rdp_curve(), epsilon, Form::Improved)?.value)
    }
}
