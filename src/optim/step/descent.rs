//! Gradient descent on noised, clipped sums: the loop that several optimizers share.

use std::collections::BTreeMap;

use ndarray::Array1;
use serde_json::{Value, json};

use super::curvature::Curvature;
use super::penalty::Penalties;
use crate::error::{Error, Fallible};
use crate::loss::Objective;
use crate::optim::{Averaging, Problem, Start};
use crate::privacy::{AllocatedGaussianCharge, Charge, PoissonGaussianCharge};
use crate::private::{ClippedRows, Gradient, LoggedRun, Permit, Planned};

/// How one run of a descent makes its steps.
pub(in crate::optim) struct Pass<'a> {
    /// The sums: of all rows, or of a fresh sample in each step.
    pub(in crate::optim) planned: &'a Planned,
    /// What the clip in grid steps stands for.
    pub(in crate::optim) clip_norm: f64,
    /// A matrix `M`, the l2 penalty included, made from public and released quantities; rows have no map then.
    ///
    /// Steps go along `M^(-1) (g + lambda w)`. At step size 1 that is the proximal step of the penalty in the metric of the
    /// rest of `M`: `(H + lambda)^(-1) (H w - g) = w - (H + lambda)^(-1) (g + lambda w)`. An l1 penalty has none that is as simple.
    pub(in crate::optim) metric: Option<&'a Curvature>,
}

/// `w <- Proj(shrink(w - eta v))`, `v <- momentum v + g`, `g` the noised sum of clipped gradients over the row count.
///
/// `shrink` is the proximal map of `eta (alpha |w|_1 + lambda |w|^2 / 2)`: `sign(z) max(|z| - eta alpha, 0)`, divided by
/// `1 + eta lambda`. Where it moves a point, `v` becomes the step that was really made. Penalties are applied to noised
/// values and so lie outside the clip; they leave intercepts alone. The intercept is a feature like any other inside
/// the clip. Rows may be seen through a map; penalties and ball are those of the coefficients of features.
///
/// With an l1 penalty the points `z` are averaged and the mean is shrunk once: a mean of iterates would be zero only
/// where all of them are.
///
/// # Requirements on the problem
/// A convex loss of the margin. With clipping, the objective that is minimised is the loss with slopes
/// cut at `clip_norm / |x|`.
///
/// # Privacy
/// One Gaussian release per step; everything else here is post-processing. Step size, count and clip are public
/// or follow from what was released before the first step.
///
/// # Reference
/// Bassily, Smith, Thakurta 2014; Song, Chaudhuri, Sarwate 2013. Inertial proximal steps: Ochs, Chen, Brox, Pock 2014.
#[derive(Clone, Debug, PartialEq)]
pub struct Descent {
    /// The loss.
    pub loss: Objective,
    /// Number of releases.
    pub steps: u64,
    /// Step size `eta` on the mean loss.
    pub learning_rate: f64,
    /// Weight of the previous direction, in `[0, 1)`.
    pub momentum: f64,
    /// `alpha` of the penalty `alpha |w|_1`; positive only where rows are seen without a map.
    pub l1: f64,
    /// `lambda` of the penalty `lambda |w|^2 / 2`.
    pub l2: f64,
    /// Radius of the ball around zero that iterates are kept in.
    pub radius: Option<f64>,
    /// Which iterate is returned.
    pub averaging: Averaging,
}

impl Descent {
    /// The descent that the settings of a problem describe: number and size of steps, momentum and the iterate that is returned are
    /// these where they are left open; penalties and the ball are none.
    pub fn of(problem: &Problem<'_>, steps: u64, learning_rate: f64, momentum: f64, averaging: Averaging) -> Self {
        let settings = problem.settings;
        Descent {
            loss: problem.loss,
            steps: settings.steps.unwrap_or(steps),
            learning_rate: settings.learning_rate.unwrap_or(learning_rate),
            momentum: settings.momentum.unwrap_or(momentum),
            l1: settings.l1,
            l2: settings.l2.unwrap_or(0.0),
            radius: settings.radius,
            averaging: settings.averaging.unwrap_or(averaging),
        }
    }

    /// Makes all steps, one release each, and returns the coefficients, one per feature and label.
    ///
    /// What is planned decides whether a step sums over all rows or over a fresh sample.
    ///
    /// # Errors
    /// When a release is not the next one of the plan or fails, or the iterates diverge (seen on released values alone).
    pub fn run(
        &self,
        rows: &ClippedRows<'_>,
        planned: &Planned,
        clip_norm: f64,
        start: &Start<'_>,
        run: &mut LoggedRun<'_>,
    ) -> Fallible<Vec<f64>> {
        self.run_with(rows, &Pass { planned, clip_norm, metric: None }, start, run)
    }

    /// Takes the steps of the plan in the directions that a metric gives.
    ///
    /// # Errors
    /// When a release is not the next one of the plan or fails, or the iterates diverge (seen on released values alone).
    pub(in crate::optim) fn run_with(
        &self,
        rows: &ClippedRows<'_>,
        pass: &Pass<'_>,
        start: &Start<'_>,
        run: &mut LoggedRun<'_>,
    ) -> Fallible<Vec<f64>> {
        let zero = Array1::zeros(rows.coordinates() * self.loss.outputs());
        Ok(rows.to_features(&self.run_from(zero, rows, pass, start, run)?).to_vec())
    }

    /// Takes the steps of the plan from this point on, and returns a point in the same coordinates, those of the rows.
    ///
    /// # Errors
    /// When a release is not the next one of the plan or fails, or the iterates diverge (seen on released values alone).
    pub(in crate::optim) fn run_from(
        &self,
        mut weights: Array1<f64>,
        rows: &ClippedRows<'_>,
        pass: &Pass<'_>,
        start: &Start<'_>,
        run: &mut LoggedRun<'_>,
    ) -> Fallible<Array1<f64>> {
        let Pass { planned, clip_norm, metric } = *pass;
        let dimension = weights.len();
        let grid_step = clip_norm / rows.clip_steps() as f64;
        let rate = match &planned.charge {
            Charge::PoissonGaussian(event) => event.rate(),
            Charge::AllocatedGaussian(event) => 1.0 / f64::from(event.steps_of_pass),
            Charge::Gaussian(_) => 1.0,
            Charge::Objective(_)
            | Charge::Exponential(_)
            | Charge::PrivateSelection(_)
            | Charge::Threshold(_)
            | Charge::Laplace(_)
            | Charge::SparseVector(_) => {
                return Err(Error::refused("a descent steps along noised sums", "plan clipped sums"));
            }
        };
        let expected = rate * start.rows;
        let mut direction = Array1::<f64>::zeros(dimension);
        let eta = self.learning_rate;
        // A metric holds the l2 penalty already, and a step in it is the proximal one.
        let l2 = if metric.is_some() { 0.0 } else { self.l2 };
        let penalties = Penalties::new(rows, eta * self.l1, eta * l2, self.radius)?;
        // The point before shrinking where there is an l1 penalty, else the iterate itself.
        let mut reached = weights.clone();
        let mut average = Average::new(self.averaging, self.steps, dimension);
        average.add(0, &weights);
        for step in 1..=self.steps {
            let gradient = Gradient { loss: self.loss, weights: &weights, label_scale: start.label_scale, clip_norm };
            let sampled = |permit: Permit<PoissonGaussianCharge>| Ok(((), permit.release(rows, &gradient)?));
            let drawn = |permit: Permit<AllocatedGaussianCharge>| Ok(((), permit.release(rows, &gradient)?));
            let released = match &planned.charge {
                Charge::PoissonGaussian(_) => run.release_by(planned, grid_step, sampled)?.1,
                Charge::AllocatedGaussian(_) => run.release_by(planned, grid_step, drawn)?.1,
                _ => run.release(planned, grid_step, || rows.gradient_sum(&gradient))?,
            };
            let gradient: Array1<f64> = released.values().iter().map(|&v| v as f64 * grid_step / expected).collect();
            let moved = match metric {
                None => gradient,
                Some(metric) => metric.solve(&(gradient + self.penalty(&weights))),
            };
            direction = direction * self.momentum + moved;
            reached = &weights - &(&direction * self.learning_rate);
            let shrunk = penalties.shrink(reached.clone());
            if penalties.shrinks() {
                direction = (weights - &shrunk) / self.learning_rate;
            }
            weights = penalties.project(rows, shrunk);
            if self.l1 == 0.0 {
                reached.assign(&weights);
            }
            average.add(step, &reached);
        }
        let mut result = average.finish(reached);
        if self.l1 > 0.0 {
            result = penalties.project(rows, penalties.shrink(result));
        }
        if rows.to_features(&result).iter().all(|w| w.is_finite()) {
            return Ok(result);
        }
        Err(Error::numerical("training", "the iterates diverged; use a smaller learning rate"))
    }

    /// `lambda w` with the intercept, the last coefficient, left out.
    pub(in crate::optim) fn penalty(&self, weights: &Array1<f64>) -> Array1<f64> {
        let mut penalty = weights * self.l2;
        if let Some(intercept) = penalty.last_mut() {
            *intercept = 0.0;
        }
        penalty
    }

    /// The settings, for the statement.
    pub fn settings(&self) -> BTreeMap<String, Value> {
        let pairs = [
            ("learning_rate", json!(self.learning_rate)),
            ("momentum", json!(self.momentum)),
            ("l1", json!(self.l1)),
            ("l2", json!(self.l2)),
            ("radius", json!(self.radius)),
            ("averaging", json!(self.averaging)),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

/// Running mean of the iterates that count.
pub(in crate::optim) struct Average {
    from: Option<u64>,
    sum: Array1<f64>,
    count: u64,
}

impl Average {
    pub(in crate::optim) fn new(kind: Averaging, steps: u64, dimension: usize) -> Self {
        let from = match kind {
            Averaging::Last => None,
            Averaging::Mean => Some(0),
            Averaging::Tail => Some(steps / 2 + 1),
        };
        Average { from, sum: Array1::zeros(dimension), count: 0 }
    }

    pub(in crate::optim) fn add(&mut self, step: u64, weights: &Array1<f64>) {
        if self.from.is_some_and(|from| step >= from) {
            self.sum += weights;
            self.count += 1;
        }
    }

    /// The mean, or `last` when no iterate was to be averaged.
    pub(in crate::optim) fn finish(self, last: Array1<f64>) -> Array1<f64> {
        if self.count == 0 { last } else { self.sum / self.count as f64 }
    }
}
