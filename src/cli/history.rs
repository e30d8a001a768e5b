//! `ledger log`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::output::{DIGITS, counted, print, print_json};
use crate::error::{Error, Fallible};
use crate::ledger::{Cap, DatasetSummary, Entry, Ledger, Record};
use crate::num::round::{decimal_down, decimal_up};
use crate::privacy::PrivacyUnit;
use crate::text::visible;

/// Seconds of a day.
const DAY: u64 = 86_400;

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
    let (at, what) = in_words(record, after);
    let when = at.map_or_else(|| " ".repeat(19), utc);
    format!("{sequence:<6}{when}  {}: {what}\n", visible(after.dataset.as_str()))
}

/// When it was, where that is on record, and what happened.
fn in_words(record: &Record, after: &DatasetSummary) -> (Option<u64>, String) {
    match record {
        Record::Open { adjacency, unit, .. } | Record::OpenCapped { adjacency, unit, .. } => {
            let by = by_unit(unit);
            (None, format!("opened for {adjacency}{by}, {}", cap_words(after.cap.as_ref())))
        }
        Record::SetCap { .. } | Record::ChangeCap { .. } => {
            let raised =
                if after.cap_raised > 0 { format!("; raised {} times", after.cap_raised) } else { String::new() };
            (None, format!("{}{raised}", cap_words(after.cap.as_ref())))
        }
        Record::Reserve { at, run, rho, private, .. } => {
            let delta = match after.spent_delta {
                0.0 => String::new(),
                delta => format!(" and delta {}", decimal_up(delta, DIGITS)),
            };
            let seeded = if *private { "" } else { ", NOT PRIVATE: its noise came from a fixed seed" };
            let (rho, spent) = (rho.rho().upper(), after.spent.upper());
            let (rho, spent) = (decimal_up(rho, DIGITS), decimal_up(spent, DIGITS));
            (
                Some(*at),
                format!("run {run} charged rho {rho}; in all {spent}{delta} in {}{seeded}", counted(after.runs, "run")),
            )
        }
        Record::Resume { run, releases } => {
            (None, format!("run {run} went on after {releases} releases, charged before"))
        }
        Record::Complete { run, artefact_sha256 } => {
            (None, format!("run {run} released its result, SHA-256 {artefact_sha256}"))
        }
    }
}

/// The unit of an account, visibly, where it is not a row.
pub(super) fn by_unit(unit: &PrivacyUnit) -> String {
    if unit.is_row() { String::new() } else { format!(" by the {}", visible(&unit.to_string())) }
}

fn cap_words(cap: Option<&Cap>) -> String {
    match cap {
        None => "without a cap".into(),
        Some(cap) => {
            let rho = decimal_down(cap.most_rho().lower(), DIGITS);
            match cap.asked() {
                Some(asked) => format!("cap epsilon {} at delta {:e} (rho {rho})", asked.epsilon, asked.delta),
                None => format!("cap rho {rho}"),
            }
        }
    }
}

/// What is left of an account, where it has a cap.
pub(in crate::cli) fn left_under_cap(summary: &DatasetSummary) -> Option<String> {
    let left = decimal_down(summary.left.as_ref()?.lower(), DIGITS);
    Some(match summary.left_delta {
        Some(delta) => format!("{left} left under its cap, and delta {} for claims", decimal_down(delta, DIGITS)),
        None => format!("{left} left under its cap, which bounds no delta"),
    })
}

fn as_json(Entry { sequence, record, hash, .. }: &Entry, after: &DatasetSummary) -> Value {
    let (what, details) = match record {
        Record::Open { .. } | Record::OpenCapped { .. } => ("open", json!({})),
        Record::SetCap { .. } | Record::ChangeCap { .. } => ("cap", json!({ "cap_raised": after.cap_raised })),
        Record::Reserve { at, run, rho, private, events, .. } => {
            let rho = rho.rho().upper();
            ("charge", json!({ "at": at, "run": run, "rho": rho, "private": private, "events": events }))
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
    for (name, detail) in details.as_object().into_iter().flatten() {
        value[name] = detail.clone();
    }
    value
}

/// Seconds since 1970 as a date and a time of day.
///
/// # Reference
/// Hinnant 2021, "chrono-compatible low-level date algorithms", `civil_from_days`.
fn utc(seconds: u64) -> String {
    let (days, time) = (seconds / DAY + 719_468, seconds % DAY);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Years begin in March here, so that the day that is sometimes there is the last.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let year = year + 400 * era;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60)
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn seconds_are_dates() {
        for (seconds, date) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (951_868_800, "2000-03-01 00:00:00"),
            (1_735_689_599, "2024-12-31 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(utc(seconds), date);
        }
    }
}
