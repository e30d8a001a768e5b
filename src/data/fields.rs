//! The cells of one line.

use super::value::{number, trim, value};

/// Whether a cell says in a usual way that there is nothing; such a cell is read like any other text.
pub(crate) fn is_gap(cell: &str) -> bool {
    const GAPS: [&str; 13] = ["", "?", "-", ".", "na", "n/a", "nan", "null", "none", "nil", "<na>", "nat", "missing"];
    GAPS.iter().any(|gap| cell.trim().eq_ignore_ascii_case(gap))
}

/// Whether a cell that is no number is one with a decimal comma, as `1,5` or `1.234,50`.
pub(crate) fn is_decimal_comma(cell: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let whole = |text: &str| text.trim_start_matches(['-', '+']).bytes().all(|b| b.is_ascii_digit() || b == b'.');
    cell.trim().rsplit_once(',').is_some_and(|(before, behind)| whole(before) && digits(behind))
}

/// The cells of one line; reused from line to line.
pub struct Fields {
    buffer: Vec<u8>,
    ends: Vec<usize>,
    reader: csv_core::Reader,
    separator: u8,
    #[cfg(feature = "libsvm")]
    libsvm: Option<std::sync::Arc<super::libsvm::Libsvm>>,
}

impl Default for Fields {
    fn default() -> Self {
        Fields::separated_by(b',')
    }
}

impl Fields {
    /// For lines whose cells stand between other signs than commas.
    pub(super) fn separated_by(separator: u8) -> Self {
        // `Reader::default()` lacks its transition table; the builder makes it.
        Fields {
            buffer: Vec::new(),
            ends: Vec::new(),
            // A line is a record, whatever stands in its cells: a lone carriage return ends none.
            reader: csv_core::ReaderBuilder::new()
                .delimiter(separator)
                .terminator(csv_core::Terminator::Any(b'\n'))
                .build(),
            separator,
            #[cfg(feature = "libsvm")]
            libsvm: None,
        }
    }

    /// For the lines of a libsvm file.
    #[cfg(feature = "libsvm")]
    pub(super) fn of_libsvm(format: std::sync::Arc<super::libsvm::Libsvm>) -> Self {
        Fields { libsvm: Some(format), ..Fields::default() }
    }

    /// Splits a line into its cells; quotes follow RFC 4180 within the line. [`CsvFile::fields`](super::CsvFile::fields)
    /// knows the kind of file.
    pub fn split(&mut self, line: &[u8]) {
        self.ends.clear();
        self.buffer.clear();
        #[cfg(feature = "libsvm")]
        if let Some(format) = &self.libsvm {
            // A line of another form has no cell at all.
            for cell in format.split(line).into_iter().flatten() {
                if !self.ends.is_empty() {
                    self.buffer.push(b',');
                }
                self.buffer.extend_from_slice(cell);
                self.ends.push(self.buffer.len());
            }
            return;
        }
        if memchr::memchr(b'"', line).is_some() {
            return self.split_quoted(line);
        }
        self.buffer.extend_from_slice(line);
        self.ends.extend(memchr::memchr_iter(self.separator, line));
        self.ends.push(line.len());
    }

    fn split_quoted(&mut self, line: &[u8]) {
        let (mut output, mut ends) = (vec![0; line.len() + 1], vec![0; line.len() + 1]);
        // Without this a line would be read differently after some earlier line.
        self.reader.reset();
        // The first byte alone, or a byte order mark were taken from the first cell of a line with quotes, and of no other.
        let (mut input, mut behind) = line.split_at(1);
        let (mut written, mut fields) = (0, 0);
        loop {
            let (result, read, wrote, ended) =
                self.reader.read_record(input, &mut output[written..], &mut ends[fields..]);
            input = &input[read..];
            written += wrote;
            fields += ended;
            if input.is_empty() && !behind.is_empty() {
                input = std::mem::take(&mut behind);
                continue;
            }
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

    /// The cells as they lie here, and where each ends; [`Fields::put_back`] takes them.
    pub(crate) fn laid_out(&self) -> (&[u8], &[usize]) {
        (&self.buffer, &self.ends)
    }

    /// Takes cells back in the place of those that are here.
    pub(crate) fn put_back(&mut self, buffer: &[u8], ends: impl Iterator<Item = usize>) {
        self.buffer.clear();
        self.buffer.extend_from_slice(buffer);
        self.ends.clear();
        self.ends.extend(ends.map(|end| end.min(buffer.len())));
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

    /// The number that a cell says in a numeric column: as [`Fields::number`], and 1 and 0 for `true` and `false`.
    pub fn value(&self, index: usize) -> Option<f64> {
        value(self.get(index))
    }

    /// A cell as a number; `None` when it is missing, unreadable or NaN. Infinities are numbers.
    pub fn number(&self, index: usize) -> Option<f64> {
        number(self.get(index))
    }

    /// All cells.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(cells("\""), [""]);
        // What stands in one cell does not change how another is read.
        assert_eq!(cells("\u{feff}5,u"), ["\u{feff}5", "u"]);
        assert_eq!(cells("\u{feff}5,\"u\""), ["\u{feff}5", "u"]);
        assert_eq!(cells("\u{feff}\"a,b\",\"u\"\"\""), ["\u{feff}\"a", "b\"", "u\""]);
    }
}
