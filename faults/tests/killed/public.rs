//! Faults of public columns: what is free must follow from public cells alone, and the rest be charged for what private cells move.

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rhograd::grid::{DIAGONAL, GRAM_MULTIPLIER, PublicColumns, Shape};
use rhograd::kernel::{DividedRows, RawRow, Rows, RowsBuilder, cross_gram_sum, gram_sum};
use rhograd_faults::encoded;
use rhograd_faults::invariants::neighbours::{Kind, LABELS, Table};
use rhograd_faults::invariants::replay::{moved, shows_the_same};

use super::{MOVES, SHOWS};

/// Both numbers are public, and the category is not.
fn columns() -> PublicColumns {
    PublicColumns { numeric: vec![true, true], categorical: vec![false] }
}

/// What is free of rows: the Gram matrix of their public cells.
fn free(rows: Rows) -> Vec<i128> {
    gram_sum(&DividedRows::of(rows, &columns(), true).public, u64::MAX, GRAM_MULTIPLIER)
}

/// Whether what is free by a schema is the same for tables that differ in a private cell.
fn frees(schema: &str) -> Result<(), String> {
    let mut rng = ChaCha8Rng::seed_from_u64(59);
    (0..200).try_for_each(|_| {
        let table = Table::ending_in(Kind::Ordinary, &mut rng);
        let (column, cell) = *[(3, "maybe"), (3, ""), (3, "no"), (2, "u"), (2, "?")].choose(&mut rng).unwrap();
        let other = table.relabelled(column, cell, &mut rng);
        let [before, after] = [table, other].map(|table| vec![format!("{:?}", free(encoded(&table.bytes(), schema)))]);
        shows_the_same(&before, &after)
    })
}

#[test]
fn fault_59_a_private_cell_that_is_none_makes_its_row_none() {
    let public = ["\"lower\":0,\"upper\":10", "\"lower\":-1,\"upper\":1"];
    let schema = public
        .iter()
        .fold(LABELS.to_owned(), |schema, bounds| schema.replacen(bounds, &format!("{bounds},\"public\":true"), 1));
    frees(&schema).unwrap();
    // As where rows are protected: a line without a label is no record.
    let found = frees(LABELS).unwrap_err();
    assert!(found.contains(SHOWS), "{found}");
}

#[test]
fn fault_60_private_cells_are_taken_never_to_change_the_sign_of_a_product() {
    let of = |private: i16| {
        let mut builder = RowsBuilder::new(Shape::new(2, &[]));
        builder.push(&RawRow { numeric: vec![i16::MAX, private], codes: vec![], label: 1, null: false });
        let columns = PublicColumns { numeric: vec![true, false], categorical: vec![] };
        cross_gram_sum(&builder.build(), &columns, 1 << 23, GRAM_MULTIPLIER)
    };
    let clip = DIAGONAL << 23;
    let [before, after] = [of(2048), of(-2048)];
    assert!(moved(&before, &after, 2 * clip).unwrap() > 0.9);
    // As for whole matrices, of which no two have a negative inner product.
    let found = moved(&before, &after, (2f64.sqrt() * clip as f64) as u64).unwrap_err();
    assert!(found.contains(MOVES), "{found}");
}
