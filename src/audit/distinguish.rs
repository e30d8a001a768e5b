//! Learning to tell two worlds apart from runs in both.

use ndarray::{Array1, Array2};

use super::observe::{Layout, Seen};
use crate::num::dense;
use crate::num::logs::LnSum;
use crate::private::prefix_coefficients;

/// Differences of means below so many of their standard errors count as none.
const MIN_ERRORS: f64 = 3.0;

/// Choices among more candidates are told apart by neighbouring groups of them.
const MAX_GROUPS: u64 = 16;

/// The median distance of a normal number from its mean, in standard deviations.
const MEDIAN_DISTANCE: f64 = 0.674_489_750_196_081_7;

/// Assigns a number to a run: the larger, the more it looks like the world with the record.
pub(super) enum Distinguisher {
    /// An approximate log-likelihood ratio, release by release.
    Releases(Vec<Part>),
    /// A direction in the space of coefficients.
    Model(Vec<f64>),
}

/// Runs of one world.
pub(super) type Runs<'a> = &'a [(Vec<Seen>, Vec<f64>)];

impl Distinguisher {
    /// From all releases of runs without and with the record; where it is `replaced`, both worlds have one that moves them.
    pub(super) fn of_releases(worlds: [Runs<'_>; 2], replaced: bool) -> Self {
        let releases = worlds.iter().flat_map(|runs| runs.first()).map(|(seen, _)| seen.len()).min().unwrap_or(0);
        let part = |index: usize| {
            let of = |runs: Runs<'_>| -> Vec<Vec<f64>> {
                runs.iter().filter_map(|(seen, _)| seen.get(index)).map(|seen| seen.values.clone()).collect()
            };
            let layout = worlds[0].first().and_then(|(seen, _)| seen.get(index)).map_or(Layout::Plain, |s| s.layout);
            Part::learn(layout, &of(worlds[0]), &of(worlds[1]), replaced)
        };
        Distinguisher::Releases((0..releases).map(part).collect())
    }

    /// From the final coefficients alone, by Fisher's linear discriminant.
    pub(super) fn of_models(worlds: [Runs<'_>; 2]) -> Self {
        let [absent, present] = worlds.map(|runs| runs.iter().map(|(_, model)| model.clone()).collect::<Vec<_>>());
        let (from, to) = (Moments::of(&absent), Moments::of(&present));
        let dimension = from.mean.len();
        let mut pooled = Array2::zeros((dimension, dimension));
        for (runs, moments) in [(&absent, &from), (&present, &to)] {
            for run in runs {
                let off: Array1<f64> = run.iter().zip(&moments.mean).map(|(x, m)| x - m).collect();
                pooled.zip_mut_with(&outer(&off), |sum, x| *sum += x);
            }
        }
        let ridge = 1e-9 * pooled.diag().iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        pooled.diag_mut().iter_mut().for_each(|x| *x += ridge);
        let apart: Array1<f64> = to.mean.iter().zip(&from.mean).map(|(a, b)| a - b).collect();
        let direction = dense::solve_positive(pooled, &apart).unwrap_or(apart);
        Distinguisher::Model(direction.to_vec())
    }

    /// The score of a run.
    pub(super) fn score(&self, seen: &[Seen], model: &[f64]) -> f64 {
        match self {
            Distinguisher::Releases(parts) => parts.iter().zip(seen).map(|(part, seen)| part.score(&seen.values)).sum(),
            Distinguisher::Model(direction) => direction.iter().zip(model).map(|(w, x)| w * x).sum(),
        }
    }
}

fn outer(v: &Array1<f64>) -> Array2<f64> {
    Array2::from_shape_fn((v.len(), v.len()), |(row, column)| v[row] * v[column])
}

/// Means of each coordinate, and variances that a few odd runs do not move.
struct Moments {
    mean: Vec<f64>,
    variance: Vec<f64>,
    count: f64,
}

impl Moments {
    fn of(runs: &[Vec<f64>]) -> Self {
        let count = runs.len().max(1) as f64;
        let dimension = runs.first().map_or(0, Vec::len);
        let mean: Vec<f64> = (0..dimension).map(|j| runs.iter().map(|run| run[j]).sum::<f64>() / count).collect();
        let spread = |j: usize| {
            let mut distances: Vec<f64> = runs.iter().map(|run| (run[j] - mean[j]).abs()).collect();
            distances.sort_by(f64::total_cmp);
            (distances.get(distances.len() / 2).copied().unwrap_or(0.0) / MEDIAN_DISTANCE).powi(2)
        };
        let variance = (0..dimension).map(spread).collect();
        Moments { mean, variance, count }
    }
}

/// What was learned of one release.
pub(super) enum Part {
    /// Log-odds of each group of candidates.
    Table { candidates: u64, scores: Vec<f64> },
    /// The record moves part `t` by `pattern[t]` times one vector, the pattern being one of several with given weights.
    Shift(Shift),
}

/// See [`Part::Shift`].
pub(super) struct Shift {
    /// What is expected without a record; between the two records where one replaces the other.
    centre: Vec<f64>,
    /// The vector over the variance of each coordinate.
    weights: Vec<f64>,
    /// Half the squared length of the vector in standard deviations.
    half_square: f64,
    patterns: Vec<(f64, Vec<f64>)>,
    replaced: bool,
}

impl Part {
    fn learn(layout: Layout, absent: &[Vec<f64>], present: &[Vec<f64>], replaced: bool) -> Self {
        match layout {
            Layout::Choice(candidates) => Self::table(candidates, absent, present),
            _ => Part::Shift(Shift::learn(patterns(layout), absent, present, replaced)),
        }
    }

    fn table(candidates: u64, absent: &[Vec<f64>], present: &[Vec<f64>]) -> Self {
        let groups = candidates.clamp(1, MAX_GROUPS) as usize;
        let count = |runs: &[Vec<f64>]| {
            let mut counts = vec![0.5f64; groups];
            runs.iter().flatten().for_each(|&chosen| counts[group(chosen, candidates, groups)] += 1.0);
            counts
        };
        let scores = count(present).iter().zip(count(absent)).map(|(a, b)| (a / b).ln()).collect();
        Part::Table { candidates, scores }
    }

    fn score(&self, values: &[f64]) -> f64 {
        match self {
            Part::Table { candidates, scores } => {
                values.iter().map(|&chosen| scores[group(chosen, *candidates, scores.len())]).sum()
            }
            Part::Shift(shift) => shift.score(values),
        }
    }
}

impl Shift {
    fn learn(patterns: Vec<(f64, Vec<f64>)>, absent: &[Vec<f64>], present: &[Vec<f64>], replaced: bool) -> Self {
        let (from, to) = (Moments::of(absent), Moments::of(present));
        let parts = patterns.first().map_or(1, |(_, pattern)| pattern.len());
        let dimension = from.mean.len() / parts;
        let expected: Vec<f64> =
            (0..parts).map(|t| patterns.iter().map(|(weight, pattern)| weight * pattern[t]).sum()).collect();
        let square: f64 = expected.iter().map(|e| e * e).sum();
        let apart: Vec<f64> = to.mean.iter().zip(&from.mean).map(|(a, b)| a - b).collect();
        // Values are in units of the noise. Those of one pattern vary with earlier releases too; where there are several,
        // most of what varies beyond the noise is which of them it is.
        let variance = |j: usize| if patterns.len() == 1 { from.variance[j].max(f64::MIN_POSITIVE) } else { 1.0 };
        let shift = |j: usize| {
            let moved = (0..parts).map(|t| expected[t] * apart[t * dimension + j]).sum::<f64>() / square;
            let error = (variance(j) * (1.0 / from.count + 1.0 / to.count) / square).sqrt();
            if moved.abs() > MIN_ERRORS * error { moved } else { 0.0 }
        };
        let share = if replaced { 0.5 } else { 1.0 };
        let shifts: Vec<f64> = (0..dimension).map(|j| share * shift(j)).collect();
        let weights: Vec<f64> = (0..dimension).map(|j| shifts[j] / variance(j)).collect();
        let half_square = shifts.iter().zip(&weights).map(|(s, w)| s * w).sum::<f64>() / 2.0;
        let centre = from.mean.iter().zip(&apart).map(|(m, a)| m + (1.0 - share) * a).collect();
        Shift { centre, weights, half_square, patterns, replaced }
    }

    /// The log-likelihood ratio if noise is normal.
    fn score(&self, values: &[f64]) -> f64 {
        let off: Vec<f64> = values.iter().zip(&self.centre).map(|(x, m)| x - m).collect();
        let along = |part: &[f64]| part.iter().zip(&self.weights).map(|(x, w)| x * w).sum::<f64>();
        let along: Vec<f64> = off.chunks(self.weights.len().max(1)).map(along).collect();
        let moved = self.moved(&along, 1.0);
        if self.replaced { moved - self.moved(&along, -1.0) } else { moved }
    }

    /// The log-likelihood ratio of "moved by the vector times `sign`" and "not moved".
    fn moved(&self, along: &[f64], sign: f64) -> f64 {
        let mut sum = LnSum::default();
        for (weight, pattern) in &self.patterns {
            let each = pattern.iter().zip(along).map(|(c, a)| sign * c * a - c * c * self.half_square);
            sum.add(weight.ln() + each.sum::<f64>());
        }
        sum.value()
    }
}

fn group(chosen: f64, candidates: u64, groups: usize) -> usize {
    ((chosen / candidates as f64 * groups as f64) as usize).min(groups - 1)
}

/// The ways in which a record can move the parts of a release, with their probabilities.
fn patterns(layout: Layout) -> Vec<(f64, Vec<f64>)> {
    match layout {
        Layout::Plain | Layout::Choice(_) => vec![(1.0, vec![1.0])],
        Layout::Sampled(rate) => vec![(rate, vec![1.0]), (1.0 - rate, vec![0.0])],
        Layout::Drawn(steps) => {
            let of = |step| (0..steps).map(|t| f64::from(u8::from(t == step))).collect();
            (0..steps).map(|step| (1.0 / f64::from(steps), of(step))).collect()
        }
        Layout::Batches(batches) => {
            let coefficients = prefix_coefficients(batches);
            let first = coefficients.first().copied().unwrap_or(1) as f64;
            let at = |batch: usize, t: usize| t.checked_sub(batch).map_or(0.0, |lag| coefficients[lag] as f64 / first);
            let of = |batch| (0..batches as usize).map(|t| at(batch, t)).collect();
            (0..batches as usize).map(|batch| (1.0 / f64::from(batches), of(batch))).collect()
        }
        Layout::Phases(plan) => {
            // A record at place j of a block of m moves its mean iterate by the share (m - j) / m of a step.
            const SHARES: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
            let phases = plan.phases();
            let rows = plan.rows.max(1) as f64;
            let mut patterns = Vec::new();
            let mut left = 1.0;
            for phase in 0..phases {
                let chance = plan.block(phase) as f64 / rows;
                left -= chance;
                for share in SHARES {
                    let pattern = (0..phases).map(|t| if t == phase { share } else { 0.0 }).collect();
                    patterns.push((chance / SHARES.len() as f64, pattern));
                }
            }
            patterns.push((left.max(0.0), vec![0.0; phases as usize]));
            patterns
        }
    }
}
