//! Many runs in two worlds, a rule learned on some of them, and what its errors on the others prove.

use rayon::prelude::*;

use super::distinguish::{Distinguisher, Runs};
use super::draws::{Draws, seeds};
use super::guarantee::{Guarantee, Shown};
use super::neighbours::Worlds;
use super::observe::{Seen, Watcher};
use crate::error::{Error, Fallible};
use crate::kernel::RawRow;
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::optim::Planned;
use crate::privacy::Adjacency;
use crate::private::RowAccess;
use crate::statistics::evidence::Counts;
use crate::train::{Plan, Rehearsal};

/// Thresholds that are tried on the runs for learning.
const THRESHOLDS: usize = 100;

/// Runs that are paid for together where that is possible.
const TOGETHER: usize = 250;

/// What the adversary looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Every noised value, in the order in which they are released.
    Releases,
    /// The final coefficients alone.
    Model,
}

/// The size of an attack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attack {
    /// What the adversary looks at.
    pub view: View,
    /// What the adversary is told of draws about rows.
    pub draws: Draws,
    /// Runs in each world from which the rule is learned.
    pub learn: usize,
    /// Runs in each world on which it is judged.
    pub judge: usize,
    /// Confidence of the bound, in `(0, 1)`.
    pub confidence: f64,
    /// Seed of all noise. Runs with seeded noise are not private; the records are made up.
    pub seed: u64,
}

/// What an attack found.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The claim and the bound that was proved.
    pub shown: Shown,
    /// Distance of the mean scores over their pooled standard deviation: mu, if scores are normal. No bound.
    pub effect: f64,
    /// The errors from which the bound follows.
    pub counts: Counts,
    /// False positive and false negative rate at several thresholds, the former growing: a trade-off as measured.
    pub errors: Vec<(f64, f64)>,
}

/// Attacks the runs of two worlds and tests a guarantee.
///
/// The rule, its threshold and the delta at which a curve is tested are fixed by the first runs; the bound comes from
/// the others, so it holds whatever was learned.
///
/// # Errors
/// When a run fails, there are no runs, or the confidence is out of range.
///
/// # Reference
/// Clopper and Pearson 1934; Dong, Roth and Su 2022; Nasr et al. 2023.
pub fn attack(worlds: &Worlds, guarantee: &Guarantee, attack: &Attack) -> Fallible<Verdict> {
    if attack.learn < 2 || attack.judge == 0 {
        return Err(Error::parameter("trials", "are too few to learn from and to judge by", "use 1000 of each"));
    }
    let [absent, present] = [runs(worlds, 0, attack)?, runs(worlds, 1, attack)?];
    let (learned, judged): (Vec<Runs<'_>>, Vec<Runs<'_>>) =
        [&absent, &present].iter().map(|runs| runs.split_at(attack.learn)).unzip();
    let rule = match attack.view {
        View::Releases => {
            let replaced = worlds.absent().plan().scope.adjacency == Adjacency::ReplaceOne;
            Distinguisher::of_releases([learned[0], learned[1]], replaced)
        }
        View::Model => Distinguisher::of_models([learned[0], learned[1]]),
    };
    let scores = |runs: Runs<'_>| -> Vec<f64> { runs.iter().map(|(seen, model)| rule.score(seen, model)).collect() };
    let (threshold, point) = choose([&scores(learned[0]), &scores(learned[1])], guarantee, attack)?;
    let judged = [scores(judged[0]), scores(judged[1])];
    let counts = counts([&judged[0], &judged[1]], threshold);
    let shown = guarantee.test(point, counts, attack.confidence)?;
    let [absent, present] = [&judged[0][..], &judged[1][..]];
    Ok(Verdict { shown, effect: effect([absent, present]), counts, errors: errors([absent, present]) })
}

/// All runs of one world; each payment has a seed of its own.
fn runs(worlds: &Worlds, world: usize, attack: &Attack) -> Fallible<Vec<(Vec<Seen>, Vec<f64>)>> {
    let loaded = &worlds.each[world];
    let (all, together) = (attack.learn + attack.judge, together(loaded.plan()));
    let first = attack.seed.wrapping_mul(1 << 32).wrapping_add(world as u64);
    let some = |ledger: &mut Fallible<Ledger>, (index, seed): (usize, u64)| {
        let ledger = ledger.as_mut().map_err(|e| Error::numerical("ledger", e.to_string()))?;
        let count = together.min(all - index * together);
        let mut rehearsal = Rehearsal::charge(loaded, ledger, NoiseSource::insecure_from_seed(seed), count)?;
        (0..count).map(|_| one(&mut rehearsal, attack.draws, &worlds.canary)).collect::<Fallible<Vec<_>>>()
    };
    let seeds = seeds(attack.draws, loaded.plan(), worlds.position, first, all.div_ceil(together))?;
    let parts: Fallible<Vec<_>> = seeds.into_par_iter().enumerate().map_init(Ledger::in_memory, some).collect();
    Ok(parts?.into_iter().flatten().collect())
}

/// What one run shows, and its model: what it says of the record, where coefficients of different runs are of different things.
fn one(rehearsal: &mut Rehearsal<'_>, draws: Draws, canary: &RawRow) -> Fallible<(Vec<Seen>, Vec<f64>)> {
    let mut watcher = Watcher::new(draws);
    let made = rehearsal.run(&mut |release| {
        watcher.hear(release);
        Ok(())
    })?;
    match made.sight(canary) {
        Some(sight) => Ok((watcher.along(&sight.image), sight.margins)),
        None => Ok((watcher.seen, made.weights)),
    }
}

/// How many runs are paid for together: a payment takes about as long as a short run, and one with a claim longer. But what
/// is drawn for rows once per payment has to be drawn anew for every run.
fn together(plan: &Plan) -> usize {
    if plan.holdout.is_some() || plan.planned().iter().any(draws_once) { 1 } else { TOGETHER }
}

fn draws_once(planned: &Planned) -> bool {
    planned.query.all().into_iter().any(|query| match query.kind().reads().rows {
        RowAccess::Batches(_) | RowAccess::Order { .. } => true,
        RowAccess::StreamedSum | RowAccess::InMemory | RowAccess::Cells => false,
    })
}

/// The threshold and the point of the guarantee that promise most, by the runs for learning.
fn choose(scores: [&[f64]; 2], guarantee: &Guarantee, attack: &Attack) -> Fallible<(f64, usize)> {
    let mut pooled: Vec<f64> = scores.iter().flat_map(|s| s.iter().copied()).collect();
    pooled.sort_by(f64::total_cmp);
    let thresholds = (1..THRESHOLDS).map(|k| pooled[k * (pooled.len() - 1) / THRESHOLDS]);
    let mut best = (f64::NEG_INFINITY, (0.0, 0));
    for threshold in thresholds {
        let counts = scaled(counts(scores, threshold), attack.judge);
        for point in 0..guarantee.points() {
            let Shown { claimed, proved, .. } = guarantee.test(point, counts, attack.confidence)?;
            let share = proved / claimed.max(f64::MIN_POSITIVE);
            if share > best.0 {
                best = (share, (threshold, point));
            }
        }
    }
    Ok(best.1)
}

/// Rates of both errors at thresholds from the highest score down.
pub(super) fn errors(scores: [&[f64]; 2]) -> Vec<(f64, f64)> {
    let mut pooled: Vec<f64> = scores.iter().flat_map(|s| s.iter().copied()).collect();
    pooled.sort_by(f64::total_cmp);
    let thresholds = (0..=THRESHOLDS).rev().map(|k| pooled[k * (pooled.len() - 1) / THRESHOLDS]);
    let rates = |threshold| {
        let Counts { false_positives, negatives, false_negatives, positives } = counts(scores, threshold);
        (false_positives as f64 / negatives.max(1) as f64, false_negatives as f64 / positives.max(1) as f64)
    };
    thresholds.map(rates).collect()
}

/// Scores above the threshold are taken for the world with the record.
fn counts([absent, present]: [&[f64]; 2], threshold: f64) -> Counts {
    let above = |scores: &[f64]| scores.iter().filter(|&&score| score > threshold).count() as u64;
    Counts {
        false_positives: above(absent),
        negatives: absent.len() as u64,
        false_negatives: present.len() as u64 - above(present),
        positives: present.len() as u64,
    }
}

/// The counts to expect of `judge` runs in each world.
fn scaled(counts: Counts, judge: usize) -> Counts {
    let judge = judge as u64;
    Counts {
        false_positives: counts.false_positives * judge / counts.negatives.max(1),
        negatives: judge,
        false_negatives: counts.false_negatives * judge / counts.positives.max(1),
        positives: judge,
    }
}

fn effect([absent, present]: [&[f64]; 2]) -> f64 {
    let moments = |scores: &[f64]| {
        let count = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / count;
        (mean, scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / count)
    };
    let ((from, noise), (to, more)) = (moments(absent), moments(present));
    (to - from) / ((noise + more) / 2.0).sqrt().max(f64::MIN_POSITIVE)
}
