//! What every kind of charge answers, and what several of them record.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Fallible};
use crate::num::Dyadic;
use crate::privacy::{Adjacency, DpEvent, Rho};

/// The law of the integer noise added to each coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum NoiseLaw {
    /// `floor(2^k Z)` with `Z` an exact standard normal. The release is a post-processing of the
    /// continuous Gaussian mechanism, so the exact Gaussian trade-off holds for it.
    #[cfg_attr(
        feature = "cli",
        value(name = "normal", help = "Floor of an exact normal: the exact Gaussian trade-off holds")
    )]
    FlooredNormal,
    /// The discrete Gaussian with parameter `2^k` (Canonne, Kamath, Steinke 2020). Only its zCDP
    /// bound may be used; the continuous trade-off is not an upper bound for it.
    #[cfg_attr(
        feature = "cli",
        value(help = "Discrete Gaussian: only the zCDP bound holds, so it needs a little more noise")
    )]
    DiscreteGaussian,
}

impl NoiseLaw {
    /// Its name, in the words of a statement.
    pub(super) fn describe(self) -> &'static str {
        match self {
            NoiseLaw::FlooredNormal => "floor of an exact normal (Karney 2016)",
            NoiseLaw::DiscreteGaussian => "discrete Gaussian (Canonne, Kamath, Steinke 2020)",
        }
    }
}

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
    pub(super) fn is_possible(&self) -> bool {
        let positive = self.epsilon > 0.0 && self.epsilon.is_finite() && self.rho > 0.0 && self.rho.is_finite();
        positive && (0.0..1.0).contains(&self.delta)
    }
}

/// What every kind of charge answers; nothing has a default, for most of it decides privacy.
pub(super) trait ChargeKind {
    /// Its releases, apart from what they cost.
    fn releases(&self) -> Releases<'_>;

    /// One of the releases; its claim stays that of all together.
    fn single(&self) -> Self
    where
        Self: Sized;

    /// What they cost.
    fn cost(&self) -> Cost<'_>;

    /// The releases as an event for the accountant, rounded to the costlier side.
    fn event(&self, adjacency: Adjacency) -> DpEvent;

    /// Whether a privacy-loss distribution is known that dominates the event; Renyi divergences always are.
    fn has_loss_distribution(&self) -> bool;

    /// The epsilon of pure differential privacy of all releases together, exactly; `None` where they keep none.
    fn pure_epsilon(&self) -> Option<Dyadic>;

    /// Refuses values no planner produces.
    fn check(&self) -> Fallible<()>;

    /// How it is paid for: "the next release was paid for ...".
    fn manner(&self) -> &'static str;

    /// The mechanism, in the words of a statement.
    fn mechanism(&self) -> &'static str;
}

/// What releases cost as approximate zCDP.
pub(super) enum Cost<'a> {
    /// This rho to the last bit, and delta: zero where the cost is plain zCDP.
    Exact(Rho, f64),
    /// What is claimed for all releases together.
    Claimed(&'a Claim),
}

/// Releases of one kind, apart from what they cost.
pub(super) struct Releases<'a> {
    /// What is released, in words.
    pub what: &'a str,
    /// The sensitivity that is paid for, in grid steps.
    pub sensitivity: u64,
    /// Scale of the randomness over the sensitivity.
    pub noise_multiplier: f64,
    /// The law of the noise that is added to each coordinate.
    pub noise: Option<NoiseLaw>,
    /// How many releases there are.
    pub count: u64,
    /// The rate at which rows are sampled, rounded upward; `None` where all are read.
    pub sampling_rate: Option<f64>,
}

/// Refuses a charge whose numbers cannot be those of a planner.
pub(super) fn possible(possible: bool) -> Fallible<()> {
    if possible {
        return Ok(());
    }
    Err(Error::parameter("charge", "claims no possible cost", "the record is damaged: restore it from a copy"))
}
