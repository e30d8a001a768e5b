//! Sums of clipped losses at many candidate models, in integers.

use ndarray::Array2;
use rayon::prelude::*;

use super::{LANES, Rows};

/// For each candidate the sum over all rows of `min(round(value), most)`, a negative or undefined value counting as 0.
///
/// One row of `points` is one candidate, in coefficients of features; `value(margin, label)` is in grid steps. A row's
/// integers are pure functions of the row and of public inputs.
///
/// # Privacy
/// Every row adds a vector with entries in `0..=most`; null rows add nothing.
pub fn loss_sums(rows: &Rows, points: &Array2<f64>, most: u32, value: impl Fn(f64, f64) -> f64 + Sync) -> Vec<i128> {
    let sums = (0..rows.tiles())
        .into_par_iter()
        .with_min_len(16)
        .fold(
            || vec![0u64; points.nrows()],
            |mut sums, tile| {
                for lane in (0..LANES).filter(|lane| rows.norms[tile * LANES + lane] > 0) {
                    let label = f64::from(rows.labels[tile * LANES + lane]);
                    let x = features(rows, tile, lane);
                    for (sum, point) in sums.iter_mut().zip(points.rows()) {
                        let margin = point.iter().zip(&x).map(|(w, x)| w * x).sum();
                        // The cast takes NaN and negative numbers to 0 and large ones to the end.
                        *sum += u64::from((value(margin, label).round() as u32).min(most));
                    }
                }
                sums
            },
        )
        .reduce(
            || vec![0u64; points.nrows()],
            |mut a, b| {
                a.iter_mut().zip(&b).for_each(|(x, y)| *x += y);
                a
            },
        );
    sums.into_iter().map(i128::from).collect()
}

/// One row with a coordinate for every coefficient.
fn features(rows: &Rows, tile: usize, lane: usize) -> Vec<f64> {
    let shape = rows.shape();
    let one = f64::from(rows.one);
    let mut x: Vec<f64> =
        rows.numeric_tile(tile).chunks_exact(LANES).map(|column| f64::from(column[lane]) / one).collect();
    x.resize(shape.dimension(), 0.0);
    let codes = rows.code_tile(tile);
    let active = |slot: usize| {
        let column = (0..shape.categorical()).rfind(|&column| shape.slot(column) <= slot);
        column.is_some_and(|column| shape.slot(column) + usize::from(codes[column * LANES + lane]) == slot)
    };
    shape.each_slot(|coefficient, slot| x[coefficient] = if active(slot) { 1.0 } else { 0.0 });
    x[shape.dimension() - 1] = 1.0;
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Shape;
    use crate::kernel::{RawRow, RowsBuilder};
    use ndarray::array;

    #[test]
    fn losses_are_rounded_and_cut_row_by_row() {
        let mut builder = RowsBuilder::new(Shape::new(1, &[1, 1]));
        for (q, codes, label, null) in
            [(i16::MAX, [0, 1], 1, false), (0, [1, 0], 0, false), (0, [9, 9], 0, false), (i16::MAX, [0, 0], 1, true)]
        {
            builder.push(&RawRow { numeric: vec![q], codes: codes.to_vec(), label, null });
        }
        let rows = builder.build();
        let points = array![[1.0, 10.0, 100.0, 1000.0], [-1.0, 0.0, 0.0, 0.0], [f64::NAN, 0.0, 0.0, 0.0]];
        let sums = loss_sums(&rows, &points, 1050, |margin, label| margin + 0.25 + 2.0 * label);
        assert_eq!(sums, [1013 + 1050 + 1000, 1, 0]);
        assert_eq!(loss_sums(&rows, &points, 5, |_, _| f64::INFINITY), [15, 15, 15]);
    }
}
