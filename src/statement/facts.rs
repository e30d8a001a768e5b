//! What happened, as a run recorded it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::accounting::Conversion;
use crate::data::{Estimand, RowWeight, SchemaRelease};
use crate::error::{Error, Fallible};
use crate::ledger::{Cap, ExactRho, Position};
use crate::model_kind::ModelKind;
use crate::num::round::{decimal_up, up};
use crate::optim::{Algorithm, TUNED};
use crate::privacy::{Adjacency, Charge, Delta, NoiseLaw, PrivacyUnit};
use crate::private::Query;
use crate::text::counted;

/// Significant digits of upward-rounded numbers.
pub(super) const DIGITS: u32 = 7;

/// What happened, as recorded; every other number of a statement follows from these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The custodian's name of the data set.
    pub dataset: String,
    /// Neighbouring relation.
    pub adjacency: Adjacency,
    /// What neighbours differ in; files about rows do not say so.
    #[serde(default, skip_serializing_if = "PrivacyUnit::is_row")]
    pub unit: PrivacyUnit,
    /// Whose mean is estimated where persons are the unit; files about that of persons do not say so.
    #[serde(default, skip_serializing_if = "Estimand::is_persons")]
    pub estimand: Estimand,
    /// How much rows count; files about rows that count alike do not say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<RowWeight>,
    /// Every kind of release, in order.
    pub releases: Vec<ReleaseFacts>,
    /// Number of numeric columns.
    pub numeric_columns: usize,
    /// How many of them are private, where some columns are public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_numeric: Option<usize>,
    /// Whether features were standardised by released moments.
    #[serde(rename = "standardised")]
    pub standardized: bool,
    /// The budget that the run was allowed.
    pub budget_rho: ExactRho,
    /// Delta of the report, as decimal text.
    pub delta: String,
    /// Where delta came from.
    pub delta_origin: String,
    /// Whether delta is above a tenth of one over the declared rows, or above 1e-3, and was accepted on purpose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub large_delta_accepted: bool,
    /// Model family.
    pub model: ModelKind,
    /// Algorithm that ran.
    pub algorithm: Algorithm,
    /// Number of coefficients.
    pub dimension: usize,
    /// Share of the rows that was held out of training, if any were: exactly that many, rounded, where the number of rows
    /// is public under the relation, else each by a coin of its own.
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
    /// What the schema cost, if it was released from the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_schema: Option<SchemaRelease>,
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
    /// Cap of the data set on rho, if it has one.
    pub cap_rho: Option<ExactRho>,
    /// The whole cap; files of versions that capped rho alone lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Cap>,
    /// Total of the data set after the charge.
    pub spent_after: ExactRho,
    /// Sum of the deltas of claims after the charge, rounded upward; files of versions before lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent_delta_after: Option<f64>,
    /// Total at the order of a Renyi cap after the charge, over that order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent_at_order_after: Option<ExactRho>,
    /// How often the cap was raised.
    pub cap_raised: u64,
    /// Runs that had been charged when the cap was set; files of versions before lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_before_cap: Option<u64>,
}

impl LedgerFacts {
    /// What the cap binds; nothing for files of versions that did not state it whole.
    pub(super) fn in_words(&self) -> Option<String> {
        let cap = self.cap.as_ref()?;
        let raised = match self.cap_raised {
            0 => String::new(),
            // Statements have had these words from the beginning, also of one time, and are compared letter by letter.
            times => format!("; it was raised {times} times, and holds for what it is now alone"),
        };
        let late = match self.runs_before_cap {
            None | Some(0) => String::new(),
            Some(runs) => format!("; it was set after {}, and holds if they did not decide it", counted(runs, "run")),
        };
        let rho = || cap.most_rho().as_dyadic().to_decimal_up(DIGITS);
        let whole = match (cap, cap.asked()) {
            (Cap::Rho { .. }, _) => {
                let before = "the cap of this ledger was set by a version that bounded rho alone";
                return Some(format!("{before}: the deltas of claims are added up and not capped{raised}"));
            }
            (_, Some(asked)) => format!("({}, {:e})-differential privacy", asked.epsilon, asked.delta),
            (Cap::Gaussian { .. }, None) => format!("Gaussian differential privacy of mu^2/2 = {}", rho()),
            (Cap::Renyi { order, rho, .. }, None) => {
                let divergence = decimal_up(up(order * rho.rho().upper(), 1), DIGITS);
                format!("({order}, {divergence})-Renyi differential privacy")
            }
            (Cap::Zcdp { claims_delta, .. }, None) => format!("{claims_delta:e}-approximate {}-zCDP", rho()),
        };
        Some(format!("the cap of this ledger holds all runs in it on the data set together to {whole}{raised}{late}"))
    }
}

/// How candidates were tried and which of them won; released with the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// The choices that set the winner apart.
    pub chosen: String,
    /// Number of candidates.
    pub candidates: usize,
    /// How often they were run.
    pub runs: String,
}

impl std::fmt::Display for Tuning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, of {} candidates: {}", self.chosen, self.candidates, self.runs)
    }
}

impl Facts {
    /// Delta as a number.
    pub(crate) fn delta(&self) -> Fallible<Delta> {
        Delta::new(self.delta.parse().unwrap_or(f64::NAN))
    }

    /// What was paid for, in order.
    pub fn charges(&self) -> Vec<Charge> {
        self.releases.iter().map(|release| release.charge.clone()).collect()
    }

    /// The release that the model follows from: the steps, or the last one.
    pub(super) fn main_release(&self) -> Fallible<&ReleaseFacts> {
        let steps = self.releases.iter().rfind(|release| release.query.is_step());
        steps.or(self.releases.last()).ok_or_else(|| damaged("records no release"))
    }

    /// Number of optimizer steps.
    pub(super) fn steps(&self) -> u64 {
        let counts = self.releases.iter().map(|release| release.charge.count().saturating_mul(release.query.steps()));
        counts.fold(0, u64::saturating_add)
    }

    /// The tightest conversion that holds for all releases together.
    pub(super) fn conversion(&self) -> Conversion {
        let gaussian = self.releases.iter().all(|release| release.charge.is_gaussian());
        Conversion::tightest(if gaussian { NoiseLaw::FlooredNormal } else { NoiseLaw::DiscreteGaussian })
    }

    /// What `--tune` chose among which candidates; `None` where nothing was tuned.
    pub fn tuned(&self) -> Option<Tuning> {
        let tuned = self.settings.get(TUNED)?;
        let text = |key: &str| tuned.get(key).and_then(Value::as_str).map(String::from);
        let candidates = tuned.get("candidates").and_then(Value::as_array).map_or(0, Vec::len);
        Some(Tuning { chosen: text("chosen")?, candidates, runs: text("runs")? })
    }

    /// Whether a cost is no rho, so that together they are no zCDP.
    pub(super) fn is_claimed(&self) -> bool {
        self.releases.iter().any(|release| release.charge.claim().is_some())
    }

    /// Whether a release is a choice among candidates.
    pub(super) fn chooses(&self) -> bool {
        self.releases.iter().any(|release| matches!(release.charge, Charge::Exponential(_)))
    }

    /// Whether a release is amplified by iteration.
    pub(super) fn iterates(&self) -> bool {
        self.releases.iter().any(|release| matches!(release.query, Query::OnePass(_)))
    }

    /// Why the run protects nobody; empty if it does.
    pub(super) fn faults(&self) -> Vec<String> {
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

pub(super) fn damaged(why: &str) -> Error {
    Error::parameter("statement", why, "the file is damaged or was edited")
}
