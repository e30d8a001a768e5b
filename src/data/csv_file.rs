//! A CSV file as physical lines, each of them one record whatever it contains.

use std::collections::HashMap;
use std::path::Path;

use super::blocks::{Block, NO_CELLS, NO_LIBSVM_RECORD, NO_SINGLE_CELL, Scan, line_end, longest_line, scan, trim_line};
use super::dialect::Dialect;
use super::fields::Fields;
use super::source::{Source, Stamp};
use super::suggest::nearest;
use super::table::{Table, Wanted};
use super::value::{number, trim};
use crate::error::{Error, Fallible};

/// How much of the file is read at a time while its header is looked for.
const HEADER_BYTES: usize = 64 << 10;

/// Longest header line.
const MAX_HEADER_LENGTH: usize = 64 << 20;

/// Missing columns that a message names.
const MAX_NAMED: usize = 8;

/// A CSV file with its header read, in the usual or another [`Dialect`], plain or packed by gzip or zstd.
///
/// One physical line is one record: a quote that is opened and not closed ends with its line, so no
/// line can change how another one is read. A byte order mark and CRLF endings are accepted.
///
/// A line that is longer than [`longest_line`] allows, a public length, is no record, and memory does not grow with it. Records of
/// Parquet files have any length.
///
/// Records are read anew by every pass and never held as a whole. A file that is not the same any more is refused; what
/// is no regular file, such as a pipe, is read once into memory.
pub struct CsvFile {
    source: Source,
    header: Vec<String>,
    /// The place of each column.
    places: HashMap<String, usize>,
    body: u64,
    dialect: Dialect,
    #[cfg(feature = "libsvm")]
    libsvm: Option<std::sync::Arc<super::libsvm::Libsvm>>,
}

impl CsvFile {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// When the file cannot be read or unpacked, is empty, does not begin with a line of text, or names a
    /// column twice. All of these concern the header; nothing here depends on a record.
    pub fn open(path: &Path) -> Fallible<Self> {
        Self::open_in(path, Dialect::default())
    }

    /// Opens a file whose cells stand between other signs than commas, or whose numbers have a decimal comma, and reads its
    /// header; from here on it is the ordinary CSV that it stands for.
    ///
    /// # Errors
    /// When [`CsvFile::open`] would fail, or another dialect is named for a Parquet file, which has none.
    ///
    /// ```
    /// use rhograd::data::{CsvFile, Dialect};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("a.csv");
    /// std::fs::write(&path, "age;wage\n30;1,5\n").unwrap();
    /// let file = CsvFile::open_in(&path, Dialect::new(';', ',')?)?;
    /// assert_eq!(file.header(), ["age", "wage"]);
    /// file.each_line(|cells| {
    ///     assert_eq!(cells.number(1), Some(1.5));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rhograd::error::Error>(())
    /// ```
    pub fn open_in(path: &Path, dialect: Dialect) -> Fallible<Self> {
        if is_libsvm(path) {
            let problem = "is a libsvm file by its name, and its columns are not known here";
            return Err(Error::input(
                path,
                problem,
                "write a schema that names columns by their index, or give a CSV file",
            ));
        }
        let source = Source::open(path)?;
        if source.is_parquet() && !dialect.is_usual() {
            return Err(no_dialect(path, "a Parquet file"));
        }
        let bytes = first_line(&source)?;
        let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let end = start + line_end(&bytes[start..]);
        let line = trim_line(&bytes[start..end]);
        let text = match std::str::from_utf8(line) {
            Ok(text) if !text.contains('\0') => text,
            _ => {
                return Err(Error::input(path, "the first line is not text", "give a CSV file in UTF-8").at_line(1));
            }
        };
        if text.trim().is_empty() {
            let problem = if bytes.len() <= start { "the file is empty" } else { "the header line is empty" };
            return Err(Error::input(path, problem, "give a CSV file whose first line names the columns").at_line(1));
        }
        let mut fields = dialect.fields();
        fields.split(line);
        let header: Vec<String> = fields.iter().map(|f| String::from_utf8_lossy(trim(f)).into_owned()).collect();
        let mut places = HashMap::with_capacity(header.len());
        for (index, name) in header.iter().enumerate() {
            if places.insert(name.clone(), index).is_some() {
                let cure = if looks_like_data(&header).is_some() {
                    "does the file have a header? its first line must name the columns"
                } else {
                    "rename one of them"
                };
                let error = Error::input(path, "the header names a column twice", cure).at_line(1);
                // Without a header it is a record, of which nothing is told.
                return Err(if looks_like_data(&header).is_some() { error } else { error.in_column(name) });
            }
        }
        Ok(CsvFile {
            source,
            header,
            places,
            body: end as u64 + 1,
            dialect,
            #[cfg(feature = "libsvm")]
            libsvm: None,
        })
    }

    /// Opens a file for a target and features that are known: files whose names end in `.libsvm`, `.svm` or `.svmlight`
    /// are read as such, all others as [`CsvFile::open_in`] does, in the usual dialect.
    ///
    /// # Errors
    /// When [`CsvFile::open`] would fail; for a libsvm file, when a feature's name is no index, or this build cannot read it.
    pub fn open_for<'a>(path: &Path, target: &str, features: impl Iterator<Item = &'a str>) -> Fallible<Self> {
        Self::open_for_in(path, Dialect::default(), target, features)
    }

    /// Opens a file in a dialect for a target and features that are known.
    ///
    /// # Errors
    /// When [`CsvFile::open_for`] would fail, or another dialect is named for a libsvm or Parquet file, which have none.
    pub fn open_for_in<'a>(
        path: &Path,
        dialect: Dialect,
        target: &str,
        features: impl Iterator<Item = &'a str>,
    ) -> Fallible<Self> {
        match is_libsvm(path) {
            true if !dialect.is_usual() => Err(no_dialect(path, "a libsvm file by its name")),
            true => Self::open_libsvm(path, target, features),
            false => Self::open_in(path, dialect),
        }
    }

    #[cfg(feature = "libsvm")]
    fn open_libsvm<'a>(path: &Path, target: &str, features: impl Iterator<Item = &'a str>) -> Fallible<Self> {
        let features: Vec<&str> = features.collect();
        let format = super::libsvm::Libsvm::new(path, features.iter().copied())?;
        let header: Vec<String> = [target].into_iter().chain(features).map(String::from).collect();
        let places = header.iter().cloned().zip(0..).collect();
        Ok(CsvFile {
            source: Source::open(path)?,
            header,
            places,
            body: 0,
            dialect: Dialect::default(),
            libsvm: Some(format.into()),
        })
    }

    #[cfg(not(feature = "libsvm"))]
    fn open_libsvm<'a>(path: &Path, _: &str, _: impl Iterator<Item = &'a str>) -> Fallible<Self> {
        let problem = "is a libsvm file by its name, and this build has no reader for it";
        Err(Error::input(path, problem, "build with the feature libsvm, as is the default, or give a CSV file"))
    }

    /// Cells of the lines of this file.
    pub fn fields(&self) -> Fields {
        #[cfg(feature = "libsvm")]
        if let Some(format) = &self.libsvm {
            return Fields::of_libsvm(format.clone());
        }
        Fields::default()
    }

    /// How the file separates cells and writes decimals.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether cells stand between commas, as all records are handed on here.
    pub(crate) fn has_commas(&self) -> bool {
        #[cfg(feature = "libsvm")]
        return self.libsvm.is_none();
        #[cfg(not(feature = "libsvm"))]
        true
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        self.source.path()
    }

    /// Whether a column is declared to hold floating-point numbers, which texts never are.
    ///
    /// # Errors
    /// When the file cannot be read or has changed.
    pub(crate) fn is_floating(&self, column: &str) -> Fallible<bool> {
        match self.places.get(column) {
            Some(place) if self.source.is_parquet() => Ok(self.source.reader(false)?.floating().contains(place)),
            _ => Ok(false),
        }
    }

    /// The column names.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// Number of the line that holds the first record, counted from 1.
    pub fn first_line(&self) -> u64 {
        1 + u64::from(self.body > 0)
    }

    /// Position of a column.
    ///
    /// # Errors
    /// When the header lacks it.
    pub fn column(&self, name: &str) -> Fallible<usize> {
        self.places.get(name).copied().ok_or_else(|| self.lacking(&[name]))
    }

    /// Refuses a header that lacks any of these columns; names all of them, up to a few, and what may have been meant.
    ///
    /// # Errors
    /// When the header lacks one.
    pub fn require<'a>(&self, names: impl Iterator<Item = &'a str>) -> Fallible<()> {
        let lacking: Vec<&str> = names.filter(|name| !self.places.contains_key(*name)).collect();
        if lacking.is_empty() { Ok(()) } else { Err(self.lacking(&lacking)) }
    }

    fn lacking(&self, names: &[&str]) -> Error {
        let looks_split = self.header.len() == 1 && self.header[0].contains([';', '\t']);
        let cure = if looks_split {
            "separate columns by commas; on the command line, --separator names another sign".to_owned()
        } else if looks_like_data(&self.header).is_some() {
            "does the file have a header? its first line holds a number or an empty cell where names of columns belong; add \
             a line of names"
                .to_owned()
        } else {
            let known = || self.header.iter().map(String::as_str);
            let meant =
                |name: &&str| nearest(name, known()).map(|meant| format!("{name:?} may be {meant:?} in the file"));
            let meant: Vec<String> = names.iter().take(MAX_NAMED).filter_map(meant).collect();
            let hint = if meant.is_empty() { String::new() } else { format!("{}; ", meant.join(", ")) };
            format!("{hint}add the column to the file or take it out of the schema")
        };
        let others: Vec<String> = names[1..].iter().take(MAX_NAMED).map(|name| format!("{name:?}")).collect();
        let more = if names.len() > MAX_NAMED + 1 { " and more" } else { "" };
        let problem = if others.is_empty() {
            "the header lacks this column".to_owned()
        } else {
            format!("the header lacks this column, and {}{more}", others.join(", "))
        };
        Error::input(self.path(), problem, cure).at_line(1).in_column(names[0])
    }

    /// Why the header looks like a record and not like names of columns, and the number of the column, counted from 1, that
    /// says so; no cell is told.
    pub fn header_doubt(&self) -> Option<(usize, &'static str)> {
        looks_like_data(&self.header)
    }

    /// Size of the file in bytes, as it lies on the disk.
    pub fn size(&self) -> u64 {
        self.source.size()
    }

    /// Bytes of text behind the header, where that is known without reading: not for packed files.
    pub fn text_size(&self) -> Option<u64> {
        self.source.plain_size().map(|size| size.saturating_sub(self.body))
    }

    /// What the file system says about the file; `None` for what is no regular file.
    pub fn stamp(&self) -> Option<&Stamp> {
        self.source.stamp()
    }

    /// Reads all records in order, some blocks of lines at a time; the next blocks are read while `work` runs.
    ///
    /// Every block but the last has a multiple of `multiple` lines. `work` also hears how many bytes of the file have
    /// been read.
    ///
    /// # Errors
    /// When the file cannot be read or unpacked, changes meanwhile, or `work` fails.
    pub fn scan(&self, multiple: usize, mut work: impl FnMut(&[Block], u64) -> Fallible<()> + Send) -> Fallible<()> {
        self.scan_by(multiple, false, &mut work).map(drop)
    }

    /// Visits the cells of every line in order.
    ///
    /// # Errors
    /// When the file cannot be read or unpacked, changes meanwhile, or the work on its lines fails.
    pub fn each_line(&self, mut visit: impl FnMut(&Fields) -> Fallible<()> + Send) -> Fallible<()> {
        let mut fields = self.fields();
        self.scan(1, |blocks, _| {
            blocks.iter().flat_map(Block::lines).try_for_each(|line| {
                fields.split(line);
                visit(&fields)
            })
        })
    }

    /// Reads all records in order and returns a digest of all bytes of the file.
    ///
    /// XXH3 with 128 bits: it tells files apart that differ by accident, and costs next to nothing beside reading.
    ///
    /// # Errors
    /// When the file cannot be read or unpacked, changes meanwhile, or the work on its lines fails.
    pub fn scan_and_digest(
        &self,
        multiple: usize,
        mut work: impl FnMut(&[Block], u64) -> Fallible<()> + Send,
    ) -> Fallible<u128> {
        Ok(self.scan_by(multiple, true, &mut work)?.unwrap_or_default())
    }

    /// Whether columns can be read one by one, as [`CsvFile::scan_columns`] does.
    pub(crate) fn has_columns(&self) -> bool {
        self.source.is_parquet()
    }

    /// Reads columns of a Parquet file, each by its place in the header, and hands tables of `rows` records on, with the number of bytes read
    /// so far and that of records the file says it has; every cell means what its text means. The last table is shorter, and so is one whose
    /// texts are long, by whole tiles. Returns a digest of all bytes of the file, if asked for.
    ///
    /// # Errors
    /// When the file has no columns, cannot be read or unpacked, changes meanwhile, or `work` fails.
    #[cfg_attr(not(feature = "parquet"), expect(unused_variables, reason = "no file has columns there"))]
    pub(crate) fn scan_columns(
        &self,
        wanted: &[(usize, Wanted)],
        rows: usize,
        digest: bool,
        work: &mut dyn FnMut(&Table<'_>, u64, u64) -> Fallible<()>,
    ) -> Fallible<Option<u128>> {
        #[cfg(feature = "parquet")]
        if self.has_columns() {
            let name = |&(place, wanted): &(usize, Wanted)| Some((place, self.header.get(place)?.as_str(), wanted));
            return self.source.scan_columns(&wanted.iter().filter_map(name).collect::<Vec<_>>(), rows, digest, work);
        }
        Err(Error::input(self.path(), "has no columns that can be read one by one", "read its lines"))
    }

    fn scan_by(
        &self,
        multiple: usize,
        digest: bool,
        work: &mut (dyn FnMut(&[Block], u64) -> Fallible<()> + Send),
    ) -> Fallible<Option<u128>> {
        let columns = self.header.len();
        // One cell too many or too few, and for the other format a word without a colon: no record in any file.
        let replacement = match (self.has_commas(), columns) {
            (false, _) => NO_LIBSVM_RECORD,
            (true, 1) => NO_SINGLE_CELL,
            (true, _) => NO_CELLS,
        };
        let dialect = (!self.dialect.is_usual()).then_some(self.dialect);
        // Records of a Parquet file end where they end, and are in memory before they are lines.
        let longest = if self.source.is_parquet() { usize::MAX / 4 } else { longest_line(columns) };
        let how = Scan { skip: self.body, multiple, digest, longest, replacement, dialect };
        scan(&self.source, how, work)
    }

    /// The digest of [`CsvFile::scan_and_digest`], without unpacking.
    ///
    /// # Errors
    /// When the file cannot be read or changes meanwhile.
    pub fn digest(&self) -> Fallible<u128> {
        self.source.digest()
    }
}

fn no_dialect(path: &Path, what: &str) -> Error {
    Error::input(path, format!("is {what}, which has no separator"), "leave --separator and --decimal out")
}

/// Whether a file is of this kind, by its name: nothing in it says so.
fn is_libsvm(path: &Path) -> bool {
    let packed = path.extension().is_some_and(|e| e == "gz" || e == "zst");
    let path = if packed { path.with_extension("") } else { path.to_owned() };
    path.extension().is_some_and(|e| e == "libsvm" || e == "svm" || e == "svmlight")
}

/// The first cell of a header that is a number or empty.
fn looks_like_data(header: &[String]) -> Option<(usize, &'static str)> {
    header.iter().enumerate().find_map(|(index, name)| {
        let why = if name.is_empty() {
            "empty"
        } else if number(name.as_bytes()).is_some() {
            "a number"
        } else {
            return None;
        };
        Some((index + 1, why))
    })
}

/// At least the first line of a file.
fn first_line(source: &Source) -> Fallible<Vec<u8>> {
    let mut reader = source.reader(false)?;
    let (mut bytes, mut end) = (Vec::new(), 0);
    loop {
        bytes.resize((2 * end).max(HEADER_BYTES), 0);
        let wanted = bytes.len() - end;
        let count = reader.read(&mut bytes[end..])?;
        let found = memchr::memchr(b'\n', &bytes[end..end + count]).is_some();
        end += count;
        if found || count < wanted {
            bytes.truncate(end);
            return Ok(bytes);
        }
        if end > MAX_HEADER_LENGTH {
            let cure = "give a CSV file whose first line names the columns";
            return Err(Error::input(source.path(), "the first line does not end within 64 MiB", cure).at_line(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> (tempfile::TempPath, Fallible<CsvFile>) {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, bytes).unwrap();
        let file = CsvFile::open(&path);
        (path, file)
    }

    fn lines(csv: &CsvFile, multiple: usize) -> Vec<String> {
        let mut lines = Vec::new();
        csv.scan(multiple, |blocks, _| {
            for block in blocks {
                let before = lines.len();
                lines.extend(block.lines().map(|line| String::from_utf8_lossy(line).into_owned()));
                assert_eq!(lines.len() - before, block.line_count());
            }
            Ok(())
        })
        .unwrap();
        lines
    }

    #[test]
    fn a_byte_order_mark_and_crlf_are_accepted() {
        let (_path, csv) = file(b"\xef\xbb\xbfx,\"y\"\r\n1,2\r\n3,4");
        let csv = csv.unwrap();
        assert_eq!(csv.header(), ["x", "y"]);
        assert_eq!(lines(&csv, 1), ["1,2", "3,4"]);
    }

    #[test]
    fn a_file_that_changes_is_refused() {
        let refused = |result: Fallible<()>| {
            let message = result.unwrap_err().to_string();
            assert!(message.contains("changed while it was read") && message.contains("run again"), "{message}");
        };
        let text = format!("x\n{}", "1\n".repeat(20_000_000));
        let change: [fn(&Path); 3] = [
            |path| std::fs::write(path, "x\n1\n").unwrap(),
            |path| std::fs::OpenOptions::new().append(true).open(path).unwrap().set_len(1_000_000).unwrap(),
            |path| {
                use std::io::Write;
                std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"2\n").unwrap();
            },
        ];
        for change in change {
            // Between the header and the first record.
            let (path, csv) = file(text.as_bytes());
            change(&path);
            refused(csv.unwrap().scan(1, |_, _| Ok(())));
            // While records are read.
            let (path, csv) = file(text.as_bytes());
            let mut changed = false;
            refused(csv.unwrap().scan(1, |_, _| {
                if !std::mem::replace(&mut changed, true) {
                    change(&path);
                }
                Ok(())
            }));
        }
        let (path, csv) = file(b"x\n1\n");
        std::fs::remove_file(&path).unwrap();
        assert!(csv.unwrap().scan(1, |_, _| Ok(())).unwrap_err().to_string().contains("cannot read the data"));
    }

    #[test]
    fn libsvm_files_are_known_by_name() {
        let cases =
            [("a.svm", true), ("a.libsvm.gz", true), ("a.svmlight.zst", true), ("svm.csv", false), ("svm", false)];
        for (name, is) in cases {
            assert_eq!(is_libsvm(Path::new(name)), is, "{name}");
        }
    }

    #[test]
    fn blocks_cover_every_line_once() {
        let text = format!("x\n{}", (0..100).map(|i| format!("{i}\n")).collect::<String>());
        let (_path, csv) = file(text.as_bytes());
        let csv = csv.unwrap();
        for size in [1, 2, 7, 99, 100, 101] {
            assert_eq!(lines(&csv, size), (0..100).map(|i| i.to_string()).collect::<Vec<_>>(), "block of {size}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_no_record_and_moves_no_other_line() {
        for (header, place) in [("x,y", "\x18"), ("x", "\x18,")] {
            let longest = longest_line(header.split(',').count());
            for (length, whole) in [(longest, true), (longest + 1, false), (3 * longest + 7, false)] {
                let long = "7".repeat(length);
                let expected = if whole { long.as_str() } else { place };
                for (before, after, last) in
                    [(0, 3, "\n"), (3, 0, ""), (3, 0, "\r\n"), (40, 70_000, "\n"), (200_000, 9, "")]
                {
                    let text = [
                        format!("{header}\n"),
                        "1,2\n".repeat(before),
                        format!("{long}{}{long}", if after > 0 { "\n" } else { "\r\n" }),
                        if after > 0 { "\n" } else { last }.to_owned(),
                        "3,4\n".repeat(after),
                    ];
                    let (_path, csv) = file(text.concat().as_bytes());
                    let found = lines(&csv.unwrap(), 32);
                    assert_eq!(found.len(), before + 2 + after);
                    assert!(found[..before].iter().all(|line| line == "1,2"));
                    assert!(found[before] == expected && found[before + 1] == expected, "{length}, {before}, {after}");
                    assert!(found[before + 2..].iter().all(|line| line == "3,4"));
                }
            }
        }
    }

    #[test]
    fn misspelt_columns_get_a_suggestion_and_records_in_place_of_a_header_a_question() {
        let refused =
            |header: &str, name: &str| file(header.as_bytes()).1.unwrap().column(name).unwrap_err().to_string();
        let misspelt = refused("Age,hours per week\n1,2\n", "age");
        assert!(misspelt.contains("lacks this column") && misspelt.contains("\"age\" may be \"Age\""), "{misspelt}");
        let record = refused("37.25,secret\n1,2\n", "age");
        assert!(record.contains("have a header?") && !record.contains("37") && !record.contains("secret"), "{record}");
        assert_eq!(file(b"a,,b\n").1.unwrap().header_doubt(), Some((2, "empty")));
        assert_eq!(file(b"a,b,-1e3\n").1.unwrap().header_doubt(), Some((3, "a number")));
        assert_eq!(file(b"a,b1\n").1.unwrap().header_doubt(), None);
        let twice = file(b"1,1,x\n").1.err().unwrap().to_string();
        assert!(twice.contains("twice") && !twice.contains("\"1\""), "{twice}");
    }

    #[test]
    fn unusable_files_are_refused_by_their_header() {
        for (bytes, needle) in [
            (&b""[..], "empty"),
            (b"\n1,2\n", "empty"),
            (b"\x7fELF\0\0,\n", "not text"),
            (b"\xff\xfe\n", "not text"),
            (b"x,x\n", "twice"),
        ] {
            let message = file(bytes).1.err().map(|e| e.to_string()).unwrap_or_default();
            assert!(message.contains(needle), "{message}");
        }
        let csv = file(b"x;y\n").1.unwrap();
        assert!(csv.column("x").unwrap_err().to_string().contains("commas"));
    }
}
