//! The command line program, inside the module.

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::prelude::*;

/// Runs a command line, the name of the program first; the exit code.
///
/// Flags of memory are set for this whole process, so it is for a process of its own: `python -m rhograd` and the script `rhograd`.
#[pyfunction]
fn command_line(py: Python<'_>, words: Vec<OsString>) -> u8 {
    let code = py.detach(|| rhograd::cli::main_of(words));
    // The standard library tells equality alone.
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(1)
}

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(command_line, module)?)
}
