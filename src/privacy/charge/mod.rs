//! What a release costs: one file a kind of charge, with its record, its cost and the theorem.
//!
//! A new kind is a file that implements [`ChargeKind`], named in `charges!` below, an accountant's view of it
//! ([`ChargeKind::event`]) and a permit that opens values by it.

mod allocated_gaussian;
mod exponential;
mod gaussian;
mod kind;
mod laplace;
mod objective;
mod poisson_gaussian;
mod private_selection;
mod threshold;

use serde::{Deserialize, Serialize};

pub use allocated_gaussian::AllocatedGaussianCharge;
pub use exponential::ExponentialCharge;
pub use gaussian::{GaussianCharge, MAX_LOG2_FINE, MAX_LOG2_SCALE};
use kind::{ChargeKind, Cost};
pub use kind::{Claim, NoiseLaw};
pub use laplace::{LaplaceCharge, SparseVectorCharge};
pub use objective::ObjectiveCharge;
pub use poisson_gaussian::PoissonGaussianCharge;
pub use private_selection::PrivateSelectionCharge;
pub use threshold::ThresholdCharge;

use super::{Adjacency, DpEvent, Rho};
use crate::error::Fallible;
use crate::num::Dyadic;
use crate::num::round::up;

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

            /// One of the releases; its claim stays that of all together.
            pub fn single(&self) -> Self {
                match self {
                    $(Charge::$kind(event) => ChargeKind::single(event).into(),)*
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
    Gaussian(GaussianCharge),
    /// Gaussian noise on a query of a Poisson sample.
    PoissonGaussian(PoissonGaussianCharge),
    /// Gaussian noise on the gradient of an objective that is minimised.
    Objective(ObjectiveCharge),
    /// A choice among candidates by the exponential mechanism.
    Exponential(ExponentialCharge),
    /// The best of a random number of runs.
    PrivateSelection(PrivateSelectionCharge),
    /// Something that is opened only where a noised integer reaches a threshold.
    Threshold(ThresholdCharge),
    /// Discrete Laplace noise on a query of all rows.
    Laplace(LaplaceCharge),
    /// The first of several questions that reaches a bar.
    SparseVector(SparseVectorCharge),
    /// Gaussian noise on a query of the rows that drew a step of a pass.
    AllocatedGaussian(AllocatedGaussianCharge),
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

    /// The rate at which rows are sampled, rounded upward; `None` where all are read.
    pub fn sampling_rate(&self) -> Option<f64> {
        self.kind().releases().sampling_rate
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
        match self.kind().cost() {
            Cost::Claimed(claim) => Some(claim),
            Cost::Exact(..) => None,
        }
    }

    /// rho of approximate zCDP: exact for Gaussian releases on all rows, selections and thresholds, else as claimed.
    ///
    /// # Errors
    /// When a claim is no number.
    pub fn rho(&self) -> Fallible<Rho> {
        match self.kind().cost() {
            Cost::Exact(rho, _) => Ok(rho),
            Cost::Claimed(claim) => Rho::from_f64(claim.rho),
        }
    }

    /// Delta of approximate zCDP; zero where the cost is plain zCDP.
    pub fn delta(&self) -> f64 {
        match self.kind().cost() {
            Cost::Exact(_, delta) => delta,
            Cost::Claimed(claim) => claim.delta,
        }
    }

    /// The epsilon of pure differential privacy of all releases together, exactly; `None` where they keep none.
    pub fn pure_epsilon(&self) -> Option<Dyadic> {
        self.kind().pure_epsilon()
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

/// Total rho of a list of charges.
///
/// # Errors
/// When a claim is no number.
pub fn total_rho(charges: &[Charge]) -> Fallible<Rho> {
    charges.iter().try_fold(Rho::zero(), |sum, charge| Ok(sum.plus(&charge.rho()?)))
}

/// Total epsilon of a list of charges that all keep pure differential privacy, exactly; `None` where one does not.
///
/// Reference: Dwork, McSherry, Nissim and Smith 2006 (basic composition, also of what is chosen in view of earlier answers).
pub fn total_pure_epsilon(charges: &[Charge]) -> Option<Dyadic> {
    charges.iter().try_fold(Dyadic::zero(), |sum, charge| Some(sum.plus(&charge.pure_epsilon()?)))
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
