//! The largest error of all marginals: Gaussian noise pays for a logarithm, bounded noise does not. Both under replace-one.

use rhograd::accounting::bounded::least;
use rhograd::error::{Error, Fallible};
use rhograd::noise::bounded_noise;
use rhograd::num::special::normal_tail;
use rhograd::plot::{Panel, Scale, Series};
use rhograd::privacy::{BoundedLaw, Delta, Epsilon};

use super::mechanisms::{Noises, largest_gaussian_error};
use super::{DELTA, EPSILON, SLACK, gaussian_scale};
use crate::fit::{self, PowerLaw, Summary};
use crate::point_queries::mean_of_largest;
use crate::results::{Results, cell};
use crate::setup::{Plant, noise, seed_of};
use crate::verdict::Finding;

/// Marginals, and how many of these a quick run has.
const COUNTS: [u64; 6] = [256, 1_024, 4_096, 16_384, 65_536, 262_144];
const QUICK: usize = 4;

/// What lines of results are about: the end of the bounded noise and the mean of its largest error, which are computed; means of the largest error over
/// some runs, and the largest of all of them.
const REACH: &str = "bounded: reach";
const MEAN: &str = "bounded: mean of the largest error";
const BOUNDED: &str = "bounded: largest error";
const MOST: &str = "bounded: largest error of all runs";
const GAUSSIAN: &str = "Gaussian: largest error";

/// Share of seeds above the reach that the number of them can exclude; the law has none.
const MAX_BEYOND: f64 = 0.1;

/// A number of a law and of so many marginals.
type OfLaw = fn(&BoundedLaw, u64) -> f64;

pub(super) fn counts(quick: bool) -> &'static [u64] {
    &COUNTS[..if quick { QUICK } else { COUNTS.len() }]
}

/// Adds what is missing at a number of marginals.
pub(super) fn measure(results: &mut Results, d: u64, seeds: u64, plant: Option<Plant>) -> Fallible<()> {
    let key = |part: &str, seed: u64| [part.to_owned(), d.to_string(), seed.to_string()];
    let mut law: Option<BoundedLaw> = None;
    let mut known = || match &law {
        Some(law) => Ok::<BoundedLaw, Error>(law.clone()),
        None => Ok(law.insert(least(d, Epsilon::new(EPSILON)?, Delta::new(DELTA)?)?).clone()),
    };
    let computed: [(&str, OfLaw); 2] = [(REACH, reach), (MEAN, mean_of_bounded)];
    for (part, value) in computed {
        if !results.has(&key(part, 0)) {
            results.add(&key(part, 0), &[cell(value(&known()?, d))])?;
        }
    }
    let runs = runs(d);
    for seed in 0..seeds {
        let (bounded, most, gaussian) = (key(BOUNDED, seed), key(MOST, seed), key(GAUSSIAN, seed));
        if !results.has(&bounded) || !results.has(&most) {
            let (law, source) = (known()?, noise(seed_of(&bounded)));
            let largest = |run: u32| {
                let drawn = bounded_noise(&law, d as usize, &source, run)?;
                let largest = drawn.iter().map(|y| y.unsigned_abs()).max().unwrap_or(0);
                Ok(Noises::factor(plant) * largest as f64)
            };
            let largest = (0..runs).map(largest).collect::<Fallible<Vec<f64>>>()?;
            results.add(&bounded, &[cell(Summary::of(&largest).mean)])?;
            results.add(&most, &[cell(largest.into_iter().fold(0.0, f64::max))])?;
        }
        if !results.has(&gaussian) {
            let (scale, seed) = (gaussian_scale(d)?, seed_of(&gaussian));
            let largest = (0..runs).map(|run| largest_gaussian_error(d, scale, seed, run, plant));
            results.add(&gaussian, &[cell(Summary::of(&largest.collect::<Fallible<Vec<f64>>>()?).mean)])?;
        }
    }
    Ok(())
}

/// Runs of one line of results: the largest of few numbers spreads more.
fn runs(d: u64) -> u32 {
    u32::try_from(((1 << 20) / d).clamp(4, 40)).unwrap_or(4)
}

fn reach(law: &BoundedLaw, _: u64) -> f64 {
    law.reach() as f64
}

/// The mean of the largest of d absolute values, from their law: the sum of the probabilities that it is at least 1, 2, ...
fn mean_of_bounded(law: &BoundedLaw, d: u64) -> f64 {
    let total = law.total() as f64;
    let mut above = 0u64;
    let mut sum = 0.0;
    for weight in law.weights()[1..].iter().rev() {
        above += 2 * weight;
        sum -= (d as f64 * (-(above as f64) / total).ln_1p()).exp_m1();
    }
    sum
}

/// The mean of the largest error of d marginals by Gaussian noise.
fn mean_of_gaussian(d: u64) -> Fallible<f64> {
    Ok(gaussian_scale(d)? * mean_of_largest(d as f64, |t| 2.0 * normal_tail(t), (0.0, 14.0)))
}

fn summary(results: &Results, part: &str, d: u64) -> Summary {
    Summary::of(&results.column("value", |row| row.text("part") == part && row.is("size", d as f64)))
}

/// A number at each number of marginals, with half the width of its interval.
fn points(quick: bool, at: impl Fn(u64) -> Fallible<(f64, f64)>) -> Fallible<Vec<(f64, f64, f64)>> {
    counts(quick).iter().map(|&d| at(d).map(|(value, half)| (d as f64, value, half))).collect()
}

/// Without the intervals.
fn line(points: &[(f64, f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().map(|&(x, y, _)| (x, y)).collect()
}

pub(super) fn panel(results: &Results, quick: bool) -> Fallible<Panel> {
    let root = |d: u64| (d as f64).sqrt();
    let measured = |part: &str, name: &str| {
        let found = points(quick, |d| {
            let it = summary(results, part, d);
            Ok((it.mean / root(d), it.half_width() / root(d)))
        })?;
        Ok::<Series, Error>(Series::measured(name, found))
    };
    let reach = points(quick, |d| Ok((summary(results, REACH, d).mean / root(d), 0.0)))?;
    let bounded = points(quick, |d| Ok((summary(results, MEAN, d).mean / root(d), 0.0)))?;
    let gaussian = points(quick, |d| Ok((mean_of_gaussian(d)? / root(d), 0.0)))?;
    let found = points(quick, |d| Ok((summary(results, GAUSSIAN, d).mean / root(d), 0.0)))?;
    let mut series = vec![
        Series::curve("bounded: no error is larger", &line(&reach)),
        Series::theory("theory", line(&bounded)),
        measured(BOUNDED, "bounded")?,
        Series::theory("theory", line(&gaussian)),
        measured(GAUSSIAN, "Gaussian")?,
    ];
    series.extend(fit::log_line("Gaussian", "d", &line(&found)));
    Ok(Panel::of(format!("largest error of d marginals, epsilon {EPSILON}, delta {DELTA:e}"), series)
        .x("marginals d", Scale::Log)
        .y("largest error over √d (rows)", Scale::Linear))
}

pub(super) fn findings(results: &Results, quick: bool) -> Fallible<Vec<Finding>> {
    let near = |x: f64| (x - SLACK, x + SLACK);
    let (reach, inf) = (|d: u64| summary(results, REACH, d).mean, f64::INFINITY);
    let sizes = counts(quick);
    let (few, many) = (sizes[0], sizes[sizes.len() - 1]);
    let law = |at: &dyn Fn(u64) -> Fallible<(f64, f64)>| {
        PowerLaw::fit(&sizes.iter().map(|&d| at(d)).collect::<Fallible<Vec<_>>>()?)
    };
    let mut findings = vec![Finding::exact_slope(
        "reach of bounded noise: exponent of d",
        &law(&|d| Ok((d as f64, reach(d))))?,
        near(0.5),
    )];
    // The largest of d normal numbers is slow to come to sqrt(2 ln 2d): the exponent is compared with that of the exact mean.
    let ln = |d: u64| (d as f64).ln();
    let gaussian = |d: u64| summary(results, GAUSSIAN, d).mean;
    let theory = law(&|d| Ok((ln(d), mean_of_gaussian(d)? / (d as f64).sqrt())))?.slope;
    let found = law(&|d| Ok((ln(d), gaussian(d) / (d as f64).sqrt())))?;
    findings.push(Finding::slope(
        "largest error by Gaussian noise over sqrt(d): exponent of ln d",
        &found,
        near(theory),
    ));
    // The reach over sqrt(d) still falls here, so the ratio grows faster than it will.
    let found = law(&|d| Ok((ln(d), gaussian(d) / reach(d))))?;
    findings.push(Finding::slope(
        "largest error by Gaussian noise over that reach: exponent of ln d",
        &found,
        (0.5, 1.0),
    ));
    for (d, claimed) in [(few, (0.0, 1.0)), (many, (1.0, inf))] {
        let it = summary(results, GAUSSIAN, d);
        findings.push(Finding::new(
            format!("largest error by Gaussian noise over that reach at {d}"),
            it.mean / reach(d),
            it.half_width() / reach(d),
            claimed,
        ));
    }
    let (ratio, half) = summary(results, BOUNDED, few).over(&summary(results, GAUSSIAN, few));
    findings.push(Finding::new(
        format!("largest error by bounded over Gaussian noise at {few}"),
        ratio,
        half,
        (0.0, 1.0),
    ));
    for (part, theory) in [(GAUSSIAN, mean_of_gaussian(many)?), (BOUNDED, summary(results, MEAN, many).mean)] {
        let it = summary(results, part, many);
        let what = format!("{part} at {many}, in units of the theory");
        findings.push(Finding::new(what, it.mean / theory, it.half_width() / theory, near(1.0)));
    }
    // The law has no room beyond its reach; draws can only show that they are of that law.
    let drawn = |d: u64| results.column("value", |row| row.text("part") == MOST && row.is("size", d as f64));
    let seeds: Vec<bool> = sizes.iter().flat_map(|&d| drawn(d).into_iter().map(move |it| it > reach(d))).collect();
    let beyond = seeds.iter().filter(|it| **it).count();
    let what = "bounded: share of seeds with an error above the reach";
    findings.push(Finding::share(what, beyond as u64, seeds.len() as u64, (0.0, MAX_BEYOND)));
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_the_largest_is_that_of_all_outcomes() {
        // Weights 2 4 6 4 2 over 18, two marginals: the largest is 0, 1, 2 with probabilities 9, 40 and 32 over 81.
        let law = BoundedLaw::new(vec![6, 4, 2]).unwrap();
        let largest = |at: f64| (at / 18.0).powi(2);
        let by_hand = (largest(14.0) - largest(6.0)) + 2.0 * (1.0 - largest(14.0));
        assert!((mean_of_bounded(&law, 2) - by_hand).abs() < 1e-12);
        assert!((mean_of_bounded(&law, 1) - (8.0 + 8.0) / 18.0).abs() < 1e-12);
    }

    #[test]
    fn the_largest_of_normal_numbers_grows_like_the_root_of_a_logarithm() {
        let scale = gaussian_scale(1).unwrap();
        // Of one number E|Z|; of many a little less than sqrt(2 ln 2d).
        assert!((mean_of_gaussian(1).unwrap() / scale - (2.0 / std::f64::consts::PI).sqrt()).abs() < 1e-3);
        let many = mean_of_gaussian(1 << 18).unwrap() / scale / 512.0;
        assert!((many - (2.0 * (2f64.powi(19)).ln()).sqrt()).abs() < 0.5, "{many}");
    }
}
