//! One release of count, means and variances, and the standardisation that follows from it.

use std::num::NonZeroU32;

use crate::error::{Error, Fallible};
use crate::grid::{FULL_SCALE, MomentWeights, PublicColumns, SIZE_CELLS, Shape, size_cell};
use crate::optim::{Fineness, GaussianRelease, GaussianRule};
use crate::preprocess::Affine;
use crate::privacy::{Adjacency, NoiseLaw, Rho};
use crate::private::{LoggedRun, PrivateDataset, Query, Released, query};

/// Size of the grid on which moments are released: the row bound is near `2^31` grid steps.
const TARGET: f64 = (1u64 << 31) as f64;

/// The least mean share of a row that is believed.
const MIN_SHARE: f64 = 1e-3;

/// How many times finer persons are counted by their numbers of rows than in all.
const SIZES_FINER: u32 = 2;

/// The share of persons whose numbers of rows may be left out of what is typical, and how many deviations of their noise besides.
const LEFT_OUT: (f64, f64) = (0.005, 2.0);

/// How alike gradients of a person are taken to be, a correlation: of `k` rows they add up to a square of `k + ALIKE k (k - 1)`.
const ALIKE: f64 = 0.15;

/// What a release of moments contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MomentParts {
    /// The number of rows.
    pub count: bool,
    /// Means and squares of the numeric features.
    pub features: bool,
    /// Mean and square of the label.
    pub target: bool,
    /// The mean over persons of one over the number of their rows.
    pub shares: bool,
    /// How many persons have as many rows.
    pub sizes: bool,
}

impl MomentParts {
    /// How many coordinates a row is in at most, of so many numeric columns.
    fn coordinates(self, numeric: usize) -> f64 {
        let columns = if self.features { numeric } else { 0 };
        // Of the counts by numbers of rows a person is in one.
        let sizes = usize::from(self.sizes) * (SIZES_FINER * SIZES_FINER) as usize;
        (usize::from(self.count) + usize::from(self.shares) + sizes + 2 * columns + 2 * usize::from(self.target)).max(1)
            as f64
    }

    fn words(self) -> &'static str {
        match (self.count, self.features || self.target, self.shares, self.sizes) {
            // Beside columns, what is released of persons is a detail.
            (true, true, ..) => "count, means and squares",
            (false, true, ..) => "means and squares",
            (true, false, _, true) => "count, and counts by numbers of rows",
            (false, false, _, true) => "counts by numbers of rows",
            (true, false, true, false) => "count and mean share of a row",
            (false, false, true, false) => "mean share of a row",
            (true, false, false, false) => "count",
            (false, false, false, false) => "nothing",
        }
    }
}

/// Which moments to release, with public integer weights chosen for a share of the budget.
///
/// The vector `(1, x_j.., x_j^2.., y, y^2)` with `|x_j|, |y| <= 1` gets the same weight on every
/// coordinate that is asked for, so that its norm is at most the weight times the root of their number.
///
/// # Privacy
/// One Gaussian release with the public worst-case norm as its l2 sensitivity.
#[derive(Clone, Debug, PartialEq)]
pub struct MomentPlan {
    weights: MomentWeights,
    /// The integer that stands for 1.0 on every coordinate.
    one: f64,
    /// The release.
    pub release: GaussianRelease,
}

impl MomentPlan {
    /// Plans a release with `sensitivity / 2^k <= sqrt(2 rho)`.
    ///
    /// # Errors
    /// When the share is too small for the finest grid.
    pub fn new(shape: &Shape, adjacency: Adjacency, rho: f64, wanted: MomentParts, noise: NoiseLaw) -> Fallible<Self> {
        Self::of(shape.numeric(), adjacency, rho, wanted, noise)
    }

    /// Plans a release of rows of which some columns are public, as fine as one of all columns for `rho` would be: moments of public columns
    /// are free, so it costs the share of the private ones. `None` where nothing is left to release.
    ///
    /// # Errors
    /// When the share is too small for the finest grid.
    pub fn of_private(
        public: &PublicColumns,
        adjacency: Adjacency,
        rho: f64,
        wanted: MomentParts,
        noise: NoiseLaw,
    ) -> Fallible<Option<Self>> {
        let private = public.private_numeric();
        if private == 0 && !wanted.target && !wanted.count {
            return Ok(None);
        }
        let share = wanted.coordinates(private) / wanted.coordinates(public.numeric.len());
        Self::of(private, adjacency, rho * share, wanted, noise).map(Some)
    }

    fn of(columns: usize, adjacency: Adjacency, rho: f64, wanted: MomentParts, noise: NoiseLaw) -> Fallible<Self> {
        let (factor, full) = (adjacency.sum_sensitivity(1) as f64, f64::from(FULL_SCALE));
        let weights_of = |step: u64| {
            let step = u32::try_from(step).unwrap_or(u32::MAX);
            let on = |wanted: bool| if wanted { step } else { 0 };
            MomentWeights {
                count: on(wanted.count).saturating_mul(FULL_SCALE as u32),
                features: on(wanted.features),
                squares: on(wanted.features),
                label: on(wanted.target),
                label_square: on(wanted.target),
                shares: on(wanted.shares).saturating_mul(FULL_SCALE as u32),
                sizes: on(wanted.sizes).saturating_mul(FULL_SCALE as u32).saturating_mul(SIZES_FINER),
            }
        };
        let query = |step| Query::from(query::Moments { weights: weights_of(step), columns });
        let rule = GaussianRule { what: wanted.words(), query: &query, adjacency, noise, count: 1 };
        let sensitivity = wanted.coordinates(columns).sqrt() * full * factor;
        let fineness = Fineness { sensitivity, target: TARGET * factor, largest: u64::MAX, slack: 1e-9 };
        let (release, step) = rule.finest(&Rho::from_f64(rho)?, &fineness);
        let finest = if wanted.sizes { f64::from(SIZES_FINER) } else { 1.0 };
        if step < 1 || step as f64 * full * finest >= f64::from(u32::MAX) {
            return Err(Error::parameter(
                "budget",
                "is too small or too large for a release of moments",
                "use another epsilon, or --no-standardise with a public row count",
            ));
        }
        Ok(MomentPlan { weights: weights_of(step), one: step as f64 * full, release })
    }

    /// What one grid step stands for when the whole vector is scaled to l2 sensitivity 1.
    pub fn step(&self) -> f64 {
        let sensitivity = self.release.event().sensitivity as f64;
        let step = 1.0 / sensitivity;
        if step * sensitivity < 1.0 { step.next_up() } else { step }
    }

    /// Makes the release and reads off the moments, with `public_rows` for a count that was not asked for.
    ///
    /// # Errors
    /// When it is not the next release of the plan, or fails.
    pub fn run(&self, data: &PrivateDataset, public_rows: Option<u64>, run: &mut LoggedRun<'_>) -> Fallible<Moments> {
        let released = run.release(&self.release.planned(), self.step(), || data.moments(&self.weights))?;
        Ok(self.read(&released, data.shape(), public_rows))
    }

    fn read(&self, released: &Released, shape: &Shape, public_rows: Option<u64>) -> Moments {
        let values = released.values();
        let one = self.one;
        let sigma = self.release.scale() / one;
        // Public, or what was just released; at least one row, lest noise make it negative.
        let counted = values.first().map_or(1.0, |&count| count as f64 / one);
        let rows = public_rows.map_or(counted, |n| n as f64).max(1.0);
        let mean = |index: usize| (values[index] as f64 / one / rows).clamp(-1.0, 1.0);
        let columns = shape.numeric();
        let pair = |first: usize, second: usize| Spread::new(mean(first), mean(second), sigma / rows);
        let features = match self.weights.features {
            0 => Vec::new(),
            _ => (0..columns).map(|j| pair(1 + j, 1 + columns + j)).collect(),
        };
        let target = (self.weights.label > 0).then(|| pair(1 + 2 * columns, 2 + 2 * columns));
        // No less than its noise can tell: a share of nothing would clip everybody to nothing.
        let least = (2.0 * sigma / rows).clamp(MIN_SHARE, 1.0);
        let rest = values.get(3 + 2 * columns..).unwrap_or_default();
        let share = match (self.weights.shares, rest.first()) {
            (1.., Some(&sum)) => Some((sum as f64 / one / rows).clamp(least, 1.0)),
            _ => None,
        };
        let finer = f64::from(SIZES_FINER);
        let sizes = (self.weights.sizes > 0).then(|| Sizes {
            persons: rest.iter().rev().take(SIZE_CELLS).rev().map(|&count| count as f64 / (one * finer)).collect(),
            noise: sigma / finer,
        });
        Moments { rows, features, target, share, sizes }
    }
}

/// Released moments in encoded units, where bounds lie at -1 and 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Number of rows: public, or as released.
    pub rows: f64,
    /// The numeric features, where released.
    pub features: Vec<Spread>,
    /// The target, where released.
    pub target: Option<Spread>,
    /// The mean over persons of one over the number of their rows, where released; at least twice what its noise
    /// can tell, and at most 1.
    pub share: Option<f64>,
    /// How many persons have as many rows, where released.
    pub sizes: Option<Sizes>,
}

/// Released counts of persons by their numbers of rows, see [`crate::grid::size_cell`].
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    persons: Vec<f64>,
    /// Standard deviation of each.
    noise: f64,
}

impl Sizes {
    /// What is typical of persons of whom `most` rows count, a public number.
    ///
    /// Cells above which fewer persons are left than noise can tell are left out: one of 4096 rows that noise made up would outweigh
    /// all that are there.
    pub fn typical(&self, most: u32) -> Typical {
        let most = most.max(1);
        let cells = (size_cell(most as usize) + 1).min(self.persons.len());
        let persons = &self.persons[..cells];
        let (share, deviations) = LEFT_OUT;
        let all: f64 = persons.iter().sum();
        let above = |cell: &usize| {
            let above = &persons[cell + 1..];
            above.iter().sum::<f64>() <= share * all.max(0.0) + deviations * self.noise * (above.len() as f64).sqrt()
        };
        let last = (0..cells).find(above).unwrap_or(cells.saturating_sub(1));
        let (mut counted, mut rows, mut squares) = (0.0, 0.0, 0.0);
        for (cell, persons) in persons.iter().enumerate().take(last + 1) {
            // From 1 + 2^(cell - 1) to 2^cell, or to as many as count.
            let (least, largest) = (((1u64 << cell) / 2 + 1) as f64, f64::from(most).min((1u64 << cell) as f64));
            counted += persons.max(0.0);
            rows += persons.max(0.0) * (least + largest) / 2.0;
            squares += persons.max(0.0) * (least * least + least * largest + largest * largest) / 3.0;
        }
        let (mean, square) = if counted > 0.0 { (rows / counted, squares / counted) } else { (1.0, 1.0) };
        let rows = NonZeroU32::new(mean.round().clamp(1.0, f64::from(most)) as u32).unwrap_or(NonZeroU32::MIN);
        let typical = f64::from(rows.get());
        Typical { rows, share: (1.0 - ALIKE) / typical + ALIKE * square / typical.powi(2) }
    }
}

/// What is typical of persons by released counts, see [`Sizes::typical`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Typical {
    /// The mean number of rows of a person, in whole ones.
    pub rows: NonZeroU32,
    /// The mean square of the length of a person's gradients added up over as many rows, where that of a row's is 1.
    pub share: f64,
}

impl Moments {
    /// Means and deviations of features that are public, and the number of records: exact, and free. Those of private ones say nothing.
    ///
    /// # Errors
    /// When nothing is public, or rows in a file cannot be read.
    pub(crate) fn public(data: &PrivateDataset) -> Fallible<Self> {
        let weights = MomentWeights { count: 1, features: 1, squares: 1, ..MomentWeights::default() };
        let values = data.public_moments(&weights)?;
        let at = |index: usize| values.get(index).map_or(0.0, |&value| value as f64);
        let (rows, columns) = (at(0).max(1.0), data.shape().numeric());
        let mean = |index: usize| (at(index) / f64::from(FULL_SCALE) / rows).clamp(-1.0, 1.0);
        let features = (0..columns).map(|j| Spread::new(mean(1 + j), mean(1 + columns + j), 0.0)).collect();
        Ok(Moments { rows, features, target: None, share: None, sizes: None })
    }

    /// These moments with the exact ones of public columns in their place.
    ///
    /// # Errors
    /// When no column is public.
    pub(crate) fn with_public(mut self, data: &PrivateDataset, columns: &PublicColumns) -> Fallible<Self> {
        let exact = Moments::public(data)?;
        let all = self.features.iter_mut().zip(exact.features).zip(&columns.numeric);
        all.filter(|(_, public)| **public).for_each(|((spread, exact), _)| *spread = exact);
        Ok(self)
    }

    /// Centres and scales of all numeric features, to be cut at `limit` deviations.
    pub fn feature_maps(&self, limit: f64) -> Vec<Affine> {
        self.features.iter().map(|s| Affine { centre: s.mean, scale: s.deviation, limit }).collect()
    }
}

/// Mean and standard deviation, the latter no smaller than the noise can tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Released mean.
    pub mean: f64,
    /// Square root of the released variance, at least what its noise allows to tell.
    pub deviation: f64,
}

impl Spread {
    /// From released means of `x` and `x^2` with noise of standard deviation `noise` on each.
    fn new(mean: f64, square: f64, noise: f64) -> Self {
        let variance = square - mean * mean;
        // The error of the variance is about noise * sqrt(1 + 4 mean^2); a deviation of 3e-4 is near the resolution of the encoding.
        let floor = (noise * (1.0 + 4.0 * mean * mean).sqrt()).max(1e-7);
        Spread { mean, deviation: variance.clamp(floor.min(1.0), 1.0).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_stays_within_its_share() {
        for columns in [0, 1, 7, 500] {
            let shape = Shape::new(columns, &[3]);
            for rho in [1e-8, 1e-4, 0.01, 1.0, 50.0] {
                for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
                    for count in [true, false] {
                        let parts = MomentParts { count, features: true, target: true, shares: count, sizes: !count };
                        let plan = MomentPlan::new(&shape, adjacency, rho, parts, NoiseLaw::FlooredNormal).unwrap();
                        let cost = plan.release.rho();
                        assert!(cost <= crate::privacy::Rho::from_f64(rho).unwrap(), "{columns} {rho}");
                        assert!(cost.upper() > 0.98 * rho, "{columns} {rho} {}", cost.upper());
                    }
                }
            }
        }
    }

    #[test]
    fn a_release_is_called_by_what_is_in_it() {
        let words =
            |count, features, shares, sizes| MomentParts { count, features, target: false, shares, sizes }.words();
        assert_eq!(words(false, true, true, false), "means and squares");
        assert_eq!(words(true, true, false, true), "count, means and squares");
        for (count, shares, sizes) in [(true, false, false), (true, true, false), (true, false, true)] {
            assert!(words(count, false, shares, sizes).starts_with("count"));
        }
        for (shares, sizes) in [(true, false), (false, true)] {
            let without = words(false, false, shares, sizes);
            assert!(
                without.contains("row")
                    && !without.contains("square")
                    && words(true, false, shares, sizes).contains("row")
            );
        }
    }

    #[test]
    fn typical_numbers_of_rows_follow_from_what_stands_above_the_noise() {
        let of = |counted: &[(usize, f64)], noise: f64, most: u32| {
            let mut persons = vec![0.0; SIZE_CELLS];
            counted.iter().for_each(|&(rows, count)| persons[size_cell(rows)] += count);
            let typical = Sizes { persons, noise }.typical(most);
            assert!(typical.share > 0.0 && typical.share.is_finite(), "{typical:?}");
            typical.rows.get()
        };
        assert_eq!(of(&[(1, 500.0)], 1.0, 1000), 1);
        assert_eq!(of(&[(4, 500.0)], 1.0, 1000), 4, "3.5, rounded");
        assert_eq!(of(&[(1, 500.0), (16, 500.0)], 1.0, 1000), 7, "a half of 1 and 12.5");
        assert_eq!(of(&[(1, 500.0), (16, 500.0)], 1.0, 10), 5, "a half of 1 and of 9 or 10, which count alone");
        // Fewer than noise can tell, and less than nobody.
        assert_eq!(of(&[(1, 500.0), (4096, 3.0), (3000, 1.0)], 10.0, 4096), 1);
        assert_eq!(of(&[(1, 500.0), (30, -40.0)], 30.0, 4096), 1);
        assert_eq!(of(&[(1, -5.0)], 30.0, 4096), 1);
        assert_eq!(of(&[(1, f64::NAN)], 1.0, 4096), 1);
        // So many that they are no noise.
        assert!(of(&[(1, 500.0), (4096, 300.0)], 10.0, 4096) > 1000);
        assert_eq!(of(&[(4096, 500.0)], 10.0, u32::MAX), 3073);
        assert_eq!(of(&[], 0.0, 0), 1);
        // With one row each a person is a row.
        let single = Sizes { persons: vec![50.0], noise: 1.0 }.typical(1);
        assert_eq!(single, Typical { rows: NonZeroU32::MIN, share: 1.0 });
    }

    #[test]
    fn a_spread_is_never_below_the_noise() {
        assert_eq!(Spread::new(0.5, 0.0, 0.01).deviation, (0.01f64 * 2f64.sqrt()).sqrt());
        assert!((Spread::new(0.0, 0.25, 1e-9).deviation - 0.5).abs() < 1e-12);
    }
}
