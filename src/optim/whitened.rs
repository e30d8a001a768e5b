//! Whitened DP-GD: a private Gram matrix first, then a few noisy steps in coordinates where it is the identity.

use ndarray::Array2;
use serde_json::json;

use super::gram::Whitening;
use super::uncertainty::{Directions, standard_errors};
use super::{
    Averaging, ClipRule, ClippedPlan, Descent, Fitted, GramPlan, Optimizer, Planned, Problem, Settings, Start,
};
use crate::error::{Error, Fallible};
use crate::grid::IntegerMap;
use crate::loss::{Glm, Hinge, Objective, Pinball};
use crate::private::{LoggedRun, PrivateDataset};

/// Gradient steps of most losses.
const STEPS: u64 = 12;

/// The whitening map is rounded to multiples of `2^-10`.
const LOG2_MAP_UNIT: u32 = 10;

/// Largest entry of the map before rounding; bounds the condition number that is undone.
const LARGEST_ENTRY: f64 = 100.0;

/// The constants of one loss.
struct Rule {
    /// Share of the budget for the Gram matrix.
    share: f64,
    /// Ridge over the operator norm of the noise.
    ridge: f64,
    /// Gradient steps.
    steps: u64,
    /// Step size in whitened coordinates.
    rate: f64,
    /// Weight of the previous direction.
    momentum: f64,
    /// Factor, least and most of the clip rule.
    clip: [f64; 3],
    averaging: Averaging,
}

/// For classification, with a step size of `rate`.
fn labels(rate: f64) -> Rule {
    let clip = [0.19, 0.15, 1.2];
    Rule { share: 0.12, ridge: 1.0, rate, momentum: 0.0, steps: STEPS, clip, averaging: Averaging::Last }
}

/// For regression, with a step size of `rate`.
fn numbers(rate: f64) -> Rule {
    let clip = [0.36, 0.15, 3.0];
    Rule { share: 0.25, ridge: 0.25, rate, momentum: 0.0, steps: STEPS, clip, averaging: Averaging::Tail }
}

// Measured on Adult, BRFSS diabetes, California housing, protein structure and randhie; see docs/design.md. In whitened
// coordinates the curvature is at most the loss's smoothness, so all but the Poisson step are stable whatever the rows
// are; its own is stable where the mean rate along every direction is at most three times the mean.
fn rule(loss: Objective) -> Rule {
    match loss {
        // A little above 1/4 where the Gram matrix cut long rows: a rate of 6 is stable, 7 is not always.
        Objective::Margin(Glm::Logistic) => {
            Rule { steps: 16, momentum: 0.3, averaging: Averaging::Tail, ..labels(6.0) }
        }
        // Two labels are logistic regression with half the step and gradients longer by the root of two.
        Objective::Softmax { .. } => Rule { clip: [0.27, 0.21, 1.7], ..labels(3.5) },
        Objective::Margin(Glm::Hinge(Hinge { width })) => {
            Rule { momentum: 0.6, averaging: Averaging::Tail, ..labels(3.5 * width) }
        }
        Objective::Margin(Glm::Squared | Glm::Huber(_)) => numbers(1.0),
        // The narrow strip asks for short steps, and momentum would overshoot: outside it one side pulls harder.
        // Its slopes are uneven, so a clip below them would move the level; the Lipschitz constant cuts this one.
        Objective::Margin(Glm::Pinball(Pinball { width, .. })) => {
            Rule { steps: 60, clip: [3.0; 3], ..numbers(3.8 * width) }
        }
        // Counts far above the mean are the rule, and a tight clip loses them.
        Objective::Margin(Glm::Poisson(_)) => Rule { clip: [1.2, 2.0, 12.0], ..numbers(0.6) },
    }
}

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
}

impl WhitenedDpGd {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small for a Gram matrix or for the number of steps, or an l1 penalty is asked for.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        let Settings { clip, steps, learning_rate, momentum, l1, l2, radius, averaging, .. } = *problem.settings;
        if l1 > 0.0 {
            return Err(Error::parameter(
                "--l1",
                "sets coefficients of features to zero one by one, but a whitened step moves all of them together",
                "use --algorithm dp-gd, or auto, which then chooses it",
            ));
        }
        let rule = rule(problem.loss);
        let gram = GramPlan::new(problem, rule.share * problem.budget.lower())?;
        let left = problem.budget.minus(&gram.release.rho());
        let descent = Descent {
            loss: problem.loss,
            steps: steps.unwrap_or(rule.steps),
            learning_rate: learning_rate.unwrap_or(rule.rate),
            momentum: momentum.unwrap_or(rule.momentum),
            l1,
            l2: l2.unwrap_or(0.0),
            radius,
            averaging: averaging.unwrap_or(rule.averaging),
        };
        let unit = u64::from(problem.unit.unsigned_abs()) << LOG2_MAP_UNIT;
        let gradient = ClippedPlan::new(unit, problem.adjacency, &left, descent.steps, problem.noise)?;
        let clip = clip.map_or_else(|| ClipRule::by_noise(rule.clip, problem.loss), ClipRule::Fixed);
        Ok(WhitenedDpGd { gram, gradient, clip, descent, ridge: rule.ridge })
    }

    fn standard_errors(
        &self,
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
        standard_errors(&self.descent, &weights.iter().copied().collect(), &directions)
    }

    /// [`GramPlan::signal`] of the Gram matrix.
    pub fn gram_signal(&self) -> f64 {
        self.gram.signal()
    }
}

impl Optimizer for WhitenedDpGd {
    fn planned(&self) -> Vec<Planned> {
        vec![self.gram.release.planned(), self.gradient.release.planned()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let sum = self.gram.run(data, run)?;
        let dimension = data.shape().dimension() as f64;
        let ridge = self.ridge * (2.0 * dimension).sqrt() / (self.gram.signal() * start.rows);
        let ridge = ridge.max((self.gram.row_norm() * LARGEST_ENTRY).powi(-2));
        let moments = sum / start.rows;
        let whitening = Whitening::new(moments.clone(), ridge)?;
        let map = IntegerMap::nearest(&(&whitening.map / self.gram.row_norm()), LOG2_MAP_UNIT)?;
        let outputs = self.descent.loss.outputs() as f64;
        let row_norm = whitening.effective_dimension.max(1.0).sqrt();
        let clip_norm = self.clip.clip_norm(row_norm, dimension * outputs, start.rows, self.gradient.signal());
        let rows = data.clipped_through(map, self.gradient.bound)?;
        let weights = self.descent.run(&rows, &self.gradient.release.planned(), clip_norm, start, run)?;
        let mut settings = self.descent.settings();
        settings.insert("effective_dimension".into(), json!(whitening.effective_dimension));
        let unit = clip_norm / self.gradient.bound as f64;
        let noise = unit * self.gradient.release.scale() / start.rows;
        let standard_errors = self.standard_errors(&weights, &moments, &whitening, ridge, start.rows, noise);
        Ok(Fitted { weights, standard_errors, settings })
    }
}
