//! Secret draws about rows for which nothing is claimed, and what an adversary is told of them.

use crate::error::{Error, Fallible};
use crate::noise::NoiseSource;
use crate::privacy::{Charge, total_rho};
use crate::private::{RowAccess, batch_of, order_of};
use crate::train::Plan;

/// A draw that puts the record in its place is found within so many times the wanted number of seeds, or there is none.
const TRIES: usize = 1000;

/// What the adversary is told of the draws that decide what becomes of a row: its batch, its place in a pass, whether it is
/// held out. The coins of a sampled step are not among them: their secrecy is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draws {
    /// Nothing.
    Secret,
    /// Where the record is. Only runs are made whose draws put it where it counts most: into the first batch, at the first
    /// place of the first phase or pass, into the part of a divided data set on which more is spent.
    ///
    /// # Privacy
    /// The theorems hold given the draws, which are the same in both worlds, so a claim is as false if it is refuted for
    /// some of them. Draws are functions of the seed of an audited run; those of a private run have no seed.
    Known,
}

/// Seeds for so many payments: every other number from the first, or those of them whose draws suit the adversary.
pub(super) fn seeds(draws: Draws, plan: &Plan, position: usize, first: u64, count: usize) -> Fallible<Vec<u64>> {
    let all = (0..).map(|k: u64| first.wrapping_add(2 * k));
    if draws == Draws::Secret {
        return Ok(all.take(count).collect());
    }
    let best = Best::of(plan)?;
    let suits = |seed: &u64| best.holds(plan, position, &NoiseSource::insecure_from_seed(*seed));
    let found: Vec<u64> = all.take(count.saturating_mul(TRIES)).filter(suits).take(count).collect();
    if found.len() == count {
        return Ok(found);
    }
    Err(Error::parameter("draws", "put the record where it counts most too rarely", "use fewer records"))
}

/// What the draws of a plan should do with the record.
struct Best {
    held_out: bool,
}

impl Best {
    /// More is spent either on training or on what is held out.
    fn of(plan: &Plan) -> Fallible<Self> {
        let Some(part) = &plan.holdout else { return Ok(Best { held_out: false }) };
        let scores = total_rho(&[Charge::from(part.scores.release.event().clone())])?;
        Ok(Best { held_out: scores.upper() > total_rho(&plan.charges())?.lower() / 2.0 })
    }

    fn holds(&self, plan: &Plan, position: usize, source: &NoiseSource) -> bool {
        let rows = position + 1;
        let mut before = 0;
        if let Some(part) = &plan.holdout {
            let public = plan.scope.adjacency.row_count_is_public().then_some(rows as u64);
            let chosen: Vec<usize> = part.choice(public).choice(rows, source).positions(rows).collect();
            if chosen.contains(&position) || self.held_out {
                return chosen.contains(&position) && self.held_out;
            }
            before = chosen.len();
        }
        // The record is the last of the rows that train, too.
        let position = position - before;
        plan.planned().iter().all(|planned| match planned.query.kind().reads().rows {
            RowAccess::Batches(batches) => {
                let mut batch = batch_of(source, batches);
                (0..=position).fold(None, |_, row| Some(batch(row))) == Some(0)
            }
            RowAccess::Order { .. } => order_of(position + 1, source).first() == Some(&position),
            RowAccess::StreamedSum | RowAccess::InMemory | RowAccess::Cells => true,
        })
    }
}
