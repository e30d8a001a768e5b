//! # `output-perturbation`: solve, then add noise
//!
//! The exact minimiser of a regularised loss, with Gaussian noise: the oldest private algorithm for empirical risk minimisation.
//!
//! **What it does.** Minimises `sum_i l(w.x_i, y_i) + Lambda/2 |w|^2` over rows shrunk to norm `B`, and releases the answer with noise. `Lambda = 0.3 (n
//! B^4 / mu^2)^(1/3)`, to a factor of two, balances the loss from noise, of order `n B^4 / (Lambda mu)^2`, and that from the penalty; `n` is public or
//! was released.
//!
//! **What is released, and why the bound is exact.** The loss has slopes in `[-1, 1]` (logistic, or Huber's in the place of the square) and the sum is
//! not divided by a row count, so a row moves the exact minimiser by at most `B / Lambda`, twice that under replace-one. Rows are shrunk by the verified
//! integer multipliers of a clip. The answer is *certified*: points are integers; margins are exact; slopes come in fixed point with a proved error of
//! 2^-58; the gradient is their exact sum. An answer counts only if the gradient plus all errors is below `Lambda tau`, then it is within `tau` of the
//! exact minimiser, and `2 tau` and half a grid step per coordinate and answer enter the sensitivity. Floats only propose points.
//!
//! The solver always ends: a Newton step is kept if it shrinks the gradient by a fixed factor, else a gradient step of length `1/M` shrinks it by `1 -
//! mu/M`. `tau` is 2^-20 of what a row can move, far above the error on 2^36 rows, so no data can make the certificate fail.
//!
//! **Cost.** One Gaussian release. Many passes over the rows, which must be in memory.
//!
//! **Settings and defaults.** `--clip` gives `B` (half the typical norm for labels, 1.5 times it for numbers: shrinking a row keeps the sign of its
//! margin, which is all that a label needs), `--l2` gives `Lambda / n`. More than 2,048 coefficients are refused. There are no steps to choose.
//!
//! **Use it when** you compare with the literature. Its noise does not depend on the data's curvature, which makes it the weakest at small budgets, above
//! all for numbers.
//!
//! **Models.** `logistic`, `linear`, `ridge`.
//!
//! **Source.** Chaudhuri, Monteleoni, Sarwate 2011, Algorithm 1, with Gaussian noise. Both relations.

use serde_json::json;

use super::description::{AuditRecipe, Description, Losses, Needs, Relations};
use super::{Fitted, GaussianRelease, GaussianRule, Optimizer, Planned, Problem, Settings, Start, settings};
use crate::error::{Error, Fallible};
use crate::grid::MAX_MULTIPLIER;
use crate::loss::BoundedLoss;
use crate::private::{
    Curvature, LOG2_REGULARIZATION, LoggedRun, MAX_SOLVED, Minimization, PrivateDataset, Query, query,
};

/// The noise has scale `2^36` grid steps, so that rounding the answer to whole steps is nothing beside it.
const LOG2_SCALE: u32 = 36;

/// Share of a row's movement that the solver may be away from the exact minimiser: `2^-20`.
const LOG2_ACCURACY: u32 = 20;

/// Factor of the rule for the penalty.
const PENALTY: f64 = 0.3;

pub(super) static DESCRIPTION: Description = Description {
    name: "output-perturbation",
    about: "The minimiser of a regularised loss, with noise added",
    releases: "minimiser",
    reference: "Chaudhuri, Monteleoni, Sarwate 2011",
    relations: Relations::Both,
    losses: Losses::Bounded,
    settings: &[&settings::CLIP, &settings::L2],
    needs: Needs { coefficients: Some(MAX_SOLVED), no_steps: true, ..Needs::ROWS },
    plan: |problem| Ok(Box::new(OutputPerturbation::plan(problem)?)),
    audit: |adjacency| AuditRecipe {
        // Lines that are no record make the public count large, so that the released moments are sharp.
        null: if adjacency.row_count_is_public() { 300 } else { 0 },
        raw: false,
        numbers: true,
        one_run: Some("releases a minimiser, which is no sum over canaries"),
        ..AuditRecipe::with(Settings { clip: Some(1.0), l2: Some(1e-3), ..Settings::NONE })
    },
};

/// The minimiser of `sum_i l(w.x_i, y_i) + Lambda/2 |w|^2` over rows shrunk to norm `B`, plus Gaussian noise.
///
/// The minimiser moves by `B / Lambda` per row. `Lambda = c (n B^4 / mu^2)^(1/3)` balances the loss from noise, of order
/// `n B^4 / (Lambda mu)^2`, and that from the penalty, of order `Lambda`; `n` is public or was released, and `Lambda` is
/// rounded to the scale of the grid, a factor of two. `--l2` gives `Lambda / n` instead and `--clip` gives `B`.
///
/// # Requirements on the problem
/// A convex loss with slopes in `[-1, 1]`: logistic, or Huber's loss in the place of the square.
///
/// # Privacy
/// One Gaussian release; both adjacencies. The sensitivity covers the solver's tolerance and the rounding.
///
/// # Reference
/// Chaudhuri, Monteleoni and Sarwate 2011, Algorithm 1, with Gaussian noise.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPerturbation {
    loss: BoundedLoss,
    curvature: Curvature,
    release: GaussianRelease,
    row_norm: f64,
    /// mu of the release relative to one row.
    mu: f64,
    l2: f64,
}

impl OutputPerturbation {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When there are too many coefficients, the budget is too small, or `--clip` is no use.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        DESCRIPTION.fits(problem)?;
        let loss = DESCRIPTION.bounded_loss(problem)?;
        let dimension = problem.dimension();
        let row_norm = row_norm(loss, problem);
        let row_bound = row_bound(row_norm, problem.one)?;
        let mu = (2.0 * problem.budget.lower()).sqrt();
        let max_sensitivity = mu * 2f64.powi(LOG2_SCALE as i32);
        let factor = problem.adjacency.sum_sensitivity(1) as f64;
        let mut movement = (max_sensitivity / (factor + 2f64.powi(1 - LOG2_ACCURACY as i32))).floor();
        loop {
            let curvature = curvature(row_bound, movement);
            let query = |_| Query::from(query::Minimizer { curvature, dimension });
            let (what, adjacency, noise) = ("minimiser of the regularised loss", problem.adjacency, problem.noise);
            let rule = GaussianRule { what, query: &query, adjacency, noise, count: 1 };
            let plan = OutputPerturbation {
                loss,
                curvature,
                release: rule.at(0, LOG2_SCALE),
                row_norm: row_bound as f64 / (f64::from(problem.one) * f64::from(MAX_MULTIPLIER)),
                mu: mu / factor,
                l2: problem.settings.l2.unwrap_or(0.0),
            };
            if movement.is_nan() || movement < 2f64.powi(24) || plan.curvature.check().is_err() {
                return Err(too_small());
            }
            // The float above only proposes; the exact cost decides.
            if plan.release.rho() <= problem.budget {
                return Ok(plan);
            }
            movement = (movement * (1.0 - 1e-7)).floor() - dimension as f64;
        }
    }

    /// `Lambda`, before it is rounded to the grid.
    fn penalty(&self, rows: f64) -> f64 {
        if self.l2 > 0.0 {
            return self.l2 * rows;
        }
        PENALTY * (rows * self.row_norm.powi(4) / (self.mu * self.mu)).cbrt()
    }
}

/// `--clip`, or the longest row by rule: a multiple of the typical norm.
///
/// Shrinking a row leaves the sign of its margin, which is all a label needs, but not the value that a target needs.
pub(super) fn row_norm(loss: BoundedLoss, problem: &Problem<'_>) -> f64 {
    let factor = match loss {
        BoundedLoss::Logistic => 0.5,
        BoundedLoss::Huber => 1.5,
    };
    problem.settings.clip.unwrap_or(factor * problem.typical_square().sqrt())
}

/// The largest row in grid steps, where [`MAX_MULTIPLIER`] leaves a row as it is.
pub(super) fn row_bound(norm: f64, one: i16) -> Fallible<u64> {
    let bound = (norm * f64::from(one) * f64::from(MAX_MULTIPLIER)).floor();
    if (65_536.0..=2f64.powi(32)).contains(&bound) {
        return Ok(bound as u64);
    }
    Err(Error::parameter("--clip", format!("is {norm:?}, an unusable norm of a row"), "leave it out for the default"))
}

/// The curvature for which one row moves the minimiser by at most `movement` grid steps.
pub(super) fn curvature(row_bound: u64, movement: f64) -> Curvature {
    let regularization = (row_bound as f64 * 2f64.powi(LOG2_REGULARIZATION as i32) / movement).ceil() as u64;
    let tolerance = (movement * 2f64.powi(-(LOG2_ACCURACY as i32))).ceil() as u64 + 1;
    Curvature { row_bound, regularization, tolerance }
}

/// The loss that is really minimised.
pub(super) fn loss_name(loss: BoundedLoss) -> &'static str {
    match loss {
        BoundedLoss::Logistic => "logistic",
        BoundedLoss::Huber => "huber, residuals beyond 1",
    }
}

pub(super) fn too_small() -> Error {
    Error::parameter("budget", "is too small to release a minimiser", "use a larger epsilon, or --algorithm dp-gd")
}

impl Optimizer for OutputPerturbation {
    fn planned(&self) -> Vec<Planned> {
        vec![self.release.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let one = data.one();
        let log2_margin = Minimization::margin_for(self.penalty(start.rows), &self.curvature, one);
        let problem =
            Minimization { loss: self.loss, label_scale: start.label_scale, log2_margin, curvature: self.curvature };
        let step = problem.step(one);
        let released = run.release(&self.release.planned(), step, || data.minimizer(&problem))?;
        let weights: Vec<f64> = released.values().iter().map(|&v| v as f64 * step).collect();
        Ok(Fitted::of(weights).stating([
            ("loss", json!(loss_name(self.loss))),
            ("penalty", json!(problem.penalty(one))),
            ("row_norm", json!(self.row_norm)),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Shape;
    use crate::loss::Glm;
    use crate::optim::Settings;
    use crate::privacy::{Adjacency, NoiseLaw, Rho};

    #[test]
    fn plans_use_the_budget_and_no_more() {
        let shape = Shape::new(6, &[4, 9]);
        let settings = Settings::default();
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            for rho in [1e-5, 1e-3, 0.02, 0.5, 8.0, 1e3] {
                let budget = Rho::from_f64(rho).unwrap();
                let problem = Problem {
                    shape: &shape,
                    adjacency,
                    loss: Glm::Logistic.into(),
                    standardized: true,
                    binned: false,
                    weighted: false,
                    one: 16_383,
                    rows: None,
                    persons: false,
                    labels_alone: false,
                    public: None,
                    noise: NoiseLaw::FlooredNormal,
                    budget: budget.clone(),
                    target: None,
                    settings: &settings,
                };
                let plan = OutputPerturbation::plan(&problem).unwrap();
                let spent = plan.release.rho();
                assert!(spent <= budget && spent.upper() > 0.999 * rho, "{adjacency} {rho}: {}", spent.upper());
                plan.curvature.check().unwrap();
            }
        }
    }
}
