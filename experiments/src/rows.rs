//! Rows that an experiment makes up: their schema, the file that they lie in for a while, and training on them.

use std::path::Path;

use rhograd::data::{CsvFile, Schema, SchemaBuilder};
use rhograd::error::{Error, Fallible};
use rhograd::ledger::Ledger;
use rhograd::train::{Loaded, TrainConfig, Trained, load, train};
use tempfile::TempDir;

use crate::setup::noise;

/// A folder for files that are gone when it is dropped.
///
/// # Errors
/// When none can be made.
pub fn scratch() -> Fallible<TempDir> {
    tempfile::tempdir().map_err(|e| Error::io(&std::env::temp_dir(), "create a folder in it", e))
}

/// Writes a file.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, text: impl AsRef<[u8]>) -> Fallible<()> {
    std::fs::write(path, text).map_err(|e| Error::io(path, "write it", e))
}

/// A schema with numeric columns `x0`, `x1`, ... of these numbers, each between -1 and 1.
///
/// # Errors
/// When it is no schema, as without columns.
pub fn signs(schema: SchemaBuilder, columns: impl IntoIterator<Item = usize>) -> Fallible<Schema> {
    columns.into_iter().fold(schema, |schema, j| schema.numeric(format!("x{j}"), -1.0, 1.0)).build()
}

/// The header of rows with such columns and a target `y`.
pub fn header(columns: impl IntoIterator<Item = usize>) -> String {
    columns.into_iter().map(|j| format!("x{j},")).collect::<String>() + "y\n"
}

/// Trains on rows that lie in a file meanwhile; `look` sees the plan before, `then` the model and the file after.
///
/// # Errors
/// As training, and when the rows cannot be written.
pub fn trained_on<L, T>(
    text: &str,
    (config, schema): (&TrainConfig, Schema),
    seed: u64,
    look: impl FnOnce(&Loaded) -> L,
    then: impl FnOnce(Trained, &CsvFile, L) -> Fallible<T>,
) -> Fallible<T> {
    let folder = scratch()?;
    let path = folder.path().join("rows.csv");
    write(&path, text)?;
    let file = CsvFile::open(&path)?;
    let loaded = load(config, schema, &file, &|_, _| Ok(()))?;
    let seen = look(&loaded);
    let (trained, _) = train(loaded, &mut Ledger::in_memory()?, noise(seed), &mut |_| Ok(()))?;
    then(trained, &file, seen)
}
