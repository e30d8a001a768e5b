//! The privacy statement: a pure function of a few recorded facts, so that anyone can recompute it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::Algorithm;
use super::kind::ModelKind;
use super::plan::{Plan, official_conversion};
use crate::accounting::{Conversion, claim, gaussian};
use crate::error::{Error, Fallible};
use crate::ledger::{ExactRho, Position};
use crate::num::round::{decimal_down, decimal_up};
use crate::optim::Record;
use crate::privacy::{Adjacency, Charge, Delta, NoiseLaw, total_delta, total_rho};
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
    /// Probability with which a row was held out of training, if any were.
    pub holdout: Option<f64>,
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
    /// The cost, in integers.
    pub charge: Charge,
    /// The query, whose sensitivity must be the one that was paid for.
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
            charge: record.planned.charge,
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
            holdout: plan.holdout.as_ref().map(|holdout| holdout.share),
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

    /// What was paid for, in order.
    pub fn charges(&self) -> Vec<Charge> {
        self.releases.iter().map(|release| release.charge.clone()).collect()
    }

    /// The release that the model follows from: the steps, or the last one.
    fn main_release(&self) -> Fallible<&ReleaseFacts> {
        let steps = self.releases.iter().rfind(|release| release.query.is_step());
        steps.or(self.releases.last()).ok_or_else(|| damaged("records no release"))
    }

    /// Number of optimizer steps.
    fn steps(&self) -> u64 {
        let steps = self.releases.iter().filter(|release| release.query.is_step());
        let counts = steps.map(|release| release.charge.count().saturating_mul(release.query.parts()));
        counts.fold(0, u64::saturating_add)
    }

    /// The tightest conversion that holds for all releases together.
    fn conversion(&self) -> Conversion {
        let gaussian = self.releases.iter().all(|release| release.charge.is_gaussian());
        official_conversion(if gaussian { NoiseLaw::FlooredNormal } else { NoiseLaw::DiscreteGaussian })
    }

    /// Whether a cost is no rho, so that together they are no zCDP.
    fn is_claimed(&self) -> bool {
        self.releases.iter().any(|release| release.charge.claim().is_some())
    }

    /// Whether a release is a choice among candidates.
    fn chooses(&self) -> bool {
        self.releases.iter().any(|release| matches!(release.charge, Charge::Selection(_)))
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
        /// rho: exact, or, with an approximate delta, as the ledger counts it.
        rho: ExactRho,
        /// rho as a decimal, rounded upward.
        rho_upper: String,
        /// Delta of approximate zCDP, where costs are claimed; rho holds but for this probability.
        approximate_delta: Option<String>,
        /// mu of Gaussian DP, rounded upward; absent where not every release is Gaussian noise on all rows.
        gaussian_mu: Option<String>,
        /// Delta of the epsilons.
        delta: String,
        /// The official epsilon.
        epsilon: String,
        /// Which of the following is official, and why it is valid.
        conversion: String,
        /// By the exact Gaussian trade-off; absent with mu.
        epsilon_exact: Option<String>,
        /// By the optimal zCDP conversion; absent where a cost is no rho.
        epsilon_zcdp: Option<String>,
        /// By the classical zCDP conversion; absent where a cost is no rho.
        epsilon_zcdp_classical: Option<String>,
        /// By privacy-loss distributions where rows are sampled, or by these or zCDP where candidates are chosen.
        epsilon_pld: Option<String>,
        /// By Renyi divergences; where an objective is perturbed.
        epsilon_rdp: Option<String>,
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
        /// Largest probability with which a row takes part in one of them; absent where all rows do.
        sampling_rate: Option<String>,
        /// rho of all of them, rounded upward; absent where rho cannot express the cost.
        rho_upper: Option<String>,
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
        /// Noise standard deviation over l2 sensitivity; for choices `1/epsilon` of one.
        noise_multiplier: f64,
        /// Noise standard deviation on each coordinate of what is released; for choices the scale of scores.
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
        let multiplier = main.charge.noise_multiplier();
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
                name: match main.charge.noise() {
                    Some(NoiseLaw::FlooredNormal) => "floor of an exact normal (Karney 2016)".into(),
                    Some(NoiseLaw::DiscreteGaussian) => "discrete Gaussian (Canonne, Kamath, Steinke 2020)".into(),
                    None => "exponential mechanism, sampled exactly by rejection".into(),
                },
                sampling: sampling(&main),
                clip_norm: main.clip_norm(),
                norm: match (&main.charge, facts.model) {
                    (Charge::Selection(_), _) => "range of the scores of candidates".into(),
                    (_, ModelKind::Multinomial) => "l2 over all labels together, intercepts included".into(),
                    _ => "l2, intercept included".into(),
                },
                steps: facts.steps(),
                noise_multiplier: multiplier,
                sigma: main.charge.sensitivity() as f64 * main.unit * multiplier,
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
fn sampling(release: &ReleaseFacts) -> String {
    if let Charge::Sampled(event) = &release.charge {
        return format!("Poisson, rate at most {}", decimal_up(event.rate(), DIGITS));
    }
    match &release.query {
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
        | Query::Scores { .. }
        | Query::Hessian { .. }
        | Query::Direction { .. }
        | Query::ClippedSum { .. }
        | Query::Minimiser { .. }
        | Query::Perturbation(_)
        | Query::PerturbedMinimiser { .. }
        | Query::Losses { .. }
        | Query::Vertices { .. } => "full batch".into(),
    }
}

impl ReleaseFacts {
    /// Largest norm of one row's part in the sum, in the reader's units.
    fn clip_norm(&self) -> f64 {
        match self.query {
            Query::ClippedSum { bound } | Query::PrefixSums { bound, .. } => bound as f64 * self.unit,
            Query::Minimiser { curvature, .. } => curvature.movement() as f64 * self.unit,
            Query::Losses { most, .. } => most as f64 * self.unit,
            Query::Vertices { bound, .. } => bound as f64 * self.unit,
            Query::Moments { .. }
            | Query::Gram { .. }
            | Query::Scores { .. }
            | Query::Hessian { .. }
            | Query::Direction { .. }
            | Query::Phases { .. }
            | Query::Perturbation(_)
            | Query::PerturbedMinimiser { .. } => self.charge.sensitivity() as f64 * self.unit,
        }
    }
}

/// Every event costs what its query says, and nothing was used that no release records.
fn check_releases(facts: &Facts) -> Fallible<()> {
    for ReleaseFacts { charge, query, unit } in &facts.releases {
        charge.check()?;
        claim::confirm(charge, facts.adjacency)?;
        if charge.count() >= 1 << 32 {
            return Err(damaged("records more releases than a run can make"));
        }
        if charge.sensitivity() != query.sensitivity(facts.adjacency) || !query.fits(charge) {
            return Err(damaged("a sensitivity does not follow from its query and the adjacency"));
        }
        query.check()?;
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
    let scored = facts.releases.iter().any(|release| matches!(release.query, Query::Scores { .. }));
    if scored != facts.holdout.is_some() {
        return Err(damaged("a hold-out and its release do not fit"));
    }
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

const BY_SAMPLED_LOSS: &str = "certified upper bound by privacy-loss distributions of the Poisson-sampled Gaussian \
     (Zhu, Dong and Wang 2022, Theorem 11), the worse of both directions";

const BY_RENYI: &str = "Renyi divergences of objective perturbation (Redberg, Koskela and Wang 2023, Theorem 3.2, with \
     ln(1 + beta/Lambda)) and of the Gaussian releases, the best order";

const BY_LOSS_OR_ZCDP: &str = "the smaller of the optimal-order zCDP conversion with epsilon^2/8 for each choice \
     (Cesar and Rogers 2021) and a certified bound by privacy-loss distributions with each choice as a pure mechanism";

impl Guarantee {
    fn of(facts: &Facts) -> Fallible<Self> {
        let delta = facts.delta()?;
        let charges = facts.charges();
        let rho = total_rho(&charges)?;
        let approximate_delta = total_delta(&charges);
        let common = Guarantee {
            rho: ExactRho::new(&rho)?,
            rho_upper: rho.as_dyadic().to_decimal_up(DIGITS),
            approximate_delta: (approximate_delta > 0.0).then(|| decimal_up(approximate_delta, DIGITS)),
            gaussian_mu: None,
            delta: facts.delta.clone(),
            epsilon: String::new(),
            conversion: String::new(),
            epsilon_exact: None,
            epsilon_zcdp: None,
            epsilon_zcdp_classical: None,
            epsilon_pld: None,
            epsilon_rdp: None,
        };
        let bound = |about: f64| -> Fallible<String> {
            Ok(decimal_up(claim::epsilon(&charges, facts.adjacency, delta, about)?, DIGITS))
        };
        if facts.is_claimed() {
            let about = charges.iter().filter_map(Charge::claim).map(|claim| claim.epsilon).fold(0.0, f64::max);
            let objective = charges.iter().any(|charge| matches!(charge, Charge::Objective(_)));
            let bound = bound(about)?;
            return Ok(Guarantee {
                epsilon: bound.clone(),
                epsilon_pld: (!objective).then(|| bound.clone()),
                epsilon_rdp: objective.then_some(bound),
                conversion: if objective { BY_RENYI.into() } else { BY_SAMPLED_LOSS.into() },
                ..common
            });
        }
        let epsilon = |by: Conversion| by.epsilon(rho.upper(), delta).map(|e| decimal_up(e.value(), DIGITS));
        let official = facts.conversion();
        if facts.chooses() {
            let zcdp = Conversion::Optimal.epsilon(rho.upper(), delta)?.value();
            let bound = bound(zcdp)?;
            return Ok(Guarantee {
                epsilon: bound.clone(),
                conversion: BY_LOSS_OR_ZCDP.into(),
                epsilon_zcdp: Some(epsilon(Conversion::Optimal)?),
                epsilon_zcdp_classical: Some(epsilon(Conversion::Classical)?),
                epsilon_pld: Some(bound),
                ..common
            });
        }
        let floored = official == Conversion::Exact;
        let mu = gaussian::mu_upper_from_rho(rho.upper())?;
        Ok(Guarantee {
            gaussian_mu: floored.then(|| decimal_up(mu, DIGITS)),
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
            epsilon_zcdp: Some(epsilon(Conversion::Optimal)?),
            epsilon_zcdp_classical: Some(epsilon(Conversion::Classical)?),
            ..common
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
                _ if facts.is_claimed() => "(epsilon, delta)-DP".into(),
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
        let access = |charge: &Charge| Access {
            what: charge.what().to_owned(),
            count: charge.count(),
            noise_multiplier: decimal_down(charge.noise_multiplier(), DIGITS),
            sampling_rate: match charge {
                Charge::Sampled(event) => Some(decimal_up(event.rate(), DIGITS)),
                Charge::Gaussian(_) | Charge::Objective(_) | Charge::Selection(_) => None,
            },
            rho_upper: match charge {
                Charge::Gaussian(event) => Some(event.rho().as_dyadic().to_decimal_up(DIGITS)),
                Charge::Selection(event) => Some(event.rho().as_dyadic().to_decimal_up(DIGITS)),
                Charge::Sampled(_) | Charge::Objective(_) => None,
            },
        };
        ScopeOfUse {
            data_accesses: facts.releases.iter().map(|release| access(&release.charge)).collect(),
            preprocessing: match facts.standardised {
                true => "by the public schema and by released moments only".into(),
                false => "by the public schema only".into(),
            },
            hyperparameter_search: match facts.ledger {
                Some(_) => "this run is charged; other runs are charged to the same ledger on their own".into(),
                None => "no ledger: choices made by looking at other runs are not covered".into(),
            },
            pretraining_data: "none".into(),
            evaluation_on_private_data: match facts.holdout {
                Some(share) => format!("one release, charged above, on rows held out with probability {share}"),
                None => "none".into(),
            },
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
        _ if facts.is_claimed() => "are".to_string(),
        Some(mu) => format!("are {mu}-Gaussian DP (hence {}-zCDP), and hence", guarantee.rho_upper),
        // One choice keeps its epsilon as a pure mechanism, which does not follow from its rho.
        None if facts.chooses() => format!("are {}-zCDP and", guarantee.rho_upper),
        None => format!("are {}-zCDP, and hence", guarantee.rho_upper),
    };
    format!(
        "Model, log and this statement together {why} ({}, {})-differentially private, with respect to {change}.",
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
