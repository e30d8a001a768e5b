//! Who sees what, and what kind of guarantee is given.

use serde::{Deserialize, Serialize};

use super::facts::Facts;
use crate::accounting::Conversion;
use crate::privacy::{Adjacency, PrivacyUnit};

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

impl Setting {
    pub(super) fn of(facts: &Facts) -> Self {
        let released = ["model", "statement", "log", "noised sums", "iterates", "exit code"];
        Setting {
            model: "central".into(),
            curator_trusted: true,
            released: released.map(String::from).to_vec(),
            adversary: {
                let others = match facts.unit {
                    PrivacyUnit::Row => "all other rows",
                    PrivacyUnit::Person { .. } => "all rows of everybody else",
                    PrivacyUnit::Label => "all features and all other labels",
                    PrivacyUnit::PrivateCells { .. } => "all public columns and all other rows",
                };
                format!(
                    "sees everything released, knows {others}, may choose every setting; \
                     has no access to the host, its memory or its timing"
                )
            },
        }
    }
}

impl Definition {
    pub(super) fn of(facts: &Facts) -> Self {
        let adjacency = facts.adjacency;
        let protects: &[&str] = match (&facts.unit, adjacency) {
            (PrivacyUnit::Row, Adjacency::AddRemove) => &["features", "label", "presence"],
            (PrivacyUnit::Row, Adjacency::ReplaceOne) => &["features", "label"],
            (PrivacyUnit::Person { .. }, Adjacency::AddRemove) => {
                &["features", "labels", "number of rows of a person", "presence"]
            }
            (PrivacyUnit::Person { .. }, Adjacency::ReplaceOne) => {
                &["features", "labels", "number of rows of a person"]
            }
            (PrivacyUnit::Label, _) => &["label"],
            (PrivacyUnit::PrivateCells { .. }, _) => &["features of private columns", "label"],
        };
        Definition {
            notion: match facts.conversion() {
                _ if facts.is_claimed() => "(epsilon, delta)-DP".into(),
                Conversion::Exact => "Gaussian DP and zCDP".into(),
                Conversion::Optimal | Conversion::Classical => "zCDP".into(),
            },
            unit: facts.unit.to_string(),
            max_rows_per_person: None,
            adjacency,
            protects: protects.iter().map(|s| (*s).into()).collect(),
            // Of persons it is their number that replacing one keeps.
            row_count_is_public: adjacency.row_count_is_public() && !facts.unit.is_person(),
        }
    }
}
