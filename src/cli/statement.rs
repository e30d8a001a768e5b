//! `statement`, and the same page after training.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::coefficients;
use super::output::{print, print_data, print_json};
use crate::error::{Error, Fallible};
use crate::report::{About, Document, edited, facts_in_words};
use crate::statement::{Answer, Statement, WhatIf};
use crate::text::visible;
use crate::train::{ModelFile, Reliability, reliability};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rhograd statement fair.model.json\n  rhograd statement fair.model.json --coefficients\n  \
                  rhograd statement fair.model.json --what-if group:5 --what-if prior:0.01\n  \
                  rhograd statement fair.model.json --model-card > card.md\n  \
                  rhograd statement fair.model.json --registry --about about.json > entry.yaml"
)]
pub(super) struct StatementArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// Also print all coefficients in the units of the data, with standard errors that include the noise
    #[arg(long)]
    coefficients: bool,
    /// Also say what the release means for others: group:K (K together), attribute (one of them), prior:P (somebody who
    /// believes something with probability P beforehand), new-rows (how far a mean over the rows of the data is from one
    /// over new rows)
    #[arg(long, value_name = "QUESTION")]
    what_if: Vec<WhatIf>,
    /// Print the statement as JSON; with --what-if one object of it and the answers
    #[arg(long)]
    json: bool,
    /// Print an entry for the public registry of deployments of differential privacy, as YAML; needs --about
    #[arg(long, conflicts_with_all = ["json", "coefficients", "what_if", "model_card", "nist"])]
    registry: bool,
    /// Print a model card, as Markdown
    #[arg(long, conflicts_with_all = ["json", "coefficients", "what_if", "nist"])]
    model_card: bool,
    /// Print answers to what NIST SP 800-226 asks of a guarantee, as Markdown
    #[arg(long, conflicts_with_all = ["json", "coefficients", "what_if"])]
    nist: bool,
    /// What no model tells, as JSON: name, curators, intended_use, region, published, authors, and more (docs/reports.md)
    #[arg(long, value_name = "FILE")]
    about: Option<PathBuf>,
}

pub(super) fn statement(arguments: &StatementArguments) -> Fallible<ExitCode> {
    let model = ModelFile::read(&arguments.model)?;
    if let Some(document) = document(arguments) {
        print_data(&document.of(&model, about(arguments)?.as_ref())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.about.is_some() {
        let cure = "give --registry, --model-card or --nist beside it";
        return Err(Error::parameter("--about", "has no use alone", cure));
    }
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
    let mut text = edited(&model).map_or(String::new(), |words| format!("{words}\n\n"));
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

/// The document that is asked for.
fn document(arguments: &StatementArguments) -> Option<Document> {
    let asked = [
        (arguments.registry, Document::Registry),
        (arguments.model_card, Document::ModelCard),
        (arguments.nist, Document::Guidelines),
    ];
    asked.into_iter().find_map(|(asked, document)| asked.then_some(document))
}

fn about(arguments: &StatementArguments) -> Fallible<Option<About>> {
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, "read what is told of the model", e))?;
        About::parse(&text, path)
    };
    arguments.about.as_ref().map(read).transpose()
}

/// The privacy statement for people.
pub(super) fn plain_statement(statement: &Statement) -> String {
    let mut page = String::new();
    if let Some(words) = statement.in_plain_words() {
        page.push_str(&format!("In plain words: {words}\n\n"));
    }
    page.push_str(&format!(
        "Data set \"{}\": {}\n\n",
        visible(&statement.facts.dataset),
        visible(&statement.statement)
    ));
    for (name, value) in facts_in_words(statement) {
        page.push_str(&format!("{name:10} {}\n", visible(&value)));
    }
    page.push_str("\nLimits:\n");
    for limit in &statement.limits {
        page.push_str(&format!("- {}\n", visible(limit)));
    }
    page
}

/// Metrics on a private hold-out, in lines; empty without any.
pub(super) fn evaluated(model: &ModelFile) -> String {
    let Some(evaluation) = &model.evaluation else { return String::new() };
    let units = if model.statement.facts.unit.is_person() { "persons" } else { "rows" };
    let mut text = format!("\nOn about {:.0} {units} held out (noised, part of the release):\n", evaluation.rows);
    for (name, estimate) in &evaluation.metrics {
        let limit = estimate.limit.map_or(String::new(), |limit| format!(", rows cut at {limit:.4}"));
        text.push_str(&format!("  {name:10} {:.4} (noise {:.4}{limit})\n", estimate.value, estimate.noise));
    }
    let curve = evaluation.margins.as_ref().map(reliability).unwrap_or_default();
    if !curve.is_empty() {
        text.push_str("  probability predicted, and the share observed (standard deviation: noise and sampling):\n");
    }
    for Reliability { predicted, observed, deviation, rows } in curve {
        text.push_str(&format!("  {predicted:10.3} {observed:.3} ({deviation:.3}), about {rows:.0} {units}\n"));
    }
    text
}
