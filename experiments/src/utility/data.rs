//! The data sets: files that were given, or those of the repository split four to one.

use std::path::{Path, PathBuf};

use rhograd::data::{Schema, Task};
use rhograd::error::{Error, Fallible};
use rhograd::train::sha256_hex;

use crate::rows::write;

/// A training and a test file with their schema.
pub(crate) struct DataSet {
    pub(crate) name: String,
    pub(crate) train: PathBuf,
    pub(crate) test: PathBuf,
    pub(crate) schema: Schema,
    /// Lines of the training file; used where the relation makes them public.
    pub(crate) rows: u64,
    /// Names of what is measured.
    pub(crate) metrics: &'static [&'static str],
    /// Changes with every byte of the files and the schema.
    pub(crate) fingerprint: String,
}

impl DataSet {
    fn new(train: PathBuf, test: PathBuf) -> Fallible<Self> {
        let stem = train.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = stem.strip_suffix("_train").unwrap_or(&stem).to_owned();
        let mut schema = Schema::read(&train.with_file_name(format!("{name}.schema.json")))?;
        // The number of rows stays private where the relation lets it.
        schema.rows = None;
        let read = |path: &Path| std::fs::read(path).map_err(|e| Error::io(path, "read it", e));
        let (train_bytes, test_bytes) = (read(&train)?, read(&test)?);
        let rows = train_bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count().saturating_sub(1);
        let metrics: &[&str] = match (schema.task, schema.classes()) {
            (Task::Classification, None) => &["accuracy", "auc"],
            (Task::Classification, Some(_)) => {
                let cure = "declare \"positive\" in the schema, so that there are two labels";
                return Err(Error::input(
                    &train,
                    "has more than two labels, for which there is no reference here",
                    cure,
                ));
            }
            (Task::Regression, _) => &["r2"],
        };
        let parts = [schema.fingerprint(), sha256_hex(&train_bytes), sha256_hex(&test_bytes)];
        Ok(DataSet { name, train, test, schema, rows: rows as u64, metrics, fingerprint: parts.join(" ") })
    }
}

/// Data sets of the repository.
pub(crate) const OWN: [&str; 2] = ["fair", "randhie"];

/// What was asked for: names of data sets of the repository, and pairs of files; without any the former.
pub(crate) fn sets(asked: &[PathBuf], scratch: &Path) -> Fallible<Vec<DataSet>> {
    let usual = OWN.map(PathBuf::from);
    let asked = if asked.is_empty() { &usual } else { asked };
    let mut sets = Vec::new();
    let mut words = asked.iter();
    while let Some(word) = words.next() {
        sets.push(match OWN.iter().find(|name| Path::new(name) == word) {
            Some(name) => split(name, scratch)?,
            None => {
                let cure = "give files in pairs: TRAIN.csv TEST.csv";
                let test = words.next().ok_or_else(|| Error::input(word, "has no test file beside it", cure))?;
                DataSet::new(word.clone(), test.clone())?
            }
        });
    }
    Ok(sets)
}

/// Every fifth line goes to the test file.
fn split(name: &str, folder: &Path) -> Fallible<DataSet> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(format!("{name}.csv"));
    let text = std::fs::read_to_string(&source).map_err(|e| Error::io(&source, "read it", e))?;
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let mut parts = [format!("{header}\n"), format!("{header}\n")];
    for (index, line) in lines.enumerate() {
        let part = &mut parts[usize::from(index % 5 == 4)];
        part.push_str(line);
        part.push('\n');
    }
    let paths = ["train", "test"].map(|part| folder.join(format!("{name}_{part}.csv")));
    for (path, text) in paths.iter().zip(&parts) {
        write(path, text)?;
    }
    let schema = folder.join(format!("{name}.schema.json"));
    std::fs::copy(source.with_extension("schema.json"), &schema).map_err(|e| Error::io(&schema, "write it", e))?;
    let [train, test] = paths;
    DataSet::new(train, test)
}
