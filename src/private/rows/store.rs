//! Where the rows behind the gate are: in memory, in a file that is read through for every sum, or on other machines.
//!
//! A query that is a sum over rows is asked of one part of the rows after the other, and the integers that come back are
//! added. Integer addition has no order, so the parts, and where they are, change no bit of the sum.

use std::num::NonZeroU32;
use std::ops::AddAssign;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::pass::{Clip, FeatureGradient, Pass};
use super::refused::{no_rows_alone, no_weights, not_at_hand};
use super::remote::RemoteRows;
use crate::error::{Error, Fallible};
use crate::grid::{IntegerMap, Shape};
use crate::kernel::{Caps, Part, PersonClips, Persons, Rows, RowsBuilder, WeightedRows};
use crate::noise::Choice;
use crate::preprocess::{PersonStream, Recoding, RowStream};

/// Encoded rows, wherever they are.
pub enum Store {
    /// All in memory.
    Whole(Rows),
    /// In a file; a part at a time is in memory.
    Streamed(RowStream),
    /// With workers that answer with sums over their part.
    Remote(RemoteRows),
    /// All in memory, by person: a person is the unit of privacy.
    Persons(Persons),
    /// All in memory, by weight.
    Weighted(WeightedRows),
    /// In a file, by person; a part of whole persons at a time is in memory.
    StreamedPersons(PersonStream),
}

impl From<PersonStream> for Store {
    fn from(persons: PersonStream) -> Self {
        Store::StreamedPersons(persons)
    }
}

impl From<Persons> for Store {
    fn from(persons: Persons) -> Self {
        Store::Persons(persons)
    }
}

impl From<WeightedRows> for Store {
    fn from(rows: WeightedRows) -> Self {
        Store::Weighted(rows)
    }
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
            Store::Weighted(rows) => rows.shape(),
            Store::Persons(persons) => persons.shape(),
            Store::StreamedPersons(persons) => persons.shape(),
        }
    }

    pub(in crate::private) fn one(&self) -> i16 {
        match self {
            Store::Whole(rows) => rows.one(),
            Store::Streamed(rows) => rows.one(),
            Store::Remote(rows) => rows.one(),
            Store::Weighted(rows) => rows.one(),
            Store::Persons(persons) => persons.one(),
            Store::StreamedPersons(persons) => persons.one(),
        }
    }

    /// Whether they are brought together by person.
    fn of_persons(&self) -> bool {
        match self {
            Store::Whole(_) | Store::Streamed(_) | Store::Weighted(_) => false,
            Store::Remote(rows) => rows.of_persons(),
            Store::Persons(_) | Store::StreamedPersons(_) => true,
        }
    }

    /// Number of rows, or of persons where they are the unit.
    pub(in crate::private) fn len(&self) -> u64 {
        match self {
            Store::Whole(rows) => rows.len() as u64,
            Store::Streamed(rows) => rows.rows(),
            Store::Remote(rows) => rows.len(),
            Store::Weighted(rows) => rows.len() as u64,
            Store::Persons(persons) => persons.len() as u64,
            Store::StreamedPersons(persons) => persons.persons(),
        }
    }

    /// What tells the rows from others; `None` for rows in a file, which are told by that.
    pub(in crate::private) fn digest(&self) -> Option<String> {
        match self {
            Store::Whole(rows) => Some(digest_of(rows)),
            Store::Streamed(_) | Store::StreamedPersons(_) => None,
            Store::Remote(rows) => Some(rows.digest()),
            Store::Weighted(rows) => {
                let parts = rows.parts().map(|Part { weight, offset, rows }| match offset {
                    0.0 => format!("{weight} of {}", digest_of(rows)),
                    offset => format!("{weight} at {offset:?} of {}", digest_of(rows)),
                });
                Some(format!("{} rows by weight: {}", rows.len(), parts.collect::<Vec<_>>().join(", ")))
            }
            Store::Persons(persons) => {
                let groups = persons.groups().map(|(each, rows)| format!("{each} of {}", digest_of(rows)));
                Some(format!("{} persons: {}", persons.len(), groups.collect::<Vec<_>>().join(", ")))
            }
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
            Store::Streamed(_) | Store::Remote(_) | Store::StreamedPersons(_) => Err(not_at_hand()),
            Store::Persons(_) => Err(no_rows_alone()),
            Store::Weighted(_) => Err(no_weights()),
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
            Store::Weighted(rows) => pass.over_weighted(rows),
            Store::Persons(persons) => pass.over_persons(persons),
            Store::StreamedPersons(persons) => over_person_parts(persons, |part| pass.over_persons(part)),
        }
    }

    /// Re-encodes every row.
    ///
    /// # Errors
    /// When rows in a file cannot be read or written again.
    pub(in crate::private) fn recoded(self, map: &Recoding) -> Fallible<Self> {
        Ok(match self {
            Store::Whole(rows) => Store::Whole(map.recode(rows)),
            Store::Streamed(rows) => Store::Streamed(map.recode_stream(rows)?),
            Store::Remote(rows) => Store::Remote(rows.recoded(map)),
            Store::Weighted(rows) => Store::Weighted(rows.recoded(|rows| map.recode(rows))),
            Store::Persons(persons) => Store::Persons(persons.recoded(|rows| map.recode(rows))),
            Store::StreamedPersons(persons) => Store::StreamedPersons(map.recode_persons(persons)?),
        })
    }
}

impl Store {
    /// The rows, or persons, that are chosen, and the rest; both wherever they were.
    ///
    /// # Errors
    /// When rows in a file cannot be read or written again.
    pub(in crate::private) fn divided(self, chosen: Choice) -> Fallible<(Self, Self)> {
        let all = self.len() as usize;
        let both = |chosen: Vec<usize>| {
            let mut left = chosen.iter().copied().peekable();
            let rest: Vec<usize> = (0..all).filter(|row| left.next_if_eq(row).is_none()).collect();
            [chosen, rest]
        };
        Ok(match self {
            Store::Whole(rows) => {
                let [chosen, rest] = both(chosen.positions(all).collect()).map(|of| rows.subset(&of));
                (chosen.into(), rest.into())
            }
            Store::Weighted(_) => return Err(no_weights()),
            Store::Persons(persons) => {
                let [chosen, rest] = both(chosen.positions(all).collect()).map(|of| persons.subset(&of));
                (chosen.into(), rest.into())
            }
            Store::Streamed(rows) => {
                let (chosen, rest) = rows.divided(chosen.positions(all).map(|row| row as u64))?;
                (chosen.into(), rest.into())
            }
            Store::StreamedPersons(persons) => {
                let (chosen, rest) = persons.divided(chosen.positions(all).map(|person| person as u64))?;
                (chosen.into(), rest.into())
            }
            Store::Remote(rows) => {
                let (chosen, rest) = rows.divided(chosen);
                (chosen.into(), rest.into())
            }
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

/// Adds up the vectors that `partial` makes of the parts; all have the same length.
fn over_person_parts(
    persons: &PersonStream,
    mut partial: impl FnMut(&Persons) -> Fallible<Vec<i128>>,
) -> Fallible<Vec<i128>> {
    let mut sum = partial(&persons.nobody())?;
    persons.each_part(|part| {
        sum.iter_mut().zip(partial(part)?).for_each(|(total, entry)| *total += entry);
        Ok(())
    })?;
    Ok(sum)
}

/// Bits of a sum that are mapped apart from those above.
const LOW_BITS: u32 = 40;

/// The clip of every row, or of every person, for one clip norm.
pub(in crate::private) struct Clips {
    clip: Clip,
    kept: Kept,
}

/// What is kept of clips between passes.
enum Kept {
    /// Nothing: each pass decides them again, or workers keep their own.
    Nothing,
    /// Those of the rows of each part, or of each weight.
    Rows(Vec<Caps>),
    /// Those of the persons of each part.
    Persons(Vec<PersonClips>),
}

impl Clips {
    /// Decides the clips, and keeps them where two bytes a row are no burden; the parts are the same in every pass.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub(in crate::private) fn new(
        rows: &Store,
        map: Option<IntegerMap>,
        clip_steps: u64,
        typical_rows: Option<NonZeroU32>,
    ) -> Fallible<Self> {
        if let Some(map) = &map {
            if !map.fits(rows.shape()) {
                return Err(Error::refused("the map is one of other columns", "make it for the columns of the rows"));
            }
            if map.blocks().is_some_and(|(numbers, _)| numbers.nrows() > 0) && rows.of_persons() {
                return Err(no_rows_alone());
            }
        }
        let clip = Clip { clip_steps, map, typical_rows };
        let kept = match rows {
            Store::Whole(rows) => Kept::Rows(vec![clip.of(rows)]),
            Store::Streamed(rows) if rows.can_keep_clips() => {
                let mut kept = Vec::new();
                rows.each_part(|part| {
                    kept.push(clip.of(part));
                    Ok(())
                })?;
                Kept::Rows(kept)
            }
            Store::Streamed(_) | Store::Remote(_) => Kept::Nothing,
            Store::Weighted(rows) => Kept::Rows(clip.of_weighted(rows)),
            Store::Persons(persons) => Kept::Persons(vec![clip.of_persons(persons)]),
            Store::StreamedPersons(persons) if persons.can_keep_clips() => {
                let mut kept = Vec::new();
                persons.each_part(|part| {
                    kept.push(clip.of_persons(part));
                    Ok(())
                })?;
                Kept::Persons(kept)
            }
            Store::StreamedPersons(_) => Kept::Nothing,
        };
        Ok(Clips { clip, kept })
    }

    pub(in crate::private) fn clip_steps(&self) -> u64 {
        self.clip.clip_steps
    }

    pub(in crate::private) fn map(&self) -> Option<&IntegerMap> {
        self.clip.map.as_ref()
    }

    /// The clipped gradient sum over all rows or persons, in the coordinates of the map.
    ///
    /// # Errors
    /// When rows in a file or on other machines cannot be read.
    pub(in crate::private) fn sum(&self, rows: &Store, gradient: &FeatureGradient) -> Fallible<Vec<i128>> {
        let mut kept = match &self.kept {
            Kept::Rows(kept) => kept.as_slice(),
            Kept::Nothing | Kept::Persons(_) => &[],
        }
        .iter();
        let mut over = |part: &Rows| match kept.next() {
            Some(caps) => gradient.over(part, caps),
            None => gradient.over(part, &self.clip.of(part)),
        };
        let mut kept_of_persons = match &self.kept {
            Kept::Persons(kept) => kept.as_slice(),
            Kept::Nothing | Kept::Rows(_) => &[],
        }
        .iter();
        let mut over_persons = |part: &Persons| match kept_of_persons.next() {
            Some(clips) => gradient.over_persons(part, clips),
            None => gradient.over_persons(part, &self.clip.of_persons(part)),
        };
        let sums = match rows {
            Store::Whole(rows) => over(rows),
            Store::Streamed(rows) => over_parts(rows, over)?,
            Store::Remote(rows) if rows.column().is_some() => return rows.clipped_person_sum(&self.clip, gradient),
            Store::Remote(rows) => rows.clipped_sum(&self.clip, gradient)?,
            Store::Weighted(rows) => {
                let caps = match &self.kept {
                    Kept::Rows(caps) => caps.as_slice(),
                    Kept::Nothing | Kept::Persons(_) => return Err(not_at_hand()),
                };
                return Ok(self.image_of_large(&gradient.over_weighted(rows, caps)));
            }
            Store::Persons(persons) => return Ok(over_persons(persons)),
            Store::StreamedPersons(persons) => {
                // Nobody has no clips that are kept.
                let none = persons.nobody();
                let mut sum = gradient.over_persons(&none, &self.clip.of_persons(&none));
                persons.each_part(|part| {
                    sum.iter_mut().zip(over_persons(part)).for_each(|(total, entry)| *total += entry);
                    Ok(())
                })?;
                return Ok(sum);
            }
        };
        Ok(self.image(&sums))
    }

    /// The clipped gradient sum over chosen rows or persons, by their numbers.
    ///
    /// # Errors
    /// When rows are in a file.
    pub(in crate::private) fn sampled_sum(
        &self,
        rows: &Store,
        gradient: &FeatureGradient,
        chosen: &[usize],
    ) -> Fallible<Vec<i128>> {
        match (rows, &self.kept) {
            (Store::Persons(persons), Kept::Persons(kept)) => {
                let clips = kept.first().ok_or_else(not_at_hand)?;
                let (sample, clips) = persons.sampled(clips, chosen);
                Ok(gradient.over_persons(&sample, &clips))
            }
            (_, Kept::Rows(kept)) => {
                let caps = kept.first().ok_or_else(not_at_hand)?;
                let (rows, caps) = caps.subset(rows.whole()?, chosen);
                Ok(self.image(&gradient.over(&rows, &caps)))
            }
            _ => Err(not_at_hand()),
        }
    }

    /// Sums over features as sums over coordinates of the iterate.
    fn image(&self, sums: &[i64]) -> Vec<i128> {
        match self.map() {
            None => sums.iter().map(|&sum| i128::from(sum)).collect(),
            Some(map) => sums.chunks_exact(map.features()).flat_map(|block| map.image(block)).collect(),
        }
    }

    /// Sums that may leave 64 bits, in the coordinates of the iterate: the map is linear, so each is cut into two that do not.
    fn image_of_large(&self, sums: &[i128]) -> Vec<i128> {
        if self.map().is_none() {
            return sums.to_vec();
        }
        let part = |of: &dyn Fn(i128) -> i128| self.image(&sums.iter().map(|&sum| of(sum) as i64).collect::<Vec<_>>());
        let (high, low) = (part(&|sum| sum >> LOW_BITS), part(&|sum| sum & ((1 << LOW_BITS) - 1)));
        high.into_iter().zip(low).map(|(high, low)| (high << LOW_BITS) + low).collect()
    }
}
