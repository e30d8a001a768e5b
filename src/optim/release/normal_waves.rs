//! Waves of normal scores: what they are in the mean where some columns are known.

use std::f64::consts::SQRT_2;
use std::ops::Range;

use ndarray::{Array1, Array2, Axis};

use crate::error::Fallible;
use crate::num::dense;

/// The least ridge, so that coordinates that always add up to zero can be known.
const LEAST_RIDGE: f64 = 1e-9;

/// Waves `sqrt(2) cos(w . z + b)` of scores `z` that are jointly normal with mean zero and the released covariance `S`.
///
/// Columns of numbers have one coordinate, their normal score; categories have one for each value, 1 for the own value less the share
/// of rows that have it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NormalWaves {
    /// `W`: a row for each coordinate, a column for each wave, in radians.
    pub(crate) radians: Array2<f64>,
    /// `b`, in radians.
    pub(crate) offsets: Array1<f64>,
    /// `S`.
    pub(crate) covariance: Array2<f64>,
    /// Standard deviation of the noise of an entry of `S`: what is less sure than that says little of other columns.
    pub(crate) noise: f64,
    /// For each column of numbers the score of every part of its intervals.
    pub(crate) scores: Vec<Vec<f64>>,
    /// For each category the share of every value.
    pub(crate) shares: Vec<Vec<f64>>,
}

/// Waves with what follows from them for any columns that are known.
pub(crate) struct KnownWaves<'a> {
    waves: &'a NormalWaves,
    /// `S W`.
    image: Array2<f64>,
    /// `w^T S w` of each wave.
    variances: Array1<f64>,
}

/// Waves where some columns are known, for any values of them.
pub(crate) struct Given {
    /// How phases turn with the known coordinates: a row for each of them.
    turns: Array2<f64>,
    /// How much of each wave is left by what is not known.
    left: Array1<f64>,
    offsets: Array1<f64>,
}

impl NormalWaves {
    /// With more scores a model does not tell their covariance.
    pub(crate) const MOST_TOLD: usize = 512;

    /// Number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.scores.len() + self.shares.len()
    }

    /// Whether a model tells the covariance.
    pub(crate) fn is_told(&self) -> bool {
        self.covariance.nrows() <= Self::MOST_TOLD
    }

    /// The coordinates of a column.
    pub(crate) fn place(&self, column: usize) -> Range<usize> {
        match column.checked_sub(self.scores.len()) {
            None => column..column + 1,
            Some(category) => {
                let size = |category: usize| self.shares.get(category).map_or(0, Vec::len);
                let first = self.scores.len() + (0..category).map(size).sum::<usize>();
                first..first + size(category)
            }
        }
    }

    /// The coordinates of each value of a column.
    pub(crate) fn coordinates(&self, column: usize) -> Vec<Vec<f64>> {
        match column.checked_sub(self.scores.len()) {
            None => self.scores[column].iter().map(|&score| vec![score]).collect(),
            Some(category) => {
                let shares = self.shares.get(category).map_or(&[][..], Vec::as_slice);
                let own = |value: usize, at: usize| if at == value { 1.0 } else { 0.0 };
                let of = |value| shares.iter().enumerate().map(|(at, share)| own(value, at) - share).collect();
                (0..shares.len()).map(of).collect()
            }
        }
    }

    /// The mean of each wave, and the covariance of all, where scores are normal.
    ///
    /// With `A = W^T S W`, the mean of `sqrt(2) cos(w . z + b)` is `sqrt(2) cos(b) exp(-A_kk / 2)`, and that of the product of two
    /// `cos(b - c) exp(-(A_kk + A_ll - 2 A_kl) / 2) + cos(b + c) exp(-(A_kk + A_ll + 2 A_kl) / 2)`.
    pub(crate) fn law(&self) -> (Array1<f64>, Array2<f64>) {
        let (offsets, inner) = (&self.offsets, self.radians.t().dot(&self.covariance.dot(&self.radians)));
        let own = inner.diag().to_owned();
        let means = Array1::from_shape_fn(offsets.len(), |k| SQRT_2 * offsets[k].cos() * (-own[k] / 2.0).exp());
        let product = |k: usize, l: usize| {
            let (both, cross) = (own[k] + own[l], 2.0 * inner[(k, l)]);
            (offsets[k] - offsets[l]).cos() * (-(both - cross) / 2.0).exp()
                + (offsets[k] + offsets[l]).cos() * (-(both + cross) / 2.0).exp()
        };
        let gram = Array2::from_shape_fn((offsets.len(), offsets.len()), |(k, l)| {
            // One formula for both halves, so that they agree to the bit.
            let (k, l) = (k.min(l), k.max(l));
            product(k, l) - means[k] * means[l]
        });
        (means, gram)
    }

    /// Whether a column is one of numbers.
    pub(crate) fn is_numeric(&self, column: usize) -> bool {
        column < self.scores.len()
    }

    /// The deviation of the noise of an entry of `S`, for what depends on columns by less says nothing.
    pub(crate) fn ridge(&self) -> f64 {
        self.noise.max(LEAST_RIDGE)
    }

    /// The waves of rows with these coordinates.
    pub(crate) fn waves(&self, coordinates: &Array2<f64>) -> Array2<f64> {
        let mut waves = coordinates.dot(&self.radians) + &self.offsets;
        waves.mapv_inplace(|phase| SQRT_2 * phase.cos());
        waves
    }

    /// These waves, prepared for columns that are known.
    pub(crate) fn known(&self) -> KnownWaves<'_> {
        let image = self.covariance.dot(&self.radians);
        KnownWaves { waves: self, variances: along(&self.radians, &image), image }
    }
}

/// Sums over coordinates, one for each wave.
fn along(a: &Array2<f64>, b: &Array2<f64>) -> Array1<f64> {
    (a * b).sum_axis(Axis(0))
}

impl KnownWaves<'_> {
    /// Waves where the coordinates `C` of some columns are known.
    ///
    /// With `z_C = u` the others are normal around `S_oC P u` with the covariance `S_oo - S_oC P S_Co`, `P` the inverse of `S_CC` plus the
    /// noise. So the mean of a wave is `sqrt(2) cos(w_C . u + w_o . S_oC P u + b) exp(-v / 2)`, `v` the variance of `w_o . z_o` that is left.
    ///
    /// # Errors
    /// When the covariance is not finite.
    pub(crate) fn given(&self, columns: &[usize]) -> Fallible<Given> {
        let waves = self.waves;
        let known: Vec<usize> = columns.iter().flat_map(|&column| waves.place(column)).collect();
        let inner = waves.covariance.select(Axis(0), &known).select(Axis(1), &known);
        let (own, image) = (waves.radians.select(Axis(0), &known), self.image.select(Axis(0), &known));
        // What known coordinates share with the others, along each wave.
        let within = inner.dot(&own);
        let shared = &image - &within;
        let ridge = waves.ridge();
        let (values, vectors) = dense::symmetric_eigen(inner)?;
        let inverse = (&vectors * &values.mapv(|value| 1.0 / (value.max(0.0) + ridge))).dot(&vectors.t());
        let explained = inverse.dot(&shared);
        let others = &self.variances - 2.0 * along(&own, &image) + along(&own, &within);
        let variance = others - along(&shared, &explained);
        let left = variance.mapv(|variance| (-variance.max(0.0) / 2.0).exp());
        Ok(Given { turns: own + explained, left, offsets: waves.offsets.clone() })
    }
}

impl Given {
    /// The mean of each wave where the known coordinates are these.
    pub(crate) fn means(&self, coordinates: &[f64]) -> Array1<f64> {
        let phases = Array1::from(coordinates.to_vec()).dot(&self.turns) + &self.offsets;
        phases.mapv(|phase| SQRT_2 * phase.cos()) * &self.left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha20Rng;
    use rand_distr::StandardNormal;

    fn waves() -> NormalWaves {
        NormalWaves {
            radians: array![[0.9, -0.4, 1.7], [0.3, 1.1, -0.8], [-0.7, 0.5, 0.6]],
            offsets: array![0.6, 2.8, 5.0],
            covariance: array![[1.0, 0.6, 0.0], [0.6, 1.0, -0.5], [0.0, -0.5, 1.0]],
            noise: 0.0,
            scores: vec![vec![0.0]; 3],
            shares: vec![],
        }
    }

    /// Means of waves over draws of the scores that are near to what is known.
    #[test]
    fn means_where_scores_are_known_are_those_of_draws_near_them() {
        let (waves, mut draw) = (waves(), ChaCha20Rng::seed_from_u64(8));
        let (known, pair) = ([0.8], [0.8, -0.6]);
        let (mut one, mut both) = ((Array1::<f64>::zeros(3), 0.0), (Array1::<f64>::zeros(3), 0.0));
        for _ in 0..1_500_000 {
            let [a, b, c]: [f64; 3] = std::array::from_fn(|_| draw.sample(StandardNormal));
            // Cholesky's factor of the covariance.
            let z = [a, 0.6 * a + 0.8 * b, -0.625 * b + (1.0f64 - 0.625 * 0.625).sqrt() * c];
            let wave = |k: usize| {
                let turned: f64 = (0..3).map(|at| z[at] * waves.radians[(at, k)]).sum();
                SQRT_2 * (turned + waves.offsets[k]).cos()
            };
            let near = |at: usize, value: f64, width: f64| (z[at] - value).abs() < width;
            if near(0, known[0], 0.03) {
                one = (one.0 + Array1::from_shape_fn(3, wave), one.1 + 1.0);
            }
            if near(0, pair[0], 0.1) && near(2, pair[1], 0.1) {
                both = (both.0 + Array1::from_shape_fn(3, wave), both.1 + 1.0);
            }
        }
        let off = |stated: Array1<f64>, (sum, count): (Array1<f64>, f64)| {
            (stated - sum / count).iter().fold(0.0f64, |most, off| most.max(off.abs()))
        };
        assert!(off(waves.known().given(&[0]).unwrap().means(&known), one) < 0.02);
        assert!(off(waves.known().given(&[0, 2]).unwrap().means(&pair), both) < 0.03);
    }

    #[test]
    fn what_is_wholly_known_is_the_wave_itself_and_values_that_add_up_to_zero_can_be() {
        let waves = waves();
        let at = [0.3, -1.2, 0.7];
        let exact = Array1::from_shape_fn(3, |k| {
            SQRT_2 * ((0..3).map(|row| at[row] * waves.radians[(row, k)]).sum::<f64>() + waves.offsets[k]).cos()
        });
        assert!((waves.known().given(&[0, 1, 2]).unwrap().means(&at) - &exact).iter().all(|off| off.abs() < 1e-6));
        // Two values of one category, shares 1/4 and 3/4.
        let covariance = array![[1.0, 0.0, 0.0], [0.0, 0.1875, -0.1875], [0.0, -0.1875, 0.1875]];
        let category = NormalWaves { covariance, scores: vec![vec![0.3]], shares: vec![vec![0.25, 0.75]], ..waves };
        assert_eq!((category.columns(), category.coordinates(1)[0].clone()), (2, vec![0.75, -0.75]));
        let known = category.known().given(&[0, 1]).unwrap().means(&[0.3, 0.75, -0.75]);
        let phase = |k: usize| {
            let w = |row: usize| category.radians[(row, k)];
            SQRT_2 * (0.3 * w(0) + 0.75 * w(1) - 0.75 * w(2) + category.offsets[k]).cos()
        };
        assert!((known - Array1::from_shape_fn(3, phase)).iter().all(|off| off.abs() < 1e-6));
    }
}
