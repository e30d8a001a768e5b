//! `rhograd ledger`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::arguments::{AdjacencyArgument, delta};
use super::output::{print, print_json};
use crate::accounting::Conversion;
use crate::error::{Error, Fallible};
use crate::ledger::{DatasetSummary, Ledger};
use crate::num::round::decimal_up;
use crate::privacy::{DatasetId, Delta, Epsilon, Rho, Scope, add_deltas};
use crate::text::visible;

#[derive(Subcommand)]
pub(super) enum LedgerCommand {
    /// Enter a data set, with a cap on what all runs on it may cost together
    #[command(after_help = "Example:\n  rhograd ledger init datasets/fair.ledger.sqlite fair --epsilon 3 --delta 1e-6")]
    Init(InitArguments),
    /// Change the cap of a data set; a raise stays on record
    #[command(after_help = "Example:\n  rhograd ledger cap datasets/fair.ledger.sqlite fair --rho 0.5")]
    Cap(CapArguments),
    /// Show caps and spending
    #[command(after_help = "Example:\n  rhograd ledger show datasets/fair.ledger.sqlite --delta 1e-6")]
    Show(ShowArguments),
    /// Recompute the hash chain and the cost of every entry; exit 1 if anything is wrong
    #[command(after_help = "Example:\n  rhograd ledger verify datasets/fair.ledger.sqlite")]
    Verify(ShowArguments),
}

#[derive(Args)]
struct CapBudget {
    /// Cap as rho of zCDP
    #[arg(long, conflicts_with = "epsilon", allow_hyphen_values = true)]
    rho: Option<f64>,
    /// Cap as epsilon, converted to the rho that guarantees it for Gaussian releases
    #[arg(long, requires = "delta", allow_hyphen_values = true)]
    epsilon: Option<f64>,
    /// Delta of --epsilon
    #[arg(long, requires = "epsilon", allow_hyphen_values = true)]
    delta: Option<f64>,
}

impl CapBudget {
    fn rho(&self) -> Fallible<Option<Rho>> {
        match (self.rho, self.epsilon, delta(self.delta)?) {
            (Some(rho), ..) => Rho::from_f64(rho).map(Some),
            (None, Some(epsilon), Some(delta)) => {
                // The zCDP conversion holds for every run the ledger can hold, whatever its noise.
                Rho::from_f64(Conversion::Optimal.max_rho(Epsilon::new(epsilon)?, delta)?).map(Some)
            }
            _ => Ok(None),
        }
    }
}

#[derive(Args)]
pub(super) struct InitArguments {
    /// Ledger file; created if missing
    ledger: PathBuf,
    /// Name of the data set, as in its schema
    dataset: String,
    /// Relation of all guarantees for this data set
    #[arg(long, value_enum, default_value = "add-remove")]
    adjacency: AdjacencyArgument,
    #[command(flatten)]
    cap: CapBudget,
}

#[derive(Args)]
pub(super) struct CapArguments {
    /// Ledger file
    ledger: PathBuf,
    /// Name of the data set, as in its schema
    dataset: String,
    #[command(flatten)]
    cap: CapBudget,
}

#[derive(Args)]
pub(super) struct ShowArguments {
    /// Ledger file
    ledger: PathBuf,
    /// Delta at which spending is shown as epsilon
    #[arg(long, default_value_t = 1e-6, allow_hyphen_values = true)]
    delta: f64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &LedgerCommand) -> Fallible<ExitCode> {
    match command {
        LedgerCommand::Init(arguments) => {
            let cap = arguments.cap.rho()?;
            let dataset = DatasetId::new(arguments.dataset.clone())?;
            let scope = Scope { dataset, adjacency: arguments.adjacency.into() };
            let mut ledger = Ledger::open_or_create(&arguments.ledger)?;
            ledger.init(&scope, cap.as_ref())?;
            show(&[ledger.summary(&scope.dataset)?], Delta::new(1e-6)?)
        }
        LedgerCommand::Cap(arguments) => {
            let cap = arguments.cap.rho()?.ok_or_else(|| {
                Error::parameter("--rho", "is missing", "give the new cap as --rho R or --epsilon E --delta D")
            })?;
            let dataset = DatasetId::new(arguments.dataset.clone())?;
            let mut ledger = Ledger::open_existing(&arguments.ledger)?;
            ledger.set_cap(&dataset, &cap)?;
            show(&[ledger.summary(&dataset)?], Delta::new(1e-6)?)
        }
        LedgerCommand::Show(arguments) => {
            let delta = Delta::new(arguments.delta)?;
            let summaries = Ledger::open_existing(&arguments.ledger)?.summaries()?;
            if arguments.json {
                return print_summaries(&summaries, delta);
            }
            show(&summaries, delta)
        }
        LedgerCommand::Verify(arguments) => verify(&arguments.ledger, arguments),
    }
}

fn verify(path: &Path, arguments: &ShowArguments) -> Fallible<ExitCode> {
    let delta = Delta::new(arguments.delta)?;
    let report = Ledger::open_existing(path)?.verify()?;
    if arguments.json {
        return print_summaries(&report.datasets, delta);
    }
    print(&format!("verified: {} entries, head {}\n", report.head.sequence, report.head.hash))?;
    Ok(ExitCode::SUCCESS)
}

fn print_summaries(summaries: &[DatasetSummary], delta: Delta) -> Fallible<ExitCode> {
    let values = summaries.iter().map(|s| as_json(s, delta)).collect::<Fallible<Vec<Value>>>()?;
    print_json(&json!({ "datasets": values }))?;
    Ok(ExitCode::SUCCESS)
}

fn as_json(summary: &DatasetSummary, delta: Delta) -> Fallible<Value> {
    Ok(json!({
        "dataset": summary.dataset.as_str(),
        "adjacency": summary.adjacency,
        "spent_rho": summary.spent.upper(),
        "spent_delta": summary.spent_delta,
        "spent_epsilon": Conversion::Optimal.epsilon(summary.spent.upper(), delta)?.value(),
        "delta": total_delta(summary, delta),
        "cap_rho": summary.cap.as_ref().map(Rho::upper),
        "left_rho": summary.left.as_ref().map(Rho::lower),
        "runs": summary.runs,
        "completed": summary.completed,
        "seeded": summary.seeded,
        "cap_raised": summary.cap_raised,
        "head": summary.head_hash,
        "sequence": summary.sequence,
    }))
}

/// The delta of the epsilon that is shown: what was asked for, and what sampled runs cost beside their rho.
///
/// Delta-approximate rho-zCDP is (epsilon, delta + delta')-DP with the epsilon of rho-zCDP at delta'.
fn total_delta(summary: &DatasetSummary, delta: Delta) -> f64 {
    add_deltas(delta.value(), summary.spent_delta)
}

fn show(summaries: &[DatasetSummary], delta: Delta) -> Fallible<ExitCode> {
    let mut page = String::new();
    for summary in summaries {
        let spent = summary.spent.upper();
        let epsilon = Conversion::Optimal.epsilon(spent, delta)?.value();
        page.push_str(&format!("{} ({})\n", visible(summary.dataset.as_str()), summary.adjacency));
        page.push_str(&format!(
            "  spent      rho {}, epsilon {} at delta {:e}\n",
            decimal_up(spent, 6),
            decimal_up(epsilon, 6),
            total_delta(summary, delta)
        ));
        page.push_str(&match (&summary.cap, &summary.left) {
            (Some(cap), Some(left)) => format!("  cap        rho {}, {} left\n", cap.lower(), left.lower()),
            _ => "  cap        none: spending is counted, nothing is refused\n".into(),
        });
        page.push_str(&format!("  runs       {} charged, {} completed\n", summary.runs, summary.completed));
        if summary.seeded > 0 {
            page.push_str(&format!("  seeded     {} runs with a fixed seed, not private\n", summary.seeded));
        }
        if summary.cap_raised > 0 {
            page.push_str(&format!("  cap raised {} times\n", summary.cap_raised));
        }
    }
    print(&page)?;
    Ok(ExitCode::SUCCESS)
}
