//! The tables of a data set in Markdown: algorithms against epsilon, with the references beside them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rhograd::train::Algorithm;

use super::data::DataSet;
use super::{BASELINE, CLIPPED, EPSILONS, OPTIMUM, summary};
use crate::results::Results;

/// One table for each metric, and why cells are empty.
pub(super) fn markdown(data: &DataSet, results: &Results) -> String {
    let mut text = String::new();
    for metric in data.metrics {
        let reference = |name| summary(results, metric, name, f64::INFINITY).map_or(f64::NAN, |s| s.mean);
        let _ = writeln!(
            text,
            "**{}**, test {metric}: non-private optimum {:.4}, on cut rows {:.4}, {} {:.4}\n",
            data.name,
            reference(OPTIMUM),
            reference(CLIPPED),
            if *metric == "r2" { "mean" } else { "majority" },
            reference(BASELINE),
        );
        let _ = writeln!(text, "| algorithm | {} |", EPSILONS.map(|epsilon| epsilon.to_string()).join(" | "));
        let _ = writeln!(text, "|---|{}", "---|".repeat(EPSILONS.len()));
        for algorithm in measured(results) {
            let cells = EPSILONS.map(|epsilon| shown(results, metric, algorithm, epsilon));
            let _ = writeln!(text, "| `{algorithm}` | {} |", cells.join(" | "));
        }
        text.push('\n');
    }
    let reasons = reasons(results);
    for (reason, cells) in &reasons {
        let _ = writeln!(text, "- {}: {reason}", cells.join("; "));
    }
    text.push_str(if reasons.is_empty() { "" } else { "\n" });
    text
}

/// Mean and standard deviation, and the number of seeds where it is not the usual one.
fn shown(results: &Results, metric: &str, algorithm: &str, epsilon: f64) -> String {
    let most = results.rows().map(|row| row.number("seed")).fold(0.0, f64::max) + 1.0;
    match summary(results, metric, algorithm, epsilon) {
        None => "-".to_owned(),
        Some(s) if (s.count as f64) < most => format!("{:.3} ± {:.3} ({} seeds)", s.mean, s.deviation, s.count),
        Some(s) => format!("{:.3} ± {:.3}", s.mean, s.deviation),
    }
}

fn measured(results: &Results) -> Vec<&'static str> {
    let there = |name: &&str| results.rows().any(|row| row.text("algorithm") == *name);
    Algorithm::ALL.into_iter().map(Algorithm::name).filter(there).collect()
}

/// Every note with the cells that have it.
fn reasons(results: &Results) -> BTreeMap<String, Vec<String>> {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in results.rows().filter(|row| !row.text("note").is_empty()) {
        let seed = row.text("seed");
        let seed = if seed.is_empty() { String::new() } else { format!(", seed {seed}") };
        let cell = format!("`{}` at {}{seed}", row.text("algorithm"), row.text("epsilon"));
        reasons.entry(row.text("note").to_owned()).or_default().push(cell);
    }
    reasons
}
