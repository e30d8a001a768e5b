//! Opening what is stable: values held by many rows, and answers that no few rows can change.

use std::collections::BTreeMap;

use super::Permit;
use super::cells::Vocabulary;
use crate::error::{Error, Fallible};
use crate::noise::integer_noise;
use crate::privacy::{Adjacency, Scope, StableEvent};

impl Permit<StableEvent> {
    /// Opens the values that enough rows hold, each with its noised count in grid steps, in alphabetical order.
    ///
    /// # Privacy
    /// Delta-approximate zCDP with the rho of the noise: a row holds one value. Where both neighbours have the value, its
    /// count moves by one row (two of them under replace-one: the root of two). Where only one has it, its count there is
    /// one row, which reaches the threshold with probability at most delta; but for that the two laws agree in it. A row
    /// replaced can do both, and then the one neighbour opens its own value and the other one its own, each with
    /// probability at most delta, beside laws of the rest that the noise keeps close.
    ///
    /// # Errors
    /// When the counts belong to another scope, or a row counts for another number of steps than was paid for.
    ///
    /// # Reference
    /// Korolova, Kenthapadi, Mishra and Ntoulas 2009; Bun, Nissim and Stemmer 2016 (stability-based histograms); Karrer,
    /// Kifer, Wilkins and Zhang 2024 (with Gaussian noise).
    pub fn open(self, vocabulary: Vocabulary) -> Fallible<Vec<(String, i128)>> {
        let sensitivity = vocabulary_sensitivity(vocabulary.weight, self.scope.adjacency);
        self.pays_for(&vocabulary.scope, vocabulary.weight, sensitivity)?;
        let noise = self.noise_for(vocabulary.counts.len())?;
        let weight = i128::from(vocabulary.weight);
        let noised = vocabulary.counts.into_iter().zip(noise);
        let noised = noised.map(|((value, count), noise)| (value, i128::from(count) * weight + i128::from(noise)));
        Ok(noised.filter(|(_, count)| self.opens(*count)).collect())
    }

    /// Opens an answer if its distance from where it would be another one is beyond the threshold; the second value is
    /// the noised distance in grid steps.
    ///
    /// # Privacy
    /// Propose-test-release with an answer that is constant where it is stable: delta-approximate zCDP with the rho of
    /// the noise. If neighbours have the same answer, what comes out follows from distances that differ by at most one row.
    /// If they have not, both distances are at most one row; both open with probability at most delta, and else tell a
    /// noised number. The distances of this crate are those of data sets to the nearest with another answer, or less.
    ///
    /// # Errors
    /// As [`Permit::open`].
    ///
    /// # Reference
    /// Dwork and Lei 2009 (propose-test-release); Smith and Thakurta 2013, section 3 (distance to instability).
    pub fn test<T>(self, proposal: Proposal<T>) -> Fallible<(Option<T>, i128)> {
        self.pays_for(&proposal.scope, proposal.weight, proposal.weight)?;
        let [noise] = self.noise_for(1)?[..] else {
            return Err(Error::numerical("propose-test-release", "no noise was drawn"));
        };
        let distance = i128::from(proposal.distance) * i128::from(proposal.weight) + i128::from(noise);
        Ok((self.opens(distance).then_some(proposal.answer), distance))
    }

    fn opens(&self, noised: i128) -> bool {
        noised >= i128::from(self.event.threshold)
    }

    fn noise_for(&self, len: usize) -> Fallible<Vec<i64>> {
        let paid = &self.event.noised;
        integer_noise(paid.noise, paid.log2_scale, len, &self.noise, self.release)
    }

    /// Refuses what was not paid for; both sides are public.
    fn pays_for(&self, scope: &Scope, weight: u64, sensitivity: u64) -> Fallible<()> {
        // Whoever paid may come without a ledger that checks.
        self.charge().check()?;
        self.check_scope(scope)?;
        if weight > self.event.row || sensitivity > self.event.noised.sensitivity {
            return Err(Error::refused("a row counts for more steps than were paid for", "plan with its own weight"));
        }
        Ok(())
    }
}

/// How far the counts of values move, in grid steps: one row more or less, or one in the place of another.
pub(super) fn vocabulary_sensitivity(weight: u64, adjacency: Adjacency) -> u64 {
    match adjacency {
        Adjacency::AddRemove => weight,
        Adjacency::ReplaceOne => {
            let square = u128::from(weight) * u128::from(weight);
            square.checked_mul(2).map_or(u64::MAX, super::query::root_of)
        }
    }
}

/// An answer computed from rows, with the number of rows that would have to change before it could be another one.
///
/// Cannot be read, printed or copied; [`Permit::test`] opens it or not.
#[must_use = "a proposal is of no use unless a permit tests it"]
pub struct Proposal<T> {
    pub(super) distance: u64,
    pub(super) answer: T,
    pub(super) weight: u64,
    pub(super) scope: Scope,
}

/// The most frequent value and a distance from where it is another one, in rows.
///
/// With a gap `g` between the two largest counts (zero for a value that nobody holds) the distance is `g`, and `g/2`
/// rounded up where one row can leave one value for another. It is at most one wherever a neighbour has another mode, and neighbours'
/// distances differ by at most one.
pub(super) fn stable_mode(counts: &BTreeMap<String, u64>, adjacency: Adjacency) -> (u64, Option<String>) {
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
                let reach = u128::from(vocabulary_sensitivity(weight, adjacency));
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
    fn a_mode_has_its_gap() {
        assert_eq!(stable_mode(&counted(&[]), Adjacency::AddRemove), (0, None));
        assert_eq!(stable_mode(&counted(&[3]), Adjacency::AddRemove), (1, Some("3".into())));
        assert_eq!(stable_mode(&counted(&[1, 2, 2, 2]), Adjacency::AddRemove), (2, Some("2".into())));
        assert_eq!(stable_mode(&counted(&[1, 2, 2, 2, 2]), Adjacency::ReplaceOne), (2, Some("2".into())));
        assert_eq!(stable_mode(&counted(&[1, 1, 2, 2]), Adjacency::ReplaceOne).0, 0);
    }
}
