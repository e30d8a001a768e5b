//! Real data: accuracy or R^2 of every algorithm against epsilon, beside the non-private optimum.

mod cell;
pub(crate) mod data;
mod picture;
mod table;

use rhograd::error::Fallible;
use rhograd::train::Algorithm;

use crate::fit::Summary;
use crate::progress::Progress;
use crate::reference::{self, Reference};
use crate::results::{Earlier, Results, cell};
use crate::rows::{scratch, write};
use crate::setup::{Plant, Setup};
use crate::verdict::{Finding, Verdict};
use cell::Planned;
use data::DataSet;

/// The claim.
pub const CLAIM: &str = "untuned models lose less than 0.02 of accuracy, AUC or R^2 by privacy at epsilon 1";

/// What is measured.
const EPSILONS: [f64; 5] = [0.1, 0.5, 1.0, 2.0, 8.0];

/// The delta of every run.
const DELTA: f64 = 1e-5;

/// Stands for no privacy at all in the algorithm that is judged.
const UNBOUNDED: f64 = 1000.0;

/// Epsilon of the claim.
const CLAIMED: f64 = 1.0;

/// What may be lost there against the same algorithm at [`UNBOUNDED`], and against the non-private optimum. The second
/// is larger because a clipped loss has another minimiser at any epsilon.
const MAX_LOST: [f64; 2] = [0.02, 0.03];

/// Names in the column of algorithms that stand for the references.
const OPTIMUM: &str = "non-private optimum";
const CLIPPED: &str = "non-private, cut";
const BASELINE: &str = "baseline";

/// Runs, prints the tables, and judges the default algorithm, or the one that was asked for.
///
/// # Errors
/// When a file cannot be used.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::HalfNoise, "less noise makes models better, which this claim does not notice")?;
    if setup.earlier == Earlier::Only {
        return draw(setup);
    }
    let mut judged = Vec::new();
    let mut panels = Vec::new();
    let mut tables = String::new();
    let scratch = scratch()?;
    for data in data::sets(&setup.utility.data, scratch.path())? {
        let results = measure(setup, &data)?;
        judged.extend(findings(setup, &data, &results));
        panels.push(picture::panel(&data.name, data.metrics[0], &results));
        tables.push_str(&table::markdown(&data, &results));
    }
    write(&setup.file("tables.md"), &tables)?;
    setup.draw(&panels)?;
    println!("{tables}");
    Ok(Verdict(judged))
}

/// Draws what was measured, on data sets that need not be here.
fn draw(setup: &Setup) -> Fallible<Verdict> {
    let mut panels = Vec::new();
    for name in setup.data_sets() {
        let results = Results::read(&setup.file(&format!("results-{name}.csv")), 3)?;
        let metric = results.values().first().cloned().unwrap_or_default();
        panels.push(picture::panel(&name, &metric, &results));
    }
    setup.draw(&panels)?;
    Ok(Verdict::default())
}

/// Measures whatever is missing of one data set. Seeds go round last, so that a stopped run has whole tables.
fn measure(setup: &Setup, data: &DataSet) -> Fallible<Results> {
    let values: Vec<&str> = data.metrics.iter().copied().chain(["note"]).collect();
    let path = setup.file(&format!("results-{}.csv", data.name));
    let configuration = setup.configuration(&format!("delta {DELTA} {}", data.fingerprint));
    let mut results = Results::open(&path, &["algorithm", "epsilon", "seed"], &values, &configuration, setup.earlier)?;
    references(data, &mut results)?;
    let (cells, refused) = cells(setup, data);
    for (key, why) in refused {
        results.add(&key, &row(data, &[], &why))?;
    }
    let seeds = if setup.quick { 3 } else { 10 };
    let progress = Progress::new(&data.name, cells.len() * seeds as usize);
    for (seed, planned) in (0..seeds).flat_map(|seed| cells.iter().map(move |planned| (seed, planned))) {
        let key = [planned.algorithm().name().to_owned(), planned.epsilon.to_string(), seed.to_string()];
        if seed < planned.seeds() && !results.has(&key) {
            progress.say(format!("{} at epsilon {}", key[0], key[1]));
            let (numbers, note) = match planned.train(data, seed) {
                Ok(numbers) => (numbers, String::new()),
                Err(why) => (Vec::new(), why.to_string()),
            };
            results.add(&key, &row(data, &numbers, &note))?;
        }
        progress.step();
    }
    Ok(results)
}

/// What can be trained, and the keys of what cannot with the reasons.
fn cells(setup: &Setup, data: &DataSet) -> (Vec<Planned>, Vec<([String; 3], String)>) {
    let algorithms = setup.utility.algorithm.map_or_else(|| Algorithm::ALL.to_vec(), |one| vec![one]);
    let (mut cells, mut refused) = (Vec::new(), Vec::new());
    let asked = algorithms.iter().flat_map(|a| EPSILONS.map(|epsilon| (*a, epsilon)));
    for (algorithm, epsilon) in asked.chain([(judged(setup), UNBOUNDED)]) {
        match Planned::new(data, algorithm, epsilon, setup.plant) {
            Ok(planned) => cells.push(planned),
            Err(why) => {
                let key = [algorithm.name().to_owned(), epsilon.to_string(), String::new()];
                refused.push((key, why.to_string()));
            }
        }
    }
    (cells, refused)
}

/// The algorithm that the claim is about: the one that was asked for, or the default.
fn judged(setup: &Setup) -> Algorithm {
    setup.utility.algorithm.unwrap_or(Algorithm::Auto)
}

fn references(data: &DataSet, results: &mut Results) -> Fallible<()> {
    let key = |name: &str| [name.to_owned(), "inf".into(), "0".into()];
    if [OPTIMUM, CLIPPED, BASELINE].into_iter().all(|name| results.has(&key(name))) {
        return Ok(());
    }
    let Reference { optimum, clipped, baseline } = reference::measure(&data.schema, &data.train, &data.test)?;
    let found = [(OPTIMUM, optimum), (CLIPPED, clipped), (BASELINE, baseline)];
    found.into_iter().try_for_each(|(name, numbers)| results.add(&key(name), &row(data, &numbers, "")))
}

/// The measured cells of a line, empty where there is no number.
fn row(data: &DataSet, numbers: &[f64], note: &str) -> Vec<String> {
    let number = |index: usize| numbers.get(index).map_or_else(String::new, |value| cell(*value));
    (0..data.metrics.len()).map(number).chain([note.to_owned()]).collect()
}

/// Mean and spread of a metric over the seeds of a cell; `None` when nothing could be measured.
fn summary(results: &Results, metric: &str, algorithm: &str, epsilon: f64) -> Option<Summary> {
    let values = results.column(metric, |row| row.text("algorithm") == algorithm && row.is("epsilon", epsilon));
    let values: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
    (!values.is_empty()).then(|| Summary::of(&values))
}

fn findings(setup: &Setup, data: &DataSet, results: &Results) -> Vec<Finding> {
    let algorithm = judged(setup).name();
    let at = |metric: &str, name: &str, epsilon: f64| {
        summary(results, metric, name, epsilon).unwrap_or(Summary { count: 0, mean: f64::NAN, deviation: f64::NAN })
    };
    let mut findings = Vec::new();
    for metric in data.metrics {
        let (optimum, unbounded) = (at(metric, OPTIMUM, f64::INFINITY), at(metric, algorithm, UNBOUNDED));
        let private = at(metric, algorithm, CLAIMED);
        let other = format!("the same at epsilon {UNBOUNDED}");
        for ((against, best), most) in [(other.as_str(), unbounded), (OPTIMUM, optimum)].into_iter().zip(MAX_LOST) {
            let what = format!("{}: {metric} of {algorithm} at epsilon {CLAIMED} below {against}", data.name);
            findings.push(Finding::new(what, best.mean - private.mean, private.half_width(), (-1.0, most)));
        }
    }
    findings
}
