//! The best of several candidates by their own noised scores, everything that was looked at being paid for.

use serde_json::{Value, json};

use super::description::{AuditRecipe, Description, Losses, Needs, Relations};
use super::settings::{SETTINGS, Settings};
use super::{Fitted, HoldoutPlan, Optimizer, Planned, Problem, Start, Units};
use crate::accounting::claim;
use crate::error::{Error, Fallible};
use crate::num::root::bisect;
use crate::privacy::{Charge, Claim, PrivateSelectionCharge, Rho};
use crate::private::{LoggedRun, PrivateDataset, query};

/// Name of the setting that says what was chosen among.
pub(crate) const TUNED: &str = "tuned";

/// Share of a candidate's rho for the score that it is chosen by.
const SCORE_SHARE: f64 = 0.1;

/// Runs on average for each candidate but one, if their number is random: three in four times the best is among them.
const RUNS_PER_CANDIDATE: u64 = 3;

/// Room for the difference between bounds on epsilon computed at two places.
const SLACK: f64 = 1.0 - 1e-9;

/// Plans an optimizer for a problem of its own budget.
pub type CandidatePlanner<'a> = dyn Fn(usize, &Problem<'_>) -> Fallible<Box<dyn Optimizer>> + 'a;

/// What is known of a choice among candidates: each of them says the rest.
pub(super) static DESCRIPTION: Description = Description {
    name: "tuned",
    about: "The best of several candidates",
    releases: "those of the candidates, and their losses",
    reference: "Papernot and Steinke 2022",
    relations: Relations::Both,
    losses: Losses::Any,
    settings: SETTINGS,
    needs: Needs::NOTHING,
    plan: |_| Err(Error::parameter("algorithm", "has no planner of its own", "use `tune`")),
    audit: |_| AuditRecipe { one_run: Some("has releases of any kind"), ..AuditRecipe::with(Settings::NONE) },
};

/// Several candidates and how they are run.
#[derive(Debug)]
pub struct Tuned {
    names: Vec<String>,
    candidates: Vec<Box<dyn Optimizer>>,
    score: HoldoutPlan,
    runs: Runs,
}

/// How often candidates are run; see [`Tuned::plan`].
#[derive(Clone, Debug, PartialEq)]
enum Runs {
    /// Each once, and all of it is released.
    EachOnce,
    /// A secret geometric number of runs of random candidates, of which the best is released.
    Random(PrivateSelectionCharge),
}

impl Tuned {
    /// Plans a choice among candidates within the problem's budget.
    ///
    /// With `m` candidates and total `rho`: either each candidate is run once with `rho / m`, and everything is released;
    /// or candidates drawn at random are run a secret geometric number of times, `3 (m - 1)` on average, and the best run
    /// is released, for the largest `rho` per run that the bound of Papernot and Steinke leaves. Whichever leaves a run
    /// more; the second needs a budget in epsilon and noise whose Renyi divergences are known.
    ///
    /// A candidate is scored by its loss on the rows that it was trained on, with noise: private training overfits little.
    ///
    /// # Privacy
    /// The first way is a composition; the second costs what [`PrivateSelectionCharge`] says. Both adjacencies.
    ///
    /// # Errors
    /// When there is no candidate, or one cannot be planned, or its cost is no rho.
    ///
    /// # Reference
    /// Liu and Talwar 2019; Papernot and Steinke 2022, Theorem 2.
    pub fn plan(problem: &Problem<'_>, names: Vec<String>, planner: &CandidatePlanner<'_>) -> Fallible<Self> {
        let once = problem.budget.lower() / names.len().max(1) as f64;
        let random = random_runs(problem, names.len() as u64)?.filter(|event| event.rho > once);
        let (rho, runs) = match random {
            Some(event) => (event.rho, Runs::Random(event)),
            None => (once, Runs::EachOnce),
        };
        let score = HoldoutPlan::new(problem.loss, problem.adjacency, SCORE_SHARE * rho, problem.noise)?
            .called("score of a candidate");
        let own = Rho::from_f64(rho * SLACK)?.minus(&score.release.rho());
        let problem = Problem { budget: own, target: None, ..problem.clone() };
        let plan = |(index, name): (usize, &String)| {
            let candidate = planner(index, &problem).map_err(|e| of_candidate(name, e))?;
            match candidate.planned().iter().all(|planned| planned.charge.claim().is_none()) {
                true => Ok(candidate),
                false => Err(Error::parameter(
                    "--tune",
                    format!("cannot try {name}: its cost is no rho"),
                    "leave it out; full-batch algorithms can be tried",
                )),
            }
        };
        let candidates = names.iter().enumerate().map(plan).collect::<Fallible<Vec<_>>>()?;
        if candidates.is_empty() {
            return Err(Error::parameter("--tune", "names no candidate", "give at least one"));
        }
        Ok(Tuned { names, candidates, score, runs })
    }

    /// What a run of one candidate releases, its score last.
    fn run_of(&self, candidate: &dyn Optimizer) -> Vec<Planned> {
        candidate.planned().into_iter().chain([self.score.release.planned()]).collect()
    }

    /// The one release where only the best run is opened.
    fn best_run(&self, event: &PrivateSelectionCharge) -> Planned {
        let candidates = self.candidates.iter().map(|candidate| self.run_of(candidate.as_ref())).collect();
        Planned { charge: Charge::PrivateSelection(event.clone()), query: query::BestRun { candidates }.into() }
    }

    /// Runs one candidate and scores it.
    fn try_one(
        &self,
        index: usize,
        data: &PrivateDataset,
        start: &Start<'_>,
        run: &mut LoggedRun<'_>,
    ) -> Fallible<(f64, Fitted)> {
        let fitted = self.candidates[index].run(data, start, run)?;
        let units = Units { label_scale: start.label_scale, per_margin: 1.0, of_deviation: false };
        let evaluation = self.score.run(data, &fitted.weights, units, run)?;
        Ok((evaluation.score(), fitted))
    }

    fn each_once(
        &self,
        data: &PrivateDataset,
        start: &Start<'_>,
        run: &mut LoggedRun<'_>,
    ) -> Fallible<(usize, Fitted)> {
        let mut best: Option<(usize, f64, Fitted)> = None;
        for index in 0..self.candidates.len() {
            let (score, fitted) = self.try_one(index, data, start, run)?;
            if best.as_ref().is_none_or(|(_, most, _)| score > *most) {
                best = Some((index, score, fitted));
            }
        }
        let (index, _, fitted) = best.ok_or_else(|| Error::numerical("training", "no candidate was run"))?;
        Ok((index, fitted))
    }

    fn settings(&self, chosen: usize) -> Value {
        let runs = match &self.runs {
            Runs::EachOnce => json!("each once, all released"),
            Runs::Random(event) => json!(format!(
                "a secret geometric number of random ones, {:.0} on average; the best is released",
                1.0 / event.stop_probability()
            )),
        };
        json!({ "candidates": self.names, "chosen": self.names[chosen], "runs": runs })
    }
}

impl Optimizer for Tuned {
    fn planned(&self) -> Vec<Planned> {
        match &self.runs {
            Runs::EachOnce => self.candidates.iter().flat_map(|candidate| self.run_of(candidate.as_ref())).collect(),
            Runs::Random(event) => vec![self.best_run(event)],
        }
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let (chosen, mut fitted) = match &self.runs {
            Runs::EachOnce => self.each_once(data, start, run)?,
            Runs::Random(event) => {
                run.best_run(&self.best_run(event), &mut |index, run| self.try_one(index, data, start, run))?
            }
        };
        // They hold for a model that was not chosen for its score.
        fitted.standard_errors = None;
        fitted.settings.insert(TUNED.into(), self.settings(chosen));
        Ok(fitted)
    }
}

/// Random runs of the largest rho each, where the budget is an epsilon and a bound is known.
fn random_runs(problem: &Problem<'_>, candidates: u64) -> Fallible<Option<PrivateSelectionCharge>> {
    let Some(target) = &problem.target else { return Ok(None) };
    if candidates < 2 {
        return Ok(None);
    }
    let stop = ((1u64 << 32) / (RUNS_PER_CANDIDATE * (candidates - 1))) as u32;
    let unclaimed = Claim { epsilon: 1.0, delta: target.delta.value(), rho: 1.0 };
    let event = |rho: f64| PrivateSelectionCharge { what: "best of several runs".into(), rho, stop, claim: unclaimed };
    let keeps = |rho: f64| {
        let own = [Charge::PrivateSelection(event(rho))];
        let charges: Vec<Charge> = target.before.iter().cloned().chain(own).collect();
        claim::epsilon(&charges, problem.adjacency, target.delta, target.epsilon.value())
            .is_ok_and(|epsilon| epsilon <= target.epsilon.value() * SLACK)
    };
    // The whole budget in one run cannot hold with others beside it; next to nothing does unless nothing is known.
    let bracket = bisect(problem.budget.lower(), 1e-12, 1e-6, |rho| Some(keeps(rho)));
    bracket.map(|found| claim::make_best_run(event(found.holds), problem.adjacency, target.delta)).transpose()
}

/// An error of a candidate that names it.
fn of_candidate(name: &str, error: Error) -> Error {
    Error::parameter("--tune", format!("cannot try {name}: {error}"), "leave this candidate out")
}
