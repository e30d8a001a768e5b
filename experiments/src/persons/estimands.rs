//! Whose mean a model estimates, where persons with many rows are other people: averages of a person's gradients beside their sums.

use std::fmt::Write as _;

use rhograd::data::{CsvFile, Estimand, Schema, Unit};
use rhograd::error::Fallible;
use rhograd::ledger::Ledger;
use rhograd::privacy::{Delta, Epsilon};
use rhograd::train::{Budget, Metrics, TrainConfig, evaluate, load, train};

use super::data::DataSet;
use super::{DELTA, EPSILONS};
use crate::fit::Summary;
use crate::progress::Progress;
use crate::results::{Results, cell};
use crate::setup::{Setup, noise};
use crate::verdict::Finding;

const BOTH: [Estimand; 2] = [Estimand::Persons, Estimand::Rows];

/// From here on each is the better one at what it estimates; below, noise decides.
const DECIDED: f64 = 0.5;

/// Tables, and the findings about them.
pub(super) fn run(setup: &Setup, data: &DataSet) -> Fallible<(String, Vec<Finding>)> {
    let results = measure(setup, data)?;
    let loss = |estimand: Estimand, of: &str, epsilon: f64| {
        Summary::of(&results.column(of, |row| row.text("estimand") == estimand.name() && row.is("epsilon", epsilon)))
    };
    let mut text = format!(
        "**{}**, {}: mean log loss over test rows, and over test persons of their mean\n\n",
        data.name, data.about
    );
    let _ = writeln!(text, "| estimand, loss over | {} |", EPSILONS.map(|epsilon| epsilon.to_string()).join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(EPSILONS.len()));
    for of in BOTH {
        for estimand in BOTH {
            let cells = EPSILONS.map(|epsilon| {
                let found = loss(estimand, of.name(), epsilon);
                format!("{:.4} ± {:.4}", found.mean, found.error())
            });
            let _ = writeln!(text, "| `{estimand}`, over {of} | {} |", cells.join(" | "));
        }
    }
    text.push('\n');
    let mut findings = Vec::new();
    for (own, other) in [(Estimand::Rows, Estimand::Persons), (Estimand::Persons, Estimand::Rows)] {
        for epsilon in EPSILONS.into_iter().filter(|&epsilon| epsilon >= DECIDED) {
            let (one, two) = (loss(own, own.name(), epsilon), loss(other, own.name(), epsilon));
            let what = format!("{}: loss over {own} of {other} above {own} at epsilon {epsilon}", data.name);
            let width = 2.0 * one.error().hypot(two.error());
            findings.push(Finding::new(what, two.mean - one.mean, width, (0.0, 1.0)));
        }
    }
    Ok((text, findings))
}

fn measure(setup: &Setup, data: &DataSet) -> Fallible<Results> {
    let configuration = setup.configuration(&format!("delta {DELTA} {}", data.fingerprint));
    let path = setup.file(&format!("results-{}.csv", data.name));
    let keys = ["estimand", "epsilon", "seed"];
    let mut results = Results::open(&path, &keys, &BOTH.map(Estimand::name), &configuration, setup.earlier)?;
    let seeds = if setup.quick { 3 } else { 10 };
    let progress = Progress::new(&data.name, seeds as usize * BOTH.len());
    for seed in 0..seeds {
        let rows = data.with_at_most(usize::MAX, seed)?;
        for estimand in BOTH {
            progress.say(estimand.name());
            for epsilon in EPSILONS {
                let key = [estimand.name().to_owned(), epsilon.to_string(), seed.to_string()];
                if results.has(&key) {
                    continue;
                }
                let budget = Budget::Epsilon(Epsilon::new(epsilon)?, Some(Delta::new(DELTA)?));
                let config = TrainConfig { accept_large_delta: true, ..TrainConfig::new(budget) };
                let unit = data.schema.unit.clone().map(|unit| Unit { estimand: Some(estimand), ..unit });
                let schema = Schema { unit, ..data.schema.clone() };
                let loaded = load(&config, schema, &CsvFile::open(&rows)?, &|_, _| Ok(()))?;
                let (trained, _) = train(loaded, &mut Ledger::in_memory()?, noise(seed), &mut |_| Ok(()))?;
                let of = |test| -> Fallible<String> {
                    Ok(match evaluate(&trained.model, &CsvFile::open(test)?)? {
                        Metrics::Label { log_loss, .. } => cell(log_loss.unwrap_or(f64::NAN)),
                        Metrics::Classes { .. } | Metrics::Number { .. } => cell(f64::NAN),
                    })
                };
                results.add(&key, &[of(&data.test_persons)?, of(&data.test)?])?;
            }
            progress.step();
        }
    }
    Ok(results)
}
