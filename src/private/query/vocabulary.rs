//! Which values a column holds, and how many rows hold each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::describe::acute_sum_sensitivity;
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::data::Fields;
use crate::error::Fallible;
use crate::privacy::{Adjacency, Charge, L2, Scope};
use crate::private::PrivateCells;

/// Longer cells are free text, not values.
const MAX_VALUE_LENGTH: usize = 200;

/// Which values a column holds and how often, see [`PrivateCells::vocabularies`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vocabulary {
    /// Grid steps of one row.
    pub weight: u64,
}

impl DescribeQuery for Vocabulary {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        // A row holds one value; two counts move if one is replaced.
        acute_sum_sensitivity(self.weight, adjacency)
    }

    fn reads(&self) -> Reads {
        // Of a person one line is asked, see `PrivateCells::by_unit`.
        Reads { rows: RowAccess::Cells, role: Role::Preparation, clip_steps: None, persons: true, labels: false }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Threshold(event) if event.row == self.weight)
    }
}

impl PrivateCells {
    /// For each column its values with the number of rows that hold them.
    ///
    /// Of a column with a very long cell, one that is no text, or one with blanks around it, that cell counts for nothing.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn vocabularies(&self, columns: &[usize], weight: u64) -> Fallible<Vec<ColumnValues>> {
        let mut counts: Vec<Counts> = columns.iter().map(|column| Counts::new(*column)).collect();
        self.each_record(|fields| counts.iter_mut().for_each(|column| column.add(fields)))?;
        Ok(counts
            .into_iter()
            .map(|counts| ColumnValues { counts: counts.0, weight, scope: self.scope().clone() })
            .collect())
    }
}

/// Values of a column with the number of rows that hold them; which ones there are is as private as how often.
///
/// Cannot be read, printed or copied; [`crate::private::Permit::open`] opens what is frequent.
///
/// ```compile_fail,E0616
/// fn read(vocabulary: rhograd::private::ColumnValues) -> usize {
///     vocabulary.counts.len() // private field
/// }
/// ```
#[must_use = "a vocabulary is of no use unless a permit opens it"]
pub struct ColumnValues {
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
        if text.is_empty() || text.len() > MAX_VALUE_LENGTH || text.trim() != text {
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
    use proptest::prelude::*;

    fn counted(rows: &[u8]) -> BTreeMap<String, u64> {
        let mut counts = Counts::new(0);
        let mut fields = Fields::default();
        for row in rows {
            fields.split(row.to_string().as_bytes());
            counts.add(&fields);
        }
        counts.0
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn counts_of_neighbours_move_by_no_more_than_is_paid_for(
            rows in proptest::collection::vec(0u8..6, 1..30), at in any::<prop::sample::Index>(), other in 0u8..7,
            weight in 1u64..1 << 30,
        ) {
            let mut less = rows.clone();
            let mut replaced = rows.clone();
            less.remove(at.index(rows.len()));
            replaced[at.index(rows.len())] = other;
            for (neighbour, adjacency) in [(less, Adjacency::AddRemove), (replaced, Adjacency::ReplaceOne)] {
                let (a, b) = (counted(&rows), counted(&neighbour));
                let both = a.iter().filter_map(|(value, &count)| Some((count, *b.get(value)?)));
                let square: u128 = both.map(|(x, y)| u128::from(x.abs_diff(y)).pow(2)).sum();
                let reach = u128::from(Vocabulary { weight }.sensitivity(adjacency));
                prop_assert!(square * u128::from(weight).pow(2) <= reach * reach);
                let alone = |a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>| {
                    a.iter().filter(|(value, _)| !b.contains_key(*value)).map(|(_, &count)| count).collect::<Vec<_>>()
                };
                prop_assert!(alone(&a, &b).iter().chain(&alone(&b, &a)).all(|&count| count == 1));
                prop_assert!(alone(&a, &b).len() <= 1 && alone(&b, &a).len() <= 1);
            }
        }
    }

    #[test]
    fn a_row_counts_for_one_value_at_most() {
        let mut counts = Counts::new(1);
        let mut fields = Fields::default();
        let long = "y".repeat(MAX_VALUE_LENGTH + 1);
        for cell in [&b"a"[..], b" a ", b"b", b"", b"\xff", b"\xc2\xa0a", long.as_bytes(), b"\"a,b\""] {
            fields.split(&[b"0,", cell].concat());
            counts.add(&fields);
        }
        let seen: Vec<_> = counts.0.into_iter().collect();
        assert_eq!(seen, [("a".into(), 2), ("a,b".into(), 1), ("b".into(), 1)]);
    }
}
