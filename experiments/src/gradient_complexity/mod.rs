//! Gradients of single rows that an optimal population risk takes, algorithm by algorithm.

mod methods;
mod picture;
pub mod planner;

use rhograd::error::{Error, Fallible};

use crate::fit::{PowerLaw, Summary};
use crate::progress::Progress;
use crate::results::{Earlier, Results, cell};
use crate::setup::{Setup, seed_of};
use crate::verdict::{Finding, Verdict};
use methods::Method;

/// The claim.
pub const CLAIM: &str = "an optimal population risk takes n^2 gradients by full batches, n^3/2 by samples and n by localization (noise check)";

/// Seeds of every setting: quick and full.
const SEEDS: (u64, u64) = (8, 30);

/// The risk that is asked for in units of the optimal rate; the untrained model has eight.
const TARGET: f64 = 2.0;

/// Where a fitted exponent may lie about that of the theory.
const SLACK: f64 = 0.2;

const VALUES: [&str; 3] = ["excess", "gradients", "noise"];

/// What the planner is asked: rows, coordinates and epsilon.
const QUESTIONS: [(f64, f64, f64); 8] = [
    (1e4, 1e1, 1.0),
    (1e4, 1e3, 1.0),
    (1e6, 1e1, 1.0),
    (1e6, 1e3, 1.0),
    (1e6, 1e3, 0.1),
    (1e6, 1e5, 1.0),
    (1e8, 1e3, 0.1),
    (1e8, 1e5, 1.0),
];

/// Measures what is missing, fits, and prints what the planner advises.
///
/// # Errors
/// When results cannot be written or a run fails.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    let configuration = setup.configuration("epsilon 8 delta 1e-6, 16 rows a coordinate, bias 8, noise from the key");
    let keys = ["method", "n", "knob", "seed"];
    let mut results = Results::open(&setup.file("results.csv"), &keys, &VALUES, &configuration, setup.earlier)?;
    let points = || Method::ALL.into_iter().flat_map(|m| m.rows(setup.quick).iter().map(move |n| (m, *n)));
    let progress = Progress::new("gradient-complexity", points().count());
    for (method, n) in points() {
        progress.say(format!("{} at n = {n}", method.name()));
        for knob in method.knobs() {
            measure(&mut results, setup, (method, n, *knob))?;
        }
        progress.step();
    }
    if setup.earlier != Earlier::Only {
        advise(setup)?;
    }
    setup.draw(&picture::panels(&results, setup.quick)?)?;
    findings(&results, setup.quick).map(Verdict)
}

/// All runs of one setting that are missing.
fn measure(results: &mut Results, setup: &Setup, (method, n, knob): (Method, u64, f64)) -> Fallible<()> {
    let seeds = if setup.quick { SEEDS.0 } else { SEEDS.1 };
    let key = |seed: u64| [method.name().to_owned(), n.to_string(), knob.to_string(), seed.to_string()];
    let missing: Vec<u64> = (0..seeds).filter(|seed| !results.has(&key(*seed))).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let (plan, corners) = (method.plan(n, knob)?, methods::corners(n)?);
    for seed in missing {
        let key = key(seed);
        let outcome = plan.run(&corners, seed_of(&key), setup.plant)?;
        results.add(&key, &[outcome.excess, outcome.gradients, outcome.noise].map(cell))?;
    }
    Ok(())
}

/// Mean and spread of a value at a setting.
fn summary(results: &Results, (method, n, knob): (Method, u64, f64), value: &str) -> Summary {
    let is = [("n", n as f64), ("knob", knob)];
    Summary::of(&results.column(value, |row| {
        row.text("method") == method.name() && is.iter().all(|(name, value)| row.is(name, *value))
    }))
}

/// Gradients and mean risk in units of the optimal rate, along the knob.
fn curve(results: &Results, method: Method, n: u64) -> Fallible<Vec<(f64, f64, f64)>> {
    let scale = methods::scale(n)?;
    let at = |knob: &f64| {
        let of = |value| summary(results, (method, n, *knob), value);
        let excess = of("excess");
        (of("gradients").mean, excess.mean / scale, excess.half_width() / scale)
    };
    Ok(method.knobs().iter().map(at).collect())
}

/// Gradients at which the risk first falls to the target, between two settings of the knob; NaN where it does not.
fn to_target(curve: &[(f64, f64, f64)]) -> f64 {
    let crossing = curve.windows(2).find(|pair| pair[0].1 > TARGET && pair[1].1 <= TARGET);
    let Some([(few, high, _), (many, low, _)]) = crossing else { return f64::NAN };
    let share = (high / TARGET).ln() / (high / low).ln();
    few * (many / few).powf(share)
}

/// Gradients to the target against rows, all that are measured.
fn reached(results: &Results, method: Method, quick: bool) -> Fallible<Vec<(f64, f64)>> {
    let point = |n: &u64| Ok((*n as f64, to_target(&curve(results, method, *n)?)));
    method.rows(quick).iter().map(point).collect()
}

/// What an exponent is fitted to.
fn fitted(results: &Results, method: Method, quick: bool) -> Fallible<Vec<(f64, f64)>> {
    let points = reached(results, method, quick)?.into_iter();
    Ok(points.filter(|(n, _)| method.is_fitted(*n as u64)).collect())
}

fn findings(results: &Results, quick: bool) -> Fallible<Vec<Finding>> {
    let mut findings = Vec::new();
    for method in Method::ALL {
        let points = fitted(results, method, quick)?;
        let what = format!("{}: exponent of the gradients in n", method.name());
        let claimed = (method.exponent() - SLACK, method.exponent() + SLACK);
        // A target that was never reached fails the claim, and is no reason to stop.
        findings.push(match PowerLaw::fit(&points) {
            Ok(law) => Finding::slope(what, &law, claimed),
            Err(_) => Finding::new(what, f64::NAN, f64::NAN, claimed),
        });
    }
    let noise = Summary::of(&results.column("noise", |_| true));
    let what = "square of the noise in units of the plan";
    findings.push(Finding::new(what, noise.mean, noise.half_width(), (0.97, 1.03)));
    Ok(findings)
}

/// Prints and writes what the planner advises.
fn advise(setup: &Setup) -> Fallible<()> {
    let path = setup.file("planner.csv");
    let failed = |e: csv::Error| Error::numerical("planner", e.to_string());
    let mut writer = csv::Writer::from_path(&path).map_err(failed)?;
    let header = ["smooth", "n", "d", "epsilon", "rank", "method", "gradients", "formula", "here", "source"];
    writer.write_record(header).map_err(failed)?;
    for smooth in [true, false] {
        for (n, d, epsilon) in QUESTIONS {
            let costs = planner::costs(n, d, epsilon, smooth)?;
            if let (Some(first), Some(here)) = (costs.first(), costs.iter().find(|cost| cost.here)) {
                let loss = if smooth { "smooth" } else { "any" };
                let best = format!("{} ({:.1e})", first.method, first.gradients);
                println!(
                    "{loss:6} n = {n:.0e}, d = {d:.0e}, epsilon = {epsilon}: {best}; of those here {}",
                    here.method
                );
            }
            for (rank, cost) in costs.iter().enumerate() {
                let numbers = [n, d, epsilon, (rank + 1) as f64].map(cell);
                let texts = [cost.method.into(), cell(cost.gradients), cost.formula.into(), cost.here.to_string()];
                let cells = [smooth.to_string()].into_iter().chain(numbers).chain(texts).chain([cost.source.into()]);
                writer.write_record(cells).map_err(failed)?;
            }
        }
    }
    writer.flush().map_err(|e| Error::io(&path, "write it", e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_met_between_two_settings() {
        let found = to_target(&[(10.0, 8.0, 0.0), (100.0, 0.5, 0.0)]);
        assert!((found - 1000f64.sqrt()).abs() < 1e-9, "{found}");
        assert!(to_target(&[(10.0, 12.0, 0.0), (100.0, 4.0, 0.0)]).is_nan());
    }
}
