//! Composition by privacy-loss distributions, with certified lower and upper bounds.
//!
//! For a dominating pair (P, Q) and the loss `L = ln dP/dQ`, `delta(eps) = E_P[(1 - e^(eps - L))_+]`, and
//! losses of composed mechanisms add. Three steps, each with a bound on its error:
//!
//! 1. Every pair is cut into cells. Spreading a cell over its two ends gives a pair that dominates the
//!    true one; merging it gives one that the true pair dominates (`partition`).
//! 2. The sums of independent losses are convolved through their characteristic functions on a vertical
//!    line through a saddle point, so that a delta of 1e-200 is as accurate as one of 0.1 and a billion
//!    steps cost as much as ten (`contour`).
//! 3. Truncated tails, neighbouring periods, cut frequencies and rounding are bounded and charged.
//!
//! Both directions of an add-remove pair are composed separately; the larger result counts. A purely
//! Gaussian composition uses its closed form, and few kinds of pure mechanisms an exact sum.
//!
//! ```
//! use rhograd::accounting::pld;
//! use rhograd::privacy::{Adjacency, Delta, DpEvent, Mechanism};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let event = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 1.0 }, 0.01, 1000);
//! let epsilon = pld::epsilon(&event, Adjacency::AddRemove, Delta::new(1e-5)?, 1e-3)?;
//! assert!(epsilon.lower <= 1.828237 && 1.828237 <= epsilon.upper && epsilon.width() <= 1e-3);
//! # Ok(())
//! # }
//! ```
//!
//! ```
//! use rhograd::accounting::pld::{ByDirection, Interval, OneStep, Passes, Pld, poisson_gaussian_one_step};
//! use rhograd::privacy::{Adjacency, Delta, DpEvent, Epsilon, Mechanism};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let step = DpEvent::PoissonSampled { mechanism: Mechanism::Gaussian { noise_multiplier: 2.0 }, rate: 0.01 };
//! let pld = Pld::new(&step, Adjacency::AddRemove)?.self_compose(100);
//! // The true epsilon lies between two bounds; what is claimed is the upper one.
//! let Interval { lower, upper } = pld.epsilon(Delta::new(1e-6)?, 1e-3)?;
//! assert!(lower <= upper && upper < 1.0);
//! let ByDirection { remove, add } = pld.epsilon_by_direction(Delta::new(1e-6)?, 1e-3)?;
//! assert!(remove.upper.max(add.upper) <= upper + 1e-3);
//! // Passes of which each row draws a step ask for less noise than samples of the same steps.
//! let passes = Passes { steps: 100, steps_of_pass: 10 };
//! assert!(passes.noise_multiplier(Adjacency::AddRemove, Epsilon::new(1.0)?, Delta::new(1e-6)?)? < 4.4);
//! // A row that comes cannot be told with an epsilon above -ln(1 - rate) from one that is not there.
//! let OneStep { remove, add } = poisson_gaussian_one_step(0.01, 1.0, Epsilon::new(1.0)?)?;
//! assert!(remove > 0.0 && add < remove);
//! # Ok(())
//! # }
//! ```

mod apart;
mod bracket;
mod calibrate;
mod chernoff;
mod contour;
mod fast;
mod finite;
mod interval;
mod large;
mod law;
mod pair;
mod partition;
mod plan;
mod sides;
mod solve;
mod table;
mod tails;

pub use calibrate::{Passes, calibrate_noise_multiplier, calibrate_rate, calibrate_steps, run_epsilon, run_ln_delta};
pub use interval::Interval;

use crate::error::{Error, Fallible};
use crate::privacy::{Adjacency, Delta, DpEvent, Epsilon, Mechanism};
use law::{Law, Reader};
use table::Table;

/// One answer for each direction of add-remove.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByDirection {
    /// The data set with the row against the one without it.
    pub remove: Interval,
    /// The data set without the row against the one with it.
    pub add: Interval,
}

impl ByDirection {
    /// Bounds that hold for both directions.
    pub fn both(self) -> Interval {
        self.remove.larger(self.add)
    }
}

/// A composition of dominating pairs under one relation, ready for questions.
///
/// It is exact: nothing is discretised before a question with a tolerance is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Pld {
    adjacency: Adjacency,
    remove: Law,
    add: Law,
    two_sided: bool,
}

impl Pld {
    /// Reads an event: the dominating pair of every mechanism, sampling included.
    ///
    /// # Errors
    /// When a parameter is outside its range, or when a part of the event has no known dominating pair;
    /// the whole event is checked first, and the error names the part.
    ///
    /// # Privacy
    /// Under add-remove a Poisson-sampled mechanism has the pairs `((1-q)Q+qP, Q)` and `(Q, (1-q)Q+qP)`;
    /// pure and approximate guarantees are amplified to `ln(1+q(e^eps-1))` and `q delta` instead. Under
    /// replace-one only the Gaussian may be sampled.
    ///
    /// Reference: Zhu, Dong and Wang 2022, Theorem 11; Balle, Barthe and Gaboardi 2018, Theorem 8;
    /// Kairouz, Oh and Viswanath 2015, Theorem 3.3 (randomised response dominates).
    pub fn new(event: &DpEvent, adjacency: Adjacency) -> Fallible<Self> {
        let mut reader = Reader::new(adjacency);
        reader.visit(event, 1.0, "event")?;
        Ok(Pld { adjacency, remove: reader.remove, add: reader.add, two_sided: reader.two_sided })
    }

    /// `count` times a pair of laws that fails outright with a probability, and otherwise has these outcomes, `ln` mass under P and loss.
    ///
    /// The exchanged pair must have the same losses, under add-remove and replace-one alike. Masses and losses are right to four units of
    /// rounding, masses relatively or to the same share of their logarithm; `ln_keep` bounds the logarithm of the probability that a
    /// pair does not fail.
    pub(in crate::accounting) fn symmetric(
        outcomes: impl IntoIterator<Item = (f64, f64)>,
        ln_keep: Interval,
        count: u64,
    ) -> Self {
        let law = Law::of_table(Table::new(outcomes), ln_keep, count as f64);
        Pld { adjacency: Adjacency::AddRemove, remove: law.clone(), add: law, two_sided: false }
    }

    /// Adds another composition to this one.
    ///
    /// Losses of independent pairs add; adaptive choice of mechanisms with fixed parameters is covered.
    ///
    /// # Errors
    /// When the two hold under different relations.
    ///
    /// Reference: Zhu, Dong and Wang 2022, Theorem 10.
    pub fn compose(mut self, other: &Pld) -> Fallible<Self> {
        if self.adjacency != other.adjacency {
            let problem = format!("is {} in one part and {} in the other", self.adjacency, other.adjacency);
            return Err(Error::parameter("adjacency", problem, "account for both under the same relation"));
        }
        self.remove.compose(&other.remove);
        self.add.compose(&other.add);
        self.two_sided |= other.two_sided;
        Ok(self)
    }

    /// The composition with itself, `count` times in all.
    ///
    /// Reference: as [`Pld::compose`].
    pub fn self_compose(mut self, count: u64) -> Self {
        self.remove.repeat(count as f64);
        self.add.repeat(count as f64);
        self
    }

    /// Bounds on the epsilon at delta, at most `tolerance`, or 1e-8 of epsilon, apart where that is numerically reachable.
    ///
    /// The root of `delta(epsilon) = delta`, or 0 when `delta(0) <= delta`; infinite when mechanisms fail
    /// outright with probability at least delta.
    ///
    /// # Errors
    /// When the tolerance is negative or NaN, or bounds contradict each other, which a fault in this program alone can bring about.
    ///
    /// # Privacy
    /// `upper` is rounded up, `lower` down. The widest answer is `[0, inf]`, never a wrong number.
    ///
    /// Reference: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022 (the dominating cells); Koskela,
    /// Jalko and Honkela 2020 (Fourier accountant).
    pub fn epsilon(&self, delta: Delta, tolerance: f64) -> Fallible<Interval> {
        Asked::new(self, delta).within(tolerated(tolerance)?)
    }

    /// Bounds on the epsilon at delta, asked for more narrowly until they are at most `width`, and 1e-4 of epsilon, apart, or 1e-7.
    ///
    /// They are wider where the arithmetic reaches no further, which is seldom, and where pairs are known from two sides only.
    ///
    /// # Errors
    /// When the width is negative or NaN, or bounds contradict each other, which a fault in this program alone can bring about.
    ///
    /// # Privacy
    /// `upper` is rounded up, `lower` down.
    ///
    /// # Reference
    /// Those of [`Pld::epsilon`].
    pub fn narrow_epsilon(&self, delta: Delta, width: f64) -> Fallible<Interval> {
        let mut search = Asked::new(self, delta);
        let (mut found, mut asked) = (search.within(tolerated(width)?)?, width);
        for _ in 0..NARROWER {
            let wanted = width.min(solve::NARROW * found.upper).max(solve::NARROW_ENOUGH);
            let before = found.width();
            if before <= wanted || !found.upper.is_finite() {
                break;
            }
            asked = (wanted / 2.0).min(asked / 4.0);
            let finer = search.within(asked)?;
            found = consistent(Interval { lower: found.lower.max(finer.lower), upper: found.upper.min(finer.upper) })?;
            // Where asking gains little, asking again may take seconds and gain nothing.
            if found.width() > 0.5 * before {
                break;
            }
        }
        Ok(found)
    }

    /// The upper bound of [`Pld::epsilon`], or one that is hardly above it.
    ///
    /// Where laws of ratios are computed, it costs a fraction of an interval, and is some ten thousandths of itself above it.
    ///
    /// # Errors
    /// When the tolerance is negative or NaN.
    ///
    /// # Privacy
    /// Rounded up.
    pub fn upper_epsilon(&self, delta: Delta, tolerance: f64) -> Fallible<f64> {
        if self.remove.brackets.is_empty() && self.add.brackets.is_empty() {
            return Ok(self.epsilon(delta, tolerance)?.upper);
        }
        Ok(solve::upper_epsilon([&self.remove, self.other_direction()], delta, tolerated(tolerance)?))
    }

    /// Bounds on the epsilon at delta, for the remove and the add direction each on its own.
    ///
    /// # Errors
    /// Those of [`Pld::epsilon`].
    pub fn epsilon_by_direction(&self, delta: Delta, tolerance: f64) -> Fallible<ByDirection> {
        let tolerance = tolerated(tolerance)?;
        let one = |law: &Law| consistent(solve::epsilon(law, delta, tolerance));
        Ok(ByDirection { remove: one(&self.remove)?, add: one(self.other_direction())? })
    }

    /// Bounds on the logarithm of the delta at epsilon, for the remove and the add direction each on its own.
    ///
    /// # Errors
    /// When the tolerance is negative or NaN.
    pub fn ln_delta_by_direction(&self, epsilon: Epsilon, tolerance: f64) -> Fallible<ByDirection> {
        let tolerance = tolerated(tolerance)?;
        let one =
            |law: &Law| solve::ln_delta(law, epsilon.value(), tolerance, solve::NONE).checked(f64::NEG_INFINITY, 0.0);
        Ok(ByDirection { remove: one(&self.remove), add: one(self.other_direction()) })
    }

    /// The law of the add direction; for symmetric mechanisms that of the remove direction.
    fn other_direction(&self) -> &Law {
        if self.two_sided { &self.add } else { &self.remove }
    }

    /// Bounds on `ln delta` at epsilon; `tolerance` is relative to delta.
    ///
    /// `delta(eps) = E_P[(1 - e^(eps - L))_+]`, plus the probability of outright failure.
    ///
    /// # Errors
    /// When the tolerance is negative or NaN.
    ///
    /// # Privacy
    /// `upper` is rounded up and `-inf` only where delta is truly 0; `lower` is rounded down.
    ///
    /// Reference: as [`Pld::epsilon`].
    pub fn ln_delta(&self, epsilon: Epsilon, tolerance: f64) -> Fallible<Interval> {
        let tolerance = tolerated(tolerance)?;
        let one = |law: &Law, enough: f64| {
            solve::ln_delta(law, epsilon.value(), tolerance, enough).checked(f64::NEG_INFINITY, 0.0)
        };
        let first = one(&self.remove, solve::NONE);
        // Where a row that comes costs less than one that goes, which is often, it need not be known by how much.
        Ok(if self.two_sided { first.larger(one(&self.add, first.lower)) } else { first })
    }
}

/// The epsilon of both directions at a delta, which may be asked for more and more closely.
struct Asked<'a> {
    remove: solve::Asked<'a>,
    /// The other direction and a quick bound on it, where it is another one.
    add: Option<(solve::Asked<'a>, f64)>,
}

impl<'a> Asked<'a> {
    fn new(pld: &'a Pld, delta: Delta) -> Self {
        let add = pld.two_sided.then(|| (solve::Asked::new(&pld.add, delta), solve::quick_epsilon(&pld.add, delta)));
        Asked { remove: solve::Asked::new(&pld.remove, delta), add }
    }

    /// Bounds on the larger epsilon.
    fn within(&mut self, tolerance: f64) -> Fallible<Interval> {
        let first = consistent(self.remove.within(tolerance))?;
        match &mut self.add {
            Some((_, quick)) if *quick <= first.lower => Ok(first),
            Some((add, _)) => Ok(first.larger(consistent(add.within(tolerance))?)),
            None => Ok(first),
        }
    }
}

/// Bounds on an epsilon that do not contradict each other by more than some rounding; where they do by less, the larger one is the upper one.
fn consistent(found: Interval) -> Fallible<Interval> {
    let Interval { lower, upper } = found;
    if lower > upper * (1.0 + 1e-9) + 1e-12 {
        return Err(Error::numerical("epsilon", "has a lower bound above an upper one"));
    }
    let found = if lower > upper { Interval { lower: upper, upper: lower } } else { found };
    Ok(found.checked(0.0, f64::INFINITY))
}

/// How often bounds are asked for more narrowly.
const NARROWER: u32 = 4;

/// Passes a tolerance.
fn tolerated(tolerance: f64) -> Fallible<f64> {
    if tolerance >= 0.0 {
        return Ok(tolerance);
    }
    Err(Error::parameter("tolerance", format!("is {tolerance}, must be at least 0"), "use a number such as 1e-3"))
}

/// Bounds on the epsilon of an event at delta: [`Pld::new`] and [`Pld::epsilon`].
///
/// # Errors
/// As those two.
///
/// # Privacy
/// `upper` is rounded up, `lower` down.
///
/// Reference: as [`Pld::epsilon`].
pub fn epsilon(event: &DpEvent, adjacency: Adjacency, delta: Delta, tolerance: f64) -> Fallible<Interval> {
    Pld::new(event, adjacency)?.epsilon(delta, tolerance)
}

/// Narrow bounds on the epsilon of an event at delta: [`Pld::new`] and [`Pld::narrow_epsilon`].
///
/// # Errors
/// As those two.
///
/// # Privacy
/// `upper` is rounded up, `lower` down.
///
/// Reference: as [`Pld::epsilon`].
pub fn narrow_epsilon(event: &DpEvent, adjacency: Adjacency, delta: Delta, width: f64) -> Fallible<Interval> {
    Pld::new(event, adjacency)?.narrow_epsilon(delta, width)
}

/// Bounds on `ln delta` of an event at epsilon: [`Pld::new`] and [`Pld::ln_delta`].
///
/// # Errors
/// As those two.
///
/// # Privacy
/// `upper` is rounded up, `lower` down and possibly `-inf`.
///
/// Reference: as [`Pld::epsilon`].
pub fn ln_delta(event: &DpEvent, adjacency: Adjacency, epsilon: Epsilon, tolerance: f64) -> Fallible<Interval> {
    Pld::new(event, adjacency)?.ln_delta(epsilon, tolerance)
}

/// The deltas of one step in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneStep {
    /// When the row is removed: P is the mixture.
    pub remove: f64,
    /// When the row is added: P is the noise alone. It is 0 from `epsilon = -ln(1-q)` on.
    pub add: f64,
}

/// The deltas of one Poisson-sampled Gaussian release under add-remove.
///
/// With `x* = z^2 ln((e^eps-1+q)/q) + 1/2` the remove direction is `P[x > x*] - e^eps Q[x > x*]` for
/// `P = (1-q) N(0,z^2) + q N(1,z^2)` and `Q = N(0,z^2)`; the add direction exchanges P and Q.
///
/// # Errors
/// When the rate is not a probability or the noise multiplier not finite and positive.
///
/// # Privacy
/// Upper bounds, within a relative 1e-11 or so of the truth.
///
/// Reference: Zhu, Dong and Wang 2022, Theorem 11, for the pair.
pub fn poisson_gaussian_one_step(rate: f64, noise_multiplier: f64, epsilon: Epsilon) -> Fallible<OneStep> {
    let event = DpEvent::PoissonSampled { mechanism: Mechanism::Gaussian { noise_multiplier }, rate };
    let pld = Pld::new(&event, Adjacency::AddRemove)?;
    Ok(OneStep { remove: solve::single_delta(&pld.remove, epsilon)?, add: solve::single_delta(&pld.add, epsilon)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_contradict_each_other_are_an_error() {
        assert!(consistent(Interval { lower: 1.0 + 1e-8, upper: 1.0 }).is_err());
        let found = consistent(Interval { lower: 1.0 + 1e-12, upper: 1.0 }).unwrap();
        assert_eq!(found, Interval { lower: 1.0, upper: 1.0 + 1e-12 });
        assert_eq!(consistent(Interval { lower: f64::NAN, upper: f64::NAN }).unwrap().upper, f64::INFINITY);
    }
}
