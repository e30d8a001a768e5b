//! # `whitened`: descent in coordinates where features are uncorrelated
//!
//! A private Gram matrix first, then a few noisy full-batch steps in coordinates in which that matrix is nearly the identity: DP gradient descent with a
//! private preconditioner.
//!
//! **What it does.** `H` is the noised mean of `x x^T / R^2`, `R^2` the number of features and one, `mu_G` the bound of a row over the noise.
//!
//! 1. Release `H`.
//! 2. `P = (H + lambda)^(-1/2) / R` with `lambda = c sqrt(2 d) / (mu_G n)`, the operator norm of the noise times `c`; negative eigenvalues are noise and
//!    are cut at zero. `t = tr H (H + lambda)^(-1)` is the effective dimension.
//! 3. From zero, `T` steps of gradient descent on the rows `P x`; a row's gradient is clipped to `sqrt(t) clamp(k nu^-0.3, least, most)` with `nu =
//!    sqrt(d t) / (n mu)`.
//!    Least squares with a target that can lie `r > 2.6` deviations from its mean, by its bounds and the released moments, clip `min((r / 2.6)^2,
//!    1.05 nu^-0.2, 3)` times as wide, for cutting the residuals of far labels moves the optimum, and take steps of 0.8 of the stated size.
//! 4. The coefficients are `P^T theta`.
//!
//! **What is released, and why the bound is exact.**
//!
//! - *Gram matrix*: `sum_i m_i q_i q_i^T` over rows rounded to ten bits, `m_i` the largest integer up to 127 with `m_i |q_i|^2 <= clip_steps`, checked in
//!   integers, `clip_steps` the clip norm in grid steps; that product is the Frobenius norm of the row's matrix. Released is the upper triangle with diagonal entries times 99 and others times 140
//!   (`140^2 <= 2 * 99^2`), so the l2 norm of the vector is at most 99 times the Frobenius norm, and off-diagonal noise is smaller by the root of two.
//!   Sensitivity of the sum: `clip_steps` under add-remove, `sqrt(2)` times it under replace-one, because the matrices of two rows have an inner product of at least
//!   zero.
//! - *Beside public columns* ([protect.md](../protect.md#public-columns)) entries of two public features are exact and free. Of a row with public features of squared norm `a` and private ones of `b` the
//!   rest has norm `sqrt(b (2 a + b))`; it is clipped by that and moves by twice the clip, or is taken from the whole matrix, where that moves less.
//! - *Clipped sums*: `P` is rounded to multiples of 2^-10 before it is used. A row contributes `m_i P q_i`, with `m_i^2 |P q_i|^2 <= clip_steps^2` checked in
//!   exact integers. Since `sum m_i P q_i = P sum m_i q_i`, a step is the ordinary pass and one integer matrix-vector product, on rows that stay as they
//!   are. Sensitivity: `clip_steps` under add-remove, twice that under replace-one.
//!
//! **Cost.** Two Gaussian charges, which compose to one Gaussian mechanism. Time: one pass for the Gram matrix (quadratic in the columns), one for the
//! norms of mapped rows, and one a step.
//!
//! **Settings and defaults.** `--clip` (by the rule), `--steps` (16 for labels, 12 for numbers), `--learning-rate` (6 and 1), `--momentum` (0.3 and 0),
//! `--l2` (0), `--radius` (none), `--averaging` (the mean of the second half). The share of the Gram matrix is 12% for labels and 25% for numbers. Each
//! loss has its own constants; [defaults.md](../defaults.md) has the evidence. `--l1` is refused: a whitened step moves all coefficients together.
//!
//! In whitened coordinates the curvature is at most the loss's smoothness. Step sizes are below 2 / smoothness (with momentum m, below 2 (1 + m) /
//! smoothness), except for `poisson`, whose smoothness bound is far from typical. A pinball loss pulls unevenly on its two sides, so its clip is set
//! above its Lipschitz constant (times 1.3 typical norms): a tighter one would move the level.
//!
//! **Standard errors.** Along an eigenvector of the Gram matrix the descent is a linear recursion, so what it returns varies by `(sum k)^2` times the
//! sampling variance plus `sum k^2` times the noise variance, `k` the gains of the recursion. They leave out shrinkage by early stopping, ridge and clip,
//! and the noise of the Gram matrix. Coverage of 95% intervals over 100 coefficients each: linear 0.90 at epsilon 0.5 and 0.99 at 5, logistic 0.93 at 1
//! and 0.97 at 8.
//!
//! **Use it when** features are correlated or differ in spread, and there are at most a thousand of them. It works streamed and on a cluster.
//!
//! **Source.** Preconditioning by a private second moment is this project's combination; the clipped steps are those of Bassily, Smith, Thakurta
//! 2014. Both relations.

use ndarray::Array2;
use serde_json::json;

use super::description::{AUDIT_STILL, AuditRecipe, Description, Losses, Needs, Relations};
use super::release::gram::Whitening;
use super::step::standard_errors::{Directions, standard_errors};
use super::{
    Averaging, ClipRule, ClippedPlan, Descent, Fitted, GramPlan, Optimizer, Planned, Problem, Settings, Start, settings,
};
use crate::error::{Error, Fallible};
use crate::grid::IntegerMap;
use crate::private::{LoggedRun, PrivateDataset};

/// The whitening map is rounded to multiples of `2^-10`.
const LOG2_MAP_UNIT: u32 = 10;

/// Largest entry of the map before rounding; bounds the condition number that is undone.
const MAX_ENTRY: f64 = 100.0;

pub(super) static DESCRIPTION: Description = Description {
    name: "whitened",
    about: "Full-batch DP gradient descent in coordinates whitened by a private Gram matrix",
    releases: "Gram matrix, T clipped sums in whitened coordinates",
    reference: "`auto` where the Gram matrix pays",
    relations: Relations::Both,
    losses: Losses::Any,
    settings: settings::OF_SMOOTH_DESCENT,
    needs: Needs::NOTHING,
    plan: |problem| Ok(Box::new(WhitenedDpGd::plan(problem)?)),
    audit: |_| {
        // The last iterate alone shows as much as all releases together.
        let last = Settings { averaging: Some(Averaging::Last), momentum: Some(0.0), ..AUDIT_STILL };
        AuditRecipe { one_run: Some("releases a matrix, in which canaries meet"), ..AuditRecipe::with(last) }
    },
};

/// DP-GD in whitened coordinates.
///
/// 1. Release `H`, the mean of `x x^T / R^2`. With `lambda = c sqrt(2 d) / (mu_G n)`, the operator norm of its noise
///    times `c`, the map is `P = (H + lambda)^(-1/2) / R`, and `t = tr H (H + lambda)^(-1)` the effective dimension.
/// 2. Run noisy full-batch steps on rows `P x` from zero, each gradient clipped to
///    `sqrt(t) clamp(k nu^(-0.3), least, most)`, `nu = sqrt(d t) / (n mu)`.
/// 3. The coefficients are `P^T theta`.
///
/// Several outputs share the map; their coefficients are stacked, and a row's gradient is clipped as a whole.
///
/// The map is rounded to integers before it is used, so that norms of mapped rows, the clip and the sums are exact.
///
/// # Privacy
/// One Gaussian release of the Gram matrix and one of a clipped sum per step, both adjacencies; together exactly one
/// Gaussian mechanism.
#[derive(Clone, Debug, PartialEq)]
pub struct WhitenedDpGd {
    gram: GramPlan,
    gradient: ClippedPlan,
    clip: ClipRule,
    descent: Descent,
    ridge: f64,
    follows_labels: bool,
    /// Whether the user chose the step size.
    rate_chosen: bool,
}

/// With a loosened clip no slope is cut where the released matrix is too small along a direction, and the curvature above 1: steps are shortened by this.
const LOOSENED_RATE: f64 = 0.8;

impl WhitenedDpGd {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small for a Gram matrix or for the number of steps, or an l1 penalty is asked for.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        let Settings { clip, l1, .. } = *problem.settings;
        if l1 > 0.0 {
            return Err(Error::parameter(
                "--l1",
                "sets coefficients of features to zero one by one, but a whitened step moves all of them together",
                "use --algorithm dp-gd, or auto, which then chooses it",
            ));
        }
        DESCRIPTION.fits(problem)?;
        let rule = problem.loss.tuning().whitened;
        let gram = GramPlan::new(problem, rule.share * problem.budget.lower())?;
        let left = problem.budget.minus(&gram.release.rho());
        let averaging = if rule.averaged { Averaging::Tail } else { Averaging::Last };
        let descent = Descent::of(problem, rule.steps, rule.rate, rule.momentum, averaging);
        let gradient = ClippedPlan::through(problem, LOG2_MAP_UNIT, &left, descent.steps)?;
        let clip = clip.map_or_else(|| ClipRule::by_noise(rule.clip, problem.loss), ClipRule::Fixed);
        let rate_chosen = problem.settings.learning_rate.is_some();
        Ok(WhitenedDpGd {
            gram,
            gradient,
            clip,
            descent,
            ridge: rule.ridge,
            follows_labels: rule.follows_labels,
            rate_chosen,
        })
    }

    #[expect(clippy::too_many_arguments, reason = "what the recursion is made of")]
    fn standard_errors(
        &self,
        descent: &Descent,
        weights: &[f64],
        moments: &Array2<f64>,
        whitening: &Whitening,
        ridge: f64,
        rows: f64,
        noise: f64,
    ) -> Option<Vec<f64>> {
        let row_norm = self.gram.row_norm();
        let signal: Vec<f64> = whitening.values.iter().map(|value| value / (value + ridge)).collect();
        let lengths: Vec<f64> =
            whitening.values.iter().map(|value| 1.0 / ((value + ridge).sqrt() * row_norm)).collect();
        let directions = Directions {
            moments: &(moments * (row_norm * row_norm)),
            vectors: &whitening.vectors,
            signal: &signal,
            lengths: &lengths,
            rows,
            noise,
        };
        standard_errors(descent, &weights.iter().copied().collect(), &directions)
    }

    /// [`GramPlan::mu`] of the Gram matrix.
    pub fn gram_mu(&self) -> f64 {
        self.gram.mu()
    }
}

impl Optimizer for WhitenedDpGd {
    fn planned(&self) -> Vec<Planned> {
        vec![self.gram.release.planned(), self.gradient.release.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let sum = self.gram.run(data, run)?;
        let dimension = data.shape().dimension() as f64;
        let ridge = self.ridge * (2.0 * dimension).sqrt() / (self.gram.mu() * start.rows);
        let ridge = ridge.max((self.gram.row_norm() * MAX_ENTRY).powi(-2));
        let moments = sum / start.rows;
        let whitening = Whitening::new(moments.clone(), ridge)?;
        let map = IntegerMap::nearest(&(&whitening.map / self.gram.row_norm()), LOG2_MAP_UNIT)?;
        let outputs = self.descent.loss.outputs() as f64;
        let row_norm = whitening.effective_dimension.max(1.0).sqrt();
        let (dimensions, mu) = (dimension * outputs, self.gradient.mu());
        let loosening = if self.follows_labels { self.clip.loosening(row_norm, dimensions, start, mu) } else { 1.0 };
        let clip_norm = loosening * self.clip.clip_norm(row_norm, dimensions, start, mu);
        let shortened = if loosening > 1.0 && !self.rate_chosen { LOOSENED_RATE } else { 1.0 };
        let descent = Descent { learning_rate: shortened * self.descent.learning_rate, ..self.descent.clone() };
        let rows = data.clipped_through(map, self.gradient.clip_steps)?;
        let weights = descent.run(&rows, &self.gradient.release.planned(), clip_norm, start, run)?;
        let mut settings = self.descent.settings();
        if self.follows_labels {
            settings.insert("clip_loosening".into(), json!(loosening));
        }
        settings.insert("effective_dimension".into(), json!(whitening.effective_dimension));
        let grid_step = clip_norm / self.gradient.clip_steps as f64;
        let noise = grid_step * self.gradient.release.scale() / start.rows;
        let standard_errors = self.standard_errors(&descent, &weights, &moments, &whitening, ridge, start.rows, noise);
        Ok(Fitted { weights, standard_errors, deviations: Vec::new(), unit: 1.0, settings })
    }
}
