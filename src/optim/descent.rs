//! Gradient descent on noised, clipped sums: the loop that several optimizers share.

use std::collections::BTreeMap;

use ndarray::Array1;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Observer, Progress, Start};
use crate::error::{Error, Fallible};
use crate::loss::Glm;
use crate::private::{ClippedRows, Gradient, Paid, Query};

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

/// `w <- Proj(w - eta (g + lambda w))`, `g` the noised sum of clipped gradients over the row count.
///
/// Momentum replaces the direction by `v <- momentum v + g + lambda w`. The l2 penalty is added to the
/// noised gradient and so lies outside the clip; it leaves the intercept alone. The intercept is a
/// feature like any other inside the clip. Rows may be seen through a map; penalty and ball are those of the
/// coefficients of features.
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
/// Bassily, Smith, Thakurta 2014; Song, Chaudhuri, Sarwate 2013.
#[derive(Clone, Debug, PartialEq)]
pub struct Descent {
    /// The loss.
    pub loss: Glm,
    /// Number of releases.
    pub steps: u64,
    /// Step size `eta` on the mean loss.
    pub learning_rate: f64,
    /// Weight of the previous direction, in `[0, 1)`.
    pub momentum: f64,
    /// `lambda` of the penalty `lambda |w|^2 / 2`.
    pub l2: f64,
    /// Radius of the ball around zero that iterates are kept in.
    pub radius: Option<f64>,
    /// Which iterate is returned.
    pub averaging: Averaging,
}

impl Descent {
    /// Makes all steps, consuming one permit each, and returns the coefficients of features.
    ///
    /// # Errors
    /// When a permit is missing or does not fit, the observer fails, or the iterates diverge (seen on
    /// released values alone).
    pub fn run(
        &self,
        rows: &ClippedRows<'_>,
        clip_norm: f64,
        start: &Start,
        paid: &mut Paid,
        observe: &mut Observer<'_>,
    ) -> Fallible<Vec<f64>> {
        self.run_with(rows, clip_norm, start, paid, observe, &|direction| direction)
    }

    /// The same with the direction `solve(g + lambda w)`, `solve` made from public and released quantities.
    ///
    /// # Errors
    /// As [`Descent::run`].
    pub(super) fn run_with(
        &self,
        rows: &ClippedRows<'_>,
        clip_norm: f64,
        start: &Start,
        paid: &mut Paid,
        observe: &mut Observer<'_>,
        solve: &dyn Fn(Array1<f64>) -> Array1<f64>,
    ) -> Fallible<Vec<f64>> {
        let dimension = rows.data().shape().dimension();
        let query = Query::ClippedSum { bound: rows.bound() };
        let unit = clip_norm / rows.bound() as f64;
        let mut weights = Array1::<f64>::zeros(dimension);
        let mut direction = Array1::<f64>::zeros(dimension);
        let mut average = Average::new(self.averaging, self.steps, dimension);
        average.add(0, &weights);
        for step in 1..=self.steps {
            let permit = paid.permit()?;
            let gradient = Gradient { loss: self.loss, weights: &weights, label_scale: start.label_scale, clip_norm };
            let released = permit.release(rows.gradient_sum(&gradient))?;
            let mut gradient: Array1<f64> = released.values().iter().map(|&v| v as f64 * unit / start.rows).collect();
            if self.l2 > 0.0 {
                gradient += &rows.to_iterate(&self.penalty(rows.to_features(&weights)));
            }
            direction = direction * self.momentum + solve(gradient);
            weights.scaled_add(-self.learning_rate, &direction);
            self.project(rows, &mut weights);
            average.add(step, &weights);
            observe(&Progress { released: &released, query: &query, unit })?;
        }
        let result = rows.to_features(&average.finish(weights));
        if result.iter().all(|w| w.is_finite()) {
            return Ok(result.to_vec());
        }
        Err(Error::numerical("training", "the iterates diverged; use a smaller learning rate"))
    }

    /// `lambda w` with the intercept, the last coefficient, left out.
    pub(super) fn penalty(&self, mut weights: Array1<f64>) -> Array1<f64> {
        weights *= self.l2;
        if let Some(intercept) = weights.last_mut() {
            *intercept = 0.0;
        }
        weights
    }

    pub(super) fn project(&self, rows: &ClippedRows<'_>, weights: &mut Array1<f64>) {
        let Some(radius) = self.radius else { return };
        let features = rows.to_features(weights);
        let norm = features.dot(&features).sqrt();
        if norm > radius {
            *weights *= radius / norm;
        }
    }

    /// The settings, for the statement.
    pub fn settings(&self) -> BTreeMap<String, Value> {
        let pairs = [
            ("learning_rate", json!(self.learning_rate)),
            ("momentum", json!(self.momentum)),
            ("l2", json!(self.l2)),
            ("radius", json!(self.radius)),
            ("averaging", json!(self.averaging)),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

/// Running mean of the iterates that count.
pub(super) struct Average {
    from: Option<u64>,
    sum: Array1<f64>,
    count: u64,
}

impl Average {
    pub(super) fn new(kind: Averaging, steps: u64, dimension: usize) -> Self {
        let from = match kind {
            Averaging::Last => None,
            Averaging::Mean => Some(0),
            Averaging::Tail => Some(steps / 2 + 1),
        };
        Average { from, sum: Array1::zeros(dimension), count: 0 }
    }

    pub(super) fn add(&mut self, step: u64, weights: &Array1<f64>) {
        if self.from.is_some_and(|from| step >= from) {
            self.sum += weights;
            self.count += 1;
        }
    }

    /// The mean, or `last` when no iterate was to be averaged.
    pub(super) fn finish(self, last: Array1<f64>) -> Array1<f64> {
        if self.count == 0 { last } else { self.sum / self.count as f64 }
    }
}
