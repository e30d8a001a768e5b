//! The privacy statement: a pure function of a few recorded facts, so that anyone can recompute it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::{Algorithm, ModelKind};
use super::plan::{Plan, official_conversion};
use crate::accounting::{Conversion, gaussian};
use crate::error::{Error, Fallible};
use crate::ledger::{ExactRho, Position};
use crate::num::round::{decimal_down, decimal_up};
use crate::optim::Record;
use crate::privacy::{Adjacency, Delta, GaussianEvent, NoiseLaw, total_rho};
use crate::private::{PhasePlan, Query};

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
    /// Every kind of release, in order.
    pub releases: Vec<ReleaseFacts>,
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
    /// Settings of the algorithm; they cost nothing and bind nobody.
    pub settings: BTreeMap<String, Value>,
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

/// One kind of release: what was paid for, what was asked, and what a grid step stood for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseFacts {
    /// The event, in integers.
    pub event: GaussianEvent,
    /// The query, whose sensitivity must be the event's.
    pub query: Query,
    /// What one grid step stood for in the reader's units.
    pub unit: f64,
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
    pub(super) fn new(plan: &Plan, records: Vec<Record>, settings: BTreeMap<String, Value>) -> Fallible<Self> {
        let release = |record: Record| ReleaseFacts {
            event: record.planned.event,
            query: record.planned.query,
            unit: record.unit,
        };
        let rule = "public rule: a tenth of one over the public row count, at most 1e-5; 1e-6 without one";
        let (rows, origin) = match plan.rows {
            Some((rows, origin)) => (Some(rows), origin),
            None => (None, "released with the moments"),
        };
        Ok(Facts {
            dataset: plan.scope.dataset.to_string(),
            adjacency: plan.scope.adjacency,
            releases: records.into_iter().map(release).collect(),
            numeric_columns: plan.numeric_columns,
            standardised: plan.standardise,
            budget_rho: ExactRho::new(&plan.rho)?,
            delta: format!("{:e}", plan.delta.value()),
            delta_origin: if plan.delta_by_rule { rule.into() } else { "given by the user".into() },
            model: plan.model,
            algorithm: plan.algorithm,
            dimension: plan.dimension,
            settings,
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

    /// The events that were paid for, in order.
    pub fn events(&self) -> Vec<GaussianEvent> {
        self.releases.iter().map(|release| release.event.clone()).collect()
    }

    /// The release that the model follows from: the steps, or the last one.
    fn main_release(&self) -> Fallible<&ReleaseFacts> {
        let steps = self.releases.iter().rfind(|release| release.query.is_step());
        steps.or(self.releases.last()).ok_or_else(|| damaged("records no release"))
    }

    /// Number of optimizer steps.
    fn steps(&self) -> u64 {
        let steps = self.releases.iter().filter(|release| release.query.is_step());
        let counts = steps.map(|release| release.event.count.saturating_mul(release.query.parts()));
        counts.fold(0, u64::saturating_add)
    }

    /// The tightest conversion that holds for all releases together.
    fn conversion(&self) -> Conversion {
        let floored = self.releases.iter().all(|release| release.event.noise == NoiseLaw::FlooredNormal);
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
        check_releases(&facts)?;
        let main = facts.main_release()?.clone();
        let multiplier = main.event.noise_multiplier();
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
                name: match main.event.noise {
                    NoiseLaw::FlooredNormal => "floor of an exact normal (Karney 2016)".into(),
                    NoiseLaw::DiscreteGaussian => "discrete Gaussian (Canonne, Kamath, Steinke 2020)".into(),
                },
                sampling: sampling(&main.query),
                clip_norm: main.clip_norm(),
                norm: "l2, intercept included".into(),
                steps: facts.steps(),
                noise_multiplier: multiplier,
                sigma: main.event.sensitivity as f64 * main.unit * multiplier,
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

/// Which rows a release reads.
fn sampling(query: &Query) -> String {
    match query {
        Query::PrefixSums { batches, .. } => {
            format!(
                "one pass over {batches} batches; each row is in one, by a secret draw of its own; no amplification claimed"
            )
        }
        Query::Phases { plan } => {
            format!("one pass over {} disjoint blocks in secret order; no amplification claimed", plan.phases())
        }
        Query::Moments { .. }
        | Query::Gram { .. }
        | Query::Hessian { .. }
        | Query::Direction { .. }
        | Query::ClippedSum { .. } => "full batch".into(),
    }
}

impl ReleaseFacts {
    /// Largest norm of one row's part in the sum, in the reader's units.
    fn clip_norm(&self) -> f64 {
        match self.query {
            Query::ClippedSum { bound } | Query::PrefixSums { bound, .. } => bound as f64 * self.unit,
            Query::Moments { .. }
            | Query::Gram { .. }
            | Query::Hessian { .. }
            | Query::Direction { .. }
            | Query::Phases { .. } => self.event.sensitivity as f64 * self.unit,
        }
    }
}

/// Every event costs what its query says, and nothing was used that no release records.
fn check_releases(facts: &Facts) -> Fallible<()> {
    for ReleaseFacts { event, query, unit } in &facts.releases {
        event.check()?;
        if event.count >= 1 << 32 {
            return Err(damaged("records more releases than a run can make"));
        }
        if event.sensitivity != query.sensitivity(facts.adjacency) {
            return Err(damaged("a sensitivity does not follow from its query and the adjacency"));
        }
        if !(*unit > 0.0 && unit.is_finite()) {
            return Err(damaged("a grid step stands for no length"));
        }
    }
    let foreign = |plan: &PhasePlan| Some(plan.rows) != facts.rows || plan.dimension != facts.dimension;
    if facts.releases.iter().any(|release| matches!(&release.query, Query::Phases { plan } if foreign(plan))) {
        return Err(damaged("a release is of another number of rows or coefficients"));
    }
    let moments = facts.releases.iter().find_map(|release| match &release.query {
        Query::Moments { weights, columns } => Some((weights, *columns)),
        _ => None,
    });
    let counted = moments.is_some_and(|(weights, _)| weights.count > 0);
    let featured = moments.is_some_and(|(weights, _)| weights.features > 0);
    if moments.is_some_and(|(_, columns)| columns != facts.numeric_columns)
        || counted == facts.rows.is_some()
        || (facts.standardised && !featured)
    {
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
        let rho = total_rho(&facts.events());
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
            data_accesses: facts.releases.iter().map(|release| access(&release.event)).collect(),
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
