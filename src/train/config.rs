//! What the user asks for, checked before anything is read.

use std::path::Path;

use serde::{Serialize, Serializer};

use super::tune::Candidate;
use crate::accounting::Conversion;
use crate::data::{Protect, Schema};
use crate::error::{Error, Fallible};
use crate::ledger::LARGE_DELTA;
use crate::model_kind::ModelKind;
use crate::optim::{Algorithm, Settings};
use crate::privacy::{Adjacency, Delta, Epsilon, NoiseLaw, Rho};
use crate::private::MAX_HOLDOUT;
use crate::statement::states_its_cost;

/// Budgets beyond this protect nothing.
const MAX_BUDGET: f64 = 1e6;

/// How much privacy loss the run may cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// `(epsilon, delta)`-DP; delta from the public rule of [`default_delta`] when absent.
    Epsilon(#[serde(serialize_with = "epsilon_text")] Epsilon, #[serde(serialize_with = "delta_text")] Option<Delta>),
    /// rho-zCDP; the delta is used for reporting only.
    Rho(#[serde(serialize_with = "rho_text")] Rho, #[serde(serialize_with = "delta_text")] Option<Delta>),
}

fn epsilon_text<S: Serializer>(epsilon: &Epsilon, to: S) -> Result<S::Ok, S::Error> {
    epsilon.value().serialize(to)
}

fn delta_text<S: Serializer>(delta: &Option<Delta>, to: S) -> Result<S::Ok, S::Error> {
    delta.map(|delta| delta.value()).serialize(to)
}

fn rho_text<S: Serializer>(rho: &Rho, to: S) -> Result<S::Ok, S::Error> {
    (rho.lower(), rho.upper()).serialize(to)
}

impl Budget {
    /// For people: the epsilon that it allows, and at which delta where that is known yet.
    pub(crate) fn in_words(&self) -> String {
        let (Budget::Epsilon(_, delta) | Budget::Rho(_, delta)) = self;
        let epsilon = match (self, delta) {
            (Budget::Epsilon(epsilon, _), _) => Some(epsilon.value()),
            (Budget::Rho(rho, _), Some(delta)) => {
                Conversion::Optimal.epsilon(rho.upper(), *delta).ok().map(|epsilon| epsilon.value())
            }
            (Budget::Rho(..), None) => None,
        };
        let epsilon = epsilon.map(|epsilon| format!("epsilon at most {epsilon}"));
        let delta = delta.map_or_else(|| "delta by rule".into(), |delta| format!("delta {}", delta.value()));
        epsilon.into_iter().chain([delta]).collect::<Vec<_>>().join(", ")
    }

    /// Refuses budgets that allow nothing or protect nothing.
    pub(crate) fn check(&self) -> Fallible<()> {
        match self {
            Budget::Epsilon(epsilon, _) if !(epsilon.value() > 0.0 && epsilon.value() <= MAX_BUDGET) => {
                Err(out_of_range("--epsilon", epsilon.value(), "positive and at most 1e6", "try 1"))
            }
            Budget::Rho(rho, _) if rho.as_dyadic().is_zero() || rho.upper() > MAX_BUDGET => {
                Err(out_of_range("--rho", rho.upper(), "positive and at most 1e6", "try 0.1"))
            }
            Budget::Epsilon(..) | Budget::Rho(..) => Ok(()),
        }
    }
}

/// A training request. `None` means "choose by the written rule", see [`super::Plan`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainConfig {
    /// The budget.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// The model family.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelKind>,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Law of the noise.
    pub noise: NoiseLaw,
    /// Choices that the algorithm would otherwise make by its own rule.
    pub settings: Settings,
    /// Candidates to choose among instead; empty for no choice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tune: Vec<Candidate>,
    /// Whether features are standardised by privately released moments.
    #[serde(rename = "standardise", skip_serializing_if = "Option::is_none")]
    pub standardize: Option<bool>,
    /// Share of rho for a release of metrics on a private hold-out; `None` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluate_budget: Option<f64>,
    /// Share of the rows that is held out, if anything is evaluated.
    pub holdout: f64,
    /// Public hint of the number of rows; overrides the schema's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Whether a delta is taken that no expert would accept; see [`is_large`].
    pub accept_large_delta: bool,
}

impl TrainConfig {
    /// A request with every choice left to the rules.
    pub fn new(budget: Budget) -> Self {
        TrainConfig {
            budget,
            adjacency: Adjacency::AddRemove,
            model: None,
            algorithm: Algorithm::Auto,
            noise: NoiseLaw::FlooredNormal,
            settings: Settings::default(),
            tune: Vec::new(),
            standardize: None,
            evaluate_budget: None,
            holdout: 0.2,
            rows: None,
            accept_large_delta: false,
        }
    }

    /// Refuses settings that were given and mean nothing to the algorithm, or to a candidate. Planning does that, too, but for the
    /// number of steps, which it passes over where there are none: requests of earlier versions, kept as files, give one.
    ///
    /// # Errors
    /// Names the setting and the algorithm.
    pub fn check_given(&self) -> Fallible<()> {
        let own = [(self.algorithm, &self.settings)].into_iter().filter(|_| self.tune.is_empty());
        let candidates = self.tune.iter().map(|candidate| (candidate.algorithm, &candidate.settings));
        own.chain(candidates).try_for_each(|(algorithm, settings)| algorithm.description().check_steps(settings))
    }

    /// Checks everything that does not need the data.
    ///
    /// # Errors
    /// Names the flag, its legal range and the cure.
    pub fn check(&self, schema: &Schema) -> Fallible<()> {
        self.budget.check()?;
        self.settings.check()?;
        self.tune.iter().try_for_each(|candidate| candidate.settings.check())?;
        if let Some(share) = self.evaluate_budget.filter(|share| !(*share > 0.0 && *share < 1.0)) {
            return Err(out_of_range("--evaluate-budget", share, "in (0, 1)", "try 0.1"));
        }
        if !(self.holdout > 0.0 && self.holdout <= MAX_HOLDOUT) {
            return Err(out_of_range("--holdout", self.holdout, "in (0, 0.5]", "try 0.2"));
        }
        let tried = self.tune.iter().map(|candidate| candidate.algorithm);
        if tried.chain([self.algorithm]).any(Algorithm::cuts_columns)
            && self.tune.iter().any(|candidate| candidate.algorithm != self.algorithm)
        {
            return Err(Error::parameter(
                "--tune",
                "cannot compare additive effects with others: candidates share one encoding of the rows, which follows from released counts",
                "name settings alone, as in --features additive --tune='steps=12,24'",
            ));
        }
        if self.algorithm == Algorithm::Adaptive && !self.tune.is_empty() {
            return Err(Error::parameter(
                "--tune",
                "has nothing to choose for adaptive, which divides its steps' budget by what the first of them show",
                "leave it out, or use --features additive",
            ));
        }
        if self.algorithm.cuts_columns() && self.standardize == Some(true) {
            return Err(Error::parameter(
                "standardise",
                "means nothing to additive effects, whose intervals follow from released counts",
                "leave it out",
            ));
        }
        if schema.unit.is_some() && self.rows.is_some() {
            let problem = "is given, and persons are protected, whose rows come and go with them";
            return Err(Error::parameter(
                "--rows",
                problem,
                "give the number of persons by --persons, or leave it out",
            ));
        }
        schema.check_protect(Path::new("schema"))?;
        schema.check_weight(Path::new("schema"))?;
        schema.check_public(Path::new("schema"))?;
        schema.privacy_unit().check(self.adjacency)?;
        if schema.protect == Protect::Label {
            if self.standardize == Some(false) {
                return Err(Error::parameter(
                    "--no-standardise",
                    "means nothing where labels alone are protected: features are public, and their moments are free",
                    "leave it out",
                ));
            }
            if !self.tune.is_empty() {
                let problem = "has nothing to choose where labels alone are protected: one algorithm serves them, without settings to try";
                return Err(Error::parameter("--tune", problem, "leave it out"));
            }
        }
        if self.rows.or(schema.rows) == Some(0) {
            return Err(out_of_range("--rows", 0.0, "positive", "leave it out to have the count released"));
        }
        if let Some(release) = &schema.released
            && !states_its_cost(release)?
        {
            let cure = "use the file that `rhograd inspect` wrote";
            return Err(Error::parameter("schema", "states a smaller epsilon than its release has", cure));
        }
        if let Some(release) = schema.released.as_ref().filter(|release| release.adjacency != self.adjacency) {
            let released = release.adjacency;
            let problem = format!("is {}, and the schema was released under {released}", self.adjacency);
            let cure = format!("use --adjacency {released}: costs under different relations do not add up");
            return Err(Error::parameter("--adjacency", problem, cure));
        }
        match self.model {
            Some(model) => {
                model.check_trainable()?;
                model.check_parameters()?;
                model.check_schema(schema)
            }
            None => Ok(()),
        }
    }
}

impl Candidate {
    /// Every combination of a grid such as `algorithm=whitened,dp-gd;steps=8,16`, all else as in `config`.
    ///
    /// # Errors
    /// Names the part of the grid that is no choice, and what would be.
    ///
    /// ```
    /// use rhograd::{privacy::{Epsilon, Rho}, train::{Budget, Candidate, TrainConfig}};
    ///
    /// let config = TrainConfig::new(Budget::Rho(Rho::from_f64(0.1)?, None));
    /// let grid = Candidate::grid("algorithm=whitened,dp-gd;steps=8,16", &config)?;
    /// assert_eq!(grid.len(), 4);
    /// assert_eq!(grid[3].name, "algorithm=dp-gd steps=16");
    /// # Ok::<(), rhograd::error::Error>(())
    /// ```
    pub fn grid(text: &str, config: &TrainConfig) -> Fallible<Vec<Candidate>> {
        let settings = config.settings.clone();
        Candidate { name: String::new(), algorithm: config.algorithm, settings }.combined(text)
    }
}

fn out_of_range(flag: &str, value: f64, legal: &str, cure: &str) -> Error {
    Error::parameter(flag, format!("is {value:?}, must be {legal}"), cure)
}

/// The public rule for delta: one tenth of one over the public row count, rounded down to a power of
/// ten and at most 1e-5; 1e-6 when no row count is public.
///
/// # Errors
/// Never for the values that the rule can give.
pub fn default_delta(public_rows: Option<u64>) -> Fallible<Delta> {
    Delta::new(match public_rows {
        None => 1e-6,
        Some(rows) => 10f64.powi(-(rows.max(1) as f64 * 10.0).log10().ceil() as i32).clamp(1e-25, 1e-5),
    })
}

/// Whether a delta lets the guarantee fail more often than is commonly accepted: above a tenth of one over the declared
/// rows, where a mechanism that publishes a row in full is within it for every tenth data set, or above 1e-3.
///
/// # Reference
/// Dwork and Roth 2014, section 2.3 (delta far below one over the number of rows).
pub fn is_large(delta: Delta, public_rows: Option<u64>) -> bool {
    // Room for the rounding of a tenth and of one over the rows.
    let tenth = public_rows.map_or(f64::INFINITY, |rows| 0.1 / rows.max(1) as f64 * (1.0 + 1e-9));
    delta.value() > tenth.min(LARGE_DELTA)
}

/// Refuses a delta that is large, unless that is what is asked for.
pub(crate) fn check_delta(delta: Delta, public_rows: Option<u64>, accepted: bool) -> Fallible<()> {
    if accepted || !is_large(delta, public_rows) {
        return Ok(());
    }
    let most = match public_rows {
        Some(rows) => format!("a tenth of one over the {rows} declared rows, or than 1e-3,"),
        None => "1e-3".into(),
    };
    Err(Error::parameter(
        "--delta",
        format!("is {:?}: more than {most} lets a release show whole rows without breaking the promise", delta.value()),
        "use a smaller one, leave it out for the rule's, or give --accept-large-delta, which stands in the statement",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delta_is_below_a_tenth_of_one_over_n() {
        for (rows, delta) in
            [(None, 1e-6), (Some(1), 1e-5), (Some(6_366), 1e-5), (Some(20_190), 1e-6), (Some(1_000_000), 1e-7)]
        {
            assert_eq!(default_delta(rows).unwrap().value(), delta);
        }
        for rows in (1..10_000_000).step_by(9_973) {
            assert!(default_delta(Some(rows)).unwrap().value() <= 0.1 / rows as f64 * (1.0 + 1e-12));
        }
    }

    #[test]
    fn the_rule_is_never_large_and_what_is_above_it_is() {
        for rows in (1..10_000_000).step_by(9_973).chain([1_000_000, 10_000_000, u64::MAX]) {
            assert!(!is_large(default_delta(Some(rows)).unwrap(), Some(rows)), "{rows}");
        }
        let large = |delta: f64, rows: Option<u64>| is_large(Delta::new(delta).unwrap(), rows);
        assert!(!large(1e-3, None) && large(1.001e-3, None) && large(0.5, Some(1)) && !large(1e-3, Some(100)));
        assert!(!large(1e-7, Some(1_000_000)) && large(1.001e-7, Some(1_000_000)));
        let delta = Delta::new(0.5).unwrap();
        assert!(check_delta(delta, None, false).unwrap_err().to_string().contains("--accept-large-delta"));
        check_delta(delta, None, true).unwrap();
    }
}
