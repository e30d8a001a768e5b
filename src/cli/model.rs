//! `evaluate` and `verify`, and what a model says in numbers.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::output::{print, print_json, warn};
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::train::{self, Coefficient, Feature, ModelFile, ModelKind, Target};

#[derive(Args)]
#[command(
    after_help = "Example:\n  rhograd evaluate adult.model.json adult_test.csv --json\n\nThe numbers are exact functions of the rows. Do not publish them for private rows."
)]
pub(super) struct EvaluateArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// CSV file with features and target, plain or packed by gzip or zstd
    data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn evaluate(arguments: &EvaluateArguments) -> Fallible<ExitCode> {
    let model = ModelFile::read(&arguments.model)?;
    let file = model.open_data(&arguments.data)?;
    let metrics = train::evaluate(&model, &file)?;
    let mut value = serde_json::to_value(&metrics).map_err(|e| Error::numerical("metrics", e.to_string()))?;
    if arguments.json {
        value["custodian_only"] = json!(true);
        print_json(&value)?;
        return Ok(ExitCode::SUCCESS);
    }
    warn(&format!("custodian-only: exact functions of the rows of {}; not private", arguments.data.display()));
    print(&metrics_page(&value))?;
    Ok(ExitCode::SUCCESS)
}

/// One line for each measure.
fn metrics_page(metrics: &serde_json::Value) -> String {
    let mut page = String::new();
    for (name, value) in metrics.as_object().into_iter().flatten() {
        page.push_str(&match value.as_f64() {
            Some(number) if !value.is_u64() => format!("{name:10}{number:.6}\n"),
            _ => format!("{name:10}{value}\n"),
        });
    }
    page
}

#[derive(Args)]
#[command(
    after_help = "Example:\n  rhograd verify fair.model.json --ledger datasets/fair.ledger.sqlite\n\nRecomputes rho, epsilon and every other number from the recorded releases. Exit code 1 if any differs."
)]
pub(super) struct VerifyArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// Also look the charge up in this ledger
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// Also check every line of this log
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn verify(arguments: &VerifyArguments) -> Fallible<ExitCode> {
    let model = ModelFile::read(&arguments.model)?;
    let text =
        std::fs::read_to_string(&arguments.model).map_err(|e| Error::io(&arguments.model, "read the model", e))?;
    let read_log = |path: &PathBuf| std::fs::read_to_string(path).map_err(|e| Error::io(path, "read the log", e));
    let log = arguments.log.as_ref().map(read_log).transpose()?;
    let mut ledger = arguments.ledger.as_deref().map(Ledger::open_existing).transpose()?;
    let checks = train::verify(&model, &text, log.as_deref(), ledger.as_mut())?;
    let held = checks.iter().all(|check| check.held);
    if arguments.json {
        let list: Vec<_> = checks.iter().map(|c| json!({"check": c.what, "held": c.held})).collect();
        print_json(&json!({"verified": held, "dp": model.statement.dp, "checks": list}))?;
    } else {
        let mut page = String::new();
        for check in &checks {
            page.push_str(if check.held { "ok      " } else { "FAILED  " });
            page.push_str(&check.what);
            page.push('\n');
        }
        page.push_str(match (held, model.statement.dp) {
            (true, true) if ledger.is_some() => "verified\n",
            (true, true) => "verified against itself; --ledger FILE also checks that the releases were charged\n",
            (true, false) => "consistent, but the statement says that the model is NOT PRIVATE\n",
            (false, _) => "NOT verified\n",
        });
        print(&page)?;
    }
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The features with the largest coefficients; coefficients are released, so this is free.
pub(super) fn most_telling(model: &ModelFile, count: usize) -> String {
    let labels: &[String] = if let Target::Classes { labels, .. } = &model.target { labels } else { &[] };
    let each = |name: String, coefficient: &Coefficient| -> Vec<(String, f64)> {
        let at = |k: usize| labels.get(k).map_or(name.clone(), |label| format!("{name} -> {label}"));
        coefficient.values().iter().enumerate().map(|(k, &c)| (at(k), c)).collect()
    };
    let mut effects: Vec<(String, f64)> = Vec::new();
    for feature in &model.features {
        match feature {
            Feature::Numeric { name, map, coefficient, .. } => {
                effects.extend(each(format!("{name} (per {:.4})", map.scale), coefficient));
            }
            Feature::Categorical { name, values, coefficients, .. } => {
                let named = values.iter().zip(coefficients);
                effects.extend(named.flat_map(|(value, c)| each(format!("{name} = {value}"), c)));
            }
        }
    }
    effects.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let shown = effects.len().min(count);
    let what = effect_on(model);
    let mut page = format!("Largest {shown} of {} effects on the {what} (noised):\n", effects.len());
    let width = effects.iter().take(shown).map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    effects.truncate(shown);
    effects.extend(each("(intercept)".into(), &model.intercept));
    for (name, effect) in effects {
        page.push_str(&format!("  {name:width$}  {effect:+.4}\n"));
    }
    page
}

/// What the coefficients of a model have an effect on, with its units.
pub(super) fn effect_on(model: &ModelFile) -> String {
    match (&model.target, model.model) {
        (Target::Classes { name, .. }, _) => format!("margins of the labels of {name}"),
        (Target::Label { name, positive, .. }, ModelKind::Svm { .. }) => format!("score of {name} = {positive}"),
        (Target::Label { name, positive, .. }, _) => format!("log-odds of {name} = {positive}"),
        (Target::Number { name, .. }, ModelKind::Poisson { .. }) => format!("logarithm of {name}"),
        (Target::Number { name, scale, .. }, _) => format!("{name}, in units of {scale:.4}"),
    }
}
