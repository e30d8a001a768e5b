//! The model file: coefficients in the user's units, the privacy statement, and a digest of both.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::calibration::MOST_ROWS;
use super::covariance::Covariance;
use super::edits::Reshaped;
use super::files::sha256_hex;
use super::plan::Plan;
use crate::data::{Categorical, CsvFile, Dialect, Schema};
use crate::error::{Error, Fallible};
use crate::grid::MARGIN_BINS;
use crate::model_kind::{Link, ModelKind};
use crate::num::decimals::rounded;
use crate::optim::{Evaluation, Fitted};
use crate::preprocess::{Affine, Recoding, TargetRule, Waves};
use crate::statement::Statement;

/// Name and version of the file format.
const FORMAT: &str = "rhograd-model/1";

/// Twice as wide a band around any effect that a file may hold is still a number.
const MOST_DEVIATION: f64 = 1e300;

/// Largest model file that is read, in bytes: several million coefficients. What is larger is no model, or made to tire a
/// reader.
pub const MAX_MODEL: u64 = 1 << 30;

/// What a feature contributes to the margin, or to the margin of each label in their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Coefficient {
    /// One margin.
    One(f64),
    /// One margin per label.
    PerLabel(Vec<f64>),
}

impl Coefficient {
    /// The numbers, one per margin.
    pub fn values(&self) -> &[f64] {
        match self {
            Coefficient::One(value) => std::slice::from_ref(value),
            Coefficient::PerLabel(values) => values,
        }
    }
}

/// One feature with its public bounds or values and its coefficients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum Feature {
    /// Contributes `coefficient * clamp((clamp(x, lower, upper) - centre) / scale, -limit, limit)`; a missing
    /// value counts as the middle of the bounds.
    Numeric {
        /// Column name.
        name: String,
        /// Public lower bound.
        lower: f64,
        /// Public upper bound.
        upper: f64,
        /// Centre, scale and limit, as released or from the bounds.
        map: Affine,
        /// Effect of one scaled unit on the margin.
        coefficient: Coefficient,
    },
    /// Contributes the coefficient of the interval that `clamp(x, lower, upper)` lies in; a missing value counts as the middle of the
    /// bounds.
    Steps {
        /// Column name.
        name: String,
        /// Public lower bound.
        lower: f64,
        /// Public upper bound.
        upper: f64,
        /// Where each interval but the first begins; ascending, and itself part of the interval.
        edges: Vec<f64>,
        /// One coefficient per interval.
        coefficients: Vec<Coefficient>,
        /// Released share of the rows in each interval; empty where none was released, and in files of earlier versions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shares: Vec<f64>,
        /// Standard deviation that the noise of the steps gives each coefficient, those of all labels alike; empty where nothing is known of
        /// it, and in files of earlier versions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        deviations: Vec<f64>,
    },
    /// Contributes the coefficient of its value, of `other`, or nothing.
    Categorical {
        /// Column name; where `missing_of` is said, the name of what that column lacks.
        name: String,
        /// The column of numbers whose cells without one have the only value; no column of the data has this feature's name then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing_of: Option<String>,
        /// Declared values.
        values: Vec<String>,
        /// The value that stands for undeclared ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        other: Option<String>,
        /// One coefficient per declared value.
        coefficients: Vec<Coefficient>,
        /// Released share of the rows with each value; empty where none was released, and in files of earlier versions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shares: Vec<f64>,
        /// Standard deviation that the noise of the steps gives each coefficient, those of all labels alike; empty where nothing is known of
        /// it, and in files of earlier versions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        deviations: Vec<f64>,
    },
}

impl Feature {
    /// Name: that of the column, or of what is missing in one.
    pub fn name(&self) -> &str {
        match self {
            Feature::Numeric { name, .. } | Feature::Steps { name, .. } | Feature::Categorical { name, .. } => name,
        }
    }

    /// Whether its cells are numbers.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, Feature::Numeric { .. } | Feature::Steps { .. })
    }

    /// Whether it says where numbers of another column are missing.
    pub(super) fn is_of_missing(&self) -> bool {
        matches!(self, Feature::Categorical { missing_of: Some(_), .. })
    }

    /// The column that its cells are read from.
    pub fn column(&self) -> &str {
        match self {
            Feature::Categorical { missing_of: Some(column), .. } => column,
            Feature::Numeric { .. } | Feature::Steps { .. } | Feature::Categorical { .. } => self.name(),
        }
    }

    /// Whether nothing is told of the noise in single effects.
    pub(super) fn tells_no_deviations(&self) -> bool {
        match self {
            Feature::Numeric { .. } => true,
            Feature::Steps { deviations, .. } | Feature::Categorical { deviations, .. } => deviations.is_empty(),
        }
    }

    /// Its coefficients: one of a number that has a slope, else one for each interval or value.
    pub(super) fn coefficients(&self) -> &[Coefficient] {
        match self {
            Feature::Numeric { coefficient, .. } => std::slice::from_ref(coefficient),
            Feature::Steps { coefficients, .. } | Feature::Categorical { coefficients, .. } => coefficients,
        }
    }
}

/// What columns do together: `sum_k coefficient_k sqrt(2) cos(phase_k)`, each phase a sum of one integer for each column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// How phases follow from intervals and values.
    pub waves: Waves,
    /// One coefficient per wave.
    pub coefficients: Vec<Coefficient>,
    /// Released covariance of the scores, by which waves have means where one column is known; absent where there are more than 512, and in
    /// files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covariance: Option<Covariance>,
}

/// The predicted column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
pub enum Target {
    /// Probability of the positive label is the logistic function of the margin; a support vector machine has the
    /// margin itself as its score.
    Label {
        /// Column name.
        name: String,
        /// The label counted as 1.
        positive: String,
        /// The labels counted as 0, if the schema declares them; else every other label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        negatives: Option<Vec<String>>,
    },
    /// Probabilities of the labels are the softmax of their margins.
    Classes {
        /// Column name.
        name: String,
        /// The labels, in the order of the coefficients.
        labels: Vec<String>,
    },
    /// The prediction is `centre + scale * link(margin)`, moved into the bounds: the link is the exponential of the
    /// bounded margin for Poisson regression and the margin itself otherwise.
    Number {
        /// Column name.
        name: String,
        /// Public lower bound.
        lower: f64,
        /// Public upper bound.
        upper: f64,
        /// Value of a link of zero.
        centre: f64,
        /// Value of one unit of the link.
        scale: f64,
    },
}

impl Target {
    /// Margins that a prediction needs.
    pub fn outputs(&self) -> usize {
        match self {
            Target::Classes { labels, .. } => labels.len(),
            Target::Label { .. } | Target::Number { .. } => 1,
        }
    }
}

/// What was released before the steps, as a model tells it.
pub(super) struct Released<'a> {
    /// How rows were re-encoded.
    pub(super) map: Option<&'a Recoding>,
    /// The waves that were made of them then.
    pub(super) waves: Option<Waves>,
    /// For each column that was counted the share of rows in each interval or with each value.
    pub(super) shares: Vec<Vec<f64>>,
    /// The covariance of the scores of waves, where a model tells it.
    pub(super) covariance: Option<Covariance>,
}

/// A released model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Name and version of the format, `rhograd-model/1`.
    pub format: String,
    /// Model family.
    pub model: ModelKind,
    /// Predicted column.
    pub target: Target,
    /// Margin of a row whose features all contribute nothing.
    pub intercept: Coefficient,
    /// The features, numeric ones first.
    pub features: Vec<Feature>,
    /// What columns do together, beside their own effects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// Standard error of each coefficient, features in order and the intercept last: sampling and noise together, but
    /// not the shrinkage of a private fit. Absent where no theory gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_errors: Option<Vec<f64>>,
    /// Metrics on a private hold-out, if the run paid for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    /// What was done to shapes after release; absent in a file as it was released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reshaped: Option<Reshaped>,
    /// The privacy statement.
    pub statement: Statement,
    /// SHA-256 of the log of the same run.
    pub log_sha256: String,
    /// SHA-256 of this object without this field, as compact JSON in the order of the file.
    pub digest: String,
}

impl ModelFile {
    /// Puts coefficients of encoded features into the user's units.
    pub(super) fn new(
        plan: &Plan,
        schema: &Schema,
        Released { map, waves, shares, covariance }: Released<'_>,
        fitted: &Fitted,
        evaluation: Option<Evaluation>,
        statement: Statement,
        log_sha256: String,
    ) -> Fallible<Self> {
        let outputs = plan.outputs;
        let width = fitted.weights.len() / outputs.max(1);
        let mut index = 0;
        let mut next = || {
            let values: Vec<f64> =
                fitted.weights.iter().skip(index).step_by(width.max(1)).copied().take(outputs).collect();
            index += 1;
            match values[..] {
                _ if values.len() != outputs => Err(Error::numerical("model", "a coefficient is missing")),
                [value] => Ok(Coefficient::One(value)),
                _ => Ok(Coefficient::PerLabel(values)),
            }
        };
        let together = waves.map(|waves| -> Fallible<Together> {
            let coefficients = (0..waves.count()).map(|_| next()).collect::<Fallible<_>>()?;
            Ok(Together { waves, coefficients, covariance })
        });
        let together = together.transpose()?;
        let mut features = Vec::new();
        // Of a column that was counted, in the order of the features.
        let mut told = shares.iter().zip(fitted.deviations.iter().map(Some).chain(std::iter::repeat(None)));
        let mut told = || {
            let (shares, deviations) = told.next()?;
            let six = |numbers: &Vec<f64>| rounded(numbers, 6);
            Some((six(shares), deviations.map_or_else(Vec::new, six)))
        };
        for (index, (name, lower, upper)) in schema.numeric().enumerate() {
            let name = name.to_owned();
            let by_bounds = Affine { centre: 0.0, scale: 1.0, limit: 1.0 };
            features.push(match map {
                Some(Recoding::Binned(bins)) => {
                    let edges = bins.edges(index, lower, upper);
                    let coefficients = (0..=edges.len()).map(|_| next()).collect::<Fallible<_>>()?;
                    let (shares, deviations) = told().unwrap_or_default();
                    Feature::Steps { name, lower, upper, edges, coefficients, shares, deviations }
                }
                Some(Recoding::Standardized(maps)) => {
                    let map = maps.features.get(index).unwrap_or(&by_bounds).in_units(lower, upper);
                    Feature::Numeric { name, lower, upper, map, coefficient: next()? }
                }
                // Waves are made of other encodings, and stand beside the features.
                Some(Recoding::Waves(_) | Recoding::Straight(_)) | None => {
                    Feature::Numeric { name, lower, upper, map: by_bounds.in_units(lower, upper), coefficient: next()? }
                }
            });
        }
        for Categorical { name, values, other, missing_of, .. } in schema.categorical() {
            let coefficients = values.iter().map(|_| next()).collect::<Fallible<_>>()?;
            let (values, other) = (values.to_vec(), other.map(String::from));
            let (shares, deviations) = told().unwrap_or_default();
            let (name, missing_of) = (name.into_owned(), missing_of.map(|(column, _)| column.to_owned()));
            features.push(Feature::Categorical { name, missing_of, values, other, coefficients, shares, deviations });
        }
        let mut file = ModelFile {
            format: FORMAT.into(),
            model: plan.model,
            target: target_of(schema, map),
            intercept: next()?,
            features,
            together,
            // Their theory is about independent rows that count alike, and those of one person are not.
            standard_errors: fitted
                .standard_errors
                .clone()
                .filter(|_| !plan.scope.unit.is_person() && plan.weight.is_none()),
            evaluation,
            reshaped: None,
            statement,
            log_sha256,
            digest: String::new(),
        };
        file.digest = file.expected_digest();
        Ok(file)
    }

    /// The digest that belongs to the content.
    pub fn expected_digest(&self) -> String {
        let bare = ModelFile { digest: String::new(), ..self.clone() };
        sha256_hex(serde_json::to_string(&bare).unwrap_or_default().as_bytes())
    }

    /// The file's text.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads a model file whose digest belongs to its content; does not check that its numbers are true, see
    /// [`super::verify`].
    ///
    /// # Errors
    /// When the file cannot be read, is larger than [`MAX_MODEL`], is not a model of this format, has an unknown key, or
    /// was edited.
    pub fn read(path: &Path) -> Fallible<Self> {
        Self::parse(&Self::read_text(path)?, path)
    }

    /// The text of a model file, read once: what is checked is what is used, also where the file is a pipe.
    ///
    /// # Errors
    /// When the file cannot be read, is no text, or is larger than [`MAX_MODEL`].
    pub fn read_text(path: &Path) -> Fallible<String> {
        let failed = |e| Error::io(path, "read the model", e);
        let mut text = String::new();
        File::open(path).map_err(failed)?.take(MAX_MODEL + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_MODEL {
            let problem = format!("is larger than the {MAX_MODEL} bytes that are read of a model");
            return Err(Error::input(path, problem, "give a file written by `rhograd train`"));
        }
        Ok(text)
    }

    /// Parses a model's text, whose digest must belong to its content; `path` is used in messages only.
    ///
    /// # Errors
    /// When the text is not a model of this format, has an unknown key, or was edited.
    pub fn parse(text: &str, path: &Path) -> Fallible<Self> {
        let model = Self::parse_unchecked(text, path)?;
        if model.expected_digest() != model.digest {
            let cure = "the file is damaged or was edited, so nothing in it can be relied on; get it again";
            return Err(Error::input(path, "the digest does not belong to the content", cure).in_column("digest"));
        }
        Ok(model)
    }

    /// Parses a model's text without a look at its digest, for [`super::verify`], which says whether it belongs to the content.
    ///
    /// # Errors
    /// When the text is not a model of this format or has an unknown key.
    pub fn parse_unchecked(text: &str, path: &Path) -> Fallible<Self> {
        let model: ModelFile = serde_json::from_str(text).map_err(|e| {
            Error::input(path, format!("not a rhograd model: {e}"), "give a file written by `rhograd train`")
                .at_line(e.line() as u64)
        })?;
        if model.format != FORMAT {
            let problem = format!("has format {:?}", model.format);
            return Err(Error::input(path, problem, format!("this program reads {FORMAT}")).in_column("format"));
        }
        model
            .model
            .check_parameters()
            .map_err(|e| Error::input(path, e.to_string(), "use an unedited file").in_column("model"))?;
        match model.unusable_part() {
            None => Ok(model),
            Some(part) => Err(Error::input(path, "bounds, scale or coefficients are unusable", "use an unedited file")
                .in_column(part)),
        }
    }

    /// The name of a part that predictions could not be computed with.
    fn unusable_part(&self) -> Option<&str> {
        let outputs = self.target.outputs();
        if self.statement.facts.weight.as_ref().is_some_and(|weight| weight.problem().is_some()) {
            return Some("weight");
        }
        if (self.model.link() == Link::Softmax) != matches!(self.target, Target::Classes { .. }) {
            return Some("target");
        }
        if outputs == 0 {
            return Some("target");
        }
        if self.intercept.values().len() != outputs {
            return Some("intercept");
        }
        let fits = |coefficient: &Coefficient| coefficient.values().len() == outputs;
        // What is told beside coefficients belongs to each of them, or to none.
        let told = |coefficients: &[Coefficient], shares: &[f64], deviations: &[f64]| {
            let whole = |of: &[f64]| of.is_empty() || of.len() == coefficients.len();
            let sizes = |of: &[f64]| of.iter().all(|size| (0.0..MOST_DEVIATION).contains(size));
            let some = shares.is_empty() || shares.iter().any(|share| *share > 0.0);
            some && [shares, deviations].into_iter().all(|of| whole(of) && sizes(of))
        };
        let bounded = |lower: f64, upper: f64| lower < upper && (upper - lower).is_finite();
        for feature in &self.features {
            let (name, usable) = match feature {
                Feature::Numeric { name, lower, upper, map, coefficient } => {
                    let mapped = map.centre.is_finite() && map.scale > 0.0 && map.limit > 0.0;
                    (name, bounded(*lower, *upper) && mapped && fits(coefficient))
                }
                Feature::Steps { name, lower, upper, edges, coefficients, shares, deviations } => {
                    let ascending = edges.iter().all(|edge| edge.is_finite()) && edges.is_sorted();
                    let fitting = coefficients.len() == edges.len() + 1 && coefficients.iter().all(fits);
                    (name, bounded(*lower, *upper) && ascending && fitting && told(coefficients, shares, deviations))
                }
                Feature::Categorical { name, missing_of, values, other, coefficients, shares, deviations } => {
                    let fitting = values.len() == coefficients.len() && coefficients.iter().all(fits);
                    let single = missing_of.is_none() || (values.len() == 1 && other.is_none());
                    (name, fitting && single && told(coefficients, shares, deviations))
                }
            };
            if !usable {
                return Some(name);
            }
        }
        if let Some(margins) = self.evaluation.as_ref().and_then(|evaluation| evaluation.margins.as_ref()) {
            let sizes = [&margins.edges, &margins.negatives, &margins.positives].map(Vec::len);
            let mut numbers = [&margins.edges, &margins.negatives, &margins.positives].into_iter().flatten();
            let counts = numbers.all(|number| number.abs() <= MOST_ROWS) && (0.0..=MOST_ROWS).contains(&margins.noise);
            if sizes != [MARGIN_BINS - 1, MARGIN_BINS, MARGIN_BINS] || !counts {
                return Some("evaluation");
            }
        }
        if let Some(Together { waves, coefficients, covariance }) = &self.together {
            let levels = |feature: &Feature| match feature {
                Feature::Numeric { .. } => None,
                Feature::Steps { coefficients, .. } | Feature::Categorical { coefficients, .. } => {
                    u16::try_from(coefficients.len()).ok()
                }
            };
            let columns = self.features.iter().map(levels).collect::<Option<Vec<u16>>>();
            let curves = self.features.iter().map_while(|feature| match feature {
                Feature::Steps { .. } => Some(()),
                Feature::Numeric { .. } | Feature::Categorical { .. } => None,
            });
            let all = self.features.iter().filter(|feature| matches!(feature, Feature::Steps { .. })).count();
            let ordered =
                curves.count() == waves.numeric() && all == waves.numeric() && columns == Some(waves.columns());
            let told = covariance.as_ref().is_none_or(|covariance| covariance.is_of(waves.coordinates()));
            if !ordered || !told || coefficients.len() != waves.count() || !coefficients.iter().all(fits) {
                return Some("together");
            }
        }
        let errors = |errors: &Vec<f64>| {
            let all: usize = self.features.iter().map(|feature| feature.coefficients().len()).sum();
            errors.len() == (all + 1) * outputs && errors.iter().all(|error| (0.0..MOST_DEVIATION).contains(error))
        };
        if self.standard_errors.as_ref().is_some_and(|given| !errors(given)) {
            return Some("standard_errors");
        }
        match &self.target {
            Target::Number { name, lower, upper, .. } if !bounded(*lower, *upper) => Some(name),
            Target::Number { .. } | Target::Label { .. } | Target::Classes { .. } => None,
        }
    }

    /// Opens a data file for the model's columns.
    ///
    /// # Errors
    /// When it cannot be read, or lacks what [`CsvFile::open_for`] asks of it.
    pub fn open_data(&self, path: &Path) -> Fallible<CsvFile> {
        self.open_data_in(path, Dialect::default())
    }

    /// Opens a data file in a dialect for the model's columns.
    ///
    /// # Errors
    /// When it cannot be read, or lacks what [`CsvFile::open_for_in`] asks of it.
    pub fn open_data_in(&self, path: &Path, dialect: Dialect) -> Fallible<CsvFile> {
        CsvFile::open_for_in(path, dialect, self.target_rule().0, self.features.iter().map(Feature::column))
    }

    /// Name of the target and how its cells are read.
    pub(super) fn target_rule(&self) -> (&str, TargetRule) {
        match &self.target {
            Target::Label { name, positive, negatives } => {
                (name, TargetRule::Label { positive: positive.clone(), negatives: negatives.clone() })
            }
            Target::Classes { name, labels } => (name, TargetRule::Class { labels: labels.clone() }),
            Target::Number { name, lower, upper, .. } => (name, TargetRule::Number { lower: *lower, upper: *upper }),
        }
    }
}

fn target_of(schema: &Schema, map: Option<&Recoding>) -> Target {
    let name = schema.target.clone();
    match (schema.target_bounds(), schema.classes()) {
        (None, Some(labels)) => Target::Classes { name, labels: labels.to_vec() },
        (None, None) => {
            Target::Label { name, positive: schema.positive.clone().unwrap_or_default(), negatives: schema.negatives() }
        }
        (Some((lower, upper)), _) => {
            let by_bounds = Affine { centre: 0.0, scale: 1.0, limit: 1.0 };
            let encoded = map.and_then(Recoding::target).copied().unwrap_or(by_bounds);
            let Affine { centre, scale, .. } = encoded.in_units(lower, upper);
            Target::Number { name, lower, upper, centre, scale }
        }
    }
}
