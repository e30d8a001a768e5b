//! # `one-pass`: only the last iterate is seen
//!
//! One pass of noisy steps over growing batches (snowball SGD). Intermediate iterates stay secret, and that amplifies privacy.
//!
//! **What it does.** Every step takes the mean gradient of a fresh batch and adds noise to the iterate, of equal size in every step; only the last
//! iterate is released. `j` steps before the end a batch has `ceil(last / sqrt(j))` rows. The bound `R^2 / (2 eta T) + d s^2 / (2 eta)` on the mean loss
//! depends on `eta T` alone and is least for `eta T = R n mu / (4 L sqrt(d))`; steps are `1 / (beta R^2)` long, `R` here the typical norm of a row, and
//! at most one for four rows.
//!
//! **What is released, and why the bound is exact.** A row is hidden by the noise of its own step and of all `j - 1` that follow. What a run differs by
//! in the row's step is handed to those noises in equal parts, with the rounding of every step in fixed point and that of the noise, `sqrt(d)` each: one
//! Gaussian release of sensitivity `(2 L eta / b + j rounding) / sqrt(j)`, `b` the rows of its batch, at the worst `j`. A plan records `L`, `eta` and `b`
//! in integers, from which `verify` recomputes it. The argument (a third run that goes from one neighbour's to the other's) bounds the trade-off as well
//! as Renyi divergences, so that the exact conversion holds for floored normal noise; see `Permit::one_pass`. With batches of equal size it would be
//! worth nothing: the last row is not amplified at all.
//!
//! **Cost.** One Gaussian event; every row costs about what the last ones do.
//!
//! **Settings and defaults.** `--clip` (0.3 typical norms), `--steps` and `--learning-rate` (from the budget, by the formulas above), `--radius` (2 for
//! labels, 1 for numbers). Half or twice `eta T`, or steps of half or twice the length, change Adult by at most 0.004 and California by 0.018 (five
//! seeds), except half of `eta T` on Adult at epsilon 0.1 (0.807).
//!
//! Ten seeds, replace-one, delta 1e-5, epsilon 0.1 / 1 / 8:
//!
//! | algorithm | fair, accuracy | Adult, accuracy | California, R^2 | protein, R^2 |
//! |---|---|---|---|---|
//! | `one-pass` | 0.690 / 0.709 / 0.710 | 0.828 / 0.848 / 0.854 | 0.579 / 0.629 / 0.641 | 0.254 / 0.272 / 0.266 |
//! | `localization` | 0.634 / 0.703 / 0.707 | 0.801 / 0.846 / 0.845 | 0.502 / 0.618 / 0.641 | 0.225 / 0.266 / 0.274 |
//! | `dp-gd` | 0.663 / 0.707 / 0.708 | 0.838 / 0.853 / 0.853 | 0.580 / 0.640 / 0.648 | 0.267 / 0.290 / 0.289 |
//!
//! **Use it when** you study amplification by iteration, or rows may be read once only. It needs all rows in memory, and a stopped pass starts again.
//!
//! **Models.** `logistic` and `linear`; `ridge` asks for an l2 penalty, which is refused here.
//!
//! **Source.** Feldman, Koren, Talwar 2020, "Private stochastic convex optimization: optimal rates in linear time" (snowball SGD), after Feldman,
//! Mironov, Talwar, Thakurta 2018, "Privacy amplification by iteration". Replace-one only: batches have public sizes.

use serde_json::json;

use super::description::{AUDIT_STILL, AuditRecipe, Description, Losses, Needs, Relations};
use super::step::fixed::{FixedUnits, calibrate, clip_and_radius};
use super::{Fitted, GaussianRelease, GaussianRule, Optimizer, Planned, Problem, Settings, Start, settings};
use crate::error::{Error, Fallible};
use crate::grid::LOG2_WEIGHT;
use crate::loss::Curved;
use crate::privacy::GaussianCharge;
use crate::private::{LoggedRun, PassPlan, Permit, PrivateDataset, Query, query};

/// Rows per step, at least, on average: steps on single rows would be little but noise.
const MIN_BATCH: f64 = 4.0;

pub(super) static DESCRIPTION: Description = Description {
    name: "one-pass",
    about: "One pass of noisy steps over growing batches; only the last iterate is released (replace-one only)",
    releases: "last iterate of a pass over growing batches",
    reference: "Feldman, Koren, Talwar 2020",
    relations: Relations::ReplaceOne { why: "its batches have public sizes" },
    losses: Losses::Curved,
    settings: &[&settings::CLIP, &settings::STEPS, &settings::LEARNING_RATE, &settings::RADIUS],
    needs: Needs { row_count: true, ..Needs::ROWS },
    plan: |problem| Ok(Box::new(OnePass::plan(problem)?)),
    audit: |_| AuditRecipe {
        pairs: 0,
        null: 28,
        known_draws: true,
        one_run: Some("gives each row a random part of the run"),
        ..AuditRecipe::with(Settings { learning_rate: Some(1e-4), ..AUDIT_STILL })
    },
};

/// One pass of noisy SGD: a step is the mean gradient of a fresh batch and noise on the iterate, of the same size in every
/// step; only the last iterate is released.
///
/// A row is hidden by the noise of its own step and of all that follow, so the last of `T` batches must be the largest:
/// `j` steps before the end it has `1 / sqrt(j)` times as many rows, and every row costs about the same.
/// With `n` rows the last has about `n / (2 sqrt(T))`, and the noise of a step is
/// `s = 4 eta L sqrt(T) / (n mu)`. The bound `R^2 / (2 eta T) + d s^2 / (2 eta)` on the mean loss depends on `eta T` alone and is
/// least for `eta T = R n mu / (4 L sqrt(d))`; steps are as long as a typical row allows, `1 / (beta typical square)`, and
/// at most one for four rows. `R` is `--radius`, `L` is `--clip`, and steps are rounded to a power of two in grid units.
///
/// # Requirements on the problem
/// A convex, smooth loss, as for [`super::Localization`]: where a row is so long that its step would overshoot, it counts less.
///
/// # Privacy
/// Replace-one only, since batches have public sizes. One Gaussian event, see [`crate::private::Permit::one_pass`].
///
/// # Reference
/// Feldman, Koren, Talwar 2020, "Private stochastic convex optimization: optimal rates in linear time" (snowball SGD), after
/// Feldman, Mironov, Talwar, Thakurta 2018, "Privacy amplification by iteration".
#[derive(Clone, Debug, PartialEq)]
pub struct OnePass {
    pass: PassPlan,
    release: GaussianRelease,
    loss: Curved,
    rate: f64,
    clip_norm: f64,
    radius: f64,
}

impl OnePass {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the relation is not replace-one, a setting means nothing here, there are more steps than rows, or the budget is
    /// too small.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        DESCRIPTION.fits(problem)?;
        let loss = DESCRIPTION.curved_loss(problem)?;
        let rows = DESCRIPTION.public_rows(problem)?;
        let (wanted_clip, radius) = clip_and_radius(problem, loss);
        let (steps, rate) = schedule(problem, rows, radius / wanted_clip, loss.smoothness())?;
        let units = FixedUnits::of(problem);
        let shift = units.shift(rate);
        let largest = PassPlan::largest(0, shift, rows, problem.dimension(), steps);
        let plan = |lipschitz| PassPlan { lipschitz, ..largest };
        let query = |lipschitz| Query::from(query::OnePass { plan: plan(lipschitz) });
        let Problem { adjacency, noise, .. } = *problem;
        let rule = GaussianRule {
            what: "last iterate of a noisy pass over batches",
            query: &query,
            adjacency,
            noise,
            count: 1,
        };
        let (release, lipschitz) = calibrate("one-pass", wanted_clip, problem, &rule)?;
        Ok(OnePass {
            pass: plan(lipschitz),
            release,
            loss,
            rate: units.rate(shift),
            clip_norm: lipschitz as f64 / units.gradient,
            radius,
        })
    }
}

/// Number of steps and their size; `ratio` is `R / L`.
fn schedule(problem: &Problem<'_>, rows: u64, ratio: f64, smoothness: f64) -> Fallible<(u32, f64)> {
    let (n, d, mu) = (rows.max(1) as f64, problem.dimension() as f64, (2.0 * problem.budget.lower()).sqrt());
    let time = ratio * n * mu / (4.0 * d.sqrt());
    let longest = 1.0 / (smoothness * problem.typical_square());
    let most = u64::from(PassPlan::most_steps(problem.dimension())).min(rows.max(1));
    let default = (time / longest).min(n / MIN_BATCH).clamp(1.0, most as f64) as u64;
    let wanted = problem.settings.steps.unwrap_or(default);
    let steps = u32::try_from(wanted).ok().filter(|steps| u64::from(*steps) <= most).ok_or_else(|| {
        let problem = format!("is {wanted}, at most {most} batches are possible with --algorithm one-pass");
        Error::parameter("--steps", problem, "use fewer")
    })?;
    Ok((steps, problem.settings.learning_rate.unwrap_or((time / f64::from(steps)).min(longest))))
}

impl Optimizer for OnePass {
    fn planned(&self) -> Vec<Planned> {
        vec![self.release.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let grid_step = 2f64.powi(-(LOG2_WEIGHT as i32));
        let open =
            |permit: Permit<GaussianCharge>| Ok(((), permit.one_pass(data, self.pass, self.loss, start.label_scale)?));
        let (_, released) = run.release_by(&self.release.planned(), grid_step, open)?;
        let weights: Vec<f64> = released.values().iter().map(|&v| v as f64 * grid_step).collect();
        Ok(Fitted::of(weights).stating([
            ("steps", json!(self.pass.steps)),
            ("last_batch", json!(self.pass.last)),
            ("learning_rate", json!(self.rate)),
            ("clip", json!(self.clip_norm)),
            ("radius", json!(self.radius)),
        ]))
    }
}
