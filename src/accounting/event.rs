//! What a single recorded mechanism costs, before any notion of privacy is chosen.

use super::directed::{add_up, finite, nonnegative, positive, probability};
use super::gaussian;
use super::rdp::mechanisms;
use crate::error::{Error, Fallible};
use crate::num::round::up;
use crate::privacy::{Adjacency, DpEvent, Mechanism};

/// The privacy loss of a mechanism under a relation, by the finest notion that is exact for it.
pub(super) enum Loss {
    /// A Gaussian mechanism relative to the sensitivity under the relation.
    Gaussian { noise_multiplier: f64 },
    /// rho-zCDP and nothing finer.
    Concentrated { rho: f64 },
    /// The exact minimiser of a perturbed objective.
    Objective { noise_multiplier: f64, curvature: f64 },
    /// Pure epsilon.
    Pure { epsilon: f64 },
    /// (epsilon, delta) with positive delta.
    Approximate { epsilon: f64, delta: f64 },
}

/// The refusal of a part of an event that an accountant has no theorem for.
pub(super) fn unsupported(what: &str, event: &DpEvent, adjacency: Adjacency) -> Error {
    let text = serde_json::to_string(event).unwrap_or_else(|_| format!("{event:?}"));
    Error::parameter(
        "event",
        format!("there is no {what} for {text} under {adjacency}"),
        "use another accountant or another relation",
    )
}

/// The loss of one mechanism applied to all rows, with the factor 2 of replace-one where it applies.
pub(super) fn loss_of(event: &DpEvent, mechanism: &Mechanism, adjacency: Adjacency) -> Fallible<Loss> {
    let factor = adjacency.sum_sensitivity(1) as f64;
    Ok(match *mechanism {
        Mechanism::Gaussian { noise_multiplier } => {
            let scaled = positive("noise multiplier", noise_multiplier)? / factor;
            Loss::Gaussian { noise_multiplier: positive("noise multiplier", scaled)? }
        }
        Mechanism::ObjectivePerturbation { noise_multiplier, curvature } => {
            let scaled = positive("noise multiplier", noise_multiplier)? / factor;
            let noise_multiplier = positive("noise multiplier", scaled)?;
            Loss::Objective { noise_multiplier, curvature: positive("curvature", curvature)? }
        }
        Mechanism::DiscreteGaussian { sigma, sensitivity } => {
            let sigma = positive("sigma", sigma)?;
            let moved = up(sensitivity as f64, 1) * factor;
            Loss::Concentrated { rho: if sensitivity == 0 { 0.0 } else { gaussian::rho(moved, sigma)? } }
        }
        Mechanism::Laplace { scale } => Loss::Pure { epsilon: up(factor / positive("scale", scale)?, 1) },
        Mechanism::DiscreteLaplace { scale, sensitivity } => {
            let moved = up(sensitivity as f64, 1) * factor;
            let scale = positive("scale", scale)?;
            Loss::Pure { epsilon: if sensitivity == 0 { 0.0 } else { up(moved / scale, 1) } }
        }
        Mechanism::Exponential { epsilon } | Mechanism::Pure { epsilon } => {
            Loss::Pure { epsilon: nonnegative("epsilon", epsilon)? }
        }
        Mechanism::RandomisedResponse { truth } => {
            Loss::Pure { epsilon: mechanisms::randomised_response_epsilon(truth)? }
        }
        Mechanism::Approximate { epsilon, delta } => {
            let (epsilon, delta) = (nonnegative("epsilon", epsilon)?, probability("delta", delta)?);
            match delta {
                0.0 => Loss::Pure { epsilon },
                1.0 => return Err(unsupported("guarantee", event, adjacency)),
                _ => Loss::Approximate { epsilon, delta },
            }
        }
    })
}

/// The Gaussian releases of an event as `sum 1/z^2`, or a refusal naming the part that is not Gaussian.
pub(super) fn squared_mu(event: &DpEvent, adjacency: Adjacency) -> Fallible<f64> {
    match event {
        DpEvent::Single { mechanism } => match loss_of(event, mechanism, adjacency)? {
            Loss::Gaussian { noise_multiplier } => {
                let mu = up(1.0 / noise_multiplier, 1);
                finite("mu squared", up(mu * mu, 1))
            }
            _ => Err(unsupported("Gaussian guarantee", event, adjacency)),
        },
        DpEvent::Repeated { event, count } => {
            let one = squared_mu(event, adjacency)?;
            Ok(if one == 0.0 || *count == 0 { 0.0 } else { up(one * up(*count as f64, 1), 1) })
        }
        DpEvent::Composed { events } => {
            events.iter().try_fold(0.0, |sum, part| Ok(add_up(sum, squared_mu(part, adjacency)?)))
        }
        _ => Err(unsupported("Gaussian guarantee", event, adjacency)),
    }
}
