//! Budgets for mechanisms whose cost is chosen in view of earlier outputs.
//!
//! Composition theorems add costs that are fixed in advance. When the next cost may depend on what was
//! released, a *filter* with a cap fixed in advance gives the same guarantee; a running total that is
//! merely read off does not.

use std::cmp::Ordering;

use crate::accounting::directed::{add_up, finite, ln_delta_down};
use crate::accounting::notion::{ApproximateDp, RdpCurve};
use crate::accounting::rdp::ApproximateRenyi;
use crate::accounting::rdp::mechanisms::pure_rho;
use crate::accounting::zcdp;
use crate::error::{Error, Fallible};
use crate::num::Dyadic;
use crate::num::round::down;
use crate::privacy::{Delta, Epsilon, Rho};

/// A cap on rho fixed in advance, for adaptively chosen costs.
///
/// All mechanisms that were admitted satisfy the cap as zCDP together, exactly as if the costs had been
/// fixed. Sums are exact rationals.
///
/// Reference: Feldman and Zrnic 2021, the Renyi filter; Whitehouse, Ramdas, Rogers and Wu 2023, the filter
/// for approximate zCDP.
///
/// ```
/// use rhograd::{accounting::compose::ZcdpFilter, privacy::Rho};
/// # fn main() -> rhograd::error::Fallible<()> {
/// let mut filter = ZcdpFilter::new(Rho::from_f64(1.0)?);
/// filter.admit(&Rho::from_f64(0.75)?)?;
/// assert!(filter.admit(&Rho::from_f64(0.5)?).is_err());
/// filter.admit(&Rho::from_f64(0.25)?)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ZcdpFilter {
    cap: Rho,
    spent: Rho,
}

impl ZcdpFilter {
    /// A filter with this cap and nothing spent.
    pub fn new(cap: Rho) -> Self {
        ZcdpFilter { cap, spent: Rho::zero() }
    }

    /// The cap, which is the guarantee.
    pub fn cap(&self) -> &Rho {
        &self.cap
    }

    /// What was admitted so far; information, not a guarantee.
    pub fn spent(&self) -> &Rho {
        &self.spent
    }

    /// What may still be admitted.
    pub fn remaining(&self) -> Rho {
        self.cap.minus(&self.spent)
    }

    /// Admits a mechanism with this cost, which the caller may then run once.
    ///
    /// # Errors
    /// When the total would exceed the cap; the mechanism must not run, and nothing is spent.
    pub fn admit(&mut self, cost: &Rho) -> Fallible<()> {
        let total = self.spent.plus(cost);
        if total > self.cap {
            return Err(over("rho", self.remaining().lower(), cost.upper()));
        }
        self.spent = total;
        Ok(())
    }
}

/// A cap on the Renyi divergence at one order fixed in advance, for adaptively chosen mechanisms.
///
/// All mechanisms that were admitted satisfy `(alpha, cap)`-Renyi DP together, exactly as if they had been fixed. Order and cap are fixed beforehand, curves
/// follow from nothing but what was released, and all of them are about one adjacency. Of several filters, the last one that has room proves nothing, for which
/// one that is follows from outputs; a mechanism that all of them admit keeps the bounds of all.
///
/// # Reference
/// Feldman and Zrnic 2021, the Renyi filter.
///
/// ```
/// use rhograd::accounting::compose::RenyiFilter;
/// use rhograd::accounting::rdp;
/// use rhograd::privacy::{Adjacency, DpEvent, Mechanism};
///
/// let step = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 1.0 }, 0.01, 1);
/// let curve = rdp::curve(&step, Adjacency::AddRemove)?;
/// let mut filter = RenyiFilter::new(8.0, 0.1)?;
/// let steps = (0..1000).take_while(|_| filter.admit(&curve).is_ok()).count();
/// assert!((20..200).contains(&steps));
/// assert_eq!(filter.guarantee().renyi(), 0.1);
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RenyiFilter {
    cap: ApproximateRenyi,
    spent: f64,
}

impl RenyiFilter {
    /// A filter with this cap at this order, and nothing spent.
    ///
    /// # Errors
    /// When the order is not a finite number above 1, or the cap is negative, infinite or NaN.
    pub fn new(order: f64, cap: f64) -> Fallible<Self> {
        Ok(RenyiFilter { cap: ApproximateRenyi::new(order, finite("cap", cap)?, f64::NEG_INFINITY)?, spent: 0.0 })
    }

    /// Admits a mechanism with this curve, which the caller may then run once.
    ///
    /// # Errors
    /// When the total at the order would exceed the cap, or the curve has no number there; the mechanism must not run, and nothing is spent.
    pub fn admit(&mut self, curve: &RdpCurve) -> Fallible<()> {
        let (cost, cap) = (curve.at(self.cap.alpha())?, self.cap.renyi());
        let total = add_up(self.spent, cost);
        // A total that is no number is not admitted.
        if !matches!(total.partial_cmp(&cap), Some(Ordering::Less | Ordering::Equal)) {
            return Err(over("divergence", down(cap - self.spent, 1).max(0.0), cost));
        }
        self.spent = total;
        Ok(())
    }

    /// What all mechanisms that are ever admitted guarantee together.
    pub fn guarantee(&self) -> ApproximateRenyi {
        self.cap
    }
}

/// A cap on (epsilon, delta) fixed in advance, for adaptively chosen (epsilon_j, delta_j).
///
/// Admits while `sum delta_j <= delta - delta'` and `sum epsilon_j tanh(epsilon_j / 2)`, the rho of what the mechanisms are but for a failure of probability
/// `delta_j`, is at most the largest that is worth epsilon at `delta'` by the best order. Sums are exact rationals.
///
/// # Reference
/// Whitehouse, Ramdas, Rogers and Wu 2023, the filter for approximate zCDP; Bun and Steinke 2016, section 8 and Proposition 3.3, with the least rho of a pure
/// mechanism; Canonne, Kamath and Steinke 2020, Proposition 12, the conversion.
#[derive(Clone, Debug)]
pub struct ApproximateFilter {
    rho: ZcdpFilter,
    delta_cap: Dyadic,
    delta_spent: Dyadic,
}

impl ApproximateFilter {
    /// A filter for a total (epsilon, delta), of which `slack` pays for the concentration of the loss.
    ///
    /// # Errors
    /// When the slack exceeds the total delta, or epsilon is infinite.
    pub fn new(epsilon: Epsilon, total: Delta, slack: Delta) -> Fallible<Self> {
        let (whole, slack_exact) = (exact(total.value())?, exact(slack.value())?);
        if slack_exact > whole {
            return Err(Error::parameter("slack", "exceeds the total delta", "use half of it"));
        }
        let delta_cap = whole.saturating_minus(&slack_exact);
        let rho = ZcdpFilter::new(Rho::from_f64(zcdp::max_rho_optimal(0.0, epsilon, slack)?)?);
        Ok(ApproximateFilter { rho, delta_cap, delta_spent: Dyadic::zero() })
    }

    /// Admits a mechanism with this guarantee, which the caller may then run once.
    ///
    /// # Errors
    /// When a total would exceed its cap; the mechanism must not run, and nothing is spent.
    pub fn admit(&mut self, part: ApproximateDp) -> Fallible<()> {
        let delta_spent = self.delta_spent.plus(&exact(part.delta())?);
        if delta_spent > self.delta_cap {
            return Err(over("delta", self.delta_cap.saturating_minus(&self.delta_spent).to_f64_down(), part.delta()));
        }
        self.rho.admit(&Rho::from_f64(pure_rho(part.epsilon())?)?)?;
        self.delta_spent = delta_spent;
        Ok(())
    }
}

/// A running total of rho without a cap fixed in advance.
///
/// What it means: [`Odometer::spent`] is the sum of the costs so far and **no guarantee by itself** when
/// costs or the moment of stopping depend on outputs. What holds is [`Odometer::guarantee`]: with the caps
/// `first 2^j` fixed in advance, a filter with each cap would have admitted exactly the mechanisms before
/// the total passed it, so whenever the total is at most a cap, everything up to then is a post-processing
/// of that filter's output and has that cap as its rho. The price of not fixing one cap is at most a
/// factor 2.
///
/// Reference: Rogers, Roth, Ullman and Vadhan 2016 for filters and odometers; Feldman and Zrnic 2021 for
/// the Renyi filter under each cap.
#[derive(Clone, Debug)]
pub struct Odometer {
    first: Rho,
    spent: Rho,
}

impl Odometer {
    /// Caps `first`, `2 first`, `4 first`, ...
    ///
    /// # Errors
    /// When `first` is zero.
    pub fn new(first: Rho) -> Fallible<Self> {
        if first == Rho::zero() {
            return Err(Error::parameter("first cap", "is 0", "use a positive rho such as 0.1"));
        }
        Ok(Odometer { first, spent: Rho::zero() })
    }

    /// Records a mechanism; never refused.
    pub fn record(&mut self, cost: &Rho) {
        self.spent = self.spent.plus(cost);
    }

    /// The sum of the costs so far; a guarantee only if all costs and the stopping were fixed in advance.
    pub fn spent(&self) -> &Rho {
        &self.spent
    }

    /// The smallest cap that the total has not passed: zCDP of everything so far, also when costs and
    /// stopping depended on outputs.
    pub fn guarantee(&self) -> Rho {
        let mut cap = self.first.clone();
        while cap < self.spent {
            cap = cap.plus(&cap);
        }
        cap
    }

    /// The epsilon at delta of [`Odometer::guarantee`], by the best order.
    ///
    /// # Errors
    /// When the search fails.
    ///
    /// # Privacy
    /// An upper bound, rounded up. A statement about the release as a whole, not about one that stops as
    /// soon as this number looks good at a delta chosen then.
    pub fn epsilon(&self, delta: Delta) -> Fallible<Epsilon> {
        // The logarithm of delta is used by the conversion; a delta that has none is refused here.
        if !ln_delta_down(delta).is_finite() {
            return Ok(Epsilon::INFINITE);
        }
        zcdp::epsilon_optimal(0.0, self.guarantee().upper(), delta)
    }
}

fn exact(value: f64) -> Fallible<Dyadic> {
    Dyadic::from_f64(value)
        .ok_or_else(|| Error::parameter("cost", format!("is {value}"), "use a finite nonnegative number"))
}

fn over(what: &str, left: f64, asked: f64) -> Error {
    Error::refused(
        format!("the mechanism needs {what} {asked:e}, the filter allows {left:e}"),
        "stop here, or start a new budget that is accounted for separately",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{compose, rdp};
    use crate::privacy::{Adjacency, DpEvent, Mechanism};

    #[test]
    fn caps_are_exact() {
        let mut filter = ZcdpFilter::new(Rho::from_f64(0.5).unwrap());
        let step = Rho::from_f64(0.03125).unwrap();
        for _ in 0..16 {
            filter.admit(&step).unwrap();
        }
        assert!(filter.admit(&Rho::from_f64(5e-324).unwrap()).is_err());
        assert_eq!(filter.remaining(), Rho::zero());
    }

    #[test]
    fn a_renyi_filter_admits_until_its_cap_and_takes_smaller_costs_after_a_refusal() {
        let curve = |noise_multiplier: f64| {
            let event = DpEvent::Single { mechanism: Mechanism::Gaussian { noise_multiplier } };
            rdp::curve(&event, Adjacency::AddRemove).unwrap()
        };
        // alpha / (2 z^2): a quarter at order 2 and z = 2, and a sixteenth of it at z = 8.
        let mut filter = RenyiFilter::new(2.0, 1.0 + 1e-12).unwrap();
        (0..4).for_each(|_| filter.admit(&curve(2.0)).unwrap());
        assert!(filter.admit(&curve(8.0)).is_err());
        let mut filter = RenyiFilter::new(2.0, 0.3).unwrap();
        filter.admit(&curve(2.0)).unwrap();
        assert!(filter.admit(&curve(2.0)).is_err());
        filter.admit(&curve(8.0)).unwrap();
        let more = (0..100).take_while(|_| filter.admit(&curve(8.0)).is_ok()).count();
        assert_eq!(more, 2);
        assert_eq!(filter.guarantee().renyi(), 0.3);
        for (order, cap) in [(1.0, 1.0), (f64::INFINITY, 1.0), (2.0, -1.0), (2.0, f64::NAN), (2.0, f64::INFINITY)] {
            assert!(RenyiFilter::new(order, cap).is_err(), "{order} {cap}");
        }
    }

    #[test]
    fn the_approximate_filter_admits_what_the_best_order_allows() {
        let (epsilon, total) = (Epsilon::new(5.8).unwrap(), Delta::new(2e-6).unwrap());
        let mut filter = ApproximateFilter::new(epsilon, total, Delta::new(1e-6).unwrap()).unwrap();
        let part = ApproximateDp::new(0.1, 2e-8).unwrap();
        // Deltas end it; exactly, fifty of them are a little more than what is left of the total.
        assert_eq!((0..1000).take_while(|_| filter.admit(part).is_ok()).count(), 49);
        assert!(ApproximateFilter::new(epsilon, total, Delta::new(3e-6).unwrap()).is_err());
        // As many as together are within epsilon when they are fixed beforehand, and not one more.
        let (total, part) = (Delta::new(1e-6).unwrap(), ApproximateDp::new(0.1, 0.0).unwrap());
        let mut filter = ApproximateFilter::new(epsilon, total, total).unwrap();
        let admitted = (0..1000).take_while(|_| filter.admit(part).is_ok()).count();
        let together = |count| compose::heterogeneous(&vec![part; count], total).unwrap();
        assert!(together(admitted).epsilon_optimal <= 5.8 && together(admitted + 1).epsilon_optimal > 5.8);
        // By the constants of advanced composition it is 101.
        assert_eq!(admitted, 120);
        // A refusal spends neither, and a mechanism that is infinite is none.
        let wide = ApproximateDp::new(3.0, 0.0).unwrap();
        assert!(filter.admit(wide).is_err() && filter.admit(ApproximateDp::new(0.0, 1e-7).unwrap()).is_err());
        assert!(filter.admit(ApproximateDp::new(f64::INFINITY, 0.0).unwrap()).is_err());
        filter.admit(ApproximateDp::new(0.001, 0.0).unwrap()).unwrap();
    }

    #[test]
    fn an_odometer_reports_the_next_cap() {
        let mut odometer = Odometer::new(Rho::from_f64(0.1).unwrap()).unwrap();
        assert_eq!(odometer.guarantee(), Rho::from_f64(0.1).unwrap());
        for _ in 0..3 {
            odometer.record(&Rho::from_f64(0.1).unwrap());
        }
        assert_eq!(odometer.guarantee().upper(), 0.4);
        assert!(odometer.epsilon(Delta::new(1e-6).unwrap()).unwrap().value() > 4.0);
        assert!(Odometer::new(Rho::zero()).is_err());
    }
}
