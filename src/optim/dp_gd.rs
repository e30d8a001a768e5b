//! Full-batch differentially private gradient descent on standardised features, without a map.

use super::description::{AUDIT_STILL, AuditRecipe, Description, Losses, Needs, Relations};
use super::{
    Averaging, ClipRule, ClippedPlan, Descent, Fitted, Optimizer, Planned, Problem, Settings, Start, settings,
};
use crate::error::Fallible;
use crate::private::{LoggedRun, PrivateDataset};

/// Gradient steps.
const STEPS: u64 = 100;

/// Weight of the previous direction.
const MOMENTUM: f64 = 0.9;

pub(super) static DESCRIPTION: Description = Description {
    name: "dp-gd",
    about: "Full-batch DP gradient descent on privately standardised features",
    releases: "T clipped sums",
    reference: "Bassily, Smith, Thakurta 2014",
    relations: Relations::Both,
    losses: Losses::Any,
    settings: settings::OF_DESCENT,
    needs: Needs::NOTHING,
    plan: |problem| Ok(Box::new(DpGd::plan(problem)?)),
    audit: |_| {
        // The last iterate alone shows as much as all releases together.
        let last = Settings { averaging: Some(Averaging::Last), momentum: Some(0.0), ..AUDIT_STILL };
        AuditRecipe::with(last)
    },
};

/// DP-GD with momentum on rows whose features are standardised.
///
/// Clip norm `R clamp(k nu^(-0.3), least, most)` with `R` the typical norm of a row and `nu = R sqrt(d) / (n mu)`, and
/// step size `c / R^2`; the constants were measured on four data sets, see the project's design page.
///
/// # Privacy
/// One Gaussian release of a clipped sum per step, both adjacencies.
#[derive(Clone, Debug, PartialEq)]
pub struct DpGd {
    gradient: ClippedPlan,
    clip: ClipRule,
    descent: Descent,
    row_norm: f64,
}

impl DpGd {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small for the number of steps.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        DESCRIPTION.fits(problem)?;
        let Settings { steps, learning_rate, momentum, l1, l2, radius, averaging, .. } = *problem.settings;
        let square = problem.typical_square();
        let descent = Descent {
            loss: problem.loss,
            steps: steps.unwrap_or(STEPS),
            learning_rate: learning_rate.unwrap_or(problem.loss.tuning().step / square),
            momentum: momentum.unwrap_or(MOMENTUM),
            l1,
            l2: l2.unwrap_or(0.0),
            radius,
            averaging: averaging.unwrap_or(Averaging::Tail),
        };
        Self::with(problem, descent, ClipRule::of(problem))
    }

    /// Plans given steps and a given rule for the clip.
    pub(super) fn with(problem: &Problem<'_>, descent: Descent, clip: ClipRule) -> Fallible<Self> {
        let gradient = ClippedPlan::of(problem, &problem.budget, descent.steps)?;
        Ok(DpGd { gradient, clip, descent, row_norm: problem.typical_square().sqrt() })
    }

    /// The clip norm for a number of rows that is public or was released.
    pub fn clip_norm(&self, dimension: usize, start: &Start) -> f64 {
        self.clip.clip_norm(self.row_norm, dimension as f64, start, self.gradient.signal())
    }
}

impl Optimizer for DpGd {
    fn planned(&self) -> Vec<Planned> {
        vec![self.gradient.release.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let outputs = self.descent.loss.outputs();
        let clip_norm = self.clip_norm(data.shape().dimension() * outputs, start);
        let rows = data.clipped(self.gradient.bound)?;
        let weights = self.descent.run(&rows, &self.gradient.release.planned(), clip_norm, start, run)?;
        Ok(Fitted::of(weights).stating(self.descent.settings()))
    }
}
