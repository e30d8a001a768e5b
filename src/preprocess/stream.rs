//! Encoded rows that stay in a file and are read through from front to back, again and again.
//!
//! One thread reads ahead into a few buffers that are used over and over; whoever asked works on the part read before, with
//! all threads. A part is a few consecutive segments, so that starting threads and preparing tables costs little beside it.

use std::fs::File;
use std::io::BufWriter;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rayon::prelude::*;

use super::footer::foreign;
use super::segments::{Marks, SEGMENT_BYTES, SegmentReader, SegmentWriter};
use super::waves::Waves;
use crate::error::{Error, Fallible};
use crate::grid::Shape;
use crate::kernel::{BulkBuilder, RawRow, Rows, RowsBuilder};

/// Segments of the size asked for that are worked on together.
pub(super) const SEGMENTS_PER_PART: usize = 8;

/// Parts in memory: one is worked on, one waits, one is being filled.
pub(super) const BUFFERS: usize = 3;

/// A 64-bit total of multipliers times values is safe below so many rows.
pub(super) const MAX_ROWS: u64 = 1 << 36;

/// What is written at a time.
pub(super) const WRITE_BYTES: usize = 1 << 18;

/// How much memory rows may take, and how they are cut where they take more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    bytes: u64,
    segment_bytes: usize,
}

impl MemoryLimit {
    /// At most so many bytes for encoded rows and everything that is kept for each of them.
    ///
    /// A hundred megabytes come on top, for buffers and for what does not grow with the number of rows; twice the square
    /// of the number of coefficients times 16 bytes for each thread, where a Gram matrix is larger than that.
    ///
    /// # Errors
    /// When it is less than a megabyte.
    pub fn new(bytes: u64) -> Fallible<Self> {
        if bytes < 1_000_000 {
            return Err(Error::parameter(
                "--memory-limit",
                format!("is {bytes} bytes, must be at least 1MB"),
                "write it with its unit, as in 500MB or 4GB",
            ));
        }
        Ok(MemoryLimit { bytes, segment_bytes: SEGMENT_BYTES })
    }

    /// Nothing at all: whatever their number, rows stay in a file, and their clips are decided anew in each pass.
    pub fn always_streaming(segment_bytes: usize) -> Self {
        MemoryLimit { bytes: 0, segment_bytes }
    }

    /// This limit with segments of about so many bytes, for disks that like other sizes than a mebibyte.
    pub fn in_segments_of(self, segment_bytes: usize) -> Self {
        MemoryLimit { segment_bytes, ..self }
    }

    /// The limit itself.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn segment_bytes(&self) -> usize {
        self.segment_bytes
    }

    /// What of rows may be held while they are brought together by person: copies of it are made on the way to tiles.
    pub(super) fn bytes_to_gather(&self) -> u64 {
        (self.bytes / 8).max(SEGMENTS_PER_PART.saturating_mul(self.segment_bytes) as u64)
    }
}

/// Encoded rows in a file that is held open.
pub struct RowStream {
    reader: SegmentReader,
    /// Where a file of the same rows in another encoding is put.
    folder: PathBuf,
    limit: MemoryLimit,
    /// What the rows are of: the columns of the file, or with waves.
    shape: Shape,
    /// Made of each row whenever it is read: in the file it would be many times as long.
    waves: Option<Waves>,
}

/// A part on its way from the file: the room, and for each segment what stands behind its values.
struct Fetched {
    rows: BulkBuilder,
    segments: Range<usize>,
    marks: Vec<Marks>,
}

impl RowStream {
    /// The rows of a file; `folder` is for a file of the same rows in another encoding.
    ///
    /// # Errors
    /// When there are more rows than sums in 64 bits can hold.
    pub(super) fn new(reader: SegmentReader, folder: &Path, limit: MemoryLimit) -> Fallible<Self> {
        if reader.is_of_persons() {
            return Err(foreign(reader.path(), "it is of persons"));
        }
        if reader.rows() >= MAX_ROWS {
            return Err(Error::input(reader.path(), "has 2^36 rows or more", "train on fewer"));
        }
        let shape = reader.shape().clone();
        Ok(RowStream { reader, folder: folder.to_owned(), limit, shape, waves: None })
    }

    /// The columns.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The integer that stands for 1.0.
    pub fn one(&self) -> i16 {
        if self.waves.is_some() { Waves::ONE } else { self.reader.one() }
    }

    /// Number of rows, null rows included. Private under add-remove.
    pub fn rows(&self) -> u64 {
        self.reader.rows()
    }

    /// Whether the rows would fit the limit if they were read as a whole, each with so many bytes beside its encoding.
    pub fn fits_memory(&self, beside: u64) -> bool {
        let beside = beside.saturating_mul(self.rows());
        Rows::footprint(self.shape(), self.rows()).saturating_add(beside) < self.limit.bytes
    }

    /// Whether two bytes for each row, read and checked once, are better kept than found again in each pass.
    pub fn can_keep_clips(&self) -> bool {
        2 * self.rows() <= self.limit.bytes / 2
    }

    /// All rows as a whole.
    ///
    /// # Errors
    /// When they cannot be read or do not pass their checks.
    pub fn read_all(&self) -> Fallible<Rows> {
        let rows = self.reader.read_all()?;
        Ok(self.waves.as_ref().map(|waves| waves.recode(&rows)).unwrap_or(rows))
    }

    /// Reads everything once and checks it.
    ///
    /// # Errors
    /// When something cannot be read or does not pass its checks.
    pub fn check(&self) -> Fallible<()> {
        self.each_owned(Ok)
    }

    /// Hands the rows to `work` part by part, in their order; the parts are the same every time.
    ///
    /// # Errors
    /// When a part cannot be read, is not what was written, or `work` fails; `work` sees no row of that part then.
    pub fn each_part(&self, mut work: impl FnMut(&Rows) -> Fallible<()>) -> Fallible<()> {
        let bytes = SEGMENTS_PER_PART.saturating_mul(self.limit.segment_bytes);
        self.each_owned(|rows| match &self.waves {
            Some(waves) => waves.each_block(&rows, bytes, &mut work).map(|()| rows),
            None => work(&rows).map(|()| rows),
        })
    }

    /// These rows with waves, which are made of each part while it is in memory; the file stays as it is.
    ///
    /// # Errors
    /// When they have some already.
    pub fn with_waves(self, waves: Waves) -> Fallible<Self> {
        self.check_plain()?;
        Ok(RowStream { shape: waves.shape(), waves: Some(waves), ..self })
    }

    /// Refuses rows with waves: of these the file says less than they are.
    fn check_plain(&self) -> Fallible<()> {
        match self.waves {
            None => Ok(()),
            Some(_) => Err(Error::refused("rows with waves get no other encoding", "re-encode them before")),
        }
    }

    /// These rows in another encoding, in a file without a name.
    ///
    /// # Errors
    /// When something cannot be read or does not pass its checks, and when the file cannot be written.
    pub fn recoded(self, one: i16, recode: impl Fn(Rows) -> Rows) -> Fallible<Self> {
        self.check_plain()?;
        let scratch = Scratch::new(&self.folder)?;
        let out = BufWriter::with_capacity(WRITE_BYTES, &scratch.file);
        let size = self.reader.segment_bytes();
        let mut writer = SegmentWriter::sized(out, &scratch.path, self.shape(), one, size)?;
        self.each_owned(|rows| {
            let recoded = recode(rows);
            writer.append(&recoded).map(|()| recoded)
        })?;
        writer.finish(&())?;
        scratch.into_stream(&self.folder, self.limit)
    }

    /// Writes the rows with other columns to another file; `recode` must make each row of its old self alone.
    ///
    /// # Errors
    /// When something cannot be read or does not pass its checks, and when the file cannot be written.
    pub fn rewritten(self, shape: &Shape, recode: impl Fn(&Rows) -> Rows) -> Fallible<Self> {
        self.check_plain()?;
        let scratch = Scratch::new(&self.folder)?;
        let out = BufWriter::with_capacity(WRITE_BYTES, &scratch.file);
        // Segments of as many rows as before, whatever the limit would make them: a part is whole segments of both files then.
        let size = self.reader.segment_bytes_of(shape);
        let mut writer = SegmentWriter::sized(out, &scratch.path, shape, self.one(), size)?;
        self.each_part(|rows| writer.append(&recode(rows)))?;
        writer.finish(&())?;
        scratch.into_stream(&self.folder, self.limit)
    }

    /// The rows at the chosen positions, which are ascending, and the rest, each in a file without a name and in their order.
    ///
    /// # Errors
    /// When something cannot be read or does not pass its checks, and when a file cannot be written.
    pub fn divided(self, mut chosen: impl Iterator<Item = u64>) -> Fallible<(Self, Self)> {
        self.check_plain()?;
        let [held, rest] = [Scratch::new(&self.folder)?, Scratch::new(&self.folder)?];
        let [mut to_held, mut to_rest] = [self.portion(&held)?, self.portion(&rest)?];
        let (mut next, mut first) = (chosen.next(), 0u64);
        self.each_part(|rows| {
            for row in 0..rows.len() {
                let is_held = next == Some(first + row as u64);
                if is_held {
                    next = chosen.next();
                }
                let portion = if is_held { &mut to_held } else { &mut to_rest };
                portion.push(rows, row)?;
            }
            first += rows.len() as u64;
            Ok(())
        })?;
        to_held.finish()?;
        to_rest.finish()?;
        Ok((held.into_stream(&self.folder, self.limit)?, rest.into_stream(&self.folder, self.limit)?))
    }

    fn portion<'a>(&self, scratch: &'a Scratch) -> Fallible<Portion<'a>> {
        let out = BufWriter::with_capacity(WRITE_BYTES, &scratch.file);
        let (shape, one) = (self.shape(), self.one());
        let writer = SegmentWriter::sized(out, &scratch.path, shape, one, self.reader.segment_bytes())?;
        let row = RawRow::empty(shape);
        let waiting = RowsBuilder::with_one(shape.clone(), one);
        Ok(Portion { writer, waiting, packed: Vec::new(), null: row.clone(), row, one })
    }

    /// Hands out each part as the file has it and takes its memory back.
    fn each_owned(&self, mut work: impl FnMut(Rows) -> Fallible<Rows>) -> Fallible<()> {
        std::thread::scope(|scope| {
            // Made in here, so that both ends are gone, and the thread ends, before the scope waits for it.
            let (give, fetched) = sync_channel(BUFFERS);
            let (give_back, idle) = sync_channel(BUFFERS);
            for _ in 0..BUFFERS {
                // The channel has room for all of them.
                let _ = give_back.send(BulkBuilder::with_one(self.reader.shape().clone(), self.reader.one()));
            }
            std::thread::Builder::new()
                .name("rows".into())
                .spawn_scoped(scope, move || self.read_ahead(&idle, &give))
                .map_err(|e| Error::io(self.reader.path(), "start a thread to read it", e))?;
            for part in fetched {
                let rows = work(self.accept(part?)?)?;
                // Nobody listens once everything is read.
                let _ = give_back.send(BulkBuilder::in_place_of(rows, self.reader.one()));
            }
            Ok(())
        })
    }

    fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        let wanted = SEGMENTS_PER_PART.saturating_mul(self.limit.segment_bytes) / self.reader.segment_bytes().max(1);
        let (size, all) = (wanted.max(1), self.reader.segments());
        (0..all).step_by(size).map(move |first| first..(first + size).min(all))
    }

    /// Fills buffers until the file ends, something fails, or nobody wants them any more.
    fn read_ahead(&self, idle: &Receiver<BulkBuilder>, give: &SyncSender<Fallible<Fetched>>) {
        for segments in self.parts() {
            let Ok(rows) = idle.recv() else { return };
            let fetched = self.fetch(rows, segments);
            let failed = fetched.is_err();
            if give.send(fetched).is_err() || failed {
                return;
            }
        }
    }

    fn fetch(&self, mut rows: BulkBuilder, segments: Range<usize>) -> Fallible<Fetched> {
        let mut rooms = rows.grow(&self.reader.lens(segments.clone()));
        let marks = rooms.iter_mut().zip(segments.clone()).map(|(room, segment)| self.reader.fetch(segment, room));
        let marks = marks.collect::<Fallible<Vec<_>>>()?;
        Ok(Fetched { rows, segments, marks })
    }

    /// Checks a part and measures its rows, in parallel.
    fn accept(&self, part: Fetched) -> Fallible<Rows> {
        let Fetched { mut rows, segments, marks } = part;
        let mut rooms = rows.rooms(&self.reader.lens(segments.clone()));
        let segments = rooms.par_iter_mut().zip(marks).zip(segments);
        segments.try_for_each(|((room, marks), segment)| self.reader.accept(segment, room, &marks))?;
        Ok(rows.build())
    }
}

/// Some of the rows of a stream, on their way to a file of their own.
struct Portion<'a> {
    writer: SegmentWriter<BufWriter<&'a File>>,
    /// Less than a segment.
    waiting: RowsBuilder,
    packed: Vec<u8>,
    row: RawRow,
    null: RawRow,
    one: i16,
}

impl Portion<'_> {
    fn push(&mut self, rows: &Rows, row: usize) -> Fallible<()> {
        self.packed.clear();
        if rows.pack_row(row, &mut self.packed) {
            self.waiting.push_packed(&self.packed, &mut self.row);
        } else {
            self.waiting.push(&self.null);
        }
        if self.waiting.len() < self.writer.rows_per_segment() {
            return Ok(());
        }
        let next = RowsBuilder::with_one(rows.shape().clone(), self.one);
        self.writer.append(&std::mem::replace(&mut self.waiting, next).build())
    }

    fn finish(mut self) -> Fallible<()> {
        self.writer.append(&self.waiting.build())?;
        self.writer.finish(&()).map(drop)
    }
}

/// A file without a name, for its owner: it is gone when it is closed, whatever ends the process.
pub(super) struct Scratch {
    pub file: File,
    /// Stands for it in messages.
    pub path: PathBuf,
}

impl Scratch {
    /// An empty one on the file system of a folder.
    ///
    /// # Errors
    /// When none can be made there.
    pub fn new(folder: &Path) -> Fallible<Self> {
        let path = folder.join("(temporary rows)");
        let made = tempfile::tempfile_in(folder).and_then(|file| for_the_owner(&file).map(|()| file));
        let file = made.map_err(|e| Error::io(folder, "make a temporary file for rows", e))?;
        Ok(Scratch { file, path })
    }

    /// The rows that were written to it.
    ///
    /// # Errors
    /// When they are not a whole file of segments.
    pub fn into_stream(self, folder: &Path, limit: MemoryLimit) -> Fallible<RowStream> {
        RowStream::new(SegmentReader::of(self.file, &self.path)?, folder, limit)
    }
}

/// A file without a name has the mode that the process gives to all its files.
#[cfg(unix)]
fn for_the_owner(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn for_the_owner(_: &File) -> std::io::Result<()> {
    Ok(())
}
