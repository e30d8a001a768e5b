//! A cap on what all runs on a data set may cost together: one filter, fixed when it is set.

use serde::{Deserialize, Serialize};

use super::exact_rho::ExactRho;
use crate::accounting::rdp::{Form, epsilon_at_order};
use crate::accounting::{gaussian, zcdp};
use crate::error::{Error, Fallible};
use crate::num::Dyadic;
use crate::num::round::up;
use crate::privacy::{Charge, Delta, Epsilon, Rho, total_rho};

/// Share of a cap's delta that is kept for the deltas of claims, unless another is asked for.
///
/// A tenth costs 0.9% of the rho at epsilon 1 and delta 1e-6, a half 5.8%.
pub const CLAIMS_SHARE: f64 = 0.1;

/// A delta above this is refused unless it is accepted on purpose: what fails so often protects nobody.
pub const LARGE_DELTA: f64 = 1e-3;

/// Largest order of a Renyi cap.
const MOST_ORDER: f64 = 1e5;

/// How far the epsilon of a recorded cap may lie above what was asked for: room for another version's rounding.
const TOLERANCE: f64 = 1e-9;

/// What was asked for, where that was epsilon and delta.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Epsilon of all runs together.
    pub epsilon: f64,
    /// Delta of all runs together, that of claims included.
    pub delta: f64,
}

/// A cap, whole: every number by which a run is admitted or refused is fixed when the cap is set.
///
/// # Privacy
/// All runs that are admitted satisfy the cap together, although each may be chosen by what the others released. This
/// rests on the numbers being fixed beforehand: rho converted at whatever delta is left afterwards has no such theorem.
///
/// # Reference
/// Whitehouse, Ramdas, Rogers and Wu 2023 (filters for approximate zCDP and Gaussian DP); Smith and Thakurta 2022, and
/// Koskela, Tobaben and Honkela 2023 (fully adaptive Gaussian DP); Feldman and Zrnic 2021 (the Renyi filter at one order).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Cap {
    /// rho alone, as versions before this wrote it: the deltas of claims are added up and not bounded.
    Rho {
        /// Largest total rho.
        rho: ExactRho,
    },
    /// rho and the deltas of claims: all runs together are `claims_delta`-approximate rho-zCDP.
    Zcdp {
        /// Largest total rho.
        rho: ExactRho,
        /// Largest sum of the deltas of claims.
        claims_delta: f64,
        /// What it was converted from.
        asked: Option<Asked>,
    },
    /// Gaussian noise on all rows and nothing else: all runs together are mu-Gaussian DP with `mu^2 = 2 rho`.
    Gaussian {
        /// Half of the largest sum of squares of mu.
        rho: ExactRho,
        /// What it was converted from.
        asked: Option<Asked>,
    },
    /// Renyi divergence at one order: all runs together are (order, order rho)-Renyi differentially private.
    Renyi {
        /// The order, above 1.
        order: f64,
        /// Largest divergence over the order.
        rho: ExactRho,
        /// What it was converted from.
        asked: Option<Asked>,
    },
}

/// The cost of one run, in all numbers that a cap may bound.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cost {
    pub(super) rho: Rho,
    /// Sum of the deltas, exactly.
    pub(super) delta: Dyadic,
    /// Whether every release is continuous Gaussian noise on all rows.
    pub(super) gaussian: bool,
    /// The divergence at the order of the cap over that order; `None` where the cap has no order, or the divergence is not finite.
    pub(super) rho_at_order: Option<Rho>,
}

impl Cost {
    /// Nothing.
    pub(super) fn zero() -> Self {
        Cost { rho: Rho::zero(), delta: Dyadic::zero(), gaussian: true, rho_at_order: None }
    }

    /// The cost of charges that were checked before, but for that at an order.
    pub(super) fn of(charges: &[Charge]) -> Fallible<Self> {
        let mut delta = Dyadic::zero();
        for charge in charges {
            delta = delta.plus(&exact(charge.delta())?);
        }
        let gaussian = charges.iter().all(Charge::is_gaussian);
        Ok(Cost { rho: total_rho(charges)?, delta, gaussian, rho_at_order: None })
    }

    pub(super) fn plus(&self, other: &Cost) -> Self {
        let (rho, delta) = (self.rho.plus(&other.rho), self.delta.plus(&other.delta));
        let at_order = self.rho_at_order.as_ref().zip(other.rho_at_order.as_ref());
        let rho_at_order = at_order.map(|(one, more)| one.plus(more));
        Cost { rho, delta, gaussian: self.gaussian && other.gaussian, rho_at_order }
    }
}

/// A delta as an exact number.
pub(super) fn exact(delta: f64) -> Fallible<Dyadic> {
    Dyadic::from_f64(delta)
        .ok_or_else(|| Error::parameter("delta", format!("is {delta}, must be finite and at least 0"), "use 1e-6"))
}

impl Cap {
    /// Caps rho, and the deltas of claims at `claims_delta`; at 0 every claim with a delta is refused.
    ///
    /// # Errors
    /// When a number cannot be stored, or the delta is not in `[0, 1)`.
    pub fn rho(rho: &Rho, claims_delta: f64) -> Fallible<Self> {
        checked(Cap::Zcdp { rho: ExactRho::new(rho)?, claims_delta, asked: None })
    }

    /// Splits (epsilon, delta) once and for all into a cap on rho and one on the deltas of claims.
    ///
    /// rho is the largest whose optimal zCDP conversion at `delta - claims_delta` is within epsilon; `claims_delta` is a
    /// tenth of delta ([`CLAIMS_SHARE`]) unless it is given.
    ///
    /// # Errors
    /// When `claims_delta` leaves nothing of delta, or no rho meets the target.
    ///
    /// # Privacy
    /// All runs together are (epsilon, delta)-DP.
    ///
    /// # Reference
    /// Whitehouse, Ramdas, Rogers and Wu 2023; Canonne, Kamath and Steinke 2020, Proposition 12; Bun and Steinke 2016,
    /// Lemma 8.8.
    pub fn zcdp(epsilon: Epsilon, delta: Delta, claims_delta: Option<f64>) -> Fallible<Self> {
        let claims_delta = claims_delta.unwrap_or(delta.value() * CLAIMS_SHARE);
        let asked = Some(Asked { epsilon: epsilon.value(), delta: delta.value() });
        let rho = zcdp::max_rho_optimal(0.0, epsilon, concentrated(delta.value(), claims_delta)?)?;
        checked(Cap::Zcdp { rho: ExactRho::new(&Rho::from_f64(rho)?)?, claims_delta, asked })
    }

    /// Fixes mu as the largest whose exact trade-off meets (epsilon, delta), and admits Gaussian noise on all rows alone.
    ///
    /// # Errors
    /// When no mu meets the target.
    ///
    /// # Privacy
    /// All runs together are mu-Gaussian DP, hence (epsilon, delta)-DP.
    ///
    /// # Reference
    /// Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023; Balle and Wang 2018, Theorem 8.
    pub fn gaussian(epsilon: Epsilon, delta: Delta) -> Fallible<Self> {
        let asked = Some(Asked { epsilon: epsilon.value(), delta: delta.value() });
        let rho = Rho::from_f64(gaussian::max_rho(epsilon, delta)?)?;
        checked(Cap::Gaussian { rho: ExactRho::new(&rho)?, asked })
    }

    /// A cap that fixes mu of Gaussian DP, given as `rho = mu^2 / 2`, and admits Gaussian noise on all rows alone.
    ///
    /// # Errors
    /// When the number cannot be stored.
    pub fn gaussian_rho(rho: &Rho) -> Fallible<Self> {
        checked(Cap::Gaussian { rho: ExactRho::new(rho)?, asked: None })
    }

    /// Fixes the largest Renyi divergence at one order that is worth (epsilon, delta), and admits whatever has a finite one there.
    ///
    /// What is bounded is the sum of `D_alpha / alpha`, which is rho for zCDP. Without an order, that at which most rho is worth (epsilon,
    /// delta): full-batch runs fit as under [`Cap::zcdp`] without claims, and sampled ones by their own divergence, which costs far less
    /// than a claim.
    ///
    /// # Errors
    /// When the order is not in `(1, 1e5]`, or no divergence at it meets the target.
    ///
    /// # Privacy
    /// All runs together are (alpha, alpha rho)-Renyi DP, hence (epsilon, delta)-DP.
    ///
    /// # Reference
    /// Feldman and Zrnic 2021 (the Renyi filter); Canonne, Kamath and Steinke 2020, Proposition 12.
    pub fn renyi(epsilon: Epsilon, delta: Delta, order: Option<f64>) -> Fallible<Self> {
        let order = match order {
            Some(order) => order,
            None => best_order(epsilon, delta)?,
        };
        check_order(order)?;
        let none = || {
            let problem = format!("is {order}, at which no divergence is worth epsilon {}", epsilon.value());
            Error::parameter("--renyi", problem, "leave the order out: the best one is found; or set a cap in zCDP")
        };
        // epsilon at an order is the divergence and a constant, here to a few units in the last place.
        let constant = epsilon_at_order(order, epsilon.value(), delta, Form::Improved)? - epsilon.value();
        let start = (epsilon.value() - constant) / order * (1.0 - 1e-13);
        if !(start > 0.0 && start.is_finite()) {
            return Err(none());
        }
        let asked = Some(Asked { epsilon: epsilon.value(), delta: delta.value() });
        for shrunk in 0..40 {
            let rho = ExactRho::new(&Rho::from_f64(start * (1.0 - 1e-14 * 2f64.powi(shrunk)))?)?;
            let cap = Cap::Renyi { order, rho, asked };
            if cap.epsilon_of(cap.most_rho(), delta)? <= epsilon {
                return checked(cap);
            }
        }
        Err(none())
    }

    /// A cap on the Renyi divergence at an order, given as the divergence over the order.
    ///
    /// # Errors
    /// When the order is not in `(1, 1e5]`, or the number cannot be stored.
    pub fn renyi_rho(rho: &Rho, order: f64) -> Fallible<Self> {
        checked(Cap::Renyi { order, rho: ExactRho::new(rho)?, asked: None })
    }

    /// Refuses a delta that no expert would accept, unless that is what is asked for.
    ///
    /// # Errors
    /// When the delta of all runs together, or that of claims, is above 1e-3.
    pub fn with_usual_delta(self, accept_large_delta: bool) -> Fallible<Self> {
        let delta = self.asked().map_or(0.0, |asked| asked.delta).max(self.claims_delta().unwrap_or(0.0));
        if accept_large_delta || delta <= LARGE_DELTA {
            return Ok(self);
        }
        Err(Error::parameter(
            "--delta",
            format!(
                "is {delta:?} for the cap: so often all runs together may fail altogether; more than 1e-3 is refused"
            ),
            "use a delta far below one over the number of rows, or --accept-large-delta",
        ))
    }

    /// The name of the notion: `rho`, `zcdp`, `gaussian` or `renyi`.
    pub fn notion(&self) -> &'static str {
        match self {
            Cap::Rho { .. } => "rho",
            Cap::Zcdp { .. } => "zcdp",
            Cap::Gaussian { .. } => "gaussian",
            Cap::Renyi { .. } => "renyi",
        }
    }

    /// The order at which a Renyi divergence is bounded; `None` in other notions.
    pub fn order(&self) -> Option<f64> {
        match self {
            Cap::Renyi { order, .. } => Some(*order),
            Cap::Rho { .. } | Cap::Zcdp { .. } | Cap::Gaussian { .. } => None,
        }
    }

    /// Largest total rho; under a Gaussian cap `mu^2 / 2`, under a Renyi cap the divergence over the order.
    pub fn most_rho(&self) -> &Rho {
        match self {
            Cap::Rho { rho } | Cap::Zcdp { rho, .. } | Cap::Gaussian { rho, .. } | Cap::Renyi { rho, .. } => rho.rho(),
        }
    }

    /// Largest sum of the deltas of claims; `None` where that is not bounded.
    pub fn claims_delta(&self) -> Option<f64> {
        match self {
            Cap::Rho { .. } => None,
            Cap::Zcdp { claims_delta, .. } => Some(*claims_delta),
            // No Gaussian release has one.
            Cap::Gaussian { .. } => Some(0.0),
            // Claims count by their divergence, whatever delta they name.
            Cap::Renyi { .. } => None,
        }
    }

    /// The epsilon and delta that the cap was made from, if it was made from them.
    pub fn asked(&self) -> Option<Asked> {
        match self {
            Cap::Rho { .. } => None,
            Cap::Zcdp { asked, .. } | Cap::Gaussian { asked, .. } | Cap::Renyi { asked, .. } => *asked,
        }
    }

    /// The epsilon that a total rho stands for in the notion of the cap, at the delta that [`Cap::delta_of_rho`] names.
    ///
    /// # Errors
    /// When the conversion fails.
    pub fn epsilon_of(&self, rho: &Rho, delta: Delta) -> Fallible<Epsilon> {
        match self {
            Cap::Gaussian { .. } => gaussian::epsilon_from_rho(rho.upper(), delta),
            Cap::Rho { .. } | Cap::Zcdp { .. } => zcdp::epsilon_optimal(0.0, rho.upper(), delta),
            Cap::Renyi { .. } if rho.as_dyadic().is_zero() => Epsilon::new(0.0),
            Cap::Renyi { order, .. } => {
                Epsilon::new(epsilon_at_order(*order, up(order * rho.upper(), 1), delta, Form::Improved)?)
            }
        }
    }

    /// The part of the cap's delta at which its rho is converted; `None` where no delta was asked for.
    pub fn delta_of_rho(&self) -> Option<Delta> {
        let asked = self.asked()?;
        concentrated(asked.delta, self.claims_delta().unwrap_or(0.0)).ok()
    }

    /// Whether the promise of `old` no longer follows once this cap has taken its place.
    ///
    /// Either number larger is a raise, and so is a Gaussian cap that gives way to one that admits other releases, and a cap on divergences
    /// at another order, or where all orders were bounded.
    pub(super) fn raises(&self, old: &Cap) -> bool {
        let delta = |cap: &Cap| match cap {
            Cap::Rho { .. } => f64::INFINITY,
            Cap::Zcdp { claims_delta, .. } => *claims_delta,
            Cap::Gaussian { .. } | Cap::Renyi { .. } => 0.0,
        };
        let loosened = matches!(old, Cap::Gaussian { .. }) && !matches!(self, Cap::Gaussian { .. })
            || self.order().is_some() && self.order() != old.order();
        self.most_rho() > old.most_rho() || delta(self) > delta(old) || loosened
    }

    /// Refuses numbers that do not belong together, so that a forged entry cannot promise what its rho does not keep.
    pub(super) fn check(&self) -> Fallible<()> {
        let wrong = |problem: &str| Err(Error::parameter("cap", problem, "restore a copy of the ledger"));
        if matches!(self, Cap::Rho { .. }) {
            return wrong("bounds no delta");
        }
        let claims_delta = self.claims_delta().unwrap_or(0.0);
        if !(0.0..1.0).contains(&claims_delta) {
            return Err(Error::parameter(
                "--claims-delta",
                format!("is {claims_delta:?}, must be at least 0 and below 1"),
                "use 0 to refuse all claims with a delta, or a small number such as 1e-7",
            ));
        }
        self.order().map_or(Ok(()), check_order)?;
        let Some(asked) = self.asked() else { return Ok(()) };
        let epsilon = self.epsilon_of(self.most_rho(), concentrated(asked.delta, claims_delta)?)?;
        if epsilon.value() <= asked.epsilon * (1.0 + TOLERANCE) {
            return Ok(());
        }
        wrong("allows more than the epsilon that it states")
    }
}

fn checked(cap: Cap) -> Fallible<Cap> {
    cap.check().map(|()| cap)
}

/// Refuses orders at which nothing is bounded, or no divergence is computed in time.
fn check_order(order: f64) -> Fallible<()> {
    if order > 1.0 && order <= MOST_ORDER {
        return Ok(());
    }
    let problem = format!("is {order}, must be above 1 and at most {MOST_ORDER:e}");
    Err(Error::parameter("--renyi", problem, "leave the order out: the best one for Gaussian noise is found"))
}

/// The order at which the largest rho is worth (epsilon, delta), to three digits: a hundredth beside it, little is lost.
fn best_order(epsilon: Epsilon, delta: Delta) -> Fallible<f64> {
    let order = zcdp::order_for_epsilon(zcdp::max_rho_optimal(0.0, epsilon, delta)?, delta)?;
    let above = (order - 1.0).clamp(1e-3, 0.99 * MOST_ORDER);
    let unit = 10f64.powi(above.log10().floor() as i32 - 2);
    // As a decimal, so that it is read and written in few digits.
    format!("{:.6}", 1.0 + (above / unit).round() * unit).parse().map_err(|_| Error::numerical("order", "is no number"))
}

/// What is left of delta when claims have taken their part, rounded down.
fn concentrated(delta: f64, claims_delta: f64) -> Fallible<Delta> {
    let left = if claims_delta == 0.0 { delta } else { (delta - claims_delta).next_down() };
    Delta::new(left).map_err(|_| {
        Error::parameter(
            "--claims-delta",
            format!("is {claims_delta:?}, which leaves nothing of delta {delta:?}"),
            "keep a tenth of delta for claims, or leave it out",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(epsilon: f64, delta: f64) -> (Epsilon, Delta) {
        (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
    }

    #[test]
    fn a_tenth_kept_for_claims_costs_little() {
        for (epsilon, delta) in [(1.0, 1e-6), (0.1, 1e-5), (8.0, 1e-9)] {
            let (epsilon, delta) = asked(epsilon, delta);
            let rho = |share: f64| Cap::zcdp(epsilon, delta, Some(delta.value() * share)).unwrap().most_rho().upper();
            let cost = |share: f64| 1.0 - rho(share) / rho(0.0);
            assert!(cost(0.1) < 0.016 && cost(0.5) < 0.1, "{} {}", cost(0.1), cost(0.5));
            assert!(cost(0.5) > 5.0 * cost(0.1));
        }
    }

    #[test]
    fn a_gaussian_cap_allows_more() {
        let (epsilon, delta) = asked(1.0, 1e-6);
        let (wide, narrow) = (Cap::gaussian(epsilon, delta).unwrap(), Cap::zcdp(epsilon, delta, Some(0.0)).unwrap());
        assert!(wide.most_rho().lower() > 1.15 * narrow.most_rho().upper());
        assert_eq!(wide.claims_delta(), Some(0.0));
    }

    #[test]
    fn the_best_order_allows_what_zcdp_allows_without_claims() {
        for (epsilon, delta) in [(1.0, 1e-6), (0.01, 1e-30), (0.1, 1e-5), (8.0, 1e-9), (100.0, 0.1)] {
            let (epsilon, delta) = asked(epsilon, delta);
            let (best, zcdp) =
                (Cap::renyi(epsilon, delta, None).unwrap(), Cap::zcdp(epsilon, delta, Some(0.0)).unwrap());
            let (share, order) = (best.most_rho().upper() / zcdp.most_rho().upper(), best.order().unwrap());
            assert!(share <= 1.0 && share > 0.999, "{share} at order {order}");
            for other in [0.8, 1.25] {
                let other = 1.0 + (order - 1.0) * other;
                let rho = Cap::renyi(epsilon, delta, Some(other)).map_or(0.0, |cap| cap.most_rho().upper());
                assert!(rho < best.most_rho().lower(), "{other} beside {order}");
            }
            let Cap::Renyi { order, rho, asked } = best else { panic!() };
            let more = ExactRho::new(&Rho::from_f64(rho.rho().upper() * (1.0 + 1e-6)).unwrap()).unwrap();
            assert!(Cap::Renyi { order, rho: more, asked }.check().is_err());
        }
        let (epsilon, delta) = asked(1.0, 1e-6);
        for bad in [1.0, 0.5, -3.0, 1e6, f64::NAN, f64::INFINITY, 2.0] {
            let refused = Cap::renyi(epsilon, delta, Some(bad)).unwrap_err().to_string();
            assert!(refused.contains("--renyi") && refused.contains("leave the order out"), "{bad}: {refused}");
        }
        assert!(Cap::renyi_rho(&Rho::zero(), 1.0).is_err());
    }

    #[test]
    fn a_cap_that_promises_more_than_it_keeps_is_refused() {
        let (epsilon, delta) = asked(1.0, 1e-6);
        let Cap::Zcdp { rho, claims_delta, .. } = Cap::zcdp(epsilon, delta, None).unwrap() else { panic!() };
        let with = |rho: ExactRho, claims_delta: f64, epsilon: f64| Cap::Zcdp {
            rho,
            claims_delta,
            asked: Some(Asked { epsilon, delta: 1e-6 }),
        };
        with(rho.clone(), claims_delta, 1.0).check().unwrap();
        assert!(with(rho.clone(), claims_delta, 0.999).check().is_err());
        assert!(with(rho.clone(), claims_delta * 1.1, 1.0).check().is_err());
        assert!(with(rho.clone(), 1e-6, 1.0).check().is_err());
        assert!(with(ExactRho::new(&rho.rho().plus(rho.rho())).unwrap(), claims_delta, 1.0).check().is_err());
        for bad in [-1e-9, f64::NAN, 1.0, f64::INFINITY] {
            assert!(Cap::rho(rho.rho(), bad).is_err(), "{bad}");
        }
        assert!(Cap::zcdp(epsilon, delta, Some(2e-6)).unwrap_err().to_string().contains("--claims-delta"));
    }

    #[test]
    fn a_large_delta_is_refused_unless_it_is_accepted() {
        let (epsilon, delta) = asked(0.5, 0.5);
        for cap in [Cap::zcdp(epsilon, delta, None).unwrap(), Cap::gaussian(epsilon, delta).unwrap()] {
            assert!(cap.clone().with_usual_delta(false).unwrap_err().to_string().contains("--accept-large-delta"));
            cap.with_usual_delta(true).unwrap();
        }
        let rho = Rho::from_f64(1.0).unwrap();
        assert!(Cap::rho(&rho, 0.5).unwrap().with_usual_delta(false).is_err());
        Cap::rho(&rho, 1e-3).unwrap().with_usual_delta(false).unwrap();
    }

    #[test]
    fn either_number_larger_is_a_raise() {
        let rho = |x: f64| Rho::from_f64(x).unwrap();
        let zcdp = |x: f64, delta: f64| Cap::rho(&rho(x), delta).unwrap();
        let gaussian = |x: f64| Cap::gaussian_rho(&rho(x)).unwrap();
        let renyi = |x: f64, order: f64| Cap::renyi_rho(&rho(x), order).unwrap();
        let old = |x: f64| Cap::Rho { rho: ExactRho::new(&rho(x)).unwrap() };
        for (new, before, raised) in [
            (zcdp(1.0, 0.0), zcdp(1.0, 0.0), false),
            (zcdp(1.1, 0.0), zcdp(1.0, 1e-6), true),
            (zcdp(0.5, 1e-6), zcdp(1.0, 0.0), true),
            (zcdp(0.5, 1e-7), zcdp(1.0, 1e-6), false),
            (zcdp(1.0, 1e-6), old(1.0), false),
            (zcdp(1.1, 0.0), old(1.0), true),
            (gaussian(1.0), zcdp(1.0, 0.0), false),
            (gaussian(1.1), zcdp(1.0, 0.0), true),
            (zcdp(0.5, 0.0), gaussian(1.0), true),
            (gaussian(0.5), gaussian(1.0), false),
            (renyi(1.0, 8.0), renyi(1.0, 8.0), false),
            (renyi(1.1, 8.0), renyi(1.0, 8.0), true),
            (renyi(0.5, 9.0), renyi(1.0, 8.0), true),
            (renyi(0.5, 8.0), zcdp(1.0, 1e-6), true),
            (renyi(0.5, 8.0), gaussian(1.0), true),
            (renyi(0.5, 8.0), old(1.0), true),
            (zcdp(1.0, 0.0), renyi(1.0, 8.0), false),
            (zcdp(0.5, 1e-9), renyi(1.0, 8.0), true),
            (gaussian(1.0), renyi(1.0, 8.0), false),
        ] {
            assert_eq!(new.raises(&before), raised, "{new:?} after {before:?}");
        }
    }
}
