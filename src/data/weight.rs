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
    /// How long, or of how many, a row counts events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<Exposure>,
    /// What is added to the margin of a row, and has no coefficient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Offset>,
}

/// For how long, or of how many, a row counts events: the target over the exposure is a rate, and the row weighs as much as its exposure.
///
/// With a count `y` over an exposure `e` the loss of a log rate `t` is `e (exp(t) - (y / e) t)`, that of the rate `y / e` with the weight `e`. So the
/// slope is `e (exp(t) - y / e)`, and the model predicts events for an exposure of 1.
///
/// ```
/// use rhograd::data::{Exposure, RowWeight};
///
/// let years = Exposure { column: "years".into(), max: 5.0 };
/// let weight = RowWeight { exposure: Some(years), ..RowWeight::default() };
/// assert_eq!(weight.largest(), 5.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exposure {
    /// The column that holds exposures, which is no feature.
    pub column: String,
    /// The largest exposure, publicly known; a row with a larger one weighs as much as one with this.
    pub max: f64,
}

/// A number of each row that is added to its margin with a coefficient of 1.
///
/// A number to predict counts as what is left of it without the offset, so its bounds are those of the difference. Of two labels the offset is
/// added to the log-odds, or to the score. The model predicts for an offset of 0.
///
/// # Reference
/// McCullagh and Nelder 1989, "Generalized linear models", section 6.2 (offsets).
///
/// ```
/// use rhograd::data::{Offset, RowWeight};
///
/// let before = Offset { column: "score_before".into(), lower: -3.0, upper: 3.0 };
/// let weight = RowWeight { offset: Some(before), ..RowWeight::default() };
/// assert_eq!(weight.largest(), 1.0);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offset {
    /// The column that holds offsets, which is no feature.
    pub column: String,
    /// The least offset, publicly known; a smaller one counts as this.
    pub lower: f64,
    /// The largest offset, publicly known; a larger one counts as this.
    pub upper: f64,
}

impl RowWeight {
    /// Weights in a column, the largest of which is publicly known.
    pub fn column(name: impl Into<String>, max: f64) -> Self {
        RowWeight { column: Some(name.into()), max: Some(max), ..RowWeight::default() }
    }

    /// The largest weight that a row can have.
    pub fn largest(&self) -> f64 {
        let exposure = self.exposure.as_ref().map_or(1.0, |exposure| exposure.max);
        self.max.unwrap_or(1.0) * self.largest_of_labels() * exposure
    }

    /// The largest weight of a label, if only of those that are left out.
    pub(crate) fn largest_of_labels(&self) -> f64 {
        let given = self.labels.values().copied();
        given.reduce(f64::max).map_or(1.0, |largest| largest.max(1.0))
    }

    /// Whether rows count differently; offsets alone let them count alike.
    pub(crate) fn is_of_rows(&self) -> bool {
        self.column.is_some() || self.exposure.is_some() || !self.labels.is_empty()
    }

    /// What is wrong with them, whatever they are of, and the cure.
    pub(crate) fn problem(&self) -> Option<(&'static str, &'static str)> {
        let usable = |number: f64| number.is_finite() && number > 0.0;
        match (&self.column, self.max, &self.exposure) {
            (None, None, None) if self.labels.is_empty() && self.offset.is_none() => {
                Some(("says nothing", "name a \"column\" with its \"max\", or give weights of \"labels\""))
            }
            (None, Some(_), _) => Some(("has a \"max\" and no column", "name the \"column\" of weights")),
            (Some(_), None, _) => Some((
                "says no largest weight",
                "give \"max\", the largest weight that is publicly possible; not the largest of the file",
            )),
            (_, Some(max), _) if !usable(max) => {
                Some(("has a \"max\" that is not above 0, or not finite", "give a number above 0"))
            }
            (_, _, Some(exposure)) if !usable(exposure.max) => {
                Some(("has a \"max\" of exposures that is not above 0, or not finite", "give a number above 0"))
            }
            _ if !self.labels.values().all(|weight| usable(*weight)) => {
                Some(("of a label is not above 0, or not finite", "give a number above 0"))
            }
            _ if !self.offset.as_ref().is_none_or(Offset::is_usable) => Some((
                "has bounds of offsets that are inverted, equal or not finite",
                "give finite bounds, the lower one below the upper one",
            )),
            _ if !usable(self.largest()) => Some(("is larger than any number can be", "give smaller weights")),
            _ => None,
        }
    }

    /// The weights in one line.
    pub(crate) fn in_words(&self) -> String {
        let column = self.column.as_ref().zip(self.max);
        let column = column.map(|(column, max)| format!("the number in \"{column}\", at most {max}"));
        let labels = self.labels.iter().map(|(label, weight)| format!("{weight} for \"{label}\""));
        let labels = labels.collect::<Vec<_>>().join(", ");
        let labels = (!labels.is_empty()).then(|| format!("{labels}, and 1 for other labels"));
        let exposure = self.exposure.as_ref();
        let exposure = exposure.map(|it| format!("the exposure in \"{}\", at most {}", it.column, it.max));
        let words = [column, labels, exposure].into_iter().flatten().collect::<Vec<_>>().join(", times ");
        if words.is_empty() { "1".into() } else { words }
    }
}

impl Offset {
    /// Whether its bounds are some.
    fn is_usable(&self) -> bool {
        (self.upper - self.lower).is_finite() && self.lower < self.upper
    }

    /// An offset within the bounds.
    pub(crate) fn within(&self, offset: f64) -> f64 {
        offset.clamp(self.lower, self.upper)
    }
}
