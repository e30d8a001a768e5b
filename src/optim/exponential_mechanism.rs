//! # `exponential-mechanism`: a choice among a grid of models
//!
//! The exponential mechanism over a public grid, for models of at most three coefficients. It needs no convexity.
//!
//! **What it does.** Chooses a point of a grid in a box with probability proportional to `exp(-epsilon loss / range)`; the loss is the sum over rows of
//! `min(l, cap)`, in whole steps. With `N` candidates the chosen one exceeds the best by more than `(range / epsilon)(ln N + t)` with probability at most
//! `e^-t`.
//!
//! **What is released, and why the bound is exact.** One index. Scores are integer sums, and a row's scores lie in an interval of known length, so the
//! choice has bounded range. Uniform proposals are kept with exponential coins, so the law is the stated one to the last bit. A `Permit<ExponentialCharge>`
//! opens an index and nothing else.
//!
//! **Cost.** One choice: epsilon-DP, and `epsilon^2 / 8`-zCDP. The statement takes the smaller of zCDP and privacy-loss distributions of a choice of bounded range.
//!
//! **Settings and defaults.** `--clip` (the cap on a row's loss: 4 for labels, for a cap of 2 ln 2 prefers models that are confidently wrong; two
//! deviations' worth for numbers), `--radius` (3, half the side of the box). Grids of 1,001, 101 and 21 points an axis for one, two and three
//! coefficients. There are no steps to choose.
//!
//! **Use it when** one or two features matter and the guarantee should be pure. `multinomial` and `poisson` are refused: one has many coefficients, the
//! other losses below zero.
//!
//! **Source.** McSherry, Talwar 2007; Bassily, Smith, Thakurta 2014, section 3; Cesar, Rogers 2021 (bounded range). Both relations.

use ndarray::Array2;
use serde_json::json;

use super::description::{AuditRecipe, Description, Losses, Needs, Relations};
use super::release::selected::{Choice, ChoicePlan};
use super::{Fitted, Optimizer, Planned, Problem, Settings, Start, settings};
use crate::error::{Error, Fallible};
use crate::loss::Glm;
use crate::private::{Candidates, CutLoss, LoggedRun, PrivateDataset, query};

/// Grid points on each axis for one, two and three coefficients.
const POINTS: [usize; 3] = [1001, 101, 21];

/// Half the side of the box.
const RADIUS: f64 = 3.0;

/// Steps that the cut loss is rounded to, at most.
const STEPS: u64 = 1 << 20;

pub(super) static DESCRIPTION: Description = Description {
    name: "exponential-mechanism",
    about: "A choice among a grid of models with at most three coefficients",
    releases: "choice among a grid of models",
    reference: "McSherry, Talwar 2007; Cesar, Rogers 2021",
    relations: Relations::Both,
    losses: Losses::NeverNegative,
    settings: &[&settings::CLIP, &settings::RADIUS],
    needs: Needs { coefficients: Some(POINTS.len()), no_steps: true, ..Needs::NOTHING },
    plan: |problem| Ok(Box::new(ExponentialMechanism::plan(problem)?)),
    audit: |_| AuditRecipe {
        // Without other rows, which would count in every score.
        pairs: 0,
        alone: true,
        one_run: Some("releases choices, which are no sums over canaries"),
        ..AuditRecipe::with(Settings { radius: Some(1e6), ..Settings::NONE })
    },
};

/// A model out of a public grid in a box, chosen with probability proportional to `exp(-epsilon loss / range)`.
///
/// The loss is the sum over rows of `min(l, cap)`, in whole steps. With `N` candidates the chosen one exceeds the best
/// by more than `(range / epsilon)(ln N + t)` with probability at most `e^-t`.
///
/// # Requirements on the problem
/// A loss of one margin that is never negative; it need not be convex. At most three coefficients, no penalty.
///
/// # Privacy
/// One choice of epsilon-bounded range, both adjacencies: epsilon-DP and `epsilon^2/8`-zCDP, sampled exactly.
///
/// # Reference
/// McSherry and Talwar 2007; Bassily, Smith and Thakurta 2014, section 3; Cesar and Rogers 2021.
#[derive(Clone, Debug, PartialEq)]
pub struct ExponentialMechanism {
    choice: ChoicePlan,
    loss: Glm,
    candidates: Candidates,
    radius: f64,
    cap: f64,
}

impl ExponentialMechanism {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When there are more than three coefficients, or the budget is too small.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        DESCRIPTION.fits(problem)?;
        // Below zero a cut loss counts as zero.
        let loss = DESCRIPTION.margin_loss(problem)?;
        let Some(cap) = loss.as_loss().tuning().loss_cap else {
            return Err(DESCRIPTION.unfit("needs a loss that is never negative", "or --model linear"));
        };
        let dimension = problem.dimension();
        let points = POINTS[dimension - 1];
        let radius = problem.settings.radius.unwrap_or(RADIUS);
        let cap = problem.settings.clip.unwrap_or(cap);
        let candidates = grid(dimension, points, radius);
        let choice = Choice {
            what: "model out of a grid",
            adjacency: problem.adjacency,
            count: 1,
            largest: STEPS,
            query: |most, candidates| query::Losses { most, candidates }.into(),
            candidates: candidates.points.nrows() as u64,
        };
        Ok(ExponentialMechanism { choice: choice.plan(problem)?, loss, candidates, radius, cap })
    }
}

/// All points with `points` evenly spaced values from `-radius` to `radius` on each axis.
fn grid(dimension: usize, points: usize, radius: f64) -> Candidates {
    let half = (points / 2) as f64;
    let place = |index: usize, axis: usize| index / points.pow(axis as u32) % points;
    let value = |(index, axis): (usize, usize)| radius * (place(index, axis) as f64 - half) / half;
    Candidates { points: Array2::from_shape_fn((points.pow(dimension as u32), dimension), value) }
}

impl Optimizer for ExponentialMechanism {
    fn planned(&self) -> Vec<Planned> {
        vec![self.choice.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let most = u32::try_from(self.choice.steps)
            .map_err(|_| Error::numerical("exponential mechanism", "a score has too many steps"))?;
        let scoring = CutLoss { loss: self.loss, label_scale: start.label_scale, cap: self.cap, most };
        let grid_step = self.cap / f64::from(most);
        let released = run.choose(&self.choice.planned(), grid_step, || data.losses(&scoring, &self.candidates))?;
        let chosen = released.values().first().and_then(|&index| usize::try_from(index).ok()).unwrap_or(0);
        let weights = self.candidates.points.row(chosen).to_vec();
        Ok(Fitted::of(weights).stating([
            ("candidates", json!(self.candidates.points.nrows())),
            ("loss_cap", json!(self.cap)),
            ("radius", json!(self.radius)),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_symmetric_and_holds_its_corners() {
        for (dimension, points) in [(1, 5), (2, 3), (3, 3)] {
            let grid = grid(dimension, points, 2.0).points;
            assert_eq!(grid.nrows(), points.pow(dimension as u32));
            assert!(grid.sum().abs() < 1e-12);
            assert!(grid.rows().into_iter().any(|row| row.iter().all(|&w| w == 2.0)));
            assert!(grid.rows().into_iter().any(|row| row.iter().all(|&w| w == 0.0)));
        }
    }
}
