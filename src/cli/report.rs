//! `report`: a page about a model for whoever must approve it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::arguments::same_file;
use super::output::{print_data, tell, warn, write_file};
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::report::Report;
use crate::train::{ModelFile, check_destination};

/// Bytes of a log that a page reads: of some 100,000 releases.
const MAX_LOG: u64 = 1 << 26;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rhograd report fair.model.json --ledger datasets/fair.ledger.sqlite --log fair.log.jsonl --out report.html\n  \
                  rhograd report fair.model.json > report.html\n\nOne HTML page for whoever must approve a release: the statement in plain words, what is \
                  spent and left,\neffects with intervals, released quality, who chose what, and how to check it. It needs no script and nothing\nbeside it. \
                  The files are verified first; of what does not verify no page is made (exit code 1)."
)]
pub(super) struct ReportArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// The ledger that the run was charged to: the page tells what all runs spent and what is left
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
    /// The log of the run: it is verified and shown
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// The page [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace a file that exists already
    #[arg(long)]
    overwrite: bool,
}

pub(super) fn report(arguments: &ReportArguments) -> Fallible<ExitCode> {
    if let Some(out) = &arguments.out {
        let read = [Some(&arguments.model), arguments.ledger.as_ref(), arguments.log.as_ref()];
        if let Some(path) = read.into_iter().flatten().find(|path| same_file(out, path)) {
            return Err(Error::parameter("--out", format!("would overwrite {}", path.display()), "name another file"));
        }
        check_destination(out, arguments.overwrite, false)?;
    }
    let text = ModelFile::read_text(&arguments.model)?;
    let model = ModelFile::parse_unchecked(&text, &arguments.model)?;
    let mut ledger = arguments.ledger.as_deref().map(Ledger::open_to_read).transpose()?;
    let log = arguments.log.as_deref().map(read_log).transpose()?;
    let shown = |path: Option<&PathBuf>, other: &str| path.map_or(other.to_owned(), |path| name_of(path));
    let names =
        [name_of(&arguments.model), shown(arguments.ledger.as_ref(), "LEDGER"), shown(arguments.log.as_ref(), "LOG")];
    let mut report = Report::of(&model, &text).named(names);
    if let Some(ledger) = &mut ledger {
        report = report.ledger(ledger);
    }
    if let Some(log) = &log {
        report = report.log(log);
    }
    let page = report.page()?;
    if ledger.is_none() && model.statement.facts.ledger.is_some() {
        tell(
            "without --ledger the page does not tell what is left of the budget, and nobody vouches for the coefficients",
        );
    }
    if !model.statement.dp {
        warn("the model is NOT PRIVATE, and the page says so");
    }
    match &arguments.out {
        Some(out) => write_file(out, page.as_bytes(), arguments.overwrite)?,
        None => print_data(&page)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The name of a file without its folder: a page goes to others.
fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

fn read_log(path: &Path) -> Fallible<String> {
    use std::io::Read as _;
    let unread = |e| Error::io(path, "read the log", e);
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(unread)?;
    file.take(MAX_LOG + 1).read_to_string(&mut text).map_err(unread)?;
    if text.len() as u64 > MAX_LOG {
        let cure = "leave --log out; `rhograd verify --log` checks it without a page";
        return Err(Error::input(path, "is longer than a page can show", cure));
    }
    Ok(text)
}
