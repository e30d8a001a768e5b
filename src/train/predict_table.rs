//! Predictions of a released model on columns in memory.

use rayon::prelude::*;

use super::model::{Feature, ModelFile};
use super::predict::{Effects, Joint, NumericPart, Predictions, add, outcome};
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
    let parts = model.features.iter().map(|feature| bind(feature, table)).collect::<Fallible<Vec<_>>>()?;
    let outputs = model.target.outputs();
    let joint = Joint::of(model);
    let mut values = vec![0.0; table.rows() * outputs];
    values.par_chunks_mut(ROWS_PER_PART * outputs).enumerate().for_each(|(part, margins)| {
        let first = part * ROWS_PER_PART;
        margins.chunks_exact_mut(outputs).for_each(|row| row.copy_from_slice(model.intercept.values()));
        let rows = margins.len() / outputs;
        let start = joint.as_ref().map_or(&[][..], Joint::start);
        let mut phases = joint.as_ref().map_or_else(Vec::new, |joint| joint.start().repeat(rows));
        for (feature, part) in parts.iter().enumerate() {
            let found = part.add_to(margins, outputs, first);
            let Some(joint) = &joint else { continue };
            for (phases, value) in phases.chunks_exact_mut(start.len().max(1)).zip(found) {
                value.into_iter().for_each(|value| joint.turn(phases, feature, value));
            }
        }
        if let Some(joint) = &joint {
            let rows = margins.chunks_exact_mut(outputs).zip(phases.chunks_exact(start.len().max(1)));
            rows.for_each(|(margins, phases)| joint.add_to(margins, phases));
        }
        margins.chunks_exact_mut(outputs).for_each(|row| outcome(model, row));
    });
    Ok(Predictions::whole(outputs, values))
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
