//! Rows that Python's workers hold: parts of them, and the bridge over which the engine puts its questions.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rhograd::data::Schema;
use rhograd::error::{Error, Fallible};
use rhograd::preprocess::TableEncoder;
use rhograd::private::{Cluster, Worker};

use crate::columns::{Columns, GivenColumn};
use crate::errors::raised;

/// Adds what this file has to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Part>()?;
    module.add_function(wrap_pyfunction!(pack_part, module)?)
}

/// Encodes the rows of one part; the bytes, and what was counted, as JSON.
#[pyfunction]
#[pyo3(signature = (schema, columns, number))]
fn pack_part<'py>(
    py: Python<'py>,
    schema: &str,
    columns: Vec<GivenColumn<'py>>,
    number: u32,
) -> PyResult<(Bound<'py, PyBytes>, String)> {
    let schema = raised(py, Schema::parse(schema, Path::new("schema")))?;
    let columns = Columns::new(columns)?;
    let table = raised(py, columns.table())?;
    let (rows, report) = raised(py, TableEncoder::new(&schema, &table))?.encode();
    let packed = raised(py, Worker::pack(&rows, &schema, number))?;
    Ok((PyBytes::new(py, &packed), serde_json::to_string(&report).unwrap_or_default()))
}

/// One part of the rows on a worker, ready for questions.
#[pyclass(module = "rhograd._rhograd", frozen)]
pub struct Part(Mutex<Option<Worker>>);

#[pymethods]
impl Part {
    #[new]
    fn new(py: Python<'_>, packed: &[u8]) -> PyResult<Self> {
        Ok(Part(Mutex::new(Some(raised(py, Worker::new(packed))?))))
    }

    /// The answer to a question; `packed` is read again where the rows are needed as they were.
    fn answer<'py>(&self, py: Python<'py>, packed: &[u8], question: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let answered = py.detach(|| {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let worker = held.take().map_or_else(|| Worker::new(packed), Ok)?;
            let (worker, answer) = worker.answer(packed, question)?;
            *held = Some(worker);
            Ok(answer)
        });
        Ok(PyBytes::new(py, &raised(py, answered)?))
    }
}

/// A function of Python that brings the answers of all parts to a question.
pub struct Asked {
    ask: Py<PyAny>,
    /// What went wrong there, for whoever started the run: a message of a cluster may show rows, so the engine does not
    /// repeat it.
    fault: Fault,
}

/// Where an exception of a cluster is kept.
pub type Fault = Arc<Mutex<Option<PyErr>>>;

impl Asked {
    /// The bridge, and where it leaves what went wrong.
    pub fn new(ask: Py<PyAny>) -> (Self, Fault) {
        let fault = Fault::default();
        (Asked { ask, fault: fault.clone() }, fault)
    }
}

impl Cluster for Asked {
    fn ask(&self, question: &[u8]) -> Fallible<Vec<Vec<u8>>> {
        let answers: PyResult<Vec<Vec<u8>>> = Python::attach(|py| {
            let answers: Vec<Bound<'_, PyBytes>> = self.ask.bind(py).call1((PyBytes::new(py, question),))?.extract()?;
            Ok(answers.iter().map(|bytes| bytes.as_bytes().to_vec()).collect())
        });
        answers.map_err(|error| {
            *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            Error::refused("the cluster failed to answer", "look at its own message, and fit again")
        })
    }
}
