//! Lines straight into tiles, cell after cell, without a list of cells or lines.

use super::encode::{Encoder, Role};
use super::quantise::quantise;
use super::report::{LoadReport, Tally};
use crate::data::{Block, Fields, near_separator, plain_decimal, trim_line, value};
use crate::kernel::{LANES, RawRow, TileMut, TilesMut};

/// An encoder with the buffers that lines with quotes need.
pub(super) struct LineEncoder<'a> {
    encoder: &'a Encoder,
    fields: Fields,
    row: RawRow,
    /// Bounds of the numeric features.
    bounds: Vec<(f64, f64)>,
    /// Their values in one tile; NaN where there is none.
    values: Vec<f64>,
}

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
            if let Role::Numeric { slot, lower, upper } = role {
                bounds[*slot] = (*lower, *upper);
            }
        }
        let values = vec![f64::NAN; bounds.len() * LANES];
        LineEncoder { encoder, fields, row: RawRow::empty(encoder.shape()), bounds, values }
    }

    /// Encodes the lines of a block into tiles with room for just as many.
    pub(super) fn encode(&mut self, block: &Block, room: &mut TilesMut<'_>) -> LoadReport {
        let mut report = LoadReport::default();
        let mut cursor = Cursor::new(block);
        // Compiled for several instruction sets; all of them give the same bits.
        pulp::Arch::new().dispatch(
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
        for lane in 0..tile.len {
            let (start, end, quoted) = cursor.next_line();
            let record = if quoted || !self.encoder.has_commas {
                done |= 1 << lane;
                self.encode_cells(&cursor.padded[start..end], tile, lane)
            } else {
                self.encode_plain(cursor.padded, start, end, tile, lane)
            };
            tile.present |= u32::from(record.is_some()) << lane;
            report.count(record);
        }
        self.quantise_tile(tile, done);
    }

    /// Puts the numbers of all lanes but those that are done on their grids, a whole column at a time.
    #[inline(always)]
    fn quantise_tile(&self, tile: &mut TileMut<'_>, done: u32) {
        let columns = tile.numeric.chunks_exact_mut(LANES).zip(self.values.chunks_exact(LANES));
        for ((column, values), &(lower, upper)) in columns.zip(&self.bounds) {
            let mut grid = [0; LANES];
            grid.iter_mut().zip(values).for_each(|(q, &value)| *q = quantise(value, lower, upper));
            if done == 0 {
                column.copy_from_slice(&grid);
            } else {
                (0..LANES).filter(|lane| done & (1 << lane) == 0).for_each(|lane| column[lane] = grid[lane]);
            }
        }
    }

    /// The slow way, for lines in which a comma does not always end a cell.
    #[inline(never)]
    fn encode_cells(&mut self, line: &[u8], tile: &mut TileMut<'_>, lane: usize) -> Option<Tally> {
        self.fields.split(line);
        let tally = self.encoder.encode_fields(&self.fields, &mut self.row)?;
        let at = |column: usize| column * LANES + lane;
        self.row.numeric.iter().enumerate().for_each(|(column, &q)| tile.numeric[at(column)] = q);
        self.row.codes.iter().enumerate().for_each(|(column, &code)| tile.codes[at(column)] = code);
        tile.labels[lane] = self.row.label;
        Some(tally)
    }

    /// A line without quotes; `None` where it is no record, whatever was written to the lane by then.
    #[inline(always)]
    fn encode_plain(
        &mut self,
        padded: &[u8],
        start: usize,
        end: usize,
        tile: &mut TileMut<'_>,
        lane: usize,
    ) -> Option<Tally> {
        let mut tally = Tally::default();
        let mut at = start;
        for role in &self.encoder.roles {
            // One cell more than there are commas.
            if at > end {
                return None;
            }
            at = 1 + match role {
                Role::Numeric { slot, .. } => {
                    let (value, stop) = numeric_cell(padded, at, end);
                    tally.missing += u64::from(value.is_none());
                    self.values[slot * LANES + lane] = value.unwrap_or(f64::NAN);
                    stop
                }
                Role::Categorical { slot, codes, other } => {
                    let stop = cell_end(padded, at, end);
                    let known = codes.find(padded, at, stop);
                    tally.undeclared += u64::from(known.is_none());
                    tile.codes[slot * LANES + lane] = known.unwrap_or(*other);
                    stop
                }
                Role::Skipped => cell_end(padded, at, end),
                Role::Target => {
                    let stop = cell_end(padded, at, end);
                    let label = self.encoder.reader.find(padded, at, stop)?;
                    tile.labels[lane] = label;
                    tally.positive = self.encoder.reader.positive(label);
                    stop
                }
            };
        }
        if !self.encoder.has_target() {
            tile.labels[lane] = 0;
        }
        (at == end + 1).then_some(tally)
    }
}

/// The number in the cell that begins at `at`, and where the cell ends.
#[inline(always)]
fn numeric_cell(padded: &[u8], at: usize, end: usize) -> (Option<f64>, usize) {
    match plain_decimal(padded, at) {
        // A newline is a line's end, and behind a carriage return is no number of this form: the cell is on the line.
        Some((value, stop)) => (Some(value), stop),
        None => {
            let stop = cell_end(padded, at, end);
            (value(&padded[at..stop]), stop)
        }
    }
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
