//! Renyi differential privacy as a function of a continuous order, and the terms that it is a sum of.

use super::convert::{self, Form, Renyi};
use super::remembered::Remembered;
use super::without_replacement::{Base, without_replacement};
use super::{mechanisms, sampled};
use crate::accounting::directed::{add_up, order};
use crate::accounting::notion::{ApproximateDp, Zcdp};
use crate::accounting::ratio::LikelihoodRatio;
use crate::accounting::{erm, selection, subsample};
use crate::error::{Error, Fallible};
use crate::privacy::{Delta, Epsilon, RunCount};

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
    /// [`super::epsilon`] with [`Form::Improved`].
    ///
    /// # Errors
    /// When a component has a parameter outside its range.
    ///
    /// # Privacy
    /// An upper bound.
    ///
    /// Reference: Canonne, Kamath and Steinke 2020, Proposition 12.
    pub fn to_approximate_dp(&self, delta: Delta) -> Fallible<ApproximateDp> {
        ApproximateDp::from_epsilon_and_ln_delta(convert::epsilon(self, delta, Form::Improved)?.value, delta.ln())
    }

    /// The logarithm of delta at epsilon by the best real order, improved conversion.
    ///
    /// [`super::ln_delta`] with [`Form::Improved`].
    ///
    /// # Errors
    /// When a component has a parameter outside its range.
    ///
    /// # Privacy
    /// An upper bound, at most 0.
    ///
    /// Reference: Canonne, Kamath and Steinke 2020, Proposition 12.
    pub fn to_ln_delta(&self, epsilon: Epsilon) -> Fallible<f64> {
        Ok(convert::ln_delta(self, epsilon, Form::Improved)?.value)
    }
}

impl Renyi for RdpCurve {
    fn divergence(&self, alpha: f64) -> Fallible<f64> {
        self.at(alpha)
    }
}

impl From<Zcdp> for RdpCurve {
    /// The curve `xi + rho alpha`.
    fn from(zcdp: Zcdp) -> Self {
        Component::Concentrated { xi: zcdp.xi(), rho: zcdp.rho() }.into()
    }
}

/// One term of an [`RdpCurve`]: a mechanism whose Renyi divergence is known at every real order.
///
/// Parameters hold under the relation the curve is for.
#[derive(Clone, Debug, PartialEq)]
pub enum Component {
    /// [`mechanisms::gaussian`] with this noise multiplier.
    Gaussian {
        /// Noise standard deviation over sensitivity.
        noise_multiplier: f64,
    },
    /// [`erm::objective_renyi`].
    Objective {
        /// Noise standard deviation over the norm by which gradients move.
        noise_multiplier: f64,
        /// Curvature of one record over that of the penalty.
        curvature: f64,
    },
    /// [`mechanisms::laplace`].
    Laplace {
        /// Sensitivity over scale.
        epsilon: f64,
    },
    /// [`mechanisms::discrete_laplace`].
    DiscreteLaplace {
        /// Scale in integer steps.
        scale: f64,
        /// Integer sensitivity.
        sensitivity: u64,
    },
    /// [`mechanisms::pure`].
    Pure {
        /// Its epsilon.
        epsilon: f64,
    },
    /// [`mechanisms::randomised_response`].
    RandomisedResponse {
        /// Probability of the true answer.
        truth: f64,
    },
    /// [`mechanisms::bounded_range`].
    BoundedRange {
        /// Its epsilon.
        epsilon: f64,
    },
    /// Any (xi, rho)-zCDP mechanism: `xi + rho alpha`.
    Concentrated {
        /// The constant part.
        xi: f64,
        /// The slope.
        rho: f64,
    },
    /// Any (rho, omega)-tCDP mechanism: `rho alpha` below order omega, infinite from there.
    Truncated {
        /// The slope.
        rho: f64,
        /// The order where the bound ends.
        omega: f64,
    },
    /// [`sampled::poisson_gaussian_remove`].
    PoissonGaussian {
        /// Sampling rate.
        rate: f64,
        /// Noise standard deviation over the norm of one row.
        noise_multiplier: f64,
    },
    /// [`sampled::poisson_gaussian_replace_one`].
    PoissonGaussianReplaceOne {
        /// Sampling rate.
        rate: f64,
        /// Noise standard deviation over the norm of one row.
        noise_multiplier: f64,
    },
    /// [`LikelihoodRatio::renyi`], under add-remove.
    Ratio {
        /// The law of the ratio.
        law: LikelihoodRatio,
    },
    /// [`without_replacement`] of a curve, under replace-one, or [`subsample::epsilon`] where it is smaller.
    WithoutReplacement {
        /// The base curve under replace-one.
        base: RdpCurve,
        /// Sample size over number of rows.
        fraction: f64,
        /// The noise multiplier relative to the replace-one sensitivity, if the base is Gaussian.
        gaussian: Option<f64>,
    },
    /// [`selection::renyi`] of a curve.
    Selected {
        /// One run. Every order of the best run asks for many orders of it, the same ones again and again.
        base: Remembered<RdpCurve>,
        /// Law of the number of runs.
        runs: RunCount,
    },
    /// Groups of `2^doublings` rows of a curve: `3^c r(2^c alpha)`.
    Group {
        /// The curve of single rows.
        base: RdpCurve,
        /// `c`.
        doublings: u32,
    },
    /// Bounds known at single orders only; the next larger known order answers for those between.
    Known {
        /// Pairs of an order and the divergence there, by increasing order.
        points: Vec<(f64, f64)>,
    },
}

impl Component {
    /// The Renyi divergence at a real order.
    ///
    /// The function named at the variant.
    ///
    /// # Errors
    /// When a parameter is outside its range or `alpha` is below 1.
    ///
    /// # Privacy
    /// An upper bound, rounded up; infinite where nothing is known.
    ///
    /// Reference: at the function named at the variant.
    pub fn at(&self, alpha: f64) -> Fallible<f64> {
        let alpha = order(alpha)?;
        match self {
            Self::Gaussian { noise_multiplier } => mechanisms::gaussian(*noise_multiplier, alpha),
            Self::Objective { noise_multiplier, curvature } => {
                erm::objective_renyi(*noise_multiplier, *curvature, alpha)
            }
            Self::Laplace { epsilon } => mechanisms::laplace(*epsilon, alpha),
            Self::DiscreteLaplace { scale, sensitivity } => mechanisms::discrete_laplace(*scale, *sensitivity, alpha),
            Self::Pure { epsilon } => mechanisms::pure(*epsilon, alpha),
            Self::RandomisedResponse { truth } => mechanisms::randomised_response(*truth, alpha),
            Self::BoundedRange { epsilon } => mechanisms::bounded_range(*epsilon, alpha),
            Self::Concentrated { xi, rho } => mechanisms::concentrated(*xi, *rho, alpha),
            Self::Truncated { rho, omega } if alpha < *omega => mechanisms::concentrated(0.0, *rho, alpha),
            Self::Truncated { .. } => Ok(f64::INFINITY),
            Self::PoissonGaussian { rate, noise_multiplier } => {
                sampled::poisson_gaussian_remove(*rate, *noise_multiplier, alpha)
            }
            Self::PoissonGaussianReplaceOne { rate, noise_multiplier } => {
                sampled::poisson_gaussian_replace_one(*rate, *noise_multiplier, alpha)
            }
            Self::Ratio { law } => Ok(law.renyi(alpha)),
            Self::WithoutReplacement { base, fraction, gaussian } => {
                let renyi = |order: f64| base.at(order);
                let base = Base { renyi: &renyi, largest: base.at(f64::INFINITY)?, gaussian: *gaussian };
                // A pure mechanism also stays pure, with its epsilon amplified.
                let pure = mechanisms::pure(subsample::epsilon(base.largest, *fraction)?, alpha)?;
                Ok(without_replacement(&base, *fraction, alpha)?.min(pure))
            }
            Self::Selected { base, runs } => selection::renyi(base, *runs, alpha),
            Self::Group { base, doublings } => group(base, *doublings, alpha),
            Self::Known { points } => {
                Ok(points.iter().find(|(at, _)| *at >= alpha).map_or(f64::INFINITY, |(_, bound)| *bound))
            }
        }
    }
}

/// `3^c r(2^c alpha)`, valid for `alpha >= 2`; smaller orders are bounded by order 2.
fn group(base: &RdpCurve, doublings: u32, alpha: f64) -> Fallible<f64> {
    let doublings = i32::try_from(doublings).unwrap_or(i32::MAX);
    let at = alpha.max(2.0) * 2f64.powi(doublings);
    let one = base.at(at)?;
    Ok(if one == 0.0 { 0.0 } else { (one * 3f64.powi(doublings)).next_up().next_up() })
}
