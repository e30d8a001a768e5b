//! Rows that Python's workers hold: parts of them, and the bridge over which the engine puts its questions.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rhograd::data::{CsvFile, Schema};
use rhograd::error::{Error, Fallible};
use rhograd::preprocess::{self, Encoder, PersonSizes, Survey, TableEncoder};
use rhograd::private::{Cluster, Worker};
use rhograd::train;
use serde::{Serialize, de::DeserializeOwned};

use crate::columns::{Columns, GivenColumn};
use crate::errors::{detached, raised};
use crate::pool;
use crate::request;
use crate::supervise::{Caller, aside};

/// Adds what this file has to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Part>()?;
    module.add_function(wrap_pyfunction!(pack_part, module)?)?;
    module.add_function(wrap_pyfunction!(survey_part, module)?)?;
    module.add_function(wrap_pyfunction!(person_places, module)?)?;
    module.add_function(wrap_pyfunction!(person_sizes, module)?)?;
    module.add_function(wrap_pyfunction!(check_parts, module)?)?;
    module.add_function(wrap_pyfunction!(pack_file, module)?)
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
    let table = columns.encoded(py, &schema, None)?;
    let report = serde_json::to_string(&table.report).unwrap_or_default();
    let packed = detached(py, || Worker::pack_table(table, &schema, number))?;
    Ok((PyBytes::new(py, &packed), report))
}

/// For each row the place of its identifier, as 32-bit integers of this machine; `column` tells persons apart.
#[pyfunction]
#[pyo3(signature = (column))]
fn person_places<'py>(py: Python<'py>, column: GivenColumn<'py>) -> PyResult<Bound<'py, PyBytes>> {
    let mut places = Vec::new();
    Columns::new(vec![column])?.whole(py, None, |table| {
        for name in table.names() {
            let own = preprocess::person_places(table.column(name)?);
            places.extend(own.into_iter().flat_map(|place| i32::from(place).to_ne_bytes()));
        }
        Ok(())
    })?;
    Ok(PyBytes::new(py, &places))
}

/// Looks at the rows of one part for a check; what was found, as JSON, for the custodian alone.
#[pyfunction]
#[pyo3(signature = (schema, columns))]
fn survey_part(py: Python<'_>, schema: &str, columns: Vec<GivenColumn<'_>>) -> PyResult<String> {
    let schema = raised(py, Schema::parse(schema, Path::new("schema")))?;
    let mut found = Survey::default();
    Columns::new(columns)?.whole(py, None, |table| {
        found = TableEncoder::new(&schema, table)?.survey()?.1;
        Ok(())
    })?;
    as_json(&found)
}

/// How many persons of one part have how many rows, as JSON, for the custodian alone; `column` tells persons apart.
#[pyfunction]
#[pyo3(signature = (column))]
fn person_sizes(py: Python<'_>, column: GivenColumn<'_>) -> PyResult<String> {
    let mut sizes = PersonSizes::default();
    Columns::new(vec![column])?.whole(py, None, |table| {
        for name in table.names() {
            sizes = PersonSizes::of(table.column(name)?);
        }
        Ok(())
    })?;
    as_json(&sizes)
}

/// What a check says of parts that were looked at, in the order of their rows, as JSON; `persons` are the sizes of parts in which persons
/// are together, and `columns` those that were given.
#[pyfunction]
#[pyo3(signature = (request, schema, parts, persons, columns))]
fn check_parts(
    py: Python<'_>,
    request: &str,
    schema: &str,
    parts: Vec<String>,
    persons: Vec<String>,
    columns: Vec<String>,
) -> PyResult<String> {
    let schema = raised(py, Schema::parse(schema, Path::new("schema")))?;
    let config = raised(py, request::config(request))?;
    let checked = detached(py, || {
        let parts: Vec<Survey> = found(&parts, "parts", "survey_batch")?;
        let persons: Vec<PersonSizes> = found(&persons, "persons", "sizes_batch")?;
        train::check_parts(Some(&config), &schema, &parts, &persons, &columns)
    })?;
    as_json(&checked)
}

/// What looks at parts said, one text for each. The texts may hold cells, so the message shows none.
fn found<T: DeserializeOwned>(texts: &[String], argument: &str, maker: &str) -> Fallible<Vec<T>> {
    let unknown = || {
        let problem = "hold what no look at a part has found";
        Error::parameter(argument, problem, format!("pass what {maker} returned"))
    };
    texts.iter().map(|text| serde_json::from_str(text).map_err(|_| unknown())).collect()
}

fn as_json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// Encodes the rows of a file as one part; the bytes, and what was counted, as JSON.
#[pyfunction]
#[pyo3(signature = (schema, path, number))]
fn pack_file<'py>(
    py: Python<'py>,
    schema: &str,
    path: PathBuf,
    number: u32,
) -> PyResult<(Bound<'py, PyBytes>, String)> {
    let schema = raised(py, Schema::parse(schema, Path::new("schema")))?;
    let pack = || {
        let file = CsvFile::open_for(&path, &schema.target, schema.features().map(|(name, _)| name))?;
        let (rows, report) = Encoder::new(&schema, &file, true)?.encode_grouped(&file, &|_| Ok(()))?;
        Ok((Worker::pack_encoded(rows, &report, &schema, number)?, report))
    };
    let (packed, report) = aside(py, None, pack)?;
    Ok((PyBytes::new(py, &packed), serde_json::to_string(&report).unwrap_or_default()))
}

/// One part of the rows on a worker, ready for questions.
#[pyclass(module = "rhograd._rhograd", frozen)]
pub struct Part(Mutex<Option<Worker>>);

#[pymethods]
impl Part {
    #[new]
    fn new(py: Python<'_>, packed: &[u8]) -> PyResult<Self> {
        Ok(Part(Mutex::new(Some(detached(py, || Worker::new(packed))?))))
    }

    /// The answer to a question; `packed` is read again where the rows are needed as they were, and without it the answer is None then.
    #[pyo3(signature = (question, packed = None))]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        question: &[u8],
        packed: Option<&[u8]>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        // Another question to the same part is answered one after the other: what waits holds no threads.
        let answer = detached(py, || {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let pool = pool::lend(None)?;
            let known = held.take();
            let (worker, answer) = pool.install(|| match (known, packed) {
                (Some(worker), None) => worker.answer_as_held(question).map(|(worker, answer)| (Some(worker), answer)),
                (None, None) => Ok((None, None)),
                (worker, Some(packed)) => {
                    let worker = worker.map_or_else(|| Worker::new(packed), Ok)?;
                    worker.answer(packed, question).map(|(worker, answer)| (Some(worker), Some(answer)))
                }
            })?;
            *held = worker;
            Ok(answer)
        })?;
        Ok(answer.map(|answer| PyBytes::new(py, &answer)))
    }
}

/// A cluster behind a function of Python, which the thread that called us calls.
pub struct Asked(pub Caller);

impl Cluster for Asked {
    fn ask(&self, question: &[u8]) -> Fallible<Vec<Vec<u8>>> {
        self.0.ask(question)
    }
}
