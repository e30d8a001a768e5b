//! The privacy statement: a pure function of a few recorded facts, so that anyone can recompute it.
//!
//! ```
//! use rhograd::prelude::*;
//! use rhograd::statement::{
//!     Answer, Facts, Guarantee, LedgerFacts, LogEntry, ReleaseFacts, Statement, Tuning, WhatIf, write_log,
//! };
//!
//! let schema = Schema::read("datasets/fair.schema.json".as_ref())?;
//! let file = CsvFile::open("datasets/fair.csv".as_ref())?;
//! let config = TrainConfig::new(Budget::Epsilon(Epsilon::new(1.0)?, None));
//! let loaded = load(&config, schema, &file, &|_, _| Ok(()))?;
//! let mut log = String::new();
//! let mut observe = |line: &LogEntry| {
//!     log += &line.to_json()?;
//!     Ok(())
//! };
//! let (trained, _) = train(loaded, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut observe)?;
//!
//! // Everything that a statement says follows from its facts, and so does the log.
//! let stated: &Statement = &trained.model.statement;
//! let facts: &Facts = &stated.facts;
//! assert_eq!(&Statement::new(facts.clone())?, stated);
//! let mut again = String::new();
//! write_log(facts, &mut |line| {
//!     again += line;
//!     Ok(())
//! })?;
//! assert_eq!(again, log);
//!
//! let (guarantee, releases): (&Guarantee, &[ReleaseFacts]) = (&stated.guarantee, &facts.releases);
//! let (ledger, tuned): (Option<&LedgerFacts>, Option<Tuning>) = (facts.ledger.as_ref(), facts.tuned());
//! assert!(guarantee.epsilon == "1" && !releases.is_empty() && ledger.is_none() && tuned.is_none());
//!
//! // What it means for five rows together, by the exact trade-off of five times the mu.
//! let five: Answer = stated.what_if(WhatIf::Group(5))?;
//! assert!(five.steps == Some(5) && five.words.starts_with("For 5 rows together ("), "{five:?}");
//! # Ok::<(), Error>(())
//! ```

/// Declares a part of the statement: all fields public and required.
macro_rules! part {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
    };
}

mod check;
mod facts;
mod guarantee;
mod log;
mod mechanism;
mod schema_release;
mod scope;
mod setting;
mod unit;
mod what_if;
mod words;

use serde::{Deserialize, Serialize};

use crate::error::Fallible;
use crate::model_kind::ModelKind;
use crate::privacy::PrivacyUnit;

pub use check::MAX_COSTLY;
use check::check_releases;
pub(crate) use check::costly_releases;
pub use facts::{Facts, LedgerFacts, ReleaseFacts, Tuning};
pub use guarantee::Guarantee;
pub use log::{LogEntry, write_log};
pub(crate) use log::{LogWriter, replay};
use mechanism::MechanismPart;
pub(crate) use schema_release::states_its_cost;
use schema_release::with_schema;
use scope::ScopeOfUse;
use setting::{Definition, Setting};
pub use what_if::{Answer, WhatIf};
pub(crate) use words::plain_words;

/// Name and version of the statement format.
const SCHEMA: &str = "rhograd-statement/1";

/// What the guarantee rests on.
const TRUST: &str = "trusted are those who hold the rows, their machine with its random numbers and, where rows are on several \
     machines, all of these; everybody else may know or choose all other rows and the settings and have unlimited time";

/// What belongs to the custodian.
const NOT_RELEASED: &str = "covers what is released: predictions and evaluations on private rows, caches, checkpoints and what \
     goes to standard error are as private as the rows";

/// What stood in the place of both: a page that whoever reads a statement may not have.
const THREAT_MODEL: &str = "who is trusted, who attacks and what else is out of scope: docs/threat-model.md of rhograd";

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
        // Before anything is computed from numbers that a file may have made up.
        check_releases(&facts)?;
        let limits = limits(&facts)?;
        let guarantee = Guarantee::of(&facts)?;
        Self::with(facts, guarantee, limits)
    }

    /// The statements that earlier versions of the program computed from the facts of this one: true still, and of files that are
    /// still to be verified.
    ///
    /// Bounds by privacy-loss distributions are as recorded where they are no smaller than certified ones. The last but one of the
    /// statements named a page for what is trusted. Those before did not name it. The first also claimed a perturbed
    /// objective by Renyi divergences alone, which promise less.
    ///
    /// # Errors
    /// When the facts are inconsistent or no bound can be computed.
    pub fn earlier(&self) -> Fallible<Vec<Self>> {
        let facts = &self.facts;
        check_releases(facts)?;
        let certified = Guarantee::of(facts)?;
        let mut guarantee = certified.clone().with_recorded(&self.guarantee);
        if certified.is_hardly_above(&self.guarantee) {
            guarantee = Guarantee::close(facts)?.with_recorded(&self.guarantee);
        }
        let mut unlinked = limits(facts)?;
        let mut known = Vec::new();
        if guarantee != certified {
            known.push(Self::with(facts.clone(), guarantee.clone(), unlinked.clone())?);
        }
        if !facts.unit.is_row() {
            // Those before knew rows alone.
            return Ok(known);
        }
        let place = unlinked.iter().position(|limit| limit == TRUST);
        unlinked.retain(|limit| limit != TRUST && limit != NOT_RELEASED);
        let mut linked = unlinked.clone();
        linked.insert(place.unwrap_or_default(), THREAT_MODEL.into());
        known.push(Self::with(facts.clone(), guarantee.clone(), linked)?);
        known.push(Self::with(facts.clone(), guarantee, unlinked.clone())?);
        known.push(Self::with(facts.clone(), Guarantee::without_profile(facts)?, unlinked)?);
        Ok(known)
    }

    fn with(facts: Facts, guarantee: Guarantee, limits: Vec<String>) -> Fallible<Self> {
        let faults = facts.faults();
        Ok(Statement {
            schema: SCHEMA.into(),
            dp: faults.is_empty(),
            statement: sentence(&facts, &guarantee, &faults),
            reasons_not_dp: faults,
            setting: Setting::of(&facts),
            definition: Definition::of(&facts),
            guarantee,
            scope: ScopeOfUse::of(&facts),
            mechanism: MechanismPart::of(&facts)?,
            dataset: DatasetPart { id: facts.dataset.clone(), hash: None },
            limits,
            facts,
        })
    }
}

fn sentence(facts: &Facts, guarantee: &Guarantee, faults: &[String]) -> String {
    if !faults.is_empty() {
        return format!("NOT PRIVATE: {}.", faults.join("; "));
    }
    let change = unit::change(facts);
    let why = match &guarantee.gaussian_mu {
        _ if facts.is_claimed() => "are".to_string(),
        Some(mu) => format!("are {mu}-Gaussian DP (hence {}-zCDP), and hence", guarantee.rho_upper),
        // One choice keeps its epsilon as a pure mechanism, which does not follow from its rho.
        None if facts.chooses() => format!("are {}-zCDP and", guarantee.rho_upper),
        None => format!("are {}-zCDP, and hence", guarantee.rho_upper),
    };
    let besides = match facts.released_schema {
        Some(_) => " The schema was released from the same rows, at a cost of its own: the limits name it.",
        None => "",
    };
    format!(
        "Model, log and this statement together {why} ({}, {})-differentially private, with respect to {change}.{besides}",
        guarantee.epsilon, guarantee.delta
    )
}

fn limits(facts: &Facts) -> Fallible<Vec<String>> {
    let (one, many) = unit::nouns(&facts.unit);
    let (whole, count, looked_at) = match facts.unit {
        PrivacyUnit::Row => ("whole rows", "the row count", "rows"),
        PrivacyUnit::Person { .. } => ("all rows of persons", "the number of persons", "rows"),
        PrivacyUnit::Label => ("labels", "which rows there are", "labels"),
        PrivacyUnit::PrivateCells { .. } => ("private cells", "which rows there are", "private cells"),
    };
    let public =
        format!("holds only if the schema, {count} and the settings were not chosen by looking at the {looked_at}");
    let mut limits = unit::limits(facts);
    limits.push("timing and memory of the training host are out of scope".into());
    let chosen = limits.len();
    limits.extend([public, TRUST.into(), NOT_RELEASED.into()]);
    if let Some(release) = &facts.released_schema {
        limits[chosen] = format!(
            "holds only if {count}, the settings and whatever was changed in the released schema were not chosen by looking at the rows"
        );
        limits.push(with_schema(facts, release)?);
    }
    if let ModelKind::Own(loss) = facts.model {
        limits.push(format!(
            "the loss is external ({}, table SHA-256 {}): how well the model fits rests on it, and the guarantee does not, for \
             what a {one} adds is cut in integers afterwards",
            loss.name(),
            loss.table_sha256()
        ));
    }
    if facts.large_delta_accepted {
        limits.push(format!(
            "delta {} was accepted on purpose although it is above a tenth of one over the declared {many}, or above 1e-3: \
             with that probability the guarantee may fail altogether, and {whole} may show",
            facts.delta
        ));
    }
    limits.push(match &facts.ledger {
        Some(_) => "the budget binds only runs recorded in this ledger".to_string(),
        None => "no durable ledger recorded this run; nothing binds further runs on the data set".to_string(),
    });
    limits.extend(facts.ledger.as_ref().and_then(LedgerFacts::in_words));
    Ok(limits)
}
