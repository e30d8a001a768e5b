//! The released covariance of scores, as a model file tells it.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::num::decimals::rounded;
use crate::optim::NormalWaves;

/// The released covariance of the scores that waves are made of, with the noise that it has.
///
/// ```
/// use rhograd::train::Covariance;
/// let text = r#"{"lower": [1.0, 0.5, 1.0], "noise": 0.01}"#;
/// let covariance: Covariance = serde_json::from_str(text)?;
/// assert_eq!(covariance.matrix(2)[(0, 1)], 0.5);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Covariance {
    /// The lower triangle with its diagonal, row by row.
    lower: Vec<f64>,
    /// Standard deviation of the noise of an entry off the diagonal.
    noise: f64,
}

impl Covariance {
    /// That of a matrix, with four digits.
    pub(super) fn of(full: &Array2<f64>, noise: f64) -> Self {
        let lower: Vec<f64> =
            full.rows().into_iter().enumerate().flat_map(|(at, row)| row.to_vec().into_iter().take(at + 1)).collect();
        Covariance { lower: rounded(&lower, 4), noise: rounded(&[noise], 4).into_iter().sum() }
    }

    /// Whether it is one of so many scores, and of no more than a run tells: more would keep a reader of a forged file busy.
    pub fn is_of(&self, scores: usize) -> bool {
        let finite = self.lower.iter().all(|entry| entry.is_finite()) && self.noise >= 0.0 && self.noise.is_finite();
        scores <= NormalWaves::MOST_TOLD && finite && self.lower.len() == scores * (scores + 1) / 2
    }

    /// Standard deviation of the noise of an entry off the diagonal.
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// The whole matrix of so many scores; what is missing is zero.
    pub fn matrix(&self, scores: usize) -> Array2<f64> {
        Array2::from_shape_fn((scores, scores), |(a, b)| {
            let (row, column) = (a.max(b), a.min(b));
            self.lower.get(row * (row + 1) / 2 + column).copied().unwrap_or(0.0)
        })
    }
}
