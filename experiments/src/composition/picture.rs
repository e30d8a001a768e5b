//! The picture: epsilon against steps by every method, what each pays over the exact one, and the simulated loss.

use super::methods::Method;
use super::{DELTA, NOISE_MULTIPLIERS, Steps, epsilon, fitted, loss, over_exact, simulated};
use crate::fit;
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
    let mut drawn = Method::ALL.map(|method| series(method, steps, |k| epsilon(results, method, z, k))).to_vec();
    if z == NOISE_MULTIPLIERS[0] {
        // Two that stand for the two exponents.
        let laws =
            [Method::Basic, Method::Rdp].map(|method| fit::exact_line(method.name(), &fitted(results, steps, method)));
        drawn.extend(laws.into_iter().flatten());
    }
    Panel::of(format!("noise multiplier {z}, delta {DELTA:e}"), drawn).x("steps k", Scale::Log).y("epsilon", Scale::Log)
}

/// By how much each method exceeds the exact epsilon, in hundredths of it, as long as that is of interest.
fn price(results: &Results, steps: &Steps) -> Panel {
    let z = NOISE_MULTIPLIERS[0];
    // What is nearer is the exact one but for roundings.
    let excess = |method: Method, k: u64| {
        let ratio = over_exact(results, method, z, k);
        if (1.000_01..2.0).contains(&ratio) { 100.0 * (ratio - 1.0) } else { f64::NAN }
    };
    let shown = |method: Method| series(method, steps, |k| excess(method, k));
    let others = Method::ALL.into_iter().filter(|m| steps.composed.iter().any(|k| excess(*m, *k).is_finite()));
    Panel::of(format!("above the exact epsilon, noise multiplier {z}"), others.map(shown).collect())
        .x("steps k", Scale::Log)
        .y("excess (%)", Scale::Log)
}

fn histogram(results: &Results, steps: &Steps) -> Panel {
    let mut series = Vec::new();
    for k in &steps.simulated {
        // In deviations from the mean, so that runs of all lengths have one law; on logarithms, which show the tails.
        let (rho, deviation) = (loss::rho(*k), (2.0 * loss::rho(*k)).sqrt());
        let at = |bin: usize| (loss::middle(bin, *k) - rho) / deviation;
        let law = |bin: usize| (at(bin), deviation * loss::density(loss::middle(bin, *k), *k));
        series.push(Series::theory("N(rho, 2 rho)", (0..loss::BINS).map(law).collect()));
        let found = |bin: usize| {
            let found = simulated(results, &super::bin_name(bin), *k);
            (at(bin), deviation * found.mean, deviation * found.half_width())
        };
        series.push(Series::measured(format!("rho = {}", loss::rho(*k)), (0..loss::BINS).map(found).collect()));
    }
    Panel::of("simulated privacy loss", series)
        .x("loss of a run, in deviations from rho", Scale::Linear)
        .y("density", Scale::Log)
}
