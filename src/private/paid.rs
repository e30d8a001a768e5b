//! Paying for a plan, or going on with one that was paid for, and handing out its permits in order.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

use super::journal::{Journal, Keep, Stopped};
use super::{ObjectivePermit, Permit, SampledPermit, StablePermit};
use crate::error::{Error, Fallible};
use crate::ledger::{Ledger, Reservation};
use crate::noise::NoiseSource;
use crate::privacy::{Charge, L2, Range, Scope};

/// Charges the whole plan and returns the right to its releases, in order.
///
/// # Privacy
/// The charge is durable before this returns and before any noise is drawn; a crash afterwards counts
/// as spent.
///
/// # Errors
/// When the ledger refuses or cannot record the charge, or the plan has a malformed event.
pub fn pay<C: Clone + Into<Charge>>(
    ledger: &mut Ledger,
    scope: &Scope,
    plan: &[C],
    noise: NoiseSource,
) -> Fallible<Paid> {
    let left: VecDeque<Charge> = plan.iter().cloned().map(Into::into).collect();
    left.iter().try_for_each(Charge::check)?;
    let reservation = ledger.reserve(scope, plan, noise.is_secure())?;
    Ok(Paid::new(reservation, noise, left, Journal::default()))
}

/// As [`pay`], for a run whose name was drawn and written down before.
///
/// # Errors
/// As [`pay`], and where the name is not new.
pub(crate) fn pay_as(
    ledger: &mut Ledger,
    scope: &Scope,
    plan: &[Charge],
    noise: NoiseSource,
    run: &str,
) -> Fallible<Paid> {
    plan.iter().try_for_each(Charge::check)?;
    let reservation = ledger.reserve_as(run, scope, plan, noise.is_secure())?;
    Ok(Paid::new(reservation, noise, plan.iter().cloned().collect(), Journal::default()))
}

/// Goes on with a run that was charged and stopped: the releases that it had made are read from where they were kept, and
/// the others are made with the given noise.
///
/// # Privacy
/// Nothing is charged again, and no noise is used again: `noise` must have a fresh key. See [`Ledger::resume`].
///
/// # Errors
/// When the ledger does not hold the charge, the run is complete, or more was released than was paid for.
pub fn resume(
    ledger: &mut Ledger,
    scope: &Scope,
    plan: &[Charge],
    noise: NoiseSource,
    stopped: Stopped,
) -> Fallible<Paid> {
    let Stopped { run, position, released } = stopped;
    plan.iter().try_for_each(Charge::check)?;
    let made = released.len() as u64;
    if made > plan.iter().map(Charge::count).fold(0, u64::saturating_add) {
        return Err(Error::refused("more was released than was paid for", "use the checkpoint of this run"));
    }
    let reservation = match &position {
        Some(position) => ledger.resume(scope, plan, noise.is_secure(), &run, position, made)?,
        // A ledger in memory forgets the run, and enforces nothing beyond one process.
        None => ledger.reserve(scope, plan, noise.is_secure())?,
    };
    Ok(Paid::new(reservation, noise, plan.iter().cloned().collect(), Journal::of(released)))
}

/// A paid run: gives out exactly the permits that were charged.
pub struct Paid {
    reservation: Reservation,
    pub(super) noise: Arc<NoiseSource>,
    pub(super) left: VecDeque<Charge>,
    /// Releases of the first charge for which permits were given out.
    pub(super) given: u64,
    next_release: u32,
    journal: Arc<Journal>,
}

impl Paid {
    fn new(reservation: Reservation, noise: NoiseSource, left: VecDeque<Charge>, journal: Journal) -> Self {
        let (noise, journal) = (Arc::new(noise), Arc::new(journal));
        Paid { reservation, noise, left, given: 0, next_release: 0, journal }
    }

    /// Hands every released value on before anything else sees it, as long as a run could go on from it.
    pub fn keep_in(&self, keep: Keep) {
        self.journal.keep_in(keep);
    }

    /// The ledger's receipt.
    pub fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    /// The run's randomness, for choices about rows.
    pub(super) fn source(&self) -> &NoiseSource {
        &self.noise
    }

    /// The next permit of the plan, for a release from all rows.
    ///
    /// # Errors
    /// When every paid release has been made, or the next one was paid for on a sample only.
    pub fn permit(&mut self) -> Fallible<Permit<L2>> {
        match self.next()? {
            (charge @ Charge::Gaussian(_), release) => Ok(Permit {
                charge,
                release,
                scope: self.reservation.scope().clone(),
                noise: Arc::clone(&self.noise),
                journal: Arc::clone(&self.journal),
                norm: PhantomData,
            }),
            (Charge::Sampled(_), _) => {
                Err(Error::refused("the next release was paid for on a sample of the rows", "use a sampled permit"))
            }
            (Charge::Objective(_), _) => Err(Error::refused(
                "the next release was paid for as noise on the gradient of an objective",
                "use an objective permit",
            )),
            (Charge::Selection(_), _) => {
                Err(Error::refused("the next release was paid for as a choice", "use a selection permit"))
            }
            (Charge::BestRun(_), _) => {
                Err(Error::refused("the next release was paid for as the best of several runs", "make those runs"))
            }
            (Charge::Stable(_), _) => {
                Err(Error::refused("the next release was paid for as one of what is stable", "use a stable permit"))
            }
        }
    }

    /// The next permit of the plan, for minimising an objective with noise on its gradient.
    ///
    /// # Errors
    /// When every paid release has been made, or the next one is not of this kind.
    pub fn objective_permit(&mut self) -> Fallible<ObjectivePermit> {
        match self.next()? {
            (Charge::Objective(event), release) => {
                let (scope, noise) = (self.reservation.scope().clone(), Arc::clone(&self.noise));
                Ok(ObjectivePermit { event, release, scope, noise })
            }
            _ => Err(Error::refused("the next release was not paid for as an objective", "use the permit of its kind")),
        }
    }

    /// The next permit of the plan, for a release of what is stable.
    ///
    /// # Errors
    /// When every paid release has been made, or the next one is not of this kind.
    pub fn stable_permit(&mut self) -> Fallible<StablePermit> {
        match self.next()? {
            (Charge::Stable(event), release) => {
                let (scope, noise) = (self.reservation.scope().clone(), Arc::clone(&self.noise));
                Ok(StablePermit { event, release, scope, noise })
            }
            _ => Err(Error::refused("the next release was not paid for as stable", "use the permit of its kind")),
        }
    }

    /// The next permit of the plan, for a choice among candidates.
    ///
    /// # Errors
    /// When every paid release has been made, or the next one is not of this kind.
    pub fn selection_permit(&mut self) -> Fallible<Permit<Range>> {
        match self.next()? {
            (charge @ Charge::Selection(_), release) => {
                let (scope, noise) = (self.reservation.scope().clone(), Arc::clone(&self.noise));
                let journal = Arc::clone(&self.journal);
                Ok(Permit { charge, release, scope, noise, journal, norm: PhantomData })
            }
            _ => Err(Error::refused("the next release was not paid for as a choice", "use the permit of its kind")),
        }
    }

    /// The next permit of the plan, for a release from a fresh Poisson sample.
    ///
    /// # Errors
    /// When every paid release has been made, or the next one is not of this kind.
    pub fn sampled_permit(&mut self) -> Fallible<SampledPermit> {
        match self.next()? {
            (Charge::Sampled(event), release) => Ok(SampledPermit {
                event,
                release,
                scope: self.reservation.scope().clone(),
                noise: Arc::clone(&self.noise),
                journal: Arc::clone(&self.journal),
            }),
            _ => Err(Error::refused("the next release was paid for on all rows", "use the permit of its kind")),
        }
    }

    /// The next release that was paid for, with its number; it counts as used from here on.
    pub(super) fn next(&mut self) -> Fallible<(Charge, u32)> {
        while self.left.front().is_some_and(|charge| charge.count() <= self.given) {
            self.left.pop_front();
            self.given = 0;
        }
        let Some(charge) = self.left.front() else {
            return Err(Error::refused("every paid release of this run was made", "pay for another run"));
        };
        // A stream of noise is named by its release number, so a number is never given out twice.
        let release = self.next_release;
        self.next_release = release
            .checked_add(1)
            .ok_or_else(|| Error::refused("more than 2^32 releases in one run", "use fewer steps"))?;
        self.given += 1;
        Ok((charge.single(), release))
    }
}
