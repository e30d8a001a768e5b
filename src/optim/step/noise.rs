//! What the noise of the steps of a descent does to what it returns: a linear recursion, as post-processing.

use ndarray::{Array1, Array2};

use super::standard_errors::{Margin, gains};
use crate::grid::Scoring;
use crate::loss::{Glm, Logistic, Objective};
use crate::optim::Descent;

/// Half of the distance at which a slope is compared with itself.
const APART: f64 = 0.05;

/// The least variance of a target, in its own, that no model explains.
const LEAST_LEFT: f64 = 0.05;

/// The noise of the steps of a descent, as coordinates feel it.
///
/// Along a coordinate of mean square `s` a descent is a linear recursion with the curvature `s c`, `c` the mean over rows of the
/// derivative of the clipped slope. What it returns is `sum_t h_t xi_t` away from its mean, `xi_t` the noise of the mean gradient in step
/// `t`, so its variance is `sigma^2 sum_t h_t^2`.
///
/// Left out: sampling of the rows, shrinkage, the noise of the releases that coordinates follow from, and that columns depend on each other.
pub(in crate::optim) struct StepNoise<'a> {
    descent: &'a Descent,
    curvature: f64,
    noise: f64,
}

impl<'a> StepNoise<'a> {
    /// `noise` is the standard deviation of the noise of each coordinate of the mean gradient; slopes of a typical row are cut at `clip`.
    pub(in crate::optim) fn new(descent: &'a Descent, margin: &Margin, clip: f64, noise: f64) -> Self {
        let curvature = match descent.loss {
            Objective::Margin(loss) => margin.mean_of(|t| clipped_curvature(loss, t, margin.variance, clip)),
            // Of labels that are equally probable.
            Objective::Softmax { classes } => (1.0 - 1.0 / classes as f64) / classes as f64,
        };
        StepNoise { descent, curvature, noise }
    }

    /// The share of the way to its optimum that a coordinate with this mean square has gone.
    pub(in crate::optim) fn reached(&self, square: f64) -> f64 {
        -self.curvature * square * gains(self.descent, self.curvature * square).iter().sum::<f64>()
    }

    /// The mean derivative of the clipped slope.
    pub(in crate::optim) fn curvature(&self) -> f64 {
        self.curvature
    }

    /// The variance of a coordinate with this mean square.
    pub(in crate::optim) fn variance(&self, square: f64) -> f64 {
        let gains = gains(self.descent, self.curvature * square);
        self.noise * self.noise * gains.iter().map(|gain| gain * gain).sum::<f64>()
    }

    /// The variance of each effect `sum_m T_bm theta_m` of a column, `table` its coordinates and `shares` how often each value
    /// comes up.
    pub(in crate::optim) fn variances(&self, table: &Array2<f64>, shares: &[f64]) -> Vec<f64> {
        let squares = table.mapv(|entry| entry * entry);
        let often = Array1::from(shares.to_vec()).dot(&squares);
        squares.dot(&often.mapv(|square| self.variance(square))).to_vec()
    }
}

/// The derivative of the slope, cut at `clip`, where the margin is `t`; a mean over the labels that belong to it.
fn clipped_curvature(loss: Glm, t: f64, variance: f64, clip: f64) -> f64 {
    let loss = loss.as_loss();
    let cut = |t: f64, label: f64| f64::from(loss.slope(t as f32, label as f32)).clamp(-clip, clip);
    let rises = |label: f64| (cut(t + APART, label) - cut(t - APART, label)) / (2.0 * APART);
    match loss.tuning().scoring {
        Scoring::Label | Scoring::Score | Scoring::Class { .. } => {
            let positive = Logistic::probability(t);
            positive * rises(1.0) + (1.0 - positive) * rises(0.0)
        }
        Scoring::Number | Scoring::Quantile => {
            let left = Margin { mean: 0.0, variance: (1.0 - variance).max(LEAST_LEFT) };
            left.mean_of(|residual| rises(t + residual))
        }
        Scoring::Count => rises(loss.prediction(t)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::Averaging;

    fn descent(loss: Glm) -> Descent {
        let (steps, learning_rate, averaging) = (16, 0.4, Averaging::Tail);
        let loss = Objective::Margin(loss);
        Descent { loss, steps, learning_rate, momentum: 0.6, l1: 0.0, l2: 0.0, radius: None, averaging }
    }

    #[test]
    fn slopes_are_as_curved_as_the_textbook_says_and_flat_where_they_are_cut() {
        let standing = Margin { mean: 0.0, variance: 0.0 };
        let of = |loss, clip| StepNoise::new(&descent(loss), &standing, clip, 1.0).curvature;
        assert!((of(Glm::Squared, 100.0) - 1.0).abs() < 1e-3);
        assert!((of(Glm::Logistic, 100.0) - 0.25).abs() < 1e-3);
        // Residuals of variance 1 within one deviation.
        assert!((of(Glm::Squared, 1.0) - 0.6827).abs() < 0.02, "{}", of(Glm::Squared, 1.0));
        assert!(of(Glm::Logistic, 0.3) < 1e-6);
    }

    #[test]
    fn variances_are_those_of_sums_of_coordinates() {
        let steps = descent(Glm::Squared);
        let noise = StepNoise { descent: &steps, curvature: 1.0, noise: 0.01 };
        // Two values, equally frequent: the second coordinate is there half as long.
        let table = ndarray::array![[1.0, 0.5], [-1.0, 0.5]];
        let expected = noise.variance(1.0) + 0.25 * noise.variance(0.25);
        let found = noise.variances(&table, &[0.5, 0.5]);
        assert!(found.iter().all(|it| (it / expected - 1.0).abs() < 1e-12), "{found:?} {expected}");
        // Without curvature nothing is forgotten: the mean of the later half of a sum of noise.
        assert!(noise.variance(0.0) > noise.variance(1.0));
    }
}
