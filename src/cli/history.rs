//! `ledger log`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::output::{print, print_json};
use crate::error::{Error, Fallible};
use crate::ledger::{Cap, DatasetSummary, Entry, Ledger, Record};
use crate::privacy::Rho;
use crate::report::{entry_in_words, utc};
use crate::text::visible;

#[derive(Args)]
#[command(after_help = "Examples:
  rhograd ledger log datasets/fair.ledger.sqlite
  rhograd ledger log datasets/fair.ledger.sqlite --dataset fair --json

Every entry in order: its number, when a run was charged (UTC), the data set, what happened, and what all runs on that data set
had spent then. The chain of hashes and the cost of every entry are checked on the way.")]
pub(super) struct LogArguments {
    /// Ledger file
    ledger: PathBuf,
    /// Only entries of this data set
    #[arg(long, value_name = "NAME")]
    dataset: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn log(arguments: &LogArguments) -> Fallible<ExitCode> {
    let mut history = Ledger::open_to_read(&arguments.ledger)?.history()?;
    if let Some(name) = &arguments.dataset {
        if !history.iter().any(|(_, after)| after.dataset.as_str() == name) {
            let cure = "`rhograd ledger show` names those that are";
            return Err(Error::parameter("--dataset", format!("{name:?} is not in this ledger"), cure));
        }
        history.retain(|(_, after)| after.dataset.as_str() == name);
    }
    if arguments.json {
        let entries: Vec<Value> = history.iter().map(|(entry, after)| as_json(entry, after)).collect();
        print_json(&json!({ "entries": entries }))?;
    } else {
        let page = history.iter().map(|(entry, after)| line(entry, after));
        print(&page.collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(Entry { sequence, record, .. }: &Entry, after: &DatasetSummary) -> String {
    let (at, what) = entry_in_words(record, after);
    let when = at.map_or_else(|| " ".repeat(19), utc);
    format!("{sequence:<6}{when}  {}: {what}\n", visible(after.dataset.as_str()))
}

fn as_json(Entry { sequence, record, hash, .. }: &Entry, after: &DatasetSummary) -> Value {
    let (what, details) = match record {
        Record::Open { .. } | Record::OpenCapped { .. } => ("open", json!({})),
        Record::SetCap { .. } | Record::ChangeCap { .. } => ("cap", json!({ "cap_raised": after.cap_raised })),
        Record::Reserve { at, run, rho, rho_at_order, private, events, .. } => {
            let rho = rho.rho().upper();
            let mut charge = json!({ "at": at, "run": run, "rho": rho, "private": private, "events": events });
            if let Some(rho) = rho_at_order {
                charge["rho_at_order"] = rho.rho().upper().into();
            }
            ("charge", charge)
        }
        Record::Resume { run, releases } => ("resume", json!({ "run": run, "releases": releases })),
        Record::Complete { run, artefact_sha256 } => {
            ("complete", json!({ "run": run, "artefact_sha256": artefact_sha256 }))
        }
    };
    let mut value = json!({
        "sequence": sequence,
        "what": what,
        "dataset": after.dataset.as_str(),
        "adjacency": after.adjacency,
        "unit": after.unit,
        "spent_rho": after.spent.upper(),
        "spent_delta": after.spent_delta,
        "cap_rho": after.cap.as_ref().map(|cap| cap.most_rho().lower()),
        "runs": after.runs,
        "completed": after.completed,
        "hash": hash,
    });
    if let Some(order) = after.cap.as_ref().and_then(Cap::order) {
        value["cap_order"] = order.into();
        value["spent_at_order"] = after.spent_at_order.as_ref().map(Rho::upper).into();
    }
    for (name, detail) in details.as_object().into_iter().flatten() {
        value[name] = detail.clone();
    }
    value
}
