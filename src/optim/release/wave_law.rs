//! What waves look like where scores are jointly normal: means, covariance, and coordinates in which they are whitened.

use ndarray::{Array1, Array2, Axis};

use super::normal_waves::NormalWaves;
use crate::error::Fallible;
use crate::num::dense;

/// Directions with a smaller variance are rounding errors: a wave has a variance of 1 at most, and where all columns are constant none has any.
const MIN_VARIANCE: f64 = 1e-6;

/// What waves look like where scores are jointly normal with the released covariance.
#[derive(Clone, Debug, PartialEq)]
pub struct WaveLaw {
    /// The waves and the law of their scores.
    pub(in crate::optim) normal: NormalWaves,
    /// The mean of each wave.
    pub(in crate::optim) means: Array1<f64>,
    /// Variances in the directions of the waves' own covariance, none of them negative.
    pub(in crate::optim) variances: Array1<f64>,
    /// These directions, as columns.
    pub(in crate::optim) directions: Array2<f64>,
}

impl WaveLaw {
    pub(super) fn new(normal: NormalWaves) -> Fallible<Self> {
        let (means, gram) = normal.law();
        let (values, directions) = dense::symmetric_eigen(gram)?;
        let of_size = |value: f64| if value > MIN_VARIANCE { value } else { 0.0 };
        Ok(WaveLaw { normal, means, variances: values.mapv(of_size), directions })
    }

    /// The shares of the variance.
    pub(in crate::optim) fn shares(&self) -> Array1<f64> {
        let total = self.variances.sum();
        if total > 0.0 { &self.variances / total } else { Array1::zeros(self.variances.len()) }
    }

    /// A block of numeric columns that takes waves to whitened coordinates with these weights, the constant that centres them last; those
    /// with the weight zero are left out.
    pub(in crate::optim) fn block(&self, weights: &Array1<f64>) -> Array2<f64> {
        let kept: Vec<usize> = (0..weights.len()).filter(|&index| weights[index] > 0.0).collect();
        let scale: Array1<f64> = kept.iter().map(|&index| weights[index] / self.variances[index].sqrt()).collect();
        let chosen = &self.directions.select(Axis(1), &kept) * &scale;
        let mut block = Array2::zeros((kept.len(), self.means.len() + 1));
        for (mut row, coordinate) in block.rows_mut().into_iter().zip(chosen.columns()) {
            row.iter_mut().zip(&coordinate).for_each(|(entry, &value)| *entry = value);
            row[self.means.len()] = -coordinate.dot(&self.means);
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::SQRT_2;

    use super::*;
    use ndarray::array;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha20Rng;
    use rand_distr::StandardNormal;

    /// Means and products of waves of normal scores, by drawing scores.
    #[test]
    fn waves_of_normal_scores_have_the_stated_law() {
        let covariance = array![[1.0, 0.6], [0.6, 1.0]];
        let radians = array![[0.9, -0.4, 1.7], [0.3, 1.1, -0.8]];
        let offsets = array![0.6, 2.8, 5.0];
        let (scores, shares, noise) = (vec![vec![0.0]; 2], vec![], 0.0);
        let normal =
            NormalWaves { radians: radians.clone(), offsets: offsets.clone(), covariance, noise, scores, shares };
        let law = WaveLaw::new(normal.clone()).unwrap();
        let mut draw = ChaCha20Rng::seed_from_u64(5);
        let draws = 400_000;
        let (mut sums, mut products) = (Array1::<f64>::zeros(3), Array2::<f64>::zeros((3, 3)));
        for _ in 0..draws {
            let [a, b]: [f64; 2] = std::array::from_fn(|_| draw.sample(StandardNormal));
            let z = array![a, 0.6 * a + 0.8 * b];
            let wave = |k: usize| SQRT_2 * (z.dot(&radians.column(k)) + offsets[k]).cos();
            let waves = Array1::from_shape_fn(3, wave);
            sums += &waves;
            products += &waves.view().insert_axis(Axis(1)).dot(&waves.view().insert_axis(Axis(0)));
        }
        let means = sums / f64::from(draws);
        assert!((&means - &law.means).iter().all(|off| off.abs() < 0.008), "{means} {}", law.means);
        let seen =
            products / f64::from(draws) - means.view().insert_axis(Axis(1)).dot(&means.view().insert_axis(Axis(0)));
        let stated = (&law.directions * &law.variances).dot(&law.directions.t());
        assert!((&seen - &stated).iter().all(|off| off.abs() < 0.012), "{seen} {stated}");
        // Where nothing varies there is no coordinate.
        let still = WaveLaw::new(NormalWaves { covariance: Array2::zeros((2, 2)), ..normal }).unwrap();
        assert_eq!(still.shares().sum(), 0.0);
        assert_eq!(still.block(&still.shares()).dim(), (0, 4));
        // In whitened coordinates they have the mean 0 and the covariance 1.
        let block = law.block(&Array1::ones(3));
        let inner = block.slice_axis(Axis(1), ndarray::Slice::from(..3));
        let whitened = inner.dot(&stated).dot(&inner.t());
        assert!((whitened - Array2::<f64>::eye(3)).iter().all(|off| off.abs() < 1e-9));
        assert!((inner.dot(&law.means) + block.column(3)).iter().all(|off| off.abs() < 1e-9));
    }
}
