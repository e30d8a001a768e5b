//! Straight lines of all columns, in the coordinates that a released covariance gives them.

use ndarray::Array2;

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
}
