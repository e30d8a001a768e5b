//! Minimizers of regularised losses, solved inside the gate and certified in integers.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::curvature::{Curvature, LOG2_MARGINS, LOG2_REGULARIZATION, MAX_SOLVED};
use super::{DescribeQuery, Perturbation, Reads, Role, RowAccess};
use crate::error::{Error, Fallible};
use crate::grid::MAX_MULTIPLIER;
use crate::kernel::{LOG2_LARGEST_COORDINATE, ScaledRows};
use crate::loss::{BoundedLoss, FRACTION_BITS, FixedSlope, SLOPE_ERROR};
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::{PrivateDataset, Sensitive};
use crate::solve::{Convex, LOG2_POINT, minimize};

/// The minimiser of a regularised sum of losses, see [`PrivateDataset::minimizer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Minimizer {
    /// What fixes how far it moves.
    pub curvature: Curvature,
    /// Number of coefficients.
    pub dimension: usize,
}

impl DescribeQuery for Minimizer {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        let exact = adjacency.sum_sensitivity(self.curvature.movement());
        exact.saturating_add(self.curvature.spread(self.dimension))
    }

    fn reads(&self) -> Reads {
        Reads {
            rows: RowAccess::InMemory,
            role: Role::Steps(1),
            clip_steps: Some(self.curvature.movement()),
            persons: false,
            labels: false,
        }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }

    fn check(&self) -> Fallible<()> {
        self.curvature.check()
    }
}

/// A convex problem on the rows, all of it public but the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Minimization {
    /// The loss.
    pub loss: BoundedLoss,
    /// What an encoded label of 1 stands for.
    pub label_scale: f64,
    /// `e`: the margin of a row is `2^-e m_i z.q_i`.
    pub log2_margin: u32,
    /// What fixes the sensitivity.
    pub curvature: Curvature,
}

impl Minimization {
    /// What one grid step of the answer stands for, in coefficients of features; 1.0 stands as `one` in the rows.
    pub fn step(&self, one: i16) -> f64 {
        f64::from(one) * f64::from(MAX_MULTIPLIER) * 2f64.powi(-(self.log2_margin as i32))
    }

    /// The scale of margins for which the penalty on the sum of losses is about `wanted / 2 |w|^2`.
    pub fn margin_for(wanted: f64, curvature: &Curvature, one: i16) -> u32 {
        let length = f64::from(one) * f64::from(MAX_MULTIPLIER);
        let lambda = curvature.regularization as f64 / 2f64.powi(LOG2_REGULARIZATION as i32);
        let exponent = (wanted * length * length / lambda).log2().round();
        exponent.clamp(f64::from(*LOG2_MARGINS.start()), f64::from(*LOG2_MARGINS.end())) as u32
    }

    /// `Lambda` of the penalty `Lambda/2 |w|^2` on the sum of losses, for display.
    pub fn penalty(&self, one: i16) -> f64 {
        let lambda = self.curvature.regularization as f64 / 2f64.powi(LOG2_REGULARIZATION as i32);
        let length = f64::from(one) * f64::from(MAX_MULTIPLIER);
        lambda * 2f64.powi(self.log2_margin as i32) / (length * length)
    }

    /// The noise on the gradient whose steps have length `step / 2^62`, as a public description.
    pub fn perturbation(&self, step: u64) -> Perturbation {
        Perturbation {
            curvature: self.curvature,
            log2_margin: self.log2_margin,
            quarters: self.loss.smoothness_quarters(),
            step,
        }
    }

    pub(super) fn check(&self, dimension: usize) -> Fallible<()> {
        self.curvature.check()?;
        if !LOG2_MARGINS.contains(&self.log2_margin) || dimension > MAX_SOLVED {
            return Err(Error::parameter(
                "--algorithm",
                format!("solves for at most {MAX_SOLVED} coefficients, with an ordinary penalty"),
                "use --algorithm dp-gd",
            ));
        }
        Ok(())
    }
}

/// Noise on the gradient, as the solver sees it.
pub(super) struct Offset {
    /// In gradients over `2^62`.
    pub(super) values: Vec<i128>,
    /// Largest distance from the noise before it was rounded down to whole steps.
    pub(super) error: u128,
}

/// The objective as the solver sees it.
struct Problem<'a> {
    rows: ScaledRows<'a>,
    slope: FixedSlope,
    problem: Minimization,
    offset: Option<Offset>,
}

impl<'a> Problem<'a> {
    /// A product `m_i z.q_i` of a point over `2^32` as a margin over `2^62`.
    fn scaled(&self, product: i128) -> i128 {
        product >> (self.problem.log2_margin + LOG2_POINT - FRACTION_BITS).min(127)
    }
}

impl Convex for Problem<'_> {
    fn gradient(&self, point: &[i128]) -> Vec<i128> {
        let mut sum = self.rows.weighted_sum(point, |product, label| self.slope.at(self.scaled(product), label));
        let lambda = i128::from(self.problem.curvature.regularization);
        // Saturation can only make a gradient look large, never small.
        sum.iter_mut().zip(point).for_each(|(g, &z)| *g = g.saturating_add(lambda.saturating_mul(z)));
        if let Some(offset) = &self.offset {
            sum.iter_mut().zip(&offset.values).for_each(|(g, &b)| *g = g.saturating_add(b));
        }
        sum
    }

    /// `|G| + error <= lambda tolerance`, in integers rounded outward; then the exact minimiser is within the tolerance.
    fn is_small(&self, gradient: &[i128]) -> bool {
        // Squares of what is left of 62 fractional bits must fit.
        const DROPPED: u32 = 20;
        let Curvature { row_bound, .. } = self.problem.curvature;
        let allowed = self.problem.curvature.allowed();
        let slopes = self.rows.len() as u128 * u128::from(SLOPE_ERROR) * u128::from(row_bound);
        let error = slopes + self.offset.as_ref().map_or(0, |offset| offset.error);
        let Some(left) = allowed.checked_sub(error) else { return false };
        let most = (left >> DROPPED).checked_pow(2).unwrap_or(u128::MAX);
        let square = |g: &i128| ((g.unsigned_abs() >> DROPPED) + 1).checked_pow(2);
        let norm = gradient.iter().try_fold(0u128, |sum, g| sum.checked_add(square(g)?));
        norm.is_some_and(|norm| norm <= most)
    }

    fn hessian(&self, point: &[i128]) -> Array2<f64> {
        let scale = 2f64.powi(-(self.problem.log2_margin as i32));
        let curvature = |product: i128, label: i16| scale * self.slope.curvature(self.scaled(product), label);
        let mut sum = self.rows.weighted_gram(point, curvature);
        let lambda = self.problem.curvature.regularization as f64 / 2f64.powi(LOG2_REGULARIZATION as i32);
        sum.diag_mut().iter_mut().for_each(|x| *x += lambda);
        sum
    }

    fn smoothness(&self) -> f64 {
        let row = self.problem.curvature.row_bound as f64;
        let each = self.problem.loss.smoothness_quarters() as f64 / 4.0 * row * row;
        let lambda = self.problem.curvature.regularization as f64 / 2f64.powi(LOG2_REGULARIZATION as i32);
        (lambda + self.rows.len() as f64 * each * 2f64.powi(-(self.problem.log2_margin as i32))) * (1.0 + 1e-6)
    }

    fn largest_coordinate(&self) -> i128 {
        1 << LOG2_LARGEST_COORDINATE
    }
}

impl PrivateDataset {
    /// The minimiser of a regularised sum of losses in whole grid steps, found to the stated tolerance on any data.
    ///
    /// `sum_i l(w.x_i, y_i) + Lambda/2 |w|^2` over rows shrunk to the bound. The sum is not divided by a row count, and
    /// `Lambda` is public, so one row more or less changes the gradient by the gradient of that row alone.
    ///
    /// # Privacy
    /// With `b = row_bound`: add-remove moves the exact minimiser by `b / lambda`, replace-one by twice that; the answer
    /// is at most the tolerance and a rounding away from it, for each of the two data sets. All of it is checked in
    /// integers; the solver's floats only propose points. It ends on every data set, see [`minimize`].
    ///
    /// # Errors
    /// When public numbers are out of range, or rows are in a file.
    ///
    /// # Reference
    /// Chaudhuri, Monteleoni and Sarwate 2011, Lemma 7; Bousquet and Elisseeff 2002.
    pub fn minimizer(&self, problem: &Minimization) -> Fallible<Sensitive<L2>> {
        let dimension = self.shape().dimension();
        problem.check(dimension)?;
        let values = self.solve(problem, None)?;
        Ok(self.sensitive(values, Minimizer { curvature: problem.curvature, dimension }))
    }

    /// The certified answer, rounded to the nearest whole steps.
    pub(super) fn solve(&self, problem: &Minimization, offset: Option<Offset>) -> Fallible<Vec<i128>> {
        let objective = Problem {
            rows: ScaledRows::new(self.rows()?, problem.curvature.row_bound),
            slope: FixedSlope::new(problem.loss, problem.label_scale),
            problem: *problem,
            offset,
        };
        let half = 1 << (LOG2_POINT - 1);
        let point = minimize(&objective, self.shape().dimension());
        Ok(point.into_iter().map(|z| (z + half) >> LOG2_POINT).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Shape;
    use crate::kernel::{RawRow, Rows, RowsBuilder};

    const ROWS: u128 = 40;

    fn rows() -> Rows {
        let mut builder = RowsBuilder::new(Shape::new(2, &[2]));
        for i in 0..ROWS as i16 {
            builder.push(&RawRow { numeric: vec![i, -i], codes: vec![0], label: 1, null: false });
        }
        builder.build()
    }

    /// `|G| + 2^-58 rows row_bound + the rounding of the noise <= lambda tolerance`: what passes is within, and nearly all of it does.
    #[test]
    fn a_certificate_leaves_room_for_slopes_and_for_rounded_noise() {
        let rows = rows();
        let row_bound = 1u64 << 28;
        let slopes = ROWS * (1 << 62 >> 58) * u128::from(row_bound);
        for (regularization, tolerance) in [(1u64, 1u64), (1 << 10, 1), (1 << 22, 1 << 17)] {
            let curvature = Curvature { row_bound, regularization, tolerance };
            let problem = Minimization { loss: BoundedLoss::Logistic, label_scale: 1.0, log2_margin: 64, curvature };
            let allowed = (u128::from(regularization) * u128::from(tolerance)) << 32;
            for rounded in [None, Some(0), Some(allowed / 4), Some(allowed / 10 * 9), Some(allowed), Some(2 * allowed)]
            {
                let objective = Problem {
                    rows: ScaledRows::new(&rows, row_bound),
                    slope: FixedSlope::new(problem.loss, 1.0),
                    problem,
                    offset: rounded.map(|error| Offset { values: vec![0; 5], error }),
                };
                let passes = |g: u128| objective.is_small(&[0, 0, -(g as i128), 0, 0]);
                match allowed.checked_sub(slopes + rounded.unwrap_or(0)) {
                    Some(room) if room > 1 << 30 => {
                        assert!(!passes(room + 1) && passes(room / 100 * 99), "{curvature:?} {rounded:?}");
                    }
                    Some(room) => assert!(!passes(room + 1), "{curvature:?} {rounded:?}"),
                    None => assert!(!passes(0), "{curvature:?} {rounded:?}: nothing is left"),
                }
            }
        }
    }
}
