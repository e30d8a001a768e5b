//! Predictions of a released model on a CSV file.

use std::collections::HashMap;

use rayon::prelude::*;

use super::effects::unit_of_margin;
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
    contributions: Vec<f64>,
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
        let present = vec![true; values.len() / outputs];
        Predictions { outputs, present, values, kept: Kept::default(), contributions: Vec::new() }
    }

    /// Numbers in an item.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The numbers of all items, one after the other; zeros where a line is no record.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// All values, one line after the other.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// One item per physical line, of length [`Predictions::outputs`]; `None` where the line is no record.
    ///
    /// An item holds the probability of the positive label, a score where the model has none, the predicted value
    /// in the target's units, or the probabilities of all labels.
    pub fn rows(&self) -> impl Iterator<Item = Option<&[f64]>> {
        self.values.chunks_exact(self.outputs).zip(&self.present).map(|(values, &there)| there.then_some(values))
    }

    /// What adds up to the margins of a line, in the order of [`contributions`]; nothing where it was not asked for, zeros where the line
    /// is no record.
    pub fn contributions(&self, line: usize) -> &[f64] {
        let width = self.contributions.len() / self.present.len().max(1);
        self.contributions.get(line * width..(line + 1) * width).unwrap_or_default()
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
    predict_each(model, file, columns, false)
}

/// Applies a model as [`predict_keeping`] does, and tells what each column contributes to each prediction, see [`contributions`].
///
/// # Errors
/// When the file lacks a column.
pub fn predict_explaining(model: &ModelFile, file: &CsvFile, columns: &[String]) -> Fallible<Predictions> {
    predict_each(model, file, columns, true)
}

/// The names of what adds up to a prediction: `(intercept)`, the features in the model's order, and `(together)` where columns do something
/// together; one name for each label of several.
///
/// They add up to a linear model's prediction before it is moved into its bounds, and to the margin of another one: the log-odds, the
/// logarithm of the rate, or the score. See [`predict_explaining`] and [`explain_table`](super::explain_table).
///
/// ```
/// use rhograd::prelude::*;
/// use rhograd::train::{contributions, predict_explaining};
///
/// let schema = Schema::read("datasets/fair.schema.json".as_ref())?;
/// let file = CsvFile::open("datasets/fair.csv".as_ref())?;
/// let loaded = load(&TrainConfig::new(Budget::Rho(Rho::from_f64(0.1)?, None)), schema, &file, &|_, _| Ok(()))?;
/// let (trained, _) = train(loaded, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut |_| Ok(()))?;
///
/// let predictions = predict_explaining(&trained.model, &file, &[])?;
/// let parts = predictions.contributions(0);
/// assert_eq!(parts.len(), contributions(&trained.model).len());
/// let margin: f64 = parts.iter().sum();
/// let probability = predictions.rows().next().unwrap().unwrap()[0];
/// assert!((1.0 / (1.0 + (-margin).exp()) - probability).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
pub fn contributions(model: &ModelFile) -> Vec<String> {
    let labels: &[String] = if let Target::Classes { labels, .. } = &model.target { labels } else { &[] };
    let names = contributors(model).into_iter();
    names
        .flat_map(|name| match labels {
            [] => vec![name],
            _ => labels.iter().map(|label| format!("{name} -> {label}")).collect(),
        })
        .collect()
}

/// The names of [`contributions`] without labels: where a feature is called so, `(intercept)` and `(together)` get brackets more.
///
/// ```
/// # use rhograd::{error::Error, train::{ModelFile, contributors}};
/// # fn shown(model: &ModelFile) -> Result<(), Error> {
/// assert_eq!(contributors(model).first().map(String::as_str), Some("(intercept)"));
/// # Ok(())
/// # }
/// ```
pub fn contributors(model: &ModelFile) -> Vec<String> {
    let features = || model.features.iter().map(Feature::name);
    let apart = |name: &str| {
        let mut name = name.to_owned();
        while features().any(|feature| feature == name) {
            name = format!("({name})");
        }
        name
    };
    let together = model.together.iter().map(|_| apart("(together)"));
    [apart("(intercept)")].into_iter().chain(features().map(String::from)).chain(together).collect()
}

/// Puts contributions to the margins of one row, those of the intercept first, into the units of what the model describes.
pub(super) fn in_units(model: &ModelFile, parts: &mut [f64]) {
    let ((unit, centre), outputs) = (unit_of_margin(model), model.target.outputs());
    parts.iter_mut().for_each(|part| *part *= unit);
    parts.iter_mut().take(outputs).for_each(|part| *part += centre);
}

fn predict_each(model: &ModelFile, file: &CsvFile, columns: &[String], explained: bool) -> Fallible<Predictions> {
    let predictor = Predictor::new(model, file)?;
    let places = columns.iter().map(|name| file.column(name)).collect::<Fallible<Vec<usize>>>()?;
    let mut all =
        Predictions { kept: Kept { columns: columns.len(), ..Kept::default() }, ..Predictions::whole(1, Vec::new()) };
    all.outputs = model.target.outputs();
    file.scan(1, |blocks, _| {
        let parts: Vec<Predictions> = blocks
            .par_iter()
            .map(|block| {
                let (mut fields, mut part) = (file.fields(), Predictions::whole(1, Vec::new()));
                for line in block.lines() {
                    fields.split(line);
                    let there = predictor.predict(&fields, &mut part.values);
                    part.present.push(there);
                    if explained {
                        let start = part.contributions.len();
                        if predictor.margins(&fields, &mut part.contributions, true) {
                            in_units(model, &mut part.contributions[start..]);
                        }
                    }
                    let written = |place| file.dialect().as_written(fields.get(place)).into_owned();
                    places.iter().for_each(|&place| part.kept.push(&if there { written(place) } else { Vec::new() }));
                }
                part
            })
            .collect();
        for part in parts {
            all.values.extend(part.values);
            all.present.extend(part.present);
            all.kept.append(&part.kept);
            all.contributions.extend(part.contributions);
        }
        Ok(())
    })?;
    Ok(all)
}

/// The values of one category by text, by the number that it spells, and of every other text.
pub(super) struct Effects<'a> {
    known: HashMap<&'a [u8], usize>,
    numbers: Spelled<usize>,
    fallback: Option<usize>,
    coefficients: &'a [Coefficient],
    tells_missing: bool,
}

impl<'a> Effects<'a> {
    /// Those of a categorical feature; none of a numeric one.
    pub(super) fn of(feature: &'a Feature) -> Self {
        let Feature::Categorical { values, other, coefficients, missing_of, .. } = feature else {
            let (known, numbers) = (HashMap::new(), Spelled::new([]));
            return Effects { known, numbers, fallback: None, coefficients: &[], tells_missing: false };
        };
        let texts = values.iter().map(|v| v.trim_ascii().as_bytes());
        let known: HashMap<&[u8], usize> = texts.zip(0..).collect();
        let numbers = Spelled::new(known.iter().map(|(text, value)| (*text, *value)));
        let fallback = other.as_ref().and_then(|v| known.get(v.trim_ascii().as_bytes()).copied());
        Effects { known, numbers, fallback, coefficients, tells_missing: missing_of.is_some() }
    }

    /// Whether its one value says that a cell holds no number.
    pub(super) fn tells_missing(&self) -> bool {
        self.tells_missing
    }

    /// The value of such a feature.
    pub(super) fn missing(missing: bool) -> Option<usize> {
        missing.then_some(0)
    }

    /// The value that a cell without surrounding blanks stands for.
    pub(super) fn get(&self, cell: &[u8]) -> Option<usize> {
        self.known.get(cell).copied().or_else(|| self.numbers.get(cell)).or(self.fallback)
    }

    /// Adds the effects of values to the margins of consecutive rows.
    pub(super) fn add_to(&self, margins: &mut [f64], outputs: usize, found: &[Option<usize>]) {
        for (row, value) in margins.chunks_exact_mut(outputs).zip(found) {
            value.iter().for_each(|value| add(row, self.at(*value), 1.0));
        }
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
    /// The values of categories, and of features that say where a number is missing.
    categorical: Vec<(usize, Effects<'a>)>,
    joint: Option<Joint<'a>>,
    model: &'a ModelFile,
}

impl<'a> Predictor<'a> {
    fn new(model: &'a ModelFile, file: &CsvFile) -> Fallible<Self> {
        let (width, joint) = (file.header().len(), Joint::of(model));
        let mut predictor = Predictor { width, numeric: Vec::new(), categorical: Vec::new(), joint, model };
        for feature in &model.features {
            let column = file.column(feature.column())?;
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
        let there = self.margins(fields, out, false);
        if there {
            outcome(self.model, &mut out[start..]);
        }
        there
    }

    /// Appends the margins of one record, or `apart` what intercept, each feature and all together contribute to them; zeros where the line
    /// is none. Whether it is one.
    fn margins(&self, fields: &Fields, out: &mut Vec<f64>, apart: bool) -> bool {
        let (start, outputs) = (out.len(), self.model.target.outputs());
        out.resize(start + outputs * if apart { parts(self.model) } else { 1 }, 0.0);
        if fields.len() != self.width {
            return false;
        }
        let margins = &mut out[start..];
        let of = |part: usize| if apart { part * outputs..(part + 1) * outputs } else { 0..outputs };
        add(&mut margins[of(0)], self.model.intercept.values(), 1.0);
        let mut phases = self.joint.as_ref().map_or_else(Vec::new, |joint| joint.start().to_vec());
        let mut turn = |feature: usize, value: Option<usize>| {
            if let (Some(joint), Some(value)) = (&self.joint, value) {
                joint.turn(&mut phases, feature, value);
            }
        };
        for (feature, (column, part)) in self.numeric.iter().enumerate() {
            turn(feature, part.add_to(&mut margins[of(1 + feature)], fields.value(*column)));
        }
        for (feature, (column, effects)) in (self.numeric.len()..).zip(&self.categorical) {
            let value = match effects.tells_missing() {
                true => Effects::missing(fields.value(*column).is_none()),
                false => effects.get(fields.get(*column)),
            };
            value.into_iter().for_each(|value| add(&mut margins[of(1 + feature)], effects.at(value), 1.0));
            turn(feature, value);
        }
        if let Some(joint) = &self.joint {
            joint.add_to(&mut margins[of(1 + self.model.features.len())], &phases);
        }
        true
    }
}

/// What adds up to a margin: the intercept, each feature, and what columns do together.
pub(super) fn parts(model: &ModelFile) -> usize {
    1 + model.features.len() + usize::from(model.together.is_some())
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
