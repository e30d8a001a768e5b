//! The concentrated cost of a recorded event.

use crate::accounting::event::{Loss, Mixture, loss_of, unsupported, whole_allocation};
use crate::accounting::notion::{ApproximateZcdp, Zcdp};
use crate::accounting::rdp::mechanisms::{bounded_range_rho, laplace_rho, pure_rho};
use crate::accounting::{gaussian, selection, subsample};
use crate::error::Fallible;
use crate::num::round::up;
use crate::privacy::{Adjacency, DpEvent, Mechanism, RunCount};

/// The approximate-zCDP guarantee of an event under a relation.
///
/// Gaussian `1/(2 z^2)`, objective perturbation [`crate::accounting::erm::objective_zcdp`], Laplace `e + exp(-e) - 1`, bounded range `epsilon^2/8`, other pure mechanisms
/// `epsilon tanh(epsilon/2)`, (epsilon, delta) the same with failure probability delta; costs add.
///
/// # Errors
/// When a part of the tree has no such guarantee (a sampled Gaussian, or a selection from a mechanism that
/// is not pure), naming that part and the relation, or when a parameter is outside its range.
///
/// # Privacy
/// An upper bound under the given relation; noise scales relative to one row are halved under
/// replace-one.
///
/// Reference: Bun and Steinke 2016, Lemma 2.3 and section 8, and those of the parts.
///
/// ```
/// use rhograd::accounting::zcdp;
/// use rhograd::privacy::{Adjacency, DpEvent, Mechanism};
/// # fn main() -> rhograd::error::Fallible<()> {
/// let event = DpEvent::repeated(Mechanism::Gaussian { noise_multiplier: 10.0 }, 100);
/// assert!((zcdp::of_event(&event, Adjacency::ReplaceOne)?.zcdp().rho() - 2.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
pub fn of_event(event: &DpEvent, adjacency: Adjacency) -> Fallible<ApproximateZcdp> {
    let concentrated = |rho: f64| Ok(ApproximateZcdp::exact(Zcdp::new(0.0, rho)?));
    match event {
        DpEvent::Single { mechanism } => match (mechanism, loss_of(event, mechanism, adjacency)?) {
            (_, Loss::Gaussian { noise_multiplier }) => concentrated(gaussian::rho(1.0, noise_multiplier)?),
            (_, Loss::Concentrated { rho }) => concentrated(rho),
            (_, Loss::Objective { noise_multiplier, curvature }) => {
                let (xi, rho) = crate::accounting::erm::objective_zcdp(noise_multiplier, curvature)?;
                Ok(ApproximateZcdp::exact(Zcdp::new(xi, rho)?))
            }
            (Mechanism::Laplace { .. }, Loss::Pure { epsilon }) => concentrated(laplace_rho(epsilon)?),
            (Mechanism::Exponential { .. }, Loss::Pure { epsilon }) => concentrated(bounded_range_rho(epsilon)?),
            (_, Loss::Pure { epsilon }) => concentrated(pure_rho(epsilon)?),
            (_, Loss::Approximate { epsilon, delta }) => {
                crate::accounting::notion::ApproximateDp::new(epsilon, delta)?.to_approximate_zcdp()
            }
        },
        DpEvent::MixtureOfGaussians { standard_deviation, sensitivities, probabilities } => {
            of_event(&Mixture::new(*standard_deviation, sensitivities, probabilities)?.whole(), adjacency)
        }
        DpEvent::RandomAllocation { .. } => of_event(&whole_allocation(event)?, adjacency),
        DpEvent::Repeated { event, count } => repeated(of_event(event, adjacency)?, *count),
        DpEvent::Composed { events } => events
            .iter()
            .try_fold(ApproximateZcdp::default(), |total, part| Ok(total.compose(of_event(part, adjacency)?))),
        _ => match pure(event, adjacency)? {
            Some(epsilon) => concentrated(pure_rho(epsilon)?),
            None => Err(unsupported("zCDP guarantee", event, adjacency)),
        },
    }
}

/// The guarantee of `count` compositions.
fn repeated(one: ApproximateZcdp, count: u64) -> Fallible<ApproximateZcdp> {
    if count == 0 {
        return Ok(ApproximateZcdp::default());
    }
    let times = up(count as f64, if count > 1 << 53 { 1 } else { 0 });
    let scaled = |x: f64| if x == 0.0 || count == 1 { x } else { up(x * times, 1) };
    let zcdp = Zcdp::new(scaled(one.zcdp().xi()), scaled(one.zcdp().rho()))?;
    // 1 - (1 - delta)^n, every step rounded so that delta grows.
    let ln_delta = if one.ln_delta() == f64::NEG_INFINITY || count == 1 {
        one.ln_delta()
    } else {
        crate::accounting::compose::ln_union_repeated(one.ln_delta(), times)
    };
    ApproximateZcdp::new(ln_delta, zcdp)
}

/// The epsilon of an event as pure privacy, where it has one.
///
/// # Errors
/// When a parameter is outside its range or a sampled part has no theorem.
pub(super) fn pure(event: &DpEvent, adjacency: Adjacency) -> Fallible<Option<f64>> {
    match event {
        DpEvent::Single { mechanism } => Ok(match loss_of(event, mechanism, adjacency)? {
            Loss::Pure { epsilon } => Some(epsilon),
            _ => None,
        }),
        DpEvent::PoissonSampled { mechanism, rate } => subsample::pure_poisson(event, mechanism, *rate, adjacency),
        DpEvent::SampledWithoutReplacement { mechanism, fraction } => {
            subsample::pure_fixed_size(event, mechanism, *fraction, adjacency)
        }
        DpEvent::RandomAllocation { .. } => pure(&whole_allocation(event)?, adjacency),
        DpEvent::Repeated { event, count } => {
            let times = up(*count as f64, 1);
            Ok(pure(event, adjacency)?.map(|e| if e == 0.0 || *count == 0 { 0.0 } else { up(e * times, 1) }))
        }
        DpEvent::Composed { events } => {
            let parts = events.iter().map(|part| pure(part, adjacency)).collect::<Fallible<Vec<_>>>()?;
            Ok(parts.into_iter().try_fold(0.0, |sum, part| part.map(|e| crate::accounting::directed::add_up(sum, e))))
        }
        DpEvent::Selected { event, runs: RunCount::TruncatedNegativeBinomial { eta, gamma } } => {
            match pure(event, adjacency)? {
                Some(epsilon) => selection::pure(epsilon, *eta, *gamma).map(Some),
                None => Ok(None),
            }
        }
        DpEvent::MixtureOfGaussians { .. } | DpEvent::TruncatedPoissonSampled { .. } | DpEvent::Selected { .. } => {
            Ok(None)
        }
    }
}
