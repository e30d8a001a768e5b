//! The command line: typed arguments, one library call, results on standard output.
//!
//! Standard output carries results, standard error messages, progress and whatever only the custodian may
//! see. Exit code 0: done; 1: refused or a check failed; 2: bad usage or input, or the system failed: no space, no permission.

mod account;
mod algorithms;
mod arguments;
mod audit;
mod calibrate;
mod check;
mod coefficients;
mod curve;
mod data;
mod eval;
mod explain;
mod export;
mod family;
mod help;
mod history;
mod input;
mod inspect;
mod json_schema;
mod ledger;
mod model;
mod output;
mod predict;
mod reference;
mod report;
mod request;
mod reshape;
mod screen;
mod sign;
mod signals;
mod statement;
mod summarize;
mod train;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::error::{Fallible, no_randomness};
use arguments::set_threads;
use screen::ScreenArguments;

const EXAMPLES: &str = "\
Examples:
  rhograd check datasets/fair.csv
  rhograd train datasets/fair.csv --epsilon 1
  rhograd verify fair.model.json --ledger datasets/fair.ledger.sqlite
  rhograd predict fair.model.json datasets/fair.csv --out predictions.csv
  rhograd account convert --rho 0.5 --delta 1e-6

Exit code: 0 done, 1 refused or a check failed, 2 bad usage or input or a failure of the system, 130 or 143 interrupted.";

/// Differentially private training of convex models, with exact arithmetic and an exact ledger.
#[derive(Parser)]
#[command(name = "rhograd", version, about, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    screen: ScreenArguments,
}

#[derive(Subcommand)]
enum Command {
    /// Train a private model from a CSV and a public schema
    Train(Box<train::TrainArguments>),
    /// Look at a CSV before paying: what does not fit its schema, what a run would do and cost (custodian-only)
    Check(Box<check::CheckArguments>),
    /// Apply a model to a CSV
    Predict(predict::PredictArguments),
    /// Measure a model on a CSV (custodian-only: exact functions of the rows)
    Evaluate(model::EvaluateArguments),
    /// Show what a model says of each column: a table, JSON, and pictures of all shapes
    Explain(explain::ExplainArguments),
    /// Write a model as a query for a database
    Export(export::ExportArguments),
    /// Make shapes of a model increasing, convex, or set by hand: free, after release
    Reshape(reshape::ReshapeArguments),
    /// Print a model's privacy statement in plain words
    Statement(statement::StatementArguments),
    /// Write a page about a model for whoever must approve its release: statement, budget, effects, checks
    Report(report::ReportArguments),
    /// Recompute every number of a model's statement; exit 1 on any mismatch
    Verify(verify::VerifyArguments),
    /// Sign a model, so that others can tell whose it is without the ledger
    Sign(sign::SignArguments),
    /// Keys to sign models with
    #[command(subcommand, after_help = "Example:\n  rhograd key new custodian.key")]
    Key(sign::KeyCommand),
    /// Attack a configuration on made-up neighbours; exit 1 if its claim is refuted or the attack shows nothing
    Audit(Box<audit::AuditArguments>),
    /// Print the algorithms, or the page of one
    Algorithms(algorithms::AlgorithmsArguments),
    /// Privacy calculator
    #[command(subcommand, after_help = "Example:\n  rhograd account convert --rho 0.5 --delta 1e-6")]
    Account(account::AccountCommand),
    /// Caps and spending of data sets
    #[command(subcommand, after_help = "Example:\n  rhograd ledger show datasets/fair.ledger.sqlite")]
    Ledger(ledger::LedgerCommand),
    /// Draft a schema from the rows: privately for a part of the budget, or for the custodian's eyes only
    Inspect(Box<inspect::InspectArguments>),
    /// Release counts, means, medians and histograms of columns
    Summarize(Box<summarize::SummarizeArguments>),
    /// Generate synthetic data with its schema
    Generate(data::GenerateArguments),
    /// Print a JSON Schema of a kind of file, by which an editor completes and checks it
    JsonSchema(json_schema::JsonSchemaArguments),
    /// Print what completes command lines in a shell
    Completions(reference::CompletionsArguments),
    /// Print the manual page, or write one page for every command into a folder
    Man(reference::ManArguments),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    main_of(std::env::args_os().collect())
}

/// Parses a command line, the name of the program first, and runs it, in a process whose memory no core dump shows.
///
/// ```
/// let words = ["rhograd", "account", "convert", "--rho", "0.5", "--delta", "1e-6"].map(Into::into);
/// assert_eq!(rhograd::cli::main_of(words.into()), std::process::ExitCode::SUCCESS);
/// ```
pub fn main_of(words: Vec<OsString>) -> ExitCode {
    if let Err(why) = crate::process::hide_memory() {
        output::warn(&format!("warning: the memory of this process could not be kept out of core dumps ({why})"));
    }
    match run(parse(words).command) {
        Ok(code) => code,
        Err(error) => {
            output::fail(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

/// All commands with their help.
fn program() -> clap::Command {
    help::laid_out(Cli::command())
}

/// The command line, understood; help and bad usage end the program here.
fn parse(words: Vec<OsString>) -> Cli {
    screen::set_color(screen::color_of(words.iter().map(|word| word.to_string_lossy().into_owned())));
    let understood = program().try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = understood.unwrap_or_else(|answer| output::end(&answer));
    cli.screen.apply();
    cli
}

/// Hash tables of the standard library ask the system for a seed once, and panic where there is none: before anything is
/// charged, and as the refusal that it is.
fn seed_tables() -> Fallible<()> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let seeded = std::panic::catch_unwind(|| drop(std::hash::RandomState::new()));
    std::panic::set_hook(hook);
    seeded.map_err(|_| no_randomness(&"not even a seed"))
}

fn run(command: Command) -> Fallible<ExitCode> {
    seed_tables()?;
    match &command {
        Command::Train(arguments) => set_threads(arguments.threads)?,
        Command::Check(arguments) => set_threads(arguments.threads())?,
        Command::Audit(arguments) => set_threads(arguments.threads)?,
        // One of these opens a ledger or a model, and needs no thread but this.
        Command::Ledger(_)
        | Command::Statement(_)
        | Command::Algorithms(_)
        | Command::JsonSchema(_)
        | Command::Completions(_)
        | Command::Man(_) => {}
        _ => set_threads(None)?,
    }
    match command {
        Command::Train(arguments) => train::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Predict(arguments) => predict::predict(&arguments),
        Command::Evaluate(arguments) => model::evaluate(&arguments),
        Command::Explain(arguments) => explain::explain(&arguments),
        Command::Export(arguments) => export::export(&arguments),
        Command::Reshape(arguments) => reshape::reshape(&arguments),
        Command::Statement(arguments) => statement::statement(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Verify(arguments) => verify::verify(&arguments),
        Command::Sign(arguments) => sign::sign(&arguments),
        Command::Key(command) => sign::run(&command),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Algorithms(arguments) => algorithms::algorithms(&arguments),
        Command::Account(command) => account::run(&command),
        Command::Ledger(command) => ledger::run(&command),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Summarize(arguments) => summarize::run(&arguments),
        Command::Generate(arguments) => data::generate(&arguments),
        Command::JsonSchema(arguments) => json_schema::json_schema(&arguments),
        Command::Completions(arguments) => reference::completions(&arguments, program()),
        Command::Man(arguments) => reference::man(&arguments, program()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_argument_definitions_are_consistent() {
        super::program().debug_assert();
    }
}
