//! The picture: the risk against each parameter on its side of the crossover, and the crossover against its prediction.

use super::points::{self, Method, Point, Sweep};
use super::{crossings, fitted, summary};
use crate::fit;
use crate::results::Results;
use rhograd::plot::{Panel, Scale, Series};

/// The constant with which the rate of the lower bound is drawn: the papers' own is not known here.
const LOWER_CONSTANT: f64 = 0.1;
const LOWER: &str = "rate of the lower bounds × 0.1";

pub(super) fn panels(results: &Results, quick: bool) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Sweep::ALL.into_iter().map(|sweep| panel(results, sweep, quick)).collect();
    panels.push(through(results, quick));
    panels.push(predicted(results, quick));
    panels
}

fn panel(results: &Results, sweep: Sweep, quick: bool) -> Panel {
    let mut series = Vec::new();
    for method in Method::ALL.into_iter().filter(|method| method.sweeps().contains(&sweep)) {
        let points = sweep.points(method, quick);
        if method == Method::Descent {
            let rate = |p: &Point| (sweep.at(p), p.scale());
            series.push(Series::theory("sqrt(1/n + 16 d ln(1/delta)/(eps n)^2)", points.iter().map(rate).collect()));
            let bound = |p: &Point| (sweep.at(p), summary(results, p, "bound").mean);
            series.push(Series::theory("bound for dp-gd", points.iter().map(bound).collect()));
            let least = |p: &Point| (sweep.at(p), LOWER_CONSTANT * p.lower_rate());
            series.push(Series::lower(LOWER, points.iter().map(least).collect()));
        }
        let measured = points.iter().map(|p| {
            let found = summary(results, p, "excess");
            (sweep.at(p), found.mean, found.half_width())
        });
        series.push(Series::measured(method.name(), measured.collect()));
        series.extend(fit::line(method.name(), &fitted(results, method, sweep, quick)));
    }
    let unit = if matches!(sweep, Sweep::SampledRows | Sweep::PrivateRows) { " (rows)" } else { "" };
    Panel::of(format!("theory: slope {} in {}", sweep.exponent(), sweep.name()), series)
        .x(format!("{}{unit}", sweep.name().split(' ').next().unwrap_or("n")), Scale::Log)
        .y("excess population risk / (L R)", Scale::Log)
}

/// All sweeps through the crossover on one another: risk times the root of n against rows over their prediction.
fn through(results: &Results, quick: bool) -> Panel {
    let mut series = Vec::new();
    for method in [Method::Descent, Method::Phased] {
        let mut points: Vec<Point> = points::crossings(method, quick).into_iter().flatten().collect();
        points.sort_by(|a, b| (a.n as f64 / a.predicted()).total_cmp(&(b.n as f64 / b.predicted())));
        let at = |p: &Point| p.n as f64 / p.predicted();
        let root = |p: &Point| (p.n as f64).sqrt();
        if method == Method::Descent {
            let rate = points.iter().map(|p| (at(p), p.scale() * root(p)));
            series.push(Series::theory("sqrt(1/n + 16 d ln(1/delta)/(eps n)^2)", rate.collect()));
        }
        let measured = points.iter().map(|p| {
            let found = summary(results, p, "excess");
            (at(p), found.mean * root(p), found.half_width() * root(p))
        });
        series.push(Series::measured(method.name(), measured.collect()));
    }
    Panel::of("through the crossover", series)
        .x("n eps^2 / (d ln(1/delta))", Scale::Log)
        .y("sqrt(n) excess risk / (L R)", Scale::Log)
}

fn predicted(results: &Results, quick: bool) -> Panel {
    let mut series = Vec::new();
    for method in [Method::Descent, Method::Phased] {
        let mut found = crossings(results, method, quick);
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        if method == Method::Descent {
            let line = found.iter().map(|(predicted, _)| (*predicted, 16.0 * predicted));
            series.push(Series::theory("16 d ln(1/delta) / eps^2", line.collect()));
        }
        let measured = found.iter().map(|&(predicted, measured)| (predicted, measured, 0.0));
        series.push(Series::measured(method.name(), measured.collect()));
        series.extend(fit::line(method.name(), &found));
    }
    Panel::of("the crossover", series).x("d ln(1/delta) / eps^2", Scale::Log).y("n at equal terms (rows)", Scale::Log)
}
