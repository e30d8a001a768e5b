//! Rows held out of training, and what is measured on them.

use super::pass::Pass;
use super::phases::shuffled;
use super::{ChargedRun, PrivateDataset, Query, Sensitive};
use crate::error::{Error, Fallible};
use crate::grid::ScoreStep;
use crate::loss::Objective;
use crate::noise::{NoiseSource, poisson_sample};
use crate::privacy::L2;

/// The block of row choices from which the order of an exact hold-out is drawn; no row ever reaches it.
const ORDER: u32 = u32::MAX - 1;

/// Largest share of the rows that may be held out.
pub(crate) const LARGEST_HOLDOUT: f64 = 0.5;

/// The number of rows that train, rounded: exact where the number of rows is public under the relation, else expected.
pub(crate) fn training_rows(rows: u64, held_out: Option<f64>) -> u64 {
    held_out.map_or(rows, |share| ((rows as f64 * (1.0 - share)).round() as u64).min(rows))
}

/// How rows are chosen for a hold-out, without a look at what stands in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldOut {
    /// Each row on its own, with probability `1 - exp(-exponent / 2^64)`.
    Coins {
        /// See the probability.
        exponent: u64,
    },
    /// A number of rows, all choices being equally likely; the rest is then a public number, too.
    Exactly {
        /// Rows to hold out.
        rows: u64,
    },
}

impl HoldOut {
    /// The positions held out of the first `all`, in order: a function of these numbers and the source alone.
    pub(crate) fn chosen(self, all: usize, source: &NoiseSource) -> Vec<usize> {
        match self {
            // No release has this number: numbers end one before it.
            HoldOut::Coins { exponent } => poisson_sample(exponent, all, source, u32::MAX),
            HoldOut::Exactly { rows } => first_of_an_order(rows, all, source),
        }
    }
}

impl ChargedRun {
    /// Divides a data set into those held out and the rest. The same run always divides in the same way.
    ///
    /// # Privacy
    /// Coins: a row more or less, or another row in its place, changes one part by that row and the other not at all,
    /// given the coins of the others. Exactly: which positions are held out depends on the run's key and on the number of
    /// rows alone, which replacing a row does not change, so the same holds under replace-one; adding a row would
    /// move others between the parts. Releases from both parts compose like any others.
    ///
    /// # Errors
    /// When an exact number is asked for under a relation that hides the number of rows, or exceeds it, and when rows are in a file.
    pub fn hold_out(&self, data: PrivateDataset, how: HoldOut) -> Fallible<(PrivateDataset, PrivateDataset)> {
        match (how, data.public_len()) {
            (HoldOut::Exactly { rows }, Some(all)) if rows > all => {
                return Err(Error::refused("the hold-out has more rows than the data set", "hold out fewer"));
            }
            (HoldOut::Exactly { .. }, None) => {
                return Err(Error::refused(
                    "an exact number of rows cannot be held out where their number is private",
                    "hold out by coins",
                ));
            }
            _ => (),
        }
        let chosen = how.chosen(data.private_len(), self.source());
        data.divided(&chosen)
    }
}

fn first_of_an_order(rows: u64, all: usize, source: &NoiseSource) -> Vec<usize> {
    let mut chosen = shuffled(all, source.row_stream(ORDER));
    chosen.truncate(rows as usize);
    chosen.sort_unstable();
    chosen
}

impl PrivateDataset {
    /// Sums that measure the predictions of public coefficients for a public loss, see [`crate::kernel::score_sum`].
    ///
    /// # Privacy
    /// A row's vector has norm at most `weight sqrt(parts)`, a public number: the l2 sensitivity under add-remove. Vectors of
    /// two rows differ by no more, see [`crate::grid::Scoring::apart`], so it is that under replace-one, too.
    ///
    /// # Errors
    /// When rows in a file cannot be read.
    pub fn scores(&self, loss: Objective, step: &ScoreStep<'_>) -> Fallible<Sensitive<L2>> {
        let query = Query::Scores { scoring: step.scoring, weight: step.weight };
        let &ScoreStep { weights, label_scale, scoring, weight } = step;
        let pass = Pass::Scores { loss, weights: weights.to_vec(), label_scale, scoring, weight };
        Ok(self.sensitive(self.store().sum(&pass)?, &query))
    }
}
