//! # `newton`: noise on gradient and Hessian
//!
//! A few Newton steps, each from a noised gradient and a noised Hessian.
//!
//! **What it does.** `w <- w - eta (H + ridge)^(-1) (g + lambda w)`, `g` the noised mean of clipped gradients, `H` the noised mean of `l''(t_i) x_i
//! x_i^T` over rows scaled down to the typical norm. Eigenvalues of `H` are cut at zero and raised by half of the operator norm of the noise, so that no
//! direction is trusted more than the noise allows.
//!
//! **What is released, and why the bound is exact.** A clipped sum as in [`dp-gd`](dp-gd.md), and a Gram matrix whose row multipliers follow the
//! curvature. Multipliers are never negative and at most those of [`whitened`](whitened.md), so adding a row moves the sum by at most the bound and
//! replacing one by at most `sqrt(2)` times that.
//!
//! **Cost.** `T` times two Gaussian releases; 40% of the budget for the Hessians. Each step takes two passes, one quadratic in the columns. At most 1,000
//! steps: each is two entries of the statement.
//!
//! **Settings and defaults.** `--clip` (the rule of `dp-gd`), `--steps` (6), `--learning-rate` (1), `--l2` (0), `--radius` (none), `--averaging` (the
//! last iterate).
//!
//! **Use it when** columns are few and the loss is logistic. For squared loss the Hessian is the same in every step: `boosted-adassp` pays for it once.
//!
//! **Models.** `logistic`, `linear`, `ridge`.
//!
//! **Source.** Avella-Medina, Bradshaw, Loh 2023, "Differentially private inference via noisy optimization". Both relations.

use ndarray::Array1;
use serde_json::json;

use super::description::{AUDIT_STILL, AuditRecipe, Description, Losses, Needs, Relations};
use super::step::curvature::{Curvature, RidgeRule};
use super::step::newton::NewtonSteps;
use super::{Fitted, GramPlan, Optimizer, Planned, Problem, Settings, Start, settings};
use crate::error::Fallible;
use crate::private::{LoggedRun, PrivateDataset};

/// Newton steps.
const STEPS: u64 = 6;

/// Share of the budget for the Hessians.
const HESSIAN_SHARE: f64 = 0.4;

/// Ridge over the operator norm of a Hessian's noise.
const RIDGE: f64 = 0.5;

pub(super) static DESCRIPTION: Description = Description {
    name: "newton",
    about: "Newton steps with noise on gradient and Hessian",
    releases: "T times a clipped sum and a Hessian",
    reference: "Avella-Medina, Bradshaw, Loh 2023",
    relations: Relations::Both,
    losses: Losses::Curved,
    settings: &[
        &settings::CLIP,
        &settings::STEPS,
        &settings::LEARNING_RATE,
        &settings::L2,
        &settings::RADIUS,
        &settings::AVERAGING,
    ],
    needs: Needs::NOTHING,
    plan: |problem| Ok(Box::new(Newton::plan(problem)?)),
    audit: |_| AuditRecipe {
        one_run: Some("releases a matrix, in which canaries meet"),
        ..AuditRecipe::with(Settings { steps: Some(2), ..AUDIT_STILL })
    },
};

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
    steps: NewtonSteps,
}

impl Newton {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small for the number of steps, or a setting is given that means nothing here.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        DESCRIPTION.fits(problem)?;
        let loss = DESCRIPTION.curved_loss(problem)?;
        let cure = "use fewer, or --algorithm boosted-adassp, which needs one matrix for all steps";
        let steps = NewtonSteps::count(problem, STEPS, cure)?;
        let hessian = GramPlan::hessian(problem, HESSIAN_SHARE * problem.budget.lower() / steps as f64)?;
        let steps = NewtonSteps::plan(problem, loss, steps, &hessian.release.rho())?;
        Ok(Newton { hessian, steps })
    }
}

impl Optimizer for Newton {
    fn planned(&self) -> Vec<Planned> {
        self.steps.planned(&self.hessian.release.planned())
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let (loss, descent, row_norm) = (self.steps.loss, &self.steps.descent, self.hessian.row_norm());
        let scale = loss.smoothness() * row_norm * row_norm / start.rows;
        let sigma = scale / self.hessian.mu();
        let mut fitted = self.steps.run(row_norm, (data, start), run, &mut |slope, run| {
            let bend = self.hessian.run_hessian(data, loss, slope.weights, run)?;
            let curvature = Curvature::new(bend * scale, sigma, RidgeRule::OperatorNorm(RIDGE), descent.l2)?;
            let values = slope.released.values().iter();
            let mean: Array1<f64> = values.map(|&v| v as f64 * slope.grid_step / start.rows).collect();
            Ok(curvature.solve(&(mean + descent.penalty(slope.weights))))
        })?;
        fitted.settings.insert("ridge_over_noise".into(), json!(RIDGE));
        Ok(fitted)
    }
}
