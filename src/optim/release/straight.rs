//! One release of the covariance of numbers and values, and the coordinates of straight lines that follow from it.

use std::ops::Range;

use ndarray::Array2;

use super::GramPlan;
use super::bins::Bins;
use super::lines::Straight;
use crate::error::Fallible;
use crate::num::dense;
use crate::optim::Problem;
use crate::preprocess::{Scores, Waves};
use crate::privacy::Rho;
use crate::private::{LoggedRun, PrivateDataset};

/// Phases go round at `2^15`; they go as far as this, and each column's rounding may add [`ROUNDING`].
const REACH: f64 = 32_700.0;
const ROUNDING: f64 = 0.7;

/// Largest entry of the map that whitens: in steps of `2^-10` it is less than the largest whole number that a map has.
const MAX_ENTRY: f64 = 100.0;

/// Noise in a block of the covariance is taken for this times what it is: to believe too little costs less than to believe too much.
const DOUBT: f64 = 2.0;

/// No direction is taken for shorter than this share of the ridge: one that noise made to nothing has rows along it all the same.
const FLOOR: f64 = 0.2;

/// A release of the Gram matrix of numbers, in deviations, and of the values of categories.
///
/// # Privacy
/// One Gaussian release, of a clipped Gram matrix; what is made of it is post-processing.
#[derive(Clone, Debug, PartialEq)]
pub struct StraightPlan {
    /// The release.
    pub gram: GramPlan,
    /// The ridge over the operator norm of the noise.
    ridge: f64,
    /// The least ridge.
    l2: f64,
}

impl StraightPlan {
    /// Plans a release for at most `rho`; the columns of the problem are those before they are cut into intervals.
    ///
    /// # Errors
    /// When the share of the budget is too small for the integer grid.
    pub fn new(problem: &Problem<'_>, rho: &Rho) -> Fallible<Self> {
        // Scores are of all columns together, private ones among them.
        let scored = Problem { one: Scores::ONE, public: None, ..problem.clone() };
        let ridge = problem.loss.tuning().whitened.ridge;
        let l2 = problem.settings.l2.unwrap_or(0.0);
        Ok(StraightPlan { gram: GramPlan::new(&scored, rho.lower())?, ridge, l2 })
    }

    /// Makes the release, and straight lines of it; `rows` is the public or released number of rows.
    ///
    /// # Errors
    /// When it is not the next release of the plan, or fails.
    pub fn run(&self, data: &PrivateDataset, bins: &Bins, rows: f64, run: &mut LoggedRun<'_>) -> Fallible<Straight> {
        let step = |score: &f64| (score * f64::from(Scores::ONE)).round() as i16;
        let scores = Scores {
            numeric: bins.numeric.iter().map(|pieces| pieces.scores().iter().map(step).collect()).collect(),
            levels: bins.categorical.iter().map(|shares| shares.len() as u16).collect(),
        };
        let gram = self.gram.run_scores(data, &scores, run)? / rows;
        let square = self.gram.row_norm().powi(2);
        let q = gram.nrows() - 1;
        // Rows longer than most count for less here. To divide by what the intercept has of them gained nothing with many rows, and cost 0.03 of AUC with 1,500.
        let means: Vec<f64> = (0..q).map(|a| gram[(a, q)] * square).collect();
        let covariance = Array2::from_shape_fn((q, q), |(a, b)| gram[(a, b)] - means[a] * means[b] / square);
        let entry = 1.0 / (2.0f64.sqrt() * self.gram.mu() * rows);
        // Twice as much on the diagonal; the noise of the means comes on top.
        let noise = |(a, b): (usize, usize)| {
            let own = if a == b { 2.0 } else { 1.0 };
            own + means[a].powi(2) + means[b].powi(2) + (square * entry).powi(2)
        };
        let variance = |at| noise(at) * entry * entry;
        let (covariance, most) = shrunk(covariance, &by_themselves(bins, &scores, square), &blocks(&scores), variance);
        // The norm of a symmetric matrix with so much noise in its noisiest row, about.
        let noise = 2.0 * (entry * entry).max(most).sqrt();
        let ridge = (self.ridge * noise).max(self.l2).max((self.gram.row_norm() * MAX_ENTRY).powi(-2));
        let (values, vectors) = dense::symmetric_eigen(covariance)?;
        let values = values.mapv(|value| value.max(FLOOR * ridge));
        let mut kept: Vec<usize> = (0..q).collect();
        kept.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
        // How far each direction can reach, column by column.
        let mut frequencies = vec![vec![0; kept.len()]; q];
        let mut numbers = Array2::zeros((kept.len(), kept.len() + 1));
        for (place, &index) in kept.iter().enumerate() {
            let u = vectors.column(index);
            let largest = |scores: &Vec<i16>| scores.iter().map(|s| f64::from(*s).abs()).fold(0.0, f64::max);
            let of_numbers = scores.numeric.iter().zip(&u);
            let mut reach: f64 = of_numbers.map(|(column, u)| largest(column) / f64::from(Scores::ONE) * u.abs()).sum();
            let mut at = scores.numeric.len();
            for &levels in &scores.levels {
                let own = u.iter().skip(at).take(usize::from(levels));
                reach += own.fold(0.0, |most: f64, u| most.max(u.abs()));
                at += usize::from(levels);
            }
            let fine =
                (REACH - ROUNDING * (scores.numeric.len() + scores.levels.len()) as f64) / reach.max(f64::MIN_POSITIVE);
            // A frequency of 2^16 / ONE adds one step for a score of 1.
            for (row, u) in frequencies.iter_mut().zip(&u) {
                row[place] = (u * fine * 65_536.0 / f64::from(Scores::ONE)).round() as i32;
            }
            let (own, centre) =
                (f64::from(Waves::ONE) / fine, u.iter().zip(&means).map(|(u, mean)| u * mean).sum::<f64>());
            let length = 1.0 / (values[index] + ridge).sqrt() / square.sqrt();
            let length = length.min(MAX_ENTRY / own.max(centre.abs()).max(f64::MIN_POSITIVE));
            numbers[(place, place)] = length * own;
            numbers[(place, kept.len())] = -length * centre;
        }
        let squares = kept.iter().map(|&index| values[index] / (values[index] + ridge)).collect();
        let variances = kept.iter().map(|&index| values[index] * square).collect();
        let waves = Waves::new(scores, frequencies, vec![0; kept.len()])?;
        Ok(Straight { waves, numbers, squares, variances })
    }
}

/// The places of each column in the covariance: one of a number, one of each value of a category.
fn blocks(scores: &Scores) -> Vec<Range<usize>> {
    let sizes = scores.numeric.iter().map(|_| 1).chain(scores.levels.iter().map(|&levels| usize::from(levels)));
    let next = |at: &mut usize, size: usize| {
        *at += size;
        Some(*at - size..*at)
    };
    sizes.scan(0, next).collect()
}

/// The covariance that counts tell, over the squared norm of a row: of each column by itself, and nothing of two of them.
fn by_themselves(bins: &Bins, scores: &Scores, square: f64) -> Array2<f64> {
    let blocks = blocks(scores);
    let size = blocks.last().map_or(0, |block| block.end);
    let mut covariance = Array2::zeros((size, size));
    for (column, (block, shares)) in blocks.iter().zip(bins.shares()).enumerate() {
        match scores.numeric.get(column) {
            Some(own) => {
                let score = |score: &i16| f64::from(*score) / f64::from(Scores::ONE);
                let mean: f64 = shares.iter().zip(own).map(|(share, own)| share * score(own)).sum();
                let off = |(share, own): (&f64, &i16)| share * (score(own) - mean).powi(2);
                covariance[(block.start, block.start)] = shares.iter().zip(own).map(off).sum::<f64>() / square;
            }
            None => {
                for (a, of_a) in block.clone().zip(&shares) {
                    for (b, of_b) in block.clone().zip(&shares) {
                        let own = if a == b { *of_a } else { 0.0 };
                        covariance[(a, b)] = (own - of_a * of_b) / square;
                    }
                }
            }
        }
    }
    covariance
}

/// A released covariance drawn to what is known of it, each block of two columns by as much as its noise asks for, and the variance of the noise that is left
/// in the row that has the most.
///
/// A block `G` about `K` with noise of total variance `v` becomes `K + max(0, 1 - 2 v / |G - K|^2) (G - K)`.
///
/// # Reference
/// James and Stein 1961, for a positive part; the factor 2 was measured.
fn shrunk(
    mut covariance: Array2<f64>,
    known: &Array2<f64>,
    blocks: &[Range<usize>],
    variance: impl Fn((usize, usize)) -> f64,
) -> (Array2<f64>, f64) {
    let mut left = vec![0.0; covariance.nrows()];
    for one in blocks {
        for two in blocks {
            let places = || one.clone().flat_map(|a| two.clone().map(move |b| (a, b)));
            let noise: f64 = places().map(&variance).sum();
            let off: f64 = places().map(|at| (covariance[at] - known[at]).powi(2)).sum();
            let kept = (1.0 - DOUBT * noise / off.max(f64::MIN_POSITIVE)).max(0.0);
            for at in places() {
                covariance[at] = known[at] + kept * (covariance[at] - known[at]);
                left[at.0] += kept * kept * variance(at);
            }
        }
    }
    (covariance, left.into_iter().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_covariance_is_drawn_to_what_is_known_by_as_much_as_is_noise() {
        let blocks = [0..1, 1..2, 2..4];
        let known = Array2::from_diag(&ndarray::array![1.0, 1.0, 0.2, 0.2]);
        let mut released = known.clone();
        released[(0, 1)] = 0.5;
        released[(1, 0)] = 0.5;
        released[(0, 2)] = 0.01;
        released[(2, 0)] = 0.01;
        // Without noise it stays as it was released.
        assert_eq!(shrunk(released.clone(), &known, &blocks, |_| 0.0), (released.clone(), 0.0));
        // What could be noise goes, and what could not stays, but for twice its noise.
        let (some, left) = shrunk(released.clone(), &known, &blocks, |_| 0.0025);
        let kept: f64 = 1.0 - 2.0 * 0.0025 / 0.25;
        assert!((some[(0, 1)] - 0.5 * kept).abs() < 1e-15 && some[(1, 0)] == some[(0, 1)]);
        assert_eq!((some[(0, 2)], some[(2, 0)], some[(2, 2)]), (0.0, 0.0, 0.2));
        assert!((left - kept * kept * 0.0025).abs() < 1e-15, "{left}");
        // Of large noise nothing is left but what is known.
        assert_eq!(shrunk(released, &known, &blocks, |_| 100.0).0, known);
    }

    #[test]
    fn a_column_has_a_block_for_its_score_or_one_for_all_of_its_values() {
        let scores = Scores { numeric: vec![vec![0, 1], vec![0]], levels: vec![3, 2] };
        assert_eq!(blocks(&scores), [0..1, 1..2, 2..5, 5..7]);
    }
}
