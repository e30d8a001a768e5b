//! The most frequent value of a column, and how far the rows are from where it is another one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::vocabulary::Counts;
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::Fallible;
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::{PrivateCells, Proposal};

/// The distance of the rows from where an answer is another one, see [`PrivateCells::mode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distance {
    /// Grid steps of one row.
    pub weight: u64,
}

impl DescribeQuery for Distance {
    type Norm = L2;

    fn sensitivity(&self, _adjacency: Adjacency) -> u64 {
        // Distances of neighbours differ by at most one row, whatever the relation.
        self.weight
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
    /// The most frequent value of a column, to be opened only if it is that by far.
    ///
    /// # Privacy
    /// See [`crate::private::Permit::test`]. The values need not be known before: the distance looks at the two largest counts
    /// only, and a value that nobody holds counts as zero.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn mode(&self, column: usize, weight: u64) -> Fallible<Proposal<Option<String>>> {
        let mut counts = Counts::new(column);
        self.each_record(|fields| counts.add(fields))?;
        let (distance, answer) = stable_mode(&counts.0, self.scope().adjacency);
        Ok(Proposal { distance, answer, weight, scope: self.scope().clone() })
    }
}

/// The most frequent value and a distance from where it is another one, in rows.
///
/// With a gap `g` between the two largest counts (zero for a value that nobody holds) the distance is `g`, and `g/2`
/// rounded up where one row can leave one value for another. It is at most one wherever a neighbour has another mode, and neighbours'
/// distances differ by at most one.
fn stable_mode(counts: &BTreeMap<String, u64>, adjacency: Adjacency) -> (u64, Option<String>) {
    let mut first: Option<(&String, u64)> = None;
    let mut second = 0;
    for (value, &count) in counts {
        match first {
            Some((_, most)) if count <= most => second = second.max(count),
            _ => {
                second = first.map_or(0, |(_, most)| most);
                first = Some((value, count));
            }
        }
    }
    let gap = first.map_or(0, |(_, most)| most - second);
    let distance = match adjacency {
        Adjacency::AddRemove => gap,
        Adjacency::ReplaceOne => gap.div_ceil(2),
    };
    (distance, first.map(|(value, _)| value.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counted(rows: &[u8]) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for row in rows {
            *counts.entry(row.to_string()).or_default() += 1;
        }
        counts
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn distances_of_neighbours_differ_by_at_most_one(
            mut rows in proptest::collection::vec(0u8..4, 0..30), at in any::<prop::sample::Index>(), other in 0u8..5,
        ) {
            rows.push(other % 3);
            let mut less = rows.clone();
            let mut replaced = rows.clone();
            let at = at.index(rows.len());
            less.remove(at);
            replaced[at] = other;
            for (neighbour, adjacency) in [(less, Adjacency::AddRemove), (replaced, Adjacency::ReplaceOne)] {
                let (a, mode) = stable_mode(&counted(&rows), adjacency);
                let (b, its_mode) = stable_mode(&counted(&neighbour), adjacency);
                prop_assert!(a.abs_diff(b) <= 1, "{} {}", a, b);
                prop_assert!(mode == its_mode || (a <= 1 && b <= 1), "{} {}", a, b);
            }
        }
    }

    #[test]
    fn a_mode_has_its_gap() {
        assert_eq!(stable_mode(&counted(&[]), Adjacency::AddRemove), (0, None));
        assert_eq!(stable_mode(&counted(&[3]), Adjacency::AddRemove), (1, Some("3".into())));
        assert_eq!(stable_mode(&counted(&[1, 2, 2, 2]), Adjacency::AddRemove), (2, Some("2".into())));
        assert_eq!(stable_mode(&counted(&[1, 2, 2, 2, 2]), Adjacency::ReplaceOne), (2, Some("2".into())));
        assert_eq!(stable_mode(&counted(&[1, 1, 2, 2]), Adjacency::ReplaceOne).0, 0);
    }
}
