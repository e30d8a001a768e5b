//! `reshape`: shapes of a released model as its user wants them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::arguments::same_file;
use super::output::{print, print_json};
use super::screen::width_of;
use crate::error::{Error, Fallible};
use crate::report::number;
use crate::text::visible;
use crate::train::{self, Edit, Feature, ModelFile, Moved, StagedFile, publish_with};

#[derive(Args)]
#[command(after_help = "Examples:\n  rhograd reshape fair.model.json --increasing age --out edited.model.json\n  \
                  rhograd reshape fair.model.json --decreasing age --convex age --set 'educ:20=0.1' --out edited.model.json\n  \
                  rhograd reshape fair.model.json --edits edits.json --out edited.model.json\n  rhograd reshape fair.model.json --recalibrate --out \
                  recalibrated.model.json\n\nThe nearest curve under the released shares of \
                  rows takes the place of the released one, so the mean effect of a column\nstays. It is post-processing: nothing is charged, and \
                  the privacy is that of MODEL. That holds of edits chosen by what you know and\nwhat was released, not by a look at private rows or at \
                  what `rhograd evaluate` says of them. The new file says what was done;\n`rhograd verify --source` does it again.")]
pub(super) struct ReshapeArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// The effect of COLUMN never falls; of a category along an order, as in 'size:small<middle<large' (repeatable)
    #[arg(long, value_name = "COLUMN")]
    increasing: Vec<String>,
    /// The effect of COLUMN never rises (repeatable)
    #[arg(long, value_name = "COLUMN")]
    decreasing: Vec<String>,
    /// The slope of COLUMN never falls (repeatable)
    #[arg(long, value_name = "COLUMN")]
    convex: Vec<String>,
    /// The slope of COLUMN never rises (repeatable)
    #[arg(long, value_name = "COLUMN")]
    concave: Vec<String>,
    /// The effect of one value, or of the interval that a number lies in, in the units of `rhograd explain` (repeatable)
    #[arg(long, value_name = "COLUMN:AT=EFFECT")]
    set: Vec<String>,
    /// Correct the probabilities by the released counts of rows held out (a run with --evaluate-budget): effects and intercept are multiplied
    /// by one number, and the intercept is moved by another; no other edit can stand beside it
    #[arg(long, conflicts_with_all = ["increasing", "decreasing", "convex", "concave", "set", "edits"])]
    recalibrate: bool,
    /// More of these as a JSON list, as in [{"edit": "increasing", "column": "age"}, {"edit": "set", "column": "age", "at":
    /// "90", "effect": 0.2}]
    #[arg(long, value_name = "FILE")]
    edits: Option<PathBuf>,
    /// Model file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace a file that exists already
    #[arg(long)]
    overwrite: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn reshape(arguments: &ReshapeArguments) -> Fallible<ExitCode> {
    if same_file(&arguments.out, &arguments.model) {
        let cure = "name another file: the released one is what the ledger noted";
        return Err(Error::parameter("--out", "would overwrite the model", cure));
    }
    if arguments.edits.as_ref().is_some_and(|edits| same_file(&arguments.out, edits)) {
        return Err(Error::parameter("--out", "would overwrite the edits", "name another file"));
    }
    let mut file = StagedFile::new(&arguments.out, arguments.overwrite)?;
    let text = ModelFile::read_text(&arguments.model)?;
    let model = ModelFile::parse(&text, &arguments.model)?;
    let (edited, moved) = train::reshape(&model, &text, &edits(arguments, &model)?)?;
    file.append(edited.to_json().as_bytes())?;
    publish_with(Some(file), [])?;
    if arguments.json {
        print_json(&json!({ "reshaped": edited.reshaped, "moved": moved }))?;
    } else {
        print(&page(arguments, &edited, &moved))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// All that is asked for.
fn edits(arguments: &ReshapeArguments, model: &ModelFile) -> Fallible<Vec<Edit>> {
    let mut edits = Vec::new();
    for given in &arguments.increasing {
        let (column, order) = ordered(given, model);
        edits.push(Edit::Increasing { column, order });
    }
    for given in &arguments.decreasing {
        let (column, order) = ordered(given, model);
        edits.push(Edit::Decreasing { column, order });
    }
    edits.extend(arguments.convex.iter().map(|column| Edit::Convex { column: column.clone() }));
    edits.extend(arguments.concave.iter().map(|column| Edit::Concave { column: column.clone() }));
    for given in &arguments.set {
        edits.push(set(given, model)?);
    }
    if arguments.recalibrate {
        edits.push(Edit::Recalibrated {});
    }
    if let Some(path) = &arguments.edits {
        edits.extend(read(path)?);
    }
    Ok(edits)
}

fn read(path: &Path) -> Fallible<Vec<Edit>> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, "read the edits", e))?;
    serde_json::from_str(&text).map_err(|e| {
        let cure = "write a list such as [{\"edit\": \"increasing\", \"column\": \"age\"}]";
        Error::input(path, format!("is no list of edits: {e}"), cure).at_line(e.line() as u64)
    })
}

/// The column that a text begins with, and what stands behind its colon: a name may have colons itself.
fn column_of<'a>(given: &'a str, model: &ModelFile) -> Option<(&'a str, &'a str)> {
    let names = model.features.iter().map(Feature::name);
    let split = names.filter_map(|name| Some((name.len(), given.strip_prefix(name)?.strip_prefix(':')?)));
    split.max_by_key(|(length, _)| *length).map(|(length, rest)| (&given[..length], rest))
}

/// A column, and the order of its values where one is given.
fn ordered(given: &str, model: &ModelFile) -> (String, Vec<String>) {
    let whole = || (given.to_owned(), Vec::new());
    if model.features.iter().any(|feature| feature.name() == given) {
        return whole();
    }
    let order = |rest: &str| rest.split('<').map(|value| value.trim().to_owned()).collect();
    column_of(given, model).map_or_else(whole, |(column, rest)| (column.to_owned(), order(rest)))
}

fn set(given: &str, model: &ModelFile) -> Fallible<Edit> {
    let wrong = || {
        let problem = format!("{given:?} names no column of the model with a place and a number");
        Error::parameter("--set", problem, "write COLUMN:AT=EFFECT, as in 'age:45=0.2'")
    };
    let (column, rest) = column_of(given, model).ok_or_else(wrong)?;
    let (at, effect) = rest.rsplit_once('=').ok_or_else(wrong)?;
    let effect: f64 = effect.trim().parse().map_err(|_| wrong())?;
    Ok(Edit::Set { column: column.to_owned(), at: at.trim().to_owned(), effect })
}

fn page(arguments: &ReshapeArguments, edited: &ModelFile, moved: &[Moved]) -> String {
    let width = width_of(moved.iter().map(|moved| moved.column.as_str()), 6);
    let done = edited.reshaped.as_ref().map_or_else(String::new, |reshaped| reshaped.words());
    let mut page = format!("{}: {}\n\n", visible(&arguments.out.to_string_lossy()), visible(&done));
    page.push_str(&format!("  {:width$} {:>12} {:>16}\n", "column", "moved by", "effects changed"));
    for Moved { column, distance, changed, of } in moved {
        let shown = visible(column);
        page.push_str(&format!("  {shown:width$} {:>12} {:>16}\n", number(*distance), format!("{changed} of {of}")));
    }
    page.push_str(
        "\nMoved by: root of the mean square under the released shares of rows. Nothing was charged; the privacy is that of the source.\n",
    );
    if edited.together.is_some() && !arguments.recalibrate {
        page.push_str("Curves alone were reshaped: what columns do together is as it was released, and predictions need not have the shape.\n");
    }
    page
}
