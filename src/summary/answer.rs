//! What released integers answer.

use serde::{Deserialize, Serialize};

use super::plan::SummaryNoise;
use super::statistic::{Declared, Statistic};
use crate::error::{Error, Fallible};
use crate::privacy::Charge;
use crate::private::{Planned, Query, query};

/// Chance with which a choice is farther off than is said.
const MISSES: f64 = 0.05;

/// A statistic with what was released for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartFacts {
    /// What was asked.
    pub statistic: Statistic,
    /// The column as the schema declares it.
    pub declared: Declared,
    /// The releases, in order.
    pub releases: Vec<ReleasedFacts>,
}

/// A release with its noised integers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleasedFacts {
    /// What was paid for, and what was asked.
    pub planned: Planned,
    /// The noised integers, as decimal text, for they may not fit a number of JSON.
    pub values: Vec<String>,
}

/// The answer to a statistic; deviations are standard deviations of the noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Answer {
    /// Of a mean.
    Mean {
        /// The mean; none where there seems to be no number.
        mean: Option<f64>,
        /// Its deviation, to first order.
        deviation: Option<f64>,
        /// About how many numbers there are.
        numbers: Option<f64>,
    },
    /// Of a quantile.
    Quantile {
        /// The quantile.
        quantile: f64,
        /// With probability 0.95 at least, no more rows than this lie between the answer and the best of the points that were to choose from.
        rows_off: f64,
    },
    /// Of a histogram, or of the number of rows.
    Counts {
        /// Value, or part of the bounds, and rows.
        counts: Vec<(String, f64)>,
        /// The deviation of each count.
        deviation: f64,
    },
    /// Of a stable median.
    StableMedian {
        /// The median; none where the test failed: it may be far from stable, or the rows too few.
        median: Option<f64>,
        /// Its deviation.
        deviation: f64,
        /// The noised number of rows that would have to change before one more could move the median beyond the bound.
        rows_to_a_jump: f64,
        /// Below so many rows the median stays secret.
        threshold: f64,
    },
    /// Of the first value above a number of rows.
    FirstAbove {
        /// The value; none where no count reached it.
        first: Option<String>,
    },
}

fn damaged() -> Error {
    Error::parameter("summary", "released values do not fit their statistic", "the file is damaged or was edited")
}

/// Standard deviation of the noise of a charge, in grid steps.
fn deviation(charge: &Charge) -> Option<f64> {
    match charge {
        Charge::Gaussian(event) => Some(2f64.powi(event.log2_scale as i32)),
        // Of the continuous law, to which the discrete one is close on a fine grid; for counts it is a little less.
        Charge::Laplace(event) => Some(std::f64::consts::SQRT_2 * event.scale()),
        _ => None,
    }
}

/// The answer that follows from what was released for a statistic.
pub(super) fn answer(part: &PartFacts, noise: SummaryNoise) -> Fallible<Answer> {
    let parsed = |text: &String| text.parse::<i128>().map_err(|_| damaged());
    let released: Vec<(&Query, &Charge, Vec<i128>)> = part
        .releases
        .iter()
        .map(|release| {
            let values = release.values.iter().map(parsed).collect::<Fallible<Vec<_>>>()?;
            Ok((&release.planned.query, &release.planned.charge, values))
        })
        .collect::<Fallible<_>>()?;
    let declared = &part.declared;
    let laplace = released.iter().any(|(_, charge, _)| matches!(charge, Charge::Laplace(_)));
    if laplace && noise == SummaryNoise::Normal {
        return Err(damaged());
    }
    match (&part.statistic, &released[..]) {
        (Statistic::Count {} | Statistic::Histogram { .. }, [(query, charge, values)]) => {
            let (step, bins) = match query {
                Query::Histogram(query) => (query.step, query.bins),
                Query::HistogramL1(query) => (query.step, query.bins),
                _ => return Err(damaged()),
            };
            let labels = declared.labels();
            if step == 0 || bins != labels.len() as u64 || values.len() != labels.len() {
                return Err(damaged());
            }
            let rows = values.iter().map(|&value| value as f64 / step as f64);
            let deviation = deviation(charge).ok_or_else(damaged)? / step as f64;
            Ok(Answer::Counts { counts: labels.into_iter().zip(rows).collect(), deviation })
        }
        (Statistic::Mean { .. }, [(query, charge, values)]) => {
            let step = match query {
                Query::Mean(query) => query.step,
                Query::MeanL1(query) => query.step,
                _ => return Err(damaged()),
            };
            let (half, scale) = (declared.half_width().ok_or_else(damaged)?, deviation(charge).ok_or_else(damaged)?);
            if step == 0 || values.len() != 2 {
                return Err(damaged());
            }
            let Some((mean, numbers)) = query::Mean::quotient(values, step) else {
                return Ok(Answer::Mean { mean: None, deviation: None, numbers: None });
            };
            Ok(Answer::Mean {
                mean: declared.at((mean + 1.0) / 2.0),
                deviation: Some(half * query::Mean::deviation(mean, numbers, scale, step)),
                numbers: Some(numbers),
            })
        }
        (Statistic::Quantile { thousandths, .. }, [(Query::Ranks(query), Charge::Exponential(event), values)]) => {
            let &[chosen] = &values[..] else { return Err(damaged()) };
            let chosen = u64::try_from(chosen).ok().filter(|chosen| *chosen < query.candidates).ok_or_else(damaged)?;
            if (query.numerator, query.denominator) != Statistic::share(*thousandths) || query.weight == 0 {
                return Err(damaged());
            }
            let quantile = declared.at(query.place(chosen)).ok_or_else(damaged)?;
            // With N points, one scores worse than the best by over 2^k (ln N + ln 1/beta) with probability at most beta; a rank counts
            // `weight` times the denominator.
            let worse = event.scale() * ((query.candidates as f64).ln() - MISSES.ln());
            let rows_off = worse / (query.weight as f64 * query.denominator as f64);
            Ok(Answer::Quantile { quantile, rows_off })
        }
        (Statistic::FirstAbove { .. }, [(Query::FirstAbove(query), _, values)]) => {
            let labels = declared.labels();
            let &[first] = &values[..] else { return Err(damaged()) };
            if query.questions != labels.len() as u64 || !(-1..labels.len() as i128).contains(&first) {
                return Err(damaged());
            }
            let first = usize::try_from(first).ok().and_then(|first| labels.get(first).cloned());
            Ok(Answer::FirstAbove { first })
        }
        (
            Statistic::StableMedian { within, .. },
            [
                (Query::MedianDistance(tested), Charge::Threshold(test), distance),
                (Query::NearMedian(near), Charge::Gaussian(event), median),
            ],
        ) => {
            let (&[distance], &[median]) = (&distance[..], &median[..]) else { return Err(damaged()) };
            let bound = declared.codes(*within).ok_or_else(damaged)?;
            if tested.bound != bound || near.bound != bound || tested.weight == 0 {
                return Err(damaged());
            }
            let full = f64::from(crate::grid::FULL_SCALE) * near.step as f64;
            let half = declared.half_width().ok_or_else(damaged)?;
            let passed = distance >= i128::from(test.threshold);
            let place = || ((median as f64 / full).clamp(-1.0, 1.0) + 1.0) / 2.0;
            Ok(Answer::StableMedian {
                median: if passed { declared.at(place()) } else { None },
                deviation: 2f64.powi(event.log2_scale as i32) / full * half,
                rows_to_a_jump: distance as f64 / tested.weight as f64,
                threshold: test.threshold as f64 / tested.weight as f64,
            })
        }
        _ => Err(damaged()),
    }
}
