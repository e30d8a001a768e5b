//! A whole file of lines to encoded rows: in memory, or straight on to a file of segments.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;

use rayon::prelude::*;

use super::buckets::Buckets;
use super::columns::TableEncoder;
use super::encode::{Encoder, Progress};
use super::lines::LineEncoder;
use super::person_stream::PersonStream;
use super::persons::{EncodedRows, Numbering, PersonPart};
use super::report::LoadReport;
use super::segments::SegmentWriter;
use super::stream::{MemoryLimit, RowStream, Scratch, WRITE_BYTES};
use crate::data::{Block, CsvFile, Table};
use crate::error::{Error, Fallible};
use crate::grid::FULL_SCALE;
use crate::kernel::{BulkBuilder, LANES, Rows};

/// Encoded rows that are held at a time on their way to a file, unless one block of lines makes more.
const SPOOLED_BYTES: usize = 16 << 20;

/// Numbers that are held at a time of columns that are read one by one, at least a tile of each.
const PIECE_BYTES: usize = if cfg!(test) { 8 << 10 } else { 1 << 20 };

/// Most numbers that are held of them where much is declared.
const MAX_PIECE_BYTES: usize = 32 << 20;

/// Most tiles that are read of columns at a time.
const MAX_PIECE_TILES: usize = (64 << 10) / LANES;

/// Room that may be asked for by what a small file says of its records.
const ROOM_BYTES: u64 = 256 << 20;

/// Records of a file.
#[derive(Clone, Copy)]
enum Piece<'p, 't> {
    Lines(&'p [Block]),
    /// And how many records the file says it has.
    Columns(&'p Table<'t>, u64),
}

impl Encoder {
    /// Encodes every line of the file in parallel; `progress` hears the bytes of the file read so far, and its error ends the load.
    ///
    /// # Errors
    /// When the file cannot be read or changes meanwhile, `progress` fails, or the schema has a unit; no error depends on what stands
    /// in a line.
    pub fn encode(&self, file: &CsvFile, progress: &Progress<'_>) -> Fallible<(Rows, LoadReport)> {
        self.refuse_unit()?;
        let (encoded, report) = self.encode_grouped(file, progress)?;
        Ok((encoded.rows, report))
    }

    /// Encodes every line of the file in parallel, and says whose each row is where the schema has a unit.
    ///
    /// # Errors
    /// When the file cannot be read or changes meanwhile, `progress` fails, or there are 2^32 persons; no other error depends on what
    /// stands in a line.
    pub fn encode_grouped(&self, file: &CsvFile, progress: &Progress<'_>) -> Fallible<(EncodedRows, LoadReport)> {
        let mut load = Load::new(self, file);
        self.pieces(file, false, |piece, done| load.add(&piece, done, progress))?;
        Ok(load.finish())
    }

    /// Refuses what would hand rows on without saying whose they are.
    pub(super) fn refuse_unit(&self) -> Fallible<()> {
        if self.unit.is_none() { Ok(()) } else { Err(ungrouped()) }
    }

    /// Encodes all lines of a file, says whose each row is where the schema has a unit, and gives the digest of the file, see
    /// [`CsvFile::scan_and_digest`].
    ///
    /// # Errors
    /// When the file cannot be read or changes meanwhile, `progress` fails, or there are 2^32 persons; no other error depends on what
    /// stands in a line.
    pub(super) fn encode_and_digest(
        &self,
        file: &CsvFile,
        progress: &Progress<'_>,
    ) -> Fallible<(EncodedRows, LoadReport, u128)> {
        let mut load = Load::new(self, file);
        let digest = self.pieces(file, true, |piece, done| load.add(&piece, done, progress))?;
        let (encoded, report) = load.finish();
        Ok((encoded, report, digest))
    }

    /// Hands all records of a file on in pieces, with the number of bytes read so far: its columns where it has some, else its lines.
    /// Every piece but the last has a multiple of [`LANES`] records. Returns the digest of the file, if asked for.
    fn pieces(
        &self,
        file: &CsvFile,
        digest: bool,
        mut work: impl FnMut(Piece<'_, '_>, u64) -> Fallible<()> + Send,
    ) -> Fallible<u128> {
        let Some(wanted) = self.wanted(file) else {
            let lines = |blocks: &[Block], done| work(Piece::Lines(blocks), done);
            return if digest { file.scan_and_digest(LANES, lines) } else { file.scan(LANES, lines).map(|()| 0) };
        };
        // What is declared is looked at once for every piece.
        let row = size_of::<f64>() * wanted.len().max(1);
        let declared = self.schema.categorical().map(|column| column.values.len()).sum::<usize>();
        let rows = (PIECE_BYTES / row).max(declared.min(MAX_PIECE_BYTES / row));
        let rows = (rows / LANES).clamp(1, MAX_PIECE_TILES) * LANES;
        let found =
            file.scan_columns(&wanted, rows, digest, &mut |table, done, said| work(Piece::Columns(table, said), done))?;
        Ok(found.unwrap_or_default())
    }

    /// The most rows of a person that count.
    pub(super) fn max_rows(&self) -> Fallible<u32> {
        let problem = "is none, and persons were asked for";
        let none = || Error::parameter("unit", problem, "name the column of identifiers in the schema");
        self.unit.map(|(_, max_rows)| max_rows).ok_or_else(none)
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
        progress: &Progress<'_>,
    ) -> Fallible<(RowStream, LoadReport)> {
        self.refuse_unit()?;
        let (scratch, report) = self.spool(file, folder, limit, progress)?;
        Ok((scratch.into_stream(folder, limit)?, report))
    }

    /// Encodes all lines of a file into a temporary file of persons in `folder`, which has no name and is gone when it is closed; the
    /// schema has a unit.
    ///
    /// # Errors
    /// When the data cannot be read, the rows cannot be written, or the schema has no unit.
    pub fn stream_persons(
        &self,
        file: &CsvFile,
        folder: &Path,
        limit: MemoryLimit,
        progress: &Progress<'_>,
    ) -> Fallible<(PersonStream, LoadReport)> {
        self.max_rows()?;
        let (scratch, report) = self.spool(file, folder, limit, progress)?;
        Ok((PersonStream::of(scratch, folder, limit)?, report))
    }

    /// Encodes all lines of a file into a temporary one: rows, or persons where the schema has a unit.
    fn spool(
        &self,
        file: &CsvFile,
        folder: &Path,
        limit: MemoryLimit,
        progress: &Progress<'_>,
    ) -> Fallible<(Scratch, LoadReport)> {
        let scratch = Scratch::new(folder)?;
        let out = BufWriter::with_capacity(WRITE_BYTES, &scratch.file);
        let mut writer = self.segments(out, &scratch.path, limit.segment_bytes())?;
        let (report, _) = self.encode_to(file, folder, limit, &mut writer, progress)?;
        writer.finish(&())?;
        Ok((scratch, report))
    }

    /// Starts a file of what the lines of a file are encoded as.
    pub(super) fn segments<W: Write>(&self, out: W, path: &Path, segment_bytes: usize) -> Fallible<SegmentWriter<W>> {
        let start = if self.unit.is_some() { SegmentWriter::of_persons } else { SegmentWriter::sized };
        start(out, path, self.shape(), FULL_SCALE, segment_bytes)
    }

    /// Encodes all lines of a file and hands rows on to another file, or persons where the schema has a unit, never held as a whole;
    /// gives the digest.
    ///
    /// # Errors
    /// When the file cannot be read or changes meanwhile, `progress` fails, or the rows cannot be written: their number decides whether
    /// a disk is full.
    pub(super) fn encode_to<W: Write + Send>(
        &self,
        file: &CsvFile,
        folder: &Path,
        limit: MemoryLimit,
        writer: &mut SegmentWriter<W>,
        progress: &Progress<'_>,
    ) -> Fallible<(LoadReport, u128)> {
        if self.unit.is_some() {
            return self.encode_persons_to(file, folder, limit, writer, progress);
        }
        let mut load = Load::new(self, file);
        let digest = self.pieces(file, true, |piece, done| load.hand_on(&piece, done, writer, progress))?;
        load.write(writer, 1)?;
        Ok((load.finish().1, digest))
    }

    /// Brings rows of the same person together in temporary files in `folder`, and hands persons on to another file.
    fn encode_persons_to<W: Write>(
        &self,
        file: &CsvFile,
        folder: &Path,
        limit: MemoryLimit,
        writer: &mut SegmentWriter<W>,
        progress: &Progress<'_>,
    ) -> Fallible<(LoadReport, u128)> {
        let mut buckets = Buckets::new(folder, self.shape(), self.max_rows()?, limit.bytes_to_gather())?;
        let mut load = Load::new(self, file);
        let digest = self.pieces(file, true, |piece, done| {
            load.each_batch(&piece, |load, batch| {
                let first = load.rows.tiles() * LANES;
                let mut at = first;
                for (rows, whose) in load.encode(batch)? {
                    whose.map_or(Ok(()), |whose| buckets.put(load.rows.filled(), at, &whose))?;
                    at += rows.next_multiple_of(LANES);
                }
                load.rows.drop_front(load.rows.tiles());
                Ok(())
            })?;
            progress(done)
        })?;
        let report = load.finish().1;
        buckets.finish(|persons, firsts| {
            writer.append_persons(persons, firsts)?;
            // Nothing more to say, and whoever listens may want to end the load.
            progress(file.size())
        })?;
        Ok((report, digest))
    }
}

/// Rows on their way from blocks of lines to tiles.
struct Load<'a> {
    encoder: &'a Encoder,
    file: &'a CsvFile,
    rows: BulkBuilder,
    /// Whose the rows are, where the schema has a unit.
    persons: Option<Numbering>,
    report: LoadReport,
    /// Buffers of earlier blocks.
    workers: Mutex<Vec<LineEncoder<'a>>>,
}

impl<'a> Load<'a> {
    fn new(encoder: &'a Encoder, file: &'a CsvFile) -> Self {
        // Lines are counted from the top of the file while it is read.
        let report = LoadReport { lines: file.first_line() - 1, ..LoadReport::default() };
        let rows = BulkBuilder::new(encoder.shape().clone());
        let persons = encoder.unit.is_some().then(Numbering::default);
        Load { encoder, file, rows, persons, report, workers: Mutex::default() }
    }

    fn add(&mut self, piece: &Piece<'_, '_>, done: u64, progress: &Progress<'_>) -> Fallible<()> {
        if self.report.lines < self.file.first_line() {
            match piece {
                Piece::Lines(blocks) => self.reserve(blocks),
                Piece::Columns(_, said) => {
                    // A file need not say the truth.
                    let most = self.file.size().saturating_mul(4).max(ROOM_BYTES);
                    let columns = self.encoder.shape().numeric() + self.encoder.shape().categorical();
                    let rows = (*said).min(most / (2 * columns as u64 + 10));
                    self.rows.reserve((rows as usize).div_ceil(LANES));
                }
            }
        }
        for (_, whose) in self.encode(piece)? {
            if let Some((persons, whose)) = self.persons.as_mut().zip(whose) {
                persons.append(whose)?;
            }
        }
        progress(done)
    }

    /// Encodes blocks and writes all segments that are full.
    fn hand_on<W: Write>(
        &mut self,
        piece: &Piece<'_, '_>,
        done: u64,
        writer: &mut SegmentWriter<W>,
        progress: &Progress<'_>,
    ) -> Fallible<()> {
        self.each_batch(piece, |load, batch| {
            load.encode(batch)?;
            load.write(writer, writer.rows_per_segment() / LANES)
        })?;
        progress(done)
    }

    /// Hands parts of a piece to `work` whose rows may be held together.
    fn each_batch(
        &mut self,
        piece: &Piece<'_, '_>,
        mut work: impl FnMut(&mut Self, &Piece<'_, '_>) -> Fallible<()>,
    ) -> Fallible<()> {
        let Piece::Lines(mut blocks) = *piece else { return work(self, piece) };
        let row = 2 * (self.encoder.shape().numeric() + self.encoder.shape().categorical() + 1);
        while !blocks.is_empty() {
            // Short lines may stand for long rows.
            let sizes = blocks.iter().scan(0, |sum, block| {
                *sum += block.line_count() * row;
                Some(*sum)
            });
            let now = sizes.take_while(|&bytes| bytes <= SPOOLED_BYTES).count().max(1);
            work(self, &Piece::Lines(&blocks[..now]))?;
            blocks = &blocks[now..];
        }
        Ok(())
    }

    /// Writes as many tiles as are a multiple of `whole`.
    fn write<W: Write>(&mut self, writer: &mut SegmentWriter<W>, whole: usize) -> Fallible<()> {
        let tiles = self.rows.tiles() / whole * whole;
        let rows = self.rows.filled();
        writer.append_tiles(rows, 0..tiles, rows.len().min(tiles * LANES))?;
        self.rows.drop_front(tiles);
        Ok(())
    }

    /// Encodes a piece; how many rows each part of it has, and whose they are, where the schema has a unit.
    fn encode(&mut self, piece: &Piece<'_, '_>) -> Fallible<Vec<(usize, Option<PersonPart>)>> {
        match piece {
            Piece::Lines(blocks) => Ok(self.encode_lines(blocks)),
            Piece::Columns(table, _) => {
                let encoder = TableEncoder::new(&self.encoder.schema, table)?;
                Ok(encoder.append_parts(&mut self.rows, &mut self.report))
            }
        }
    }

    fn encode_lines(&mut self, blocks: &[Block]) -> Vec<(usize, Option<PersonPart>)> {
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
        parts.iter().for_each(|(report, _)| self.report.merge(report));
        lens.into_iter().zip(parts.into_iter().map(|(_, whose)| whose)).collect()
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
        let rows = self.rows.build();
        let encoded = match self.persons {
            None => EncodedRows::alone(rows),
            Some(persons) => persons.encoded(rows),
        };
        (encoded.keeping(self.encoder.absent.is_some()), self.report)
    }
}

/// Rows that would be without their persons.
pub(super) fn ungrouped() -> Error {
    let problem = "asks for rows by person, and these would be without their persons";
    Error::parameter("unit", problem, "use encode_grouped, stream_persons or load_persons, or leave the unit out")
}
