//! Rows that answers to all point queries take: pure noise pays for the logarithm of the universe, Gaussian noise for its root, thresholds for nothing of it.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::accounting::packing::Accurate;
use rhograd::accounting::rdp::mechanisms::pure_rho;
use rhograd::accounting::{gaussian, stable};
use rhograd::error::{Error, Fallible};
use rhograd::noise::{integer_noise, laplace_noise};
use rhograd::num::special::{ln_normal_tail, normal_tail};
use rhograd::plot::{Panel, Scale, Series};
use rhograd::privacy::{Delta, Epsilon, NoiseLaw};

use crate::fit::{self, PowerLaw, Summary};
use crate::progress::Progress;
use crate::results::{Results, cell};
use crate::setup::{Plant, Setup, noise, seed_of};
use crate::verdict::{Finding, Verdict};

/// The claim.
pub const CLAIM: &str = "counts of all values to a tenth of n need n ~ ln |X| rows by pure noise, sqrt(ln |X|) by Gaussian noise of its rho, the same n for every X by thresholds (noise check)";

/// Budget of every release.
const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;

/// The largest error of a count that is asked for is the rows over this.
const PARTS: u64 = 10;

/// Values of the universe. Up to the last of the first list each count gets its noise; beyond, the largest of all noises is drawn.
const DRAWN: [u64; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
const BEYOND: [u64; 6] = [
    100_000_000,
    10_000_000_000,
    1_000_000_000_000,
    100_000_000_000_000,
    10_000_000_000_000_000,
    1_000_000_000_000_000_000,
];

/// How many of the first list a quick run draws.
const QUICK: usize = 3;

/// Runs of each measurement, of quick runs as well: with fewer the largest of a hundred noises bends an exponent by more than the slack.
const SEEDS: u64 = 100;

/// Scale of the integers that stand for noise, in bits.
const LOG2_SCALE: u32 = 40;

const SLACK: f64 = 0.05;

/// A way to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Discrete Laplace noise on the count of every value: pure DP, with the rho of the Gaussian noise.
    Laplace,
    /// The same law, by its quantile in floating point, where the values are too many to draw for.
    LaplaceQuantile,
    /// Normal noise on the count of every value.
    Gaussian,
    /// The same law, by its quantile.
    GaussianQuantile,
    /// Noise on the counts that are not zero, of which those beyond a threshold are told.
    Threshold,
}

impl Part {
    const ALL: [Part; 5] =
        [Part::Laplace, Part::LaplaceQuantile, Part::Gaussian, Part::GaussianQuantile, Part::Threshold];

    fn name(self) -> &'static str {
        match self {
            Part::Laplace => "Laplace",
            Part::LaplaceQuantile => "Laplace by its quantile",
            Part::Gaussian => "Gaussian",
            Part::GaussianQuantile => "Gaussian by its quantile",
            Part::Threshold => "threshold",
        }
    }

    fn sizes(self, quick: bool) -> Vec<u64> {
        let drawn = &DRAWN[..if quick { QUICK } else { DRAWN.len() }];
        match self {
            Part::Laplace | Part::Gaussian => drawn.to_vec(),
            Part::LaplaceQuantile | Part::GaussianQuantile => BEYOND.to_vec(),
            Part::Threshold => [drawn, &BEYOND].concat(),
        }
    }

    /// Rows needed in one run.
    fn measure(self, size: u64, seed: u64, plant: Option<Plant>) -> Fallible<f64> {
        match self {
            Part::Laplace => Ok(most(pure_noises(size as usize, seed, plant)?)),
            Part::Gaussian => Ok(most(drawn(Grid::whole()?, size as usize, seed, plant)?)),
            Part::LaplaceQuantile => Ok(factor(plant) * pure_scale()? * -above(size, seed).ln() * PARTS as f64),
            Part::GaussianQuantile => {
                Ok(factor(plant) * Grid::whole()?.deviation() * two_sided(above(size, seed)) * PARTS as f64)
            }
            Part::Threshold => rows_by_threshold(size, seed, plant),
        }
    }
}

/// What a budget buys, in steps of a grid on which the noise has the scale `2^LOG2_SCALE`.
#[derive(Clone, Copy, Debug)]
struct Grid {
    /// What a row counts.
    row: u64,
    /// What a count must reach to be told.
    threshold: u64,
}

impl Grid {
    /// A replaced row moves two counts by one: an l2 sensitivity of sqrt(2). Without a threshold all of delta is the noise's.
    fn whole() -> Fallible<Self> {
        Ok(Grid { row: row(DELTA)?, threshold: 0 })
    }

    /// Half of delta for the noise, half for a single row that noise lifts over the threshold. What is told of the other values is
    /// that of Gaussian noise, so the release is delta/2-approximate, and (epsilon, delta/2 + (1 - delta/2) delta/2)-DP.
    fn split() -> Fallible<Self> {
        let row = row(DELTA / 2.0)?;
        Ok(Grid { row, threshold: stable::least_threshold(row, LOG2_SCALE, Delta::new(DELTA / 2.0)?)? })
    }

    /// Deviation of the noise in rows.
    fn deviation(self) -> f64 {
        2f64.powi(LOG2_SCALE as i32) / self.row as f64
    }

    fn threshold_in_rows(self) -> f64 {
        self.threshold as f64 / self.row as f64
    }
}

/// Grid steps for a row, rounded down, so that the noise is at least what the budget asks for.
fn row(delta: f64) -> Fallible<u64> {
    let mu = gaussian::max_mu(Epsilon::new(EPSILON)?, Delta::new(delta)?)?;
    Ok((mu / 2f64.sqrt() * 2f64.powi(LOG2_SCALE as i32)) as u64)
}

/// The largest rho that the noise on all counts has: `Delta^2 / (2 sigma^2)` for a sensitivity of sqrt(2).
fn rho() -> Fallible<f64> {
    Ok(Grid::whole()?.deviation().powi(-2))
}

/// Grid steps for a row at which noise of scale `2^LOG2_SCALE` is pure and has the rho of the Gaussian noise at most. A replaced row moves two counts by
/// one: an l1 sensitivity of 2.
fn pure_row() -> Fallible<u64> {
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if pure_rho(middle)? <= rho()? { low = middle } else { high = middle }
    }
    Ok((low / 2.0 * 2f64.powi(LOG2_SCALE as i32)) as u64)
}

/// Scale of the pure noise in rows.
fn pure_scale() -> Fallible<f64> {
    Ok(2f64.powi(LOG2_SCALE as i32) / pure_row()? as f64)
}

/// Pure noise in rows.
fn pure_noises(count: usize, seed: u64, plant: Option<Plant>) -> Fallible<Vec<f64>> {
    let row = pure_row()? as f64;
    let drawn = laplace_noise(1, LOG2_SCALE, count, &noise(seed), 0)?;
    Ok(drawn.into_iter().map(|y| factor(plant) * y as f64 / row).collect())
}

/// The share of the noise that is drawn: half of it where that is planted.
fn factor(plant: Option<Plant>) -> f64 {
    if plant == Some(Plant::HalfNoise) { 0.5 } else { 1.0 }
}

/// The noise of a measurement in rows.
fn drawn(grid: Grid, count: usize, seed: u64, plant: Option<Plant>) -> Fallible<Vec<f64>> {
    let drawn = integer_noise(NoiseLaw::FlooredNormal, LOG2_SCALE, count, &noise(seed), 0)?;
    Ok(drawn.into_iter().map(|y| factor(plant) * y as f64 / grid.row as f64).collect())
}

/// Rows from which on the largest of all errors is small enough.
fn most(noises: Vec<f64>) -> f64 {
    noises.into_iter().map(f64::abs).fold(0.0, f64::max) * PARTS as f64
}

/// The probability with which a single noise exceeds the largest of many: that is the quantile at a root of a uniform number.
fn above(size: u64, seed: u64) -> f64 {
    let u = 1.0 - ChaCha8Rng::seed_from_u64(seed).random::<f64>();
    -(u.ln() / size as f64).exp_m1()
}

/// The number that a normal one exceeds in magnitude with probability `above`.
fn two_sided(above: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    let ln_tail = (above / 2.0).ln();
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if ln_normal_tail(middle) > ln_tail { low = middle } else { high = middle }
    }
    high
}

/// The least number of rows whose release has a small enough error, on data that make it hard: nine values that are each a little
/// too frequent to be left out, and other rows that have values of their own as far as there are values.
fn rows_by_threshold(size: u64, seed: u64, plant: Option<Plant>) -> Fallible<f64> {
    const MOST: u64 = 4_000;
    let grid = Grid::split()?;
    let noises = drawn(grid, MOST as usize, seed, plant)?;
    let threshold = grid.threshold_in_rows();
    let error = |count: u64, noise: f64| {
        if count as f64 + noise >= threshold { noise.abs() } else { count as f64 }
    };
    for n in 10 * PARTS..MOST {
        let frequent = n / PARTS + 1;
        let rest = n - (PARTS - 1) * frequent;
        let single = rest.min(size - (PARTS - 1));
        let counts = (0..PARTS - 1).map(|_| frequent);
        let others = (0..single).map(|i| rest / single + u64::from(i < rest % single));
        let largest = counts.chain(others).zip(&noises).map(|(count, &noise)| error(count, noise)).fold(0.0, f64::max);
        if largest <= n as f64 / PARTS as f64 {
            return Ok(n as f64);
        }
    }
    Err(Error::numerical("point queries", "no number of rows was enough"))
}

/// The mean of the largest of many independent numbers between two ends, from the probability that one exceeds a number.
pub(crate) fn mean_of_largest(count: f64, above: impl Fn(f64) -> f64, (lowest, highest): (f64, f64)) -> f64 {
    const STEP: f64 = 1e-3;
    let below = |t: f64| (count * (-above(t)).ln_1p()).exp();
    let steps = ((highest - lowest) / STEP).round() as u32;
    let term = |i: u32| 1.0 - below(lowest + STEP * (f64::from(i) + 0.5));
    lowest + STEP * (0..steps).map(term).sum::<f64>()
}

/// What a measurement should give on average.
fn expected(part: Part, size: u64) -> Fallible<f64> {
    match part {
        Part::Laplace | Part::LaplaceQuantile => {
            let largest = mean_of_largest(size as f64, |t| (-t).exp(), (0.0, 100.0));
            Ok(pure_scale()? * largest * PARTS as f64)
        }
        Part::Gaussian | Part::GaussianQuantile => {
            let largest = mean_of_largest(size as f64, |t| 2.0 * normal_tail(t), (0.0, 14.0));
            Ok(Grid::whole()?.deviation() * largest * PARTS as f64)
        }
        Part::Threshold => {
            let grid = Grid::split()?;
            let largest = mean_of_largest((PARTS - 1) as f64, normal_tail, (-14.0, 14.0));
            // The nine counts are whole numbers just above a tenth of the rows: half a row less on average.
            Ok((grid.threshold_in_rows() + grid.deviation() * largest - 0.5) * PARTS as f64)
        }
    }
}

/// Rows that every mechanism with the rho of the noise needs to be right in half of all runs: n rows of one value show which it is.
fn least_by_zcdp(size: u64) -> Fallible<f64> {
    Accurate::least_rows(rho()?, (size as f64).ln(), 0.5)
}

/// Measures what is missing, and fits.
///
/// # Errors
/// When results cannot be written, and for a planted step size: there are no steps.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "there are no steps here")?;
    let configuration =
        setup.configuration(&format!("epsilon {EPSILON} delta {DELTA} n over {PARTS}, noise from the key"));
    let path = setup.file("results.csv");
    let mut results = Results::open(&path, &["part", "size", "seed"], &["rows"], &configuration, setup.earlier)?;
    let cells: Vec<(Part, u64)> =
        Part::ALL.iter().flat_map(|&part| part.sizes(setup.quick).into_iter().map(move |size| (part, size))).collect();
    let progress = Progress::new("point-queries", cells.len());
    for (part, size) in cells {
        progress.say(format!("{} at {size}", part.name()));
        for seed in 0..SEEDS {
            let key = [part.name().to_owned(), size.to_string(), seed.to_string()];
            if !results.has(&key) {
                results.add(&key, &[cell(part.measure(size, seed_of(&key), setup.plant)?)])?;
            }
        }
        progress.step();
    }
    setup.draw(&[panel(&results, setup.quick)?])?;
    findings(&results, setup.quick).map(Verdict)
}

/// Mean and spread over the seeds.
fn summary(results: &Results, part: Part, size: u64) -> Summary {
    Summary::of(&results.column("rows", |row| row.text("part") == part.name() && row.text("size") == size.to_string()))
}

fn findings(results: &Results, quick: bool) -> Fallible<Vec<Finding>> {
    let mut findings = Vec::new();
    let near = |x: f64| (x - SLACK, x + SLACK);
    let mean = |part: Part, size: u64| summary(results, part, size).mean;
    // Of the numbers at sizes, a power of their logarithm.
    let power = |parts: &[Part], at: &dyn Fn(Part, u64) -> Fallible<f64>| {
        let cells = parts.iter().flat_map(|&part| part.sizes(quick).into_iter().map(move |size| (part, size)));
        let points = cells.map(|(part, size)| Ok(((size as f64).ln(), at(part, size)?)));
        PowerLaw::fit(&points.collect::<Fallible<Vec<_>>>()?)
    };
    // The largest of many normal numbers comes to sqrt(2 ln 2|X|) slowly: the exponent is compared with that of the exact mean.
    let pure = [Part::Laplace, Part::LaplaceQuantile];
    let wide = [Part::Gaussian, Part::GaussianQuantile];
    for (name, parts) in [("pure", pure), ("Gaussian", wide)] {
        let theory = power(&parts, &expected)?.slope;
        let law = power(&parts, &|part, size| Ok(mean(part, size)))?;
        findings.push(Finding::slope(format!("{name} noise: exponent of ln |X|"), &law, near(theory)));
    }
    // What pure noise costs in place of Gaussian noise: at most a square.
    let both = |at: &dyn Fn(Part, u64) -> Fallible<f64>| {
        let sizes = |part: Part| part.sizes(quick).into_iter();
        let pairs = pure.iter().zip(&wide).flat_map(|(&one, &other)| sizes(one).map(move |size| (one, other, size)));
        let points = pairs.map(|(one, other, size)| Ok((at(other, size)?, at(one, size)?)));
        PowerLaw::fit(&points.collect::<Fallible<Vec<_>>>()?)
    };
    let theory = both(&expected)?.slope;
    let law = both(&|part, size| Ok(mean(part, size)))?;
    findings.push(Finding::slope("rows by pure noise: exponent of those by Gaussian noise", &law, near(theory)));
    let law = power(&[Part::Threshold], &|part, size| Ok(mean(part, size)))?;
    findings.push(Finding::slope("threshold: exponent of ln |X|", &law, near(0.0)));
    for part in Part::ALL {
        let size = *part.sizes(quick).last().ok_or_else(|| Error::numerical("point queries", "no sizes"))?;
        let (found, theory) = (summary(results, part, size), expected(part, size)?);
        let what = format!("{} at {size:e} values, in units of the theory", part.name());
        findings.push(Finding::new(what, found.mean / theory, found.half_width() / theory, near(1.0)));
    }
    // Noise on all counts wins where there are few values, the threshold where there are many.
    let (few, many) = (DRAWN[0], BEYOND[BEYOND.len() - 1]);
    for (part, size, claimed) in
        [(Part::Gaussian, few, (1.0, f64::INFINITY)), (Part::GaussianQuantile, many, (0.0, 1.0))]
    {
        let (ratio, half) = summary(results, Part::Threshold, size).over(&summary(results, part, size));
        let what = format!("rows by thresholds over those by Gaussian noise, {size:e} values");
        findings.push(Finding::new(what, ratio, half, claimed));
    }
    Ok(findings)
}

fn panel(results: &Results, quick: bool) -> Fallible<Panel> {
    let sizes = Part::Threshold.sizes(quick);
    let line = |at: &dyn Fn(u64) -> Fallible<f64>| {
        sizes.iter().map(|&size| Ok((size as f64, at(size)?))).collect::<Fallible<Vec<_>>>()
    };
    let measured = |part: Part| {
        let points = part.sizes(quick).into_iter().map(|size| {
            let found = summary(results, part, size);
            (size as f64, found.mean, found.half_width())
        });
        Series::measured(part.name(), points.collect())
    };
    let mut fits = Vec::new();
    for (drawn, beyond) in [(Part::Laplace, Part::LaplaceQuantile), (Part::Gaussian, Part::GaussianQuantile)] {
        let cells =
            [drawn, beyond].into_iter().flat_map(|part| part.sizes(quick).into_iter().map(move |size| (part, size)));
        let points: Vec<_> = cells.map(|(part, size)| (size as f64, summary(results, part, size).mean)).collect();
        fits.extend(fit::log_line(drawn.name(), "|X|", &points));
    }
    let series = vec![
        Series::theory("theory, Laplace", line(&|size| expected(Part::Laplace, size))?),
        measured(Part::Laplace),
        measured(Part::LaplaceQuantile),
        Series::theory("theory, Gaussian", line(&|size| expected(Part::Gaussian, size))?),
        measured(Part::Gaussian),
        measured(Part::GaussianQuantile),
        Series::theory("theory, threshold", line(&|size| expected(Part::Threshold, size))?),
        measured(Part::Threshold),
        Series::lower("any zCDP mechanism of this rho", line(&least_by_zcdp)?),
    ];
    Ok(Panel::of(
        format!("counts of all values to n/{PARTS}, epsilon {EPSILON}, delta {DELTA:e}"),
        series.into_iter().chain(fits).collect(),
    )
    .x("|X| (values)", Scale::Log)
    .y("n (rows)", Scale::Log))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_some_numbers_is_that_of_tables() {
        // The mean of the larger of two normal numbers is 1/sqrt(pi), of the largest of nine 1.48501.
        let two = mean_of_largest(2.0, normal_tail, (-14.0, 14.0));
        assert!((two - std::f64::consts::PI.powf(-0.5)).abs() < 1e-6, "{two}");
        assert!((mean_of_largest(9.0, normal_tail, (-14.0, 14.0)) - 1.485_013).abs() < 1e-5);
        let one = mean_of_largest(1.0, |t| 2.0 * normal_tail(t), (0.0, 14.0));
        assert!((one - (2.0 / std::f64::consts::PI).sqrt()).abs() < 1e-6, "{one}");
        // Of n exponential numbers, the sum of 1, 1/2, ..., 1/n.
        let harmonic = (1..=50).map(|i| 1.0 / f64::from(i)).sum::<f64>();
        assert!((mean_of_largest(50.0, |t| (-t).exp(), (0.0, 100.0)) - harmonic).abs() < 1e-6);
        assert!(
            (two_sided(0.05) - 1.959_964).abs() < 1e-6
                && (2.0 * normal_tail(two_sided(1e-18)) / 1e-18 - 1.0).abs() < 1e-9
        );
    }

    #[test]
    fn the_budget_is_kept() {
        let (whole, split) = (Grid::whole().unwrap(), Grid::split().unwrap());
        let epsilon = Epsilon::new(EPSILON).unwrap();
        let delta = |grid: Grid| gaussian::ln_delta(2f64.sqrt() / grid.deviation(), epsilon).unwrap().exp();
        assert!(delta(whole) <= DELTA && delta(whole) > 0.999 * DELTA);
        let pure = 2.0 / pure_scale().unwrap();
        let kept = pure_rho(pure).unwrap() / rho().unwrap();
        assert!(kept <= 1.0 + 1e-12 && kept > 0.999_999, "{kept}");
        let lifted = stable::lifted(split.row, split.threshold, LOG2_SCALE);
        assert!(lifted + (1.0 - lifted) * delta(split) <= DELTA && lifted > 0.499 * DELTA);
    }
}
