//! The integer grid of clipped gradient sums, and the rule for the length that its clip stands for.

use crate::error::{Error, Fallible};
use crate::grid::MAX_MULTIPLIER;
use crate::loss::Objective;
use crate::optim::{Fineness, GaussianRelease, GaussianRule, Problem, Start};
use crate::privacy::{Adjacency, MAX_LOG2_SCALE, NoiseLaw, Rho};
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
        Self::to(MAX_LOG2_SCALE, one, adjacency, (budget, steps), noise)
    }

    fn to(
        finest: u32,
        one: u64,
        adjacency: Adjacency,
        (budget, steps): (&Rho, u64),
        noise: NoiseLaw,
    ) -> Fallible<Self> {
        let (factor, largest) = (adjacency.sum_sensitivity(1) as f64, (MAX_MULTIPLIER as u64).saturating_mul(one));
        let query = |clip_steps| Query::from(query::ClippedSum { clip_steps });
        let rule = GaussianRule { what: "clipped gradient sum", query: &query, adjacency, noise, count: steps };
        let wanted = Fineness { sensitivity: factor, target: largest as f64 * factor, largest, slack: 0.0 };
        let (release, clip_steps) = rule.finest_to(finest, budget, &wanted);
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
        Self::through(problem, 0, budget, steps)
    }

    /// The plan for rows seen through a map whose 1.0 is the integer `2^log2_unit`, 0 where there is no map; on a finer grid where rows
    /// have weights.
    ///
    /// # Errors
    /// When the budget is so small that a row would round to nothing.
    pub fn through(problem: &Problem<'_>, log2_unit: u32, budget: &Rho, steps: u64) -> Fallible<Self> {
        let one = (u64::from(problem.one.unsigned_abs()) << log2_unit).saturating_mul(problem.finer());
        Self::to(problem.finest_grid(), one, problem.adjacency, (budget, steps), problem.noise)
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
                let relative_noise = relative_noise(row_norm, dimension, start, mu);
                row_norm * start.share.sqrt() * (factor * relative_noise.powf(-0.3)).clamp(least, most)
            }
        }
    }

    /// How many times wider than [`ClipRule::clip_norm`] the clip of a squared loss is where labels can lie far from their centre: 1 to 3.
    ///
    /// A clip cuts the slopes of labels far out, and so moves the optimum. How far out they can lie, `r` deviations, follows from public bounds and the released
    /// moments: up to 2.6 nothing changes, beyond the clip grows as `(r / 2.6)^2`, as long as its noise is worth it, `1.05 nu^(-0.2)`.
    pub fn loosening(&self, row_norm: f64, dimension: f64, start: &Start<'_>, mu: f64) -> f64 {
        let (ClipRule::ByNoise(_), Some(farthest)) = (self, start.farthest_label) else { return 1.0 };
        let worth = 1.05 * relative_noise(row_norm, dimension, start, mu).powf(-0.2);
        let wanted = (farthest / 2.6).powi(2).min(worth);
        if wanted.is_finite() { wanted.clamp(1.0, 3.0) } else { 1.0 }
    }
}

/// The noise of a mean of clipped gradients over the norm of a row.
fn relative_noise(row_norm: f64, dimension: f64, start: &Start<'_>, mu: f64) -> f64 {
    row_norm * dimension.sqrt() / (start.rows * mu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_clip_is_loosened_where_labels_can_lie_far_and_noise_allows_it() {
        let loosening = |rule: ClipRule, rows, farthest_label| {
            let start = Start { rows, share: 1.0, label_scale: 1.0, farthest_label, bins: None };
            rule.loosening(3.0, 9.0, &start, 0.1)
        };
        let measured = || ClipRule::ByNoise([0.36, 0.15, 3.0]);
        // nu = 0.0009: the noise allows more than 3.
        assert_eq!(loosening(measured(), 1e5, Some(2.6)), 1.0);
        assert!((loosening(measured(), 1e5, Some(3.9)) - 2.25).abs() < 1e-12);
        assert_eq!(loosening(measured(), 1e5, Some(6.0)), 3.0);
        // nu = 0.09: 1.05 nu^-0.2 = 1.7; at 9 it is below 1.
        assert!((loosening(measured(), 1e3, Some(6.0)) - 1.05 * 0.09f64.powf(-0.2)).abs() < 1e-12);
        assert_eq!(loosening(measured(), 10.0, Some(6.0)), 1.0);
        // What the user said, unknown labels and numbers that are none change nothing.
        assert_eq!(loosening(ClipRule::Fixed(2.0), 1e5, Some(6.0)), 1.0);
        assert_eq!(loosening(measured(), 1e5, None), 1.0);
        assert_eq!(loosening(measured(), 0.0, Some(f64::NAN)), 1.0);
    }

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
