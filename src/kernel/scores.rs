//! Sums that measure predictions over all rows, see [`Scoring`].

use rayon::prelude::*;

use super::{LANES, Rows};
use crate::grid::{NO_LABEL, Outcome, ScoreStep};

/// Sums the score vectors of all rows that are not null and have a label, in units of the weight.
///
/// `predict` turns the margins of a row into its prediction, `loss` measures them against its label.
///
/// # Privacy
/// A row has at most [`crate::grid::Scoring::parts`] entries that are not zero, each of at most `weight`, so its vector has norm at
/// most `weight sqrt(parts)`, whatever the floating-point margins are.
pub fn score_sum(
    rows: &Rows,
    step: &ScoreStep<'_>,
    predict: impl Fn(&[f64]) -> f64 + Sync,
    loss: impl Fn(&[f64], f64) -> f64 + Sync,
) -> Vec<i128> {
    let dimension = rows.shape().dimension();
    let blocks: Vec<&[f64]> = step.weights.chunks(dimension).take(step.scoring.outputs()).collect();
    let zero = || vec![0i64; step.scoring.entries()];
    let sums = (0..rows.tiles())
        .into_par_iter()
        .with_min_len(16)
        .fold(zero, |mut sums, tile| {
            let margins: Vec<[f64; LANES]> = blocks.iter().map(|weights| margins(rows, tile, weights)).collect();
            let mut own = vec![0.0; margins.len()];
            for lane in 0..LANES {
                let row = tile * LANES + lane;
                let unlabelled = step.scoring.is_of_labels() && rows.labels[row] == NO_LABEL;
                if rows.norms[row] > 0 && !unlabelled {
                    own.iter_mut().zip(&margins).for_each(|(own, block)| *own = block[lane]);
                    let label = f64::from(rows.labels[row]) * step.label_scale;
                    let outcome = Outcome { prediction: predict(&own), label, loss: loss(&own, label) };
                    step.scoring.add(&mut sums, f64::from(step.weight), &outcome);
                }
            }
            sums
        })
        .reduce(zero, |mut a, b| {
            a.iter_mut().zip(&b).for_each(|(x, y)| *x += y);
            a
        });
    sums.into_iter().map(i128::from).collect()
}

fn margins(rows: &Rows, tile: usize, weights: &[f64]) -> [f64; LANES] {
    let shape = rows.shape();
    let weight = |index: usize| weights.get(index).copied().unwrap_or(0.0);
    let mut margins = [weight(shape.dimension() - 1); LANES];
    for (j, column) in rows.numeric_tile(tile).chunks_exact(LANES).enumerate() {
        let per_unit = weight(j) / f64::from(rows.one);
        margins.iter_mut().zip(column).for_each(|(margin, &q)| *margin += f64::from(q) * per_unit);
    }
    let mut first = shape.numeric();
    for (index, codes) in rows.code_tile(tile).chunks_exact(LANES).enumerate() {
        let levels = shape.levels(index);
        for (margin, &code) in margins.iter_mut().zip(codes) {
            if usize::from(code) < levels {
                *margin += weight(first + usize::from(code));
            }
        }
        first += levels;
    }
    margins
}
