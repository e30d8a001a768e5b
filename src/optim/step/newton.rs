//! What private Newton methods share: per step a clipped gradient sum and a second release that turns it into a direction.

use ndarray::Array1;

use super::descent::Average;
use super::penalty::Penalties;
use crate::error::{Error, Fallible};
use crate::loss::Curved;
use crate::optim::{Averaging, ClipRule, ClippedPlan, Descent, Fitted, Planned, Problem, Start};
use crate::privacy::Rho;
use crate::private::{Gradient, LoggedRun, PrivateDataset, Released};

/// Most steps: each is two entries of the statement.
const MAX_STEPS: u64 = 1000;

/// A noised gradient, what one grid step of it stands for, and where it was taken.
pub(in crate::optim) struct Slope<'a> {
    pub released: &'a Released,
    pub grid_step: f64,
    pub weights: &'a Array1<f64>,
}

/// Steps `w <- w - eta v` with `v` from a noised gradient at `w` and a second release.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::optim) struct NewtonSteps {
    gradient: ClippedPlan,
    clip: ClipRule,
    pub(in crate::optim) loss: Curved,
    pub(in crate::optim) descent: Descent,
}

impl NewtonSteps {
    /// The number of steps of a request; `cure` says what to do instead of too many.
    pub(in crate::optim) fn count(problem: &Problem<'_>, default: u64, cure: &str) -> Fallible<u64> {
        let steps = problem.settings.steps.unwrap_or(default);
        if steps > MAX_STEPS {
            let problem = format!("is {steps}, must be at most {MAX_STEPS}");
            return Err(Error::parameter("--steps", problem, cure));
        }
        Ok(steps)
    }

    /// Gives the gradients what `steps` second releases of cost `second` leave of the budget.
    pub(in crate::optim) fn plan(problem: &Problem<'_>, loss: Curved, steps: u64, second: &Rho) -> Fallible<Self> {
        let left = (0..steps).fold(problem.budget.clone(), |left, _| left.minus(second));
        let descent = Descent::of(problem, steps, 1.0, 0.0, Averaging::Last);
        let gradient = ClippedPlan::of(problem, &left, steps)?;
        Ok(NewtonSteps { gradient, clip: ClipRule::of(problem), loss, descent })
    }

    /// One gradient, which is one event of its own because another release follows it.
    fn planned_gradient(&self) -> Planned {
        let Planned { charge, query } = self.gradient.release.planned();
        Planned { charge: charge.single(), query }
    }

    /// The releases of all steps.
    pub(in crate::optim) fn planned(&self, second: &Planned) -> Vec<Planned> {
        (0..self.descent.steps).flat_map(|_| [self.planned_gradient(), second.clone()]).collect()
    }

    /// Makes all releases, the second of each step by `turn`, which returns its direction in the units of the weights;
    /// `row_norm` is the typical norm of a row.
    pub(in crate::optim) fn run(
        &self,
        row_norm: f64,
        (data, start): (&PrivateDataset, &Start),
        run: &mut LoggedRun<'_>,
        turn: &mut dyn FnMut(&Slope<'_>, &mut LoggedRun<'_>) -> Fallible<Array1<f64>>,
    ) -> Fallible<Fitted> {
        let (clip_steps, dimension) = (self.gradient.clip_steps, data.shape().dimension());
        let clip_norm = self.clip.clip_norm(row_norm, dimension as f64, start, self.gradient.mu());
        let rows = data.clipped(clip_steps)?;
        let ball = Penalties::new(&rows, 0.0, 0.0, self.descent.radius)?;
        let (planned, grid_step) = (self.planned_gradient(), clip_norm / clip_steps as f64);
        let mut weights = Array1::<f64>::zeros(dimension);
        let mut average = Average::new(self.descent.averaging, self.descent.steps, dimension);
        average.add(0, &weights);
        for step in 1..=self.descent.steps {
            let (loss, label_scale) = (self.loss.into(), start.label_scale);
            let asked = Gradient { loss, weights: &weights, label_scale, clip_norm };
            let slope = run.release(&planned, grid_step, || rows.gradient_sum(&asked))?;
            let direction = turn(&Slope { released: &slope, grid_step, weights: &weights }, run)?;
            weights.scaled_add(-self.descent.learning_rate, &direction);
            weights = ball.project(&rows, weights);
            average.add(step, &weights);
        }
        let weights = average.finish(weights);
        if !weights.iter().all(|w| w.is_finite()) {
            return Err(Error::numerical("training", "the iterates diverged; use a smaller learning rate"));
        }
        Ok(Fitted::of(weights.to_vec()).stating(self.descent.settings()))
    }
}
