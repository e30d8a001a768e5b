//! Private summaries: counts, means, quantiles and histograms of the columns of a file.
//!
//! All statistics are one run: charged together before any noise is drawn, released through the gate in their order, and written with
//! everything that they were released by, so that whoever reads the file can recompute every answer and every number of its guarantee.
//!
//! ```
//! use rhograd::prelude::*;
//! use rhograd::summary::{Answer, Statistic, SummaryFile, SummaryNoise, SummaryRequest, summarize};
//!
//! let file = CsvFile::open("datasets/fair.csv".as_ref())?;
//! let request = SummaryRequest {
//!     schema: Schema::read("datasets/fair.schema.json".as_ref())?,
//!     adjacency: Adjacency::AddRemove,
//!     budget: Budget::Epsilon(Epsilon::new(1.0)?, None),
//!     noise: SummaryNoise::Laplace,
//!     statistics: vec!["mean:age".parse()?, Statistic::Count {}],
//!     accept_large_delta: false,
//! };
//! let summary: SummaryFile = summarize(file, &request, &mut Ledger::in_memory()?, NoiseSource::from_os()?)?.file;
//! let Answer::Mean { mean: Some(age), .. } = &summary.answers[0].answer else { panic!("no mean") };
//! assert!((28.0..31.0).contains(age) && summary.delta == "0");
//! // Every number follows from what was recorded.
//! let (checks, _) = summary.verify(&summary.to_text()?, None)?;
//! assert!(checks.iter().all(|check| check.held));
//! # Ok::<(), Error>(())
//! ```

mod answer;
mod file;
mod plan;
mod statistic;

use serde_json::json;

use crate::accounting::Conversion;
use crate::accounting::notion::{ApproximateZcdp, Zcdp};
use crate::accounting::zcdp;
use crate::data::{CsvFile, Protect, Schema};
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::privacy::{Adjacency, Charge, DatasetId, Delta, Scope};
use crate::private::{CellColumn, CellCounts, ChargedRun, LoggedRun, PrivateCells, Query, Release, Released};
use crate::statement::states_its_cost;
use crate::train::{Asked, Budget, Checkpoint, check_delta, default_delta, is_counted, sha256_hex};

pub use answer::{Answer, PartFacts, ReleasedFacts};
pub use file::{Answered, SummaryCharge, SummaryFacts, SummaryFile};
pub use plan::SummaryNoise;
use plan::{Part, Share, Total};
pub use statistic::{Declared, FORMS, Statistic};

/// Share of delta for the tests of stable medians.
const TEST_SHARE: f64 = 0.1;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct SummaryRequest {
    /// The public schema; its name is the data set's, and its unit is what is protected.
    pub schema: Schema,
    /// Neighbouring relation.
    pub adjacency: Adjacency,
    /// What all statistics may cost together.
    pub budget: Budget,
    /// The law of the noise on sums and counts.
    pub noise: SummaryNoise,
    /// The statistics, each with an equal share.
    pub statistics: Vec<Statistic>,
    /// Whether a large delta is accepted.
    pub accept_large_delta: bool,
}

/// A summary, with the file as the ledger noted it.
pub struct Summarized {
    /// The summary.
    pub file: SummaryFile,
    /// Its text, byte for byte.
    pub text: String,
    /// Whether the ledger holds the release of the schema too; true where the schema is none.
    pub schema_counted: bool,
}

impl SummaryRequest {
    fn scope(&self) -> Fallible<Scope> {
        let less = match (self.schema.protect, self.schema.public_columns().next()) {
            (Protect::Label, _) => Some("labels alone"),
            (Protect::Row, Some(_)) => Some("private cells alone"),
            (Protect::Row, None) => None,
        };
        if let Some(less) = less {
            return Err(Error::parameter(
                "schema",
                format!("protects {less}, and a summary protects rows: costs of either do not add up"),
                "compute what is asked of public columns without this, or use a schema and a ledger about rows",
            ));
        }
        if self.schema.weight.is_some() {
            return Err(Error::parameter(
                "schema",
                "gives rows weights, and a summary counts all of them alike",
                "give a schema without \"weight\", where what is asked is about rows and not about whom they stand for",
            ));
        }
        let dataset = DatasetId::new(self.schema.name.clone())?;
        Ok(Scope { dataset, adjacency: self.adjacency, unit: self.schema.privacy_unit() })
    }

    fn delta(&self) -> Fallible<Delta> {
        let (Budget::Epsilon(_, delta) | Budget::Rho(_, delta)) = &self.budget;
        delta.map_or_else(|| default_delta(self.public_units()), Ok)
    }

    /// The public number of what is protected, if the schema says it.
    fn public_units(&self) -> Option<u64> {
        match &self.schema.unit {
            None => self.schema.rows,
            Some(unit) => unit.persons,
        }
    }

    /// Checks everything that needs no row, and plans.
    ///
    /// # Errors
    /// Names the flag or the column, and the cure.
    pub fn check(&self) -> Fallible<()> {
        self.parts().map(drop)
    }

    fn parts(&self) -> Fallible<Vec<Part>> {
        self.budget.check()?;
        let (Budget::Epsilon(_, given) | Budget::Rho(_, given)) = &self.budget;
        if self.statistics.is_empty() || self.statistics.len() > file::MAX_STATISTICS {
            let problem = "are none, or more than a thousand";
            return Err(Error::parameter("statistics", problem, format!("ask for one of {FORMS}")));
        }
        if let Some(delta) = given {
            if self.noise == SummaryNoise::Laplace && matches!(self.budget, Budget::Epsilon(..)) {
                let problem = "has no use with --noise laplace, which keeps pure differential privacy";
                return Err(Error::parameter("--delta", problem, "leave it out"));
            }
            check_delta(*delta, self.public_units(), self.accept_large_delta)?;
        }
        if let Some(release) = &self.schema.released
            && !states_its_cost(release)?
        {
            let cure = "use the file that `rhograd inspect` wrote";
            return Err(Error::parameter("schema", "states a smaller epsilon than its release has", cure));
        }
        if let Some(release) = &self.schema.released
            && release.adjacency != self.adjacency
        {
            let problem = format!("is {}, and the schema was released under {}", self.adjacency, release.adjacency);
            return Err(Error::parameter(
                "--adjacency",
                problem,
                "use that of the schema: costs under both do not add up",
            ));
        }
        let declared: Vec<(Statistic, Declared)> = self
            .statistics
            .iter()
            .map(|statistic| Ok((statistic.clone(), Declared::of(statistic, &self.schema)?)))
            .collect::<Fallible<_>>()?;
        let shares = self.statistics.len() as f64;
        let planned = |share: &Share| -> Fallible<Vec<Part>> {
            let part = |(statistic, declared): &(Statistic, Declared)| {
                Part::new(statistic.clone(), declared.clone(), self.adjacency, share)
            };
            declared.iter().map(part).collect()
        };
        // A little less, so that rounding cannot make the parts more than the whole.
        let each = |whole: f64| whole * (1.0 - 1e-12) / shares;
        if let (SummaryNoise::Laplace, Budget::Epsilon(epsilon, _)) = (self.noise, &self.budget) {
            return planned(&Share::Pure(each(epsilon.value())));
        }
        let tests = self.statistics.iter().filter(|asked| matches!(asked, Statistic::StableMedian { .. })).count();
        let delta = self.delta()?;
        let fails = if tests == 0 { 0.0 } else { delta.value() * TEST_SHARE };
        let of = |rho: f64| planned(&Share::Concentrated(each(rho), fails / (tests.max(1) as f64) * (1.0 - 1e-12)));
        let rho = match &self.budget {
            Budget::Rho(rho, _) => rho.lower(),
            Budget::Epsilon(epsilon, _) => {
                let gaussian = self.statistics.iter().all(|asked| {
                    matches!(asked, Statistic::Count {} | Statistic::Mean { .. } | Statistic::Histogram { .. })
                });
                let left = match tests {
                    0 => Some(delta),
                    _ => ApproximateZcdp::new(fails.ln().next_up().min(0.0), Zcdp::new(0.0, 0.0)?)?
                        .remaining_delta(delta),
                };
                let left = left.ok_or_else(|| Error::numerical("delta", "tests leave nothing of it"))?;
                match gaussian {
                    true => Conversion::Exact.max_rho(*epsilon, left)?,
                    false => {
                        let within = |rho: f64| -> Fallible<bool> {
                            let charges: Vec<Charge> = of(rho)?.iter().flat_map(Part::charges).collect();
                            let Total::At(total) = Total::of(&charges, false, self.adjacency, delta)? else {
                                return Ok(false);
                            };
                            Ok(total <= epsilon.value())
                        };
                        largest(zcdp::max_rho_optimal(0.0, *epsilon, left)?, within)?
                    }
                }
            }
        };
        match self.noise {
            SummaryNoise::Normal => of(rho),
            // Each costs half the square of its epsilon.
            SummaryNoise::Laplace => planned(&Share::Pure((2.0 * each(rho)).sqrt() * (1.0 - 1e-12))),
        }
    }

    /// SHA-256 of everything that is asked for; of no row.
    pub fn digest(&self) -> String {
        let statistics: Vec<String> = self.statistics.iter().map(Statistic::to_string).collect();
        let asked = json!({
            "schema": self.schema.fingerprint(),
            "adjacency": self.adjacency,
            "budget": self.budget.in_words(),
            "noise": self.noise,
            "statistics": statistics,
            "accept_large_delta": self.accept_large_delta,
        });
        sha256_hex(asked.to_string().as_bytes())
    }
}

/// The largest rho that is found to be within the budget, from one that zCDP alone allows: privacy-loss distributions often know that more is.
///
/// Public numbers alone decide.
fn largest(allowed: f64, within: impl Fn(f64) -> Fallible<bool>) -> Fallible<f64> {
    let (mut low, mut step) = (allowed, 2.0);
    for _ in 0..10 {
        // What fits no grid costs too much.
        let fits = within(low * step).unwrap_or(false);
        match fits {
            true => low *= step,
            false => step = f64::sqrt(step),
        }
    }
    Ok(low)
}

/// Answers all statistics, and notes the summary in the ledger.
///
/// # Privacy
/// Within the budget for all answers together, charged to the ledger before any noise is drawn. Failures after the charge depend on
/// released values alone, but for a file that cannot be read.
///
/// # Errors
/// When the request does not fit the schema or the file, the ledger refuses, or the file cannot be read.
pub fn summarize(
    file: CsvFile,
    request: &SummaryRequest,
    ledger: &mut Ledger,
    noise: NoiseSource,
) -> Fallible<Summarized> {
    summarize_from(&Checkpoint::none(), "", file, request, ledger, noise)
}

/// Answers all statistics and keeps what is released, and the summary, in a file; or goes on with a run that was stopped.
///
/// `data` names what must be the same when a run goes on. The file stays until [`Checkpoint::remove`] is called, after the summary is
/// published.
///
/// # Privacy
/// The run is charged once, and one summary at most is ever returned for it.
///
/// # Errors
/// When the request does not fit the schema or the file, the ledger refuses, or the checkpoint belongs to another request or cannot be written.
pub fn summarize_from(
    checkpoint: &Checkpoint,
    data: &str,
    file: CsvFile,
    request: &SummaryRequest,
    ledger: &mut Ledger,
    noise: NoiseSource,
) -> Fallible<Summarized> {
    let (parts, scope) = (request.parts()?, request.scope()?);
    // By the header, which is public: what is missing costs nothing.
    let cell_columns: Vec<CellColumn> = parts
        .iter()
        .map(|part| {
            let index = part.statistic.column().map_or(Ok(0), |column| file.column(column))?;
            part.declared.cells(index)
        })
        .collect::<Fallible<_>>()?;
    // The test of a stable median and what follows from it are of the same rows, also where a run goes on.
    let tests = request.statistics.iter().any(|asked| matches!(asked, Statistic::StableMedian { .. }));
    let digest = if tests { format!(" {:032x}", file.digest()?) } else { String::new() };
    let cells = PrivateCells::by_unit(file, scope)?;
    if let Some(rows) = cells.public_len()? {
        check_delta(request.delta()?, Some(rows), request.accept_large_delta || request.is_pure())?;
    }
    let schema_counted = schema_counted(&request.schema, ledger)?;
    let secret = noise.is_secure();
    // Before the charge: a file that cannot be read costs nothing.
    let counts = cells.cell_counts(&cell_columns)?;
    let mut run = charged(checkpoint, &parts, request, cells.scope(), &format!("{data}{digest}"), ledger, noise)?;
    let released = answer_all(&parts, &counts, &mut run)?;
    let place = |run: &ChargedRun| {
        let position = run.reservation().position().filter(|_| ledger.path().is_some())?;
        Some(SummaryCharge { position: position.clone(), run: run.reservation().run().to_owned() })
    };
    let facts = SummaryFacts {
        dataset: cells.scope().dataset.as_str().to_owned(),
        adjacency: request.adjacency,
        unit: cells.scope().unit.clone(),
        noise: request.noise,
        parts: released,
        delta: format!("{:e}", request.delta()?.value()),
        large_delta_accepted: request.accept_large_delta && !request.is_pure(),
        schema_sha256: request.schema.fingerprint(),
        secret_noise: secret,
        drafted_schema: request.schema.draft,
        released_schema: request.schema.released.clone(),
        ledger: place(&run),
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let file = SummaryFile::new(facts)?;
    let text = file.to_text()?;
    checkpoint.complete(&text, &[&run], &request.budget.in_words(), ledger)?;
    Ok(Summarized { file, text, schema_counted })
}

/// Whether a ledger holds the release that a schema was drafted by; true of a schema that was written by hand.
///
/// # Errors
/// When the ledger cannot be read, or the name of the data set is none.
pub fn schema_counted(schema: &Schema, ledger: &mut Ledger) -> Fallible<bool> {
    match &schema.released {
        Some(release) => is_counted(release, &DatasetId::new(schema.name.clone())?, ledger),
        None => Ok(true),
    }
}

impl SummaryRequest {
    fn is_pure(&self) -> bool {
        self.noise == SummaryNoise::Laplace
    }
}

/// The summary of a run of which only the publication is left, without its rows; `None` where something is still to be drawn.
///
/// # Errors
/// When something else was asked for, the ledger holds no charge for it or another result, or cannot be written.
pub fn finish_summary(
    checkpoint: &Checkpoint,
    request: &SummaryRequest,
    ledger: &mut Ledger,
) -> Fallible<Option<Summarized>> {
    let budget = request.budget.in_words();
    let Some(text) = checkpoint.finished(&request.digest(), None, &budget, ledger)? else { return Ok(None) };
    let file = SummaryFile::parse(&text, "the summary in the checkpoint".as_ref())?;
    Ok(Some(Summarized { file, text, schema_counted: schema_counted(&request.schema, ledger)? }))
}

/// Charges all releases, or finds the charge of the run that was stopped.
fn charged(
    checkpoint: &Checkpoint,
    parts: &[Part],
    request: &SummaryRequest,
    scope: &Scope,
    data: &str,
    ledger: &mut Ledger,
    noise: NoiseSource,
) -> Fallible<ChargedRun> {
    let charges: Vec<Charge> = parts.iter().flat_map(Part::charges).collect();
    let asked = Asked {
        request: request.digest(),
        work: sha256_hex(format!("{} {data}", env!("CARGO_PKG_VERSION")).as_bytes()),
        budget: request.budget.in_words(),
        scope,
        keeps: true,
    };
    checkpoint.pay(0, &asked, &charges, ledger, noise)
}

/// Makes the releases of all statistics, in order.
fn answer_all(parts: &[Part], counts: &[CellCounts], run: &mut ChargedRun) -> Fallible<Vec<PartFacts>> {
    let mut nobody = |_: &Release<'_>| Ok(());
    let mut logged = run.logged(&mut nobody);
    let mut answered = Vec::new();
    for (part, counts) in parts.iter().zip(counts) {
        let mut median = None;
        let mut releases = Vec::new();
        for planned in &part.planned {
            let mut release = |run: &mut LoggedRun<'_>| -> Fallible<Released> {
                match &planned.query {
                    Query::Histogram(query) => run.release(planned, 1.0, || counts.histogram(query.step, query.bins)),
                    Query::HistogramL1(query) => {
                        run.release_laplace(planned, 1.0, || counts.histogram_l1(query.step, query.bins))
                    }
                    Query::Mean(query) => run.release(planned, 1.0, || counts.mean(query.step)),
                    Query::MeanL1(query) => run.release_laplace(planned, 1.0, || counts.mean_l1(query.step)),
                    Query::Ranks(query) => run.choose(planned, 1.0, || counts.ranks(*query)),
                    Query::FirstAbove(query) => {
                        let Statistic::FirstAbove { rows, .. } = part.statistic else { return Err(unknown()) };
                        run.first_above(planned, 1.0, || Ok(counts.above(rows, query.weight)))
                    }
                    Query::MedianDistance(query) => {
                        let near = part.planned.iter().find_map(|planned| match &planned.query {
                            Query::NearMedian(near) => Some(*near),
                            _ => None,
                        });
                        let proposal = counts.stable_median(query.weight, near.ok_or_else(unknown)?)?;
                        let (near, released) = run.test_median(planned, 1.0, proposal)?;
                        median = Some(near);
                        Ok(released)
                    }
                    Query::NearMedian(_) => {
                        let near = median.take();
                        run.release(planned, 1.0, || near.ok_or_else(unknown))
                    }
                    _ => Err(unknown()),
                }
            };
            let values = release(&mut logged)?.values().iter().map(i128::to_string).collect();
            releases.push(ReleasedFacts { planned: planned.clone(), values });
        }
        answered.push(PartFacts { statistic: part.statistic.clone(), declared: part.declared.clone(), releases });
    }
    logged.finish()?;
    Ok(answered)
}

fn unknown() -> Error {
    Error::refused("a summary asks no such query", "plan with the statistics of a summary")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stopped after any of its releases, a run goes on with those that were made, and draws the others: the test of a stable median, too.
    #[test]
    fn a_run_that_was_stopped_amid_its_releases_keeps_those_that_were_made() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let statistics = [
            "count",
            "mean:age",
            "stable-median:age:0.01",
            "median:age",
            "first-above:occupation:500",
            "stable-median:age:5",
            "histogram:occupation",
        ];
        let request = SummaryRequest {
            schema: Schema::read("datasets/fair.schema.json".as_ref()).unwrap(),
            adjacency: Adjacency::AddRemove,
            budget: Budget::Rho(crate::privacy::Rho::from_f64(0.1).unwrap(), None),
            noise: SummaryNoise::Normal,
            statistics: statistics.map(|text| text.parse().unwrap()).to_vec(),
            accept_large_delta: false,
        };
        let open = || CsvFile::open("datasets/fair.csv".as_ref()).unwrap();
        let noise = || NoiseSource::from_os().unwrap();
        let parts = request.parts().unwrap();
        // Charged, and then it was stopped.
        let (checkpoint, mut ledger) =
            (Checkpoint::open(&at("kept")).unwrap(), Ledger::open_or_create(at("ledger")).unwrap());
        let data = format!("same {:032x}", open().digest().unwrap());
        let scope = request.scope().unwrap();
        drop(charged(&checkpoint, &parts, &request, &scope, &data, &mut ledger, noise()).unwrap());
        drop((checkpoint, ledger));
        for (from, to) in [("ledger", "other"), ("kept", "all")] {
            std::fs::copy(at(from), at(to)).unwrap();
        }
        let run = |ledger: &str, kept: &str| {
            let (checkpoint, mut ledger) =
                (Checkpoint::open(&at(kept)).unwrap(), Ledger::open_or_create(at(ledger)).unwrap());
            let made = summarize_from(&checkpoint, "same", open(), &request, &mut ledger, noise()).unwrap();
            let account = ledger.summaries().unwrap().remove(0);
            assert_eq!((account.runs, account.completed), (1, 1));
            let releases = made.file.facts.parts.iter().flat_map(|part| &part.releases);
            (releases.map(|release| release.values.clone()).collect::<Vec<_>>(), made.text)
        };
        let (made, whole) = run("other", "all");
        assert_eq!(made.len(), statistics.len() + 2, "a stable median makes two");
        let kept = std::fs::read_to_string(at("all")).unwrap();
        let kept: Vec<&str> = kept.lines().collect();
        for stopped in 0..=made.len() {
            std::fs::copy(at("ledger"), at("again")).unwrap();
            std::fs::write(at("part"), kept[..2 + stopped].join("\n") + "\n").unwrap();
            let (again, text) = run("again", "part");
            assert_eq!(again[..stopped], made[..stopped]);
            assert_eq!(text == whole, stopped == made.len(), "{stopped}");
        }
    }

    /// What is asked for by epsilon is used up, also where zCDP alone would allow less.
    #[test]
    fn epsilon_is_used_up() {
        for statistics in
            [&["median:age"][..], &["first-above:occupation:500"], &["count", "median:age", "stable-median:age:0.01"]]
        {
            for epsilon in [0.1, 1.0, 5.0] {
                let request = SummaryRequest {
                    schema: Schema::read("datasets/fair.schema.json".as_ref()).unwrap(),
                    adjacency: Adjacency::AddRemove,
                    budget: Budget::Epsilon(crate::privacy::Epsilon::new(epsilon).unwrap(), None),
                    noise: SummaryNoise::Normal,
                    statistics: statistics.iter().map(|text| text.parse().unwrap()).collect(),
                    accept_large_delta: false,
                };
                let charges: Vec<Charge> = request.parts().unwrap().iter().flat_map(Part::charges).collect();
                let total = Total::of(&charges, false, Adjacency::AddRemove, request.delta().unwrap()).unwrap();
                let Total::At(total) = total else { panic!("no delta") };
                assert!(total <= epsilon && total > 0.9 * epsilon, "{statistics:?} {epsilon}: {total}");
            }
        }
    }
}
