//! Sensitivities where rows have weights, in integers.

use ndarray::{Array1, Array2};
use proptest::prelude::*;

use super::super::{Candidates, CutLoss, Gradient, PrivateDataset, Sensitive};
use super::{row, shares};
use crate::grid::{
    FULL_SCALE, IntegerMap, MomentWeights, OFFSET_LEVELS, ScoreStep, Scoring, Shape, WEIGHT_LEVELS, WEIGHT_ONE,
    gram_one, offset_code, weight_code, weight_of,
};
use crate::kernel::{RawRow, RowsBuilder, WeightedRows};
use crate::loss::{Curved, Glm, Objective};
use crate::noise::Choice;
use crate::preprocess::{Binner, Recoding};
use crate::privacy::{Adjacency, DatasetId, L2, Scope};

/// A row with the codes of its weight and of its offset.
type Weighed = (RawRow, u16, u16);

/// Bounds of offsets, far beyond what margins are.
const OFFSETS: (f64, f64) = (-40.0, 60.0);

/// The rows behind the gate, as an encoder hands them over: the code of the weight is their last column.
fn dataset(rows: &[Weighed], adjacency: Adjacency) -> PrivateDataset {
    let mut builder = RowsBuilder::new(Shape::new(2, &[2, OFFSET_LEVELS, WEIGHT_LEVELS]));
    for (row, weight, offset) in rows {
        builder.push(&RawRow { codes: [row.codes.as_slice(), &[*offset, *weight]].concat(), ..row.clone() });
    }
    let scope = Scope::of_rows(DatasetId::new("a").unwrap(), adjacency);
    PrivateDataset::new(WeightedRows::gather(&builder.build(), Some(OFFSETS)), scope)
}

fn weighed() -> impl Strategy<Value = Weighed> {
    let ends = prop::sample::select(vec![0u16, 1, 254, 255, WEIGHT_LEVELS - 1, WEIGHT_LEVELS, u16::MAX]);
    (row(), prop_oneof![2 => 0..WEIGHT_LEVELS, 1 => ends], 0..OFFSET_LEVELS)
}

/// Neighbours under both relations that `first` and `second` make of common rows.
fn pairs(common: &[Weighed], first: &Weighed, second: &Weighed) -> [(PrivateDataset, PrivateDataset); 2] {
    let with = |row: &Weighed| [std::slice::from_ref(row), common].concat();
    let of = |adjacency| move |rows: &[Weighed]| dataset(rows, adjacency);
    let (add, replace) = (of(Adjacency::AddRemove), of(Adjacency::ReplaceOne));
    [(add(common), add(&with(first))), (replace(&with(first)), replace(&with(second)))]
}

const GRAM_BOUND: fn() -> u64 = || WEIGHT_ONE * 127 * 3 * u64::from(gram_one(FULL_SCALE).unsigned_abs()).pow(2);

const MOMENTS: MomentWeights = MomentWeights {
    count: 1000 * FULL_SCALE as u32,
    features: 1000,
    squares: 1000,
    label: 1000,
    label_square: 1000,
    shares: 0,
    sizes: 0,
};

/// Whatever may be asked of rows with weights, once.
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
    let bins = Binner::new(vec![vec![30_000, 32_768, 40_000], vec![65_000]], vec![2], None).unwrap();
    let binned = data.duplicate().unwrap().recoded(&Recoding::Binned(bins)).unwrap();
    let table = |rows: usize, columns: usize| {
        Array2::from_shape_fn((rows, columns), |(i, j)| (i as f64 + 2.3 * j as f64).cos())
    };
    let tables = IntegerMap::of_tables(vec![table(4, 3), table(2, 1), table(2, 1)], 8).unwrap();
    let tabled = binned.clipped_through(tables, 1 << 49).unwrap();
    let of_tables: Array1<f64> = (0..18).map(|j| weights[j % 5] * (j as f64).cos()).collect();
    let in_tables = Array1::from(of_tables.iter().take(6).copied().collect::<Vec<_>>());
    vec![
        data.clipped(1 << 43).unwrap().gradient_sum(&margin).unwrap(),
        data.clipped(1 << 43).unwrap().gradient_sum(&softmax).unwrap(),
        data.clipped_through(map.clone(), 1 << 49).unwrap().gradient_sum(&margin).unwrap(),
        data.clipped_through(map, 1 << 49).unwrap().gradient_sum(&softmax).unwrap(),
        data.moments(&MOMENTS).unwrap(),
        data.gram(GRAM_BOUND(), 127).unwrap(),
        data.hessian(Curved::Logistic, weights, GRAM_BOUND(), 127).unwrap(),
        scores(Glm::Logistic.into(), Scoring::Label, flat),
        scores(Glm::Squared.into(), Scoring::Number, flat),
        scores(Glm::Logistic.into(), Scoring::Quantile, flat),
        scores(classes, Scoring::Class { labels: 3 }, many.as_slice().unwrap()),
        data.marginals(true, 1 << 24).unwrap(),
        tabled.gradient_sum(&gradient(Glm::Logistic.into(), &in_tables)).unwrap(),
        tabled.gradient_sum(&gradient(classes, &of_tables)).unwrap(),
    ]
}

/// By how much of its sensitivity each value moves.
fn used(one: &PrivateDataset, other: &PrivateDataset, weights: &Array1<f64>, clip_norm: f64) -> Vec<f64> {
    shares(&asked(one, weights, clip_norm), &asked(other, weights, clip_norm), one.scope().adjacency)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_row_of_any_weight_moves_no_value_further_than_stated(
        common in prop::collection::vec(weighed(), 0..40), first in weighed(), second in weighed(),
        weights in prop::collection::vec(prop_oneof![6 => -3.0f64..3.0, 1 => Just(f64::NAN), 1 => Just(1e300)], 5),
        clip_norm in 0.01f64..3.0,
    ) {
        for (one, other) in pairs(&common, &first, &second) {
            used(&one, &other, &Array1::from(weights.clone()), clip_norm);
        }
    }
}

/// A row of the largest weight uses the whole sensitivity, and one of another weight that part of it.
#[test]
fn a_row_moves_values_by_as_much_as_it_weighs() {
    let extreme = |label| RawRow { numeric: vec![FULL_SCALE, FULL_SCALE], codes: vec![9], label, null: false };
    let weights = Array1::from(vec![4.0, 4.0, 0.0, 0.0, 4.0]);
    for share in [1.0, 0.5, 0.1, 0.001] {
        let code = weight_code(share);
        let share = weight_of(code) as f64 / WEIGHT_ONE as f64;
        for (label, values) in [(0, &[0usize, 1, 2, 3, 5, 11, 12, 13][..]), (FULL_SCALE, &[4])] {
            // Offsets of nothing.
            let row = (extreme(label), code, offset_code(0.0, OFFSETS));
            let [(without, with), _] = pairs(&[], &row, &row);
            let used = used(&without, &with, &weights, 0.01);
            for &value in values {
                let part = used[value] / share;
                // Moments have whole weights out of 1000, rounded down.
                let (least, most) = if value == 4 { (0.0, 1.0) } else { (0.97, 1.0 + 1e-9) };
                assert!((least..=most).contains(&part), "share {share}, value {value}: {part}");
                assert!(share < 1.0 || part > 0.97, "value {value}: {part}");
            }
        }
    }
}

#[test]
fn rows_without_weight_are_no_rows_and_what_has_no_proof_is_no_answer() {
    let row = |numeric: i16| RawRow { numeric: vec![numeric, 5], codes: vec![1], label: 1, null: false };
    let (full, none) = (weight_code(1.0), WEIGHT_LEVELS);
    let weights = Array1::from(vec![0.3, -0.2, 0.1, 0.0, 0.5]);
    let (one, more) = (vec![(row(7), full, 9)], vec![(row(7), full, 9), (row(900), none, 9), (row(-3), u16::MAX, 8)]);
    let of = |rows: &[Weighed]| dataset(rows, Adjacency::ReplaceOne);
    assert!(used(&of(&one), &of(&more), &weights, 1.0).iter().all(|used| *used == 0.0));
    let data = of(&more);
    assert_eq!((data.public_len(), data.shape()), (Some(3), &Shape::new(2, &[2])));
    let gradient = Gradient { loss: Glm::Logistic.into(), weights: &weights, label_scale: 1.0, clip_norm: 1.0 };
    assert!(data.vertices(&gradient, 4000).is_err());
    let scoring = CutLoss { loss: Glm::Logistic, label_scale: 1.0, cap: 1.0, most: 100 };
    assert!(data.losses(&scoring, &Candidates { points: Array2::zeros((2, 5)) }).is_err());
    assert!(data.rows().is_err() && data.split(2, |row| row % 2).is_err());
    assert!(data.duplicate().unwrap().divided(Choice::Positions(vec![0])).is_err());
    let told = [&one, &more].map(|rows| of(rows).digest().unwrap());
    assert_ne!(told[0], told[1]);
}
