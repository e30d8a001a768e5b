//! Parquet files, read as the CSV that they stand for, or by columns that say the same.

mod cells;
mod chunks;
mod columns;
mod pages;
mod text;

use std::io::{Error, ErrorKind, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::basic::{LogicalType, Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use cells::Cells;

pub(super) use chunks::Chunks;
pub(super) use columns::ParquetColumns;

/// Records that are turned into text at a time.
const BATCH: usize = 1024;

/// The text of a Parquet file: a header, then a line for every record.
///
/// Every rule for cells is then the one for CSV: a null is an empty cell, numbers are written so that they are read back
/// exactly, decimals with their point, truth values as `true` and `false`, dates and times as the integers they are stored as.
/// A line ending inside a text becomes a blank, since a record is one line. Columns of lists, maps and structs, half-precision
/// floats and binary columns of fixed width are left out as if they were not there.
pub(super) struct ParquetText {
    file: Box<dyn FileReader>,
    /// The columns that have a text.
    columns: Vec<usize>,
    /// Row groups begun.
    groups: usize,
    /// Records left in the row group that is open.
    left: usize,
    open: Vec<Cells>,
    text: Vec<u8>,
    at: usize,
    read: u64,
}

impl ParquetText {
    /// Begins with the header.
    pub(super) fn new(file: Box<dyn FileReader>) -> Self {
        let schema = file.metadata().file_metadata().schema_descr();
        let columns = text_columns(&*file);
        let mut header = Vec::new();
        for (place, &column) in columns.iter().enumerate() {
            separate(place, &mut header);
            text::quoted(schema.column(column).name().as_bytes(), &mut header);
        }
        header.push(b'\n');
        ParquetText { file, columns, groups: 0, left: 0, open: Vec::new(), text: header, at: 0, read: 0 }
    }

    /// The places of the columns that hold floating-point numbers.
    pub(super) fn floating(&self) -> Vec<usize> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        let is_floating = |&i: &usize| matches!(schema.column(i).physical_type(), Type::FLOAT | Type::DOUBLE);
        let places = self.columns.iter().enumerate().filter(|(_, i)| is_floating(i));
        places.map(|(place, _)| place).collect()
    }

    /// Bytes of the row groups begun so far, as they lie on the disk.
    pub(super) fn raw_bytes(&self) -> u64 {
        self.read
    }

    /// Writes the lines of the next records; none at the end.
    fn advance(&mut self) -> Result<(), ParquetError> {
        self.text.clear();
        self.at = 0;
        while self.left == 0 {
            if self.groups == self.file.num_row_groups() {
                return Ok(());
            }
            self.open_group()?;
        }
        let rows = self.left.min(BATCH);
        self.open.iter_mut().try_for_each(|cells| cells.fill(rows))?;
        for row in 0..rows {
            for (place, cells) in self.open.iter().enumerate() {
                separate(place, &mut self.text);
                self.text.extend_from_slice(cells.get(row));
            }
            self.text.push(b'\n');
        }
        self.left -= rows;
        Ok(())
    }

    fn open_group(&mut self) -> Result<(), ParquetError> {
        let group = self.file.get_row_group(self.groups)?;
        self.groups += 1;
        self.left = usize::try_from(group.metadata().num_rows())?;
        self.read += u64::try_from(group.metadata().compressed_size())?;
        let schema = self.file.metadata().file_metadata().schema_descr();
        let open = |&i: &usize| Ok(Cells::new(group.get_column_reader(i)?, &schema.column(i)));
        self.open = self.columns.iter().map(open).collect::<Result<_, ParquetError>>()?;
        Ok(())
    }
}

impl Read for ParquetText {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.text.len() {
            guarded(|| self.advance())?;
        }
        let count = (&self.text[self.at..]).read(buffer)?;
        self.at += count;
        Ok(count)
    }
}

fn separate(place: usize, line: &mut Vec<u8>) {
    if place > 0 {
        line.push(b',');
    }
}

/// Opens a file.
///
/// # Errors
/// When it has no footer that can be read.
pub(super) fn open(file: impl ChunkReader + 'static) -> std::io::Result<Box<dyn FileReader>> {
    Ok(Box::new(guarded(|| SerializedFileReader::new(file))?))
}

/// The columns of a file that have a text.
fn text_columns(file: &dyn FileReader) -> Vec<usize> {
    let schema = file.metadata().file_metadata().schema_descr();
    (0..schema.num_columns()).filter(|&i| has_text(&schema.column(i))).collect()
}

/// Whether a column is one value for each record, of a kind that is written as text.
fn has_text(column: &ColumnDescriptor) -> bool {
    let flat = column.max_rep_level() == 0 && column.path().parts().len() == 1;
    let fixed = column.physical_type() == Type::FIXED_LEN_BYTE_ARRAY;
    flat && (!fixed || matches!(column.logical_type_ref(), Some(LogicalType::Decimal(_))))
}

/// The reader takes some damaged files for impossible and panics: that is an error, too.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> std::io::Result<T> {
    let outcome = catch_unwind(AssertUnwindSafe(read));
    outcome.unwrap_or_else(|_| Err(ParquetError::General(String::new()))).map_err(|e| broken(&e))
}

/// What went wrong, by its kind alone: a message could quote the file.
fn broken(error: &ParquetError) -> Error {
    let what = match error {
        ParquetError::NYI(_) => "its encoding or compression is not supported",
        ParquetError::EOF(_) => "it ends too early",
        _ => "it is no Parquet file that can be read",
    };
    Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests;
