//! What a column may hold: the public description of one feature, and features in order.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Fallible};

/// What a numeric cell counts as that holds no number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// The middle of the bounds.
    #[default]
    Middle,
    /// The middle of the bounds, and a coefficient of its own says what being missing tells.
    Indicator,
}

impl Missing {
    /// Whether it is what a schema need not say.
    fn is_middle(&self) -> bool {
        *self == Missing::Middle
    }
}

/// The public description of one feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", from = "Written")]
pub enum Column {
    /// A number; values outside the bounds are moved to the nearer bound, missing or unreadable
    /// ones to the middle.
    Numeric {
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
        /// What a cell without a number counts as.
        #[serde(default, skip_serializing_if = "Missing::is_middle")]
        missing: Missing,
        /// Whether everybody may know its cells, see [`Column::is_public`].
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        public: bool,
    },
    /// One of the declared values.
    Categorical {
        /// The declared values.
        values: Vec<String>,
        /// The declared value that stands for every undeclared one; without it an undeclared value
        /// counts as none of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other: Option<String>,
        /// Whether everybody may know its cells, see [`Column::is_public`].
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        public: bool,
    },
}

impl Column {
    /// A number between bounds; where there is none, the middle of them.
    ///
    /// ```
    /// use rhograd::data::{Column, Missing};
    ///
    /// let age = Column::number(0.0, 110.0);
    /// assert_eq!(age, Column::Numeric { lower: 0.0, upper: 110.0, missing: Missing::Middle, public: false });
    /// ```
    pub fn number(lower: f64, upper: f64) -> Self {
        Column::Numeric { lower, upper, missing: Missing::Middle, public: false }
    }

    /// One of some values; any other text is none of them.
    ///
    /// ```
    /// use rhograd::data::Column;
    ///
    /// let town = Column::categories(vec!["a".into(), "b".into()]);
    /// assert!(!town.is_public());
    /// ```
    pub fn categories(values: Vec<String>) -> Self {
        Column::Categorical { values, other: None, public: false }
    }

    /// Whether everybody may know all cells of the column: neighbouring data sets then agree in it, and whatever follows from public columns
    /// alone is free.
    pub fn is_public(&self) -> bool {
        match self {
            Column::Numeric { public, .. } | Column::Categorical { public, .. } => *public,
        }
    }

    /// Says that everybody may know all cells of the column.
    pub(super) fn publish(&mut self) {
        match self {
            Column::Numeric { public, .. } | Column::Categorical { public, .. } => *public = true,
        }
    }
}

/// A column as files say it.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Written {
    Numeric {
        lower: f64,
        upper: f64,
        #[serde(default)]
        missing: Missing,
        #[serde(default)]
        public: bool,
    },
    Categorical {
        values: Vec<String>,
        #[serde(default)]
        other: Option<String>,
        #[serde(default)]
        missing: Option<MissingValue>,
        #[serde(default)]
        public: bool,
    },
}

/// What a missing category is, where it is something.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum MissingValue {
    Indicator,
}

impl From<Written> for Column {
    fn from(written: Written) -> Self {
        match written {
            Written::Numeric { lower, upper, missing, public } => Column::Numeric { lower, upper, missing, public },
            Written::Categorical { mut values, other, missing, public } => {
                // The empty text is the one of a missing cell.
                if missing.is_some() && !values.iter().any(|value| value.trim().is_empty()) {
                    values.push(String::new());
                }
                Column::Categorical { values, other, public }
            }
        }
    }
}

/// A feature with values, each of which gets a coefficient.
///
/// ```
/// use rhograd::data::{Categorical, SchemaBuilder};
///
/// let schema = SchemaBuilder::classification("visits", "again").positive("yes").numeric_or_missing("age", 0.0, 110.0).build()?;
/// let feature: Categorical<'_> = schema.categorical().next().unwrap();
/// assert_eq!((&*feature.name, feature.values.len(), feature.missing_of), ("age (missing)", 1, Some(("age", 0))));
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Categorical<'a> {
    /// Its name; that of the column, unless it says where a number is missing.
    pub name: Cow<'a, str>,
    /// The values.
    pub values: &'a [String],
    /// The value that stands for undeclared ones.
    pub other: Option<&'a str>,
    /// The column of numbers, and its place among those, whose missing cells have the one value.
    pub missing_of: Option<(&'a str, usize)>,
    /// Whether everybody may know it.
    pub public: bool,
}

/// The one value of a feature that says where a number is missing.
pub(super) static MISSING: LazyLock<[String; 1]> = LazyLock::new(|| ["missing".to_owned()]);

/// The name of the feature that says where numbers of a column are missing.
pub(super) fn missing_name(column: &str) -> String {
    format!("{column} (missing)")
}

pub(super) fn fault(path: &Path, key: &str, problem: &str, cure: &str) -> Error {
    Error::input(path, problem, cure).in_column(key)
}

pub(super) fn check_bounds(path: &Path, key: &str, lower: f64, upper: f64) -> Fallible<()> {
    let usable = lower.is_finite() && upper.is_finite() && (upper - lower).is_finite();
    if usable && lower < upper {
        return Ok(());
    }
    let problem = format!("bounds are inverted, equal or not finite (lower {lower}, upper {upper})");
    Err(fault(path, key, &problem, "set finite bounds with lower < upper"))
}

pub(super) fn check_column(path: &Path, name: &str, column: &Column) -> Fallible<()> {
    match column {
        Column::Numeric { lower, upper, .. } => check_bounds(path, name, *lower, *upper),
        Column::Categorical { values, other, .. } => {
            if values.is_empty() || values.len() > usize::from(u16::MAX) - 1 {
                return Err(fault(path, name, "needs 1 to 65534 values", "declare the public values"));
            }
            let mut seen = HashSet::new();
            if let Some(twice) = values.iter().find(|v| !seen.insert(v.trim())) {
                return Err(fault(path, name, &format!("declares {twice:?} twice"), "remove the duplicate"));
            }
            match other {
                Some(other) if !values.contains(other) => {
                    Err(fault(path, name, "\"other\" is not one of the values", "add it to \"values\""))
                }
                _ => Ok(()),
            }
        }
    }
}

/// Named columns in file order; a name that occurs twice is an error.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Columns(pub Vec<(String, Column)>);

impl Serialize for Columns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, column)| (name, column)))
    }
}

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Columns;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of columns")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Columns, A::Error> {
                let mut columns: Vec<(String, Column)> = Vec::new();
                let mut known = HashSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    let column =
                        map.next_value().map_err(|e| serde::de::Error::custom(format_args!("column {name:?}: {e}")))?;
                    if !known.insert(name.clone()) {
                        return Err(serde::de::Error::custom(format_args!("column {name:?} is declared twice")));
                    }
                    columns.push((name, column));
                }
                Ok(Columns(columns))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
