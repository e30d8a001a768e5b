//! The privacy statement: a pure function of a few recorded facts, so that anyone can recompute it.

use serde::{Deserialize, Serialize};

use super::config::{Algorithm, ModelKind};
use super::plan::{Plan, official_conversion};
use crate::accounting::{Conversion, gaussian};
use crate::error::{Error, Fallible};
use crate::kernel::{MomentWeights, Shape};
use crate::ledger::{ExactRho, Position};
use crate::num::round::{decimal_down, decimal_up};
use crate::optim::{Averaging, DpGd};
use crate::privacy::{Adjacency, Delta, GaussianEvent, NoiseLaw, total_rho};
use crate::private::PrivateDataset;

/// Name and version of the statement format.
const SCHEMA: &str = "rhograd-statement/1";

/// Significant digits of upward-rounded numbers.
const DIGITS: u32 = 7;

/// What happened, as recorded; every other number of a statement follows from these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The custodian's name of the data set.
    pub dataset: String,
    /// Neighbouring relation.
    pub adjacency: Adjacency,
    /// Every release, in order, as integers.
    pub events: Vec<GaussianEvent>,
    /// Integer weights of the moments release, if there was one; its sensitivity follows from them.
    pub moment_weights: Option<MomentWeights>,
    /// Number of numeric columns.
    pub numeric_columns: usize,
    /// Whether features were standardised by released moments.
    pub standardised: bool,
    /// The budget that the run was allowed.
    pub budget_rho: ExactRho,
    /// Delta of the report, as decimal text.
    pub delta: String,
    /// Where delta came from.
    pub delta_origin: String,
    /// Model family.
    pub model: ModelKind,
    /// Algorithm that ran.
    pub algorithm: Algorithm,
    /// Number of coefficients.
    pub dimension: usize,
    /// Clip norm of one row's gradient, in feature units.
    pub clip_norm: f64,
    /// The clip norm in grid steps.
    pub clip_grid: u64,
    /// Step size on the mean loss.
    pub learning_rate: f64,
    /// Momentum.
    pub momentum: f64,
    /// l2 penalty.
    pub l2: f64,
    /// Projection radius, if any.
    pub radius: Option<f64>,
    /// Which iterate was returned.
    pub averaging: Averaging,
    /// The public row count, if one was used.
    pub rows: Option<u64>,
    /// Where the row count came from.
    pub rows_origin: String,
    /// SHA-256 of the schema.
    pub schema_sha256: String,
    /// Whether the noise came from the operating system's randomness.
    pub secret_noise: bool,
    /// Whether the schema was drafted from the rows.
    pub drafted_schema: bool,
    /// The charge, if a durable ledger holds it.
    pub ledger: Option<LedgerFacts>,
    /// Version of the program that wrote the file.
    pub version: String,
}

/// What the ledger said when the run was charged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerFacts {
    /// The entry of the charge.
    pub position: Position,
    /// Random name of the run.
    pub run: String,
    /// Cap of the data set, if it has one.
    pub cap_rho: Option<ExactRho>,
    /// Total of the data set after the charge.
    pub spent_after: ExactRho,
    /// How often the cap was raised.
    pub cap_raised: u64,
}

impl Facts {
    pub(super) fn new(plan: &Plan, optimizer: &DpGd) -> Fallible<Self> {
        let rule = "public rule: a tenth of one over the public row count, at most 1e-5; 1e-6 without one";
        let (rows, origin) = match plan.rows {
            Some((rows, origin)) => (Some(rows), origin),
            None => (None, "released with the moments"),
        };
        Ok(Facts {
            dataset: plan.scope.dataset.to_string(),
            adjacency: plan.scope.adjacency,
            events: plan.events(),
            moment_weights: plan.moments.as_ref().map(|moments| *moments.weights()),
            numeric_columns: plan.numeric_columns,
            standardised: plan.standardise,
            budget_rho: ExactRho::new(&plan.rho)?,
            delta: format!("{:e}", plan.delta.value()),
            delta_origin: if plan.delta_by_rule { rule.into() } else { "given by the user".into() },
            model: plan.model,
            algorithm: plan.algorithm,
            dimension: plan.dimension,
            clip_norm: optimizer.clip_norm,
            clip_grid: plan.gradient.clip_grid,
            learning_rate: optimizer.learning_rate,
            momentum: optimizer.momentum,
            l2: optimizer.l2,
            radius: optimizer.radius,
            averaging: optimizer.averaging,
            rows,
            rows_origin: origin.into(),
            schema_sha256: String::new(),
            secret_noise: true,
            drafted_schema: false,
            ledger: None,
            version: env!("CARGO_PKG_VERSION").into(),
        })
    }

    /// Delta as a number.
    pub(super) fn delta(&self) -> Fallible<Delta> {
        Delta::new(self.delta.parse().unwrap_or(f64::NAN))
    }

    /// l2 sensitivity of the clipped gradient sum in feature units.
    pub(super) fn sensitivity(&self) -> f64 {
        self.adjacency.sum_sensitivity(1) as f64 * self.clip_norm
    }

    /// The tightest conversion that holds for all releases together.
    fn conversion(&self) -> Conversion {
        let floored = self.events.iter().all(|event| event.noise == NoiseLaw::FlooredNormal);
        official_conversion(if floored { NoiseLaw::FlooredNormal } else { NoiseLaw::DiscreteGaussian })
    }

    /// Why the run protects nobody; empty if it does.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.secret_noise {
            faults.push("the noise came from a fixed seed".into());
        }
        if self.drafted_schema {
            faults.push("bounds and values of the schema were read off the rows (\"draft\": true)".into());
        }
        faults
    }
}

macro_rules! part {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
    };
}

part! {
    /// A machine-readable privacy statement; every field is required.
    Statement {
        /// Name and version of the format, `rhograd-statement/1`.
        schema: String,
        /// Whether the guarantee holds at all.
        dp: bool,
        /// The guarantee in one sentence.
        statement: String,
        /// Why `dp` is false.
        reasons_not_dp: Vec<String>,
        /// Who sees what.
        setting: Setting,
        /// What kind of guarantee.
        definition: Definition,
        /// How much.
        guarantee: Guarantee,
        /// What touched the data.
        scope: ScopeOfUse,
        /// How.
        mechanism: MechanismPart,
        /// The data set.
        dataset: DatasetPart,
        /// What the guarantee does not cover.
        limits: Vec<String>,
        /// The recorded facts from which everything above follows.
        facts: Facts,
    }
}

part! {
    /// Trust model.
    Setting {
        /// Central or local.
        model: String,
        /// Whether the custodian is trusted with the rows.
        curator_trusted: bool,
        /// Everything the guarantee covers.
        released: Vec<String>,
        /// The adversary.
        adversary: String,
    }
}

part! {
    /// Notion of privacy.
    Definition {
        /// Name of the notion.
        notion: String,
        /// Protected unit.
        unit: String,
        /// Rows one person may have; not bounded here.
        max_rows_per_person: Option<u64>,
        /// Neighbouring relation.
        adjacency: Adjacency,
        /// What a neighbour may differ in.
        protects: Vec<String>,
        /// Whether the number of rows is public.
        row_count_is_public: bool,
    }
}

part! {
    /// The numbers, rounded upward.
    Guarantee {
        /// Exact rho.
        rho: ExactRho,
        /// rho as a decimal, rounded upward.
        rho_upper: String,
        /// mu of Gaussian DP, rounded upward; absent for discrete noise.
        gaussian_mu: Option<String>,
        /// Delta of the epsilons.
        delta: String,
        /// The official epsilon.
        epsilon: String,
        /// Which of the following is official, and why it is valid.
        conversion: String,
        /// By the exact Gaussian trade-off; absent for discrete noise.
        epsilon_exact: Option<String>,
        /// By the optimal zCDP conversion.
        epsilon_zcdp: String,
        /// By the classical zCDP conversion.
        epsilon_zcdp_classical: String,
    }
}

part! {
    /// One kind of access to the data.
    Access {
        /// What was released.
        what: String,
        /// How often.
        count: u64,
        /// Noise standard deviation over l2 sensitivity, rounded downward.
        noise_multiplier: String,
        /// rho of all of them, rounded upward.
        rho_upper: String,
    }
}

part! {
    /// Everything that touched the data.
    ScopeOfUse {
        /// Accesses, in order.
        data_accesses: Vec<Access>,
        /// Preprocessing.
        preprocessing: String,
        /// Hyper-parameter search.
        hyperparameter_search: String,
        /// Pretraining data.
        pretraining_data: String,
        /// Evaluation.
        evaluation_on_private_data: String,
    }
}

part! {
    /// The mechanism of the gradient steps.
    MechanismPart {
        /// Law of the noise.
        name: String,
        /// Subsampling.
        sampling: String,
        /// Clip norm.
        clip_norm: f64,
        /// Norm that is clipped.
        norm: String,
        /// Gradient releases.
        steps: u64,
        /// Noise standard deviation over l2 sensitivity.
        noise_multiplier: f64,
        /// Noise standard deviation on each coordinate of the sum of gradients.
        sigma: f64,
        /// Arithmetic of clip, sum and noise.
        arithmetic: String,
        /// Source of randomness.
        rng: String,
    }
}

part! {
    /// The data set by name only.
    DatasetPart {
        /// The custodian's name.
        id: String,
        /// Never a hash of rows.
        hash: Option<String>,
    }
}

impl Statement {
    /// Computes the statement that follows from recorded facts.
    ///
    /// # Errors
    /// When the facts are inconsistent or no bound can be computed.
    pub fn new(facts: Facts) -> Fallible<Self> {
        let gradient = gradient_event(&facts)?.clone();
        check_moments(&facts)?;
        let guarantee = Guarantee::of(&facts)?;
        let faults = facts.faults();
        Ok(Statement {
            schema: SCHEMA.into(),
            dp: faults.is_empty(),
            statement: sentence(&facts, &guarantee, &faults),
            reasons_not_dp: faults,
            setting: Setting::standard(),
            definition: Definition::of(&facts),
            guarantee,
            scope: ScopeOfUse::of(&facts),
            mechanism: MechanismPart {
                name: match gradient.noise {
                    NoiseLaw::FlooredNormal => "floor of an exact normal (Karney 2016)".into(),
                    NoiseLaw::DiscreteGaussian => "discrete Gaussian (Canonne, Kamath, Steinke 2020)".into(),
                },
                sampling: "full batch".into(),
                clip_norm: facts.clip_norm,
                norm: "l2, intercept included".into(),
                steps: gradient.count,
                noise_multiplier: gradient.noise_multiplier(),
                sigma: facts.sensitivity() * gradient.noise_multiplier(),
                arithmetic: "exact integers".into(),
                rng: if facts.secret_noise {
                    "ChaCha20 keyed by the operating system, fresh for this run".into()
                } else {
                    "ChaCha20 with a fixed seed: not private".into()
                },
            },
            dataset: DatasetPart { id: facts.dataset.clone(), hash: None },
            limits: limits(&facts),
            facts,
        })
    }
}

/// The event of the gradient steps, checked against the recorded clip.
fn gradient_event(facts: &Facts) -> Fallible<&GaussianEvent> {
    for event in &facts.events {
        event.check()?;
        if event.count >= 1 << 32 {
            return Err(damaged("records more releases than a run can make"));
        }
    }
    let last = facts.events.last().ok_or_else(|| damaged("records no release"))?;
    if facts.clip_grid == 0 || facts.adjacency.sum_sensitivity(facts.clip_grid) != last.sensitivity {
        return Err(damaged("the sensitivity does not follow from clip and adjacency"));
    }
    if !facts.sensitivity().is_finite() {
        return Err(damaged("the clip norm is not finite"));
    }
    Ok(last)
}

/// Moments cost what their weights say, and nothing derived from moments was used without them.
fn check_moments(facts: &Facts) -> Fallible<()> {
    let Some(weights) = &facts.moment_weights else {
        return match (facts.events.len(), facts.standardised, facts.rows) {
            (1, false, Some(_)) => Ok(()),
            _ => Err(damaged("moments or a row count were used that no release records")),
        };
    };
    let shape = Shape::new(facts.numeric_columns, &[]);
    let sensitivity = PrivateDataset::moment_sensitivity(facts.adjacency, &shape, weights);
    let counted = weights.count > 0;
    if facts.events.len() != 2 || facts.events[0].sensitivity != sensitivity || facts.events[0].count != 1 {
        return Err(damaged("the sensitivity of the moments does not follow from their weights"));
    }
    if counted == facts.rows.is_some() || (facts.standardised && weights.features == 0) {
        return Err(damaged("moments or a row count were used that no release records"));
    }
    Ok(())
}

fn damaged(why: &str) -> Error {
    Error::parameter("statement", why, "the file is damaged or was edited")
}

impl Guarantee {
    fn of(facts: &Facts) -> Fallible<Self> {
        let delta = facts.delta()?;
        let rho = total_rho(&facts.events);
        let epsilon = |by: Conversion| by.epsilon(rho.upper(), delta).map(|e| decimal_up(e.value(), DIGITS));
        let official = facts.conversion();
        let floored = official == Conversion::Exact;
        let mu = gaussian::mu_upper_from_rho(rho.upper())?;
        Ok(Guarantee {
            rho: ExactRho::new(&rho)?,
            rho_upper: rho.as_dyadic().to_decimal_up(DIGITS),
            gaussian_mu: floored.then(|| decimal_up(mu, DIGITS)),
            delta: facts.delta.clone(),
            epsilon: epsilon(official)?,
            conversion: match official {
                Conversion::Exact => "exact Gaussian trade-off (Balle and Wang 2018, Theorem 8); valid because every \
                     release is a post-processing of the continuous Gaussian mechanism"
                    .into(),
                Conversion::Optimal | Conversion::Classical => {
                    "optimal-order zCDP conversion (Canonne, Kamath, Steinke 2020, Proposition 12)".into()
                }
            },
            epsilon_exact: if floored { Some(epsilon(Conversion::Exact)?) } else { None },
            epsilon_zcdp: epsilon(Conversion::Optimal)?,
            epsilon_zcdp_classical: epsilon(Conversion::Classical)?,
        })
    }
}

impl Setting {
    fn standard() -> Self {
        let released = ["model", "statement", "log", "noised sums", "iterates", "exit code"];
        Setting {
            model: "central".into(),
            curator_trusted: true,
            released: released.map(String::from).to_vec(),
            adversary: "sees everything released, knows all other rows, may choose every setting; \
                 has no access to the host, its memory or its timing"
                .into(),
        }
    }
}

impl Definition {
    fn of(facts: &Facts) -> Self {
        let adjacency = facts.adjacency;
        let protects: &[&str] = match adjacency {
            Adjacency::AddRemove => &["features", "label", "presence"],
            Adjacency::ReplaceOne => &["features", "label"],
        };
        Definition {
            notion: match facts.conversion() {
                Conversion::Exact => "Gaussian DP and zCDP".into(),
                Conversion::Optimal | Conversion::Classical => "zCDP".into(),
            },
            unit: "row".into(),
            max_rows_per_person: None,
            adjacency,
            protects: protects.iter().map(|s| (*s).into()).collect(),
            row_count_is_public: adjacency.row_count_is_public(),
        }
    }
}

impl ScopeOfUse {
    fn of(facts: &Facts) -> Self {
        let access = |event: &GaussianEvent| Access {
            what: event.what.clone(),
            count: event.count,
            noise_multiplier: decimal_down(event.noise_multiplier(), DIGITS),
            rho_upper: event.rho().as_dyadic().to_decimal_up(DIGITS),
        };
        ScopeOfUse {
            data_accesses: facts.events.iter().map(access).collect(),
            preprocessing: match facts.standardised {
                true => "by the public schema and by released moments only".into(),
                false => "by the public schema only".into(),
            },
            hyperparameter_search: match facts.ledger {
                Some(_) => "this run is charged; other runs are charged to the same ledger on their own".into(),
                None => "no ledger: choices made by looking at other runs are not covered".into(),
            },
            pretraining_data: "none".into(),
            evaluation_on_private_data: "none".into(),
        }
    }
}

fn sentence(facts: &Facts, guarantee: &Guarantee, faults: &[String]) -> String {
    if !faults.is_empty() {
        return format!("NOT PRIVATE: {}.", faults.join("; "));
    }
    let change = match facts.adjacency {
        Adjacency::AddRemove => "adding or removing one row",
        Adjacency::ReplaceOne => "replacing one row",
    };
    let why = match &guarantee.gaussian_mu {
        Some(mu) => format!("are {mu}-Gaussian DP (hence {}-zCDP)", guarantee.rho_upper),
        None => format!("are {}-zCDP", guarantee.rho_upper),
    };
    format!(
        "Model, log and this statement together {why}, and hence ({}, {})-differentially private, with respect to {change}.",
        guarantee.epsilon, guarantee.delta
    )
}

fn limits(facts: &Facts) -> Vec<String> {
    let mut limits = vec![
        "protects rows, not persons with several rows".to_string(),
        "timing and memory of the training host are out of scope".to_string(),
        "holds only if the schema, the row count and the settings were not chosen by looking at the rows".to_string(),
    ];
    limits.push(match &facts.ledger {
        Some(_) => "the budget binds only runs recorded in this ledger".to_string(),
        None => "no durable ledger recorded this run; nothing binds further runs on the data set".to_string(),
    });
    limits
}
