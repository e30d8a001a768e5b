//! Arguments shared by several commands, and the rules that find files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::help::{BUDGET, MODEL};
use super::input::is_passing;
use super::output::warn;
use crate::data::{Estimand, Exposure, Offset, Protect, RowWeight, Schema, Unit};
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::preprocess::MemoryLimit;
use crate::privacy::{Delta, Epsilon, Rho};

/// More threads than any machine this runs on has cores for.
const MAX_THREADS: usize = 1024;

/// Reads a size such as `500MB`, `1.5GB` or `2GiB`.
pub(super) fn memory_limit(text: &str) -> Result<MemoryLimit, String> {
    const UNITS: [(&str, f64); 6] =
        [("KIB", 1024.0), ("MIB", 1_048_576.0), ("GIB", 1_073_741_824.0), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)];
    let wrong = || "write a number with its unit, as in 500MB or 4GB (also MiB, GiB, TB)".to_owned();
    let size = text.trim().to_ascii_uppercase();
    let (unit, factor) = UNITS.iter().find(|(unit, _)| size.ends_with(unit)).ok_or_else(wrong)?;
    let number: f64 = size[..size.len() - unit.len()].trim_end().parse().map_err(|_| wrong())?;
    if !(number.is_finite() && number >= 0.0) {
        return Err(wrong());
    }
    MemoryLimit::new((number * factor) as u64).map_err(|error| error.to_string())
}

/// Where the schema is.
#[derive(Args)]
pub(super) struct SchemaArgument {
    /// Public schema; without it DATA.schema.json beside the data (adult_train.csv also tries adult.schema.json)
    ///
    /// A cell is read by the schema and by itself, the same from every kind of file: a declared value is the same text, else the
    /// same number (1, 1.0, 01 and true are one value); what is no number in a numeric column is missing.
    #[arg(long, value_name = "FILE", display_order = 3)]
    schema: Option<PathBuf>,
}

impl SchemaArgument {
    /// Reads the schema that belongs to a data file.
    pub(super) fn read(&self, data: &Path) -> Fallible<Schema> {
        Schema::read(&self.path(data)?)
    }

    /// The schema file that belongs to a data file.
    pub(super) fn path(&self, data: &Path) -> Fallible<PathBuf> {
        if let Some(path) = &self.schema {
            return Ok(path.clone());
        }
        if is_passing(data) {
            let problem = format!("is missing, and {} is no file that a schema could lie beside", data.display());
            return Err(Error::parameter("--schema", problem, "name the schema of these rows"));
        }
        let candidates = beside(data);
        match candidates.iter().find(|path| path.exists()) {
            Some(path) => Ok(path.clone()),
            None => Err(Error::parameter(
                "--schema",
                format!("is missing, and {} does not exist", candidates[0].display()),
                format!(
                    "write a public schema; `rhograd inspect {} --epsilon 0.5` drafts one privately",
                    data.display()
                ),
            )),
        }
    }
}

/// Whose rows are protected together.
#[derive(Args)]
pub(super) struct UnitArguments {
    /// Protect persons and not single rows: all rows with the same text in COLUMN are one person's [default: the schema's
    /// "unit"]
    ///
    /// A person's rows are averaged and clipped together, so a person with many rows moves a release no further than one with
    /// a single row. A row without an identifier counts for nothing. COLUMN is no feature.
    #[arg(long, value_name = "COLUMN", help_heading = BUDGET, hide_short_help = true)]
    unit: Option<String>,
    /// Public number of persons, known without counting them [default: that of the schema's unit]
    #[arg(long, value_name = "N", help_heading = BUDGET, hide_short_help = true)]
    persons: Option<u64>,
    /// The most rows of a person that count; which ones follows from these rows alone [default: that of the schema's unit,
    /// else 1000]
    #[arg(long, value_name = "N", value_parser = rows_that_count, help_heading = BUDGET, hide_short_help = true)]
    max_rows: Option<u32>,
    /// Whose mean is estimated: of persons, or of rows as far as the clip lets it, for auto, whitened, dp-gd and dp-sgd
    /// [default: that of the schema's unit, else persons]
    ///
    /// With `rows` the gradients of a person's rows are added up and not averaged, then clipped together as ever: the guarantee is
    /// the same, and persons with many more rows than others weigh up to the clip norm.
    #[arg(long, value_enum, value_name = "WHOSE", help_heading = BUDGET, hide_short_help = true)]
    estimand: Option<Estimand>,
}

/// A number of rows that count, or why it is not chosen privately.
pub(super) fn rows_that_count(text: &str) -> Result<u32, String> {
    match text {
        Unit::PRIVATE => Err(Unit::NO_PRIVATE_MAX_ROWS.into()),
        number => number.parse().map_err(|_| "must be a whole number, at least 1 and at most 4096".to_owned()),
    }
}

/// What of a row is protected.
#[derive(Args)]
pub(super) struct ProtectArguments {
    /// What of a row is protected: all of it, or its label alone, where features are public [default: the schema's "protect",
    /// else row]
    ///
    /// With `label` neighbours differ in the label of one row: features, and which rows there are, are taken for public, and
    /// whatever follows from them is free. One noised sum of rows by their labels is released, for --model logistic, linear,
    /// ridge, poisson and multinomial.
    #[arg(long, value_enum, value_name = "WHAT", help_heading = BUDGET, hide_short_help = true)]
    protect: Option<Protect>,
    /// A public column, whose cells all may know; may be repeated [default: the columns with "public": true in the schema]
    ///
    /// Neighbours then differ in the cells of the other columns, in one row: which rows there are is taken for public, and
    /// whatever follows from public columns alone is free.
    #[arg(long, value_name = "COLUMN", help_heading = BUDGET, hide_short_help = true)]
    public: Vec<String>,
}

/// How much rows count.
#[derive(Args)]
pub(super) struct WeightArguments {
    /// Column of weights: a row counts as much as its number there, up to --max-weight, in everything that is released [default: that of
    /// the schema's "weight"]
    ///
    /// The clip comes first, then the weight over the largest one, so no row counts for more than one without weights. A row
    /// without a weight, or with a negative one, counts for nothing. COLUMN is no feature.
    #[arg(long, value_name = "COLUMN", help_heading = MODEL, hide_short_help = true)]
    weight: Option<String>,
    /// The largest weight that is publicly possible, not the largest in the file; a larger one counts as this one [default: that of the
    /// schema's "weight"]
    #[arg(long, value_name = "W", help_heading = MODEL, hide_short_help = true)]
    max_weight: Option<f64>,
    /// Weight of a label, as in --label-weight yes=5; may be repeated. Other labels weigh 1 [default: those of the schema's "weight"]
    #[arg(long, value_name = "LABEL=W", value_parser = label_weight, help_heading = MODEL, hide_short_help = true)]
    label_weight: Vec<(String, f64)>,
    /// Column of exposures, such as years under observation: counts are divided by it, a row weighs as much as its exposure, and the model
    /// predicts events for an exposure of 1 [default: that of the schema's "weight"]
    ///
    /// The bounds of the target are then those of events for an exposure of 1. COLUMN is no feature.
    #[arg(long, value_name = "COLUMN", requires = "max_exposure", help_heading = MODEL, hide_short_help = true)]
    exposure: Option<String>,
    /// The largest exposure that is publicly possible; a row with a larger one weighs as much as one with this
    #[arg(long, value_name = "E", requires = "exposure", help_heading = MODEL, hide_short_help = true)]
    max_exposure: Option<f64>,
    /// Column of offsets, numbers that are added to the margin of a row and have no coefficient: to the log-odds of two labels; a number to
    /// predict counts less its offset. The model predicts for an offset of 0 [default: that of the schema's "weight"]
    ///
    /// The bounds of a target are then those of the difference. COLUMN is no feature.
    #[arg(long, value_name = "COLUMN", requires_all = ["min_offset", "max_offset"], help_heading = MODEL, hide_short_help = true)]
    offset: Option<String>,
    /// The least offset that is publicly possible; a smaller one counts as this one
    #[arg(long, value_name = "O", requires = "offset", allow_hyphen_values = true, help_heading = MODEL, hide_short_help = true)]
    min_offset: Option<f64>,
    /// The largest offset that is publicly possible; a larger one counts as this one
    #[arg(long, value_name = "O", requires = "offset", allow_hyphen_values = true, help_heading = MODEL, hide_short_help = true)]
    max_offset: Option<f64>,
}

/// A label and its weight.
fn label_weight(text: &str) -> Result<(String, f64), String> {
    let (label, weight) = text.rsplit_once('=').ok_or("must be LABEL=W, as in yes=5")?;
    let weight = weight.parse().map_err(|_| format!("{weight:?} is no number; write LABEL=W, as in yes=5"))?;
    Ok((label.to_owned(), weight))
}

impl WeightArguments {
    /// A schema with what was asked for.
    pub(super) fn applied(&self, schema: Schema) -> Fallible<Schema> {
        let WeightArguments { weight, max_weight, label_weight, exposure, max_exposure, offset, .. } = self;
        let none = weight.is_none() && max_weight.is_none() && exposure.is_none() && offset.is_none();
        if none && label_weight.is_empty() {
            return Ok(schema);
        }
        let labels: BTreeMap<String, f64> = label_weight.iter().cloned().collect();
        if labels.len() < label_weight.len() {
            return Err(Error::parameter("--label-weight", "names a label twice", "name each label once"));
        }
        let exposure = exposure.clone().zip(*max_exposure).map(|(column, max)| Exposure { column, max });
        let bounds = self.min_offset.zip(self.max_offset);
        let offset = offset.clone().zip(bounds).map(|(column, (lower, upper))| Offset { column, lower, upper });
        schema.with_weight(RowWeight { column: weight.clone(), max: *max_weight, labels, exposure, offset })
    }
}

impl ProtectArguments {
    /// A schema with what was asked for.
    pub(super) fn applied(&self, schema: Schema) -> Fallible<Schema> {
        let schema = match self.protect {
            None => schema,
            Some(protect) => schema.with_protect(protect)?,
        };
        if self.public.is_empty() { Ok(schema) } else { schema.with_public(&self.public) }
    }
}

impl UnitArguments {
    /// A schema with what was asked for.
    pub(super) fn applied(&self, schema: Schema) -> Fallible<Schema> {
        let UnitArguments { unit, persons, max_rows, estimand } = self;
        if unit.is_none() && persons.is_none() && max_rows.is_none() && estimand.is_none() {
            return Ok(schema);
        }
        let known = schema.unit.as_ref().map(|unit| unit.column.clone());
        let column = unit.to_owned().or(known).ok_or_else(|| {
            let flag = match (persons, max_rows) {
                (Some(_), _) => "--persons",
                (None, Some(_)) => "--max-rows",
                (None, None) => "--estimand",
            };
            Error::parameter(flag, "is given, and nothing says who is who", "name the column of identifiers by --unit")
        })?;
        schema.with_unit(Unit { column, persons: *persons, max_rows: *max_rows, estimand: *estimand })
    }
}

/// `a/b_train.csv` -> `a/b_train.schema.json`, `a/b.schema.json`.
fn beside(data: &Path) -> Vec<PathBuf> {
    let stem = stem(data);
    let mut stems = vec![stem.clone()];
    stems.extend(stem.rsplit_once('_').map(|(head, _)| head.to_owned()));
    stems.into_iter().map(|stem| data.with_file_name(format!("{stem}.schema.json"))).collect()
}

/// Where runs on a data file are charged unless another ledger is named: NAME.ledger.sqlite beside it.
pub(super) fn ledger_beside(data: &Path) -> PathBuf {
    data.with_file_name(format!("{}.ledger.sqlite", stem(data)))
}

/// Opens a ledger, makes it where there is none, and tells the custodian what is odd about its place.
pub(super) fn open_or_create(path: &Path) -> Fallible<Ledger> {
    let ledger = Ledger::open_or_create(path)?;
    if let Some(warning) = ledger.warning() {
        warn(&warning);
    }
    Ok(ledger)
}

/// Refuses to look for a ledger beside data that lie nowhere, such as a pipe.
pub(super) fn check_ledger_named(data: &Path, named: bool) -> Fallible<()> {
    if named || !is_passing(data) {
        return Ok(());
    }
    Err(Error::parameter(
        "--ledger",
        format!("is missing, and {} is no file that a ledger could lie beside", data.display()),
        "name the ledger of these rows; --no-ledger keeps none, and then nothing binds further runs",
    ))
}

/// The file name without its last extension, and without that of a packed file behind it.
pub(super) fn stem(path: &Path) -> String {
    let packed = path.extension().is_some_and(|e| e == "gz" || e == "zst");
    let path = if packed { path.with_extension("") } else { path.to_owned() };
    path.file_stem().map_or_else(|| "data".into(), |stem| stem.to_string_lossy().into_owned())
}

/// Whether two paths name one file, whether or not it exists yet.
pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    let resolve = |path: &Path| {
        path.canonicalize().ok().or_else(|| {
            let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(parent.canonicalize().ok()?.join(path.file_name()?))
        })
    };
    a == b || resolve(a).is_some_and(|a| Some(a) == resolve(b))
}

/// Names the flag in a refusal of what a flag said: `--epsilon` for `epsilon`, as it was typed.
pub(super) fn as_flag(error: Error) -> Error {
    const FLAGS: [(&str, &str); 11] = [
        ("epsilon", "--epsilon"),
        ("delta", "--delta"),
        ("rho", "--rho"),
        ("mu", "--mu"),
        ("noise multiplier", "--noise-multiplier"),
        ("scale", "--laplace-scale"),
        ("sampling rate", "--rate"),
        ("steps", "--steps"),
        ("confidence", "--confidence"),
        ("trials", "--trials"),
        ("unit", "--unit"),
    ];
    error.named(|name| FLAGS.iter().find(|(plain, _)| *plain == name).map(|(_, flag)| (*flag).to_owned()))
}

/// Checks an optional delta.
pub(super) fn delta(value: Option<f64>) -> Fallible<Option<Delta>> {
    value.map(Delta::new).transpose().map_err(as_flag)
}

/// Checks an epsilon.
pub(super) fn epsilon(value: f64) -> Fallible<Epsilon> {
    Epsilon::new(value).map_err(as_flag)
}

/// Checks a rho.
pub(super) fn rho(value: f64) -> Fallible<Rho> {
    Rho::from_f64(value).map_err(as_flag)
}

/// Makes the threads of everything that follows, before anything is read or charged; `None` for one a core.
pub(super) fn set_threads(threads: Option<usize>) -> Fallible<()> {
    let mut pool = rayon::ThreadPoolBuilder::new();
    match threads {
        None => {}
        Some(n) if n == 0 || n > MAX_THREADS => {
            let problem = format!("is {n}, must be in 1..={MAX_THREADS}");
            return Err(Error::parameter("--threads", problem, "leave it out to use all"));
        }
        Some(n) => pool = pool.num_threads(n),
    }
    let cure = "use --threads with a smaller number where there is one, or raise the limit on processes (ulimit -u)";
    pool.build_global().map_err(|e| Error::parameter("threads", format!("cannot be made ({e})"), cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_looked_for_beside_the_data() {
        let names: Vec<_> = beside(Path::new("d/adult_train.csv")).iter().map(|p| p.display().to_string()).collect();
        assert_eq!(names, ["d/adult_train.schema.json", "d/adult.schema.json"]);
        assert_eq!(beside(Path::new("fair.csv")).len(), 1);
        assert_eq!(stem(Path::new("d/fair.csv.zst")), "fair");
    }
}
