//! What waves look like over rows: means, covariance, and coordinates in which they are whitened.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Slice};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::StandardNormal;
use rayon::prelude::*;

use super::normal_waves::NormalWaves;
use crate::error::Fallible;
use crate::num::dense;

/// Directions with a smaller variance are rounding errors: a wave has a variance of 1 at most, and where all columns are constant none has any.
const MIN_VARIANCE: f64 = 1e-6;

/// Rows that are drawn for the law.
const DRAWS: usize = 1 << 13;

/// The seed of these draws: the same in every run.
const SEED: u64 = 0x6c61_7773;

/// Waves whose products are added up together.
const BLOCK: usize = 100;

/// What waves look like over rows with the released shares of each column and the released covariance of scores.
///
/// Such rows are drawn: scores are normal with the covariance, and then each column gets its own shares, in the order of its scores. A normal law
/// alone is wrong where columns have few values: whitened by it waves of nine columns, most of them of two values, had 46 times the stated variance in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct WaveLaw {
    /// The waves and the normal law of their scores.
    pub(in crate::optim) normal: NormalWaves,
    /// The mean of each wave.
    pub(in crate::optim) means: Array1<f64>,
    /// Variances in the directions of the waves' own covariance, none of them negative.
    pub(in crate::optim) variances: Array1<f64>,
    /// These directions, as columns.
    pub(in crate::optim) directions: Array2<f64>,
}

impl WaveLaw {
    /// `shares` has for each column that of the rows in each part of its intervals, or with each of its values.
    pub(super) fn new(normal: NormalWaves, shares: &[Vec<f64>]) -> Fallible<Self> {
        let waves = normal.waves(&drawn(&normal, shares)?);
        let means = waves.sum_axis(Axis(0)) / DRAWS as f64;
        let (values, directions) = dense::symmetric_eigen(products(&(waves - &means)) / DRAWS as f64)?;
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

/// Scores of rows with these shares in each column, a row each.
///
/// The noise of the released covariance is added to its diagonal, so that columns do not depend on each other by it.
fn drawn(normal: &NormalWaves, shares: &[Vec<f64>]) -> Fallible<Array2<f64>> {
    let (values, vectors) = dense::symmetric_eigen(normal.covariance.clone())?;
    let ridge = normal.ridge();
    let root = (&vectors * &values.mapv(|value| (value.max(0.0) + ridge).sqrt())).dot(&vectors.t());
    let mut draw = ChaCha20Rng::seed_from_u64(SEED);
    let drawn = Array2::from_shape_fn((DRAWS, root.nrows()), |_| draw.sample::<f64, _>(StandardNormal)).dot(&root);
    let mut scores = Array2::zeros(drawn.dim());
    for (column, shares) in shares.iter().enumerate() {
        let place = Slice::from(normal.place(column));
        let own = drawn.slice_axis(Axis(1), place);
        let values = if normal.is_numeric(column) { in_order(own.column(0), shares) } else { by_value(own, shares) };
        let coordinates = normal.coordinates(column);
        for (mut row, value) in scores.slice_axis_mut(Axis(1), place).rows_mut().into_iter().zip(values) {
            row.iter_mut().zip(&coordinates[value]).for_each(|(score, &own)| *score = own);
        }
    }
    Ok(scores)
}

/// The interval of each draw: the lowest draws are in the first.
fn in_order(drawn: ArrayView1<'_, f64>, shares: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..drawn.len()).collect();
    order.sort_by(|&a, &b| drawn[a].total_cmp(&drawn[b]));
    let ends: Vec<f64> = shares.iter().scan(0.0, |below, share| Some((*below += share, *below).1)).collect();
    let last = shares.len().saturating_sub(1);
    let mut of_draw = vec![0; drawn.len()];
    for (rank, at) in order.into_iter().enumerate() {
        let below = (rank as f64 + 0.5) / drawn.len() as f64;
        of_draw[at] = ends.partition_point(|&end| end < below).min(last);
    }
    of_draw
}

/// The value of each draw: those that have most of the rarest value have it, then the next of the rest.
fn by_value(drawn: ArrayView2<'_, f64>, shares: &[f64]) -> Vec<usize> {
    let mut rarest: Vec<usize> = (0..shares.len()).collect();
    rarest.sort_by(|&a, &b| shares[a].total_cmp(&shares[b]));
    let commonest = rarest.pop().unwrap_or(0);
    let mut of_draw = vec![commonest; drawn.nrows()];
    let (mut rest, mut below) = ((0..drawn.nrows()).collect::<Vec<usize>>(), 0.0);
    for value in rarest {
        below += shares[value];
        let wanted = (below * drawn.nrows() as f64).round() as usize;
        let count = (wanted + rest.len()).saturating_sub(drawn.nrows()).min(rest.len());
        if 0 < count && count < rest.len() {
            rest.select_nth_unstable_by(count, |&a, &b| drawn[(b, value)].total_cmp(&drawn[(a, value)]));
        }
        rest.drain(..count).for_each(|at| of_draw[at] = value);
    }
    of_draw
}

/// `C^T C`, with the same bits in both halves and on any number of processors.
fn products(waves: &Array2<f64>) -> Array2<f64> {
    let starts: Vec<usize> = (0..waves.ncols()).step_by(BLOCK).collect();
    let of = |start: usize| {
        let block = waves.slice_axis(Axis(1), Slice::from(start..(start + BLOCK).min(waves.ncols())));
        // The upper half alone.
        block.t().dot(&waves.slice_axis(Axis(1), Slice::from(start..)))
    };
    let blocks: Vec<Array2<f64>> = starts.into_par_iter().map(of).collect();
    Array2::from_shape_fn((waves.ncols(), waves.ncols()), |(a, b)| {
        let (a, b) = (a.min(b), a.max(b));
        blocks[a / BLOCK][(a % BLOCK, b - (a - a % BLOCK))]
    })
}

#[cfg(test)]
mod tests {
    use std::f64::consts::SQRT_2;

    use super::*;
    use crate::num::special;
    use ndarray::array;

    /// Two columns of numbers cut into intervals of equal shares, with the normal score of each.
    fn normal(intervals: usize) -> (NormalWaves, Vec<Vec<f64>>) {
        let radians = array![[0.9, -0.4, 1.7], [0.3, 1.1, -0.8]];
        let covariance = array![[1.0, 0.6], [0.6, 1.0]];
        let at = |interval: usize| {
            let (below, mut ends) = ((interval as f64 + 0.5) / intervals as f64, (-6.0, 6.0));
            for _ in 0..50 {
                let middle = (ends.0 + ends.1) / 2.0;
                if special::normal_tail(-middle) < below { ends.0 = middle } else { ends.1 = middle }
            }
            ends.0
        };
        let scores = vec![(0..intervals).map(at).collect(); 2];
        let normal =
            NormalWaves { radians, offsets: array![0.6, 2.8, 5.0], covariance, noise: 0.0, scores, shares: vec![] };
        (normal, vec![vec![1.0 / intervals as f64; intervals]; 2])
    }

    /// With `A = W^T S W`, the mean of `sqrt(2) cos(w . z + b)` is `sqrt(2) cos(b) exp(-A_kk / 2)`, and that of the product of two
    /// `cos(b - c) exp(-(A_kk + A_ll - 2 A_kl) / 2) + cos(b + c) exp(-(A_kk + A_ll + 2 A_kl) / 2)`.
    #[test]
    fn the_law_of_many_intervals_is_that_of_normal_scores() {
        let (normal, shares) = normal(200);
        let law = WaveLaw::new(normal.clone(), &shares).unwrap();
        let inner = normal.radians.t().dot(&normal.covariance.dot(&normal.radians));
        let (own, offsets) = (inner.diag(), &normal.offsets);
        let means = Array1::from_shape_fn(3, |k| SQRT_2 * offsets[k].cos() * (-own[k] / 2.0).exp());
        assert!((&means - &law.means).iter().all(|off| off.abs() < 0.03), "{means} {}", law.means);
        let gram = Array2::from_shape_fn((3, 3), |(k, l)| {
            let (both, cross) = (own[k] + own[l], 2.0 * inner[(k, l)]);
            (offsets[k] - offsets[l]).cos() * (-(both - cross) / 2.0).exp()
                + (offsets[k] + offsets[l]).cos() * (-(both + cross) / 2.0).exp()
                - means[k] * means[l]
        });
        let stated = (&law.directions * &law.variances).dot(&law.directions.t());
        assert!((&gram - &stated).iter().all(|off| off.abs() < 0.03), "{gram} {stated}");
        // In whitened coordinates they have the mean 0 and the covariance 1.
        let block = law.block(&Array1::ones(3));
        let inner = block.slice_axis(Axis(1), Slice::from(..3));
        let whitened = inner.dot(&stated).dot(&inner.t());
        assert!((whitened - Array2::<f64>::eye(3)).iter().all(|off| off.abs() < 1e-9));
        assert!((inner.dot(&law.means) + block.column(3)).iter().all(|off| off.abs() < 1e-9));
        // Where nothing varies there is no coordinate.
        let scores = vec![vec![0.0]; 2];
        let still = WaveLaw::new(NormalWaves { scores, ..normal }, &[vec![1.0], vec![1.0]]).unwrap();
        assert_eq!((still.shares().sum(), still.block(&still.shares()).dim()), (0.0, (0, 4)));
    }

    /// A rare value lies five deviations out, where a normal law has next to nothing.
    #[test]
    fn columns_of_two_values_have_the_law_of_their_values() {
        let shares = vec![vec![0.96, 0.04]; 4];
        let scores = vec![vec![-0.204_124_145, 4.898_979_486]; 4];
        let radians = Array2::from_shape_fn((4, 40), |(a, k)| ((7 * a + 3 * k) % 11) as f64 / 6.0 - 0.8);
        let offsets = Array1::from_shape_fn(40, |k| k as f64);
        let normal = NormalWaves { radians, offsets, covariance: Array2::eye(4), noise: 0.0, scores, shares: vec![] };
        let law = WaveLaw::new(normal.clone(), &shares).unwrap();
        // All sixteen rows that there are, by their shares.
        let weight = |row: usize| -> f64 { (0..4).map(|a| shares[a][row >> a & 1]).product() };
        let rows = Array2::from_shape_fn((16, 4), |(row, a)| normal.scores[a][row >> a & 1]);
        let waves = normal.waves(&rows);
        let weights = Array1::from_shape_fn(16, weight);
        let centred = &waves - &weights.dot(&waves);
        let true_gram = centred.t().dot(&(&centred * &weights.insert_axis(Axis(1))));
        let block = law.block(&law.variances.mapv(|variance| f64::from(u8::from(variance > 1e-3))));
        let inner = block.slice_axis(Axis(1), Slice::from(..40));
        let (spread, _) = dense::symmetric_eigen(inner.dot(&true_gram).dot(&inner.t())).unwrap();
        let most = spread.iter().fold(0.0f64, |most, value| most.max(*value));
        assert!(inner.nrows() > 4 && (0.8..2.0).contains(&most), "{most} in {} directions", inner.nrows());
    }

    #[test]
    fn draws_have_the_released_shares_and_depend_on_each_other_as_their_scores_do() {
        let shares = [vec![0.7, 0.3], vec![0.5, 0.0, 0.1, 0.4]];
        let scores = vec![vec![-0.654_653_67, 1.527_525_23]];
        let mut covariance = Array2::from_diag(&array![1.0, 0.25, 0.0, 0.09, 0.24]);
        // Of the second column the third value comes with the second interval of the first, the fourth without it.
        covariance[(0, 3)] = 0.2;
        covariance[(0, 4)] = -0.2;
        (covariance[(3, 0)], covariance[(4, 0)]) = (0.2, -0.2);
        let (radians, offsets) = (Array2::zeros((5, 1)), array![0.0]);
        let normal = NormalWaves { radians, offsets, covariance, noise: 0.01, scores, shares: vec![shares[1].clone()] };
        let drawn = drawn(&normal, &shares).unwrap();
        let high: Vec<bool> = drawn.column(0).iter().map(|&score| score > 0.0).collect();
        let share = |held: &dyn Fn(usize) -> bool| (0..DRAWS).filter(|&at| held(at)).count() as f64 / DRAWS as f64;
        assert!((share(&|at| high[at]) - 0.3).abs() < 1e-3);
        let has = |at: usize, value: usize| drawn[(at, 1 + value)] > 0.0;
        for (value, released) in shares[1].iter().enumerate() {
            assert!((share(&|at| has(at, value)) - released).abs() < 1e-3, "{value}");
        }
        let with = |value: usize| share(&|at| has(at, value) && high[at]) / share(&|at| has(at, value));
        assert!(with(2) > 0.5 && with(3) < 0.2, "{} {}", with(2), with(3));
    }
}
