//! The weight that a schema gives rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How much rows count: a row of weight `w` counts `w / W` of one of the largest weight `W`, in every release.
///
/// The weight of a row is that of its cell in a column, up to `max`, times that of its label, where either is said. `W` follows from what is
/// said here and not from rows, so one row counts as much as any other at most, and the sensitivity of a release is that without weights.
///
/// ```
/// use rhograd::data::RowWeight;
///
/// let survey = RowWeight::column("design_weight", 20.0);
/// assert_eq!((survey.max, survey.largest()), (Some(20.0), 20.0));
/// let rare = RowWeight { labels: [("yes".to_owned(), 5.0)].into(), ..RowWeight::default() };
/// assert_eq!(rare.largest(), 5.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowWeight {
    /// The column that holds weights, which is no feature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The largest weight in it, publicly known; a larger one counts as this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Weights of labels; 1 for those that are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, f64>,
}

impl RowWeight {
    /// Weights in a column, the largest of which is publicly known.
    pub fn column(name: impl Into<String>, max: f64) -> Self {
        RowWeight { column: Some(name.into()), max: Some(max), labels: BTreeMap::new() }
    }

    /// The largest weight that a row can have.
    pub fn largest(&self) -> f64 {
        self.max.unwrap_or(1.0) * self.largest_of_labels()
    }

    /// The largest weight of a label, if only of those that are left out.
    pub(crate) fn largest_of_labels(&self) -> f64 {
        let given = self.labels.values().copied();
        given.reduce(f64::max).map_or(1.0, |largest| largest.max(1.0))
    }

    /// The weights in one line.
    pub(crate) fn in_words(&self) -> String {
        let column = self.column.as_ref().zip(self.max);
        let column = column.map(|(column, max)| format!("the number in \"{column}\", at most {max}"));
        let labels = self.labels.iter().map(|(label, weight)| format!("{weight} for \"{label}\""));
        let labels = labels.collect::<Vec<_>>().join(", ");
        match (column, labels.is_empty()) {
            (Some(column), true) => column,
            (Some(column), false) => format!("{column}, times {labels} and 1 for other labels"),
            (None, _) => format!("{labels}, and 1 for other labels"),
        }
    }
}
