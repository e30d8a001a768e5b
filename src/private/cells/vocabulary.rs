//! Which values a column holds, and how many rows hold each.

use std::collections::BTreeMap;

use crate::data::Fields;
use crate::privacy::Scope;

/// Longer cells are free text, not values.
const LONGEST: usize = 200;

/// Values of a column with the number of rows that hold them; which ones there are is as private as how often.
///
/// Cannot be read, printed or copied; [`crate::private::Permit::open`] opens what is frequent.
///
/// ```compile_fail,E0616
/// fn read(vocabulary: rhograd::private::Vocabulary) -> usize {
///     vocabulary.counts.len() // private field
/// }
/// ```
#[must_use = "a vocabulary is of no use unless a permit opens it"]
pub struct Vocabulary {
    pub(in crate::private) counts: BTreeMap<String, u64>,
    pub(in crate::private) weight: u64,
    pub(in crate::private) scope: Scope,
}

/// A column and its counts so far.
pub(super) struct Counts(pub(super) BTreeMap<String, u64>, usize);

impl Counts {
    pub(super) fn new(column: usize) -> Self {
        Counts(BTreeMap::new(), column)
    }

    /// Counts at most one value of a row.
    pub(super) fn add(&mut self, fields: &Fields) {
        let cell = fields.get(self.1);
        let Ok(text) = std::str::from_utf8(cell) else { return };
        if text.is_empty() || text.len() > LONGEST || text.trim() != text {
            return;
        }
        match self.0.get_mut(text) {
            Some(count) => *count += 1,
            None => {
                self.0.insert(text.to_owned(), 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_for_one_value_at_most() {
        let mut counts = Counts::new(1);
        let mut fields = Fields::default();
        let long = "y".repeat(LONGEST + 1);
        for cell in [&b"a"[..], b" a ", b"b", b"", b"\xff", b"\xc2\xa0a", long.as_bytes(), b"\"a,b\""] {
            fields.split(&[b"0,", cell].concat());
            counts.add(&fields);
        }
        let seen: Vec<_> = counts.0.into_iter().collect();
        assert_eq!(seen, [("a".into(), 2), ("a,b".into(), 1), ("b".into(), 1)]);
    }
}
