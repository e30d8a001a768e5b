//! Everything that is fixed before the first release: budget, standardisation, algorithm.

use super::config::{Algorithm, Budget, ModelKind, TrainConfig, default_delta};
use crate::accounting::Conversion;
use crate::data::Schema;
use crate::error::{Error, Fallible};
use crate::kernel::{FULL_SCALE, Shape};
use crate::optim::{
    AdaSsp, BoostedAdaSsp, DpFtrl, DpGd, DpGdTheory, Localization, MomentParts, MomentPlan, Newton, NewtonDoubleNoise,
    Optimizer, Planned, Problem, WhitenedDpGd,
};
use crate::preprocess::shape_of;
use crate::privacy::{DatasetId, Delta, GaussianEvent, NoiseLaw, Rho, Scope, total_rho};

/// Share of rho for the release of count, means and squares: logistic, linear.
const MOMENT_SHARE: [f64; 2] = [0.05, 0.10];

/// Share of rho for a release of the count alone.
const COUNT_SHARE: f64 = 0.02;

/// Deviations at which standardised features are cut: logistic, linear.
const FEATURE_LIMIT: [f64; 2] = [2.0, 3.0];

/// Deviations at which a standardised regression target is cut.
const TARGET_LIMIT: f64 = 6.0;

/// Most coefficients for which `auto` pays for a Gram matrix.
const MOST_WHITENED: usize = 1024;

/// Where the number of rows is public: the largest ratio of the Gram matrix's noise to the mean eigenvalue for which
/// `auto` pays for it.
const MOST_GRAM_NOISE: f64 = 30.0;

/// A checked and calibrated training run: a pure function of configuration, schema and public facts.
///
/// # Privacy
/// The total cost of [`Plan::events`] is at most [`Plan::rho`], exactly; `rho` was rounded down when it
/// was derived from epsilon and delta, by the exact Gaussian trade-off for floored normal noise (Balle
/// and Wang 2018, Theorem 8) and by the optimal zCDP conversion for discrete Gaussian noise (Canonne,
/// Kamath, Steinke 2020, Proposition 12).
#[derive(Debug)]
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
    /// The optimizer.
    pub optimizer: Box<dyn Optimizer>,
    /// Law of the noise.
    pub noise: NoiseLaw,
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
        // Categories alone leave nothing to standardise.
        let anything = shape.numeric() > 0 || model == ModelKind::Linear;
        let standardise = anything && config.standardise.unwrap_or(config.algorithm != Algorithm::DpGdTheory);
        let moments = plan_moments(config, &shape, model, &rho, standardise, rows.is_some())?;
        let spent = moments.as_ref().map_or(Rho::zero(), |plan| plan.planned().event.rho());
        let problem = Problem {
            shape: &shape,
            adjacency: config.adjacency,
            loss: model.loss(),
            unit: unit_of(standardise, model),
            rows: rows.map(|(n, _)| n),
            noise: config.noise,
            budget: rho.minus(&spent),
            settings: &config.settings,
        };
        let (algorithm, optimizer) = choose(config.algorithm, standardise, &problem)?;
        let plan = Plan {
            scope: Scope { dataset: DatasetId::new(schema.name.clone())?, adjacency: config.adjacency },
            model,
            algorithm,
            delta,
            delta_by_rule,
            rho,
            rows,
            standardise,
            moments,
            optimizer,
            noise: config.noise,
            dimension: shape.dimension(),
            numeric_columns: shape.numeric(),
        };
        if total_rho(&plan.events()) > plan.rho {
            return Err(Error::numerical("plan", "its exact cost exceeds the budget"));
        }
        Ok(plan)
    }

    /// Every kind of release of the run, in order.
    pub fn planned(&self) -> Vec<Planned> {
        self.moments.iter().map(MomentPlan::planned).chain(self.optimizer.planned()).collect()
    }

    /// The events to pay for, in order.
    pub fn events(&self) -> Vec<GaussianEvent> {
        self.planned().into_iter().map(|planned| planned.event).collect()
    }

    /// Number of optimizer steps.
    pub fn steps(&self) -> u64 {
        self.planned()
            .iter()
            .filter(|planned| planned.query.is_step())
            .map(|planned| planned.event.count * planned.query.parts())
            .sum()
    }

    /// Deviations at which features and target are cut.
    pub fn limits(&self) -> (f64, f64) {
        (FEATURE_LIMIT[index(self.model)], TARGET_LIMIT)
    }

    /// The conversion whose epsilon is official for this noise.
    pub fn conversion(&self) -> Conversion {
        official_conversion(self.noise)
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

/// The optimizer of an algorithm; `auto` is settled here.
fn choose(algorithm: Algorithm, standardise: bool, problem: &Problem<'_>) -> Fallible<(Algorithm, Box<dyn Optimizer>)> {
    Ok(match algorithm {
        Algorithm::Auto => {
            // A budget too small for a Gram matrix is no reason to fail: the plain method needs none.
            match WhitenedDpGd::plan(problem) {
                Ok(plan) if standardise && gram_pays(&plan, problem) => (Algorithm::Whitened, Box::new(plan)),
                _ => (Algorithm::DpGd, Box::new(DpGd::plan(problem)?)),
            }
        }
        Algorithm::Whitened => (algorithm, Box::new(WhitenedDpGd::plan(problem)?)),
        Algorithm::DpGd => (algorithm, Box::new(DpGd::plan(problem)?)),
        Algorithm::DpGdTheory => (algorithm, Box::new(DpGdTheory::plan(problem)?)),
        Algorithm::AdaSsp => (algorithm, Box::new(AdaSsp::plan(problem)?)),
        Algorithm::BoostedAdaSsp => (algorithm, Box::new(BoostedAdaSsp::plan(problem)?)),
        Algorithm::NewtonDoubleNoise => (algorithm, Box::new(NewtonDoubleNoise::plan(problem)?)),
        Algorithm::Localization => (algorithm, Box::new(Localization::plan(problem)?)),
        Algorithm::DpFtrl => (algorithm, Box::new(DpFtrl::plan(problem)?)),
        Algorithm::Newton => (algorithm, Box::new(Newton::plan(problem)?)),
    })
}

/// Whether the Gram matrix will tell more than noise: few enough coefficients, and, where the number of rows is
/// public, noise of moderate size beside the mean eigenvalue `1 / d`.
fn gram_pays(plan: &WhitenedDpGd, problem: &Problem<'_>) -> bool {
    let d = problem.dimension() as f64;
    let noise = |rows: u64| (2.0 * d).sqrt() * d / (plan.gram_signal() * rows.max(1) as f64);
    problem.dimension() <= MOST_WHITENED && problem.rows.is_none_or(|rows| noise(rows) <= MOST_GRAM_NOISE)
}
