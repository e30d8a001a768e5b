//! The picture: the excess against each parameter, below the theorem's bound.

use super::excess;
use super::points::{Instance, Point, Sweep};
use crate::results::Results;
use rhograd::plot::{Panel, Scale, Series};

pub(super) fn panels(points: &[Point], results: &Results) -> Vec<Panel> {
    Sweep::EXPONENTS.map(|(sweep, exponent)| panel(points, results, sweep, exponent)).to_vec()
}

fn panel(points: &[Point], results: &Results, sweep: Sweep, exponent: f64) -> Panel {
    let swept = |instance: Instance| -> Vec<&Point> {
        let mut swept: Vec<&Point> =
            points.iter().filter(|p| p.instance == instance && p.sweeps.contains(&sweep)).collect();
        swept.sort_by(|a, b| sweep.at(a).total_cmp(&sweep.at(b)));
        swept
    };
    let marginals = swept(Instance::Marginals);
    let target = |p: &&Point| p.theory().ok().map(|theory| (sweep.at(p), theory.target));
    let bound = |p: &&Point| p.theory().ok().map(|theory| (sweep.at(p), theory.bound));
    let mut series = vec![
        Series::theory("8 L R sqrt(d ln(1/delta)) / (eps n)", marginals.iter().filter_map(target).collect()),
        Series::theory("bound for these steps", marginals.iter().filter_map(bound).collect()),
    ];
    for instance in [Instance::Marginals, Instance::Logistic] {
        let measured = |p: &&Point| {
            let found = excess(results, p);
            (sweep.at(p), found.mean, found.half_width())
        };
        series.push(Series::measured(instance.name(), swept(instance).iter().map(measured).collect()));
    }
    let unit = if sweep == Sweep::Rows { " (rows)" } else { "" };
    Panel::of(format!("exponent {exponent} in {}", sweep.name()), series)
        .x(format!("{}{unit}", sweep.name()), Scale::Log)
        .y("excess empirical risk", Scale::Log)
}
