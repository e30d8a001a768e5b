//! The log: one line per release, a function of public parameters and released values alone.

use serde::{Deserialize, Serialize};

use crate::accounting::Conversion;
use crate::error::Fallible;
use crate::privacy::{Delta, GaussianEvent, NoiseLaw, Rho};

/// One line of the log. Every privacy number is rounded upward, what remains downward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEntry {
    /// Release number, counted from 1.
    pub release: u64,
    /// Gradient step, 0 for releases before the first step.
    pub step: u64,
    /// What was released.
    pub what: String,
    /// l2 sensitivity of the released sum, in the units of `sigma`.
    pub sensitivity: f64,
    /// Noise standard deviation of each coordinate of the sum.
    pub sigma: f64,
    /// rho of this release.
    pub rho_step: f64,
    /// rho of all releases so far.
    pub rho: f64,
    /// Delta of the epsilons.
    pub delta: f64,
    /// Epsilon so far by the optimal zCDP conversion.
    pub epsilon_zcdp: f64,
    /// Epsilon so far by the exact Gaussian trade-off; absent for discrete noise, where it does not hold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub epsilon_exact: Option<f64>,
    /// Part of the run's budget not yet used.
    pub rho_remaining: f64,
}

/// Adds up the cost of releases and writes their lines.
pub(super) struct LogWriter {
    budget: Rho,
    delta: Delta,
    spent: Rho,
    releases: u64,
}

impl LogWriter {
    pub(super) fn new(budget: Rho, delta: Delta) -> Self {
        LogWriter { budget, delta, spent: Rho::zero(), releases: 0 }
    }

    /// The line of one release with sensitivity `unit` and the event's noise multiplier.
    pub(super) fn line(&mut self, step: u64, event: &GaussianEvent, unit: f64) -> Fallible<LogEntry> {
        let cost = event.rho_each();
        self.spent = self.spent.plus(&cost);
        self.releases += 1;
        let rho = self.spent.upper();
        let exact = match event.noise {
            NoiseLaw::FlooredNormal => Some(Conversion::Exact.epsilon(rho, self.delta)?.value()),
            NoiseLaw::DiscreteGaussian => None,
        };
        Ok(LogEntry {
            release: self.releases,
            step,
            what: event.what.clone(),
            sensitivity: unit,
            sigma: unit * event.noise_multiplier(),
            rho_step: cost.upper(),
            rho,
            delta: self.delta.value(),
            epsilon_zcdp: Conversion::Optimal.epsilon(rho, self.delta)?.value(),
            epsilon_exact: exact,
            rho_remaining: self.budget.minus(&self.spent).lower(),
        })
    }
}
