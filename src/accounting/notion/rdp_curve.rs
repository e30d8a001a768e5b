//! Renyi differential privacy as a function of a continuous order.

use super::{ApproximateDp, Zcdp};
use crate::accounting::directed::{add_up, order};
use crate::accounting::rdp::{self, Component, Form};
use crate::error::{Error, Fallible};
use crate::privacy::{Delta, Epsilon};

/// Renyi differential privacy: `D_alpha <= r(alpha)` for every order, in both directions.
///
/// The curve is a sum of [`Component`]s with multiplicities, so that it composes without a grid of
/// orders. Post-processing never increases a Renyi divergence, so a curve stays valid for anything
/// computed from the output. Its relation is that of its components.
///
/// Reference: Mironov 2017, Definition 4, Propositions 1 and 2.
///
/// ```
/// use rhograd::accounting::notion::RdpCurve;
/// use rhograd::accounting::rdp::Component;
/// # fn main() -> rhograd::error::Fallible<()> {
/// let curve = RdpCurve::from(Component::Gaussian { noise_multiplier: 2.0 }).repeat(4);
/// assert!((curve.at(8.0)? - 4.0).abs() < 1e-13);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RdpCurve {
    parts: Vec<(Component, f64)>,
}

impl From<Component> for RdpCurve {
    fn from(component: Component) -> Self {
        RdpCurve { parts: vec![(component, 1.0)] }
    }
}

impl RdpCurve {
    /// No cost.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// The components and how often each occurs.
    pub fn parts(&self) -> &[(Component, f64)] {
        &self.parts
    }

    /// The Renyi divergence at a real order.
    ///
    /// `r(alpha) = sum_j k_j r_j(alpha)`.
    ///
    /// # Errors
    /// When `alpha` is below 1 or a component has a parameter outside its range.
    ///
    /// # Privacy
    /// An upper bound, rounded up.
    ///
    /// Reference: Mironov 2017, Proposition 1.
    pub fn at(&self, alpha: f64) -> Fallible<f64> {
        let alpha = order(alpha)?;
        self.parts.iter().try_fold(0.0, |sum, (component, count)| {
            let one = component.at(alpha)?;
            if one.is_nan() {
                return Err(Error::numerical("a Renyi divergence", format!("it is not a number at order {alpha}")));
            }
            Ok(add_up(sum, if one == 0.0 || *count == 1.0 { one } else { (one * count).next_up() }))
        })
    }

    /// The curve of both, the second possibly chosen in view of the first output.
    ///
    /// `r + r'`; the parameters of both are fixed in advance.
    ///
    /// Reference: Mironov 2017, Proposition 1.
    pub fn compose(mut self, other: &RdpCurve) -> Self {
        self.parts.extend_from_slice(&other.parts);
        self
    }

    /// The curve of `count` compositions.
    ///
    /// `count r`; counts beyond 2^53 are rounded up.
    ///
    /// Reference: Mironov 2017, Proposition 1.
    pub fn repeat(mut self, count: u64) -> Self {
        if count == 0 {
            return Self::nothing();
        }
        let count = if count > 1 << 53 { (count as f64).next_up() } else { count as f64 };
        for part in &mut self.parts {
            part.1 = if part.1 * count > 2f64.powi(53) { (part.1 * count).next_up() } else { part.1 * count };
        }
        self
    }

    /// The curve for groups of at most `k` rows.
    ///
    /// `3^c r(2^c alpha)` for `alpha >= 2` with `2^c >= k`; the value at 2 bounds the orders below.
    ///
    /// # Errors
    /// When `k` is 0 or above `2^60`.
    ///
    /// # Privacy
    /// An upper bound; `k` is rounded up to a power of two.
    ///
    /// Reference: Mironov 2017, Proposition 2.
    pub fn group(self, k: u64) -> Fallible<Self> {
        if k == 0 || k > 1 << 60 {
            return Err(Error::parameter("group size", format!("is {k}"), "use a size from 1 to 2^60"));
        }
        let doublings = k.next_power_of_two().trailing_zeros();
        Ok(if doublings == 0 { self } else { Component::Group { base: self, doublings }.into() })
    }

    /// The guarantee at delta by the best real order, improved conversion.
    ///
    /// [`rdp::epsilon`] with [`Form::Improved`].
    ///
    /// # Errors
    /// When a component has a parameter outside its range.
    ///
    /// # Privacy
    /// An upper bound.
    ///
    /// Reference: Canonne, Kamath and Steinke 2020, Proposition 12.
    pub fn to_approximate_dp(&self, delta: Delta) -> Fallible<ApproximateDp> {
        ApproximateDp::from_epsilon_and_ln_delta(rdp::epsilon(self, delta, Form::Improved)?.value, delta.ln())
    }

    /// The logarithm of delta at epsilon by the best real order, improved conversion.
    ///
    /// [`rdp::ln_delta`] with [`Form::Improved`].
    ///
    /// # Errors
    /// When a component has a parameter outside its range.
    ///
    /// # Privacy
    /// An upper bound, at most 0.
    ///
    /// Reference: Canonne, Kamath and Steinke 2020, Proposition 12.
    pub fn to_ln_delta(&self, epsilon: Epsilon) -> Fallible<f64> {
        Ok(rdp::ln_delta(self, epsilon, Form::Improved)?.value)
    }

    /// The largest privacy loss, which bounds it as pure differential privacy.
    ///
    /// `r(infinity)`; infinite for Gaussian noise.
    ///
    /// # Errors
    /// When a component has a parameter outside its range.
    ///
    /// # Privacy
    /// An upper bound.
    ///
    /// Reference: Mironov 2017, section II: the infinite order is pure differential privacy.
    pub fn to_pure_dp(&self) -> Fallible<super::PureDp> {
        super::PureDp::new(self.at(f64::INFINITY)?)
    }
}

impl From<Zcdp> for RdpCurve {
    /// The curve `xi + rho alpha`.
    fn from(zcdp: Zcdp) -> Self {
        Component::Concentrated { xi: zcdp.xi(), rho: zcdp.rho() }.into()
    }
}
