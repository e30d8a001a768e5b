//! Epsilon of k Gaussian releases by every accountant, and the law of their privacy loss.

mod loss;
mod methods;
mod picture;

use rhograd::error::Fallible;

use crate::fit::{PowerLaw, Summary, range};
use crate::progress::Progress;
use crate::results::{Results, cell};
use crate::setup::{Plant, Setup, seed_of};
use crate::verdict::{Finding, Verdict};
use methods::Method;

/// The claim.
pub const CLAIM: &str = "k Gaussian steps cost about sqrt(k), which sums miss; PLD is exact, RDP and zCDP nearly; the loss is N(rho, 2 rho) (noise check)";

/// Delta of every epsilon.
const DELTA: f64 = 1e-6;

/// Noise multipliers of a step: one whose exponents are fitted, and one whose steps are far from private enough.
const NOISE_MULTIPLIERS: [f64; 2] = [100.0, 10.0];

/// Exponents are fitted where all steps together cost less rho than this, and from this many steps on: advanced
/// composition begins to pay at some thirty.
const HIGH_PRIVACY: f64 = 0.15;
const MIN_STEPS: u64 = 30;

/// An epsilon is called tight when it is at most this multiple of the exact one.
const TIGHT: f64 = 1.1;

/// Numbers of steps.
struct Steps {
    composed: Vec<u64>,
    simulated: [u64; 3],
}

impl Steps {
    fn new(quick: bool) -> Self {
        let digits: &[u64] = if quick { &[1, 3] } else { &[1, 2, 3, 5, 7] };
        let decades = (0..5).flat_map(|decade| digits.iter().map(move |digit| digit * 10u64.pow(decade)));
        Steps { composed: decades.chain([100_000]).collect(), simulated: [4, 64, 512] }
    }
}

/// Measures what is missing, and fits.
///
/// # Errors
/// When results cannot be written, an accountant fails, and for a planted step size: there are no step sizes.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "there are no step sizes here")?;
    let steps = Steps::new(setup.quick);
    let seeds: u64 = if setup.quick { 4 } else { 20 };
    let keys = ["quantity", "noise_multiplier", "k", "seed"];
    let configuration = setup.configuration(&format!("delta {DELTA}, {} runs a seed, noise from the key", loss::RUNS));
    let path = setup.file("results.csv");
    let mut results = Results::open(&path, &keys, &["value", "lower"], &configuration, setup.earlier)?;
    let cells = NOISE_MULTIPLIERS.len() * steps.composed.len() + steps.simulated.len() * seeds as usize;
    let progress = Progress::new("composition", cells);
    for z in NOISE_MULTIPLIERS {
        for k in &steps.composed {
            progress.say(format!("noise multiplier {z}, {k} steps"));
            compose(&mut results, z, *k, setup.plant)?;
            progress.step();
        }
    }
    for k in steps.simulated {
        for seed in 0..seeds {
            progress.say(format!("losses of {k} steps"));
            simulate(&mut results, k, seed, setup.plant)?;
            progress.step();
        }
    }
    setup.draw(&picture::panels(&results, &steps))?;
    findings(&results, &steps).map(Verdict)
}

fn key(quantity: &str, z: f64, k: u64, seed: u64) -> [String; 4] {
    [quantity.to_owned(), z.to_string(), k.to_string(), seed.to_string()]
}

/// All epsilons of one number of steps.
fn compose(results: &mut Results, z: f64, k: u64, plant: Option<Plant>) -> Fallible<()> {
    for method in Method::ALL {
        let key = key(method.name(), z, k, 0);
        if !results.has(&key) {
            let (epsilon, lower) = method.epsilon(z, k, plant)?;
            // All digits: what is compared may differ in the last ones.
            results.add(&key, &[epsilon.to_string(), lower.to_string()])?;
        }
    }
    Ok(())
}

/// What one seed says of the loss of k steps.
fn simulate(results: &mut Results, k: u64, seed: u64, plant: Option<Plant>) -> Fallible<()> {
    let z = loss::NOISE_MULTIPLIER;
    // Written last, so that a run that stopped before it is made again; what is there is not written twice.
    let last = key("loss distance", z, k, seed);
    if results.has(&last) {
        return Ok(());
    }
    let losses = loss::simulate(k, seed_of(&last), plant)?;
    let summary = Summary::of(&losses);
    let mut values =
        vec![("loss mean".to_owned(), summary.mean), ("loss variance".to_owned(), summary.deviation.powi(2))];
    values.extend(loss::histogram(&losses, k).into_iter().enumerate().map(|(bin, found)| (bin_name(bin), found)));
    values.push(("loss distance".to_owned(), loss::distance(&losses, k)?));
    for (quantity, value) in values {
        results.add(&key(&quantity, z, k, seed), &[cell(value), cell(value)])?;
    }
    Ok(())
}

fn bin_name(bin: usize) -> String {
    format!("loss bin {bin}")
}

/// The epsilon of a method; NaN where it was not computed.
fn epsilon(results: &Results, method: Method, z: f64, k: u64) -> f64 {
    column(results, "value", method, z, k)
}

fn column(results: &Results, column: &str, method: Method, z: f64, k: u64) -> f64 {
    let wanted = results
        .rows()
        .find(|row| row.text("quantity") == method.name() && row.is("noise_multiplier", z) && row.is("k", k as f64));
    wanted.map_or(f64::NAN, |row| row.number(column))
}

fn over_exact(results: &Results, method: Method, z: f64, k: u64) -> f64 {
    epsilon(results, method, z, k) / epsilon(results, Method::Exact, z, k)
}

/// Mean and spread over seeds of a number about the loss.
fn simulated(results: &Results, quantity: &str, k: u64) -> Summary {
    Summary::of(&results.column("value", |row| row.text("quantity") == quantity && row.is("k", k as f64)))
}

fn findings(results: &Results, steps: &Steps) -> Fallible<Vec<Finding>> {
    let mut findings = exponents(results, steps)?;
    findings.extend(order(results, steps));
    findings.extend(tight(results, steps));
    findings.extend(losses(results, steps));
    Ok(findings)
}

/// What an exponent is fitted to: noise multiplier [`NOISE_MULTIPLIERS`]`[0]`, where the whole is private.
fn fitted(results: &Results, steps: &Steps, method: Method) -> Vec<(f64, f64)> {
    let z = NOISE_MULTIPLIERS[0];
    let most = HIGH_PRIVACY * 2.0 * z * z;
    let low = steps.composed.iter().filter(|k| **k >= MIN_STEPS && **k as f64 <= most);
    low.map(|k| (*k as f64, epsilon(results, method, z, *k))).collect()
}

/// Exponents of k where the whole is private. Logarithms of delta make them a little larger than 1 and 1/2.
fn exponents(results: &Results, steps: &Steps) -> Fallible<Vec<Finding>> {
    let fitted = |method: Method, claimed: (f64, f64)| {
        let law = PowerLaw::fit(&fitted(results, steps, method))?;
        Ok(Finding::exact_slope(format!("{}: exponent of k", method.name()), &law, claimed))
    };
    Method::ALL
        .into_iter()
        .map(|method| match method {
            Method::Basic => fitted(method, (1.0, 1.1)),
            Method::Optimal | Method::Advanced => fitted(method, (0.5, 0.65)),
            _ => fitted(method, (0.5, 0.56)),
        })
        .collect()
}

/// The largest ratio of what must not be larger to what must not be smaller, and where the exact epsilon lies in the
/// interval of the PLD accountant.
fn order(results: &Results, steps: &Steps) -> Vec<Finding> {
    let everywhere = || NOISE_MULTIPLIERS.into_iter().flat_map(|z| steps.composed.iter().map(move |k| (z, *k)));
    let mut findings = Vec::new();
    for (less, more) in Method::ORDER {
        let ratios = everywhere().map(|(z, k)| epsilon(results, less, z, k) / epsilon(results, more, z, k));
        let what = format!("largest epsilon of {} over {}", less.name(), more.name());
        // Both may be the same number, up to rounding and the rows that samples of nearly all leave out.
        findings.push(Finding::exact(what, range(ratios).1, (0.0, 1.0 + 1e-6)));
    }
    let width = |(z, k)| column(results, "value", Method::Pld, z, k) - column(results, "lower", Method::Pld, z, k);
    let relative = everywhere().map(|at| width(at) / epsilon(results, Method::Exact, at.0, at.1));
    findings.push(Finding::exact("largest width of the PLD interval over epsilon", range(relative).1, (0.0, 2e-3)));
    let below = |at: (f64, u64)| column(results, "lower", Method::Pld, at.0, at.1);
    let under = everywhere().map(|at| below(at) / epsilon(results, Method::Exact, at.0, at.1));
    findings.push(Finding::exact("largest lower end of PLD over exact", range(under).1, (0.0, 1.0 + 1e-6)));
    findings
}

/// The most and the fewest of the numbers of steps on the grid at which methods are within 10% of the exact epsilon, beside the next on it at which they are not.
fn tight(results: &Results, steps: &Steps) -> Vec<Finding> {
    let [fine, coarse] = NOISE_MULTIPLIERS;
    let grid = &steps.composed;
    let holds = |method: Method, z: f64, k: u64| over_exact(results, method, z, k) <= TIGHT;
    let number = |at: usize| grid.get(at).map_or(f64::INFINITY, |k| *k as f64);
    let mut findings = Vec::new();
    for (method, z, claimed) in [(Method::Basic, fine, (1.0, 1.0)), (Method::Optimal, fine, (1.0, 2.0))] {
        let loose = grid.iter().position(|k| !holds(method, z, *k)).unwrap_or(grid.len());
        let quantity = format!("{}: most steps within 10% of exact, noise multiplier {z}", method.name());
        let quantity = format!("{quantity}, {} not", number(loose));
        findings.push(Finding::exact(quantity, loose.checked_sub(1).map_or(0.0, number), claimed));
    }
    for (method, z, claimed) in [
        (Method::Rdp, fine, (2.0, 10.0)),
        (Method::ZcdpOptimal, fine, (2.0, 10.0)),
        (Method::ZcdpClassical, coarse, (300.0, 3_000.0)),
    ] {
        let first = grid.iter().position(|k| holds(method, z, *k)).unwrap_or(grid.len());
        let quantity = format!("{}: fewest steps within 10% of exact, noise multiplier {z}", method.name());
        let quantity = format!("{quantity}, {} not", first.checked_sub(1).map_or(0.0, number));
        findings.push(Finding::exact(quantity, number(first), claimed));
    }
    findings
}

/// Mean, variance and distribution of the simulated loss.
fn losses(results: &Results, steps: &Steps) -> Vec<Finding> {
    let mut findings = Vec::new();
    for k in steps.simulated {
        let rho = loss::rho(k);
        let mut push = |what: &str, found: Summary, unit: f64, claimed: (f64, f64)| {
            findings.push(Finding::new(
                format!("{what}, rho = {rho}"),
                found.mean / unit,
                found.half_width() / unit,
                claimed,
            ));
        };
        // In standard deviations of the loss, which at a small rho are much larger than the mean.
        let mean = simulated(results, "loss mean", k);
        let centred = Summary { mean: mean.mean - rho, ..mean };
        push("mean loss less rho, in deviations", centred, (2.0 * rho).sqrt(), (-0.03, 0.03));
        push("variance of the loss over 2 rho", simulated(results, "loss variance", k), 2.0 * rho, (0.95, 1.05));
        // Its limit law has mean 0.87 and deviation 0.26.
        push("distance from N(rho, 2 rho), mean over seeds", simulated(results, "loss distance", k), 1.0, (0.6, 1.2));
    }
    findings
}
