//! A CSV file as physical lines, each of them one record whatever it contains.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::{Error, Fallible};

/// A CSV file in memory with its header read.
///
/// One physical line is one record: a quote that is opened and not closed ends with its line, so no
/// line can change how another one is read. A byte order mark and CRLF endings are accepted.
pub struct CsvFile {
    path: PathBuf,
    bytes: Vec<u8>,
    header: Vec<String>,
    body: usize,
}

impl CsvFile {
    /// Reads a file and its header.
    ///
    /// # Errors
    /// When the file cannot be read, is empty, does not begin with a line of text, or names a
    /// column twice. All of these concern the header; nothing here depends on a record.
    pub fn open(path: &Path) -> Fallible<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, "read the data", e))?;
        let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let end = line_end(&bytes, start);
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
        let mut fields = Fields::default();
        fields.split(line);
        let header: Vec<String> = fields.iter().map(|f| String::from_utf8_lossy(trim(f)).into_owned()).collect();
        for (index, name) in header.iter().enumerate() {
            if header[..index].contains(name) {
                return Err(Error::input(path, "the header names a column twice", "rename one of them")
                    .at_line(1)
                    .in_column(name));
            }
        }
        Ok(CsvFile { path: path.to_owned(), body: (end + 1).min(bytes.len()), bytes, header })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The column names.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// Position of a column.
    ///
    /// # Errors
    /// When the header lacks it.
    pub fn column(&self, name: &str) -> Fallible<usize> {
        self.header.iter().position(|h| h == name).ok_or_else(|| {
            let looks_split = self.header.len() == 1 && self.header[0].contains([';', '\t']);
            let cure = if looks_split {
                "separate columns by commas"
            } else {
                "add the column to the file or take it out of the schema"
            };
            Error::input(&self.path, "the header lacks this column", cure).at_line(1).in_column(name)
        })
    }

    /// Size of the records in bytes.
    pub fn body_bytes(&self) -> usize {
        self.bytes.len() - self.body
    }

    /// Byte ranges of consecutive groups of `lines` physical lines (fewer in the last).
    pub fn blocks(&self, lines: usize) -> Vec<Range<usize>> {
        let mut blocks = Vec::new();
        let (mut start, mut count) = (self.body, 0);
        for newline in memchr::memchr_iter(b'\n', &self.bytes[self.body..]) {
            count += 1;
            if count == lines {
                let end = self.body + newline + 1;
                blocks.push(start..end);
                (start, count) = (end, 0);
            }
        }
        if start < self.bytes.len() {
            blocks.push(start..self.bytes.len());
        }
        blocks
    }

    /// The physical lines of a block, without their line endings.
    pub fn lines(&self, block: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let bytes = &self.bytes[..block.end];
        let mut at = block.start;
        std::iter::from_fn(move || {
            if at >= bytes.len() {
                return None;
            }
            let end = line_end(bytes, at);
            let line = trim_line(&bytes[at..end]);
            at = end + 1;
            Some(line)
        })
    }
}

/// Index of the newline at or after `start`, or the length.
fn line_end(bytes: &[u8], start: usize) -> usize {
    memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |offset| start + offset)
}

fn trim_line(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A cell without surrounding blanks.
pub(super) fn trim(cell: &[u8]) -> &[u8] {
    cell.trim_ascii()
}

/// The cells of one line; reused from line to line.
pub struct Fields {
    buffer: Vec<u8>,
    ends: Vec<usize>,
    reader: csv_core::Reader,
}

impl Default for Fields {
    fn default() -> Self {
        // `Reader::default()` lacks its transition table; `new` builds it.
        Fields { buffer: Vec::new(), ends: Vec::new(), reader: csv_core::Reader::new() }
    }
}

impl Fields {
    /// Splits a line into its cells; quotes follow RFC 4180 within the line.
    pub fn split(&mut self, line: &[u8]) {
        self.ends.clear();
        self.buffer.clear();
        if memchr::memchr(b'"', line).is_some() {
            return self.split_quoted(line);
        }
        self.buffer.extend_from_slice(line);
        self.ends.extend(memchr::memchr_iter(b',', line));
        self.ends.push(line.len());
    }

    fn split_quoted(&mut self, line: &[u8]) {
        let (mut output, mut ends) = (vec![0; line.len() + 1], vec![0; line.len() + 1]);
        // Without this a line would be read differently after some earlier line.
        self.reader.reset();
        let (mut input, mut written, mut fields) = (line, 0, 0);
        loop {
            let (result, read, wrote, ended) =
                self.reader.read_record(input, &mut output[written..], &mut ends[fields..]);
            input = &input[read..];
            written += wrote;
            fields += ended;
            // An empty input tells the reader that the line is over; it then closes the record.
            match result {
                csv_core::ReadRecordResult::InputEmpty => {}
                _ => break,
            }
        }
        // Same layout as the plain path: one separator byte after each cell but the last.
        let mut from = 0;
        for &end in &ends[..fields] {
            if !self.ends.is_empty() {
                self.buffer.push(b',');
            }
            self.buffer.extend_from_slice(&output[from..end]);
            self.ends.push(self.buffer.len());
            from = end;
        }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A cell without surrounding blanks; empty when the line is too short.
    pub fn get(&self, index: usize) -> &[u8] {
        let Some(&end) = self.ends.get(index) else { return b"" };
        let start = if index == 0 { 0 } else { self.ends[index - 1] + 1 };
        trim(&self.buffer[start..end])
    }

    /// A cell as a number; `None` when it is missing, unreadable or NaN. Infinities are numbers.
    pub fn number(&self, index: usize) -> Option<f64> {
        std::str::from_utf8(self.get(index)).ok()?.parse().ok().filter(|v: &f64| !v.is_nan())
    }

    /// All cells.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(bytes: &[u8]) -> Fallible<CsvFile> {
        let mut temporary = tempfile::NamedTempFile::new().unwrap();
        temporary.write_all(bytes).unwrap();
        CsvFile::open(temporary.path())
    }

    fn cells(line: &str) -> Vec<String> {
        let mut fields = Fields::default();
        fields.split(line.as_bytes());
        fields.iter().map(|f| String::from_utf8_lossy(f).into_owned()).collect()
    }

    #[test]
    fn lines_split_into_cells() {
        assert_eq!(cells("a, b ,,c"), ["a", "b", "", "c"]);
        assert_eq!(cells(""), [""]);
        assert_eq!(cells("\"a,b\",\"c\"\"d\",e"), ["a,b", "c\"d", "e"]);
        assert_eq!(cells("1,\"open,2"), ["1", "open,2"]);
        assert_eq!(cells("\"\""), [""]);
    }

    #[test]
    fn a_byte_order_mark_and_crlf_are_accepted() {
        let csv = file(b"\xef\xbb\xbfx,\"y\"\r\n1,2\r\n3,4").unwrap();
        assert_eq!(csv.header(), ["x", "y"]);
        let lines: Vec<_> = csv.blocks(1).into_iter().flat_map(|b| csv.lines(b).collect::<Vec<_>>()).collect();
        assert_eq!(lines, [b"1,2", b"3,4"]);
    }

    #[test]
    fn blocks_cover_every_line_once() {
        let text = format!("x\n{}", (0..100).map(|i| format!("{i}\n")).collect::<String>());
        let csv = file(text.as_bytes()).unwrap();
        for size in [1, 2, 7, 99, 100, 101] {
            let numbers: Vec<_> = csv
                .blocks(size)
                .into_iter()
                .flat_map(|b| csv.lines(b).map(|l| String::from_utf8_lossy(l).into_owned()).collect::<Vec<_>>())
                .collect();
            assert_eq!(numbers, (0..100).map(|i| i.to_string()).collect::<Vec<_>>(), "block of {size}");
        }
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
            let message = file(bytes).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(message.contains(needle), "{message}");
        }
        let csv = file(b"x;y\n").unwrap();
        assert!(csv.column("x").unwrap_err().to_string().contains("commas"));
    }
}
