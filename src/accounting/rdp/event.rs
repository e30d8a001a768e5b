//! The Renyi curve of a recorded event.

use super::Component;
use crate::accounting::event::{Loss, Mixture, Truncated, groups, loss_of, unsupported, whole_allocation};
use crate::accounting::notion::RdpCurve;
use crate::accounting::ratio::{Kind, LikelihoodRatio, MAX_STEPS};
use crate::accounting::subsample;
use crate::error::Fallible;
use crate::num::round::{down, up};
use crate::privacy::{Adjacency, DpEvent, Mechanism};

/// The Renyi curve of an event under a relation.
///
/// Composition adds curves; sampled mechanisms use [`super::poisson_gaussian`],
/// [`super::poisson_gaussian_replace_one`], [`super::without_replacement`] or, for pure mechanisms, the
/// epsilon amplified by sampling; random allocation and mixtures of Gaussians
/// [`LikelihoodRatio::renyi`] under add-remove, and one step on all rows, or the largest sensitivity, under replace-one; selection uses [`crate::accounting::selection::renyi`].
///
/// # Errors
/// When any part of the tree has no known curve (the whole tree is walked before anything is computed),
/// naming that part and the relation, or when a parameter is outside its range.
///
/// # Privacy
/// An upper bound under the given relation. Noise scales relative to one row are halved under
/// replace-one, where a sum moves twice as far.
///
/// Reference: Mironov 2017, Proposition 1, and those of the parts.
///
/// ```
/// use rhograd::accounting::rdp;
/// use rhograd::privacy::{Adjacency, DpEvent, Mechanism};
/// # fn main() -> rhograd::error::Fallible<()> {
/// let event = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 1.0 }, 0.01, 1000);
/// let curve = rdp::curve(&event, Adjacency::AddRemove)?;
/// assert!((curve.at(2.0)? - 0.17181342207454).abs() < 1e-10);
/// # Ok(())
/// # }
/// ```
pub fn curve(event: &DpEvent, adjacency: Adjacency) -> Fallible<RdpCurve> {
    let curve = build(event, adjacency)?;
    // Evaluating once refuses parameters outside their range before the curve is used.
    curve.at(2.0)?;
    Ok(curve)
}

fn build(event: &DpEvent, adjacency: Adjacency) -> Fallible<RdpCurve> {
    Ok(match event {
        DpEvent::Single { mechanism } => single(event, mechanism, adjacency)?.into(),
        DpEvent::PoissonSampled { mechanism, rate } => poisson(event, mechanism, *rate, adjacency)?,
        DpEvent::SampledWithoutReplacement { mechanism, fraction } => {
            fixed_size(event, mechanism, *fraction, adjacency)?
        }
        DpEvent::MixtureOfGaussians { standard_deviation, sensitivities, probabilities } => {
            let mixture = Mixture::new(*standard_deviation, sensitivities, probabilities)?;
            match mixture.ratio() {
                Ok(law) if adjacency == Adjacency::AddRemove && mixture.components.len() > 1 => {
                    Component::Ratio { law }.into()
                }
                _ => build(&mixture.whole(), adjacency)?,
            }
        }
        DpEvent::TruncatedPoissonSampled { mechanism, rate, rows, max_batch } => {
            let cut = Truncated::new(event, mechanism, *rate, *rows, *max_batch)?;
            if max_batch >= rows || cut.rate == 0.0 {
                return poisson(event, mechanism, *rate, adjacency);
            }
            if adjacency == Adjacency::ReplaceOne {
                return Err(Truncated::replaced("event"));
            }
            match cut.ratio() {
                Ok(law) => Component::Ratio { law }.into(),
                Err(_) => Component::Gaussian { noise_multiplier: down(0.5 / cut.mu, 1) }.into(),
            }
        }
        DpEvent::RandomAllocation { mechanism, .. } => {
            let whole = build(&whole_allocation(event)?, adjacency)?;
            match (adjacency, mechanism) {
                (Adjacency::AddRemove, Mechanism::Gaussian { noise_multiplier }) => {
                    drawn(1.0 / noise_multiplier, &groups(event)?).unwrap_or(whole)
                }
                _ => whole,
            }
        }
        DpEvent::Repeated { event, count } => build(event, adjacency)?.repeat(*count),
        DpEvent::Composed { events } => {
            let parts = events.iter().map(|part| build(part, adjacency)).collect::<Fallible<Vec<_>>>()?;
            parts.iter().fold(RdpCurve::nothing(), RdpCurve::compose)
        }
        DpEvent::Selected { event, runs } => {
            Component::Selected { base: build(event, adjacency)?.into(), runs: *runs }.into()
        }
    })
}

/// The curve of one step of each group, whose sensitivity is `mu` deviations of the noise, where its laws can be computed.
fn drawn(mu: f64, groups: &[(u64, u64)]) -> Option<RdpCurve> {
    groups.iter().try_fold(RdpCurve::nothing(), |sum, (steps, count)| {
        // More steps to draw from cost less.
        let kind = Kind::Allocation { mu: up(mu, 1), steps: (*steps).min(MAX_STEPS) };
        let law = LikelihoodRatio::new(kind).ok()?;
        Some(sum.compose(&RdpCurve::from(Component::Ratio { law }).repeat(*count)))
    })
}

fn single(event: &DpEvent, mechanism: &Mechanism, adjacency: Adjacency) -> Fallible<Component> {
    Ok(match (mechanism, loss_of(event, mechanism, adjacency)?) {
        (_, Loss::Gaussian { noise_multiplier }) => Component::Gaussian { noise_multiplier },
        (_, Loss::Objective { noise_multiplier, curvature }) => Component::Objective { noise_multiplier, curvature },
        (_, Loss::Concentrated { rho }) => Component::Concentrated { xi: 0.0, rho },
        (Mechanism::Laplace { .. }, Loss::Pure { epsilon }) => Component::Laplace { epsilon },
        (Mechanism::DiscreteLaplace { scale, sensitivity }, Loss::Pure { .. }) if *sensitivity <= 1 << 62 => {
            Component::DiscreteLaplace { scale: *scale, sensitivity: adjacency.sum_sensitivity(*sensitivity) }
        }
        (Mechanism::Exponential { .. }, Loss::Pure { epsilon }) => Component::BoundedRange { epsilon },
        (_, Loss::Pure { epsilon }) => Component::Pure { epsilon },
        (_, Loss::Approximate { .. }) => return Err(unsupported("an RDP curve", event, adjacency)),
    })
}

fn poisson(event: &DpEvent, mechanism: &Mechanism, rate: f64, adjacency: Adjacency) -> Fallible<RdpCurve> {
    if rate == 0.0 || rate == 1.0 {
        let whole = single(event, mechanism, adjacency)?;
        return Ok(if rate == 0.0 { RdpCurve::nothing() } else { whole.into() });
    }
    if let Mechanism::Gaussian { noise_multiplier } = *mechanism {
        return Ok(match adjacency {
            Adjacency::AddRemove => Component::PoissonGaussian { rate, noise_multiplier },
            Adjacency::ReplaceOne => Component::PoissonGaussianReplaceOne { rate, noise_multiplier },
        }
        .into());
    }
    let epsilon = subsample::pure_poisson(event, mechanism, rate, adjacency)?
        .ok_or_else(|| unsupported("an RDP curve", event, adjacency))?;
    Ok(Component::Pure { epsilon }.into())
}

fn fixed_size(event: &DpEvent, mechanism: &Mechanism, fraction: f64, adjacency: Adjacency) -> Fallible<RdpCurve> {
    if adjacency != Adjacency::ReplaceOne {
        return Err(unsupported("an RDP curve", event, adjacency));
    }
    let base = single(event, mechanism, adjacency)?;
    let gaussian = match base {
        Component::Gaussian { noise_multiplier } => Some(noise_multiplier),
        _ => None,
    };
    Ok(Component::WithoutReplacement { base: base.into(), fraction, gaussian }.into())
}
