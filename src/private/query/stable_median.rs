//! The median of a column, opened with little noise where no few rows can make it jump.

use serde::{Deserialize, Serialize};

use super::summary::{CellCounts, not_numbers};
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::{Error, Fallible};
use crate::grid::FULL_SCALE;
use crate::privacy::{Adjacency, Charge, L2, Scope};

/// Of a person one line is asked, see [`crate::private::PrivateCells::by_unit`].
const READS: Reads =
    Reads { rows: RowAccess::Cells, role: Role::Preparation, clip_steps: None, persons: true, labels: false };

/// The distance of the numbers from where one row could move their median by more than `bound`; see [`CellCounts::stable_median`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MedianDistance {
    /// Grid steps of one row.
    pub weight: u64,
    /// The proposed bound, in codes.
    pub bound: u64,
}

/// The median where the distance was opened, and nothing where it was not; see [`crate::private::Permit::test_median`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearMedian {
    /// Grid steps of one code.
    pub step: u64,
    /// The bound that was proposed, in codes.
    pub bound: u64,
}

impl DescribeQuery for MedianDistance {
    type Norm = L2;

    fn sensitivity(&self, _adjacency: Adjacency) -> u64 {
        // A distance to a set, in rows: neighbours' differ by one at most, whatever the relation.
        self.weight
    }

    fn reads(&self) -> Reads {
        READS
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Threshold(event) if event.row == self.weight)
    }
}

impl DescribeQuery for NearMedian {
    type Norm = L2;

    fn sensitivity(&self, _adjacency: Adjacency) -> u64 {
        // What was tested; where the test fails with one neighbour and not the other, delta pays.
        self.step.saturating_mul(self.bound)
    }

    fn reads(&self) -> Reads {
        READS
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }

    fn check(&self) -> Fallible<()> {
        if (1..=2 * FULL_SCALE as u64).contains(&self.bound) && self.step > 0 {
            return Ok(());
        }
        Err(Error::parameter("bound", "is no distance between two numbers of the column", "propose another one"))
    }
}

/// A median with how many rows would have to change before one more could move it far.
///
/// Cannot be read, printed or copied; [`crate::private::Permit::test_median`] tests it.
#[must_use = "a proposal is of no use unless a permit tests it"]
pub struct StableMedian {
    pub(in crate::private) distance: u64,
    /// The code of the median times `near.step`.
    pub(in crate::private) answer: i128,
    pub(in crate::private) query: MedianDistance,
    pub(in crate::private) near: NearMedian,
    pub(in crate::private) scope: Scope,
}

impl CellCounts {
    /// The lower median of the numbers, in codes times `near.step`, with the distance to where it could jump by more than `near.bound`.
    ///
    /// The median of `n` numbers is the `ceil(n/2)`-th, and the lower bound where there is none.
    ///
    /// # Privacy
    /// The distance is the least number of rows to add or remove (or to replace, under replace-one) until one more could move the median by more
    /// than the bound. So neighbours' distances differ by at most one, and where the medians of neighbours are farther apart than the bound both
    /// distances are at most one.
    ///
    /// # Errors
    /// When the column has no numbers by its declaration, or the bound no sense.
    ///
    /// # Reference
    /// Dwork and Lei 2009 (propose-test-release); Nissim, Raskhodnikova and Smith 2007 (local sensitivity of the median).
    pub fn stable_median(&self, weight: u64, near: NearMedian) -> Fallible<StableMedian> {
        near.check()?;
        if self.counts.len() != 2 * FULL_SCALE as usize + 1 {
            return Err(not_numbers());
        }
        let distance = distance(&self.counts, near.bound, self.scope.adjacency);
        let answer = (median(&self.counts) as i128 - i128::from(FULL_SCALE)) * i128::from(near.step);
        let query = MedianDistance { weight, bound: near.bound };
        Ok(StableMedian { distance, answer, query, near, scope: self.scope.clone() })
    }
}

/// The code of the lower median, from zero; zero where nothing is counted.
fn median(counts: &[u64]) -> usize {
    let rank = counts.iter().sum::<u64>().div_ceil(2);
    let mut seen = 0;
    counts
        .iter()
        .position(|count| {
            seen += count;
            seen >= rank
        })
        .unwrap_or_default()
}

/// How many rows must come, go or be replaced before one more can move the median by more than `bound` codes.
///
/// One row moves the median to a neighbouring value at most. So a jump beyond the bound needs a gap wider than it, with nothing in between,
/// beside the median: with `A` numbers below the gap and `B` above it, `B - A` must be 0 or 1, and from -1 to 2 where rows are replaced. For each
/// place of a gap, the numbers `I` within have to leave and the rest to be balanced; a row that is replaced can do both, and two where it
/// crosses the gap. The bounds of the column stand in for numbers that are not there.
fn distance(counts: &[u64], bound: u64, adjacency: Adjacency) -> u64 {
    let all: u64 = counts.iter().sum();
    let wide = usize::try_from(bound).unwrap_or(usize::MAX).saturating_add(1);
    let mut below = 0u64;
    let mut within: u64 = counts.iter().skip(1).take(wide - 1).sum();
    // Where no gap is as wide, nothing can make the median jump.
    let mut least = u64::MAX >> 2;
    for low in 0..counts.len().saturating_sub(wide) {
        if low > 0 {
            // The gap moves up by one code: its lower end leaves it, and its former upper end enters.
            within = within - counts[low] + counts[low + wide - 1];
        }
        below += counts[low];
        let excess = i128::from(all - below - within) - i128::from(below);
        let inside = i128::from(within);
        let needed = match adjacency {
            Adjacency::AddRemove => inside + (-excess).max(excess - 1).max(0),
            Adjacency::ReplaceOne => {
                let far = (-1 - inside - excess).max(excess - 2 - inside).max(0);
                inside + far.div_euclid(2) + far.rem_euclid(2)
            }
        };
        least = least.min(u64::try_from(needed).unwrap_or(0));
    }
    least
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use super::*;
    use proptest::prelude::*;

    const CODES: usize = 5;

    /// All tables of counts that one row more, one less or another one makes.
    fn neighbours(counts: &[u64], adjacency: Adjacency) -> Vec<Vec<u64>> {
        let mut found = Vec::new();
        let changed = |at: usize, by: i64, from: &[u64]| {
            let mut other = from.to_vec();
            other[at] = other[at].checked_add_signed(by)?;
            Some(other)
        };
        for at in 0..CODES {
            // A cell that does not count can come or go under either relation.
            found.extend(changed(at, 1, counts));
            let Some(less) = changed(at, -1, counts) else { continue };
            if adjacency == Adjacency::ReplaceOne {
                found.extend((0..CODES).filter_map(|to| changed(to, 1, &less)));
            }
            found.push(less);
        }
        found
    }

    /// By trying everything: the least number of changes after which one more moves the median by more than the bound.
    fn by_search(counts: &[u64], bound: u64, adjacency: Adjacency) -> u64 {
        let mut seen = HashMap::from([(counts.to_vec(), 0u64)]);
        let mut open = VecDeque::from([counts.to_vec()]);
        while let Some(table) = open.pop_front() {
            let depth = seen[&table];
            let near = neighbours(&table, adjacency);
            if near.iter().any(|other| median(other).abs_diff(median(&table)) as u64 > bound) {
                return depth;
            }
            for other in near {
                if !seen.contains_key(&other) {
                    seen.insert(other.clone(), depth + 1);
                    open.push_back(other);
                }
            }
            assert!(depth < 12, "{counts:?} {bound}");
        }
        u64::MAX
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_distance_is_the_one_that_a_search_finds(
            counts in proptest::collection::vec(0u64..3, CODES), bound in 1u64..4, replace in any::<bool>(),
        ) {
            let adjacency = if replace { Adjacency::ReplaceOne } else { Adjacency::AddRemove };
            prop_assert_eq!(distance(&counts, bound, adjacency), by_search(&counts, bound, adjacency), "{:?}", counts);
        }

        #[test]
        fn distances_of_neighbours_differ_by_at_most_one_and_jumps_are_near(
            counts in proptest::collection::vec(0u64..9, CODES), bound in 1u64..4, replace in any::<bool>(),
        ) {
            let adjacency = if replace { Adjacency::ReplaceOne } else { Adjacency::AddRemove };
            let own = distance(&counts, bound, adjacency);
            for other in neighbours(&counts, adjacency) {
                let theirs = distance(&other, bound, adjacency);
                prop_assert!(own.abs_diff(theirs) <= 1, "{:?} {:?}: {} {}", counts, other, own, theirs);
                let jumps = median(&counts).abs_diff(median(&other)) as u64 > bound;
                prop_assert!(!jumps || (own <= 1 && theirs <= 1));
            }
        }
    }

    #[test]
    fn a_crowd_around_the_median_is_far_from_a_jump() {
        // 100 numbers at one place: 50 must go, or come, on one side before the median leaves it.
        assert_eq!(distance(&[0, 0, 100, 0, 0], 1, Adjacency::AddRemove), 99);
        assert_eq!(distance(&[0, 0, 100, 0, 0], 1, Adjacency::ReplaceOne), 49);
        assert_eq!(distance(&[50, 0, 0, 0, 50], 1, Adjacency::AddRemove), 0);
        // Nothing can jump farther than the bounds are apart.
        assert!(distance(&[1, 0, 0, 0, 1], 4, Adjacency::AddRemove) > 1 << 40);
        assert_eq!((median(&[0, 0, 0, 0, 0]), median(&[1, 0, 0, 0, 1]), median(&[0, 1, 1, 1, 0])), (0, 0, 2));
    }
}
