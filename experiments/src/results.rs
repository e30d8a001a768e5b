//! Measurements as lines of a CSV, written as they come, so that a stopped run resumes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use rhograd::error::{Error, Fallible};
use rhograd::train::sha256_hex;

/// Digits of the fingerprint that marks what a line was measured with.
const FINGERPRINT: usize = 12;

/// What becomes of measurements that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// They are kept, and what is missing is measured.
    Resume,
    /// Everything is measured anew.
    Fresh,
    /// Nothing is measured: what is missing is left out, and a picture drawn of the rest.
    Only,
}

/// Measurements of one configuration, in memory and in a file.
///
/// The first column of the file is the fingerprint of the configuration, then come the columns of the key, then the
/// measured values.
pub struct Results {
    path: PathBuf,
    /// Where new ones go; nowhere if nothing is measured.
    file: Option<File>,
    setup: String,
    header: Vec<String>,
    keys: usize,
    rows: Vec<Vec<String>>,
}

impl Results {
    /// Opens or begins a file; `configuration` is everything besides the key that a value depends on.
    ///
    /// Lines of another configuration are dropped, and so is a last line that was not written to its end; all lines are where
    /// everything is measured anew. Where nothing is measured the file stays as it is.
    ///
    /// # Errors
    /// When the file cannot be read or written, and where nothing is measured if no line is of this configuration.
    pub fn open(path: &Path, keys: &[&str], values: &[&str], configuration: &str, earlier: Earlier) -> Fallible<Self> {
        let setup = sha256_hex(configuration.as_bytes())[..FINGERPRINT].to_owned();
        let header: Vec<String> = ["setup"].iter().chain(keys).chain(values).map(|name| (*name).to_owned()).collect();
        if earlier == Earlier::Only {
            let rows = surviving(&Results::text(path)?, &header, &setup);
            if rows.is_empty() {
                return Err(Error::input(path, "has no measurement of this set-up", "run the experiment"));
            }
            return Ok(Results { path: path.to_owned(), file: None, setup, header, keys: keys.len(), rows });
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, "create it", e))?;
        }
        let rows = match std::fs::read_to_string(path) {
            Ok(text) if earlier == Earlier::Resume => surviving(&text, &header, &setup),
            Ok(_) => Vec::new(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(Error::io(path, "read the earlier results", e)),
        };
        let mut text = line(&header)?;
        for row in &rows {
            text.push_str(&line(row)?);
        }
        // In one move: a run that stops here loses nothing.
        let partial = path.with_extension("csv.partial");
        std::fs::write(&partial, text).map_err(|e| Error::io(&partial, "write it", e))?;
        std::fs::rename(&partial, path).map_err(|e| Error::io(path, "replace it", e))?;
        let file = OpenOptions::new().append(true).open(path).map_err(|e| Error::io(path, "append to it", e))?;
        Ok(Results { path: path.to_owned(), file: Some(file), setup, header, keys: keys.len(), rows })
    }

    /// Reads a file whose first columns behind the set-up are this many of a key, whatever it was measured with, to draw it: data that it
    /// depends on need not be there.
    ///
    /// # Errors
    /// When the file cannot be read, or its lines are of none or of several set-ups.
    pub fn read(path: &Path, keys: usize) -> Fallible<Self> {
        let text = Results::text(path)?;
        let header =
            csv::Reader::from_reader(text.as_bytes()).headers().map(|cells| cells.iter().map(str::to_owned).collect());
        let header: Vec<String> = header.map_err(|e| Error::numerical("results", e.to_string()))?;
        let setup = text.lines().nth(1).and_then(|line| line.split(',').next()).unwrap_or_default().to_owned();
        let rows = surviving(&text, &header, &setup);
        if rows.is_empty() || rows.len() + 1 != text.lines().count() || header.len() <= keys {
            return Err(Error::input(path, "has lines of none or of several set-ups", "run the experiment"));
        }
        Ok(Results { path: path.to_owned(), file: None, setup, header, keys, rows })
    }

    fn text(path: &Path) -> Fallible<String> {
        std::fs::read_to_string(path).map_err(|e| Error::io(path, "read the earlier results", e))
    }

    /// The names of what was measured.
    pub fn values(&self) -> &[String] {
        &self.header[self.keys + 1..]
    }

    /// Whether a measurement with this key is there, or is not to be made.
    pub fn has(&self, key: &[String]) -> bool {
        self.file.is_none() || self.knows(key)
    }

    fn knows(&self, key: &[String]) -> bool {
        self.rows.iter().any(|row| row[1..=self.keys] == *key)
    }

    /// Number of measurements.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether nothing has been measured.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes one measurement down; a key that is there already is not written again.
    ///
    /// # Errors
    /// When the line does not fit the columns or cannot be written.
    pub fn add(&mut self, key: &[String], values: &[String]) -> Fallible<()> {
        if self.knows(key) {
            return Ok(());
        }
        let Some(file) = &mut self.file else {
            return Err(Error::numerical("results", "nothing is measured while figures are drawn"));
        };
        let row: Vec<String> = [self.setup.clone()].iter().chain(key).chain(values).cloned().collect();
        if key.len() != self.keys || row.len() != self.header.len() {
            return Err(Error::numerical("results", format!("{} cells for {} columns", row.len(), self.header.len())));
        }
        let text = line(&row)?;
        file.write_all(text.as_bytes()).map_err(|e| Error::io(&self.path, "append to it", e))?;
        self.rows.push(row);
        Ok(())
    }

    /// All measurements.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { header: &self.header, cells })
    }

    /// The values of a column over all measurements that a condition picks.
    pub fn column(&self, name: &str, picked: impl Fn(&Row<'_>) -> bool) -> Vec<f64> {
        self.rows().filter(|row| picked(row)).map(|row| row.number(name)).collect()
    }
}

/// One measurement.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    header: &'a [String],
    cells: &'a [String],
}

impl Row<'_> {
    /// The cell of a column; empty when there is no such column.
    pub fn text(&self, column: &str) -> &str {
        self.header.iter().position(|name| name == column).map_or("", |at| self.cells[at].as_str())
    }

    /// The cell as a number; NaN, which no claim survives, when it is none.
    pub fn number(&self, column: &str) -> f64 {
        self.text(column).parse().unwrap_or(f64::NAN)
    }

    /// Whether the cell is this number.
    pub fn is(&self, column: &str, value: f64) -> bool {
        self.number(column) == value
    }
}

/// A measured number with seven digits, more than any of them deserves.
pub fn cell(value: f64) -> String {
    format!("{value:.6e}").parse::<f64>().map_or_else(|_| value.to_string(), |rounded| rounded.to_string())
}

/// Complete lines of the same header and configuration.
fn surviving(text: &str, header: &[String], setup: &str) -> Vec<Vec<String>> {
    let complete = text.rfind('\n').map_or("", |end| &text[..=end]);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(complete.as_bytes());
    let mut rows = reader.records().flatten().map(|record| record.iter().map(str::to_owned).collect::<Vec<_>>());
    if rows.next().as_deref() != Some(header) {
        return Vec::new();
    }
    rows.filter(|row| row.len() == header.len() && row[0] == setup).collect()
}

fn line(cells: &[String]) -> Fallible<String> {
    let failed = |e: String| Error::numerical("results", e);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(cells).map_err(|e| failed(e.to_string()))?;
    let bytes = writer.into_inner().map_err(|e| failed(e.to_string()))?;
    String::from_utf8(bytes).map_err(|e| failed(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn open(path: &Path, configuration: &str) -> Results {
        Results::open(path, &["n", "seed"], &["error"], configuration, Earlier::Resume).unwrap()
    }

    #[test]
    fn a_stopped_run_resumes_without_its_broken_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.csv");
        let mut results = open(&path, "a");
        results.add(&words(&["10", "1"]), &words(&["0.5"])).unwrap();
        results.add(&words(&["10", "2"]), &words(&["0.25"])).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 2]).unwrap();
        let mut results = open(&path, "a");
        assert!(results.has(&words(&["10", "1"])) && !results.has(&words(&["10", "2"])));
        results.add(&words(&["10", "2"]), &words(&["0.25"])).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(open(&path, "a").column("error", |row| row.is("n", 10.0)), [0.5, 0.25]);
    }

    #[test]
    fn a_changed_configuration_starts_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.csv");
        open(&path, "a").add(&words(&["10", "1"]), &words(&["0.5"])).unwrap();
        assert_eq!(open(&path, "a").len(), 1);
        assert!(open(&path, "b").is_empty());
        open(&path, "b").add(&words(&["10", "1"]), &words(&["0.5"])).unwrap();
        assert!(Results::open(&path, &["n", "seed"], &["error"], "b", Earlier::Fresh).unwrap().is_empty());
        assert!(Results::open(&path, &["n", "seed"], &["other"], "b", Earlier::Resume).unwrap().is_empty());
    }

    #[test]
    fn figures_are_drawn_of_what_is_there_and_nothing_is_measured_or_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.csv");
        let only = |configuration: &str| Results::open(&path, &["n", "seed"], &["error"], configuration, Earlier::Only);
        assert!(only("a").is_err() && !path.exists());
        open(&path, "a").add(&words(&["10", "1"]), &words(&["0.5"])).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut results = only("a").unwrap();
        assert!(results.has(&words(&["99", "1"])) && results.add(&words(&["99", "1"]), &words(&["1"])).is_err());
        assert_eq!(results.column("error", |_| true), [0.5]);
        assert!(only("b").is_err(), "another set-up");
        let read = Results::read(&path, 2).unwrap();
        assert_eq!((read.values(), read.column("error", |_| true)), (&words(&["error"])[..], vec![0.5]));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        std::fs::write(
            &path,
            format!("{text}{}", text.lines().nth(1).unwrap().replacen(|_: char| true, "zz", 1) + "\n"),
        )
        .unwrap();
        assert!(Results::read(&path, 2).is_err(), "two set-ups");
    }

    #[test]
    fn cells_keep_seven_digits() {
        assert_eq!(cell(0.123_456_789), "0.1234568");
        assert_eq!(cell(f64::NAN), "NaN");
    }
}
