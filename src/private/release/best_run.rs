//! Repeated runs of which only the best is opened.

use std::collections::VecDeque;
use std::mem;

use super::{ChargedRun, Permit, Released};
use crate::error::{Error, Fallible};
use crate::noise::RunCoins;
use crate::privacy::{Charge, PrivateSelectionCharge};
use crate::private::Planned;
use crate::private::query::covers_runs;

/// A run that was paid for: its candidate, the score it released about itself, and whatever else it released.
struct Outcome<T> {
    candidate: usize,
    score: f64,
    value: T,
}

/// Makes the releases of one candidate: its number and its permits in, its score (larger is better) and result out.
pub type CandidateRun<'a, T> = dyn FnMut(usize, &mut ChargedRun) -> Fallible<(f64, T)> + 'a;

impl ChargedRun {
    /// Runs candidates drawn at random, a secret random number of times, and returns the run with the best score.
    ///
    /// The score that `run` returns must follow from what it released. A run that fails or whose score is not a number loses to every other.
    ///
    /// # Privacy
    /// Each run has permits for the releases of its candidate and no more. After each run a coin that looks at nothing
    /// stops with the probability that was paid for. The caller must let nothing of the other runs, nor their number,
    /// reach anyone but the custodian.
    ///
    /// # Errors
    /// When the next release was not paid for as the best of several runs, a candidate costs more than was paid for, or
    /// the best run failed.
    ///
    /// # Reference
    /// Papernot and Steinke 2022, Theorem 2 with `eta = 1`.
    pub fn best_run<T>(
        &mut self,
        candidates: &[Vec<Planned>],
        run: &mut CandidateRun<'_, T>,
    ) -> Fallible<(usize, T, Released)> {
        let permit: Permit<PrivateSelectionCharge> = self.permit()?;
        if !covers_runs(&permit.event, candidates) {
            return Err(Error::refused("a candidate costs more than was paid for a run", "plan with its own cost"));
        }
        let mut coins = RunCoins::new(&permit.noise, permit.release);
        let mut best: Fallible<Outcome<T>> = Err(Error::refused("no run was made", "this cannot happen"));
        loop {
            let candidate = coins.candidate(candidates.len());
            let outcome = self.within(&candidates[candidate], &mut |permits| {
                run(candidate, permits).map(|(score, value)| Outcome { candidate, score, value })
            });
            if beats(&outcome, &best) {
                best = outcome;
            }
            if coins.stop(permit.event.stop) {
                break;
            }
        }
        let Outcome { candidate, value, .. } = best?;
        Ok((candidate, value, permit.opened(vec![candidate as i128])))
    }

    /// Lets `run` have the permits of one candidate and no others; release numbers go on, so no noise is used twice.
    fn within<T>(&mut self, candidate: &[Planned], run: &mut dyn FnMut(&mut ChargedRun) -> Fallible<T>) -> Fallible<T> {
        let own: VecDeque<Charge> = candidate.iter().map(|planned| planned.charge.clone()).collect();
        let (left, given) = (mem::replace(&mut self.left, own), mem::take(&mut self.given));
        let outcome = run(self);
        (self.left, self.given) = (left, given);
        outcome
    }
}

/// Whether a run is better than the best so far; the first of equals stays.
fn beats<T>(outcome: &Fallible<Outcome<T>>, best: &Fallible<Outcome<T>>) -> bool {
    let score = |run: &Fallible<Outcome<T>>| run.as_ref().ok().map(|run| run.score).filter(|score| !score.is_nan());
    match (score(outcome), score(best)) {
        (Some(new), Some(old)) => new > old,
        (Some(_), None) => true,
        (None, old) => old.is_none() && best.is_err(),
    }
}
