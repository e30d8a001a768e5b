//! `algorithms`: what can be asked for by `--algorithm`, in a line each and in a page each.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::output::{print, print_json, tell, write_file};
use crate::error::{Error, Fallible};
use crate::optim::{Algorithm, SETTINGS};

#[derive(Args)]
#[command(after_help = "Examples:
  rhograd algorithms
  rhograd algorithms dp-sgd
  rhograd algorithms --json
  rhograd algorithms --markdown docs/algorithms --overwrite")]
pub(super) struct AlgorithmsArguments {
    /// Algorithm whose page is printed: what it does, releases and costs, its settings, when to use it
    #[arg(value_name = "NAME", value_enum)]
    name: Option<Algorithm>,
    /// Print what each takes and needs as JSON
    #[arg(long, conflicts_with = "name")]
    json: bool,
    /// Write a page for each and a table of all into a folder, as Markdown
    #[arg(long, value_name = "DIR", conflicts_with_all = ["name", "json"])]
    markdown: Option<PathBuf>,
    /// Replace pages that exist already
    #[arg(long, requires = "markdown")]
    overwrite: bool,
}

pub(super) fn algorithms(arguments: &AlgorithmsArguments) -> Fallible<ExitCode> {
    match (&arguments.markdown, arguments.name) {
        (Some(folder), _) => write_pages(folder, arguments.overwrite)?,
        (None, Some(algorithm)) => print(&in_paragraphs(&algorithm.page()))?,
        (None, None) if arguments.json => print_json(&Value::from_iter(Algorithm::ALL.map(described)))?,
        (None, None) => print(&list())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Every algorithm in a line.
fn list() -> String {
    let widest = Algorithm::ALL.map(|algorithm| algorithm.name().len()).into_iter().max().unwrap_or(0);
    let lines = Algorithm::ALL.map(|algorithm| {
        let it = algorithm.description();
        format!("{:widest$}  {}\n", it.name, it.about)
    });
    lines.concat() + "\n`rhograd algorithms NAME` prints a page: releases, costs, settings, when to use it.\n"
}

fn described(algorithm: Algorithm) -> Value {
    let it = algorithm.description();
    json!({
        "name": it.name,
        "about": it.about,
        "releases": it.releases,
        "relations": Vec::from_iter(it.relations.all().iter().map(|relation| relation.name())),
        "models": it.losses.in_words().replace('`', ""),
        "settings": Vec::from_iter(it.settings.iter().map(|setting| setting.name)),
        "needs_rows_at_hand": it.needs.rows_at_hand,
        "needs_row_count": it.needs.row_count,
        "needs_public_features": it.needs.labels_alone,
        "reference": it.reference,
    })
}

/// A page with every paragraph and every item of a list in one line, which a terminal breaks where it ends; tables and formulas
/// keep their lines.
fn in_paragraphs(page: &str) -> String {
    let mut shown: Vec<String> = Vec::new();
    let (mut fenced, mut goes_on) = (false, false);
    for line in page.lines() {
        let text = line.trim_start();
        let is_fence = text.starts_with("```");
        fenced ^= is_fence;
        let is_item = text.starts_with("- ") || text.split_once(". ").is_some_and(|(n, _)| n.parse::<u8>().is_ok());
        let is_apart = fenced || is_fence || text.is_empty() || text.starts_with(['#', '|']);
        match shown.last_mut() {
            Some(last) if goes_on && !is_item && !is_apart => {
                last.push(' ');
                last.push_str(text);
            }
            _ => shown.push(line.to_owned()),
        }
        goes_on = !is_apart;
    }
    shown.join("\n") + "\n"
}

/// One page for each file of algorithms, and the table of all in `README.md`.
fn write_pages(folder: &Path, overwrite: bool) -> Fallible<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, "make the folder", e))?;
    let mut table = String::from(
        "# Algorithms\n\nWritten by `rhograd algorithms --markdown`, like the page of each, from what its file in `src/optim` says.\n\n\
        | `--algorithm` | in a line | released | relations | models | settings | source |\n|---|---|---|---|---|---|---|\n",
    );
    for algorithm in Algorithm::ALL {
        let it = algorithm.description();
        let name = algorithm.page_name();
        // Two that differ in one constant share a page.
        if it.name == name {
            write_file(&folder.join(format!("{name}.md")), algorithm.page().as_bytes(), overwrite)?;
        }
        let settings: Vec<String> = it.settings.iter().map(|setting| format!("`{}`", setting.name)).collect();
        let settings = if settings.len() == SETTINGS.len() { "all".into() } else { settings.join(", ") };
        let (relations, losses) = (it.relations.in_words(), it.losses.in_words());
        table += &format!(
            "| [`{}`]({name}.md) | {} | {} | {relations} | {losses} | {settings} | {} |\n",
            it.name, it.about, it.releases, it.reference
        );
    }
    write_file(&folder.join("README.md"), table.as_bytes(), overwrite)?;
    tell(&format!("pages are in {}", folder.display()));
    Ok(())
}
