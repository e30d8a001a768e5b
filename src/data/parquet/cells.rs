//! The texts of the cells of one column.

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

use super::text;
use crate::data::value::{Digits, single};

/// A column of an open row group, and the texts of the records read last.
pub(super) struct Cells {
    reader: ColumnReader,
    kind: Kind,
    /// The level of a value that is there; 0 where none can be missing.
    level: i16,
    texts: Texts,
}

/// What the integers and bytes of a column stand for.
#[derive(Clone, Copy)]
enum Kind {
    /// What they are.
    Plain,
    /// Integers without a sign.
    Unsigned,
    /// Integers over a power of ten.
    Decimal(usize),
}

impl Kind {
    fn of(column: &ColumnDescriptor) -> Self {
        use ConvertedType::{DECIMAL, UINT_8, UINT_16, UINT_32, UINT_64};
        match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Decimal(_)), _) | (None, DECIMAL) => {
                Kind::Decimal(usize::try_from(column.type_scale()).unwrap_or(0))
            }
            (Some(LogicalType::Integer(integer)), _) if !integer.is_signed => Kind::Unsigned,
            (None, UINT_8 | UINT_16 | UINT_32 | UINT_64) => Kind::Unsigned,
            _ => Kind::Plain,
        }
    }
}

/// Texts one after another.
#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Cells {
    pub(super) fn new(reader: ColumnReader, column: &ColumnDescriptor) -> Self {
        Cells { reader, kind: Kind::of(column), level: column.max_def_level(), texts: Texts::default() }
    }

    /// The text of one of the records read last.
    pub(super) fn get(&self, row: usize) -> &[u8] {
        let Texts { bytes, ends } = &self.texts;
        &bytes[if row == 0 { 0 } else { ends[row - 1] }..ends[row]]
    }

    /// Reads as many records as there must be.
    pub(super) fn fill(&mut self, rows: usize) -> Result<()> {
        let (kind, texts) = (self.kind, &mut self.texts);
        texts.bytes.clear();
        texts.ends.clear();
        match &mut self.reader {
            ColumnReader::BoolColumnReader(r) => texts.fill(r, self.level, rows, |v, out| text::display(v, out)),
            ColumnReader::Int32ColumnReader(r) => texts.fill(r, self.level, rows, |&v, out| match kind {
                Kind::Plain => text::display(v, out),
                Kind::Unsigned => text::display(v.cast_unsigned(), out),
                Kind::Decimal(scale) => text::decimal(&v.to_be_bytes(), scale, out),
            }),
            ColumnReader::Int64ColumnReader(r) => texts.fill(r, self.level, rows, |&v, out| match kind {
                Kind::Plain => text::display(v, out),
                Kind::Unsigned => text::display(v.cast_unsigned(), out),
                Kind::Decimal(scale) => text::decimal(&v.to_be_bytes(), scale, out),
            }),
            ColumnReader::Int96ColumnReader(r) => {
                texts.fill(r, self.level, rows, |v, out| text::display(v.to_nanos(), out))
            }
            ColumnReader::FloatColumnReader(r) => {
                texts.fill(r, self.level, rows, |&v, out| text::display(Digits(single(v)), out))
            }
            ColumnReader::DoubleColumnReader(r) => {
                texts.fill(r, self.level, rows, |&v, out| text::display(Digits(v), out))
            }
            ColumnReader::ByteArrayColumnReader(r) => {
                texts.fill(r, self.level, rows, |v, out| bytes(v.data(), kind, out))
            }
            ColumnReader::FixedLenByteArrayColumnReader(r) => {
                texts.fill(r, self.level, rows, |v, out| bytes(v.data(), kind, out))
            }
        }
    }
}

fn bytes(value: &[u8], kind: Kind, out: &mut Vec<u8>) {
    match kind {
        Kind::Decimal(scale) => text::decimal(value, scale, out),
        Kind::Plain | Kind::Unsigned => text::quoted(value, out),
    }
}

impl Texts {
    fn fill<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        level: i16,
        rows: usize,
        write: impl Fn(&T::T, &mut Vec<u8>),
    ) -> Result<()> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let mut records = 0;
        while records < rows {
            match reader.read_records(rows - records, Some(&mut levels), None, &mut values)?.0 {
                0 => return Err(ParquetError::EOF("a column is shorter than its row group".into())),
                more => records += more,
            }
        }
        let mut values = values.iter();
        for row in 0..rows {
            if level == 0 || levels.get(row) == Some(&level) {
                let value = values.next().ok_or_else(|| ParquetError::EOF("a value is missing".into()))?;
                write(value, &mut self.bytes);
            }
            self.ends.push(self.bytes.len());
        }
        Ok(())
    }
}
