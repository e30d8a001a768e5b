//! A curvature matrix made from a noised one, with a ridge that follows from the noise.

use ndarray::{Array1, Array2};

use crate::error::Fallible;
use crate::num::dense;

/// Failure probability of the bounds on the noise's norm that ridges are made of.
const FAILURE: f64 = 0.05;

/// How the ridge follows from the noise of the matrix, whose diagonal entries have standard deviation `sigma`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::optim) enum RidgeRule {
    /// `max(0, sigma sqrt(d ln(2 d^2 / 0.05)) - l)` with `l` a lower bound on the smallest eigenvalue that holds with
    /// probability 0.95: `l = max(0, smallest noised eigenvalue - sigma (sqrt(2 d) + sqrt(2 ln 20)))`.
    ///
    /// The symmetric noise is Gaussian with covariance `sigma^2` in the Frobenius inner product, its largest
    /// eigenvalue has a mean of at most `sigma sqrt(2 d)` and is 1-Lipschitz in that norm; with Weyl's inequality the
    /// bound follows. So the noised matrix tells what a third release, of the eigenvalue itself, would tell.
    Adaptive,
    /// `c sigma sqrt(2 d)`: `c` times the operator norm of the noise.
    OperatorNorm(f64),
}

/// A symmetric matrix whose inverse exists: noised eigenvalues cut at zero, plus the ridge.
#[derive(Debug)]
pub(in crate::optim) struct Curvature {
    inverse: Array2<f64>,
    /// What was added to every eigenvalue.
    pub(in crate::optim) ridge: f64,
}

impl Curvature {
    /// From a noised matrix whose diagonal entries have noise of standard deviation `sigma`.
    ///
    /// `penalty` is added to every diagonal entry but the last, the intercept's.
    ///
    /// # Errors
    /// When the eigenvalues cannot be found.
    pub(in crate::optim) fn new(mut noised: Array2<f64>, sigma: f64, rule: RidgeRule, penalty: f64) -> Fallible<Self> {
        let dimension = noised.nrows();
        noised.diag_mut().iter_mut().take(dimension.saturating_sub(1)).for_each(|entry| *entry += penalty);
        let (values, vectors) = dense::symmetric_eigen(noised)?;
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let ridge = rule.ridge(dimension as f64, sigma, smallest);
        // Below one deviation of the noise an eigenvalue is not known at all.
        let inverse: Array1<f64> = values.mapv(|value| 1.0 / (value.max(0.0) + ridge).max(sigma));
        Ok(Curvature { inverse: (&vectors * &inverse).dot(&vectors.t()), ridge })
    }

    /// The solution of `matrix x = v`.
    pub(in crate::optim) fn solve(&self, v: &Array1<f64>) -> Array1<f64> {
        self.inverse.dot(v)
    }
}

impl RidgeRule {
    fn ridge(self, dimension: f64, sigma: f64, smallest: f64) -> f64 {
        match self {
            RidgeRule::OperatorNorm(factor) => factor * sigma * (2.0 * dimension).sqrt(),
            RidgeRule::Adaptive => {
                let norm = sigma * ((2.0 * dimension).sqrt() + (2.0 * (1.0 / FAILURE).ln()).sqrt());
                let wanted = sigma * (dimension * (2.0 * dimension * dimension / FAILURE).ln()).sqrt();
                (wanted - (smallest - norm).max(0.0)).max(0.0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn without_noise_it_is_the_inverse() {
        let h = array![[2.0, 0.5], [0.5, 1.0]];
        let curvature = Curvature::new(h.clone(), 1e-12, RidgeRule::Adaptive, 0.0).unwrap();
        let again = curvature.solve(&h.dot(&array![3.0, -4.0]));
        assert!((again - array![3.0, -4.0]).iter().all(|e| e.abs() < 1e-9) && curvature.ridge == 0.0);
    }

    #[test]
    fn ridges_follow_the_noise() {
        let noise = array![[1.0, 0.0], [0.0, -3.0]];
        let curvature = Curvature::new(noise.clone(), 1.0, RidgeRule::Adaptive, 0.0).unwrap();
        assert!((curvature.ridge - (2.0 * 160f64.ln()).sqrt()).abs() < 1e-12);
        assert!((curvature.solve(&array![0.0, 1.0])[1] - 1.0 / curvature.ridge).abs() < 1e-12);
        let fixed = Curvature::new(noise, 1.0, RidgeRule::OperatorNorm(0.5), 2.0).unwrap();
        // The penalty is not the intercept's.
        assert_eq!(fixed.solve(&array![4.0, 1.0]), array![1.0, 1.0]);
    }
}
