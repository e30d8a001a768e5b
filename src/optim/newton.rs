//! Private Newton steps: a noised gradient and a noised Hessian each.

use std::collections::BTreeMap;

use ndarray::Array1;
use serde_json::{Value, json};

use super::curvature::{Curvature, RidgeRule};
use super::descent::Average;
use super::penalty::Penalties;
use super::{
    Averaging, ClipRule, ClippedPlan, Descent, Fitted, GramPlan, Observer, Optimizer, Planned, Problem, Progress,
    Record, Settings, Start,
};
use crate::error::{Error, Fallible};
use crate::loss::Curved;
use crate::private::{Gradient, Paid, PrivateDataset};

/// Newton steps.
const STEPS: u64 = 6;

/// Most steps: each is two entries of the statement.
const MOST_STEPS: u64 = 1000;

/// Share of the budget for the Hessians.
const HESSIAN_SHARE: f64 = 0.4;

/// Ridge over the operator norm of a Hessian's noise.
const RIDGE: f64 = 0.5;

/// Newton's method with noise on both parts.
///
/// `w <- w - eta (H + ridge)^(-1) (g + lambda w)`, `g` the noised sum of clipped gradients and
/// `H = sum_i l''(t_i) x_i x_i^T` over rows scaled down to the typical norm `R`, with symmetric noise. Eigenvalues of `H` are
/// cut at zero and raised by half of the operator norm of the noise, so that no direction is trusted more than the noise
/// allows. Step size and everything else are public or follow from noised values.
///
/// # Privacy
/// Per step one Gaussian release of a clipped sum and one of a weighted Gram matrix, both adjacencies.
///
/// # Reference
/// Avella-Medina, Bradshaw, Loh 2023, "Differentially private inference via noisy optimization".
#[derive(Clone, Debug, PartialEq)]
pub struct Newton {
    hessian: GramPlan,
    gradient: ClippedPlan,
    clip: ClipRule,
    loss: Curved,
    descent: Descent,
}

impl Newton {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small for the number of steps, or a setting is given that means nothing here.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        problem.settings.refuse("newton", &["--momentum", "--l1", "--sampling-rate"])?;
        let loss = problem.curved("newton")?;
        let Settings { clip, steps, learning_rate, l2, radius, averaging, .. } = *problem.settings;
        let steps = steps.unwrap_or(STEPS);
        if steps > MOST_STEPS {
            let cure = "use fewer, or --algorithm boosted-adassp, which needs one matrix for all steps";
            return Err(Error::parameter("--steps", format!("is {steps}, must be at most {MOST_STEPS}"), cure));
        }
        let rule = match loss {
            Curved::Logistic => [0.15, 0.15, 0.6],
            Curved::Squared => [0.36, 0.15, 3.0],
        };
        let hessian = GramPlan::new(problem, HESSIAN_SHARE * problem.budget.lower() / steps as f64)?;
        let spent = hessian.event().rho();
        let left = (0..steps).fold(problem.budget.clone(), |left, _| left.minus(&spent));
        let unit = problem.unit.unsigned_abs().into();
        let gradient = ClippedPlan::new(unit, problem.adjacency, &left, steps, problem.noise)?;
        let descent = Descent {
            loss: problem.loss,
            steps,
            learning_rate: learning_rate.unwrap_or(1.0),
            momentum: 0.0,
            l1: 0.0,
            l2: l2.unwrap_or(0.0),
            radius,
            averaging: averaging.unwrap_or(Averaging::Last),
        };
        let clip = clip.map_or(ClipRule::ByNoise(rule), ClipRule::Fixed);
        Ok(Newton { hessian, gradient, clip, loss, descent })
    }

    /// One gradient, which is one event of its own because a Hessian follows it.
    fn planned_gradient(&self) -> Planned {
        let Planned { charge, query } = self.gradient.planned();
        Planned { charge: charge.single(), query }
    }

    fn settings(&self) -> BTreeMap<String, Value> {
        let mut settings = self.descent.settings();
        settings.insert("ridge_over_noise".into(), json!(RIDGE));
        settings
    }
}

impl Optimizer for Newton {
    fn planned(&self) -> Vec<Planned> {
        (0..self.descent.steps).flat_map(|_| [self.planned_gradient(), self.hessian.planned_hessian()]).collect()
    }

    fn run(
        &self,
        data: &PrivateDataset,
        start: &Start,
        paid: &mut Paid,
        observe: &mut Observer<'_>,
    ) -> Fallible<Fitted> {
        let (loss, bound, dimension) = (self.loss, self.gradient.bound, data.shape().dimension());
        let row_norm = self.hessian.row_norm();
        let clip_norm = self.clip.clip_norm(row_norm, dimension as f64, start.rows, self.gradient.signal());
        let rows = data.clipped(bound);
        let ball = Penalties::new(&rows, 0.0, 0.0, self.descent.radius)?;
        let (gradient, hessian) = (self.planned_gradient(), self.hessian.planned_hessian());
        let units = (clip_norm / bound as f64, self.hessian.step() * loss.smoothness());
        let scale = loss.smoothness() * row_norm * row_norm / start.rows;
        let mut weights = Array1::<f64>::zeros(dimension);
        let mut average = Average::new(self.descent.averaging, self.descent.steps, dimension);
        average.add(0, &weights);
        let mut records = Vec::new();
        for step in 1..=self.descent.steps {
            let asked = Gradient { loss: loss.into(), weights: &weights, label_scale: start.label_scale, clip_norm };
            let slope = paid.permit()?.release(rows.gradient_sum(&asked))?;
            observe(&Progress { released: &slope, query: &gradient.query, unit: units.0 })?;
            let (bend, released) = self.hessian.run_hessian(data, loss, &weights, paid)?;
            observe(&Progress { released: &released, query: &hessian.query, unit: units.1 })?;
            let sigma = scale / self.hessian.signal();
            let curvature = Curvature::new(bend * scale, sigma, RidgeRule::OperatorNorm(RIDGE), self.descent.l2)?;
            let slope: Array1<f64> = slope.values().iter().map(|&v| v as f64 * units.0 / start.rows).collect();
            let direction = curvature.solve(&(slope + self.descent.penalty(&weights)));
            weights.scaled_add(-self.descent.learning_rate, &direction);
            weights = ball.project(&rows, weights);
            average.add(step, &weights);
            records.push(Record { planned: gradient.clone(), unit: units.0 });
            records.push(Record { planned: hessian.clone(), unit: units.1 });
        }
        let weights = average.finish(weights);
        if !weights.iter().all(|w| w.is_finite()) {
            return Err(Error::numerical("training", "the iterates diverged; use a smaller learning rate"));
        }
        Ok(Fitted { weights: weights.to_vec(), standard_errors: None, records, settings: self.settings() })
    }
}
