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
//! All segments but the last have the same size. In a file of persons each segment holds persons with the same number of rows, in the
//! order of [`Persons`], and behind the lanes the number of each person's first row; segments have the sizes that they need. A file is used only if its size, footer and checksums fit; norms are
//! computed from the values when they are read, so no file can make a row contribute more than it may.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::footer::{Footer, START_BYTES, end, foreign, read_footer, start};
use crate::data::ReadAt;
use crate::error::{Error, Fallible};
use crate::grid::{FULL_SCALE, Shape};
use crate::kernel::{BulkBuilder, LANES, NOBODY, Persons, Rows, RowsBuilder, TilesMut, person_lanes, person_tiles};

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

    /// A writer of rows in which 1.0 stands as `one`, in segments of about so many bytes.
    ///
    /// # Errors
    /// When nothing can be written.
    pub(super) fn sized(out: W, path: &Path, shape: &Shape, one: i16, segment_bytes: usize) -> Fallible<Self> {
        let footer = Footer {
            numeric: shape.numeric(),
            levels: levels(shape),
            one,
            rows: 0,
            tiles_per_segment: (segment_bytes / tile_bytes(shape)).max(1),
            checksums: Vec::new(),
            persons: None,
            note: serde_json::Value::Null,
        };
        let mut writer = SegmentWriter { out, path: path.to_owned(), shape: shape.clone(), footer, short: false };
        writer.write(&start())?;
        Ok(writer)
    }

    /// A writer of persons, in segments of about so many bytes.
    ///
    /// # Errors
    /// When nothing can be written.
    pub(crate) fn of_persons(out: W, path: &Path, shape: &Shape, one: i16, segment_bytes: usize) -> Fallible<Self> {
        let mut writer = Self::sized(out, path, shape, one, segment_bytes)?;
        writer.footer.persons = Some(Vec::new());
        Ok(writer)
    }

    /// Appends persons; `firsts` has the number of each one's first row, by which all persons of a file can be put in order.
    ///
    /// # Errors
    /// When they have other columns or another integer for 1.0, the file is of rows, or they cannot be written.
    pub(crate) fn append_persons(&mut self, persons: &Persons, firsts: &[u64]) -> Fallible<()> {
        self.check_columns(persons.shape(), persons.one(), true)?;
        let most = self.footer.tiles_per_segment * tile_bytes(&self.shape);
        persons.cut(most, |each, members, rows| {
            if members.is_empty() {
                return Ok(());
            }
            let bytes = rows.tile_bytes(0..rows.tile_count());
            // Whoever gave them gave one for each person.
            let first_of = |&person: &u32| firsts.get(person as usize).copied().unwrap_or(u64::MAX);
            let firsts: Vec<u64> = members.iter().map(first_of).collect();
            self.write_segment(&bytes.parts, &bytes.present, &firsts)?;
            self.footer.rows += members.len() as u64;
            if let Some(segments) = &mut self.footer.persons {
                segments.push((each as u32, members.len() as u32));
            }
            Ok(())
        })
    }

    /// Refuses rows or persons that are not what the file is of.
    fn check_columns(&self, shape: &Shape, one: i16, persons: bool) -> Fallible<()> {
        let problem = if *shape != self.shape || one != self.footer.one {
            "rows of another encoding cannot be appended"
        } else if self.footer.persons.is_some() != persons {
            "rows and persons cannot stand in one file"
        } else {
            return Ok(());
        };
        Err(Error::input(&self.path, problem, "append whole segments of one data set"))
    }

    fn write_segment(&mut self, values: &[&[u8]; 3], present: &[u32], firsts: &[u64]) -> Fallible<()> {
        let [numeric, codes, labels] = *values;
        let parts = [numeric, codes, labels, bytemuck::cast_slice(present), bytemuck::cast_slice(firsts)];
        let parts = &parts[..if self.footer.persons.is_some() { 5 } else { 4 }];
        self.footer.checksums.push(checksum(parts.iter().copied()));
        parts.iter().try_for_each(|part| self.write(part))
    }

    /// Rows of a full segment.
    pub fn rows_per_segment(&self) -> usize {
        self.footer.tiles_per_segment * LANES
    }

    /// Appends rows as they come from an encoder, cut into segments.
    ///
    /// # Errors
    /// When they have other columns or another integer for 1.0, when rows appended before did not fill their last segment, or
    /// when they cannot be written.
    pub fn append(&mut self, rows: &Rows) -> Fallible<()> {
        self.append_tiles(rows, 0..rows.tile_count(), rows.len())
    }

    /// Appends some tiles of rows, which hold `len` rows.
    ///
    /// # Errors
    /// When they have other columns or another integer for 1.0, when rows appended before did not fill their last segment, or when they cannot be
    /// written.
    pub(super) fn append_tiles(&mut self, rows: &Rows, tiles: Range<usize>, len: usize) -> Fallible<()> {
        self.check_columns(rows.shape(), rows.one(), false)?;
        if self.short && !tiles.is_empty() {
            let problem = "only the last segment may be short";
            return Err(Error::input(&self.path, problem, "append whole segments of one data set"));
        }
        for first in tiles.clone().step_by(self.footer.tiles_per_segment) {
            let bytes = rows.tile_bytes(first..(first + self.footer.tiles_per_segment).min(tiles.end));
            self.write_segment(&bytes.parts, &bytes.present, &[])?;
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

impl SegmentWriter<Vec<u8>> {
    /// A writer of persons as an encoder makes them, into memory.
    ///
    /// # Errors
    /// None: memory takes whatever is written.
    pub(crate) fn packing_persons(path: &Path, shape: &Shape) -> Fallible<Self> {
        Self::of_persons(Vec::new(), path, shape, FULL_SCALE, SEGMENT_BYTES)
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
    /// Where segments of persons begin and end.
    places: Vec<u64>,
}

/// What stands behind the values of a segment.
#[derive(Default)]
pub(super) struct Marks {
    /// For each tile the lanes that are records.
    present: Vec<u32>,
    /// The first row of each person.
    pub firsts: Vec<u64>,
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
        let places = footer.places().unwrap_or_default();
        Ok(SegmentReader { source, path: path.to_owned(), shape, footer, places })
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
    pub fn one(&self) -> i16 {
        self.footer.one
    }

    /// Number of rows, null rows included, or of persons in a file of them. Private under add-remove.
    pub fn rows(&self) -> u64 {
        self.footer.rows
    }

    /// Whether it is a file of persons.
    pub(crate) fn is_of_persons(&self) -> bool {
        self.footer.persons.is_some()
    }

    /// For each segment of persons the rows that each of them has, and how many they are.
    pub(super) fn persons(&self) -> &[(u32, u32)] {
        self.footer.persons.as_deref().unwrap_or_default()
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
        self.segment_bytes_of(&self.shape)
    }

    /// Size of a segment of as many rows with these columns.
    pub(super) fn segment_bytes_of(&self, shape: &Shape) -> usize {
        self.footer.tiles_per_segment.saturating_mul(tile_bytes(shape))
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

    /// All persons, with the numbers that they have by their first rows.
    ///
    /// # Errors
    /// When the file cannot be read, is of rows, or a segment does not fit its checksum.
    pub(crate) fn read_persons(&self) -> Fallible<Persons> {
        if !self.is_of_persons() {
            return Err(foreign(&self.path, "it is of rows, and says nothing about persons"));
        }
        let all = 0..self.segments();
        let (rows, marks) = self.read_marked(all)?;
        let mut order: Vec<u64> = marks.iter().flat_map(|marks| &marks.firsts).copied().collect();
        order.sort_unstable();
        order.dedup();
        if order.len() >= NOBODY as usize {
            return Err(foreign(&self.path, "it has 2^32 persons or more"));
        }
        let number = |first: u64| order.binary_search(&first).map_or(NOBODY, |number| number as u32);
        let mut person_of = Vec::with_capacity(rows.len());
        for (&(each, members), marks) in self.persons().iter().zip(marks) {
            let numbers: Vec<u32> = marks.firsts.iter().map(|&first| number(first)).collect();
            let whose = person_lanes(each as usize, members as usize);
            person_of.extend(
                whose.into_iter().map(|place| place.and_then(|place| numbers.get(place).copied()).unwrap_or(NOBODY)),
            );
        }
        Ok(Persons::gather_all(rows, &person_of, order.len(), u32::MAX))
    }

    /// No persons with these columns.
    pub(crate) fn no_persons(&self) -> Persons {
        Persons::gather(RowsBuilder::new(self.shape.clone()).build(), &[], 1)
    }

    fn read_segments(&self, segments: Range<usize>) -> Fallible<Rows> {
        if self.is_of_persons() {
            // They would be without their persons.
            return Err(foreign(&self.path, "it is of persons"));
        }
        self.read_marked(segments).map(|(rows, _)| rows)
    }

    fn read_marked(&self, segments: Range<usize>) -> Fallible<(Rows, Vec<Marks>)> {
        let mut rows = BulkBuilder::with_one(self.shape.clone(), self.footer.one);
        let lens = self.lens(segments.clone());
        rows.reserve(lens.iter().map(|len| len.div_ceil(LANES)).sum());
        let mut rooms = rows.grow(&lens);
        let marks = rooms.par_iter_mut().zip(segments).map(|(room, segment)| {
            let marks = self.fetch(segment, room)?;
            self.accept(segment, room, &marks).map(|()| marks)
        });
        let marks = marks.collect::<Fallible<Vec<Marks>>>()?;
        Ok((rows.build(), marks))
    }

    /// Rows of each of some segments, or lanes of persons; none behind the last.
    pub(super) fn lens(&self, segments: Range<usize>) -> Vec<usize> {
        if self.is_of_persons() {
            return segments.map(|segment| self.lanes(segment)).collect();
        }
        let full = (self.footer.tiles_per_segment * LANES) as u64;
        let len = |segment: usize| self.footer.rows.saturating_sub(segment as u64 * full).min(full) as usize;
        segments.map(len).collect()
    }

    /// Lanes of a segment of persons.
    pub(super) fn lanes(&self, segment: usize) -> usize {
        let lanes = |&(each, members): &(u32, u32)| {
            person_tiles(each as usize, members as usize).unwrap_or(0).saturating_mul(LANES)
        };
        self.persons().get(segment).map_or(0, lanes)
    }

    /// Bytes of a segment of persons.
    pub(super) fn size_of(&self, segment: usize) -> usize {
        self.place(segment + 1).saturating_sub(self.place(segment)) as usize
    }

    /// Where a segment begins.
    fn place(&self, segment: usize) -> u64 {
        if self.is_of_persons() {
            self.places.get(segment).copied().unwrap_or(0)
        } else {
            segment as u64 * self.segment_bytes() as u64
        }
    }

    /// Copies the bytes of a segment from the file, unchecked.
    ///
    /// Until [`SegmentReader::accept`] has checked them the room holds null rows.
    pub(super) fn fetch(&self, segment: usize, room: &mut TilesMut<'_>) -> Fallible<Marks> {
        let mut at = START_BYTES as u64 + self.place(segment);
        let [numeric, codes, labels] = room.bytes_mut();
        let present = vec![0u32; labels.len() / (size_of::<i16>() * LANES)];
        let firsts = vec![0u64; self.persons().get(segment).map_or(0, |&(_, members)| members as usize)];
        let mut marks = Marks { present, firsts };
        let behind: [&mut [u8]; 2] =
            [bytemuck::cast_slice_mut(&mut marks.present), bytemuck::cast_slice_mut(&mut marks.firsts)];
        for part in [numeric, codes, labels].into_iter().chain(behind) {
            self.source.fill(part, at).map_err(|e| Error::io(&self.path, "read the rows", e))?;
            at += part.len() as u64;
        }
        Ok(marks)
    }

    /// Checks what was fetched and measures its rows.
    pub(super) fn accept(&self, segment: usize, room: &mut TilesMut<'_>, marks: &Marks) -> Fallible<()> {
        let Some(&expected) = self.footer.checksums.get(segment) else {
            return Err(foreign(&self.path, "there is no such segment"));
        };
        let [numeric, codes, labels] = room.bytes_mut();
        let parts =
            [&*numeric, &*codes, &*labels, bytemuck::cast_slice(&marks.present), bytemuck::cast_slice(&marks.firsts)];
        let parts = &parts[..if self.is_of_persons() { 5 } else { 4 }];
        if checksum(parts.iter().copied()) != expected {
            return Err(foreign(&self.path, "a checksum does not fit"));
        }
        room.seal(&marks.present);
        Ok(())
    }
}
