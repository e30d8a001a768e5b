//! Lines straight into tiles, cell after cell, without a list of cells or lines.

use super::encode::{Encoder, Role, missing_code};
use super::persons::{Interner, PersonPart};
use super::quantize::quantize;
use super::report::{Fault, LoadReport, Loss, Odd, no_number, no_value, outside};
use crate::data::{Block, Fields, enclosed_decimal, near_separator, plain_decimal, trim_line, value};
use crate::kernel::{LANES, RawRow, TileMut, TilesMut};
use crate::num::vectorized;

/// An encoder with the buffers that lines with quotes need.
pub(super) struct LineEncoder<'a> {
    encoder: &'a Encoder,
    fields: Fields,
    row: RawRow,
    /// Bounds of the numeric features.
    bounds: Vec<(f64, f64)>,
    /// Their values in one tile; NaN where there is none.
    values: Vec<f64>,
    /// Cells of the line under way that do not count as what stands there.
    odd: Vec<Odd>,
    /// Whose the lines are, where the schema has a unit.
    persons: Option<Interner>,
}

/// Where something begins and ends.
type Place = (usize, usize);

/// A block of lines while it is read.
struct Cursor<'a> {
    /// The lines with their endings and a few newlines behind them.
    padded: &'a [u8],
    /// Size of the lines.
    size: usize,
    at: usize,
    /// Position of the next quote.
    quote: usize,
}

impl<'a> Cursor<'a> {
    fn new(block: &'a Block) -> Self {
        let text = block.text();
        let quote = memchr::memchr(b'"', text).unwrap_or(text.len());
        Cursor { padded: block.padded(), size: text.len(), at: 0, quote }
    }

    /// Start and end of the next line without its ending, and whether it has a quote.
    fn next_line(&mut self) -> (usize, usize, bool) {
        let start = self.at;
        // The padding has a newline for a last line without one.
        let newline = memchr::memchr(b'\n', &self.padded[start..]).map_or(self.size, |offset| start + offset);
        self.at = newline + 1;
        let quoted = self.quote < newline;
        if quoted {
            let rest = self.padded.get(self.at..self.size).unwrap_or_default();
            self.quote = memchr::memchr(b'"', rest).map_or(self.size, |offset| self.at + offset);
        }
        (start, start + trim_line(&self.padded[start..newline]).len(), quoted)
    }
}

impl<'a> LineEncoder<'a> {
    pub(super) fn new(encoder: &'a Encoder, fields: Fields) -> Self {
        let mut bounds = vec![(0.0, 0.0); encoder.shape().numeric()];
        for role in &encoder.roles {
            if let Role::Numeric { slot, lower, upper, .. } = role {
                bounds[*slot] = (*lower, *upper);
            }
        }
        let values = vec![f64::NAN; bounds.len() * LANES];
        let row = RawRow::empty(encoder.shape());
        let persons = encoder.unit.is_some().then(Interner::default);
        LineEncoder { encoder, fields, row, bounds, values, odd: Vec::new(), persons }
    }

    /// Whose the lines encoded since the last time are, where the schema has a unit.
    pub(super) fn take_persons(&mut self) -> Option<PersonPart> {
        self.persons.as_mut().map(Interner::take)
    }

    /// Encodes the lines of a block into tiles with room for just as many.
    pub(super) fn encode(&mut self, block: &Block, room: &mut TilesMut<'_>) -> LoadReport {
        let mut report = LoadReport::default();
        let mut cursor = Cursor::new(block);
        vectorized(
            #[inline(always)]
            || {
                room.fill(
                    #[inline(always)]
                    |tile| self.encode_tile(&mut cursor, tile, &mut report),
                );
            },
        );
        report
    }

    #[inline(always)]
    fn encode_tile(&mut self, cursor: &mut Cursor<'_>, tile: &mut TileMut<'_>, report: &mut LoadReport) {
        // Lanes whose numbers are in the tile already.
        let mut done = 0;
        let before = report.lines;
        for lane in 0..tile.len {
            let (start, end, quoted) = cursor.next_line();
            let mut slowly = !self.encoder.has_commas || self.encoder.has_exposure();
            let mut record = None;
            if !slowly {
                record = match quoted {
                    true => self.encode_quoted(cursor.padded, (start, end), tile, lane),
                    false => self.encode_plain::<false>(cursor.padded, (start, end), tile, lane),
                };
                // Quotes may stand for something else than the ends of a cell.
                slowly = quoted && record.is_none();
            }
            if slowly {
                done |= 1 << lane;
                self.odd.clear();
                record = self.encode_cells(&cursor.padded[start..end], tile, lane);
            }
            tile.present |= u32::from(record.is_some()) << lane;
            match record {
                Some(positive) if self.odd.is_empty() => report.count(positive),
                Some(positive) if slowly => self.count_slowly(&cursor.padded[start..end], Ok(positive), report),
                Some(positive) => self.note(cursor.padded, positive, report),
                None => self.lose(&cursor.padded[start..end], report),
            }
        }
        self.quantize_tile(tile, done, before, report);
    }

    /// Counts a record that was read in place, and its odd cells.
    #[inline(never)]
    fn note(&mut self, padded: &[u8], positive: Option<bool>, report: &mut LoadReport) {
        report.count(positive);
        for odd in self.odd.drain(..) {
            let cell = &padded[odd.place.0..odd.place.1];
            report.note(self.encoder.report_columns(), odd.column, odd.fault, report.lines, cell);
        }
    }

    #[cold]
    fn count_slowly(&mut self, line: &[u8], outcome: Result<Option<bool>, Loss>, report: &mut LoadReport) {
        self.encoder.count_fields(line, &self.fields, outcome, &self.odd, report);
        self.odd.clear();
    }

    /// Counts a line that is no record, and finds out why.
    #[cold]
    fn lose(&mut self, line: &[u8], report: &mut LoadReport) {
        self.fields.split(line);
        let outcome = self.encoder.encode_fields(&self.fields, &mut self.row, &mut self.odd);
        self.note_person();
        self.count_slowly(line, outcome, report);
    }

    /// Says whose the line is that was split last.
    fn note_person(&mut self) {
        if let Some(persons) = &mut self.persons {
            let number = persons.number(self.encoder.identifier_of(&self.fields));
            persons.push(number);
        }
    }

    /// Puts the numbers of all lanes but those that are done on their grids, a whole column at a time.
    #[inline(always)]
    fn quantize_tile(&self, tile: &mut TileMut<'_>, done: u32, before: u64, report: &mut LoadReport) {
        let columns = tile.numeric.chunks_exact_mut(LANES).zip(self.values.chunks_exact(LANES));
        for (slot, ((column, values), &(lower, upper))) in columns.zip(&self.bounds).enumerate() {
            let (mut grid, mut beyond) = ([0; LANES], false);
            for (q, &value) in grid.iter_mut().zip(values) {
                *q = quantize(value, lower, upper);
                beyond |= (value < lower) | (value > upper);
            }
            if done == 0 {
                column.copy_from_slice(&grid);
            } else {
                (0..LANES).filter(|lane| done & (1 << lane) == 0).for_each(|lane| column[lane] = grid[lane]);
            }
            if beyond {
                note_outside(slot, values, (lower, upper), tile.present & !done, before, report, self.encoder);
            }
        }
    }

    /// The slow way, for lines in which a comma does not always end a cell.
    #[inline(never)]
    fn encode_cells(&mut self, line: &[u8], tile: &mut TileMut<'_>, lane: usize) -> Option<Option<bool>> {
        self.fields.split(line);
        let positive = self.encoder.encode_fields(&self.fields, &mut self.row, &mut self.odd).ok()?;
        self.note_person();
        let at = |column: usize| column * LANES + lane;
        self.row.numeric.iter().enumerate().for_each(|(column, &q)| tile.numeric[at(column)] = q);
        self.row.codes.iter().enumerate().for_each(|(column, &code)| tile.codes[at(column)] = code);
        tile.labels[lane] = self.row.label;
        Some(positive)
    }

    /// A line with quotes: as one without, or `None`.
    #[inline(never)]
    fn encode_quoted(&mut self, text: &[u8], line: Place, tile: &mut TileMut<'_>, lane: usize) -> Option<Option<bool>> {
        self.encode_plain::<true>(text, line, tile, lane)
    }

    /// A line without quotes, or with some: whether its label is the positive one, where there is such a label; `None` where it is no
    /// record, or quotes are not those at both ends of a cell, whatever was written to the lane by then.
    #[inline(always)]
    fn encode_plain<const QUOTED: bool>(
        &mut self,
        padded: &[u8],
        (start, end): Place,
        tile: &mut TileMut<'_>,
        lane: usize,
    ) -> Option<Option<bool>> {
        let mut positive = None;
        let mut identifier = (start, start);
        // A row without a column of weights has one all the same, that of its label.
        let mut weight = Some((1.0, (start, start)));
        let mut at = start;
        for role in &self.encoder.roles {
            // One cell more than there are commas.
            if at > end {
                return None;
            }
            at = 1 + match role {
                Role::Numeric { slot, missing, .. } => {
                    let (value, place, stop) = numeric_cell::<QUOTED>(padded, at, end)?;
                    if value.is_none() {
                        let fault = no_number(&padded[place.0..place.1]);
                        self.odd.push(Odd { column: *slot, fault, place });
                    }
                    self.values[slot * LANES + lane] = value.unwrap_or(f64::NAN);
                    if let Some(place) = missing {
                        tile.codes[place * LANES + lane] = missing_code(value.is_none());
                    }
                    stop
                }
                Role::Categorical { slot, codes, other } => {
                    let (place, stop) = cell::<QUOTED>(padded, at, end)?;
                    let known = codes.find(padded, place.0, place.1);
                    if known.is_none() {
                        let column = self.encoder.shape().numeric() + slot;
                        self.odd.push(Odd { column, fault: no_value(&padded[place.0..place.1]), place });
                    }
                    tile.codes[slot * LANES + lane] = known.unwrap_or(*other);
                    stop
                }
                Role::Skipped => cell::<QUOTED>(padded, at, end)?.1,
                Role::Weight => {
                    let (value, place, stop) = numeric_cell::<QUOTED>(padded, at, end)?;
                    weight = value.map(|value| (value, place));
                    stop
                }
                Role::Identifier => {
                    let (place, stop) = cell::<QUOTED>(padded, at, end)?;
                    identifier = place;
                    stop
                }
                Role::Target => {
                    let (place, stop) = cell::<QUOTED>(padded, at, end)?;
                    let found = self.encoder.reader.find(padded, place.0, place.1);
                    let label = found.or(self.encoder.absent)?;
                    tile.labels[lane] = label;
                    positive = self.encoder.reader.positive(label);
                    let fault = match found {
                        Some(label) => self.encoder.reader.outside(label, &padded[place.0..place.1]),
                        None => Some(self.encoder.reader.fault(&padded[place.0..place.1])),
                    };
                    if let Some(fault) = fault {
                        self.odd.push(Odd { column: self.encoder.target_column(), fault, place });
                    }
                    stop
                }
            };
        }
        if !self.encoder.has_target() {
            tile.labels[lane] = 0;
        }
        if at != end + 1 {
            return None;
        }
        if let Some((_, rule)) = &self.encoder.weight {
            let (value, place) = weight?;
            tile.codes[rule.slot * LANES + lane] = rule.code(value, 1.0, tile.labels[lane])?;
            if value > rule.max {
                let column = self.encoder.shape().numeric() + rule.slot;
                self.odd.push(Odd { column, fault: Fault::Above, place });
            }
        }
        if let Some(persons) = &mut self.persons {
            // A line that turns out to be no record is numbered where that is found out.
            let number = persons.number(&padded[identifier.0..identifier.1])?;
            persons.push(Some(number));
        }
        Some(positive)
    }
}

/// Counts the numbers of one column in one tile that are outside their bounds.
#[inline(never)]
fn note_outside(
    slot: usize,
    values: &[f64],
    (lower, upper): (f64, f64),
    lanes: u32,
    before: u64,
    report: &mut LoadReport,
    encoder: &Encoder,
) {
    for (lane, &value) in values.iter().enumerate().filter(|(lane, _)| lanes & (1 << lane) != 0) {
        if let Some(fault) = outside(value, lower, upper) {
            let line = before + lane as u64 + 1;
            report.note_number(encoder.report_columns(), slot, fault, line, value);
        }
    }
}

/// The number in the cell that begins at `at`, where what it holds stands, and where the cell ends; `None` as for [`cell`].
#[inline(always)]
fn numeric_cell<const QUOTED: bool>(padded: &[u8], at: usize, end: usize) -> Option<(Option<f64>, Place, usize)> {
    if QUOTED && padded[at] == b'"' {
        let (place, stop) = cell::<QUOTED>(padded, at, end)?;
        let plain = enclosed_decimal(padded, place.0, place.1);
        return Some((plain.or_else(|| value(&padded[place.0..place.1])), place, stop));
    }
    Some(match plain_decimal(padded, at) {
        // A newline is a line's end, and behind a carriage return is no number of this form: the cell is on the line.
        Some((value, stop)) => (Some(value), (at, stop), stop),
        None => {
            let stop = cell_end(padded, at, end);
            (value(&padded[at..stop]), (at, stop), stop)
        }
    })
}

/// Where what the cell that begins at `at` holds stands, and where the cell ends.
///
/// `None` in a line with quotes whose cell begins with one that has no other before a comma or the end: doubled quotes, and text behind them,
/// are left to [`Fields`].
#[inline(always)]
fn cell<const QUOTED: bool>(padded: &[u8], at: usize, end: usize) -> Option<(Place, usize)> {
    if !QUOTED || padded[at] != b'"' {
        let stop = cell_end(padded, at, end);
        return Some(((at, stop), stop));
    }
    // Before the end, where no quote is.
    let from = at + 1;
    let close = from + padded.get(from..end)?.iter().position(|&byte| byte == b'"')?;
    let stop = close + 1;
    (stop == end || padded[stop] == b',').then_some(((from, close), stop))
}

/// The next comma, or the end of the line.
#[inline(always)]
fn cell_end(padded: &[u8], at: usize, end: usize) -> usize {
    match near_separator(padded, at) {
        // A carriage return before the newline is not part of the cell.
        Some(stop) => stop.min(end),
        None => memchr::memchr(b',', &padded[at..end]).map_or(end, |offset| at + offset),
    }
}
