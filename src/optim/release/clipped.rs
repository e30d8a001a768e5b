//! The integer grid of clipped gradient sums, and the rule for the length that its clip stands for.

use crate::error::{Error, Fallible};
use crate::grid::MAX_MULTIPLIER;
use crate::loss::Objective;
use crate::optim::{Fineness, GaussianRelease, GaussianRule, Problem, Start};
use crate::privacy::{Adjacency, NoiseLaw, Rho};
use crate::private::{Query, query};

/// The public parameters of equal clipped releases on the integer grid.
#[derive(Clone, Debug, PartialEq)]
pub struct ClippedPlan {
    /// Largest norm of a row's contribution in grid steps; stands for the clip norm.
    pub clip_steps: u64,
    /// Number of releases.
    pub steps: u64,
    /// The releases.
    pub release: GaussianRelease,
    adjacency: Adjacency,
}

impl ClippedPlan {
    /// The finest grid on which `steps` releases cost at most `budget` and multipliers stay small enough
    /// for the kernel; `one` is the norm of a feature of 1.0 in grid steps of a multiplier of 1.
    ///
    /// # Errors
    /// When the budget is so small that a row would round to nothing.
    pub fn new(one: u64, adjacency: Adjacency, budget: &Rho, steps: u64, noise: NoiseLaw) -> Fallible<Self> {
        let (factor, largest) = (adjacency.sum_sensitivity(1) as f64, (MAX_MULTIPLIER as u64).saturating_mul(one));
        let query = |clip_steps| Query::from(query::ClippedSum { clip_steps });
        let rule = GaussianRule { what: "clipped gradient sum", query: &query, adjacency, noise, count: steps };
        let wanted = Fineness { sensitivity: factor, target: largest as f64 * factor, largest, slack: 0.0 };
        let (release, clip_steps) = rule.finest(budget, &wanted);
        if clip_steps < 16 * one {
            return Err(Error::parameter(
                "budget",
                "is too small for this many steps",
                "use a larger epsilon or fewer --steps",
            ));
        }
        Ok(ClippedPlan { clip_steps, steps, release, adjacency })
    }

    /// The plan for rows as they are encoded, without a map.
    ///
    /// # Errors
    /// When the budget is so small that a row would round to nothing.
    pub(in crate::optim) fn of(problem: &Problem<'_>, budget: &Rho, steps: u64) -> Fallible<Self> {
        Self::new(problem.one.unsigned_abs().into(), problem.adjacency, budget, steps, problem.noise)
    }

    /// Clip norm over the noise of all releases together: `sqrt(2 rho)` under add-remove, half of it under replace-one.
    pub fn mu(&self) -> f64 {
        (2.0 * self.release.rho().lower()).sqrt() / self.adjacency.sum_sensitivity(1) as f64
    }
}

/// How the clip norm follows from public and released quantities.
///
/// The grid knows a clip of [`ClippedPlan::clip_steps`] steps only; which length in feature units that stands
/// for changes no cost, so it may depend on what was released before.
#[derive(Clone, Debug, PartialEq)]
pub enum ClipRule {
    /// Given by the user or by theory.
    Fixed(f64),
    /// `row_norm * clamp(factor * nu^(-0.3), least, most)`, `nu = row_norm sqrt(d) / (n mu)` the relative
    /// noise: the smaller the noise, the looser the clip. Factor, least and most in this order.
    ByNoise([f64; 3]),
}

/// A clip beyond this times the Lipschitz constant and the typical row norm would only add noise.
const BEYOND_LIPSCHITZ: f64 = 1.3;

impl ClipRule {
    /// The clip that is asked for, or that of the measured rule.
    pub(in crate::optim) fn of(problem: &Problem<'_>) -> Self {
        let measured = || ClipRule::by_noise(problem.loss.tuning().clip, problem.loss);
        problem.settings.clip.map_or_else(measured, ClipRule::Fixed)
    }

    /// [`ClipRule::ByNoise`] with constants that need not exceed what the slopes of a loss can reach.
    ///
    /// A clip below the largest slope also cuts the two sides of an asymmetric loss unevenly, so a loss may set
    /// `least` above it and get a clip that leaves rows of typical norm alone.
    pub fn by_noise([factor, least, most]: [f64; 3], loss: Objective) -> Self {
        let reached = BEYOND_LIPSCHITZ * loss.lipschitz();
        ClipRule::ByNoise([factor, least.min(reached), most.min(reached)])
    }

    /// The clip norm for rows of typical norm `row_norm` in `dimension` coordinates.
    ///
    /// `mu` is that of the plan, [`ClippedPlan::mu`].
    ///
    /// Gradients of persons are averages of `k` rows, and shorter: the clip is, too, by the root of the mean of `1 / k`. Where rows are
    /// weighed they are sums, and the clip follows the length that is typical of them.
    pub fn clip_norm(&self, row_norm: f64, dimension: f64, start: &Start<'_>, mu: f64) -> f64 {
        match *self {
            ClipRule::Fixed(norm) => norm,
            ClipRule::ByNoise([factor, least, most]) => {
                let relative_noise = row_norm * dimension.sqrt() / (start.rows * mu);
                row_norm * start.share.sqrt() * (factor * relative_noise.powf(-0.3)).clamp(least, most)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn plans_cost_at_most_their_budget(
            log_rho in -18.0f64..9.0,
            steps in 1u64..100_000,
            replace in any::<bool>(),
            one in prop::sample::select(vec![10_922u64, 16_383, 32_767, 16_383 << 10]),
        ) {
            let adjacency = if replace { Adjacency::ReplaceOne } else { Adjacency::AddRemove };
            let budget = Rho::from_f64(log_rho.exp()).unwrap();
            if let Ok(plan) = ClippedPlan::new(one, adjacency, &budget, steps, NoiseLaw::FlooredNormal) {
                let event = plan.release.event();
                prop_assert!(event.rho() <= budget);
                prop_assert!(plan.clip_steps <= MAX_MULTIPLIER as u64 * one);
                prop_assert_eq!(event.sensitivity, adjacency.sum_sensitivity(plan.clip_steps));
                // Nothing is wasted either, unless the grid or the kernel sets the limit.
                if event.log2_scale > 0 && event.log2_scale < 50 {
                    prop_assert!(event.rho().upper() > 0.9999 * budget.lower());
                }
            }
        }
    }
}
