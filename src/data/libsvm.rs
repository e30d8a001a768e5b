//! Lines of libsvm files: a label, then `index:value` for every value that is not zero.

use std::collections::HashMap;
use std::path::Path;

use crate::error::{Error, Fallible};

/// Which cells of a line are wanted.
///
/// Columns are named by their index. An index that a line leaves out is zero, as the format has it, and not missing; an
/// index that nobody declared is left out. `#` begins a comment, `qid:` stands for a column that is never read. Labels
/// and values are cells like all others: `+1` spells `1`.
#[derive(Clone, Debug)]
pub(super) struct Libsvm {
    /// The cell of each index; the label is cell 0.
    cells: HashMap<u64, usize, foldhash::fast::FixedState>,
}

impl Libsvm {
    /// The columns of features; the label is called what the schema calls it.
    ///
    /// # Errors
    /// When a feature's name is no index.
    pub(super) fn new<'a>(path: &Path, features: impl Iterator<Item = &'a str>) -> Fallible<Self> {
        let cells = features.enumerate().map(|(at, name)| match index(name.as_bytes()) {
            Some(index) => Ok((index, at + 1)),
            None => {
                let cure = "name columns by their index, such as \"7\"";
                Err(Error::input(path, "a libsvm file has no column of this name", cure).in_column(name))
            }
        });
        Ok(Libsvm { cells: cells.collect::<Fallible<_>>()? })
    }

    /// The wanted cells of a line, the label first; `None` where the line is no record.
    pub(super) fn split<'a>(&self, line: &'a [u8]) -> Option<Vec<&'a [u8]>> {
        let text = &line[..memchr::memchr(b'#', line).unwrap_or(line.len())];
        let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        // No value is empty, so an empty cell is one that was not given.
        let mut found: Vec<&[u8]> = vec![b""; self.cells.len() + 1];
        found[0] = words.next()?;
        for word in words {
            let colon = memchr::memchr(b':', word)?;
            let (name, value) = (&word[..colon], &word[colon + 1..]);
            if name == b"qid" {
                continue;
            }
            let index = index(name).filter(|_| !value.is_empty())?;
            match self.cells.get(&index) {
                Some(&cell) if found[cell].is_empty() => found[cell] = value,
                // Given twice.
                Some(_) => return None,
                None => {}
            }
        }
        found.iter_mut().filter(|cell| cell.is_empty()).for_each(|cell| *cell = b"0");
        Some(found)
    }
}

/// An index without signs or leading zeros, so that each has one name.
fn index(name: &[u8]) -> Option<u64> {
    let plain = name.iter().all(u8::is_ascii_digit) && (name.len() == 1 || !name.starts_with(b"0"));
    std::str::from_utf8(name).ok().filter(|_| plain)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &str) -> Option<Vec<String>> {
        let format = Libsvm::new(Path::new("a.svm"), ["3", "10", "1"].into_iter()).unwrap();
        let text = |cell: &&[u8]| String::from_utf8_lossy(cell).into_owned();
        Some(format.split(line.as_bytes())?.iter().map(text).collect())
    }

    #[test]
    fn absent_indices_are_zero_and_unknown_ones_left_out() {
        assert_eq!(cells("+1 1:0.5 3:x 4:9 # 10:7").unwrap(), ["+1", "x", "0", "0.5"]);
        assert_eq!(cells("  -1\tqid:4  10:-2 1:3 ").unwrap(), ["-1", "0", "-2", "3"]);
        assert_eq!(cells("0").unwrap(), ["0", "0", "0", "0"]);
    }

    #[test]
    fn lines_of_another_form_are_no_records() {
        for line in
            ["", "  ", "# only this", "1 3", "1 3:", "1 3:1 3:1", "1 :1", "1 a:1", "1 +3:1", "1 03:1", "1 3:1,4:1 x"]
        {
            assert_eq!(cells(line), None, "{line:?}");
        }
    }

    #[test]
    fn columns_are_named_by_index() {
        let error = Libsvm::new(Path::new("a.svm"), ["1", "age"].into_iter()).unwrap_err().to_string();
        assert!(error.contains("\"age\"") && error.contains("index"), "{error}");
    }
}
