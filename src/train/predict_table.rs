//! Predictions of a released model on columns in memory.

use rayon::prelude::*;

use super::model::{Feature, ModelFile};
use super::predict::{Effects, Joint, NumericPart, Predictions, add, in_units, outcome, parts};
use crate::data::{NumberCells, Reading, Table};
use crate::error::Fallible;

/// Rows that one thread predicts at a time.
const ROWS_PER_PART: usize = 1024;

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
    values.par_chunks_exact_mut(outputs).for_each(|row| outcome(model, row));
    Ok(Predictions::whole(outputs, values))
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
    values.par_chunks_mut(ROWS_PER_PART * width).enumerate().for_each(|(part, values)| {
        let (first, rows) = (part * ROWS_PER_PART, values.len() / width);
        let mut margins = vec![0.0; rows * outputs];
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
            let found = part.add_to(&mut margins, outputs, first);
            next(&mut margins);
            let Some(joint) = &joint else { continue };
            for (phases, value) in phases.chunks_exact_mut(start.len().max(1)).zip(found) {
                value.into_iter().for_each(|value| joint.turn(phases, feature, value));
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
    });
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
    /// Adds what a feature contributes to the margins of consecutive rows; returned is the interval or value of each.
    fn add_to(&self, margins: &mut [f64], outputs: usize, first: usize) -> Vec<Option<usize>> {
        let rows = margins.len() / outputs;
        let mut places = vec![0.0; rows];
        let mut found = vec![None; rows];
        match self {
            Part::Numeric(cells, part) => {
                let mut values = vec![f64::NAN; rows];
                cells.read(first, &mut places, &mut values);
                for ((row, &value), found) in margins.chunks_exact_mut(outputs).zip(&values).zip(&mut found) {
                    let cell = (!value.is_nan()).then_some(value);
                    *found = part.as_ref().and_then(|part| part.add_to(row, cell));
                }
            }
            Part::Categorical(reading, effects) => {
                reading.read(first, &mut places, &mut found);
                for (row, &value) in margins.chunks_exact_mut(outputs).zip(&found) {
                    value.into_iter().for_each(|value| add(row, effects.at(value), 1.0));
                }
            }
        }
        found
    }
}
