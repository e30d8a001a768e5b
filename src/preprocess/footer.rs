//! The frame of a file of segments: its start, its footer, and what must fit before any segment is read.

use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::data::ReadAt;
use crate::error::{Error, Fallible};
use crate::grid::FULL_SCALE;
use crate::kernel::{LANES, person_tiles};

/// Format and version; other versions are not read.
pub(super) const FORMAT: [u8; 16] = *b"rhograd-rows/1\n\0";

/// What the numbers of a segment look like on the machine that wrote them.
const BYTE_ORDER: u32 = 0x0102_0304;

pub(super) const START_BYTES: usize = 64;
const END_BYTES: usize = 32;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Footer {
    pub numeric: usize,
    pub levels: Vec<u16>,
    #[serde(rename = "unit")]
    pub one: i16,
    pub rows: u64,
    pub tiles_per_segment: usize,
    pub checksums: Vec<u64>,
    /// Where segments are of persons, and `rows` counts those: for each segment the rows of a person, and the persons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persons: Option<Vec<(u32, u32)>>,
    pub note: serde_json::Value,
}

impl Footer {
    /// Bytes of one tile.
    fn tile_bytes(&self) -> Option<u64> {
        let columns = (self.numeric as u64).checked_add(self.levels.len() as u64)?.checked_add(1)?;
        columns.checked_mul(2 * LANES as u64)?.checked_add(size_of::<u32>() as u64)
    }

    /// Where each segment of persons begins behind the first one, and the last one ends; `None` where numbers do not fit each other.
    pub fn places(&self) -> Option<Vec<u64>> {
        let tile = self.tile_bytes()?;
        let segments = self.persons.as_deref().unwrap_or_default();
        let mut places = Vec::with_capacity(segments.len() + 1);
        let mut end = 0u64;
        places.push(end);
        for &(each, members) in segments {
            let tiles = person_tiles(each as usize, members as usize)? as u64;
            let bytes = tiles.checked_mul(tile)?.checked_add(u64::from(members) * size_of::<u64>() as u64)?;
            // No segment may be larger than memory can address either.
            usize::try_from(bytes).ok()?;
            end = end.checked_add(bytes)?;
            places.push(end);
        }
        Some(places)
    }
}

/// What a file begins with.
pub(super) fn start() -> [u8; START_BYTES] {
    let mut start = [0; START_BYTES];
    start[..16].copy_from_slice(&FORMAT);
    start[16..20].copy_from_slice(&BYTE_ORDER.to_ne_bytes());
    start
}

/// What a file ends with, behind a footer.
pub(super) fn end(footer: &[u8]) -> [u8; END_BYTES] {
    let mut end = [0; END_BYTES];
    end[..8].copy_from_slice(&(footer.len() as u64).to_le_bytes());
    end[8..16].copy_from_slice(&xxh3_64(footer).to_le_bytes());
    end[16..].copy_from_slice(&FORMAT);
    end
}

pub(super) fn foreign(path: &Path, problem: &str) -> Error {
    Error::input(path, format!("cannot be used: {problem}"), "delete it if it is still there, and run again")
}

/// Reads the footer and checks everything that can be checked without the segments.
pub(super) fn read_footer(file: &impl ReadAt, path: &Path, size: u64) -> Fallible<Footer> {
    let read = |buffer: &mut [u8], at| file.fill(buffer, at).map_err(|e| Error::io(path, "read the rows", e));
    let least = (START_BYTES + END_BYTES) as u64;
    if size < least {
        return Err(foreign(path, "it is cut off"));
    }
    let (mut begun, mut end) = ([0; START_BYTES], [0; END_BYTES]);
    read(&mut begun, 0)?;
    read(&mut end, size - END_BYTES as u64)?;
    if begun[..16] != FORMAT {
        return Err(foreign(path, "it has another format or version"));
    }
    if begun != start() {
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
    if fits != Some(size) || !(1..=FULL_SCALE).contains(&footer.one) {
        return Err(foreign(path, "its size does not fit its footer"));
    }
    Ok(footer)
}

/// Bytes of all segments; `None` where the numbers of a footer do not fit each other.
fn expected_size(footer: &Footer) -> Option<u64> {
    if let Some(persons) = &footer.persons {
        let members: u64 = persons.iter().map(|&(_, members)| u64::from(members)).sum();
        if footer.checksums.len() != persons.len() || footer.rows != members || footer.tiles_per_segment == 0 {
            return None;
        }
        return footer.places()?.last().copied();
    }
    let tiles = footer.rows.div_ceil(LANES as u64);
    let per_segment = u64::try_from(footer.tiles_per_segment).ok().filter(|&tiles| tiles > 0)?;
    if footer.checksums.len() as u64 != tiles.div_ceil(per_segment) {
        return None;
    }
    let tile = footer.tile_bytes()?;
    // No segment may be larger than memory can address either.
    usize::try_from(per_segment.checked_mul(tile)?).ok()?;
    tiles.checked_mul(tile)
}
