//! How many cells of a column are numbers.

use serde::{Deserialize, Serialize};

use super::describe::root_of;
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::data::Fields;
use crate::error::Fallible;
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::{PrivateCells, Sensitive};

/// How many cells of each column are numbers, see [`PrivateCells::kinds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kinds {
    /// Grid steps of one cell.
    pub weight: u64,
    /// Number of columns.
    pub columns: u64,
    /// Whether rows are counted.
    pub counted: bool,
}

impl DescribeQuery for Kinds {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        // Under replace-one rows are as many as before, and a cell can leave one kind for the other.
        let moved = match adjacency {
            Adjacency::AddRemove => u128::from(self.columns) + u128::from(self.counted),
            Adjacency::ReplaceOne => 2 * u128::from(self.columns),
        };
        let square = u128::from(self.weight) * u128::from(self.weight);
        square.checked_mul(moved.max(1)).map_or(u64::MAX, root_of)
    }

    fn reads(&self) -> Reads {
        // Of a person one line is asked, see `PrivateCells::by_unit`.
        Reads { rows: RowAccess::Cells, role: Role::Preparation, clip_steps: None, persons: true, labels: false }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }
}

impl PrivateCells {
    /// The number of rows, if asked for, and for each column how many of its cells are numbers and how many other
    /// texts.
    ///
    /// # Privacy
    /// A row adds `weight` grid steps to the count and to one of the two numbers of a column, or to none where its cell is
    /// empty. So its vector has norm at most `weight` times the root of how many of them there are; under replace-one the
    /// count does not move, and each column moves in at most two places.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn kinds(&self, columns: &[usize], counted: bool, weight: u64) -> Fallible<Sensitive<L2>> {
        let mut kinds = KindCounts::new(columns, counted);
        self.each_record(|fields| kinds.add(fields))?;
        let query = Kinds { weight, columns: columns.len() as u64, counted };
        Ok(self.sensitive(kinds.values(weight), query))
    }
}

/// Counts of rows and, for each column, of its numbers and other texts.
struct KindCounts<'a> {
    columns: &'a [usize],
    rows: Option<u64>,
    /// Numbers and other texts.
    of: Vec<[u64; 2]>,
}

impl<'a> KindCounts<'a> {
    fn new(columns: &'a [usize], counted: bool) -> Self {
        KindCounts { columns, rows: counted.then_some(0), of: vec![[0; 2]; columns.len()] }
    }

    fn add(&mut self, fields: &Fields) {
        self.rows = self.rows.map(|rows| rows + 1);
        for (&column, of) in self.columns.iter().zip(&mut self.of) {
            if !fields.get(column).is_empty() {
                of[usize::from(fields.number(column).is_none())] += 1;
            }
        }
    }

    fn values(&self, weight: u64) -> Vec<i128> {
        let counts = self.rows.into_iter().chain(self.of.iter().flatten().copied());
        counts.map(|count| i128::from(count) * i128::from(weight)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector(lines: &[String], counted: bool) -> Vec<i128> {
        let columns = [0, 2, 1];
        let mut kinds = KindCounts::new(&columns, counted);
        let mut fields = Fields::default();
        for line in lines {
            fields.split(line.as_bytes());
            kinds.add(&fields);
        }
        kinds.values(5)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn neighbours_move_the_kinds_by_no_more_than_is_paid_for(
            lines in proptest::collection::vec("(1|x|-2e3|inf|nan|),(7|y|),(0|z|)", 1..12), other in "(3|u|),(4|v|),(5|w|)",
        ) {
            let mut replaced = lines.clone();
            replaced[0] = other;
            for counted in [false, true] {
                let query = Kinds { weight: 5, columns: 3, counted };
                for (neighbour, adjacency) in
                    [(&lines[1..], Adjacency::AddRemove), (&replaced[..], Adjacency::ReplaceOne)]
                {
                    let (a, b) = (vector(&lines, counted), vector(neighbour, counted));
                    let square: i128 = a.iter().zip(&b).map(|(x, y)| (x - y).pow(2)).sum();
                    let reach = i128::from(query.sensitivity(adjacency));
                    prop_assert!(square <= reach * reach, "{} {}", square, reach);
                }
            }
        }
    }

    #[test]
    fn numbers_and_texts_are_told_apart() {
        let lines = ["1,x,".to_string(), "inf,2,nan".into(), ",,3".into()];
        // Rows; the first column; the third; the second.
        assert_eq!(vector(&lines, true), [15, 10, 0, 5, 5, 5, 5]);
    }
}
