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
use crate::results::{Earlier, Results, Row, cell};
use crate::rows::{scratch, write};
use crate::setup::{Plant, Setup};
use crate::verdict::{Finding, Verdict};
use data::DataSet;
use rivals::Method;

/// The claim.
pub const CLAIM: &str = "the default for persons is as good as any simple way to protect them, at every epsilon";

/// What is measured.
const EPSILONS: [f64; 5] = [0.1, 0.5, 1.0, 2.0, 8.0];

/// How often everything is measured.
const SEEDS: u64 = 10;

/// The delta of every run.
const DELTA: f64 = 1e-5;

/// By how much of AUC the default may be worse, and the two models of one row a person may differ.
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
    if setup.earlier != Earlier::Only {
        println!("{tables}");
    }
    Ok(Verdict(judged))
}

/// Measures whatever is missing of one data set. Seeds go round last, so that a stopped run has whole tables.
fn measure(setup: &Setup, data: &DataSet) -> Fallible<Results> {
    let configuration = setup.configuration(&format!("delta {DELTA} {}", data.fingerprint));
    let path = setup.file(&format!("results-{}.csv", data.name));
    let mut results = Results::open(&path, &["method", "epsilon", "seed"], &["auc"], &configuration, setup.earlier)?;
    let seeds = if setup.quick { 3 } else { SEEDS };
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

/// By how much a method is better than another, with half the width of the interval: noise of another size or for other rows is not shared.
fn better(results: &Results, method: Method, other: Method, epsilon: f64) -> Option<(f64, f64)> {
    let (one, two) = (summary(results, method, epsilon)?, summary(results, other, epsilon)?);
    Some((one.mean - two.mean, 2.0 * one.error().hypot(two.error())))
}

/// By how much AUC differs, seed by seed: with each of them both methods have the same rows and the same noise.
fn apart(results: &Results, [method, other]: [Method; 2], epsilon: f64) -> Summary {
    let of = |method: Method, seed: u64| {
        let own = |row: &Row<'_>| row.text("method") == method.name() && row.is("epsilon", epsilon);
        results.column("auc", |row| own(row) && row.text("seed") == seed.to_string()).first().copied()
    };
    let differences: Vec<f64> = (0..SEEDS).filter_map(|seed| Some(of(method, seed)? - of(other, seed)?)).collect();
    Summary::of(&differences)
}

fn findings(data: &DataSet, results: &Results) -> Vec<Finding> {
    let mut findings = Vec::new();
    for epsilon in EPSILONS {
        // No worse and no better: the whole interval must lie within the margin.
        let ([method, other], apart) = (Method::SAME.map(Method::name), apart(results, Method::SAME, epsilon));
        let what = format!("{}: AUC of {method} less that of {other} at epsilon {epsilon}, seed by seed", data.name);
        findings.push(Finding::new(what, apart.mean, apart.half_width(), (-MAX_LOST, MAX_LOST)));
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Outcome;

    /// Seeds differ by far more than both methods do: only seed by seed it is seen whether they are the same.
    #[test]
    fn models_of_one_row_a_person_are_compared_seed_by_seed() {
        let folder = tempfile::tempdir().unwrap();
        for (apart_by, outcome) in
            [(0.0, Outcome::Held), (0.004, Outcome::Held), (0.02, Outcome::Failed), (-0.02, Outcome::Failed)]
        {
            let path = folder.path().join(format!("{apart_by}.csv"));
            let mut results =
                Results::open(&path, &["method", "epsilon", "seed"], &["auc"], "trial", Earlier::Fresh).unwrap();
            // One method in another order.
            for (method, more, turn) in [(Method::OneRow, 0.0, 1), (Method::OneRowPerson, apart_by, 7)] {
                for seed in (0..SEEDS).map(|seed| seed * turn % SEEDS) {
                    let auc = 0.7
                        + 0.02 * (seed as f64).sin()
                        + 0.001 * (3.0 * seed as f64).cos() * f64::from(turn as u8 / 7)
                        + more;
                    results.add(&[method.name().into(), "0.1".into(), seed.to_string()], &[cell(auc)]).unwrap();
                }
            }
            let found = apart(&results, Method::SAME, 0.1);
            let finding = Finding::new("apart", found.mean, found.half_width(), (-MAX_LOST, MAX_LOST));
            assert_eq!((found.count, finding.outcome()), (10, outcome), "{apart_by}: {found:?}");
            // Without what was not measured nothing is claimed.
            let missing = apart(&results, Method::SAME, 8.0);
            assert!(missing.mean.is_nan());
        }
    }
}
