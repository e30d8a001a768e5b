//! Excess population risk of private stochastic optimisation on both sides of the crossover.

mod crossing;
mod picture;
mod points;
mod regression;

use rhograd::error::Fallible;

use crate::corners::{Corners, Descent, Outcome, Solver, localization};
use crate::fit::{PowerLaw, Summary, largest};
use crate::progress::Progress;
use crate::results::{Results, cell};
use crate::setup::{Plant, Setup, seed_of};
use crate::verdict::{Finding, Verdict};
use crossing::crossing;
use points::{Method, Point, Sweep};

/// The claim.
pub const CLAIM: &str =
    "the excess population risk is L R (1/sqrt(n) + sqrt(d ln(1/delta)) / (epsilon n)) up to constants";

/// Where a fitted exponent may lie about that of the theory.
const SLACK: f64 = 0.1;

/// The same for crossings, each of which comes from a fit of its own.
const CROSSING_SLACK: f64 = 0.25;

/// Norm of the mean row in units of [`Point::scale`]: near enough to it for the instance to be a hard one.
const BIAS: f64 = 4.0;

/// Where the crossover lies in units of `d ln(1/delta) / epsilon^2`. For the terms of a private mean it is 16; the constants
/// of an algorithm move it, and noise of the wrong size moves it by its square.
const DESCENT_CROSSING: (f64, f64) = (35.0, 80.0);
const PHASED_CROSSING: (f64, f64) = (250.0, 550.0);

/// A descent whose steps are right leaves less than this share of what it starts with.
const MAX_SHARE: f64 = 0.3;

const VALUES: [&str; 4] = ["excess", "bound", "untrained", "noise"];

/// Measures what is missing, and fits.
///
/// # Errors
/// When results cannot be written or a run fails.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    let points = points::all(setup.quick);
    let configuration = setup.configuration("bias 4 scales, minimiser 2 scales, delta 1e-6, noise from the key");
    let keys = ["method", "n", "d", "epsilon", "seed"];
    let mut results = Results::open(&setup.file("results.csv"), &keys, &VALUES, &configuration, setup.earlier)?;
    let progress = Progress::new("sco-rate", points.len());
    for point in &points {
        progress.say(format!("{} at n = {}, d = {}", point.method.name(), point.n, point.d));
        for seed in 0..point.seeds(setup.quick) {
            let key = point.key(seed);
            if !results.has(&key) {
                results.add(&key, &measure(point, seed_of(&key), setup.plant)?.map(cell))?;
            }
        }
        progress.step();
    }
    setup.draw(&picture::panels(&results, setup.quick))?;
    findings(&results, setup.quick).map(Verdict)
}

/// The instance of linear losses at a point.
fn corners(point: &Point) -> Fallible<Corners> {
    Corners::new(point.d, BIAS * point.scale())
}

/// As many steps as balance the terms of the bound, and no more than rows.
fn descent(point: &Point) -> Descent {
    let n = point.n as f64;
    let steps = (n * n * point.rho() / (2.0 * point.d as f64)).min(n).ceil() as u64;
    Descent::full(point.n, steps, point.rho())
}

/// Excess risk, its bound, what the untrained model has, and the square of the noise in units of the plan.
fn measure(point: &Point, seed: u64, plant: Option<Plant>) -> Fallible<[f64; 4]> {
    let corners = corners(point)?;
    let of = |outcome: Outcome, bound| [outcome.excess, bound, corners.bias(), outcome.noise];
    Ok(match point.method {
        Method::Descent => {
            let descent = descent(point);
            of(descent.run(&corners, seed, plant)?, descent.bound(point.d) + 1.0 / (point.n as f64).sqrt())
        }
        Method::Phased => of(localization(&corners, (point.n, point.rho()), Solver::OnePass, seed, plant)?, f64::NAN),
        Method::Trained => [regression::run(point, seed, plant)?, f64::NAN, f64::NAN, f64::NAN],
    })
}

/// Mean and spread of a value at a point.
fn summary(results: &Results, point: &Point, value: &str) -> Summary {
    Summary::of(&results.column(value, |row| point.is(row)))
}

/// The measured crossing of a sweep of n.
fn crossing_of(results: &Results, sweep: &[Point]) -> f64 {
    let points: Vec<(f64, f64)> = sweep.iter().map(|p| (p.n as f64, summary(results, p, "excess").mean)).collect();
    crossing(&points)
}

/// The predicted and the measured crossings of a method.
fn crossings(results: &Results, method: Method, quick: bool) -> Vec<(f64, f64)> {
    let sweeps = points::crossings(method, quick);
    sweeps.iter().filter_map(|s| s.first().map(|p| (p.predicted(), crossing_of(results, s)))).collect()
}

/// What an exponent is fitted to.
fn fitted(results: &Results, method: Method, sweep: Sweep, quick: bool) -> Vec<(f64, f64)> {
    let points = sweep.points(method, quick).into_iter().filter(|p| p.is_fitted(sweep));
    points.map(|p| (sweep.at(&p), summary(results, &p, "excess").mean)).collect()
}

fn findings(results: &Results, quick: bool) -> Fallible<Vec<Finding>> {
    let mut findings = Vec::new();
    for method in Method::ALL {
        for sweep in method.sweeps() {
            let law = PowerLaw::fit(&fitted(results, method, *sweep, quick))?;
            let claimed = (sweep.exponent() - SLACK, sweep.exponent() + SLACK);
            findings.push(Finding::slope(format!("{}: exponent of {}", method.name(), sweep.name()), &law, claimed));
        }
    }
    for (method, claimed) in [(Method::Descent, DESCENT_CROSSING), (Method::Phased, PHASED_CROSSING)] {
        let found = crossings(results, method, quick);
        // A crossing that is not there fails the claim, and is no reason to stop.
        if let Ok(law) = PowerLaw::fit(&found) {
            let what = format!("{}: exponent of the crossover in d ln(1/delta) / epsilon^2", method.name());
            findings.push(Finding::slope(what, &law, (1.0 - CROSSING_SLACK, 1.0 + CROSSING_SLACK)));
        }
        let ratios = Summary::of(&found.iter().map(|(predicted, measured)| measured / predicted).collect::<Vec<_>>());
        let what = format!("{}: crossover in units of d ln(1/delta) / epsilon^2", method.name());
        findings.push(Finding::new(what, ratios.mean, ratios.half_width(), claimed));
    }
    let all = points::all(quick);
    let descents: Vec<_> = all.iter().filter(|p| p.method == Method::Descent).collect();
    // Units are computed; the intervals of all points hold at once, and so that of the largest does.
    let most = |unit: &str| {
        largest(descents.iter().map(|p| {
            let (excess, unit) = (summary(results, p, "excess"), summary(results, p, unit).mean);
            let half = excess.joint_half_width(descents.len()) / unit;
            (excess.mean / unit, (excess.mean / unit - half, excess.mean / unit + half))
        }))
    };
    for (unit, of, claimed) in
        [("bound", "its bound", (0.0, 1.0)), ("untrained", "the untrained model's", (0.0, MAX_SHARE))]
    {
        let (estimate, interval) = most(unit);
        let what = format!("dp-gd: largest mean risk in units of {of}");
        findings.push(Finding::between(what, estimate, interval, claimed));
    }
    let noise = Summary::of(&results.column("noise", |row| row.text("method") != Method::Trained.name()));
    let what = "square of the noise in units of the plan";
    findings.push(Finding::new(what, noise.mean, noise.half_width(), (0.97, 1.03)));
    Ok(findings)
}
