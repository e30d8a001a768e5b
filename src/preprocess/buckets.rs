//! Rows on their way to their persons, where they are more than memory holds: in a file, by a hash of the identifier.
//!
//! The hash chooses a place and nothing else: there identifiers are compared as texts. All rows of an identifier have one hash, so they
//! meet in one bucket, however often buckets are split by further bits of it. Of a person no more rows are held than count.

use std::collections::HashMap;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::persons::PersonPart;
use super::stream::Scratch;
use crate::data::ReadAt;
use crate::error::{Error, Fallible};
use crate::grid::Shape;
use crate::kernel::{LANES, NOBODY, Persons, RawRow, Rows, RowsBuilder, row_digest};

/// Bits of the hash by which one level of buckets is told apart.
const LEVEL_BITS: u32 = 6;

/// Levels until the hash has no bits left.
const LEVELS: u32 = u64::BITS / LEVEL_BITS;

/// What is gathered of a bucket before it is written.
const PIECE_BYTES: usize = 1 << 16;

/// What a person takes beside text and rows, roughly.
const PERSON_BYTES: usize = 128;

/// Bytes before the text of a record: its length, the number of the row, whether the row is a record.
const HEAD_BYTES: usize = 13;

/// Records of one bucket, one after the other.
struct Piece {
    at: u64,
    bytes: usize,
    checksum: u64,
}

/// Rows that share bits of their hashes; with them all rows of their persons.
#[derive(Default)]
struct Bucket {
    pieces: Vec<Piece>,
    bytes: u64,
}

/// Rows by the hash of their identifiers, in a file without a name.
pub(super) struct Buckets {
    scratch: Scratch,
    end: u64,
    shape: Shape,
    max_rows: u32,
    /// What may be held at a time.
    most: u64,
    open: Open,
    /// Rows so far, whoever they belong to.
    rows: u64,
}

/// The buckets of one level, while they are filled.
struct Open {
    level: u32,
    buckets: Vec<Bucket>,
    buffers: Vec<Vec<u8>>,
}

impl Open {
    fn new(level: u32) -> Self {
        let all = 1 << LEVEL_BITS;
        let buckets = (0..all).map(|_| Bucket::default()).collect();
        Open { level, buckets, buffers: vec![Vec::new(); all] }
    }

    /// The bucket of a hash.
    fn of(&self, hash: u64) -> usize {
        let shift = u64::BITS - (self.level + 1) * LEVEL_BITS;
        (hash >> shift) as usize % self.buckets.len()
    }
}

/// A row in a bucket.
struct Record<'a> {
    text: &'a [u8],
    number: u64,
    /// What [`Rows::pack_row`] wrote; `None` for a row that is no record.
    row: Option<&'a [u8]>,
}

/// The persons of a bucket, and the numbers of their first rows.
struct Gathered {
    persons: Persons,
    firsts: Vec<u64>,
}

/// One person of a bucket, while it is read.
struct Own {
    first: u64,
    /// Packed rows, one after the other; one more than count where there are more, so that it shows.
    rows: Vec<u8>,
}

impl Buckets {
    /// None yet, in a folder; about `most` bytes are held at a time.
    ///
    /// # Errors
    /// When no file can be made there.
    pub fn new(folder: &Path, shape: &Shape, max_rows: u32, most: u64) -> Fallible<Self> {
        let scratch = Scratch::new(folder)?;
        Ok(Buckets { scratch, end: 0, shape: shape.clone(), max_rows, most, open: Open::new(0), rows: 0 })
    }

    /// Puts rows away that follow those before: `part` says whose they are, and they stand from `first` on.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn put(&mut self, rows: &Rows, first: usize, part: &PersonPart) -> Fallible<()> {
        let hashes: Vec<u64> = part.texts.iter().map(|text| xxh3_64(text)).collect();
        let mut packed = Vec::with_capacity(Rows::packed_row(&self.shape));
        for (place, &person) in part.of.iter().enumerate() {
            let number = self.rows + place as u64;
            let person = person as usize;
            let Some((text, &hash)) = part.texts.get(person).zip(hashes.get(person)) else { continue };
            packed.clear();
            let row = rows.pack_row(first + place, &mut packed).then_some(packed.as_slice());
            self.add(hash, &Record { text, number, row })?;
        }
        self.rows += part.of.len() as u64;
        Ok(())
    }

    fn add(&mut self, hash: u64, record: &Record<'_>) -> Fallible<()> {
        let bucket = self.open.of(hash);
        let buffer = &mut self.open.buffers[bucket];
        buffer.extend_from_slice(&(record.text.len() as u32).to_le_bytes());
        buffer.extend_from_slice(&record.number.to_le_bytes());
        buffer.push(u8::from(record.row.is_some()));
        buffer.extend_from_slice(record.text);
        buffer.extend_from_slice(record.row.unwrap_or_default());
        if buffer.len() >= PIECE_BYTES { self.flush(bucket) } else { Ok(()) }
    }

    fn flush(&mut self, bucket: usize) -> Fallible<()> {
        let buffer = &mut self.open.buffers[bucket];
        if buffer.is_empty() {
            return Ok(());
        }
        let mut file = &self.scratch.file;
        // Reading at a position moves the place of writing on some systems.
        let written = file.seek(SeekFrom::Start(self.end)).and_then(|_| file.write_all(buffer));
        written.map_err(|e| Error::io(&self.scratch.path, "write it", e))?;
        let piece = Piece { at: self.end, bytes: buffer.len(), checksum: xxh3_64(buffer) };
        self.end += piece.bytes as u64;
        let known = &mut self.open.buckets[bucket];
        known.bytes += piece.bytes as u64;
        known.pieces.push(piece);
        buffer.clear();
        Ok(())
    }

    /// Hands out all persons, part by part, with the numbers of their first rows; everybody once.
    ///
    /// # Errors
    /// When rows cannot be written or read again, or `take` fails.
    pub fn finish(mut self, mut take: impl FnMut(&Persons, &[u64]) -> Fallible<()>) -> Fallible<()> {
        let mut waiting = self.close(1)?;
        while let Some((bucket, level)) = waiting.pop() {
            if self.gather(&bucket, level < LEVELS, &mut take)? {
                continue;
            }
            // More than may be held: by further bits of the same hash.
            self.open = Open::new(level);
            for piece in &bucket.pieces {
                let bytes = self.read(piece)?;
                for record in records(&bytes, Rows::packed_row(&self.shape)) {
                    let record = record.ok_or_else(|| self.damaged())?;
                    self.add(xxh3_64(record.text), &record)?;
                }
            }
            waiting.extend(self.close(level + 1)?);
        }
        Ok(())
    }

    /// The open buckets, with the level at which they are split; small neighbours are put together.
    fn close(&mut self, next: u32) -> Fallible<Vec<(Bucket, u32)>> {
        (0..self.open.buckets.len()).try_for_each(|bucket| self.flush(bucket))?;
        let mut together: Vec<(Bucket, u32)> = Vec::new();
        for bucket in std::mem::take(&mut self.open.buckets) {
            match together.last_mut() {
                Some((last, _)) if last.bytes + bucket.bytes <= self.most => {
                    last.bytes += bucket.bytes;
                    last.pieces.extend(bucket.pieces);
                }
                _ => together.push((bucket, next)),
            }
        }
        Ok(together)
    }

    fn read(&self, piece: &Piece) -> Fallible<Vec<u8>> {
        let mut bytes = vec![0; piece.bytes];
        let read = self.scratch.file.fill(&mut bytes, piece.at);
        read.map_err(|e| Error::io(&self.scratch.path, "read the rows", e))?;
        if xxh3_64(&bytes) == piece.checksum { Ok(bytes) } else { Err(self.damaged()) }
    }

    fn damaged(&self) -> Error {
        super::footer::foreign(&self.scratch.path, "a checksum does not fit")
    }

    /// Hands out the persons of a bucket; `false`, and nothing was handed out, where that would hold too much and `may_split`.
    fn gather(
        &self,
        bucket: &Bucket,
        may_split: bool,
        take: &mut impl FnMut(&Persons, &[u64]) -> Fallible<()>,
    ) -> Fallible<bool> {
        let width = Rows::packed_row(&self.shape);
        let mut known: HashMap<Box<[u8]>, usize> = HashMap::new();
        let mut people: Vec<Own> = Vec::new();
        let mut held = 0;
        // As many rows again may wait until the least of them are chosen.
        let kept = (self.max_rows as usize).saturating_add(1).saturating_mul(width);
        for piece in &bucket.pieces {
            let bytes = self.read(piece)?;
            for record in records(&bytes, width) {
                let Record { text, number, row } = record.ok_or_else(|| self.damaged())?;
                let place = match known.get(text) {
                    Some(&place) => place,
                    None => {
                        known.insert(text.into(), people.len());
                        people.push(Own { first: number, rows: Vec::new() });
                        held += text.len() + PERSON_BYTES;
                        people.len() - 1
                    }
                };
                let Some(row) = row else { continue };
                let own = &mut people[place].rows;
                own.extend_from_slice(row);
                held += width;
                if own.len() >= kept.saturating_mul(2) {
                    held -= own.len();
                    keep_least(own, width, kept / width);
                    held += own.len();
                }
            }
            // One person is not to be split.
            if may_split && held as u64 > self.most && people.len() > 1 {
                return Ok(false);
            }
        }
        drop(known);
        self.hand_out(people, width, take).map(|()| true)
    }

    /// Hands out people with as many rows together, as many of them at a time as may be held in tiles.
    fn hand_out(
        &self,
        mut people: Vec<Own>,
        width: usize,
        take: &mut impl FnMut(&Persons, &[u64]) -> Fallible<()>,
    ) -> Fallible<()> {
        people.sort_by_key(|own| own.rows.len());
        let mut rest = people.as_slice();
        while !rest.is_empty() {
            let (mut size, mut blocks, mut before, mut alike) = (0u64, 0, None, 0usize);
            let fits = |own: &&Own| {
                alike = if before == Some(own.rows.len()) { alike + 1 } else { 0 };
                before = Some(own.rows.len());
                if alike.is_multiple_of(LANES) {
                    // A tile for each row of the first of so many persons; the others have room in it.
                    size += (own.rows.len() * LANES) as u64;
                    blocks += 1;
                }
                size <= self.most || blocks == 1
            };
            let (now, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            let Gathered { persons, firsts } = self.gathered(now, width);
            take(&persons, &firsts)?;
            rest = later;
        }
        Ok(())
    }

    fn gathered(&self, people: &[Own], width: usize) -> Gathered {
        let mut rows = RowsBuilder::new(self.shape.clone());
        let mut row = RawRow::empty(&self.shape);
        let mut person_of = Vec::new();
        for (person, own) in people.iter().enumerate() {
            for packed in own.rows.chunks_exact(width) {
                rows.push_packed(packed, &mut row);
                person_of.push(u32::try_from(person).unwrap_or(NOBODY));
            }
        }
        let persons = Persons::gather_all(rows.build(), &person_of, people.len(), self.max_rows);
        Gathered { persons, firsts: people.iter().map(|own| own.first).collect() }
    }
}

/// Keeps the `most` packed rows with the least digests, in their order.
fn keep_least(rows: &mut Vec<u8>, width: usize, most: usize) {
    let mut keyed: Vec<(u128, usize)> =
        rows.chunks_exact(width).enumerate().map(|(place, row)| (row_digest(row), place)).collect();
    keyed.sort_unstable();
    keyed.truncate(most);
    keyed.sort_unstable_by_key(|&(_, place)| place);
    *rows = keyed.iter().flat_map(|&(_, place)| &rows[place * width..(place + 1) * width]).copied().collect();
}

/// The records of a piece; `None` for bytes that are none.
fn records(bytes: &[u8], width: usize) -> impl Iterator<Item = Option<Record<'_>>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let record = record(rest, width);
        rest = record.as_ref().map_or(&[], |&(_, rest)| rest);
        Some(record.map(|(record, _)| record))
    })
}

fn record(bytes: &[u8], width: usize) -> Option<(Record<'_>, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let (length, head) = head.split_first_chunk::<4>()?;
    let (number, head) = head.split_first_chunk::<8>()?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (row, rest) = rest.split_at_checked(if *head == [0] { 0 } else { width })?;
    let row = (*head != [0]).then_some(row);
    Some((Record { text, number: u64::from_le_bytes(*number), row }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_what_is_none_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let shape = Shape::new(1, &[2]);
        let mut buckets = Buckets::new(folder.path(), &shape, 9, 1).unwrap();
        let row = [1, 2, 3, 4, 5, 6];
        buckets.add(0, &Record { text: b"somebody", number: 1 << 40, row: Some(&row) }).unwrap();
        buckets.add(0, &Record { text: b"", number: 7, row: None }).unwrap();
        let bytes = buckets.open.buffers[0].clone();
        let all: Vec<Record<'_>> = records(&bytes, row.len()).map(Option::unwrap).collect();
        assert!(all.len() == 2 && all[0].text == b"somebody" && all[0].row == Some(&row) && all[0].number == 1 << 40);
        assert!(all[1].text.is_empty() && all[1].row.is_none() && all[1].number == 7);
        assert!(records(&bytes[..bytes.len() - 1], row.len()).any(|record| record.is_none()));
        // On the disk, too.
        buckets.flush(0).unwrap();
        let piece = &buckets.open.buckets[0].pieces[0];
        assert_eq!(buckets.read(piece).unwrap(), bytes);
        let mut file = &buckets.scratch.file;
        file.seek(SeekFrom::Start(3)).unwrap();
        file.write_all(b"x").unwrap();
        assert!(buckets.read(piece).unwrap_err().to_string().contains("checksum"));
    }

    #[test]
    fn every_level_looks_at_other_bits_until_none_are_left() {
        for level in 0..LEVELS {
            let open = Open::new(level);
            let places = (0..u64::BITS).filter(|bit| open.of(1 << bit) > 0).count();
            assert_eq!(places, LEVEL_BITS as usize, "{level}");
        }
        let all: Vec<usize> = (0..LEVELS).map(|level| Open::new(level).of(0x0123_4567_89ab_cdef)).collect();
        assert!(all.windows(2).any(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn the_least_rows_stay_in_their_order() {
        let mut rows: Vec<u8> = (0..50u8).flat_map(|i| [i, i.wrapping_mul(37)]).collect();
        let before = rows.clone();
        keep_least(&mut rows, 2, 10);
        let mut digests: Vec<u128> = before.chunks_exact(2).map(row_digest).collect();
        digests.sort_unstable();
        assert!(rows.len() == 20 && rows.chunks_exact(2).all(|row| row_digest(row) <= digests[9]));
        assert!(rows.chunks_exact(2).map(|row| row[0]).is_sorted());
    }
}
