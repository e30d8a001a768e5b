//! The noise, steps or rate that a budget allows for Poisson-sampled Gaussian training.

use super::epsilon;
use crate::error::{Error, Fallible};
use crate::num::root::bisect;
use crate::privacy::{Adjacency, Delta, Epsilon, Event, Mechanism};

/// Width of the interval in each trial, relative to the target.
const TRIAL: f64 = 2e-5;
/// Relative width at which a search stops.
const WIDTH: f64 = 1e-6;
/// Noise multipliers that are searched.
const NOISE: (f64, f64) = (1e-2, 1e12);

/// A budget to be met.
struct Budget {
    adjacency: Adjacency,
    epsilon: Epsilon,
    delta: Delta,
}

impl Budget {
    fn new(adjacency: Adjacency, epsilon: Epsilon, delta: Delta) -> Fallible<Self> {
        if epsilon.value() > 0.0 && epsilon != Epsilon::INFINITE {
            return Ok(Budget { adjacency, epsilon, delta });
        }
        let problem = format!("is {}, must be finite and above 0", epsilon.value());
        Err(Error::parameter("epsilon", problem, "use a number such as 1"))
    }

    /// Whether the certified epsilon of a run is within the budget.
    fn allows(&self, rate: f64, noise_multiplier: f64, steps: u64) -> Fallible<bool> {
        let event = Event::poisson(Mechanism::Gaussian { noise_multiplier }, rate, steps);
        let target = self.epsilon.value();
        // A first look decides the clear cases.
        let mut upper = f64::INFINITY;
        for tolerance in [f64::INFINITY, 0.01 * target, TRIAL * target] {
            let found = epsilon(&event, self.adjacency, self.delta, tolerance)?;
            upper = found.upper;
            if upper <= target || found.lower > target {
                break;
            }
        }
        Ok(upper <= target)
    }
}

/// The smallest noise multiplier with which a run stays within a budget.
///
/// `min { z : epsilon(z) <= epsilon }` for `steps` Poisson-sampled Gaussian releases at `rate`.
///
/// # Errors
/// When a parameter is outside its range, or when not even a noise multiplier of 1e12 suffices.
///
/// # Privacy
/// Rounded up, by a relative 1e-5 or so: the certified epsilon at the result is within the budget.
///
/// Reference: as [`super::Pld::epsilon`], solved for the noise.
pub fn calibrate_noise_multiplier(
    rate: f64,
    steps: u64,
    adjacency: Adjacency,
    epsilon: Epsilon,
    delta: Delta,
) -> Fallible<f64> {
    let budget = Budget::new(adjacency, epsilon, delta)?;
    // Outwards from 1 to a bracket of a factor of 2.
    let (mut fails, mut holds) = (None, None);
    let mut at = 1.0;
    let (fails, holds) = loop {
        if budget.allows(rate, at, steps)? {
            holds = Some(at);
            at /= 2.0;
        } else {
            fails = Some(at);
            at *= 2.0;
        }
        if let (Some(fails), Some(holds)) = (fails, holds) {
            break (fails, holds);
        }
        if at > NOISE.1 {
            return Err(Error::refused("no noise multiplier up to 1e12 meets the budget", "ask for fewer steps"));
        }
        if at < NOISE.0 {
            return Ok(2.0 * at);
        }
    };
    search(fails, holds, |noise| budget.allows(rate, noise, steps))
}

/// The most steps that a run may take within a budget.
///
/// `max { T : epsilon(T) <= epsilon }`; 0 when not even one step is allowed, `u64::MAX` when all are.
///
/// # Errors
/// When a parameter is outside its range.
///
/// # Privacy
/// Rounded down: the certified epsilon of the result is within the budget.
///
/// Reference: as [`super::Pld::epsilon`], solved for the steps.
pub fn calibrate_steps(
    rate: f64,
    noise_multiplier: f64,
    adjacency: Adjacency,
    epsilon: Epsilon,
    delta: Delta,
) -> Fallible<u64> {
    let budget = Budget::new(adjacency, epsilon, delta)?;
    let allows = |steps: u64| budget.allows(rate, noise_multiplier, steps);
    if !allows(1)? {
        return Ok(0);
    }
    let (mut holds, mut fails) = (1_u64, None);
    while fails.is_none() {
        match holds.checked_mul(8) {
            Some(next) if allows(next)? => holds = next,
            Some(next) => fails = Some(next),
            None if allows(u64::MAX)? => return Ok(u64::MAX),
            None => fails = Some(u64::MAX),
        }
    }
    let mut fails = fails.unwrap_or(u64::MAX);
    while fails - holds > 1 {
        let middle = holds + (fails - holds) / 2;
        if allows(middle)? { holds = middle } else { fails = middle }
    }
    Ok(holds)
}

/// The largest sampling rate with which a run stays within a budget.
///
/// `max { q : epsilon(q) <= epsilon }`; 1 when every rate does, 0 when none above 1e-12 does.
///
/// # Errors
/// When a parameter is outside its range.
///
/// # Privacy
/// Rounded down, by a relative 1e-5 or so: the certified epsilon at the result is within the budget.
///
/// Reference: as [`super::Pld::epsilon`], solved for the rate.
pub fn calibrate_rate(
    noise_multiplier: f64,
    steps: u64,
    adjacency: Adjacency,
    epsilon: Epsilon,
    delta: Delta,
) -> Fallible<f64> {
    let budget = Budget::new(adjacency, epsilon, delta)?;
    let allows = |rate: f64| budget.allows(rate, noise_multiplier, steps);
    if allows(1.0)? {
        return Ok(1.0);
    }
    let (mut fails, mut holds) = (1.0, 0.25);
    while !allows(holds)? {
        (fails, holds) = (holds, holds / 4.0);
        if holds < 1e-12 {
            return Ok(0.0);
        }
    }
    search(fails, holds, allows)
}

/// Bisection for a predicate that may fail; the result is a point at which it held.
fn search(fails: f64, holds: f64, mut allows: impl FnMut(f64) -> Fallible<bool>) -> Fallible<f64> {
    let mut failure = None;
    // Both ends are known already.
    let mut ask = |x: f64| {
        if x == fails || x == holds {
            return Some(x == holds);
        }
        allows(x).map_err(|error| failure = Some(error)).ok()
    };
    let found = bisect(fails, holds, WIDTH, &mut ask);
    match (found, failure) {
        (Some(bracket), _) => Ok(bracket.holds),
        (None, Some(error)) => Err(error),
        (None, None) => Ok(holds),
    }
}
