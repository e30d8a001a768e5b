//! Encoded rows in a file: segments of whole tiles that can be read one by one, in any order.
//!
//! ```text
//! start    64 bytes: format, byte order
//! segment  numeric values, codes, labels as they lie in memory, then for each tile the lanes that are records
//! ...
//! footer   JSON: columns, unit, rows, tiles per segment, a checksum for each segment, a note of the writer
//! end      size and checksum of the footer, format
//! ```
//!
//! All segments but the last have the same size. A file is used only if its size, footer and checksums fit; norms are
//! computed from the values when they are read, so no file can make a row contribute more than it may.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::footer::{Footer, START_BYTES, end, foreign, read_footer, start};
use super::positional::ReadAt;
use crate::error::{Error, Fallible};
use crate::grid::{FULL_SCALE, Shape};
use crate::kernel::{BulkBuilder, LANES, Rows, TilesMut};

/// Size that segments are brought near to: large enough to stream, small enough to stay in a cache.
pub(super) const SEGMENT_BYTES: usize = 1 << 20;

/// Bytes of one tile in a file.
fn tile_bytes(shape: &Shape) -> usize {
    2 * LANES * (shape.numeric() + shape.categorical() + 1) + size_of::<u32>()
}

fn levels(shape: &Shape) -> Vec<u16> {
    (0..shape.categorical()).map(|column| shape.levels(column) as u16).collect()
}

/// Writes encoded rows segment by segment.
pub struct SegmentWriter<W> {
    out: W,
    path: PathBuf,
    shape: Shape,
    footer: Footer,
    /// Whether the last segment written was shorter than the others.
    short: bool,
}

impl<W: Write> SegmentWriter<W> {
    /// Starts a file of rows as an encoder makes them; `path` is used in messages only.
    ///
    /// # Errors
    /// When nothing can be written.
    pub fn new(out: W, path: &Path, shape: &Shape) -> Fallible<Self> {
        Self::sized(out, path, shape, FULL_SCALE, SEGMENT_BYTES)
    }

    /// A writer of rows in which 1.0 stands as `unit`, in segments of about so many bytes.
    ///
    /// # Errors
    /// When nothing can be written.
    pub(super) fn sized(out: W, path: &Path, shape: &Shape, unit: i16, segment_bytes: usize) -> Fallible<Self> {
        let footer = Footer {
            numeric: shape.numeric(),
            levels: levels(shape),
            unit,
            rows: 0,
            tiles_per_segment: (segment_bytes / tile_bytes(shape)).max(1),
            checksums: Vec::new(),
            note: serde_json::Value::Null,
        };
        let mut writer = SegmentWriter { out, path: path.to_owned(), shape: shape.clone(), footer, short: false };
        writer.write(&start())?;
        Ok(writer)
    }

    /// Rows of a full segment.
    pub fn rows_per_segment(&self) -> usize {
        self.footer.tiles_per_segment * LANES
    }

    /// Appends rows as they come from an encoder, cut into segments.
    ///
    /// # Errors
    /// When they have other columns or another unit, when rows appended before did not fill their last segment, or
    /// when they cannot be written.
    pub fn append(&mut self, rows: &Rows) -> Fallible<()> {
        self.append_tiles(rows, 0..rows.tile_count(), rows.len())
    }

    /// Appends some tiles of rows, which hold `len` rows.
    ///
    /// # Errors
    /// When they have other columns or another unit, when rows appended before did not fill their last segment, or when they cannot be
    /// written.
    pub(super) fn append_tiles(&mut self, rows: &Rows, tiles: Range<usize>, len: usize) -> Fallible<()> {
        let problem = if *rows.shape() != self.shape || rows.unit() != self.footer.unit {
            Some("rows of another encoding cannot be appended")
        } else if self.short && !tiles.is_empty() {
            Some("only the last segment may be short")
        } else {
            None
        };
        if let Some(problem) = problem {
            return Err(Error::input(&self.path, problem, "append whole segments of one data set"));
        }
        for first in tiles.clone().step_by(self.footer.tiles_per_segment) {
            let bytes = rows.tile_bytes(first..(first + self.footer.tiles_per_segment).min(tiles.end));
            let present: &[u8] = bytemuck::cast_slice(&bytes.present);
            let parts = [bytes.parts[0], bytes.parts[1], bytes.parts[2], present];
            self.footer.checksums.push(checksum(parts));
            parts.into_iter().try_for_each(|part| self.write(part))?;
        }
        self.footer.rows += len as u64;
        self.short = !self.footer.rows.is_multiple_of(self.rows_per_segment() as u64);
        Ok(())
    }

    /// Writes the footer with a note of the writer's own, and gives the output back.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self, note: &impl Serialize) -> Fallible<W> {
        let failed = |e: serde_json::Error| Error::numerical("row file", e.to_string());
        self.footer.note = serde_json::to_value(note).map_err(failed)?;
        let footer = serde_json::to_vec(&self.footer).map_err(failed)?;
        self.write(&footer)?;
        self.write(&end(&footer))?;
        self.out.flush().map_err(|e| Error::io(&self.path, "write it", e))?;
        Ok(self.out)
    }

    fn write(&mut self, bytes: &[u8]) -> Fallible<()> {
        self.out.write_all(bytes).map_err(|e| Error::io(&self.path, "write it", e))
    }
}

/// Chained over the parts, so that no two can change places.
fn checksum<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    parts.into_iter().fold(0, |seed, part| xxh3_64_with_seed(part, seed))
}

/// Reads encoded rows, all of them or segment by segment.
pub struct SegmentReader<S = File> {
    source: S,
    path: PathBuf,
    shape: Shape,
    footer: Footer,
}

impl SegmentReader {
    /// Opens a file and checks its format, footer and size; segments are checked as they are read.
    ///
    /// # Errors
    /// When it cannot be read, or is not a whole file of this format from a machine of this byte order.
    pub fn open(path: &Path) -> Fallible<Self> {
        Self::of(File::open(path).map_err(|e| Error::io(path, "read the rows", e))?, path)
    }

    /// Reads the footer of a file that is open already; `path` is used in messages only.
    ///
    /// # Errors
    /// When it cannot be read, or is not a whole file of this format from a machine of this byte order.
    pub(super) fn of(file: File, path: &Path) -> Fallible<Self> {
        let size = file.metadata().map_err(|e| Error::io(path, "read the rows", e))?.len();
        Self::sized(file, path, size)
    }
}

impl<'a> SegmentReader<&'a [u8]> {
    /// Reads the footer of what such a file holds; `name` is used in messages only.
    ///
    /// # Errors
    /// When it cannot be read, or is not a whole file of this format from a machine of this byte order.
    pub fn of_bytes(bytes: &'a [u8], name: &str) -> Fallible<Self> {
        Self::sized(bytes, Path::new(name), bytes.len() as u64)
    }
}

impl<S: ReadAt> SegmentReader<S> {
    fn sized(source: S, path: &Path, size: u64) -> Fallible<Self> {
        let footer = read_footer(&source, path, size)?;
        let shape = Shape::new(footer.numeric, &footer.levels);
        Ok(SegmentReader { source, path: path.to_owned(), shape, footer })
    }

    /// The file, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The columns.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The integer that stands for 1.0.
    pub fn unit(&self) -> i16 {
        self.footer.unit
    }

    /// Number of rows, null rows included. Private under add-remove.
    pub fn rows(&self) -> u64 {
        self.footer.rows
    }

    /// What tells these rows from others: their number and the checksums of their values.
    pub fn digest(&self) -> u64 {
        let sums: &[u8] = bytemuck::cast_slice(&self.footer.checksums);
        xxh3_64_with_seed(sums, self.footer.rows)
    }

    /// Number of segments.
    pub fn segments(&self) -> usize {
        self.footer.checksums.len()
    }

    /// Size of a full segment.
    pub(super) fn segment_bytes(&self) -> usize {
        self.footer.tiles_per_segment * tile_bytes(&self.shape)
    }

    /// The writer's note.
    ///
    /// # Errors
    /// When it is not of this type.
    pub fn note<T: DeserializeOwned>(&self) -> Fallible<T> {
        T::deserialize(&self.footer.note).map_err(|_| foreign(&self.path, "its note cannot be read"))
    }

    /// The rows of one segment.
    ///
    /// # Errors
    /// When there is no such segment, it cannot be read, or its checksum does not fit.
    pub fn read(&self, segment: usize) -> Fallible<Rows> {
        self.read_segments(segment..segment + 1)
    }

    /// All rows, read in parallel.
    ///
    /// # Errors
    /// When the file cannot be read, or a segment does not fit its checksum.
    pub fn read_all(&self) -> Fallible<Rows> {
        self.read_segments(0..self.segments())
    }

    fn read_segments(&self, segments: Range<usize>) -> Fallible<Rows> {
        let mut rows = BulkBuilder::with_unit(self.shape.clone(), self.footer.unit);
        let lens = self.lens(segments.clone());
        rows.reserve(lens.iter().map(|len| len.div_ceil(LANES)).sum());
        rows.grow(&lens).par_iter_mut().zip(segments).try_for_each(|(room, segment)| {
            let present = self.fetch(segment, room)?;
            self.accept(segment, room, &present)
        })?;
        Ok(rows.build())
    }

    /// Rows of each of some segments; none behind the last.
    pub(super) fn lens(&self, segments: Range<usize>) -> Vec<usize> {
        let full = (self.footer.tiles_per_segment * LANES) as u64;
        let len = |segment: usize| self.footer.rows.saturating_sub(segment as u64 * full).min(full) as usize;
        segments.map(len).collect()
    }

    /// Copies the bytes of a segment from the file, unchecked; for each tile the lanes that are records.
    ///
    /// Until [`SegmentReader::accept`] has checked them the room holds null rows.
    pub(super) fn fetch(&self, segment: usize, room: &mut TilesMut<'_>) -> Fallible<Vec<u32>> {
        let mut at = START_BYTES as u64 + segment as u64 * self.segment_bytes() as u64;
        let [numeric, codes, labels] = room.bytes_mut();
        let mut present = vec![0u32; labels.len() / (size_of::<i16>() * LANES)];
        for part in [numeric, codes, labels, bytemuck::cast_slice_mut(&mut present)] {
            self.source.fill(part, at).map_err(|e| Error::io(&self.path, "read the rows", e))?;
            at += part.len() as u64;
        }
        Ok(present)
    }

    /// Checks what was fetched and measures its rows.
    pub(super) fn accept(&self, segment: usize, room: &mut TilesMut<'_>, present: &[u32]) -> Fallible<()> {
        let Some(&expected) = self.footer.checksums.get(segment) else {
            return Err(foreign(&self.path, "there is no such segment"));
        };
        let [numeric, codes, labels] = room.bytes_mut();
        if checksum([&*numeric, &*codes, &*labels, bytemuck::cast_slice(present)]) != expected {
            return Err(foreign(&self.path, "a checksum does not fit"));
        }
        room.seal(present);
        Ok(())
    }
}
