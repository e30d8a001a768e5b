//! `rhograd inspect`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgGroup, Args};

use super::arguments::{check_ledger_named, delta, epsilon, ledger_beside, open_or_create, rho, stem};
use super::data::pretty;
use super::input::{DialectArguments, data_path, identity, is_passing};
use super::output::{print_data, tell, warn};
use super::signals::Interrupts;
use crate::data::{CsvFile, Task, Unit, draft_schema_with_notes};
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::privacy::Adjacency;
use crate::schema_draft::{DraftRequest, draft_from, finish_draft};
use crate::train::{Budget, Checkpoint, StagedFile, sha256_hex, sha256_of_file};

const EXAMPLES: &str = "\
Examples:
  rhograd inspect wages.csv --epsilon 0.5 --out wages.schema.json
  rhograd inspect wages.csv --rho 0.005 --target wage --task regression --range age=0..120
  rhograd inspect wages.csv --epsilon 1 --categorical zip,job --ignore name --ledger budget.sqlite
  rhograd inspect wages.csv
  rhograd inspect visits.csv --epsilon 0.5 --unit patient --target readmitted --out visits.schema.json

With a budget the draft is PRIVATE: which columns hold numbers, an interval for each of those that leaves about
half a percent of them outside, and the frequent values of all others are released through the gate, and their cost is
charged to the ledger. What is trained with it costs its own budget on top. What flags declare costs nothing.
With --unit it protects persons: one line of each is looked at, chosen by a hash of that person's lines alone.

Without a budget bounds and values are read off the rows, so the draft is marked \"draft\": true and a model trained
with it is marked NOT PRIVATE. Replace them by what is publicly known and delete the mark.";

#[derive(Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("budget").args(["epsilon", "rho"]))]
pub(super) struct InspectArguments {
    /// CSV file with a header; - for standard input
    #[arg(value_parser = data_path())]
    data: PathBuf,
    #[command(flatten)]
    dialect: DialectArguments,
    /// Column to predict [default: the last]
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// Name of the data set [default: the file's name]
    #[arg(long)]
    name: Option<String>,
    /// Draft privately, for this epsilon
    #[arg(long, allow_hyphen_values = true)]
    epsilon: Option<f64>,
    /// Draft privately, for this rho of approximate zCDP
    #[arg(long, allow_hyphen_values = true)]
    rho: Option<f64>,
    /// Delta of the guarantee; a tenth of it is for values that few rows, or persons, hold [default: 1e-6]
    #[arg(long, requires = "budget", allow_hyphen_values = true)]
    delta: Option<f64>,
    /// Accept a delta above 1e-3, or above a tenth of one over the rows where they are public: with that probability whole
    /// rows may show
    #[arg(long, requires = "budget")]
    accept_large_delta: bool,
    /// Which data sets are neighbours
    #[arg(long, value_enum, default_value = "add-remove")]
    adjacency: Adjacency,
    /// What is predicted, if that is known; else a part of the budget finds out
    #[arg(long, value_enum, requires = "budget")]
    task: Option<Task>,
    /// Columns known to hold numbers
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "budget")]
    numeric: Vec<String>,
    /// Column known to hold numbers of about this range; narrower bounds within are released, wider ones never
    #[arg(long, value_name = "COLUMN=LOW..HIGH", value_parser = range, requires = "budget", allow_hyphen_values = true)]
    range: Vec<(String, f64, f64)>,
    /// Columns known to hold values of a few kinds
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "budget")]
    categorical: Vec<String>,
    /// Columns to leave out; names and other free text find their way out by themselves, but cost
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', requires = "budget")]
    ignore: Vec<String>,
    /// Column that tells persons apart: it becomes the unit of the schema and no feature, and a private draft protects persons
    #[arg(long, value_name = "COLUMN")]
    unit: Option<String>,
    /// The first line names the columns, although one of its cells is a number or empty; it is published as such
    #[arg(long, value_name = "yes", value_parser = ["yes"], requires = "budget")]
    header: Option<String>,
    /// Put the released, noised number of rows, or of persons with --unit, into the schema as its public hint
    #[arg(long, requires = "budget")]
    with_rows: bool,
    /// Ledger that the draft is charged to [default: NAME.ledger.sqlite beside the data]
    #[arg(long, value_name = "FILE", conflicts_with = "no_ledger", requires = "budget")]
    ledger: Option<PathBuf>,
    /// Keep no ledger: nothing then adds the cost of the draft to that of models
    #[arg(long, requires = "budget")]
    no_ledger: bool,
    /// File for the schema [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace a schema that exists already
    #[arg(long, requires = "out")]
    overwrite: bool,
    /// Keep releases, and the schema until it is published, in FILE; the same command goes on with a draft that was stopped
    ///
    /// Nothing is charged again. FILE is deleted when the schema is written; until then it is for the custodian [default:
    /// NAME.schema.checkpoint beside the ledger; none without one]
    #[arg(long, value_name = "FILE", requires = "budget")]
    checkpoint: Option<PathBuf>,
    /// Keep nothing: whatever stops the draft then loses its budget
    #[arg(long, requires = "budget", conflicts_with = "checkpoint")]
    no_checkpoint: bool,
    /// Reproducible noise for trials: the draft is NOT private and says so
    #[arg(long, value_name = "N", requires = "budget")]
    seed: Option<u64>,
}

/// Reads `COLUMN=LOW..HIGH`.
fn range(text: &str) -> Result<(String, f64, f64), String> {
    let wrong = || "write a column and its public range, as in age=0..120".to_owned();
    let (column, bounds) = text.rsplit_once('=').ok_or_else(wrong)?;
    let (lower, upper) = bounds.split_once("..").ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse().map_err(|_| wrong());
    Ok((column.to_owned(), number(lower)?, number(upper)?))
}

pub(super) fn run(arguments: &InspectArguments) -> Fallible<ExitCode> {
    let delta = delta(arguments.delta)?;
    match (arguments.epsilon, arguments.rho) {
        (Some(epsilon), _) => privately(arguments, Budget::Epsilon(self::epsilon(epsilon)?, delta)),
        (None, Some(rho)) => privately(arguments, Budget::Rho(self::rho(rho)?, delta)),
        (None, None) => openly(arguments),
    }
}

impl InspectArguments {
    fn open_data(&self) -> Fallible<CsvFile> {
        if self.name.is_none() && is_passing(&self.data) {
            let problem = format!("is missing, and {} has no name that a data set could have", self.data.display());
            return Err(Error::parameter("--name", problem, "name the data set, as its account in the ledger"));
        }
        CsvFile::open_in(&self.data, self.dialect.dialect()?)
    }

    fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| stem(&self.data))
    }

    fn request(&self, budget: Budget) -> DraftRequest {
        DraftRequest {
            name: self.name(),
            adjacency: self.adjacency,
            unit: self.unit.clone(),
            budget,
            target: self.target.clone(),
            task: self.task,
            numeric: self.numeric.clone(),
            ranges: self.range.clone(),
            categorical: self.categorical.clone(),
            ignore: self.ignore.clone(),
            rows: self.with_rows,
            accept_large_delta: self.accept_large_delta,
            header: self.header.is_some(),
        }
    }
}

fn openly(arguments: &InspectArguments) -> Fallible<ExitCode> {
    let staged = arguments.staged()?;
    let file = arguments.open_data()?;
    let (mut schema, notes) = draft_schema_with_notes(&file, &arguments.name(), arguments.target.as_deref())?;
    if let Some(unit) = &arguments.unit {
        file.column(unit)?;
        schema.columns.0.retain(|(name, _)| name != unit);
        schema.ignore.retain(|name| name != unit);
        schema = schema.with_unit(Unit::new(unit.as_str()))?;
    }
    warn(
        "NOT PRIVATE, custodian-only: this draft shows values of the rows. Replace bounds and values by public knowledge, then \
         delete \"draft\"; until then every model is marked NOT PRIVATE",
    );
    tell("with --epsilon a draft is private and costs a part of the budget");
    if let Some((column, why)) = file.header_doubt() {
        warn(&format!("does the file have a header? column {column} of its first line is {why}"));
    }
    for note in notes {
        tell(&format!("custodian-only: {note}"));
    }
    publish(staged, &pretty(&schema)?)?;
    Ok(ExitCode::SUCCESS)
}

fn privately(arguments: &InspectArguments, budget: Budget) -> Fallible<ExitCode> {
    let interrupts = Interrupts::listen()?;
    privately_and_interruptibly(arguments, budget, &interrupts).map_err(|error| interrupts.explain(error))
}

fn privately_and_interruptibly(
    arguments: &InspectArguments,
    budget: Budget,
    interrupts: &Interrupts,
) -> Fallible<ExitCode> {
    let request = arguments.request(budget);
    check_ledger_named(&arguments.data, arguments.ledger.is_some() || arguments.no_ledger)?;
    let checkpoint = arguments.checkpoint()?;
    checkpoint.about(format!("seed {:?}", arguments.seed));
    interrupts.follow(&checkpoint);
    let finished = checkpoint.is_finished();
    // Before anything is charged: a place that cannot be written to costs nothing.
    let mut staged = if finished { None } else { arguments.staged()? };
    staged.iter().for_each(|staged| interrupts.forget(staged));
    let file = match finished {
        true => None,
        false => {
            let file = arguments.open_data()?;
            request.check(&file)?;
            Some(file)
        }
    };
    let mut ledger = match arguments.ledger_path() {
        None => Ledger::in_memory()?,
        Some(path) => open_or_create(&path)?,
    };
    // A seeded draft makes two runs, whose noise must not be the same.
    let mut seeds = arguments.seed.map(|seed| [seed, seed.wrapping_add(1)].into_iter());
    let mut noise = || match seeds.as_mut().and_then(Iterator::next) {
        Some(seed) => Ok(NoiseSource::insecure_from_seed(seed)),
        None => NoiseSource::from_os(),
    };
    let drafted = match file {
        None => finish_draft(&checkpoint, &request, &mut ledger)?
            .ok_or_else(|| Error::numerical("checkpoint", "its schema is gone"))?,
        Some(file) => {
            if checkpoint.releases().is_some() {
                tell("going on with a draft that was stopped; what was charged is not charged again");
            }
            let data = identity(&file)?;
            draft_from(&checkpoint, &data, file, &request, &mut ledger, &mut noise)?
        }
    };
    for note in &drafted.notes {
        tell(note);
    }
    match &drafted.schema.released {
        Some(release) => warn(&release.statement),
        None => warn("NOT PRIVATE: the noise came from a fixed seed, and so every model of this schema is marked"),
    }
    warn(&charged(ledger.path()));
    // Whatever has its place already was published by the run that was stopped.
    let digest = sha256_hex(drafted.text.as_bytes());
    let there = finished && arguments.out.as_deref().and_then(sha256_of_file).is_some_and(|found| found == digest);
    if finished && !there {
        staged = arguments.staged()?;
        staged.iter().for_each(|staged| interrupts.forget(staged));
    }
    if !there {
        publish(staged, &drafted.text)?;
    }
    interrupts.published();
    if let Err(error) = checkpoint.remove() {
        warn(&format!("the schema is published; {error}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn publish(staged: Option<StagedFile>, text: &str) -> Fallible<()> {
    match staged {
        None => print_data(text),
        Some(mut file) => {
            file.append(text.as_bytes())?;
            file.publish()
        }
    }
}

impl InspectArguments {
    /// The file for the schema, if there is one.
    fn staged(&self) -> Fallible<Option<StagedFile>> {
        self.out.as_deref().map(|out| StagedFile::new(out, self.overwrite)).transpose()
    }

    /// The ledger that the draft is charged to.
    fn ledger_path(&self) -> Option<PathBuf> {
        (!self.no_ledger).then(|| self.ledger.clone().unwrap_or_else(|| ledger_beside(&self.data)))
    }

    /// What a draft has left, if one was stopped.
    fn checkpoint(&self) -> Fallible<Checkpoint> {
        let beside = || Some(self.ledger_path()?.with_file_name(format!("{}.schema.checkpoint", stem(&self.data))));
        match self.checkpoint.clone().or_else(beside).filter(|_| !self.no_checkpoint) {
            Some(path) => Checkpoint::open(&path),
            None => Ok(Checkpoint::none()),
        }
    }
}

fn charged(ledger: Option<&Path>) -> String {
    match ledger {
        Some(path) => format!("charged to {}; train with the same ledger, so that costs add up", path.display()),
        None => "charged to no ledger: add its cost to that of whatever is trained with it".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        assert_eq!(range("age=0..120"), Ok(("age".into(), 0.0, 120.0)));
        assert_eq!(range("a=b=-1.5..1e3"), Ok(("a=b".into(), -1.5, 1000.0)));
        for bad in ["age", "age=0", "age=0..", "age=x..2", "=.."] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }
}
