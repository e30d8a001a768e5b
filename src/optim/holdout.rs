//! Quality on a private hold-out: one release of sums, and the metrics that follow from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Planned;
use crate::error::{Error, Fallible};
use crate::kernel::{ERROR_LIMIT, LOSS_LIMIT, MARGIN_BINS, Scoring};
use crate::privacy::{Adjacency, GaussianEvent, MAX_LOG2_SCALE, NoiseLaw};
use crate::private::{Paid, PrivateDataset, Query, Released};

/// What the release from rows held out is called.
pub(crate) const HELD_OUT: &str = "scores on a hold-out";

/// Size of the grid: a row's entries are near `2^20` grid steps.
const TARGET_BITS: f64 = 20.0;

/// A metric of a private hold-out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The noised value.
    pub value: f64,
    /// Standard deviation that the noise gives it, to first order; the choice of hold-out rows comes on top.
    pub noise: f64,
}

/// What a hold-out release said; post-processing of noised sums.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// Noised number of rows held out.
    pub rows: f64,
    /// accuracy, auc and log_loss, or rmse, mae and r2. Errors are in the target's units.
    pub metrics: BTreeMap<String, Estimate>,
}

impl Evaluation {
    /// One number to compare models of the same data by, larger is better: minus the loss or the error.
    pub(super) fn score(&self) -> f64 {
        let loss = ["log_loss", "rmse"].iter().find_map(|name| self.metrics.get(*name));
        loss.map_or(f64::NAN, |loss| -loss.value)
    }
}

/// One release of scores on rows that took no part in training.
///
/// # Privacy
/// One Gaussian release of a vector whose norm is bounded row by row, see [`Scoring`]. The hold-out is drawn by
/// coins that do not look at the rows, so its releases compose with those of training like any others.
#[derive(Clone, Debug, PartialEq)]
pub struct HoldoutPlan {
    scoring: Scoring,
    weight: u32,
    log2_scale: u32,
    noise: NoiseLaw,
    adjacency: Adjacency,
    what: &'static str,
}

impl HoldoutPlan {
    /// Plans a release that costs at most `rho`.
    ///
    /// # Errors
    /// When the share is too small or too large for the integer grid.
    pub fn new(scoring: Scoring, adjacency: Adjacency, rho: f64, noise: NoiseLaw) -> Fallible<Self> {
        let reach = (scoring.parts() as f64).sqrt() * adjacency.sum_sensitivity(1) as f64;
        let per_scale = (2.0 * rho).sqrt() / reach;
        let log2_scale = (TARGET_BITS - per_scale.log2()).floor().clamp(0.0, f64::from(MAX_LOG2_SCALE)) as u32;
        let weight = (per_scale * 2f64.powi(log2_scale as i32) * (1.0 - 1e-6)).floor();
        if !(weight >= 64.0 && weight <= f64::from(u32::MAX)) {
            return Err(Error::parameter(
                "--evaluate-budget",
                "leaves too small or too large a budget for a release",
                "give it a larger share, or evaluate on public data",
            ));
        }
        Ok(HoldoutPlan { scoring, weight: weight as u32, log2_scale, noise, adjacency, what: HELD_OUT })
    }

    /// The same release under another name, on rows that were not held out.
    pub(super) fn called(self, what: &'static str) -> Self {
        HoldoutPlan { what, ..self }
    }

    /// What is asked of the rows.
    pub fn query(&self) -> Query {
        Query::Scores { scoring: self.scoring, weight: self.weight }
    }

    /// What to pay for.
    pub fn planned(&self) -> Planned {
        Planned { charge: self.event().into(), query: self.query() }
    }

    /// The release, as integers.
    pub fn event(&self) -> GaussianEvent {
        GaussianEvent {
            what: self.what.into(),
            sensitivity: self.query().sensitivity(self.adjacency),
            log2_scale: self.log2_scale,
            noise: self.noise,
            count: 1,
        }
    }

    /// What one grid step stands for, in rows.
    pub fn step(&self) -> f64 {
        1.0 / f64::from(self.weight)
    }

    /// Consumes one permit and reads off the metrics; `deviation` is the target's standard deviation in its units.
    ///
    /// # Errors
    /// When the permit is missing or does not fit.
    pub fn run(
        &self,
        holdout: &PrivateDataset,
        weights: &[f64],
        label_scale: f64,
        deviation: f64,
        paid: &mut Paid,
    ) -> Fallible<(Evaluation, Released)> {
        let sums = holdout.scores(weights, label_scale, self.scoring, self.weight);
        let released = paid.permit()?.release(sums)?;
        let values: Vec<f64> = released.values().iter().map(|&v| v as f64 * self.step()).collect();
        let sigma = 2f64.powi(self.log2_scale as i32) * self.step();
        let evaluation = match self.scoring {
            Scoring::Label => of_labels(&values, sigma),
            Scoring::Number => of_numbers(&values, sigma, deviation),
        };
        Ok((evaluation, released))
    }
}

/// A mean of values in `[0, 1]` times `scale`, with its noise.
fn mean(sum: f64, rows: f64, sigma: f64, scale: f64) -> Estimate {
    let share = (sum / rows).clamp(0.0, 1.0);
    Estimate { value: scale * share, noise: scale * sigma * (1.0 + share * share).sqrt() / rows }
}

fn of_labels(values: &[f64], sigma: f64) -> Evaluation {
    let rows = values[0].max(1.0);
    let (negatives, positives) = values[3..].split_at(MARGIN_BINS);
    let metrics = [
        ("accuracy", mean(values[1], rows, sigma, 1.0)),
        ("log_loss", mean(values[2], rows, sigma, LOSS_LIMIT)),
        ("auc", area(negatives, positives, sigma)),
    ];
    Evaluation { rows, metrics: metrics.map(|(name, value)| (name.to_owned(), value)).into() }
}

/// Area under the curve from noised histograms of margins, ties counted half.
fn area(negatives: &[f64], positives: &[f64], sigma: f64) -> Estimate {
    let (n, p) = (negatives.iter().sum::<f64>().max(1.0), positives.iter().sum::<f64>().max(1.0));
    // Share of negatives below each bin, and of positives above it.
    let below = |bin: usize| negatives[..bin].iter().sum::<f64>() + negatives[bin] / 2.0;
    let above = |bin: usize| positives[bin + 1..].iter().sum::<f64>() + positives[bin] / 2.0;
    let value = (0..MARGIN_BINS).map(|bin| positives[bin] * below(bin)).sum::<f64>() / (n * p);
    let slope = |bin: usize| {
        let (to_positive, to_negative) = ((below(bin) / n - value) / p, (above(bin) / p - value) / n);
        to_positive * to_positive + to_negative * to_negative
    };
    Estimate { value: value.clamp(0.0, 1.0), noise: sigma * (0..MARGIN_BINS).map(slope).sum::<f64>().sqrt() }
}

fn of_numbers(values: &[f64], sigma: f64, deviation: f64) -> Evaluation {
    let rows = values[0].max(1.0);
    let mae = mean(values[1], rows, sigma, ERROR_LIMIT * deviation);
    // In units of the target's variance, as it was released in training.
    let mse = mean(values[2], rows, sigma, ERROR_LIMIT * ERROR_LIMIT);
    let root = mse.value.sqrt().max(1e-9);
    let rmse = Estimate { value: root * deviation, noise: mse.noise / (2.0 * root) * deviation };
    let metrics = [("mae", mae), ("rmse", rmse), ("r2", Estimate { value: 1.0 - mse.value, noise: mse.noise })];
    Evaluation { rows, metrics: metrics.map(|(name, value)| (name.to_owned(), value)).into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Rho;

    #[test]
    fn the_plan_stays_within_its_share() {
        for scoring in [Scoring::Label, Scoring::Number] {
            for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
                for rho in [1e-8, 1e-3, 1.0] {
                    let plan = HoldoutPlan::new(scoring, adjacency, rho, NoiseLaw::FlooredNormal).unwrap();
                    let cost = plan.event().rho();
                    assert!(cost <= Rho::from_f64(rho).unwrap());
                    assert!(cost.upper() > 0.98 * rho, "{} of {rho}", cost.upper());
                }
            }
        }
    }

    #[test]
    fn a_perfect_and_a_useless_score_have_their_areas() {
        let mut low = vec![0.0; MARGIN_BINS];
        low[2] = 50.0;
        let mut high = vec![0.0; MARGIN_BINS];
        high[9] = 70.0;
        assert_eq!(area(&low, &high, 0.0), Estimate { value: 1.0, noise: 0.0 });
        assert_eq!(area(&high, &low, 0.0).value, 0.0);
        assert_eq!(area(&low, &low, 0.0).value, 0.5);
        assert!(area(&low, &high, 1.0).noise > 0.0);
    }
}
