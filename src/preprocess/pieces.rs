//! Tables that come in pieces, encoded one after the other.

use super::columns::TableEncoder;
use super::encode::encoded_shape;
use super::load::ungrouped;
use super::persons::{EncodedRows, Numbering};
use super::report::LoadReport;
use crate::data::{Schema, Table};
use crate::error::{Error, Fallible};
use crate::kernel::{BulkBuilder, LANES, Rows};

/// Encodes the pieces of a table, so that neither needs to be in memory as a whole; the rows are those of the whole table.
pub struct PiecesEncoder {
    schema: Schema,
    rows: BulkBuilder,
    persons: Numbering,
    report: LoadReport,
    /// Whether the last piece ended inside a tile, so that it must be the last one.
    ended: bool,
}

/// Rows that were encoded by a schema, and what the custodian may know about them.
pub struct EncodedTable {
    pub(crate) rows: EncodedRows,
    /// Counts of the rows; custodian-only.
    pub report: LoadReport,
    pub(crate) fingerprint: String,
}

impl PiecesEncoder {
    /// All pieces but the last must have a multiple of so many rows.
    pub const MULTIPLE: usize = LANES;

    /// No rows yet; memory is asked for `rows` of them.
    pub fn new(schema: &Schema, rows: usize) -> Self {
        let mut room = BulkBuilder::new(encoded_shape(schema));
        room.reserve(rows.div_ceil(LANES));
        PiecesEncoder {
            schema: schema.clone(),
            rows: room,
            persons: Numbering::default(),
            report: LoadReport::default(),
            ended: false,
        }
    }

    /// Encodes the rows of the next piece, in parallel.
    ///
    /// # Errors
    /// When a column is missing, a column of numbers is declared by texts of which two say the same number, or the piece before had no
    /// multiple of [`PiecesEncoder::MULTIPLE`] rows.
    pub fn add(&mut self, piece: &Table<'_>) -> Fallible<()> {
        if self.ended && piece.rows() > 0 {
            let cure = "give pieces of a multiple of 32 rows, but for the last one";
            return Err(Error::parameter("piece", "follows one that ended within a tile of rows", cure));
        }
        TableEncoder::new(&self.schema, piece)?.append_to(&mut self.rows, &mut self.persons, &mut self.report)?;
        self.ended |= !piece.rows().is_multiple_of(Self::MULTIPLE);
        Ok(())
    }

    /// All rows.
    pub fn finish(self) -> EncodedTable {
        let rows = self.rows.build();
        let rows = if self.schema.unit.is_some() { self.persons.encoded(rows) } else { EncodedRows::alone(rows) };
        let rows = rows.keeping(self.schema.keeps_unlabelled());
        EncodedTable { rows, report: self.report, fingerprint: self.schema.fingerprint() }
    }
}

impl EncodedTable {
    /// The rows alone.
    ///
    /// # Errors
    /// When the schema has a unit: they would be without their persons.
    pub fn rows(&self) -> Fallible<&Rows> {
        if self.rows.persons.is_none() { Ok(&self.rows.rows) } else { Err(ungrouped()) }
    }
}
