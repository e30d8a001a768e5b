//! Paying for a plan, and opening one sensitive value per paid release.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

use super::Sensitive;
use crate::error::{Error, Fallible};
use crate::ledger::{Ledger, Reservation};
use crate::noise::{NoiseSource, integer_noise};
use crate::privacy::{GaussianEvent, L2, Norm, Scope, Sensitivity};

/// Charges the whole plan and returns the right to its releases, in order.
///
/// # Privacy
/// The charge is durable before this returns and before any noise is drawn; a crash afterwards counts
/// as spent.
///
/// # Errors
/// When the ledger refuses or cannot record the charge, or the plan has a malformed event.
pub fn pay(ledger: &mut Ledger, scope: &Scope, plan: &[GaussianEvent], noise: NoiseSource) -> Fallible<Paid> {
    plan.iter().try_for_each(GaussianEvent::check)?;
    let reservation = ledger.reserve(scope, plan, noise.is_secure())?;
    Ok(Paid { reservation, noise: Arc::new(noise), left: plan.to_vec().into(), next_release: 0 })
}

/// A paid run: gives out exactly the permits that were charged.
pub struct Paid {
    reservation: Reservation,
    noise: Arc<NoiseSource>,
    left: VecDeque<GaussianEvent>,
    next_release: u32,
}

impl Paid {
    /// The ledger's receipt.
    pub fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    /// The next permit of the plan.
    ///
    /// # Errors
    /// When every paid release has been made.
    pub fn permit(&mut self) -> Fallible<Permit<L2>> {
        while self.left.front().is_some_and(|event| event.count == 0) {
            self.left.pop_front();
        }
        let Some(event) = self.left.front_mut() else {
            return Err(Error::refused("every paid release of this run was made", "pay for another run"));
        };
        event.count -= 1;
        let single = GaussianEvent { count: 1, ..event.clone() };
        // A stream of noise is named by its release number, so a number is never given out twice.
        let release = self.next_release;
        self.next_release = release
            .checked_add(1)
            .ok_or_else(|| Error::refused("more than 2^32 releases in one run", "use fewer steps"))?;
        Ok(Permit {
            event: single,
            release,
            scope: self.reservation.scope().clone(),
            noise: Arc::clone(&self.noise),
            norm: PhantomData,
        })
    }
}

/// The right to one release with the noise that was paid for; using it consumes it.
///
/// ```compile_fail,E0382
/// # use rhograd::{privacy::L2, private::{Permit, Sensitive}};
/// fn twice(permit: Permit<L2>, a: Sensitive<L2>, b: Sensitive<L2>) {
///     let _ = permit.release(a);
///     let _ = permit.release(b); // permit was moved
/// }
/// ```
#[must_use = "the release is paid for; dropping the permit wastes it"]
pub struct Permit<N: Norm> {
    pub(super) event: GaussianEvent,
    pub(super) release: u32,
    scope: Scope,
    pub(super) noise: Arc<NoiseSource>,
    norm: PhantomData<N>,
}

impl Permit<L2> {
    /// What this permit pays for.
    pub fn event(&self) -> &GaussianEvent {
        &self.event
    }

    /// Refuses what this permit does not pay for; both sides are public.
    pub(super) fn check(&self, scope: &Scope, sensitivity: &Sensitivity<L2>) -> Fallible<()> {
        if *scope != self.scope {
            return Err(Error::refused("the permit was paid for another data set or relation", "pay for this one"));
        }
        if !Sensitivity::new(self.event.sensitivity).covers(sensitivity) {
            return Err(Error::refused(
                format!(
                    "the query moves by {} grid steps, {} were paid for",
                    sensitivity.grid(),
                    self.event.sensitivity
                ),
                "plan with the query's own sensitivity",
            ));
        }
        Ok(())
    }

    /// Adds the noise that was paid for and opens the value.
    ///
    /// # Privacy
    /// zCDP with `rho = sensitivity^2 / 2^(2 log2_scale + 1)` under the scope's adjacency
    /// (Bun and Steinke 2016, Proposition 1.6; Canonne, Kamath, Steinke 2020, Theorem 14).
    ///
    /// # Errors
    /// When the value belongs to another scope or moves further than was paid for. Both depend on
    /// public parameters alone.
    pub fn release(self, query: Sensitive<L2>) -> Fallible<Released> {
        self.check(&query.scope, &query.sensitivity)?;
        let noise =
            integer_noise(self.event.noise, self.event.log2_scale, query.values.len(), &self.noise, self.release)?;
        let values = query.values.iter().zip(noise).map(|(&sum, noise)| sum + i128::from(noise)).collect();
        Ok(Released { values, event: self.event })
    }
}

/// A noised value; free to read, store, print and compute with.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    pub(super) values: Vec<i128>,
    pub(super) event: GaussianEvent,
}

impl Released {
    /// The integers, in grid steps.
    pub fn values(&self) -> &[i128] {
        &self.values
    }

    /// What was paid for them.
    pub fn event(&self) -> &GaussianEvent {
        &self.event
    }
}
