//! A released model.

use std::path::{Path, PathBuf};

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyType;
use rhograd::ledger::Ledger;
use rhograd::train::{Evidence, ModelFile, effects, predict, predict_table, verify};

use crate::columns::{Columns, GivenColumn};
use crate::errors::{detached, raised};
use crate::supervise::aside;

/// A released model with its privacy statement, read once from its text.
#[pyclass(frozen, module = "rhograd._rhograd")]
pub struct Model {
    file: ModelFile,
    text: String,
}

/// Name, value, standard error and interval of one effect.
type EffectRow = (String, f64, Option<f64>, Option<(f64, f64)>);

impl Model {
    /// A model and the text that it was written as.
    pub fn new(file: ModelFile, text: String) -> Self {
        Model { file, text }
    }
}

#[pymethods]
impl Model {
    #[new]
    fn parse(py: Python<'_>, text: String) -> PyResult<Self> {
        let file = raised(py, ModelFile::parse(&text, Path::new("model")))?;
        Ok(Model { file, text })
    }

    /// The model file, byte for byte.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The coefficients in the user's units, the intercept last.
    fn effects(&self) -> Vec<EffectRow> {
        let row = |effect: rhograd::train::Effect| {
            let interval = effect.interval();
            (effect.name, effect.value, effect.error, interval)
        };
        effects(&self.file).into_iter().map(row).collect()
    }

    /// Predictions, one line a row: a probability, a score, a value, or the probabilities of all labels.
    fn predict<'py>(&self, py: Python<'py>, columns: Vec<GivenColumn<'py>>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns = Columns::new(columns)?;
        let (mut values, mut outputs) = (Vec::new(), 1);
        columns.each_piece(py, None, |piece| {
            let predictions = predict_table(&self.file, piece)?;
            outputs = predictions.outputs();
            values.extend(predictions.into_values());
            Ok(())
        })?;
        let rows = values.len() / outputs;
        PyArray1::from_vec(py, values).reshape([rows, outputs])
    }

    /// Predictions for the lines of a file; zeros where a line is no record.
    fn predict_file<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let read = || self.file.open_data(&path).and_then(|file| predict(&self.file, &file));
        let predictions = aside(py, None, read)?;
        let outputs = predictions.outputs();
        let values = predictions.into_values();
        let rows = values.len() / outputs;
        PyArray1::from_vec(py, values).reshape([rows, outputs])
    }

    /// What was checked of the statement, of the log and in the ledger, and whether it held.
    #[pyo3(signature = (log=None, ledger=None))]
    fn verify(&self, py: Python<'_>, log: Option<&str>, ledger: Option<PathBuf>) -> PyResult<Vec<(String, bool)>> {
        let check = || {
            let mut ledger = ledger.map(Ledger::open_to_read).transpose()?;
            let mut log = log.map(str::as_bytes);
            let log = log.as_mut().map(|log| log as &mut dyn std::io::BufRead);
            verify(&self.file, &self.text, Evidence { log, ledger: ledger.as_mut(), ..Evidence::default() })
        };
        let verified = detached(py, check)?;
        Ok(verified.checks.into_iter().map(|check| (check.what, check.held)).collect())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (String,)) {
        (py.get_type::<Model>(), (self.text.clone(),))
    }

    fn __repr__(&self) -> String {
        format!("<rhograd model: {}>", self.file.statement.statement)
    }
}
