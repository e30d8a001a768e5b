//! `predict`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::arguments::same_file;
use super::input::{DialectArguments, data_path};
use super::output::print_data;
use crate::error::{Error, Fallible};
use crate::model_kind::Link;
use crate::train::{self, ModelFile, Predictions, StagedFile, Target};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rhograd predict fair.model.json new.csv --out predictions.csv\n  rhograd predict fair.model.json new.csv --columns id,name --label-column risk\n  rhograd predict fair.model.json new.csv --explain --out why.csv\n  cat new.csv | rhograd predict fair.model.json - > predictions.csv\n\nOne line per record, in order, with the more probable label and its probability (for several labels those of all, for a\nsupport vector machine the score), or a predicted number; empty cells for a line that is no record. Predictions are functions of the\nreleased model and of the file's own rows: they say nothing more about the training rows."
)]
pub(super) struct PredictArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// CSV file with the model's feature columns, plain or packed by gzip or zstd; - for standard input
    #[arg(value_parser = data_path())]
    data: PathBuf,
    #[command(flatten)]
    dialect: DialectArguments,
    /// Columns of the data that are copied before the predictions, such as identifiers, as in --columns id,name
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    columns: Vec<String>,
    /// One more column to copy, whose name may hold a comma; may be given several times
    #[arg(long, value_name = "COLUMN")]
    keep: Vec<String>,
    /// Name of the column of predicted labels or numbers [default: label, or prediction for numbers]
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// Also what each column contributes, in one more column for each, and their sum: the log-odds of a label, the logarithm of a
    /// rate, a score, or a number before it is moved into its bounds
    #[arg(long)]
    explain: bool,
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
    let file = model.open_data_in(&arguments.data, arguments.dialect.dialect()?)?;
    for (what, input) in [("the data", &arguments.data), ("the model", &arguments.model)] {
        if out.is_some_and(|out| same_file(out, input)) {
            return Err(Error::parameter("--out", format!("would overwrite {what}"), "name another file"));
        }
    }
    let staged = out.map(|out| StagedFile::private(out, arguments.overwrite)).transpose()?;
    let columns = [arguments.columns.as_slice(), &arguments.keep].concat();
    file.require(columns.iter().map(String::as_str))?;
    let heading = arguments.heading(&model, &columns)?;
    let predict = if arguments.explain { train::predict_explaining } else { train::predict_keeping };
    let predictions = predict(&model, &file, &columns)?;
    let text = prediction_page(&model, &predictions, &columns, heading)?;
    match staged {
        None => print_data(&text)?,
        Some(mut staged) => {
            staged.append(text.as_bytes())?;
            staged.publish()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl PredictArguments {
    /// The names of the columns of predictions; each name of the output is there once.
    fn heading(&self, model: &ModelFile, columns: &[String]) -> Fallible<Vec<String>> {
        let mut heading = heading(model);
        if self.explain {
            heading.extend(explained(model));
        }
        if let (Some(name), Some(first)) = (&self.label_column, heading.first_mut()) {
            first.clone_from(name);
        }
        if let Some(name) = columns.iter().find(|name| heading.contains(name)) {
            let flag = if self.keep.contains(name) { "--keep" } else { "--columns" };
            let problem = format!("names a column {name:?}, and so is one of the predictions called");
            return Err(Error::parameter(
                flag,
                problem,
                "name the predictions by --label-column, or rename the column",
            ));
        }
        if let Some((_, name)) = columns.iter().enumerate().find(|(at, name)| columns[..*at].contains(name)) {
            return Err(Error::parameter("--columns", format!("names {name:?} twice"), "name it once"));
        }
        let twice = |(at, name): (usize, &String)| heading[..at].contains(name).then(|| name.clone());
        match heading.iter().enumerate().find_map(twice) {
            Some(name) if self.label_column.as_ref() == Some(&name) => {
                Err(Error::parameter("--label-column", format!("{name:?} is a name of another column"), "give another"))
            }
            Some(name) => Err(Error::parameter(
                "--explain",
                format!("would write two columns named {name:?}, for names of columns and labels hold each other"),
                "use `predict_contributions` in Python, where labels stand apart",
            )),
            None => Ok(heading),
        }
    }
}

/// A heading and one line per prediction: the cells that are copied, the label of the prediction, and its numbers.
fn prediction_page(
    model: &ModelFile,
    predictions: &Predictions,
    keep: &[String],
    heading: Vec<String>,
) -> Fallible<String> {
    let failed = |e: &dyn std::fmt::Display| Error::numerical("predictions", e.to_string());
    let labelled = !matches!(model.target, Target::Number { .. });
    let (outputs, apart) = (predictions.outputs(), heading.len() > usize::from(labelled) + predictions.outputs());
    let mut writer = csv::Writer::from_writer(Vec::new());
    if keep.is_empty() && heading.len() == 1 {
        // A writer of tables puts quotes around a cell that is empty and alone.
        let lines = predictions.rows().map(|row| row.map_or(String::new(), |values| values[0].to_string()));
        return Ok(heading.into_iter().chain(lines).map(|line| line + "\n").collect());
    }
    writer.write_record(keep.iter().chain(&heading)).map_err(|e| failed(&e))?;
    for (line, row) in predictions.rows().enumerate() {
        let label = labelled.then(|| row.map_or(String::new(), |values| label(model, values)));
        let cells = (0..outputs).map(|k| row.map_or(String::new(), |values| values[k].to_string()));
        let parts = if apart { predictions.contributions(line) } else { &[] };
        let sums = (0..if apart { outputs } else { 0 }).map(|k| parts.iter().skip(k).step_by(outputs).sum::<f64>());
        let why = parts.iter().copied().chain(sums).map(|part| row.map_or(String::new(), |_| part.to_string()));
        let kept = predictions.kept(line).map(String::from);
        writer.write_record(kept.chain(label).chain(cells).chain(why)).map_err(|e| failed(&e))?;
    }
    let bytes = writer.into_inner().map_err(|e| failed(&e))?;
    String::from_utf8(bytes).map_err(|e| failed(&e))
}

/// The names of the columns of contributions, and of their sums.
fn explained(model: &ModelFile) -> Vec<String> {
    let sums = match &model.target {
        Target::Classes { labels, .. } => labels.iter().map(|label| format!("margin -> {label}")).collect(),
        Target::Label { .. } | Target::Number { .. } => vec!["margin".into()],
    };
    train::contributions(model).into_iter().map(|name| format!("contribution {name}")).chain(sums).collect()
}

/// The names of the columns of predictions.
fn heading(model: &ModelFile) -> Vec<String> {
    match (&model.target, model.model.link()) {
        (Target::Number { .. }, _) => vec!["prediction".into()],
        (Target::Label { .. }, Link::Score) => vec!["label".into(), "score".into()],
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
            let threshold = if model.model.link() == Link::Score { 0.0 } else { 0.5 };
            match negatives.as_deref() {
                _ if values.first().is_some_and(|value| *value >= threshold) => positive.clone(),
                Some([negative]) => negative.clone(),
                // Several labels, or any, count as the other one.
                _ => format!("not {positive}"),
            }
        }
    }
}
