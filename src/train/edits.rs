//! What can be asked of the shapes of a released model, and what a file says was done.

use serde::{Deserialize, Serialize};

/// Edits, and values of their orders, that a file may have: what a hand writes, and little for `verify` to look through.
pub(super) const MOST_EDITS: usize = 4096;

/// One thing that is done to the shape of a column after release, see [`reshape`](super::reshape()).
///
/// ```
/// use rhograd::train::Edit;
///
/// let edits: Vec<Edit> = serde_json::from_str(
///     r#"[{"edit": "increasing", "column": "educ"}, {"edit": "set", "column": "age", "at": "90", "effect": 0.2},
///         {"edit": "decreasing", "column": "size", "order": ["small", "middle", "large"]}]"#,
/// )
/// .unwrap();
/// assert_eq!(edits[0].words(), "educ made increasing");
/// assert_eq!(edits[1], Edit::Set { column: "age".into(), at: "90".into(), effect: 0.2 });
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "lowercase", deny_unknown_fields)]
pub enum Edit {
    /// The effect never falls from one interval, or one value of the order, to the next.
    Increasing {
        /// Column name.
        column: String,
        /// Values of a category in their order; empty for a number.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        order: Vec<String>,
    },
    /// The effect never rises from one interval, or one value of the order, to the next.
    Decreasing {
        /// Column name.
        column: String,
        /// Values of a category in their order; empty for a number.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        order: Vec<String>,
    },
    /// The slope from the middle of one interval to the middle of the next never falls.
    Convex {
        /// Column name.
        column: String,
    },
    /// The slope from the middle of one interval to the middle of the next never rises.
    Concave {
        /// Column name.
        column: String,
    },
    /// The effect of one interval or one value is this.
    Set {
        /// Column name.
        column: String,
        /// A number in the interval, or the value.
        at: String,
        /// The effect, in the units of [`Shape`](super::Shape).
        effect: f64,
    },
    /// The log-odds are moved and stretched as the released counts of rows held out ask for; no edit stands beside it.
    Recalibrated {},
}

impl Edit {
    /// The column whose shape changes; none where all of them do.
    pub fn column(&self) -> Option<&str> {
        match self {
            Edit::Increasing { column, .. }
            | Edit::Decreasing { column, .. }
            | Edit::Convex { column }
            | Edit::Concave { column }
            | Edit::Set { column, .. } => Some(column),
            Edit::Recalibrated {} => None,
        }
    }

    /// What is done, for people.
    pub fn words(&self) -> String {
        match self {
            Edit::Increasing { column, order } => format!("{column} made increasing{}", along(order)),
            Edit::Decreasing { column, order } => format!("{column} made decreasing{}", along(order)),
            Edit::Convex { column } => format!("{column} made convex"),
            Edit::Concave { column } => format!("{column} made concave"),
            Edit::Set { column, at, effect } => format!("the effect of {column} at {at} set to {effect}"),
            Edit::Recalibrated {} => "log-odds moved and stretched to fit the rows held out".into(),
        }
    }
}

fn along(order: &[String]) -> String {
    if order.is_empty() { String::new() } else { format!(" along {}", order.join(" < ")) }
}

/// What was done to a model after its release.
///
/// ```
/// # use rhograd::train::{Edit, Reshaped};
/// let edits = vec![Edit::Convex { column: "age".into() }, Edit::Increasing { column: "age".into(), order: vec![] }];
/// let done = Reshaped { source_sha256: "0".repeat(64), edits };
/// assert_eq!(done.words(), "age made convex; age made increasing");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reshaped {
    /// SHA-256 of the released file, byte for byte.
    pub source_sha256: String,
    /// The edits, all made at once.
    pub edits: Vec<Edit>,
}

impl Reshaped {
    /// What was done, for people.
    pub fn words(&self) -> String {
        self.edits.iter().map(Edit::words).collect::<Vec<_>>().join("; ")
    }
}
