//! A charged run as an optimizer gets it: a release is one call, heard by a listener and recorded.

use super::{ChargedRun, Mechanism, Permit, Released};
use crate::error::{Error, Fallible};
use crate::privacy::{
    ExponentialCharge, GaussianCharge, L1, L2, LaplaceCharge, Range, SparseVectorCharge, ThresholdCharge,
};
use crate::private::query::BestRun;
use crate::private::{ColumnValues, CountsAbove, Planned, Query, Sensitive, StableMedian};

/// What a listener hears of a release: public and released values only.
#[derive(Debug)]
pub struct Release<'a> {
    /// The value.
    pub released: &'a Released,
    /// What was asked.
    pub query: &'a Query,
    /// What one grid step stands for in the reader's units.
    pub grid_step: f64,
}

/// Hears of each release as it is made.
pub type Listener<'a> = dyn FnMut(&Release<'_>) -> Fallible<()> + 'a;

/// Makes the releases of one candidate: its number and its run in, its score (larger is better) and result out.
pub type LoggedCandidate<'a, T> = dyn FnMut(usize, &mut LoggedRun<'_>) -> Fallible<(f64, T)> + 'a;

/// A kind of release as it was made: what the statement records.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleaseRecord {
    /// What was planned.
    pub planned: Planned,
    /// What one grid step stood for in the reader's units.
    pub grid_step: f64,
}

/// The releases of a charged run, each made, heard and recorded by one call.
///
/// # Privacy
/// It opens what the run was charged for, in the order of the plan, and hands out no permit. So nothing is released without its
/// line in the log and its place in the statement, and both say what the ledger says: each value answers the query that is
/// recorded, at its own sensitivity, and a run that ends before all releases were made has no record.
pub struct LoggedRun<'a> {
    run: &'a mut ChargedRun,
    listener: &'a mut Listener<'a>,
    records: Vec<ReleaseRecord>,
    /// Whether a release was begun and not heard to its end.
    broken: bool,
}

impl ChargedRun {
    /// The run with somebody who hears of every release.
    pub fn logged<'a>(&'a mut self, listener: &'a mut Listener<'_>) -> LoggedRun<'a> {
        LoggedRun { run: self, listener, records: Vec::new(), broken: false }
    }
}

impl LoggedRun<'_> {
    /// Releases a value of all rows with the noise that was paid for; it is computed only if the run had not released it
    /// before it was stopped.
    ///
    /// `grid_step` is what one integer of it stands for in the reader's units, the same for all releases of one charge.
    ///
    /// # Privacy
    /// See [`Permit::release`].
    ///
    /// # Errors
    /// When this is not the next release of the plan, its charge pays for another sensitivity than its query's, the value answers
    /// another query, or the listener fails.
    pub fn release(
        &mut self,
        planned: &Planned,
        grid_step: f64,
        value: impl FnOnce() -> Fallible<Sensitive<L2>>,
    ) -> Fallible<Released> {
        let open = |permit: Permit<GaussianCharge>| Ok(((), permit.release_of(value)?));
        Ok(self.release_by(planned, grid_step, open)?.1)
    }

    /// Releases a value of all rows with Laplace noise; it is computed only if the run had not released it before it was stopped.
    ///
    /// # Privacy
    /// See [`Permit<LaplaceCharge>::release`](Permit::release_laplace).
    ///
    /// # Errors
    /// When this is not the next release of the plan, its charge pays for another sensitivity than its query's, the value answers
    /// another query, or the listener fails.
    pub fn release_laplace(
        &mut self,
        planned: &Planned,
        grid_step: f64,
        value: impl FnOnce() -> Fallible<Sensitive<L1>>,
    ) -> Fallible<Released> {
        let open = |permit: Permit<LaplaceCharge>| Ok(((), permit.release_laplace(value)?));
        Ok(self.release_by(planned, grid_step, open)?.1)
    }

    /// Tells which of several counts is the first that reaches a bar, if one does.
    ///
    /// # Privacy
    /// See [`Permit::first_above`].
    ///
    /// # Errors
    /// When this is not the next release of the plan, the counts answer another query or are not as many, or the listener fails.
    pub fn first_above(
        &mut self,
        planned: &Planned,
        grid_step: f64,
        counts: impl FnOnce() -> Fallible<CountsAbove>,
    ) -> Fallible<Released> {
        let open = |permit: Permit<SparseVectorCharge>| Ok(((), permit.first_above(counts)?));
        Ok(self.release_by(planned, grid_step, open)?.1)
    }

    /// Tests whether few rows could make a median jump; the released value is the noised distance, in grid steps, and what comes with it the
    /// median, still secret, or zero in its place where the test failed.
    ///
    /// # Privacy
    /// See [`Permit::test_median`].
    ///
    /// # Errors
    /// When this is not the next release of the plan, the median belongs to another query, or the listener fails.
    pub fn test_median(
        &mut self,
        planned: &Planned,
        grid_step: f64,
        median: StableMedian,
    ) -> Fallible<(Sensitive<L2>, Released)> {
        let open = |permit: Permit<ThresholdCharge>| permit.test_median(median);
        self.release_by(planned, grid_step, open)
    }

    /// Chooses a candidate by its noised score.
    ///
    /// # Privacy
    /// See [`Permit::choose`].
    ///
    /// # Errors
    /// When this is not the next release of the plan, the scores move further than was paid for, or the listener fails.
    pub fn choose(
        &mut self,
        planned: &Planned,
        grid_step: f64,
        scores: impl FnOnce() -> Fallible<Sensitive<Range>>,
    ) -> Fallible<Released> {
        let open = |permit: Permit<ExponentialCharge>| Ok(((), permit.choose_of(scores)?));
        Ok(self.release_by(planned, grid_step, open)?.1)
    }

    /// Opens the values of a column that enough rows hold, each with its noised count in grid steps.
    ///
    /// # Privacy
    /// See [`Permit::open`].
    ///
    /// # Errors
    /// When this is not the next release of the plan, the counts belong to another scope, a row counts for another number of steps than
    /// was paid for, or the listener fails.
    pub fn open(
        &mut self,
        planned: &Planned,
        grid_step: f64,
        vocabulary: ColumnValues,
    ) -> Fallible<Vec<(String, i128)>> {
        let open = |permit: Permit<ThresholdCharge>| permit.open_counts(vocabulary);
        Ok(self.release_by(planned, grid_step, open)?.0)
    }

    /// A release by any mechanism: `open` gets the permit and returns what it released, with whatever else came of it.
    ///
    /// # Errors
    /// When this is not the next release of the plan, the listener fails, or `open` fails or returns another release than its own.
    pub fn release_by<M: Mechanism, T>(
        &mut self,
        planned: &Planned,
        grid_step: f64,
        open: impl FnOnce(Permit<M>) -> Fallible<(T, Released)>,
    ) -> Fallible<(T, Released)> {
        self.begin(planned, grid_step)?;
        let mut permit = self.run.permit()?;
        permit.asked = Some(planned.query.boxed());
        let release = permit.release;
        let (other, released) = open(permit)?;
        if released.release != release {
            return Err(Error::refused("a release was returned that this permit did not make", "return its own"));
        }
        self.end(planned, grid_step, &released)?;
        Ok((other, released))
    }

    /// All releases of a charge by mechanisms that hang together: `open` gets every permit and returns what each released, in order.
    ///
    /// Nobody hears of one before all are made, and none is kept: a run that is stopped makes all of them again. So a listener shows none to
    /// anybody before the run has ended, as with every release that is not kept.
    ///
    /// # Errors
    /// When these are not the next releases of the plan, the listener fails, or `open` fails or returns other releases than their own.
    pub fn release_all_by<M: Mechanism, T>(
        &mut self,
        planned: &Planned,
        grid_step: f64,
        open: impl FnOnce(Vec<Permit<M>>) -> Fallible<(T, Vec<Released>)>,
    ) -> Fallible<T> {
        if self.run.upcoming().is_some_and(|(_, again)| again) {
            return Err(Error::refused("some releases of this charge were made before", "make all of them together"));
        }
        self.begin(planned, grid_step)?;
        let mut permits = Vec::new();
        for _ in 0..planned.charge.count() {
            let mut permit = self.run.permit()?;
            permit.asked = Some(planned.query.boxed());
            permits.push(permit);
        }
        let releases: Vec<u32> = permits.iter().map(|permit| permit.release).collect();
        let (other, released) = open(permits)?;
        if !released.iter().map(|released| released.release).eq(releases) {
            return Err(Error::refused("releases were returned that these permits did not make", "return their own"));
        }
        for released in &released {
            // Whoever ignores that one was not heard goes no further.
            self.broken = true;
            self.end(planned, grid_step, released)?;
        }
        Ok(other)
    }

    /// Runs candidates drawn at random, a secret random number of times, and releases which run was best, with its result.
    ///
    /// # Privacy
    /// See [`ChargedRun::best_run`]. Nobody hears of a run before it is known to be the best, nor how many there were. A run that
    /// ends before it made all releases of its candidate, or asked other queries, has failed, and loses to every other: the statement names them all.
    ///
    /// # Errors
    /// When this is not the next release of the plan, the listener fails, or the best run failed.
    pub fn best_run<T>(&mut self, planned: &Planned, run: &mut LoggedCandidate<'_, T>) -> Fallible<(usize, T)> {
        let Query::BestRun(BestRun { candidates }) = &planned.query else {
            return Err(Error::refused("candidates are run for no other query", "plan the best of several runs"));
        };
        self.begin(planned, 1.0)?;
        let mut unheard = |candidate: usize, permits: &mut ChargedRun| {
            let mut nobody = |_: &Release<'_>| Ok(());
            let mut own = permits.logged(&mut nobody);
            let outcome = run(candidate, &mut own)?;
            let made = own.finish()?;
            if !made.iter().map(|record| &record.planned).eq(&candidates[candidate]) {
                return Err(Error::refused(
                    "a candidate asked other queries than are recorded for it",
                    "make the releases of its plan",
                ));
            }
            Ok(outcome)
        };
        let (candidate, value, released) = self.run.best_run(candidates, &mut unheard)?;
        self.end(planned, 1.0, &released)?;
        Ok((candidate, value))
    }

    /// Every kind of release that was made, in order: all that were paid for.
    ///
    /// # Errors
    /// When a release was begun that nobody heard of, or one that was paid for was not made.
    pub fn finish(self) -> Fallible<Vec<ReleaseRecord>> {
        if self.broken {
            return Err(unheard());
        }
        match self.run.missing() {
            None => Ok(self.records),
            Some(missing) => Err(Error::refused(
                format!("the run ended before {missing} was made"),
                "make every release that is planned: the statement names them all",
            )),
        }
    }

    /// Checks that this is the next release of the plan, all by public numbers, and records its kind.
    fn begin(&mut self, planned: &Planned, grid_step: f64) -> Fallible<()> {
        if self.broken {
            return Err(unheard());
        }
        let adjacency = self.run.reservation().scope().adjacency;
        if let Some((charge, again)) = self.run.upcoming() {
            if *charge != planned.charge {
                return Err(Error::refused(
                    format!("the next release was paid for as \"{}\" with its own numbers", charge.what()),
                    "make the releases of the plan in their order",
                ));
            }
            if !again {
                planned.check(adjacency)?;
            }
            let record = ReleaseRecord { planned: planned.clone(), grid_step };
            match self.records.last() {
                Some(last) if again && *last != record => {
                    return Err(Error::refused(
                        "releases of one charge ask the same and have one grid step",
                        "plan an event of its own for each",
                    ));
                }
                Some(_) if again => (),
                _ => self.records.push(record),
            }
        }
        self.broken = true;
        Ok(())
    }

    /// Tells the listener.
    fn end(&mut self, planned: &Planned, grid_step: f64, released: &Released) -> Fallible<()> {
        (self.listener)(&Release { released, query: &planned.query, grid_step })?;
        self.broken = false;
        Ok(())
    }
}

fn unheard() -> Error {
    Error::refused("an earlier release of this run was not heard to its end", "end the run where a release fails")
}
