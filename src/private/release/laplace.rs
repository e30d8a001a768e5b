//! Opening a value with Laplace noise, and telling which count is the first above a bar.

use super::{Permit, Released};
use crate::error::{Error, Fallible};
use crate::noise::{first_above, integer_noise, laplace_noise};
use crate::privacy::{L1, L2, LaplaceCharge, SparseVectorCharge, ThresholdCharge};
use crate::private::query::DescribeQuery;
use crate::private::{CountsAbove, Sensitive, StableMedian};

impl Permit<LaplaceCharge> {
    /// Adds discrete Laplace noise to a value and opens it; it is computed only if the run had not released it before it was stopped.
    ///
    /// # Privacy
    /// Epsilon-DP with `epsilon = l1_sensitivity rate / 2^log2_scale` under the scope's adjacency, exactly; see [`laplace_noise`].
    ///
    /// # Errors
    /// When the value belongs to another scope, answers another query than is recorded, or moves further than was paid for, and those
    /// of `value`.
    ///
    /// # Reference
    /// Dwork, McSherry, Nissim and Smith 2006; Ghosh, Roughgarden and Sundararajan 2009.
    pub fn release_laplace(self, value: impl FnOnce() -> Fallible<Sensitive<L1>>) -> Fallible<Released> {
        self.kept_or(|permit| {
            let (paid, value) = (&permit.event, value()?);
            permit.covers(paid.l1_sensitivity, &value)?;
            let noise = laplace_noise(paid.rate, paid.log2_scale, value.values.len(), &permit.noise, permit.release)?;
            Ok(value.values.iter().zip(noise).map(|(&value, noise)| value.saturating_add(noise)).collect())
        })
    }
}

impl Permit<SparseVectorCharge> {
    /// Tells which of several counts is the first that reaches a bar: the released value is its number, or -1 where none does.
    ///
    /// # Privacy
    /// Epsilon-DP with `epsilon = 2 sensitivity / 2^log2_scale`, whatever the number of counts: see [`first_above`]. Neither a noised count nor
    /// the noised bar is told.
    ///
    /// # Errors
    /// When the counts belong to another scope, answer another query than is recorded, move further than was paid for, or are not as many. All
    /// of it depends on public parameters alone.
    ///
    /// # Reference
    /// Dwork, Naor, Reingold, Rothblum and Vadhan 2009; Lyu, Su and Li 2017, Theorem 4.
    pub fn first_above(self, counts: impl FnOnce() -> Fallible<CountsAbove>) -> Fallible<Released> {
        self.kept_or(|permit| {
            let (paid, counts) = (&permit.event, counts()?);
            permit.check_query(&counts.scope.clone().into(), &counts.query)?;
            let moves = counts.query.sensitivity(permit.scope.adjacency);
            if moves > paid.sensitivity || counts.values.len() as u64 != paid.questions {
                return Err(Error::refused("these counts were not paid for", "plan the query that is asked"));
            }
            let found = first_above(&counts.values, counts.bar, paid.log2_scale, &permit.noise, permit.release)?;
            Ok(vec![found.map_or(-1, |index| index as i128)])
        })
    }
}

impl Permit<ThresholdCharge> {
    /// Tests whether a median is far from a jump beyond the bound that is proposed for it, and opens the noised distance in grid steps.
    ///
    /// What comes with it is the median, still secret, for a release with noise for that bound; or zero, where the noised distance is below
    /// the threshold.
    ///
    /// # Privacy
    /// Propose-test-release: delta-approximate zCDP with the rho of the noise on the distance, and what is returned moves by the bound at most.
    /// Where the medians of neighbours are within the bound, their distances differ by at most one row, so the test is a release of a number that
    /// moves by `weight`, and what follows from the same outcome is zero with both, or the two medians. Where they are not, both distances are at
    /// most one row, and noise lifts either to the threshold with probability at most delta; but for that zero follows with both.
    ///
    /// # Errors
    /// When the median belongs to another scope or query, or moves further than was paid for. All of it depends on public parameters alone.
    ///
    /// # Reference
    /// Dwork and Lei 2009 (propose-test-release); Bun and Steinke 2016, Definition 8.1 and Lemma 8.2.
    pub fn test_median(self, median: StableMedian) -> Fallible<(Sensitive<L2>, Released)> {
        self.check_query(&median.scope.clone().into(), &median.query)?;
        self.pays_for(&median.scope, median.query.weight, median.query.sensitivity(self.scope.adjacency))?;
        let threshold = i128::from(self.event.threshold);
        // A run that goes on has the outcome of the first test, whatever was released after it.
        let released = self.kept_or(|permit| {
            let paid = &permit.event.noised;
            let [noise] = integer_noise(paid.noise, paid.log2_scale, 1, &permit.noise, permit.release)?[..] else {
                return Err(Error::numerical("propose-test-release", "no noise was drawn"));
            };
            Ok(vec![i128::from(median.distance) * i128::from(median.query.weight) + i128::from(noise)])
        })?;
        let [distance] = released.values()[..] else {
            return Err(Error::numerical("propose-test-release", "its release is no single distance"));
        };
        let passed = distance >= threshold;
        let answer = if passed { median.answer } else { 0 };
        let answer = Sensitive::of(vec![answer], median.near, &median.scope.into());
        Ok((answer, released))
    }
}
