//! Refusals of the engine as Python exceptions, in the words of Python's parameters.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rhograd::error::{Error, ErrorKind, Fallible};

/// The engine's result as Python's.
pub fn raised<T>(py: Python<'_>, result: Fallible<T>) -> PyResult<T> {
    result.map_err(|error| exception(py, &error))
}

/// The exception, of a class from `rhograd._errors`, that an error of the engine stands for.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::Parameter { .. } => "ParameterError",
        ErrorKind::Input { .. } | ErrorKind::Io { .. } => "DataError",
        ErrorKind::Ledger { .. } => "LedgerError",
        ErrorKind::Numerical { .. } => "NumericalError",
        // Whatever kinds are added are refusals to whoever does not know them.
        _ => "RefusedError",
    };
    let text = in_parameters(&error.to_string());
    let made = py.import("rhograd._errors").and_then(|m| m.getattr(class)).and_then(|class| class.call1((&text,)));
    made.map_or_else(|_| PyRuntimeError::new_err(text), PyErr::from_value)
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
