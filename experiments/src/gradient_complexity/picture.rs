//! The picture: risk against gradients, gradients to the target against rows, and what is known for any convex loss.

use rhograd::error::Fallible;

use super::methods::Method;
use super::{TARGET, curve, fitted, methods, planner, reached};
use crate::fit;
use crate::results::Results;
use rhograd::plot::{Panel, Scale, Series};

/// Rows of the first panel.
const ROWS: u64 = 1024;

/// Coordinates and epsilon of the last panel, and its rows.
const KNOWN: (f64, f64) = (1e3, 1.0);
const KNOWN_ROWS: [f64; 6] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8];

/// The constant with which the rate of the lower bound is drawn, Menart and Nikolov 2026: theirs is not known here.
const LOWER_CONSTANT: f64 = 0.05;
const LOWER: &str = "rate of a lower bound × 0.05";

pub(super) fn panels(results: &Results, quick: bool) -> Fallible<Vec<Panel>> {
    Ok(vec![risk(results)?, gradients(results, quick)?, known()?])
}

fn risk(results: &Results) -> Fallible<Panel> {
    let mut series = Vec::new();
    let (mut least, mut most) = (f64::INFINITY, 0f64);
    for method in Method::ALL {
        let points = curve(results, method, ROWS)?;
        points.iter().for_each(|p| (least, most) = (least.min(p.0), most.max(p.0)));
        series.push(Series::measured(method.name(), points));
    }
    series.push(Series::theory("target", vec![(least, TARGET), (most, TARGET)]));
    Ok(Panel::of(format!("risk against gradients, n = {ROWS}"), series)
        .x("gradients of single rows", Scale::Log)
        .y("excess risk / optimal rate", Scale::Log))
}

fn gradients(results: &Results, quick: bool) -> Fallible<Panel> {
    let mut series = Vec::new();
    for (method, name) in [(Method::FullBatch, "n^2"), (Method::Sampled, "n sqrt(n)"), (Method::Localization, "n")] {
        let power = |n: &u64| (*n as f64, (*n as f64).powf(method.exponent()));
        series.push(Series::theory(name, method.rows(quick).iter().map(power).collect()));
    }
    // For a risk of a L D no private algorithm sees fewer than sqrt(d)/a + min(1/a^2, n) gradients, up to logarithms and a constant.
    let least = |n: &u64| {
        let (a, d, rows) = (TARGET * methods::scale(*n)? / 2.0, methods::coordinates(*n), *n as f64);
        Ok((rows, LOWER_CONSTANT * (d.sqrt() / a + (1.0 / (a * a)).min(rows))))
    };
    let least = Method::FullBatch.rows(quick).iter().chain(Method::Localization.rows(quick)).map(least);
    let mut least = least.collect::<Fallible<Vec<_>>>()?;
    least.sort_by(|one, other| one.0.total_cmp(&other.0));
    least.dedup();
    series.push(Series::lower(LOWER, least));
    for method in Method::ALL {
        let points = reached(results, method, quick)?;
        series
            .push(Series::measured(method.name(), points.iter().map(|&(n, gradients)| (n, gradients, 0.0)).collect()));
        series.extend(fit::line(method.name(), &fitted(results, method, quick)?));
    }
    Ok(Panel::of(format!("gradients to {TARGET} × the optimal rate"), series)
        .x("n (rows)", Scale::Log)
        .y("gradients of single rows", Scale::Log))
}

fn known() -> Fallible<Panel> {
    let (d, epsilon) = KNOWN;
    let first = planner::costs(KNOWN_ROWS[0], d, epsilon, false)?;
    let mut series = Vec::new();
    for method in first.iter().map(|cost| cost.method) {
        let at = |n: &f64| {
            let costs = planner::costs(*n, d, epsilon, false)?;
            let found = costs.iter().find(|cost| cost.method == method);
            Ok((*n, found.map_or(f64::NAN, |cost| cost.gradients / n), 0.0))
        };
        let points = KNOWN_ROWS.iter().map(at).collect::<Fallible<Vec<_>>>()?;
        series.push(Series::measured(method, points));
    }
    Ok(Panel::of(format!("any convex loss, no constants, d = {d}, epsilon = {epsilon}"), series)
        .x("n (rows)", Scale::Log)
        .y("gradients per row", Scale::Log))
}
