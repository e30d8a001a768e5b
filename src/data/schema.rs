//! The schema: everything about a data set that is public before its rows are read.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::column::{Categorical, Column, Columns, MISSING, Missing, check_bounds, check_column, fault, missing_name};
use super::editor::WithoutKey;
use super::{Protect, RowWeight, SchemaRelease, Unit};
use crate::error::{Error, Fallible};
use crate::grid::{PERSON_WEIGHT, PublicColumns};
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
    /// How much rows count, where they do not all count alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<RowWeight>,
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
            weight: None,
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
            Column::Categorical { values, other, public } => {
                let other = other.as_deref();
                Some(Categorical { name: name.into(), values, other, missing_of: None, public: *public })
            }
            Column::Numeric { .. } => None,
        });
        let numbers = self.features().filter_map(|(name, column)| match column {
            Column::Numeric { missing, public, .. } => Some((name, *missing, *public)),
            Column::Categorical { .. } => None,
        });
        let told = numbers.enumerate().filter(|(_, (_, missing, _))| *missing == Missing::Indicator);
        declared.chain(told.map(|(slot, (column, _, public))| Categorical {
            name: missing_name(column).into(),
            values: MISSING.as_slice(),
            other: None,
            missing_of: Some((column, slot)),
            public,
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
            None => PrivacyUnit::private_cells(self.public_columns()),
            Some(unit) => PrivacyUnit::Person { column: unit.column.clone() },
        }
    }

    /// Features that everybody may know, in order; none where labels alone are protected, for then all are.
    pub fn public_columns(&self) -> impl Iterator<Item = &str> {
        self.features().filter(|(_, column)| column.is_public()).map(|(name, _)| name)
    }

    /// Which columns of encoded rows all may know, where some are public and others are not.
    pub fn public_mask(&self) -> Option<PublicColumns> {
        self.public_columns().next()?;
        let numbers = self.features().filter(|(_, column)| matches!(column, Column::Numeric { .. }));
        Some(PublicColumns {
            numeric: numbers.map(|(_, column)| column.is_public()).collect(),
            categorical: self.categorical().map(|column| column.public).collect(),
        })
    }

    /// Whether a line whose target is none stays a record, for whether it does must not depend on what is private.
    pub(crate) fn keeps_unlabelled(&self) -> bool {
        self.protect == Protect::Label || self.public_columns().next().is_some()
    }

    /// This schema with some features that everybody may know, checked as if a file said so; what the schema says already may be repeated.
    ///
    /// # Errors
    /// When a name is none of a feature, or public columns do not fit the schema.
    pub fn with_public(mut self, names: &[String]) -> Fallible<Self> {
        let features: HashSet<&str> = self.features().map(|(name, _)| name).collect();
        if let Some(name) = names.iter().find(|name| !features.contains(name.as_str())) {
            let problem = format!("names {name:?}, which is no feature of the schema");
            return Err(Error::parameter("--public", problem, "name a column that the schema declares as a feature"));
        }
        let names: HashSet<&str> = names.iter().map(String::as_str).collect();
        let said = self.columns.0.iter_mut().filter(|(name, _)| names.contains(name.as_str()));
        said.for_each(|(_, column)| column.publish());
        self.check_public(Path::new("schema"))?;
        Ok(self)
    }

    /// Refuses what columns that everybody may know cannot stand beside.
    pub(crate) fn check_public(&self, path: &Path) -> Fallible<()> {
        if self.columns.0.iter().any(|(name, column)| *name == self.target && column.is_public()) {
            let problem = "is public, and it is the target, which is protected first of all";
            return Err(fault(path, &self.target, problem, "leave \"public\" out of the target"));
        }
        let Some(name) = self.public_columns().next() else { return Ok(()) };
        let refused = |problem: &str, cure: &str| Err(fault(path, name, problem, cure));
        if self.protect == Protect::Label {
            return refused(
                "is public, and labels alone are protected, so all columns are",
                "leave \"public\" out of the columns",
            );
        }
        if self.features().all(|(_, column)| column.is_public()) {
            return refused(
                "is public, and so are all other features: labels alone are left to protect",
                "say \"protect\": \"label\" in the place of \"public\"",
            );
        }
        if self.unit.is_some() {
            return refused(
                "is public, and persons are the unit, with all that their rows hold",
                "leave one of them out",
            );
        }
        if self.weight.is_some() {
            return refused(
                "is public, and rows have weights, for which public columns are not built",
                "leave one of them out",
            );
        }
        if self.released.is_some() {
            return refused(
                "is public, and bounds and values were released to protect rows: costs of either do not add up",
                "write the schema without looking at the rows, or leave \"public\" out",
            );
        }
        Ok(())
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
        self.check_weight(Path::new("schema"))?;
        self.check_public(Path::new("schema"))?;
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
        self.check_weight(Path::new("schema"))?;
        self.check_public(Path::new("schema"))?;
        Ok(self)
    }

    /// This schema with weights of rows, checked as if a file said so; what the schema says already may be repeated, and what it leaves
    /// open may be said.
    ///
    /// # Errors
    /// When the schema has other weights, or they do not fit it.
    pub fn with_weight(mut self, weight: RowWeight) -> Fallible<Self> {
        let mut known = self.weight.take().unwrap_or_default();
        let other = |flag: &str, of: &dyn fmt::Display| {
            let problem = format!("says something else than the schema, which says {of}");
            Err(Error::parameter(flag, problem, "leave it out, or correct the schema"))
        };
        match (&known.column, &weight.column) {
            (Some(known), Some(given)) if known != given => return other("--weight", &format!("{known:?}")),
            _ => known.column = weight.column.or(known.column),
        }
        match (known.max, weight.max) {
            (Some(known), Some(given)) if known != given => return other("--max-weight", &known),
            _ => known.max = weight.max.or(known.max),
        }
        for (label, given) in weight.labels {
            match known.labels.get(&label) {
                Some(known) if *known != given => {
                    return other("--label-weight", &format!("{known} for {label:?}"));
                }
                _ => known.labels.insert(label, given),
            };
        }
        match (&known.exposure, &weight.exposure) {
            (Some(known), Some(given)) if known != given => {
                return other("--exposure", &format!("{:?}, at most {}", known.column, known.max));
            }
            _ => known.exposure = weight.exposure.or(known.exposure),
        }
        match (&known.offset, &weight.offset) {
            (Some(known), Some(given)) if known != given => {
                return other("--offset", &format!("{:?}, from {} to {}", known.column, known.lower, known.upper));
            }
            _ => known.offset = weight.offset.or(known.offset),
        }
        self.weight = Some(known);
        self.check_weight(Path::new("schema"))?;
        self.check_public(Path::new("schema"))?;
        Ok(self)
    }

    /// The columns of weights, of exposures and of offsets, where there are some.
    pub fn weight_columns(&self) -> [Option<&str>; 3] {
        let weight = self.weight.as_ref();
        let exposure = weight.and_then(|weight| weight.exposure.as_ref()).map(|exposure| exposure.column.as_str());
        let offset = weight.and_then(|weight| weight.offset.as_ref()).map(|offset| offset.column.as_str());
        [weight.and_then(|weight| weight.column.as_deref()), exposure, offset]
    }

    /// What the weight of a label is multiplied with, by its encoded value: 0 and 1 of two labels, or the place of a declared one. Empty where
    /// all labels weigh the same.
    ///
    /// # Errors
    /// When a label is not declared, or two that count as the same one have different weights.
    pub(crate) fn label_weights(&self, path: &Path) -> Fallible<Vec<f64>> {
        let Some(weight) = self.weight.as_ref().filter(|weight| !weight.labels.is_empty()) else {
            return Ok(Vec::new());
        };
        let refused = |problem: String, cure: &str| Err(fault(path, "weight", &problem, cure));
        if self.task != Task::Classification {
            return refused("gives labels weights, and the target is a number".into(), "leave \"labels\" out");
        }
        let known: Vec<Vec<String>> = match (self.classes(), &self.positive) {
            (Some(labels), _) => labels.iter().map(|label| vec![label.clone()]).collect(),
            (None, positive) => vec![self.negatives().unwrap_or_default(), positive.iter().cloned().collect()],
        };
        if let Some(label) = weight.labels.keys().find(|label| !known.iter().any(|of| of.contains(label))) {
            return refused(format!("names the label {label:?}, which is not declared"), "declare it, or correct it");
        }
        let mut factors = Vec::new();
        for labels in known {
            let mut of = labels.iter().map(|label| weight.labels.get(label).copied().unwrap_or(1.0));
            let first = of.next().unwrap_or(1.0);
            if of.any(|other| other != first) {
                let problem = format!("of labels that all count as 0 is not the same: {labels:?}");
                return refused(problem, "give them one weight");
            }
            factors.push(first);
        }
        Ok(factors)
    }

    /// Refuses weights that bound nothing, or that nothing is proven for.
    pub(crate) fn check_weight(&self, path: &Path) -> Fallible<()> {
        let refused = |problem: &str, cure: &str| Err(fault(path, "weight", problem, cure));
        let Some(weight) = &self.weight else { return Ok(()) };
        if let Some((problem, cure)) = weight.problem() {
            return refused(problem, cure);
        }
        self.label_weights(path)?;
        if let Some(exposure) = &weight.exposure {
            if self.task != Task::Regression {
                return refused("has an exposure, and the target is a label", "leave it out, or predict a count");
            }
            let taken = |name: &str| {
                name == self.target
                    || Some(name) == weight.column.as_deref()
                    || self.features().any(|(it, _)| it == name)
            };
            if taken(&exposure.column) {
                return refused(
                    "names the target, the column of weights or a feature as the exposure",
                    "name the column of exposures, and take it out of \"columns\"",
                );
            }
        }
        if let Some(offset) = &weight.offset {
            if self.classes().is_some() {
                return refused("has an offset, and the target is one of several labels", "leave it out");
            }
            if weight.exposure.is_some() {
                let problem = "has an offset and an exposure, which is one, too: its logarithm";
                return refused(problem, "multiply the exposure with the exponential of the offset");
            }
            let taken = |name: &str| {
                name == self.target
                    || Some(name) == weight.column.as_deref()
                    || self.features().any(|(it, _)| it == name)
            };
            if taken(&offset.column) {
                return refused(
                    "names the target, the column of weights or a feature as the offset",
                    "name the column of offsets, and take it out of \"columns\"",
                );
            }
        }
        if weight.column.as_ref() == Some(&self.target) {
            return refused("names the target", "name the column of weights");
        }
        if self.features().any(|(name, _)| Some(name) == weight.column.as_deref()) {
            return refused("names a feature", "take the column out of \"columns\"");
        }
        if self.unit.is_some() {
            return refused(
                "is of rows, and persons are the unit: no bound is proven for both",
                "leave one of them out",
            );
        }
        if !self.protect.is_row() {
            return refused(
                "stands beside \"protect\": \"label\", for which weights are not built",
                "leave one of them out",
            );
        }
        Ok(())
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
        self.check_public(path)?;
        self.check_weight(path)?;
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
                None | Some(PrivacyUnit::Row | PrivacyUnit::Label | PrivacyUnit::PrivateCells { .. }) => Ok(()),
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
            Some(PrivacyUnit::Row | PrivacyUnit::Label | PrivacyUnit::PrivateCells { .. }) => {
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

#[cfg(test)]
mod tests;
