//! # `adassp`: least squares from noised sufficient statistics
//!
//! One noised Gram matrix, one noised `X^T y`, one linear system.
//!
//! **What it does.** `w = (X^T X + E + ridge)^(-1) (X^T y + e)` with rows scaled down to the typical norm `R` and targets cut at three deviations. The
//! ridge is `max(0, sigma R^2 sqrt(d ln(2 d^2 / 0.05)) - l)`, `l` a lower bound on the smallest eigenvalue of `X^T X`.
//!
//! For labels (`+1` and `-1`) the gradient of the logistic loss at zero is `-X^T y / 2` and its Hessian `X^T X / 4`; the result is the first Newton step
//! from zero, which is twice the least-squares solution.
//!
//! **What is released, and why the bound is exact.** The Gram matrix as in [`whitened`](whitened.md), and one clipped sum as in [`dp-gd`](dp-gd.md): `X^T
//! y` is the gradient of the squared loss at zero with the sign changed. The paper has a third release, of the smallest eigenvalue. Here `l` is read off
//! the noised matrix, whose smallest eigenvalue less `sigma (sqrt(2 d) + sqrt(2 ln 20))` bounds it with probability 0.95 over the noise: post-processing,
//! and no eigenvalue of private numbers is ever released.
//!
//! **Cost.** Two Gaussian releases, half of the budget each. Two passes over the rows.
//!
//! **Settings and defaults.** `--clip` (`R` times the largest slope at zero: 1/2 for labels, the cut target for numbers), `--l2` (0, added to the
//! matrix), `--radius` (none).
//!
//! **Use it when** targets are heavy-tailed: it cuts targets, not residuals, and so is the best on `randhie` at every epsilon. At small budgets its ridge
//! costs accuracy elsewhere.
//!
//! **Models.** `logistic`, `linear`, `ridge`.
//!
//! **Source.** Wang 2018, "Revisiting differentially private linear regression". Both relations.

use serde_json::json;

use super::description::{AUDIT_CLIP, AuditRecipe, Description, Losses, Needs, Relations};
use super::step::curvature::{Curvature, RidgeRule};
use super::step::descent::Pass;
use super::{Averaging, ClippedPlan, Descent, Fitted, GramPlan, Optimizer, Planned, Problem, Start, settings};
use crate::error::Fallible;
use crate::grid::FULL_SCALE;
use crate::loss::Curved;
use crate::private::{LoggedRun, PrivateDataset};

/// Share of the budget for the Gram matrix.
const GRAM_SHARE: f64 = 0.5;

/// Deviations at which a standardised target is cut inside `X^T y`.
const TARGET_LIMIT: f64 = 3.0;

pub(super) static DESCRIPTION: Description = Description {
    name: "adassp",
    about: "Least squares from a noised Gram matrix and a noised X^T y (AdaSSP)",
    releases: "Gram matrix, `X^T y`",
    reference: "Wang 2018",
    relations: Relations::Both,
    losses: Losses::Curved,
    settings: &[&settings::CLIP, &settings::L2, &settings::RADIUS],
    needs: Needs::NOTHING,
    plan: |problem| Ok(Box::new(AdaSsp::plan(problem)?)),
    audit: |_| AuditRecipe {
        one_run: Some("releases a matrix, in which canaries meet"),
        ..AuditRecipe::with(AUDIT_CLIP)
    },
};

/// AdaSSP: `w = (X^T X + E + ridge)^(-1) (X^T y + e)`.
///
/// Rows are scaled down to the typical norm `R`; `X^T y` is the gradient of the squared loss at zero with the sign
/// changed, so a row's part is its label times the row, clipped to `R B`. The ridge is
/// `max(0, sigma R^2 sqrt(d ln(2 d^2 / 0.05)) - l)` with `l` a lower bound on the smallest eigenvalue of `X^T X` read off the
/// noised matrix, so two releases do and each gets half of the budget instead of a third.
///
/// For logistic models the labels are `+1` and `-1`: the gradient of the logistic loss at zero is `-X^T y / 2`, its
/// Hessian `X^T X / 4`, so the result is the first Newton step from zero, which is twice the least-squares solution.
///
/// # Privacy
/// One Gaussian release of the Gram matrix and one of a clipped sum, both adjacencies.
///
/// # Reference
/// Wang 2018, "Revisiting differentially private linear regression".
#[derive(Clone, Debug, PartialEq)]
pub struct AdaSsp {
    statistics: GramSteps,
    clip: Option<f64>,
}

impl AdaSsp {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small, or a setting is given that the algorithm has no use for.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        let clip = problem.settings.clip;
        DESCRIPTION.fits(problem)?;
        let loss = DESCRIPTION.curved_loss(problem)?;
        let descent = Descent::of(problem, 1, 1.0, 0.0, Averaging::Last);
        let statistics = GramSteps::plan(problem, loss, GRAM_SHARE, descent, RidgeRule::Adaptive)?;
        Ok(AdaSsp { statistics, clip })
    }
}

impl Optimizer for AdaSsp {
    fn planned(&self) -> Vec<Planned> {
        self.statistics.planned()
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        // The largest slope at zero: half for a label of +-1, the cut label for a number.
        let largest = match self.statistics.loss {
            Curved::Logistic => 0.5,
            Curved::Squared => (start.label_scale * f64::from(FULL_SCALE)).min(TARGET_LIMIT),
        };
        let clip_norm = self.clip.unwrap_or(self.statistics.gram.row_norm() * largest);
        self.statistics.run(clip_norm, data, start, run)
    }
}

/// One release of the Gram matrix, then steps `w <- w - eta (c X^T X + ridge)^(-1) g` with the same matrix, `c` the largest
/// curvature of the loss.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GramSteps {
    pub(super) gram: GramPlan,
    pub(super) gradient: ClippedPlan,
    loss: Curved,
    descent: Descent,
    ridge: RidgeRule,
}

impl GramSteps {
    /// Gives `share` of the budget to the Gram matrix and the rest to the steps.
    pub(super) fn plan(
        problem: &Problem<'_>,
        loss: Curved,
        share: f64,
        descent: Descent,
        ridge: RidgeRule,
    ) -> Fallible<Self> {
        // The matrix and the sums must cut rows alike, so an exact public block, of rows that are not cut, does not fit in.
        let gram = GramPlan::new(&Problem { public: None, ..problem.clone() }, share * problem.budget.lower())?;
        let left = problem.budget.minus(&gram.release.rho());
        let gradient = ClippedPlan::of(problem, &left, descent.steps)?;
        Ok(GramSteps { gram, gradient, loss, descent, ridge })
    }

    pub(super) fn planned(&self) -> Vec<Planned> {
        vec![self.gram.release.planned(), self.gradient.release.planned()]
    }

    pub(super) fn run(
        &self,
        clip_norm: f64,
        data: &PrivateDataset,
        start: &Start<'_>,
        run: &mut LoggedRun<'_>,
    ) -> Fallible<Fitted> {
        let sum = self.gram.run(data, run)?;
        // From rows of norm 1 to the Hessian of the mean loss in the units of the rows.
        let scale = self.loss.smoothness() * self.gram.row_norm().powi(2) / start.rows;
        let curvature = Curvature::new(sum * scale, scale / self.gram.mu(), self.ridge, self.descent.l2)?;
        let rows = data.clipped(self.gradient.clip_steps)?;
        let pass = Pass { planned: &self.gradient.release.planned(), clip_norm, metric: Some(&curvature) };
        let weights = self.descent.run_with(&rows, &pass, start, run)?;
        Ok(Fitted::of(weights).stating(self.descent.settings()).stating([("ridge", json!(curvature.ridge))]))
    }
}
