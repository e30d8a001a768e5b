//! One release of the covariance of numbers and values, and the coordinates of straight lines that follow from it.

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
        let noise = (2.0 * (q + 1) as f64).sqrt() / (self.gram.mu() * rows);
        let ridge = (self.ridge * noise).max(self.l2).max((self.gram.row_norm() * MAX_ENTRY).powi(-2));
        let (values, vectors) = dense::symmetric_eigen(covariance)?;
        let share = |index: usize| values[index].max(0.0) / (values[index].max(0.0) + ridge);
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
            let length = 1.0 / (values[index].max(0.0) + ridge).sqrt() / square.sqrt();
            let length = length.min(MAX_ENTRY / own.max(centre.abs()).max(f64::MIN_POSITIVE));
            numbers[(place, place)] = length * own;
            numbers[(place, kept.len())] = -length * centre;
        }
        let squares = kept.iter().map(|&index| share(index)).collect();
        let waves = Waves::new(scores, frequencies, vec![0; kept.len()])?;
        Ok(Straight { waves, numbers, squares })
    }
}
