//! The two runs of a draft.

use serde_json::json;

use super::domain::{Domain, DomainPlan};
use super::request::DraftRequest;
use super::roles::Roles;
use crate::accounting::claim;
use crate::accounting::notion::{ApproximateZcdp, Zcdp};
use crate::accounting::zcdp;
use crate::data::{LedgerPlace, SchemaRelease};
use crate::error::{Error, Fallible};
use crate::ledger::Ledger;
use crate::noise::NoiseSource;
use crate::num::round::decimal_up;
use crate::optim::{KindsPlan, Planned};
use crate::privacy::{Charge, Delta, Rho, Scope, total_delta, total_rho};
use crate::private::{ChargedRun, LoggedRun, PrivateCells, Release};
use crate::train::{Asked, Budget, Checkpoint, default_delta, sha256_hex};

/// Share of rho for the number of rows and the kinds of columns.
const KINDS_SHARE: f64 = 0.1;

/// Share of delta for thresholds.
const THRESHOLD_SHARE: f64 = 0.1;

/// Significant digits of upward-rounded numbers.
const DIGITS: u32 = 7;

/// What a draft may cost.
pub(super) struct Allowance {
    pub(super) rho: Rho,
    pub(super) delta: Delta,
    /// Failure probability of all thresholds.
    pub(super) fails: f64,
}

impl Allowance {
    /// The largest rho that meets a budget with a part of delta kept for thresholds.
    pub(super) fn of(budget: &Budget) -> Fallible<Self> {
        budget.check()?;
        let (Budget::Epsilon(_, delta) | Budget::Rho(_, delta)) = budget;
        let delta = delta.map_or_else(|| default_delta(None), Ok)?;
        let fails = delta.value() * THRESHOLD_SHARE;
        let rho = match budget {
            Budget::Rho(rho, _) => rho.clone(),
            Budget::Epsilon(epsilon, _) => {
                let failing = ApproximateZcdp::new(fails.ln().next_up().min(0.0), Zcdp::new(0.0, 0.0)?)?;
                let left = failing.remaining_delta(delta);
                let left = left.ok_or_else(|| Error::numerical("delta", "thresholds leave nothing of it"))?;
                Rho::from_f64(zcdp::max_rho_optimal(0.0, *epsilon, left)?)?
            }
        };
        Ok(Allowance { rho, delta, fails })
    }

    /// Refuses before the first charge what the second would be refused for.
    pub(super) fn check(&self, ledger: &mut Ledger, scope: &Scope) -> Fallible<()> {
        // Choices and thresholds are no Gaussian noise on all rows.
        ledger.affords(scope, &self.rho, self.fails, false)
    }
}

/// A draft under way.
pub(super) struct Draft<'a> {
    pub(super) cells: PrivateCells,
    pub(super) request: &'a DraftRequest,
    /// Where releases are kept, and the digest of what must be the same when the draft goes on.
    pub(super) keep: (&'a Checkpoint, String),
    pub(super) allowance: Allowance,
    pub(super) roles: Roles,
    pub(super) runs: Vec<ChargedRun>,
    pub(super) charges: Vec<Charge>,
    pub(super) secret: bool,
}

impl Draft<'_> {
    fn pay(
        &mut self,
        plan: &[Planned],
        ledger: &mut Ledger,
        noise: &mut dyn FnMut() -> Fallible<NoiseSource>,
    ) -> Fallible<ChargedRun> {
        let charges: Vec<Charge> = plan.iter().map(|planned| planned.charge.clone()).collect();
        self.charges.extend(charges.iter().cloned());
        if total_rho(&self.charges)? > self.allowance.rho {
            return Err(Error::numerical("plan", "its exact cost exceeds the budget"));
        }
        let noise = noise()?;
        self.secret &= noise.is_secure();
        let (checkpoint, work) = &self.keep;
        let asked = Asked {
            request: request_digest(self.request),
            work: work.clone(),
            budget: self.request.budget.in_words(),
            scope: self.cells.scope(),
            keeps: true,
        };
        checkpoint.pay(self.runs.len(), &asked, &charges, ledger, noise)
    }

    /// The first run: the number of rows, and the kinds of columns that are not declared.
    pub(super) fn kinds(
        &mut self,
        ledger: &mut Ledger,
        noise: &mut dyn FnMut() -> Fallible<NoiseSource>,
    ) -> Fallible<f64> {
        let known = self.cells.public_len()?;
        let undecided = self.roles.undecided();
        let mut rows = known.map_or(0.0, |rows| rows as f64);
        if known.is_none() || !undecided.is_empty() {
            let rho = self.allowance.rho.lower() * KINDS_SHARE;
            let plan = KindsPlan::new(undecided, known.is_none(), self.request.adjacency, rho)?;
            let mut run = self.pay(&[plan.planned()], ledger, noise)?;
            let seen = unheard(&mut run, |run| plan.run(&self.cells, run))?;
            self.runs.push(run);
            rows = seen.rows.unwrap_or(rows).max(1.0);
            self.roles.decide(&seen, rows);
        }
        Ok(rows)
    }

    /// The second run: intervals and values, with what is left.
    pub(super) fn domain(
        &mut self,
        rows: f64,
        ledger: &mut Ledger,
        noise: &mut dyn FnMut() -> Fallible<NoiseSource>,
    ) -> Fallible<Domain> {
        let left = self.allowance.rho.minus(&total_rho(&self.charges)?).lower();
        let budget = (left, self.allowance.fails);
        let plan = DomainPlan::new(&self.roles, self.request.task, self.request.adjacency, budget)?;
        let mut run = self.pay(&plan.planned(), ledger, noise)?;
        let domain = unheard(&mut run, |run| plan.run(&self.cells, rows, run))?;
        self.runs.push(run);
        Ok(domain)
    }

    /// What all of it costs, and where it stands.
    ///
    /// The second run follows from what the first released, so what holds for both together is the cost that was fixed
    /// before, not the one that came about.
    ///
    /// Reference: Rogers, Roth, Ullman and Vadhan 2016 (filters and odometers).
    pub(super) fn release(&self, ledger: &Ledger) -> Fallible<SchemaRelease> {
        let (rho, fails) = match self.runs.len() {
            0 | 1 => (total_rho(&self.charges)?, total_delta(&self.charges)),
            _ => (self.allowance.rho.clone(), total_delta(&self.charges).max(self.allowance.fails)),
        };
        let together = claim::approximate_of(&rho, fails)?;
        let epsilon = decimal_up(together.to_epsilon_optimal(self.allowance.delta)?.value(), DIGITS);
        let rho = rho.as_dyadic().to_decimal_up(DIGITS);
        let delta = decimal_up(self.allowance.delta.value(), DIGITS);
        let approximate_delta = decimal_up(fails, DIGITS);
        let place = |run: &ChargedRun| {
            let position = run.reservation().position().filter(|_| ledger.path().is_some())?;
            Some(LedgerPlace { sequence: position.sequence, hash: position.hash.clone() })
        };
        let ledger = self.runs.iter().filter_map(place).collect();
        let Scope { adjacency, unit, .. } = self.cells.scope().clone();
        let mut release =
            SchemaRelease { statement: String::new(), adjacency, unit, rho, approximate_delta, epsilon, delta, ledger };
        release.statement = release.sentence();
        Ok(release)
    }
}

/// Makes the releases of a run that keeps no log: a schema says all of them.
fn unheard<T>(run: &mut ChargedRun, make: impl FnOnce(&mut LoggedRun<'_>) -> Fallible<T>) -> Fallible<T> {
    let mut nobody = |_: &Release<'_>| Ok(());
    let mut logged = run.logged(&mut nobody);
    let made = make(&mut logged)?;
    logged.finish()?;
    Ok(made)
}

pub(super) fn request_digest(request: &DraftRequest) -> String {
    sha256_hex(json!(request).to_string().as_bytes())
}
