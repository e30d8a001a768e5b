//! Excess empirical risk of textbook DP-GD against rows, coordinates, epsilon and delta.

mod linear;
mod logistic;
mod lower;
mod picture;
mod points;

use rhograd::accounting::erm::{NoisyDescent, noisy_descent};
use rhograd::error::Fallible;
use rhograd::privacy::Delta;

use crate::fit::{PowerLaw, Summary, largest};
use crate::progress::Progress;
use crate::results::{Results, cell};
use crate::setup::{Plant, Setup, seed_of};
use crate::verdict::{Finding, Verdict};
use points::{Instance, Point, Sweep};

/// The claim.
pub const CLAIM: &str = "the excess empirical risk of DP-GD is L R sqrt(d ln(1/delta)) / (epsilon n) up to constants";

/// Where a fitted exponent may lie about that of the theory.
const SLACK: f64 = 0.1;

/// The planted step size in units of that of the theory.
const WRONG_STEP: f64 = 0.05;

/// Lipschitz constant and diameter of the domain: the unit ball.
const LIPSCHITZ: f64 = 1.0;
const DIAMETER: f64 = 2.0;

const VALUES: [&str; 4] = ["excess", "bound", "lower", "noise"];

/// What one run measured: the excess risk, and the square of the noise in units of that of the plan.
struct Measured {
    excess: f64,
    noise: f64,
}

/// Measures what is missing, and fits.
///
/// # Errors
/// When results cannot be written or a run fails.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    let points = points::all(setup.quick);
    let keys = ["instance", "n", "d", "epsilon", "delta", "seed"];
    let configuration = setup.configuration("unit ball, step of the true second moment, noise from the key");
    let mut results = Results::open(&setup.file("results.csv"), &keys, &VALUES, &configuration, setup.earlier)?;
    let progress = Progress::new("erm-rate", points.iter().map(|point| point.seeds(setup.quick) as usize).sum());
    for point in &points {
        for seed in 0..point.seeds(setup.quick) {
            let key = point.key(seed);
            if !results.has(&key) {
                progress.say(format!("{} at n = {}, d = {}", key[0], key[1], key[2]));
                let theory = point.theory()?;
                let measured = match point.instance {
                    Instance::Marginals | Instance::Hard => linear::run(point, &theory, seed_of(&key), setup.plant)?,
                    Instance::Logistic => logistic::run(point, &theory, seed_of(&key), setup.plant)?,
                };
                let lower = if point.instance == Instance::Hard { lower::bound(point, theory.rho).0 } else { f64::NAN };
                results.add(&key, &[measured.excess, theory.bound, lower, measured.noise].map(cell))?;
            }
            progress.step();
        }
    }
    setup.draw(&picture::panels(&points, &results))?;
    findings(&points, &results).map(Verdict)
}

impl Point {
    /// The corrected textbook parameters, replace-one.
    fn theory(&self) -> Fallible<NoisyDescent> {
        let delta = Delta::new(self.delta)?;
        noisy_descent(self.n as f64, self.d as f64, self.epsilon, delta, LIPSCHITZ, DIAMETER)
    }
}

/// The step size that is used.
fn step(theory: &NoisyDescent, plant: Option<Plant>) -> f64 {
    theory.eta * if plant == Some(Plant::WrongStep) { WRONG_STEP } else { 1.0 }
}

/// Mean and spread of the excess at a point.
fn excess(results: &Results, point: &Point) -> Summary {
    Summary::of(&results.column("excess", |row| point.is(row)))
}

/// What an exponent is fitted to.
fn fitted(points: &[Point], results: &Results, instance: Instance, sweep: Sweep) -> Vec<(f64, f64)> {
    let swept = points.iter().filter(|p| p.instance == instance && p.sweeps.contains(&sweep) && p.is_fitted());
    swept.map(|p| (sweep.at(p), excess(results, p).mean)).collect()
}

fn findings(points: &[Point], results: &Results) -> Fallible<Vec<Finding>> {
    let mut findings = Vec::new();
    for instance in [Instance::Marginals, Instance::Logistic] {
        for (sweep, exponent) in Sweep::EXPONENTS {
            let law = PowerLaw::fit(&fitted(points, results, instance, sweep))?;
            let what = format!("{}: exponent of {}", instance.name(), sweep.name());
            findings.push(Finding::slope(what, &law, (exponent - SLACK, exponent + SLACK)));
        }
    }
    // Per point and not per run: the theorem bounds the expectation. The intervals of all points hold at once, and so that of the largest does.
    let known = points.iter().map(|p| Ok((p, p.theory()?, excess(results, p)))).collect::<Fallible<Vec<_>>>()?;
    let within = |excess: &Summary, unit: f64| {
        let half = excess.joint_half_width(points.len()) / unit;
        (excess.mean / unit, (excess.mean / unit - half, excess.mean / unit + half))
    };
    let (most, interval) = largest(known.iter().map(|(_, theory, excess)| within(excess, theory.target)));
    let what = "largest mean excess in units of 8 L R sqrt(d ln(1/delta)) / (epsilon n)";
    findings.push(Finding::between(what, most, interval, (0.0, 1.0)));
    let (most, interval) = largest(known.iter().map(|(_, theory, excess)| within(excess, theory.bound)));
    let what = "largest mean excess in units of the bound for these steps";
    findings.push(Finding::between(what, most, interval, (0.0, 1.0)));
    let hard: Vec<_> = known.iter().filter(|(p, ..)| p.instance == Instance::Hard).collect();
    let (most, interval) = largest(hard.iter().map(|(p, theory, excess)| {
        let (lower, half) = (lower::bound(p, theory.rho).0, excess.joint_half_width(hard.len()));
        // A mean that may be zero leaves the ratio without a limit.
        let above = if excess.mean > half { lower / (excess.mean - half) } else { f64::INFINITY };
        (lower / excess.mean, (lower / (excess.mean + half), above))
    }));
    findings.push(Finding::between("largest lower bound in units of the mean excess", most, interval, (1e-3, 1.0)));
    let noise = Summary::of(&results.column("noise", |row| row.text("instance") == Instance::Marginals.name()));
    findings.push(Finding::new(
        "square of the noise in units of the plan",
        noise.mean,
        noise.half_width(),
        (0.97, 1.03),
    ));
    Ok(findings)
}
