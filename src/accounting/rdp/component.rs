//! The curves of single mechanisms as data, from which a whole curve is summed.

use super::without_replacement::{Base, without_replacement};
use super::{mechanisms, sampled};
use crate::accounting::directed::order;
use crate::accounting::notion::RdpCurve;
use crate::accounting::{erm, selection, subsample};
use crate::error::Fallible;
use crate::privacy::RunCount;

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
        /// One run.
        base: RdpCurve,
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
