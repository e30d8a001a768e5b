//! Guarantees of recorded charges: making claims, confirming them, and the epsilon of everything together.
//!
//! ```
//! use rhograd::accounting::claim::Running;
//! use rhograd::privacy::{Adjacency, Charge, Delta, GaussianCharge, NoiseLaw};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let release = GaussianCharge { what: "sum".into(), sensitivity: 1 << 20, log2_scale: 25, noise: NoiseLaw::FlooredNormal, count: 1 };
//! let mut running = Running::new(Adjacency::AddRemove, Delta::new(1e-6)?);
//! let first = running.add(&Charge::Gaussian(release.clone()))?;
//! assert!(first < running.add(&Charge::Gaussian(release))?);
//! # Ok(())
//! # }
//! ```

use super::directed::add_up;
use super::memo::Memo;
use super::notion::{ApproximateZcdp, Zcdp};
use super::pld::Pld;
use super::rdp::mechanisms::pure_rho;
use super::{perturbed_objective, rdp, stable};
use crate::error::{Error, Fallible};
use crate::num::round::up;
use crate::privacy::{
    Adjacency, AllocatedGaussianCharge, Charge, Claim, Delta, DpEvent, NoiseLaw, ObjectiveCharge,
    PoissonGaussianCharge, PrivateSelectionCharge, Rho, total_delta, total_rho,
};

/// Width of certified bounds over the epsilon that is asked for.
const RELATIVE_WIDTH: f64 = 1e-4;

/// A claim is this much above what was computed: more than the width of bounds computed for another guess of epsilon.
const SLACK: f64 = 3.0 * RELATIVE_WIDTH;

/// A certified upper bound on the epsilon of charges together.
///
/// By privacy-loss distributions, a selection counting as any mechanism of its epsilon; by Renyi divergences where an
/// objective is perturbed or the best of several runs is opened; by the [`profile`] of one perturbed objective; and by rho
/// where all costs are plain zCDP. The smallest of those that hold.
///
/// # Errors
/// When noise is discrete and a cost is no rho, for which no such bound is known here, or the bound is not finite.
///
/// # Privacy
/// An upper bound under the given relation for all releases together, in any adaptive order.
pub fn epsilon(charges: &[Charge], adjacency: Adjacency, delta: Delta, about: f64) -> Fallible<f64> {
    static KNOWN: Memo = Memo::new();
    // Debug forms tell all floats apart, as they read back to the same bits.
    let question = format!("{adjacency:?} {:?} {about:?} {charges:?}", delta.value());
    KNOWN.answer(question, || computed(charges, adjacency, delta, about))
}

/// [`epsilon`], computed.
fn computed(charges: &[Charge], adjacency: Adjacency, delta: Delta, about: f64) -> Fallible<f64> {
    let discrete = charges.iter().any(|charge| charge.noise() == Some(NoiseLaw::DiscreteGaussian));
    let concentrated = charges.iter().all(|charge| charge.claim().is_none());
    if discrete && !concentrated {
        return Err(Error::parameter(
            "noise",
            "is discrete, for which only zCDP bounds are known",
            "use --noise normal, or an algorithm without sampling or a perturbed objective",
        ));
    }
    let mut bound = f64::INFINITY;
    if concentrated {
        bound = approximate(charges)?.to_epsilon_optimal(delta)?.value();
    }
    if !charges.iter().all(Charge::has_loss_distribution) {
        let by_profile = profile(charges, adjacency, delta)?.unwrap_or(f64::INFINITY);
        bound = renyi(charges, adjacency, delta)?.min(by_profile);
    } else if !discrete {
        let pld = Pld::new(&composed(charges, adjacency), adjacency)?;
        bound = bound.min(pld.upper_epsilon(delta, about * RELATIVE_WIDTH)?);
    }
    if bound.is_finite() { Ok(bound) } else { Err(Error::numerical("epsilon", "no finite bound was found")) }
}

/// Charges whose rho is exact as one approximate zCDP guarantee; delta is that of thresholds, and else zero.
///
/// # Errors
/// When a cost is no number.
///
/// Reference: Bun and Steinke 2016, Lemma 8.2.
pub fn approximate(charges: &[Charge]) -> Fallible<ApproximateZcdp> {
    approximate_of(&total_rho(charges)?, total_delta(charges))
}

/// A rho that holds but for a failure of probability `delta`.
///
/// # Errors
/// When one of them is no number.
///
/// Reference: Bun and Steinke 2016, Definition 8.1.
pub fn approximate_of(rho: &Rho, delta: f64) -> Fallible<ApproximateZcdp> {
    let zcdp = Zcdp::new(0.0, rho.upper())?;
    match delta {
        0.0 => Ok(ApproximateZcdp::exact(zcdp)),
        delta => ApproximateZcdp::new(up(delta.ln(), 2).min(0.0), zcdp),
    }
}

fn composed(charges: &[Charge], adjacency: Adjacency) -> DpEvent {
    DpEvent::Composed { events: charges.iter().map(|charge| charge.event(adjacency)).collect() }
}

/// Epsilon of charges together by Renyi divergences, infinite where these are.
///
/// # Errors
/// When a divergence is not known.
///
/// # Privacy
/// An upper bound as [`epsilon`], which is never above it where an objective is perturbed.
pub fn renyi(charges: &[Charge], adjacency: Adjacency, delta: Delta) -> Fallible<f64> {
    Ok(rdp::epsilon(&rdp::curve(&composed(charges, adjacency), adjacency)?, delta, rdp::Form::Improved)?.value)
}

/// Epsilon of one perturbed objective with Gaussian releases by [`perturbed_objective::epsilon`]; `None` for other charges.
///
/// # Errors
/// As there.
///
/// # Privacy
/// An upper bound as [`epsilon`].
pub fn profile(charges: &[Charge], adjacency: Adjacency, delta: Delta) -> Fallible<Option<f64>> {
    let mut objective = None;
    let mut others = Rho::zero();
    for charge in charges {
        match charge {
            Charge::Objective(event) if objective.is_none() => objective = Some(event),
            Charge::Gaussian(event) if charge.is_gaussian() => others = others.plus(&event.rho()),
            _ => return Ok(None),
        }
    }
    let by = |event: &ObjectiveCharge| {
        perturbed_objective::epsilon(&event.perturbed.rho(), &others, event.curvature, adjacency, delta)
    };
    objective.map(by).transpose()
}

/// Completes the claim of a perturbed objective for a delta.
///
/// With epsilon by its profile or by Renyi divergences, whichever is smaller, the release is delta-approximate
/// `epsilon tanh(epsilon/2)`-zCDP.
///
/// # Errors
/// When no finite bound is found.
///
/// # Privacy
/// An upper bound under the given relation.
///
/// Reference: Redberg, Koskela and Wang 2023, the profile and Theorem 3.2; Bun and Steinke 2016, section 8.
pub fn make_objective(event: ObjectiveCharge, adjacency: Adjacency, delta: Delta) -> Fallible<ObjectiveCharge> {
    let bound = epsilon(&[Charge::Objective(event.clone())], adjacency, delta, 1.0)?;
    Ok(ObjectiveCharge { claim: claimed(bound, delta)?, ..event })
}

/// Completes the claim of the best of a random number of runs for a delta.
///
/// With epsilon by the accountant, the best run is delta-approximate `epsilon tanh(epsilon/2)`-zCDP.
///
/// # Errors
/// When no finite bound is found.
///
/// # Privacy
/// An upper bound under the given relation.
///
/// Reference: Papernot and Steinke 2022, Theorem 2; Bun and Steinke 2016, section 8.
pub fn make_best_run(
    event: PrivateSelectionCharge,
    adjacency: Adjacency,
    delta: Delta,
) -> Fallible<PrivateSelectionCharge> {
    let bound = epsilon(&[Charge::PrivateSelection(event.clone())], adjacency, delta, 1.0)?;
    Ok(PrivateSelectionCharge { claim: claimed(bound, delta)?, ..event })
}

/// Completes the claim of sampled releases for a delta.
///
/// With epsilon certified by the privacy-loss distribution, the releases are delta-approximate
/// `epsilon tanh(epsilon/2)`-zCDP.
///
/// # Errors
/// When no finite bound is found.
///
/// # Privacy
/// An upper bound under the given relation.
///
/// Reference: Zhu, Dong and Wang 2022 (dominating pairs); Bun and Steinke 2016, section 8.
pub fn make(
    event: PoissonGaussianCharge,
    adjacency: Adjacency,
    delta: Delta,
    about: f64,
) -> Fallible<PoissonGaussianCharge> {
    let bound = epsilon(&[Charge::PoissonGaussian(event.clone())], adjacency, delta, about)?;
    Ok(PoissonGaussianCharge { claim: claimed(bound, delta)?, ..event })
}

/// Completes the claim of releases in passes for a delta.
///
/// With epsilon certified by the privacy-loss distribution, the releases are delta-approximate
/// `epsilon tanh(epsilon/2)`-zCDP.
///
/// # Errors
/// When no finite bound is found, as where a row may be replaced.
///
/// # Privacy
/// An upper bound under the given relation.
///
/// Reference: Chua et al. 2024 and Feldman and Shenfeld 2025 (dominating pair); Bun and Steinke 2016, section 8.
pub fn make_allocated(
    event: AllocatedGaussianCharge,
    adjacency: Adjacency,
    delta: Delta,
    about: f64,
) -> Fallible<AllocatedGaussianCharge> {
    let bound = epsilon(&[Charge::AllocatedGaussian(event.clone())], adjacency, delta, about)?;
    Ok(AllocatedGaussianCharge { claim: claimed(bound, delta)?, ..event })
}

/// A claim a little above a bound on epsilon.
fn claimed(bound: f64, delta: Delta) -> Fallible<Claim> {
    let epsilon = up(bound * (1.0 + SLACK), 1).max(f64::MIN_POSITIVE);
    let rho = up(pure_rho(epsilon)? * (1.0 + 1e-12), 1).max(f64::MIN_POSITIVE);
    Ok(Claim { epsilon, delta: delta.value(), rho })
}

/// Checks that a charge costs no more than it claims.
///
/// # Errors
/// When it costs more, or its cost cannot be found.
pub fn confirm(charge: &Charge, adjacency: Adjacency) -> Fallible<()> {
    if let Charge::Threshold(event) = charge {
        return stable::confirm(event);
    }
    let Some(claim) = charge.claim() else { return Ok(()) };
    let bound = epsilon(std::slice::from_ref(charge), adjacency, Delta::new(claim.delta)?, claim.epsilon)?;
    if bound <= claim.epsilon && pure_rho(claim.epsilon)? <= claim.rho {
        return Ok(());
    }
    Err(Error::parameter("charge", "costs more than it claims", "the record is damaged: restore it from a copy"))
}

/// The Renyi divergence of a charge at an order, over the order: rho, but at that order alone.
///
/// `D_alpha / alpha`, at most rho where the cost is plain zCDP. `None` where no finite divergence is known, as where a guarantee may fail with a
/// probability. What a charge claims at a delta is not asked: its releases have a curve, which says more.
///
/// # Errors
/// When the order is not a finite number above 1, or the divergence cannot be computed.
///
/// # Privacy
/// An upper bound under the given relation, of neighbours in either order.
///
/// Reference: Mironov 2017; Bun and Steinke 2016, Definition 1.1.
pub fn rho_at_order(charge: &Charge, adjacency: Adjacency, order: f64) -> Fallible<Option<f64>> {
    if !(order > 1.0 && order.is_finite()) {
        return Err(Error::parameter(
            "order",
            format!("is {order}, must be above 1 and finite"),
            "use an order such as 8",
        ));
    }
    if charge.claim().is_none() {
        return Ok((charge.delta() == 0.0).then_some(charge.rho()?.upper()));
    }
    // Of discrete noise on samples no curve is known.
    if charge.noise() == Some(NoiseLaw::DiscreteGaussian) {
        return Ok(None);
    }
    let divergence = rdp::curve(&charge.event(adjacency), adjacency)?.at(order)?;
    Ok(divergence.is_finite().then(|| up(divergence / order, 1)))
}

/// Upper bounds on epsilon after each of many releases, by Renyi divergences at fixed orders.
///
/// Not as tight as [`epsilon`], but one release more costs next to nothing.
#[derive(Clone, Debug)]
pub struct Running {
    adjacency: Adjacency,
    delta: Delta,
    /// Orders and the divergence so far.
    spent: Vec<(f64, f64)>,
    last: Option<(Charge, Vec<f64>)>,
    /// Releases of the pass that is being made which are paid for, where rows draw steps of passes.
    paid: u32,
}

impl Running {
    /// Nothing released yet.
    pub fn new(adjacency: Adjacency, delta: Delta) -> Self {
        let order = |k: i32| 1.0 + 1.18f64.powi(k);
        Running { adjacency, delta, spent: (-14..48).map(|k| (order(k), 0.0)).collect(), last: None, paid: 0 }
    }

    /// Epsilon after one release more.
    ///
    /// # Errors
    /// When the divergence of the release is not known.
    pub fn add(&mut self, release: &Charge) -> Fallible<f64> {
        let single = release.single();
        if self.last.as_ref().is_none_or(|(known, _)| *known != single) {
            let curve = rdp::curve(&single.event(self.adjacency), self.adjacency)?;
            let values = self.spent.iter().map(|&(order, _)| curve.at(order)).collect::<Fallible<Vec<_>>>()?;
            self.last = Some((single, values));
            self.paid = 0;
        }
        // The first step of a pass pays for all of it.
        let begun = std::mem::replace(&mut self.paid, 0);
        let steps_of_pass = if let Charge::AllocatedGaussian(event) = release { event.steps_of_pass } else { 1 };
        self.paid = if begun > 0 { begun - 1 } else { steps_of_pass - 1 };
        let values = self.last.as_ref().filter(|_| begun == 0).map_or(&[][..], |(_, values)| values);
        self.spent.iter_mut().zip(values).for_each(|((_, spent), &cost)| *spent = add_up(*spent, cost));
        Ok(rdp::epsilon_over_orders(&self.spent, self.delta, rdp::Form::Improved)?.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::GaussianCharge;

    fn event() -> PoissonGaussianCharge {
        let noise = NoiseLaw::FlooredNormal;
        let sampled = GaussianCharge { what: "sum".into(), sensitivity: 1 << 30, log2_scale: 30, noise, count: 1000 };
        // A rate of 1/64.
        PoissonGaussianCharge { sampled, exponent: 1 << 58, claim: Claim { epsilon: 1.0, delta: 1e-6, rho: 1.0 } }
    }

    #[test]
    fn claims_are_confirmed_and_lies_are_not() {
        let delta = Delta::new(1e-6).unwrap();
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            let made = make(event(), adjacency, delta, 3.0).unwrap();
            confirm(&Charge::PoissonGaussian(made.clone()), adjacency).unwrap();
            for lie in [
                Claim { epsilon: made.claim.epsilon * 0.999, ..made.claim },
                Claim { rho: made.claim.rho * 0.999, ..made.claim },
                Claim { delta: 1e-9, ..made.claim },
            ] {
                assert!(
                    confirm(&Charge::PoissonGaussian(PoissonGaussianCharge { claim: lie, ..made.clone() }), adjacency)
                        .is_err()
                );
            }
            let more = PoissonGaussianCharge { exponent: made.exponent * 2, ..made };
            assert!(confirm(&Charge::PoissonGaussian(more), adjacency).is_err());
        }
    }

    #[test]
    fn running_bounds_grow_and_stay_above_the_certified_epsilon() {
        let delta = Delta::new(1e-6).unwrap();
        let mut running = Running::new(Adjacency::AddRemove, delta);
        let mut last = 0.0;
        for _ in 0..1000 {
            let next = running.add(&Charge::PoissonGaussian(event())).unwrap();
            assert!(next >= last);
            last = next;
        }
        let tight = epsilon(&[Charge::PoissonGaussian(event())], Adjacency::AddRemove, delta, 3.0).unwrap();
        assert!(tight < last && last < 1.3 * tight, "{tight} {last}");
    }

    #[test]
    fn a_perturbed_objective_claims_what_its_curve_says() {
        let delta = Delta::new(1e-6).unwrap();
        let perturbed = GaussianCharge { sensitivity: 1 << 28, log2_scale: 32, count: 1, ..event().sampled };
        let blank = ObjectiveCharge { perturbed, curvature: 0.05, claim: event().claim };
        let mut last = 0.0;
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            let made = make_objective(blank.clone(), adjacency, delta).unwrap();
            confirm(&Charge::Objective(made.clone()), adjacency).unwrap();
            assert!(made.claim.epsilon >= last, "the recorded sensitivity already holds under either relation");
            last = made.claim.epsilon * (1.0 - 1e-9);
            for lie in [
                ObjectiveCharge { curvature: 0.06, ..made.clone() },
                ObjectiveCharge { claim: Claim { epsilon: made.claim.epsilon * 0.999, ..made.claim }, ..made.clone() },
                ObjectiveCharge { claim: Claim { rho: made.claim.rho * 0.999, ..made.claim }, ..made.clone() },
                ObjectiveCharge {
                    perturbed: GaussianCharge { sensitivity: (1 << 28) + (1 << 20), ..made.perturbed.clone() },
                    ..made.clone()
                },
            ] {
                assert!(confirm(&Charge::Objective(lie), adjacency).is_err());
            }
        }
    }

    #[test]
    fn a_threshold_costs_its_noise_and_its_delta() {
        let noised = GaussianCharge { sensitivity: 1 << 16, log2_scale: 20, count: 2, ..event().sampled };
        let row = 1 << 16;
        let threshold = stable::least_threshold(row, 20, Delta::new(1e-7).unwrap()).unwrap();
        let of = |charge: Charge, delta: f64| epsilon(&[charge], Adjacency::AddRemove, Delta::new(delta).unwrap(), 0.3);
        let charge =
            Charge::Threshold(crate::privacy::ThresholdCharge { noised: noised.clone(), row, threshold, delta: 1e-7 });
        confirm(&charge, Adjacency::AddRemove).unwrap();
        let with = of(charge.clone(), 1e-6).unwrap();
        let without = of(Charge::Gaussian(noised.clone()), 1e-6).unwrap();
        let at_the_rest = of(Charge::Gaussian(noised), 7.9e-7).unwrap();
        assert!(with > without && with < at_the_rest * 1.001, "{without} {with} {at_the_rest}");
        assert!(of(charge, 1.9e-7).is_err(), "thresholds alone fail more often");
    }

    #[test]
    fn one_choice_is_pure_and_many_are_concentrated() {
        let delta = Delta::new(1e-6).unwrap();
        let selection = |count| {
            let what = "choice".into();
            Charge::Exponential(crate::privacy::ExponentialCharge {
                what,
                sensitivity: 1,
                log2_scale: 3,
                candidates: 9,
                count,
            })
        };
        let of = |count| epsilon(&[selection(count)], Adjacency::AddRemove, delta, 1.0).unwrap();
        assert!(of(1) <= 0.125 * (1.0 + 1e-9), "{}", of(1));
        let rho = total_rho(&[selection(400)]).unwrap().upper();
        assert_eq!(rho, 400.0 / 512.0);
        assert!(of(400) <= crate::accounting::Conversion::Optimal.epsilon(rho, delta).unwrap().value());
    }
}
