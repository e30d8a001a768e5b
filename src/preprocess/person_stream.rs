//! Encoded rows of persons that stay in a file and are read through again and again, whole persons at a time.
//!
//! A part is a few consecutive segments; each of them is a group of persons with as many rows, laid out as in memory.

use std::collections::BTreeMap;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rayon::prelude::*;

use super::footer::foreign;
use super::segments::{Marks, SegmentReader, SegmentWriter};
use super::stream::{BUFFERS, MAX_ROWS, MemoryLimit, SEGMENTS_PER_PART, Scratch, WRITE_BYTES};
use crate::error::{Error, Fallible};
use crate::grid::Shape;
use crate::kernel::{BulkBuilder, Persons, Rows};

/// Encoded rows by person, in a file that is held open.
pub struct PersonStream {
    reader: SegmentReader,
    /// Segments; a part of them at a time is in memory.
    parts: Vec<Vec<usize>>,
    /// Where a file of the same persons in another encoding is put.
    folder: PathBuf,
    limit: MemoryLimit,
}

/// A part on its way from the file: each segment, with what stands behind its values.
type Fetched = Vec<(usize, BulkBuilder, Marks)>;

impl PersonStream {
    /// The persons of a file; `folder` is for a file of the same persons in another encoding.
    ///
    /// # Errors
    /// When it is of rows, or there are more than sums in 64 bits can hold.
    pub(super) fn new(reader: SegmentReader, folder: &Path, limit: MemoryLimit) -> Fallible<Self> {
        if !reader.is_of_persons() {
            return Err(foreign(reader.path(), "it is of rows, and says nothing about persons"));
        }
        if lanes(&reader).max(reader.rows()) >= MAX_ROWS {
            return Err(Error::input(reader.path(), "has 2^36 rows or more", "train on fewer"));
        }
        let most = SEGMENTS_PER_PART.saturating_mul(limit.segment_bytes());
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut size = 0usize;
        for segment in 0..reader.segments() {
            let bytes = reader.size_of(segment);
            match parts.last_mut() {
                Some(part) if size.saturating_add(bytes) <= most => part.push(segment),
                _ => {
                    parts.push(vec![segment]);
                    size = 0;
                }
            }
            size = size.saturating_add(bytes);
        }
        Ok(PersonStream { reader, parts, folder: folder.to_owned(), limit })
    }

    /// The persons that were written to a temporary file.
    ///
    /// # Errors
    /// When they are not a whole file of segments of persons.
    pub(super) fn of(scratch: Scratch, folder: &Path, limit: MemoryLimit) -> Fallible<Self> {
        PersonStream::new(SegmentReader::of(scratch.file, &scratch.path)?, folder, limit)
    }

    /// The columns.
    pub fn shape(&self) -> &Shape {
        self.reader.shape()
    }

    /// The integer that stands for 1.0.
    pub fn one(&self) -> i16 {
        self.reader.one()
    }

    /// Number of persons, those included none of whose rows is a record. Private under add-remove.
    pub fn persons(&self) -> u64 {
        self.reader.rows()
    }

    /// Whether all persons would fit the limit if they were read as a whole: twice, for they are put in order.
    pub fn fits_memory(&self) -> bool {
        Rows::footprint(self.shape(), lanes(&self.reader)).saturating_mul(2) < self.limit.bytes()
    }

    /// Whether what is kept of each row, read and checked once, is better kept than found again in each pass: at most 72 bytes, for a row of a
    /// person with 32 of them has 33 halves of a product with another one.
    pub fn can_keep_clips(&self) -> bool {
        72 * lanes(&self.reader) <= self.limit.bytes() / 2
    }

    /// All persons as a whole, numbered by their first rows.
    ///
    /// # Errors
    /// When they cannot be read or do not pass their checks.
    pub fn read_all(&self) -> Fallible<Persons> {
        self.reader.read_persons()
    }

    /// Nobody, with the columns of these persons.
    pub(crate) fn nobody(&self) -> Persons {
        self.reader.no_persons()
    }

    /// Reads everything once and checks it.
    ///
    /// # Errors
    /// When something cannot be read or does not pass its checks.
    pub fn check(&self) -> Fallible<()> {
        self.each_part(|_| Ok(()))
    }

    /// Hands whole persons to `work` part by part; the parts are the same every time.
    ///
    /// # Errors
    /// When a part cannot be read, is not what was written, or `work` fails; `work` sees nobody of that part then.
    pub fn each_part(&self, mut work: impl FnMut(&Persons) -> Fallible<()>) -> Fallible<()> {
        self.each_owned(|persons, _| work(&persons).map(|()| persons))
    }

    /// These persons in another encoding, in a file without a name.
    ///
    /// # Errors
    /// When something cannot be read or does not pass its checks, and when the file cannot be written.
    pub fn recoded(self, one: i16, recode: impl Fn(Rows) -> Rows) -> Fallible<Self> {
        let scratch = Scratch::new(&self.folder)?;
        let out = BufWriter::with_capacity(WRITE_BYTES, &scratch.file);
        let size = self.limit.segment_bytes();
        let mut writer = SegmentWriter::of_persons(out, &scratch.path, self.shape(), one, size)?;
        self.each_owned(|persons, firsts| {
            let recoded = persons.recoded(&recode);
            writer.append_persons(&recoded, firsts).map(|()| recoded)
        })?;
        writer.finish(&())?;
        PersonStream::of(scratch, &self.folder, self.limit)
    }

    /// The persons of the chosen numbers, which are ascending, and the rest, each in a file without a name. Persons are numbered by their
    /// first rows, as in memory.
    ///
    /// A bit for each row of the data near one that a person begins with is held meanwhile: it says whether one begins there.
    ///
    /// # Errors
    /// When something cannot be read or does not pass its checks, and when a file cannot be written.
    pub fn divided(self, chosen: impl Iterator<Item = u64>) -> Fallible<(Self, Self)> {
        let mut held = FirstRows::default();
        self.each_owned(|persons, firsts| match firsts.iter().all(|&first| held.insert(first)) {
            true => Ok(persons),
            false => Err(foreign(self.reader.path(), "two persons begin in one row, or one beyond all rows")),
        })?;
        held.keep(chosen);
        let (one, size) = (self.one(), self.limit.segment_bytes());
        let scratch = [Scratch::new(&self.folder)?, Scratch::new(&self.folder)?];
        let writer = |Scratch { file, path }: &'_ Scratch| {
            let out =
                BufWriter::with_capacity(WRITE_BYTES, file.try_clone().map_err(|e| Error::io(path, "write it", e))?);
            SegmentWriter::of_persons(out, path, self.shape(), one, size)
        };
        let mut writers = [writer(&scratch[0])?, writer(&scratch[1])?];
        self.each_owned(|persons, firsts| {
            for (writer, is_held) in writers.iter_mut().zip([true, false]) {
                let of: Vec<usize> = (0..firsts.len()).filter(|&at| held.contains(firsts[at]) == is_held).collect();
                let own: Vec<u64> = of.iter().map(|&at| firsts[at]).collect();
                writer.append_persons(&persons.subset(&of), &own)?;
            }
            Ok(persons)
        })?;
        writers.into_iter().try_for_each(|writer| writer.finish(&()).map(drop))?;
        let [held, rest] = scratch.map(|scratch| PersonStream::of(scratch, &self.folder, self.limit));
        Ok((held?, rest?))
    }

    /// Hands out each part with the numbers of first rows, and takes its memory back.
    fn each_owned(&self, mut work: impl FnMut(Persons, &[u64]) -> Fallible<Persons>) -> Fallible<()> {
        std::thread::scope(|scope| {
            // Made in here, so that both ends are gone, and the thread ends, before the scope waits for it.
            let (give, fetched) = sync_channel(BUFFERS);
            let (give_back, idle) = sync_channel(BUFFERS);
            for _ in 0..BUFFERS {
                // The channel has room for all of them.
                let _ = give_back.send(Vec::new());
            }
            std::thread::Builder::new()
                .name("rows".into())
                .spawn_scoped(scope, move || self.read_ahead(&idle, &give))
                .map_err(|e| Error::io(self.reader.path(), "start a thread to read it", e))?;
            for part in fetched {
                let (persons, firsts) = self.accept(part?)?;
                let persons = work(persons, &firsts)?;
                // Nobody listens once everything is read.
                let _ = give_back.send(persons.into_rows().collect());
            }
            Ok(())
        })
    }

    /// Fills buffers until the file ends, something fails, or nobody wants them any more.
    fn read_ahead(&self, idle: &Receiver<Vec<Rows>>, give: &SyncSender<Fallible<Fetched>>) {
        for segments in &self.parts {
            let Ok(old) = idle.recv() else { return };
            let fetched = self.fetch(segments, old);
            let failed = fetched.is_err();
            if give.send(fetched).is_err() || failed {
                return;
            }
        }
    }

    fn fetch(&self, segments: &[usize], old: Vec<Rows>) -> Fallible<Fetched> {
        let mut old = old.into_iter();
        let fetch = |&segment: &usize| {
            let mut rows = match old.next() {
                Some(rows) => BulkBuilder::in_place_of(rows, self.one()),
                None => BulkBuilder::with_one(self.shape().clone(), self.one()),
            };
            let mut rooms = rows.grow(&[self.reader.lanes(segment)]);
            let marks = rooms.first_mut().map_or(Ok(Marks::default()), |room| self.reader.fetch(segment, room))?;
            Ok((segment, rows, marks))
        };
        segments.iter().map(fetch).collect()
    }

    /// Checks a part and measures its rows, in parallel.
    fn accept(&self, part: Fetched) -> Fallible<(Persons, Vec<u64>)> {
        let accepted = part.into_par_iter().map(|(segment, mut rows, marks)| {
            if let Some(room) = rows.rooms(&[self.reader.lanes(segment)]).first_mut() {
                self.reader.accept(segment, room, &marks)?;
            }
            let (each, members) = self.reader.persons().get(segment).copied().unwrap_or_default();
            Ok(((each as usize, members as usize, rows.build()), marks.firsts))
        });
        let accepted = accepted.collect::<Fallible<Vec<_>>>()?;
        let (groups, firsts): (Vec<_>, Vec<_>) = accepted.into_iter().unzip();
        Ok((Persons::of_groups(groups, || self.nobody()), firsts.concat()))
    }
}

/// Rows of a page of [`FirstRows`].
const PAGE_ROWS: u64 = 8 * 64;

/// The rows that are first ones of persons: a bit for each row of a page, and a page where there is one.
///
/// A file says where its persons begin, and rows between them stand in no file. So no more pages are held than there are persons, about a
/// hundred bytes each, however far apart a forged file puts them.
#[derive(Default)]
struct FirstRows(BTreeMap<u64, [u64; 8]>);

impl FirstRows {
    /// Notes a first row; `false` where it was noted before, or no file has so many rows.
    fn insert(&mut self, first: u64) -> bool {
        if first >= MAX_ROWS {
            return false;
        }
        let (page, word, bit) = place(first);
        let words = self.0.entry(page).or_default();
        let is_new = words[word] & bit == 0;
        words[word] |= bit;
        is_new
    }

    fn contains(&self, first: u64) -> bool {
        let (page, word, bit) = place(first);
        self.0.get(&page).is_some_and(|words| words[word] & bit != 0)
    }

    /// Forgets all but those of the chosen numbers, which are ascending: the first that was noted has number 0.
    fn keep(&mut self, mut chosen: impl Iterator<Item = u64>) {
        let (mut number, mut next) = (0, chosen.next());
        for word in self.0.values_mut().flatten() {
            let mut left = *word;
            while left != 0 {
                let bit = left & left.wrapping_neg();
                left ^= bit;
                if next == Some(number) {
                    next = chosen.next();
                } else {
                    *word ^= bit;
                }
                number += 1;
            }
        }
    }
}

/// The page of a row, and its word and bit there.
fn place(row: u64) -> (u64, usize, u64) {
    (row / PAGE_ROWS, (row % PAGE_ROWS / 64) as usize, 1 << (row % 64))
}

/// Lanes in all, empty ones included.
fn lanes(reader: &SegmentReader) -> u64 {
    (0..reader.segments()).map(|segment| reader.lanes(segment) as u64).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_rows_are_noted_once_and_kept_by_number() {
        let rows = [0, 63, 64, 511, 512, 700_000, 1 << 35, MAX_ROWS - 1];
        let mut noted = FirstRows::default();
        // In no order.
        assert!([5, 0, 7, 2, 1, 6, 4, 3].map(|index| rows[index]).into_iter().all(|row| noted.insert(row)));
        assert!(!rows.iter().any(|&row| noted.insert(row)), "a second time");
        assert!(![MAX_ROWS, u64::MAX].iter().any(|&row| noted.insert(row)), "no file has so many");
        assert!(!noted.contains(1) && !noted.contains(u64::MAX));
        noted.keep([1, 2, 6].into_iter());
        let kept: Vec<u64> = rows.into_iter().filter(|&row| noted.contains(row)).collect();
        assert_eq!(kept, [63, 64, 1 << 35]);
    }

    /// A forged file of few persons may say that they begin anywhere below 2^36: a bit for each row before would be 8 GiB.
    #[test]
    fn memory_for_first_rows_follows_from_how_many_there_are() {
        let mut noted = FirstRows::default();
        let rows = || (1..=1000).map(|person| MAX_ROWS / 1000 * person - 1);
        assert!(rows().all(|row| noted.insert(row)));
        assert_eq!(noted.0.len(), 1000, "a page of 64 bytes each");
        assert!(rows().all(|row| noted.contains(row)));
    }
}
