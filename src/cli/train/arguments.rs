//! What `rhograd train` takes.

use std::path::PathBuf;

use clap::Args;

use crate::cli::arguments::{ProtectArguments, SchemaArgument, UnitArguments, WeightArguments, memory_limit};
use crate::cli::help::{BUDGET, FILES, READING, RUNNING};
use crate::cli::input::{DialectArguments, data_path};
use crate::cli::request::RequestArguments;
use crate::preprocess::MemoryLimit;

const EXAMPLES: &str = "\
Examples:
  rhograd train datasets/fair.csv --epsilon 1
  rhograd train adult_train.csv --epsilon 0.5 --delta 1e-6 --out adult.model.json --json
  rhograd train wages.csv --schema wages.schema.json --rho 0.1 --ledger budget.sqlite
  rhograd train wages.csv --epsilon 1 --evaluate-budget 0.1
  rhograd train wages.csv --epsilon 1 --tune='algorithm=whitened,dp-gd;l2=0,0.01'
  rhograd train wages.csv.zst --epsilon 1 --cache auto
  rhograd train wages.csv --epsilon 1 --algorithm dp-gd-theory --rows 20000 --radius 2
  rhograd train visits.csv --epsilon 1 --unit patient --max-rows 50
  rhograd train wages.csv --epsilon 1 --protect label
  rhograd train survey.csv --epsilon 1 --weight design_weight --max-weight 20
  rhograd train wages.csv --epsilon 1 --sign custodian.key

Writes MODEL (with its privacy statement inside) and LOG (one JSON line per release), and charges
the whole cost to the ledger before the first noise is drawn. A run that is stopped, by whatever,
goes on when the same command is given again: it is charged once.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct TrainArguments {
    /// CSV file with a header, plain or packed by gzip or zstd; one line is one record; - for standard input.
    /// Parquet and libsvm files are read, too
    #[arg(value_parser = data_path())]
    pub(in crate::cli) data: PathBuf,
    #[command(flatten)]
    pub(in crate::cli) dialect: DialectArguments,
    #[command(flatten)]
    pub(in crate::cli) schema: SchemaArgument,
    #[command(flatten)]
    pub(in crate::cli) request: RequestArguments,
    #[command(flatten)]
    pub(in crate::cli) unit: UnitArguments,
    #[command(flatten)]
    pub(in crate::cli) protect: ProtectArguments,
    #[command(flatten)]
    pub(in crate::cli) weight: WeightArguments,
    /// Model file [default: NAME.model.json in the current directory]
    #[arg(long, value_name = "FILE", display_order = 8)]
    pub(super) out: Option<PathBuf>,
    /// Log file [default: the model file's name with .log.jsonl]
    #[arg(long, value_name = "FILE", help_heading = FILES, hide_short_help = true)]
    pub(super) log: Option<PathBuf>,
    /// Ledger that the run is charged to [default: NAME.ledger.sqlite beside the data]
    #[arg(long, value_name = "FILE", conflicts_with = "no_ledger", display_order = 9)]
    pub(super) ledger: Option<PathBuf>,
    /// Refuse to run if the ledger does not exist yet
    #[arg(long, conflicts_with = "no_ledger", help_heading = BUDGET, hide_short_help = true)]
    pub(super) require_ledger: bool,
    /// Keep no ledger: nothing then binds further runs on the data set, and the statement says so
    #[arg(long, help_heading = BUDGET, hide_short_help = true)]
    pub(super) no_ledger: bool,
    /// Keep each release, and the result until it is published, in FILE [default: the model file's name with .checkpoint]
    ///
    /// A run that was stopped goes on when its command is given again. Nothing is charged again: releases that were made are read, the
    /// others get fresh noise, and a result that was finished is published as it is. Kept are runs of up to 10,000 releases,
    /// up to 64 MiB of values; of longer ones, and with --evaluate-budget, the result alone. FILE is deleted when the model is
    /// written. Until then it is for the custodian.
    #[arg(long, value_name = "FILE", help_heading = FILES, hide_short_help = true)]
    pub(super) checkpoint: Option<PathBuf>,
    /// Keep nothing: whatever stops the run then loses its result, and its budget with it
    #[arg(long, conflicts_with = "checkpoint", help_heading = FILES, hide_short_help = true)]
    pub(super) no_checkpoint: bool,
    /// Replace a model and a log that exist already
    #[arg(long, help_heading = FILES, hide_short_help = true)]
    pub(super) overwrite: bool,
    /// Keep the encoded rows in a file and start from it the next time; auto: DATA.rows beside the data. PRIVATE like the data
    #[arg(long, value_name = "FILE|auto", help_heading = READING, hide_short_help = true)]
    pub(super) cache: Option<PathBuf>,
    /// Compare all bytes of the data with the cache, not only their size and times
    #[arg(long, requires = "cache", help_heading = READING, hide_short_help = true)]
    pub(super) cache_verify: bool,
    /// Memory for encoded rows, as in 500MB or 4GB; rows that need more stay in a file and are streamed in every step
    ///
    /// Rows go straight to the file of --cache, or to a temporary file in TMPDIR without a name, readable by its owner only
    /// and gone when the run ends, whatever ends it; standardised rows go to a second one beside it, and where persons are
    /// protected rows and identifiers go to one before, in which persons are brought together. With --evaluate-budget rows that
    /// train and rows held out go to two others. The result is the
    /// same to the bit. Buffers take up to 100 MB more. Serves algorithms whose releases are sums over all rows: auto,
    /// whitened, dp-gd and others.
    #[arg(long, value_name = "SIZE", value_parser = memory_limit, help_heading = READING, hide_short_help = true)]
    pub(super) memory_limit: Option<MemoryLimit>,
    /// Threads [default: all]; changes no bit of the result
    #[arg(long, value_name = "N", help_heading = RUNNING, hide_short_help = true)]
    pub(in crate::cli) threads: Option<usize>,
    /// Reproducible noise for trials: the result is NOT private and its statement says so
    #[arg(long, value_name = "N", help_heading = RUNNING, hide_short_help = true)]
    pub(super) seed: Option<u64>,
    /// Do not ask on a terminal whether to go on where most rows, or most cells of a column, are lost
    #[arg(long, help_heading = READING, hide_short_help = true)]
    pub(super) yes: bool,
    /// Sign the model with this secret key of the custodian's, made by `rhograd key new`; the signature goes to MODEL.sig
    #[arg(long, value_name = "KEY", help_heading = FILES, hide_short_help = true)]
    pub(super) sign: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long, display_order = 10)]
    pub(in crate::cli) json: bool,
}
