//! The bytes of a data file: read once or many times, plain or compressed, and the same bytes each time.

use std::fs::{File, Metadata};
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

#[cfg(feature = "parquet")]
use ::parquet::file::reader::FileReader;

#[cfg(feature = "parquet")]
use super::parquet::{self, Chunks, ParquetColumns, ParquetText};
#[cfg(feature = "parquet")]
use super::table::{Table, Wanted};
use crate::error::{Error, Fallible};

/// What the file system says about a file; other content goes with another stamp, but for clocks that stand still.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content, in nanoseconds since 1970 where the system knows.
    pub modified: Option<i128>,
    /// Last change of content or attributes, which no program can set, where the system knows.
    pub changed: Option<i128>,
    /// Device and number of the file, where the system knows.
    pub place: Option<(u64, u64)>,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok().map(|time| match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => after.as_nanos() as i128,
            Err(before) => -(before.duration().as_nanos() as i128),
        });
        let (changed, place) = system_facts(metadata);
        Stamp { size: metadata.len(), modified, changed, place }
    }
}

#[cfg(unix)]
fn system_facts(metadata: &Metadata) -> (Option<i128>, Option<(u64, u64)>) {
    use std::os::unix::fs::MetadataExt;
    let changed = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
    (Some(changed), Some((metadata.dev(), metadata.ino())))
}

#[cfg(not(unix))]
fn system_facts(_: &Metadata) -> (Option<i128>, Option<(u64, u64)>) {
    (None, None)
}

/// How a file's bytes are packed, told by its first bytes and its name: what stands further on is rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
    Parquet,
}

/// How a Parquet file begins.
const PARQUET: &[u8] = b"PAR1";

/// First bytes that tell how a file is packed.
const START_BYTES: u64 = 5;

impl Packing {
    fn of(start: &[u8], path: &Path) -> Self {
        match start {
            // Names of columns may begin like that, but text has no such byte as the header of a page or the footer, which
            // stands next in a Parquet file, begins with.
            [b'P', b'A', b'R', b'1', next, ..] if next.is_ascii_control() && !next.is_ascii_whitespace() => {
                Packing::Parquet
            }
            _ if start.starts_with(PARQUET) && path.extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet")) => {
                Packing::Parquet
            }
            [0x1f, 0x8b, ..] => Packing::Gzip,
            // A zstd frame, or a frame to be skipped before one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Packing::Zstd,
            _ => Packing::Plain,
        }
    }
}

/// A file that can be read several times. What is no regular file, such as a pipe, is held in memory.
pub(super) struct Source {
    path: PathBuf,
    packing: Packing,
    held: Held,
}

#[derive(Clone)]
enum Held {
    File(Stamp),
    Memory(Arc<[u8]>),
}

impl Source {
    pub(super) fn open(path: &Path) -> Fallible<Self> {
        let failed = |e| Error::io(path, "read the data", e);
        let mut file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        // A descriptor's name opens what is left of it on some systems, so it is read once like a pipe.
        let descriptor = path.starts_with("/dev/fd") || path == Path::new("/dev/stdin");
        let mut start = Vec::new();
        let held = if metadata.is_file() && !descriptor {
            file.take(START_BYTES).read_to_end(&mut start).map_err(failed)?;
            Held::File(Stamp::of(&metadata))
        } else {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(failed)?;
            start.extend_from_slice(&bytes[..bytes.len().min(START_BYTES as usize)]);
            Held::Memory(bytes.into())
        };
        Ok(Source { path: path.to_owned(), packing: Packing::of(&start, path), held })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a Parquet file.
    pub(super) fn is_parquet(&self) -> bool {
        self.packing == Packing::Parquet
    }

    /// Size of the file as it lies on the disk.
    pub(super) fn size(&self) -> u64 {
        match &self.held {
            Held::File(stamp) => stamp.size,
            Held::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// The number of bytes that reading gives, where it is known.
    pub(super) fn plain_size(&self) -> Option<u64> {
        (self.packing == Packing::Plain).then(|| self.size())
    }

    pub(super) fn stamp(&self) -> Option<&Stamp> {
        match &self.held {
            Held::File(stamp) => Some(stamp),
            Held::Memory(_) => None,
        }
    }

    /// Starts at the beginning; with `digest` the bytes on the disk are digested on the way.
    pub(super) fn reader(&self, digest: bool) -> Fallible<SourceReader<'_>> {
        let raw = self.raw()?;
        if self.packing == Packing::Parquet {
            return Ok(SourceReader { source: self, unpacked: self.parquet(raw, digest)? });
        }
        let tap = Tap { raw, count: 0, digest: digest.then(|| Box::new(Xxh3::new())) };
        let unpacked = match self.packing {
            Packing::Gzip => Unpacked::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, tap)))),
            Packing::Zstd => {
                let decoder = zstd::stream::read::Decoder::new(tap);
                Unpacked::Zstd(Box::new(decoder.map_err(|e| Error::io(&self.path, "unpack the data", e))?))
            }
            Packing::Plain | Packing::Parquet => Unpacked::Plain(tap),
        };
        Ok(SourceReader { source: self, unpacked })
    }

    #[cfg(feature = "parquet")]
    fn parquet(&self, raw: Raw, digest: bool) -> Fallible<Unpacked> {
        let (reader, file) = self.open_parquet(raw)?;
        Ok(Unpacked::Parquet { text: Box::new(ParquetText::new(reader)), file, digest })
    }

    /// A Parquet file, and the handle that tells whether it changed.
    #[cfg(feature = "parquet")]
    fn open_parquet(&self, raw: Raw) -> Fallible<(Box<dyn FileReader>, Option<File>)> {
        let failed = |e| Error::io(&self.path, "read the data", e);
        let (reader, file) = match raw {
            Raw::Memory(bytes) => (parquet::open(bytes::Bytes::from_owner(bytes.into_inner())), None),
            Raw::File(file) => (parquet::open(file.try_clone().and_then(Chunks::new).map_err(failed)?), Some(file)),
        };
        Ok((reader.map_err(|e| self.unreadable(&e))?, file))
    }

    /// Reads columns of a Parquet file, each by its name and its place in the header, and hands tables of `rows` records on, the last
    /// one shorter, with the number of bytes read so far and that of records the file says it has. Returns the digest of the file, if asked
    /// for.
    #[cfg(feature = "parquet")]
    pub(super) fn scan_columns(
        &self,
        wanted: &[(usize, &str, Wanted)],
        rows: usize,
        digest: bool,
        work: &mut dyn FnMut(&Table<'_>, u64, u64) -> Fallible<()>,
    ) -> Fallible<Option<u128>> {
        let (reader, file) = self.open_parquet(self.raw()?)?;
        let failed = |e: std::io::Error| self.unreadable(&e);
        let mut columns = ParquetColumns::new(reader, wanted).map_err(failed)?;
        while columns.advance(rows).map_err(failed)? {
            let (done, said) = (columns.raw_bytes(), columns.said_rows());
            work(&columns.piece()?, done, said)?;
        }
        file.map_or(Ok(()), |file| self.check_stamp(&file))?;
        digest.then(|| self.digest()).transpose()
    }

    #[cfg(not(feature = "parquet"))]
    fn parquet(&self, _: Raw, _: bool) -> Fallible<Unpacked> {
        let problem = "is a Parquet file, and this build has no reader for it";
        Err(Error::input(&self.path, problem, "build with the feature parquet, as is the default, or give a CSV file"))
    }

    fn raw(&self) -> Fallible<Raw> {
        Ok(match &self.held {
            Held::Memory(bytes) => Raw::Memory(Cursor::new(bytes.clone())),
            Held::File(_) => {
                let file = File::open(&self.path).map_err(|e| Error::io(&self.path, "read the data", e))?;
                self.check_stamp(&file)?;
                Raw::File(file)
            }
        })
    }

    /// Digest of the bytes on the disk.
    pub(super) fn digest(&self) -> Fallible<u128> {
        let packed = Source { path: self.path.clone(), packing: Packing::Plain, held: self.held.clone() };
        let mut reader = packed.reader(true)?;
        let mut buffer = vec![0; 1 << 20];
        while reader.read(&mut buffer)? == buffer.len() {}
        Ok(reader.finish()?.unwrap_or_default())
    }

    /// Refuses a file that is not the one that was opened.
    fn check_stamp(&self, file: &File) -> Fallible<()> {
        let Held::File(stamp) = &self.held else { return Ok(()) };
        let now = file.metadata().map_err(|e| Error::io(&self.path, "read the data", e))?;
        if Stamp::of(&now) == *stamp { Ok(()) } else { Err(self.changed()) }
    }

    /// Packed bytes that are not what they should be.
    fn unreadable(&self, error: &std::io::Error) -> Error {
        let cure = "pack it again, or give the plain file";
        Error::input(&self.path, format!("cannot be unpacked ({error})"), cure)
    }

    fn changed(&self) -> Error {
        Error::input(&self.path, "changed while it was read", "run again when nothing writes to it any more")
    }
}

/// One pass over a source.
pub(super) struct SourceReader<'a> {
    source: &'a Source,
    unpacked: Unpacked,
}

enum Unpacked {
    Plain(Tap),
    Gzip(Box<MultiGzDecoder<BufReader<Tap>>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<Tap>>>),
    /// Read here and there, so that its bytes are digested afterwards.
    #[cfg(feature = "parquet")]
    Parquet {
        text: Box<ParquetText>,
        file: Option<File>,
        digest: bool,
    },
}

impl SourceReader<'_> {
    /// Fills as much of the buffer as there is; less only at the end.
    pub(super) fn read(&mut self, mut buffer: &mut [u8]) -> Fallible<usize> {
        let mut filled = 0;
        while !buffer.is_empty() {
            let read = match &mut self.unpacked {
                Unpacked::Plain(tap) => tap.read(buffer),
                Unpacked::Gzip(decoder) => decoder.read(buffer),
                Unpacked::Zstd(decoder) => decoder.read(buffer),
                #[cfg(feature = "parquet")]
                Unpacked::Parquet { text, .. } => text.read(buffer),
            };
            match read {
                Ok(0) => break,
                Ok(count) => {
                    filled += count;
                    buffer = &mut buffer[count..];
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failed(e)),
            }
        }
        Ok(filled)
    }

    /// Bytes read from the disk so far.
    pub(super) fn raw_bytes(&self) -> u64 {
        match &self.unpacked {
            Unpacked::Plain(tap) => tap.count,
            Unpacked::Gzip(decoder) => decoder.get_ref().get_ref().count,
            Unpacked::Zstd(decoder) => decoder.get_ref().get_ref().count,
            #[cfg(feature = "parquet")]
            Unpacked::Parquet { text, .. } => text.raw_bytes(),
        }
    }

    /// The places of the columns whose declared type is a floating-point number; a file of texts declares none.
    pub(super) fn floating(&self) -> Vec<usize> {
        match &self.unpacked {
            Unpacked::Plain(_) | Unpacked::Gzip(_) | Unpacked::Zstd(_) => Vec::new(),
            #[cfg(feature = "parquet")]
            Unpacked::Parquet { text, .. } => text.floating(),
        }
    }

    /// Ends a pass that read everything: refuses a file that changed meanwhile, and gives the digest asked for.
    pub(super) fn finish(self) -> Fallible<Option<u128>> {
        let mut tap = match self.unpacked {
            Unpacked::Plain(tap) => tap,
            Unpacked::Gzip(decoder) => decoder.into_inner().into_inner(),
            Unpacked::Zstd(decoder) => decoder.finish().into_inner(),
            #[cfg(feature = "parquet")]
            Unpacked::Parquet { file, digest, .. } => {
                file.map_or(Ok(()), |file| self.source.check_stamp(&file))?;
                return digest.then(|| self.source.digest()).transpose();
            }
        };
        if let Raw::File(file) = &tap.raw {
            self.source.check_stamp(file)?;
            if tap.count != self.source.size() {
                return Err(self.source.changed());
            }
        }
        Ok(tap.digest.take().map(|digest| digest.digest128()))
    }

    fn failed(&self, error: std::io::Error) -> Error {
        let path = self.source.path();
        if self.source.packing == Packing::Plain {
            return Error::io(path, "read the data", error);
        }
        self.source.unreadable(&error)
    }
}

/// Bytes on their way from the disk, counted and perhaps digested.
struct Tap {
    raw: Raw,
    count: u64,
    digest: Option<Box<Xxh3>>,
}

enum Raw {
    File(File),
    Memory(Cursor<Arc<[u8]>>),
}

impl Read for Tap {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = match &mut self.raw {
            Raw::File(file) => file.read(buffer)?,
            Raw::Memory(bytes) => bytes.read(buffer)?,
        };
        self.count += count as u64;
        if let Some(digest) = &mut self.digest {
            digest.update(&buffer[..count]);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_follows_from_the_first_bytes_and_the_name() {
        for (start, name, packing) in [
            (&b"PAR1\x15"[..], "a.parquet", Packing::Parquet),
            (b"PAR1\x15", "a.csv", Packing::Parquet),
            (b"PAR1\x15", "stdin", Packing::Parquet),
            (b"PAR1,", "a.PARQUET", Packing::Parquet),
            (b"PAR1", "a.parquet", Packing::Parquet),
            (b"PAR1,", "a.csv", Packing::Plain),
            (b"PAR1\n", "a.csv", Packing::Plain),
            (b"PAR1\r", "a", Packing::Plain),
            (b"PAR1x", "a.csv", Packing::Plain),
            (b"PAR1", "a.csv", Packing::Plain),
            (b"x,y\n1", "a.parquet", Packing::Plain),
            (b"\x1f\x8b\x08\0\0", "a.csv", Packing::Gzip),
            (b"\x28\xb5\x2f\xfd\0", "a.csv", Packing::Zstd),
        ] {
            assert_eq!(Packing::of(start, Path::new(name)), packing, "{start:?} {name}");
        }
    }
}
