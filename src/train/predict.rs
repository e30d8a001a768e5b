//! Predictions of a released model on a CSV file.

use std::collections::HashMap;

use rayon::prelude::*;

use super::model::{Coefficient, Feature, ModelFile, Target, Together};
use crate::data::{CsvFile, Fields, Spelled};
use crate::error::Fallible;
use crate::loss::{Logistic, Poisson, Softmax};
use crate::model_kind::Link;
use crate::preprocess::{Affine, Waves};

/// Predictions in the order of the file's lines.
pub struct Predictions {
    outputs: usize,
    values: Vec<f64>,
    present: Vec<bool>,
    kept: Kept,
}

/// Cells of columns that were copied, row by row, as one text with the end of each.
#[derive(Default)]
struct Kept {
    columns: usize,
    text: String,
    ends: Vec<usize>,
}

impl Kept {
    fn push(&mut self, cell: &[u8]) {
        self.text.push_str(&String::from_utf8_lossy(cell));
        self.ends.push(self.text.len());
    }

    fn append(&mut self, other: &Kept) {
        let start = self.text.len();
        self.text.push_str(&other.text);
        self.ends.extend(other.ends.iter().map(|end| start + end));
    }

    /// The cell in a place counted over all rows.
    fn cell(&self, place: usize) -> &str {
        let start = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(place).and_then(|&end| self.text.get(start..end)).unwrap_or_default()
    }
}

impl Predictions {
    /// Predictions of which every one is there.
    pub(super) fn whole(outputs: usize, values: Vec<f64>) -> Self {
        Predictions { outputs, present: vec![true; values.len() / outputs], values, kept: Kept::default() }
    }

    /// Numbers in an item.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The numbers of all items, one after the other; zeros where a line is no record.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// One item per physical line, of length [`Predictions::outputs`]; `None` where the line is no record.
    ///
    /// An item holds the probability of the positive label, a score where the model has none, the predicted value
    /// in the target's units, or the probabilities of all labels.
    pub fn rows(&self) -> impl Iterator<Item = Option<&[f64]>> {
        self.values.chunks_exact(self.outputs).zip(&self.present).map(|(values, &there)| there.then_some(values))
    }

    /// The cells of a line in the columns that were kept, in their order; empty where the line is no record.
    pub fn kept(&self, line: usize) -> impl Iterator<Item = &str> {
        (0..self.kept.columns).map(move |column| self.kept.cell(line * self.kept.columns + column))
    }
}

/// Applies a model to every line of a file that has the model's feature columns.
///
/// # Errors
/// When the file lacks a column.
pub fn predict(model: &ModelFile, file: &CsvFile) -> Fallible<Predictions> {
    predict_keeping(model, file, &[])
}

/// Applies a model to every line of a file and copies the cells of some columns, such as identifiers.
///
/// # Errors
/// When the file lacks a column.
pub fn predict_keeping(model: &ModelFile, file: &CsvFile, columns: &[String]) -> Fallible<Predictions> {
    let predictor = Predictor::new(model, file)?;
    let places = columns.iter().map(|name| file.column(name)).collect::<Fallible<Vec<usize>>>()?;
    let (mut values, mut present) = (Vec::new(), Vec::new());
    let mut kept = Kept { columns: columns.len(), ..Kept::default() };
    file.scan(1, |blocks, _| {
        let parts: Vec<(Vec<f64>, Vec<bool>, Kept)> = blocks
            .par_iter()
            .map(|block| {
                let (mut fields, mut values, mut present) = (file.fields(), Vec::new(), Vec::new());
                let mut kept = Kept::default();
                for line in block.lines() {
                    fields.split(line);
                    let there = predictor.predict(&fields, &mut values);
                    present.push(there);
                    let written = |place| file.dialect().as_written(fields.get(place)).into_owned();
                    places.iter().for_each(|&place| kept.push(&if there { written(place) } else { Vec::new() }));
                }
                (values, present, kept)
            })
            .collect();
        for (more, there, cells) in parts {
            values.extend(more);
            present.extend(there);
            kept.append(&cells);
        }
        Ok(())
    })?;
    Ok(Predictions { outputs: model.target.outputs(), values, present, kept })
}

/// The values of one category by text, by the number that it spells, and of every other text.
pub(super) struct Effects<'a> {
    known: HashMap<&'a [u8], usize>,
    numbers: Spelled<usize>,
    fallback: Option<usize>,
    coefficients: &'a [Coefficient],
}

impl<'a> Effects<'a> {
    /// Those of a categorical feature; none of a numeric one.
    pub(super) fn of(feature: &'a Feature) -> Self {
        let Feature::Categorical { values, other, coefficients, .. } = feature else {
            return Effects { known: HashMap::new(), numbers: Spelled::new([]), fallback: None, coefficients: &[] };
        };
        let texts = values.iter().map(|v| v.trim_ascii().as_bytes());
        let known: HashMap<&[u8], usize> = texts.zip(0..).collect();
        let numbers = Spelled::new(known.iter().map(|(text, value)| (*text, *value)));
        let fallback = other.as_ref().and_then(|v| known.get(v.trim_ascii().as_bytes()).copied());
        Effects { known, numbers, fallback, coefficients }
    }

    /// The value that a cell without surrounding blanks stands for.
    pub(super) fn get(&self, cell: &[u8]) -> Option<usize> {
        self.known.get(cell).copied().or_else(|| self.numbers.get(cell)).or(self.fallback)
    }

    /// The coefficients of a value.
    pub(super) fn at(&self, value: usize) -> &'a [f64] {
        self.coefficients.get(value).map_or(&[], Coefficient::values)
    }
}

/// What columns do together: tables of phases, made once for all rows.
pub(super) struct Joint<'a> {
    together: &'a Together,
    /// For each feature and each of its values what it adds to the phases.
    tables: Vec<Vec<Vec<u16>>>,
}

impl<'a> Joint<'a> {
    /// That of a model, if it has one.
    pub(super) fn of(model: &'a ModelFile) -> Option<Self> {
        let together = model.together.as_ref()?;
        let tables = (0..model.features.len()).map(|feature| together.waves.phases(feature)).collect();
        Some(Joint { together, tables })
    }

    /// The phases of a row of which nothing is known.
    pub(super) fn start(&self) -> &[u16] {
        self.together.waves.start()
    }

    /// Turns phases by what a value of a feature adds to them.
    pub(super) fn turn(&self, phases: &mut [u16], feature: usize, value: usize) {
        if let Some(turned) = self.tables.get(feature).and_then(|table| table.get(value)) {
            phases.iter_mut().zip(turned).for_each(|(phase, more)| *phase = phase.wrapping_add(*more));
        }
    }

    /// Adds what phases contribute to the margins.
    pub(super) fn add_to(&self, margins: &mut [f64], phases: &[u16]) {
        for (coefficient, &phase) in self.together.coefficients.iter().zip(phases) {
            add(margins, coefficient.values(), f64::from(Waves::at(phase)) / f64::from(Waves::ONE));
        }
    }
}

/// One numeric feature.
pub(super) struct NumericPart<'a> {
    lower: f64,
    upper: f64,
    shape: NumericShape<'a>,
}

/// What a number adds to each margin.
enum NumericShape<'a> {
    /// So much for each scaled unit.
    Line { map: &'a Affine, coefficient: &'a [f64] },
    /// That of the interval that it lies in.
    Steps { edges: &'a [f64], coefficients: &'a [Coefficient] },
}

impl<'a> NumericPart<'a> {
    /// That of a numeric feature; `None` for a categorical one.
    pub(super) fn of(feature: &'a Feature) -> Option<Self> {
        match feature {
            Feature::Numeric { lower, upper, map, coefficient, .. } => {
                let shape = NumericShape::Line { map, coefficient: coefficient.values() };
                Some(NumericPart { lower: *lower, upper: *upper, shape })
            }
            Feature::Steps { lower, upper, edges, coefficients, .. } => {
                Some(NumericPart { lower: *lower, upper: *upper, shape: NumericShape::Steps { edges, coefficients } })
            }
            Feature::Categorical { .. } => None,
        }
    }

    /// Adds what a cell contributes to the margins; a missing one counts as the middle of the bounds. Returned is the interval that it lies
    /// in, where there are some.
    pub(super) fn add_to(&self, margins: &mut [f64], cell: Option<f64>) -> Option<usize> {
        let value = cell.unwrap_or(self.lower + (self.upper - self.lower) / 2.0).clamp(self.lower, self.upper);
        match &self.shape {
            NumericShape::Line { map, coefficient } => {
                add(margins, coefficient, map.apply(value));
                None
            }
            NumericShape::Steps { edges, coefficients } => {
                let interval = edges.partition_point(|&edge| edge <= value);
                coefficients.get(interval).into_iter().for_each(|effect| add(margins, effect.values(), 1.0));
                Some(interval)
            }
        }
    }
}

/// Adds what `x` units of a feature contribute to the margins.
pub(super) fn add(margins: &mut [f64], coefficient: &[f64], x: f64) {
    margins.iter_mut().zip(coefficient).for_each(|(margin, c)| *margin += c * x);
}

/// A model bound to the columns of one file.
struct Predictor<'a> {
    width: usize,
    numeric: Vec<(usize, NumericPart<'a>)>,
    categorical: Vec<(usize, Effects<'a>)>,
    joint: Option<Joint<'a>>,
    model: &'a ModelFile,
}

impl<'a> Predictor<'a> {
    fn new(model: &'a ModelFile, file: &CsvFile) -> Fallible<Self> {
        let (width, joint) = (file.header().len(), Joint::of(model));
        let mut predictor = Predictor { width, numeric: Vec::new(), categorical: Vec::new(), joint, model };
        for feature in &model.features {
            let column = file.column(feature.name())?;
            match NumericPart::of(feature) {
                Some(part) => predictor.numeric.push((column, part)),
                None => predictor.categorical.push((column, Effects::of(feature))),
            }
        }
        Ok(predictor)
    }

    /// Appends the prediction of one record, zeros where the line is none; whether it is one.
    fn predict(&self, fields: &Fields, out: &mut Vec<f64>) -> bool {
        let start = out.len();
        out.extend_from_slice(self.model.intercept.values());
        let margins = &mut out[start..];
        if fields.len() != self.width {
            margins.fill(0.0);
            return false;
        }
        let mut phases = self.joint.as_ref().map_or_else(Vec::new, |joint| joint.start().to_vec());
        let mut turn = |feature: usize, value: Option<usize>| {
            if let (Some(joint), Some(value)) = (&self.joint, value) {
                joint.turn(&mut phases, feature, value);
            }
        };
        for (feature, (column, part)) in self.numeric.iter().enumerate() {
            turn(feature, part.add_to(margins, fields.value(*column)));
        }
        for (feature, (column, effects)) in self.categorical.iter().enumerate() {
            let value = effects.get(fields.get(*column));
            value.into_iter().for_each(|value| add(margins, effects.at(value), 1.0));
            turn(self.numeric.len() + feature, value);
        }
        if let Some(joint) = &self.joint {
            joint.add_to(margins, &phases);
        }
        outcome(self.model, margins);
        true
    }
}

/// Turns margins into the prediction that they stand for.
pub(super) fn outcome(model: &ModelFile, margins: &mut [f64]) {
    let each = |f: &dyn Fn(f64) -> f64, margins: &mut [f64]| margins.iter_mut().for_each(|t| *t = f(*t));
    match (&model.target, model.model.link()) {
        (Target::Classes { .. }, _) => Softmax::probabilities(margins),
        (Target::Label { .. }, Link::Score) => {}
        (Target::Label { .. }, _) => each(&Logistic::probability, margins),
        (Target::Number { lower, upper, centre, scale, .. }, link) => {
            let number = |t: f64| match link {
                Link::LogRate { bound } => Poisson::rate(bound, t),
                Link::LogOdds | Link::Score | Link::Softmax | Link::Identity => t,
            };
            each(&|t| (centre + scale * number(t)).clamp(*lower, *upper), margins);
        }
    }
}
