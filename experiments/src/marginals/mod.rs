//! One-way marginals by Laplace and Gaussian noise and the largest of their errors, the mean of one column, and the mode of a histogram.

mod largest;
mod lower;
mod mechanisms;
mod picture;

use rhograd::error::{Error, Fallible};
use rhograd::privacy::{Delta, Epsilon};

use crate::fit::{PowerLaw, Summary};
use crate::progress::Progress;
use crate::results::{Results, cell};
use crate::setup::{Plant, Setup, seed_of};
use crate::verdict::{Finding, Verdict};
use mechanisms::Noises;

/// The claim.
pub const CLAIM: &str = "d marginals need n ~ d rows by Laplace and n ~ sqrt(d) by Gaussian noise, bounded noise has their largest error without a logarithm; a stable mode beats noisy counts (noise check)";

/// Budget of every release; the Laplace mechanism does without the delta.
const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;

/// The mean absolute error that a number of rows is asked for.
const ACCURACY: f64 = 0.01;

/// Share of runs in which the mode must come out right.
const SUCCESS: f64 = 0.95;

/// Where a fitted exponent may lie about that of the theory, and a constant in units of its own.
const SLACK: f64 = 0.05;

const DIMENSIONS: [u64; 6] = [4, 16, 64, 256, 1024, 4096];
const ROWS: [u64; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
const BINS: [u64; 6] = [1 << 4, 1 << 8, 1 << 12, 1 << 16, 1 << 20, 1 << 24];

/// A quantity that is measured against a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    LaplaceMarginals,
    GaussianMarginals,
    Mean,
    NoisyCounts,
    StableMode,
}

impl Part {
    const ALL: [Part; 5] =
        [Part::LaplaceMarginals, Part::GaussianMarginals, Part::Mean, Part::NoisyCounts, Part::StableMode];

    fn name(self) -> &'static str {
        match self {
            Part::LaplaceMarginals => "Laplace",
            Part::GaussianMarginals => "Gaussian",
            Part::Mean => "mean by Laplace",
            Part::NoisyCounts => "noisy counts",
            Part::StableMode => "propose-test-release",
        }
    }

    fn sizes(self) -> &'static [u64] {
        match self {
            Part::LaplaceMarginals | Part::GaussianMarginals => &DIMENSIONS,
            Part::Mean => &ROWS,
            Part::NoisyCounts | Part::StableMode => &BINS,
        }
    }

    /// What one run gives at a size: rows needed, an error, or a gap needed.
    fn measure(self, size: u64, noises: &mut Noises) -> Fallible<f64> {
        match self {
            // The error of a count is noise, that of a marginal the same over n; so this many rows are needed.
            Part::LaplaceMarginals => Ok(noises.laplace_error(size, size as f64 / EPSILON) / ACCURACY),
            Part::GaussianMarginals => Ok(noises.gaussian_error(size, gaussian_scale(size)?)? / ACCURACY),
            Part::Mean => Ok(noises.laplace_error(1_000, 1.0 / (EPSILON * size as f64))),
            Part::NoisyCounts => Ok(noises.gap_for_noisy_counts(size)),
            Part::StableMode => Ok(noises.gap_for_a_stable_mode()),
        }
    }
}

/// Noise on each of d sums of numbers in `[0, 1]`, replace-one: l2 sensitivity sqrt(d), calibrated exactly (Balle and
/// Wang 2018, Theorem 8).
fn gaussian_scale(d: u64) -> Fallible<f64> {
    let mu = rhograd::accounting::gaussian::max_mu(Epsilon::new(EPSILON)?, Delta::new(DELTA)?)?;
    Ok((d as f64).sqrt() / mu)
}

/// Measures what is missing, and fits.
///
/// # Errors
/// When results cannot be written, and for a planted step size: there are no steps.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "there are no steps here")?;
    let seeds: u64 = if setup.quick { 5 } else { 40 };
    let configuration =
        setup.configuration(&format!("epsilon {EPSILON} delta {DELTA} {ACCURACY} {SUCCESS}, noise from the key"));
    let path = setup.file("results.csv");
    let mut results = Results::open(&path, &["part", "size", "seed"], &["value"], &configuration, setup.earlier)?;
    let cells: Vec<(Part, u64)> =
        Part::ALL.iter().flat_map(|part| part.sizes().iter().map(|size| (*part, *size))).collect();
    let counts = largest::counts(setup.quick);
    let progress = Progress::new("marginals", cells.len() + counts.len());
    for (part, size) in cells {
        progress.say(format!("{} at {size}", part.name()));
        for seed in 0..seeds {
            let key = [part.name().to_owned(), size.to_string(), seed.to_string()];
            if !results.has(&key) {
                let value = part.measure(size, &mut Noises::new(seed_of(&key), setup.plant))?;
                results.add(&key, &[cell(value)])?;
            }
        }
        progress.step();
    }
    for &d in counts {
        progress.say(format!("largest error at {d}"));
        largest::measure(&mut results, d, seeds, setup.plant)?;
        progress.step();
    }
    let [rows, mean, mode] = picture::panels(&results)?;
    setup.draw(&[rows, largest::panel(&results, setup.quick)?, mean, mode])?;
    let mut findings = findings(&results)?;
    findings.extend(largest::findings(&results, setup.quick)?);
    Ok(Verdict(findings))
}

/// Mean and spread over the seeds.
fn summary(results: &Results, part: Part, size: u64) -> Summary {
    Summary::of(&results.column("value", |row| row.text("part") == part.name() && row.is("size", size as f64)))
}

/// What an exponent is fitted to.
fn fitted(results: &Results, part: Part) -> Vec<(f64, f64)> {
    part.sizes().iter().map(|size| (*size as f64, summary(results, part, *size).mean)).collect()
}

fn findings(results: &Results) -> Fallible<Vec<Finding>> {
    let mut findings = Vec::new();
    let exponents = [(Part::LaplaceMarginals, 1.0, "d"), (Part::GaussianMarginals, 0.5, "d"), (Part::Mean, -1.0, "n")];
    for (part, exponent, of) in exponents {
        let what = format!("{}: exponent of {of}", part.name());
        findings.push(Finding::slope(
            what,
            &PowerLaw::fit(&fitted(results, part))?,
            (exponent - SLACK, exponent + SLACK),
        ));
    }
    for part in Part::ALL {
        let expected = |size: u64| mechanisms::expected(part, size);
        let size = *part.sizes().last().ok_or_else(|| Error::numerical("marginals", "no sizes"))?;
        let found = summary(results, part, size);
        let theory = expected(size)?;
        let what = format!("{} at {size}, in units of the theory", part.name());
        findings.push(Finding::new(what, found.mean / theory, found.half_width() / theory, (1.0 - SLACK, 1.0 + SLACK)));
    }
    // With few bins noisy counts need the smaller gap, with many the stable mode does.
    let [few, many] = [BINS[0], BINS[BINS.len() - 1]];
    let over = "gap of propose-test-release over noisy counts";
    for (what, bins, claimed) in [(over, few, (1.0, f64::INFINITY)), ("the same", many, (0.0, 1.0))] {
        let of = |part| summary(results, part, bins);
        let (ratio, half_width) = of(Part::StableMode).over(&of(Part::NoisyCounts));
        findings.push(Finding::new(format!("{what} at {bins} bins"), ratio, half_width, claimed));
    }
    Ok(findings)
}
