//! # `additive`: a curve for every column
//!
//! Counts of every column first, then a few noisy full-batch steps on effects of intervals and values: a private generalized additive model, convex and
//! untuned. `--features additive` is short for it.
//!
//! **What it does.**
//!
//! 1. Release how many rows have each value of each column: of numbers by the intervals of a tree over their bounds (five levels, each interval cut into
//!    four), of a numeric target by six levels. Counts of all levels are made to fit each other (Hay et al. 2010).
//! 2. Cut each numeric column into intervals: one with more than `max(n / K, 2 sigma)` rows is cut on (`K` 1,024 for labels, 64 for numbers, `sigma` the
//!    noise of a count), one with fewer than `sigma` joins a neighbour, but for a cell with more than a 64th of the rows. Where no single cell stands out, effects run linearly from the middle of an interval to that of the next, in
//!    eighths; else each interval has one of its own, so that spikes (no capital gain, full time) stay apart. A numeric target is centred at the median and
//!    scaled by its tenths, cut at 6 scales.
//! 3. Each column gets coordinates that are orthonormal under its released shares: eigenvectors of `-|a - b| / 2` of the numbers of two intervals (a random
//!    walk over intervals), of the identity for categories. One with a share `s` of the variance (to the power 0.7 for labels) is weighted by
//!    `sqrt(s / (s + lambda))`, `lambda = min(1, A d(lambda) / (n mu)^2)`, `d(lambda) = sum s / (s + lambda)`, and left out below 0.25.
//! 4. From zero, `T` steps of gradient descent on these coordinates, each row's gradient clipped to `sqrt(t) clamp(k nu^-0.3, least, most)` with `t` the
//!    mean squared norm of a row and `nu = sqrt(d t) / (n mu)`.
//!    Least squares clip wider where the target can lie far out, as in [`whitened`](whitened.md).
//! 5. The result is a number for every interval and value: what it adds to the margin.
//!
//! **What is released, and why the bound is exact.**
//!
//! - *Counts*: a row is in one interval on each level, so its vector has the squared norm `20 p + c + 96 t` in whole steps (2 for each interval of `p` numeric
//!   columns, 1 for the value of each of `c` categorical ones, 4 for each interval of the target), whatever stands in it. No entry is negative, so
//!   under replace-one the sensitivity is `sqrt(2)` times that under add-remove.
//! - *Clipped sums*: rows are re-encoded by the released intervals, each by itself. A row contributes `m_i A q_i`, `A` the tables of coordinates rounded to multiples of
//!   2^-10, with `m_i^2 |A q_i|^2 <= bound^2` checked in exact integers: `|A q_i|^2` is a sum of one number of each column. Sensitivity: the bound under
//!   add-remove, twice that under replace-one.
//! - *Persons* ([`unit`](../units.md)): each of `k` rows of a person adds the `k`-th part of its counts, rounded down, which is no longer than that of one row. Gradients of
//!   a person's rows are averaged and clipped as one vector `u`: `|A u|^2` is added up exactly, table by table, and beyond the bound `C` each entry becomes `u_j f`,
//!   cut toward zero, with `f <= (C - s) / |A u|` and `s` a bound on what is cut off. Sensitivities are as above, with the person in the place of the row.
//!
//! **Cost.** Two Gaussian charges, and one for the number of rows where that is not public, which compose to one Gaussian mechanism; the counts take 10%
//! of the budget for labels and 6% for numbers. Time: one pass for the
//! counts, and one look-up and one addition a column and step. Rows take two bytes a column, and up to two more
//! for joint codes.
//!
//! **Settings and defaults.** `--clip` (by the rule), `--steps` (24 for labels, 16 for numbers), `--learning-rate` (8/15 of that of [`whitened`](whitened.md) for
//! labels, 2/5 for numbers), `--momentum` (0.6), `--l2` (the least `lambda`, 0 but 0.01 for `ridge`; never below 0.003 for labels), `--averaging` (the mean of the second half).
//!
//! **Use it when** effects are no straight lines and there are some 20,000 rows at epsilon 1 or more. With little data and little budget the linear
//! default is better: see [additive.md](../additive.md). It works streamed and on a cluster, and in the memory of one machine for persons; standard errors it
//! does not have.
//!
//! **Source.** Counts: Hay, Rastogi, Miklau, Suciu 2010. The coordinates and their ridge are this project's; the clipped steps are those of
//! Bassily, Smith, Thakurta 2014. Both relations.

use ndarray::{Array1, Array2, Axis, Slice};
use rayon::prelude::*;
use serde_json::json;

use super::description::{AUDIT_STILL, AuditRecipe, Description, Losses, Needs, Relations};
use super::release::bins::{Bins, Pieces};
use super::release::wave_law::WaveLaw;
use super::step::noise::StepNoise;
use super::step::standard_errors::Margin;
use super::{
    Averaging, ClipRule, ClippedPlan, Descent, Fitted, Optimizer, Planned, Problem, Settings, Start, settings,
};
use crate::error::{Error, Fallible};
use crate::grid::{IntegerMap, Scoring};
use crate::loss::{Tuning, WhitenedTuning};
use crate::num::dense;
use crate::num::tridiagonal::Tridiagonal;
use crate::private::{LoggedRun, PrivateDataset};

/// Name of the setting that says in how many coordinates steps were made.
pub(crate) const COORDINATES: &str = "coordinates";

/// Tables are rounded to multiples of `2^-10`.
pub(super) const LOG2_TABLE_UNIT: u32 = 10;

/// Directions of a column with a smaller share of its variance are rounding errors.
const MIN_VARIANCE: f64 = 1e-7;

/// Most coordinates of a column beside its straight line.
const MAX_BENDS: usize = 256;

/// A line whose deviation is this over its root mean square is flat but for rounding.
const FLAT: f64 = 1e-9;

/// Intervals with a smaller share of the rows are taken to have this one, which is below a row in ten million.
///
/// Eigenvalues are found within rounding errors of the largest, which is one over the least share, and what is a coordinate is judged by them: of
/// 1,024 intervals the smoothest coordinate has an eigenvalue near 0.01, and the tolerance is 7e-5.
const MIN_SHARE: f64 = 1e-7;

/// Coordinates that are shrunk to less than this are left out, but for the first of a column.
pub(super) const MIN_WEIGHT: f64 = 0.25;

/// Rounds in which the ridge settles.
const ROUNDS: usize = 40;

pub(super) static DESCRIPTION: Description = Description {
    name: "additive",
    about: "An effect of its own for every value, by intervals that are released first",
    releases: "counts of every column, T clipped sums",
    reference: "Hay et al. 2010 for the counts; steps as in `whitened`",
    relations: Relations::Both,
    losses: Losses::Any,
    settings: settings::OF_ADDITIVE,
    needs: Needs::NOTHING,
    plan: |problem| Ok(Box::new(Additive::plan(problem)?)),
    audit: |_| {
        // The last iterate alone shows as much as all releases together.
        let last = Settings { averaging: Some(Averaging::Last), momentum: Some(0.0), ..AUDIT_STILL };
        // Of many rows there would be many intervals, and nothing in them.
        let one_run = Some("releases counts, in which canaries meet");
        AuditRecipe { rows: 20, one_run, ..AuditRecipe::with(last) }
    },
};

/// What is believed of effects before a row is read, and how steps are taken; measured on Adult, BRFSS diabetes, California housing and
/// protein structure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rule {
    /// The ridge is this times the effective number of coordinates over `(n mu)^2`, at most 1.
    pub(super) strength: f64,
    /// The least ridge.
    pub(super) least: f64,
    /// Variances of directions are raised to this.
    pub(super) decay: f64,
    /// Steps.
    pub(super) steps: u64,
    /// Weight of the previous direction.
    pub(super) momentum: f64,
    /// The step size over that in whitened coordinates.
    pub(super) rate: f64,
    /// The factor of the clip rule over that in whitened coordinates.
    pub(super) clip: f64,
    /// `strength` and `least` of waves.
    pub(super) waves: (f64, f64),
}

impl Rule {
    /// For labels.
    const LABELS: Rule = Rule {
        strength: 83_333.0,
        least: 0.003,
        decay: 0.7,
        steps: 24,
        momentum: 0.6,
        rate: 8.0 / 15.0,
        clip: 1.0,
        waves: (250_000.0, 0.01),
    };

    /// For numbers.
    const NUMBERS: Rule = Rule {
        strength: 7_500.0,
        least: 0.0,
        decay: 1.0,
        steps: 16,
        momentum: 0.6,
        rate: 0.4,
        clip: 5.0 / 6.0,
        waves: (75.0, 0.0),
    };

    /// With waves (`waved`) beside curves both can say the same, so that directions are steeper.
    pub(super) fn of(tuning: &Tuning, waved: bool) -> Self {
        let WhitenedTuning { steps, momentum, .. } = tuning.whitened;
        match tuning.scoring {
            Scoring::Label | Scoring::Score | Scoring::Class { .. } => Self::LABELS,
            Scoring::Number => Self::NUMBERS,
            // The slope of a count is the steeper the larger the count; measured on randhie and on the children of fair.
            Scoring::Count if waved => Rule { steps, momentum, rate: 0.25, clip: 1.0, ..Self::NUMBERS },
            // Slopes that turn in a narrow strip, or grow without bound, ask for steps of their own.
            Scoring::Quantile | Scoring::Count => Rule { steps, momentum, rate: 1.0, clip: 1.0, ..Self::NUMBERS },
        }
    }
}

/// Additive effects of columns that were cut into intervals.
///
/// Each column gets coordinates that are orthonormal under its released masses: eigenvectors of a kernel, `-|a - b| / 2` of the numbers of two intervals (a random
/// walk over intervals) or the identity for categories, centred. A coordinate of variance share `s` is weighted by
/// `a = sqrt(s / (s + lambda))`, with `lambda = min(1, A d(lambda) / (n mu)^2)`, `d = sum s / (s + lambda)`, and left out below 0.25. In
/// these coordinates a few steps along clipped sums are taken from zero, and the result is a number for every interval and value.
///
/// # Privacy
/// One Gaussian release of a clipped sum per step, both adjacencies; the coordinates follow from released counts. Together with that
/// release exactly one Gaussian mechanism.
#[derive(Clone, Debug, PartialEq)]
pub struct Additive {
    gradient: ClippedPlan,
    clip: ClipRule,
    descent: Descent,
    rule: Rule,
    follows_labels: bool,
    /// Whether bands are known: gradients of a person's rows are shorter, and cut in another way. With waves the noise of their covariance is as large
    /// as that of the steps.
    rows_alone: bool,
}

impl Additive {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small for the number of steps.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        Self::plan_as(&DESCRIPTION, problem)
    }

    /// Plans it, or what does more under another name.
    pub(super) fn plan_as(description: &Description, problem: &Problem<'_>) -> Fallible<Self> {
        description.fits(problem)?;
        let name = description.name;
        if !problem.binned {
            return Err(Error::parameter(
                "algorithm",
                format!("{name} needs a release of counts before it, which nothing else makes"),
                "name it alone, or with --tune and settings alone, and not as a part of something else",
            ));
        }
        let Settings { clip, l2, .. } = *problem.settings;
        let tuning = problem.loss.tuning();
        let whitened = tuning.whitened;
        let rule = Rule::of(&tuning, name != DESCRIPTION.name);
        let l2 = l2.unwrap_or(0.0);
        let rule = Rule { least: rule.least.max(l2), waves: (rule.waves.0, rule.waves.1.max(l2)), ..rule };
        let rate = rule.rate * whitened.rate;
        let descent = Descent::of(problem, rule.steps, rate, rule.momentum, Averaging::Tail);
        let descent = Descent { l2: 0.0, ..descent };
        let gradient = ClippedPlan::through(problem, LOG2_TABLE_UNIT, &problem.budget, descent.steps)?;
        let [factor, least, most] = whitened.clip;
        let measured = || ClipRule::by_noise([rule.clip * factor, least, most], problem.loss);
        let clip = clip.map_or_else(measured, ClipRule::Fixed);
        let (follows_labels, rows_alone) = (whitened.follows_labels, !problem.persons);
        Ok(Additive { gradient, clip, descent, rule, follows_labels, rows_alone })
    }

    /// The share of the budget for the release of counts, and the most intervals of a column, about: labels show single values, numbers hardly do.
    pub(crate) fn counts(number: bool) -> (f64, f64) {
        if number { (0.06, 64.0) } else { (0.10, 1024.0) }
    }

    /// The coordinates that follow from released intervals of so many rows.
    fn seen_by(&self, bins: &Bins, rows: f64) -> Fallible<Coordinates> {
        let signal = rows * self.gradient.mu();
        let Effects { tables, square: of_effects, ridge: of_columns } = Effects::new(bins, &self.rule, signal)?;
        let waves = bins.waves.as_ref().map(|law| Block::new(law, &self.rule, (of_effects, signal)));
        let Block { numbers, square, ridge } = waves.unwrap_or_else(Block::none);
        let map = IntegerMap::of_blocks(numbers, tables.clone(), LOG2_TABLE_UNIT)?;
        let (square, ridges) = (of_effects + square, (of_columns, ridge));
        Ok(Coordinates { map, square, ridges, tables })
    }
}

impl Optimizer for Additive {
    fn planned(&self) -> Vec<Planned> {
        vec![self.gradient.release.planned()]
    }

    fn coordinates(&self, bins: &Bins, rows: f64) -> Fallible<Option<IntegerMap>> {
        Ok(Some(self.seen_by(bins, rows)?.map))
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let Some(bins) = start.bins else {
            return Err(Error::refused("additive effects need a release of counts", "train with `train`"));
        };
        let Coordinates { map, square, ridges, tables } = self.seen_by(bins, start.rows)?;
        let coordinates = map.dimension();
        let dimension = (coordinates * self.descent.loss.outputs()) as f64;
        let (row_norm, mu) = (square.sqrt(), self.gradient.mu());
        let loosening = if self.follows_labels { self.clip.loosening(row_norm, dimension, start, mu) } else { 1.0 };
        let clip_norm = loosening * self.clip.clip_norm(row_norm, dimension, start, mu);
        let rows = data.clipped_through(map, self.gradient.clip_steps)?;
        let weights = self.descent.run(&rows, &self.gradient.release.planned(), clip_norm, start, run)?;
        let mut settings = self.descent.settings();
        settings.insert(COORDINATES.into(), json!(coordinates));
        settings.insert("l2".into(), json!(self.rule.least));
        settings.insert("ridge".into(), json!(ridges.0));
        if bins.waves.is_some() {
            settings.insert("ridge_of_waves".into(), json!(ridges.1));
        }
        let deviations = if self.rows_alone && bins.waves.is_none() {
            let noise = clip_norm / self.gradient.clip_steps as f64 * self.gradient.release.scale() / start.rows;
            let noise = StepNoise::new(&self.descent, &margin(bins, &weights), clip_norm / row_norm, noise);
            let of_column = |(table, shares): (&Array2<f64>, Vec<f64>)| {
                noise.variances(table, &shares).into_iter().map(f64::sqrt).collect()
            };
            tables.iter().zip(bins.shares()).map(of_column).collect()
        } else {
            Vec::new()
        };
        Ok(Fitted { weights, standard_errors: None, deviations, unit: 1.0, settings })
    }
}

/// The coordinates in which steps are made.
struct Coordinates {
    map: IntegerMap,
    /// The mean squared norm of a row.
    square: f64,
    /// Those of columns and of waves.
    ridges: (f64, f64),
    /// A table a column, before the map is rounded.
    tables: Vec<Array2<f64>>,
}

/// The law of the margin of a model of one margin, where columns do not depend on each other.
pub(super) fn margin(bins: &Bins, weights: &[f64]) -> Margin {
    let (mut mean, mut variance) = (weights.last().copied().unwrap_or(0.0), 0.0);
    let mut rest = weights;
    for shares in bins.shares() {
        let (own, others) = rest.split_at(shares.len().min(rest.len()));
        let centre: f64 = own.iter().zip(&shares).map(|(effect, share)| share * effect).sum();
        mean += centre;
        variance += own.iter().zip(&shares).map(|(effect, share)| share * (effect - centre).powi(2)).sum::<f64>();
        rest = others;
    }
    Margin { mean, variance }
}

/// Coordinates for the effects of all columns.
struct Effects {
    /// A table a column: a row of coordinates for each of its intervals or values.
    tables: Vec<Array2<f64>>,
    /// The mean squared norm of a row, the intercept included.
    square: f64,
    ridge: f64,
}

impl Effects {
    /// `signal` is `n mu`, the number of rows over the noise of all steps together.
    fn new(bins: &Bins, rule: &Rule, signal: f64) -> Fallible<Self> {
        let along = bins.numeric.par_iter().map(|pieces| Column::along(&pieces.shares, rule.decay));
        let apart = bins.categorical.par_iter().map(|shares| Column::apart(shares, rule.decay));
        let columns = along.chain(apart).collect::<Fallible<Vec<_>>>()?;
        let ridge = settled(rule.least, |ridge| {
            let shrunk = |variance: &f64| if *variance > 0.0 { variance / (variance + ridge) } else { 0.0 };
            let effective: f64 = columns.iter().flat_map(|column| &column.variances).map(shrunk).sum();
            rule.strength * effective / (signal * signal)
        });
        let weight = |variance: &f64| (variance / (variance + ridge)).sqrt();
        // They descend, and so do the weights.
        let kept = |column: &Column| -> Vec<f64> {
            let all = column.variances.iter().map(weight).enumerate();
            all.take_while(|(index, weight)| *index == 0 || *weight > MIN_WEIGHT).map(|(_, weight)| weight).collect()
        };
        let kept: Vec<Vec<f64>> = columns.iter().map(kept).collect();
        let square = 1.0 + kept.iter().flatten().map(|weight| weight * weight).sum::<f64>();
        let pieces = bins.numeric.iter().map(Some).chain(std::iter::repeat(None));
        let all: Vec<_> = columns.iter().zip(kept).zip(pieces).collect();
        let table = |((column, weights), pieces): ((&Column, Vec<f64>), Option<&Pieces>)| -> Fallible<Array2<f64>> {
            let table = column.leading(weights.len())? * &Array1::from(weights);
            Ok(match pieces.filter(|pieces| pieces.linear) {
                Some(pieces) => in_parts(&table, pieces),
                None => table,
            })
        };
        let tables = all.into_par_iter().map(table).collect::<Fallible<_>>()?;
        Ok(Effects { tables, square, ridge })
    }
}

/// The coordinates of the parts of intervals, given those of intervals: they run linearly from middle to middle.
pub(super) fn in_parts(table: &Array2<f64>, pieces: &Pieces) -> Array2<f64> {
    let between = pieces.between();
    let mut finer = Array2::zeros((between.len(), table.ncols()));
    for (mut row, (from, to, weight)) in finer.rows_mut().into_iter().zip(between) {
        row.assign(&(&table.row(from) * (1.0 - weight) + &table.row(to) * weight));
    }
    finer
}

/// Coordinates for what columns do together.
struct Block {
    /// From waves to coordinates, as [`IntegerMap::of_blocks`] takes it.
    numbers: Array2<f64>,
    /// Their mean squared norm.
    square: f64,
    ridge: f64,
}

impl Block {
    /// Where there are no waves.
    fn none() -> Self {
        Block { numbers: Array2::zeros((0, 1)), square: 0.0, ridge: 0.0 }
    }

    /// Waves in whitened coordinates; `effects` is the mean squared norm of those of single columns.
    fn new(law: &WaveLaw, rule: &Rule, (effects, signal): (f64, f64)) -> Self {
        let (strength, least) = rule.waves;
        let shares = law.shares();
        let ridge = settled(least, |ridge| {
            let effective: f64 = shares.iter().map(|share| share / (share + ridge)).sum();
            strength * (effective + effects) / (signal * signal)
        });
        let weight = |share: f64| Some((share / (share + ridge)).sqrt()).filter(|&weight| weight > MIN_WEIGHT);
        let weights = shares.mapv(|share| weight(share).unwrap_or(0.0));
        Block { numbers: law.block(&weights), square: weights.dot(&weights), ridge }
    }
}

/// The ridge that a rule for it settles at, at least `least` and at most 1.
pub(super) fn settled(least: f64, rule: impl Fn(f64) -> f64) -> f64 {
    let settled = (0..ROUNDS).fold(1e-4, |ridge, _| rule(ridge).clamp(f64::MIN_POSITIVE, 1.0));
    settled.max(least)
}

/// Coordinates of a column that are orthonormal under its masses, with the share of the variance that each is believed to have.
pub(super) struct Column {
    /// Descending.
    pub(super) variances: Vec<f64>,
    basis: Basis,
}

/// What coordinates follow from.
enum Basis {
    /// All of them.
    Known(Array2<f64>),
    /// A matrix, the first of its eigenvalues in ascending order, and the roots of the masses, which it takes to zero.
    Inverse(Tridiagonal, Vec<f64>, Array1<f64>),
}

impl Column {
    /// For intervals in their order: neighbours have similar effects.
    ///
    /// The kernel `-|a - b| / 2` undoes the second difference `L` of the path over the intervals: `L K f = f` where `f` adds up to zero. So
    /// `K P phi = e phi` (centred, `P` the masses) is `L phi = P phi / e`: coordinates are eigenvectors of the tridiagonal `P^(-1/2) L P^(-1/2)`, and
    /// their variances one over its eigenvalues, but for a factor that all share.
    fn along(shares: &[f64], decay: f64) -> Fallible<Self> {
        let root: Array1<f64> = shares.iter().map(|share| share.max(MIN_SHARE).sqrt()).collect();
        let last = shares.len().saturating_sub(1);
        let neighbours = |at: usize| f64::from(u8::from(at > 0) + u8::from(at < last));
        let diagonal = root.iter().enumerate().map(|(at, root)| neighbours(at) / (root * root)).collect();
        let beside = root.windows(2).into_iter().map(|pair| -1.0 / (pair[0] * pair[1])).collect();
        let inverse = Tridiagonal::new(diagonal, beside)?;
        let mut values = inverse.eigenvalues()?;
        // That of the constant.
        values.remove(0);
        if values.first().is_some_and(|&smallest| smallest <= 0.0) {
            return Err(Error::numerical("coordinates", "of a column do not follow from its counts"));
        }
        let smallest = values.first().copied().unwrap_or(0.0);
        values.retain(|value| MIN_VARIANCE * value < smallest);
        let variances = shares_of(values.iter().map(|value| value.powf(-decay)));
        let root = &root / root.dot(&root).sqrt();
        Ok(Column { variances, basis: Basis::Inverse(inverse, values, root) })
    }

    /// For intervals in their order beside a straight line, by its mean over each: what is uncorrelated with it.
    ///
    /// With `c` the line in the first coordinates of [`Column::along`], of length 1, and `V` their variances, these are the eigenvectors of
    /// `(I - c c^T) V (I - c c^T)`.
    pub(super) fn beside(shares: &[f64], line: &[f64], decay: f64) -> Fallible<Self> {
        let walk = Self::along(shares, decay)?;
        let count = walk.variances.len().min(MAX_BENDS);
        let coordinates = walk.leading(count)?;
        let weighted: Array1<f64> = shares.iter().zip(line).map(|(p, z)| p * z).collect();
        let mut along = coordinates.t().dot(&weighted);
        let (length, all) = (along.dot(&along).sqrt(), weighted.iter().zip(line).map(|(pz, z)| pz * z).sum::<f64>());
        // A line that is flat where rows are is no line.
        if length <= FLAT * all.sqrt() {
            return Ok(walk);
        }
        along /= length;
        let bent = along.iter().zip(&walk.variances).map(|(c, v)| c * c * v).sum::<f64>();
        let kernel = Array2::from_shape_fn((count, count), |(a, b)| {
            let own = if a == b { walk.variances[a] } else { 0.0 };
            own + along[a] * along[b] * (bent - walk.variances[a] - walk.variances[b])
        });
        let (values, vectors) = dense::symmetric_eigen(kernel)?;
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_unstable_by(|&a, &b| values[b].total_cmp(&values[a]));
        let largest = order.first().map_or(0.0, |&first| values[first]);
        order.retain(|&index| values[index] > MIN_VARIANCE * largest);
        let variances = shares_of(order.iter().map(|&index| values[index]));
        Ok(Column { variances, basis: Basis::Known(coordinates.dot(&vectors.select(Axis(1), &order))) })
    }

    /// For values without an order: eigenvectors of the centred identity.
    fn apart(shares: &[f64], decay: f64) -> Fallible<Self> {
        let n = shares.len();
        let root: Vec<f64> = shares.iter().map(|share| share.sqrt()).collect();
        let square: f64 = shares.iter().map(|share| share * share).sum();
        let centred = Array2::from_shape_fn((n, n), |(a, b)| {
            root[a] * root[b] * (f64::from(u8::from(a == b)) - shares[a] - shares[b] + square)
        });
        let (values, vectors) = dense::symmetric_eigen(centred)?;
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_unstable_by(|&a, &b| values[b].total_cmp(&values[a]));
        let largest = order.first().map_or(0.0, |&first| values[first]);
        order.retain(|&index| values[index] > MIN_VARIANCE * largest);
        let coordinates =
            Array2::from_shape_fn((n, order.len()), |(row, column)| vectors[(row, order[column])] / root[row]);
        let variances = shares_of(order.iter().map(|&index| values[index].powf(decay)));
        Ok(Column { variances, basis: Basis::Known(coordinates) })
    }

    /// The first coordinates, as columns.
    pub(super) fn leading(&self, count: usize) -> Fallible<Array2<f64>> {
        match &self.basis {
            Basis::Known(coordinates) => Ok(coordinates.slice_axis(Axis(1), Slice::from(..count)).to_owned()),
            Basis::Inverse(inverse, values, root) => {
                Ok((inverse.eigenvectors(&values[..count], Some(root))? / root).reversed_axes())
            }
        }
    }
}

/// Numbers over their sum.
fn shares_of(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let numbers: Vec<f64> = numbers.collect();
    let total: f64 = numbers.iter().sum();
    numbers.into_iter().map(|number| number / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_orthonormal_under_the_masses() {
        let shares = [0.1, 0.3, 0.2, 0.25, 0.15];
        for column in [Column::along(&shares, 0.7).unwrap(), Column::apart(&shares, 1.0).unwrap()] {
            let coordinates = column.leading(column.variances.len()).unwrap();
            let weighted = &coordinates * &Array1::from(shares.to_vec()).insert_axis(Axis(1));
            let gram = coordinates.t().dot(&weighted);
            assert!((&gram - &Array2::<f64>::eye(gram.nrows())).iter().all(|e| e.abs() < 1e-9));
            // Nothing is left for the intercept, and all else is there.
            assert!(weighted.sum_axis(Axis(0)).iter().all(|mean| mean.abs() < 1e-9));
            assert_eq!(column.variances.len(), 4);
            assert!((column.variances.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(column.variances.windows(2).all(|pair| pair[0] >= pair[1]));
        }
        for column in [Column::along(&[1.0], 0.7).unwrap(), Column::apart(&[1.0], 0.7).unwrap()] {
            assert_eq!((column.variances.len(), column.leading(0).unwrap().dim()), (0, (1, 0)));
        }
    }

    #[test]
    fn coordinates_of_intervals_are_those_of_a_random_walk_over_them() {
        // Spikes between intervals with hardly a row, alike on both sides, so that some variances agree nearly.
        let half: Vec<f64> = (0..60).map(|at| if at % 13 == 5 { 1.0 } else { 1e-4 }).collect();
        let mirrored = half.iter().chain(half.iter().rev()).copied();
        for shares in [shares_of(mirrored), shares_of((1..90).map(f64::from)), shares_of([1.0, 1e-30, 2.0].into_iter())]
        {
            let column = Column::along(&shares, 1.0).unwrap();
            let coordinates = column.leading(column.variances.len()).unwrap();
            let n = shares.len();
            let p = Array1::from(shares);
            let kernel = Array2::from_shape_fn((n, n), |(a, b)| -((a as f64 - b as f64).abs()) / 2.0);
            let centre = Array2::<f64>::eye(n) - Array2::from_shape_fn((n, n), |(_, b)| p[b]);
            let covariance = centre.dot(&kernel).dot(&centre.t());
            let total = covariance.diag().dot(&p);
            // The covariance of a walk, whatever coordinates it is told in.
            let told = (&coordinates * &Array1::from(column.variances)).dot(&coordinates.t()) * total;
            let weighted = |matrix: &Array2<f64>| matrix * &p.mapv(f64::sqrt) * &p.mapv(f64::sqrt).insert_axis(Axis(1));
            let off = weighted(&(told - &covariance)).iter().fold(0.0f64, |most, off| most.max(off.abs()));
            assert!(off < 1e-4 * total, "{off} of {total}");
        }
    }
}
