//! Where the rows behind the gate are: in memory, in a file that is read through for every sum, or on other machines.
//!
//! A query that is a sum over rows is asked of one part of the rows after the other, and the integers that come back are
//! added. Integer addition has no order, so the parts, and where they are, change no bit of the sum.

use std::ops::AddAssign;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::pass::{Clip, FeatureGradient, Pass};
use super::remote::RemoteRows;
use crate::error::{Error, Fallible};
use crate::grid::{IntegerMap, Shape};
use crate::kernel::{Caps, Rows, RowsBuilder};
use crate::preprocess::{RowStream, Standardiser};

/// Encoded rows, wherever they are.
pub enum Store {
    /// All in memory.
    Whole(Rows),
    /// In a file; a part at a time is in memory.
    Streamed(RowStream),
    /// With workers that answer with sums over their part.
    Remote(RemoteRows),
}

impl From<Rows> for Store {
    fn from(rows: Rows) -> Self {
        Store::Whole(rows)
    }
}

impl From<RowStream> for Store {
    fn from(rows: RowStream) -> Self {
        Store::Streamed(rows)
    }
}

impl From<RemoteRows> for Store {
    fn from(rows: RemoteRows) -> Self {
        Store::Remote(rows)
    }
}

impl Store {
    pub(in crate::private) fn shape(&self) -> &Shape {
        match self {
            Store::Whole(rows) => rows.shape(),
            Store::Streamed(rows) => rows.shape(),
            Store::Remote(rows) => rows.shape(),
        }
    }

    pub(in crate::private) fn unit(&self) -> i16 {
        match self {
            Store::Whole(rows) => rows.unit(),
            Store::Streamed(rows) => rows.unit(),
            Store::Remote(rows) => rows.unit(),
        }
    }

    pub(in crate::private) fn len(&self) -> u64 {
        match self {
            Store::Whole(rows) => rows.len() as u64,
            Store::Streamed(rows) => rows.rows(),
            Store::Remote(rows) => rows.len(),
        }
    }

    /// What tells the rows from others; `None` for rows in a file, which are told by that.
    pub(in crate::private) fn digest(&self) -> Option<String> {
        match self {
            Store::Whole(rows) => Some(digest_of(rows)),
            Store::Streamed(_) => None,
            Store::Remote(rows) => Some(rows.digest()),
        }
    }

    /// The rows, where a query needs all of them at hand.
    ///
    /// # Errors
    /// When they are elsewhere; that should have been refused before anything was charged, see
    /// [`crate::private::Planned::is_streamable`].
    pub(in crate::private) fn whole(&self) -> Fallible<&Rows> {
        match self {
            Store::Whole(rows) => Ok(rows),
            Store::Streamed(_) | Store::Remote(_) => Err(not_at_hand()),
        }
    }

    /// What a pass over all rows makes of them.
    ///
    /// # Errors
    /// When a part cannot be read or does not answer; no sum leaves here then.
    pub(in crate::private) fn sum(&self, pass: &Pass) -> Fallible<Vec<i128>> {
        match self {
            Store::Whole(rows) => Ok(pass.over(rows)),
            Store::Streamed(rows) => over_parts(rows, |part| pass.over(part)),
            Store::Remote(rows) => rows.sum(pass),
        }
    }

    /// Re-encodes every row.
    ///
    /// # Errors
    /// When rows in a file cannot be read or written again.
    pub(in crate::private) fn recoded(self, map: &Standardiser) -> Fallible<Self> {
        Ok(match self {
            Store::Whole(rows) => Store::Whole(map.recode(rows)),
            Store::Streamed(rows) => Store::Streamed(map.recode_stream(rows)?),
            Store::Remote(rows) => Store::Remote(rows.recoded(map)),
        })
    }
}

/// Of all values, and how many rows they are of.
fn digest_of(rows: &Rows) -> String {
    let bytes = rows.tile_bytes(0..rows.tile_count());
    let present: &[u8] = bytemuck::cast_slice(&bytes.present);
    let sum = bytes.parts.into_iter().chain([present]).fold(0, |seed, part| xxh3_64_with_seed(part, seed));
    format!("{} rows {sum:016x}", rows.len())
}

/// Adds up the vectors that `partial` makes of the parts; all have the same length.
fn over_parts<T: Copy + AddAssign>(rows: &RowStream, mut partial: impl FnMut(&Rows) -> Vec<T>) -> Fallible<Vec<T>> {
    let mut sum: Option<Vec<T>> = None;
    rows.each_part(|part| {
        let more = partial(part);
        match &mut sum {
            None => sum = Some(more),
            Some(sum) => sum.iter_mut().zip(more).for_each(|(total, entry)| *total += entry),
        }
        Ok(())
    })?;
    Ok(sum.unwrap_or_else(|| partial(&RowsBuilder::new(rows.shape().clone()).build())))
}

pub(in crate::private) fn not_at_hand() -> Error {
    Error::refused(
        "this needs all rows in the memory of one machine",
        "leave out --memory-limit, or use --algorithm whitened or dp-gd",
    )
}

/// The clip of every row for one bound.
pub(in crate::private) struct Clips {
    clip: Clip,
    /// Those of each part, where they are kept between passes.
    kept: Option<Vec<Caps>>,
}

impl Clips {
    /// Decides the clips, and keeps them where two bytes a row are no burden; the parts are the same in every pass.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub(in crate::private) fn new(rows: &Store, map: Option<IntegerMap>, bound: u64) -> Fallible<Self> {
        let mut clips = Clips { clip: Clip { bound, map }, kept: None };
        let mut kept = Vec::new();
        match rows {
            Store::Whole(rows) => kept.push(clips.clip.of(rows)),
            Store::Streamed(rows) if rows.can_keep_clips() => rows.each_part(|part| {
                kept.push(clips.clip.of(part));
                Ok(())
            })?,
            // Workers keep their own.
            Store::Streamed(_) | Store::Remote(_) => return Ok(clips),
        }
        clips.kept = Some(kept);
        Ok(clips)
    }

    pub(in crate::private) fn bound(&self) -> u64 {
        self.clip.bound
    }

    pub(in crate::private) fn map(&self) -> Option<&IntegerMap> {
        self.clip.map.as_ref()
    }

    /// The clipped gradient sum over all rows.
    ///
    /// # Errors
    /// When rows in a file or on other machines cannot be read.
    pub(in crate::private) fn sum(&self, rows: &Store, gradient: &FeatureGradient) -> Fallible<Vec<i64>> {
        let mut kept = self.kept.iter().flatten();
        let mut over = |part: &Rows| match kept.next() {
            Some(caps) => gradient.over(part, caps),
            None => gradient.over(part, &self.clip.of(part)),
        };
        match rows {
            Store::Whole(rows) => Ok(over(rows)),
            Store::Streamed(rows) => over_parts(rows, over),
            Store::Remote(rows) => rows.clipped_sum(&self.clip, gradient),
        }
    }

    /// The clips of rows in memory.
    ///
    /// # Errors
    /// When rows are in a file.
    pub(in crate::private) fn whole(&self) -> Fallible<&Caps> {
        self.kept.as_ref().and_then(|kept| kept.first()).ok_or_else(not_at_hand)
    }
}
