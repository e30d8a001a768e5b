//! Sensitivities where neighbours differ in a person with any number of rows, in integers.

use std::num::NonZeroU32;

use ndarray::{Array1, Array2};
use proptest::prelude::*;

use super::super::{DescribeQuery, Gradient, PrivateDataset, Query, Sensitive, query};
use super::{difference, row, shares};
use crate::grid::{
    FULL_SCALE, IntegerMap, MomentWeights, PERSON_WEIGHT, SIZE_CELLS, ScoreStep, Scoring, Shape, gram_one,
};
use crate::kernel::{Persons, RawRow, RowsBuilder};
use crate::loss::{Curved, Glm, Objective};
use crate::preprocess::{Binner, Recoding};
use crate::privacy::{Adjacency, DatasetId, L2, PrivacyUnit, Scope};

/// Several rows of each person.
type People = Vec<Vec<RawRow>>;

/// The persons behind the gate; rows of all persons take turns, so that nobody's stand together.
fn dataset(people: &People, adjacency: Adjacency) -> PrivateDataset {
    let mut builder = RowsBuilder::new(Shape::new(2, &[2]));
    let mut person_of = Vec::new();
    for turn in 0..people.iter().map(Vec::len).max().unwrap_or(0) {
        for (person, own) in people.iter().enumerate().filter(|(_, own)| own.len() > turn) {
            builder.push(&own[turn]);
            person_of.push(person as u32);
        }
    }
    let scope = Scope {
        dataset: DatasetId::new("a").unwrap(),
        adjacency,
        unit: PrivacyUnit::Person { column: "person".into() },
    };
    PrivateDataset::new(Persons::gather(builder.build(), &person_of, 1000), scope)
}

fn people(most: usize) -> impl Strategy<Value = People> {
    prop::collection::vec(prop::collection::vec(row(), 1..=most), 0..12)
}

/// Neighbours under both relations that `first` and `second` make of common persons.
fn pairs(common: &People, first: &[RawRow], second: &[RawRow]) -> [(PrivateDataset, PrivateDataset); 2] {
    let with = |person: &[RawRow]| [common.as_slice(), &[person.to_vec()]].concat();
    let of = |adjacency| move |people: &People| dataset(people, adjacency);
    let (add, replace) = (of(Adjacency::AddRemove), of(Adjacency::ReplaceOne));
    [(add(common), add(&with(first))), (replace(&with(first)), replace(&with(second)))]
}

const GRAM_BOUND: fn() -> u64 = || PERSON_WEIGHT * 127 * 3 * u64::from(gram_one(FULL_SCALE).unsigned_abs()).pow(2);

const MOMENTS: MomentWeights = MomentWeights {
    count: 1000 * FULL_SCALE as u32,
    features: 1000,
    squares: 1000,
    label: 1000,
    label_square: 1000,
    shares: 1000 * FULL_SCALE as u32,
    sizes: 1000 * FULL_SCALE as u32,
};

/// The persons, their numbers cut into intervals.
fn binned(data: &PrivateDataset) -> PrivateDataset {
    let bins = Binner::new(vec![vec![30_000, 32_768, 40_000], vec![65_000]], vec![2], None).unwrap();
    data.duplicate().unwrap().recoded(&Recoding::Binned(bins)).unwrap()
}

fn tables() -> IntegerMap {
    let table = |rows: usize, columns: usize| {
        Array2::from_shape_fn((rows, columns), |(i, j)| (i as f64 + 2.3 * j as f64).cos())
    };
    IntegerMap::of_tables(vec![table(4, 3), table(2, 1), table(2, 1)], 8).unwrap()
}

/// The first of the values of [`asked`] that are sums over rows and not averages.
const SUMS: usize = 15;

/// Whatever may be asked of persons, once.
fn asked(data: &PrivateDataset, weights: &Array1<f64>, clip_norm: f64) -> Vec<Sensitive<L2>> {
    let classes = Objective::Softmax { classes: 3 };
    let many: Array1<f64> = (0..15).map(|j| weights[j % 5] * (j as f64).cos()).collect();
    let map =
        IntegerMap::nearest(&Array2::from_shape_fn((5, 5), |(i, j)| (i as f64 - 1.7 * j as f64).sin()), 6).unwrap();
    let gradient = |loss, weights| Gradient { loss, weights, label_scale: 1.0, clip_norm };
    let (margin, softmax) = (gradient(Glm::Logistic.into(), weights), gradient(classes, &many));
    let scores = |loss, scoring, weights| {
        data.scores(loss, &ScoreStep { weights, label_scale: 1.0, scoring, weight: 1 << 16 }).unwrap()
    };
    let flat = weights.as_slice().unwrap();
    let weighing = |typical| data.duplicate().unwrap().weighing_rows(NonZeroU32::new(typical).unwrap());
    let binned = binned(data);
    let tabled = binned.clipped_through(tables(), 1 << 33).unwrap();
    let of_tables: Array1<f64> = (0..18).map(|j| weights[j % 5] * (j as f64).cos()).collect();
    let in_tables = Array1::from(of_tables.iter().take(6).copied().collect::<Vec<_>>());
    vec![
        data.clipped(1 << 27).unwrap().gradient_sum(&margin).unwrap(),
        data.clipped(1 << 27).unwrap().gradient_sum(&softmax).unwrap(),
        data.clipped_through(map.clone(), 1 << 33).unwrap().gradient_sum(&margin).unwrap(),
        data.clipped_through(map.clone(), 1 << 33).unwrap().gradient_sum(&softmax).unwrap(),
        data.moments(&MOMENTS).unwrap(),
        data.gram(GRAM_BOUND(), 127).unwrap(),
        data.hessian(Curved::Logistic, weights, GRAM_BOUND(), 127).unwrap(),
        data.hessian(Curved::Squared, weights, GRAM_BOUND(), 127).unwrap(),
        scores(Glm::Logistic.into(), Scoring::Label, flat),
        scores(Glm::Squared.into(), Scoring::Number, flat),
        scores(Glm::Logistic.into(), Scoring::Quantile, flat),
        scores(classes, Scoring::Class { labels: 3 }, many.as_slice().unwrap()),
        data.marginals(true, 1 << 24).unwrap(),
        tabled.gradient_sum(&gradient(Glm::Logistic.into(), &in_tables)).unwrap(),
        tabled.gradient_sum(&gradient(classes, &of_tables)).unwrap(),
        weighing(3).clipped(1 << 27).unwrap().gradient_sum(&margin).unwrap(),
        weighing(50).clipped(1 << 27).unwrap().gradient_sum(&softmax).unwrap(),
        weighing(3).clipped_through(map.clone(), 1 << 33).unwrap().gradient_sum(&softmax).unwrap(),
        weighing(50).clipped_through(map, 1 << 33).unwrap().gradient_sum(&margin).unwrap(),
    ]
}

/// By how much of its sensitivity each value moves.
fn used(one: &PrivateDataset, other: &PrivateDataset, weights: &Array1<f64>, clip_norm: f64) -> Vec<f64> {
    shares(&asked(one, weights, clip_norm), &asked(other, weights, clip_norm), one.scope().adjacency)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_person_moves_no_value_further_than_stated(
        common in people(9),
        first in prop::collection::vec(row(), 1..100), second in prop::collection::vec(row(), 1..100),
        weights in prop::collection::vec(prop_oneof![6 => -3.0f64..3.0, 1 => Just(f64::NAN), 1 => Just(1e300)], 5),
        clip_norm in 0.01f64..3.0,
    ) {
        for (one, other) in pairs(&common, &first, &second) {
            used(&one, &other, &Array1::from(weights.clone()), clip_norm);
        }
    }
}

#[test]
fn some_person_uses_the_whole_sensitivity() {
    let extreme = |label| RawRow { numeric: vec![FULL_SCALE, FULL_SCALE], codes: vec![9], label, null: false };
    let weights = Array1::from(vec![4.0, 4.0, 0.0, 0.0, 4.0]);
    for rows in [1, 3, 5, 20] {
        // Far on the wrong side; labels at their bound are the worst of moments.
        for (label, values) in [(0, &[0usize, 1, 2, 3, 5, 7, 12, 13, 14, SUMS, SUMS + 2][..]), (FULL_SCALE, &[4])] {
            let person = vec![extreme(label); rows];
            let [(without, with), _] = pairs(&vec![], &person, &person);
            let used = used(&without, &with, &weights, 0.01);
            for &value in values {
                // Of moments one coordinate is the share of a row, which is less than 1 where there are several.
                let least = if value == 4 && rows > 1 { 0.9 } else { 0.97 };
                assert!(used[value] > least && used[value] <= 1.0, "{rows} rows, value {value}: {}", used[value]);
            }
        }
    }
}

/// A person whose rows are cut to parts must be one person still.
#[test]
fn a_person_counts_once_however_many_rows_there_are() {
    let one = |person: usize| RawRow { numeric: vec![100 * person as i16, -7], codes: vec![1], label: 1, null: false };
    let people = |rows: usize| (0..40).map(|person| vec![one(person); rows]).collect::<People>();
    let weights = Array1::from(vec![0.3, -0.2, 0.1, 0.0, 0.5]);
    let single = asked(&dataset(&people(1), Adjacency::AddRemove), &weights, 1.0);
    for rows in [2, 33, 100] {
        let several = asked(&dataset(&people(rows), Adjacency::AddRemove), &weights, 1.0);
        for (value, (a, b)) in several.iter().zip(&single).enumerate() {
            let size = |values: &[i128]| values.iter().map(|&x| (x as f64).powi(2)).sum::<f64>().sqrt();
            let mut difference = difference(a, b);
            if value == 4 {
                // The share of a row and the counts by numbers of rows are what tells these persons apart.
                difference.truncate(difference.len() - 1 - SIZE_CELLS);
            }
            if value >= SUMS {
                // Of sums that weigh rows a person with more of them adds more.
                assert!(size(&several[value].values) > 1.5 * size(&b.values), "{rows} rows, value {value}");
                continue;
            }
            let apart = size(&difference);
            // Weights of rows are whole numbers.
            assert!(apart <= 0.1 * size(&b.values), "{rows} rows, value {value}: {apart}");
        }
    }
}

#[test]
fn what_has_no_proof_for_persons_is_no_answer() {
    let row = || RawRow { numeric: vec![5, 5], codes: vec![1], label: 1, null: false };
    let data = dataset(&vec![vec![row(); 3]; 5], Adjacency::ReplaceOne);
    let weights = Array1::zeros(5);
    let gradient = Gradient { loss: Glm::Logistic.into(), weights: &weights, label_scale: 1.0, clip_norm: 1.0 };
    assert!(data.vertices(&gradient, 4000).is_err());
    let waved = IntegerMap::of_blocks(Array2::ones((2, 1)), vec![Array2::ones((4, 3)); 3], 8).unwrap();
    assert!(binned(&data).clipped_through(waved, 1 << 33).is_err(), "numbers beside tables");
    assert!(binned(&data).clipped_through(tables(), 1 << 33).is_ok());
    assert!(data.rows().is_err() && data.split(2, |row| row % 2).is_err());
    assert_eq!(data.public_len(), Some(5), "persons are counted");
    let served = [
        query::ClippedSum { clip_steps: 5 }.into(),
        query::Gram { clip_steps: 5 }.into(),
        Query::from(query::Moments { weights: MOMENTS, columns: 2 }),
    ];
    assert!(served.iter().all(|query| query.kind().reads().persons));
    assert!(!query::Vertices { clip_steps: 5, candidates: 2 }.reads().persons);
}

#[test]
fn rows_and_persons_are_never_taken_for_each_other() {
    let rows = || RowsBuilder::new(Shape::new(2, &[2])).build();
    let id = || DatasetId::new("a").unwrap();
    let person = |column: &str| PrivacyUnit::Person { column: column.into() };
    let scope = |unit: PrivacyUnit| Scope { dataset: id(), adjacency: Adjacency::AddRemove, unit };
    let of_rows = PrivateDataset::new(rows(), scope(person("p")));
    assert_eq!(of_rows.scope().unit, PrivacyUnit::Row, "rows that nobody brought together protect rows");
    let of_persons = PrivateDataset::new(Persons::gather(rows(), &[], 9), scope(PrivacyUnit::Row));
    assert_ne!(of_persons.scope().unit, PrivacyUnit::Row);
    assert_ne!(of_persons.scope().unit, person("p"));
}
