//! # `dp-gd`: full-batch noisy gradient descent
//!
//! Noisy gradient descent with momentum on privately standardised features. Every step sums the clipped gradients of all rows.
//!
//! **What it does.** `g_t` is the noised sum of clipped gradients at `w_t` over the number of rows.
//!
//! ```text
//! v_t = momentum v_(t-1) + g_t
//! w_t = project(shrink(w_(t-1) - eta v_t))
//! ```
//!
//! `shrink` is the proximal map of the penalties, `sign(z) max(|z| - eta l1, 0) / (1 + eta l2)`; `project` keeps the iterate in the ball of `--radius`.
//! Both act on noised values and cost nothing; intercepts are exempt from penalties. Where `shrink` moves a point, `v` becomes the step that was really
//! made (Ochs, Chen, Brox, Pock 2014). With `--l1` the points before shrinking are averaged and their mean is shrunk once, for a mean of iterates would
//! be zero only where all of them are.
//!
//! **What is released, and why the bound is exact.** One clipped sum a step. A row's gradient is a scalar times the row; in integers it is `m_i q_i` with
//! `|m_i| <= cap_i` and `cap_i^2 |q_i|^2 <= clip_steps^2` checked in 128 bits, `clip_steps` the clip norm in grid steps. The sum is exact, so its l2
//! sensitivity is `clip_steps` under add-remove and twice that under replace-one, whatever floating point did to the multiplier. With several labels the multipliers of a row are clipped together.
//!
//! **Cost.** `T` equal Gaussian releases: exactly one Gaussian mechanism with `mu^2 = T (sensitivity / scale)^2`. One pass over the rows a step, at about
//! the speed of reading them.
//!
//! **Settings and defaults.** `--clip` (`R clamp(k nu^-0.3, least, most)`, `R^2` the number of features and one, `nu = R sqrt(d) / (n mu)`: the smaller
//! the noise, the looser the clip), `--steps` (100), `--learning-rate` (a constant of the loss over `R^2`), `--momentum` (0.9), `--l1` (0), `--l2` (0),
//! `--radius` (none), `--averaging` (the mean of the second half). [defaults.md](../defaults.md) has the constants and what changes when they do.
//!
//! **Use it when** there are more than a thousand columns, `--l1` is wanted, or a plain reference is. Works streamed and on a cluster.
//!
//! **Source.** Bassily, Smith, Thakurta 2014; Song, Chaudhuri, Sarwate 2013. Both relations.

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
        let length = problem.loss.tuning().step / problem.typical_square();
        let descent = Descent::of(problem, STEPS, length, MOMENTUM, Averaging::Tail);
        Self::with(problem, descent, ClipRule::of(problem))
    }

    /// Plans given steps and a given rule for the clip.
    pub(super) fn with(problem: &Problem<'_>, descent: Descent, clip: ClipRule) -> Fallible<Self> {
        let gradient = ClippedPlan::of(problem, &problem.budget, descent.steps)?;
        Ok(DpGd { gradient, clip, descent, row_norm: problem.typical_square().sqrt() })
    }

    /// The clip norm for a number of rows that is public or was released.
    pub fn clip_norm(&self, dimension: usize, start: &Start) -> f64 {
        self.clip.clip_norm(self.row_norm, dimension as f64, start, self.gradient.mu())
    }
}

impl Optimizer for DpGd {
    fn planned(&self) -> Vec<Planned> {
        vec![self.gradient.release.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let outputs = self.descent.loss.outputs();
        let clip_norm = self.clip_norm(data.shape().dimension() * outputs, start);
        let rows = data.clipped(self.gradient.clip_steps)?;
        let weights = self.descent.run(&rows, &self.gradient.release.planned(), clip_norm, start, run)?;
        Ok(Fitted::of(weights).stating(self.descent.settings()))
    }
}
