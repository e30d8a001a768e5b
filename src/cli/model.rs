//! `predict`, `evaluate`, `statement` and `verify`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::arguments::same_file;
use super::coefficients;
use super::output::{print, print_json, warn};
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::num::round::{decimal_down, decimal_up};
use crate::privacy::Adjacency;
use crate::train::{
    self, Coefficient, Feature, Guarantee, ModelFile, ModelKind, Predictions, StagedFile, Statement, Target,
};

#[derive(Args)]
#[command(
    after_help = "Example:\n  rhograd predict fair.model.json new.csv --out predictions.csv\n\nOne line per record, in order; empty for a line that is no record. Predictions are functions of the\nreleased model and of the file's own rows: they say nothing more about the training rows."
)]
pub(super) struct PredictArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// CSV file with the model's feature columns, plain or packed by gzip or zstd
    data: PathBuf,
    /// Output file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn predict(arguments: &PredictArguments) -> Fallible<ExitCode> {
    let model = ModelFile::read(&arguments.model)?;
    let file = model.open_data(&arguments.data)?;
    for (what, input) in [("the data", &arguments.data), ("the model", &arguments.model)] {
        if arguments.out.as_ref().is_some_and(|out| same_file(out, input)) {
            return Err(Error::parameter("--out", format!("would overwrite {what}"), "name another file"));
        }
    }
    let staged = arguments.out.as_deref().map(StagedFile::new).transpose()?;
    let predictions = train::predict(&model, &file)?;
    let text = prediction_page(&model, &predictions)?;
    match staged {
        None => print(&text)?,
        Some(mut staged) => {
            staged.append(text.as_bytes())?;
            staged.publish()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A heading and one line per prediction: one number, or the most probable label with the probabilities of all.
fn prediction_page(model: &ModelFile, predictions: &Predictions) -> Fallible<String> {
    let failed = |e: &dyn std::fmt::Display| Error::numerical("predictions", e.to_string());
    if let Target::Classes { labels, .. } = &model.target {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let heading = labels.iter().map(|label| format!("probability {label}"));
        writer.write_record(["label".into()].into_iter().chain(heading)).map_err(|e| failed(&e))?;
        for row in predictions.rows() {
            let best = row.and_then(|p| (0..p.len()).max_by(|&a, &b| p[a].total_cmp(&p[b])));
            let label = best.map_or("", |best| labels[best].as_str()).to_owned();
            let cells = (0..labels.len()).map(|k| row.map_or(String::new(), |p| p[k].to_string()));
            writer.write_record([label].into_iter().chain(cells)).map_err(|e| failed(&e))?;
        }
        let bytes = writer.into_inner().map_err(|e| failed(&e))?;
        return String::from_utf8(bytes).map_err(|e| failed(&e));
    }
    let mut text = String::from(match (&model.target, model.model) {
        (Target::Number { .. }, _) => "prediction\n",
        (_, ModelKind::Svm { .. }) => "score\n",
        _ => "probability\n",
    });
    for row in predictions.rows() {
        match row {
            Some(values) => writeln!(text, "{}", values[0]),
            None => writeln!(text),
        }
        .map_err(|e| failed(&e))?;
    }
    Ok(text)
}

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
    after_help = "Examples:\n  rhograd statement fair.model.json\n  rhograd statement fair.model.json --coefficients"
)]
pub(super) struct StatementArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// Also print all coefficients in the units of the data, with standard errors that include the noise
    #[arg(long)]
    coefficients: bool,
    /// Print the statement as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn statement(arguments: &StatementArguments) -> Fallible<ExitCode> {
    let model = ModelFile::read(&arguments.model)?;
    if arguments.json {
        let value = serde_json::to_value(&model.statement).map_err(|e| Error::numerical("statement", e.to_string()))?;
        print_json(&value)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = plain_statement(&model.statement);
    text.push_str(&evaluated(&model));
    if arguments.coefficients {
        text.push('\n');
        text.push_str(&coefficients::table(&model));
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
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

/// The privacy statement for people.
pub(super) fn plain_statement(statement: &Statement) -> String {
    let facts = &statement.facts;
    let guarantee = &statement.guarantee;
    let mut page = format!("Data set \"{}\": {}\n\n", facts.dataset, statement.statement);
    if statement.dp {
        let change = match facts.adjacency {
            Adjacency::AddRemove => "with any single row as without it",
            Adjacency::ReplaceOne => "with any single row as with another in its place",
        };
        page.push_str(&format!(
            "In plain words: whatever someone looks for in what was released, even knowing all other rows, they find it \
             nearly as often {change}: at most {} times as often, plus a probability of {}.\n\n",
            decimal_up(guarantee.epsilon.parse::<f64>().map_or(f64::INFINITY, f64::exp).next_up(), 4),
            guarantee.delta
        ));
    }
    let rows = [
        ("model", format!("{}, {} coefficients", facts.model.words(), facts.dimension)),
        (
            "algorithm",
            format!(
                "{}, {} releases by gradient steps, {}",
                facts.algorithm.name(),
                statement.mechanism.steps,
                statement.mechanism.sampling
            ),
        ),
        ("rho", guarantee.rho_upper.clone()),
        ("epsilon", epsilons(guarantee)),
        ("adjacency", facts.adjacency.to_string()),
        (
            "noise",
            format!(
                "{}; multiplier {} per step, sigma {} on sums clipped at {:.4}",
                statement.mechanism.name,
                decimal_down(statement.mechanism.noise_multiplier, 6),
                decimal_down(statement.mechanism.sigma, 6),
                statement.mechanism.clip_norm
            ),
        ),
        (
            "ledger",
            facts
                .ledger
                .as_ref()
                .map_or("none".into(), |ledger| format!("entry {}, run {}", ledger.position.sequence, ledger.run)),
        ),
    ];
    for (name, value) in rows {
        page.push_str(&format!("{name:10} {value}\n"));
    }
    page.push_str("\nLimits:\n");
    for limit in &statement.limits {
        page.push_str(&format!("- {limit}\n"));
    }
    page
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

/// Every epsilon that the statement holds, and the delta of them.
fn epsilons(guarantee: &Guarantee) -> String {
    let known = [
        ("exact", &guarantee.epsilon_exact),
        ("by privacy-loss distributions", &guarantee.epsilon_pld),
        ("by Renyi divergences", &guarantee.epsilon_rdp),
        ("by zCDP", &guarantee.epsilon_zcdp),
        ("by classical zCDP", &guarantee.epsilon_zcdp_classical),
    ];
    let shown = known.iter().filter_map(|(by, value)| value.as_ref().map(|value| format!("{value} {by}")));
    format!("{}, at delta {}", shown.collect::<Vec<_>>().join(", "), guarantee.delta)
}

/// Metrics on a private hold-out, in lines; empty without any.
pub(super) fn evaluated(model: &ModelFile) -> String {
    let Some(evaluation) = &model.evaluation else { return String::new() };
    let mut text = format!("\nOn about {:.0} rows held out (noised, part of the release):\n", evaluation.rows);
    for (name, estimate) in &evaluation.metrics {
        let limit = estimate.limit.map_or(String::new(), |limit| format!(", rows cut at {limit:.4}"));
        text.push_str(&format!("  {name:10} {:.4} (noise {:.4}{limit})\n", estimate.value, estimate.noise));
    }
    text
}
