//! Everything that is fixed before the first release: budget split, clip, grid, steps, step size.

use super::config::{Algorithm, Budget, ModelKind, TrainConfig, default_delta};
use crate::accounting::Conversion;
use crate::data::Schema;
use crate::error::{Error, Fallible};
use crate::kernel::{FULL_SCALE, MAX_MULTIPLIER, Shape};
use crate::optim::{Averaging, DpGd, MomentParts, MomentPlan, TheoryParameters};
use crate::preprocess::shape_of;
use crate::privacy::{Adjacency, DatasetId, Delta, GaussianEvent, MAX_LOG2_SCALE, NoiseLaw, Rho, Scope, total_rho};

/// Share of rho for the release of count, means and squares: logistic, linear.
const MOMENT_SHARE: [f64; 2] = [0.05, 0.10];

/// Share of rho for a release of the count alone.
const COUNT_SHARE: f64 = 0.02;

/// Deviations at which standardised features are cut: logistic, linear.
const FEATURE_LIMIT: [f64; 2] = [2.0, 3.0];

/// Deviations at which a standardised regression target is cut.
const TARGET_LIMIT: f64 = 6.0;

/// Gradient steps of the default algorithm.
const STEPS: u64 = 100;

/// Momentum of the default algorithm.
const MOMENTUM: f64 = 0.9;

/// The public parameters of the gradient releases on the integer grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GradientPlan {
    /// Largest norm of a row's contribution in grid steps; stands for the clip norm.
    pub clip_grid: u64,
    /// Noise scale `2^log2_scale`.
    pub log2_scale: u32,
    /// Number of releases.
    pub steps: u64,
    /// l2 sensitivity in grid steps under the plan's adjacency.
    pub sensitivity: u64,
    /// Law of the noise.
    pub noise: NoiseLaw,
}

impl GradientPlan {
    /// The finest grid on which `steps` releases cost at most `budget` and multipliers stay small enough
    /// for the kernel.
    ///
    /// # Errors
    /// When the budget is so small that a row would round to nothing.
    pub fn new(unit: i16, adjacency: Adjacency, budget: &Rho, steps: u64, noise: NoiseLaw) -> Fallible<Self> {
        let mu = (2.0 * budget.lower() / steps as f64).sqrt();
        let factor = adjacency.sum_sensitivity(1);
        let largest = MAX_MULTIPLIER as u64 * unit as u64;
        let finest = (largest as f64 * factor as f64 / mu).log2().floor();
        let log2_scale = finest.clamp(0.0, f64::from(MAX_LOG2_SCALE)) as u32;
        let wanted = (mu * 2f64.powi(log2_scale as i32) / factor as f64).floor();
        let mut plan = GradientPlan {
            clip_grid: if wanted.is_finite() { (wanted as u64).min(largest) } else { 0 },
            log2_scale,
            steps,
            sensitivity: 0,
            noise,
        };
        // The float above only proposes; the exact cost decides.
        loop {
            plan.sensitivity = factor * plan.clip_grid;
            if plan.clip_grid < 16 * unit as u64 {
                return Err(Error::parameter(
                    "budget",
                    "is too small for this many steps",
                    "use a larger epsilon or fewer --steps",
                ));
            }
            if plan.event().rho() <= *budget {
                return Ok(plan);
            }
            plan.clip_grid -= 1;
        }
    }

    /// The event to pay for.
    pub fn event(&self) -> GaussianEvent {
        GaussianEvent {
            what: "clipped gradient sum".into(),
            sensitivity: self.sensitivity,
            log2_scale: self.log2_scale,
            noise: self.noise,
            count: self.steps,
        }
    }
}

/// How the clip norm follows from public and released quantities.
///
/// The grid knows a clip of [`GradientPlan::clip_grid`] steps only; which length in feature units that stands
/// for changes no cost, so it may depend on the row count that was released before.
#[derive(Clone, Debug, PartialEq)]
pub enum ClipRule {
    /// Given by the user or by theory.
    Fixed(f64),
    /// `row_norm * clamp(factor * nu^(-0.3), least, most)` with the relative noise `nu = row_norm sqrt(d) / (n mu)`:
    /// the smaller the noise, the looser the clip.
    ByNoise {
        /// Typical norm of a standardised row.
        row_norm: f64,
        /// `row_norm sqrt(d) / mu`, with `mu` the Gaussian parameter of all gradient releases together.
        relative_noise: f64,
        /// Factor, least and most of the rule.
        shape: [f64; 3],
    },
}

impl ClipRule {
    fn clip_norm(&self, row_count: f64) -> f64 {
        match *self {
            ClipRule::Fixed(norm) => norm,
            ClipRule::ByNoise { row_norm, relative_noise, shape: [factor, least, most] } => {
                row_norm * (factor * (relative_noise / row_count).powf(-0.3)).clamp(least, most)
            }
        }
    }
}

/// A checked and calibrated training run: a pure function of configuration, schema and public facts.
///
/// # Privacy
/// The total cost of [`Plan::events`] is at most [`Plan::rho`], exactly; `rho` was rounded down when it
/// was derived from epsilon and delta, by the exact Gaussian trade-off for floored normal noise (Balle
/// and Wang 2018, Theorem 8) and by the optimal zCDP conversion for discrete Gaussian noise (Canonne,
/// Kamath, Steinke 2020, Proposition 12).
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Data set and relation.
    pub scope: Scope,
    /// Model family.
    pub model: ModelKind,
    /// The algorithm that runs; never `Auto`.
    pub algorithm: Algorithm,
    /// The delta of all reported epsilons.
    pub delta: Delta,
    /// Whether delta came from the default rule.
    pub delta_by_rule: bool,
    /// Budget that may be spent.
    pub rho: Rho,
    /// The public row count, and where it came from, if there is one.
    pub rows: Option<(u64, &'static str)>,
    /// Whether features are standardised by released moments.
    pub standardise: bool,
    /// Release of moments, if any.
    pub moments: Option<MomentPlan>,
    /// Gradient releases.
    pub gradient: GradientPlan,
    /// The clip norm, or how it follows from the row count.
    pub clip: ClipRule,
    /// The optimizer, but for what [`Plan::settle`] fills in.
    optimizer: DpGd,
    /// Number of coefficients.
    pub dimension: usize,
    /// Number of numeric columns.
    pub numeric_columns: usize,
}

impl Plan {
    /// Plans a run; `public_len` is the number of rows where the adjacency makes it public.
    ///
    /// # Errors
    /// When a setting is out of range or the budget cannot be met.
    pub fn new(config: &TrainConfig, schema: &Schema, public_len: Option<u64>) -> Fallible<Self> {
        config.check(schema)?;
        let shape = shape_of(schema);
        let model = ModelKind::of_task(schema.task);
        let rows = public_rows(config, schema, public_len);
        let (rho, delta, delta_by_rule) = budget(config, rows.map(|(n, _)| n))?;
        let theory = config.algorithm == Algorithm::DpGdTheory;
        // Categories alone leave nothing to standardise.
        let anything = shape.numeric() > 0 || model == ModelKind::Linear;
        let standardise = anything && config.standardise.unwrap_or(!theory);
        let moments = plan_moments(config, &shape, model, &rho, standardise, rows.is_some())?;
        let spent = moments.as_ref().map_or(Rho::zero(), |plan| plan.event().rho());
        let left = rho.minus(&spent);
        let unit = unit_of(standardise, model);
        let (optimizer, clip) = if theory {
            theory_optimizer(config, &shape, rows, &left)?
        } else {
            default_optimizer(config, &shape, model, &left)
        };
        let gradient = GradientPlan::new(unit, config.adjacency, &left, optimizer.steps, config.noise)?;
        let plan = Plan {
            scope: Scope { dataset: DatasetId::new(schema.name.clone())?, adjacency: config.adjacency },
            model,
            algorithm: if theory { Algorithm::DpGdTheory } else { Algorithm::DpGd },
            delta,
            delta_by_rule,
            rho,
            rows,
            standardise,
            moments,
            gradient,
            clip,
            optimizer,
            dimension: shape.dimension(),
            numeric_columns: shape.numeric(),
        };
        if total_rho(&plan.events()) > plan.rho {
            return Err(Error::numerical("plan", "its exact cost exceeds the budget"));
        }
        Ok(plan)
    }

    /// Every release of the run, in order.
    pub fn events(&self) -> Vec<GaussianEvent> {
        self.moments.iter().map(MomentPlan::event).chain([self.gradient.event()]).collect()
    }

    /// The optimizer for a row count that is public or was released, and a label scale.
    pub fn settle(&self, row_count: f64, label_scale: f64) -> DpGd {
        DpGd { row_count, label_scale, clip_norm: self.clip.clip_norm(row_count), ..self.optimizer.clone() }
    }

    /// Deviations at which features and target are cut.
    pub fn limits(&self) -> (f64, f64) {
        (FEATURE_LIMIT[index(self.model)], TARGET_LIMIT)
    }

    /// The conversion whose epsilon is official for this noise.
    pub fn conversion(&self) -> Conversion {
        official_conversion(self.gradient.noise)
    }
}

/// The tightest conversion that is valid for a law of noise.
pub(super) fn official_conversion(noise: NoiseLaw) -> Conversion {
    match noise {
        NoiseLaw::FlooredNormal => Conversion::Exact,
        NoiseLaw::DiscreteGaussian => Conversion::Optimal,
    }
}

fn index(model: ModelKind) -> usize {
    match model {
        ModelKind::Logistic => 0,
        ModelKind::Linear => 1,
    }
}

fn unit_of(standardise: bool, model: ModelKind) -> i16 {
    if standardise { (f64::from(FULL_SCALE) / FEATURE_LIMIT[index(model)]).floor() as i16 } else { FULL_SCALE }
}

fn public_rows(config: &TrainConfig, schema: &Schema, public_len: Option<u64>) -> Option<(u64, &'static str)> {
    public_len
        .map(|n| (n, "public under replace-one"))
        .or(config.rows.map(|n| (n, "declared on the command line")))
        .or(schema.rows.map(|n| (n, "declared in the schema")))
}

/// The rho that may be spent, and the delta of the report.
fn budget(config: &TrainConfig, rows: Option<u64>) -> Fallible<(Rho, Delta, bool)> {
    let (given, by_rule) = match &config.budget {
        Budget::Epsilon(_, delta) | Budget::Rho(_, delta) => (*delta, delta.is_none()),
    };
    let delta = given.map_or_else(|| default_delta(rows), Ok)?;
    let rho = match &config.budget {
        Budget::Epsilon(epsilon, _) => Rho::from_f64(official_conversion(config.noise).max_rho(*epsilon, delta)?)?,
        Budget::Rho(rho, _) => rho.clone(),
    };
    Ok((rho, delta, by_rule))
}

fn plan_moments(
    config: &TrainConfig,
    shape: &Shape,
    model: ModelKind,
    rho: &Rho,
    standardise: bool,
    rows_are_public: bool,
) -> Fallible<Option<MomentPlan>> {
    let target = standardise && model == ModelKind::Linear;
    let share = match (standardise, rows_are_public) {
        (true, _) => MOMENT_SHARE[index(model)],
        (false, false) => COUNT_SHARE,
        (false, true) => return Ok(None),
    };
    let parts = MomentParts { count: !rows_are_public, features: standardise, target };
    MomentPlan::new(shape, config.adjacency, rho.lower() * share, parts, config.noise).map(Some)
}

/// A bound on the typical squared norm of a standardised row: one for each feature and the intercept.
fn typical_square(shape: &Shape) -> f64 {
    (shape.numeric() + shape.categorical() + 1) as f64
}

fn default_optimizer(config: &TrainConfig, shape: &Shape, model: ModelKind, rho: &Rho) -> (DpGd, ClipRule) {
    let square = typical_square(shape);
    // Measured on Adult, BRFSS diabetes, California housing and protein structure; see docs/design.md.
    let (rate, clip) = match model {
        ModelKind::Logistic => (8.0, [0.15, 0.15, 0.6]),
        ModelKind::Linear => (2.0, [0.36, 0.15, 3.0]),
    };
    let row_norm = square.sqrt();
    let mu = (2.0 * rho.lower()).sqrt();
    let relative_noise = row_norm * (shape.dimension() as f64).sqrt() / mu;
    let rule = ClipRule::ByNoise { row_norm, relative_noise, shape: clip };
    let optimizer = DpGd {
        steps: config.steps.unwrap_or(STEPS),
        learning_rate: config.learning_rate.unwrap_or(rate / square),
        clip_norm: f64::NAN,
        momentum: config.momentum.unwrap_or(MOMENTUM),
        l2: config.l2,
        radius: config.radius,
        averaging: config.averaging.unwrap_or(Averaging::Tail),
        row_count: f64::NAN,
        label_scale: f64::NAN,
    };
    (optimizer, config.clip.map_or(rule, ClipRule::Fixed))
}

fn theory_optimizer(
    config: &TrainConfig,
    shape: &Shape,
    rows: Option<(u64, &'static str)>,
    rho: &Rho,
) -> Fallible<(DpGd, ClipRule)> {
    let Some((rows, _)) = rows else {
        return Err(Error::parameter(
            "--algorithm dp-gd-theory",
            "needs a public number of rows to fix the number of steps",
            "add \"rows\" to the schema, or use --rows N or --adjacency replace-one",
        ));
    };
    let radius = config.radius.unwrap_or(1.0);
    // Rows have norm at most the root of the number of features when every value is in [-1, 1].
    let lipschitz = config.clip.unwrap_or_else(|| typical_square(shape).sqrt());
    let theory = TheoryParameters::new(
        rows.max(1) as f64,
        shape.dimension(),
        rho.lower(),
        lipschitz,
        2.0 * radius,
        config.adjacency,
    )?;
    let optimizer = DpGd {
        // The mean is over x_0..x_{T-1}; the last of them needs no further gradient.
        steps: config.steps.unwrap_or((theory.iterates - 1).max(1)),
        learning_rate: config.learning_rate.unwrap_or(theory.learning_rate),
        clip_norm: lipschitz,
        momentum: config.momentum.unwrap_or(0.0),
        l2: config.l2,
        radius: Some(radius),
        averaging: config.averaging.unwrap_or(Averaging::Mean),
        row_count: f64::NAN,
        label_scale: f64::NAN,
    };
    Ok((optimizer, ClipRule::Fixed(lipschitz)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn gradient_plans_cost_at_most_their_budget(
            log_rho in -18.0f64..9.0,
            steps in 1u64..100_000,
            replace in any::<bool>(),
            unit in prop::sample::select(vec![10_922i16, 16_383, 32_767]),
        ) {
            let adjacency = if replace { Adjacency::ReplaceOne } else { Adjacency::AddRemove };
            let budget = Rho::from_f64(log_rho.exp()).unwrap();
            if let Ok(plan) = GradientPlan::new(unit, adjacency, &budget, steps, NoiseLaw::FlooredNormal) {
                prop_assert!(plan.event().rho() <= budget);
                prop_assert!(plan.clip_grid <= MAX_MULTIPLIER as u64 * unit as u64);
                prop_assert_eq!(plan.sensitivity, adjacency.sum_sensitivity(plan.clip_grid));
                // Nothing is wasted either, unless the grid or the kernel sets the limit.
                if plan.log2_scale > 0 && plan.log2_scale < 50 {
                    prop_assert!(plan.event().rho().upper() > 0.9999 * budget.lower());
                }
            }
        }
    }
}
