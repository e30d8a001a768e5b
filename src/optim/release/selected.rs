//! The integer grid of choices by the exponential mechanism.

use crate::accounting::{Conversion, claim};
use crate::error::{Error, Fallible};
use crate::optim::{Planned, Problem};
use crate::privacy::{Adjacency, Charge, ExponentialCharge, MAX_LOG2_SCALE, Rho, total_rho};
use crate::private::Query;

/// Up to so many choices, each counted as a pure mechanism may be cheaper than all counted by rho.
const FEW: u64 = 16;

/// What is to be chosen, apart from how exactly.
#[derive(Clone, Copy, Debug)]
pub(in crate::optim) struct Choice {
    pub what: &'static str,
    pub adjacency: Adjacency,
    pub count: u64,
    /// Largest number of steps of a row's score.
    pub largest: u64,
    /// What is asked of the rows when a row's score has so many steps.
    pub query: fn(steps: u64, candidates: u64) -> Query,
    pub candidates: u64,
}

/// Choices with all public numbers fixed.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::optim) struct ChoicePlan {
    pub event: ExponentialCharge,
    pub query: Query,
    /// Steps of a row's score.
    pub steps: u64,
}

impl Choice {
    /// The finest grid on which one choice has at most the given epsilon.
    fn at(&self, epsilon: f64) -> ChoicePlan {
        let range = |steps: u64| (self.query)(steps, self.candidates).sensitivity(self.adjacency);
        let finest = (range(self.largest) as f64 / epsilon).log2().floor();
        let log2_scale = finest.clamp(0.0, f64::from(MAX_LOG2_SCALE)) as u32;
        let wanted = epsilon * 2f64.powi(log2_scale as i32) / range(1) as f64;
        let steps = (wanted.floor() as u64).min(self.largest);
        let query = (self.query)(steps, self.candidates);
        let sensitivity = query.sensitivity(self.adjacency);
        let (what, candidates, count) = (self.what.into(), self.candidates, self.count);
        ChoicePlan { event: ExponentialCharge { what, sensitivity, log2_scale, candidates, count }, query, steps }
    }

    /// The most telling choices that a rho allows.
    ///
    /// `epsilon^2/8` each adds up to it (Cesar and Rogers 2021, Lemma 3.2).
    pub fn with_rho(&self, rho: f64) -> ChoicePlan {
        self.at((8.0 * rho / self.count as f64).sqrt() * (1.0 - 1e-12))
    }

    /// The most telling choices that the budget allows.
    ///
    /// With `--rho`: `epsilon^2/8` each adds up to it. With `--epsilon`: what rho of the optimal conversion leaves, or,
    /// for a few choices, the largest epsilon of each that a certified bound on everything together allows.
    ///
    /// # Errors
    /// When the budget is too small for the grid.
    pub fn plan(&self, problem: &Problem<'_>) -> Fallible<ChoicePlan> {
        let each = |rho: f64| self.with_rho(rho);
        let plan = match &problem.target {
            None => Some(each(problem.budget.lower())).filter(|plan| plan.event.rho() <= problem.budget),
            Some(target) => {
                let keeps = |plan: &ChoicePlan| {
                    let own = [Charge::Exponential(plan.event.clone())];
                    let charges: Vec<Charge> = target.before.iter().cloned().chain(own).collect();
                    plan.steps > 0
                        && claim::epsilon(&charges, self.adjacency, target.delta, target.epsilon.value())
                            .is_ok_and(|epsilon| epsilon <= target.epsilon.value())
                };
                let whole = Rho::from_f64(Conversion::Optimal.max_rho(target.epsilon, target.delta)?)?;
                let by_rho = each(whole.minus(&total_rho(target.before)?).lower());
                let mut best = Some(by_rho).filter(|plan| keeps(plan));
                let (mut low, mut high) = (1e-9, target.epsilon.value());
                if self.count <= FEW {
                    while high / low > 1.001 {
                        let middle = (low * high).sqrt();
                        let plan = self.at(middle);
                        if keeps(&plan) {
                            low = middle;
                            best = Some(plan);
                        } else {
                            high = middle;
                        }
                    }
                }
                best
            }
        };
        plan.filter(|plan| plan.steps >= 16).ok_or_else(|| {
            Error::parameter("budget", "is too small for these choices", "use a larger epsilon or fewer --steps")
        })
    }
}

impl ChoicePlan {
    /// What to pay for.
    pub fn planned(&self) -> Planned {
        Planned { charge: Charge::Exponential(self.event.clone()), query: self.query.clone() }
    }
}
