//! What a release costs: one file a kind of charge, with its record, its cost and the theorem.
//!
//! A new kind is a file that implements [`ChargeKind`], named in `charges!` below, an accountant's view of it
//! ([`ChargeKind::event`]) and a permit that opens values by it.

mod exponential;
mod gaussian;
mod objective;
mod poisson_gaussian;
mod private_selection;
mod threshold;

use serde::{Deserialize, Serialize};

pub use exponential::SelectionEvent;
pub use gaussian::{GaussianEvent, MAX_LOG2_SCALE, NoiseLaw};
pub use objective::ObjectiveEvent;
pub use poisson_gaussian::SampledEvent;
pub use private_selection::BestRunEvent;
pub use threshold::StableEvent;

use super::{Adjacency, DpEvent, Rho};
use crate::error::{Error, Fallible};
use crate::num::round::up;

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

impl Claim {
    fn is_possible(&self) -> bool {
        let positive = self.epsilon > 0.0 && self.epsilon.is_finite() && self.rho > 0.0 && self.rho.is_finite();
        positive && (0.0..1.0).contains(&self.delta)
    }
}

/// What every kind of charge answers; nothing has a default, for most of it decides privacy.
trait ChargeKind {
    /// Its releases, apart from what they cost.
    fn releases(&self) -> Releases<'_>;

    /// One of the releases; its claim stays that of all together.
    fn single(&self) -> Charge;

    /// The rate at which rows are sampled, rounded upward; `None` where all are read.
    fn sampling_rate(&self) -> Option<f64>;

    /// What is claimed, where the cost is not exact.
    fn claim(&self) -> Option<&Claim>;

    /// rho of approximate zCDP.
    fn rho(&self) -> Fallible<Rho>;

    /// Delta of approximate zCDP; zero where the cost is plain zCDP.
    fn delta(&self) -> f64;

    /// The releases as an event for the accountant, rounded to the costlier side.
    fn event(&self, adjacency: Adjacency) -> DpEvent;

    /// Whether a privacy-loss distribution is known that dominates the event; Renyi divergences always are.
    fn has_loss_distribution(&self) -> bool;

    /// Refuses values no planner produces.
    fn check(&self) -> Fallible<()>;

    /// How it is paid for: "the next release was paid for ...".
    fn manner(&self) -> &'static str;

    /// The mechanism, in the words of a statement.
    fn mechanism(&self) -> &'static str;
}

/// Releases of one kind, apart from what they cost.
struct Releases<'a> {
    /// What is released, in words.
    what: &'a str,
    /// The sensitivity that is paid for, in grid steps.
    sensitivity: u64,
    /// Scale of the randomness over the sensitivity.
    noise_multiplier: f64,
    /// The law of the noise that is added to each coordinate.
    noise: Option<NoiseLaw>,
    /// How many releases there are.
    count: u64,
}

macro_rules! charges {
    ($($(#[$doc:meta])* $kind:ident($event:ident)),* $(,)?) => {
        /// One kind of release and what it costs.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(untagged)]
        pub enum Charge {
            $($(#[$doc])* $kind($event),)*
        }

        impl Charge {
            /// What its own file says of it.
            fn kind(&self) -> &dyn ChargeKind {
                match self {
                    $(Charge::$kind(event) => event,)*
                }
            }
        }

        $(
            impl From<$event> for Charge {
                fn from(event: $event) -> Self {
                    Charge::$kind(event)
                }
            }
        )*
    };
}

// Files name no kind: they are told apart by their fields, tried in this order.
charges! {
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

impl Charge {
    /// What is released, in words.
    pub fn what(&self) -> &str {
        self.kind().releases().what
    }

    /// The sensitivity that is paid for, in grid steps: l2, or the range of the scores' changes for a selection; 1 for
    /// the best run, whose cost is that of its own releases.
    pub fn sensitivity(&self) -> u64 {
        self.kind().releases().sensitivity
    }

    /// Scale of the randomness over the sensitivity, for display.
    pub fn noise_multiplier(&self) -> f64 {
        self.kind().releases().noise_multiplier
    }

    /// The law of the noise; `None` for a selection, which adds none, and for the best run, whose releases have theirs.
    pub fn noise(&self) -> Option<NoiseLaw> {
        self.kind().releases().noise
    }

    /// How many releases there are.
    pub fn count(&self) -> u64 {
        self.kind().releases().count
    }

    /// One of the releases; its claim stays that of all together.
    pub fn single(&self) -> Self {
        self.kind().single()
    }

    /// The rate at which rows are sampled, rounded upward; `None` where all are read.
    pub fn sampling_rate(&self) -> Option<f64> {
        self.kind().sampling_rate()
    }

    /// Whether the releases have a trade-off no lower than that of the continuous Gaussian mechanism on all rows.
    pub fn is_gaussian(&self) -> bool {
        matches!(self, Charge::Gaussian(event) if event.noise == NoiseLaw::FlooredNormal)
    }

    /// The releases as an event for the accountant, rounded to the costlier side.
    pub fn event(&self, adjacency: Adjacency) -> DpEvent {
        self.kind().event(adjacency)
    }

    /// Whether a privacy-loss distribution is known that dominates its event; Renyi divergences always are.
    pub fn has_loss_distribution(&self) -> bool {
        self.kind().has_loss_distribution()
    }

    /// What is claimed, where the cost is not exact.
    pub fn claim(&self) -> Option<&Claim> {
        self.kind().claim()
    }

    /// rho of approximate zCDP: exact for Gaussian releases on all rows, selections and thresholds, else as claimed.
    ///
    /// # Errors
    /// When a claim is no number.
    pub fn rho(&self) -> Fallible<Rho> {
        self.kind().rho()
    }

    /// Delta of approximate zCDP; zero where the cost is plain zCDP.
    pub fn delta(&self) -> f64 {
        self.kind().delta()
    }

    /// How it is paid for: "the next release was paid for ...".
    pub(crate) fn manner(&self) -> &'static str {
        self.kind().manner()
    }

    /// The mechanism, in the words of a statement.
    pub(crate) fn mechanism(&self) -> &'static str {
        self.kind().mechanism()
    }

    /// Refuses values no planner produces, so that a forged file cannot exhaust memory or hide its cost.
    ///
    /// # Errors
    /// When a number is out of range.
    pub fn check(&self) -> Fallible<()> {
        self.kind().check()
    }
}

/// Refuses a charge whose numbers cannot be those of a planner.
fn possible(possible: bool) -> Fallible<()> {
    if possible {
        return Ok(());
    }
    Err(Error::parameter("charge", "claims no possible cost", "the record is damaged: restore it from a copy"))
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

#[cfg(test)]
mod tests;
