//! `summarize`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgGroup, Args};
use serde_json::json;

use super::arguments::{
    SchemaArgument, UnitArguments, check_ledger_named, delta, epsilon, ledger_beside, open_or_create, rho, same_file,
    stem,
};
use super::input::{DialectArguments, data_path, identity};
use super::output::{print, print_json, tell, warn};
use super::screen::width_of;
use super::signals::Interrupts;
use crate::data::CsvFile;
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::privacy::Adjacency;
use crate::summary::{Answer, Statistic, SummaryFile, SummaryNoise, SummaryRequest, finish_summary, summarize_from};
use crate::text::visible;
use crate::train::{Budget, Checkpoint, StagedFile, sha256_of_file};

const EXAMPLES: &str = "\
Examples:
  rhograd summarize datasets/fair.csv count mean:age median:yrs_married --epsilon 0.5
  rhograd summarize datasets/fair.csv histogram:occupation --epsilon 0.5 --noise laplace
  rhograd summarize datasets/fair.csv quantile:age:0.9 stable-median:age:0.01 --rho 0.01
  rhograd summarize datasets/fair.csv first-above:occupation:500 --epsilon 0.2 --noise laplace
  rhograd verify fair.summary.json --ledger datasets/fair.ledger.sqlite

Statistics, each with an equal share of the budget:
  count                        rows with as many cells as the header
  mean:COLUMN                  mean of the numbers, and about how many there are
  median:COLUMN                median, by the exponential mechanism
  quantile:COLUMN:SHARE        the number that a share of the others lies below
  histogram:COLUMN             rows of each declared value, or of each of 20 parts of the bounds
  stable-median:COLUMN:WITHIN  median with noise for jumps of at most WITHIN, if a test finds that few rows cannot
                               make it jump farther (propose-test-release): for many equal or close numbers, and
                               a WITHIN far below the precision that is wanted; needs a delta
  first-above:COLUMN:ROWS      the first declared value with about ROWS rows or more (sparse vector): its cost does not
                               grow with the number of values

Bounds and values are those of the schema: numbers outside count as the nearer bound, cells that hold none do not count. With
a unit in the schema one row of each person is looked at. Rows on a cluster or in Python's tables: write them to a file first.";

#[derive(Args)]
#[command(override_usage = "rhograd summarize [OPTIONS] <--epsilon E|--rho RHO> <DATA> <STATISTIC>...", after_help = EXAMPLES, group = ArgGroup::new("budget").args(["epsilon", "rho"]).required(true))]
pub(super) struct SummarizeArguments {
    /// CSV file with a header; - for standard input
    #[arg(value_parser = data_path())]
    data: PathBuf,
    /// What to release, such as mean:age; see below
    #[arg(value_name = "STATISTIC", required = true)]
    statistics: Vec<Statistic>,
    #[command(flatten)]
    schema: SchemaArgument,
    #[command(flatten)]
    unit: UnitArguments,
    #[command(flatten)]
    dialect: DialectArguments,
    /// Privacy budget epsilon for all of them together
    #[arg(long, allow_hyphen_values = true)]
    epsilon: Option<f64>,
    /// Privacy budget as rho of zCDP
    #[arg(long, allow_hyphen_values = true)]
    rho: Option<f64>,
    /// Delta of the guarantee [default: a tenth of one over the public row count, at most 1e-5; 1e-6 without one]
    #[arg(long, allow_hyphen_values = true)]
    delta: Option<f64>,
    /// Accept a delta above 1e-3, or above a tenth of one over the rows where they are public: with that probability whole rows may show
    #[arg(long)]
    accept_large_delta: bool,
    /// Which data sets are neighbours
    #[arg(long, value_enum, default_value = "add-remove")]
    adjacency: Adjacency,
    /// Noise on counts and sums: normal, or laplace for pure differential privacy, without a delta
    #[arg(long, value_enum, default_value = "normal")]
    noise: SummaryNoise,
    /// Ledger that the run is charged to [default: NAME.ledger.sqlite beside the data]
    #[arg(long, value_name = "FILE", conflicts_with = "no_ledger")]
    ledger: Option<PathBuf>,
    /// Keep no ledger: nothing then adds the cost to that of other runs
    #[arg(long)]
    no_ledger: bool,
    /// File for the summary [default: NAME.summary.json]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace a summary that exists already
    #[arg(long)]
    overwrite: bool,
    /// Keep releases, and the summary until it is published, in FILE; the same command goes on with a run that was stopped [default:
    /// FILE.checkpoint beside the summary; none without a ledger]
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Keep nothing: whatever stops the run then loses its budget
    #[arg(long, conflicts_with = "checkpoint")]
    no_checkpoint: bool,
    /// Reproducible noise for trials: the summary is NOT private and says so
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print the summary as one JSON object
    #[arg(long)]
    json: bool,
}

impl SummarizeArguments {
    fn out(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| format!("{}.summary.json", stem(&self.data)).into())
    }

    fn ledger_path(&self) -> Option<PathBuf> {
        (!self.no_ledger).then(|| self.ledger.clone().unwrap_or_else(|| ledger_beside(&self.data)))
    }

    fn checkpoint_path(&self) -> Option<PathBuf> {
        let beside = || {
            let mut path = self.out().into_os_string();
            path.push(".checkpoint");
            self.ledger_path().map(|_| PathBuf::from(path))
        };
        self.checkpoint.clone().or_else(beside).filter(|_| !self.no_checkpoint)
    }

    /// A result must not take the place of an input or of the ledger, nor a checkpoint that of the result.
    fn refuse_overwriting(&self) -> Fallible<()> {
        let mut kept = vec![("the data", self.data.clone()), ("the schema", self.schema.path(&self.data)?)];
        for suffix in ["", "-journal", "-wal", ".note"] {
            let ledger = self.ledger_path().map(|path| {
                let mut name = path.into_os_string();
                name.push(suffix);
                PathBuf::from(name)
            });
            kept.extend(ledger.map(|path| ("the ledger", path)));
        }
        let out = self.out();
        let results = [("--checkpoint", self.checkpoint_path()), ("--out", Some(out))];
        for (flag, output) in results.into_iter().filter_map(|(flag, path)| Some((flag, path?))) {
            if let Some((what, _)) = kept.iter().find(|(_, path)| same_file(path, &output)) {
                return Err(Error::parameter(flag, format!("would overwrite {what}"), "name another file"));
            }
            kept.push(("the checkpoint", output));
        }
        Ok(())
    }

    fn request(&self) -> Fallible<SummaryRequest> {
        let delta = delta(self.delta)?;
        let budget = match (self.epsilon, self.rho) {
            (Some(epsilon), _) => Budget::Epsilon(self::epsilon(epsilon)?, delta),
            (None, Some(rho)) => Budget::Rho(self::rho(rho)?, delta),
            (None, None) => return Err(Error::parameter("--epsilon", "is missing", "give a budget, such as 1")),
        };
        Ok(SummaryRequest {
            schema: self.unit.applied(self.schema.read(&self.data)?)?,
            adjacency: self.adjacency,
            budget,
            noise: self.noise,
            statistics: self.statistics.clone(),
            accept_large_delta: self.accept_large_delta,
        })
    }
}

pub(super) fn run(arguments: &SummarizeArguments) -> Fallible<ExitCode> {
    let interrupts = Interrupts::listen()?;
    interruptibly(arguments, &interrupts).map_err(|error| interrupts.explain(error))
}

fn interruptibly(arguments: &SummarizeArguments, interrupts: &Interrupts) -> Fallible<ExitCode> {
    let request = arguments.request()?;
    request.check()?;
    check_ledger_named(&arguments.data, arguments.ledger.is_some() || arguments.no_ledger)?;
    arguments.refuse_overwriting()?;
    let checkpoint =
        arguments.checkpoint_path().map_or_else(|| Ok(Checkpoint::none()), |path| Checkpoint::open(&path))?;
    checkpoint.about(format!("seed {:?}", arguments.seed));
    interrupts.follow(&checkpoint);
    let finished = checkpoint.is_finished();
    let out = arguments.out();
    let staged = || StagedFile::new(&out, arguments.overwrite);
    // Before anything is charged: a place that cannot be written to costs nothing.
    let mut place = if finished { None } else { Some(staged()?) };
    place.iter().for_each(|staged| interrupts.forget(staged));
    let file = match finished {
        true => None,
        false => Some(CsvFile::open_in(&arguments.data, arguments.dialect.dialect()?)?),
    };
    let mut ledger = match arguments.ledger_path() {
        None => Ledger::in_memory()?,
        Some(path) => open_or_create(&path)?,
    };
    let noise = arguments.seed.map_or_else(NoiseSource::from_os, |seed| Ok(NoiseSource::insecure_from_seed(seed)))?;
    let summarized = match file {
        None => finish_summary(&checkpoint, &request, &mut ledger)?
            .ok_or_else(|| Error::numerical("checkpoint", "its summary is gone"))?,
        Some(file) => {
            if checkpoint.releases().is_some() {
                tell("going on with a run that was stopped; what was charged is not charged again");
            }
            let data = identity(&file)?;
            summarize_from(&checkpoint, &data, file, &request, &mut ledger, noise)?
        }
    };
    // Whatever has its place already was published by the run that was stopped.
    let digest = crate::train::sha256_hex(summarized.text.as_bytes());
    let there = finished && sha256_of_file(&out).is_some_and(|found| found == digest);
    if finished && !there {
        let staged = staged()?;
        interrupts.forget(&staged);
        place = Some(staged);
    }
    if let Some(mut staged) = place.filter(|_| !there) {
        staged.append(summarized.text.as_bytes())?;
        staged.publish()?;
    }
    interrupts.published();
    if let Err(error) = checkpoint.remove() {
        warn(&format!("the summary is published; {error}"));
    }
    if !summarized.file.dp {
        warn(&summarized.file.statement);
    }
    if !summarized.schema_counted {
        warn(
            "warning: the release of the schema is not in this ledger, so its cost is counted nowhere with that of this run",
        );
    }
    warn(&match ledger.path() {
        Some(path) => format!("charged to {}", path.display()),
        None => "charged to no ledger: add its cost to that of whatever else is released".into(),
    });
    if arguments.json {
        let value = serde_json::to_value(&summarized.file).map_err(|e| Error::numerical("summary", e.to_string()))?;
        print_json(&value)?;
    } else {
        print(&(page(&summarized.file) + &format!("\nwritten to {}\n", visible(&out.display().to_string()))))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A number for people: six significant digits.
fn shown(value: f64) -> String {
    let size = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    match size {
        -4..=5 => format!("{value:.*}", usize::try_from(5 - size).unwrap_or(0)),
        _ if value.abs() < 1e15 && size > 0 => format!("{value:.0}"),
        _ => format!("{value:e}"),
    }
}

/// The answers and the guarantee, for people.
fn page(file: &SummaryFile) -> String {
    let mut page = String::new();
    for answered in &file.answers {
        let name = visible(&answered.statistic);
        let none = || "not released".to_owned();
        match &answered.answer {
            Answer::Mean { mean, deviation, numbers } => {
                let told = |value: &Option<f64>| value.map_or_else(none, shown);
                page.push_str(&format!(
                    "{name}: {}, noise {}, about {} numbers\n",
                    told(mean),
                    told(deviation),
                    numbers.map_or_else(|| "no".into(), |numbers| format!("{numbers:.0}"))
                ));
            }
            Answer::Quantile { quantile, rows_off } => page.push_str(&format!(
                "{name}: {}, at most {rows_off:.0} rows off in 19 of 20 runs, of numbers rounded to 2,185 points\n",
                shown(*quantile)
            )),
            Answer::Counts { counts, deviation } => {
                if let [(_, rows)] = &counts[..] {
                    page.push_str(&format!("{name}: {rows:.1}, noise {}\n", shown(*deviation)));
                    continue;
                }
                page.push_str(&format!("{name}, noise {} each:\n", shown(*deviation)));
                let labels: Vec<String> = counts.iter().map(|(label, _)| visible(label).into_owned()).collect();
                let width = width_of(labels.iter().map(String::as_str), 6);
                for (label, (_, rows)) in labels.iter().zip(counts) {
                    page.push_str(&format!("  {label:width$} {rows:>14.1}\n"));
                }
            }
            Answer::StableMedian { median, deviation, rows_to_a_jump, threshold } => page.push_str(&match median {
                Some(median) => format!(
                    "{name}: {}, noise {}; about {rows_to_a_jump:.0} rows from a jump\n",
                    shown(*median),
                    shown(*deviation)
                ),
                None => format!(
                    "{name}: not released, about {rows_to_a_jump:.0} rows from a jump, and {threshold:.0} are needed; propose a larger distance, or ask for median\n"
                ),
            }),
            Answer::FirstAbove { first } => page.push_str(&match first {
                Some(first) => format!("{name}: {}\n", visible(first)),
                None => format!("{name}: none\n"),
            }),
        }
    }
    page.push('\n');
    page.push_str(&visible(&file.statement));
    page.push('\n');
    if let Some(words) = &file.in_plain_words {
        page.push_str(&format!("In plain words: {}\n", visible(words)));
    }
    page.push_str("\nLimits:\n");
    file.limits.iter().for_each(|limit| page.push_str(&format!("- {}\n", visible(limit))));
    page
}

/// `verify` of a summary: what was checked, and whether all of it held.
pub(super) fn verify(
    path: &std::path::Path,
    text: &str,
    ledger: Option<&mut Ledger>,
    json: bool,
) -> Fallible<ExitCode> {
    let file = SummaryFile::parse(text, path)?;
    let looked_up = ledger.is_some();
    let (checks, noted) = file.verify(text, ledger)?;
    let held = checks.iter().all(|check| check.held);
    let (who, why) = match held && noted {
        true => ("authenticated by the ledger", "it notes the digest of this very file as the result of the run"),
        false if held => (
            "not authenticated",
            "what is checked below is what the file says of itself; --ledger FILE shows whether it came from the run",
        ),
        false => ("not authenticated", "a check failed, so nothing in this file can be relied on"),
    };
    if json {
        let list: Vec<_> = checks.iter().map(|c| json!({"check": c.what, "held": c.held})).collect();
        print_json(&json!({"answers": who, "verified": held, "dp": file.dp, "checks": list}))?;
    } else {
        let mut page = format!("answers {who}: {why}\n\n");
        for check in &checks {
            page.push_str(if check.held { "ok      " } else { "FAILED  " });
            page.push_str(&visible(&check.what));
            page.push('\n');
        }
        page.push_str(match (held, file.dp) {
            (true, true) if looked_up => "verified\n",
            (true, true) => "verified against itself; --ledger FILE also checks that the releases were charged\n",
            (true, false) => "consistent, but the statement says that the summary is NOT PRIVATE\n",
            (false, _) => "NOT verified\n",
        });
        print(&page)?;
    }
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
