//! What the neighbouring relation costs: add-remove against replace-one, with and without sampling.

mod noise;
mod picture;
mod trained;

use rhograd::error::Fallible;
use rhograd::privacy::Adjacency;

use crate::fit::{Summary, range};
use crate::progress::Progress;
use crate::results::{Results, cell};
use crate::setup::{Plant, Setup};
use crate::verdict::{Finding, Verdict};
use noise::{Run, full_batch_ratio, limit};

/// The claim.
pub const CLAIM: &str =
    "replace-one costs twice the noise of add-remove on full batches and hardly more on samples with little noise";

/// Delta of everything.
const DELTA: f64 = 1e-6;

/// Parts of the results.
const COSTS: &str = "epsilon at equal noise";
const NOISE: &str = "noise at equal epsilon";
const TRAINER: &str = "trainer";
const COUNT: &str = "private count";

/// What is measured where.
struct Runs {
    full: Vec<Run>,
    sampled: Vec<Run>,
    budgets: Vec<Run>,
    trainer: [Run; 3],
    counts: [Run; 3],
}

impl Runs {
    fn new(quick: bool) -> Self {
        let run = |one_in: u64, steps: u64, given: f64| Run { one_in, steps, given };
        let mut multipliers = vec![0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
        let mut epsilons = vec![0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
        let mut samplings = vec![(1, 100), (10, 1_000), (100, 1_000), (100, 10_000)];
        if quick {
            multipliers = vec![0.5, 1.0, 5.0, 50.0];
            epsilons = vec![0.1, 1.0, 8.0];
            samplings = vec![(1, 100), (10, 1_000), (100, 1_000)];
        }
        let budgets = samplings.iter().flat_map(|(q, t)| epsilons.iter().map(move |e| run(*q, *t, *e)));
        Runs {
            // Down to where mu is so large that epsilon is nearly rho.
            full: [0.01, 0.1].iter().chain(&multipliers).map(|z| run(1, 1, *z)).collect(),
            sampled: multipliers.iter().map(|z| run(100, 1_000, *z)).collect(),
            budgets: budgets.collect(),
            trainer: [run(1, 20, 1.0), run(10, 1_000, 0.5), run(100, 200, 8.0)],
            counts: [run(1, 100, 0.1), run(1, 100, 1.0), run(1, 100, 8.0)],
        }
    }
}

/// Measures what is missing, and compares.
///
/// # Errors
/// When results cannot be written, a run fails, and for a planted step size: it would change nothing that is measured.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "gradients are measured in units of the step size")?;
    let runs = Runs::new(setup.quick);
    let seeds: u64 = if setup.quick { 3 } else { 10 };
    let keys = ["part", "one_in", "steps", "given", "seed"];
    let configuration = setup.configuration(&format!("delta {DELTA}, noise from the key"));
    let path = setup.file("results.csv");
    let values = ["add_remove", "replace_one", "other"];
    let mut results = Results::open(&path, &keys, &values, &configuration, setup.earlier)?;
    let cells = runs.full.len() + runs.sampled.len() + runs.budgets.len() + runs.counts.len();
    let progress = Progress::new("adjacency", cells + runs.trainer.len() * seeds as usize);
    let mut measure = |part: &str, run: &Run, seed: u64| -> Fallible<()> {
        progress.say(format!("{part}, rate 1/{}", run.one_in));
        let key = run.key(part, seed);
        if !results.has(&key) {
            let values = values_of(part, run, seed, setup.plant)?;
            results.add(&key, &values.map(cell))?;
        }
        progress.step();
        Ok(())
    };
    runs.full.iter().chain(&runs.sampled).try_for_each(|run| measure(COSTS, run, 0))?;
    runs.budgets.iter().try_for_each(|run| measure(NOISE, run, 0))?;
    runs.counts.iter().try_for_each(|run| measure(COUNT, run, 0))?;
    runs.trainer.iter().try_for_each(|run| (0..seeds).try_for_each(|seed| measure(TRAINER, run, seed)))?;
    setup.draw(&picture::panels(&results, &runs)?)?;
    findings(&results, &runs, setup.plant).map(Verdict)
}

/// What is written of a run: add-remove, replace-one, and a third number.
fn values_of(part: &str, run: &Run, seed: u64, plant: Option<Plant>) -> Fallible<[f64; 3]> {
    Ok(match part {
        // The third: the cheaper direction of add-remove.
        COSTS => {
            let costs = run.costs(plant)?;
            [costs.remove, costs.replace, costs.add]
        }
        NOISE => {
            let (add_remove, replace_one) = run.noise(plant)?;
            [add_remove, replace_one, f64::NAN]
        }
        TRAINER => {
            let error = |adjacency| trained::error(run, adjacency, seed, plant);
            [error(Adjacency::AddRemove)?, error(Adjacency::ReplaceOne)?, f64::NAN]
        }
        // Noise with the count released over that without, its share of rho, and its noise in rows.
        _ => {
            let count = trained::count(run)?;
            [count.noise, count.share, count.error]
        }
    })
}

/// Mean and spread over seeds of a ratio of two columns.
fn ratio(results: &Results, part: &str, run: &Run, columns: (&str, &str)) -> Summary {
    let rows = results.rows().filter(|row| row.text("part") == part && run.is(row));
    Summary::of(&rows.map(|row| row.number(columns.0) / row.number(columns.1)).collect::<Vec<_>>())
}

/// Replace-one over add-remove.
fn price(results: &Results, part: &str, run: &Run) -> Summary {
    ratio(results, part, run, ("replace_one", "add_remove"))
}

fn value(results: &Results, part: &str, run: &Run, column: &str) -> f64 {
    Summary::of(&results.column(column, |row| row.text("part") == part && run.is(row))).mean
}

fn findings(results: &Results, runs: &Runs, plant: Option<Plant>) -> Fallible<Vec<Finding>> {
    let mut findings = equal_noise(results, runs, plant)?;
    findings.extend(equal_epsilon(results, runs));
    findings.extend(trainer(results, runs)?);
    findings.extend(counts(results, runs));
    Ok(findings)
}

fn at(what: impl Into<String>, value: f64, claimed: (f64, f64)) -> Finding {
    Finding::exact(what, value, claimed)
}

/// Costs of the same noise under both relations.
fn equal_noise(results: &Results, runs: &Runs, plant: Option<Plant>) -> Fallible<Vec<Finding>> {
    let mut findings = Vec::new();
    let rhos = runs.full.iter().map(|run| run.rho_ratio(plant)).collect::<Fallible<Vec<f64>>>()?;
    let (least, most) = range(rhos);
    findings.push(at("full batches: least ratio of rho, replace-one over add-remove", least, (4.0 - 1e-9, 4.0)));
    findings.push(at("full batches: largest ratio of rho", most, (4.0, 4.0 + 1e-9)));
    let off = |run: &Run| Ok(price(results, COSTS, run).mean / full_batch_ratio(1.0 / run.given)?);
    let (least, most) = range(runs.full.iter().map(off).collect::<Fallible<Vec<f64>>>()?);
    findings.push(at("full batches: least ratio of epsilons over that of mu and 2 mu", least, (0.999, 1.001)));
    findings.push(at("full batches: largest ratio of epsilons over that of mu and 2 mu", most, (0.999, 1.001)));
    let (least, most) = range(runs.full.iter().map(|run| price(results, COSTS, run).mean));
    findings.push(at("full batches: least ratio of epsilons at equal noise", least, (2.0, 2.4)));
    findings.push(at("full batches: largest ratio of epsilons at equal noise", most, (3.5, 4.0)));
    let (least, most) = range(runs.sampled.iter().map(|run| price(results, COSTS, run).mean));
    findings.push(at("samples of 1/100: least ratio of epsilons at equal noise", least, (1.0, 1.5)));
    findings.push(at("samples of 1/100: largest ratio of epsilons at equal noise", most, (1.8, 2.6)));
    let add = runs.full.iter().chain(&runs.sampled).map(|run| ratio(results, COSTS, run, ("other", "add_remove")).mean);
    findings.push(at("largest epsilon of adding a row over that of removing one", range(add).1, (0.9, 1.0 + 1e-3)));
    Ok(findings)
}

/// Noise of the same cost under both relations.
fn equal_epsilon(results: &Results, runs: &Runs) -> Vec<Finding> {
    let of = |picked: &dyn Fn(&Run, f64) -> bool| {
        let noise = |run: &Run| value(results, NOISE, run, "add_remove");
        let picked = runs.budgets.iter().filter(|run| picked(run, noise(run)));
        range(picked.map(|run| price(results, NOISE, run).mean))
    };
    let full = of(&|run, _| run.one_in == 1);
    let noisy = of(&|run, z| run.one_in > 1 && z >= 4.0);
    let quiet = of(&|run, z| run.one_in > 1 && z <= 0.8);
    let sampled = runs.budgets.iter().filter(|run| run.one_in > 1);
    let off =
        range(sampled.map(|run| price(results, NOISE, run).mean / limit(value(results, NOISE, run, "add_remove"))));
    vec![
        at("full batches: least ratio of noise at equal epsilon", full.0, (1.999, 2.0)),
        at("full batches: largest ratio of noise at equal epsilon", full.1, (2.0, 2.001)),
        at("samples with noise multiplier at least 4: least ratio of noise", noisy.0, (1.9, 2.01)),
        at("samples with noise multiplier at least 4: largest ratio of noise", noisy.1, (1.9, 2.01)),
        at("samples with noise multiplier at most 0.8: least ratio of noise", quiet.0, (1.0, 1.4)),
        at("samples with noise multiplier at most 0.8: largest ratio of noise", quiet.1, (1.0, 1.4)),
        at("samples: least ratio of noise over that of the central limit", off.0, (0.8, 1.05)),
        at("samples: largest ratio of noise over that of the central limit", off.1, (0.95, 1.15)),
    ]
}

/// The same in what the public trainer releases.
fn trainer(results: &Results, runs: &Runs) -> Fallible<Vec<Finding>> {
    let mut findings = Vec::new();
    for run in &runs.trainer {
        let found = price(results, TRAINER, run);
        let (add_remove, replace_one) = run.noise(None)?;
        let name = if run.one_in == 1 { "dp-gd".to_owned() } else { format!("dp-sgd at rate 1/{}", run.one_in) };
        let expected = replace_one / add_remove;
        let what = format!("{name}, epsilon {}: ratio of noises over the expected {expected:.3}", run.given);
        // Four standard errors of the mean in a quick run.
        findings.push(Finding::new(what, found.mean / expected, found.half_width() / expected, (0.92, 1.08)));
    }
    Ok(findings)
}

/// A private number of rows costs the root of what its share leaves, far less than making it public by replace-one.
fn counts(results: &Results, runs: &Runs) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (run, claimed) in runs.counts.iter().zip([(100.0, 1_000.0), (10.0, 100.0), (1.0, 10.0)]) {
        let [noise, share, rows] =
            ["add_remove", "replace_one", "other"].map(|column| value(results, COUNT, run, column));
        let epsilon = run.given;
        findings.push(at(format!("noise for a private count, epsilon {epsilon}"), noise, (1.0, 1.05)));
        let product = noise * (1.0 - share).sqrt();
        let what = format!("the same times sqrt(1 - its share of rho), epsilon {epsilon}");
        findings.push(at(what, product, (0.999, 1.001)));
        findings.push(at(format!("noise of the count in rows, epsilon {epsilon}"), rows, claimed));
    }
    findings
}
