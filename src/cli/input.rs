//! Where data come from and how they are written: `-`, `--separator`, `--decimal`.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};

use super::help::READING;
use crate::data::{CsvFile, Dialect};
use crate::error::{Error, Fallible};

/// Standard input as a file.
const STANDARD_INPUT: &str = "/dev/stdin";

/// Reads the path of data; `-` is standard input.
pub(super) fn data_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| if path == Path::new("-") { STANDARD_INPUT.into() } else { path })
}

/// Whether data lie in no file that another could lie beside, and are read once, into memory.
pub(super) fn is_passing(data: &Path) -> bool {
    let descriptor = data == Path::new(STANDARD_INPUT) || data.starts_with("/dev/fd");
    descriptor || std::fs::metadata(data).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// What must be the same for data when a run goes on: length and time of change of a file, else a digest of all bytes; and the
/// dialect.
pub(super) fn identity(file: &CsvFile) -> Fallible<String> {
    let (path, dialect) = (file.path(), file.dialect().key());
    if is_passing(path) {
        return Ok(format!("{:032x}{dialect}", file.digest()?));
    }
    let facts = std::fs::metadata(path).map_err(|e| Error::io(path, "read the data", e))?;
    Ok(format!("{} {:?}{dialect}", facts.len(), facts.modified().ok()))
}

/// How a CSV file separates cells and writes decimals.
#[derive(Args)]
pub(super) struct DialectArguments {
    /// Sign between cells of CSV: a comma, a semicolon, tab, or one of | : ^ ~ [default: a comma]
    #[arg(long, value_name = "SIGN", value_parser = sign, help_heading = READING, hide_short_help = true)]
    separator: Option<char>,
    /// Sign before the decimals of numbers, a point or a comma [default: a point]
    ///
    /// With a comma, 1,5 is one and a half, and a cell such as 1.500 is no number, for it may mean fifteen hundred. A schema
    /// writes numbers with a point all the same.
    #[arg(long, value_name = "SIGN", value_parser = sign, help_heading = READING, hide_short_help = true)]
    decimal: Option<char>,
}

impl DialectArguments {
    /// The dialect that was asked for.
    pub(super) fn dialect(&self) -> Fallible<Dialect> {
        if self.separator.is_none() && self.decimal == Some(',') {
            let cure =
                "say what stands between cells, as in --separator ';'; with --separator , such numbers are in quotes";
            return Err(Error::parameter("--separator", "is missing beside a decimal comma", cure));
        }
        Dialect::new(self.separator.unwrap_or(','), self.decimal.unwrap_or('.'))
            .map_err(|error| error.named(|name| ["separator", "decimal"].contains(&name).then(|| format!("--{name}"))))
    }
}

/// Reads one character; `tab` and `\\t` are a tab.
fn sign(text: &str) -> Result<char, String> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        _ if text == "tab" || text == "\\t" => Ok('\t'),
        (Some(sign), None) => Ok(sign),
        _ => Err("write one character, as in ';', or tab".into()),
    }
}
