//! What a release costs: exactly for Gaussian noise on all rows, by a recorded claim for everything else.

use serde::{Deserialize, Serialize};

use super::{Adjacency, BestRunEvent, Event, GaussianEvent, Mechanism, NoiseLaw, Rho, SelectionEvent, StableEvent};
use crate::error::{Error, Fallible};
use crate::num::round::{down, up};

/// A guarantee for all releases of a charge together, computed when they were planned.
///
/// They are (epsilon, delta)-DP and hence delta-approximate rho-zCDP. The numbers are recorded, so that a ledger
/// adds up the same total on every machine; an accountant must confirm them
/// ([`crate::accounting::claim::confirm`]).
///
/// Reference: Bun and Steinke 2016, section 8.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Epsilon.
    pub epsilon: f64,
    /// Delta, zero for a pure guarantee.
    pub delta: f64,
    /// rho of the approximate zCDP guarantee.
    pub rho: f64,
}

/// Gaussian releases on fresh Poisson samples of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampledEvent {
    /// The releases, as if made on all rows.
    pub sampled: GaussianEvent,
    /// Each row joins each release on its own with probability `1 - exp(-exponent / 2^64)`.
    pub exponent: u64,
    /// What all of them cost together.
    pub claim: Claim,
}

impl SampledEvent {
    /// The sampling rate, rounded upward.
    pub fn rate(&self) -> f64 {
        let exponent = up(self.exponent as f64 / 2f64.powi(64), 1);
        up(-(-exponent).exp_m1(), 2).min(1.0)
    }

    /// The releases as an event for the accountant, rounded to the costlier side.
    pub fn event(&self, adjacency: Adjacency) -> Event {
        Event::poisson(gaussian(&self.sampled, adjacency), self.rate(), self.sampled.count)
    }
}

/// Gaussian noise on the gradient of an objective whose exact minimiser is then opened, alone or with more noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectiveEvent {
    /// The noise on the gradient; its sensitivity is that of the sum of gradients.
    pub perturbed: GaussianEvent,
    /// Curvature of one record over that of the penalty, `beta / Lambda`, rounded upward.
    pub curvature: f64,
    /// What it costs.
    pub claim: Claim,
}

/// One kind of release and what it costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Charge {
    /// Gaussian noise on a query of all rows.
    Gaussian(GaussianEvent),
    /// Gaussian noise on a query of a Poisson sample.
    Sampled(SampledEvent),
    /// Gaussian noise on the gradient of an objective that is minimised.
    Objective(ObjectiveEvent),
    /// A choice among candidates by the exponential mechanism.
    Selection(SelectionEvent),
    /// The best of a random number of runs.
    BestRun(BestRunEvent),
    /// Something that is opened only where a noised integer reaches a threshold.
    Stable(StableEvent),
}

impl From<GaussianEvent> for Charge {
    fn from(event: GaussianEvent) -> Self {
        Charge::Gaussian(event)
    }
}

impl From<StableEvent> for Charge {
    fn from(event: StableEvent) -> Self {
        Charge::Stable(event)
    }
}

impl Charge {
    /// The Gaussian noise that is added, if any is.
    fn noised(&self) -> Option<&GaussianEvent> {
        match self {
            Charge::Gaussian(event) => Some(event),
            Charge::Sampled(event) => Some(&event.sampled),
            Charge::Objective(event) => Some(&event.perturbed),
            Charge::Stable(event) => Some(&event.noised),
            Charge::Selection(_) | Charge::BestRun(_) => None,
        }
    }

    /// What is released, in words.
    pub fn what(&self) -> &str {
        match self {
            Charge::Selection(event) => &event.what,
            Charge::BestRun(event) => &event.what,
            _ => self.noised().map_or("", |event| &event.what),
        }
    }

    /// The sensitivity that is paid for, in grid steps: l2, or the range of the scores' changes for a selection; 1 for
    /// the best run, whose cost is that of its own releases.
    pub fn sensitivity(&self) -> u64 {
        match self {
            Charge::Selection(event) => event.sensitivity,
            Charge::BestRun(_) => 1,
            _ => self.noised().map_or(u64::MAX, |event| event.sensitivity),
        }
    }

    /// Scale of the randomness over the sensitivity, for display.
    pub fn noise_multiplier(&self) -> f64 {
        match self {
            Charge::Selection(event) => event.scale() / event.sensitivity as f64,
            Charge::BestRun(event) => event.noise_multiplier(),
            _ => self.noised().map_or(0.0, GaussianEvent::noise_multiplier),
        }
    }

    /// The law of the noise; `None` for a selection, which adds none, and for the best run, whose releases have theirs.
    pub fn noise(&self) -> Option<NoiseLaw> {
        self.noised().map(|event| event.noise)
    }

    /// Whether the releases have a trade-off no lower than that of the continuous Gaussian mechanism on all rows.
    pub fn is_gaussian(&self) -> bool {
        matches!(self, Charge::Gaussian(event) if event.noise == NoiseLaw::FlooredNormal)
    }

    /// The releases as an event for the accountant, rounded to the costlier side.
    pub fn event(&self, adjacency: Adjacency) -> Event {
        match self {
            Charge::Gaussian(event) => Event::repeated(gaussian(event, adjacency), event.count),
            Charge::Sampled(event) => event.event(adjacency),
            Charge::Objective(event) => Event::Single { mechanism: objective(event, adjacency) },
            Charge::Selection(event) => {
                Event::repeated(Mechanism::Exponential { epsilon: event.epsilon_up() }, event.count)
            }
            Charge::BestRun(event) => event.event(adjacency),
            Charge::Stable(event) => event.event(gaussian(&event.noised, adjacency)),
        }
    }

    /// What is claimed, where the cost is not exact.
    pub fn claim(&self) -> Option<&Claim> {
        match self {
            Charge::Gaussian(_) | Charge::Selection(_) | Charge::Stable(_) => None,
            Charge::Sampled(event) => Some(&event.claim),
            Charge::Objective(event) => Some(&event.claim),
            Charge::BestRun(event) => Some(&event.claim),
        }
    }

    /// rho of approximate zCDP: exact for Gaussian releases on all rows, selections and thresholds, else as claimed.
    ///
    /// # Errors
    /// When a claim is no number.
    pub fn rho(&self) -> Fallible<Rho> {
        match (self, self.claim()) {
            (Charge::Gaussian(event), None) => Ok(event.rho()),
            (Charge::Selection(event), None) => Ok(event.rho()),
            (Charge::Stable(event), None) => Ok(event.noised.rho()),
            (_, claim) => Rho::from_f64(claim.map_or(f64::NAN, |claim| claim.rho)),
        }
    }

    /// How many releases there are.
    pub fn count(&self) -> u64 {
        match self {
            Charge::Selection(event) => event.count,
            Charge::BestRun(_) => 1,
            _ => self.noised().map_or(0, |event| event.count),
        }
    }

    /// One of the releases; its claim stays that of all together.
    pub fn single(&self) -> Self {
        let one = |event: &GaussianEvent| GaussianEvent { count: 1, ..event.clone() };
        match self {
            Charge::Gaussian(event) => Charge::Gaussian(one(event)),
            Charge::Sampled(event) => Charge::Sampled(SampledEvent { sampled: one(&event.sampled), ..event.clone() }),
            Charge::Objective(event) => Charge::Objective(event.clone()),
            Charge::Selection(event) => Charge::Selection(SelectionEvent { count: 1, ..event.clone() }),
            Charge::BestRun(event) => Charge::BestRun(event.clone()),
            Charge::Stable(event) => Charge::Stable(StableEvent { noised: one(&event.noised), ..event.clone() }),
        }
    }

    /// Delta of approximate zCDP; zero where the cost is plain zCDP.
    pub fn delta(&self) -> f64 {
        match self {
            Charge::Stable(event) => event.total_delta(),
            _ => self.claim().map_or(0.0, |claim| claim.delta),
        }
    }

    /// Refuses values no planner produces, so that a forged file cannot exhaust memory or hide its cost.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn check(&self) -> Fallible<()> {
        self.noised().map_or(Ok(()), GaussianEvent::check)?;
        let claimed = self.claim().is_none_or(|claim| {
            let positive = claim.epsilon > 0.0 && claim.epsilon.is_finite() && claim.rho > 0.0 && claim.rho.is_finite();
            positive && (0.0..1.0).contains(&claim.delta)
        });
        let possible = match self {
            Charge::Gaussian(_) => true,
            Charge::Sampled(event) => event.exponent > 0,
            Charge::Objective(event) => {
                let curved = event.curvature > 0.0 && event.curvature.is_finite();
                curved && event.perturbed.count == 1 && event.perturbed.noise == NoiseLaw::FlooredNormal
            }
            Charge::Selection(event) => return event.check(),
            Charge::BestRun(event) => event.is_possible(),
            Charge::Stable(event) => event.is_possible(),
        };
        if claimed && possible {
            return Ok(());
        }
        Err(Error::parameter("charge", "claims no possible cost", "the record is damaged: restore it from a copy"))
    }
}

/// The mechanism of a Gaussian event relative to one row, its noise multiplier rounded down.
///
/// The recorded sensitivity holds under `adjacency`; accountants multiply by the factor of replace-one themselves.
fn gaussian(event: &GaussianEvent, adjacency: Adjacency) -> Mechanism {
    Mechanism::Gaussian { noise_multiplier: multiplier(event, adjacency) }
}

fn multiplier(event: &GaussianEvent, adjacency: Adjacency) -> f64 {
    let sensitivity = up(event.sensitivity as f64, 1) / adjacency.sum_sensitivity(1) as f64;
    down(2f64.powi(event.log2_scale as i32) / sensitivity, 1)
}

/// The mechanism of a perturbed objective, as [`gaussian`].
fn objective(event: &ObjectiveEvent, adjacency: Adjacency) -> Mechanism {
    let noise_multiplier = multiplier(&event.perturbed, adjacency);
    Mechanism::ObjectivePerturbation { noise_multiplier, curvature: event.curvature }
}

/// Total rho of a list of charges.
///
/// # Errors
/// When a claim is no number.
pub fn total_rho(charges: &[Charge]) -> Fallible<Rho> {
    charges.iter().try_fold(Rho::zero(), |sum, charge| Ok(sum.plus(&charge.rho()?)))
}

/// Total delta of a list of charges, rounded upward.
pub fn total_delta(charges: &[Charge]) -> f64 {
    charges.iter().map(Charge::delta).fold(0.0, add_deltas)
}

/// The sum of two deltas, rounded upward.
pub fn add_deltas(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { a + b } else { up(a + b, 1) }
}
