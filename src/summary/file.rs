//! The file of a summary: recorded facts, and everything that follows from them.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::{Answer, PartFacts, ReleasedFacts, answer};
use super::plan::{SummaryNoise, Total};
use crate::accounting::claim;
use crate::data::SchemaRelease;
use crate::error::{Error, Fallible};
use crate::ledger::{Ledger, Position, Record};
use crate::num::round::decimal_up;
use crate::privacy::{Adjacency, Charge, Delta, PrivacyUnit, total_delta, total_rho};
use crate::private::RowAccess;
use crate::statement::plain_words;
use crate::statement::states_its_cost;
use crate::train::{Check, sha256_hex};

/// Name and version of the format.
const FORMAT: &str = "rhograd-summary/1";

/// Significant digits of upward-rounded numbers.
const DIGITS: u32 = 7;

/// More statistics than anybody asks for at once; a file could make up any number.
pub(super) const MAX_STATISTICS: usize = 1000;

/// Larger files are none of ours.
const MAX_BYTES: u64 = 64 << 20;

/// A summary as it is published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummaryFile {
    /// Name and version of the format, `rhograd-summary/1`.
    pub format: String,
    /// Whether the guarantee holds at all.
    pub dp: bool,
    /// The guarantee in one sentence.
    pub statement: String,
    /// The guarantee in plain words; none where there is no guarantee.
    pub in_plain_words: Option<String>,
    /// epsilon of all answers together, rounded upward.
    pub epsilon: String,
    /// delta of that, 0 where differential privacy is pure.
    pub delta: String,
    /// rho of all answers together, rounded upward.
    pub rho: String,
    /// Every answer, in order.
    pub answers: Vec<Answered>,
    /// What the guarantee does not cover.
    pub limits: Vec<String>,
    /// What everything above follows from.
    pub facts: SummaryFacts,
}

/// A statistic and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// What was asked, as on the command line.
    pub statistic: String,
    /// What came of it.
    pub answer: Answer,
}

/// What happened, as recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummaryFacts {
    /// The custodian's name of the data set.
    pub dataset: String,
    /// Neighbouring relation.
    pub adjacency: Adjacency,
    /// What neighbours differ in.
    pub unit: PrivacyUnit,
    /// The law of the noise on sums and counts.
    pub noise: SummaryNoise,
    /// Every statistic with its releases, in order.
    pub parts: Vec<PartFacts>,
    /// Delta of the report, as decimal text.
    pub delta: String,
    /// Whether a delta above 1e-3, or above a tenth of one over the rows, was accepted on purpose.
    pub large_delta_accepted: bool,
    /// SHA-256 of the schema.
    pub schema_sha256: String,
    /// Whether the noise came from the operating system's randomness.
    pub secret_noise: bool,
    /// Whether the schema was drafted from the rows.
    pub drafted_schema: bool,
    /// What the schema cost, if it was released from the rows.
    pub released_schema: Option<SchemaRelease>,
    /// The charge, if a durable ledger holds it.
    pub ledger: Option<SummaryCharge>,
    /// Version of the program that wrote the file.
    pub version: String,
}

/// A charge in a ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummaryCharge {
    /// The entry of the charge.
    pub position: Position,
    /// Random name of the run.
    pub run: String,
}

fn damaged(why: &str) -> Error {
    Error::parameter("summary", why, "the file is damaged or was edited")
}

impl SummaryFacts {
    fn charges(&self) -> Vec<Charge> {
        let releases = self.parts.iter().flat_map(|part| &part.releases);
        releases.map(|release| release.planned.charge.clone()).collect()
    }

    /// Refuses facts that no run records.
    fn check(&self) -> Fallible<()> {
        if self.parts.is_empty() || self.parts.len() > MAX_STATISTICS {
            return Err(damaged("records no statistic, or more than a run answers"));
        }
        if let Some(release) = &self.released_schema
            && (!states_its_cost(release)? || release.adjacency != self.adjacency || release.unit != self.unit)
        {
            return Err(damaged("the release of the schema states no cost, or one under another relation or unit"));
        }
        for part in &self.parts {
            part.declared.fits(&part.statistic)?;
            for ReleasedFacts { planned, .. } in &part.releases {
                planned.charge.check()?;
                planned.check(self.adjacency)?;
                if planned.charge.count() != 1 || planned.query.kind().reads().rows != RowAccess::Cells {
                    return Err(damaged("records a release that no summary makes"));
                }
                claim::confirm(&planned.charge, self.adjacency)?;
            }
        }
        Ok(())
    }

    fn faults(&self) -> Vec<&'static str> {
        let seeded = (!self.secret_noise).then_some("the noise came from a fixed seed");
        let drafted = self.drafted_schema.then_some("bounds and values of the schema were read off the rows");
        seeded.into_iter().chain(drafted).collect()
    }

    fn limits(&self) -> Vec<String> {
        let mut limits = vec![
            "holds only if the schema, the statistics and the settings were not chosen by looking at the rows".to_owned(),
            "trusted are those who hold the rows and their machine with its random numbers; everybody else may know or choose all other rows \
             and have unlimited time"
                .into(),
            "timing and memory of the machine are out of scope, and what goes to standard error is as private as the rows".into(),
            "deviations are of the noise alone: what another sample of rows would have given is not in them".into(),
        ];
        if self.unit.is_person() {
            limits.push("of each person one row is looked at, chosen by a hash of that person's rows alone: statistics are of these rows".into());
        }
        if let Some(release) = &self.released_schema {
            limits.push(format!(
                "the schema was itself released from these rows, at {}-approximate {}-zCDP, which is not in the numbers above",
                release.approximate_delta, release.rho
            ));
        }
        if self.large_delta_accepted {
            limits.push(format!(
                "delta {} was accepted on purpose although it is large: with that probability the guarantee may fail altogether",
                self.delta
            ));
        }
        limits.push(match &self.ledger {
            Some(_) => "the budget binds only runs recorded in this ledger".into(),
            None => "no durable ledger recorded this run; nothing binds further runs on the data set".into(),
        });
        limits
    }
}

impl SummaryFile {
    /// Everything that follows from recorded facts.
    ///
    /// # Errors
    /// When the facts do not fit each other, or no bound on epsilon is found.
    pub fn new(facts: SummaryFacts) -> Fallible<Self> {
        facts.check()?;
        let charges = facts.charges();
        let given = Delta::new(facts.delta.parse().unwrap_or(f64::NAN))?;
        let pure = facts.noise == SummaryNoise::Laplace;
        let (epsilon, delta) = match Total::of(&charges, pure, facts.adjacency, given)? {
            Total::Pure(epsilon) => (epsilon, 0.0),
            Total::At(epsilon) => (epsilon, given.value()),
        };
        let (shown, rho) = (decimal_up(epsilon, DIGITS), total_rho(&charges)?.as_dyadic().to_decimal_up(DIGITS));
        let shown_delta = if delta == 0.0 { "0".to_owned() } else { facts.delta.clone() };
        let faults = facts.faults();
        let change = facts.unit.change(facts.adjacency);
        let fails = total_delta(&charges);
        let zcdp = match fails > 0.0 {
            true => format!("{}-approximate {rho}-zCDP", decimal_up(fails, DIGITS)),
            false => format!("{rho}-zCDP"),
        };
        let statement = match (faults.is_empty(), delta == 0.0) {
            (false, _) => format!("NOT PRIVATE: {}.", faults.join("; ")),
            (true, true) => format!(
                "All answers and this file together are {shown}-differentially private (delta is 0), and {zcdp}, with respect to {change}."
            ),
            (true, false) => format!(
                "All answers and this file together are {zcdp} and ({shown}, {shown_delta})-differentially private, with respect to {change}."
            ),
        };
        let answers = facts
            .parts
            .iter()
            .map(|part| Ok(Answered { statistic: part.statistic.to_string(), answer: answer(part, facts.noise)? }));
        Ok(SummaryFile {
            format: FORMAT.into(),
            dp: faults.is_empty(),
            statement,
            in_plain_words: faults.is_empty().then(|| plain_words(&facts.unit, facts.adjacency, epsilon, delta)),
            epsilon: shown,
            delta: shown_delta,
            rho,
            answers: answers.collect::<Fallible<_>>()?,
            limits: facts.limits(),
            facts,
        })
    }

    /// The file, byte for byte.
    ///
    /// # Errors
    /// When a number is none.
    pub fn to_text(&self) -> Fallible<String> {
        let text = serde_json::to_string_pretty(self).map_err(|e| Error::numerical("summary", e.to_string()))?;
        Ok(text + "\n")
    }

    /// Whether a text says that it is a summary.
    pub fn is_named_in(text: &str) -> bool {
        let value: Value = serde_json::from_str(text).unwrap_or(Value::Null);
        value.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("rhograd-summary/"))
    }

    /// Reads a summary; `path` is used in messages only.
    ///
    /// # Errors
    /// When it is none, or of a format of later versions.
    pub fn parse(text: &str, path: &Path) -> Fallible<Self> {
        if text.len() as u64 > MAX_BYTES {
            return Err(Error::input(
                path,
                "is larger than any summary",
                "name the file that `rhograd summarize` wrote",
            ));
        }
        let file: SummaryFile = serde_json::from_str(text).map_err(|e| {
            let cure = "name the file that `rhograd summarize` wrote, with a version of the program that is no older";
            Error::input(path, format!("is no summary: {e}"), cure).at_line(e.line() as u64)
        })?;
        if file.format != FORMAT {
            let problem = format!("is of format {:?}, and this program knows {FORMAT}", file.format);
            return Err(Error::input(path, problem, "use the version of the program that wrote it, or a later one"));
        }
        Ok(file)
    }

    /// Recomputes everything from the recorded facts and compares; with a ledger also looks up the charge. The second value is whether the
    /// ledger noted this very file as the result of its run.
    ///
    /// `text` is the file as read.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn verify(&self, text: &str, ledger: Option<&mut Ledger>) -> Fallible<(Vec<Check>, bool)> {
        let again = match SummaryFile::new(self.facts.clone()).and_then(|file| file.to_text()) {
            Ok(again) => again,
            Err(error) => {
                return Ok((vec![Check::new(format!("the recorded facts are consistent ({error})"), false)], false));
            }
        };
        let what = format!("answers, epsilon {} and every word follow from the recorded releases", self.epsilon);
        let mut checks = vec![Check::new(what, again == text)];
        let Some(ledger) = ledger else { return Ok((checks, false)) };
        let Some(stated) = &self.facts.ledger else {
            checks.push(Check::new("the file names a ledger entry", false));
            return Ok((checks, false));
        };
        let report = ledger.verify()?;
        let sequence = stated.position.sequence;
        let known = ledger.contains(sequence, &stated.position.hash)?;
        checks.push(Check::new(format!("the ledger holds entry {sequence} of this run"), known));
        if !known {
            return Ok((checks, false));
        }
        let charged = match ledger.entry(sequence)?.map(|entry| entry.record) {
            Some(Record::Reserve { dataset, adjacency, unit, run, events, private, .. }) => {
                dataset.as_str() == self.facts.dataset
                    && adjacency == self.facts.adjacency
                    && unit == self.facts.unit
                    && run == stated.run
                    && events == self.facts.charges()
                    && private == self.facts.secret_noise
            }
            _ => false,
        };
        checks.push(Check::new("the entry charges exactly the stated releases", charged));
        let digest = sha256_hex(text.as_bytes());
        let mut noted = false;
        for sequence in sequence + 1..=report.head.sequence {
            if let Some(Record::Complete { run, artefact_sha256 }) = ledger.entry(sequence)?.map(|entry| entry.record)
                && run == stated.run
            {
                noted = artefact_sha256 == digest;
            }
        }
        checks.push(Check::new("the file is the one that the ledger noted when the run was complete", noted));
        Ok((checks, noted))
    }
}
