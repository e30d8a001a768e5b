//! What passes of fixed-point steps have in common: units, and the clip that the budget allows.

use crate::error::{Error, Fallible};
use crate::grid::LOG2_WEIGHT;
use crate::loss::{Curved, LOG2_SLOPE};
use crate::optim::{GaussianRelease, GaussianRule, Problem};
use crate::privacy::MAX_LOG2_SCALE;

/// Clip norm over the typical norm of a row.
const CLIP: f64 = 0.3;

/// Largest shift of a step.
const MAX_SHIFT: f64 = 60.0;

/// The clip norm `L` and the distance `R` from zero to the optimum that step sizes follow from, as given or by rule.
///
/// Measured on Adult and California housing; the distance is of that order there.
pub(in crate::optim) fn clip_and_radius(problem: &Problem<'_>, loss: Curved) -> (f64, f64) {
    let radius = match loss {
        Curved::Logistic => 2.0,
        Curved::Squared => 1.0,
    };
    let clip = CLIP * problem.typical_square().sqrt();
    (problem.settings.clip.unwrap_or(clip), problem.settings.radius.unwrap_or(radius))
}

/// The integers that stand for lengths: of gradients and of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::optim) struct FixedUnits {
    /// A gradient of norm 1.0.
    pub(in crate::optim) gradient: f64,
    /// A step that divides the gradient by `2^shift` has size `step / 2^shift`.
    step: f64,
}

impl FixedUnits {
    pub(in crate::optim) fn of(problem: &Problem<'_>) -> Self {
        let gradient = f64::from(problem.one) * 2f64.powi(LOG2_SLOPE as i32);
        FixedUnits { gradient, step: gradient * 2f64.powi(-(LOG2_WEIGHT as i32)) }
    }

    /// The shift of the step size nearest to `rate`.
    pub(in crate::optim) fn shift(&self, rate: f64) -> u32 {
        (self.step / rate).log2().round().clamp(0.0, MAX_SHIFT) as u32
    }

    /// The step size of a shift.
    pub(in crate::optim) fn rate(&self, shift: u32) -> f64 {
        self.step / 2f64.powi(shift as i32)
    }
}

/// The releases that cost what the budget allows, with a bound on integer gradients as near to `wanted` norms of 1.0 as it allows.
///
/// The size of `rule` is that bound.
///
/// # Errors
/// When the budget is too small or too large for steps of this size.
pub(in crate::optim) fn calibrate(
    algorithm: &str,
    wanted: f64,
    problem: &Problem<'_>,
    rule: &GaussianRule<'_>,
) -> Fallible<(GaussianRelease, u64)> {
    let too_small = || {
        Error::parameter(
            "budget",
            format!("is too small or too large for --algorithm {algorithm}"),
            "use another epsilon, --learning-rate or --clip",
        )
    };
    let wanted = (wanted * FixedUnits::of(problem).gradient).min(2f64.powi(62)) as u64;
    let mu = (2.0 * problem.budget.lower()).sqrt();
    let scale = (rule.at(wanted, 0).event().sensitivity as f64 / mu).log2().round();
    if !(0.0..=f64::from(MAX_LOG2_SCALE)).contains(&scale) {
        return Err(too_small());
    }
    let twice = wanted.saturating_mul(2).saturating_sub(1);
    let (release, bound) = rule.largest(&problem.budget, scale as u32, twice);
    if bound < wanted / 4 {
        return Err(too_small());
    }
    Ok((release, bound))
}
