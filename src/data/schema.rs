//! The schema: everything about a data set that is public before its rows are read.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::editor::WithoutKey;
use super::{Protect, SchemaRelease, Unit};
use crate::error::{Error, Fallible};
use crate::grid::PERSON_WEIGHT;
use crate::privacy::{DatasetId, PrivacyUnit};

/// Most labels of a classification; what one pass over the rows can hold.
const MAX_LABELS: usize = 256;

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Task {
    /// One of two labels, or of those that listing the target as a categorical column declares.
    Classification,
    /// A number between public bounds.
    Regression,
}

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
    },
    /// One of the declared values.
    Categorical {
        /// The declared values.
        values: Vec<String>,
        /// The declared value that stands for every undeclared one; without it an undeclared value
        /// counts as none of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other: Option<String>,
    },
}

impl Column {
    /// A number between bounds; where there is none, the middle of them.
    ///
    /// ```
    /// use rhograd::data::{Column, Missing};
    ///
    /// let age = Column::number(0.0, 110.0);
    /// assert_eq!(age, Column::Numeric { lower: 0.0, upper: 110.0, missing: Missing::Middle });
    /// ```
    pub fn number(lower: f64, upper: f64) -> Self {
        Column::Numeric { lower, upper, missing: Missing::Middle }
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
    },
    Categorical {
        values: Vec<String>,
        #[serde(default)]
        other: Option<String>,
        #[serde(default)]
        missing: Option<MissingValue>,
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
            Written::Numeric { lower, upper, missing } => Column::Numeric { lower, upper, missing },
            Written::Categorical { mut values, other, missing } => {
                // The empty text is the one of a missing cell.
                if missing.is_some() && !values.iter().any(|value| value.trim().is_empty()) {
                    values.push(String::new());
                }
                Column::Categorical { values, other }
            }
        }
    }
}

/// A feature with values, each of which gets a coefficient.
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
}

/// The one value of a feature that says where a number is missing.
static MISSING: LazyLock<[String; 1]> = LazyLock::new(|| ["missing".to_owned()]);

/// The name of the feature that says where numbers of a column are missing.
fn missing_name(column: &str) -> String {
    format!("{column} (missing)")
}

/// The public schema of a data set, strict: an unknown key is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// The data set's public name; the ledger charges to it.
    pub name: String,
    /// What is predicted.
    pub task: Task,
    /// The column to predict.
    pub target: String,
    /// Classification: the label counted as 1. Left out, the target must be listed as a categorical column with at
    /// least three labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
    /// Classification: the label counted as 0. With it, a row with any third label contributes
    /// nothing; without it, every label but `positive` counts as 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative: Option<String>,
    /// Regression: public lower bound of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_lower: Option<f64>,
    /// Regression: public upper bound of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_upper: Option<f64>,
    /// A public hint of the number of rows, never counted from the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// What is protected where that is not one row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// What of a row is protected; the label alone where all features are public.
    #[serde(default, skip_serializing_if = "Protect::is_row")]
    pub protect: Protect,
    /// Columns to leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// The features, in order.
    pub columns: Columns,
    /// Set by `rhograd inspect`: bounds and values were read off the rows, so nothing trained with
    /// this schema is private.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    /// Set by a private draft: bounds and values were released from the rows, at this cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<SchemaRelease>,
}

impl Schema {
    /// A schema that declares nothing but what is predicted.
    pub(crate) fn without_columns(name: String, target: String, task: Task) -> Self {
        Schema {
            name,
            task,
            target,
            positive: None,
            negative: None,
            target_lower: None,
            target_upper: None,
            rows: None,
            unit: None,
            protect: Protect::Row,
            ignore: Vec::new(),
            columns: Columns::default(),
            draft: false,
            released: None,
        }
    }

    /// Reads and checks a schema file.
    ///
    /// # Errors
    /// Names the file, the line or the key, and the cure.
    pub fn read(path: &Path) -> Fallible<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, "read the schema", e))?;
        Self::parse(&text, path)
    }

    /// Parses and checks schema text; `path` is used in messages only. A key `"$schema"` with a text is for editors, and is left out.
    ///
    /// # Errors
    /// Names the file, the line or the key, and the cure.
    pub fn parse(text: &str, path: &Path) -> Fallible<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut json = serde_json::Deserializer::from_str(text);
        let read = Schema::deserialize(WithoutKey(&mut json)).and_then(|schema| json.end().map(|()| schema));
        let schema = read.map_err(|e| {
            Error::input(path, format!("not a valid schema: {e}"), "correct the key or value (strict JSON)")
                .at_line(e.line() as u64)
        })?;
        schema.check(path)?;
        Ok(schema)
    }

    /// Features with their descriptions: declared columns that are neither ignored nor the target.
    pub fn features(&self) -> impl Iterator<Item = (&str, &Column)> {
        let ignored: HashSet<&str> = self.ignore.iter().map(String::as_str).collect();
        self.columns
            .0
            .iter()
            .map(|(name, column)| (name.as_str(), column))
            .filter(move |(name, _)| *name != self.target && !ignored.contains(name))
    }

    /// Numeric features with their bounds, in order.
    pub fn numeric(&self) -> impl Iterator<Item = (&str, f64, f64)> {
        self.features().filter_map(|(name, column)| match column {
            Column::Numeric { lower, upper, .. } => Some((name, *lower, *upper)),
            Column::Categorical { .. } => None,
        })
    }

    /// Features with values: those of declared columns in order, then those that say where a number is missing.
    pub fn categorical(&self) -> impl Iterator<Item = Categorical<'_>> {
        let declared = self.features().filter_map(|(name, column)| match column {
            Column::Categorical { values, other } => {
                let other = other.as_deref();
                Some(Categorical { name: name.into(), values, other, missing_of: None })
            }
            Column::Numeric { .. } => None,
        });
        let numbers = self.features().filter_map(|(name, column)| match column {
            Column::Numeric { missing, .. } => Some((name, *missing)),
            Column::Categorical { .. } => None,
        });
        let told = numbers.enumerate().filter(|(_, (_, missing))| *missing == Missing::Indicator);
        declared.chain(told.map(|(slot, (column, _))| Categorical {
            name: missing_name(column).into(),
            values: MISSING.as_slice(),
            other: None,
            missing_of: Some((column, slot)),
        }))
    }

    /// Public bounds of a regression target.
    pub fn target_bounds(&self) -> Option<(f64, f64)> {
        self.target_lower.zip(self.target_upper)
    }

    /// The labels declared by listing the target as a categorical column, if it is listed.
    pub fn declared_labels(&self) -> Option<&[String]> {
        self.columns.0.iter().find(|(name, _)| *name == self.target).and_then(|(_, column)| match column {
            Column::Categorical { values, .. } => Some(values.as_slice()),
            Column::Numeric { .. } => None,
        })
    }

    /// The labels of a classification into more than two: all that are declared, where none is called positive.
    pub fn classes(&self) -> Option<&[String]> {
        match (self.task, &self.positive) {
            (Task::Classification, None) => self.declared_labels(),
            _ => None,
        }
    }

    /// The labels that count as 0; `None` when every label but the positive one does.
    pub fn negatives(&self) -> Option<Vec<String>> {
        match (&self.negative, self.declared_labels()) {
            (Some(negative), _) => Some(vec![negative.clone()]),
            (None, Some(labels)) => {
                Some(labels.iter().filter(|label| Some(*label) != self.positive.as_ref()).cloned().collect())
            }
            (None, None) => None,
        }
    }

    /// What neighbouring data sets differ in.
    pub fn privacy_unit(&self) -> PrivacyUnit {
        match &self.unit {
            None if self.protect == Protect::Label => PrivacyUnit::Label,
            None => PrivacyUnit::Row,
            Some(unit) => PrivacyUnit::Person { column: unit.column.clone() },
        }
    }

    /// This schema with a unit, checked as if a file said so; what the schema says already may be repeated, and what it leaves open
    /// may be said.
    ///
    /// # Errors
    /// When the schema has another unit, or the unit does not fit it.
    pub fn with_unit(mut self, unit: Unit) -> Fallible<Self> {
        fn joined<T: Copy + PartialEq + fmt::Display>(
            flag: &str,
            known: Option<T>,
            given: Option<T>,
        ) -> Fallible<Option<T>> {
            match (known, given) {
                (Some(known), Some(given)) if known != given => {
                    let problem = format!("is {given}, and the schema says {known}");
                    Err(Error::parameter(flag, problem, "leave it out, or correct the schema"))
                }
                (known, given) => Ok(given.or(known)),
            }
        }
        let unit = match self.unit.take() {
            Some(known) if known.column != unit.column => {
                let problem = format!("is {:?}, and the unit of the schema is {:?}", unit.column, known.column);
                return Err(Error::parameter("--unit", problem, "leave it out, or correct the schema"));
            }
            Some(known) => Unit {
                persons: joined("--persons", known.persons, unit.persons)?,
                max_rows: joined("--max-rows", known.max_rows, unit.max_rows)?,
                estimand: joined("--estimand", known.estimand, unit.estimand)?,
                column: known.column,
            },
            None => unit,
        };
        self.unit = Some(unit);
        self.check_unit(Path::new("schema"))?;
        Ok(self)
    }

    /// This schema with what of a row is to be protected, checked as if a file said so; what the schema says already may be repeated.
    ///
    /// # Errors
    /// When the schema protects labels alone and rows are asked for, or what is asked for does not fit the schema.
    pub fn with_protect(mut self, protect: Protect) -> Fallible<Self> {
        if (self.protect, protect) == (Protect::Label, Protect::Row) {
            let problem = "is row, and the schema says \"protect\": \"label\"";
            return Err(Error::parameter("--protect", problem, "leave it out, or correct the schema"));
        }
        self.protect = protect;
        self.check_protect(Path::new("schema"))?;
        Ok(self)
    }

    /// SHA-256 of the schema's canonical JSON.
    pub fn fingerprint(&self) -> String {
        use sha2::{Digest, Sha256};
        let text = serde_json::to_string(self).unwrap_or_default();
        format!("{:x}", Sha256::digest(text.as_bytes()))
    }

    pub(super) fn check(&self, path: &Path) -> Fallible<()> {
        DatasetId::new(self.name.clone())
            .map_err(|_| fault(path, "name", "is empty, too long or has control characters", "name the data set"))?;
        match self.task {
            Task::Classification => self.check_classification(path)?,
            Task::Regression => self.check_regression(path)?,
        }
        for (name, column) in &self.columns.0 {
            check_column(path, name, column)?;
        }
        if self.released.as_ref().is_some_and(|release| !release.is_consistent()) {
            let problem = "states no cost, or other words than its numbers";
            return Err(fault(path, "released", problem, "use the file that `rhograd inspect` wrote"));
        }
        if self.ignore.contains(&self.target) {
            return Err(fault(path, "ignore", "lists the target", "remove the target from \"ignore\""));
        }
        if self.features().next().is_none() {
            return Err(fault(path, "columns", "declares no feature", "declare at least one feature column"));
        }
        let names: HashSet<&str> = self.features().map(|(name, _)| name).collect();
        if let Some(told) = self.categorical().find(|c| c.missing_of.is_some() && names.contains(&*c.name)) {
            let problem = "is also what the feature is called that says where numbers of another column are missing";
            return Err(fault(
                path,
                &told.name,
                problem,
                "rename the column, or leave \"missing\" out of the other one",
            ));
        }
        self.check_protect(path)?;
        self.check_unit(path)
    }

    /// Refuses what labels alone cannot be protected beside.
    pub(crate) fn check_protect(&self, path: &Path) -> Fallible<()> {
        let refused = |problem: &str, cure: &str| Err(fault(path, "protect", problem, cure));
        if self.protect.is_row() {
            return Ok(());
        }
        if self.unit.is_some() {
            return refused(
                "says that labels alone are protected, and a unit that persons are, with all that their rows hold",
                "leave one of them out",
            );
        }
        if self.released.is_some() {
            return refused(
                "says that labels alone are protected, and bounds and values were released to protect rows: costs of either do not add up",
                "write by hand what is publicly known: bounds and values of features, which may be read off the rows here, and of the target, which may not",
            );
        }
        Ok(())
    }

    fn check_unit(&self, path: &Path) -> Fallible<()> {
        let refused = |problem: &str, cure: &str| Err(fault(path, "unit", problem, cure));
        let released = self.released.as_ref().map(|release| &release.unit);
        let Some(unit) = &self.unit else {
            return match released {
                // Nothing is drafted for labels alone.
                None | Some(PrivacyUnit::Row | PrivacyUnit::Label) => Ok(()),
                Some(PrivacyUnit::Person { column }) => {
                    let problem = "is missing, and bounds and values were released to protect persons: costs for rows and for persons do not \
                                   add up";
                    refused(problem, &format!("write \"unit\": {{\"column\": {column:?}}} back"))
                }
            };
        };
        if unit.column == self.target {
            return refused("names the target, which tells no person from another", "name the column of identifiers");
        }
        if self.features().any(|(name, _)| name == unit.column) {
            let problem = format!("names {:?}, which is a feature: a model must not hold identifiers", unit.column);
            return refused(&problem, "take the column out of \"columns\"");
        }
        if unit.persons == Some(0) {
            return refused("says that there are 0 persons", "leave \"persons\" out to have their number released");
        }
        if u64::from(unit.max_rows()) > PERSON_WEIGHT {
            return refused(
                "lets more than 4096 rows of a person count",
                "set \"max_rows\" to 4096 or less, or leave it out",
            );
        }
        if unit.max_rows == Some(0) {
            return refused("lets no row of a person count", "set \"max_rows\" to 1 or more, or leave it out");
        }
        if self.rows.is_some() {
            let problem = "stands beside \"rows\": persons are protected, and their rows come and go with them";
            return refused(
                problem,
                "remove \"rows\"; a number of persons that is public goes to \"persons\" in the unit",
            );
        }
        match released {
            None => Ok(()),
            Some(PrivacyUnit::Person { column }) if *column == unit.column => Ok(()),
            Some(PrivacyUnit::Person { column }) => {
                let problem = format!(
                    "is {:?}, and bounds and values were released to protect persons by {column:?}",
                    unit.column
                );
                refused(&problem, "draft the schema by the unit that is to be protected")
            }
            Some(PrivacyUnit::Row | PrivacyUnit::Label) => {
                let problem = "stands beside \"released\": bounds and values were released to protect rows, which protects no \
                               person with several of them";
                refused(problem, "draft the schema with `inspect --unit`, or leave the unit out")
            }
        }
    }

    fn check_classification(&self, path: &Path) -> Fallible<()> {
        if self.target_lower.is_some() || self.target_upper.is_some() {
            return Err(fault(path, "target_lower", "has no meaning in classification", "remove the target bounds"));
        }
        let Some(positive) = &self.positive else { return self.check_classes(path) };
        if self.negative.as_ref() == Some(positive) {
            return Err(fault(path, "negative", "equals \"positive\"", "declare two different labels"));
        }
        if let Some(labels) = self.declared_labels() {
            for (key, label) in [("positive", Some(positive)), ("negative", self.negative.as_ref())] {
                if label.is_some_and(|label| !labels.contains(label)) {
                    let problem = format!("label is not among the declared values of \"{}\"", self.target);
                    return Err(fault(path, key, &problem, "declare the label or correct it"));
                }
            }
        }
        Ok(())
    }

    /// Without a positive label there must be more than two, all declared.
    fn check_classes(&self, path: &Path) -> Fallible<()> {
        let cure = "name the label that counts as 1, or list the target among the columns with at least 3 labels";
        let labels = self.declared_labels().ok_or_else(|| fault(path, "positive", "is missing", cure))?;
        if labels.len() < 3 {
            return Err(fault(path, "positive", "is missing, and there are fewer than 3 declared labels", cure));
        }
        if labels.len() > MAX_LABELS {
            let problem = format!("declares {} labels, more than {MAX_LABELS}", labels.len());
            return Err(fault(path, &self.target, &problem, "join rare labels before training"));
        }
        if self.negative.is_some() {
            return Err(fault(path, "negative", "has no meaning without \"positive\"", "remove it"));
        }
        let other =
            self.columns.0.iter().any(|(name, column)| {
                *name == self.target && matches!(column, Column::Categorical { other: Some(_), .. })
            });
        if other {
            let problem = "\"other\" has no meaning for a target: a row with an undeclared label contributes nothing";
            return Err(fault(path, &self.target, problem, "remove \"other\""));
        }
        Ok(())
    }

    fn check_regression(&self, path: &Path) -> Fallible<()> {
        if self.positive.is_some() || self.negative.is_some() {
            return Err(fault(path, "positive", "has no meaning in regression", "remove the labels"));
        }
        for (key, bound) in [("target_lower", self.target_lower), ("target_upper", self.target_upper)] {
            if bound.is_none() {
                return Err(fault(path, key, "is missing", "declare public bounds of the target"));
            }
        }
        let (lower, upper) = self.target_bounds().unwrap_or((0.0, 0.0));
        check_bounds(path, "target_lower", lower, upper)
    }
}

fn fault(path: &Path, key: &str, problem: &str, cure: &str) -> Error {
    Error::input(path, problem, cure).in_column(key)
}

fn check_bounds(path: &Path, key: &str, lower: f64, upper: f64) -> Fallible<()> {
    let usable = lower.is_finite() && upper.is_finite() && (upper - lower).is_finite();
    if usable && lower < upper {
        return Ok(());
    }
    let problem = format!("bounds are inverted, equal or not finite (lower {lower}, upper {upper})");
    Err(fault(path, key, &problem, "set finite bounds with lower < upper"))
}

fn check_column(path: &Path, name: &str, column: &Column) -> Fallible<()> {
    match column {
        Column::Numeric { lower, upper, .. } => check_bounds(path, name, *lower, *upper),
        Column::Categorical { values, other } => {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Schema, String> {
        Schema::parse(text, Path::new("s.json")).map_err(|e| e.to_string())
    }

    const GOOD: &str = r#"{"name":"a","task":"classification","target":"y","positive":"1","ignore":["id"],
        "columns":{"x":{"type":"numeric","lower":0,"upper":1},"id":{"type":"numeric","lower":0,"upper":9},
        "c":{"type":"categorical","values":["u","v"],"other":"v"}}}"#;

    const UNIT: &str = r#"{"name":"a","task":"classification","target":"y","positive":"1","ignore":["id"],
        "unit":{"column":"id","persons":40,"max_rows":5},
        "columns":{"x":{"type":"numeric","lower":0,"upper":1}}}"#;

    #[test]
    fn a_unit_is_read_and_says_what_is_protected() {
        let schema = parse(UNIT).unwrap();
        let unit = schema.unit.clone().unwrap();
        assert_eq!((unit.persons, unit.max_rows()), (Some(40), 5));
        assert_eq!(Unit::new("id").max_rows(), Unit::DEFAULT_MAX_ROWS);
        assert_eq!(schema.privacy_unit(), PrivacyUnit::Person { column: "id".into() });
        assert_eq!(parse(GOOD).unwrap().privacy_unit(), PrivacyUnit::Row);
        assert!(!serde_json::to_string(&parse(GOOD).unwrap()).unwrap().contains("unit"));
        let short = UNIT.replace(r#","persons":40,"max_rows":5"#, "").replace(r#""ignore":["id"],"#, "");
        assert_eq!(parse(&short).unwrap().unit, Some(Unit::new("id")));
        assert_eq!(parse(&serde_json::to_string(&schema).unwrap()).unwrap(), schema);
    }

    #[test]
    fn units_that_protect_no_person_are_refused() {
        let released = r#""unit":{"column":"id"},"released":{"statement":"","adjacency":"add-remove","rho":"0.1",
            "approximate_delta":"0","epsilon":"2","delta":"1e-6","ledger":[]},"#;
        for (from, to, needle) in [
            (r#""column":"id""#, r#""column":"y""#, "names the target"),
            (r#""column":"id""#, r#""column":"x""#, "is a feature"),
            (r#""persons":40"#, r#""persons":0"#, "0 persons"),
            (r#""max_rows":5"#, r#""max_rows":0"#, "no row of a person"),
            (r#""max_rows":5"#, r#""max_rows":4097"#, "4096"),
            (r#""max_rows":5"#, r#""most_rows":5"#, "unknown field"),
            (r#""max_rows":5"#, r#""max_rows":4294967296"#, "u32"),
            (r#""max_rows":5"#, r#""max_rows":"private""#, "is a public number"),
            (r#""max_rows":5"#, r#""max_rows":"5""#, "u32"),
            (r#""max_rows":5"#, r#""max_rows":-5"#, "u32"),
            (r#""max_rows":5"#, r#""max_rows":5,"estimand":"everybody""#, "everybody"),
            (r#""ignore""#, r#""rows":9,"ignore""#, "remove \"rows\""),
        ] {
            let message = parse(&UNIT.replacen(from, to, 1)).unwrap_err();
            assert!(message.contains(needle), "{needle}: {message}");
        }
        let text = UNIT.replace(r#""unit":{"column":"id","persons":40,"max_rows":5},"#, released);
        let message = parse(&text).unwrap_err();
        assert!(message.contains("released"), "{message}");
        // What was released for rows is for rows, and what was released for persons is for these persons.
        let of = |unit: Option<&str>, released: PrivacyUnit| {
            let mut schema = parse(&UNIT.replace(r#""unit":{"column":"id","persons":40,"max_rows":5},"#, "")).unwrap();
            let adjacency = crate::privacy::Adjacency::AddRemove;
            let mut release = SchemaRelease {
                statement: String::new(),
                adjacency,
                unit: released,
                rho: "0.1".into(),
                approximate_delta: "1e-7".into(),
                epsilon: "2".into(),
                delta: "1e-6".into(),
                ledger: Vec::new(),
            };
            release.statement = release.sentence();
            (schema.released, schema.unit) = (Some(release), unit.map(Unit::new));
            parse(&serde_json::to_string(&schema).unwrap()).map(drop)
        };
        let person = |column: &str| PrivacyUnit::person(column).unwrap();
        assert_eq!((of(Some("id"), person("id")), of(None, PrivacyUnit::Row)), (Ok(()), Ok(())));
        for (unit, released, needle) in [
            (Some("id"), PrivacyUnit::Row, "protect rows"),
            (Some("id"), person("other"), "persons by \"other\""),
            (None, person("id"), "protect persons"),
        ] {
            let message = of(unit, released).unwrap_err();
            assert!(message.contains(needle), "{message}");
        }
    }

    #[test]
    fn a_unit_that_is_given_beside_that_of_the_schema_must_agree() {
        let (with, without) = (parse(UNIT).unwrap(), parse(GOOD).unwrap());
        let unit = |column: &str, persons, max_rows| Unit { persons, max_rows, ..Unit::new(column) };
        assert_eq!(with.clone().with_unit(Unit::new("id")).unwrap(), with);
        assert_eq!(with.clone().with_unit(unit("id", Some(40), Some(5))).unwrap(), with);
        assert_eq!(without.clone().with_unit(unit("id", Some(3), None)).unwrap().unit, Some(unit("id", Some(3), None)));
        for (schema, given, needle) in [
            (&with, unit("x", None, None), "--unit"),
            (&with, unit("id", Some(41), None), "--persons"),
            (&with, unit("id", None, Some(6)), "--max-rows"),
            (&without, unit("x", None, None), "is a feature"),
            (&without, unit("id", Some(0), None), "0 persons"),
        ] {
            let message = schema.clone().with_unit(given).unwrap_err().to_string();
            assert!(message.contains(needle), "{needle}: {message}");
        }
    }

    #[test]
    fn a_missing_number_may_have_a_feature_and_a_missing_category_is_a_value() {
        let told = GOOD.replace(r#""upper":1}"#, r#""upper":1,"missing":"indicator"}"#);
        let schema = parse(&told).unwrap();
        let features: Vec<_> = schema.categorical().collect();
        assert_eq!(features.iter().map(|c| &*c.name).collect::<Vec<_>>(), ["c", "x (missing)"]);
        assert_eq!((features[1].values, features[1].missing_of), (&["missing".to_owned()][..], Some(("x", 0))));
        assert_ne!(schema.fingerprint(), parse(GOOD).unwrap().fingerprint());
        assert_eq!(parse(&serde_json::to_string(&schema).unwrap()).unwrap(), schema);
        // What is not said is the middle, and a schema says it in one way.
        let middle = GOOD.replace(r#""upper":1}"#, r#""upper":1,"missing":"middle"}"#);
        assert_eq!(parse(&middle).unwrap().fingerprint(), parse(GOOD).unwrap().fingerprint());

        let value = |text: &str| parse(&GOOD.replace(r#""values":["u","v"]"#, text)).unwrap();
        let written = value(r#""values":["u","v",""]"#);
        assert_eq!(value(r#""values":["u","v"],"missing":"indicator""#), written);
        assert_eq!(value(r#""values":["u","v",""],"missing":"indicator""#), written);

        for (from, to, needle) in [
            (r#""upper":1}"#, r#""upper":1,"missing":"mean"}"#, "mean"),
            (r#""values":["u","v"]"#, r#""values":["u","v"],"missing":"middle""#, "middle"),
            (r#""c":{"#, r#""x (missing)":{"#, "another column are missing"),
        ] {
            let message = parse(&told.replace(from, to).replace(r#""indicator","missing""#, r#""missing""#));
            let message = message.err().unwrap_or_else(|| parse(&GOOD.replace(from, to)).unwrap_err());
            assert!(message.contains(needle), "{needle}: {message}");
        }
    }

    #[test]
    fn features_leave_out_target_and_ignored() {
        let schema = parse(GOOD).unwrap();
        let names: Vec<_> = schema.features().map(|(name, _)| name).collect();
        assert_eq!(names, ["x", "c"]);
        let again = parse(&serde_json::to_string(&schema).unwrap()).unwrap();
        assert_eq!(again, schema);
        assert_eq!(again.fingerprint(), schema.fingerprint());
    }

    #[test]
    fn a_key_for_editors_is_read_and_left_out() {
        let schema = parse(GOOD).unwrap();
        let with = |key: &str, value: &str| parse(&GOOD.replacen('{', &format!("{{\"{key}\":{value},"), 1));
        let read = with("$schema", "\"rhograd-schema.json\"").unwrap();
        assert_eq!((&read, read.fingerprint()), (&schema, schema.fingerprint()));
        assert!(parse(&GOOD.replace("}}}", "}},\"$schema\":\"\"}")).is_ok());
        for (key, value) in [("$schema", "null"), ("$schema", "{}"), ("$Schema", "\"\""), ("$id", "\"\"")] {
            assert!(with(key, value).is_err(), "{key}: {value}");
        }
        // In the schema alone, and what follows the object is still refused.
        assert!(parse(&GOOD.replace("\"lower\":0", "\"$schema\":\"\",\"lower\":0")).is_err());
        assert!(parse(&format!("{GOOD} {{}}")).unwrap_err().contains("s.json:3"));
        assert!(parse(&GOOD.replace("\"ignore\"", "\"ignored\"")).unwrap_err().contains("s.json:1"));
    }

    #[test]
    fn faults_name_the_key_and_the_cure() {
        let cases = [
            (GOOD.replace("\"ignore\"", "\"ignored\""), "ignored"),
            (GOOD.replace("\"upper\":1}", "\"upper\":-1}"), "inverted"),
            (GOOD.replace("\"upper\":1}", "\"uper\":1}"), "uper"),
            (GOOD.replace("\"positive\":\"1\",", ""), "positive"),
            (GOOD.replace("\"u\",\"v\"", "\"v\",\"v\""), "twice"),
            (GOOD.replace("\"c\":{", "\"x\":{"), "declared twice"),
            (GOOD.replace("\"other\":\"v\"", "\"other\":\"w\""), "other"),
            (GOOD.replace("\"name\":\"a\"", "\"name\":\"\""), "name"),
            (GOOD.replace("\"c\":{\"type\":\"categorical\"", "\"y\":{\"type\":\"categorical\""), "declared values"),
            (GOOD.replace("classification", "regression"), "no meaning"),
            ("".into(), "valid"),
            ("[]".into(), "valid"),
        ];
        for (text, needle) in cases {
            let message = parse(&text).expect_err(needle);
            assert!(message.contains(needle) && message.contains("s.json"), "{message}");
        }
    }
}
