//! What a single recorded mechanism costs, before any notion of privacy is chosen.

use super::directed::{add_up, finite, nonnegative, positive, probability};
use super::gaussian;
use super::ratio::{Kind, LikelihoodRatio};
use super::rdp::mechanisms;
use crate::error::{Error, Fallible};
use crate::num::binomial;
use crate::num::round::{down, up};
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

/// As many steps on all rows as a row joins, which cost at least as much as steps in places that a row draws for itself.
///
/// Given the places, all other steps are the same for both neighbours; Renyi divergences are quasi-convex and hockey-stick divergences
/// convex in both laws together, so drawing places cannot tell more (van Erven and Harremoes 2014, Theorem 13).
///
/// # Errors
/// When a row joins no step, or more than there are; events of other kinds are their own bound.
pub(super) fn whole_allocation(event: &DpEvent) -> Fallible<DpEvent> {
    let DpEvent::RandomAllocation { mechanism, participations, .. } = event else { return Ok(event.clone()) };
    groups(event)?;
    let one = DpEvent::Single { mechanism: *mechanism };
    Ok(if *participations == 1 { one } else { DpEvent::Repeated { event: Box::new(one), count: *participations } })
}

/// Groups of steps of an allocation, of each of which a row joins one, with how many there are of each size.
///
/// A set of k of t steps is drawn evenly by dividing the steps at random into k groups of nearly the same size and drawing one step of each:
/// whatever the sizes, the law of the set does not change when steps are renamed. Who knows the groups sees k independent allocations, so
/// these dominate (hockey-stick divergences are convex). With one step to join there is one group, and nothing is lost.
///
/// # Errors
/// When a row joins no step, or more than there are.
///
/// Reference: Feldman and Shenfeld 2025 bound k of t by k allocations to `floor(t/k)` steps.
pub(super) fn groups(event: &DpEvent) -> Fallible<Vec<(u64, u64)>> {
    let DpEvent::RandomAllocation { steps, participations, .. } = event else { return Ok(Vec::new()) };
    if *participations == 0 || participations > steps {
        let text = serde_json::to_string(event).unwrap_or_else(|_| format!("{event:?}"));
        let problem = format!("are {participations} of {steps} steps in {text}");
        return Err(Error::parameter("participations", problem, "let a row join from 1 to all of the steps"));
    }
    let larger = steps % participations;
    let sizes = [(steps / participations + 1, larger), (steps / participations, participations - larger)];
    Ok(sizes.into_iter().filter(|(_, count)| *count > 0).collect())
}

/// The parameters of a mixture of Gaussians, checked.
pub(super) struct Mixture {
    /// Logarithm of the probability and sensitivity over the standard deviation, by rising sensitivity; each sensitivity once.
    pub components: Vec<(f64, f64)>,
}

impl Mixture {
    /// # Errors
    /// When a sensitivity is negative or not finite, lists are empty or of different lengths, probabilities do not add up to 1 to 1e-9, or
    /// the noise is none.
    pub(super) fn new(standard_deviation: f64, sensitivities: &[f64], probabilities: &[f64]) -> Fallible<Self> {
        let sigma = positive("standard deviation", standard_deviation)?;
        let refused =
            |problem: String| Error::parameter("sensitivities", problem, "give a probability for each sensitivity");
        if sensitivities.len() != probabilities.len() || sensitivities.is_empty() {
            return Err(refused(format!("are {} with {} probabilities", sensitivities.len(), probabilities.len())));
        }
        let mut components = Vec::with_capacity(sensitivities.len());
        for (c, p) in sensitivities.iter().zip(probabilities) {
            let mu = up(finite("sensitivity", nonnegative("sensitivity", *c)?)? / sigma, 1);
            components
                .push((probability("probabilities", *p)?, if *c == 0.0 { 0.0 } else { finite("sensitivity", mu)? }));
        }
        let sum: f64 = components.iter().map(|it| it.0).sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(refused(format!("have probabilities that add up to {sum}, must be 1")));
        }
        components.sort_by(|a, b| a.1.total_cmp(&b.1));
        // What is missing to 1 counts as the largest, and what is too much is taken from the smallest.
        if let Some(last) = components.last_mut() {
            last.0 += (1.0 - sum).max(0.0);
        }
        let mut excess = (sum - 1.0).max(0.0);
        for (p, _) in &mut components {
            let taken = p.min(excess);
            (*p, excess) = (*p - taken, excess - taken);
        }
        components.dedup_by(|next, kept| {
            let same = next.1 == kept.1;
            kept.0 += if same { next.0 } else { 0.0 };
            same
        });
        components.retain(|it| it.0 > 0.0);
        components.iter_mut().for_each(|it| it.0 = it.0.min(1.0).ln());
        Ok(Mixture { components })
    }

    /// The largest sensitivity over the standard deviation.
    pub(super) fn largest(&self) -> f64 {
        self.components.last().map_or(0.0, |it| it.1)
    }

    /// The law of its likelihood ratio.
    pub(super) fn ratio(&self) -> Fallible<LikelihoodRatio> {
        LikelihoodRatio::new(Kind::Mixture { components: self.components.clone() })
    }

    /// The Gaussian mechanism that knows which sensitivity was drawn: all divergences are quasi-convex.
    pub(super) fn whole(&self) -> DpEvent {
        match self.largest() {
            0.0 => DpEvent::Composed { events: Vec::new() },
            mu => DpEvent::Single { mechanism: Mechanism::Gaussian { noise_multiplier: down(1.0 / mu, 1) } },
        }
    }
}

/// A Gaussian step on a Poisson sample of which at most B rows are kept, as two pairs that dominate it together.
///
/// Let K be how many of the other rows were drawn; it has the same law with the row in question and without it. While `K < B` a row that is
/// drawn is added to the sample. From `K = B` on it can only take the place of another one, which moves the sum by twice the clip norm, and it
/// does so with a probability of `q B / (K + 1)`, hence at most `q B / (B + 1)`, and with the rate at most, which is taken. Whoever knows whether `K >= B` sees one of these two pairs, so they dominate together (hockey-stick
/// divergences are jointly convex). Data sets of fewer rows fill batches more seldom, those of at most B never: the sample as it is dominates nothing more.
///
/// Reference: Chua et al. 2024, "Scalable DP-SGD: shuffling vs. Poisson subsampling", who count all that a full batch shows as a failure.
pub(super) struct Truncated {
    /// The sensitivity over the noise of a row that is added.
    pub mu: f64,
    /// The sampling rate.
    pub rate: f64,
    /// At least the probability of a full batch.
    pub full: f64,
}

impl Truncated {
    /// The refusal where a row is replaced: one that is not kept leaves its place in a full batch to another, which may be twice the clip norm from either.
    pub(super) fn replaced(path: &str) -> Error {
        let problem = "has no bound under replace-one for a sample that is cut: a row that is not kept leaves its place to another";
        Error::parameter(
            path,
            problem,
            "ask for `poisson-sampled` at the same rate with half the noise multiplier, which costs as much or more",
        )
    }

    /// # Errors
    /// When there is no row or a batch keeps none, the mechanism is not Gaussian or a parameter is outside its range.
    pub(super) fn new(event: &DpEvent, mechanism: &Mechanism, rate: f64, rows: u64, most: u64) -> Fallible<Self> {
        let Mechanism::Gaussian { noise_multiplier } = *mechanism else {
            return Err(unsupported("bound but for Gaussian noise", event, Adjacency::AddRemove));
        };
        let mu = finite("noise multiplier", up(1.0 / positive("noise multiplier", noise_multiplier)?, 1))?;
        for (name, value) in [("rows", rows), ("max_batch", most)] {
            if value == 0 {
                return Err(Error::parameter(name, "is 0: no row is ever kept", "give 1 row at least"));
            }
        }
        let rate = probability("rate", rate)?;
        Ok(Truncated { mu, rate, full: binomial::upper_tail(most, rows.saturating_sub(1), rate) })
    }

    /// The law of its likelihood ratio.
    pub(super) fn ratio(&self) -> Fallible<LikelihoodRatio> {
        LikelihoodRatio::new(Kind::Truncated { mu: self.mu, rate: self.rate, full: self.full })
    }
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
        DpEvent::MixtureOfGaussians { standard_deviation, sensitivities, probabilities } => {
            squared_mu(&Mixture::new(*standard_deviation, sensitivities, probabilities)?.whole(), adjacency)
        }
        DpEvent::RandomAllocation { .. } => squared_mu(&whole_allocation(event)?, adjacency),
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
