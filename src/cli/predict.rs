//! `predict`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::arguments::same_file;
use super::output::print_data;
use crate::error::{Error, Fallible};
use crate::train::{self, ModelFile, ModelKind, Predictions, StagedFile, Target};

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
        None => print_data(&text)?,
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
