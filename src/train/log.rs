//! The log: one line per release, a function of public parameters and released values alone.

use serde::{Deserialize, Serialize};

use super::statement::{Facts, ReleaseFacts};
use crate::accounting::Conversion;
use crate::error::{Error, Fallible};
use crate::privacy::{Delta, GaussianEvent, NoiseLaw, Rho};
use crate::private::Query;

/// One line of the log. Every privacy number is rounded upward, what remains downward.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEntry {
    /// Release number, counted from 1.
    pub release: u64,
    /// Step of the optimizer, 0 for releases that are not steps.
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
    steps: u64,
    floored: bool,
}

impl LogWriter {
    pub(super) fn new(budget: Rho, delta: Delta) -> Self {
        LogWriter { budget, delta, spent: Rho::zero(), releases: 0, steps: 0, floored: true }
    }

    /// The line of one release whose grid steps stand for `unit` each in the units of the reader.
    pub(super) fn line(&mut self, event: &GaussianEvent, query: &Query, unit: f64) -> Fallible<LogEntry> {
        let sensitivity = event.sensitivity as f64 * unit;
        self.steps += u64::from(query.is_step());
        let cost = event.rho_each();
        self.spent = self.spent.plus(&cost);
        self.releases += 1;
        // One discrete release, and the exact trade-off no longer holds for the rest of the run.
        self.floored &= event.noise == NoiseLaw::FlooredNormal;
        let rho = self.spent.upper();
        let epsilon = |by: Conversion| by.epsilon(rho, self.delta).map(|epsilon| epsilon.value());
        Ok(LogEntry {
            release: self.releases,
            step: if query.is_step() { self.steps } else { 0 },
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
    for ReleaseFacts { event, query, unit } in &facts.releases {
        for _ in 0..event.count {
            line(&writer.line(event, query, *unit)?.to_json()?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_discrete_release_forbids_the_exact_conversion_from_then_on() {
        let mut writer = LogWriter::new(Rho::from_f64(1.0).unwrap(), Delta::new(1e-6).unwrap());
        let mut exact = |noise| {
            let event = GaussianEvent { what: "t".into(), sensitivity: 1, log2_scale: 4, noise, count: 1 };
            writer.line(&event, &Query::ClippedSum { bound: 1 }, 1.0).unwrap().epsilon_exact.is_some()
        };
        assert!(exact(NoiseLaw::FlooredNormal));
        assert!(!exact(NoiseLaw::DiscreteGaussian));
        assert!(!exact(NoiseLaw::FlooredNormal));
    }
}
