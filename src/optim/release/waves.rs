//! One release of the covariance of normal scores, and the waves that follow from it.

use std::f64::consts::{SQRT_2, TAU};

use ndarray::{Array1, Array2};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::StandardNormal;

use super::GramPlan;
use super::bins::{Bins, Pieces};
use super::normal_waves::NormalWaves;
use super::wave_law::WaveLaw;
use crate::error::Fallible;
use crate::num::{dense, special};
use crate::optim::Problem;
use crate::preprocess::{Scores, Waves};
use crate::private::{LoggedRun, PrivateDataset};

const COUNT: usize = WavePlan::COUNT;

/// Frequencies are normal with this deviation over the root of the number of columns.
const FREQUENCY: f64 = 1.3;

/// The seed of the public draw of directions and offsets: the same in every run.
const SEED: u64 = 0x7761_7665;

/// Rows whose scores have up to this many times the typical squared norm count whole.
const WIDTH: f64 = 2.25;

/// A release of the covariance of normal scores of intervals and of the values of categories.
///
/// # Privacy
/// One Gaussian release, of the clipped Gram matrix of the scores; what is made of it is post-processing.
#[derive(Clone, Debug, PartialEq)]
pub struct WavePlan {
    /// The release.
    pub gram: GramPlan,
}

impl WavePlan {
    /// Waves that a model is made of.
    pub(crate) const COUNT: usize = 400;

    /// Plans a release for at most `rho`; the columns of the problem are those before they are cut into intervals.
    ///
    /// # Errors
    /// When the share of the budget is too small for the integer grid.
    pub fn new(problem: &Problem<'_>, rho: f64) -> Fallible<Self> {
        // Scores are of all columns together, private ones among them.
        let scored = Problem { one: Scores::ONE, public: None, ..problem.clone() };
        Ok(WavePlan { gram: GramPlan::widened(&scored, rho, WIDTH)? })
    }

    /// Makes the release, and waves of it; `rows` is the public or released number of rows.
    ///
    /// # Errors
    /// When it is not the next release of the plan, or fails.
    pub fn run(
        &self,
        data: &PrivateDataset,
        bins: &Bins,
        rows: f64,
        run: &mut LoggedRun<'_>,
    ) -> Fallible<(Waves, WaveLaw)> {
        let numeric: Vec<Vec<f64>> = bins.numeric.iter().map(normal_scores).collect();
        let step = |score: &f64| (score.clamp(-LARGEST, LARGEST) * f64::from(Scores::ONE)).round() as i16;
        let scores = Scores {
            numeric: numeric.iter().map(|column| column.iter().map(step).collect()).collect(),
            levels: bins.categorical.iter().map(|shares| shares.len() as u16).collect(),
        };
        let gram = self.gram.run_scores(data, &scores, run)?;
        // Scores have the mean zero, values of categories that of their shares.
        let means: Vec<f64> = std::iter::repeat_n(0.0, numeric.len()).chain(bins.categorical.concat()).collect();
        let scale = self.gram.row_norm().powi(2) / rows;
        let covariance =
            Array2::from_shape_fn((means.len(), means.len()), |(a, b)| gram[(a, b)] * scale - means[a] * means[b]);
        let covariance = positive_part(covariance)?;
        let columns = (bins.numeric.len() + bins.categorical.len()).max(1) as f64;
        let mut draw = ChaCha20Rng::seed_from_u64(SEED);
        let turns = (FREQUENCY / columns.sqrt() / TAU) / Waves::STEP;
        let directions = directions(means.len(), &mut draw);
        let step = |&entry: &f64| (entry * turns).round() as i32;
        let frequencies: Vec<Vec<i32>> =
            directions.rows().into_iter().map(|row| row.iter().map(step).collect()).collect();
        let offsets: Vec<f64> = (0..COUNT).map(|_| draw.random::<f64>()).collect();
        let radians = Array2::from_shape_fn((means.len(), COUNT), |(a, wave)| {
            f64::from(frequencies[a][wave]) * Waves::STEP * TAU
        });
        // Values of categories are taken less their shares, which is one more offset.
        let shift = Array1::from(means).dot(&radians) / TAU;
        let steps = |turns: f64| (turns.rem_euclid(1.0) * 65_536.0).round() as u32 as u16;
        let placed = offsets.iter().zip(&shift).map(|(offset, shift)| steps(offset - shift)).collect();
        let scored =
            |column: &Vec<i16>| column.iter().map(|&score| f64::from(score) / f64::from(Scores::ONE)).collect();
        let normal = NormalWaves {
            radians,
            offsets: offsets.iter().map(|turns| TAU * turns).collect(),
            covariance,
            // Off the diagonal; entries there have twice the variance.
            noise: scale / self.gram.mu() / SQRT_2,
            scores: scores.numeric.iter().map(scored).collect(),
            shares: bins.categorical.clone(),
        };
        let law = WaveLaw::new(normal, &bins.shares())?;
        Ok((Waves::new(scores, frequencies, placed)?, law))
    }
}

/// Normal directions as columns, orthogonal in blocks of as many as they have coordinates: waves that share less say more (Yu et al. 2016,
/// "Orthogonal random features").
fn directions(coordinates: usize, draw: &mut ChaCha20Rng) -> Array2<f64> {
    let mut directions = Array2::from_shape_fn((coordinates, COUNT), |_| draw.sample::<f64, _>(StandardNormal));
    for wave in 0..COUNT {
        let first = wave - wave % coordinates.max(1);
        let own = directions.column(wave).to_owned();
        let mut rest = own.clone();
        for other in first..wave {
            let other = directions.column(other);
            let shared = rest.dot(&other) / other.dot(&other);
            rest.scaled_add(-shared, &other);
        }
        rest *= (own.dot(&own) / rest.dot(&rest)).sqrt();
        directions.column_mut(wave).assign(&rest);
    }
    directions
}

/// Scores are cut here.
const LARGEST: f64 = 4.0;

/// For each part of each interval of a column its normal score: mean 0 and variance 1 under the shares of intervals.
fn normal_scores(pieces: &Pieces) -> Vec<f64> {
    let mut below = 0.0;
    let middle = |share: &f64| {
        below += share;
        normal_quantile(below - share / 2.0)
    };
    let raw: Vec<f64> = pieces.shares.iter().map(middle).collect();
    let weighted = |value: &dyn Fn(f64) -> f64| raw.iter().zip(&pieces.shares).map(|(&z, p)| p * value(z)).sum::<f64>();
    let mean = weighted(&|z| z);
    let deviation = weighted(&|z| (z - mean).powi(2)).sqrt();
    // A column with one interval says nothing.
    let scaled: Vec<f64> = raw.iter().map(|z| if deviation > 0.0 { (z - mean) / deviation } else { 0.0 }).collect();
    let between = pieces.between().into_iter();
    between.map(|(from, to, weight)| scaled[from] * (1.0 - weight) + scaled[to] * weight).collect()
}

/// The number that a standard normal is below with this probability.
fn normal_quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (-2.0 * LARGEST, 2.0 * LARGEST);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if special::normal_tail(-middle) < probability { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// The nearest matrix without negative eigenvalues.
fn positive_part(matrix: Array2<f64>) -> Fallible<Array2<f64>> {
    let (values, vectors) = dense::symmetric_eigen(matrix)?;
    Ok((&vectors * &values.mapv(|value| value.max(0.0))).dot(&vectors.t()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Axis;

    #[test]
    fn quantiles_are_those_of_the_normal_law() {
        for (probability, z) in [(0.5, 0.0), (0.975, 1.959_963_984_540_054), (1e-4, -3.719_016_485_455_68)] {
            assert!((normal_quantile(probability) - z).abs() < 1e-9, "{probability}");
        }
    }

    #[test]
    fn directions_of_a_block_are_orthogonal_and_as_long_as_they_were_drawn() {
        let drawn = |coordinates: usize| directions(coordinates, &mut ChaCha20Rng::seed_from_u64(SEED));
        for coordinates in [1, 7, 500] {
            let directions = drawn(coordinates);
            assert!(directions.iter().all(|entry| entry.is_finite()));
            let block = directions.slice_axis(Axis(1), ndarray::Slice::from(..coordinates.min(COUNT)));
            let products = block.t().dot(&block);
            let off = |((a, b), product): ((usize, usize), &f64)| if a == b { 0.0 } else { product.abs() };
            assert!(products.indexed_iter().map(off).fold(0.0, f64::max) < 1e-8 * coordinates as f64);
            let mean = products.diag().sum() / (products.nrows() * coordinates) as f64;
            assert!(coordinates == 1 || (mean - 1.0).abs() < 0.5, "{mean}");
        }
        assert_eq!(drawn(0).len(), 0);
    }
}
