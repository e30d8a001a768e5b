//! `rhograd ledger`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::arguments::{as_flag, delta, epsilon, open_or_create, rho};
use super::history::{LogArguments, log};
use super::output::{DIGITS, counted, print, print_json};
use crate::accounting::Conversion;
use crate::data::Protect;
use crate::error::{Error, Fallible};
use crate::ledger::{Cap, DatasetSummary, Ledger};
use crate::num::round::{decimal_down, decimal_up};
use crate::privacy::{Adjacency, DatasetId, Delta, PrivacyUnit, Rho, Scope, add_deltas};
use crate::report::{by_unit, spent_in_words};
use crate::text::visible;

#[derive(Subcommand)]
pub(super) enum LedgerCommand {
    /// Enter a data set, with a cap on what all runs on it may cost together
    #[command(after_help = CAP_EXAMPLES)]
    Init(InitArguments),
    /// Change the cap of a data set; a raise stays on record
    #[command(after_help = CAP_EXAMPLES)]
    Cap(CapArguments),
    /// Show caps and spending
    #[command(after_help = "Example:\n  rhograd ledger show datasets/fair.ledger.sqlite --delta 1e-6")]
    Show(ShowArguments),
    /// List every entry in order: charges, results, caps, and what was spent by then
    Log(LogArguments),
    /// Recompute the hash chain and the cost of every entry; exit 1 if anything is wrong
    #[command(after_help = "Example:\n  rhograd ledger verify datasets/fair.ledger.sqlite")]
    Verify(ShowArguments),
}

const CAP_EXAMPLES: &str = "\
Examples:
  rhograd ledger init datasets/fair.ledger.sqlite fair --epsilon 3 --delta 1e-6
  rhograd ledger init datasets/fair.ledger.sqlite fair --epsilon 3 --delta 1e-6 --gaussian
  rhograd ledger init datasets/fair.ledger.sqlite fair --epsilon 3 --delta 1e-6 --renyi
  rhograd ledger cap datasets/fair.ledger.sqlite fair --epsilon 3 --delta 1e-5 --claims-delta 5e-6
  rhograd ledger cap datasets/fair.ledger.sqlite fair --rho 0.5

A cap is one filter, fixed when it is set: a run is admitted if the sum of all rho and the sum of all deltas of claims
(dp-sgd, objective-perturbation, amp, random --tune, drafts of schemas) stay within both of its numbers. With --epsilon and
--delta these are claims-delta and the largest rho that is worth epsilon at what is left of delta. With --gaussian the cap
fixes mu instead, which allows more, and admits full-batch Gaussian releases alone. With --renyi it fixes the Renyi divergence at
one order, so that a sampled run counts by its own divergence and not by its claim: for dp-sgd this allows several times the
epsilon. Either number larger is a raise, and so is another order.";

#[derive(Args)]
struct CapBudget {
    /// Cap as rho of zCDP
    #[arg(long, conflicts_with = "epsilon", allow_hyphen_values = true)]
    rho: Option<f64>,
    /// Cap as epsilon at --delta, which all runs together keep
    #[arg(long, requires = "delta", allow_hyphen_values = true)]
    epsilon: Option<f64>,
    /// Delta of --epsilon, that of claims included
    #[arg(long, requires = "epsilon", allow_hyphen_values = true)]
    delta: Option<f64>,
    /// Most that the deltas of claims may add up to [default: a tenth of --delta; 0 with --rho, which refuses them]
    #[arg(long, value_name = "DELTA", conflicts_with_all = ["gaussian", "renyi"], allow_hyphen_values = true)]
    claims_delta: Option<f64>,
    /// Fix mu of Gaussian DP, and admit Gaussian noise on all rows alone
    #[arg(long)]
    gaussian: bool,
    /// Fix the Renyi divergence at an order, by which sampled runs cost less than their claims [default order: the best for Gaussian noise]
    #[arg(long, value_name = "ORDER", num_args = 0..=1, require_equals = true, conflicts_with = "gaussian")]
    renyi: Option<Option<f64>>,
    /// Accept a delta above 1e-3, with which all runs together may well fail altogether
    #[arg(long)]
    accept_large_delta: bool,
}

impl CapBudget {
    fn cap(&self) -> Fallible<Option<Cap>> {
        let cap = match (self.rho, self.epsilon, delta(self.delta)?) {
            (Some(rho), ..) if self.gaussian => Cap::gaussian_rho(&self::rho(rho)?)?,
            (Some(rho), ..) if self.renyi.is_some() => {
                let order = self.renyi.flatten().ok_or_else(|| {
                    let problem = "names no order, and without epsilon and delta none is the best";
                    Error::parameter("--renyi", problem, "use --renyi=ORDER, or --epsilon E --delta D")
                })?;
                Cap::renyi_rho(&self::rho(rho)?, order)?
            }
            (Some(rho), ..) => Cap::rho(&self::rho(rho)?, self.claims_delta.unwrap_or(0.0))?,
            (None, Some(epsilon), Some(delta)) if self.gaussian => Cap::gaussian(self::epsilon(epsilon)?, delta)?,
            (None, Some(epsilon), Some(delta)) if self.renyi.is_some() => {
                Cap::renyi(self::epsilon(epsilon)?, delta, self.renyi.flatten())?
            }
            (None, Some(epsilon), Some(delta)) => Cap::zcdp(self::epsilon(epsilon)?, delta, self.claims_delta)?,
            _ if self.gaussian || self.renyi.is_some() || self.claims_delta.is_some() => return Err(no_budget()),
            _ => return Ok(None),
        };
        cap.with_usual_delta(self.accept_large_delta).map(Some)
    }
}

fn no_budget() -> Error {
    Error::parameter("--rho", "is missing", "give the cap as --rho R or --epsilon E --delta D")
}

#[derive(Args)]
pub(super) struct InitArguments {
    /// Ledger file; created if missing
    ledger: PathBuf,
    /// Name of the data set, as in its schema
    dataset: String,
    /// Relation of all guarantees for this data set [default: add-remove; replace-one with --protect label or --public]
    #[arg(long, value_enum)]
    adjacency: Option<Adjacency>,
    /// Column that tells persons apart: all guarantees for this data set are about persons, with all their rows
    #[arg(long, value_name = "COLUMN")]
    unit: Option<String>,
    /// What of a row all guarantees for this data set are about: all of it, or its label alone
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "unit")]
    protect: Option<Protect>,
    /// A public column: all guarantees for this data set are about the cells of other columns; may be repeated
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["unit", "protect"])]
    public: Vec<String>,
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
    /// Delta at which spending is shown as epsilon where the cap names none
    #[arg(long, default_value_t = 1e-6, allow_hyphen_values = true)]
    delta: f64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &LedgerCommand) -> Fallible<ExitCode> {
    match command {
        LedgerCommand::Init(arguments) => {
            let cap = arguments.cap.cap()?;
            let dataset = DatasetId::new(arguments.dataset.clone())?;
            let unit = match arguments.protect {
                Some(Protect::Label) => PrivacyUnit::Label,
                _ if !arguments.public.is_empty() => {
                    PrivacyUnit::private_cells(arguments.public.iter().map(String::as_str))
                }
                _ => arguments.unit.as_deref().map_or(Ok(PrivacyUnit::Row), PrivacyUnit::person).map_err(as_flag)?,
            };
            let adjacency = arguments.adjacency.unwrap_or(match unit {
                PrivacyUnit::Label | PrivacyUnit::PrivateCells { .. } => Adjacency::ReplaceOne,
                PrivacyUnit::Row | PrivacyUnit::Person { .. } => Adjacency::AddRemove,
            });
            unit.check(adjacency)?;
            let scope = Scope { dataset, adjacency, unit };
            let mut ledger = open_or_create(&arguments.ledger)?;
            ledger.init(&scope, cap.as_ref())?;
            show(&[ledger.summary(&scope.dataset)?], Delta::new(1e-6)?)
        }
        LedgerCommand::Cap(arguments) => {
            let cap = arguments.cap.cap()?.ok_or_else(no_budget)?;
            let dataset = DatasetId::new(arguments.dataset.clone())?;
            let mut ledger = Ledger::open_existing(&arguments.ledger)?;
            ledger.set_cap(&dataset, &cap)?;
            show(&[ledger.summary(&dataset)?], Delta::new(1e-6)?)
        }
        LedgerCommand::Show(arguments) => {
            let delta = Delta::new(arguments.delta).map_err(as_flag)?;
            let summaries = Ledger::open_to_read(&arguments.ledger)?.summaries()?;
            if arguments.json {
                return print_summaries(&summaries, delta);
            }
            show(&summaries, delta)
        }
        LedgerCommand::Log(arguments) => log(arguments),
        LedgerCommand::Verify(arguments) => verify(&arguments.ledger, arguments),
    }
}

fn verify(path: &Path, arguments: &ShowArguments) -> Fallible<ExitCode> {
    let delta = Delta::new(arguments.delta).map_err(as_flag)?;
    let report = Ledger::open_to_read(path)?.verify()?;
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
        "unit": summary.unit,
        "spent_rho": summary.spent.upper(),
        "spent_delta": summary.spent_delta,
        // A sum of claims, which a Renyi cap does not count.
        "spent_epsilon": match summary.spent_at_order {
            Some(_) => None,
            None => Some(Conversion::Optimal.epsilon(summary.spent.upper(), delta)?.value()),
        },
        "delta": total_delta(summary, delta),
        "spent_at_order": summary.spent_at_order.as_ref().map(Rho::upper),
        "cap_rho": summary.cap.as_ref().map(|cap| cap.most_rho().upper()),
        "left_rho": summary.left.as_ref().map(Rho::lower),
        "left_delta": summary.left_delta,
        "cap": summary.cap.as_ref().map(|cap| cap_as_json(summary, cap)).transpose()?,
        "information": { "epsilon_gaussian": gaussian_epsilon(summary, delta)?, "delta": delta.value() },
        "runs": summary.runs,
        "completed": summary.completed,
        "seeded": summary.seeded,
        "cap_raised": summary.cap_raised,
        "runs_before_cap": summary.runs_before_cap,
        "head": summary.head_hash,
        "sequence": summary.sequence,
    }))
}

/// The cap, and what is spent of it in its own notion.
fn cap_as_json(summary: &DatasetSummary, cap: &Cap) -> Fallible<Value> {
    let asked = cap.asked();
    let spent = match cap.delta_of_rho() {
        // At one order even nothing spent has an epsilon: what counts is the share of the cap.
        Some(delta) if cap.order().is_none() => Some(spent_of(summary, cap, delta)?),
        _ => None,
    };
    Ok(json!({
        "notion": cap.notion(),
        "epsilon": asked.map(|asked| asked.epsilon),
        "delta": asked.map(|asked| asked.delta),
        "order": cap.order(),
        "rho": cap.most_rho().lower(),
        "claims_delta": cap.claims_delta(),
        "spent_epsilon": spent.map(|(epsilon, _)| epsilon),
        "spent_delta": spent.map(|(_, delta)| delta),
    }))
}

/// What is spent of a cap as epsilon and delta in the notion of the cap.
fn spent_of(summary: &DatasetSummary, cap: &Cap, delta: Delta) -> Fallible<(f64, f64)> {
    Ok((cap.epsilon_of(&summary.spent, delta)?.value(), total_delta(summary, delta)))
}

/// The delta of the epsilon that is shown: what was asked for, and what sampled runs cost beside their rho.
///
/// Delta-approximate rho-zCDP is (epsilon, delta + delta')-DP with the epsilon of rho-zCDP at delta'.
fn total_delta(summary: &DatasetSummary, delta: Delta) -> f64 {
    add_deltas(delta.value(), summary.spent_delta)
}

/// What Gaussian runs alone cost by the exact trade-off, where no cap in that notion binds them.
fn gaussian_epsilon(summary: &DatasetSummary, delta: Delta) -> Fallible<Option<f64>> {
    let bound = matches!(summary.cap, Some(Cap::Gaussian { .. }));
    match summary.gaussian && summary.runs > 0 && !bound {
        true => Ok(Some(Conversion::Exact.epsilon(summary.spent.upper(), delta)?.value())),
        false => Ok(None),
    }
}

/// What the cap binds, in lines.
fn cap_page(summary: &DatasetSummary, cap: &Cap) -> Fallible<String> {
    let mut page = String::new();
    let left = summary.left.as_ref().map_or(0.0, Rho::lower);
    let rho = format!("rho {}, {} left", decimal_down(cap.most_rho().lower(), DIGITS), decimal_down(left, DIGITS));
    let spent = match cap.delta_of_rho() {
        _ if cap.order().is_some() => {
            let spent = summary.spent_at_order.as_ref().map_or(f64::INFINITY, Rho::upper);
            format!("{}% of it", decimal_up(100.0 * spent / cap.most_rho().lower(), 3))
        }
        Some(delta) => {
            let (epsilon, delta) = spent_of(summary, cap, delta)?;
            format!("epsilon {} at delta {}", decimal_up(epsilon, DIGITS), decimal_up(delta, DIGITS))
        }
        None => String::new(),
    };
    if let Some(asked) = cap.asked() {
        let words = match cap {
            Cap::Gaussian { .. } => ", as Gaussian DP",
            Cap::Renyi { .. } => ", as Renyi DP",
            Cap::Rho { .. } | Cap::Zcdp { .. } => "",
        };
        page.push_str(&format!(
            "  cap        epsilon {} at delta {:e}{words}, {spent} spent\n",
            asked.epsilon, asked.delta
        ));
        page.push_str(&format!("             {rho}\n"));
    } else {
        page.push_str(&format!("  cap        {rho}\n"));
    }
    page.push_str(&match (cap, summary.left_delta) {
        (Cap::Gaussian { .. }, _) => {
            let mu = decimal_down((2.0 * cap.most_rho().lower()).sqrt().next_down(), DIGITS);
            format!("             mu {mu}: Gaussian noise on all rows alone is admitted\n")
        }
        (Cap::Renyi { order, .. }, _) => {
            format!("             at order {order}: every run counts by its divergence there, over the order\n")
        }
        (_, None) => "             set before caps bound delta: the deltas of claims are added up and not capped; \
                      set it anew with `rhograd ledger cap`\n"
            .into(),
        (_, Some(left)) => format!(
            "             delta {} for claims, {} left\n",
            decimal_down(cap.claims_delta().unwrap_or(0.0), DIGITS),
            decimal_down(left, DIGITS)
        ),
    });
    if summary.runs_before_cap > 0 {
        page.push_str(&format!(
            "             set after {}: it holds if they did not decide it\n",
            counted(summary.runs_before_cap, "run")
        ));
    }
    Ok(page)
}

fn show(summaries: &[DatasetSummary], delta: Delta) -> Fallible<ExitCode> {
    let mut page = String::new();
    for summary in summaries {
        let spent = summary.spent.upper();
        let epsilon = Conversion::Optimal.epsilon(spent, delta)?.value();
        page.push_str(&format!(
            "{} ({}{})\n",
            visible(summary.dataset.as_str()),
            summary.adjacency,
            by_unit(&summary.unit)
        ));
        page.push_str(&match &summary.spent_at_order {
            // As its cap counts; the sum of claims says less of the same runs.
            Some(_) => format!("  spent      {}\n", spent_in_words(summary)),
            None => format!(
                "  spent      rho {}, epsilon {} at delta {:e}\n",
                decimal_up(spent, DIGITS),
                decimal_up(epsilon, DIGITS),
                total_delta(summary, delta)
            ),
        });
        page.push_str(&match &summary.cap {
            Some(cap) => cap_page(summary, cap)?,
            None => "  cap        none: spending is counted, nothing is refused\n".into(),
        });
        if let Some(epsilon) = gaussian_epsilon(summary, delta)? {
            page.push_str(&format!(
                "  for information: epsilon {} at delta {:e} by the exact Gaussian trade-off, which no cap here binds\n",
                decimal_up(epsilon, DIGITS),
                delta.value()
            ));
        }
        page.push_str(&format!("  runs       {} charged, {} completed\n", summary.runs, summary.completed));
        if summary.seeded > 0 {
            page.push_str(&format!("  seeded     {} with a fixed seed, NOT PRIVATE\n", counted(summary.seeded, "run")));
        }
        if summary.cap_raised > 0 {
            page.push_str(&format!("  cap raised {}\n", counted(summary.cap_raised, "time")));
        }
    }
    print(&page)?;
    Ok(ExitCode::SUCCESS)
}
