//! Standard errors of the coefficients of a descent: sampling and privacy noise together, as post-processing.

use ndarray::{Array1, Array2};

use crate::loss::Curved;
use crate::optim::{Averaging, Descent};

/// Points of the numerical mean over a normal margin.
const POINTS: i32 = 40;

/// What is known of the rows from the release of a Gram matrix, in directions where it is diagonal.
pub(in crate::optim) struct Directions<'a> {
    /// `E[x x^T]`, noised.
    pub(in crate::optim) moments: &'a Array2<f64>,
    /// Orthonormal directions as columns.
    pub(in crate::optim) vectors: &'a Array2<f64>,
    /// Share of a direction that is signal, `h / (h + ridge)`.
    pub(in crate::optim) signal: &'a [f64],
    /// Length of the map along each direction, `1 / (R sqrt(h + ridge))`.
    pub(in crate::optim) lengths: &'a [f64],
    /// Number of rows.
    pub(in crate::optim) rows: f64,
    /// Standard deviation of the noise on each coordinate of the mean gradient.
    pub(in crate::optim) noise: f64,
}

/// The standard error of every coefficient, where the loss has a known second-order theory.
///
/// Along an eigenvector of the Gram matrix the descent is a linear recursion with curvature `a = c h / (h + ridge)`.
/// What it returns is `sum_t k_t (zeta + xi_t)` away from its mean, `zeta` the error of the mean gradient from drawing
/// `n` rows, `xi_t` the noise of step t; so the variance is `(sum k)^2 c' (a / c) / n + sum k^2 sigma^2`.
/// `c` is the mean curvature of the loss and `c'` the mean squared slope at the fitted margin, which is taken as normal.
///
/// Left out: shrinkage by stopping early, by the ridge and by the clip, and the noise of the Gram matrix itself.
pub(in crate::optim) fn standard_errors(
    descent: &Descent,
    weights: &Array1<f64>,
    directions: &Directions<'_>,
) -> Option<Vec<f64>> {
    let loss = descent.loss.curved()?;
    let law = Margin::new(weights, directions.moments);
    let (curvature, slope_square) = match loss {
        Curved::Logistic => {
            let spread = law.mean_of(|t| (1.0 / (2.0 * (t / 2.0).cosh())).powi(2));
            (spread, spread)
        }
        // The label has variance 1; at the optimum what is left is what the margin does not explain.
        Curved::Squared => (1.0, (1.0 - law.variance).clamp(0.01, 1.0)),
    };
    let variance = |share: f64| {
        let gains = gains(descent, curvature * share);
        let total: f64 = gains.iter().sum();
        let square: f64 = gains.iter().map(|gain| gain * gain).sum();
        total * total * slope_square * share / directions.rows + square * directions.noise * directions.noise
    };
    let spreads: Vec<f64> = directions
        .signal
        .iter()
        .zip(directions.lengths)
        .map(|(&share, length)| variance(share) * length * length)
        .collect();
    let error = |row: ndarray::ArrayView1<'_, f64>| {
        row.iter().zip(&spreads).map(|(u, spread)| u * u * spread).sum::<f64>().sqrt()
    };
    Some(directions.vectors.rows().into_iter().map(error).collect())
}

/// How far the returned iterate moves per unit error in the gradient of each step, last step first.
///
/// The recursion `v <- momentum v + a theta + error`, `theta <- theta - eta v`, read backward.
pub(super) fn gains(descent: &Descent, curvature: f64) -> Vec<f64> {
    let steps = descent.steps;
    let from = match descent.averaging {
        Averaging::Last => steps,
        Averaging::Mean => 0,
        Averaging::Tail => steps / 2 + 1,
    };
    let share = 1.0 / (steps - from + 1) as f64;
    let (mut theta, mut velocity) = (0.0, 0.0);
    (1..=steps)
        .rev()
        .map(|step| {
            if step >= from {
                theta += share;
            }
            velocity = descent.momentum * velocity - descent.learning_rate * theta;
            theta += curvature * velocity;
            velocity
        })
        .collect()
}

/// The fitted margin, taken as normal.
pub(in crate::optim) struct Margin {
    pub(in crate::optim) mean: f64,
    pub(in crate::optim) variance: f64,
}

impl Margin {
    /// The last coordinate of a row is the constant 1.
    fn new(weights: &Array1<f64>, moments: &Array2<f64>) -> Self {
        let image = moments.dot(weights);
        let mean = image.last().copied().unwrap_or(0.0);
        Margin { mean, variance: (weights.dot(&image) - mean * mean).max(0.0) }
    }

    pub(super) fn mean_of(&self, f: impl Fn(f64) -> f64) -> f64 {
        let deviation = self.variance.sqrt();
        let point = |i: i32| f64::from(i) / f64::from(POINTS) * 5.0;
        let weight = |z: f64| (-0.5 * z * z).exp();
        let total: f64 = (-POINTS..=POINTS).map(|i| weight(point(i))).sum();
        (-POINTS..=POINTS).map(|i| weight(point(i)) * f(self.mean + deviation * point(i))).sum::<f64>() / total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Glm, Objective};

    fn descent(momentum: f64, averaging: Averaging) -> Descent {
        let (loss, steps, learning_rate) = (Objective::Margin(Glm::Squared), 9, 0.7);
        Descent { loss, steps, learning_rate, momentum, l1: 0.0, l2: 0.0, radius: None, averaging }
    }

    /// The recursion itself, with a unit error in one step.
    fn forward(descent: &Descent, curvature: f64, at: u64) -> f64 {
        let (mut theta, mut velocity, mut sum, mut count) = (0.0, 0.0, 0.0, 0.0);
        let from = match descent.averaging {
            Averaging::Last => descent.steps,
            Averaging::Mean => 0,
            Averaging::Tail => descent.steps / 2 + 1,
        };
        for step in 0..=descent.steps {
            if step > 0 {
                velocity = descent.momentum * velocity + curvature * theta + f64::from(u8::from(step == at));
                theta -= descent.learning_rate * velocity;
            }
            if step >= from {
                sum += theta;
                count += 1.0;
            }
        }
        sum / count
    }

    #[test]
    fn gains_are_those_of_the_recursion() {
        for averaging in [Averaging::Last, Averaging::Mean, Averaging::Tail] {
            for momentum in [0.0, 0.9] {
                let descent = descent(momentum, averaging);
                for (index, gain) in gains(&descent, 0.4).into_iter().enumerate() {
                    let expected = forward(&descent, 0.4, descent.steps - index as u64);
                    assert!((gain - expected).abs() < 1e-12, "{averaging:?} {momentum} {index}");
                }
            }
        }
    }

    #[test]
    fn a_descent_that_converges_has_the_textbook_standard_errors() {
        let descent = Descent { steps: 200, ..descent(0.0, Averaging::Last) };
        let moments = ndarray::array![[1.0, 0.0], [0.0, 1.0]];
        let vectors = Array2::eye(2);
        let directions = Directions {
            moments: &moments,
            vectors: &vectors,
            signal: &[1.0, 1.0],
            lengths: &[1.0, 1.0],
            rows: 400.0,
            noise: 0.0,
        };
        let errors = standard_errors(&descent, &ndarray::array![0.5, 0.0], &directions).unwrap();
        // Residual variance 3/4 over 400 rows of unit variance.
        assert!(errors.iter().all(|e| (e - (0.75f64 / 400.0).sqrt()).abs() < 1e-12), "{errors:?}");
    }

    #[test]
    fn the_mean_over_a_normal_margin_is_accurate() {
        let law = Margin { mean: 0.3, variance: 4.0 };
        assert!((law.mean_of(|t| t * t) - 4.09).abs() < 2e-3, "{}", law.mean_of(|t| t * t));
        assert!((law.mean_of(|_| 1.0) - 1.0).abs() < 1e-12);
    }
}
