//! One pass of noisy gradient steps over growing batches, of which only the last iterate is released.

use serde::{Deserialize, Serialize};

use super::describe::root_up;
use super::phases::{check_rows, order_of};
use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::{Error, Fallible};
use crate::grid::{LOG2_WEIGHT, MAX_WEIGHT};
use crate::kernel::{FixedStep, fixed_batch, rounding};
use crate::loss::{Curved, LOG2_SLOPE, MonotoneSlope};
use crate::privacy::{Adjacency, Charge, GaussianCharge, L2};
use crate::private::{Permit, PrivateDataset, Released};

/// Most steps of one pass.
const MAX_STEPS: u32 = 1 << 17;

/// Most integers of noise that one pass draws, all at once: 256 MiB.
const MAX_DRAWS: u64 = 1 << 25;

/// Largest shift of a step.
const MAX_SHIFT: u32 = 60;

/// The public parameters of a noisy pass, from which its sensitivity follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassPlan {
    /// Largest norm of a row's integer gradient, slope times row.
    pub lipschitz: u64,
    /// A step divides the mean gradient of its batch by `2^shift`.
    pub shift: u32,
    /// The public number of rows.
    pub rows: u64,
    /// Number of coefficients.
    pub dimension: usize,
    /// Number of steps.
    pub steps: u32,
    /// Rows of the last batch.
    pub last: u64,
}

impl PassPlan {
    /// The plan with the largest last batch for which the batches of all steps fit the rows.
    pub fn largest(lipschitz: u64, shift: u32, rows: u64, dimension: usize, steps: u32) -> Self {
        let plan = |last| PassPlan { lipschitz, shift, rows, dimension, steps, last };
        let (mut low, mut high) = (0, rows.saturating_add(1));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if plan(middle).batches().is_some() {
                low = middle;
            } else {
                high = middle;
            }
        }
        plan(low)
    }

    /// The most steps that a pass with this many coefficients can make.
    pub fn most_steps(dimension: usize) -> u32 {
        let drawn = MAX_DRAWS / (dimension as u64).max(1);
        u32::try_from(drawn).unwrap_or(u32::MAX).clamp(1, MAX_STEPS)
    }

    /// Rows of each batch in the order of the steps: `ceil(last / sqrt(j))` where `j` steps are left, and what then remains
    /// of the rows for the first. `None` if they do not fit, or there are too many steps.
    pub fn batches(&self) -> Option<Vec<u64>> {
        if self.steps == 0 || self.steps > PassPlan::most_steps(self.dimension) || self.shift > MAX_SHIFT {
            return None;
        }
        let mut left = self.rows;
        let mut batches = Vec::new();
        for j in 1..=u128::from(self.steps) {
            let square = (u128::from(self.last) * u128::from(self.last)).div_ceil(j);
            let batch = u64::try_from(root_up(square)).ok()?;
            left = left.checked_sub(batch)?;
            batches.push(batch);
        }
        if let Some(first) = batches.last_mut() {
            *first += left;
        }
        batches.reverse();
        Some(batches)
    }

    /// How far apart two runs with the same noise are after `steps` steps, if a row of the first one's batch of `batch` is
    /// replaced: `2 lipschitz / (batch 2^shift)` for the row, and the rounding of each step.
    pub(super) fn apart(&self, batch: u64, steps: u32) -> u128 {
        let reach = (u128::from(self.lipschitz) * 2).checked_shr(self.shift).unwrap_or(0);
        reach / u128::from(batch.max(1)) + 1 + u128::from(steps) * u128::from(rounding(self.dimension, self.shift))
    }

    /// The sensitivity of the one Gaussian release that costs as much as the whole pass, rounded up and saturating.
    ///
    /// For a row of the step at which `j` steps are left it is `(apart + (i - 1) sqrt(d)) / sqrt(i)` at the best `i` up to
    /// `j`, see [`Permit::one_pass`]; the largest over all steps.
    pub fn sensitivity(&self) -> u64 {
        let Some(batches) = self.batches() else { return u64::MAX };
        let of = |(batch, left): (u64, u32)| self.hidden_by(batch, left);
        let all: Option<Vec<u128>> = batches.into_iter().rev().zip(1..).map(of).collect();
        let largest = all.and_then(|all| all.into_iter().max());
        largest.and_then(|largest| u64::try_from(largest).ok()).unwrap_or(u64::MAX)
    }

    /// The sensitivity for a row of a batch of `batch` at which `left` steps are left; `None` where it is beyond all numbers.
    fn hidden_by(&self, batch: u64, left: u32) -> Option<u128> {
        // Two integers that are rounded down once each: less than one apart in each coordinate.
        let floor = self.dimension.isqrt() as u128 + 1;
        let within = |steps: u32| {
            let apart = self.apart(batch, steps) + u128::from(steps - 1) * floor;
            // Never wraps: a plan from a forged file may hold any numbers.
            Some(root_up(apart.checked_mul(apart)?.div_ceil(u128::from(steps))))
        };
        // More steps share the reach of a row and add their rounding: (r + i c)^2 / i is least at i = r / c.
        let each = self.apart(batch, 1) - self.apart(batch, 0) + floor;
        let best = u32::try_from(self.apart(batch, 0).saturating_sub(floor) / each).unwrap_or(u32::MAX);
        let best = best.clamp(1, left);
        Some(within(best)?.min(within(best.saturating_add(1).min(left))?))
    }

    /// Refuses numbers that no planner produces.
    pub(super) fn check(&self) -> Fallible<()> {
        if self.batches().is_some() {
            return Ok(());
        }
        Err(Error::parameter("pass", "has batches that do not fit its rows", "the record is damaged: restore it"))
    }
}

/// One pass of noisy steps of which the last iterate is released, see [`Permit::one_pass`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnePass {
    /// The public parameters.
    pub plan: PassPlan,
}

impl DescribeQuery for OnePass {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        match adjacency {
            // Batches have public sizes, so their plan says nothing about added or removed rows.
            Adjacency::AddRemove => u64::MAX,
            Adjacency::ReplaceOne => self.plan.sensitivity(),
        }
    }

    fn reads(&self) -> Reads {
        Reads {
            rows: RowAccess::Order { rows: self.plan.rows, dimension: self.plan.dimension },
            role: Role::Steps(u64::from(self.plan.steps)),
            clip_steps: None,
            persons: false,
            labels: false,
        }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }

    fn check(&self) -> Fallible<()> {
        self.plan.check()
    }

    fn sampling(&self, _releases: u64) -> String {
        let steps = self.plan.steps;
        format!("one pass over {steps} disjoint batches in secret order; amplified by iteration, not by the order")
    }
}

impl Permit<GaussianCharge> {
    /// Makes one pass over the rows, `W <- W - mean step + noise` batch by batch, and releases the last iterate.
    ///
    /// # Privacy
    /// Rows are told apart by their positions, in an order drawn from the run's key and from nothing else, and nothing but
    /// the last iterate leaves: a row of step `t` is hidden by the noise of that step and of all that follow. No
    /// amplification by the random order is claimed.
    ///
    /// Let `X` and `X'` be the runs on two neighbours with the same order and noise `s Z_u`, `phi_u` and `phi'_u` their steps,
    /// which differ in step `t` alone, and `F` the rounding down and the move into the box. A third run `Y` starts as `X`
    /// and from step `t` on goes `a` towards `X'` in every step: `Y_u = F(phi_u(Y) + v + s Z_u)`, with `v` the vector from
    /// `phi_u(Y)` to `phi'_u(X')` shortened to length `a`. A step moves `Y` and `X'` apart by at most [`rounding`], step `t` by
    /// `2 lipschitz / (b 2^shift)` more, `F` by at most `sqrt(d)`, and nothing does once they have met: after `i` steps with
    /// `a = (2 lipschitz / (b 2^shift) + i rounding + (i - 1) sqrt(d)) / i` they have. So `Y` ends as `X'`. It is told from `X`
    /// by `i` vectors of length `a` at most, each chosen before the noise that hides it: that is an adaptive composition
    /// of `i` Gaussian mechanisms, then post-processing. Its trade-off is no lower than that of one with
    /// `mu = sqrt(i) a / s`, and its Renyi divergences are at most `alpha mu^2 / 2`. Equal lengths make the sum of squares least.
    ///
    /// Discrete Gaussian noise hides integer vectors: a shortened `v` is rounded toward zero, which leaves at most `sqrt(d)`
    /// more, in the place of the rounding in `F`, which that noise does not need; then only the divergences are claimed.
    ///
    /// # Errors
    /// When the relation is not replace-one, the plan is for other rows, or the pass moves further than was paid for.
    ///
    /// # Reference
    /// Feldman, Mironov, Talwar, Thakurta 2018, Theorem 22 (shift reduction); Feldman, Koren, Talwar 2020 (batch sizes); Bok,
    /// Su, Altschuler 2024 (shifted interpolation, for trade-offs); Canonne, Kamath, Steinke 2020, Theorem 14.
    pub fn one_pass(self, data: &PrivateDataset, plan: PassPlan, loss: Curved, label_scale: f64) -> Fallible<Released> {
        check_rows(data, plan.rows, plan.dimension)?;
        plan.check()?;
        self.check(data.origin(), OnePass { plan })?;
        self.kept_or(|permit| permit.last_iterate(data, &plan, loss, label_scale))
    }

    fn last_iterate(
        &self,
        data: &PrivateDataset,
        plan: &PassPlan,
        loss: Curved,
        label_scale: f64,
    ) -> Fallible<Vec<i128>> {
        let slope = MonotoneSlope::new(loss, i128::from(data.one()) << LOG2_WEIGHT, label_scale);
        let step = FixedStep {
            lipschitz: plan.lipschitz,
            shift: plan.shift,
            log2_slope: LOG2_SLOPE,
            log2_smooth: loss.log2_smooth(),
        };
        let noise = self.draw(plan.dimension * plan.steps as usize)?;
        let order = order_of(plan.rows as usize, &self.noise);
        let mut rest = order.as_slice();
        let mut weights = vec![0i64; plan.dimension];
        for (batch, noise) in plan.batches().unwrap_or_default().into_iter().zip(noise.chunks(plan.dimension)) {
            let (batch, after) = rest.split_at((batch as usize).min(rest.len()));
            rest = after;
            let moved = fixed_batch(data.rows()?, batch, &weights, &step, |margin, y| slope.at(margin, y));
            for ((w, moved), noise) in weights.iter_mut().zip(moved).zip(noise) {
                let bound = i128::from(MAX_WEIGHT);
                *w = (i128::from(*w) - moved + i128::from(*noise)).clamp(-bound, bound) as i64;
            }
        }
        Ok(weights.into_iter().map(i128::from).collect())
    }
}

#[cfg(test)]
mod tests;
