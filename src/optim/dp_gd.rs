//! Full-batch differentially private gradient descent for generalized linear models.

use ndarray::Array1;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Fallible};
use crate::kernel::Step;
use crate::loss::Loss;
use crate::private::{ClippedRows, Paid, Released};

/// Which iterate is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Averaging {
    /// The last one.
    Last,
    /// The mean of all, the starting point included.
    Mean,
    /// The mean of the second half.
    Tail,
}

/// `w <- Proj(w - eta (g + lambda w))`, `g` the noised sum of clipped gradients over `row_count`.
///
/// Momentum replaces the direction by `v <- momentum v + g + lambda w`. The l2 penalty is added to the
/// noised gradient and so lies outside the clip; it leaves the intercept alone. The intercept is a
/// feature like any other inside the clip.
///
/// # Requirements on the problem
/// A convex loss of the margin. With clipping, the objective that is minimised is the loss with slopes
/// cut at `clip_norm / |x|`.
///
/// # Privacy
/// One Gaussian release per step; everything else here is post-processing. The step size, count and
/// clip are public and fixed before the first release.
///
/// # Reference
/// Bassily, Smith, Thakurta 2014; Song, Chaudhuri, Sarwate 2013.
#[derive(Clone, Debug, PartialEq)]
pub struct DpGd {
    /// Number of releases.
    pub steps: u64,
    /// Step size `eta` on the mean loss.
    pub learning_rate: f64,
    /// Clip norm of one row's gradient.
    pub clip_norm: f64,
    /// Weight of the previous direction, in `[0, 1)`.
    pub momentum: f64,
    /// `lambda` of the penalty `lambda |w|^2 / 2`.
    pub l2: f64,
    /// Radius of the ball around zero that iterates are projected to.
    pub radius: Option<f64>,
    /// Which iterate is returned.
    pub averaging: Averaging,
    /// What the sum is divided by: public, or released before.
    pub row_count: f64,
    /// What an encoded label of 1 stands for.
    pub label_scale: f64,
}

/// What an observer may see after each step: public and released values only.
pub struct Progress<'a> {
    /// The step, counted from 1.
    pub step: u64,
    /// The released sum.
    pub released: &'a Released,
}

impl DpGd {
    /// Runs all steps, consuming one permit each, and returns the coefficients.
    ///
    /// # Errors
    /// When a permit is missing or does not fit, the observer fails, or the iterates diverge (seen on
    /// released values alone).
    pub fn run<L: Loss>(
        &self,
        rows: &ClippedRows<'_>,
        loss: L,
        paid: &mut Paid,
        observe: &mut dyn FnMut(&Progress<'_>) -> Fallible<()>,
    ) -> Fallible<Vec<f64>> {
        let dimension = rows.data().shape().dimension();
        let grid = self.clip_norm / rows.bound() as f64;
        let mut weights = Array1::<f64>::zeros(dimension);
        let mut direction = Array1::<f64>::zeros(dimension);
        let mut average = Average::new(self.averaging, self.steps, dimension);
        average.add(0, &weights);
        for step in 1..=self.steps {
            let permit = paid.permit()?;
            let sum = rows.gradient_sum(loss, &self.kernel_step(rows, &weights));
            let released = permit.release(sum)?;
            let gradient: Array1<f64> = released.values().iter().map(|&v| v as f64 * grid / self.row_count).collect();
            direction = direction * self.momentum + gradient + self.penalty(&weights);
            weights.scaled_add(-self.learning_rate, &direction);
            self.project(&mut weights);
            average.add(step, &weights);
            observe(&Progress { step, released: &released })?;
        }
        let result = average.finish(weights);
        if result.iter().all(|w| w.is_finite()) {
            return Ok(result.to_vec());
        }
        Err(Error::numerical("training", "the iterates diverged; use a smaller learning rate"))
    }

    fn kernel_step<'a>(&self, rows: &ClippedRows<'_>, weights: &'a Array1<f64>) -> Step<'a> {
        Step {
            weights: weights.as_slice().unwrap_or(&[]),
            label_scale: self.label_scale,
            multiplier_scale: rows.multiplier_scale(self.clip_norm),
        }
    }

    /// `lambda w` with the intercept, the last coefficient, left out.
    fn penalty(&self, weights: &Array1<f64>) -> Array1<f64> {
        let mut penalty = weights * self.l2;
        if let Some(intercept) = penalty.last_mut() {
            *intercept = 0.0;
        }
        penalty
    }

    fn project(&self, weights: &mut Array1<f64>) {
        let norm = weights.dot(weights).sqrt();
        match self.radius {
            Some(radius) if norm > radius => *weights *= radius / norm,
            _ => {}
        }
    }
}

/// Running mean of the iterates that count.
struct Average {
    from: Option<u64>,
    sum: Array1<f64>,
    count: u64,
}

impl Average {
    fn new(kind: Averaging, steps: u64, dimension: usize) -> Self {
        let from = match kind {
            Averaging::Last => None,
            Averaging::Mean => Some(0),
            Averaging::Tail => Some(steps / 2 + 1),
        };
        Average { from, sum: Array1::zeros(dimension), count: 0 }
    }

    fn add(&mut self, step: u64, weights: &Array1<f64>) {
        if self.from.is_some_and(|from| step >= from) {
            self.sum += weights;
            self.count += 1;
        }
    }

    /// The mean, or `last` when no iterate was to be averaged.
    fn finish(self, last: Array1<f64>) -> Array1<f64> {
        if self.count == 0 { last } else { self.sum / self.count as f64 }
    }
}
