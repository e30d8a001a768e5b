//! `predict`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::arguments::same_file;
use super::output::print_data;
use crate::error::{Error, Fallible};
use crate::train::{self, ModelFile, ModelKind, Predictions, StagedFile, Target};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rhograd predict fair.model.json new.csv --out predictions.csv\n  rhograd predict fair.model.json new.csv --keep id --keep name\n\nOne line per record, in order, with the more probable label and its probability (for several labels those of all, for a\nsupport vector machine the score), or a predicted number; empty cells for a line that is no record. Predictions are functions of the\nreleased model and of the file's own rows: they say nothing more about the training rows."
)]
pub(super) struct PredictArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// CSV file with the model's feature columns, plain or packed by gzip or zstd
    data: PathBuf,
    /// Column of the data that is copied before the predictions, such as an identifier; may be given several times
    #[arg(long, value_name = "COLUMN")]
    keep: Vec<String>,
    /// Output file, readable by its owner only: predictions are as private as the rows; - for standard output [default]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an output file that exists already
    #[arg(long)]
    overwrite: bool,
}

pub(super) fn predict(arguments: &PredictArguments) -> Fallible<ExitCode> {
    let out = arguments.out.as_deref().filter(|out| *out != Path::new("-"));
    let model = ModelFile::read(&arguments.model)?;
    let file = model.open_data(&arguments.data)?;
    for (what, input) in [("the data", &arguments.data), ("the model", &arguments.model)] {
        if out.is_some_and(|out| same_file(out, input)) {
            return Err(Error::parameter("--out", format!("would overwrite {what}"), "name another file"));
        }
    }
    let staged = out.map(|out| StagedFile::private(out, arguments.overwrite)).transpose()?;
    let predictions = train::predict_keeping(&model, &file, &arguments.keep)?;
    let text = prediction_page(&model, &predictions, &arguments.keep)?;
    match staged {
        None => print_data(&text)?,
        Some(mut staged) => {
            staged.append(text.as_bytes())?;
            staged.publish()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A heading and one line per prediction: the cells that are kept, the label of the prediction, and its numbers.
fn prediction_page(model: &ModelFile, predictions: &Predictions, keep: &[String]) -> Fallible<String> {
    let failed = |e: &dyn std::fmt::Display| Error::numerical("predictions", e.to_string());
    let heading = heading(model);
    if let Some(name) = keep.iter().find(|name| heading.contains(name)) {
        let problem = format!("names a column {name:?}, and so is one of the predictions called");
        return Err(Error::parameter("--keep", problem, "rename the column of the data"));
    }
    let labelled = heading.first().is_some_and(|name| name == "label");
    let numbers = heading.len() - usize::from(labelled);
    let mut writer = csv::Writer::from_writer(Vec::new());
    if keep.is_empty() && heading.len() == 1 {
        // A writer of tables puts quotes around a cell that is empty and alone.
        let lines = predictions.rows().map(|row| row.map_or(String::new(), |values| values[0].to_string()));
        return Ok(heading.into_iter().chain(lines).map(|line| line + "\n").collect());
    }
    writer.write_record(keep.iter().chain(&heading)).map_err(|e| failed(&e))?;
    for (line, row) in predictions.rows().enumerate() {
        let label = labelled.then(|| row.map_or(String::new(), |values| label(model, values)));
        let cells = (0..numbers).map(|k| row.map_or(String::new(), |values| values[k].to_string()));
        let kept = predictions.kept(line).map(String::from);
        writer.write_record(kept.chain(label).chain(cells)).map_err(|e| failed(&e))?;
    }
    let bytes = writer.into_inner().map_err(|e| failed(&e))?;
    String::from_utf8(bytes).map_err(|e| failed(&e))
}

/// The names of the columns of predictions.
fn heading(model: &ModelFile) -> Vec<String> {
    match (&model.target, model.model) {
        (Target::Number { .. }, _) => vec!["prediction".into()],
        (Target::Label { .. }, ModelKind::Svm { .. }) => vec!["label".into(), "score".into()],
        (Target::Label { .. }, _) => vec!["label".into(), "probability".into()],
        (Target::Classes { labels, .. }, _) => {
            let heading = labels.iter().map(|label| format!("probability {label}"));
            ["label".into()].into_iter().chain(heading).collect()
        }
    }
}

/// The more probable label, or the one on whose side the score lies.
fn label(model: &ModelFile, values: &[f64]) -> String {
    match &model.target {
        Target::Number { .. } => String::new(),
        Target::Classes { labels, .. } => {
            let best = (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]));
            best.and_then(|best| labels.get(best)).cloned().unwrap_or_default()
        }
        Target::Label { positive, negatives, .. } => {
            let threshold = if matches!(model.model, ModelKind::Svm { .. }) { 0.0 } else { 0.5 };
            match negatives.as_deref() {
                _ if values.first().is_some_and(|value| *value >= threshold) => positive.clone(),
                Some([negative]) => negative.clone(),
                // Several labels, or any, count as the other one.
                _ => format!("not {positive}"),
            }
        }
    }
}
