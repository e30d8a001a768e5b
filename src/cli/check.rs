//! `rhograd check`.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::output::{bar, counted, print, print_json, seconds, warn};
use super::train::TrainArguments;
use crate::error::{Error, Fallible};
use crate::optim::Algorithm;
use crate::preprocess::PersonsMet;
use crate::privacy::DatasetId;
use crate::report::{left_under_cap, spent_in_words};
use crate::train::{self, DataCheck, Outlook};

const EXAMPLES: &str = "\
Examples:
  rhograd check datasets/fair.csv
  rhograd check wages.csv --schema wages.schema.json --epsilon 0.5 --ledger budget.sqlite
  rhograd check wages.csv --epsilon 1 --algorithm dp-gd-theory --rows 20000 --json
  rhograd check visits.csv --unit patient

Looks at every line, charges nothing, writes nothing, and opens the ledger for reading only. What it prints is computed
from rows: it is for the custodian alone. Takes the flags of `rhograd train`; without a budget it answers for --epsilon 1.

Exit code: 0 if the file could be read, whatever stands in its rows; 2 for bad usage, or a header that lacks columns.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArguments {
    #[command(flatten)]
    run: TrainArguments,
}

impl CheckArguments {
    /// The number of threads that was asked for.
    pub(super) fn threads(&self) -> Option<usize> {
        self.run.threads
    }
}

pub(super) fn run(arguments: &CheckArguments) -> Fallible<ExitCode> {
    let run = &arguments.run;
    let config = run.request.config_or_epsilon_one()?;
    let schema = run.protect.applied(run.unit.applied(run.schema.read(&run.data)?)?)?;
    let schema = run.weight.applied(schema)?;
    let config = run.request.on(&schema, config);
    config.check(&schema)?;
    let file = run.open_data(&schema)?;
    let reading = bar(file.size(), "reading", "bytes");
    let checked = train::check(Some(&config), &schema, &file, &|done, _| {
        reading.set_position(done);
        Ok(())
    })?;
    reading.finish_and_clear();
    let account = account(run, &schema.name)?;
    if run.json {
        let mut value = serde_json::to_value(&checked).map_err(|e| Error::numerical("check", e.to_string()))?;
        value["custodian_only"] = json!(true);
        value["ledger"] = json!(account);
        print_json(&value)?;
        return Ok(ExitCode::SUCCESS);
    }
    let data = run.data.display();
    warn(&format!("NOT PRIVATE, custodian-only: computed from the rows of {data}; nothing is charged or written"));
    print(&page(&checked, &account))?;
    Ok(ExitCode::SUCCESS)
}

/// The account that a run would be charged to, in plain words; public.
fn account(run: &TrainArguments, name: &str) -> Fallible<String> {
    if run.needs_ledger_named() {
        return Ok("to be named by --ledger: nothing lies beside these rows".into());
    }
    let Some(path) = run.account_path() else { return Ok("none: nothing would bind further runs".into()) };
    if !path.exists() {
        return Ok(format!("{}, which the first run would make", path.display()));
    }
    let dataset = DatasetId::new(name.to_owned())?;
    let summary = run.read_ledger(&path)?.summary(&dataset);
    Ok(match summary {
        Err(_) => format!("{}, where \"{dataset}\" has spent nothing yet", path.display()),
        Ok(summary) => {
            let cap = left_under_cap(&summary).unwrap_or("no cap set".into());
            let spent = spent_in_words(&summary);
            let runs = counted(summary.runs, "run");
            format!("{}, where \"{dataset}\" has spent {spent} in {runs}, {cap}", path.display())
        }
    })
}

fn page(checked: &DataCheck, account: &str) -> String {
    let mut page = format!("{} lines, of which {} are lost\n", checked.rows, checked.lost);
    let mut line = |text: String| {
        // A string takes whatever is written to it.
        let _ = writeln!(page, "{text}");
    };
    if let Some(PersonsMet { persons, rows, median, most, .. }) = checked.persons {
        line(format!("{persons} persons with {rows} rows; half of them have at most {median}, one has {most}"));
    }
    if checked.findings.iter().all(|finding| finding.share == 0.0) {
        line("everything fits the schema".into());
    }
    for finding in &checked.findings {
        let example = if finding.example.is_empty() { String::new() } else { format!(": {}", finding.example) };
        line(format!("{} {}{example}", if finding.is_grave() { "!" } else { "-" }, finding.text));
    }
    if !checked.labels.texts.is_empty() {
        line(format!("labels met: {}", checked.labels));
    }
    if !checked.ignored.is_empty() {
        let shown: Vec<String> = checked.ignored.iter().take(20).map(|name| format!("{name:?}")).collect();
        let more = checked.ignored.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        line(format!("columns that no model would see: {}{more}", shown.join(", ")));
    }
    if let Some(outlook) = &checked.outlook {
        line(format!("\n`rhograd train` with these flags would run\n{}ledger     {account}", plan(outlook)));
    }
    page
}

/// What a run would do, in lines.
fn plan(outlook: &Outlook) -> String {
    let Outlook { algorithm, dimension, steps, noise_multiplier, rho, epsilon, delta, seconds: time } = outlook;
    let time = match time {
        Some(time) => format!("about {} of steps, measured on the first rows", seconds(*time)),
        None => "not estimated for this algorithm".into(),
    };
    let long =
        if outlook.is_long() { " (so many follow from theory; --steps or another algorithm takes fewer)" } else { "" };
    let what = match Algorithm::named(algorithm).is_some_and(Algorithm::cuts_columns) {
        true => "an effect of every value".to_owned(),
        false => format!("{dimension} coefficients"),
    };
    format!(
        "algorithm  {algorithm}, {steps} steps on {what}{long}\n\
         noise      multiplier {noise_multiplier:.6} per step\n\
         cost       rho {rho:.6e}, epsilon {epsilon} at delta {delta:e}\n\
         time       {time}\n"
    )
}
