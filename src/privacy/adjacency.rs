//! Which data sets count as neighbours.

use serde::{Deserialize, Serialize};

use super::DatasetId;
use crate::error::{Error, Fallible};

/// The relation between data sets that a guarantee protects.
///
/// Guarantees under different relations are never composed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Adjacency {
    /// One data set is the other plus one row. The number of rows is private.
    AddRemove,
    /// Both have the same, public number of rows and differ in one of them.
    ReplaceOne,
}

impl Adjacency {
    /// How far a sum of vectors of norm at most `clip_steps` moves between neighbours: `clip_steps`, or
    /// `2 * clip_steps` under replace-one because one vector leaves and another enters.
    pub fn sum_sensitivity(self, clip_steps: u64) -> u64 {
        match self {
            Adjacency::AddRemove => clip_steps,
            // Saturating: a bound that cannot be doubled must not wrap to a small one.
            Adjacency::ReplaceOne => clip_steps.saturating_mul(2),
        }
    }

    /// Whether the number of rows is public under this relation.
    pub fn row_count_is_public(self) -> bool {
        match self {
            Adjacency::AddRemove => false,
            Adjacency::ReplaceOne => true,
        }
    }

    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Adjacency::AddRemove => "add-remove",
            Adjacency::ReplaceOne => "replace-one",
        }
    }
}

impl std::fmt::Display for Adjacency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What neighbours differ in: a row, all rows of a person, the label of one row, or all its cells but public ones.
///
/// Under add-remove a unit enters or leaves, under replace-one another takes its place. Guarantees for different units are never
/// composed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PrivacyUnit {
    /// One row.
    #[default]
    Row,
    /// All rows with the same identifier: those of a person, a household, a plane.
    Person {
        /// The column that holds the identifier.
        column: String,
    },
    /// The label of one row, or its target. All features, and how many rows there are, are public, so that labels are replaced and never
    /// come or go.
    ///
    /// # Reference
    /// Chaudhuri and Hsu 2011, "Sample complexity bounds for differentially private learning" (label privacy).
    Label,
    /// The cells of one row but for those of public columns, which all may know, as they may how many rows there are. So cells are replaced
    /// and never come or go.
    ///
    /// # Reference
    /// Ghazi et al. 2024, "On convex optimization with semi-sensitive features".
    PrivateCells {
        /// The public columns, in alphabetical order, at least one.
        public: Vec<String>,
    },
}

impl PrivacyUnit {
    /// The cells of a row but for those of some columns; the whole row where there is no such column.
    ///
    /// ```
    /// use rhograd::privacy::PrivacyUnit;
    /// let unit = PrivacyUnit::private_cells(["sex", "age"]);
    /// assert_eq!(unit, PrivacyUnit::PrivateCells { public: vec!["age".into(), "sex".into()] });
    /// assert!(PrivacyUnit::private_cells([]).is_row());
    /// ```
    pub fn private_cells<'a>(public: impl IntoIterator<Item = &'a str>) -> Self {
        let mut public: Vec<String> = public.into_iter().map(str::to_owned).collect();
        public.sort();
        public.dedup();
        if public.is_empty() { PrivacyUnit::Row } else { PrivacyUnit::PrivateCells { public } }
    }

    /// All rows with the same text in a column.
    ///
    /// # Errors
    /// When the column has no name.
    ///
    /// ```
    /// use rhograd::privacy::PrivacyUnit;
    /// let unit = PrivacyUnit::person("patient")?;
    /// assert_eq!(unit.to_string(), "person (all rows with the same \"patient\")");
    /// assert!(PrivacyUnit::default().is_row() && PrivacyUnit::person("").is_err());
    /// # Ok::<(), rhograd::error::Error>(())
    /// ```
    pub fn person(column: &str) -> Fallible<Self> {
        if column.trim().is_empty() {
            return Err(Error::parameter(
                "unit",
                "names no column",
                "name the column that holds identifiers of persons",
            ));
        }
        Ok(PrivacyUnit::Person { column: column.to_owned() })
    }

    /// How neighbours under a relation differ, in words.
    ///
    /// ```
    /// use rhograd::privacy::{Adjacency, PrivacyUnit};
    /// assert_eq!(PrivacyUnit::Row.change(Adjacency::ReplaceOne), "replacing one row");
    /// ```
    pub fn change(&self, adjacency: Adjacency) -> String {
        match (self, adjacency) {
            (PrivacyUnit::Row, Adjacency::AddRemove) => "adding or removing one row".into(),
            (PrivacyUnit::Row, Adjacency::ReplaceOne) => "replacing one row".into(),
            (PrivacyUnit::Person { column }, Adjacency::AddRemove) => {
                format!("adding or removing all rows of one person (column \"{column}\")")
            }
            (PrivacyUnit::Person { column }, Adjacency::ReplaceOne) => {
                format!("replacing all rows of one person (column \"{column}\") by any rows of another")
            }
            (PrivacyUnit::Label, _) => "replacing the label of one row, all features being public".into(),
            (PrivacyUnit::PrivateCells { public }, _) => {
                format!("replacing the private cells of one row, all but those of the public {}", columns(public))
            }
        }
    }

    /// Whether it is a row; files of versions that knew no other unit do not say so.
    pub fn is_row(&self) -> bool {
        *self == PrivacyUnit::Row
    }

    /// Whether it is a person with any number of rows.
    pub fn is_person(&self) -> bool {
        matches!(self, PrivacyUnit::Person { .. })
    }

    /// Whether it is the private cells of a row, where some columns are public.
    pub fn is_private_cells(&self) -> bool {
        matches!(self, PrivacyUnit::PrivateCells { .. })
    }

    /// Whether how many rows there are, and more, is public, so that neighbours have equally many.
    pub fn is_replaced(&self) -> bool {
        matches!(self, PrivacyUnit::Label | PrivacyUnit::PrivateCells { .. })
    }

    /// Refuses relations that do not fit it: labels, and private cells of public rows, do not come and go.
    ///
    /// # Errors
    /// When labels alone, or private cells, are protected under add-remove; when public columns are none, or not in their order.
    ///
    /// ```
    /// use rhograd::privacy::{Adjacency, PrivacyUnit};
    /// assert!(PrivacyUnit::Label.check(Adjacency::ReplaceOne).is_ok());
    /// assert!(PrivacyUnit::Label.check(Adjacency::AddRemove).is_err());
    /// ```
    pub fn check(&self, adjacency: Adjacency) -> Fallible<()> {
        match (self, adjacency) {
            (PrivacyUnit::Label, Adjacency::AddRemove) => Err(Error::parameter(
                "--adjacency",
                "is add-remove, and labels alone are protected, of which none comes or goes: the features of all rows are public",
                "use --adjacency replace-one",
            )),
            (PrivacyUnit::PrivateCells { public }, _) if public.is_empty() || !public.is_sorted_by(|a, b| a < b) => {
                Err(Error::parameter("--public", "names no column, or one twice", "name each public column once"))
            }
            (PrivacyUnit::PrivateCells { .. }, Adjacency::AddRemove) => Err(Error::parameter(
                "--adjacency",
                "is add-remove, and some columns are public, so that no row comes or goes: all may know which rows there are",
                "use --adjacency replace-one",
            )),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Display for PrivacyUnit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PrivacyUnit::Row => f.write_str("row"),
            PrivacyUnit::Person { column } => write!(f, "person (all rows with the same \"{column}\")"),
            PrivacyUnit::Label => f.write_str("label"),
            PrivacyUnit::PrivateCells { public } => write!(f, "private cells of a row (public: {})", quoted(public)),
        }
    }
}

/// Names in quotes, between commas.
fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// Columns by their names.
fn columns(names: &[String]) -> String {
    format!("{} {}", if names.len() == 1 { "column" } else { "columns" }, quoted(names))
}

/// What a guarantee is about: one data set under one relation, with its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The data set.
    pub dataset: DatasetId,
    /// The relation.
    pub adjacency: Adjacency,
    /// What neighbours differ in.
    pub unit: PrivacyUnit,
}

impl Scope {
    /// A data set whose neighbours differ in one row.
    pub fn of_rows(dataset: DatasetId, adjacency: Adjacency) -> Self {
        Scope { dataset, adjacency, unit: PrivacyUnit::Row }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replace_one_doubles_a_clipped_sum() {
        assert_eq!(Adjacency::AddRemove.sum_sensitivity(5), 5);
        assert_eq!(Adjacency::ReplaceOne.sum_sensitivity(5), 10);
        assert_eq!(Adjacency::ReplaceOne.sum_sensitivity(1 << 63), u64::MAX, "never wraps to a small bound");
    }
}
