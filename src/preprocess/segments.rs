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
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::positional::read_at;
use crate::error::{Error, Fallible};
use crate::kernel::{BulkBuilder, FULL_SCALE, LANES, Rows, Shape, TilesMut};

/// Format and version; other versions are not read.
pub(super) const FORMAT: [u8; 16] = *b"rhograd-rows/1\n\0";

/// What the numbers of a segment look like on the machine that wrote them.
const BYTE_ORDER: u32 = 0x0102_0304;

const START_BYTES: usize = 64;
const END_BYTES: usize = 32;

/// Size that segments are brought near to: large enough to stream, small enough to stay in a cache.
const SEGMENT_BYTES: usize = 1 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Footer {
    numeric: usize,
    levels: Vec<u16>,
    unit: i16,
    rows: u64,
    tiles_per_segment: usize,
    checksums: Vec<u64>,
    note: serde_json::Value,
}

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
    /// Starts a file; `path` is used in messages only.
    ///
    /// # Errors
    /// When nothing can be written.
    pub fn new(out: W, path: &Path, shape: &Shape) -> Fallible<Self> {
        let footer = Footer {
            numeric: shape.numeric(),
            levels: levels(shape),
            unit: FULL_SCALE,
            rows: 0,
            tiles_per_segment: (SEGMENT_BYTES / tile_bytes(shape)).max(1),
            checksums: Vec::new(),
            note: serde_json::Value::Null,
        };
        let mut writer = SegmentWriter { out, path: path.to_owned(), shape: shape.clone(), footer, short: false };
        let mut start = [0; START_BYTES];
        start[..16].copy_from_slice(&FORMAT);
        start[16..20].copy_from_slice(&BYTE_ORDER.to_ne_bytes());
        writer.write(&start)?;
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
        let problem = if *rows.shape() != self.shape || rows.unit() != self.footer.unit {
            Some("rows of another encoding cannot be appended")
        } else if self.short && !rows.is_empty() {
            Some("only the last segment may be short")
        } else {
            None
        };
        if let Some(problem) = problem {
            return Err(Error::input(&self.path, problem, "append whole segments of one data set"));
        }
        let step = self.footer.tiles_per_segment;
        for first in (0..rows.tile_count()).step_by(step) {
            let bytes = rows.tile_bytes(first..(first + step).min(rows.tile_count()));
            let present: &[u8] = bytemuck::cast_slice(&bytes.present);
            let parts = [bytes.parts[0], bytes.parts[1], bytes.parts[2], present];
            self.footer.checksums.push(checksum(parts));
            parts.into_iter().try_for_each(|part| self.write(part))?;
        }
        self.footer.rows += rows.len() as u64;
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
        self.write(&(footer.len() as u64).to_le_bytes())?;
        self.write(&xxh3_64(&footer).to_le_bytes())?;
        self.write(&FORMAT)?;
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
pub struct SegmentReader {
    file: File,
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
        let file = File::open(path).map_err(|e| Error::io(path, "read the rows", e))?;
        let size = file.metadata().map_err(|e| Error::io(path, "read the rows", e))?.len();
        let footer = read_footer(&file, path, size)?;
        let shape = Shape::new(footer.numeric, &footer.levels);
        Ok(SegmentReader { file, path: path.to_owned(), shape, footer })
    }

    /// The columns.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Number of rows, null rows included. Private under add-remove.
    pub fn rows(&self) -> u64 {
        self.footer.rows
    }

    /// Number of segments.
    pub fn segments(&self) -> usize {
        self.footer.checksums.len()
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
        let mut rows = BulkBuilder::new(self.shape.clone());
        let len = self.len(segment);
        rows.reserve(len.div_ceil(LANES));
        rows.grow(&[len]).iter_mut().try_for_each(|room| self.load(segment, room))?;
        Ok(rows.build())
    }

    /// All rows, read in parallel.
    ///
    /// # Errors
    /// As [`SegmentReader::read`].
    pub fn read_all(&self) -> Fallible<Rows> {
        let mut rows = BulkBuilder::new(self.shape.clone());
        let lens: Vec<usize> = (0..self.segments()).map(|segment| self.len(segment)).collect();
        rows.reserve(lens.iter().map(|len| len.div_ceil(LANES)).sum());
        let mut rooms = rows.grow(&lens);
        rooms.par_iter_mut().enumerate().try_for_each(|(segment, room)| self.load(segment, room))?;
        Ok(rows.build())
    }

    /// Rows of a segment; none behind the last.
    fn len(&self, segment: usize) -> usize {
        let full = (self.footer.tiles_per_segment * LANES) as u64;
        self.footer.rows.saturating_sub(segment as u64 * full).min(full) as usize
    }

    fn load(&self, segment: usize, room: &mut TilesMut<'_>) -> Fallible<()> {
        let Some(&expected) = self.footer.checksums.get(segment) else {
            return Err(foreign(&self.path, "there is no such segment"));
        };
        let mut present = vec![0u32; self.len(segment).div_ceil(LANES)];
        let mut at = START_BYTES as u64 + (segment * self.footer.tiles_per_segment * tile_bytes(&self.shape)) as u64;
        let [numeric, codes, labels] = room.bytes_mut();
        let mut found = 0;
        for part in [numeric, codes, labels, bytemuck::cast_slice_mut(&mut present)] {
            read_at(&self.file, part, at).map_err(|e| Error::io(&self.path, "read the rows", e))?;
            found = xxh3_64_with_seed(part, found);
            at += part.len() as u64;
        }
        // Room that is not sealed holds null rows.
        if found != expected {
            return Err(foreign(&self.path, "a checksum does not fit"));
        }
        room.seal(&present);
        Ok(())
    }
}

fn foreign(path: &Path, problem: &str) -> Error {
    Error::input(path, format!("cannot be used: {problem}"), "delete it")
}

/// Reads the footer and checks everything that can be checked without the segments.
fn read_footer(file: &File, path: &Path, size: u64) -> Fallible<Footer> {
    let read = |buffer: &mut [u8], at| read_at(file, buffer, at).map_err(|e| Error::io(path, "read the rows", e));
    let least = (START_BYTES + END_BYTES) as u64;
    if size < least {
        return Err(foreign(path, "it is cut off"));
    }
    let (mut start, mut end) = ([0; START_BYTES], [0; END_BYTES]);
    read(&mut start, 0)?;
    read(&mut end, size - END_BYTES as u64)?;
    if start[..16] != FORMAT {
        return Err(foreign(path, "it has another format or version"));
    }
    if start[16..20] != BYTE_ORDER.to_ne_bytes() || start[20..].iter().any(|&byte| byte != 0) {
        return Err(foreign(path, "it was written on another kind of machine"));
    }
    if end[16..] != FORMAT {
        return Err(foreign(path, "it is cut off"));
    }
    let word = |at: usize| end[at..at + 8].iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte));
    let (length, expected) = (word(0), word(8));
    if length > size - least {
        return Err(foreign(path, "it is cut off"));
    }
    let mut text = vec![0; length as usize];
    read(&mut text, size - END_BYTES as u64 - length)?;
    if xxh3_64(&text) != expected {
        return Err(foreign(path, "a checksum does not fit"));
    }
    let footer: Footer = serde_json::from_slice(&text).map_err(|_| foreign(path, "its footer cannot be read"))?;
    let fits = expected_size(&footer).and_then(|bytes| bytes.checked_add(least)?.checked_add(length));
    if fits != Some(size) || footer.unit != FULL_SCALE {
        return Err(foreign(path, "its size does not fit its footer"));
    }
    Ok(footer)
}

/// Bytes of all segments; `None` where the numbers of a footer do not fit each other.
fn expected_size(footer: &Footer) -> Option<u64> {
    let tiles = footer.rows.div_ceil(LANES as u64);
    let per_segment = u64::try_from(footer.tiles_per_segment).ok().filter(|&tiles| tiles > 0)?;
    if footer.checksums.len() as u64 != tiles.div_ceil(per_segment) {
        return None;
    }
    let columns = (footer.numeric as u64).checked_add(footer.levels.len() as u64)?.checked_add(1)?;
    let tile = columns.checked_mul(2 * LANES as u64)?.checked_add(size_of::<u32>() as u64)?;
    // No segment may be larger than memory can address either.
    usize::try_from(per_segment.checked_mul(tile)?).ok()?;
    tiles.checked_mul(tile)
}
