//! `rhograd account eval`: queries to the accountant, from a file or standard input.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::output::print_data;
use crate::calculator;
use crate::error::{Error, Fallible};
use crate::text::visible_json;

const USAGE: &str = "\
Examples:
  rhograd account eval queries.jsonl
  rhograd account eval - < queries.jsonl > answers.jsonl
  echo '{\"id\": 1, \"query\": \"pure_dp_to_zcdp\", \"params\": {\"epsilon\": 1.0}}' | rhograd account eval -
  rhograd account eval --list

FILE holds JSON lines of {\"id\", \"query\", \"params\"}, or one document with a list \"points\" of
them. One JSON object a line comes out for each, in order: {\"id\", \"answer\"} or {\"id\", \"error\"};
a line that is no query gets {\"id\", \"line\", \"error\"}, with its number, and the others are
answered all the same.

Exit code: 0 a line was written for every query, errors included; 2 the input cannot be read.";

/// The usage, and every kind of query with its parameters.
fn long_usage() -> String {
    let mut text = format!("{USAGE}\n\nQueries and their parameters, [optional]:\n");
    for kind in calculator::signatures() {
        let optional = kind.optional.iter().map(|name| format!("[{name}]"));
        let parameters: Vec<_> = kind.required.iter().map(|name| (*name).to_owned()).chain(optional).collect();
        text.push_str(&format!("  {}: {}\n", kind.query, parameters.join(", ")));
    }
    text
}

#[derive(Args)]
#[command(after_help = format!("{USAGE}\n\n--help lists the queries and their parameters."), after_long_help = long_usage())]
pub(super) struct EvalArguments {
    /// File of queries, - for standard input
    #[arg(required_unless_present = "list")]
    file: Option<PathBuf>,
    /// Name the queries
    #[arg(long)]
    list: bool,
}

pub(super) fn eval(arguments: &EvalArguments) -> Fallible<ExitCode> {
    let Some(path) = arguments.file.as_ref().filter(|_| !arguments.list) else {
        print_data(&(calculator::QUERIES.join("\n") + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    };
    let text = match path.to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(path),
    };
    let text = text.map_err(|e| Error::io(path, "read the queries", e))?;
    for question in calculator::read_queries(&text)? {
        print_data(&(visible_json(&calculator::answer_line(&question)) + "\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
