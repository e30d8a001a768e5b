//! JSON Schemas of files, and the readers that they are held against.

use std::path::Path;

use pyo3::prelude::*;
use rhograd::formats::Format;

use crate::errors::raised;

/// The JSON Schema of a format of files, as JSON.
#[pyfunction]
fn json_schema(py: Python<'_>, format: &str) -> PyResult<String> {
    raised(py, Format::named(format).and_then(Format::json_schema)).map(|schema| schema.to_string())
}

/// Reads a text of a format of files, and raises what is wrong with it.
#[pyfunction]
fn read_format(py: Python<'_>, format: &str, text: &str) -> PyResult<()> {
    raised(py, Format::named(format).and_then(|format| format.read(text, Path::new(format.name()))))
}

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(json_schema, module)?)?;
    module.add_function(wrap_pyfunction!(read_format, module)?)
}
