//! A whole file of lines to encoded rows: in memory, or straight on to a file of segments.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;

use rayon::prelude::*;

use super::encode::Encoder;
use super::lines::LineEncoder;
use super::persons::{EncodedRows, PersonPart, Persons};
use super::report::LoadReport;
use super::segments::SegmentWriter;
use super::stream::{MemoryLimit, RowStream, Scratch, WRITE_BYTES};
use crate::data::{Block, CsvFile};
use crate::error::{Error, Fallible};
use crate::grid::FULL_SCALE;
use crate::kernel::{BulkBuilder, LANES, Rows};

/// Encoded rows that are held at a time on their way to a file, unless one block of lines makes more.
const SPOOLED_BYTES: usize = 16 << 20;

impl Encoder {
    /// Encodes every line of the file in parallel; `progress` hears the bytes of the file read so far, and its error ends the load.
    ///
    /// # Errors
    /// When the file cannot be read or changes meanwhile, `progress` fails, or the schema has a unit; no error depends on what stands
    /// in a line.
    pub fn encode(
        &self,
        file: &CsvFile,
        progress: &(dyn Fn(u64) -> Fallible<()> + Sync),
    ) -> Fallible<(Rows, LoadReport)> {
        self.refuse_unit()?;
        let (encoded, report) = self.encode_grouped(file, progress)?;
        Ok((encoded.rows, report))
    }

    /// Encodes every line of the file in parallel, and says whose each row is where the schema has a unit.
    ///
    /// # Errors
    /// When the file cannot be read or changes meanwhile, `progress` fails, or there are 2^32 persons; no other error depends on what
    /// stands in a line.
    pub fn encode_grouped(
        &self,
        file: &CsvFile,
        progress: &(dyn Fn(u64) -> Fallible<()> + Sync),
    ) -> Fallible<(EncodedRows, LoadReport)> {
        let mut load = Load::new(self, file);
        file.scan(LANES, |blocks, done| load.add(blocks, done, progress))?;
        Ok(load.finish())
    }

    /// Refuses what would hand rows on without saying whose they are.
    fn refuse_unit(&self) -> Fallible<()> {
        if self.unit.is_none() { Ok(()) } else { Err(ungrouped()) }
    }

    /// Encodes all lines of a file, and gives the digest of the file, see [`CsvFile::scan_and_digest`].
    ///
    /// # Errors
    /// When the file cannot be read or changes meanwhile, or `progress` fails; no error depends on what stands in a line.
    pub fn encode_and_digest(
        &self,
        file: &CsvFile,
        progress: &(dyn Fn(u64) -> Fallible<()> + Sync),
    ) -> Fallible<(Rows, LoadReport, u128)> {
        self.refuse_unit()?;
        let mut load = Load::new(self, file);
        let digest = file.scan_and_digest(LANES, |blocks, done| load.add(blocks, done, progress))?;
        let (encoded, report) = load.finish();
        Ok((encoded.rows, report, digest))
    }

    /// Encodes all lines of a file into a temporary file in `folder`, which has no name and is gone when it is closed.
    ///
    /// # Errors
    /// When the data cannot be read, or the rows cannot be written: their number decides whether a disk is full.
    pub fn stream(
        &self,
        file: &CsvFile,
        folder: &Path,
        limit: MemoryLimit,
        progress: &(dyn Fn(u64) -> Fallible<()> + Sync),
    ) -> Fallible<(RowStream, LoadReport)> {
        let scratch = Scratch::new(folder)?;
        let out = BufWriter::with_capacity(WRITE_BYTES, &scratch.file);
        let mut writer = SegmentWriter::sized(out, &scratch.path, self.shape(), FULL_SCALE, limit.segment_bytes())?;
        let (report, _) = self.encode_to(file, &mut writer, progress)?;
        writer.finish(&())?;
        Ok((scratch.into_stream(folder, limit)?, report))
    }

    /// Encodes all lines of a file and hands the rows on to another file as they come, never held as a whole; gives the digest.
    ///
    /// # Errors
    /// When the file cannot be read or changes meanwhile, `progress` fails, or the rows cannot be written: their number decides whether
    /// a disk is full.
    pub(super) fn encode_to<W: Write + Send>(
        &self,
        file: &CsvFile,
        writer: &mut SegmentWriter<W>,
        progress: &(dyn Fn(u64) -> Fallible<()> + Sync),
    ) -> Fallible<(LoadReport, u128)> {
        self.refuse_unit()?;
        let mut load = Load::new(self, file);
        let digest = file.scan_and_digest(LANES, |blocks, done| load.hand_on(blocks, done, writer, progress))?;
        load.write(writer, 1)?;
        Ok((load.finish().1, digest))
    }
}

/// Rows on their way from blocks of lines to tiles.
struct Load<'a> {
    encoder: &'a Encoder,
    file: &'a CsvFile,
    rows: BulkBuilder,
    /// Whose the rows are, where the schema has a unit.
    persons: Option<Persons>,
    report: LoadReport,
    /// Buffers of earlier blocks.
    workers: Mutex<Vec<LineEncoder<'a>>>,
}

impl<'a> Load<'a> {
    fn new(encoder: &'a Encoder, file: &'a CsvFile) -> Self {
        // Lines are counted from the top of the file while it is read.
        let report = LoadReport { lines: file.first_line() - 1, ..LoadReport::default() };
        let rows = BulkBuilder::new(encoder.shape().clone());
        let persons = encoder.unit.is_some().then(Persons::default);
        Load { encoder, file, rows, persons, report, workers: Mutex::default() }
    }

    fn add(&mut self, blocks: &[Block], done: u64, progress: &(dyn Fn(u64) -> Fallible<()> + Sync)) -> Fallible<()> {
        if self.report.lines < self.file.first_line() {
            self.reserve(blocks);
        }
        self.encode(blocks)?;
        progress(done)
    }

    /// Encodes blocks and writes all segments that are full.
    fn hand_on<W: Write>(
        &mut self,
        mut blocks: &[Block],
        done: u64,
        writer: &mut SegmentWriter<W>,
        progress: &(dyn Fn(u64) -> Fallible<()> + Sync),
    ) -> Fallible<()> {
        let row = 2 * (self.encoder.shape().numeric() + self.encoder.shape().categorical() + 1);
        while !blocks.is_empty() {
            // Short lines may stand for long rows.
            let sizes = blocks.iter().scan(0, |sum, block| {
                *sum += block.line_count() * row;
                Some(*sum)
            });
            let now = sizes.take_while(|&bytes| bytes <= SPOOLED_BYTES).count().max(1);
            self.encode(&blocks[..now])?;
            self.write(writer, writer.rows_per_segment() / LANES)?;
            blocks = &blocks[now..];
        }
        progress(done)
    }

    /// Writes as many tiles as are a multiple of `whole`.
    fn write<W: Write>(&mut self, writer: &mut SegmentWriter<W>, whole: usize) -> Fallible<()> {
        let tiles = self.rows.tiles() / whole * whole;
        let rows = self.rows.filled();
        writer.append_tiles(rows, 0..tiles, rows.len().min(tiles * LANES))?;
        self.rows.drop_front(tiles);
        Ok(())
    }

    fn encode(&mut self, blocks: &[Block]) -> Fallible<()> {
        let lens: Vec<usize> = blocks.iter().map(Block::line_count).collect();
        let mut rooms = self.rows.grow(&lens);
        let parts: Vec<(LoadReport, Option<PersonPart>)> = rooms
            .par_iter_mut()
            .zip(blocks)
            .map(|(room, block)| {
                let idle = self.workers.lock().ok().and_then(|mut idle| idle.pop());
                let mut worker = idle.unwrap_or_else(|| LineEncoder::new(self.encoder, self.file.fields()));
                let part = (worker.encode(block, room), worker.take_persons());
                if let Ok(mut idle) = self.workers.lock() {
                    idle.push(worker);
                }
                part
            })
            .collect();
        for (report, part) in parts {
            self.report.merge(&report);
            if let Some((persons, part)) = self.persons.as_mut().zip(part) {
                persons.append(part)?;
            }
        }
        Ok(())
    }

    /// Room for the rows of the whole file if its lines are as long as the first ones; a guess, made good by growing.
    fn reserve(&mut self, blocks: &[Block]) {
        let lines: usize = blocks.iter().map(Block::line_count).sum();
        let bytes: usize = blocks.iter().map(Block::bytes).sum();
        if let Some(size) = self.file.text_size() {
            let expected = (size as f64 / bytes.max(1) as f64 * lines as f64 * 1.02) as usize;
            // Records have a byte for every column at least: empty lines at the top must not ask for endless room.
            let most = size as usize / self.encoder.roles.len().max(1);
            self.rows.reserve(expected.min(most).div_ceil(LANES) + 1);
        }
    }

    fn finish(mut self) -> (EncodedRows, LoadReport) {
        self.report.lines -= self.file.first_line() - 1;
        (EncodedRows { rows: self.rows.build(), persons: self.persons.map(Persons::finish) }, self.report)
    }
}

/// Rows that would be without their persons.
pub(super) fn ungrouped() -> Error {
    let problem = "asks for rows that are brought together by person, which is done in memory alone";
    Error::parameter("unit", problem, "leave out --cache and --memory-limit, and train on one machine")
}
