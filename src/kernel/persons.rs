//! Rows by person: what the rows of a person add is averaged, and clipped as a whole.
//!
//! Persons with as many rows stand together, so that a pass over them is a pass over ordinary rows whose weight is one over that
//! number. Only the joint clip has to know which rows belong together: tile after tile, the same lane holds the rows of one person.

use std::collections::BTreeMap;

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_128;

use super::margins::Margins;
use super::simd::{Column, Level, WithWords, Words};
use super::step::round_to_i32;
use super::totals::Totals;
use super::{Caps, ClassStep, LANES, RawRow, Rows, Step, clipped_class_sum, clipped_sum};
use crate::grid::{IntegerMap, MAX_MULTIPLIER, Shape};

/// The number of a person for rows that belong to nobody.
pub const NOBODY: u32 = u32::MAX;

/// Encoded rows by person. No accessor hands out a row.
///
/// Rows that are no records, and those that belong to nobody, are left out: they contribute nothing.
pub struct Persons {
    groups: Vec<Group>,
    /// Identifiers in all, also those none of whose rows is a record.
    len: usize,
}

/// Persons with the same number of rows.
pub(crate) struct Group {
    /// Rows of each person.
    each: usize,
    /// The numbers of the persons, in order.
    members: Vec<u32>,
    /// `each` tiles for every [`LANES`] persons: tile `t` holds row `t` of each, and the last lanes may be null rows.
    rows: Rows,
}

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
        let len = person_of.iter().filter(|&&person| person != NOBODY).max().map_or(0, |&most| most as usize + 1);
        let mut rows_of: Vec<Vec<usize>> = vec![Vec::new(); len];
        for (row, &person) in person_of.iter().enumerate().take(rows.len()) {
            if person != NOBODY && rows.norms[row] > 0 {
                rows_of[person as usize].push(row);
            }
        }
        let mut by_number: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for (person, own) in rows_of.iter_mut().enumerate() {
            keep_least(&rows, own, max_rows as usize);
            by_number.entry(own.len()).or_default().push(person as u32);
        }
        let group = |(each, members): (usize, Vec<u32>)| {
            let mut chosen = vec![usize::MAX; members.len().div_ceil(LANES) * each * LANES];
            for (place, &person) in members.iter().enumerate() {
                for (row, &from) in rows_of[person as usize].iter().enumerate() {
                    chosen[at(each, place, row)] = from;
                }
            }
            Group { each, members, rows: rows.subset(&chosen) }
        };
        Persons { groups: by_number.into_iter().map(group).collect(), len }.or_none_of(&rows)
    }

    /// A group without persons where there is none, so that columns and unit are known.
    fn or_none_of(mut self, rows: &Rows) -> Self {
        if self.groups.is_empty() {
            self.groups.push(Group { each: 1, members: Vec::new(), rows: rows.subset(&[]) });
        }
        self
    }

    /// Number of persons, those included none of whose rows is a record. Private under add-remove.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no person at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// For each number of rows that persons have, how many do; for the custodian alone.
    pub fn sizes(&self) -> impl Iterator<Item = (usize, usize)> {
        self.groups.iter().map(|group| (group.each, group.members.len()))
    }

    /// The columns.
    pub fn shape(&self) -> &Shape {
        self.first().shape()
    }

    /// The integer that stands for 1.0.
    pub fn unit(&self) -> i16 {
        self.first().unit()
    }

    fn first(&self) -> &Rows {
        // There is one: see `or_none_of`.
        &self.groups[0].rows
    }

    /// Each group of persons: the number of rows that each of them has, and their rows.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (usize, &Rows)> {
        self.groups.iter().map(|group| (group.each, &group.rows))
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
        let mut number = vec![NOBODY; self.len];
        for (new, &old) in chosen.iter().enumerate() {
            if let Some(number) = number.get_mut(old) {
                *number = new as u32;
            }
        }
        let part = |group: &Group| {
            let kept = group.members.iter().enumerate().filter(|&(_, &old)| number[old as usize] != NOBODY);
            let (places, members): (Vec<usize>, Vec<u32>) =
                kept.map(|(place, &old)| (place, number[old as usize])).unzip();
            let mut chosen = vec![usize::MAX; members.len().div_ceil(LANES) * group.each * LANES];
            for (new, &old) in places.iter().enumerate() {
                for row in 0..group.each {
                    chosen[at(group.each, new, row)] = at(group.each, old, row);
                }
            }
            Group { each: group.each, members, rows: group.rows.subset(&chosen) }
        };
        let groups = self.groups.iter().map(part).filter(|group| !group.members.is_empty()).collect();
        Persons { groups, len: chosen.len() }.or_none_of(self.first())
    }
}

/// Where row `row` of the person at `place` of a group stands.
fn at(each: usize, place: usize, row: usize) -> usize {
    (place / LANES * each + row) * LANES + place % LANES
}

/// Keeps the rows with the least digests.
fn keep_least(rows: &Rows, own: &mut Vec<usize>, most: usize) {
    if own.len() <= most {
        return;
    }
    let mut row = RawRow::empty(rows.shape());
    let mut digest = |index: usize| {
        rows.read(index, &mut row);
        let numbers = row.numeric.iter().chain([&row.label]).flat_map(|q| q.to_le_bytes());
        let bytes: Vec<u8> = numbers.chain(row.codes.iter().flat_map(|code| code.to_le_bytes())).collect();
        xxh3_128(&bytes)
    };
    let mut keyed: Vec<(u128, usize)> = own.iter().map(|&index| (digest(index), index)).collect();
    keyed.sort_unstable();
    keyed.truncate(most);
    *own = keyed.into_iter().map(|(_, index)| index).collect();
}

/// What decides how each person is clipped, for one bound.
pub struct PersonClips {
    bound: u64,
    map: Option<ExactMap>,
    groups: Vec<GroupClip>,
}

enum GroupClip {
    /// Persons of one row: the clip of that row.
    Single(Caps),
    /// The norm of each row, rounded upward.
    Joint(Vec<u64>),
}

/// A map with its integers at hand.
struct ExactMap {
    map: IntegerMap,
    entries: Vec<i64>,
}

impl PersonClips {
    /// Decides the clips for an l2 bound in grid steps, of rows seen through a map if there is one.
    pub fn new(persons: &Persons, map: Option<&IntegerMap>, bound: u64) -> Self {
        let clip = |group: &Group| match (group.each, map) {
            (1, None) => GroupClip::Single(Caps::new(&group.rows, bound)),
            (1, Some(map)) => GroupClip::Single(Caps::through(map, &group.rows, bound)),
            (_, None) => GroupClip::Joint(group.rows.norms.iter().map(|&norm| root_up(u128::from(norm))).collect()),
            (_, Some(map)) => GroupClip::Joint(map.norms(&group.rows).into_iter().map(root_up).collect()),
        };
        let exact = |map: &IntegerMap| {
            // Integers, held in floats.
            let entries = map.entries().iter().map(|&entry| entry as i64).collect();
            ExactMap { map: map.clone(), entries }
        };
        PersonClips { bound, map: map.map(exact), groups: persons.groups.iter().map(clip).collect() }
    }

    /// The largest norm of a person's contribution.
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// Sums over features of several outputs as sums over the coordinates of the map.
    fn image(&self, sums: &[i64], dimension: usize) -> Vec<i128> {
        match &self.map {
            None => sums.iter().map(|&sum| i128::from(sum)).collect(),
            Some(exact) => sums.chunks_exact(dimension).flat_map(|block| exact.map.image(block)).collect(),
        }
    }
}

fn root_up(square: u128) -> u64 {
    let root = square.isqrt();
    u64::try_from(if root * root == square { root } else { root + 1 }).unwrap_or(u64::MAX)
}

/// The sum over persons of the average gradient of their rows, each average clipped as a whole, in exact integers.
///
/// The multiplier of a row is that of [`clipped_sum`] divided by the number of rows of its person, rounded; the vectors of a person's
/// rows are added up, and where the norm of that sum is above the bound `C`, each entry `u_j` becomes `u_j C / r`, cut toward zero,
/// with `r` at least the norm. The result has one entry per coordinate.
///
/// # Privacy
/// Each person contributes an integer vector of norm at most `clips.bound()`: `|u_j C / r|` summed in squares is at most `C^2`, cutting
/// toward zero only shortens, and the result is checked in integers all the same; a person whose numbers do not fit is left out. So
/// the sum has exactly that l2 sensitivity if a person with all rows is added or removed, and twice that if one is replaced.
pub fn clipped_person_sum(
    persons: &Persons,
    clips: &PersonClips,
    step: &Step<'_>,
    slope: impl Fn(f32, f32) -> f32 + Sync,
) -> Vec<i128> {
    over_groups(persons, clips, 1, |group, clip| {
        let scale = step.multiplier_scale / group.each as f64;
        let rows = &group.rows;
        match clip {
            GroupClip::Single(caps) => clips.image(&clipped_sum(rows, caps, step, &slope), rows.shape.dimension()),
            GroupClip::Joint(reaches) => {
                let margins = Margins::new(rows, step.weights);
                let (label_scale, scale) = (step.label_scale as f32, scale as f32);
                let wanted = |tile: usize, out: &mut [Column]| {
                    let labels = &rows.labels.as_chunks::<LANES>().0[tile];
                    let margins = margins.tile(rows, tile);
                    for lane in 0..LANES {
                        let slope = slope(margins[lane], f32::from(labels[lane]) * label_scale);
                        out[0][lane] = multiplier(slope * scale);
                    }
                };
                Joint { group, reaches, clips, outputs: 1 }.sum(wanted)
            }
        }
    })
}

/// [`clipped_person_sum`] for losses of several margins per row, one joint clip for all of them; see [`clipped_class_sum`].
///
/// # Privacy
/// As there: the vectors of all labels together are what is clipped.
pub fn clipped_person_class_sum(
    persons: &Persons,
    clips: &PersonClips,
    step: &ClassStep<'_>,
    slopes: impl Fn(&mut [[f32; LANES]], &[i16; LANES]) + Sync,
) -> Vec<i128> {
    let outputs = step.counted();
    over_groups(persons, clips, outputs, |group, clip| {
        let rows = &group.rows;
        let dimension = rows.shape.dimension();
        match clip {
            GroupClip::Single(caps) => clips.image(&clipped_class_sum(rows, caps, step, &slopes), dimension),
            GroupClip::Joint(reaches) => {
                let scale = (step.multiplier_scale / group.each as f64) as f32;
                let margins: Vec<Margins> =
                    (0..outputs).map(|class| Margins::new(rows, step.weights_of(class, dimension))).collect();
                let wanted = |tile: usize, out: &mut [Column]| {
                    let mut values: Vec<[f32; LANES]> =
                        margins.iter().map(|margins| margins.tile(rows, tile)).collect();
                    slopes(&mut values, &rows.labels.as_chunks::<LANES>().0[tile]);
                    for (out, values) in out.iter_mut().zip(values) {
                        *out = values.map(|slope| multiplier(slope * scale));
                    }
                };
                Joint { group, reaches, clips, outputs }.sum(wanted)
            }
        }
    })
}

/// Adds up what is made of each group.
fn over_groups(
    persons: &Persons,
    clips: &PersonClips,
    outputs: usize,
    sum: impl Fn(&Group, &GroupClip) -> Vec<i128>,
) -> Vec<i128> {
    let mut total = vec![0i128; outputs * persons.shape().dimension()];
    for (group, clip) in persons.groups.iter().zip(&clips.groups) {
        total.iter_mut().zip(sum(group, clip)).for_each(|(total, entry)| *total += entry);
    }
    total
}

/// The nearest integer that a multiplier may be.
fn multiplier(wanted: f32) -> i16 {
    let most = i32::from(MAX_MULTIPLIER);
    round_to_i32(wanted).clamp(-most, most) as i16
}

/// Persons of several rows under one bound.
struct Joint<'a> {
    group: &'a Group,
    reaches: &'a [u64],
    clips: &'a PersonClips,
    outputs: usize,
}

/// What was added up so far: persons within the bound by their multipliers, the others as they were shortened.
struct Partial {
    within: Vec<Totals>,
    shortened: Vec<i128>,
}

impl Joint<'_> {
    /// The sum over all persons of the group; `wanted` fills in the multipliers of a tile, one column an output.
    fn sum(&self, wanted: impl Fn(usize, &mut [Column]) + Sync) -> Vec<i128> {
        let (rows, each) = (&self.group.rows, self.group.each);
        let dimension = rows.shape.dimension();
        if each == 0 {
            return vec![0; self.outputs * dimension];
        }
        let new = || Partial {
            within: (0..self.outputs).map(|_| Totals::new(rows, 0)).collect(),
            shortened: vec![0; self.outputs * dimension],
        };
        let add = |mut sums: Partial, block: usize| {
            let tiles = block * each..(block + 1) * each;
            let mut multipliers = vec![vec![[0i16; LANES]; each]; self.outputs];
            let mut tile_multipliers = vec![[0i16; LANES]; self.outputs];
            for (row, tile) in tiles.clone().enumerate() {
                wanted(tile, &mut tile_multipliers);
                multipliers.iter_mut().zip(&tile_multipliers).for_each(|(all, &own)| all[row] = own);
            }
            self.clip(tiles.start, &mut multipliers, &mut sums.shortened);
            let columns: Vec<usize> = (0..rows.shape.categorical()).collect();
            for (totals, multipliers) in sums.within.iter_mut().zip(&multipliers) {
                totals.add_codes(rows, tiles.start, multipliers, &columns);
                Level::best().run(AddNumeric { rows, first: tiles.start, multipliers, totals });
            }
            sums
        };
        let merge = |a: Partial, b: Partial| Partial {
            within: a.within.into_iter().zip(b.within).map(|(a, b)| a.merge(b, rows)).collect(),
            shortened: a.shortened.iter().zip(&b.shortened).map(|(x, y)| x + y).collect(),
        };
        let blocks = rows.tiles() / each;
        let sums = (0..blocks).into_par_iter().with_min_len(8).fold(new, add).reduce(new, merge);
        let within: Vec<i64> = sums.within.into_iter().flat_map(|total| total.coefficients(rows)).collect();
        let within = self.clips.image(&within, dimension);
        within.iter().zip(&sums.shortened).map(|(x, y)| x + y).collect()
    }

    /// Takes persons beyond the bound out of a block of tiles, and adds them to `shortened` at the norm that they may have.
    fn clip(&self, first: usize, multipliers: &mut [Vec<Column>], shortened: &mut [i128]) {
        let (rows, each) = (&self.group.rows, self.group.each);
        for lane in 0..LANES {
            // By the triangle inequality; most persons are within the bound by it.
            let mut most = 0u64;
            for row in 0..each {
                let place = (first + row) * LANES + lane;
                if rows.norms[place] == 0 {
                    // Nobody's row, at the end of the last block.
                    multipliers.iter_mut().for_each(|output| output[row][lane] = 0);
                }
                let sizes: u64 = multipliers.iter().map(|output| u64::from(output[row][lane].unsigned_abs())).sum();
                most = most.saturating_add(sizes.saturating_mul(self.reaches[place]));
            }
            if most <= self.clips.bound {
                continue;
            }
            let vector = self.vector(first, lane, multipliers);
            if is_within(&vector, self.clips.bound) {
                continue;
            }
            multipliers.iter_mut().flatten().for_each(|column| column[lane] = 0);
            if let Some(vector) = shorten(&vector, self.clips.bound) {
                shortened.iter_mut().zip(vector).for_each(|(sum, entry)| *sum += entry);
            }
        }
    }

    /// The sum of the vectors of one person's rows, in the coordinates of the map, exactly.
    fn vector(&self, first: usize, lane: usize, multipliers: &[Vec<Column>]) -> Vec<i128> {
        let rows = &self.group.rows;
        let shape = &rows.shape;
        let dimension = shape.dimension();
        let unit = i64::from(rows.unit);
        let mut sums = vec![0i64; self.outputs * dimension];
        let mut slots = vec![0i64; shape.slots()];
        for (sums, output) in sums.chunks_exact_mut(dimension).zip(multipliers) {
            slots.fill(0);
            let mut total = 0i64;
            for (row, column) in output.iter().enumerate() {
                let m = i64::from(column[lane]);
                if m == 0 {
                    continue;
                }
                let tile = first + row;
                sums.iter_mut().zip(rows.columns(tile)).for_each(|(sum, q)| *sum += m * i64::from(q[lane]));
                for (index, codes) in rows.code_tile(tile).as_chunks::<LANES>().0.iter().enumerate() {
                    slots[shape.slot(index) + usize::from(codes[lane])] += m;
                }
                total += m;
            }
            shape.each_slot(|coefficient, slot| sums[coefficient] = unit * slots[slot]);
            if let Some(last) = sums.last_mut() {
                *last = unit * total;
            }
        }
        match &self.clips.map {
            None => sums.into_iter().map(i128::from).collect(),
            Some(exact) => sums.chunks_exact(dimension).flat_map(|block| exact.image(block)).collect(),
        }
    }
}

impl ExactMap {
    /// The image of a vector, in 64 bits where it fits.
    fn image(&self, v: &[i64]) -> Vec<i128> {
        // Entries of a map are at most 2^17 in size.
        let size = v.iter().fold(0u64, |sum, x| sum.saturating_add(x.unsigned_abs()));
        if size >= 1 << 45 {
            return self.map.image(v);
        }
        let product = |row: &[i64]| row.iter().zip(v).map(|(&entry, &x)| entry * x).sum::<i64>();
        self.entries.chunks_exact(v.len().max(1)).map(|row| i128::from(product(row))).collect()
    }
}

/// Adds multipliers times numeric columns of consecutive tiles.
struct AddNumeric<'a> {
    rows: &'a Rows,
    first: usize,
    multipliers: &'a [Column],
    totals: &'a mut Totals,
}

impl WithWords for AddNumeric<'_> {
    type Output = ();

    #[inline(always)]
    fn run<W: Words>(self, words: W) {
        let columns = self.rows.columns_of(self.first..self.first + self.multipliers.len());
        self.totals.add_numeric(words, columns, self.multipliers, &[]);
    }
}

fn squared_norm(vector: &[i128]) -> Option<u128> {
    vector.iter().try_fold(0u128, |sum, x| sum.checked_add(x.unsigned_abs().checked_mul(x.unsigned_abs())?))
}

fn is_within(vector: &[i128], bound: u64) -> bool {
    squared_norm(vector).is_some_and(|square| square <= u128::from(bound) * u128::from(bound))
}

/// The vector scaled to the bound, each entry cut toward zero; `None` where its numbers do not fit.
fn shorten(vector: &[i128], bound: u64) -> Option<Vec<i128>> {
    let norm = i128::from(root_up(squared_norm(vector)?));
    let scaled = |x: &i128| x.checked_mul(i128::from(bound))?.checked_div(norm);
    let shorter: Vec<i128> = vector.iter().map(scaled).collect::<Option<_>>()?;
    is_within(&shorter, bound).then_some(shorter)
}

#[cfg(test)]
mod tests;
