//! Predictions of a released model on columns in memory.

use ndarray::{ArrayView2, Axis, Slice};
use rayon::prelude::*;

use super::model::{Feature, ModelFile};
use super::predict::{Effects, Joint, NumericPart, Predictions, add, in_units, outcome, parts};
use crate::data::{Cells, NumberCells, Numbers, Reading, Table};
use crate::error::{Error, Fallible};

/// Rows that one thread predicts at a time.
const ROWS_PER_PART: usize = 128;

/// So many rows are looked at faster than a thread is woken.
const ROWS_ALONE: usize = 1024;

/// A feature bound to its column.
enum Part<'a> {
    Numeric(NumberCells<'a>, Option<NumericPart<'a>>),
    Categorical(Reading<'a, Option<usize>>, Effects<'a>),
}

/// Applies a model to every row of a table that has the model's feature columns.
///
/// Cells in a file give the bits that these cells give, see [`super::predict()`]. One item of the result belongs to one row of the table.
///
/// # Errors
/// When the table lacks a column, or a column of numbers is declared by texts of which two say the same number.
pub fn predict_table(model: &ModelFile, table: &Table<'_>) -> Fallible<Predictions> {
    let outputs = model.target.outputs();
    let mut values = margins(model, table, false)?;
    match table.rows() > ROWS_ALONE {
        true => values.par_chunks_exact_mut(outputs).for_each(|row| outcome(model, row)),
        false => values.chunks_exact_mut(outputs).for_each(|row| outcome(model, row)),
    }
    Ok(Predictions::whole(outputs, values))
}

/// Applies a model to every row of a matrix whose columns are those of `names`, shape `(rows, names)`.
///
/// Predictions have the bits that [`predict_table`] gives for these columns. Where the model is a line for every column in this order, rows are
/// read as they lie in memory, which takes less time.
///
/// # Errors
/// When the matrix has another number of columns than there are names, or the model has one of another name.
///
/// ```
/// use ndarray::array;
/// use rhograd::prelude::*;
/// use rhograd::train::predict_matrix;
///
/// let schema = Schema::read("datasets/fair.schema.json".as_ref())?;
/// let file = CsvFile::open("datasets/fair.csv".as_ref())?;
/// let config = TrainConfig::new(Budget::Rho(Rho::from_f64(0.1)?, None));
/// let (trained, _) = train(load(&config, schema, &file, &|_, _| Ok(()))?, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut |_| Ok(()))?;
/// let names: Vec<String> = trained.model.features.iter().map(|feature| feature.name().to_owned()).collect();
/// let rows = array![[3.0, 32.0, 9.0, 3.0, 3.0, 17.0, 2.0, 5.0], [5.0, 27.0, 2.5, 0.0, 2.0, 16.0, 4.0, 5.0]];
/// assert_eq!(predict_matrix(&trained.model, &names, &rows.view())?.rows().count(), 2);
/// # Ok::<(), Error>(())
/// ```
pub fn predict_matrix(model: &ModelFile, names: &[String], rows: &ArrayView2<'_, f64>) -> Fallible<Predictions> {
    if rows.ncols() != names.len() {
        return Err(Error::parameter("X", "has not as many columns as there are names", "give a name to every column"));
    }
    let Some(lines) = Lines::of(model, names).filter(|_| rows.is_standard_layout()) else {
        let column = |(name, column)| (String::clone(name), Cells::Numbers(Numbers::F64(column)));
        return predict_table(model, &Table::new(names.iter().zip(rows.axis_iter(Axis(1))).map(column).collect())?);
    };
    let mut values = vec![0.0; rows.nrows()];
    let predict = |(part, values): (usize, &mut [f64])| {
        let first = part * ROWS_PER_PART;
        lines.add_up(&rows.slice_axis(Axis(0), Slice::from(first..first + values.len())), values);
        values.chunks_exact_mut(1).for_each(|row| outcome(model, row));
    };
    match rows.nrows() > ROWS_ALONE {
        true => values.par_chunks_mut(ROWS_PER_PART).enumerate().for_each(predict),
        false => values.chunks_mut(ROWS_PER_PART).enumerate().for_each(predict),
    }
    Ok(Predictions::whole(1, values))
}

/// A model that is a line for every column of a matrix, by column.
struct Lines {
    intercept: f64,
    lower: Vec<f64>,
    upper: Vec<f64>,
    middle: Vec<f64>,
    centre: Vec<f64>,
    scale: Vec<f64>,
    limit: Vec<f64>,
    coefficient: Vec<f64>,
}

impl Lines {
    fn of(model: &ModelFile, names: &[String]) -> Option<Self> {
        let [intercept] = model.intercept.values() else { return None };
        if model.together.is_some() || model.features.len() != names.len() {
            return None;
        }
        let room = || Vec::with_capacity(names.len());
        let mut lines = Lines {
            intercept: *intercept,
            lower: room(),
            upper: room(),
            middle: room(),
            centre: room(),
            scale: room(),
            limit: room(),
            coefficient: room(),
        };
        for (feature, name) in model.features.iter().zip(names) {
            let Feature::Numeric { name: own, lower, upper, map, coefficient } = feature else { return None };
            let [coefficient] = coefficient.values() else { return None };
            if own != name {
                return None;
            }
            lines.lower.push(*lower);
            lines.upper.push(*upper);
            lines.middle.push(lower + (upper - lower) / 2.0);
            lines.centre.push(map.centre);
            lines.scale.push(map.scale);
            lines.limit.push(map.limit);
            lines.coefficient.push(*coefficient);
        }
        Some(lines)
    }

    /// The margin of each row: what its columns contribute, added in their order.
    fn add_up(&self, rows: &ArrayView2<'_, f64>, margins: &mut [f64]) {
        let size = self.coefficient.len();
        let (lower, upper, middle) = (&self.lower[..size], &self.upper[..size], &self.middle[..size]);
        let (centre, scale, limit) = (&self.centre[..size], &self.scale[..size], &self.limit[..size]);
        let coefficient = &self.coefficient[..size];
        let mut terms = vec![0.0; size];
        let terms = &mut terms[..size];
        // Compiled for several instruction sets; all of them give the same bits.
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for (row, margin) in rows.outer_iter().zip(margins) {
                    let Some(row) = row.to_slice().filter(|row| row.len() == size) else {
                        *margin = f64::NAN;
                        continue;
                    };
                    for at in 0..size {
                        let value = if row[at].is_nan() { middle[at] } else { row[at] };
                        let scaled = (held(value, lower[at], upper[at]) - centre[at]) / scale[at];
                        terms[at] = coefficient[at] * held(scaled, -limit[at], limit[at]);
                    }
                    // Margins begin at zero, which makes a zero of an intercept of -0.0.
                    *margin = terms.iter().fold(0.0 + self.intercept, |sum, term| sum + term);
                }
            },
        );
    }
}

/// As `clamp` does it, but for its look at the bounds, which were looked at when the file was read.
#[inline(always)]
fn held(x: f64, low: f64, high: f64) -> f64 {
    if x < low {
        low
    } else if x > high {
        high
    } else {
        x
    }
}

/// What adds up to the prediction of each row of a table, one row after the other, each in the order of [`contributions`](super::contributions).
///
/// # Errors
/// When the table lacks a column, or a column of numbers is declared by texts of which two say the same number.
pub fn explain_table(model: &ModelFile, table: &Table<'_>) -> Fallible<Vec<f64>> {
    let mut values = margins(model, table, true)?;
    values.par_chunks_exact_mut(parts(model) * model.target.outputs()).for_each(|row| in_units(model, row));
    Ok(values)
}

/// The margins of every row, or `apart` what intercept, each feature and all together contribute to them.
fn margins(model: &ModelFile, table: &Table<'_>, apart: bool) -> Fallible<Vec<f64>> {
    let bound = model.features.iter().map(|feature| bind(feature, table)).collect::<Fallible<Vec<_>>>()?;
    let outputs = model.target.outputs();
    let width = outputs * if apart { parts(model) } else { 1 };
    let joint = Joint::of(model);
    let mut values = vec![0.0; table.rows() * width];
    let add_up = |(part, values): (usize, &mut [f64])| {
        let (first, rows) = (part * ROWS_PER_PART, values.len() / width);
        let mut margins = vec![0.0; rows * outputs];
        let mut scratch = Scratch { places: vec![0.0; rows], values: vec![0.0; rows], found: vec![None; rows] };
        // Hands a part of all margins over, and begins anew.
        let mut done = 0;
        let mut next = |margins: &mut [f64]| {
            if apart {
                for (row, own) in values.chunks_exact_mut(width).zip(margins.chunks_exact(outputs)) {
                    row[done * outputs..(done + 1) * outputs].copy_from_slice(own);
                }
                done += 1;
                margins.fill(0.0);
            }
        };
        margins.chunks_exact_mut(outputs).for_each(|row| add(row, model.intercept.values(), 1.0));
        next(&mut margins);
        let start = joint.as_ref().map_or(&[][..], Joint::start);
        let mut phases = start.repeat(rows);
        for (feature, part) in bound.iter().enumerate() {
            part.add_to(&mut margins, outputs, first, &mut scratch);
            next(&mut margins);
            let Some(joint) = &joint else { continue };
            for (phases, value) in phases.chunks_exact_mut(start.len().max(1)).zip(&scratch.found) {
                value.iter().for_each(|value| joint.turn(phases, feature, *value));
            }
        }
        if let Some(joint) = &joint {
            let rows = margins.chunks_exact_mut(outputs).zip(phases.chunks_exact(start.len().max(1)));
            rows.for_each(|(margins, phases)| joint.add_to(margins, phases));
            next(&mut margins);
        }
        if !apart {
            values.copy_from_slice(&margins);
        }
    };
    let size = ROWS_PER_PART * width;
    match table.rows() > ROWS_ALONE {
        true => values.par_chunks_mut(size).enumerate().for_each(add_up),
        false => values.chunks_mut(size).enumerate().for_each(add_up),
    }
    Ok(values)
}

fn bind<'a>(feature: &'a Feature, table: &'a Table<'_>) -> Fallible<Part<'a>> {
    Ok(match feature {
        Feature::Numeric { name, .. } | Feature::Steps { name, .. } => {
            Part::Numeric(NumberCells::new(name, table.column(name)?)?, NumericPart::of(feature))
        }
        Feature::Categorical { name, values, .. } => {
            let effects = Effects::of(feature);
            let declared: Vec<&str> = values.iter().map(String::as_str).collect();
            let reading = Reading::new(name, table.column(name)?, &declared, |text| effects.get(text))?;
            Part::Categorical(reading, effects)
        }
    })
}

impl Part<'_> {
    /// Adds what a feature contributes to the margins of consecutive rows, and finds the interval or value of each.
    fn add_to(&self, margins: &mut [f64], outputs: usize, first: usize, scratch: &mut Scratch) {
        let Scratch { places, values, found } = scratch;
        match self {
            Part::Numeric(cells, part) => {
                cells.read(first, places, values);
                for ((row, &value), found) in margins.chunks_exact_mut(outputs).zip(values.iter()).zip(found) {
                    let cell = (!value.is_nan()).then_some(value);
                    *found = part.as_ref().and_then(|part| part.add_to(row, cell));
                }
            }
            Part::Categorical(reading, effects) => {
                reading.read(first, places, found);
                for (row, &value) in margins.chunks_exact_mut(outputs).zip(found.iter()) {
                    value.into_iter().for_each(|value| add(row, effects.at(value), 1.0));
                }
            }
        }
    }
}

/// Room for the cells of one column in the rows of a part.
struct Scratch {
    places: Vec<f64>,
    values: Vec<f64>,
    /// The interval or value of each row.
    found: Vec<Option<usize>>,
}
