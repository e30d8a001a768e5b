//! `json-schema`: what a kind of file may hold, for editors and for programs that read such files.

use std::process::ExitCode;

use clap::Args;

use super::output::print_data;
use crate::error::{Error, Fallible};
use crate::formats::Format;

#[derive(Args)]
#[command(after_help = "Examples:
  rhograd json-schema schema > rhograd-schema.json
  rhograd json-schema model > rhograd-model.json")]
pub(super) struct JsonSchemaArguments {
    /// Kind of file
    #[arg(value_enum)]
    format: Format,
}

pub(super) fn json_schema(arguments: &JsonSchemaArguments) -> Fallible<ExitCode> {
    let schema = arguments.format.json_schema()?;
    let text = serde_json::to_string_pretty(&schema).map_err(|e| Error::numerical("JSON Schema", e.to_string()))?;
    print_data(&(text + "\n"))?;
    Ok(ExitCode::SUCCESS)
}
