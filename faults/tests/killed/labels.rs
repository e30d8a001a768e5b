//! Faults of labels that are protected alone: a sum is charged for labels, and all else is free because features are public.

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rhograd::grid::LabelCoding;
use rhograd::kernel::{Caps, MeanStep, Rows, label_sum, mean_sum};
use rhograd_faults::invariants::neighbours::{Change, Kind, LABELS, NUMBERS, Table};
use rhograd_faults::invariants::replay::{moved, shows_the_same};
use rhograd_faults::{BOUND, encoded};

use super::{MOVES, SHOWS};

/// What stands in a cell of a label: declared ones, numbers, and what is no label.
const CELLS: [&str; 7] = ["yes", "no", "maybe", "", "-1", "1", "nan"];

/// Pairs of tables that differ in one cell of this column.
fn pairs(column: usize) -> Vec<[Table; 2]> {
    let mut rng = ChaCha8Rng::seed_from_u64(20);
    let mut pair = |_| {
        let table = Table::ending_in(Kind::Ordinary, &mut rng);
        let other = table.relabelled(column, CELLS.choose(&mut rng).unwrap(), &mut rng);
        [table, other]
    };
    (0..200).map(&mut pair).collect()
}

/// A schema that protects labels alone.
fn of_labels(schema: &str) -> String {
    schema.replacen("\"target\"", "\"protect\":\"label\",\"target\"", 1)
}

/// What is free: rows weighed by what a model says of them.
fn free(rows: &Rows) -> Vec<i64> {
    let weights: Vec<f64> = (0..rows.shape().dimension()).map(|j| 0.3 - 0.1 * j as f64).collect();
    let step = MeanStep { weights: &weights, outputs: 1, scale: 1.0, most: 4095 };
    mean_sum(rows, &Caps::new(rows, BOUND), &step, &|_| ())
}

/// The exact sum that is noised.
fn paid(rows: &Rows, coding: LabelCoding) -> Vec<i128> {
    label_sum(rows, &Caps::new(rows, BOUND), coding).into_iter().map(i128::from).collect()
}

/// Whether free sums by a schema are the same for all pairs.
fn frees(schema: &str) -> Result<(), String> {
    pairs(3).iter().try_for_each(|pair| {
        let [before, after] =
            pair.each_ref().map(|table| vec![format!("{:?}", free(&encoded(&table.bytes(), schema)))]);
        shows_the_same(&before, &after)
    })
}

#[test]
fn fault_55_a_label_that_is_none_makes_its_row_none() {
    frees(&of_labels(LABELS)).unwrap();
    // As where rows are protected: such a line is no record.
    let found = frees(LABELS).unwrap_err();
    assert!(found.contains(SHOWS), "{found}");
}

/// The largest share of a stated sensitivity that a pair uses.
fn largest(pairs: &[[Table; 2]], schema: &str, coding: LabelCoding, stated: u64) -> Result<f64, String> {
    pairs.iter().try_fold(0.0, |most: f64, pair| {
        let [before, after] = pair.each_ref().map(|table| paid(&encoded(&table.bytes(), schema), coding));
        Ok(most.max(moved(&before, &after, stated)?))
    })
}

#[test]
fn fault_56_numbers_move_from_their_middle_and_not_from_bound_to_bound() {
    let (schema, pairs) = (of_labels(NUMBERS), pairs(1));
    let used = largest(&pairs, &schema, LabelCoding::Numbers, LabelCoding::Numbers.spread(16 * BOUND)).unwrap();
    assert!(used > 0.5, "{used}");
    // As for counts, of which one end is nothing.
    let found = largest(&pairs, &schema, LabelCoding::Numbers, LabelCoding::Counts.spread(16 * BOUND)).unwrap_err();
    assert!(found.contains(MOVES), "{found}");
}

#[test]
fn fault_57_features_are_told_to_be_protected_by_the_noise_of_labels() {
    let schema = of_labels(LABELS);
    let stated = LabelCoding::Two.spread(16 * BOUND);
    largest(&pairs(3), &schema, LabelCoding::Two, stated).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let rows: Vec<[Table; 2]> = (0..200)
        .map(|_| {
            let table = Table::ending_in(Kind::Ordinary, &mut rng);
            let other = table.neighbour(Change::Replace, Kind::Extreme, false, &mut rng);
            [table, other]
        })
        .collect();
    let found = largest(&rows, &schema, LabelCoding::Two, stated).unwrap_err();
    assert!(found.contains(MOVES), "{found}");
}
