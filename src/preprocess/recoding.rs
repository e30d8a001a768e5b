//! The re-encodings that follow from released values.

use serde::{Deserialize, Serialize};

use super::{Affine, Binner, PersonStream, RowStream, Standardizer, Waves};
use crate::error::{Error, Fallible};
use crate::kernel::Rows;

/// How rows are encoded anew by what was released; each new row is a function of its old self.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recoding {
    /// By moments: numbers stay numbers, in deviations.
    #[serde(rename = "standardised")]
    Standardized(Standardizer),
    /// By counts: numbers become categories, the intervals that they lie in.
    Binned(Binner),
    /// By waves: numbers are made of the intervals and values that rows have.
    Waves(Waves),
    /// By the phases of waves themselves: numbers are linear functions of the scores.
    Straight(Waves),
}

impl Recoding {
    /// The rows in their new encoding.
    pub fn recode(&self, rows: Rows) -> Rows {
        match self {
            Recoding::Standardized(map) => map.recode(rows),
            Recoding::Binned(bins) => bins.recode(&rows),
            Recoding::Waves(waves) => waves.recode(&rows),
            Recoding::Straight(waves) => waves.clone().straight().recode(&rows),
        }
    }

    /// The rows of a file in their new encoding: in another file, or with waves that are made whenever they are read.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub fn recode_stream(&self, rows: RowStream) -> Fallible<RowStream> {
        match self {
            Recoding::Standardized(map) => map.recode_stream(rows),
            Recoding::Binned(bins) => bins.recode_stream(rows),
            Recoding::Waves(waves) => rows.with_waves(waves.clone()),
            Recoding::Straight(waves) => rows.with_waves(waves.clone().straight()),
        }
    }

    /// The persons of a file in their new encoding, in another file.
    ///
    /// # Errors
    /// When they cannot be read or written, or are to be cut into intervals, which is done in memory alone; a run that asks for both is
    /// refused before its charge.
    pub fn recode_persons(&self, persons: PersonStream) -> Fallible<PersonStream> {
        match self {
            Recoding::Standardized(map) => map.recode_persons(persons),
            Recoding::Binned(_) | Recoding::Waves(_) | Recoding::Straight(_) => Err(Error::refused(
                "persons in a file cannot be cut into intervals",
                "leave out --memory-limit, or the unit",
            )),
        }
    }

    /// The map of the target.
    pub fn target(&self) -> Option<&Affine> {
        match self {
            Recoding::Standardized(map) => map.target.as_ref(),
            Recoding::Binned(bins) => bins.target(),
            Recoding::Waves(_) | Recoding::Straight(_) => None,
        }
    }

    /// This map with a unit of the target that is so many times as large; others than those by moments, and without a target, stay.
    pub(crate) fn with_unit(self, factor: f64) -> Self {
        match self {
            Recoding::Standardized(mut map) => {
                map.target.iter_mut().for_each(|target| target.scale *= factor);
                Recoding::Standardized(map)
            }
            other => other,
        }
    }

    /// What an encoded label of 1 stands for in the new encoding.
    pub fn label_scale(&self) -> f64 {
        self.target().map_or(1.0, Affine::label_scale)
    }
}
