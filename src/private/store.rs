//! Where the rows behind the gate are: in memory, or in a file that is read through for every sum.
//!
//! A query that is a sum over rows is asked of one part of the rows after the other, and the integers that come back are
//! added. Integer addition has no order, so the parts, and where they are, change no bit of the sum.

use std::ops::AddAssign;

use crate::error::{Error, Fallible};
use crate::kernel::{Caps, IntegerMap, Rows, RowsBuilder, Shape};
use crate::preprocess::{RowStream, Standardiser};

/// Encoded rows, wherever they are.
pub enum Store {
    /// All in memory.
    Whole(Rows),
    /// In a file; a part at a time is in memory.
    Streamed(RowStream),
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

impl Store {
    pub(super) fn shape(&self) -> &Shape {
        match self {
            Store::Whole(rows) => rows.shape(),
            Store::Streamed(rows) => rows.shape(),
        }
    }

    pub(super) fn unit(&self) -> i16 {
        match self {
            Store::Whole(rows) => rows.unit(),
            Store::Streamed(rows) => rows.unit(),
        }
    }

    pub(super) fn len(&self) -> u64 {
        match self {
            Store::Whole(rows) => rows.len() as u64,
            Store::Streamed(rows) => rows.rows(),
        }
    }

    /// The rows, where a query needs all of them at hand.
    ///
    /// # Errors
    /// When they are in a file; that should have been refused before anything was charged, see
    /// [`super::Planned::is_sum`].
    pub(super) fn whole(&self) -> Fallible<&Rows> {
        match self {
            Store::Whole(rows) => Ok(rows),
            Store::Streamed(_) => Err(not_at_hand()),
        }
    }

    /// Adds up the vectors that `partial` makes of the parts; all have the same length.
    ///
    /// # Errors
    /// When a part cannot be read; no sum leaves here then.
    pub(super) fn sum<T: Copy + AddAssign>(&self, mut partial: impl FnMut(&Rows) -> Vec<T>) -> Fallible<Vec<T>> {
        let rows = match self {
            Store::Whole(rows) => return Ok(partial(rows)),
            Store::Streamed(rows) => rows,
        };
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

    /// Re-encodes every row.
    ///
    /// # Errors
    /// When rows in a file cannot be read or written again.
    pub(super) fn recoded(self, map: &Standardiser) -> Fallible<Self> {
        Ok(match self {
            Store::Whole(rows) => Store::Whole(map.recode(rows)),
            Store::Streamed(rows) => Store::Streamed(map.recode_stream(rows)?),
        })
    }
}

pub(super) fn not_at_hand() -> Error {
    Error::refused("this needs all rows in memory", "leave out --memory-limit, or use --algorithm whitened or dp-gd")
}

/// The clip of every row for one bound.
pub(super) struct Clips {
    bound: u64,
    map: Option<IntegerMap>,
    /// Those of each part, where they are kept between passes.
    kept: Option<Vec<Caps>>,
}

impl Clips {
    /// Decides the clips, and keeps them where two bytes a row are no burden; the parts are the same in every pass.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub(super) fn new(rows: &Store, map: Option<IntegerMap>, bound: u64) -> Fallible<Self> {
        let mut clips = Clips { bound, map, kept: None };
        let mut kept = Vec::new();
        match rows {
            Store::Whole(rows) => kept.push(clips.of(rows)),
            Store::Streamed(rows) if rows.can_keep_clips() => rows.each_part(|part| {
                kept.push(clips.of(part));
                Ok(())
            })?,
            Store::Streamed(_) => return Ok(clips),
        }
        clips.kept = Some(kept);
        Ok(clips)
    }

    fn of(&self, rows: &Rows) -> Caps {
        match &self.map {
            None => Caps::new(rows, self.bound),
            Some(map) => Caps::through(map, rows, self.bound),
        }
    }

    pub(super) fn bound(&self) -> u64 {
        self.bound
    }

    pub(super) fn map(&self) -> Option<&IntegerMap> {
        self.map.as_ref()
    }

    /// Adds up what `partial` makes of the parts and their clips.
    ///
    /// # Errors
    /// As [`Store::sum`].
    pub(super) fn sum(&self, rows: &Store, mut partial: impl FnMut(&Rows, &Caps) -> Vec<i64>) -> Fallible<Vec<i64>> {
        let mut kept = self.kept.iter().flatten();
        rows.sum(|part| match kept.next() {
            Some(caps) => partial(part, caps),
            None => partial(part, &self.of(part)),
        })
    }

    /// The clips of rows in memory.
    ///
    /// # Errors
    /// When rows are in a file.
    pub(super) fn whole(&self) -> Fallible<&Caps> {
        self.kept.as_ref().and_then(|kept| kept.first()).ok_or_else(not_at_hand)
    }
}
