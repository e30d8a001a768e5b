//! Charging a plan, or going on with one that was charged, and handing out its permits in order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::journal::{Journal, Keep, Stopped};
use super::permit::DrawnPass;
use super::{Mechanism, Permit};
use crate::error::{Error, Fallible};
use crate::ledger::{Ledger, Reservation};
use crate::noise::NoiseSource;
use crate::privacy::{Charge, Scope};
use crate::private::PrivateDataset;

/// Charges the whole plan and returns the right to its releases, in order.
///
/// # Privacy
/// The charge is durable before this returns and before any noise is drawn; a crash afterwards counts
/// as spent.
///
/// # Errors
/// When the ledger refuses or cannot record the charge, or the plan has a malformed event.
pub fn charge_run<C: Clone + Into<Charge>>(
    ledger: &mut Ledger,
    scope: &Scope,
    plan: &[C],
    noise: NoiseSource,
) -> Fallible<ChargedRun> {
    let left: VecDeque<Charge> = plan.iter().cloned().map(Into::into).collect();
    left.iter().try_for_each(Charge::check)?;
    let reservation = ledger.reserve(scope, plan, noise.is_secure())?;
    Ok(ChargedRun::new(reservation, noise, left, Journal::default()))
}

/// Charges the whole cost of a run whose name was drawn and written down before.
///
/// # Errors
/// When the ledger refuses or cannot record the charge, the plan has a malformed event, or the name is not new.
pub(crate) fn charge_run_as(
    ledger: &mut Ledger,
    scope: &Scope,
    plan: &[Charge],
    noise: NoiseSource,
    run: &str,
) -> Fallible<ChargedRun> {
    plan.iter().try_for_each(Charge::check)?;
    let reservation = ledger.reserve_as(run, scope, plan, noise.is_secure())?;
    Ok(ChargedRun::new(reservation, noise, plan.iter().cloned().collect(), Journal::default()))
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
) -> Fallible<ChargedRun> {
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
    Ok(ChargedRun::new(reservation, noise, plan.iter().cloned().collect(), Journal::of(released)))
}

/// A charged run: gives out exactly the permits that were paid for.
///
/// An optimizer gets it as a [`super::LoggedRun`], which has no permits, so that none of its releases goes unheard.
pub struct ChargedRun {
    reservation: Reservation,
    pub(in crate::private) noise: Arc<NoiseSource>,
    pub(in crate::private) left: VecDeque<Charge>,
    /// Releases of the first charge for which permits were given out.
    pub(in crate::private) given: u64,
    next_release: u32,
    /// What tells it from the other runs of this process.
    number: u64,
    journal: Arc<Journal>,
    /// What rows drew for the pass that is being made.
    pass: Arc<Mutex<Option<DrawnPass>>>,
}

/// The number of the next run.
static NUMBER: AtomicU64 = AtomicU64::new(0);

impl ChargedRun {
    fn new(reservation: Reservation, noise: NoiseSource, left: VecDeque<Charge>, journal: Journal) -> Self {
        let (noise, journal) = (Arc::new(noise), Arc::new(journal));
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        ChargedRun { reservation, noise, left, given: 0, next_release: 0, number, journal, pass: Arc::default() }
    }

    /// Hands every released value on before anything else sees it, as long as a run could go on from it.
    pub fn keep_in(&self, keep: Keep) {
        self.journal.keep_in(keep);
    }

    /// The ledger's receipt.
    pub fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    /// Gives rows to this run.
    ///
    /// # Privacy
    /// From here on no other run can open what they answer, be it charged to whatever ledger: an optimizer that gets them with a run to
    /// release by cannot go round it.
    pub(crate) fn take_over(&self, data: PrivateDataset) -> PrivateDataset {
        data.bound_to(self.number)
    }

    /// The run's randomness, for choices about rows.
    pub(in crate::private) fn source(&self) -> &NoiseSource {
        &self.noise
    }

    /// The next permit of the plan, which is used up from here on.
    ///
    /// # Errors
    /// When every paid release has been made, or the next one was paid for by another mechanism.
    pub fn permit<M: Mechanism>(&mut self) -> Fallible<Permit<M>> {
        let (charge, release, index) = self.next()?;
        let (noise, journal, pass) = (Arc::clone(&self.noise), Arc::clone(&self.journal), Arc::clone(&self.pass));
        let (event, scope) = (M::of(charge)?, self.reservation.scope().clone());
        Ok(Permit { event, release, index, asked: None, scope, run: self.number, noise, journal, pass })
    }

    /// The charge of the next release, and whether others of the same charge were made before it; `None` where all were made.
    pub(in crate::private) fn upcoming(&mut self) -> Option<(&Charge, bool)> {
        while self.left.front().is_some_and(|charge| charge.count() <= self.given) {
            self.left.pop_front();
            self.given = 0;
        }
        self.left.front().map(|charge| (charge, self.given > 0))
    }

    /// The first release that was paid for and not made, in words.
    pub(super) fn missing(&mut self) -> Option<String> {
        self.upcoming()?;
        let charge = self.left.front()?;
        Some(format!("release {} of {} of \"{}\"", self.given + 1, charge.count(), charge.what()))
    }

    /// Lets `run` have the releases of the next `charges` charges and no others; those that it does not make are used up.
    ///
    /// # Errors
    /// When fewer are left, and those of `run`.
    pub(crate) fn part<T>(&mut self, charges: usize, run: impl FnOnce(&mut ChargedRun) -> Fallible<T>) -> Fallible<T> {
        if self.upcoming().is_some_and(|(_, begun)| begun) || self.left.len() < charges {
            return Err(Error::refused("so many releases of this run are not left", "pay for another run"));
        }
        let rest = self.left.split_off(charges);
        let made = run(self);
        (self.left, self.given) = (rest, 0);
        made
    }

    /// The next release that was paid for, with its number in the run and in its charge; it counts as used from here on.
    fn next(&mut self) -> Fallible<(Charge, u32, u64)> {
        let Some((charge, _)) = self.upcoming() else {
            return Err(Error::refused("every paid release of this run was made", "pay for another run"));
        };
        let single = charge.single();
        // A stream of noise is named by its release number, so a number is never given out twice.
        let release = self.next_release;
        self.next_release = release
            .checked_add(1)
            .ok_or_else(|| Error::refused("more than 2^32 releases in one run", "use fewer steps"))?;
        self.given += 1;
        Ok((single, release, self.given - 1))
    }
}
