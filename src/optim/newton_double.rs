//! # `newton-double-noise`: noise on the gradient and on the direction
//!
//! Newton steps that release no matrix: first the gradient, then the direction that the exact Hessian turns it into.
//!
//! **What it does.** In each step release the noised gradient sum `g`; then, for that public `g`, the noised direction `(A + r)^(-1) g`, `A` the sum of
//! `l''(t_i) x_i x_i^T` over rows cut to the typical norm, which stays secret. The ridge `r = b sqrt(n / (0.1 mu_t sqrt(d)))` makes the noise of a
//! direction a tenth of `|g|` over the mean eigenvalue; `b` is the largest curvature of one row and `mu_t` the sensitivity of one direction over its
//! noise.
//!
//! **What is released, and why the bound is exact.** A clipped sum as in [`dp-gd`](dp-gd.md), and a direction. With `A >= r` and a row's part of norm at
//! most `b`, `(A + b u u^T)^(-1) g - A^(-1) g` is at most `|g| b / (r (r + b))` long. `g` is public, so an integer scale makes that the planned sensitivity.
//! The integers that are released lie within 2^16 grid steps of the exact direction: a floating-point solution is corrected until its exact integer
//! residual proves it, else the system is solved by fraction-free elimination. That slack is part of the sensitivity.
//!
//! **Cost.** `T` times two Gaussian releases, half of the budget for the directions. The noise of a direction shrinks with the gradient.
//!
//! **Settings and defaults.** `--clip` (the rule of `dp-gd`), `--steps` (12), `--learning-rate` (1), `--radius` (none), `--averaging` (the last iterate).
//! `--l2` is refused: the ridge plays its part.
//!
//! **Use it when** you compare second-order methods. `newton` or `boosted-adassp` is at least as good on the data sets measured. Its constants were
//! picked among six to eleven settings by the Adult and California figures.
//!
//! **Models.** `logistic` and `linear`; `ridge` asks for an l2 penalty, which is refused here.
//!
//! **Source.** Ganesh, Haghifam, Steinke, Thakurta 2023, "Faster differentially private convex optimization via second-order methods". Both relations.

use serde_json::json;

use super::description::{AUDIT_STILL, AuditRecipe, Description, Losses, Needs, Relations};
use super::step::newton::NewtonSteps;
use super::{Fineness, Fitted, GaussianRelease, GaussianRule, Optimizer, Planned, Problem, Settings, Start, settings};
use crate::error::{Error, Fallible};
use crate::grid::{GRAM_MULTIPLIER, gram_one};
use crate::privacy::Rho;
use crate::private::{DirectionInputs, LoggedRun, PrivateDataset, Query, query};

/// Newton steps.
const STEPS: u64 = 12;

/// Share of the budget for the directions.
const DIRECTION_SHARE: f64 = 0.5;

/// Length of a direction's noise over the gradient divided by the mean eigenvalue.
const NOISE: f64 = 0.1;

/// Size of the grid on which directions are released: their sensitivity is near `2^40` grid steps.
const TARGET: f64 = (1u64 << 40) as f64;

/// One release of a direction at a cost of at most `rho`, and its sensitivity.
fn directions(problem: &Problem<'_>, rho: f64) -> Fallible<(GaussianRelease, u64)> {
    let Problem { adjacency, noise, .. } = *problem;
    let query = |l2_sensitivity| Query::from(query::Direction { l2_sensitivity });
    let rule = GaussianRule { what: "Newton direction", query: &query, adjacency, noise, count: 1 };
    let factor = adjacency.sum_sensitivity(1) as f64;
    let wanted = Fineness { sensitivity: factor, target: TARGET * factor, largest: u64::MAX, slack: 1e-9 };
    let (release, l2_sensitivity) = rule.finest(&Rho::from_f64(rho)?, &wanted);
    // Coarser, and the slack of the solution would be most of what is paid for.
    if (1 << 24..1 << 52).contains(&l2_sensitivity) {
        return Ok((release, l2_sensitivity));
    }
    Err(Error::parameter(
        "budget",
        "is too small or too large for releases of directions",
        "use another epsilon or fewer --steps",
    ))
}

pub(super) static DESCRIPTION: Description = Description {
    name: "newton-double-noise",
    about: "Newton steps with noise on the gradient and on the direction",
    releases: "T times a clipped sum and a direction",
    reference: "Ganesh et al. 2023",
    relations: Relations::Both,
    losses: Losses::Curved,
    settings: &[&settings::CLIP, &settings::STEPS, &settings::LEARNING_RATE, &settings::RADIUS, &settings::AVERAGING],
    needs: Needs::NOTHING,
    plan: |problem| Ok(Box::new(NewtonDoubleNoise::plan(problem)?)),
    audit: |_| AuditRecipe {
        // Without other rows the Hessian is the ridge, where one row more bends it most; a direction shows most with one
        // coefficient.
        pairs: 0,
        alone: true,
        one_run: Some("releases a matrix, in which canaries meet"),
        ..AuditRecipe::with(Settings { steps: Some(2), ..AUDIT_STILL })
    },
};

/// Newton's method with double noise: first the gradient `g` is released, then the direction `(H + r)^(-1) g` for that `g`.
///
/// A direction moves by at most `|g| b / (r (r + b))` if a row is added, `b` the largest curvature of one row, so its noise shrinks
/// with the gradient. The ridge `r = b sqrt(n / (0.1 mu_t sqrt(d)))` makes the noise of a direction a tenth of `|g|` over the mean
/// eigenvalue `n b / d`; `mu_t` is the sensitivity of one direction over its noise.
///
/// # Privacy
/// Per step one Gaussian release of a clipped sum and one of a direction, both adjacencies, both in exact integers.
///
/// # Reference
/// Ganesh, Haghifam, Steinke, Thakurta 2023, "Faster differentially private convex optimization via second-order methods".
#[derive(Clone, Debug, PartialEq)]
pub struct NewtonDoubleNoise {
    steps: NewtonSteps,
    directions: GaussianRelease,
    /// How far a direction may move, in grid steps.
    l2_sensitivity: u64,
    /// `R^2`.
    square: f64,
    /// The integer that stands for 1.0 in the rows of a Hessian.
    one: f64,
}

impl NewtonDoubleNoise {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small for the number of steps, or a setting is given that means nothing here.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        DESCRIPTION.fits(problem)?;
        let loss = DESCRIPTION.curved_loss(problem)?;
        let steps = NewtonSteps::count(problem, STEPS, "use fewer with --algorithm newton-double-noise")?;
        let share = DIRECTION_SHARE * problem.budget.lower() / steps as f64;
        let (directions, l2_sensitivity) = directions(problem, share)?;
        let steps = NewtonSteps::plan(problem, loss, steps, &directions.rho())?;
        let (square, one) = (problem.typical_square(), f64::from(gram_one(problem.one)));
        Ok(NewtonDoubleNoise { steps, directions, l2_sensitivity, square, one })
    }

    /// Largest Frobenius norm of a row in the Hessian, in its integers.
    fn clip_steps(&self) -> f64 {
        (GRAM_MULTIPLIER as f64 * self.square * self.one * self.one).ceil()
    }

    fn ridge(&self, rows: f64, dimension: f64) -> u64 {
        let mu = self.l2_sensitivity as f64 / self.directions.scale();
        (self.clip_steps() * (rows / (NOISE * mu * dimension.sqrt())).sqrt()).clamp(1.0, 2f64.powi(60)) as u64
    }
}

impl Optimizer for NewtonDoubleNoise {
    fn planned(&self) -> Vec<Planned> {
        self.steps.planned(&self.directions.planned())
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let (loss, row_norm, l2_sensitivity) = (self.steps.loss, self.square.sqrt(), self.l2_sensitivity);
        // From the integers of the Hessian to the sum of second derivatives.
        let curvature = loss.smoothness() / (GRAM_MULTIPLIER as f64 * self.one * self.one);
        let ridge = self.ridge(start.rows, data.shape().dimension() as f64);
        let planned = self.directions.planned();
        let mut fitted = self.steps.run(row_norm, (data, start), run, &mut |slope, run| {
            let asked = DirectionInputs {
                gradient: slope.released.values(),
                clip_steps: self.clip_steps() as u64,
                ridge,
                l2_sensitivity,
            };
            let grid_step = slope.grid_step / (curvature * asked.scale()? as f64);
            let released = run.release(&planned, grid_step, || data.direction(loss, slope.weights, &asked))?;
            Ok(released.values().iter().map(|&v| v as f64 * grid_step).collect())
        })?;
        fitted.settings.insert("ridge".into(), json!(ridge as f64 * curvature / start.rows));
        Ok(fitted)
    }
}
