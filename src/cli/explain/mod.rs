//! `explain`: what a model says of each column, as a table, as JSON, and as pictures.

mod html;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::arguments::same_file;
use super::output::{print, print_json, warn, write_file};
use super::screen::width_of;
use crate::error::{Error, Fallible};
use crate::plot::{Format, Tile, Tiles};
use crate::report::{bands, number, pair_title, tiles, title, together};
use crate::text::visible;
use crate::train::{Explanation, ModelFile, check_destination};

/// Tiles of a PNG: with more its pixels take too much memory.
const MOST_IN_PIXELS: usize = 60;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rhograd explain fair.model.json\n  rhograd explain fair.model.json --out shapes.html\n  \
                  rhograd explain fair.model.json --columns age,children --out shapes.svg\n\nEverything is a function of the released \
                  model and costs nothing. Columns are sorted by importance: the\nstandard deviation of their effect under the released \
                  shares of rows."
)]
pub(super) struct ExplainArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// Picture with a panel for each column, as HTML, SVG, PDF or PNG by its extension
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only these columns, as in --columns age,children
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    columns: Vec<String>,
    /// Pairs of columns that are shown, where a model has effects of several columns together
    #[arg(long, value_name = "K", default_value_t = 4)]
    pairs: usize,
    /// Print one JSON object with all effects, deviations and shares
    #[arg(long)]
    json: bool,
    /// Replace a file that exists already
    #[arg(long)]
    overwrite: bool,
}

/// A kind of file.
enum Kind {
    Html,
    Picture(Format),
}

impl Kind {
    fn of(path: &Path) -> Fallible<Self> {
        let extension = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
        if matches!(extension.as_deref(), Some("html" | "htm")) {
            return Ok(Kind::Html);
        }
        let other = |_| {
            let problem = format!("{} ends in nothing that is drawn here", path.display());
            Error::parameter("--out", problem, "name a file that ends in .html, .svg, .pdf or .png")
        };
        Format::of(path).map(Kind::Picture).map_err(other)
    }
}

pub(super) fn explain(arguments: &ExplainArguments) -> Fallible<ExitCode> {
    let out = arguments.out.as_deref().map(|path| Kind::of(path).map(|kind| (path, kind))).transpose()?;
    if let Some((path, _)) = &out {
        if same_file(path, &arguments.model) {
            return Err(Error::parameter("--out", "would overwrite the model", "name another file"));
        }
        check_destination(path, arguments.overwrite, false)?;
    }
    let model = ModelFile::read(&arguments.model)?;
    let mut explanation = Explanation::of(&model, arguments.pairs)?;
    if !arguments.columns.is_empty() {
        explanation.keep(&arguments.columns)?;
    }
    if let Some((path, kind)) = out {
        let tiles = tiles::of(&explanation);
        let bytes = match kind {
            Kind::Html => html::page(&explanation, &tiles)?.into_bytes(),
            Kind::Picture(format) => Tiles(shown(format, &tiles)).to_bytes(format)?,
        };
        write_file(path, &bytes, arguments.overwrite)?;
    }
    if arguments.json {
        let value = serde_json::to_value(&explanation).map_err(|e| Error::numerical("effects", e.to_string()))?;
        print_json(&value)?;
    } else {
        print(&table(&explanation))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The tiles that a picture has room for.
fn shown(format: Format, tiles: &[Tile]) -> &[Tile] {
    if format != Format::Png || tiles.len() <= MOST_IN_PIXELS {
        return tiles;
    }
    warn(&format!(
        "the picture shows {MOST_IN_PIXELS} of {} panels; an .html, .svg or .pdf shows all, --columns chooses",
        tiles.len()
    ));
    &tiles[..MOST_IN_PIXELS]
}

/// A table of the columns, the most important first.
fn table(explanation: &Explanation) -> String {
    let mut page = format!("Effects on {}, the most important column first:\n\n", visible(&explanation.effect_on));
    let names: Vec<String> = explanation.columns.iter().map(title).collect();
    let width = width_of(names.iter().map(String::as_str), 6);
    page.push_str(&format!("  {:width$} {:>12} {:>12} {:>12}\n", "column", "importance", "lowest", "highest"));
    for (name, shape) in names.iter().zip(&explanation.columns) {
        let [importance, lowest, highest] = [shape.importance, shape.lowest, shape.highest].map(number);
        page.push_str(&format!("  {name:width$} {importance:>12} {lowest:>12} {highest:>12}\n"));
    }
    if let Some(beyond) = together(explanation) {
        page.push_str(&format!("\n{beyond}\n"));
    }
    let names: Vec<String> = explanation.pairs.iter().map(pair_title).collect();
    let width = width_of(names.iter().map(String::as_str), 6);
    if !names.is_empty() {
        page.push_str(&format!("\n  {:width$} {:>12}\n", "pair", "importance"));
    }
    for (name, pair) in names.iter().zip(&explanation.pairs) {
        page.push_str(&format!("  {name:width$} {:>12}\n", number(pair.importance)));
    }
    page.push_str(&format!("\n{}\n", bands(explanation)));
    for what in &explanation.missing {
        page.push_str(&format!("Not in the file: {what}.\n"));
    }
    page
}
