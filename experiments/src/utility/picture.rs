//! The picture of a data set: the first metric against epsilon for some algorithms, between the references.

use super::{BASELINE, CLIPPED, EPSILONS, OPTIMUM, summary};
use crate::results::Results;
use rhograd::plot::{Panel, Scale, Series};

/// As many as can be told apart, of those that share a scale; the tables have all.
const DRAWN: [&str; 8] = ["auto", "additive", "rich", "dp-gd", "dp-sgd", "objective-perturbation", "newton", "adassp"];

pub(super) fn panel(data: &str, metric: &str, results: &Results) -> Panel {
    let mut series = Vec::new();
    let reference = |name: &str, shown: &str| {
        let mean = summary(results, metric, name, f64::INFINITY).map_or(f64::NAN, |s| s.mean);
        Series::theory(shown, EPSILONS.iter().map(|epsilon| (*epsilon, mean)).collect())
    };
    series.push(reference(OPTIMUM, "linear optimum, no privacy"));
    series.push(reference(CLIPPED, "the same on cut rows"));
    for algorithm in DRAWN {
        let at = |epsilon: &f64| summary(results, metric, algorithm, *epsilon).map(|s| (*epsilon, s.mean, s.deviation));
        let points: Vec<_> = EPSILONS.iter().filter_map(at).collect();
        if !points.is_empty() {
            series.push(Series::measured(algorithm, points));
        }
    }
    // In words: as a line it would take most of the axis, and differences the rest.
    let constant = summary(results, metric, BASELINE, f64::INFINITY).map_or(f64::NAN, |s| s.mean);
    // No minus in front of what rounds to zero.
    let constant = (1000.0 * constant).round() / 1000.0 + 0.0;
    Panel::of(format!("{data} (best constant: {constant:.3})"), series)
        .x("epsilon (delta = 1e-5)", Scale::Log)
        .y(format!("test {metric}"), Scale::Linear)
}
