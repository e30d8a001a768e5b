use std::num::NonZeroU32;

use ndarray::Array2;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::clips::{GroupClip, root_up};
use super::*;
use crate::grid::{FULL_SCALE, IntegerMap};
use crate::kernel::map::RowMap;
use crate::kernel::persons::pass::{clipped_person_class_sum, clipped_person_sum};
use crate::kernel::{Caps, ClassStep, LANES, PersonClips, RowsBuilder, Step, clipped_sum};
use crate::loss::{Logistic, Loss, Softmax, Squared};

const BOUND: u64 = 60_000_000;

fn shape() -> Shape {
    Shape::new(5, &[3, 2])
}

fn row(random: &mut impl Rng, hostile: bool) -> RawRow {
    let mut value =
        || if hostile { [-32767, 32767, 0][random.random_range(0..3)] } else { random.random_range(-9000..9000) };
    let numeric = (0..5).map(|_| value()).collect();
    let codes = vec![random.random_range(0..4), random.random_range(0..3)];
    RawRow { numeric, codes, label: random.random_range(0..2), null: random.random_range(0..20) == 0 }
}

/// Persons with up to `most` rows, whose rows are mixed, and what they are.
fn table(seed: u64, most: usize) -> Vec<Vec<RawRow>> {
    let random = &mut StdRng::seed_from_u64(seed);
    let sizes: Vec<usize> =
        (0..90).map(|person| if person % 3 == 0 { 1 } else { random.random_range(1..=most) }).collect();
    sizes.iter().enumerate().map(|(person, &size)| (0..size).map(|_| row(random, person % 7 == 0)).collect()).collect()
}

fn gathered(table: &[Vec<RawRow>], order: impl Fn(usize) -> usize) -> Persons {
    let mut rows: Vec<(usize, u32, &RawRow)> = Vec::new();
    for (person, own) in table.iter().enumerate() {
        own.iter().for_each(|row| rows.push((rows.len(), person as u32, row)));
    }
    rows.sort_by_key(|&(place, ..)| order(place));
    let mut builder = RowsBuilder::new(shape());
    rows.iter().for_each(|(.., row)| builder.push(row));
    let persons: Vec<u32> = rows.iter().map(|&(_, person, _)| person).collect();
    Persons::gather(builder.build(), &persons, u32::MAX)
}

fn map() -> IntegerMap {
    let dimension = shape().dimension();
    let random = &mut StdRng::seed_from_u64(9);
    IntegerMap::nearest(&Array2::from_shape_fn((dimension, dimension), |_| random.random_range(-1.0..1.0)), 6).unwrap()
}

/// Tables of both categories; numbers have no coordinates.
fn tables() -> IntegerMap {
    let random = &mut StdRng::seed_from_u64(10);
    let mut table = |rows, columns| Array2::from_shape_fn((rows, columns), |_| random.random_range(-1.0..1.0));
    let tables = vec![table(3, 2), table(2, 1)];
    IntegerMap::of_blocks(Array2::zeros((0, 6)), tables, 6).unwrap()
}

/// What is asked of persons in these tests.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Plain,
    Mapped,
    Classes,
    MappedClasses,
    /// With gradients added up over so many rows, and not averaged.
    Rows(u32),
    MappedRows(u32),
    RowsOfClasses(u32),
    /// Through tables.
    Tables,
    TablesOfClasses,
    TablesOfRows(u32),
}

const ALL: [Asked; 12] = [
    Asked::Plain,
    Asked::Mapped,
    Asked::Classes,
    Asked::MappedClasses,
    Asked::Rows(5),
    Asked::MappedRows(5),
    Asked::Rows(40),
    Asked::MappedRows(40),
    Asked::RowsOfClasses(40),
    Asked::Tables,
    Asked::TablesOfClasses,
    Asked::TablesOfRows(40),
];

impl Asked {
    fn clip_steps(self) -> u64 {
        match self {
            Asked::Plain | Asked::Classes | Asked::Rows(_) | Asked::RowsOfClasses(_) => BOUND,
            // The image of a row is longer.
            Asked::Mapped | Asked::MappedClasses | Asked::MappedRows(_) => 64 * BOUND,
            Asked::Tables | Asked::TablesOfClasses | Asked::TablesOfRows(_) => 65 * BOUND,
        }
    }

    fn is_mapped(self) -> bool {
        self.clip_steps() > BOUND
    }

    fn typical_rows(self) -> Option<NonZeroU32> {
        match self {
            Asked::Rows(typical)
            | Asked::MappedRows(typical)
            | Asked::RowsOfClasses(typical)
            | Asked::TablesOfRows(typical) => NonZeroU32::new(typical),
            Asked::Plain | Asked::Mapped | Asked::Classes | Asked::MappedClasses => None,
            Asked::Tables | Asked::TablesOfClasses => None,
        }
    }

    /// How many times steeper than averages sums are taken, so that as many are clipped.
    fn steeper(self) -> f64 {
        self.typical_rows().map_or(1.0, |typical| f64::from(typical.get()).sqrt())
    }

    fn map(self) -> IntegerMap {
        if matches!(self, Asked::Tables | Asked::TablesOfClasses | Asked::TablesOfRows(_)) { tables() } else { map() }
    }

    fn clips(self, persons: &Persons) -> PersonClips {
        let map = self.map();
        PersonClips::weighing(persons, self.is_mapped().then_some(&map), self.clip_steps(), self.typical_rows())
    }

    fn sum(self, persons: &Persons, scale: f64) -> Vec<i128> {
        self.sum_with(persons, &self.clips(persons), scale)
    }

    fn sum_with(self, persons: &Persons, clips: &PersonClips, scale: f64) -> Vec<i128> {
        let weights: Vec<f64> = (0..3 * shape().dimension()).map(|j| (j as f64 * 0.7).sin()).collect();
        let scale = scale * self.steeper();
        match self {
            Asked::Plain
            | Asked::Mapped
            | Asked::Rows(_)
            | Asked::MappedRows(_)
            | Asked::Tables
            | Asked::TablesOfRows(_) => {
                let step = Step { weights: &weights[..shape().dimension()], label_scale: 1.0, multiplier_scale: scale };
                clipped_person_sum(persons, clips, &step, |margin, label| Logistic.slope(margin, label))
            }
            Asked::Classes | Asked::MappedClasses | Asked::RowsOfClasses(_) | Asked::TablesOfClasses => {
                let step = ClassStep { weights: &weights, classes: 3, multiplier_scale: scale };
                clipped_person_class_sum(persons, clips, &step, Softmax::slopes)
            }
        }
    }
}

fn difference(a: &[i128], b: &[i128]) -> Vec<i128> {
    a.iter().zip(b).map(|(x, y)| x - y).collect()
}

fn is_within(vector: &[i128], clip_steps: u64) -> bool {
    vector.iter().map(|x| x.unsigned_abs().pow(2)).sum::<u128>() <= u128::from(clip_steps).pow(2)
}

fn norm(v: &[i128]) -> f64 {
    v.iter().map(|&x| (x as f64).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn a_person_moves_the_sum_by_the_bound_and_no_further() {
    for asked in ALL {
        let mut most = 0.0f64;
        for seed in 0..2 {
            let table = table(seed, 70);
            // From hardly any clip to one for nearly everybody.
            let scale = [200.0, 3000.0][seed as usize % 2];
            let all = asked.sum(&gathered(&table, |place| place), scale);
            for person in (0..table.len()).step_by(4) {
                let mut without = table.clone();
                without.remove(person);
                let moved = difference(&all, &asked.sum(&gathered(&without, |place| place), scale));
                assert!(is_within(&moved, asked.clip_steps()), "{asked:?} {seed} {person}");
                most = most.max(norm(&moved) / asked.clip_steps() as f64);
            }
        }
        assert!(most > 0.999, "{asked:?} {most}");
    }
}

#[test]
fn what_a_person_adds_is_the_clipped_average_of_the_rows() {
    for asked in ALL {
        let mut table = table(3, 40);
        // So many rows that a share of each is less than a step of the grid.
        let random = &mut StdRng::seed_from_u64(33);
        table.extend([500, 2000].map(|size| (0..size).map(|_| row(random, false)).collect::<Vec<_>>()));
        let mut clipped = 0;
        for (person, own) in table.iter().enumerate() {
            let alone = gathered(&table[person..=person], |place| place);
            let (clip_steps, scale) = (asked.clip_steps() as f64, 2800.0);
            let added = asked.sum(&alone, scale);
            // Each row as a person of its own, with a clip norm that clips none of them, gives its whole gradient.
            let records: Vec<Vec<RawRow>> = own.iter().filter(|row| !row.null).map(|row| vec![row.clone()]).collect();
            let whole = sum_of_rows(asked, &records, scale);
            let divisor = asked.typical_rows().map_or(records.len().max(1) as f64, |typical| f64::from(typical.get()));
            let average: Vec<f64> = whole.iter().map(|&x| x as f64 * asked.steeper() / divisor).collect();
            let length = average.iter().map(|x| x * x).sum::<f64>().sqrt();
            let factor = if length > clip_steps { clip_steps / length } else { 1.0 };
            clipped += usize::from(factor < 1.0);
            let error: f64 =
                added.iter().zip(&average).map(|(&x, y)| (x as f64 - factor * y).powi(2)).sum::<f64>().sqrt();
            // Half a multiplier for each row, and more for one row, whose multiplier is cut off.
            assert!(error <= 0.02 * clip_steps, "{asked:?} {person}: {error:e} of {clip_steps:e}, {} rows", own.len());
        }
        assert!(clipped > 5, "{asked:?} {clipped}");
    }
}

/// Sums of gradients of rows that nothing clips but the largest multiplier.
fn sum_of_rows(asked: Asked, records: &[Vec<RawRow>], scale: f64) -> Vec<i128> {
    let persons = gathered(records, |place| place);
    let map = asked.map();
    let map = asked.is_mapped().then_some(&map);
    let clips = PersonClips::new(&persons, map, 1 << 50);
    let weights: Vec<f64> = (0..3 * shape().dimension()).map(|j| (j as f64 * 0.7).sin()).collect();
    match asked {
        Asked::Plain
        | Asked::Mapped
        | Asked::Rows(_)
        | Asked::MappedRows(_)
        | Asked::Tables
        | Asked::TablesOfRows(_) => {
            let step = Step { weights: &weights[..shape().dimension()], label_scale: 1.0, multiplier_scale: scale };
            clipped_person_sum(&persons, &clips, &step, |margin, label| Logistic.slope(margin, label))
        }
        Asked::Classes | Asked::MappedClasses | Asked::RowsOfClasses(_) | Asked::TablesOfClasses => {
            let step = ClassStep { weights: &weights, classes: 3, multiplier_scale: scale };
            clipped_person_class_sum(&persons, &clips, &step, Softmax::slopes)
        }
    }
}

#[test]
fn order_and_threads_change_nothing() {
    let table = table(5, 50);
    for asked in ALL {
        let sum = asked.sum(&gathered(&table, |place| place), 900.0);
        assert_eq!(asked.sum(&gathered(&table, |place| (place * 7919) % 10_007), 900.0), sum, "{asked:?}");
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(one.install(|| asked.sum(&gathered(&table, |place| place), 900.0)), sum, "{asked:?}");
        let reversed: Vec<Vec<RawRow>> = table.iter().rev().cloned().collect();
        assert_eq!(asked.sum(&gathered(&reversed, |place| place), 900.0), sum, "{asked:?}");
    }
}

#[test]
fn persons_of_one_row_are_rows() {
    let table = table(7, 1);
    let mut builder = RowsBuilder::new(shape());
    table.iter().for_each(|own| builder.push(&own[0]));
    let rows = builder.build();
    let weights: Vec<f64> = (0..shape().dimension()).map(|j| (j as f64 * 0.7).sin()).collect();
    let step = Step { weights: &weights, label_scale: 1.0, multiplier_scale: 900.0 };
    let sums = clipped_sum(&rows, &Caps::new(&rows, BOUND), &step, |margin, label| Squared.slope(margin, label));
    let persons = gathered(&table, |place| place);
    let clips = PersonClips::new(&persons, None, BOUND);
    let by_person = clipped_person_sum(&persons, &clips, &step, |margin, label| Squared.slope(margin, label));
    assert_eq!(by_person, sums.into_iter().map(i128::from).collect::<Vec<_>>());
}

/// Of persons with as many rows as divide the sum, and of one row each, sums and averages are the same.
#[test]
fn sums_over_as_many_rows_are_averages() {
    let random = &mut StdRng::seed_from_u64(41);
    for each in [1, 7, 40] {
        let mut persons = || (0..each).map(|_| RawRow { null: false, ..row(random, false) }).collect();
        let table: Vec<Vec<RawRow>> = (0..50).map(|_| persons()).collect();
        let persons = gathered(&table, |place| place);
        let (whole, map) = (NonZeroU32::new(each as u32), map());
        for asked in [Asked::Plain, Asked::Mapped, Asked::Classes, Asked::MappedClasses] {
            let clips = PersonClips::weighing(&persons, asked.is_mapped().then_some(&map), asked.clip_steps(), whole);
            assert_eq!(asked.sum_with(&persons, &clips, 2000.0), asked.sum(&persons, 2000.0), "{asked:?} {each}");
        }
    }
}

#[test]
fn a_person_with_too_many_rows_keeps_the_same_ones_in_any_order() {
    let random = &mut StdRng::seed_from_u64(1);
    let own: Vec<RawRow> = (0..60).map(|_| RawRow { null: false, ..row(random, false) }).collect();
    let gather = |own: &[RawRow], most: u32| {
        let mut builder = RowsBuilder::new(shape());
        own.iter().for_each(|row| builder.push(row));
        Persons::gather(builder.build(), &vec![0; own.len()], most)
    };
    let reversed: Vec<RawRow> = own.iter().rev().cloned().collect();
    let (one, other) = (gather(&own, 20), gather(&reversed, 20));
    assert_eq!(one.sizes().collect::<Vec<_>>(), [(20, 1)]);
    for asked in ALL {
        assert_eq!(asked.sum(&one, 900.0), asked.sum(&other, 900.0));
        assert_ne!(asked.sum(&one, 900.0), asked.sum(&gather(&own, 60), 900.0));
    }
    assert_eq!(gather(&own, 0).sizes().collect::<Vec<_>>(), [(0, 1)], "a person without rows is one all the same");
}

#[test]
fn nobody_s_rows_and_null_rows_add_nothing() {
    let table = table(11, 6);
    let mut builder = RowsBuilder::new(shape());
    let mut person_of = Vec::new();
    for (person, own) in table.iter().enumerate() {
        for row in own {
            builder.push(row);
            person_of.push(person as u32);
            builder.push(&RawRow { null: false, ..row.clone() });
            person_of.push(NOBODY);
            builder.push(&RawRow { null: true, ..row.clone() });
            person_of.push(person as u32);
        }
    }
    let persons = Persons::gather(builder.build(), &person_of, u32::MAX);
    assert_eq!(persons.len(), table.len());
    for asked in ALL {
        assert_eq!(asked.sum(&persons, 900.0), asked.sum(&gathered(&table, |place| place), 900.0));
    }
}

#[test]
fn parts_hold_every_person_once() {
    let table = table(13, 30);
    let persons = gathered(&table, |place| place);
    let (some, rest): (Vec<usize>, Vec<usize>) = (0..table.len()).partition(|person| person % 3 == 1);
    let (some, rest) = (persons.subset(&some), persons.subset(&rest));
    assert_eq!(some.len() + rest.len(), persons.len());
    let again = persons.subset(&(0..table.len()).collect::<Vec<_>>());
    for asked in ALL {
        let sum = asked.sum(&persons, 900.0);
        let (a, b) = (asked.sum(&some, 900.0), asked.sum(&rest, 900.0));
        assert_eq!(a.iter().zip(&b).map(|(x, y)| x + y).collect::<Vec<_>>(), sum);
        assert_eq!(asked.sum(&again, 900.0), sum);
        // A sample keeps the clips that were decided for all.
        let numbers: Vec<usize> = (0..table.len()).filter(|person| person % 3 == 1).collect();
        let (sample, clips) = persons.sampled(&asked.clips(&persons), &numbers);
        assert_eq!(asked.sum_with(&sample, &clips, 900.0), a);
        let (nobody, clips) = persons.sampled(&asked.clips(&persons), &[]);
        assert!(asked.sum_with(&nobody, &clips, 900.0).iter().all(|&x| x == 0));
        assert!(asked.sum(&persons.subset(&[]), 900.0).iter().all(|&x| x == 0));
    }
}

/// One row of a person is two steps away under add-remove: the person leaves, and comes back without it.
#[test]
fn a_row_of_a_person_moves_the_sum_by_twice_the_bound_at_most() {
    let random = &mut StdRng::seed_from_u64(21);
    let opposite = |label| RawRow { numeric: vec![FULL_SCALE; 5], codes: vec![0, 0], label, null: false };
    let mut table = table(3, 5);
    // A second row that is ten times as steep turns the average around.
    table.push(vec![opposite(1), RawRow { label: -20, ..row(random, false) }, opposite(-9)]);
    let all = Asked::Plain.sum(&gathered(&table, |place| place), 3000.0);
    table.last_mut().unwrap().pop();
    let moved = difference(&all, &Asked::Plain.sum(&gathered(&table, |place| place), 3000.0));
    assert!(is_within(&moved, 2 * BOUND) && norm(&moved) > 0.2 * BOUND as f64, "{}", norm(&moved) / BOUND as f64);
}

/// Scales of norms and products are each person's own: were they taken over all, a person could change how others are clipped.
#[test]
fn a_person_adds_the_same_whoever_else_is_there() {
    let table = table(17, 45);
    for asked in ALL {
        for scale in [300.0, 2800.0] {
            let mut sum = vec![0; asked.sum(&gathered(&table, |place| place), scale).len()];
            for person in 0..table.len() {
                let alone = asked.sum(&gathered(&table[person..=person], |place| place), scale);
                sum.iter_mut().zip(alone).for_each(|(total, entry)| *total += entry);
            }
            assert_eq!(asked.sum(&gathered(&table, |place| place), scale), sum, "{asked:?}");
        }
    }
}

/// A map of large entries, whose products must be cut to fit.
#[test]
fn persons_stay_within_the_bound_under_maps_of_any_size() {
    let dimension = shape().dimension();
    for (seed, most) in [(0, 131_072.0), (1, 40.0)] {
        let random = &mut StdRng::seed_from_u64(seed);
        let real = Array2::from_shape_fn((dimension, dimension), |_| random.random_range(-most..most));
        let map = IntegerMap::nearest(&real, 0).unwrap();
        let weights = vec![0.1; dimension];
        let step = Step { weights: &weights, label_scale: 1.0, multiplier_scale: 4095.0 };
        for clip_steps in [0, 7, 1 << 20, 1 << 33, 1 << 40, 1 << 48, u64::MAX] {
            for (person, own) in table(seed, 90).iter().enumerate().step_by(5) {
                let alone = gathered(std::slice::from_ref(own), |place| place + person);
                let clips = PersonClips::new(&alone, Some(&map), clip_steps);
                let sum = clipped_person_sum(&alone, &clips, &step, |margin, label| Squared.slope(margin, label));
                assert!(
                    norm(&sum) <= clip_steps as f64 && (clip_steps == u64::MAX || is_within(&sum, clip_steps)),
                    "{most} {clip_steps}"
                );
            }
        }
    }
}

#[test]
fn few_persons_with_many_rows_are_not_mostly_padding() {
    for members in 1..70 {
        for each in [1, 5, 33, 64, 100, 544, 4096] {
            let layout = Layout::new(each, members);
            let mut taken = vec![false; layout.room()];
            for place in 0..members {
                for row in 0..each {
                    assert!(!std::mem::replace(&mut taken[layout.at(place, row)], true), "{layout:?}");
                }
            }
            assert!(each <= FEW_ROWS || layout.room() <= 3 * members * each, "{layout:?}");
        }
    }
    // A group for each number of rows up to 544, with a person in most, as planes have flights.
    let room: usize = (1..=544).map(|each| Layout::new(each, 1 + each % 3).room()).sum();
    let rows: usize = (1..=544).map(|each| each * (1 + each % 3)).sum();
    assert!((room as f64) < 1.3 * rows as f64, "{}", room as f64 / rows as f64);
}

/// What settles whether a person is shortened is no less than the norm, whatever was rounded on the way.
#[test]
fn what_bounds_a_norm_is_never_below_it() {
    let dimension = shape().dimension();
    let random = &mut StdRng::seed_from_u64(3);
    let real = Array2::from_shape_fn((dimension, dimension), |_| random.random_range(-131_072.0..131_072.0));
    let map = IntegerMap::nearest(&real, 0).unwrap();
    let (mut asked, mut rounded) = (0, 0);
    for own in table(3, 5) {
        let person = gathered(&[own], |place| place);
        let clips = PersonClips::new(&person, Some(&map), 1 << 40);
        let joint = person.groups.iter().zip(&clips.groups).filter(|(group, _)| group.layout.each > 0);
        for (group, clip) in joint {
            let GroupClip::Joint(clip) = clip else { continue };
            let units = clip.reach_units(0);
            for (place, norm) in map.norms(&group.rows).into_iter().enumerate() {
                let unit = units[place % LANES];
                assert!(u128::from(clip.reaches[place]) << unit >= root_up(norm), "{norm}");
                rounded += usize::from(!root_up(norm).is_multiple_of(1 << unit));
            }
            let (each, Some(pairs)) = (group.layout.each, &clip.pairs) else { continue };
            let seen = RowMap::new(&map, &group.rows);
            let images: Vec<Array2<f64>> = (0..each).map(|tile| seen.images(tile)).collect();
            for _ in 0..20 {
                let multipliers: Vec<i16> = (0..each).map(|_| random.random_range(-4095..=4095)).collect();
                let entry = |j: usize| -> i128 {
                    images.iter().zip(&multipliers).map(|(image, &m)| image[(j, 0)] as i128 * i128::from(m)).sum()
                };
                let exact: u128 = (0..dimension).map(|j| entry(j).unsigned_abs().pow(2)).sum();
                let lanes: Vec<[i16; LANES]> = multipliers.iter().map(|&m| [m; LANES]).collect();
                let square = clip.squares(pairs, each, 0, &lanes)[0];
                assert!(square << (2 * clip.root_units(pairs, 0)[0]) >= exact, "{exact}");
                assert!(clip.norm(pairs, 0, 0, square) >= root_up(exact));
                asked += 1;
            }
        }
    }
    assert!(asked > 500 && rounded > 100, "{asked} sums, {rounded} norms that are rounded");
}

/// Cutting to whole numbers may lengthen what is seen through a map, once where a norm is found and once where a vector is shortened.
///
/// Here it does so as far as it can: the map adds up all numbers, of which one is large and the others are a little below zero. Rows are all
/// alike, so that every bound of their norm is all but the norm. Clip norms are tried from far below it to above.
#[test]
fn what_is_cut_off_before_a_map_keeps_persons_within_the_clip_norm() {
    const COLUMNS: usize = 40;
    const ENTRY: f64 = 131_071.0;
    let shape = Shape::new(COLUMNS, &[]);
    let sum_of_all = |(row, column): (usize, usize)| if row == 0 && column < COLUMNS { ENTRY } else { 0.0 };
    let map = IntegerMap::nearest(&Array2::from_shape_fn((COLUMNS + 1, COLUMNS + 1), sum_of_all), 0).unwrap();
    let weights = vec![0.0; COLUMNS + 1];
    // Persons of many rows, whose norm is found from the vector, and of a few rows, found from products; all are finer than the grid.
    for (rows, typical) in [(33, None), (27, NonZeroU32::new(33)), (30, NonZeroU32::new(47)), (100, None)] {
        for (large, small) in [(32_767, -1), (32_767, -3), (-32_767, 1), (20_000, -2)] {
            let mut numeric = vec![small; COLUMNS];
            numeric[0] = large;
            let own = vec![RawRow { numeric, codes: Vec::new(), label: 1, null: false }; rows];
            let mut builder = RowsBuilder::new(shape.clone());
            own.iter().for_each(|row| builder.push(row));
            let person = Persons::gather(builder.build(), &vec![0; rows], u32::MAX);
            // In units of the grid over 2^finer each row counts once.
            let divisor = typical.map_or(rows, |typical| typical.get() as usize);
            let finer = divisor.ilog2() - 2;
            let scale = divisor as f64 / f64::from(1u32 << finer);
            let step = Step { weights: &weights, label_scale: 1.0, multiplier_scale: scale };
            let whole = (i64::from(large) + (COLUMNS as i64 - 1) * i64::from(small)).unsigned_abs() as f64;
            let norm = whole * ENTRY * rows as f64 / f64::from(1u32 << finer);
            let slack = ENTRY * ((COLUMNS * (COLUMNS + 1)) as f64).sqrt();
            let clip_norms = (0..200).map(|near| (norm + slack * (1.5 - f64::from(near) / 40.0)) as u64);
            let mut shortened = 0;
            for clip_steps in clip_norms.chain((80..100).map(|percent| (norm * f64::from(percent) / 100.0) as u64)) {
                let clips = PersonClips::weighing(&person, Some(&map), clip_steps, typical);
                let sum = clipped_person_sum(&person, &clips, &step, |_, label| label);
                assert!(is_within(&sum, clip_steps), "{rows} rows, {large} and {small}: {} of {clip_steps}", sum[0]);
                // Not to nothing.
                assert!(sum[0].unsigned_abs() as f64 > 0.9 * (clip_steps as f64).min(norm) - 3.0 * slack);
                shortened += usize::from((sum[0].unsigned_abs() as f64) < norm - slack);
            }
            assert!((20..220).contains(&shortened), "{shortened}");
        }
    }
}

/// What is cut off before tables: a person meets one value often and each of many others, which count against it, once. What is cut off those
/// others lengthens the image, here by nearly as much as is kept free for it.
#[test]
fn what_is_cut_off_before_tables_keeps_persons_within_the_clip_norm() {
    const ENTRY: f64 = 131_071.0;
    // Of few rows and of so many that multipliers are finer than the grid.
    for (values, often) in [(16u16, 17usize), (40, 100)] {
        let sign = |(value, _)| if value == 0 { ENTRY } else { -ENTRY };
        let table = Array2::from_shape_fn((usize::from(values), 1), sign);
        let map = IntegerMap::of_tables(vec![table], 0).unwrap();
        let row = |code| RawRow { numeric: Vec::new(), codes: vec![code], label: 1, null: false };
        let own: Vec<RawRow> = vec![0; often].into_iter().chain(1..values).map(row).collect();
        let mut builder = RowsBuilder::new(Shape::new(0, &[values]));
        own.iter().for_each(|row| builder.push(row));
        let person = Persons::gather(builder.build(), &vec![0; own.len()], u32::MAX);
        let finer = if own.len() <= FEW_ROWS { 0 } else { own.len().ilog2() - 2 };
        let scale = own.len() as f64 / f64::from(1u32 << finer);
        let weights = vec![0.0; usize::from(values) + 1];
        let step = Step { weights: &weights, label_scale: 1.0, multiplier_scale: scale };
        let slack = ENTRY * f64::from(values);
        let mut used = 0.0f64;
        for clip_steps in (0..600).map(|at| (slack * (1.1 + f64::from(at) * 0.0137)) as u64) {
            let clips = PersonClips::new(&person, Some(&map), clip_steps);
            let sum = clipped_person_sum(&person, &clips, &step, |_, label| label);
            assert!(is_within(&sum, clip_steps), "{values} values: {sum:?} of {clip_steps}");
            used = used.max((norm(&sum) - (clip_steps as f64 - slack)) / slack);
        }
        assert!(used > 0.8, "{values} values: {used} of the slack");
    }
}
