//! Rows held out of training.

use super::ChargedRun;
use crate::error::{Error, Fallible};
use crate::noise::{Choice, Coins, NoiseSource};
use crate::private::PrivateDataset;
use crate::private::query::shuffled;

/// The block of row choices from which the order of an exact hold-out is drawn; no row ever reaches it.
const ORDER: u32 = u32::MAX - 1;

/// Largest share of the rows that may be held out.
pub(crate) const MAX_HOLDOUT: f64 = 0.5;

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
    /// Which of the first `all` rows are held out: a function of these numbers and the source alone.
    ///
    /// Coins are tossed as they are asked for; the order of an exact hold-out takes eight bytes a position until it is cut.
    pub(crate) fn choice(self, all: usize, source: &NoiseSource) -> Choice {
        match self {
            HoldOut::Coins { exponent } => Choice::Coins(Coins::of(exponent, source)),
            HoldOut::Exactly { rows } => Choice::Positions(first_of_an_order(rows, all, source)),
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
    /// move others between the parts. Releases from both parts compose like any others. Persons are held out as a whole, and all of
    /// this holds of them as it does of rows.
    ///
    /// Positions are those of rows in their file, and of persons by their first rows there; on other machines those of the parts, one
    /// after the other. Where somebody stands may follow from what the rows are: coins are alike at all positions, and so are the choices
    /// of an exact number, so neighbours whose others stand elsewhere have the same law, and are held to the same bound.
    ///
    /// # Errors
    /// When an exact number is asked for under a relation that hides the number of rows, or exceeds it, and when rows in a file
    /// cannot be read or written again.
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
        let chosen = how.choice(data.private_len(), self.source());
        data.divided(chosen)
    }
}

fn first_of_an_order(rows: u64, all: usize, source: &NoiseSource) -> Vec<usize> {
    let mut chosen = shuffled(all, source.row_stream(ORDER));
    chosen.truncate(rows as usize);
    chosen.shrink_to_fit();
    chosen.sort_unstable();
    chosen
}
