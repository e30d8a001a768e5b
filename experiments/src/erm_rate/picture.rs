//! The picture: the excess against each parameter, below the theorem's bound; and between both bounds on the hard instance.

use super::points::{Instance, Point, Sweep};
use super::{excess, fitted, lower};
use crate::fit;
use crate::results::Results;
use rhograd::plot::{Panel, Scale, Series};

/// The theorem's bound, with its constant.
const TARGET: &str = "8 L R sqrt(d ln(1/delta)) / (eps n)";

pub(super) fn panels(points: &[Point], results: &Results) -> Vec<Panel> {
    let mut panels = Sweep::EXPONENTS.map(|(sweep, exponent)| panel(points, results, sweep, exponent)).to_vec();
    panels.push(hard(points, results));
    panels
}

/// The points of a sweep, in order.
fn swept(points: &[Point], instance: Instance, sweep: Sweep) -> Vec<&Point> {
    let mut swept: Vec<&Point> =
        points.iter().filter(|p| p.instance == instance && p.sweeps.contains(&sweep)).collect();
    swept.sort_by(|a, b| sweep.at(a).total_cmp(&sweep.at(b)));
    swept
}

fn bounds(swept: &[&Point], sweep: Sweep) -> [Series; 2] {
    let target = |p: &&Point| p.theory().ok().map(|theory| (sweep.at(p), theory.target));
    let bound = |p: &&Point| p.theory().ok().map(|theory| (sweep.at(p), theory.bound));
    [
        Series::theory(TARGET, swept.iter().filter_map(target).collect()),
        Series::theory("bound for these steps", swept.iter().filter_map(bound).collect()),
    ]
}

fn measured(results: &Results, instance: Instance, swept: &[&Point], sweep: Sweep) -> Series {
    let found = |p: &&Point| {
        let found = excess(results, p);
        (sweep.at(p), found.mean, found.half_width())
    };
    Series::measured(instance.name(), swept.iter().map(found).collect())
}

fn panel(points: &[Point], results: &Results, sweep: Sweep, exponent: f64) -> Panel {
    let mut series = bounds(&swept(points, Instance::Marginals, sweep), sweep).to_vec();
    for instance in [Instance::Marginals, Instance::Logistic] {
        series.push(measured(results, instance, &swept(points, instance, sweep), sweep));
        series.extend(fit::line(instance.name(), &fitted(points, results, instance, sweep)));
    }
    let unit = if sweep == Sweep::Rows { " (rows)" } else { "" };
    Panel::of(format!("theory: slope {exponent} in {}", sweep.name()), series)
        .x(format!("{}{unit}", sweep.name()), Scale::Log)
        .y("excess empirical risk", Scale::Log)
}

/// The instance of the lower bound.
fn hard(points: &[Point], results: &Results) -> Panel {
    let (sweep, instance) = (Sweep::Rows, Instance::Hard);
    let swept = swept(points, instance, sweep);
    let mut series = bounds(&swept, sweep).to_vec();
    let bound = |p: &&Point| p.theory().ok().map(|theory| (sweep.at(p), lower::bound(p, theory.rho).0));
    series.push(Series::lower("lower bound, any ρ-zCDP", swept.iter().filter_map(bound).collect()));
    series.push(measured(results, instance, &swept, sweep));
    series.extend(fit::line(instance.name(), &fitted(points, results, instance, sweep)));
    let about = swept.first().map_or_else(String::new, |p| format!(": d = {}, epsilon = {}", p.d, p.epsilon));
    Panel::of(format!("instance of the lower bound{about}"), series)
        .x("n (rows)", Scale::Log)
        .y("excess empirical risk", Scale::Log)
}
