//! # `localization`: phases that come closer
//!
//! Phased stochastic gradient descent: every row is read once, and only the mean iterate of each phase is released. Optimal rates in linear time, in
//! theory.
//!
//! **What it does.** Phase `i` makes one pass of single-row steps of size `eta / 4^i` over `n / 2^(i+1)` fresh rows, from the released result of the
//! phase before, and releases its mean iterate with noise `4^i` times smaller. `eta = (R / L) min(4 / sqrt(n), sqrt(2 rho) / (2 sqrt(d)))` to the nearest
//! power of two in grid units, `R` from `--radius` and `L` from `--clip`. Rows are read in random order. There are at most eight phases, and fewer
//! where the rounding of a later one would be more than a 16th of what a row at the clip norm moves: where rows are many and steps short.
//!
//! **What is released, and why the bound is exact.** Steps run in fixed point (2^-40) with integer slopes that are monotone and Lipschitz by
//! construction: the logistic loss is interpolated between multiples of 1/16, the squared one has its slope cut. A step is non-expansive but for
//! `sqrt(d) + |q| / 2^s` grid steps of rounding, and the sensitivity of a block's mean iterate is `2 L / 2^s` plus that for each row of the block. Where a row is
//! so long that its step would overshoot, it counts less.
//!
//! **Cost.** Blocks are disjoint, so all phases cost what the most expensive one costs: one Gaussian event.
//!
//! **Settings and defaults.** `--clip` (0.3 typical norms), `--learning-rate` (by the formula), `--radius` (2 for labels, 1 for numbers).
//!
//! **Use it when** you reproduce the rate of stochastic convex optimization. On the data sets measured `dp-gd` is better at every epsilon.
//!
//! **Models.** `logistic` and `linear`; `ridge` asks for an l2 penalty, which is refused here.
//!
//! **Source.** Feldman, Koren, Talwar 2020, "Private stochastic convex optimization: optimal rates in linear time" (phased SGD). Replace-one only: blocks
//! have public sizes.

use serde_json::json;

use super::description::{AUDIT_CLIP, AuditRecipe, Description, Losses, Needs, Relations};
use super::step::fixed::{FixedUnits, calibrate, clip_and_radius};
use super::{Fitted, GaussianRelease, GaussianRule, Optimizer, Planned, Problem, Settings, Start, settings};
use crate::error::Fallible;
use crate::grid::{LOG2_WEIGHT, MAX_WEIGHT};
use crate::loss::Curved;
use crate::privacy::GaussianCharge;
use crate::private::{LoggedRun, Permit, PhasePlan, PrivateDataset, Query, query};

/// Largest step size, at which a long row's step is still non-expansive or is shortened to be.
const MAX_RATE: f64 = 1.0;

pub(super) static DESCRIPTION: Description = Description {
    name: "localization",
    about: "Phases of one-pass descent over disjoint blocks of rows (replace-one only)",
    releases: "mean iterates of disjoint blocks",
    reference: "Feldman, Koren, Talwar 2020",
    relations: Relations::ReplaceOne { why: "its blocks have public sizes" },
    losses: Losses::Curved,
    settings: &[&settings::CLIP, &settings::LEARNING_RATE, &settings::RADIUS],
    needs: Needs { row_count: true, ..Needs::ROWS },
    plan: |problem| Ok(Box::new(Localization::plan(problem)?)),
    audit: |_| AuditRecipe {
        // Batches need rows; only the first row of a block moves its mean by a whole step.
        pairs: 0,
        null: 7,
        known_draws: true,
        numbers: true,
        one_run: Some("gives each row a random part of the run"),
        ..AuditRecipe::with(Settings { learning_rate: Some(1e-3), ..AUDIT_CLIP })
    },
};

/// Phased SGD: phase `i` runs one pass of SGD with step `eta / 4^i` over `n / 2^(i+1)` fresh rows from the released result of the
/// phase before, and releases its mean iterate with noise `4^i` times smaller.
///
/// `eta = (R / L) min(4 / sqrt(n), sqrt(2 rho) / (2 sqrt(d)))` to the nearest power of two in grid units, with `R` from `--radius`
/// and `L` from `--clip`. Single rows are read in random order, and the steps run in fixed-point integers: each is a non-expansive map
/// up to a rounding that the sensitivity includes, so no float decides it. Where a row is so long that its step would
/// overshoot, the row counts less.
///
/// # Requirements on the problem
/// A convex, smooth loss: the logistic one is interpolated between multiples of 1/16, the squared one has its slope cut.
///
/// # Privacy
/// Replace-one only, since blocks have public sizes. Phases use disjoint rows, so one event pays for all of them.
///
/// # Reference
/// Feldman, Koren, Talwar 2020, "Private stochastic convex optimization: optimal rates in linear time".
#[derive(Clone, Debug, PartialEq)]
pub struct Localization {
    phases: PhasePlan,
    release: GaussianRelease,
    loss: Curved,
    rate: f64,
    clip_norm: f64,
    radius: f64,
}

impl Localization {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the relation is not replace-one, a setting means nothing here, or the budget is too small.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        DESCRIPTION.fits(problem)?;
        let loss = DESCRIPTION.curved_loss(problem)?;
        let rows = DESCRIPTION.public_rows(problem)?;
        let (n, d, mu) = (rows.max(1) as f64, problem.dimension() as f64, (2.0 * problem.budget.lower()).sqrt());
        let (wanted_clip, radius) = clip_and_radius(problem, loss);
        let by_rule = radius / wanted_clip * (4.0 / n.sqrt()).min(mu / (2.0 * d.sqrt()));
        let rate = problem.settings.learning_rate.unwrap_or(by_rule);
        let units = FixedUnits::of(problem);
        let shift = units.shift(rate.min(MAX_RATE));
        let wanted = PhasePlan {
            lipschitz: (wanted_clip * units.gradient).min(2f64.powi(62)) as u64,
            shift,
            rows,
            dimension: problem.dimension(),
            max_phases: PhasePlan::most(),
        };
        let wanted = wanted.with_little_rounding();
        let plan = |lipschitz| PhasePlan { lipschitz, ..wanted };
        let query = |lipschitz| Query::from(query::Phases { plan: plan(lipschitz) });
        let Problem { adjacency, noise, .. } = *problem;
        let rule = GaussianRule {
            what: "mean iterates of disjoint blocks of rows",
            query: &query,
            adjacency,
            noise,
            count: 1,
        };
        let (release, lipschitz) = calibrate("localization", wanted_clip, problem, &rule)?;
        Ok(Localization {
            phases: plan(lipschitz),
            release,
            loss,
            rate: units.rate(shift),
            clip_norm: lipschitz as f64 / units.gradient,
            radius,
        })
    }
}

impl Optimizer for Localization {
    fn planned(&self) -> Vec<Planned> {
        vec![self.release.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let grid_step = 2f64.powi(-(LOG2_WEIGHT as i32));
        let (result, _) = run.release_by(&self.release.planned(), grid_step, |permit: Permit<GaussianCharge>| {
            let mut phases = permit.phases(data, self.phases, self.loss, start.label_scale)?;
            let mut weights = vec![0i64; self.phases.dimension];
            let mut result = vec![0.0; self.phases.dimension];
            for phase in 0..self.phases.phases() {
                let finer = PhasePlan::log2_finer(phase);
                let released = phases.next(&weights)?;
                let grid_step = 2f64.powi(-((LOG2_WEIGHT + finer) as i32));
                result = released.iter().map(|&v| v as f64 * grid_step).collect();
                let bound = i128::from(MAX_WEIGHT);
                weights = released.iter().map(|&v| (v >> finer).clamp(-bound, bound) as i64).collect();
            }
            Ok((result, phases.finish()))
        })?;
        Ok(Fitted::of(result).stating([
            ("phases", json!(self.phases.phases())),
            ("learning_rate", json!(self.rate)),
            ("clip", json!(self.clip_norm)),
            ("radius", json!(self.radius)),
        ]))
    }
}
