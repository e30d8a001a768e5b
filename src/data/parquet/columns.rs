//! Columns of a Parquet file as tables of consecutive records: numbers as they are stored, and texts once for each that differs.

use std::collections::HashMap;

use bytes::Bytes;
use ndarray::aview1;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::schema::types::ColumnDescriptor;
use rayon::prelude::*;

use super::cells::{Kind, Sink, few, read, records};
use super::pages::{Pages, Stored, Taken, is_named};
use super::{guarded, text, text_columns};
use crate::data::value::{Digits, one_line, single};
use crate::data::{Cells, Numbers, Table, Wanted};
use crate::error::Fallible;

/// Records that are read of a column at a time: their values are looked at while they are near. A multiple of a tile.
const NEAR: usize = if cfg!(test) { 32 } else { 2048 };

/// A piece with so many bytes of text has no more records.
const TEXT_BYTES: usize = if cfg!(test) { 40 } else { 8 << 20 };

/// No more than [`NEAR`] records are read of pages whose texts are in more bytes.
const PAGE_BYTES: usize = if cfg!(test) { 4000 } else { 8 << 20 };

/// Some columns of a Parquet file, read piece by piece.
///
/// Every cell says what its text in [`super::ParquetText`] says.
pub(in crate::data) struct ParquetColumns {
    file: Box<dyn FileReader>,
    /// Row groups begun.
    groups: usize,
    /// Records left in the row group that is open.
    left: usize,
    columns: Vec<Column>,
    /// Records of the piece.
    held: usize,
    read: u64,
}

/// One column, with the cells of the piece.
struct Column {
    /// Its place in the file.
    index: usize,
    name: String,
    wanted: Wanted,
    physical: Type,
    kind: Kind,
    /// The level of a value that is there; 0 where none can be missing.
    level: i16,
    reader: Reader,
    values: Values,
    /// Whether each number is missing; not kept of texts.
    missing: Vec<bool>,
}

/// What reads a column of the open row group.
enum Reader {
    None,
    F64(Pages<f64>),
    F32(Pages<f32>),
    I32(Pages<i32>),
    I64(Pages<i64>),
    Texts(Pages<Bytes>),
    /// For all that pages are not read of.
    Records(ColumnReader),
}

enum Values {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    /// As they are stored, and without a sign.
    U32(Vec<i32>),
    U64(Vec<i64>),
    Texts(Texts),
}

/// Texts, each of them once, and which one every cell has.
#[derive(Default)]
struct Texts {
    list: Vec<String>,
    known: HashMap<Box<[u8]>, i32>,
    /// Places in the list; [`MISSING`] for a missing cell.
    places: Vec<i32>,
    /// The places of a dictionary's texts, or [`UNSEEN`].
    coded: Vec<i32>,
    /// The place of some keys, to be found without making their texts.
    met: Vec<Option<((u64, u64), i32)>>,
    scratch: Vec<u8>,
    /// Bytes in the list.
    bytes: usize,
}

/// Where no text stands.
const MISSING: i32 = -1;

/// Where a text of a dictionary stands that no cell of the piece had.
const UNSEEN: i32 = -2;

/// Keys that are remembered.
const REMEMBERED: usize = 256;

impl ParquetColumns {
    /// Prepares to read columns, each by its name and its place among those with a text.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn new(file: Box<dyn FileReader>, wanted: &[(usize, &str, Wanted)]) -> std::io::Result<Self> {
        let known = text_columns(&*file);
        let columns = guarded(|| {
            let schema = file.metadata().file_metadata().schema_descr();
            let column = |&(place, name, wanted): &(usize, &str, Wanted)| {
                let missing = || ParquetError::General(String::new());
                let index = *known.get(place).ok_or_else(missing)?;
                Ok(Column::new(index, name, wanted, &schema.column(index)))
            };
            wanted.iter().map(column).collect::<Result<Vec<_>>>()
        })?;
        Ok(ParquetColumns { file, groups: 0, left: 0, columns, held: 0, read: 0 })
    }

    /// Bytes of the row groups begun so far, as they lie on the disk.
    pub fn raw_bytes(&self) -> u64 {
        self.read
    }

    /// How many records the file says it has.
    pub fn said_rows(&self) -> u64 {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Reads the next records, as many as asked for but at the end of the file, or a multiple of [`NEAR`] where their texts are long;
    /// whether there are any.
    pub fn advance(&mut self, rows: usize) -> std::io::Result<bool> {
        guarded(|| {
            self.held = 0;
            self.columns.iter_mut().for_each(Column::clear);
            while self.held < rows {
                if self.left > 0 {
                    let count = self.left.min(rows - self.held).min(self.stretch() - self.held % NEAR);
                    self.columns.par_iter_mut().try_for_each(|column| column.fill(count))?;
                    self.left -= count;
                    self.held += count;
                    if self.held.is_multiple_of(NEAR) && self.text_bytes() > TEXT_BYTES {
                        break;
                    }
                } else if self.groups < self.file.num_row_groups() {
                    self.open_group()?;
                } else {
                    break;
                }
            }
            self.columns.par_iter_mut().for_each(Column::spell_nan);
            Ok(self.held > 0)
        })
    }

    /// The records read last; to be asked for once.
    ///
    /// # Errors
    /// When two columns have one name.
    pub fn piece(&mut self) -> Fallible<Table<'_>> {
        Table::new(self.columns.iter_mut().map(|column| (column.name.clone(), column.cells())).collect())
    }

    /// Records that are read at a time, a multiple of [`NEAR`]: on several cores, each time takes long to begin.
    fn stretch(&self) -> usize {
        let least = self.columns.iter().map(Column::stretch).min().unwrap_or(usize::MAX);
        least.max(NEAR) / NEAR * NEAR
    }

    /// Bytes of all texts of the piece.
    fn text_bytes(&self) -> usize {
        let texts = self.columns.iter().filter_map(|column| match &column.values {
            Values::Texts(texts) => Some(texts.bytes),
            _ => None,
        });
        texts.sum()
    }

    fn open_group(&mut self) -> Result<()> {
        let group = self.file.get_row_group(self.groups)?;
        self.groups += 1;
        self.left = usize::try_from(group.metadata().num_rows())?;
        self.read += u64::try_from(group.metadata().compressed_size())?;
        self.columns.par_iter_mut().try_for_each(|column| column.open(&*group))
    }
}

impl Values {
    /// Room for what is wanted of a column.
    fn new(wanted: Wanted, physical: Type, kind: Kind) -> Self {
        match (wanted, physical, kind) {
            (Wanted::Number, Type::DOUBLE, _) => Values::F64(Vec::new()),
            (Wanted::Number, Type::FLOAT, _) => Values::F32(Vec::new()),
            (Wanted::Number, Type::INT32, Kind::Plain) => Values::I32(Vec::new()),
            (Wanted::Number, Type::INT64, Kind::Plain) => Values::I64(Vec::new()),
            (Wanted::Number, Type::INT32, Kind::Unsigned) => Values::U32(Vec::new()),
            (Wanted::Number, Type::INT64, Kind::Unsigned) => Values::U64(Vec::new()),
            _ => Values::Texts(Texts::default()),
        }
    }
}

impl Column {
    fn new(index: usize, name: &str, wanted: Wanted, column: &ColumnDescriptor) -> Self {
        let (kind, physical) = (Kind::of(column), column.physical_type());
        Column {
            index,
            name: name.to_owned(),
            wanted,
            physical,
            kind,
            level: column.max_def_level(),
            reader: Reader::None,
            values: Values::new(wanted, physical, kind),
            missing: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.missing.clear();
        match &mut self.values {
            Values::F64(values) => values.clear(),
            Values::F32(values) => values.clear(),
            Values::I32(values) => values.clear(),
            Values::I64(values) => values.clear(),
            Values::U32(values) => values.clear(),
            Values::U64(values) => values.clear(),
            // Texts may have come from numbers.
            Values::Texts(_) => self.values = Values::new(self.wanted, self.physical, self.kind),
        }
    }

    /// Begins a row group.
    fn open(&mut self, group: &dyn RowGroupReader) -> Result<()> {
        /// The pages, where all of them are read here.
        fn pages<T: Stored>(group: &dyn RowGroupReader, index: usize, level: i16) -> Result<Option<Pages<T>>> {
            if !group.metadata().column(index).encodings().all(is_named) {
                return Ok(None);
            }
            Pages::new(group.get_column_page_reader(index)?, level > 0)
        }
        let (index, level) = (self.index, self.level);
        let of_pages = match &mut self.values {
            Values::F64(_) => pages(group, index, level)?.map(Reader::F64),
            Values::F32(_) => pages(group, index, level)?.map(Reader::F32),
            Values::I32(_) | Values::U32(_) => pages(group, index, level)?.map(Reader::I32),
            Values::I64(_) | Values::U64(_) => pages(group, index, level)?.map(Reader::I64),
            Values::Texts(texts) if self.physical == Type::BYTE_ARRAY && !matches!(self.kind, Kind::Decimal(_)) => {
                texts.coded.clear();
                pages(group, index, level)?.map(Reader::Texts)
            }
            Values::Texts(_) => None,
        };
        self.reader = match of_pages {
            Some(reader) => reader,
            None => Reader::Records(group.get_column_reader(index)?),
        };
        Ok(())
    }

    /// Records after which to see how many bytes of text there are: a page has no more than its own or its dictionary's, and those of numbers
    /// are few.
    fn stretch(&self) -> usize {
        match (&self.values, &self.reader) {
            (Values::Texts(_), Reader::Texts(pages)) if pages.held() <= PAGE_BYTES => pages.left(),
            (Values::Texts(_), Reader::Texts(_)) => NEAR,
            (Values::Texts(_), _) if matches!(self.physical, Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY) => NEAR,
            _ => usize::MAX,
        }
    }

    /// Reads as many records as there must be, some at a time.
    fn fill(&mut self, rows: usize) -> Result<()> {
        (0..rows).step_by(NEAR).try_for_each(|from| self.fill_near(NEAR.min(rows - from)))
    }

    fn fill_near(&mut self, rows: usize) -> Result<()> {
        let Column { reader, kind, level, values, missing, .. } = self;
        match (values, reader) {
            (Values::F64(to), Reader::F64(pages)) => numbers(pages, rows, missing, to),
            (Values::F32(to), Reader::F32(pages)) => numbers(pages, rows, missing, to),
            (Values::I32(to) | Values::U32(to), Reader::I32(pages)) => numbers(pages, rows, missing, to),
            (Values::I64(to) | Values::U64(to), Reader::I64(pages)) => numbers(pages, rows, missing, to),
            (Values::Texts(to), Reader::Texts(pages)) => to.read_pages(pages, rows),
            (values, Reader::Records(reader)) => Self::fill_by_records(reader, values, (*kind, *level), rows, missing),
            _ => Err(ParquetError::General(String::new())),
        }
    }

    /// Reads as many records by the reader of records.
    fn fill_by_records(
        reader: &mut ColumnReader,
        values: &mut Values,
        (kind, level): (Kind, i16),
        rows: usize,
        missing: &mut Vec<bool>,
    ) -> Result<()> {
        match (values, reader) {
            (Values::F64(to), ColumnReader::DoubleColumnReader(r)) => numbers_of_records(r, level, rows, missing, to),
            (Values::F32(to), ColumnReader::FloatColumnReader(r)) => numbers_of_records(r, level, rows, missing, to),
            (Values::I32(to) | Values::U32(to), ColumnReader::Int32ColumnReader(r)) => {
                numbers_of_records(r, level, rows, missing, to)
            }
            (Values::I64(to) | Values::U64(to), ColumnReader::Int64ColumnReader(r)) => {
                numbers_of_records(r, level, rows, missing, to)
            }
            (Values::Texts(to), reader) => read(reader, kind, level, rows, to),
            // A row group with another type than the file.
            _ => Err(ParquetError::General(String::new())),
        }
    }

    /// Makes texts of numbers where one of them is none, so that a cell with `NaN` is told from a missing one as everywhere.
    fn spell_nan(&mut self) {
        let mut texts = Texts::default();
        match &self.values {
            Values::F64(values) if self.has_nan(values.iter().map(|v| v.is_nan())) => {
                for (&v, &missing) in values.iter().zip(&self.missing) {
                    texts.number(missing, v.to_bits(), Digits(v));
                }
            }
            Values::F32(values) if self.has_nan(values.iter().map(|v| v.is_nan())) => {
                for (&v, &missing) in values.iter().zip(&self.missing) {
                    texts.number(missing, v.to_bits().into(), Digits(single(v)));
                }
            }
            _ => return,
        }
        self.values = Values::Texts(texts);
    }

    /// Whether a number is none, and not a missing cell.
    fn has_nan(&self, nans: impl Iterator<Item = bool>) -> bool {
        nans.zip(&self.missing).fold(false, |any, (nan, &missing)| any | (nan & !missing))
    }

    /// The cells of the piece; to be asked for once.
    fn cells(&mut self) -> Cells<'_> {
        let numbers = match &mut self.values {
            Values::F64(values) => Numbers::F64(aview1(values)),
            Values::F32(values) => Numbers::F32(aview1(values)),
            Values::I32(values) => Numbers::I32(aview1(values)),
            Values::I64(values) => Numbers::I64(aview1(values)),
            Values::U32(values) => Numbers::U32(aview1(bytemuck::cast_slice(values))),
            Values::U64(values) => Numbers::U64(aview1(bytemuck::cast_slice(values))),
            Values::Texts(Texts { list, places, .. }) => {
                return Cells::Texts { list: std::mem::take(list), places: Numbers::I32(aview1(places)) };
            }
        };
        match self.missing.contains(&true) {
            true => Cells::Masked { numbers, missing: aview1(&self.missing) },
            false => Cells::Numbers(numbers),
        }
    }
}

/// Appends the numbers of the next records, as many as there must be, and which of them are missing.
fn numbers<T: Stored + Copy + Default>(
    pages: &mut Pages<T>,
    rows: usize,
    missing: &mut Vec<bool>,
    to: &mut Vec<T>,
) -> Result<()> {
    let end = to.len() + rows;
    while to.len() < end {
        let first = to.len();
        if let Taken::Coded(places, known) = pages.take(end - first, missing, to)? {
            to.extend(places.iter().map(|&place| known[place as usize]));
        }
        spread(to, first, &missing[first..], T::default())?;
    }
    Ok(())
}

/// Appends them, and which are missing, by the reader of records.
fn numbers_of_records<T: DataType<T: Copy>>(
    reader: &mut ColumnReaderImpl<T>,
    level: i16,
    rows: usize,
    missing: &mut Vec<bool>,
    to: &mut Vec<T::T>,
) -> Result<()> {
    let first = to.len();
    let mut levels = Vec::new();
    records(reader, rows, &mut levels, to)?;
    missing.extend((0..rows).map(|row| level > 0 && levels.get(row) != Some(&level)));
    spread(to, first, &missing[first..], T::T::default())
}

/// Moves values that stand one after the other to their rows, and puts something else where a value is missing.
fn spread<T: Copy>(to: &mut Vec<T>, first: usize, missing: &[bool], nothing: T) -> Result<()> {
    let mut there = to.len() - first;
    to.resize(first + missing.len(), nothing);
    if there == missing.len() {
        return Ok(());
    }
    // The last one first.
    for (row, _) in missing.iter().enumerate().rev().filter(|it| !it.1) {
        there = there.checked_sub(1).ok_or_else(few)?;
        to.swap(first + row, first + there);
    }
    if there == 0 { Ok(()) } else { Err(few()) }
}

impl Texts {
    /// The place of a text, which is given one where it has none.
    fn place(&mut self, text: &[u8]) -> i32 {
        if let Some(&place) = self.known.get(text) {
            return place;
        }
        // A piece has fewer records than there are places.
        let place = i32::try_from(self.list.len()).unwrap_or(MISSING);
        self.bytes += text.len();
        self.known.insert(text.into(), place);
        self.list.push(one_line(text));
        place
    }

    /// Appends the texts of the next records, as many as there must be.
    fn read_pages(&mut self, pages: &mut Pages<Bytes>, rows: usize) -> Result<()> {
        let end = self.places.len() + rows;
        let (mut missing, mut texts) = (Vec::new(), Vec::new());
        while self.places.len() < end {
            let first = self.places.len();
            missing.clear();
            match pages.take(end - first, &mut missing, &mut texts)? {
                Taken::Plain => {
                    for text in texts.drain(..) {
                        let place = self.place(&text);
                        self.places.push(place);
                    }
                }
                Taken::Coded(codes, known) => {
                    self.coded.resize(known.len(), UNSEEN);
                    for code in codes.iter().map(|&code| code as usize) {
                        if self.coded[code] == UNSEEN {
                            self.coded[code] = self.place(&known[code]);
                        }
                        self.places.push(self.coded[code]);
                    }
                }
            }
            spread(&mut self.places, first, &missing, MISSING)?;
        }
        Ok(())
    }

    /// The place of a key's text.
    fn remembered(&mut self, key: (u64, u64), place: impl FnOnce(&mut Self) -> i32) -> i32 {
        self.met.resize(REMEMBERED, None);
        let mixed = (key.0 ^ key.1.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = (mixed >> 32) as usize % REMEMBERED;
        match self.met[slot] {
            Some((known, place)) if known == key => place,
            _ => {
                let place = place(self);
                self.met[slot] = Some((key, place));
                place
            }
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> i32 {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        write(&mut scratch);
        let place = self.place(&scratch);
        self.scratch = scratch;
        place
    }

    fn number(&mut self, missing: bool, key: u64, shown: impl std::fmt::Display) {
        match missing {
            true => self.missing(),
            false => self.plain(Some((key, 0)), |out| text::display(shown, out)),
        }
    }
}

impl Sink for Texts {
    fn plain(&mut self, key: Option<(u64, u64)>, write: impl FnOnce(&mut Vec<u8>)) {
        let place = match key {
            Some(key) => self.remembered(key, |texts| texts.write(write)),
            None => self.write(write),
        };
        self.places.push(place);
    }

    fn text(&mut self, text: &[u8]) {
        // Texts of a dictionary have the same address wherever they occur.
        let place = self.remembered((text.as_ptr().addr() as u64, text.len() as u64), |texts| texts.place(text));
        self.places.push(place);
    }

    fn missing(&mut self) {
        self.places.push(MISSING);
    }

    fn begin(&mut self) {
        // Texts have other addresses from now on.
        self.met.clear();
    }
}
