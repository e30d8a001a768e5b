//! What a model's probabilities were worth on rows that were held out, and how to put them right; post-processing of a release.

use nalgebra::{Matrix2, Vector2};
use serde::Serialize;

use crate::error::{Error, Fallible};
use crate::optim::MarginCounts;

/// A group of bins has so many times the rows that noise alone would show.
const ROWS_OVER_NOISE: f64 = 5.0;

/// Variance of the shift about 0 and of the slope about 1 before any row is looked at. Measured on two data sets against 0.02, 0.25, 1 and what
/// the counts themselves suggest: larger ones make models worse that were right.
const PRIOR: f64 = 0.05;

/// More rows than any data set has, and numbers that sums of squares hold.
pub(super) const MOST_ROWS: f64 = 1e15;

/// The least slope: below it the released rows say that log-odds do not tell labels apart.
const LEAST_SLOPE: f64 = 0.05;

/// Predicted probabilities beside what was observed, for rows whose log-odds lie in some neighbouring bins.
///
/// ```
/// use rhograd::optim::MarginCounts;
/// use rhograd::train::{Reliability, reliability};
///
/// // A model that says 27% and 73% where 10% and 90% are right.
/// let margins = MarginCounts {
///     edges: vec![-2.0, 0.0, 2.0], negatives: vec![0.0, 900.0, 100.0, 0.0], positives: vec![0.0, 100.0, 900.0, 0.0], noise: 2.0,
/// };
/// let [low, high]: [Reliability; 2] = reliability(&margins).try_into().unwrap();
/// assert!((low.predicted - 0.27).abs() < 0.01 && (low.observed - 0.1).abs() < 0.01);
/// assert!((high.predicted - 0.73).abs() < 0.01 && (high.observed - 0.9).abs() < 0.01);
/// assert!(high.deviation < 0.02);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reliability {
    /// Mean predicted probability of the positive label, taking the middle of each bin; weighed by noised rows.
    pub predicted: f64,
    /// Share of rows that have that label, from noised numbers of rows.
    pub observed: f64,
    /// Standard deviation of that share less the prediction: noise and sampling together, to first order.
    pub deviation: f64,
    /// Noised number of rows.
    pub rows: f64,
}

/// The calibration curve of a model of two labels: neighbouring bins are taken together until rows stand out from noise.
///
/// Empty where they never do. The outermost bins are open, so nobody knows what was predicted there: they are left out, and so are bins at the
/// upper end that do not stand out.
///
/// # Privacy
/// Post-processing of the released counts: it costs nothing.
pub fn reliability(margins: &MarginCounts) -> Vec<Reliability> {
    let mut groups: Vec<Vec<Bin>> = Vec::new();
    let mut open: Vec<Bin> = Vec::new();
    for bin in bins(margins) {
        open.push(bin);
        if stands_out(&open, margins.noise) {
            groups.push(std::mem::take(&mut open));
        }
    }
    groups.iter().map(|group| read(group, margins.noise)).collect()
}

/// One bin: the middle of its log-odds and the noised rows in it.
#[derive(Clone, Copy)]
struct Bin {
    margin: f64,
    negatives: f64,
    positives: f64,
}

impl Bin {
    fn rows(&self) -> f64 {
        self.negatives + self.positives
    }
}

/// All bins but the outermost, which have one end alone; none of what are no counts.
fn bins(margins: &MarginCounts) -> Vec<Bin> {
    let MarginCounts { edges, negatives, positives, noise } = margins;
    let size = edges.len() + 1;
    let rising = edges.windows(2).all(|pair| pair[0] < pair[1]);
    let usable = |number: &f64| number.abs() <= MOST_ROWS;
    let numbers = [edges, negatives, positives].into_iter().flatten().all(usable) && (0.0..=MOST_ROWS).contains(noise);
    if !rising || !numbers || negatives.len() != size || positives.len() != size {
        return Vec::new();
    }
    let counts = negatives.iter().zip(positives).skip(1);
    let bin =
        |(ends, (&negatives, &positives)): (&[f64], _)| Bin { margin: (ends[0] + ends[1]) / 2.0, negatives, positives };
    edges.windows(2).zip(counts).map(bin).collect()
}

fn stands_out(group: &[Bin], noise: f64) -> bool {
    let rows: f64 = group.iter().map(Bin::rows).sum();
    rows >= 1.0 && rows >= ROWS_OVER_NOISE * noise * (2.0 * group.len() as f64).sqrt()
}

fn read(group: &[Bin], noise: f64) -> Reliability {
    let rows: f64 = group.iter().map(Bin::rows).sum::<f64>().max(1.0);
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return Reliability { predicted: f64::NAN, observed: f64::NAN, deviation: f64::INFINITY, rows: 0.0 };
    };
    // Noised rows as they are: cut at zero, empty bins would weigh as much as their noise.
    let mean = group.iter().map(|bin| bin.rows() * probability(bin.margin)).sum::<f64>() / rows;
    let predicted = mean.clamp(probability(first.margin), probability(last.margin));
    let positives: f64 = group.iter().map(|bin| bin.positives).sum();
    let observed = (positives / rows).clamp(0.0, 1.0);
    // How the difference of both moves with one positive, and with one negative row of each bin.
    let moved = |bin: &Bin| {
        let away = probability(bin.margin) - predicted;
        (1.0 - observed - away).powi(2) + (observed + away).powi(2)
    };
    let of_noise = noise * noise * group.iter().map(moved).sum::<f64>() / (rows * rows);
    // A share of none or all is uncertain, too.
    let share = (observed * rows + 1.0) / (rows + 2.0);
    Reliability { predicted, observed, deviation: (of_noise + share * (1.0 - share) / rows).sqrt(), rows }
}

fn probability(margin: f64) -> f64 {
    1.0 / (1.0 + (-margin).exp())
}

/// Log-odds `shift + slope t` in the place of `t`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Recalibration {
    pub shift: f64,
    pub slope: f64,
}

/// The line through log-odds that fits the released rows best, as far as they can tell it from the line that changes nothing.
///
/// Platt (1999) fits `sigma(shift + slope t)` by maximum likelihood. Here the rows are noised and few, so the fit `x` with covariance
/// `C = H^-1 (H + V) H^-1` (`H` the information in the rows, `V` the variance that the noise gives to the slope of the likelihood) is
/// moved toward `e = (0, 1)`: `e + T (T + C)^-1 (x - e)`, the posterior mean under a normal prior of covariance `T`, here 0.05 for both.
///
/// # Errors
/// When the counts are no counts, no such line is found, or it falls.
pub(super) fn recalibration(margins: &MarginCounts) -> Fallible<Recalibration> {
    let bins = bins(margins);
    if bins.is_empty() {
        return Err(Error::parameter("model", "has no usable counts of rows held out", "use an unedited file"));
    }
    let unchanged = Vector2::new(0.0, 1.0);
    let prior = Matrix2::from_diagonal_element(PRIOR);
    let mut line = unchanged;
    for round in 0..500 {
        let proposed = toward(&bins, margins.noise, line).and_then(|(fit, covariance)| {
            let gain = prior * (prior + covariance).try_inverse()?;
            Some(unchanged + gain * (fit - unchanged))
        });
        let Some(proposed) = proposed.filter(|line| line.iter().all(|x| x.is_finite())) else { break };
        // Whole steps end soon where rows are many; half of them where noise makes the curvature a guess.
        let next = if round < 20 { proposed } else { (line + proposed) / 2.0 };
        let moved = (next - line).amax();
        line = next;
        if moved < 1e-10 {
            let [shift, slope] = [line.x, line.y];
            if slope < LEAST_SLOPE {
                let problem = "has log-odds that tell labels apart no better than chance, by the rows held out";
                return Err(Error::parameter("model", problem, "train with a larger budget, or hold out more"));
            }
            return Ok(Recalibration { shift, slope });
        }
    }
    let cure = "give the hold-out a larger budget (--evaluate-budget), or keep the probabilities as they are";
    Err(Error::parameter("model", "has too few rows held out, beside their noise, to correct probabilities by", cure))
}

/// The point to which Newton's method goes from a line, and the covariance of where it ends.
fn toward(bins: &[Bin], noise: f64, line: Vector2<f64>) -> Option<(Vector2<f64>, Matrix2<f64>)> {
    let (mut slope, mut information, mut of_noise) = (Vector2::zeros(), Matrix2::zeros(), Matrix2::zeros());
    for bin in bins {
        let (at, share) = (Vector2::new(1.0, bin.margin), probability(line.x + line.y * bin.margin));
        slope += at * (bin.negatives * share - bin.positives * (1.0 - share));
        information += at * at.transpose() * (bin.rows().max(0.0) * share * (1.0 - share));
        of_noise += at * at.transpose() * (noise * noise * (share.powi(2) + (1.0 - share).powi(2)));
    }
    let inverse = information.try_inverse()?;
    Some((line - inverse * slope, inverse * (information + of_noise) * inverse))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{MARGIN_BINS, Scoring};
    use rand::{Rng, SeedableRng, rngs::StdRng};

    /// Rows of a model whose log-odds `t` should be `shift + slope t`, counted with noise.
    fn counted(rows: usize, shift: f64, slope: f64, noise: f64, seed: u64) -> MarginCounts {
        let mut rng = StdRng::seed_from_u64(seed);
        let edges = Scoring::Label.margin_edges();
        let mut counts = [vec![0.0; MARGIN_BINS], vec![0.0; MARGIN_BINS]];
        for _ in 0..rows {
            let margin: f64 = rng.random_range(-3.0..3.0);
            let positive = rng.random_bool(probability(shift + slope * margin));
            counts[usize::from(positive)][edges.partition_point(|edge| *edge <= margin)] += 1.0;
        }
        let normal = rand_distr::Normal::new(0.0, noise.max(1e-9)).unwrap();
        let [negatives, positives] = counts.map(|of| of.iter().map(|n| n + rng.sample(normal)).collect());
        MarginCounts { edges, negatives, positives, noise }
    }

    #[test]
    fn the_line_is_found_where_rows_are_many_and_left_where_noise_hides_it() {
        let found = recalibration(&counted(200_000, 0.4, 1.6, 5.0, 1)).unwrap();
        assert!((found.shift - 0.4).abs() < 0.03 && (found.slope - 1.6).abs() < 0.05, "{found:?}");
        let hidden = recalibration(&counted(300, 0.4, 1.6, 200.0, 2));
        assert!(hidden.is_err() || hidden.is_ok_and(|it| it.shift.abs() < 0.5 && (it.slope - 1.0).abs() < 0.6));
    }

    #[test]
    fn log_odds_that_are_right_stay_and_errors_shrink_toward_what_is_told() {
        // Over seeds: squared errors of the line, and of changing nothing.
        for (rows, noise, worst) in [(1500, 30.0, 1.0), (8000, 20.0, 0.7)] {
            let mut errors = [0.0, 0.0];
            for seed in 0..40 {
                let (shift, slope) = (if seed % 2 == 0 { 0.3 } else { -0.3 }, if seed % 4 < 2 { 1.3 } else { 0.8 });
                let unchanged = Recalibration { shift: 0.0, slope: 1.0 };
                let found = recalibration(&counted(rows, shift, slope, noise, seed)).unwrap_or(unchanged);
                errors[0] += (found.shift - shift).powi(2) + (found.slope - slope).powi(2);
                errors[1] += shift.powi(2) + (1.0 - slope).powi(2);
            }
            assert!(errors[0] < worst * errors[1], "{rows} rows: {errors:?}");
        }
        let right = recalibration(&counted(50_000, 0.0, 1.0, 10.0, 3)).unwrap();
        assert!(right.shift.abs() < 0.05 && (right.slope - 1.0).abs() < 0.05, "{right:?}");
    }

    #[test]
    fn labels_against_the_log_odds_are_refused() {
        let refused = recalibration(&counted(20_000, 0.0, -1.0, 5.0, 4)).unwrap_err().to_string();
        assert!(refused.contains("no better than chance"), "{refused}");
        let ragged = MarginCounts { negatives: vec![1.0], ..counted(100, 0.0, 1.0, 1.0, 5) };
        assert!(recalibration(&ragged).unwrap_err().to_string().contains("no usable counts"));
    }

    #[test]
    fn deviations_of_observed_shares_are_those_over_repetitions() {
        let mut squares = 0.0;
        let mut told = 0.0;
        let mut points = 0.0;
        for seed in 0..60 {
            for point in reliability(&counted(3000, 0.2, 1.2, 12.0, 100 + seed)) {
                let logit = (point.predicted / (1.0 - point.predicted)).ln();
                let error = point.observed - probability(0.2 + 1.2 * logit);
                squares += error * error;
                told += point.deviation * point.deviation;
                points += 1.0;
            }
        }
        let ratio = squares / told;
        assert!(points > 200.0 && (0.6..1.6).contains(&ratio), "{points} points, {ratio}");
        let nothing = MarginCounts { noise: 1e6, ..counted(100, 0.0, 1.0, 1.0, 6) };
        assert!(reliability(&nothing).is_empty());
    }

    #[test]
    fn rows_in_open_bins_say_nothing_and_what_are_no_counts_is_not_read() {
        // Nearly all rows are rare events at log-odds of -7, which the lowest bin holds.
        let mut rare = counted(0, 0.0, 1.0, 1e-9, 7);
        (rare.negatives[0], rare.positives[0], rare.noise) = (29_970.0, 30.0, 30.0);
        assert!(reliability(&rare).is_empty());
        assert!(recalibration(&rare).is_ok_and(|it| it.shift.abs() < 1e-6 && (it.slope - 1.0).abs() < 1e-6));
        let good = counted(3000, 0.2, 1.2, 12.0, 8);
        for change in [
            |it: &mut MarginCounts| it.edges.reverse(),
            |it: &mut MarginCounts| it.noise = -1.0,
            |it: &mut MarginCounts| it.noise = f64::NAN,
            |it: &mut MarginCounts| it.positives[3] = 1e308,
            |it: &mut MarginCounts| it.edges.clear(),
        ] {
            let mut bad = good.clone();
            change(&mut bad);
            assert!(reliability(&bad).is_empty() && recalibration(&bad).is_err(), "{bad:?}");
        }
    }
}
