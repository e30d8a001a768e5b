//! Predictions of a released model on a CSV file.

use std::collections::HashMap;

use rayon::prelude::*;

use super::kind::ModelKind;
use super::model::{Feature, ModelFile, Target};
use crate::data::{CsvFile, Fields};
use crate::error::Fallible;
use crate::loss::{Logistic, Poisson};

/// Lines handled by one task.
const LINES_PER_BLOCK: usize = 4096;

/// One prediction per physical line; `None` where the line is no record.
pub struct Predictions {
    /// Probabilities of the positive label, scores of a support vector machine, or predicted values in the target's
    /// units.
    pub values: Vec<Option<f64>>,
}

/// Applies a model to every line of a file that has the model's feature columns.
///
/// # Errors
/// When the file lacks a column.
pub fn predict(model: &ModelFile, file: &CsvFile) -> Fallible<Predictions> {
    let predictor = Predictor::new(model, file)?;
    let values = file
        .blocks(LINES_PER_BLOCK)
        .into_par_iter()
        .flat_map_iter(|block| {
            let mut fields = Fields::default();
            file.lines(block)
                .map(|line| {
                    fields.split(line);
                    predictor.predict(&fields)
                })
                .collect::<Vec<_>>()
        })
        .collect();
    Ok(Predictions { values })
}

/// The coefficients of one category by value, and of every other text.
struct Effects<'a> {
    column: usize,
    known: HashMap<&'a [u8], f64>,
    fallback: f64,
}

/// A model bound to the columns of one file.
struct Predictor<'a> {
    width: usize,
    numeric: Vec<(usize, &'a Feature)>,
    categorical: Vec<Effects<'a>>,
    model: &'a ModelFile,
}

impl<'a> Predictor<'a> {
    fn new(model: &'a ModelFile, file: &CsvFile) -> Fallible<Self> {
        let mut predictor =
            Predictor { width: file.header().len(), numeric: Vec::new(), categorical: Vec::new(), model };
        for feature in &model.features {
            match feature {
                Feature::Numeric { name, .. } => predictor.numeric.push((file.column(name)?, feature)),
                Feature::Categorical { name, values, other, coefficients } => {
                    let texts = values.iter().map(|v| v.trim().as_bytes());
                    let known: HashMap<&[u8], f64> = texts.zip(coefficients.iter().copied()).collect();
                    let other = other.as_ref().and_then(|v| known.get(v.trim().as_bytes()).copied());
                    let (column, fallback) = (file.column(name)?, other.unwrap_or(0.0));
                    predictor.categorical.push(Effects { column, known, fallback });
                }
            }
        }
        Ok(predictor)
    }

    fn predict(&self, fields: &Fields) -> Option<f64> {
        if fields.len() != self.width {
            return None;
        }
        let mut margin = self.model.intercept;
        for &(index, feature) in &self.numeric {
            if let Feature::Numeric { lower, upper, map, coefficient, .. } = feature {
                let value = fields.number(index).unwrap_or(lower + (upper - lower) / 2.0);
                margin += coefficient * map.apply(value.clamp(*lower, *upper));
            }
        }
        for effects in &self.categorical {
            margin += effects.known.get(fields.get(effects.column)).unwrap_or(&effects.fallback);
        }
        Some(outcome(self.model, margin))
    }
}

/// The prediction that a margin stands for.
fn outcome(model: &ModelFile, margin: f64) -> f64 {
    match (&model.target, model.model) {
        (Target::Label { .. }, ModelKind::Svm { .. }) => margin,
        (Target::Label { .. }, _) => Logistic::probability(margin),
        (Target::Number { lower, upper, centre, scale, .. }, kind) => {
            let link = match kind {
                ModelKind::Poisson { bound } => Poisson::rate(bound, margin),
                _ => margin,
            };
            (centre + scale * link).clamp(*lower, *upper)
        }
    }
}
