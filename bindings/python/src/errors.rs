//! Refusals of the engine as Python exceptions, in the words of Python's parameters.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rhograd::error::{Error, ErrorKind, Fallible};

/// Calls the engine in this thread, with Python free to go on.
///
/// # Errors
/// What it refuses, or that it stopped at a fault of its own.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Fallible<T> + Send) -> PyResult<T> {
    // A panic's own message may hold a value of a row.
    let result = py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|_| internal(py))?;
    raised(py, result)
}

/// A fault of the engine's own; what it says of itself may hold a value of a row, and went to standard error alone.
pub fn internal(py: Python<'_>) -> PyErr {
    let text =
        "the engine stopped at a fault of its own, which is told on standard error; what was charged stays charged";
    of_class(py, "InternalError", text)
}

/// The engine's result as Python's.
pub fn raised<T>(py: Python<'_>, result: Fallible<T>) -> PyResult<T> {
    result.map_err(|error| exception(py, &error))
}

/// The exception, of a class from `rhograd._errors`, that an error of the engine stands for.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::Parameter { .. } => "ParameterError",
        ErrorKind::Input { .. } | ErrorKind::Io { .. } => "DataError",
        ErrorKind::Ledger { .. } | ErrorKind::Unpublished { .. } => "LedgerError",
        ErrorKind::Numerical { .. } => "NumericalError",
        // Whatever kinds are added are refusals to whoever does not know them.
        _ => "RefusedError",
    };
    of_class(py, class, &in_parameters(&error.to_string()))
}

fn of_class(py: Python<'_>, class: &str, text: &str) -> PyErr {
    let made = py.import("rhograd._errors").and_then(|m| m.getattr(class)).and_then(|class| class.call1((text,)));
    made.map_or_else(|_| PyRuntimeError::new_err(text.to_owned()), PyErr::from_value)
}

/// The engine names flags of its command line; `--learning-rate` is `learning_rate` here.
fn in_parameters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, flag) = (&rest[..at], &rest[at + 2..]);
        out.push_str(before);
        let end =
            flag.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')).unwrap_or(flag.len());
        let name = flag[..end].trim_end_matches('-');
        if name.is_empty() {
            out.push_str("--");
        }
        out.push_str(&name.replace('-', "_"));
        rest = &flag[name.len()..];
    }
    out + rest
}
