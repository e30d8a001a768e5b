//! Who sees what, and what kind of guarantee is given.

use serde::{Deserialize, Serialize};

use super::facts::Facts;
use crate::accounting::Conversion;
use crate::privacy::Adjacency;

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
    pub(super) fn standard() -> Self {
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
    pub(super) fn of(facts: &Facts) -> Self {
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
