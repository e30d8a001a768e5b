//! Counts of every column, and sums over rows that were re-encoded by them: sensitivities in integers.

use ndarray::{Array1, Array2};
use proptest::prelude::*;

use super::super::{Gradient, PrivateDataset, Sensitive};
use super::{difference, pairs, row, square};
use crate::grid::{FEATURE_TREE, FULL_SCALE, IntegerMap, TARGET_TREE};
use crate::kernel::RawRow;
use crate::loss::{Glm, Objective};
use crate::preprocess::{Affine, Binner, Recoding, Scores, Waves};
use crate::privacy::{Adjacency, L2};

/// Intervals of two numeric columns, and two values.
fn bins() -> Recoding {
    let starts = vec![vec![1, 700, 32_768, 65_534], vec![9_000]];
    Recoding::Binned(Binner::new(starts, vec![2], Some(Affine { centre: 0.1, scale: 0.2, limit: 3.0 })).unwrap())
}

fn map() -> IntegerMap {
    let table = |rows: usize, columns: usize| {
        Array2::from_shape_fn((rows, columns), |(i, j)| ((3 * i + 5 * j) as f64).sin() * 4.0)
    };
    IntegerMap::of_tables(vec![table(5, 3), table(2, 1), table(2, 2)], 6).unwrap()
}

fn scores() -> Scores {
    Scores { numeric: vec![vec![-8191, -3000, 0, 4000, 32_767], vec![-5000, 5000]], levels: vec![2] }
}

/// Three waves of the five scores and values.
fn waves() -> Recoding {
    let frequencies = (0..4).map(|a| (0..3).map(|k| 90_000_000 * (a + 1) - 70_000_000 * k * k).collect()).collect();
    Recoding::Waves(Waves::new(scores(), frequencies, vec![7, 20_000, 50_000]).unwrap())
}

/// Phases themselves, as far as they go and beyond where they go round.
fn lines() -> Recoding {
    let frequencies =
        vec![vec![i32::MAX, 65_536, 8], vec![i32::MIN, 1 << 30, -3], vec![0, 1 << 31 >> 1, 1], vec![9; 3]];
    Recoding::Straight(Waves::new(scores(), frequencies, vec![0, 32_768, 32_767]).unwrap())
}

fn blocks() -> IntegerMap {
    let numbers = Array2::from_shape_fn((2, 4), |(i, j)| ((2 * i + 3 * j) as f64).cos() * 3.0);
    let table = |rows: usize| Array2::from_shape_fn((rows, 2), |(i, j)| ((3 * i + 5 * j) as f64).sin());
    IntegerMap::of_blocks(numbers, vec![table(5), table(2), table(2)], 6).unwrap()
}

/// The counts, clipped sums of one margin and of three, a clipped sum with waves, one with lines, and the covariance of scores.
fn asked(data: &PrivateDataset, weights: &Array1<f64>, clip_norm: f64) -> Vec<Sensitive<L2>> {
    let many: Array1<f64> = (0..21).map(|j| weights[j % 7] * (j as f64).cos()).collect();
    let binned = data.duplicate().unwrap().recoded(&bins()).unwrap();
    let gradient = |loss, weights| Gradient { loss, weights, label_scale: 1e-4, clip_norm };
    let rows = binned.clipped_through(map(), 1 << 33).unwrap();
    let waved = binned.duplicate().unwrap().recoded(&waves()).unwrap();
    let waved = waved.clipped_through(blocks(), 1 << 33).unwrap();
    let straight = binned.duplicate().unwrap().recoded(&lines()).unwrap();
    let straight = straight.clipped_through(blocks(), 1 << 33).unwrap();
    let of_waves: Array1<f64> = (0..13).map(|j| weights[j % 7]).collect();
    vec![
        data.marginals(true, 1 << 20).unwrap(),
        data.marginals(false, 1 << 20).unwrap(),
        rows.gradient_sum(&gradient(Glm::Squared.into(), weights)).unwrap(),
        rows.gradient_sum(&gradient(Objective::Softmax { classes: 3 }, &many)).unwrap(),
        waved.gradient_sum(&gradient(Glm::Squared.into(), &of_waves)).unwrap(),
        straight.gradient_sum(&gradient(Glm::Squared.into(), &of_waves)).unwrap(),
        binned.gram_of_scores(&scores(), 1 << 26, 127).unwrap(),
    ]
}

fn used(one: &PrivateDataset, other: &PrivateDataset, weights: &Array1<f64>, clip_norm: f64) -> Vec<f64> {
    let moved = |(a, b): (Sensitive<L2>, Sensitive<L2>)| {
        let moved = square(&difference(&a, &b)).sqrt() / a.sensitivity.grid() as f64;
        assert!(moved <= 1.0 + 1e-12, "{moved} of what was stated");
        moved
    };
    asked(one, weights, clip_norm).into_iter().zip(asked(other, weights, clip_norm)).map(moved).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_row_moves_no_value_further_than_stated(
        common in prop::collection::vec(row(), 0..20), first in row(), second in row(),
        weights in prop::collection::vec(prop_oneof![6 => -3.0f64..3.0, 1 => Just(f64::NAN), 1 => Just(1e300)], 7),
        clip_norm in 0.01f64..3.0,
    ) {
        for (one, other) in pairs(&common, &first, &second) {
            used(&one, &other, &Array1::from(weights.clone()), clip_norm);
        }
    }
}

#[test]
fn some_row_uses_the_whole_sensitivity() {
    let at = |q: i16, code| RawRow { numeric: vec![q, -q], codes: vec![code], label: q, null: false };
    let weights = Array1::from(vec![9.0; 7]);
    // Under replace-one two rows without a common interval.
    for (one, other) in pairs(&[], &at(FULL_SCALE, 0), &at(-FULL_SCALE, 1)) {
        let used = used(&one, &other, &weights, 0.01);
        assert!(
            used[..3].iter().all(|&used| used > 0.99 || one.scope().adjacency == Adjacency::ReplaceOne),
            "{used:?}"
        );
        assert!(used[..2].iter().all(|&used| used > 0.999_999), "{used:?}");
        let of_waves = if one.scope().adjacency == Adjacency::AddRemove { 0.99 } else { 0.4 };
        // Lines of these two rows run nearly the same way.
        let of_lines = if one.scope().adjacency == Adjacency::AddRemove { 0.99 } else { 0.1 };
        assert!(used[4] > of_waves && used[5] > of_lines && used[6] > 0.9 * of_waves, "{used:?}");
    }
}

/// Tables of other columns, of which there are as many values in all, would be measured by others than those that are added up.
#[test]
fn tables_of_other_columns_are_refused() {
    let data =
        super::dataset(&[RawRow { numeric: vec![9, 9], codes: vec![1], label: 0, null: false }], Adjacency::AddRemove);
    for tables in [vec![Array2::from_elem((4, 1), 131_072.0)], vec![Array2::from_elem((2, 1), 1.0); 2]] {
        let map = IntegerMap::of_tables(tables, 10).unwrap();
        assert_eq!(map.features(), data.shape().dimension(), "as many as there are features");
        assert!(data.clipped_through(map, 1 << 30).is_err());
    }
    let binned = data.recoded(&bins()).unwrap();
    let swapped = [2, 5, 2].map(|rows| Array2::from_elem((rows, 1), 1.0)).to_vec();
    assert!(binned.clipped_through(IntegerMap::of_tables(swapped, 10).unwrap(), 1 << 30).is_err());
    assert!(binned.clipped_through(map(), 1 << 30).is_ok());
}

#[test]
fn counts_are_those_of_the_rows_and_nobody_else_adds_to_them() {
    let rows = [
        RawRow { numeric: vec![0, 5], codes: vec![0], label: 7, null: false },
        RawRow { numeric: vec![0, 6], codes: vec![9], label: 7, null: false },
        RawRow { numeric: vec![0, 5], codes: vec![1], label: 7, null: true },
    ];
    let counts = super::dataset(&rows, Adjacency::AddRemove).marginals(true, 10).unwrap().values;
    let nodes = FEATURE_TREE.nodes();
    assert_eq!(counts.len(), 2 * nodes + 2 + TARGET_TREE.nodes());
    // Two rows on each of five levels, counted twice; a value that was declared, and one that was not; six levels, four times.
    assert_eq!(counts[..nodes].iter().sum::<i128>(), 2 * 5 * 2 * 10);
    assert_eq!(counts[2 * nodes..2 * nodes + 2], [10, 0]);
    assert_eq!(counts[2 * nodes + 2..].iter().sum::<i128>(), 2 * 6 * 4 * 10);
}

#[test]
fn rows_lie_in_the_interval_that_their_number_does() {
    let Recoding::Binned(bins) = bins() else { panic!() };
    let shape = bins.shape();
    assert_eq!((shape.numeric(), shape.categorical(), shape.dimension()), (0, 3, 5 + 2 + 2 + 1));
    // The margins of rows under weights that tell intervals apart.
    for (q, interval) in [(-FULL_SCALE, 0), (1 - FULL_SCALE, 1), (700 - 32_767, 2), (0, 2), (1, 3), (FULL_SCALE, 4)] {
        let row = RawRow { numeric: vec![q, FULL_SCALE], codes: vec![1], label: 0, null: false };
        let data = super::dataset(&[row], Adjacency::AddRemove).recoded(&Recoding::Binned(bins.clone())).unwrap();
        let sum = |weights: Array1<f64>| {
            let gradient = Gradient { loss: Glm::Squared.into(), weights: &weights, label_scale: 1.0, clip_norm: 1e3 };
            data.clipped(1 << 24).unwrap().gradient_sum(&gradient).unwrap().values
        };
        let found = sum(Array1::from_elem(10, 1.0));
        let there: Vec<usize> = (0..10).filter(|&j| found[j] != 0).collect();
        assert_eq!(there, [interval, 6, 8, 9], "{q}");
    }
    // Made for one numeric column and two categories: two numeric ones and a category are other columns, though as many.
    let foreign = Binner::new(vec![vec![10]], vec![2, 2], None).unwrap();
    let row = RawRow { numeric: vec![7, 7], codes: vec![1], label: 0, null: false };
    let data = super::dataset(&[row], Adjacency::AddRemove).recoded(&Recoding::Binned(foreign)).unwrap();
    assert!(data.marginals(false, 4).unwrap().values.iter().all(|&count| count == 0), "null rows");
    assert!(Binner::new(vec![vec![5, 5]], vec![], None).is_err());
    assert!(Binner::new(vec![], vec![], Some(Affine { centre: f64::NAN, scale: 1.0, limit: 1.0 })).is_err());
}
