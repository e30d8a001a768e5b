//! How a schema came out of the rows privately, as the schema itself records it.

use serde::{Deserialize, Serialize};

use crate::privacy::{Adjacency, PrivacyUnit};

/// What a private draft of a schema cost; whatever is trained with the schema costs this on top.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemaRelease {
    /// The guarantee in one sentence.
    pub statement: String,
    /// Neighbouring relation.
    pub adjacency: Adjacency,
    /// What neighbours differ in; files of versions that knew no other unit than a row do not say so.
    #[serde(default, skip_serializing_if = "PrivacyUnit::is_row")]
    pub unit: PrivacyUnit,
    /// rho of approximate zCDP, a decimal rounded upward.
    pub rho: String,
    /// Its failure probability, a decimal rounded upward.
    pub approximate_delta: String,
    /// Epsilon at `delta`, a decimal rounded upward.
    pub epsilon: String,
    /// Delta of the epsilon.
    pub delta: String,
    /// Where the charges stand, if a durable ledger holds them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<LedgerPlace>,
}

/// An entry of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerPlace {
    /// Number of the entry.
    pub sequence: u64,
    /// Hash of the chain up to it.
    pub hash: String,
}

impl SchemaRelease {
    /// What its numbers say, in words.
    pub fn sentence(&self) -> String {
        let SchemaRelease { rho, approximate_delta, epsilon, delta, .. } = self;
        let change = self.unit.change(self.adjacency);
        format!(
            "This schema is {approximate_delta}-approximate {rho}-zCDP, and hence ({epsilon}, {delta})-differentially private, \
             with respect to {change}."
        )
    }

    /// Whether it states a cost, in the words that belong to its numbers.
    pub(super) fn is_consistent(&self) -> bool {
        self.cost().is_some() && self.statement == self.sentence()
    }

    /// rho and the failure probability, if they are numbers that a cost can have.
    pub fn cost(&self) -> Option<(f64, f64)> {
        let rho = self.rho.parse().ok().filter(|rho: &f64| *rho > 0.0 && rho.is_finite())?;
        let fails = self.approximate_delta.parse().ok().filter(|delta| (0.0..1.0).contains(delta))?;
        Some((rho, fails))
    }
}
