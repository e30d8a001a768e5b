//! The schema: everything about a data set that is public before its rows are read.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::SchemaRelease;
use crate::error::{Error, Fallible};
use crate::privacy::DatasetId;

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

/// The public description of one feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum Column {
    /// A number; values outside the bounds are moved to the nearer bound, missing or unreadable
    /// ones to the middle.
    Numeric {
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
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
    /// Reads and checks a schema file.
    ///
    /// # Errors
    /// Names the file, the line or the key, and the cure.
    pub fn read(path: &Path) -> Fallible<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, "read the schema", e))?;
        Self::parse(&text, path)
    }

    /// Parses and checks schema text; `path` is used in messages only.
    ///
    /// # Errors
    /// Names the file, the line or the key, and the cure.
    pub fn parse(text: &str, path: &Path) -> Fallible<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let schema: Schema = serde_json::from_str(text).map_err(|e| {
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
            Column::Numeric { lower, upper } => Some((name, *lower, *upper)),
            Column::Categorical { .. } => None,
        })
    }

    /// Categorical features with their values, in order.
    pub fn categorical(&self) -> impl Iterator<Item = (&str, &[String], Option<&str>)> {
        self.features().filter_map(|(name, column)| match column {
            Column::Categorical { values, other } => Some((name, values.as_slice(), other.as_deref())),
            Column::Numeric { .. } => None,
        })
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
        Ok(())
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
        Column::Numeric { lower, upper } => check_bounds(path, name, *lower, *upper),
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
