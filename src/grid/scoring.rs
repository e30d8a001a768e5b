//! What is measured of a prediction: a short vector of integers per row, of bounded norm whatever the row.

use serde::{Deserialize, Serialize};

/// Bins of each histogram of margins.
pub const MARGIN_BINS: usize = 20;

/// Log-odds beyond this size fall into the outermost bins.
const LOG_ODDS_LIMIT: f64 = 5.0;

/// Scores of a support vector machine beyond this size fall into the outermost bins; it aims at -1 and 1.
const SCORE_LIMIT: f64 = 2.0;

/// Largest loss on one of two labels that a row counts with.
const LOSS_LIMIT: f64 = 4.0;

/// Largest absolute error that a row counts with, in units of the label; these are deviations where it is standardised.
const ERROR_LIMIT: f64 = 4.0;

/// Largest absolute error that a row counts with where targets are counts, in units of their mean: their deviation may be well above it.
const COUNT_ERROR_LIMIT: f64 = 8.0;

/// Largest deviance that a row counts with, in units of the mean count.
const DEVIANCE_LIMIT: f64 = 16.0;

/// The public inputs of one measurement.
#[derive(Clone, Copy, Debug)]
pub struct ScoreStep<'a> {
    /// One coefficient per feature in units of 1.0; for several margins one block after the other. A missing one is 0.
    pub weights: &'a [f64],
    /// What an encoded label of 1 stands for.
    pub label_scale: f64,
    /// What is measured.
    pub scoring: Scoring,
    /// Largest entry of a row's vector.
    pub weight: u32,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Scoring {
    /// Rows, right labels, loss, and log-odds by label: one histogram for 0, one for 1.
    Label,
    /// Rows, right labels, loss, and scores that are no log-odds by label: one histogram for 0, one for 1.
    Score,
    /// Rows, right labels, loss.
    Class {
        /// Number of labels.
        labels: usize,
    },
    /// Rows, absolute error, squared error.
    Number,
    /// Rows, how far the target lies above the prediction, how far below, targets not above.
    Quantile,
    /// Rows, absolute error, deviance.
    Count,
}

/// A row as it is measured; pure functions of its features, its label and public coefficients.
pub(crate) struct Outcome {
    /// The margin, the number of the most probable label, or the rate of a count.
    pub prediction: f64,
    pub label: f64,
    /// Loss of the prediction.
    pub loss: f64,
}

impl Scoring {
    /// Largest square of a row's vector, in squares of the weight: how many of its entries are not zero at most; each is at
    /// most the weight.
    pub fn parts(self) -> u64 {
        match self {
            Scoring::Label | Scoring::Score => 4,
            // A target lies above the prediction or below, not both.
            Scoring::Class { .. } | Scoring::Number | Scoring::Quantile | Scoring::Count => 3,
        }
    }

    /// Largest square of the difference between the vectors of two rows, in squares of the weight; a null row's vector is zero.
    ///
    /// It is no more than [`Scoring::parts`], so a row that is replaced moves the sums no further than one that is removed.
    /// Proof: if one row is null, the difference is the other's vector. Else both count as one row, so the first entry does
    /// not differ. All entries lie between zero and the weight `W`, so any other one differs by at most `W`; this gives
    /// `2 W^2` for the two further entries of `Class`, `Number` and `Count`, and `3 W^2` for the three of `Quantile`. Labels
    /// and scores have two such entries, too, and a histogram in which each row fills one bin with `W`: two rows differ there
    /// by at most `2 W^2`, which makes `4 W^2`.
    pub fn apart(self) -> u64 {
        let of_two_rows = match self {
            Scoring::Label | Scoring::Score => 4,
            Scoring::Quantile => 3,
            Scoring::Class { .. } | Scoring::Number | Scoring::Count => 2,
        };
        of_two_rows.max(self.parts())
    }

    /// Whether predictions are measured against labels, and not against numbers.
    pub(crate) fn is_of_labels(self) -> bool {
        match self {
            Scoring::Label | Scoring::Score | Scoring::Class { .. } => true,
            Scoring::Number | Scoring::Quantile | Scoring::Count => false,
        }
    }

    /// Length of a row's vector.
    pub fn entries(self) -> usize {
        match self {
            Scoring::Label | Scoring::Score => 3 + 2 * MARGIN_BINS,
            Scoring::Quantile => 4,
            Scoring::Class { .. } | Scoring::Number | Scoring::Count => 3,
        }
    }

    /// Margins per row.
    pub fn outputs(self) -> usize {
        match self {
            Scoring::Class { labels } => labels,
            Scoring::Label | Scoring::Score | Scoring::Number | Scoring::Quantile | Scoring::Count => 1,
        }
    }

    /// The largest loss that a row counts with; infinite where losses are not counted.
    pub fn loss_limit(self) -> f64 {
        match self {
            Scoring::Label | Scoring::Score => LOSS_LIMIT,
            // Guessing among more labels costs more.
            Scoring::Class { labels } => LOSS_LIMIT + (labels.max(2) as f64 / 2.0).ln(),
            Scoring::Count => DEVIANCE_LIMIT,
            Scoring::Number | Scoring::Quantile => f64::INFINITY,
        }
    }

    /// The largest absolute error that a row counts with, in units of the label; infinite where errors are not counted.
    pub fn error_limit(self) -> f64 {
        match self {
            Scoring::Number | Scoring::Quantile => ERROR_LIMIT,
            Scoring::Count => COUNT_ERROR_LIMIT,
            Scoring::Label | Scoring::Score | Scoring::Class { .. } => f64::INFINITY,
        }
    }

    /// Adds one row's integer vector.
    pub(crate) fn add(self, sums: &mut [i64], weight: f64, row: &Outcome) {
        let scaled = |share: f64| if share.is_nan() { 0 } else { (share.clamp(0.0, 1.0) * weight).round() as i64 };
        let whole = |held: bool| if held { scaled(1.0) } else { 0 };
        let Outcome { prediction, label, loss } = *row;
        let error = (prediction - label) / self.error_limit();
        let loss = scaled(loss / self.loss_limit());
        sums[0] += scaled(1.0);
        match self {
            Scoring::Label | Scoring::Score => {
                let positive = label > 0.5;
                sums[1] += whole((prediction >= 0.0) == positive);
                sums[2] += loss;
                sums[3 + self.bin(prediction) + if positive { MARGIN_BINS } else { 0 }] += scaled(1.0);
            }
            Scoring::Class { .. } => {
                sums[1] += whole(prediction == label);
                sums[2] += loss;
            }
            Scoring::Number => {
                sums[1] += scaled(error.abs());
                sums[2] += scaled(error.abs().min(1.0).powi(2));
            }
            Scoring::Quantile => {
                sums[1] += scaled(-error);
                sums[2] += scaled(error);
                sums[3] += whole(label <= prediction);
            }
            Scoring::Count => {
                sums[1] += scaled(error.abs());
                sums[2] += loss;
            }
        }
    }

    /// Margins of this size and above fall into the outermost bins.
    fn margin_limit(self) -> f64 {
        if self == Scoring::Score { SCORE_LIMIT } else { LOG_ODDS_LIMIT }
    }

    /// Where one bin of margins ends and the next one begins, `MARGIN_BINS - 1` of them; the outermost bins are open.
    pub fn margin_edges(self) -> Vec<f64> {
        let (limit, width) = (self.margin_limit(), 2.0 * self.margin_limit() / MARGIN_BINS as f64);
        (1..MARGIN_BINS).map(|at| at as f64 * width - limit).collect()
    }

    /// The bin of a margin.
    fn bin(self, margin: f64) -> usize {
        let limit = self.margin_limit();
        let place = (margin + limit) / (2.0 * limit) * MARGIN_BINS as f64;
        // A cast from float saturates, and sends what is not a number to zero.
        (place as usize).min(MARGIN_BINS - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Scoring; 6] = [
        Scoring::Label,
        Scoring::Score,
        Scoring::Class { labels: 5 },
        Scoring::Number,
        Scoring::Quantile,
        Scoring::Count,
    ];

    fn scored(scoring: Scoring, weight: f64, prediction: f64, label: f64, loss: f64) -> Vec<i64> {
        let mut sums = vec![0; scoring.entries()];
        scoring.add(&mut sums, weight, &Outcome { prediction, label, loss });
        sums
    }

    /// All bit patterns, half of them numbers of ordinary size.
    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![any::<u64>().prop_map(f64::from_bits), -9.0..9.0]
    }

    proptest! {
        #[test]
        fn a_row_never_exceeds_its_norm(
            prediction in number(), label in number(), loss in number(), weight in 1u32..1 << 24
        ) {
            for scoring in ALL {
                let sums = scored(scoring, f64::from(weight), prediction, label, loss);
                let square: i128 = sums.iter().map(|&x| i128::from(x) * i128::from(x)).sum();
                prop_assert!(square <= i128::from(scoring.parts()) * i128::from(weight) * i128::from(weight));
            }
        }
    }

    proptest! {
        #[test]
        fn two_rows_are_never_further_apart_than_stated(
            predictions in [number(), number()], labels in [number(), number()], losses in [number(), number()],
            weight in 1u32..1 << 24
        ) {
            for scoring in ALL {
                let of = |k: usize| scored(scoring, f64::from(weight), predictions[k], labels[k], losses[k]);
                let square: i128 = of(0).iter().zip(of(1)).map(|(&a, b)| i128::from(a - b) * i128::from(a - b)).sum();
                prop_assert!(square <= i128::from(scoring.apart()) * i128::from(weight) * i128::from(weight));
            }
        }
    }

    #[test]
    fn two_rows_are_as_far_apart_as_they_can_be() {
        // Right without a loss against wrong with all of it; for a quantile far above against far below.
        let labels = [(9.0, 1.0, 0.0), (-9.0, 1.0, 9.0)];
        let (number, quantile) = ([(0.0, 0.0, 0.0), (9.0, -9.0, 9.0)], [(0.0, 9.0, 0.0), (0.0, -9.0, 0.0)]);
        let worst = [
            labels,
            labels,
            [(3.0, 3.0, 0.0), (3.0, 2.0, 9.0)],
            number,
            quantile,
            [(1.0, 1.0, 0.0), (30.0, 1.0, 99.0)],
        ];
        for (scoring, pair) in ALL.into_iter().zip(worst) {
            let [a, b] = pair.map(|(prediction, label, loss)| scored(scoring, 1000.0, prediction, label, loss));
            let square: i64 = a.iter().zip(&b).map(|(x, y)| (x - y) * (x - y)).sum();
            let null = scoring.parts() as i64;
            // A null row in the place of another may be the worse.
            assert_eq!((square / 1_000_000).max(null), scoring.apart() as i64, "{scoring:?}");
            assert!(square == 1_000_000 * [4, 4, 2, 2, 3, 2][ALL.iter().position(|it| *it == scoring).unwrap()]);
        }
    }

    #[test]
    fn the_norm_is_reached() {
        let (right, far) = ((9.0, 1.0, 9.0), (9.0, -9.0, 0.0));
        let worst = [right, right, (3.0, 3.0, 9.0), far, far, (30.0, 1.0, 99.0)];
        for (scoring, (prediction, label, loss)) in ALL.into_iter().zip(worst) {
            let sums = scored(scoring, 1000.0, prediction, label, loss);
            let square: i64 = sums.iter().map(|x| x * x).sum();
            assert_eq!(square, 1_000_000 * scoring.parts() as i64, "{scoring:?}");
        }
    }

    #[test]
    fn ordinary_rows_are_scored_as_they_should_be() {
        let label = scored(Scoring::Label, 1000.0, 1.0, 1.0, 0.3);
        assert_eq!(label[..3], [1000, 1000, 75]);
        assert_eq!(label.iter().skip(3).position(|&x| x == 1000), Some(MARGIN_BINS + 12));
        let score = scored(Scoring::Score, 1000.0, -1.0, 1.0, 2.0);
        assert_eq!(score[..3], [1000, 0, 500]);
        assert_eq!(score.iter().skip(3).position(|&x| x == 1000), Some(MARGIN_BINS + 5));
        let limit = LOSS_LIMIT + 2.5f64.ln();
        assert_eq!(scored(Scoring::Class { labels: 5 }, 1000.0, 3.0, 3.0, limit / 4.0), [1000, 1000, 250]);
        assert_eq!(scored(Scoring::Class { labels: 5 }, 1000.0, 3.0, 2.0, limit / 2.0), [1000, 0, 500]);
        assert_eq!(scored(Scoring::Number, 1600.0, 0.0, -2.0, 0.0), [1600, 800, 400]);
        assert_eq!(scored(Scoring::Quantile, 1000.0, 0.0, -2.0, 0.0), [1000, 0, 500, 1000]);
        assert_eq!(scored(Scoring::Quantile, 1000.0, 0.0, 3.0, 0.0), [1000, 750, 0, 0]);
        assert_eq!(scored(Scoring::Count, 1000.0, 3.0, 1.0, 4.0), [1000, 250, 250]);
    }
}
