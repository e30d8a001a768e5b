//! # `frank-wolfe`: steps towards vertices, for many columns
//!
//! Conditional gradient over the l1 ball. The number of coefficients enters the error by its logarithm only.
//!
//! **What it does.** `w <- (1 - g_t) w + g_t v_t`, `g_t = 2 / (t + 2)`; each vertex `v_t` of the l1 ball of radius `r` is chosen by the exponential
//! mechanism among all `2 d`. The score of a vertex is the slope of the clipped loss towards it. The error is about `r^2 / T` from the steps and `r
//! sqrt(T / (8 rho)) ln(2 d) / n` from the choices; `T = (r n sqrt(8 rho) / (2 ln 2d))^(2/3)`, at most 400, balances them. With a private number of rows
//! `T` is 100.
//!
//! **What is released, and why the bound is exact.** One index a step. A row moves each score by at most its integer multiplier times the largest entry
//! of a row, both capped in integers; choices are sampled exactly, as in [`exponential-mechanism`](exponential-mechanism.md).
//!
//! **Cost.** `T` choices of bounded range, `epsilon^2 / 8` each in zCDP. With `--epsilon` and at most 16 choices, the largest epsilon of each that a certified bound on all of them allows, if that is more.
//!
//! **Settings and defaults.** `--clip` (1, where slopes are cut), `--steps` (by the formula), `--radius` (10). Adult, accuracy at epsilon 0.1 / 1 / 8:
//! radius 10 0.804 / 0.840 / 0.843, radius 5 0.794 / 0.834 / 0.835, radius 20 0.826 / 0.838 / 0.837.
//!
//! **Use it when** there are many columns, of which few matter, and the sum of absolute coefficients is known to be small. `multinomial` is refused: it
//! has several margins.
//!
//! **Source.** Talwar, Thakurta, Zhang 2015, Algorithm 2, with exactly sampled choices in the place of Laplace noise. Both relations.

use ndarray::Array1;
use serde_json::json;

use super::description::{AUDIT_CLIP, AuditRecipe, Description, Losses, Needs, Relations};
use super::release::selected::{Choice, ChoicePlan};
use super::{Fitted, Optimizer, Planned, Problem, Settings, Start, settings};
use crate::error::Fallible;
use crate::grid::{FULL_SCALE, MAX_MULTIPLIER};
use crate::loss::Glm;
use crate::private::{Gradient, LoggedRun, PrivateDataset, query};

/// Radius of the l1 ball.
const RADIUS: f64 = 10.0;

/// Steps where no number of rows is public, and the most that the rule gives.
const STEPS: u64 = 100;
const MAX_STEPS: f64 = 400.0;

pub(super) static DESCRIPTION: Description = Description {
    name: "frank-wolfe",
    about: "Frank-Wolfe steps over the l1 ball, for many columns",
    releases: "T choices of a vertex",
    reference: "Talwar, Thakurta, Zhang 2015",
    relations: Relations::Both,
    losses: Losses::OneMargin,
    settings: &[&settings::CLIP, &settings::STEPS, &settings::RADIUS],
    needs: Needs::NOTHING,
    plan: |problem| Ok(Box::new(FrankWolfe::plan(problem)?)),
    audit: |_| AuditRecipe {
        one_run: Some("releases choices, which are no sums over canaries"),
        ..AuditRecipe::with(Settings { radius: Some(1e-6), steps: Some(1), ..AUDIT_CLIP })
    },
};

/// Frank-Wolfe steps `w <- (1 - g_t) w + g_t v_t`, `g_t = 2 / (t + 2)`, each vertex `v_t` of the l1 ball of radius `r`
/// chosen by the exponential mechanism among all `2 d`.
///
/// The score of a vertex is the slope of the clipped loss towards it. The error is about `r^2 / T` from the steps and
/// `r sqrt(T / (8 rho)) ln(2 d) / n` from the choices; `T = (r n sqrt(8 rho) / (2 ln 2d))^(2/3)`, at most 400, balances
/// them, so `d` enters by its logarithm only. With a private number of rows `T` is 100.
///
/// # Requirements on the problem
/// A convex smooth loss of one margin and no penalty; slopes are cut at `--clip`.
///
/// # Privacy
/// `T` choices of epsilon-bounded range, both adjacencies.
///
/// # Reference
/// Talwar, Thakurta and Zhang 2015, Algorithm 2, with exactly sampled choices in the place of Laplace noise.
#[derive(Clone, Debug, PartialEq)]
pub struct FrankWolfe {
    choice: ChoicePlan,
    loss: Glm,
    radius: f64,
    clip: f64,
}

impl FrankWolfe {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small for the number of steps.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        DESCRIPTION.fits(problem)?;
        let loss = DESCRIPTION.margin_loss(problem)?;
        let radius = problem.settings.radius.unwrap_or(RADIUS);
        let vertices = 2 * problem.dimension() as u64;
        let by_rule = |rows: u64| {
            let epsilon_rows = (8.0 * problem.budget.lower()).sqrt() * rows.max(1) as f64;
            (radius * epsilon_rows / (2.0 * (vertices as f64).ln())).powf(2.0 / 3.0).clamp(1.0, MAX_STEPS).floor()
                as u64
        };
        let choice = Choice {
            what: "vertex of the l1 ball",
            adjacency: problem.adjacency,
            count: problem.settings.steps.unwrap_or_else(|| problem.rows.map_or(STEPS, by_rule)),
            largest: MAX_MULTIPLIER as u64,
            query: |steps, candidates| query::Vertices { clip_steps: steps * FULL_SCALE as u64, candidates }.into(),
            candidates: vertices,
        };
        let clip = problem.settings.clip.unwrap_or(1.0);
        Ok(FrankWolfe { choice: choice.plan(problem)?, loss, radius, clip })
    }
}

impl Optimizer for FrankWolfe {
    fn planned(&self) -> Vec<Planned> {
        vec![self.choice.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let dimension = data.shape().dimension();
        let grid_step = self.clip / (self.choice.steps as f64 * f64::from(data.one()));
        let most = self.choice.steps.min(MAX_MULTIPLIER as u64) as i16;
        let planned = self.choice.planned();
        let mut weights = Array1::<f64>::zeros(dimension);
        for step in 0..self.choice.event.count {
            let gradient = Gradient {
                loss: self.loss.into(),
                weights: &weights,
                label_scale: start.label_scale,
                clip_norm: self.clip,
            };
            let released = run.choose(&planned, grid_step, || data.vertices(&gradient, most))?;
            let chosen = released.values().first().and_then(|&index| usize::try_from(index).ok()).unwrap_or(0);
            let length = 2.0 / (step as f64 + 2.0);
            weights *= 1.0 - length;
            // The first half of the scores are slopes along the axes, the second half along their negatives.
            let sign = if chosen < dimension { 1.0 } else { -1.0 };
            weights[chosen % dimension] += sign * length * self.radius;
        }
        let settings = [("radius", json!(self.radius)), ("slope_clip", json!(self.clip))];
        Ok(Fitted::of(weights.to_vec()).stating(settings))
    }
}
