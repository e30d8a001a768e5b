//! Straight lines of all columns, in the coordinates that a released covariance gives them.

use ndarray::{Array1, Array2, Axis};

use crate::preprocess::Waves;

/// Straight lines of all columns, in coordinates that are uncorrelated by a released covariance.
#[derive(Clone, Debug, PartialEq)]
pub struct Straight {
    /// How they follow from the parts of intervals and from values.
    pub(crate) waves: Waves,
    /// The block that takes them to coordinates.
    pub(in crate::optim) numbers: Array2<f64>,
    /// The mean square of each coordinate.
    pub(in crate::optim) squares: Vec<f64>,
    /// The released variance along each direction, in deviations of columns.
    pub(in crate::optim) variances: Vec<f64>,
}

impl Straight {
    /// Coefficients of lines, of parts and values, and of the intercept: what each part and value adds to the margin, and the intercept.
    ///
    /// Every model of straight lines is one of these: a line is told by its value in each part.
    pub(in crate::optim) fn folded(&self, weights: &[f64]) -> Vec<f64> {
        let (lines, rest) = weights.split_at(self.waves.count().min(weights.len()));
        let mut folded = rest.to_vec();
        let added = |phases: Vec<u16>| -> f64 {
            phases.iter().zip(lines).map(|(&phase, w)| w * f64::from(phase as i16) / f64::from(Waves::ONE)).sum()
        };
        let values = (0..self.waves.columns().len()).flat_map(|column| self.waves.phases(column)).map(added);
        folded.iter_mut().zip(values).for_each(|(weight, more)| *weight += more);
        folded
    }

    /// The block that takes lines to the directions of positive weight, with the mean squares that are the squares of these.
    pub(in crate::optim) fn weighted(&self, weights: &[f64]) -> Array2<f64> {
        let kept: Vec<usize> = (0..weights.len()).filter(|&at| weights[at] > 0.0).collect();
        let mut numbers = self.numbers.select(Axis(0), &kept);
        for (mut row, &at) in numbers.rows_mut().into_iter().zip(&kept) {
            row *= weights[at] / self.squares[at].sqrt();
        }
        numbers
    }

    /// The variance that directions of mean square 1, each with a variance of its own, give each part or value of a column, less its mean under these shares.
    pub(in crate::optim) fn variances_of(&self, column: usize, shares: &[f64], variances: &[f64]) -> Array1<f64> {
        let phases = self.waves.phases(column);
        let mut total = Array1::zeros(shares.len());
        for (at, (variance, square)) in variances.iter().zip(&self.squares).enumerate() {
            let length = self.numbers[(at, at)] / square.sqrt() / f64::from(Waves::ONE);
            let effects = || phases.iter().map(|phases| length * f64::from(phases[at] as i16));
            let mean: f64 = shares.iter().zip(effects()).map(|(share, effect)| share * effect).sum();
            total.iter_mut().zip(effects()).for_each(|(sum, effect)| *sum += variance * (effect - mean).powi(2));
        }
        total
    }
}
