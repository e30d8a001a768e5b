//! The log: one line per release, a function of public parameters and released values alone.

use serde::{Deserialize, Serialize};

use super::statement::Facts;
use crate::accounting::Conversion;
use crate::error::{Error, Fallible};
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

impl LogEntry {
    /// The line as it stands in the file, newline included.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn to_json(&self) -> Fallible<String> {
        let line = serde_json::to_string(self).map_err(|e| Error::numerical("log line", e.to_string()))?;
        Ok(line + "\n")
    }
}

/// Adds up the cost of releases and makes their lines.
pub(super) struct LogWriter {
    budget: Rho,
    delta: Delta,
    spent: Rho,
    releases: u64,
    floored: bool,
}

impl LogWriter {
    pub(super) fn new(budget: Rho, delta: Delta) -> Self {
        LogWriter { budget, delta, spent: Rho::zero(), releases: 0, floored: true }
    }

    /// The line of one release whose sum has l2 sensitivity `sensitivity` in the units of the reader.
    pub(super) fn line(&mut self, step: u64, event: &GaussianEvent, sensitivity: f64) -> Fallible<LogEntry> {
        let cost = event.rho_each();
        self.spent = self.spent.plus(&cost);
        self.releases += 1;
        // One discrete release, and the exact trade-off no longer holds for the rest of the run.
        self.floored &= event.noise == NoiseLaw::FlooredNormal;
        let rho = self.spent.upper();
        let epsilon = |by: Conversion| by.epsilon(rho, self.delta).map(|epsilon| epsilon.value());
        Ok(LogEntry {
            release: self.releases,
            step,
            what: event.what.clone(),
            sensitivity,
            sigma: sensitivity * event.noise_multiplier(),
            rho_step: cost.upper(),
            rho,
            delta: self.delta.value(),
            epsilon_zcdp: epsilon(Conversion::Optimal)?,
            epsilon_exact: if self.floored { Some(epsilon(Conversion::Exact)?) } else { None },
            rho_remaining: self.budget.minus(&self.spent).lower(),
        })
    }
}

/// The log of a run, recomputed from what its statement records and handed on line by line.
pub(super) fn replay(facts: &Facts, mut line: impl FnMut(&str)) -> Fallible<()> {
    let mut writer = LogWriter::new(facts.budget_rho.rho().clone(), facts.delta()?);
    let mut step = 0;
    for (index, event) in facts.events.iter().enumerate() {
        let gradient = index + 1 == facts.events.len();
        for _ in 0..event.count {
            step += u64::from(gradient);
            let sensitivity = if gradient { facts.sensitivity() } else { MOMENT_SENSITIVITY };
            line(&writer.line(step, event, sensitivity)?.to_json()?);
        }
    }
    Ok(())
}

/// Moments are logged as a vector scaled to sensitivity one.
pub(super) const MOMENT_SENSITIVITY: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_discrete_release_forbids_the_exact_conversion_from_then_on() {
        let mut writer = LogWriter::new(Rho::from_f64(1.0).unwrap(), Delta::new(1e-6).unwrap());
        let mut exact = |noise| {
            let event = GaussianEvent { what: "t".into(), sensitivity: 1, log2_scale: 4, noise, count: 1 };
            writer.line(1, &event, 1.0).unwrap().epsilon_exact.is_some()
        };
        assert!(exact(NoiseLaw::FlooredNormal));
        assert!(!exact(NoiseLaw::DiscreteGaussian));
        assert!(!exact(NoiseLaw::FlooredNormal));
    }
}
