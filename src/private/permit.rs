//! Paying for a plan, and opening one sensitive value per paid release.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{ClippedRows, Gradient, PrivateDataset, Sensitive};
use crate::error::{Error, Fallible};
use crate::ledger::{Ledger, Reservation};
use crate::noise::{NoiseSource, integer_noise, poisson_sample};
use crate::privacy::{Charge, GaussianEvent, L2, Norm, SampledEvent, Scope, Sensitivity};

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
    Ok(Paid { reservation, noise: Arc::new(noise), left, given: 0, next_release: 0 })
}

/// A paid run: gives out exactly the permits that were charged.
pub struct Paid {
    reservation: Reservation,
    noise: Arc<NoiseSource>,
    left: VecDeque<Charge>,
    /// Releases of the first charge for which permits were given out.
    given: u64,
    next_release: u32,
}

impl Paid {
    /// The ledger's receipt.
    pub fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    /// Divides a data set by secret, independent coins: those held out with probability `1 - exp(-exponent / 2^64)`,
    /// and the rest. The same run always divides in the same way.
    pub fn hold_out(&self, data: PrivateDataset, exponent: u64) -> (PrivateDataset, PrivateDataset) {
        // No release has this number: numbers end one before it.
        let chosen = poisson_sample(exponent, data.private_len(), &self.noise, u32::MAX);
        data.divided(&chosen)
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
                norm: PhantomData,
            }),
            (Charge::Sampled(_), _) => {
                Err(Error::refused("the next release was paid for on a sample of the rows", "use a sampled permit"))
            }
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
            }),
            (Charge::Gaussian(_), _) => {
                Err(Error::refused("the next release was paid for on all rows", "use an ordinary permit"))
            }
        }
    }

    /// The next release that was paid for, with its number; it counts as used from here on.
    fn next(&mut self) -> Fallible<(Charge, u32)> {
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
    pub(super) charge: Charge,
    pub(super) release: u32,
    scope: Scope,
    pub(super) noise: Arc<NoiseSource>,
    norm: PhantomData<N>,
}

impl Permit<L2> {
    /// What this permit pays for.
    pub fn charge(&self) -> &Charge {
        &self.charge
    }

    /// Refuses what this permit does not pay for; both sides are public.
    pub(super) fn check(&self, scope: &Scope, sensitivity: &Sensitivity<L2>) -> Fallible<()> {
        check(self.charge.gaussian(), &self.scope, scope, sensitivity)
    }

    /// The noise that was paid for, for a vector of length `len`.
    pub(super) fn draw(&self, len: usize) -> Fallible<Vec<i64>> {
        let paid = self.charge.gaussian();
        integer_noise(paid.noise, paid.log2_scale, len, &self.noise, self.release)
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
        open(self.charge, self.release, &self.scope, &self.noise, query)
    }
}

/// The right to one release from a fresh Poisson sample with the noise that was paid for.
///
/// The sample is drawn here and seen by nobody: amplification by sampling needs it to be secret.
#[must_use = "the release is paid for; dropping the permit wastes it"]
pub struct SampledPermit {
    event: SampledEvent,
    release: u32,
    scope: Scope,
    noise: Arc<NoiseSource>,
}

impl SampledPermit {
    /// Draws the sample, sums the clipped gradients of its rows, adds the noise and opens the sum.
    ///
    /// # Privacy
    /// The Poisson-sampled Gaussian mechanism: every row joins on its own, by exact coins, with probability
    /// `1 - exp(-exponent / 2^64)`, whatever the other rows; the sum over the sample has the sensitivity of the clip.
    ///
    /// # Errors
    /// As [`Permit::release`].
    ///
    /// # Reference
    /// Mironov, Talwar, Zhang 2019; Zhu, Dong, Wang 2022, Theorem 11.
    pub fn release(self, rows: &ClippedRows<'_>, gradient: &Gradient<'_>) -> Fallible<Released> {
        let chosen = poisson_sample(self.event.exponent, rows.data().private_len(), &self.noise, self.release);
        let query = rows.sampled_sum(gradient, &chosen);
        open(Charge::Sampled(self.event), self.release, &self.scope, &self.noise, query)
    }
}

/// Refuses a value that was not paid for: another scope, or one that moves further.
fn check(paid: &GaussianEvent, paid_for: &Scope, scope: &Scope, sensitivity: &Sensitivity<L2>) -> Fallible<()> {
    if scope != paid_for {
        return Err(Error::refused("the permit was paid for another data set or relation", "pay for this one"));
    }
    if !Sensitivity::new(paid.sensitivity).covers(sensitivity) {
        return Err(Error::refused(
            format!("the query moves by {} grid steps, {} were paid for", sensitivity.grid(), paid.sensitivity),
            "plan with the query's own sensitivity",
        ));
    }
    Ok(())
}

/// Checks that a value may be opened for what was paid, adds the noise and opens it.
fn open(charge: Charge, release: u32, scope: &Scope, noise: &NoiseSource, query: Sensitive<L2>) -> Fallible<Released> {
    let paid = charge.gaussian();
    check(paid, scope, &query.scope, &query.sensitivity)?;
    let noise = integer_noise(paid.noise, paid.log2_scale, query.values.len(), noise, release)?;
    let values = query.values.iter().zip(noise).map(|(&sum, noise)| sum + i128::from(noise)).collect();
    Ok(Released { values, charge })
}

/// A noised value; free to read, store, print and compute with.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    pub(super) values: Vec<i128>,
    pub(super) charge: Charge,
}

impl Released {
    /// The integers, in grid steps.
    pub fn values(&self) -> &[i128] {
        &self.values
    }

    /// What was paid for them.
    pub fn charge(&self) -> &Charge {
        &self.charge
    }
}
