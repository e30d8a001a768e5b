//! Opening what is stable: values held by many rows, and answers that no few rows can change.

use super::{Permit, Released};
use crate::error::{Error, Fallible};
use crate::noise::integer_noise;
use crate::privacy::{Scope, ThresholdCharge};
use crate::private::query::{ColumnValues, DescribeQuery, Vocabulary};

impl Permit<ThresholdCharge> {
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
    pub fn open(self, vocabulary: ColumnValues) -> Fallible<Vec<(String, i128)>> {
        Ok(self.open_counts(vocabulary)?.0)
    }

    /// Opens the values, with their counts as a released value for a run whose releases are heard.
    pub(super) fn open_counts(self, vocabulary: ColumnValues) -> Fallible<(Vec<(String, i128)>, Released)> {
        let query = Vocabulary { weight: vocabulary.weight };
        self.check_query(&vocabulary.scope.clone().into(), &query)?;
        let sensitivity = query.sensitivity(self.scope.adjacency);
        self.pays_for(&vocabulary.scope, vocabulary.weight, sensitivity)?;
        let noise = self.noise_for(vocabulary.counts.len())?;
        let weight = i128::from(vocabulary.weight);
        let noised = vocabulary.counts.into_iter().zip(noise);
        let noised = noised.map(|((value, count), noise)| (value, i128::from(count) * weight + i128::from(noise)));
        let opened: Vec<(String, i128)> = noised.filter(|(_, count)| self.opens(*count)).collect();
        let counts = opened.iter().map(|(_, count)| *count).collect();
        Ok((opened, self.opened(counts)))
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
    /// When the proposal belongs to another scope, or a row moves it further than was paid for.
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
    pub(super) fn pays_for(&self, scope: &Scope, weight: u64, sensitivity: u64) -> Fallible<()> {
        // Whoever paid may come without a ledger that checks.
        self.charge().check()?;
        self.check_origin(&scope.clone().into())?;
        if weight > self.event.row || sensitivity > self.event.noised.sensitivity {
            return Err(Error::refused("a row counts for more steps than were paid for", "plan with its own weight"));
        }
        Ok(())
    }
}

/// An answer computed from rows, with the number of rows that would have to change before it could be another one.
///
/// Cannot be read, printed or copied; [`Permit::test`] opens it or not.
#[must_use = "a proposal is of no use unless a permit tests it"]
pub struct Proposal<T> {
    pub(in crate::private) distance: u64,
    pub(in crate::private) answer: T,
    pub(in crate::private) weight: u64,
    pub(in crate::private) scope: Scope,
}
