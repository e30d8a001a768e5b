//! A Gaussian mechanism whose sensitivity is drawn: `sum_i p_i N(mu_i, 1)` against `N(0, 1)`, all `mu_i` at least 0.
//!
//! The likelihood ratio `sum_i p_i e^(mu_i u - mu_i^2/2)` grows with the output u, so an interval of u is a set of outputs whose ratios lie
//! between those of its ends. Spread over the ends with its mass under both laws kept, it dominates; joined at its mean, it is dominated.
//!
//! Reference: Choquette-Choo, Ganesh, Steinke and Thakurta 2024, "Privacy amplification for matrix mechanisms" (the pair dominates a Gaussian
//! mechanism whose sensitivity depends on a secret choice, with sensitivities at least as large in the place of all others).

use super::points::Points;
use crate::num::logs::LnSum;
use crate::num::normal;
use crate::num::special::ln_normal_tail;

/// Standard deviations that are kept.
const REACH: f64 = 13.6;

/// A component: the logarithm of its probability and its sensitivity in deviations of the noise.
type Component = (f64, f64);

/// The logarithm of the likelihood ratio at an output.
fn ln_ratio(components: &[Component], u: f64) -> f64 {
    let mut sum = LnSum::default();
    components.iter().for_each(|(ln_p, mu)| sum.add(ln_p + normal::loss(u, *mu)));
    sum.value()
}

/// The intervals of the output: ends of losses, masses under Q and mean losses.
struct Cells {
    ends: Vec<f64>,
    cells: Vec<(f64, f64)>,
}

impl Cells {
    fn new(components: &[Component], fine: f64) -> Self {
        let most = components.iter().fold(0.0, |most, it| f64::max(most, it.1));
        let (from, to) = (-REACH, most + REACH);
        let count = ((to - from) * fine * most.max(1.0)).ceil() as usize;
        let at = |i: usize| from + (to - from) * (i as f64 / count as f64);
        let ends: Vec<f64> = (0..=count).map(|i| ln_ratio(components, at(i))).collect();
        let cell = |i: usize| {
            let mut ln_mass = f64::NEG_INFINITY;
            let mut mean = LnSum::default();
            for (ln_p, mu) in components {
                let cell = normal::cell(at(i), at(i + 1), *mu);
                ln_mass = cell.mass.ln();
                mean.add(ln_p + cell.ratio.ln);
            }
            (ln_mass.exp(), mean.value().max(ends[i]).min(ends[i + 1]))
        };
        let cells = (0..count).map(cell).collect();
        Cells { ends, cells }
    }

    /// Bounds on relative errors of masses and of ratios: a ratio is a sum of components, each right to the units of its logarithm.
    fn errors(&self, components: &[Component]) -> (f64, f64) {
        let size = self.ends.iter().fold(1.0, |most, it| f64::max(most, it.abs()));
        (1e-12, 16.0 * f64::EPSILON * (size + components.len() as f64))
    }
}

/// The law that dominates: each interval spread over its ends with its masses kept.
pub(super) fn above(components: &[Component], fine: f64) -> Points {
    let cut = Cells::new(components, fine);
    let mut points: Vec<(f64, f64)> = cut.ends.iter().map(|it| (0.0, *it)).collect();
    for (i, (mass, mean)) in cut.cells.iter().enumerate() {
        let (low, high) = (cut.ends[i], cut.ends[i + 1]);
        let up = if high > low { ((mean - low).exp_m1() / (high - low).exp_m1()).clamp(0.0, 1.0) } else { 0.0 };
        points[i].0 += mass * (1.0 - up);
        points[i + 1].0 += mass * up;
    }
    let beyond = 2.0 * ln_normal_tail(REACH).exp() * (1.0 + 1e-9);
    Points { points, lost: (beyond, beyond), errors: cut.errors(components) }
}

/// The law that is dominated: each interval at its mean.
pub(super) fn below(components: &[Component], fine: f64) -> Points {
    let cut = Cells::new(components, fine);
    let errors = cut.errors(components);
    Points { points: cut.cells, lost: (0.0, 0.0), errors }
}
