//! Metrics that follow from the noised sums of a hold-out; post-processing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::grid::{MARGIN_BINS, Scoring};
use crate::loss::Objective;

/// A metric of a private hold-out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The noised value.
    pub value: f64,
    /// Standard deviation that the noise gives it, to first order; the choice of hold-out rows comes on top.
    pub noise: f64,
    /// The most that a row's loss counts, or, for errors and what follows from them, its absolute error; absent where
    /// nothing is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
}

/// Rows of a hold-out by label and by the log-odds that a model gave them, noised: what its probabilities were worth.
///
/// `K - 1` edges make `K` bins of log-odds, of which the outermost are open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarginCounts {
    /// Where one bin ends and the next one begins, rising.
    pub edges: Vec<f64>,
    /// Noised rows with the negative label, by bin; some lie below zero.
    pub negatives: Vec<f64>,
    /// Noised rows with the positive label, by bin.
    pub positives: Vec<f64>,
    /// Standard deviation of the noise on each of these numbers.
    pub noise: f64,
}

/// What a hold-out release said; post-processing of noised sums.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// Noised number of rows held out.
    pub rows: f64,
    /// Metrics by name, those of the model family; errors and deviances are in the target's units.
    pub metrics: BTreeMap<String, Estimate>,
    /// Rows by label and log-odds, of models of two labels that predict probabilities; absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margins: Option<MarginCounts>,
}

impl Evaluation {
    /// One number to compare models of the same data by, larger is better: minus the loss or the error.
    pub(in crate::optim) fn score(&self) -> f64 {
        let losses = ["log_loss", "hinge_loss", "loss", "pinball", "deviance", "rmse"];
        losses.iter().find_map(|name| self.metrics.get(*name)).map_or(f64::NAN, |loss| -loss.value)
    }
}

/// In what units numbers are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units {
    /// What an encoded label of 1 stands for, in units of the margin.
    pub label_scale: f64,
    /// What a margin of 1 stands for in the target's units; 1 for labels.
    pub per_margin: f64,
    /// Whether that is the target's released standard deviation, in which r2 is defined.
    pub of_deviation: bool,
}

/// The sums of a hold-out in rows.
pub(in crate::optim) struct Sums<'a> {
    pub values: &'a [f64],
    /// Standard deviation of the noise on each.
    pub sigma: f64,
    pub units: Units,
}

impl Sums<'_> {
    /// The metrics of a model family.
    pub(in crate::optim) fn evaluation(&self, scoring: Scoring, loss: Objective) -> Evaluation {
        let metrics = match scoring {
            Scoring::Label | Scoring::Score => self.of_two_labels(loss.metric(), scoring),
            Scoring::Class { .. } => {
                vec![("accuracy", self.share(1)), (loss.metric(), self.cut(2, scoring.loss_limit()))]
            }
            Scoring::Number => self.of_numbers(scoring),
            Scoring::Quantile => self.of_quantiles(scoring, loss),
            Scoring::Count => {
                let per_margin = self.units.per_margin;
                let deviance = self.cut(2, scoring.loss_limit() * per_margin);
                vec![("mae", self.cut(1, scoring.error_limit() * per_margin)), ("deviance", deviance)]
            }
        };
        let metrics = metrics.into_iter().map(|(name, it)| (name.to_owned(), it)).collect();
        let margins = (scoring == Scoring::Label).then(|| self.margins(scoring));
        Evaluation { rows: self.rows(), metrics, margins }
    }

    /// The histograms themselves, in hundredths of a row: finer than their noise.
    fn margins(&self, scoring: Scoring) -> MarginCounts {
        let (negatives, positives) = self.histograms();
        let hundredths = |counts: &[f64]| counts.iter().map(|count| (count * 100.0).round() / 100.0).collect();
        MarginCounts {
            edges: scoring.margin_edges(),
            negatives: hundredths(negatives),
            positives: hundredths(positives),
            noise: self.sigma,
        }
    }

    fn histograms(&self) -> (&[f64], &[f64]) {
        self.values.get(3..).unwrap_or_default().split_at_checked(MARGIN_BINS).unwrap_or_default()
    }

    fn value(&self, index: usize) -> f64 {
        self.values.get(index).copied().unwrap_or(0.0)
    }

    fn rows(&self) -> f64 {
        self.value(0).max(1.0)
    }

    /// `scale` times a mean in `[0, 1]` of a combination of entries, with its noise.
    fn mean(&self, terms: &[(usize, f64)], scale: f64) -> Estimate {
        let rows = self.rows();
        let sum: f64 = terms.iter().map(|&(index, factor)| factor * self.value(index)).sum();
        let share = (sum / rows).clamp(0.0, 1.0);
        let square: f64 = terms.iter().map(|(_, factor)| factor * factor).sum();
        Estimate {
            value: scale * share,
            noise: scale * self.sigma * (square + share * share).sqrt() / rows,
            limit: None,
        }
    }

    /// The share of rows that an entry counts.
    fn share(&self, index: usize) -> Estimate {
        self.mean(&[(index, 1.0)], 1.0)
    }

    /// The mean of an entry that counts up to `limit`.
    fn cut(&self, index: usize, limit: f64) -> Estimate {
        Estimate { limit: Some(limit), ..self.mean(&[(index, 1.0)], limit) }
    }

    fn of_two_labels(&self, loss: &'static str, scoring: Scoring) -> Vec<(&'static str, Estimate)> {
        let (negatives, positives) = self.histograms();
        let area = area(negatives, positives, self.sigma);
        vec![("accuracy", self.share(1)), (loss, self.cut(2, scoring.loss_limit())), ("auc", area)]
    }

    fn of_numbers(&self, scoring: Scoring) -> Vec<(&'static str, Estimate)> {
        let (limit, per_margin) = (scoring.error_limit(), self.units.per_margin);
        let mse = self.mean(&[(2, 1.0)], limit * limit);
        let root = mse.value.sqrt().max(1e-9);
        let rmse = Estimate {
            value: root * per_margin,
            noise: mse.noise / (2.0 * root) * per_margin,
            limit: Some(limit * per_margin),
        };
        let mut metrics = vec![("mae", self.cut(1, limit * per_margin)), ("rmse", rmse)];
        // In units of the target's variance, as it was released in training; without that there is none to compare with.
        if self.units.of_deviation {
            metrics
                .push(("r2", Estimate { value: 1.0 - mse.value, noise: mse.noise, limit: Some(limit * per_margin) }));
        }
        metrics
    }

    /// Of how far targets lie above and below what is predicted, by the level of the quantile.
    fn of_quantiles(&self, scoring: Scoring, loss: Objective) -> Vec<(&'static str, Estimate)> {
        let limit = scoring.error_limit() * self.units.per_margin;
        // What a target costs that lies 1 to a side of the prediction.
        let side = |toward: f64| loss.reported(&[0.0], toward);
        let pinball = self.mean(&[(1, side(1.0)), (2, side(-1.0))], limit);
        let mae = self.mean(&[(1, 1.0), (2, 1.0)], limit);
        let limit = Some(limit);
        let (mae, pinball) = (Estimate { limit, ..mae }, Estimate { limit, ..pinball });
        vec![("mae", mae), ("pinball", pinball), ("coverage", self.share(3))]
    }
}

/// Area under the curve from noised histograms of margins, ties counted half.
fn area(negatives: &[f64], positives: &[f64], sigma: f64) -> Estimate {
    let (n, p) = (negatives.iter().sum::<f64>().max(1.0), positives.iter().sum::<f64>().max(1.0));
    // Share of negatives below each bin, and of positives above it.
    let below = |bin: usize| negatives[..bin].iter().sum::<f64>() + negatives[bin] / 2.0;
    let above = |bin: usize| positives[bin + 1..].iter().sum::<f64>() + positives[bin] / 2.0;
    let bins = 0..negatives.len().min(positives.len());
    let value = bins.clone().map(|bin| positives[bin] * below(bin)).sum::<f64>() / (n * p);
    let slope = |bin: usize| {
        let (to_positive, to_negative) = ((below(bin) / n - value) / p, (above(bin) / p - value) / n);
        to_positive * to_positive + to_negative * to_negative
    };
    let noise = sigma * bins.map(slope).sum::<f64>().sqrt();
    Estimate { value: value.clamp(0.0, 1.0), noise, limit: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Glm, Pinball};

    #[test]
    fn a_perfect_and_a_useless_score_have_their_areas() {
        let mut low = vec![0.0; MARGIN_BINS];
        low[2] = 50.0;
        let mut high = vec![0.0; MARGIN_BINS];
        high[9] = 70.0;
        assert_eq!(area(&low, &high, 0.0), Estimate { value: 1.0, noise: 0.0, limit: None });
        assert_eq!(area(&high, &low, 0.0).value, 0.0);
        assert_eq!(area(&low, &low, 0.0).value, 0.5);
        assert!(area(&low, &high, 1.0).noise > 0.0);
    }

    #[test]
    fn means_are_read_in_the_units_of_the_target() {
        let units = Units { label_scale: 1.0, per_margin: 10.0, of_deviation: false };
        let read = |values: &[f64], scoring, loss| Sums { values, sigma: 0.0, units }.evaluation(scoring, loss);
        let pinball = Objective::from(Glm::Pinball(Pinball { level: 0.75, width: 0.1 }));
        let metrics = read(&[100.0, 10.0, 20.0, 60.0], Scoring::Quantile, pinball).metrics;
        // Errors count up to 40: 4 above on the mean and 8 below.
        assert!((metrics["mae"].value - 12.0).abs() < 1e-9 && metrics["mae"].limit == Some(40.0));
        assert!((metrics["pinball"].value - (0.75 * 4.0 + 0.25 * 8.0)).abs() < 1e-9);
        assert!((metrics["coverage"].value - 0.6).abs() < 1e-12);
        let metrics = read(&[100.0, 25.0, 50.0], Scoring::Count, Objective::from(Glm::Squared)).metrics;
        assert_eq!((metrics["mae"].value, metrics["deviance"].value), (20.0, 80.0));
        let metrics = read(&[100.0, 25.0, 25.0], Scoring::Number, Objective::from(Glm::Squared)).metrics;
        assert_eq!((metrics["mae"].value, metrics["rmse"].value), (10.0, 20.0));
        assert!(!metrics.contains_key("r2"), "without a released deviation");
    }
}
