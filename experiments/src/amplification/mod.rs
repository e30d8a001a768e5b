//! What Poisson sampling buys: the error of the mean gradient at equal epsilon and equal numbers of gradients.

mod fair;
mod picture;
mod points;
mod trained;

use rhograd::accounting::{rdp, subsample};
use rhograd::error::Fallible;

use crate::fit::{PowerLaw, Summary, range};
use crate::progress::Progress;
use crate::results::{Results, cell};
use crate::setup::{Plant, Setup, seed_of};
use crate::verdict::{Finding, Verdict};
use fair::FAIR;
use points::{Point, TRAINED, curve, curves};

/// The claim.
pub const CLAIM: &str = "sampling never lowers the gradient error of a run: with many steps it is free at noise multipliers above 1, not below";

/// Delta of every budget.
const DELTA: f64 = 1e-6;

/// Parts of the results.
const CALIBRATED: &str = "calibrated";
const TRAINER: &str = "trainer";
/// Its errors are log losses.
const REAL: &str = "fair.csv";

/// Noise multipliers of points that are fitted: sampling is free from the first on and costs up to the second.
const FREE: f64 = 2.0;
const COSTLY: f64 = 0.8;

/// Steps at its crossover from which on the central limit holds well enough for that to be claimed.
const MANY: f64 = 1_000.0;

/// Measures what is missing, and fits.
///
/// # Errors
/// When results cannot be written, a run fails, and for a planted step size: it would change nothing that is measured.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "gradients are measured in units of the step size")?;
    let seeds: u64 = if setup.quick { 2 } else { 10 };
    let keys = ["part", "epsilon", "passes", "one_in", "seed"];
    let configuration = setup.configuration(&format!("delta {DELTA}, add-remove, noise from the key"));
    let path = setup.file("results.csv");
    let mut results = Results::open(&path, &keys, &["noise_multiplier", "error"], &configuration, setup.earlier)?;
    let points: Vec<Point> = curves(setup.quick).iter().flat_map(|which| curve(*which, setup.quick)).collect();
    let progress =
        Progress::new("amplification", points.len() + (TRAINED.len() + FAIR.as_flattened().len()) * seeds as usize);
    for point in &points {
        let key = point.key(CALIBRATED, 0);
        progress.say(format!("epsilon {}, {} passes, rate 1/{}", point.epsilon, point.passes, point.one_in));
        if !results.has(&key) {
            let z = point.noise_multiplier(setup.plant)?;
            results.add(&key, &[z, point.error(z)].map(cell))?;
        }
        progress.step();
    }
    for point in &TRAINED {
        for seed in 0..seeds {
            let key = point.key(TRAINER, seed);
            progress.say(format!("training at epsilon {}, rate 1/{}", point.epsilon, point.one_in));
            if !results.has(&key) {
                let (z, error) = trained::run(point, seed_of(&key), setup.plant)?;
                results.add(&key, &[z, error].map(cell))?;
            }
            progress.step();
        }
    }
    for point in FAIR.iter().flatten() {
        for seed in 0..seeds {
            let key = point.key(REAL, seed);
            progress.say(format!("training on fair.csv, {} passes, rate 1/{}", point.passes, point.one_in));
            if !results.has(&key) {
                results.add(&key, &[f64::NAN, fair::run(point, seed_of(&key))?].map(cell))?;
            }
            progress.step();
        }
    }
    setup.draw(&picture::panels(&results, setup.quick)?)?;
    findings(&results, setup.quick).map(Verdict)
}

/// Mean and spread over seeds of a column at a point.
fn found(results: &Results, column: &str, part: &str, point: &Point) -> Summary {
    Summary::of(&results.column(column, |row| row.text("part") == part && point.is(row)))
}

fn noise_multiplier(results: &Results, point: &Point) -> f64 {
    found(results, "noise_multiplier", CALIBRATED, point).mean
}

/// The error at a point over that without sampling.
fn price(results: &Results, point: &Point) -> Fallible<f64> {
    Ok(found(results, "error", CALIBRATED, point).mean / point.full_batch()?)
}

fn findings(results: &Results, quick: bool) -> Fallible<Vec<Finding>> {
    let mut findings = one_step()?;
    findings.extend(regimes(results, quick)?);
    findings.extend(crossovers(results, quick)?);
    findings.extend(prices(results, quick)?);
    findings.extend(trainer(results)?);
    findings.extend(real(results));
    Ok(findings)
}

/// Sampling rates at which noise is large, or small, where the error is a power of the rate.
struct Regime {
    /// Epsilon and the number of passes.
    which: (f64, u64),
    /// Least and largest noise multiplier.
    multipliers: (f64, f64),
    claimed: (f64, f64),
}

const REGIMES: [Regime; 2] = [
    Regime { which: (1.0, 100), multipliers: (FREE, f64::INFINITY), claimed: (-0.05, 0.01) },
    Regime { which: (1.0, 1), multipliers: (0.0, COSTLY), claimed: (-0.5, -0.3) },
];

impl Regime {
    fn what(&self) -> String {
        let passes = picture::passes(self.which.1);
        let (least, most) = self.multipliers;
        let which = if least > 0.0 { format!("at least {least}") } else { format!("at most {most}") };
        format!("exponent of q, {passes}, noise multiplier {which}")
    }
}

/// What the exponent of a regime is fitted to.
fn fitted(results: &Results, regime: &Regime, quick: bool) -> Fallible<Vec<(f64, f64)>> {
    let (least, most) = regime.multipliers;
    let picked = |point: &Point| (least..=most).contains(&noise_multiplier(results, point));
    let points = curve(regime.which, quick).into_iter().filter(picked);
    points.map(|point| Ok((point.rate(), price(results, &point)?))).collect()
}

/// A fitted exponent of what accountants say; NaN where a planted error has left nothing to fit.
fn exponent(what: String, points: &[(f64, f64)], claimed: (f64, f64)) -> Finding {
    match PowerLaw::fit(points) {
        Ok(law) => Finding::exact_slope(what, &law, claimed),
        Err(_) => Finding::exact(what, f64::NAN, claimed),
    }
}

/// Amplification of one step is by about q where the step is private already, and of rho it is none.
fn one_step() -> Fallible<Vec<Finding>> {
    let rates = [1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01];
    let slope = |what: &str, epsilon: f64, claimed: (f64, f64)| -> Fallible<Finding> {
        let points = rates.iter().map(|q| Ok((*q, subsample::epsilon(epsilon, *q)?)));
        Ok(exponent(what.to_owned(), &points.collect::<Fallible<Vec<_>>>()?, claimed))
    };
    let (order, z, rate) = (1e5, 1.0, 0.01);
    let rho = rdp::poisson_gaussian(rate, z, order)?.worst() / order * 2.0 * z * z;
    Ok(vec![
        slope("amplified epsilon of a step of epsilon 0.1: exponent of q", 0.1, (0.95, 1.0))?,
        slope("the same of a step of epsilon 10", 10.0, (0.0, 0.2))?,
        Finding::exact("rho of a sampled step over that of a full one, q = 0.01", rho, (0.999, 1.0)),
    ])
}

/// Exponents of q in the error at equal numbers of gradients.
fn regimes(results: &Results, quick: bool) -> Fallible<Vec<Finding>> {
    let found = |regime: &Regime| Ok(exponent(regime.what(), &fitted(results, regime, quick)?, regime.claimed));
    REGIMES.iter().map(found).collect()
}

/// Rate and noise multiplier where the error is that of noise multiplier 1 by the central limit, interpolated in
/// logarithms.
fn crossover(results: &Results, which: (f64, u64), quick: bool) -> Fallible<(f64, f64)> {
    let target = Point::limit(1.0).ln();
    let points = curve(which, quick);
    let prices = points.iter().map(|point| Ok(price(results, point)?.ln())).collect::<Fallible<Vec<f64>>>()?;
    let Some(after) = prices.iter().position(|price| *price >= target).filter(|at| *at > 0) else {
        return Ok((f64::NAN, f64::NAN));
    };
    let share = (target - prices[after - 1]) / (prices[after] - prices[after - 1]);
    let between =
        |f: &dyn Fn(&Point) -> f64| (f(&points[after - 1]).ln() * (1.0 - share) + f(&points[after]).ln() * share).exp();
    Ok((between(&|point| point.rate()), between(&|point| noise_multiplier(results, point))))
}

/// The crossover moves like one over the passes, to where the central limit has it, at a noise multiplier of about 1.
///
/// With few steps it comes earlier: a row joins a binomial number of them, and the budget must hold for those that
/// joined many more than the mean.
fn crossovers(results: &Results, quick: bool) -> Fallible<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut fitted = Vec::new();
    for which in curves(quick) {
        let (epsilon, passes) = *which;
        let (rate, z) = crossover(results, *which, quick)?;
        let limit = Point { epsilon, passes, one_in: 1 }.limit_crossover()?;
        let at = format!("epsilon {epsilon}, {passes} passes");
        let what = format!("noise multiplier at the crossover, {at}");
        if passes as f64 / limit < MANY {
            findings.push(Finding::exact(what, z, (1.2, 4.0)));
            continue;
        }
        findings.push(Finding::exact(what, z, (0.8, 1.3)));
        let what = format!("rate of the crossover over mu^2/(K (e - 1)), {at}");
        findings.push(Finding::exact(what, rate / limit, (0.7, 1.5)));
        if epsilon == 1.0 {
            fitted.push((passes as f64, rate));
        }
    }
    let what = format!("crossover: exponent of the passes K, with {MANY} steps and more");
    findings.insert(0, exponent(what, &fitted, (-1.15, -0.85)));
    Ok(findings)
}

/// Sampling is never better, in the end much worse, and the noise keeps the budget.
fn prices(results: &Results, quick: bool) -> Fallible<Vec<Finding>> {
    let points: Vec<Point> = curves(quick).iter().flat_map(|which| curve(*which, quick)).collect();
    let all = points.iter().map(|point| price(results, point)).collect::<Fallible<Vec<f64>>>()?;
    let spent = points.iter().map(|point| point.spent(noise_multiplier(results, point)));
    let spent = range(spent.collect::<Fallible<Vec<f64>>>()?).1;
    let one_pass = |point: &Point| (point.epsilon, point.passes) == (1.0, 1);
    let most = range(points.iter().zip(&all).filter(|(point, _)| one_pass(point)).map(|(_, price)| *price)).1;
    let least = range(all.iter().copied()).0;
    Ok(vec![
        Finding::exact("least error over that of full batches", least, (0.999, 1.1)),
        Finding::exact("largest error over that of full batches in one pass, epsilon 1", most, (3.0, 30.0)),
        Finding::exact("largest epsilon spent over the budget", spent, (0.99, 1.002)),
    ])
}

/// What the public trainer adds to gradients is what the budget asks for.
fn trainer(results: &Results) -> Fallible<Vec<Finding>> {
    let mut findings = Vec::new();
    for point in &TRAINED {
        let error = found(results, "error", TRAINER, point);
        let full = point.full_batch()?;
        let name = if point.one_in == 1 { "dp-gd".to_owned() } else { format!("dp-sgd at rate 1/{}", point.one_in) };
        let what = format!("{name}, epsilon {}, {} passes: error over C/(mu n)", point.epsilon, point.passes);
        let claimed = match point.epsilon < 1.0 || point.one_in == 1 {
            true => (0.93, 1.07),
            false => (1.1, 10.0),
        };
        findings.push(Finding::new(what, error.mean / full, error.half_width() / full, claimed));
        if point.one_in == 1 {
            continue;
        }
        let what = format!("{name}, epsilon {}: error over z C/(sqrt(K q) n)", point.epsilon);
        let unit = point.error(point.noise_multiplier(None)?);
        findings.push(Finding::new(what, error.mean / unit, error.half_width() / unit, (0.93, 1.07)));
    }
    Ok(findings)
}

/// With few passes samples make better models, as they take more steps; with many they do not.
fn real(results: &Results) -> Vec<Finding> {
    let gain = |[full, sampled]: &[Point; 2], claimed: (f64, f64)| {
        let [full_batch, samples] = [full, sampled].map(|point| found(results, "error", REAL, point));
        let half_width = full_batch.half_width().hypot(samples.half_width());
        let what = format!(
            "fair.csv, epsilon {}, {} passes: log loss of dp-gd less that of dp-sgd",
            full.epsilon, full.passes
        );
        Finding::new(what, full_batch.mean - samples.mean, half_width, claimed)
    };
    vec![gain(&FAIR[0], (0.005, 0.1)), gain(&FAIR[1], (-0.01, 0.005))]
}
