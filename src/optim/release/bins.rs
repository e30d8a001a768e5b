//! One release of the counts of every column, and the intervals and masses that follow from it.

use ndarray::Array2;

use crate::error::{Error, Fallible};
use crate::grid::{FEATURE_TREE, Shape, TARGET_TREE, Tree};
use crate::optim::{Fineness, GaussianRelease, GaussianRule, Spread};
use crate::preprocess::{Affine, Binner};
use crate::privacy::{Adjacency, NoiseLaw, Rho};
use crate::private::{LoggedRun, PrivateDataset, Query, query};

use super::lines::Straight;
use super::tree::{Leaf, leaves, quantile, spread};
use super::wave_law::WaveLaw;

/// Size of the grid: the vector of a row is near `2^31` grid steps.
const REACH: f64 = (1u64 << 31) as f64;

/// Intervals of a target, at most about.
const TARGET_LEAVES: f64 = 64.0;

/// A tenth and nine tenths of a normal law are so many deviations apart.
const DEVIATIONS_BETWEEN_TENTHS: f64 = 2.563;

/// The smallest scale of a target that is told apart, as a share of half its range.
const MIN_SCALE: f64 = 0.002;

/// Parts that an interval is cut into where effects run linearly from interval to interval.
pub(in crate::optim) const PARTS: usize = 8;

/// A release of the counts of every column, by intervals of several sizes for numbers.
///
/// # Privacy
/// One Gaussian release of [`query::Marginals`]; what is made of it is post-processing.
///
/// ```
/// use rhograd::grid::Shape;
/// use rhograd::optim::BinPlan;
/// use rhograd::privacy::{Adjacency, NoiseLaw};
///
/// // Two numeric columns and one of three values; labels are not counted.
/// let shape = Shape::new(2, &[3]);
/// let plan = BinPlan::new(&shape, Adjacency::AddRemove, 0.01, (false, 1024.0), NoiseLaw::FlooredNormal)?;
/// assert!(plan.release.rho().upper() <= 0.0101);
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BinPlan {
    step: u64,
    target: bool,
    /// Intervals of a numeric column, at most about.
    leaves: f64,
    /// Deviations at which numbers that have a slope of their own are cut, where they have.
    limit: Option<f64>,
    /// The release.
    pub release: GaussianRelease,
}

impl BinPlan {
    /// Plans a release for at most `rho`, with about `leaves` intervals a column at most, and that of the target's counts if `target`.
    ///
    /// # Errors
    /// When the share of the budget is too small or too large for the integer grid.
    pub fn new(
        shape: &Shape,
        adjacency: Adjacency,
        rho: f64,
        (target, leaves): (bool, f64),
        noise: NoiseLaw,
    ) -> Fallible<Self> {
        let of = |step| query::Marginals { numeric: shape.numeric(), categorical: shape.categorical(), target, step };
        let query = |step| Query::from(of(step));
        let rule = GaussianRule { what: "counts of every column", query: &query, adjacency, noise, count: 1 };
        let pairs = match adjacency {
            Adjacency::AddRemove => 1.0,
            Adjacency::ReplaceOne => 2.0,
        };
        let sensitivity = (of(1).square() as f64 * pairs).sqrt();
        let wanted = Fineness { sensitivity, target: REACH, largest: 1 << 40, slack: 1e-9 };
        let (release, step) = rule.finest(&Rho::from_f64(rho)?, &wanted);
        if step < 1 << 12 {
            return Err(Error::parameter(
                "budget",
                "is too small or too large for a release of the counts of every column",
                "use another epsilon, or --features linear",
            ));
        }
        Ok(BinPlan { step, target, leaves, limit: None, release })
    }

    /// With intervals cut so finely that a straight line, cut at `limit` deviations from the mean, is told by its value in each.
    #[must_use]
    pub(crate) fn fine(self, limit: f64) -> Self {
        BinPlan { limit: Some(limit), ..self }
    }

    /// Makes the release, and intervals of it; `rows` is the public or released number of rows, or of persons where they are the unit.
    ///
    /// # Errors
    /// When it is not the next release of the plan, or fails.
    pub fn run(&self, data: &PrivateDataset, rows: f64, run: &mut LoggedRun<'_>) -> Fallible<Bins> {
        let step = 1.0 / self.step as f64;
        let released = run.release(&self.release.planned(), step, || data.marginals(self.target, self.step))?;
        let mut values = released.values().iter().map(|&value| value as f64 * step);
        let shape = data.shape();
        let features: Vec<Vec<Vec<f64>>> =
            (0..shape.numeric()).map(|_| tree(&mut values, FEATURE_TREE, query::Marginals::FEATURE)).collect();
        let noise = self.release.scale() * step;
        let categories: Vec<Vec<f64>> =
            (0..shape.categorical()).map(|column| values.by_ref().take(shape.levels(column)).collect()).collect();
        let of_target = |values: &mut _| tree(values, TARGET_TREE, query::Marginals::TARGET);
        let target =
            self.target.then(|| TargetLaw::of(&of_target(&mut values), rows, noise / query::Marginals::TARGET as f64));
        let of_feature = noise / query::Marginals::FEATURE as f64;
        let pieces = |levels: &Vec<Vec<f64>>| {
            let pieces = Pieces::of(levels, rows, of_feature, self.leaves);
            match self.limit {
                None => pieces,
                Some(limit) => pieces.with_line(levels, rows, of_feature, limit),
            }
        };
        Ok(Bins {
            numeric: features.iter().map(pieces).collect(),
            categorical: categories.into_iter().map(|counts| masses(&counts, of_feature)).collect(),
            target,
            waves: None,
            straight: None,
        })
    }
}

/// The counts of a tree, level by level, from released values that were weighted.
fn tree(values: &mut impl Iterator<Item = f64>, tree: Tree, weight: u64) -> Vec<Vec<f64>> {
    let mut level = |size: usize| values.by_ref().take(size).map(|value| value / weight as f64).collect();
    tree.level_sizes().map(&mut level).collect()
}

/// The intervals that values of every column are told apart by, with the released share of rows in each: where persons are the unit, the mean over persons of that of their own rows.
///
/// An optimizer finds them where the plan of its run released them:
///
/// ```
/// use rhograd::optim::{Bins, Start};
///
/// fn rows_are_cut_into_intervals(start: &Start<'_>) -> bool {
///     let bins: Option<&Bins> = start.bins;
///     bins.is_some()
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bins {
    /// Numeric columns.
    pub(in crate::optim) numeric: Vec<Pieces>,
    /// The share of each declared value.
    pub(in crate::optim) categorical: Vec<Vec<f64>>,
    target: Option<TargetLaw>,
    /// What waves of all columns look like, where their covariance was released besides.
    pub(in crate::optim) waves: Option<WaveLaw>,
    /// Straight lines in coordinates of all columns, where their covariance was released besides.
    pub(in crate::optim) straight: Option<Straight>,
}

impl Bins {
    /// These intervals, with waves beside them.
    pub(crate) fn with_waves(self, waves: WaveLaw) -> Self {
        Bins { waves: Some(waves), ..self }
    }

    /// These intervals, with straight lines beside them.
    pub(crate) fn with_straight(self, straight: Straight) -> Self {
        Bins { straight: Some(straight), ..self }
    }

    /// For each column the share of rows in each part of its intervals, or with each of its values; rows spread evenly inside an interval.
    pub(crate) fn shares(&self) -> Vec<Vec<f64>> {
        let parts = |pieces: &Pieces| -> Vec<f64> {
            if let Some(line) = &pieces.line {
                return line.shares(pieces);
            }
            let parts = pieces.parts();
            pieces.shares.iter().flat_map(|share| std::iter::repeat_n(share / parts as f64, parts)).collect()
        };
        self.numeric.iter().map(parts).chain(self.categorical.iter().cloned()).collect()
    }

    /// The released covariance of scores and the deviation of its noise, where a model tells it.
    pub(crate) fn covariance(&self) -> Option<(&Array2<f64>, f64)> {
        let normal = self.waves.as_ref().map(|law| &law.normal).filter(|normal| normal.is_told())?;
        Some((&normal.covariance, normal.noise))
    }

    /// Where the target lies, in encoded units.
    pub(crate) fn target(&self) -> Option<&TargetLaw> {
        self.target.as_ref()
    }

    /// The re-encoding of rows by the intervals, with a map of the target.
    ///
    /// # Errors
    /// When there are more values or intervals than codes.
    pub(crate) fn binner(&self, target: Option<Affine>) -> Fallible<Binner> {
        let numeric = self.numeric.iter().map(Pieces::starts).collect();
        let too_many = |_| Error::numerical("intervals", "are too many");
        let levels = self.categorical.iter().map(|shares| u16::try_from(shares.len()).map_err(too_many));
        Binner::new(numeric, levels.collect::<Fallible<_>>()?, target)
    }
}

/// The intervals of a numeric column.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::optim) struct Pieces {
    leaves: Vec<Leaf>,
    /// The share of rows in each interval.
    pub(in crate::optim) shares: Vec<f64>,
    /// Whether effects run linearly between the middles of intervals; else each interval has one, for single values stand out.
    pub(in crate::optim) linear: bool,
    /// A finer cut, and a straight line along it, where the column has one.
    line: Option<Line>,
}

/// Parts of intervals that are so short that a straight line is told by its value in each.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    /// Where each part begins, in eighths of cells; the first at 0.
    starts: Vec<usize>,
    /// The interval that each part belongs to.
    leaf: Vec<usize>,
    /// Deviations from the mean in the middle of each part.
    scores: Vec<f64>,
}

impl Line {
    /// The middle of each part, in cells.
    fn middles(&self) -> Vec<f64> {
        let ends = self.starts.iter().skip(1).copied().chain([PARTS * FEATURE_TREE.cells()]);
        self.starts.iter().zip(ends).map(|(&start, end)| (start + end) as f64 / (2 * PARTS) as f64).collect()
    }

    /// The share of rows in each part; rows spread evenly inside an interval.
    fn shares(&self, pieces: &Pieces) -> Vec<f64> {
        let ends = self.starts.iter().skip(1).copied().chain([PARTS * FEATURE_TREE.cells()]);
        let share = |((&start, end), &leaf): ((&usize, usize), &usize)| {
            pieces.shares[leaf] * (end - start) as f64 / (PARTS * pieces.leaves[leaf].cells.len()) as f64
        };
        self.starts.iter().zip(ends).zip(&self.leaf).map(share).collect()
    }
}

/// Parts of a deviation that a straight line is told apart by.
const FINENESS: f64 = 8.0;

impl Pieces {
    fn of(levels: &[Vec<f64>], rows: f64, noise: f64, most: f64) -> Self {
        let split = (rows / most).max(2.0 * noise);
        let leaves = leaves(levels, rows, noise, split, noise);
        let linear = leaves.len() > 1 && !leaves.iter().any(|leaf| leaf.stands_out(split));
        let counts: Vec<f64> = leaves.iter().map(|leaf| leaf.mass).collect();
        Pieces { shares: masses(&counts, 0.5 * noise), leaves, linear, line: None }
    }

    /// Cut more finely within `limit` deviations of the mean, by released counts.
    fn with_line(self, levels: &[Vec<f64>], rows: f64, noise: f64, limit: f64) -> Self {
        let (mean, variance) = spread(levels, rows, noise);
        let cells = FEATURE_TREE.cells();
        // No less than noise can tell, and a cell.
        let half = cells as f64 / 2.0;
        let least = 0.5 * noise / rows.max(1.0) * half * half;
        let deviation = variance.max(least).max(1.0 / 12.0).sqrt();
        let mut starts: Vec<usize> = vec![0];
        for leaf in &self.leaves {
            let parts = self.parts();
            starts.extend((0..parts).map(|part| PARTS * leaf.cells.start + part * leaf.cells.len() * (PARTS / parts)));
        }
        let reach = (limit * FINENESS) as i32;
        let cuts = (-reach..=reach).map(|step| (mean + f64::from(step) * deviation / FINENESS) * PARTS as f64);
        starts.extend(cuts.filter(|&cut| cut > 0.0 && cut < (PARTS * cells) as f64).map(|cut| cut.round() as usize));
        starts.retain(|&start| start < PARTS * cells);
        starts.sort_unstable();
        starts.dedup();
        let leaf_of = |start: &usize| {
            let after = self.leaves.partition_point(|leaf| PARTS * leaf.cells.start <= *start);
            after.saturating_sub(1)
        };
        let leaf = starts.iter().map(leaf_of).collect();
        let mut line = Line { starts, leaf, scores: Vec::new() };
        line.scores = line.middles().into_iter().map(|at| ((at - mean) / deviation).clamp(-limit, limit)).collect();
        Pieces { line: Some(line), ..self }
    }

    /// Deviations from the mean in each part; nothing where the column has no line.
    pub(in crate::optim) fn scores(&self) -> &[f64] {
        self.line.as_ref().map_or(&[], |line| &line.scores)
    }

    /// The mean of the line over each interval; nothing where the column has none.
    pub(in crate::optim) fn line_by_interval(&self) -> Vec<f64> {
        let Some(line) = &self.line else { return Vec::new() };
        let mut sums = vec![(0.0, 0.0); self.leaves.len()];
        for ((&leaf, score), share) in line.leaf.iter().zip(&line.scores).zip(line.shares(self)) {
            sums[leaf].0 += share * score;
            sums[leaf].1 += share;
        }
        sums.into_iter().map(|(sum, share)| sum / share.max(f64::MIN_POSITIVE)).collect()
    }

    /// Parts of an interval that have an effect of their own.
    fn parts(&self) -> usize {
        if self.linear { PARTS } else { 1 }
    }

    /// Where each part but the first begins, in places of the grid.
    fn starts(&self) -> Vec<u16> {
        if let Some(line) = &self.line {
            return line.starts.iter().skip(1).map(|&start| FEATURE_TREE.first_step(start) as u16).collect();
        }
        let parts = self.parts();
        let start = |leaf: &Leaf, part: usize| {
            let eighths = PARTS * leaf.cells.start + part * leaf.cells.len() * (PARTS / parts);
            FEATURE_TREE.first_step(eighths) as u16
        };
        self.leaves.iter().flat_map(|leaf| (0..parts).map(move |part| start(leaf, part))).skip(1).collect()
    }

    /// For each part the two intervals whose effects it lies between, and the weight of the second.
    pub(in crate::optim) fn between(&self) -> Vec<(usize, usize, f64)> {
        if let Some(line) = &self.line {
            let place = |(&leaf, at): (&usize, f64)| self.place(leaf, at);
            return line.leaf.iter().zip(line.middles()).map(place).collect();
        }
        let parts = self.parts();
        let place = |leaf: usize, part: usize| {
            let cells = &self.leaves[leaf].cells;
            self.place(leaf, cells.start as f64 + (part as f64 + 0.5) * cells.len() as f64 / parts as f64)
        };
        (0..self.leaves.len())
            .flat_map(|leaf| (0..parts).map(move |part| (leaf, part)))
            .map(|(leaf, part)| place(leaf, part))
            .collect()
    }

    /// The intervals whose effects a place in cells lies between, and the weight of the second.
    fn place(&self, leaf: usize, at: f64) -> (usize, usize, f64) {
        let last = self.leaves.len().saturating_sub(1);
        let middle = |leaf: usize| (self.leaves[leaf].cells.start + self.leaves[leaf].cells.end) as f64 / 2.0;
        let (from, to) = match (self.linear, at < middle(leaf)) {
            (false, _) => (leaf, leaf),
            (true, true) => (leaf.saturating_sub(1), leaf),
            (true, false) => (leaf, (leaf + 1).min(last)),
        };
        let weight = if from == to { 0.0 } else { (at - middle(from)) / (middle(to) - middle(from)) };
        (from, to, weight)
    }
}

/// Where a numeric target lies, in units in which its bounds are at -1 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TargetLaw {
    /// The median.
    pub(crate) median: f64,
    /// The deviation of a normal law with the same tenths.
    pub(crate) scale: f64,
    /// The deviation by released counts, no less than the scale and no more than twice that.
    pub(crate) wide: f64,
    /// The mean, as the smallest spread that is told apart.
    pub(crate) mean: Spread,
}

impl TargetLaw {
    fn of(levels: &[Vec<f64>], rows: f64, noise: f64) -> Self {
        let split = (rows / TARGET_LEAVES).max(2.0 * noise);
        let leaves = leaves(levels, rows, noise, split, noise);
        let centred = |cell: f64| 2.0 * cell / TARGET_TREE.cells() as f64 - 1.0;
        let at = |share: f64| centred(quantile(&leaves, share));
        let scale = ((at(0.9) - at(0.1)) / DEVIATIONS_BETWEEN_TENTHS).max(MIN_SCALE);
        let total: f64 = leaves.iter().map(|leaf| leaf.mass).sum();
        let weighted = |leaf: &Leaf| leaf.mass * centred((leaf.cells.start + leaf.cells.end) as f64 / 2.0);
        let mean = leaves.iter().map(weighted).sum::<f64>() / total.max(f64::MIN_POSITIVE);
        let (_, variance) = spread(levels, rows, noise);
        // Within the bounds no deviation is more than half of what is between them.
        let wide = (variance.max(0.0).sqrt() * 2.0 / TARGET_TREE.cells() as f64).clamp(scale, (2.0 * scale).min(1.0));
        TargetLaw { median: at(0.5), scale, wide, mean: Spread { mean, deviation: scale } }
    }
}

/// Shares of counts, none of them taken for less than `least`.
fn masses(counts: &[f64], least: f64) -> Vec<f64> {
    let kept: Vec<f64> = counts.iter().map(|&count| count.max(least).max(f64::MIN_POSITIVE)).collect();
    let total: f64 = kept.iter().sum();
    kept.iter().map(|count| count / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Rho;

    #[test]
    fn plans_cost_at_most_their_budget_and_nearly_all_of_it() {
        for (columns, levels) in [(0, vec![2]), (1, vec![]), (14, vec![5; 8]), (300, vec![])] {
            let shape = Shape::new(columns, &levels);
            for rho in [1e-8, 1e-4, 0.01, 1.0, 50.0] {
                for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
                    for target in [true, false] {
                        let noise = NoiseLaw::FlooredNormal;
                        let plan = BinPlan::new(&shape, adjacency, rho, (target, 64.0), noise).unwrap();
                        let cost = plan.release.rho();
                        assert!(cost <= Rho::from_f64(rho).unwrap() && cost.upper() > 0.999 * rho, "{columns} {rho}");
                    }
                }
            }
        }
    }

    #[test]
    fn parts_begin_where_their_interval_is_cut_and_effects_run_through_the_middles() {
        let leaf = |start, end| Leaf { cells: start..end, mass: 10.0 };
        let pieces =
            Pieces { leaves: vec![leaf(0, 512), leaf(512, 1024)], shares: vec![0.5; 2], linear: true, line: None };
        let (starts, between) = (pieces.starts(), pieces.between());
        assert_eq!((starts.len(), between.len()), (15, 16));
        assert_eq!(usize::from(starts[7]), FEATURE_TREE.first_step(8 * 512));
        assert!(starts.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((between[0], between[3], between[15]), ((0, 0, 0.0), (0, 0, 0.0), (1, 1, 0.0)));
        assert_eq!((between[4].0, between[4].1, between[4].2), (0, 1, 1.0 / 16.0));
        assert_eq!((between[11].0, between[11].1, between[11].2), (0, 1, 15.0 / 16.0));
        let steps = Pieces { linear: false, ..pieces };
        assert_eq!((steps.starts().len(), steps.between()), (1, vec![(0, 0, 0.0), (1, 1, 0.0)]));
    }
}
