//! The noise, steps or rate that a budget allows for Gaussian training on samples or in passes, and what a run costs.

use super::Pld;
use crate::error::{Error, Fallible};
use crate::num::decimals::Decimals;
use crate::num::root::last_whole_by;
use crate::privacy::{Adjacency, Delta, DpEvent, Epsilon, Mechanism};

/// Widths of the intervals that decide the clear cases, relative to the target.
const CLEAR: [f64; 3] = [f64::INFINITY, 1e-2, 1e-4];
/// Width of an interval, relative to the target, whose middle says where to search on.
const TOLD: f64 = 0.1;
/// Width of a reported epsilon or delta, relative to itself.
const REPORTED: f64 = 3e-6;
/// Noise multipliers and rates are searched among the decimals of five digits.
const DECIMALS: Decimals = Decimals::new(5);
/// First step of that search, a factor of about 2.
const STEP: i128 = DECIMALS.per_decade() / 3;
/// Noise multipliers that are searched.
const NOISE: (f64, f64) = (1e-2, 1e12);
/// Noise multipliers of passes that are searched: for others no laws are computed.
const NOISE_OF_PASSES: (f64, f64) = (0.05, 1e8);
/// The least sampling rate that is searched.
const RATE: f64 = 1e-12;

/// Poisson-sampled Gaussian releases.
fn run(rate: f64, noise_multiplier: f64, steps: u64) -> DpEvent {
    DpEvent::poisson(Mechanism::Gaussian { noise_multiplier }, rate, steps)
}

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

    /// By how much the certified epsilon of a run is above the budget, about, as a logarithm: at most 0 exactly where it is within.
    fn excess(&self, rate: f64, noise_multiplier: f64, steps: u64) -> Fallible<f64> {
        let pld = Pld::new(&run(rate, noise_multiplier, steps), self.adjacency)?;
        let target = self.epsilon.value();
        for width in CLEAR {
            let found = pld.epsilon(self.delta, width * target)?;
            // The upper bound that is reported lies above the truth, too, but by less than this interval is wide.
            let (above, within) = (found.lower > target, found.upper + found.width() <= target);
            if above || within {
                let told = found.width() <= TOLD * target;
                let middle = if told { found.lower + found.width() / 2.0 } else { f64::INFINITY };
                return Ok(signed(above, middle / target));
            }
        }
        let reported = reported(&pld, self.delta)?;
        Ok(signed(reported > target, reported / target))
    }
}

/// The logarithm of an epsilon over its budget, with the sign of what was decided; a ratio that nobody knows is infinite.
fn signed(above: bool, ratio: f64) -> f64 {
    let distance = ratio.ln().abs();
    if above || ratio.is_nan() { distance.max(f64::MIN_POSITIVE) } else { -distance }
}

/// The epsilon that is reported of a run, an upper bound.
fn reported(pld: &Pld, delta: Delta) -> Fallible<f64> {
    let mut upper = pld.epsilon(delta, f64::INFINITY)?.upper;
    // The first bounds may be far off, and widths are relative to the answer. The narrowest interval asked for
    // is not always the narrowest obtained.
    for width in [0.1, 1e-2, 1e-4, REPORTED] {
        if upper == 0.0 {
            break;
        }
        upper = upper.min(pld.epsilon(delta, width * upper)?.upper);
    }
    Ok(upper)
}

/// Passes of Gaussian steps, of each of which every row joins one: each row draws its own, evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passes {
    /// Steps in all; a pass that is begun counts.
    pub steps: u64,
    /// Steps of one pass.
    pub steps_of_pass: u64,
}

impl Passes {
    /// What was done, with noise of this many times the sensitivity of a step under add-remove.
    pub fn event(&self, noise_multiplier: f64) -> DpEvent {
        let pass = DpEvent::allocated(Mechanism::Gaussian { noise_multiplier }, self.steps_of_pass);
        DpEvent::Repeated { event: Box::new(pass), count: self.steps.div_ceil(self.steps_of_pass.max(1)) }
    }

    /// The smallest noise multiplier of five digits with which the passes stay within a budget.
    ///
    /// `min { z : epsilon(z) <= epsilon }`.
    ///
    /// # Errors
    /// When a parameter is outside its range, rows may be replaced, for which no bound is known, or no noise multiplier from 0.05 to 1e8 is the
    /// answer.
    ///
    /// # Privacy
    /// Rounded up: [`Passes::epsilon`] of the result is within the budget.
    ///
    /// Reference: that of [`crate::accounting::ratio::LikelihoodRatio`], solved for the noise.
    pub fn noise_multiplier(&self, adjacency: Adjacency, epsilon: Epsilon, delta: Delta) -> Fallible<f64> {
        let budget = Budget::new(adjacency, epsilon, delta)?;
        let target = budget.epsilon.value();
        let excess = |at: i128| {
            let bound = self.bound(DECIMALS.at(at), adjacency, delta, (target, 1.05 * target));
            bound.map(|epsilon| signed(epsilon > target, epsilon / target))
        };
        let (least, most) = (DECIMALS.up(NOISE_OF_PASSES.0), DECIMALS.down(NOISE_OF_PASSES.1));
        match last_whole_by(least, most, 0, STEP, excess)? {
            Some(found) if found > least => Ok(DECIMALS.at(found)),
            _ => Err(Error::refused(
                format!(
                    "no noise multiplier from {} to {:e} is the least that meets the budget",
                    NOISE_OF_PASSES.0, NOISE_OF_PASSES.1
                ),
                "ask for another epsilon or delta, or for fewer steps",
            )),
        }
    }

    /// The epsilon of the passes at delta, some ten thousandths of itself above the truth.
    ///
    /// # Errors
    /// When a parameter is outside its range, or rows may be replaced.
    ///
    /// # Privacy
    /// Rounded up.
    ///
    /// Reference: that of [`crate::accounting::ratio::LikelihoodRatio`].
    pub fn epsilon(&self, noise_multiplier: f64, adjacency: Adjacency, delta: Delta) -> Fallible<f64> {
        self.bound(noise_multiplier, adjacency, delta, (0.0, f64::MAX))
    }

    /// The epsilon of the passes at delta, or a coarse bound that is not between two values, where a fine one would decide nothing.
    fn bound(
        &self,
        noise_multiplier: f64,
        adjacency: Adjacency,
        delta: Delta,
        (least, most): (f64, f64),
    ) -> Fallible<f64> {
        let pld = Pld::new(&self.event(noise_multiplier), adjacency)?;
        let coarse = pld.upper_epsilon(delta, f64::INFINITY)?;
        if coarse <= least || coarse > most {
            return Ok(coarse);
        }
        Ok(pld.upper_epsilon(delta, 1e-4 * coarse)?.min(coarse))
    }

    /// The logarithm of the delta of the passes at epsilon.
    ///
    /// # Errors
    /// When a parameter is outside its range, or rows may be replaced.
    ///
    /// # Privacy
    /// Rounded up, at most 0.
    ///
    /// Reference: that of [`crate::accounting::ratio::LikelihoodRatio`].
    pub fn ln_delta(&self, noise_multiplier: f64, adjacency: Adjacency, epsilon: Epsilon) -> Fallible<f64> {
        Ok(Pld::new(&self.event(noise_multiplier), adjacency)?.ln_delta(epsilon, 1e-2)?.upper)
    }
}

/// The smallest noise multiplier of five digits with which a run stays within a budget.
///
/// `min { z : epsilon(z) <= epsilon }` for `steps` Poisson-sampled Gaussian releases at `rate`.
///
/// # Errors
/// When a parameter is outside its range, when not even a noise multiplier of 1e12 suffices, or when 0.01 does and
/// there is nothing to calibrate.
///
/// # Privacy
/// Rounded up: [`run_epsilon`] of the result is within the budget, that of the decimal before is not.
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
    let excess = |at: i128| budget.excess(rate, DECIMALS.at(at), steps);
    let (least, most) = (DECIMALS.up(NOISE.0), DECIMALS.down(NOISE.1));
    match last_whole_by(least, most, 0, STEP, excess)? {
        Some(found) if found > least => Ok(DECIMALS.at(found)),
        Some(_) => Err(Error::refused(
            format!("every noise multiplier from {} up meets the budget", NOISE.0),
            "ask for a smaller epsilon or delta",
        )),
        None => Err(Error::refused(
            format!("no noise multiplier up to {:e} meets the budget", NOISE.1),
            "ask for fewer steps, or for a larger epsilon or delta",
        )),
    }
}

/// The most steps that a run may take within a budget.
///
/// `max { T : epsilon(T) <= epsilon }`; 0 when not even one step is allowed, `u64::MAX` when all are.
///
/// # Errors
/// When a parameter is outside its range.
///
/// # Privacy
/// Rounded down: [`run_epsilon`] of the result is within the budget, that of one step more is not.
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
    // All candidates lie in 1..=u64::MAX.
    let steps = |at: i128| u64::try_from(at).unwrap_or(u64::MAX);
    let found = last_whole_by(u64::MAX.into(), 1, 1, 1, |at| budget.excess(rate, noise_multiplier, steps(at)))?;
    Ok(found.map_or(0, steps))
}

/// The largest sampling rate of five digits with which a run stays within a budget.
///
/// `max { q : epsilon(q) <= epsilon }`; 1 when every rate does, 0 when none from 1e-12 on does.
///
/// # Errors
/// When a parameter is outside its range.
///
/// # Privacy
/// Rounded down: [`run_epsilon`] of the result is within the budget, that of the decimal after is not.
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
    let excess = |at: i128| budget.excess(DECIMALS.at(at), noise_multiplier, steps);
    Ok(last_whole_by(0, DECIMALS.up(RATE), 0, STEP, excess)?.map_or(0.0, |found| DECIMALS.at(found)))
}

/// The epsilon of a Poisson-sampled Gaussian run at delta.
///
/// [`super::epsilon`] of `steps` releases, to about five digits where the bounds allow.
///
/// # Errors
/// When a parameter is outside its range.
///
/// # Privacy
/// Rounded up; infinite when there is no finite bound.
///
/// Reference: as [`super::Pld::epsilon`].
pub fn run_epsilon(rate: f64, noise_multiplier: f64, steps: u64, adjacency: Adjacency, delta: Delta) -> Fallible<f64> {
    reported(&Pld::new(&run(rate, noise_multiplier, steps), adjacency)?, delta)
}

/// The logarithm of the delta of a Poisson-sampled Gaussian run at epsilon.
///
/// [`super::ln_delta`] of `steps` releases, to about five digits of delta where the bounds allow.
///
/// # Errors
/// When a parameter is outside its range.
///
/// # Privacy
/// Rounded up, at most 0; `-inf` only where delta is truly 0.
///
/// Reference: as [`super::Pld::epsilon`].
pub fn run_ln_delta(
    rate: f64,
    noise_multiplier: f64,
    steps: u64,
    adjacency: Adjacency,
    epsilon: Epsilon,
) -> Fallible<f64> {
    let pld = Pld::new(&run(rate, noise_multiplier, steps), adjacency)?;
    Ok(pld.ln_delta(epsilon, REPORTED)?.upper)
}
