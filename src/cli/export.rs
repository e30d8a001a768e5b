//! `export`: a model in other forms.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::arguments::same_file;
use super::output::{print_data, write_file};
use crate::error::{Error, Fallible};
use crate::report::sql;
use crate::train::{ModelFile, check_destination};

#[derive(Clone, Copy, ValueEnum)]
enum FormArgument {
    /// A query that predicts every row of a table: SQLite, PostgreSQL, DuckDB
    Sql,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  rhograd export fair.model.json --to sql --table people > predict.sql\n  \
                  rhograd export fair.model.json --to sql --out predict.sql\n\nThe query adds columns with the predictions of `rhograd predict`, up to \
                  rounding. Numbers outside their bounds\ncount as the nearer bound, NULL as their middle; categories are compared as text. \
                  Models of --features rich\nare refused: no query holds what their columns do together.")]
pub(super) struct ExportArguments {
    /// Model file written by `rhograd train`
    model: PathBuf,
    /// The form
    #[arg(long, value_enum, default_value = "sql")]
    to: FormArgument,
    /// The table with the rows
    #[arg(long, value_name = "NAME", default_value = "rows")]
    table: String,
    /// Where it is written [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace a file that exists already
    #[arg(long)]
    overwrite: bool,
}

pub(super) fn export(arguments: &ExportArguments) -> Fallible<ExitCode> {
    if let Some(out) = &arguments.out {
        if same_file(out, &arguments.model) {
            return Err(Error::parameter("--out", "would overwrite the model", "name another file"));
        }
        check_destination(out, arguments.overwrite, false)?;
    }
    let model = ModelFile::read(&arguments.model)?;
    let text = match arguments.to {
        FormArgument::Sql => sql(&model, &arguments.table)?,
    };
    match &arguments.out {
        Some(out) => write_file(out, text.as_bytes(), arguments.overwrite)?,
        None => print_data(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}
