//! `evaluate`, and what a model says in numbers.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::input::{DialectArguments, data_path};
use super::output::{print, print_json, warn};
use super::screen::width_of;
use crate::error::{Error, Fallible};
use crate::model_kind::Link;
use crate::text::visible;
use crate::train::{self, Coefficient, Feature, ModelFile, Target};

#[derive(Args)]
#[command(
    after_help = "Example:\n  rhograd evaluate adult.model.json adult_test.csv --json\n\nThe numbers are exact functions of the rows. Do not publish them for private rows."
)]
pub(super) struct EvaluateArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// CSV file with features and target, plain or packed by gzip or zstd; - for standard input
    #[arg(value_parser = data_path())]
    data: PathBuf,
    #[command(flatten)]
    dialect: DialectArguments,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn evaluate(arguments: &EvaluateArguments) -> Fallible<ExitCode> {
    let model = ModelFile::read(&arguments.model)?;
    let file = model.open_data_in(&arguments.data, arguments.dialect.dialect()?)?;
    let met = train::labels_met(&model, &file)?;
    if !met.unknown.texts.is_empty() {
        warn(&format!("custodian-only: labels that the model does not know: {}", met.unknown));
    }
    if met.others.texts.len() > 1 {
        warn(&format!("custodian-only: several labels count as not the positive one: {}", met.others));
    }
    let metrics = train::evaluate(&model, &file)?;
    let mut value = serde_json::to_value(&metrics).map_err(|e| Error::numerical("metrics", e.to_string()))?;
    if arguments.json {
        value["custodian_only"] = json!(true);
        print_json(&value)?;
        return Ok(ExitCode::SUCCESS);
    }
    let data = arguments.data.display();
    warn(&format!("NOT PRIVATE, custodian-only: exact functions of the rows of {data}; do not publish them"));
    print(&metrics_page(&value))?;
    Ok(ExitCode::SUCCESS)
}

/// One line for each measure.
fn metrics_page(metrics: &serde_json::Value) -> String {
    let mut page = String::new();
    for (name, value) in metrics.as_object().into_iter().flatten() {
        page.push_str(&match value.as_f64() {
            _ if value.is_null() && name == "r2" => format!("{name:10}undefined: all targets are equal\n"),
            _ if value.is_null() => format!("{name:10}undefined: all rows have one label\n"),
            Some(number) if !value.is_u64() => format!("{name:10}{number:.6}\n"),
            _ => format!("{name:10}{value}\n"),
        });
    }
    page
}

/// The features with the largest coefficients; coefficients are released, so this is free.
pub(super) fn most_telling(model: &ModelFile, count: usize) -> String {
    let labels: &[String] = if let Target::Classes { labels, .. } = &model.target { labels } else { &[] };
    let each = |name: String, coefficient: &Coefficient| -> Vec<(String, f64)> {
        let at = |k: usize| labels.get(k).map_or(name.clone(), |label| format!("{name} -> {label}"));
        let shown = |k: usize| visible(&at(k)).into_owned();
        coefficient.values().iter().enumerate().map(|(k, &c)| (shown(k), c)).collect()
    };
    let mut effects: Vec<(String, f64)> = Vec::new();
    for feature in &model.features {
        match feature {
            Feature::Numeric { name, map, coefficient, .. } => {
                effects.extend(each(format!("{name} (per {:.4})", map.scale), coefficient));
            }
            Feature::Steps { name, coefficients, .. } => {
                for label in 0..coefficients.first().map_or(0, |first| first.values().len()) {
                    let at = |c: &Coefficient| c.values().get(label).copied().unwrap_or(0.0);
                    let highest = coefficients.iter().map(at).fold(f64::NEG_INFINITY, f64::max);
                    let lowest = coefficients.iter().map(at).fold(f64::INFINITY, f64::min);
                    let what = labels.get(label).map_or(String::new(), |label| format!(" -> {label}"));
                    let shown = visible(&format!("{name}{what} (highest less lowest)")).into_owned();
                    effects.push((shown, highest - lowest));
                }
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
    let width = width_of(effects.iter().take(shown).map(|(name, _)| name.as_str()), 0);
    effects.truncate(shown);
    effects.extend(each("(intercept)".into(), &model.intercept));
    for (name, effect) in effects {
        page.push_str(&format!("  {name:width$}  {effect:+.4}\n"));
    }
    page
}

/// What the coefficients of a model have an effect on, with its units.
pub(super) fn effect_on(model: &ModelFile) -> String {
    let what = train::effect_on(model);
    let what = match (&model.target, model.model.link()) {
        (_, Link::LogRate { .. }) | (Target::Label { .. } | Target::Classes { .. }, _) => what,
        (Target::Number { scale, .. }, _) => format!("{what}, in units of {scale:.4}"),
    };
    visible(&what).into_owned()
}
