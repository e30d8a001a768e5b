//! Persons with several rows: the joint clip of their averaged gradients beside what else protects persons.

mod data;
mod descent;
mod estimands;
mod rivals;

use std::fmt::Write as _;

use rhograd::error::Fallible;
use rhograd::plot::{Panel, Scale, Series};

use crate::fit::Summary;
use crate::progress::Progress;
use crate::results::{Results, cell};
use crate::rows::{scratch, write};
use crate::setup::{Plant, Setup};
use crate::verdict::{Finding, Verdict};
use data::DataSet;
use rivals::Method;

/// The claim.
pub const CLAIM: &str = "the default for persons is as good as any simple way to protect them, at every epsilon";

/// What is measured.
const EPSILONS: [f64; 5] = [0.1, 0.5, 1.0, 2.0, 8.0];

/// The delta of every run.
const DELTA: f64 = 1e-5;

/// By how much of AUC the default may be worse.
const MAX_LOST: f64 = 0.01;

/// Runs, prints the tables, and judges the default against the others.
///
/// # Errors
/// When a file cannot be used.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::HalfNoise, "less noise makes models better, which this claim does not notice")?;
    let scratch = scratch()?;
    let (mut judged, mut panels, mut tables) = (Vec::new(), Vec::new(), String::new());
    for data in data::sets(setup, scratch.path())? {
        let results = measure(setup, &data)?;
        judged.extend(findings(&data, &results));
        panels.push(panel(&data, &results));
        tables.push_str(&markdown(&data, &results));
    }
    if setup.utility.data.is_empty() {
        for rows in data::Rows::ALL {
            let (table, found) = estimands::run(setup, &data::correlated(rows, scratch.path())?)?;
            tables.push_str(&table);
            judged.extend(found);
        }
    }
    write(&setup.file("tables.md"), &tables)?;
    setup.draw(&panels)?;
    println!("{tables}");
    Ok(Verdict(judged))
}

/// Measures whatever is missing of one data set. Seeds go round last, so that a stopped run has whole tables.
fn measure(setup: &Setup, data: &DataSet) -> Fallible<Results> {
    let configuration = setup.configuration(&format!("delta {DELTA} {}", data.fingerprint));
    let path = setup.file(&format!("results-{}.csv", data.name));
    let mut results = Results::open(&path, &["method", "epsilon", "seed"], &["auc"], &configuration, setup.fresh)?;
    let seeds = if setup.quick { 3 } else { 10 };
    let methods: Vec<Method> = Method::ALL.into_iter().filter(|method| method.applies_to(data)).collect();
    let progress = Progress::new(&data.name, seeds as usize * methods.len());
    for seed in 0..seeds {
        for &method in &methods {
            progress.say(method.name());
            let missing = EPSILONS.map(|epsilon| [method.name().to_owned(), epsilon.to_string(), seed.to_string()]);
            let missing: Vec<_> = EPSILONS.into_iter().zip(missing).filter(|(_, key)| !results.has(key)).collect();
            if !missing.is_empty() {
                let ready = method.ready(data, seed, setup.plant)?;
                for (epsilon, key) in missing {
                    results.add(&key, &[cell(ready.auc(epsilon)?)])?;
                }
            }
            progress.step();
        }
    }
    Ok(results)
}

/// AUC over the seeds; without a number where a method does not apply.
fn summary(results: &Results, method: Method, epsilon: f64) -> Option<Summary> {
    let values = results.column("auc", |row| row.text("method") == method.name() && row.is("epsilon", epsilon));
    (!values.is_empty()).then(|| Summary::of(&values))
}

/// By how much a method is better than another, with half the width of the interval: seeds are not shared, as noise is not.
fn better(results: &Results, method: Method, other: Method, epsilon: f64) -> Option<(f64, f64)> {
    let (one, two) = (summary(results, method, epsilon)?, summary(results, other, epsilon)?);
    Some((one.mean - two.mean, 2.0 * one.error().hypot(two.error())))
}

fn findings(data: &DataSet, results: &Results) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (method, other) in Method::CLAIMS {
        for epsilon in EPSILONS {
            if let Some((difference, width)) = better(results, method, other, epsilon) {
                let what =
                    format!("{}: AUC of {} above {} at epsilon {epsilon}", data.name, method.name(), other.name());
                findings.push(Finding::new(what, difference, width, (-MAX_LOST, 1.0)));
            }
        }
    }
    findings
}

fn markdown(data: &DataSet, results: &Results) -> String {
    let mut text = format!("**{}**, test AUC, {}\n\n", data.name, data.about);
    let _ = writeln!(text, "| method | {} |", EPSILONS.map(|epsilon| epsilon.to_string()).join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(EPSILONS.len()));
    for method in Method::ALL {
        let shown = |epsilon| summary(results, method, epsilon).map(|s| format!("{:.4} ± {:.4}", s.mean, s.error()));
        if let Some(cells) = EPSILONS.map(shown).into_iter().collect::<Option<Vec<_>>>() {
            let _ = writeln!(text, "| {} | {} |", method.name(), cells.join(" | "));
        }
    }
    text.push('\n');
    text
}

fn panel(data: &DataSet, results: &Results) -> Panel {
    let of = |method: Method| {
        let at = |epsilon: &f64| summary(results, method, *epsilon).map(|s| (*epsilon, s.mean, s.deviation));
        let points: Vec<_> = EPSILONS.iter().filter_map(at).collect();
        (!points.is_empty()).then(|| Series::measured(method.name(), points))
    };
    Panel::of(data.name.clone(), Method::ALL.into_iter().filter(|method| method.is_drawn()).filter_map(of).collect())
        .x(format!("epsilon (delta = {DELTA:e})"), Scale::Log)
        .y("test AUC", Scale::Linear)
}
