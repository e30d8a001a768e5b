//! The log: one line per release, a function of public parameters and released values alone.

use serde::{Deserialize, Serialize};

use super::facts::{DIGITS, Facts, ReleaseFacts};
use crate::accounting::Conversion;
use crate::accounting::claim::{self, Running};
use crate::error::{Error, Fallible};
use crate::num::round::decimal_up;
use crate::privacy::{Adjacency, Charge, Delta, Rho};
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
    /// rho of this release; absent where rho cannot express it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rho_step: Option<f64>,
    /// rho of all releases so far; absent from the first such release on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rho: Option<f64>,
    /// Delta of the epsilons.
    pub delta: f64,
    /// Epsilon so far by the optimal zCDP conversion; absent with rho.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub epsilon_zcdp: Option<f64>,
    /// Epsilon so far by the exact Gaussian trade-off; absent for discrete noise and with rho, where it does not hold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub epsilon_exact: Option<f64>,
    /// Epsilon so far by Renyi divergences; where a cost is no rho.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub epsilon_rdp: Option<f64>,
    /// Part of the run's budget not yet used; absent with rho.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rho_remaining: Option<f64>,
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
pub(crate) struct LogWriter {
    budget: Rho,
    delta: Delta,
    /// `None` from the first such release on.
    spent: Option<Rho>,
    running: Option<Running>,
    /// Epsilon of everything together, which no part of it exceeds; where rows draw steps of passes, of which Renyi divergences say little.
    ceiling: Option<f64>,
    releases: u64,
    steps: u64,
    floored: bool,
}

impl LogWriter {
    /// `charges` is everything that will be released; a claim anywhere asks for Renyi divergences from the start.
    pub(crate) fn new(budget: Rho, delta: Delta, adjacency: Adjacency, charges: &[Charge]) -> Self {
        let sampled = charges.iter().any(|charge| charge.claim().is_some());
        let drawn = charges.iter().any(|charge| matches!(charge, Charge::AllocatedGaussian(_)));
        LogWriter {
            budget,
            delta,
            spent: Some(Rho::zero()),
            running: sampled.then(|| Running::new(adjacency, delta)),
            ceiling: if drawn { claim::epsilon(charges, adjacency, delta, 1.0).ok() } else { None },
            releases: 0,
            steps: 0,
            floored: true,
        }
    }

    /// The line of one release whose grid steps stand for `unit` each in the units of the reader.
    pub(crate) fn line(&mut self, charge: &Charge, query: &Query, unit: f64) -> Fallible<LogEntry> {
        let sensitivity = charge.sensitivity() as f64 * unit;
        self.releases += 1;
        self.steps += u64::from(query.is_step());
        let cost = if charge.claim().is_none() { Some(charge.single().rho()?) } else { None };
        self.spent = self.spent.take().zip(cost.as_ref()).map(|(spent, cost)| spent.plus(cost));
        // One release that is not Gaussian, and the exact trade-off no longer holds for the rest of the run.
        self.floored &= charge.is_gaussian();
        let rho = self.spent.as_ref().map(Rho::upper);
        let epsilon = |by: Conversion| rho.map(|rho| by.epsilon(rho, self.delta).map(|epsilon| epsilon.value()));
        Ok(LogEntry {
            release: self.releases,
            step: if query.is_step() { self.steps } else { 0 },
            what: charge.what().to_owned(),
            sensitivity,
            sigma: sensitivity * charge.noise_multiplier(),
            rho_step: cost.as_ref().map(Rho::upper),
            rho,
            delta: self.delta.value(),
            epsilon_zcdp: epsilon(Conversion::Optimal).transpose()?,
            epsilon_exact: if self.floored { epsilon(Conversion::Exact).transpose()? } else { None },
            epsilon_rdp: self
                .running
                .as_mut()
                .map(|running| {
                    running.add(charge).map(|found| self.ceiling.map_or(found, |most| rounded(found.min(most))))
                })
                .transpose()?,
            rho_remaining: self.spent.as_ref().map(|spent| self.budget.minus(spent).lower()),
        })
    }
}

/// A bound in few digits, rounded up: laws are long sums, and a log is compared to the byte, on other machines as well.
fn rounded(bound: f64) -> f64 {
    decimal_up(bound, DIGITS).parse().unwrap_or(f64::INFINITY)
}

/// The log of a run, recomputed from what its statement records and handed on line by line.
pub(crate) fn replay(facts: &Facts, mut line: impl FnMut(&str)) -> Fallible<()> {
    let budget = facts.budget_rho.rho().clone();
    let mut writer = LogWriter::new(budget, facts.delta()?, facts.adjacency, &facts.charges());
    for ReleaseFacts { charge, query, unit } in &facts.releases {
        let single = charge.single();
        for _ in 0..charge.count() {
            line(&writer.line(&single, query, *unit)?.to_json()?);
        }
    }
    Ok(())
}

/// Writes the log of a run, which follows from what its statement records to the byte.
///
/// # Errors
/// When the statement is malformed, or `line` fails.
pub fn write_log(facts: &Facts, line: &mut dyn FnMut(&str) -> Fallible<()>) -> Fallible<()> {
    let mut written = Ok(());
    replay(facts, |text| {
        if written.is_ok() {
            written = line(text);
        }
    })?;
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{GaussianCharge, NoiseLaw};
    use crate::private::query;

    #[test]
    fn one_discrete_release_forbids_the_exact_conversion_from_then_on() {
        let (budget, delta) = (Rho::from_f64(1.0).unwrap(), Delta::new(1e-6).unwrap());
        let mut writer = LogWriter::new(budget, delta, Adjacency::AddRemove, &[]);
        let mut exact = |noise| {
            let event = GaussianCharge { what: "t".into(), sensitivity: 1, log2_scale: 4, noise, count: 1 };
            writer
                .line(&event.into(), &query::ClippedSum { clip_steps: 1 }.into(), 1.0)
                .unwrap()
                .epsilon_exact
                .is_some()
        };
        assert!(exact(NoiseLaw::FlooredNormal));
        assert!(!exact(NoiseLaw::DiscreteGaussian));
        assert!(!exact(NoiseLaw::FlooredNormal));
    }
}
