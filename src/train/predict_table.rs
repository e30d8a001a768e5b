//! Predictions of a released model on columns in memory.

use rayon::prelude::*;

use super::model::{Feature, ModelFile};
use super::predict::{Effects, NumericPart, Predictions, add, outcome};
use crate::data::{NumberCells, Reading, Table};
use crate::error::Fallible;

/// Rows that one thread predicts at a time.
const ROWS_PER_PART: usize = 1024;

/// A feature bound to its column.
enum Part<'a> {
    Numeric(NumberCells<'a>, Option<NumericPart<'a>>),
    Categorical(Reading<'a, Option<&'a [f64]>>),
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
    let mut values = vec![0.0; table.rows() * outputs];
    values.par_chunks_mut(ROWS_PER_PART * outputs).enumerate().for_each(|(part, margins)| {
        let first = part * ROWS_PER_PART;
        margins.chunks_exact_mut(outputs).for_each(|row| row.copy_from_slice(model.intercept.values()));
        parts.iter().for_each(|part| part.add_to(margins, outputs, first));
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
            Part::Categorical(Reading::new(name, table.column(name)?, &declared, |text| effects.get(text))?)
        }
    })
}

impl Part<'_> {
    /// Adds what a feature contributes to the margins of consecutive rows.
    fn add_to(&self, margins: &mut [f64], outputs: usize, first: usize) {
        let rows = margins.len() / outputs;
        let mut places = vec![0.0; rows];
        match self {
            Part::Numeric(cells, part) => {
                let mut values = vec![f64::NAN; rows];
                cells.read(first, &mut places, &mut values);
                for (row, &value) in margins.chunks_exact_mut(outputs).zip(&values) {
                    part.iter().for_each(|part| part.add_to(row, (!value.is_nan()).then_some(value)));
                }
            }
            Part::Categorical(effects) => {
                let mut found = vec![None; rows];
                effects.read(first, &mut places, &mut found);
                for (row, effect) in margins.chunks_exact_mut(outputs).zip(found) {
                    effect.into_iter().for_each(|effect| add(row, effect, 1.0));
                }
            }
        }
    }
}
