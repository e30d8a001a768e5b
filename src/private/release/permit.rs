//! Opening one sensitive value per paid release.

use std::sync::{Arc, Mutex, PoisonError};

use super::Mechanism;
use super::journal::Journal;
use crate::error::{Error, Fallible};
use crate::noise::{Allocation, NoiseSource, exponential_choice, integer_noise, poisson_sample};
use crate::privacy::{
    AllocatedGaussianCharge, Charge, ExponentialCharge, GaussianCharge, L2, Norm, ObjectiveCharge,
    PoissonGaussianCharge, Range, Scope, Sensitivity,
};
use crate::private::sensitive::Origin;
use crate::private::{ClippedRows, DescribeQuery, Gradient, Minimization, PrivateDataset, Sensitive};

/// The right to one release by the mechanism that was paid for; using it consumes it.
///
/// ```compile_fail,E0382
/// # use rhograd::{privacy::{GaussianCharge, L2}, private::{Permit, Sensitive}};
/// fn twice(permit: Permit<GaussianCharge>, a: Sensitive<L2>, b: Sensitive<L2>) {
///     let _ = permit.release(a);
///     let _ = permit.release(b); // permit was moved
/// }
/// ```
#[must_use = "the release is paid for; dropping the permit wastes it"]
pub struct Permit<M: Mechanism> {
    pub(in crate::private) event: M,
    pub(in crate::private) release: u32,
    /// How many releases of its charge come before it.
    pub(super) index: u64,
    /// What the release is recorded to answer; `None` where nobody records it.
    pub(super) asked: Option<Box<dyn DescribeQuery>>,
    pub(in crate::private) scope: Scope,
    /// The number of the run that it belongs to.
    pub(in crate::private) run: u64,
    pub(in crate::private) noise: Arc<NoiseSource>,
    pub(in crate::private) journal: Arc<Journal>,
    /// The pass that is being made.
    pub(super) pass: Arc<Mutex<Option<DrawnPass>>>,
}

/// What rows of a data set drew for a pass.
pub(super) struct DrawnPass {
    /// The number of its first release.
    first: u32,
    /// What tells the data set from all others.
    data: u64,
    steps: Allocation,
}

impl<M: Mechanism> Permit<M> {
    /// What this permit pays for.
    pub fn charge(&self) -> Charge {
        self.event.charge()
    }

    /// Opens values that the noise is in.
    pub(in crate::private) fn opened(self, values: Vec<i128>) -> Released {
        Released { values, charge: self.event.charge(), release: self.release }
    }

    /// Opens the values that this release had before the run was stopped, or new ones, kept before anything else sees them.
    pub(in crate::private) fn kept_or(self, values: impl FnOnce(&Self) -> Fallible<Vec<i128>>) -> Fallible<Released> {
        let values = match self.journal.released(self.release) {
            Some(values) => values,
            None => {
                let values = values(&self)?;
                self.journal.keep(self.release, &values)?;
                values
            }
        };
        Ok(self.opened(values))
    }

    /// A value with the noise that was paid for, if it may be opened for that.
    fn noised(&self, paid: &GaussianCharge, query: Sensitive<L2>) -> Fallible<Vec<i128>> {
        self.covers(paid.sensitivity, &query)?;
        let noise = integer_noise(paid.noise, paid.log2_scale, query.values.len(), &self.noise, self.release)?;
        Ok(query.values.iter().zip(noise).map(|(&sum, noise)| sum + i128::from(noise)).collect())
    }

    /// Refuses another data set or relation than was paid for, and rows that were given to another run; all of it is public.
    pub(in crate::private) fn check_origin(&self, origin: &Origin) -> Fallible<()> {
        if origin.scope != self.scope {
            return Err(Error::refused("the permit was paid for another data set or relation", "pay for this one"));
        }
        if origin.run.is_some_and(|run| run != self.run) {
            return Err(Error::refused(
                "these rows were given to another run, which alone opens what they answer",
                "plan the release in that run",
            ));
        }
        Ok(())
    }

    /// Refuses the answer to another query than the release is recorded for, or of another data set; both sides are public.
    pub(super) fn check_query(&self, origin: &Origin, query: &dyn DescribeQuery) -> Fallible<()> {
        self.check_origin(origin)?;
        if self.asked.as_ref().is_some_and(|asked| !asked.is_same(query)) {
            return Err(Error::refused(
                "the value answers another query than the release is recorded for",
                "plan the query that is asked, with the same numbers",
            ));
        }
        Ok(())
    }

    /// Refuses a value that was not paid for: the answer to another query, or one that moves further.
    pub(in crate::private) fn covers<N: Norm>(&self, paid: u64, value: &Sensitive<N>) -> Fallible<()> {
        self.check_query(&value.origin, value.query.as_ref())?;
        if !Sensitivity::new(paid).covers(&value.sensitivity) {
            return Err(Error::refused(
                format!("the query moves by {} grid steps, {paid} were paid for", value.sensitivity.grid()),
                "plan with the query's own sensitivity",
            ));
        }
        Ok(())
    }
}

impl Permit<ExponentialCharge> {
    /// Chooses a candidate by the exponential mechanism; the released value is its number and nothing else.
    ///
    /// # Privacy
    /// Epsilon-bounded range with `epsilon = sensitivity / 2^log2_scale`, hence `epsilon^2/8`-zCDP
    /// (Cesar and Rogers 2021, Lemma 3.2); sampled exactly, see [`exponential_choice`].
    ///
    /// # Errors
    /// When the scores belong to another scope, answer another query than is recorded, move further than was paid for, or are
    /// not as many. All of it depends on public parameters alone.
    pub fn choose(self, scores: Sensitive<Range>) -> Fallible<Released> {
        self.choose_of(|| Ok(scores))
    }

    /// Chooses among scores that are computed only if the run had not chosen before it was stopped.
    ///
    /// # Errors
    /// When the scores belong to another scope, move further than was paid for, or are not as many, and those of `scores`.
    pub fn choose_of(self, scores: impl FnOnce() -> Fallible<Sensitive<Range>>) -> Fallible<Released> {
        self.kept_or(|permit| {
            let (scores, paid) = (scores()?, &permit.event);
            permit.covers(paid.sensitivity, &scores)?;
            if scores.values.len() as u64 != paid.candidates {
                return Err(Error::refused(
                    "the permit was paid for another number of candidates",
                    "plan with this one",
                ));
            }
            let chosen = exponential_choice(&scores.values, paid.log2_scale, &permit.noise, permit.release)?;
            Ok(vec![chosen as i128])
        })
    }
}

impl Permit<GaussianCharge> {
    /// Refuses a query of which this permit does not pay for the answer; both sides are public.
    pub(in crate::private) fn check(&self, origin: &Origin, query: impl DescribeQuery<Norm = L2>) -> Fallible<()> {
        // Nothing of the rows is in it: an answer without a value.
        self.covers(self.event.sensitivity, &Sensitive::of(Vec::new(), query, origin))
    }

    /// The noise that was paid for, for a vector of length `len`.
    pub(in crate::private) fn draw(&self, len: usize) -> Fallible<Vec<i64>> {
        integer_noise(self.event.noise, self.event.log2_scale, len, &self.noise, self.release)
    }

    /// Adds the noise that was paid for and opens the value.
    ///
    /// # Privacy
    /// zCDP with `rho = sensitivity^2 / 2^(2 log2_scale + 1)` under the scope's adjacency
    /// (Bun and Steinke 2016, Proposition 1.6; Canonne, Kamath, Steinke 2020, Theorem 14).
    ///
    /// # Errors
    /// When the value belongs to another scope, answers another query than is recorded, or moves further than was paid for.
    /// All of it depends on public parameters alone.
    pub fn release(self, query: Sensitive<L2>) -> Fallible<Released> {
        self.release_of(|| Ok(query))
    }

    /// Adds noise to a value that is computed only if the run had not released it before it was stopped.
    ///
    /// # Errors
    /// When the value belongs to another scope or moves further than was paid for, and those of `query`.
    pub fn release_of(self, query: impl FnOnce() -> Fallible<Sensitive<L2>>) -> Fallible<Released> {
        self.kept_or(|permit| permit.noised(&permit.event, query()?))
    }
}

impl Permit<PoissonGaussianCharge> {
    /// Draws a sample of the rows, sums the clipped gradients of its rows, adds the noise and opens the sum.
    ///
    /// The sample is drawn here and seen by nobody: amplification by sampling needs it to be secret.
    ///
    /// # Privacy
    /// The Poisson-sampled Gaussian mechanism: every row joins on its own, by exact coins, with probability
    /// `1 - exp(-exponent / 2^64)`, whatever the other rows; the sum over the sample has the sensitivity of the clip.
    ///
    /// # Errors
    /// When the rows belong to another scope, or the sum moves further than was paid for.
    ///
    /// # Reference
    /// Mironov, Talwar, Zhang 2019; Zhu, Dong, Wang 2022, Theorem 11.
    pub fn release(self, rows: &ClippedRows<'_>, gradient: &Gradient<'_>) -> Fallible<Released> {
        self.kept_or(|permit| {
            let paid = &permit.event;
            let chosen = poisson_sample(paid.exponent, rows.data().private_len(), &permit.noise, permit.release);
            permit.noised(&paid.sampled, rows.sampled_sum(gradient, &chosen)?)
        })
    }
}

impl Permit<AllocatedGaussianCharge> {
    /// Sums the clipped gradients of the rows that drew this step of the pass, adds the noise and opens the sum.
    ///
    /// What rows drew is made with the first step of a pass, kept for the others and seen by nobody: amplification needs it to be secret.
    /// A run that was stopped within a pass has lost it and goes on with steps that no row joins, to the end of the pass: what is released
    /// then follows from what was released before.
    ///
    /// # Privacy
    /// Random allocation: every row joins exactly one step of each pass, which it draws evenly, whatever the other rows; the sum over the
    /// rows of a step has the sensitivity of the clip.
    ///
    /// # Errors
    /// When the rows belong to another scope, are not those of the steps before it in the pass, or the sum moves further than was paid for.
    ///
    /// # Reference
    /// Chua et al. 2024, "Balls-and-Bins sampling for DP-SGD"; Feldman and Shenfeld 2025.
    pub fn release(self, rows: &ClippedRows<'_>, gradient: &Gradient<'_>) -> Fallible<Released> {
        self.kept_or(|permit| {
            let paid = &permit.event;
            let step = (permit.index % u64::from(paid.steps_of_pass.max(1))) as u32;
            let first = permit.release - step;
            if permit.journal.released(first).is_some() {
                return permit.noised(&paid.allocated, rows.sampled_sum(gradient, &[])?);
            }
            // What a panic left behind is a whole pass or none.
            let mut pass = permit.pass.lock().unwrap_or_else(PoisonError::into_inner);
            let data = rows.data();
            let drawn = match pass.take().filter(|it| it.first == first) {
                Some(drawn) if drawn.data == data.number() => drawn,
                // A row could join a step of each of two data sets.
                Some(_) => {
                    return Err(Error::refused("the pass was begun with other rows", "use the same rows in each step"));
                }
                None if step > 0 => return Err(Error::refused("the pass was not begun", "make its first step first")),
                None => {
                    let steps = Allocation::new(paid.steps_of_pass, data.private_len(), &permit.noise, first);
                    DrawnPass { first, data: data.number(), steps }
                }
            };
            let sum = rows.sampled_sum(gradient, pass.insert(drawn).steps.step(step))?;
            permit.noised(&paid.allocated, sum)
        })
    }
}

impl Permit<ObjectiveCharge> {
    /// Draws noise for the gradient of an objective and minimises; the answer still needs an ordinary permit, which covers what the solver leaves.
    ///
    /// The second value records the charge and holds no number.
    ///
    /// # Privacy
    /// The exact minimiser for the ideal noise costs what was paid here. The answer is a function of the data and that
    /// minimiser, which determines the noise, and lies within [`crate::private::Curvature::spread`] of it on both neighbours. The
    /// noise is cut at `2^63` steps, beyond 2^13 standard deviations: of probability below `exp(-2^25)`.
    ///
    /// # Errors
    /// When the data belong to another scope, the noise is recorded as another, or gradients or curvature exceed what was paid
    /// for; public all.
    ///
    /// # Reference
    /// Kifer, Smith and Thakurta 2012; Iyengar et al. 2019, with the distance between two answers doubled; Redberg,
    /// Koskela and Wang 2023.
    pub fn solve(
        self,
        data: &PrivateDataset,
        problem: &Minimization,
        step: u64,
    ) -> Fallible<(Sensitive<L2>, Released)> {
        let perturbation = problem.perturbation(step);
        self.check_query(data.origin(), &perturbation)?;
        let moves = perturbation.sensitivity(self.scope.adjacency);
        if moves > self.event.perturbed.sensitivity || !perturbation.is_paid_by(&self.charge()) {
            return Err(Error::refused(
                "the objective is more curved or moves further than was paid for",
                "plan for it",
            ));
        }
        let paid = &self.event.perturbed;
        let dimension = data.shape().dimension();
        let noise = integer_noise(paid.noise, paid.log2_scale, dimension, &self.noise, self.release)?;
        let answer = data.perturbed_minimizer(problem, &noise, &perturbation)?;
        Ok((answer, self.opened(Vec::new())))
    }
}

/// A noised value; free to read, store, print and compute with.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    pub(in crate::private) values: Vec<i128>,
    pub(in crate::private) charge: Charge,
    /// Number of the release in its run.
    pub(in crate::private) release: u32,
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
