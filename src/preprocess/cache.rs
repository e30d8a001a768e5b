//! The encoded rows of a data file, kept beside it so that the next start need not read the text again. Where persons are protected they
//! are kept by person, without identifiers.
//!
//! A cache is used only for the same schema, the same encoding rules and the same data. That the data are the same is
//! told by what the file system says: size, times of the last changes, device and file number. Where any of the last
//! three differs, or a clock may have stood still when the cache was made, or the custodian asks for it, the digest of
//! all bytes decides instead. Whatever does not fit is made anew.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use super::encode::{Encoder, Progress};
use super::footer::FORMAT;
use super::person_stream::PersonStream;
use super::report::LoadReport;
use super::segments::{SEGMENT_BYTES, SegmentReader, SegmentWriter};
use super::stream::{MemoryLimit, RowStream, WRITE_BYTES};
use crate::data::{CsvFile, Schema, Stamp};
use crate::error::{Error, Fallible};
use crate::grid::FULL_SCALE;
use crate::kernel::{LANES, Persons, Rows};
use crate::partial::{self, folder_of};

/// To be raised whenever any line is encoded differently than before.
const RULES: u32 = 2;

/// How long clocks of file systems may stand still, in nanoseconds: with fractions of seconds, and without.
const CLOCK_STEPS: (i128, i128) = (100_000_000, 2_000_000_000);

/// Where encoded rows are kept between runs. The file holds private rows: only its owner may read it.
#[derive(Clone, Debug)]
pub struct RowCache {
    path: PathBuf,
    verify: bool,
}

/// What a cache did in a load; custodian-only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheUse {
    /// The rows were read from it.
    Used,
    /// There was none; it was made.
    Made,
    /// It could not be used, for the reason given, and was made anew.
    Renewed(String),
    /// The rows were read from the data, and the cache could not be written, for the reason given.
    Failed(String),
}

/// What a cache is for and what was seen when it was made.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    key: String,
    stamp: Stamp,
    /// Whether any later change of the data must show in their stamp.
    settled: bool,
    digest: String,
    report: LoadReport,
}

impl RowCache {
    /// A cache at `path`; with `verify` the digest of the data is compared every time.
    ///
    /// # Errors
    /// When the path cannot hold a cache: a missing folder, a folder, or a file that is something else.
    pub fn new(path: &Path, verify: bool) -> Fallible<Self> {
        let fault = |problem: &str, cure: &str| Err(Error::input(path, problem, cure));
        if path.is_dir() {
            return fault("is a directory", "name a file for --cache");
        }
        if !folder_of(path).is_dir() {
            return fault("lies in no folder that exists", "make the folder, or name another file for --cache");
        }
        if path.exists() && !is_ours(path).map_err(|e| Error::io(path, "read the cache", e))? {
            return fault("is no cache and would be overwritten", "name another file for --cache");
        }
        Ok(RowCache { path: path.to_owned(), verify })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The encoded rows of a data file, from the cache if it fits, else from the data; the cache then fits afterwards.
    ///
    /// # Errors
    /// When the data cannot be read, or the schema has a unit. A cache that cannot be read or written is no error: it would be one more
    /// way in which rows could show in an exit code.
    pub fn load(
        &self,
        schema: &Schema,
        file: &CsvFile,
        encoder: &Encoder,
        progress: &Progress<'_>,
    ) -> Fallible<(Rows, LoadReport, CacheUse)> {
        encoder.refuse_unit()?;
        self.whole(schema, file, encoder, progress)
    }

    /// The encoded rows of a data file by person, from the cache if it fits, else from the data; the schema has a unit.
    ///
    /// # Errors
    /// When the data cannot be read, or the schema has no unit.
    pub fn load_persons(
        &self,
        schema: &Schema,
        file: &CsvFile,
        encoder: &Encoder,
        progress: &Progress<'_>,
    ) -> Fallible<(Persons, LoadReport, CacheUse)> {
        encoder.max_rows()?;
        self.whole(schema, file, encoder, progress)
    }

    fn whole<T: Whole>(
        &self,
        schema: &Schema,
        file: &CsvFile,
        encoder: &Encoder,
        progress: &Progress<'_>,
    ) -> Fallible<(T, LoadReport, CacheUse)> {
        let stamp = stamp_of(file)?;
        let key = key(schema, file, encoder);
        let why = match self.found(&key, stamp, file, encoder)? {
            Found::Nothing => None,
            Found::Unusable(why) => Some(why),
            Found::Fitting(fitting) => match T::read(&fitting.reader) {
                Ok(rows) => {
                    progress(file.size())?;
                    if !fitting.known && settled(stamp) {
                        // The next start need not read the data then. If this fails, it does.
                        let note = Note { stamp: stamp.clone(), settled: true, ..fitting.note.clone() };
                        let _ = self.write(&rows, encoder, &note);
                    }
                    return Ok((rows, fitting.note.report, CacheUse::Used));
                }
                Err(error) => Some(error.to_string()),
            },
        };
        let (rows, report, digest) = T::encode(encoder, file, progress)?;
        let note = Note { key, stamp: stamp.clone(), settled: settled(stamp), digest: hex(digest), report };
        let used = match self.write(&rows, encoder, &note) {
            Err(error) => CacheUse::Failed(error.to_string()),
            Ok(()) => made(why),
        };
        Ok((rows, note.report, used))
    }

    /// Encodes rows that are to stay in the cache: they go there line by line, and are never held as a
    /// whole.
    ///
    /// A cache that fits is read and checked once before it is used.
    ///
    /// # Errors
    /// When the data cannot be read, the schema has a unit, or the cache cannot be written: there is no other place for the rows.
    pub fn stream(
        &self,
        schema: &Schema,
        file: &CsvFile,
        encoder: &Encoder,
        limit: MemoryLimit,
        progress: &Progress<'_>,
    ) -> Fallible<(RowStream, LoadReport, CacheUse)> {
        encoder.refuse_unit()?;
        self.kept(schema, file, encoder, limit, progress, (RowStream::new, RowStream::check))
    }

    /// Encodes rows that are to stay in the cache by person, part by part; the schema has a unit. On the way rows lie in a temporary file
    /// beside the cache.
    ///
    /// # Errors
    /// When the data cannot be read, the schema has no unit, or a file cannot be written: there is no other place for the rows.
    pub fn stream_persons(
        &self,
        schema: &Schema,
        file: &CsvFile,
        encoder: &Encoder,
        limit: MemoryLimit,
        progress: &Progress<'_>,
    ) -> Fallible<(PersonStream, LoadReport, CacheUse)> {
        encoder.max_rows()?;
        self.kept(schema, file, encoder, limit, progress, (PersonStream::new, PersonStream::check))
    }

    fn kept<T>(
        &self,
        schema: &Schema,
        file: &CsvFile,
        encoder: &Encoder,
        limit: MemoryLimit,
        progress: &Progress<'_>,
        (open, check): Opened<T>,
    ) -> Fallible<(T, LoadReport, CacheUse)> {
        let stamp = stamp_of(file)?;
        let key = key(schema, file, encoder);
        let folder = folder_of(&self.path);
        let why = match self.found(&key, stamp, file, encoder)? {
            Found::Nothing => None,
            Found::Unusable(why) => Some(why),
            Found::Fitting(fitting) => {
                let Fitting { reader, note, .. } = *fitting;
                let rows = open(reader, folder, limit)?;
                match check(&rows) {
                    Ok(()) => {
                        progress(file.size())?;
                        return Ok((rows, note.report, CacheUse::Used));
                    }
                    Err(error) => Some(error.to_string()),
                }
            }
        };
        let mut writer = self.writer(encoder, limit.segment_bytes())?;
        let (report, digest) = encoder.encode_to(file, folder, limit, &mut writer, progress)?;
        let note = Note { key, stamp: stamp.clone(), settled: settled(stamp), digest: hex(digest), report };
        let kept = self.publish(writer, &note)?;
        let rows = open(SegmentReader::of(kept, &self.path)?, folder, limit)?;
        Ok((rows, note.report, made(why)))
    }

    /// What stands where the cache should be, its rows unread. Only trouble with the data is an error.
    fn found(&self, key: &str, stamp: &Stamp, file: &CsvFile, encoder: &Encoder) -> Fallible<Found> {
        if !self.path.exists() {
            return Ok(Found::Nothing);
        }
        let opened = SegmentReader::open(&self.path).and_then(|reader| Ok((reader.note::<Note>()?, reader)));
        let (note, reader) = match opened {
            Ok(opened) => opened,
            Err(error) => return Ok(Found::Unusable(error.to_string())),
        };
        let as_asked = reader.is_of_persons() == encoder.unit.is_some();
        if note.key != key || reader.shape() != encoder.shape() || reader.one() != FULL_SCALE || !as_asked {
            return Ok(Found::Unusable("the schema, the header or the encoding rules are others".into()));
        }
        if note.stamp.size != stamp.size {
            return Ok(Found::Unusable("the data have changed".into()));
        }
        let known = note.settled && note.stamp == *stamp;
        if (self.verify || !known) && hex(file.digest()?) != note.digest {
            return Ok(Found::Unusable("the data have changed".into()));
        }
        Ok(Found::Fitting(Box::new(Fitting { reader, note, known })))
    }

    fn write<T: Whole>(&self, rows: &T, encoder: &Encoder, note: &Note) -> Fallible<()> {
        let mut writer = self.writer(encoder, SEGMENT_BYTES)?;
        rows.append_to(&mut writer)?;
        self.publish(writer, note).map(drop)
    }

    /// A new cache beside the old one.
    fn writer(&self, encoder: &Encoder, segment_bytes: usize) -> Fallible<SegmentWriter<BufWriter<NamedTempFile>>> {
        let temporary = partial::create(&self.path).map_err(|e| self.failed(&e))?;
        encoder.segments(BufWriter::with_capacity(WRITE_BYTES, temporary), &self.path, segment_bytes)
    }

    /// Puts it in the place of the old one.
    fn publish(&self, writer: SegmentWriter<BufWriter<NamedTempFile>>, note: &Note) -> Fallible<File> {
        let temporary = writer.finish(note)?.into_inner().map_err(|e| self.failed(e.error()))?;
        // Not synced: a file that a crash left in pieces does not pass its checks, and the data are still there.
        let kept = temporary.persist(&self.path).map_err(|e| self.failed(&e.error))?;
        // It was locked while it was in the making; some systems would keep readers out.
        let _ = kept.unlock();
        Ok(kept)
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        Error::io(&self.path, "write the cache", error.kind().into())
    }
}

/// What a cache can hand out as a whole: rows, or rows by person.
trait Whole: Sized {
    fn read(reader: &SegmentReader) -> Fallible<Self>;

    fn encode(encoder: &Encoder, file: &CsvFile, progress: &Progress<'_>) -> Fallible<(Self, LoadReport, u128)>;

    fn append_to<W: Write>(&self, writer: &mut SegmentWriter<W>) -> Fallible<()>;
}

impl Whole for Rows {
    fn read(reader: &SegmentReader) -> Fallible<Self> {
        reader.read_all()
    }

    fn encode(encoder: &Encoder, file: &CsvFile, progress: &Progress<'_>) -> Fallible<(Self, LoadReport, u128)> {
        let (encoded, report, digest) = encoder.encode_and_digest(file, progress)?;
        Ok((encoded.rows, report, digest))
    }

    fn append_to<W: Write>(&self, writer: &mut SegmentWriter<W>) -> Fallible<()> {
        writer.append(self)
    }
}

impl Whole for Persons {
    fn read(reader: &SegmentReader) -> Fallible<Self> {
        reader.read_persons()
    }

    fn encode(encoder: &Encoder, file: &CsvFile, progress: &Progress<'_>) -> Fallible<(Self, LoadReport, u128)> {
        let max_rows = encoder.max_rows()?;
        let (encoded, report, digest) = encoder.encode_and_digest(file, progress)?;
        let persons = Persons::gather(encoded.rows, &encoded.persons.unwrap_or_default(), max_rows);
        Ok((persons, report, digest))
    }

    fn append_to<W: Write>(&self, writer: &mut SegmentWriter<W>) -> Fallible<()> {
        // Persons are numbered by their first rows.
        let firsts: Vec<u64> = (0..self.len() as u64).collect();
        writer.append_persons(self, &firsts)
    }
}

/// Opens what a cache hands out part by part: rows, or rows by person.
type Open<T> = fn(SegmentReader, &Path, MemoryLimit) -> Fallible<T>;

/// How that is opened, and how it is checked.
type Opened<T> = (Open<T>, fn(&T) -> Fallible<()>);

/// What was found where the cache should be.
enum Found {
    Nothing,
    Unusable(String),
    Fitting(Box<Fitting>),
}

/// A cache of these data.
struct Fitting {
    reader: SegmentReader,
    note: Note,
    /// Whether the stamp told so.
    known: bool,
}

/// What to say of a cache that was written, and why the one before could not be used.
fn made(why: Option<String>) -> CacheUse {
    why.map_or(CacheUse::Made, CacheUse::Renewed)
}

fn stamp_of(file: &CsvFile) -> Fallible<&Stamp> {
    file.stamp().ok_or_else(|| {
        let problem = format!("needs a regular file, and {} is none", file.path().display());
        Error::parameter("--cache", problem, "leave it out, or store the data in a file")
    })
}

/// Whether a file is a cache of any version, or what is left of one: nothing else may be overwritten.
fn is_ours(path: &Path) -> std::io::Result<bool> {
    let mut file = std::fs::File::open(path)?;
    let size = file.metadata()?.len();
    let name = &FORMAT[..13];
    let mut start = Vec::new();
    (&mut file).take(name.len() as u64).read_to_end(&mut start)?;
    if name.starts_with(&start) {
        return Ok(true);
    }
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(size.saturating_sub(FORMAT.len() as u64)))?;
    file.read_to_end(&mut end)?;
    Ok(end.starts_with(name))
}

/// What must be the same for rows to be encoded the same, the records left out.
fn key(schema: &Schema, file: &CsvFile, encoder: &Encoder) -> String {
    let facts = (RULES, FULL_SCALE, LANES, schema.fingerprint(), file.header(), encoder.has_target());
    let dialect = file.dialect().key();
    // Caches of files in the usual dialect have no word of it. Records of Parquet files had a greatest length once.
    let dialect = if file.has_columns() { format!("{dialect}columns") } else { dialect };
    let text = match encoder.unit {
        // So many rows of a person are in it, whatever the schema leaves to the rules.
        Some((_, max_rows)) => serde_json::to_vec(&(facts, dialect, "persons", max_rows)),
        None if dialect.is_empty() => serde_json::to_vec(&facts),
        None => serde_json::to_vec(&(facts, dialect)),
    };
    format!("{:x}", Sha256::digest(text.unwrap_or_default()))
}

fn hex(digest: u128) -> String {
    format!("{digest:032x}")
}

/// Whether the clock of the file system has moved on since the last change, so that the next one gets another time.
fn settled(stamp: &Stamp) -> bool {
    let Some(last) = stamp.changed.max(stamp.modified) else { return false };
    let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) else { return false };
    let step = if last % 1_000_000_000 == 0 { CLOCK_STEPS.1 } else { CLOCK_STEPS.0 };
    now.as_nanos() as i128 - last > step
}
