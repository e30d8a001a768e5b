//! Columns in memory to encoded rows: what a CSV file of the same cells gives, without the file.

use rayon::prelude::*;

use super::Codes;
use super::encode::shape_of;
use super::quantise::quantise;
use super::report::{LoadReport, Tally};
use super::target::{TargetReader, TargetRule};
use crate::data::{Cells, NumberCells, Reading, Schema, Table};
use crate::error::Fallible;
use crate::kernel::{BulkBuilder, LANES, Rows, Shape, TileMut, TilesMut};

/// Rows that one thread encodes at a time.
const ROWS_PER_PART: usize = 256 * LANES;

/// Encodes the rows of a table by a schema, by the rules of [`super::Encoder`].
pub struct TableEncoder<'a> {
    rows: usize,
    shape: Shape,
    numeric: Vec<NumericColumn<'a>>,
    categorical: Vec<CategoryColumn<'a>>,
    target: TargetColumn<'a>,
    reader: TargetReader,
}

struct NumericColumn<'a> {
    cells: NumberCells<'a>,
    lower: f64,
    upper: f64,
}

struct CategoryColumn<'a> {
    /// Codes of declared values.
    codes: Reading<'a, Option<u16>>,
    /// The code of all others.
    other: u16,
}

enum TargetColumn<'a> {
    Label(Reading<'a, Option<i16>>),
    Number { cells: NumberCells<'a>, lower: f64, upper: f64 },
}

/// The place of each cell's label among declared ones, by the rule for labels; `None` for any other cell.
///
/// Custodian-only: exact functions of rows.
///
/// # Errors
/// When cells are numbers and two labels say the same one.
pub fn label_codes(name: &str, cells: &Cells<'_>, labels: &[String]) -> Fallible<Vec<Option<u16>>> {
    let codes = Codes::new(labels.iter().zip(0u16..).map(|(label, code)| (label.as_str(), code)));
    let declared: Vec<&str> = labels.iter().map(String::as_str).collect();
    let reading = Reading::new(name, cells, &declared, |text| codes.get(text))?;
    let (mut buffer, mut out) = (vec![0.0; cells.len()], vec![None; cells.len()]);
    reading.read(0, &mut buffer, &mut out);
    Ok(out)
}

/// The number that each cell says, by the rule for numeric columns; NaN for a missing one.
///
/// Custodian-only: exact functions of rows.
///
/// # Errors
/// As [`TableEncoder::new`].
pub fn numbers_of(name: &str, cells: &Cells<'_>) -> Fallible<Vec<f64>> {
    let (mut buffer, mut out) = (vec![0.0; cells.len()], vec![0.0; cells.len()]);
    NumberCells::new(name, cells)?.read(0, &mut buffer, &mut out);
    Ok(out)
}

/// Room for one column of a tile.
struct Buffers {
    places: [f64; LANES],
    values: [f64; LANES],
    codes: [Option<u16>; LANES],
    labels: [Option<i16>; LANES],
}

impl<'a> TableEncoder<'a> {
    /// Prepares the encoder for a table that has the schema's features and target.
    ///
    /// # Errors
    /// When a column is missing, or a column of numbers is declared by texts of which two say the same number.
    pub fn new(schema: &Schema, table: &'a Table<'_>) -> Fallible<Self> {
        let numeric = schema.numeric().map(|(name, lower, upper)| {
            let cells = NumberCells::new(name, table.column(name)?)?;
            Ok(NumericColumn { cells, lower, upper })
        });
        let numeric = numeric.collect::<Fallible<_>>()?;
        let categorical = schema.categorical().map(|(name, values, other)| {
            let known = Codes::new(values.iter().enumerate().map(|(code, value)| (value.as_str(), code as u16)));
            let declared: Vec<&str> = values.iter().map(String::as_str).collect();
            let codes = Reading::new(name, table.column(name)?, &declared, |text| known.get(text))?;
            let other = other.and_then(|other| values.iter().position(|v| v == other)).unwrap_or(values.len());
            Ok(CategoryColumn { codes, other: other as u16 })
        });
        let categorical = categorical.collect::<Fallible<_>>()?;
        let (rule, cells) = (TargetRule::of(schema), table.column(&schema.target)?);
        let reader = TargetReader::new(&rule);
        let target = match &rule {
            TargetRule::Number { lower, upper } => {
                let cells = NumberCells::new(&schema.target, cells)?;
                TargetColumn::Number { cells, lower: *lower, upper: *upper }
            }
            labels => {
                let label = |text: &[u8]| reader.encode(text);
                TargetColumn::Label(Reading::new(&schema.target, cells, &labels.texts(), label)?)
            }
        };
        Ok(TableEncoder { rows: table.rows(), shape: shape_of(schema), numeric, categorical, target, reader })
    }

    /// Encodes every row in parallel; lines of the report are rows, counted from 1.
    pub fn encode(&self) -> (Rows, LoadReport) {
        let mut rows = BulkBuilder::new(self.shape.clone());
        rows.reserve(self.rows.div_ceil(LANES));
        let mut report = LoadReport::default();
        self.append_to(&mut rows, &mut report);
        (rows.build(), report)
    }

    /// Encodes every row behind those that are there already.
    pub(super) fn append_to(&self, rows: &mut BulkBuilder, report: &mut LoadReport) {
        // Wide tables come in few rows, which all threads share.
        let share = self.rows.div_ceil(rayon::current_num_threads()).next_multiple_of(LANES);
        let part = share.clamp(LANES, ROWS_PER_PART);
        let starts: Vec<usize> = (0..self.rows).step_by(part).collect();
        let lens: Vec<usize> = starts.iter().map(|start| part.min(self.rows - start)).collect();
        let mut rooms = rows.grow(&lens);
        let parts: Vec<LoadReport> =
            rooms.par_iter_mut().zip(starts).map(|(room, start)| self.encode_part(start, room)).collect();
        parts.iter().for_each(|part| report.merge(part));
    }

    fn encode_part(&self, start: usize, room: &mut TilesMut<'_>) -> LoadReport {
        let (mut report, mut first) = (LoadReport::default(), start);
        let mut buffers =
            Buffers { places: [0.0; LANES], values: [0.0; LANES], codes: [None; LANES], labels: [None; LANES] };
        // Compiled for several instruction sets; all of them give the same bits.
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                room.fill(
                    #[inline(always)]
                    |tile| {
                        self.encode_tile(first, tile, &mut buffers, &mut report);
                        first += tile.len;
                    },
                );
            },
        );
        report
    }

    #[inline(always)]
    fn encode_tile(&self, first: usize, tile: &mut TileMut<'_>, buffers: &mut Buffers, report: &mut LoadReport) {
        let len = tile.len;
        let Buffers { places, values, codes, labels } = buffers;
        let places = &mut places[..len];
        self.read_target(first, places, &mut values[..len], &mut labels[..len]);
        for (lane, label) in labels[..len].iter().enumerate() {
            tile.present |= u32::from(label.is_some()) << lane;
            tile.labels[lane] = label.unwrap_or(0);
            report.count(label.map(|label| Tally { positive: self.reader.positive(label), ..Tally::default() }));
        }
        // Of a row that is no record nothing is counted but the row.
        let missed = |gap: &dyn Fn(usize) -> bool| {
            (0..len).filter(|&lane| tile.present & (1 << lane) != 0 && gap(lane)).count() as u64
        };
        for (column, grid) in self.numeric.iter().zip(tile.numeric.chunks_exact_mut(LANES)) {
            column.cells.read(first, places, &mut values[..len]);
            grid.iter_mut().zip(values.iter()).for_each(|(q, &v)| *q = quantise(v, column.lower, column.upper));
            report.missing += missed(&|lane| values[lane].is_nan());
        }
        for (column, coded) in self.categorical.iter().zip(tile.codes.chunks_exact_mut(LANES)) {
            column.codes.read(first, places, &mut codes[..len]);
            coded.iter_mut().zip(codes.iter()).for_each(|(to, code)| *to = code.unwrap_or(column.other));
            report.undeclared += missed(&|lane| codes[lane].is_none());
        }
    }

    /// The encoded targets of consecutive rows; `None` where a row has none and so is no record.
    #[inline(always)]
    fn read_target(&self, first: usize, places: &mut [f64], values: &mut [f64], labels: &mut [Option<i16>]) {
        match &self.target {
            TargetColumn::Label(known) => known.read(first, places, labels),
            TargetColumn::Number { cells, lower, upper } => {
                cells.read(first, places, values);
                let encode = |value: f64| (!value.is_nan()).then(|| quantise(value, *lower, *upper));
                labels.iter_mut().zip(values).for_each(|(label, value)| *label = encode(*value));
            }
        }
    }
}
