//! How many rows have each value of each column.

use rayon::prelude::*;

use super::{LANES, Rows};
use crate::grid::{FEATURE_TREE, TARGET_TREE};

/// Tiles that one thread counts at least: a table of counts has to be made and added for each share of the work.
const MIN_TILES: usize = 1024;

/// Counts the rows that are no null rows by cell of each numeric column ([`FEATURE_TREE`]), by declared value of each categorical one,
/// and by cell of the label ([`TARGET_TREE`]) if `target`; columns in their order, one after the other.
///
/// # Privacy
/// A row adds 1 to at most one count of each column, and to nothing else.
pub fn marginal_counts(rows: &Rows, target: bool) -> Vec<i64> {
    let shape = rows.shape();
    let cells = FEATURE_TREE.cells();
    let numeric = shape.numeric() * cells;
    let labels = if target { TARGET_TREE.cells() } else { 0 };
    // With a slot for "none of them" in each column, which nobody reads.
    let zero = || vec![0i64; numeric + shape.slots() + labels];
    let count = |mut counts: Vec<i64>, tile: usize| {
        let present = &rows.norms[tile * LANES..(tile + 1) * LANES];
        let there = |lane: usize| i64::from(present[lane] > 0);
        let (features, rest) = counts.split_at_mut(numeric);
        let (slots, targets) = rest.split_at_mut(shape.slots());
        for (values, counts) in rows.columns(tile).iter().zip(features.chunks_exact_mut(cells)) {
            values.iter().enumerate().for_each(|(lane, &q)| counts[FEATURE_TREE.cell(q)] += there(lane));
        }
        for (column, codes) in rows.code_tile(tile).chunks_exact(LANES).enumerate() {
            let own = &mut slots[shape.slots_of(column)];
            codes.iter().enumerate().for_each(|(lane, &code)| own[usize::from(code)] += there(lane));
        }
        if target {
            let labels = &rows.labels[tile * LANES..(tile + 1) * LANES];
            labels.iter().enumerate().for_each(|(lane, &q)| targets[TARGET_TREE.cell(q)] += there(lane));
        }
        counts
    };
    let merge = |mut a: Vec<i64>, b: Vec<i64>| {
        a.iter_mut().zip(&b).for_each(|(x, y)| *x += y);
        a
    };
    let tiles = (0..rows.tiles()).into_par_iter().with_min_len(MIN_TILES);
    let counts = tiles.fold(zero, count).reduce(zero, merge);
    let mut out = counts[..numeric].to_vec();
    for column in 0..shape.categorical() {
        let slots = shape.slots_of(column);
        out.extend(&counts[numeric + slots.start..numeric + slots.end - 1]);
    }
    out.extend(&counts[numeric + shape.slots()..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{FULL_SCALE, Shape};
    use crate::kernel::{RawRow, RowsBuilder};

    #[test]
    fn each_row_counts_once_in_each_column() {
        let shape = Shape::new(2, &[3, 1]);
        let mut builder = RowsBuilder::new(shape);
        for index in 0i16..1000 {
            let numeric = vec![index.wrapping_mul(77), -FULL_SCALE];
            let codes = vec![index as u16 % 5, 0];
            builder.push(&RawRow { numeric, codes, label: index, null: index % 10 == 9 });
        }
        let rows = builder.build();
        let counts = marginal_counts(&rows, true);
        assert_eq!(counts.len(), 2 * 1024 + 4 + 4096);
        let sum = |range: std::ops::Range<usize>| counts[range].iter().sum::<i64>();
        assert_eq!((sum(0..1024), sum(1024..2048), counts[1024]), (900, 900, 900));
        // Two of five values are not declared; of those left every tenth row is none.
        assert_eq!(&counts[2048..2052], [200, 200, 200, 900]);
        // A cell of sixteen labels, of which one belongs to a null row.
        assert_eq!((sum(2052..6148), counts[2052 + TARGET_TREE.cell(8)]), (900, 15));
        assert_eq!(marginal_counts(&rows, false), counts[..2052]);
    }
}
