//! `statement`, and the same page after training.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::coefficients;
use super::output::{print, print_json};
use crate::error::{Error, Fallible};
use crate::num::round::decimal_down;
use crate::statement::{Answer, Guarantee, Statement, WhatIf};
use crate::text::visible;
use crate::train::ModelFile;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rhograd statement fair.model.json\n  rhograd statement fair.model.json --coefficients\n  \
                  rhograd statement fair.model.json --what-if group:5 --what-if prior:0.01"
)]
pub(super) struct StatementArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// Also print all coefficients in the units of the data, with standard errors that include the noise
    #[arg(long)]
    coefficients: bool,
    /// Also say what the release means for others: group:K (K together), attribute (one of them), prior:P (somebody who
    /// believes something with probability P beforehand)
    #[arg(long, value_name = "QUESTION")]
    what_if: Vec<WhatIf>,
    /// Print the statement as JSON; with --what-if one object of it and the answers
    #[arg(long)]
    json: bool,
}

pub(super) fn statement(arguments: &StatementArguments) -> Fallible<ExitCode> {
    let model = ModelFile::read(&arguments.model)?;
    let answers = arguments.what_if.iter().map(|question| model.statement.what_if(*question));
    let answers = answers.collect::<Fallible<Vec<Answer>>>()?;
    if arguments.json {
        let written = |e: serde_json::Error| Error::numerical("statement", e.to_string());
        let mut value = serde_json::to_value(&model.statement).map_err(written)?;
        if let Some(reshaped) = &model.reshaped {
            value["reshaped"] = serde_json::to_value(reshaped).map_err(written)?;
        }
        if answers.is_empty() {
            print_json(&value)?;
        } else {
            print_json(&json!({ "what_if": answers, "statement": value }))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = edited(&model);
    text.push_str(&plain_statement(&model.statement));
    text.push_str(&evaluated(&model));
    if !answers.is_empty() {
        text.push_str("\nWhat if:\n");
    }
    for answer in &answers {
        text.push_str(&format!("- {}: {}\n", answer.question, visible(&answer.words)));
    }
    if arguments.coefficients {
        text.push('\n');
        text.push_str(&coefficients::table(&model));
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What was done to a model after its release, for people; empty of one as it was released.
fn edited(model: &ModelFile) -> String {
    let Some(reshaped) = &model.reshaped else { return String::new() };
    let together = match model.together {
        Some(_) => " What columns do together was left as it was.",
        None => "",
    };
    format!(
        "Edited after release: {}.{together} The file says that it was made from the released model with SHA-256 {}; `rhograd verify --source` \
         shows it. Edits that were chosen without a look at private rows are post-processing: the statement below is that of the release, covers \
         this file as well, and nothing more was charged.\n\n",
        visible(&reshaped.words()),
        visible(&reshaped.source_sha256)
    )
}

/// The privacy statement for people.
pub(super) fn plain_statement(statement: &Statement) -> String {
    let facts = &statement.facts;
    let guarantee = &statement.guarantee;
    let mut page = String::new();
    if let Some(words) = statement.in_plain_words() {
        page.push_str(&format!("In plain words: {words}\n\n"));
    }
    page.push_str(&format!("Data set \"{}\": {}\n\n", visible(&facts.dataset), visible(&statement.statement)));
    let (rho, epsilon) = match statement.dp {
        true => (guarantee.rho_upper.clone(), epsilons(guarantee)),
        false => {
            let otherwise = format!("without that it would be {} at delta {}", guarantee.epsilon, guarantee.delta);
            ("none".into(), format!("none: NOT PRIVATE, see above; {otherwise}"))
        }
    };
    let mut rows = vec![
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
    ];
    rows.extend(facts.tuned().map(|tuned| ("chosen", tuned.to_string())));
    rows.extend([("rho", rho), ("epsilon", epsilon), ("adjacency", facts.adjacency.to_string())]);
    if !facts.unit.is_row() {
        rows.push(("unit", facts.unit.to_string()));
    }
    rows.extend([
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
    ]);
    for (name, value) in rows {
        page.push_str(&format!("{name:10} {}\n", visible(&value)));
    }
    page.push_str("\nLimits:\n");
    for limit in &statement.limits {
        page.push_str(&format!("- {}\n", visible(limit)));
    }
    page
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
    let units = if model.statement.facts.unit.is_row() { "rows" } else { "persons" };
    let mut text = format!("\nOn about {:.0} {units} held out (noised, part of the release):\n", evaluation.rows);
    for (name, estimate) in &evaluation.metrics {
        let limit = estimate.limit.map_or(String::new(), |limit| format!(", rows cut at {limit:.4}"));
        text.push_str(&format!("  {name:10} {:.4} (noise {:.4}{limit})\n", estimate.value, estimate.noise));
    }
    text
}
