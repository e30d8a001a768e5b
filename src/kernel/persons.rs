//! Rows by person: what the rows of a person add is averaged, and clipped as a whole.
//!
//! Persons with as many rows stand together, so that a pass over them is a pass over ordinary rows whose weight is one over that
//! number. Only the joint clip has to know which rows belong together: tile after tile, the same lanes hold the rows of one person.

pub(super) mod clips;
pub(super) mod pass;

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_128;

use super::{LANES, RawRow, Rows, RowsBuilder};
use crate::error::Fallible;
use crate::grid::Shape;

/// The number of a person for rows that belong to nobody.
pub const NOBODY: u32 = u32::MAX;

/// Encoded rows by person. No accessor hands out a row.
///
/// Rows that are no records, and those that belong to nobody, are left out: they contribute nothing.
pub struct Persons {
    groups: Vec<Group>,
    /// The group of each person, and the place there. Also of persons none of whose rows is a record.
    places: Vec<(u32, u32)>,
}

/// Persons with the same number of rows.
pub(crate) struct Group {
    layout: Layout,
    rows: Rows,
}

/// Where the rows of a group's persons stand.
///
/// A block of tiles holds [`LANES`] persons, and a tile one row of each. Where there are fewer persons than that, a person has several
/// lanes, or memory would be mostly padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    /// Rows of each person.
    each: usize,
    /// Persons.
    members: usize,
    /// Lanes of each person, a power of two.
    lanes: usize,
}

impl Layout {
    /// For so many persons with `each` rows.
    fn new(each: usize, members: usize) -> Self {
        let lanes = LANES.div_ceil(members.max(1)).next_power_of_two();
        // Few rows waste little, and one lane a person is fastest.
        Layout { each, members, lanes: if each <= FEW_ROWS { 1 } else { lanes } }
    }

    /// Tiles of a block.
    fn tiles(self) -> usize {
        self.each.div_ceil(self.lanes)
    }

    /// Persons of a block.
    fn persons(self) -> usize {
        LANES / self.lanes
    }

    fn blocks(self) -> usize {
        self.members.div_ceil(self.persons())
    }

    /// Where a row of the person at `place` stands.
    fn at(self, place: usize, row: usize) -> usize {
        let (block, person) = (place / self.persons(), place % self.persons());
        (block * self.tiles() + row / self.lanes) * LANES + person * self.lanes + row % self.lanes
    }

    /// The number of rows that there is room for.
    fn room(self) -> usize {
        self.blocks() * self.tiles() * LANES
    }

    /// Which rows stand where, if `row(place, number)` is a row of the person at a place.
    fn filled(self, row: impl Fn(usize, usize) -> usize) -> Vec<usize> {
        let mut chosen = vec![usize::MAX; self.room()];
        for place in 0..self.members {
            (0..self.each).for_each(|number| chosen[self.at(place, number)] = row(place, number));
        }
        chosen
    }
}

/// With more rows a person's multipliers are taken finer than the grid, and one lane for each person is a waste if there are few.
const FEW_ROWS: usize = 32;

impl Persons {
    /// Brings the rows of each person together.
    ///
    /// Row `i` is one of person `person_of[i]`, a number below the number of persons, or [`NOBODY`]'s. A person with more than
    /// `max_rows` rows keeps that many, those whose encodings have the least digests.
    ///
    /// # Privacy
    /// What is kept of a person is a function of that person's rows alone, in any order. Numbers of persons decide nothing but where a
    /// person stands.
    pub fn gather(rows: Rows, person_of: &[u32], max_rows: u32) -> Persons {
        let len = count(person_of);
        Persons::gather_all(rows, person_of, len, max_rows)
    }

    /// [`Persons::gather`] of `len` persons, of whom the last ones may have no row here.
    pub(crate) fn gather_all(rows: Rows, person_of: &[u32], len: usize, max_rows: u32) -> Persons {
        let mut rows_of = lists(&rows, person_of, len);
        rows_of.iter_mut().for_each(|own| keep_least(&rows, own, max_rows as usize));
        Persons::of_lists(&rows, &rows_of)
    }

    /// [`Persons::gather`] in an order that follows from what rows are, and neither from where they stood nor from numbers of persons.
    pub(crate) fn gather_sorted(rows: Rows, person_of: &[u32], max_rows: u32) -> Persons {
        let mut rows_of = lists(&rows, person_of, count(person_of));
        let packed = |row: usize| {
            let mut bytes = Vec::new();
            rows.pack_row(row, &mut bytes);
            bytes
        };
        let sorted = |own: &mut Vec<usize>| {
            keep_least(&rows, own, max_rows as usize);
            let mut keyed: Vec<(Vec<u8>, usize)> = own.iter().map(|&row| (packed(row), row)).collect();
            keyed.sort_unstable();
            *own = keyed.iter().map(|&(_, row)| row).collect();
            keyed.into_iter().flat_map(|(bytes, _)| bytes).collect::<Vec<u8>>()
        };
        let mut keyed: Vec<(Vec<u8>, Vec<usize>)> =
            rows_of.iter_mut().map(|own| (sorted(own), std::mem::take(own))).collect();
        keyed.sort_unstable();
        let rows_of: Vec<Vec<usize>> = keyed.into_iter().map(|(_, own)| own).collect();
        Persons::of_lists(&rows, &rows_of)
    }

    /// Persons with the rows of the given numbers.
    fn of_lists(rows: &Rows, rows_of: &[Vec<usize>]) -> Persons {
        let mut by_number: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for (person, own) in rows_of.iter().enumerate() {
            by_number.entry(own.len()).or_default().push(person as u32);
        }
        let mut places = vec![(0, 0); rows_of.len()];
        let mut groups = Vec::with_capacity(by_number.len());
        for (number, (each, members)) in by_number.into_iter().enumerate() {
            members.iter().zip(0..).for_each(|(&person, place)| places[person as usize] = (number as u32, place));
            let layout = Layout::new(each, members.len());
            let chosen = layout.filled(|place, row| rows_of[members[place] as usize][row]);
            groups.push(Group { layout, rows: rows.subset(&chosen) });
        }
        Persons { groups, places }.or_none_of(rows)
    }

    /// A group without persons where there is none, so that columns and the integer of 1.0 are known.
    fn or_none_of(mut self, rows: &Rows) -> Self {
        if self.groups.is_empty() {
            self.groups.push(Group { layout: Layout::new(1, 0), rows: rows.subset(&[]) });
        }
        self
    }

    /// Number of persons, those included none of whose rows is a record. Private under add-remove.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no person at all.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// For each number of rows that persons have, how many do; for the custodian alone.
    pub fn sizes(&self) -> impl Iterator<Item = (usize, usize)> {
        self.groups.iter().map(|group| (group.layout.each, group.layout.members))
    }

    /// The columns.
    pub fn shape(&self) -> &Shape {
        self.first().shape()
    }

    /// The integer that stands for 1.0.
    pub fn one(&self) -> i16 {
        self.first().one()
    }

    fn first(&self) -> &Rows {
        // There is one: see `or_none_of`.
        &self.groups[0].rows
    }

    /// Each group of persons: the number of rows that each of them has, and their rows.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (usize, &Rows)> {
        self.groups.iter().map(|group| (group.layout.each, &group.rows))
    }

    /// The persons of each group, in parts that take about `bytes` bytes: the rows of a person, whose they are, and the rows, laid out
    /// as those of so many persons are.
    pub(crate) fn cut(&self, bytes: usize, mut take: impl FnMut(usize, &[u32], &Rows) -> Fallible<()>) -> Fallible<()> {
        let mut members: Vec<Vec<u32>> = self.groups.iter().map(|group| vec![NOBODY; group.layout.members]).collect();
        for (&(group, place), person) in self.places.iter().zip(0..) {
            members[group as usize][place as usize] = person;
        }
        let tile = LANES * Rows::packed_row(self.shape());
        for (Group { layout, rows }, members) in self.groups.iter().zip(&members) {
            let blocks = (bytes / (layout.tiles() * tile).max(LANES * size_of::<u64>())).max(1);
            let most = blocks.saturating_mul(layout.persons());
            if members.len() <= most {
                take(layout.each, members, rows)?;
                continue;
            }
            for (part, members) in members.chunks(most).enumerate() {
                let here = Layout::new(layout.each, members.len());
                let chosen = here.filled(|place, row| layout.at(part * most + place, row));
                take(layout.each, members, &rows.subset(&chosen))?;
            }
        }
        Ok(())
    }

    /// Persons whose rows are laid out already: for each group the rows of a person, persons and rows. They are numbered as they stand;
    /// `none` is what there is where no group is.
    pub(crate) fn of_groups(groups: Vec<(usize, usize, Rows)>, none: impl FnOnce() -> Persons) -> Persons {
        if groups.is_empty() {
            return none();
        }
        let places = groups
            .iter()
            .zip(0..)
            .flat_map(|(&(_, members, _), group)| (0..members as u32).map(move |place| (group, place)));
        let places = places.collect();
        let group = |(each, members, rows)| Group { layout: Layout::new(each, members), rows };
        Persons { groups: groups.into_iter().map(group).collect(), places }
    }

    /// The rows of each group, for their memory to be used again.
    pub(crate) fn into_rows(self) -> impl Iterator<Item = Rows> {
        self.groups.into_iter().map(|group| group.rows)
    }

    /// The persons with other rows in the place of theirs.
    ///
    /// `recode` must make each row of its old self alone.
    pub(crate) fn recoded(self, recode: impl Fn(Rows) -> Rows) -> Persons {
        let again = |group: Group| Group { rows: recode(group.rows), ..group };
        Persons { groups: self.groups.into_iter().map(again).collect(), ..self }
    }

    /// Copies of the persons with the given numbers, which are ascending; they are numbered anew, in their order.
    pub(crate) fn subset(&self, chosen: &[usize]) -> Persons {
        self.parts(chosen, |_, _, _| ()).0
    }

    /// Chosen persons, and what is made of each group that has some: its number, their places there, and how they are laid out.
    fn parts<T>(&self, chosen: &[usize], make: impl Fn(usize, &[u32], Layout) -> T) -> (Persons, Vec<T>) {
        // Of each group the new numbers and the old places.
        let mut parts: Vec<Vec<(usize, u32)>> = vec![Vec::new(); self.groups.len()];
        let mut len = 0;
        for &person in chosen {
            if let Some(&(group, place)) = self.places.get(person) {
                parts[group as usize].push((len, place));
                len += 1;
            }
        }
        let mut places = vec![(0, 0); len];
        let (mut groups, mut made) = (Vec::new(), Vec::new());
        for (number, part) in parts.iter().enumerate().filter(|(_, part)| !part.is_empty()) {
            let old = &self.groups[number];
            let layout = Layout::new(old.layout.each, part.len());
            part.iter().zip(0..).for_each(|(&(person, _), place)| places[person] = (groups.len() as u32, place));
            let from: Vec<u32> = part.iter().map(|&(_, place)| place).collect();
            made.push(make(number, &from, layout));
            let chosen = layout.filled(|place, row| old.layout.at(from[place] as usize, row));
            groups.push(Group { layout, rows: old.rows.subset(&chosen) });
        }
        (Persons { groups, places }.or_none_of(self.first()), made)
    }
}

/// Tiles that persons with `each` rows take; `None` where that is too many to count.
pub(crate) fn person_tiles(each: usize, members: usize) -> Option<usize> {
    let layout = Layout::new(each, members);
    layout.blocks().checked_mul(layout.tiles())
}

/// Where the rows of persons with `each` rows stand in their tiles: whose each of them is, by the place of the person.
pub(crate) fn person_lanes(each: usize, members: usize) -> Vec<Option<usize>> {
    let layout = Layout::new(each, members);
    let mut whose = vec![None; layout.room()];
    for place in 0..members {
        (0..each).for_each(|row| whose[layout.at(place, row)] = Some(place));
    }
    whose
}

/// Persons that are numbered.
fn count(person_of: &[u32]) -> usize {
    person_of.iter().filter(|&&person| person != NOBODY).max().map_or(0, |&most| most as usize + 1)
}

/// The records of each of `len` persons.
fn lists(rows: &Rows, person_of: &[u32], len: usize) -> Vec<Vec<usize>> {
    let mut rows_of: Vec<Vec<usize>> = vec![Vec::new(); len];
    for (row, &person) in person_of.iter().enumerate().take(rows.len()) {
        if rows.norms[row] > 0
            && let Some(own) = rows_of.get_mut(person as usize)
        {
            own.push(row);
        }
    }
    rows_of
}

/// Keeps the rows with the least digests.
fn keep_least(rows: &Rows, own: &mut Vec<usize>, most: usize) {
    if own.len() <= most {
        return;
    }
    let mut bytes = Vec::new();
    let mut digest = |index: usize| {
        bytes.clear();
        rows.pack_row(index, &mut bytes);
        row_digest(&bytes)
    };
    let mut keyed: Vec<(u128, usize)> = own.iter().map(|&index| (digest(index), index)).collect();
    keyed.sort_unstable();
    keyed.truncate(most);
    *own = keyed.into_iter().map(|(_, index)| index).collect();
}

/// Of rows beyond `max_rows` those with the least digests are kept; `packed` is what [`Rows::pack_row`] wrote.
pub(crate) fn row_digest(packed: &[u8]) -> u128 {
    xxh3_128(packed)
}

impl Rows {
    /// Bytes that [`Rows::pack_row`] writes for a row.
    pub(crate) fn packed_row(shape: &Shape) -> usize {
        2 * (shape.numeric() + 1 + shape.categorical())
    }

    /// Appends a row: numeric values, label, codes. Nothing, and `false`, where it is no record.
    pub(crate) fn pack_row(&self, index: usize, out: &mut Vec<u8>) -> bool {
        let (tile, lane) = (index / LANES, index % LANES);
        if self.norms.get(index).is_none_or(|&norm| norm == 0) {
            return false;
        }
        let numeric = self.columns(tile).iter().map(|column| column[lane]);
        numeric.chain([self.labels[index]]).for_each(|q| out.extend_from_slice(&q.to_le_bytes()));
        let codes = self.code_tile(tile).as_chunks::<LANES>().0.iter().map(|column| column[lane]);
        codes.for_each(|code| out.extend_from_slice(&code.to_le_bytes()));
        true
    }
}

impl RowsBuilder {
    /// Appends a row that [`Rows::pack_row`] wrote.
    pub(crate) fn push_packed(&mut self, packed: &[u8], row: &mut RawRow) {
        let mut pairs = packed.as_chunks::<2>().0.iter();
        row.numeric.iter_mut().zip(&mut pairs).for_each(|(q, &pair)| *q = i16::from_le_bytes(pair));
        row.label = pairs.next().map_or(0, |&pair| i16::from_le_bytes(pair));
        row.codes.iter_mut().zip(pairs).for_each(|(code, &pair)| *code = u16::from_le_bytes(pair));
        row.null = false;
        self.push(row);
    }
}

#[cfg(test)]
mod tests;
