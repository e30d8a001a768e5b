//! Sums that measure predictions: how many rows, how many right, clipped losses, histograms of margins.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{LANES, Rows};

/// Bins of each histogram of margins.
pub const MARGIN_BINS: usize = 20;

/// Margins beyond this size fall into the outermost bins.
pub const MARGIN_LIMIT: f64 = 5.0;

/// Largest logistic loss that a row counts with.
pub const LOSS_LIMIT: f64 = 4.0;

/// Largest absolute error that a row counts with, in standard deviations of the label.
pub const ERROR_LIMIT: f64 = 4.0;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scoring {
    /// Rows, right labels, logistic loss, and margins by label: one histogram for 0, one for 1.
    Label,
    /// Rows, absolute error, squared error.
    Number,
}

impl Scoring {
    /// How many entries of a row's vector are not zero; each is at most the weight.
    pub fn parts(self) -> u64 {
        match self {
            Scoring::Label => 4,
            Scoring::Number => 3,
        }
    }

    fn entries(self) -> usize {
        match self {
            Scoring::Label => 3 + 2 * MARGIN_BINS,
            Scoring::Number => 3,
        }
    }

    /// Adds one row's integer vector.
    fn add(self, sums: &mut [i64], weight: f64, margin: f64, label: f64) {
        let scaled = |share: f64| if share.is_nan() { 0 } else { (share.clamp(0.0, 1.0) * weight).round() as i64 };
        sums[0] += scaled(1.0);
        match self {
            Scoring::Label => {
                let positive = label > 0.5;
                let toward = if positive { margin } else { -margin };
                sums[1] += scaled(if toward > 0.0 { 1.0 } else { 0.0 });
                sums[2] += scaled(((-toward).max(0.0) + (-toward.abs()).exp().ln_1p()) / LOSS_LIMIT);
                let place = (margin + MARGIN_LIMIT) / (2.0 * MARGIN_LIMIT) * MARGIN_BINS as f64;
                // A cast from float saturates, and sends what is not a number to zero.
                let bin = (place as usize).min(MARGIN_BINS - 1);
                sums[3 + bin + if positive { MARGIN_BINS } else { 0 }] += scaled(1.0);
            }
            Scoring::Number => {
                let error = ((margin - label).abs() / ERROR_LIMIT).min(1.0);
                sums[1] += scaled(error);
                sums[2] += scaled(error * error);
            }
        }
    }
}

/// Sums the score vectors of all rows that are not null, in units of `weight`.
///
/// # Privacy
/// A row has [`Scoring::parts`] entries of at most `weight`, so its vector has norm at most `weight sqrt(parts)`,
/// whatever the floating-point margin is.
pub fn score_sum(rows: &Rows, weights: &[f64], label_scale: f64, scoring: Scoring, weight: u32) -> Vec<i128> {
    let zero = || vec![0i64; scoring.entries()];
    let sums = (0..rows.tiles())
        .into_par_iter()
        .with_min_len(16)
        .fold(zero, |mut sums, tile| {
            let margins = margins(rows, tile, weights);
            for (lane, &margin) in margins.iter().enumerate() {
                let row = tile * LANES + lane;
                if rows.norms[row] > 0 {
                    scoring.add(&mut sums, f64::from(weight), margin, f64::from(rows.labels[row]) * label_scale);
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
    let mut margins = [weights.last().copied().unwrap_or(0.0); LANES];
    for (column, &weight) in rows.numeric_tile(tile).chunks_exact(LANES).zip(weights) {
        let per_unit = weight / f64::from(rows.unit);
        margins.iter_mut().zip(column).for_each(|(margin, &q)| *margin += f64::from(q) * per_unit);
    }
    let mut first = shape.numeric();
    for (index, codes) in rows.code_tile(tile).chunks_exact(LANES).enumerate() {
        let levels = shape.levels(index);
        for (margin, &code) in margins.iter_mut().zip(codes) {
            if usize::from(code) < levels {
                *margin += weights[first + usize::from(code)];
            }
        }
        first += levels;
    }
    margins
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_row_never_exceeds_its_norm(bits in any::<u64>(), label in any::<u64>(), weight in 1u32..1 << 24) {
            for scoring in [Scoring::Label, Scoring::Number] {
                let mut sums = vec![0; scoring.entries()];
                scoring.add(&mut sums, f64::from(weight), f64::from_bits(bits), f64::from_bits(label));
                let square: i128 = sums.iter().map(|&x| i128::from(x) * i128::from(x)).sum();
                prop_assert!(square <= i128::from(scoring.parts()) * i128::from(weight) * i128::from(weight));
            }
        }
    }

    #[test]
    fn ordinary_rows_are_scored_as_they_should_be() {
        let mut sums = vec![0; Scoring::Label.entries()];
        Scoring::Label.add(&mut sums, 1000.0, 1.0, 1.0);
        assert_eq!(sums[..3], [1000, 1000, (1000.0 * (-1f64).exp().ln_1p() / LOSS_LIMIT).round() as i64]);
        assert_eq!(sums.iter().position(|&x| x == 1000 && x > 0), Some(0));
        assert_eq!(sums[3 + MARGIN_BINS + 12], 1000);
        let mut sums = vec![0; 3];
        Scoring::Number.add(&mut sums, 1600.0, 0.0, -2.0);
        assert_eq!(sums, [1600, 800, 400]);
    }
}
