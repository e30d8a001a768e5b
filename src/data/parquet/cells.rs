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
pub(super) enum Kind {
    /// What they are.
    Plain,
    /// Integers without a sign.
    Unsigned,
    /// Integers over a power of ten.
    Decimal(usize),
}

impl Kind {
    pub(super) fn of(column: &ColumnDescriptor) -> Self {
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

/// What the texts of cells go to, one cell after the other.
pub(super) trait Sink {
    /// A text without commas, quotes and line endings; cells of one key have one text.
    fn plain(&mut self, key: Option<(u64, u64)>, write: impl FnOnce(&mut Vec<u8>));
    /// Any text, at an address that is that of no other text until `begin` is called again.
    fn text(&mut self, text: &[u8]);
    /// A missing cell.
    fn missing(&mut self);
    /// Comes before all cells that are read together.
    fn begin(&mut self);
}

/// Hands the cells of the next records on.
pub(super) fn read(reader: &mut ColumnReader, kind: Kind, level: i16, rows: usize, sink: &mut impl Sink) -> Result<()> {
    sink.begin();
    macro_rules! plain {
        ($reader:expr, $value:ident => $key:expr, $shown:expr) => {
            each($reader, level, rows, |value| match value {
                None => sink.missing(),
                Some(&$value) => sink.plain($key, |out| text::display($shown, out)),
            })
        };
    }
    macro_rules! decimals {
        ($reader:expr, $scale:expr) => {
            each($reader, level, rows, |value| match value {
                None => sink.missing(),
                Some(value) => sink.plain(None, |out| text::decimal(&value.to_be_bytes(), $scale, out)),
            })
        };
    }
    let mut bytes = |value: Option<&[u8]>| match (value, kind) {
        (None, _) => sink.missing(),
        (Some(value), Kind::Decimal(scale)) => sink.plain(None, |out| text::decimal(value, scale, out)),
        (Some(value), Kind::Plain | Kind::Unsigned) => sink.text(value),
    };
    match (reader, kind) {
        (ColumnReader::Int32ColumnReader(r), Kind::Decimal(scale)) => decimals!(r, scale),
        (ColumnReader::Int64ColumnReader(r), Kind::Decimal(scale)) => decimals!(r, scale),
        (ColumnReader::Int32ColumnReader(r), Kind::Unsigned) => {
            plain!(r, v => Some((v.cast_unsigned().into(), 0)), v.cast_unsigned())
        }
        (ColumnReader::Int64ColumnReader(r), Kind::Unsigned) => {
            plain!(r, v => Some((v.cast_unsigned(), 0)), v.cast_unsigned())
        }
        (ColumnReader::Int32ColumnReader(r), Kind::Plain) => plain!(r, v => Some((v.cast_unsigned().into(), 0)), v),
        (ColumnReader::Int64ColumnReader(r), Kind::Plain) => plain!(r, v => Some((v.cast_unsigned(), 0)), v),
        (ColumnReader::BoolColumnReader(r), _) => plain!(r, v => Some((v.into(), 0)), v),
        (ColumnReader::Int96ColumnReader(r), _) => plain!(r, v => None, v.to_nanos()),
        (ColumnReader::FloatColumnReader(r), _) => {
            plain!(r, v => Some((v.to_bits().into(), 0)), Digits(single(v)))
        }
        (ColumnReader::DoubleColumnReader(r), _) => plain!(r, v => Some((v.to_bits(), 0)), Digits(v)),
        (ColumnReader::ByteArrayColumnReader(r), _) => each(r, level, rows, |v| bytes(v.map(|v| v.data()))),
        (ColumnReader::FixedLenByteArrayColumnReader(r), _) => each(r, level, rows, |v| bytes(v.map(|v| v.data()))),
    }
}

/// Appends the values of the next records, as many records as there must be, and where values may be missing the level of each.
pub(super) fn records<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> Result<()> {
    let mut found = 0;
    while found < rows {
        match reader.read_records(rows - found, Some(levels), None, values)?.0 {
            0 => return Err(ParquetError::EOF("a column is shorter than its row group".into())),
            more => found += more,
        }
    }
    Ok(())
}

/// Hands the values of the next records on, all of which are in memory meanwhile; nothing where one is missing.
fn each<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    level: i16,
    rows: usize,
    mut take: impl FnMut(Option<&T::T>),
) -> Result<()> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    records(reader, rows, &mut levels, &mut values)?;
    let mut values = values.iter();
    for row in 0..rows {
        let is_there = level == 0 || levels.get(row) == Some(&level);
        take(is_there.then(|| values.next().ok_or_else(few)).transpose()?);
    }
    Ok(())
}

/// A column without a value that its levels tell of.
pub(super) fn few() -> ParquetError {
    ParquetError::EOF("a value is missing".into())
}

/// Texts one after another, as cells of a CSV.
#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Sink for Texts {
    fn plain(&mut self, _: Option<(u64, u64)>, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    fn text(&mut self, text: &[u8]) {
        text::quoted(text, &mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    fn missing(&mut self) {
        self.ends.push(self.bytes.len());
    }

    fn begin(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
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
        read(&mut self.reader, self.kind, self.level, rows, &mut self.texts)
    }
}
