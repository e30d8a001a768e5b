//! A released model.

use std::path::{Path, PathBuf};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadwriteArray1, PyReadwriteArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyType;
use rhograd::error::{Error, Fallible};
use rhograd::ledger::Ledger;
use rhograd::report::{About, Document, Report, card, sql};
use rhograd::statement::{Answer, WhatIf};
use rhograd::text::visible;
use rhograd::train::{
    Edit, Evidence, Explanation, MAX_CLAIMS, ModelFile, Predictions, PublicKey, SecretKey, Signature, StagedFile,
    contributions, contributors, effects, explain_table, predict, predict_matrix_into, predict_sides, predict_table,
    predicts_by_rows, publish_with, reliability, reshape, verify,
};
use serde_json::json;

use crate::columns::{Columns, GivenColumn, each_of_matrix};
use crate::errors::{detached, raised};
use crate::request::one_of;
use crate::supervise::aside;

/// A released model with its privacy statement, read once from its text.
#[pyclass(frozen, module = "rhograd._rhograd")]
pub struct Model {
    file: ModelFile,
    text: String,
}

/// Predictions of one piece after the other.
#[derive(Default)]
struct Made {
    values: Vec<f64>,
    outputs: usize,
}

impl Made {
    fn add(&mut self, predictions: Predictions) -> Fallible<()> {
        self.outputs = predictions.outputs();
        self.values.extend(predictions.into_values());
        Ok(())
    }

    /// One line a row.
    fn lines(self, py: Python<'_>) -> PyResult<Bound<'_, PyArray2<f64>>> {
        let outputs = self.outputs.max(1);
        let rows = self.values.len() / outputs;
        PyArray1::from_vec(py, self.values).reshape([rows, outputs])
    }
}

fn misfit() -> Error {
    Error::parameter("room", "does not fit the matrix", "make it with a line for each row, one after the other")
}

/// Takes the first of some room.
fn cut<'a, T>(room: &mut &'a mut [T], size: usize) -> &'a mut [T] {
    let all = std::mem::take(room);
    let (first, rest) = all.split_at_mut(size.min(all.len()));
    *room = rest;
    first
}

/// Name, value, standard error and interval of one effect.
type EffectRow = (String, f64, Option<f64>, Option<(f64, f64)>);

impl Model {
    /// A model and the text that it was written as.
    pub fn new(file: ModelFile, text: String) -> Self {
        Model { file, text }
    }

    fn signature(&self, key: &Path, ledger: Option<PathBuf>) -> Fallible<String> {
        let key = SecretKey::read(key)?;
        let signature = match ledger {
            Some(path) => Signature::of(&self.file, &self.text, &mut Ledger::open_to_read(path)?, &key)?,
            None => Signature::of_own(&self.file, &self.text, None, &key)?,
        };
        signature.to_json()
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
        let mut made = Made::default();
        columns.each_look(py, |piece| made.add(predict_table(&self.file, piece)?))?;
        made.lines(py)
    }

    /// As `predict`, of a matrix of numbers whose columns are those of `names`, into `room`, one line a row; with `positive` probabilities of both
    /// labels, of which the model's is the first (0) or the second (1).
    #[pyo3(signature = (names, matrix, room, positive=None))]
    fn predict_matrix(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        matrix: Bound<'_, PyArray2<f64>>,
        mut room: PyReadwriteArray2<'_, f64>,
        positive: Option<usize>,
    ) -> PyResult<()> {
        let (rows, width) = (room.shape()[0], room.shape()[1]);
        let fits = room.is_c_contiguous() && rows == matrix.shape()[0];
        if !fits || positive.is_some_and(|positive| positive > 1) {
            return raised(py, Err(misfit()));
        }
        let mut room = room.as_slice_mut()?;
        each_of_matrix(py, names.len(), &matrix, predicts_by_rows(&self.file, &names), |piece| {
            let own = cut(&mut room, piece.nrows() * width);
            predict_matrix_into(&self.file, &names, piece, positive, own)
        })
    }

    /// The first, second or third of `labels` where a probability is below one half, one half, or above, of a matrix as for `predict_matrix`, into
    /// `room`.
    fn predict_sides(
        &self,
        py: Python<'_>,
        names: Vec<String>,
        matrix: Bound<'_, PyArray2<f64>>,
        labels: [i64; 3],
        mut room: PyReadwriteArray1<'_, i64>,
    ) -> PyResult<()> {
        if !room.is_c_contiguous() || room.shape()[0] != matrix.shape()[0] {
            return raised(py, Err(misfit()));
        }
        let mut room = room.as_slice_mut()?;
        each_of_matrix(py, names.len(), &matrix, predicts_by_rows(&self.file, &names), |piece| {
            predict_sides(&self.file, &names, piece, labels, cut(&mut room, piece.nrows()))
        })
    }

    /// What the model says of each column, as JSON.
    #[pyo3(signature = (pairs=4))]
    fn explain(&self, py: Python<'_>, pairs: usize) -> PyResult<String> {
        detached(py, || {
            let explanation = Explanation::of(&self.file, pairs)?;
            serde_json::to_string(&explanation).map_err(|e| Error::numerical("effects", e.to_string()))
        })
    }

    /// Predicted probabilities beside what was observed of rows held out, as JSON; empty where nothing was told or nothing stands out.
    fn reliability(&self, py: Python<'_>) -> PyResult<String> {
        let margins = self.file.evaluation.as_ref().and_then(|evaluation| evaluation.margins.as_ref());
        let curve = margins.map(reliability).unwrap_or_default();
        let text = serde_json::to_string(&curve).map_err(|e| Error::numerical("calibration", e.to_string()));
        raised(py, text)
    }

    /// The names of what adds up to a prediction, in the order of the columns of `contributions`, each of which has one a label.
    fn contribution_names(&self) -> Vec<String> {
        contributors(&self.file)
    }

    /// What adds up to each prediction, one line a row.
    fn contributions<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<GivenColumn<'py>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns = Columns::new(columns)?;
        let mut values = Vec::new();
        columns.each_look(py, |piece| {
            values.extend(explain_table(&self.file, piece)?);
            Ok(())
        })?;
        let width = contributions(&self.file).len();
        let rows = values.len() / width;
        PyArray1::from_vec(py, values).reshape([rows, width])
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

    /// The model with other shapes, by edits as JSON, and how far each column was moved, as JSON.
    fn reshape(&self, py: Python<'_>, edits: &str) -> PyResult<(Self, String)> {
        detached(py, || {
            let edits = serde_json::from_str::<Vec<Edit>>(edits).map_err(|e| {
                Error::parameter("edits", format!("are none that are known: {e}"), "give edits as documented")
            })?;
            let (file, moved) = reshape(&self.file, &self.text, &edits)?;
            let text = file.to_json();
            Ok((Model { file, text }, json!(moved).to_string()))
        })
    }

    /// What was checked of the statement, of the log and in the ledger, and whether it held; at most `claims` different claims and
    /// choices are confirmed. Of an edited model `source` is the released one.
    #[pyo3(signature = (log=None, ledger=None, claims=MAX_CLAIMS, source=None))]
    fn verify(
        &self,
        py: Python<'_>,
        log: Option<&str>,
        ledger: Option<PathBuf>,
        claims: usize,
        source: Option<Py<Model>>,
    ) -> PyResult<Vec<(String, bool)>> {
        let source = source.as_ref().map(|source| (&source.get().file, source.get().text.as_str()));
        let check = || {
            let mut ledger = ledger.map(Ledger::open_to_read).transpose()?;
            let mut log = log.map(str::as_bytes);
            let log = log.as_mut().map(|log| log as &mut dyn std::io::BufRead);
            let evidence =
                Evidence { log, ledger: ledger.as_mut(), source, most_claims: claims, ..Evidence::default() };
            verify(&self.file, &self.text, evidence)
        };
        let verified = detached(py, check)?;
        Ok(verified.checks.into_iter().map(|check| (check.what, check.held)).collect())
    }

    /// A page about the model for whoever must approve it; verified first, with the text of the log and the ledger that are given.
    #[pyo3(signature = (log=None, ledger=None))]
    fn report(&self, py: Python<'_>, log: Option<&str>, ledger: Option<PathBuf>) -> PyResult<String> {
        detached(py, || {
            let mut ledger = ledger.map(Ledger::open_to_read).transpose()?;
            let mut report = Report::of(&self.file, &self.text);
            if let Some(ledger) = &mut ledger {
                report = report.ledger(ledger);
            }
            if let Some(log) = log {
                report = report.log(log);
            }
            report.page()
        })
    }

    /// A document about the model: "registry", "model-card" or "nist", with what no model tells as JSON.
    #[pyo3(signature = (kind, about=None))]
    fn document(&self, py: Python<'_>, kind: &str, about: Option<&str>) -> PyResult<String> {
        detached(py, || {
            let kinds =
                [("registry", Document::Registry), ("model-card", Document::ModelCard), ("nist", Document::Guidelines)];
            let document = one_of("kind", kind, kinds)?;
            let about = about.map(|text| About::parse(text, Path::new("about"))).transpose()?;
            document.of(&self.file, about.as_ref())
        })
    }

    /// A query that predicts every row of a table.
    #[pyo3(signature = (table="rows"))]
    fn to_sql(&self, py: Python<'_>, table: &str) -> PyResult<String> {
        detached(py, || sql(&self.file, table))
    }

    /// Statement and strongest effects as HTML, for a notebook.
    fn card(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || card(&self.file))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        self.card(py)
    }

    /// The answers of the statement to questions such as "group:5", as JSON.
    fn what_if(&self, py: Python<'_>, questions: Vec<String>) -> PyResult<String> {
        let answer = || -> Fallible<Vec<Answer>> {
            let asked = questions.iter().map(|question| question.parse::<WhatIf>());
            asked.map(|question| self.file.statement.what_if(question?)).collect()
        };
        Ok(json!(detached(py, answer)?).to_string())
    }

    /// Who says that the coefficients are those of the run: "ledger", "signature", both, or nobody; nobody where a check fails. Of an edited
    /// model they are those of `source`, the released one, and the edits are made again.
    #[pyo3(signature = (ledger=None, key=None, signature=None, claims=MAX_CLAIMS, source=None))]
    fn authenticated_by(
        &self,
        py: Python<'_>,
        ledger: Option<PathBuf>,
        key: Option<PathBuf>,
        signature: Option<&str>,
        claims: usize,
        source: Option<Py<Model>>,
    ) -> PyResult<Vec<&'static str>> {
        let source = source.as_ref().map(|source| (&source.get().file, source.get().text.as_str()));
        let check = || {
            let mut ledger = ledger.map(Ledger::open_to_read).transpose()?;
            let key = key.as_deref().map(PublicKey::read).transpose()?;
            let signature = signature.map(|text| Signature::parse(text, Path::new("signature"))).transpose()?;
            let signature = signature.as_ref().zip(key.as_ref());
            let ledger = ledger.as_mut();
            let evidence = Evidence { ledger, signature, source, most_claims: claims, ..Evidence::default() };
            verify(&self.file, &self.text, evidence)
        };
        let found = detached(py, check)?;
        let vouching = [(found.by_ledger, "ledger"), (found.by_signature, "signature")];
        Ok(vouching.into_iter().filter(|(vouches, _)| *vouches && found.held()).map(|(_, name)| name).collect())
    }

    /// Writes the model file, and with a secret key its signature beside it: the model appears last, so none is seen unsigned.
    ///
    /// With a ledger, what that notes as the result of the run is signed.
    #[pyo3(signature = (path, overwrite=false, key=None, ledger=None))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        overwrite: bool,
        key: Option<PathBuf>,
        ledger: Option<PathBuf>,
    ) -> PyResult<()> {
        let save = || {
            let signature = key.map(|key| self.signature(&key, ledger)).transpose()?;
            let mut model = StagedFile::new(&path, overwrite)?;
            model.append(self.text.as_bytes())?;
            let signature = signature.map(|text| {
                let mut file = StagedFile::new(&Signature::beside(&path), true)?;
                file.append(text.as_bytes()).map(|()| file)
            });
            publish_with(Some(model), signature.transpose()?)
        };
        detached(py, save)
    }

    /// The text of a signature by a secret key; with a ledger, of what that notes as the result of the run.
    #[pyo3(signature = (key, ledger=None))]
    fn sign(&self, py: Python<'_>, key: PathBuf, ledger: Option<PathBuf>) -> PyResult<String> {
        detached(py, || self.signature(&key, ledger))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (String,)) {
        (py.get_type::<Model>(), (self.text.clone(),))
    }

    fn __repr__(&self) -> String {
        format!("<rhograd model: {}>", visible(&self.file.statement.statement))
    }
}

/// Makes a key to sign models with: `path` for its owner alone, `path` with .pub for everybody, which is returned.
#[pyfunction]
fn new_key(py: Python<'_>, path: PathBuf) -> PyResult<PathBuf> {
    detached(py, || SecretKey::generate()?.write(&path))
}

/// Keeps the memory of this whole process out of core dumps and of reach of other processes of the same user, for good.
#[pyfunction]
fn hide_memory() -> PyResult<()> {
    Ok(rhograd::process::hide_memory()?)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Model>()?;
    module.add_function(wrap_pyfunction!(new_key, module)?)?;
    module.add_function(wrap_pyfunction!(hide_memory, module)?)
}
