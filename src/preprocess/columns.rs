//! Columns in memory to encoded rows: what a CSV file of the same cells gives, without the file.

use rayon::prelude::*;

use super::Codes;
use super::encode::{WeightRule, encoded_shape, missing_code};
use super::persons::{CellInterner, EncodedRows, IdentifierColumn, Numbering, PersonPart, PersonsMet};
use super::quantize::quantize;
use super::report::{Fault, LoadReport, Loss, ReportColumns, no_number, outside};
use super::survey::{Survey, Whole};
use super::tally::Met;
use super::target::{TargetReader, TargetRule, absent};
use crate::data::{Categorical, Cells, NumberCells, Reading, Schema, Shown, Table, trim};
use crate::error::Fallible;
use crate::grid::{FULL_SCALE, Shape};
use crate::kernel::{BulkBuilder, LANES, TileMut, TilesMut};
use crate::num::vectorized;

/// Rows that one thread encodes at a time.
const ROWS_PER_PART: usize = 256 * LANES;

/// Encodes the rows of a table by a schema, by the rules of [`super::Encoder`].
pub struct TableEncoder<'a> {
    rows: usize,
    shape: Shape,
    numeric: Vec<NumericColumn<'a>>,
    categorical: Vec<CategoryColumn<'a>>,
    target: TargetColumn<'a>,
    target_shown: Shown<'a>,
    /// The identifiers, and the most rows of a person that count, where the schema has a unit.
    unit: Option<(IdentifierColumn<'a>, u32)>,
    reader: TargetReader,
    /// The weights, the exposures and the offsets, where columns hold some, and how they are read, where the schema gives rows weights.
    weight: Option<([Option<NumberCells<'a>>; 3], WeightRule)>,
    /// What stands for a target that is none, where the row is a record all the same.
    absent: Option<i16>,
}

struct NumericColumn<'a> {
    shown: Shown<'a>,
    cells: NumberCells<'a>,
    lower: f64,
    upper: f64,
    /// Position among the categorical features of the one that says where it is missing.
    missing: Option<usize>,
}

struct CategoryColumn<'a> {
    shown: Shown<'a>,
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

/// The number that each cell says, by the rule for numeric columns; NaN for a missing one. One entry per row.
///
/// Custodian-only: exact functions of rows.
///
/// # Errors
/// When a column is missing, or a column of numbers is declared by texts of which two say the same number.
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
            let source = table.column(name)?;
            let cells = NumberCells::new(name, source)?;
            Ok(NumericColumn { shown: Shown::new(source), cells, lower, upper, missing: None })
        });
        let mut numeric = numeric.collect::<Fallible<Vec<_>>>()?;
        for (place, column) in schema.categorical().enumerate() {
            let of = column.missing_of.and_then(|(_, slot)| numeric.get_mut(slot));
            of.into_iter().for_each(|of| of.missing = Some(place));
        }
        let declared = schema.categorical().filter(|column| column.missing_of.is_none());
        let categorical = declared.map(|Categorical { name, values, other, .. }| {
            let name = &*name;
            let known = Codes::new(values.iter().enumerate().map(|(code, value)| (value.as_str(), code as u16)));
            let declared: Vec<&str> = values.iter().map(String::as_str).collect();
            let source = table.column(name)?;
            let codes = Reading::new(name, source, &declared, |text| known.get(text))?;
            let other = other.and_then(|other| values.iter().position(|v| v == other)).unwrap_or(values.len());
            Ok(CategoryColumn { shown: Shown::new(source), codes, other: other as u16 })
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
        let unit = match &schema.unit {
            None => None,
            Some(unit) => Some((IdentifierColumn::new(table.column(&unit.column)?), unit.max_rows())),
        };
        let weight = match WeightRule::of(schema)? {
            None => None,
            Some(rule) => {
                let cells = |column: &str| NumberCells::new(column, table.column(column)?);
                let [weight, exposure, offset] = schema.weight_columns().map(|column| column.map(cells).transpose());
                Some(([weight?, exposure?, offset?], rule))
            }
        };
        Ok(TableEncoder {
            rows: table.rows(),
            shape: encoded_shape(schema),
            weight,
            numeric,
            categorical,
            target,
            target_shown: Shown::new(cells),
            unit,
            reader,
            absent: absent(schema),
        })
    }

    /// Encodes every row in parallel; lines of the report are rows, counted from 1.
    ///
    /// # Errors
    /// When there are 2^32 persons.
    pub fn encode(&self) -> Fallible<(EncodedRows, LoadReport)> {
        let mut rows = BulkBuilder::new(self.shape.clone());
        rows.reserve(self.rows.div_ceil(LANES));
        let (mut report, mut persons) = (LoadReport::default(), Numbering::default());
        self.append_to(&mut rows, &mut persons, &mut report)?;
        let rows = rows.build();
        let rows = if self.unit.is_some() { persons.encoded(rows) } else { EncodedRows::alone(rows) };
        Ok((rows.keeping(self.absent.is_some()), report))
    }

    /// Encodes every row behind those that are there already.
    ///
    /// # Errors
    /// When there are 2^32 persons.
    pub(super) fn append_to(
        &self,
        rows: &mut BulkBuilder,
        persons: &mut Numbering,
        report: &mut LoadReport,
    ) -> Fallible<()> {
        let parts = self.append_parts(rows, report);
        parts.into_iter().filter_map(|(_, whose)| whose).try_for_each(|whose| persons.append(whose))
    }

    /// Encodes every row behind those that are there already; how many rows each part has, and whose they are.
    pub(super) fn append_parts(
        &self,
        rows: &mut BulkBuilder,
        report: &mut LoadReport,
    ) -> Vec<(usize, Option<PersonPart>)> {
        // Wide tables come in few rows, which all threads share.
        let share = self.rows.div_ceil(rayon::current_num_threads()).next_multiple_of(LANES);
        let part = share.clamp(LANES, ROWS_PER_PART);
        let starts: Vec<usize> = (0..self.rows).step_by(part).collect();
        let lens: Vec<usize> = starts.iter().map(|start| part.min(self.rows - start)).collect();
        let mut rooms = rows.grow(&lens);
        let parts: Vec<(LoadReport, Option<PersonPart>)> =
            rooms.par_iter_mut().zip(starts).map(|(room, start)| self.encode_part(start, room)).collect();
        parts.iter().for_each(|(part, _)| report.merge(part));
        lens.into_iter().zip(parts.into_iter().map(|(_, whose)| whose)).collect()
    }

    /// Encodes every row, and looks at every cell for the custodian.
    ///
    /// # Errors
    /// When there are 2^32 persons.
    pub fn survey(&self) -> Fallible<(EncodedRows, Survey)> {
        let (rows, report) = self.encode()?;
        let mut survey = Survey { report, ..Survey::default() };
        survey.persons = self
            .unit
            .as_ref()
            .zip(rows.persons.as_ref())
            .map(|((_, max_rows), persons)| PersonsMet::of(persons, *max_rows));
        let mut places = vec![0.0; ROWS_PER_PART];
        let starts = || (0..self.rows).step_by(ROWS_PER_PART);
        for column in &self.numeric {
            let (mut whole, mut values) = (Whole::default(), vec![0.0; ROWS_PER_PART]);
            for start in starts() {
                if whole == Whole::No {
                    break;
                }
                let len = ROWS_PER_PART.min(self.rows - start);
                column.cells.read(start, &mut places[..len], &mut values[..len]);
                values[..len].iter().filter(|value| !value.is_nan()).for_each(|&value| whole.add(value));
            }
            survey.whole.push(whole);
        }
        for column in &self.categorical {
            let (mut met, mut codes) = (Met::default(), vec![None; ROWS_PER_PART]);
            for start in starts() {
                let len = ROWS_PER_PART.min(self.rows - start);
                column.codes.read(start, &mut places[..len], &mut codes[..len]);
                let unknown = codes[..len].iter().enumerate().filter(|(_, code)| code.is_none());
                unknown.for_each(|(row, _)| met.add(column.shown.get(start + row).as_bytes(), 1));
            }
            survey.undeclared.push(met);
        }
        if !self.reader.is_number() {
            (0..self.rows).for_each(|row| survey.met.add(self.target_shown.get(row).as_bytes(), 1));
        }
        Ok((rows, survey))
    }

    fn encode_part(&self, start: usize, room: &mut TilesMut<'_>) -> (LoadReport, Option<PersonPart>) {
        let (mut report, mut first) = (LoadReport::default(), start);
        let mut persons = self.unit.as_ref().map(|(column, _)| CellInterner::new(column));
        let mut buffers =
            Buffers { places: [0.0; LANES], values: [0.0; LANES], codes: [None; LANES], labels: [None; LANES] };
        vectorized(
            #[inline(always)]
            || {
                room.fill(
                    #[inline(always)]
                    |tile| {
                        self.encode_tile(first, tile, &mut buffers, &mut persons, &mut report);
                        first += tile.len;
                    },
                );
            },
        );
        (report, persons.map(CellInterner::take))
    }

    #[inline(always)]
    fn encode_tile(
        &self,
        first: usize,
        tile: &mut TileMut<'_>,
        buffers: &mut Buffers,
        persons: &mut Option<CellInterner<'_, '_>>,
        report: &mut LoadReport,
    ) {
        let (len, columns, before) = (tile.len, self.report_columns(), report.lines);
        let Buffers { places, values, codes, labels } = buffers;
        let places = &mut places[..len];
        let mut weights = [[1.0; LANES]; 3];
        for (cells, numbers) in self.weight.iter().flat_map(|(cells, _)| cells).zip(&mut weights) {
            cells.iter().for_each(|cells| cells.read(first, places, &mut numbers[..len]));
        }
        let [weights, exposures, offsets] = weights;
        let less = |offset: f64| self.weight.as_ref().map_or(0.0, |(_, rule)| rule.subtracted(offset));
        let over: [(f64, f64); LANES] = std::array::from_fn(|lane| (exposures[lane], less(offsets[lane])));
        self.read_target(first, places, &mut values[..len], &mut labels[..len], &over);
        for (lane, label) in labels[..len].iter().enumerate() {
            if persons.as_mut().is_some_and(|persons| !persons.add(first + lane)) {
                report.lose(Loss::Identifier);
                continue;
            }
            let (weight, exposure, offset) = (weights[lane], exposures[lane], offsets[lane]);
            let code = match &self.weight {
                // No number.
                Some(_) if offset.is_nan() => None,
                // Of a label that is none nothing is looked up.
                Some((_, rule)) => rule.code(weight, exposure, label.unwrap_or(0)),
                None => Some(0),
            };
            let Some(code) = code else {
                report.lose(Loss::Weight);
                continue;
            };
            let known = label.or(self.absent);
            tile.present |= u32::from(known.is_some()) << lane;
            tile.labels[lane] = known.unwrap_or(0);
            match label {
                None if known.is_some() => {
                    report.count(None);
                    let cell = self.target_shown.get(first + lane);
                    let cell = trim(cell.as_bytes());
                    report.note(columns, columns.all - 1, self.reader.fault(cell), report.lines, cell);
                }
                Some(label) => {
                    report.count(self.reader.positive(*label));
                    if let Some((_, rule)) = &self.weight {
                        tile.codes[rule.slot * LANES + lane] = code;
                        if let Some((slot, code)) = rule.offset_code(offset) {
                            tile.codes[slot * LANES + lane] = code;
                        }
                        let column = columns.numeric + rule.slot;
                        if let Some((slot, fault)) = rule.offset_fault(offset) {
                            report.note_number(columns, columns.numeric + slot, fault, report.lines, offset);
                        }
                        for (number, above) in [(weight, weight > rule.max), (exposure, rule.is_cut(exposure))] {
                            if above {
                                report.note_number(columns, column, Fault::Above, report.lines, number);
                            }
                        }
                    }
                    if label.abs() == FULL_SCALE {
                        self.note_outside_target(first + lane, *label, over[lane], report);
                    }
                }
                None => {
                    let cell = self.target_shown.get(first + lane);
                    report.lose_for_target(columns, &self.reader, trim(cell.as_bytes()));
                }
            }
        }
        // Of a row that is no record nothing is counted but the row.
        let lanes = |present: u32| (0..len).filter(move |lane| present & (1 << lane) != 0);
        for (slot, (column, grid)) in self.numeric.iter().zip(tile.numeric.chunks_exact_mut(LANES)).enumerate() {
            column.cells.read(first, places, &mut values[..len]);
            let (lower, upper) = (column.lower, column.upper);
            grid.iter_mut().zip(values.iter()).for_each(|(q, &v)| *q = quantize(v, lower, upper));
            if let Some(place) = column.missing {
                let told = tile.codes.iter_mut().skip(place * LANES).zip(values[..len].iter());
                told.for_each(|(code, value)| *code = missing_code(value.is_nan()));
            }
            // Not a number fails, too.
            if values[..len].iter().all(|&v| (v >= lower) & (v <= upper)) {
                continue;
            }
            for lane in lanes(tile.present) {
                let (value, row, line) = (values[lane], first + lane, before + lane as u64 + 1);
                if value.is_nan() {
                    let cell = column.shown.get(row);
                    report.note(columns, slot, no_number(cell.as_bytes()), line, cell.as_bytes());
                } else if let Some(fault) = outside(value, lower, upper) {
                    report.note_number(columns, slot, fault, line, value);
                }
            }
        }
        for (slot, (column, coded)) in self.categorical.iter().zip(tile.codes.chunks_exact_mut(LANES)).enumerate() {
            column.codes.read(first, places, &mut codes[..len]);
            coded.iter_mut().zip(codes.iter()).for_each(|(to, code)| *to = code.unwrap_or(column.other));
            for lane in lanes(tile.present).filter(|&lane| codes[lane].is_none()) {
                let line = before + lane as u64 + 1;
                let cell = || column.shown.get(first + lane);
                report.note_text(columns, columns.numeric + slot, Fault::Undeclared, line, cell);
            }
        }
    }

    fn report_columns(&self) -> ReportColumns {
        let numeric = self.shape.numeric();
        ReportColumns { numeric, all: numeric + self.shape.categorical() + 1 }
    }

    fn note_outside_target(&self, row: usize, label: i16, over: (f64, f64), report: &mut LoadReport) {
        let cell = self.target_shown.get(row);
        if let Some(fault) = self.reader.outside_over(label, cell.as_bytes(), over) {
            let columns = self.report_columns();
            report.note(columns, columns.all - 1, fault, report.lines, cell.as_bytes());
        }
    }

    /// The encoded targets of consecutive rows; `None` where a row has none and so is no record.
    #[inline(always)]
    fn read_target(
        &self,
        first: usize,
        places: &mut [f64],
        values: &mut [f64],
        labels: &mut [Option<i16>],
        over: &[(f64, f64); LANES],
    ) {
        match &self.target {
            TargetColumn::Label(known) => known.read(first, places, labels),
            TargetColumn::Number { cells, lower, upper } => {
                cells.read(first, places, values);
                let encode = |value: f64, (exposure, less): (f64, f64)| {
                    (!value.is_nan()).then(|| quantize(value / exposure - less, *lower, *upper))
                };
                let cells = labels.iter_mut().zip(values).zip(over);
                cells.for_each(|((label, value), over)| *label = encode(*value, *over));
            }
        }
    }
}
