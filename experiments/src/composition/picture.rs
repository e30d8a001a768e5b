//! The picture: epsilon against steps by every method, what each pays over the exact one, and the simulated loss.

use super::methods::Method;
use super::{DELTA, NOISE_MULTIPLIERS, Steps, epsilon, loss, over_exact, simulated};
use crate::results::Results;
use rhograd::plot::{Panel, Scale, Series};

/// Methods that are drawn as lines; the others are points.
const LINES: [Method; 2] = [Method::Exact, Method::ZcdpClassical];

pub(super) fn panels(results: &Results, steps: &Steps) -> Vec<Panel> {
    let mut panels: Vec<Panel> = NOISE_MULTIPLIERS.iter().map(|z| against_steps(results, steps, *z)).collect();
    panels.push(price(results, steps));
    panels.push(histogram(results, steps));
    panels
}

fn series(method: Method, steps: &Steps, value: impl Fn(u64) -> f64) -> Series {
    let at = steps.composed.iter().map(|k| (*k as f64, value(*k)));
    match LINES.contains(&method) {
        true => Series::theory(method.name(), at.collect()),
        false => Series::measured(method.name(), at.map(|(k, e)| (k, e, 0.0)).collect()),
    }
}

fn against_steps(results: &Results, steps: &Steps, z: f64) -> Panel {
    Panel::of(
        format!("noise multiplier {z}, delta {DELTA:e}"),
        Method::ALL.map(|method| series(method, steps, |k| epsilon(results, method, z, k))).to_vec(),
    )
    .x("steps k", Scale::Log)
    .y("epsilon", Scale::Log)
}

/// What each method says in units of the exact epsilon, as long as that is of interest.
fn price(results: &Results, steps: &Steps) -> Panel {
    let z = NOISE_MULTIPLIERS[0];
    let shown = |method: Method| {
        let value = move |k: u64| Some(over_exact(results, method, z, k)).filter(|ratio| *ratio < 2.0);
        series(method, steps, |k| value(k).unwrap_or(f64::NAN))
    };
    Panel::of(format!("in units of the exact epsilon, noise multiplier {z}"), Method::ALL.map(shown).to_vec())
        .x("steps k", Scale::Log)
        .y("ratio", Scale::Linear)
}

fn histogram(results: &Results, steps: &Steps) -> Panel {
    let mut series = Vec::new();
    for k in &steps.simulated {
        let at = |bin: usize| loss::middle(bin, *k);
        let law = (0..loss::BINS).map(|bin| (at(bin), loss::density(at(bin), *k))).collect();
        series.push(Series::theory("N(rho, 2 rho)", law));
        let found = |bin: usize| {
            let found = simulated(results, &super::bin_name(bin), *k);
            (at(bin), found.mean, found.half_width())
        };
        series.push(Series::measured(format!("rho = {}", loss::rho(*k)), (0..loss::BINS).map(found).collect()));
    }
    Panel::of("simulated privacy loss", series)
        .x("loss of a run of k releases", Scale::Linear)
        .y("density", Scale::Linear)
}
