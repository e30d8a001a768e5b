//! Everything that is fixed before the first release: budget, standardisation, algorithm.

use super::config::{Budget, TrainConfig, check_delta, default_delta};
use super::tune::Candidate;
use crate::accounting::{Conversion, claim};
use crate::data::{Estimand, RowWeight, Schema, Unit};
use crate::error::{Error, Fallible};
use crate::grid::{FULL_SCALE, PublicColumns, Shape, WEIGHT_ONE};
use crate::loss::Objective;
use crate::model_kind::{Link, ModelKind};
use crate::optim::{
    Adaptive, Additive, Algorithm, BinPlan, HoldoutPlan, MomentParts, MomentPlan, Optimizer, Planned, Problem, Rich,
    Settings, StraightPlan, Target, Tuned, WavePlan,
};
use crate::preprocess::{Waves, shape_of};
use crate::privacy::{Charge, DatasetId, Delta, Epsilon, NoiseLaw, PrivacyUnit, Rho, Scope, total_rho};
use crate::private::{HoldOut, Query, training_rows};

/// Share of rho for the release of count, means and squares: classification, regression.
const MOMENT_SHARE: [f64; 2] = [0.05, 0.10];

/// Share of rho for a release of the count alone.
const COUNT_SHARE: f64 = 0.02;

/// Deviations at which standardised features are cut: classification, regression.
const FEATURE_LIMIT: [f64; 2] = [2.0, 3.0];

/// Rows that take no part in training, and what is released from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Holdout {
    /// Share of the rows that is held out.
    pub share: f64,
    /// The release.
    pub scores: HoldoutPlan,
}

impl Holdout {
    fn new(config: &TrainConfig, loss: Objective, rho: &Rho) -> Fallible<Option<Self>> {
        let Some(budget) = config.evaluate_budget else { return Ok(None) };
        let scores = HoldoutPlan::new(loss, config.adjacency, budget * rho.lower(), config.noise)?;
        Ok(Some(Holdout { share: config.holdout, scores }))
    }

    /// How rows are chosen: an exact number of them where all may know how many there are, else by coins.
    pub(crate) fn choice(&self, public_len: Option<u64>) -> HoldOut {
        match public_len {
            Some(n) => HoldOut::Exactly { rows: n - training_rows(n, Some(self.share)) },
            None => HoldOut::Coins { exponent: (-(-self.share).ln_1p() * 2f64.powi(64)) as u64 },
        }
    }
}

/// Plans an optimizer from public facts; see [`super::load_with`].
pub type Planner<'a> = dyn Fn(&Problem<'_>) -> Fallible<Box<dyn Optimizer>> + 'a;

/// An optimizer and the name it goes by.
type Choice = (Algorithm, Box<dyn Optimizer>);

/// A checked and calibrated training run: a pure function of configuration, schema and public facts.
///
/// # Privacy
/// The total cost of [`Plan::charges`] is at most [`Plan::rho`], exactly; `rho` was rounded down when it
/// was derived from epsilon and delta, by the exact Gaussian trade-off for floored normal noise (Balle
/// and Wang 2018, Theorem 8) and by the optimal zCDP conversion for discrete Gaussian noise (Canonne,
/// Kamath, Steinke 2020, Proposition 12).
#[derive(Debug)]
pub struct Plan {
    /// Data set and relation.
    pub scope: Scope,
    /// Model family.
    pub model: ModelKind,
    /// Whose mean is estimated; that of persons means nothing where rows are the unit.
    pub estimand: Estimand,
    /// The algorithm that runs; never `Auto`.
    pub algorithm: Algorithm,
    /// The delta of all reported epsilons.
    pub delta: Delta,
    /// Whether delta came from the default rule.
    pub delta_by_rule: bool,
    /// Budget that may be spent, if all of it goes to Gaussian releases from all rows.
    pub rho: Rho,
    /// Budget as it was given, if not as rho.
    pub epsilon: Option<Epsilon>,
    /// The public row count, and where it came from, if there is one.
    pub rows: Option<(u64, &'static str)>,
    /// How much rows count, where they do not all count alike.
    pub weight: Option<RowWeight>,
    /// Which columns are public, where some are and others are not.
    pub public: Option<PublicColumns>,
    /// Whether features are standardised by released moments.
    pub standardize: bool,
    /// Release of moments, if any.
    pub moments: Option<MomentPlan>,
    /// Release of the counts of every column, if any.
    pub bins: Option<BinPlan>,
    /// Release of what columns do together, if any.
    pub(super) waves: Option<WavePlan>,
    /// Release of the covariance that straight lines are whitened by, if any.
    pub(super) straight: Option<StraightPlan>,
    /// Rows held out, and the release of metrics on them, if any.
    pub holdout: Option<Holdout>,
    /// The optimizer.
    pub optimizer: Box<dyn Optimizer>,
    /// Law of the noise.
    pub noise: NoiseLaw,
    /// Number of coefficients.
    pub dimension: usize,
    /// Margins per row, each with its share of the coefficients.
    pub outputs: usize,
    /// Number of numeric columns.
    pub numeric_columns: usize,
}

impl Plan {
    /// What the run may cost, for people.
    pub(super) fn in_words(&self) -> String {
        let delta = Some(self.delta);
        let budget = match self.epsilon {
            Some(epsilon) => Budget::Epsilon(epsilon, delta),
            None => Budget::Rho(self.rho.clone(), delta),
        };
        budget.in_words()
    }

    /// Plans a run; `public_len` is the number of rows where the adjacency makes it public.
    ///
    /// # Errors
    /// When a setting is out of range or the budget cannot be met.
    pub fn new(config: &TrainConfig, schema: &Schema, public_len: Option<u64>) -> Fallible<Self> {
        Self::settle(config, schema, public_len, &|problem| match config.tune.is_empty() {
            true => config.algorithm.plan(problem),
            false => tuned(config, problem),
        })
    }

    /// Plans a run of an optimizer from outside this crate; the statement calls it "custom".
    ///
    /// # Errors
    /// When a setting is out of range or the budget cannot be met, and whatever the planner refuses.
    pub fn custom(
        config: &TrainConfig,
        schema: &Schema,
        public_len: Option<u64>,
        planner: &Planner<'_>,
    ) -> Fallible<Self> {
        let mut config = config.clone();
        // Nothing is released for additive effects that the optimizer does not ask for.
        if config.algorithm.cuts_columns() {
            config.algorithm = Algorithm::Custom;
        }
        Self::settle(&config, schema, public_len, &|problem| Ok((Algorithm::Custom, planner(problem)?)))
    }

    fn settle(
        config: &TrainConfig,
        schema: &Schema,
        public_len: Option<u64>,
        choice: &dyn Fn(&Problem<'_>) -> Fallible<Choice>,
    ) -> Fallible<Self> {
        config.check(schema)?;
        let shape = shape_of(schema);
        let scope = scope_of(config, schema)?;
        let model = model_of(config, schema);
        let rows = public_rows(config, schema, public_len);
        let (rho, delta, delta_by_rule) = budget(config, rows.map(|(n, _)| n))?;
        // Categories alone leave nothing to standardise.
        let anything = shape.numeric() > 0 || model.response().is_number();
        let additive = config.algorithm.cuts_columns();
        let standardize = anything
            && !additive
            && config.standardize.unwrap_or(config.algorithm != Algorithm::DpGdTheory || !config.tune.is_empty());
        let estimand = schema.unit.as_ref().map(Unit::estimand);
        let labels_alone = scope.unit == PrivacyUnit::Label;
        let public = schema.public_mask();
        // Moments of features that are public are free, and the target stays between its bounds.
        let weighted = schema.weight.is_some();
        // The sum of weights is not public where the number of rows is.
        let counted = rows.is_none() || weighted;
        let moments = match labels_alone {
            true => None,
            false => plan_moments(config, (&shape, public.as_ref()), model, &rho, (standardize, !counted, estimand))?,
        };
        let loss = model.loss(schema);
        let bins = additive.then(|| plan_bins(config, &shape, model, &rho)).transpose()?;
        let holdout = Holdout::new(config, loss, &rho)?;
        let l2 = Some(config.settings.l2.unwrap_or(model.default_l2()));
        let settings = Settings { l2, ..config.settings.clone() };
        let rich = config.algorithm == Algorithm::Rich;
        let lines = config.algorithm == Algorithm::Adaptive;
        let problem = Problem {
            shape: &shape,
            adjacency: config.adjacency,
            loss,
            one: if rich || lines { Waves::ONE } else { one_of(standardize, model) },
            standardized: standardize,
            binned: bins.is_some(),
            rows: rows.filter(|_| !weighted).map(|(n, _)| training_rows(n, holdout.as_ref().map(|part| part.share))),
            weighted,
            persons: scope.unit.is_person(),
            labels_alone,
            public: public.as_ref(),
            noise: config.noise,
            budget: rho.clone(),
            target: None,
            settings: &settings,
        };
        let waves = rich.then(|| WavePlan::new(&problem, rho.lower() * Rich::COVARIANCE_SHARE)).transpose()?;
        let share = Adaptive::covariance(model.response().is_number());
        let straight = lines.then(|| StraightPlan::new(&problem, &Rho::from_f64(rho.lower() * share)?)).transpose()?;
        let releases = moments
            .iter()
            .map(|moments| &moments.release)
            .chain(bins.iter().map(|bins| &bins.release))
            .chain(waves.iter().map(|waves| &waves.gram.release))
            .chain(straight.iter().map(|straight| &straight.gram.release))
            .chain(holdout.iter().map(|part| &part.scores.release));
        let before: Vec<Charge> = releases.map(|release| release.planned().charge).collect();
        let spent = total_rho(&before)?;
        let target = match config.budget {
            Budget::Epsilon(epsilon, _) => Some(epsilon),
            Budget::Rho(..) => None,
        };
        let problem = Problem {
            budget: rho.minus(&spent),
            target: target.map(|epsilon| Target { epsilon, delta, before: &before }),
            ..problem
        };
        let (algorithm, optimizer) = choice(&problem)?;
        if !problem.persons && !optimizer.planned().iter().all(|planned| planned.serves(&scope.unit)) {
            return Err(Error::parameter(
                "--algorithm",
                format!("{} releases what is proven for labels alone, and all of a row is protected", algorithm.name()),
                "add --protect label where all features are public, or use --algorithm auto",
            ));
        }
        if problem.persons && !optimizer.planned().iter().all(Planned::serves_persons) {
            let cure = match algorithm {
                Algorithm::Custom => "ask queries alone that say `Reads::persons`, or use --algorithm auto",
                _ => "use --algorithm auto, whitened, dp-gd, dp-sgd or newton",
            };
            return Err(Error::parameter(
                "--unit",
                format!("has no proof for --algorithm {}, whose bound is about single rows", algorithm.name()),
                cure,
            ));
        }
        if weighted {
            serves_weights(config, schema, model, algorithm, &optimizer.planned())?;
        }
        if estimand == Some(Estimand::Rows) {
            weighs_rows(algorithm)?;
        }
        let plan = Plan {
            scope,
            model,
            estimand: estimand.unwrap_or_default(),
            algorithm,
            delta,
            delta_by_rule,
            rho,
            epsilon: target,
            rows,
            weight: schema.weight.clone(),
            standardize,
            moments,
            bins,
            waves,
            straight,
            holdout,
            optimizer,
            noise: config.noise,
            dimension: problem.dimension(),
            outputs: problem.loss.outputs(),
            public: public.clone(),
            numeric_columns: shape.numeric(),
        };
        plan.planned().iter().try_for_each(|planned| planned.check(config.adjacency))?;
        if !plan.is_within_budget()? {
            return Err(Error::numerical("plan", "its exact cost exceeds the budget"));
        }
        Ok(plan)
    }

    /// Whether the exact cost, or a certified bound on epsilon where not all is Gaussian, is within the budget.
    fn is_within_budget(&self) -> Fallible<bool> {
        let charges = self.charges();
        let claimed = charges.iter().any(|charge| charge.claim().is_some());
        let chosen = charges.iter().any(|charge| matches!(charge, Charge::Exponential(_)));
        match self.epsilon {
            Some(epsilon) if claimed || chosen => {
                let bound = claim::epsilon(&charges, self.scope.adjacency, self.delta, epsilon.value())?;
                Ok(bound <= epsilon.value())
            }
            None if claimed => Err(Error::parameter(
                "--rho",
                "cannot bound an algorithm whose cost is no rho",
                "give --epsilon, or use another algorithm",
            )),
            _ => Ok(total_rho(&charges)? <= self.rho),
        }
    }

    /// Every kind of release of the run, in order.
    pub fn planned(&self) -> Vec<Planned> {
        let moments = self.moments.iter().map(|moments| moments.release.planned());
        let waves = self.waves.iter().map(|waves| waves.gram.release.planned());
        let straight = self.straight.iter().map(|straight| straight.gram.release.planned());
        let scores = self.holdout.iter().map(|part| part.scores.release.planned());
        let bins = self.bins.iter().map(|bins| bins.release.planned());
        moments.chain(bins).chain(waves).chain(straight).chain(self.optimizer.planned()).chain(scores).collect()
    }

    /// What to pay for, in order.
    pub fn charges(&self) -> Vec<Charge> {
        self.planned().into_iter().map(|planned| planned.charge).collect()
    }

    /// The number of rows that train, at least one, where that is public but for the coins of a hold-out.
    pub fn training_rows(&self) -> Option<u64> {
        let share = self.holdout.as_ref().map(|part| part.share);
        self.rows.map(|(n, _)| training_rows(n, share).max(1))
    }

    /// Number of optimizer steps.
    pub fn steps(&self) -> u64 {
        self.planned().iter().map(|planned| planned.charge.count() * planned.query.steps()).sum()
    }

    /// Deviations at which standardised features are cut.
    pub fn feature_limit(&self) -> f64 {
        FEATURE_LIMIT[index(self.model)]
    }

    /// The conversion whose epsilon is official for this noise.
    pub fn conversion(&self) -> Conversion {
        Conversion::tightest(self.noise)
    }
}

fn index(model: ModelKind) -> usize {
    usize::from(model.response().is_number())
}

fn one_of(standardize: bool, model: ModelKind) -> i16 {
    if standardize { (f64::from(FULL_SCALE) / FEATURE_LIMIT[index(model)]).floor() as i16 } else { FULL_SCALE }
}

/// Refuses algorithms whose solution is not where the clipped sum of gradients is nothing: their other sums weigh persons.
fn weighs_rows(algorithm: Algorithm) -> Fallible<()> {
    let refused = |problem: String, cure: &str| Err(Error::parameter("--estimand", problem, cure));
    match algorithm {
        Algorithm::Whitened | Algorithm::DpGd | Algorithm::DpSgd => Ok(()),
        Algorithm::Tuned => refused(
            "is rows, and --tune compares candidates by scores that weigh persons".into(),
            "train one of them with --algorithm, or leave --estimand out",
        ),
        Algorithm::Custom => refused(
            "is rows, and nothing says where an optimizer from outside ends: answers to all queries but clipped gradients weigh persons".into(),
            "train with Algorithm::Auto, Whitened, DpGd or DpSgd, or take Estimand::Persons",
        ),
        other => refused(
            format!(
                "is rows, and --algorithm {} adds up more than clipped gradients, which weighs persons",
                other.name()
            ),
            "use --algorithm auto, whitened, dp-gd or dp-sgd, or leave --estimand out",
        ),
    }
}

/// Refuses what has no proof for rows with weights.
fn serves_weights(
    config: &TrainConfig,
    schema: &Schema,
    model: ModelKind,
    algorithm: Algorithm,
    planned: &[Planned],
) -> Fallible<()> {
    let refused = |flag: &str, problem: String, cure: &str| Err(Error::parameter(flag, problem, cure));
    if schema.weight_columns()[1].is_some() && !matches!(model.link(), Link::LogRate { .. }) {
        let problem = format!("is for counts, and --model {} predicts none", model.name());
        return refused("--exposure", problem, "use --model poisson, or give exposures as weights of rates");
    }
    if schema.weight_columns()[2].is_some() && matches!(model.link(), Link::LogRate { .. }) {
        let problem = "is for log-odds, scores and numbers: of a count it is the logarithm of an exposure".into();
        return refused("--offset", problem, "give its exponential as --exposure, or use another --model");
    }
    if config.evaluate_budget.is_some() {
        let problem = "measures rows that all count alike, and the schema gives them weights".into();
        return refused("--evaluate-budget", problem, "leave it out, and measure with `rhograd evaluate`");
    }
    if !config.tune.is_empty() {
        let problem = "compares candidates by rows that all count alike, and the schema gives them weights".into();
        return refused("--tune", problem, "train one of the candidates with --algorithm");
    }
    if !planned.iter().all(Planned::serves_weights) {
        let problem = format!("{} has no proof for rows with weights", algorithm.name());
        let cure = "use auto, whitened, dp-gd, newton, adassp or additive, or leave the weights out";
        return refused("--algorithm", problem, cure);
    }
    let coarse = |planned: &Planned| match planned.query {
        // No row of the largest weight would be within such a clip.
        Query::ClippedSum(query) => query.clip_steps / WEIGHT_ONE < u64::from(FULL_SCALE.unsigned_abs()) / 4,
        _ => false,
    };
    if planned.iter().any(coarse) {
        let problem = format!("{} plans sums on a grid too coarse for rows with weights", algorithm.name());
        return refused("--algorithm", problem, "plan them by `ClippedPlan::through`, or use a larger budget");
    }
    Ok(())
}

/// What the guarantee of a run is about.
pub(super) fn scope_of(config: &TrainConfig, schema: &Schema) -> Fallible<Scope> {
    let dataset = DatasetId::new(schema.name.clone())?;
    Ok(Scope { dataset, adjacency: config.adjacency, unit: schema.privacy_unit() })
}

/// How many rows there are where all may know it; persons, where they are protected.
fn public_rows(config: &TrainConfig, schema: &Schema, public_len: Option<u64>) -> Option<(u64, &'static str)> {
    let persons = schema.unit.as_ref().and_then(|unit| unit.persons);
    public_len
        .map(|n| (n, "public under replace-one"))
        .or(config.rows.map(|n| (n, "declared on the command line")))
        .or(persons.or(schema.rows).map(|n| (n, "declared in the schema")))
}

/// The rho that may be spent, and the delta of the report.
fn budget(config: &TrainConfig, rows: Option<u64>) -> Fallible<(Rho, Delta, bool)> {
    let (given, by_rule) = match &config.budget {
        Budget::Epsilon(_, delta) | Budget::Rho(_, delta) => (*delta, delta.is_none()),
    };
    let delta = given.map_or_else(|| default_delta(rows), Ok)?;
    check_delta(delta, rows, config.accept_large_delta)?;
    let rho = match &config.budget {
        Budget::Epsilon(epsilon, _) => Rho::from_f64(Conversion::tightest(config.noise).max_rho(*epsilon, delta)?)?,
        Budget::Rho(rho, _) => rho.clone(),
    };
    Ok((rho, delta, by_rule))
}

fn plan_moments(
    config: &TrainConfig,
    (shape, public): (&Shape, Option<&PublicColumns>),
    model: ModelKind,
    rho: &Rho,
    (standardize, rows_are_public, persons): (bool, bool, Option<Estimand>),
) -> Fallible<Option<MomentPlan>> {
    let target = standardize && model.response().is_number();
    let share = match (standardize, rows_are_public) {
        (true, _) => MOMENT_SHARE[index(model)],
        (false, false) => COUNT_SHARE,
        (false, true) if persons.is_some() => COUNT_SHARE,
        (false, true) => return Ok(None),
    };
    let estimand = |wanted| persons.is_some_and(|estimand| estimand == wanted);
    let parts = MomentParts {
        count: !rows_are_public,
        features: standardize,
        target,
        shares: estimand(Estimand::Persons),
        sizes: estimand(Estimand::Rows),
    };
    let rho = rho.lower() * share;
    match public {
        Some(public) => MomentPlan::of_private(public, config.adjacency, rho, parts, config.noise),
        None => MomentPlan::new(shape, config.adjacency, rho, parts, config.noise).map(Some),
    }
}

fn plan_bins(config: &TrainConfig, shape: &Shape, model: ModelKind, rho: &Rho) -> Fallible<BinPlan> {
    let number = model.response().is_number();
    let (share, leaves) = Additive::counts(number);
    let plan = BinPlan::new(shape, config.adjacency, rho.lower() * share, (number, leaves), config.noise)?;
    Ok(if config.algorithm == Algorithm::Adaptive { plan.fine(FEATURE_LIMIT[index(model)]) } else { plan })
}

/// The choice among the candidates of a request.
fn tuned(config: &TrainConfig, problem: &Problem<'_>) -> Fallible<Choice> {
    let names = config.tune.iter().map(|candidate| candidate.name.clone()).collect();
    let planner = |index: usize, problem: &Problem<'_>| {
        let candidate: &Candidate = &config.tune[index];
        let settings = Settings { l2: candidate.settings.l2.or(problem.settings.l2), ..candidate.settings.clone() };
        let problem = Problem { settings: &settings, ..problem.clone() };
        candidate.algorithm.plan(&problem).map(|(_, optimizer)| optimizer)
    };
    Ok((Algorithm::Tuned, Box::new(Tuned::plan(problem, names, &planner)?)))
}

fn model_of(config: &TrainConfig, schema: &Schema) -> ModelKind {
    config.model.unwrap_or_else(|| ModelKind::of_schema(schema))
}
