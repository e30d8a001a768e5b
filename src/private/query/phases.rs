//! Phased gradient descent: one pass over disjoint blocks of rows, each block's mean iterate released.

use std::collections::VecDeque;

use rand::RngCore;
use serde::{Deserialize, Serialize};

use super::{DescribeQuery, Reads, Role, RowAccess};
use crate::error::{Error, Fallible};
use crate::grid::{LOG2_WEIGHT, MAX_WEIGHT};
use crate::kernel::{FixedStep, fixed_pass, rounding};
use crate::loss::{Curved, LOG2_SLOPE, MonotoneSlope};
use crate::noise::{NoiseSource, NoiseStream};
use crate::privacy::{Adjacency, Charge, GaussianCharge, L2};
use crate::private::{Permit, PrivateDataset, Released};

/// Most phases: the last uses `2^-8` of the rows at `2^-14` of the first step, and is released so much finer that its rounding,
/// too, counts so much more.
const MAX_PHASES: u32 = 8;

/// Rounding of a phase is small where it is at most this share of how far a row moves the first phase, as `1 / SMALL`.
const SMALL: u128 = 16;

/// The public parameters of phased descent, from which its sensitivity follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhasePlan {
    /// Largest norm of a row's integer gradient, slope times row.
    pub lipschitz: u64,
    /// A step of the first phase divides the gradient by `2^shift`; of each later phase by four times more.
    pub shift: u32,
    /// The public number of rows.
    pub rows: u64,
    /// Number of coefficients.
    pub dimension: usize,
    /// Most phases, at most eight, which is what files that do not say mean.
    #[serde(default = "PhasePlan::most", skip_serializing_if = "is_most")]
    pub max_phases: u32,
}

fn is_most(phases: &u32) -> bool {
    *phases == MAX_PHASES
}

impl PhasePlan {
    /// Most phases of any plan.
    pub fn most() -> u32 {
        MAX_PHASES
    }

    /// The plan with as many phases as have little rounding, at least one.
    ///
    /// A phase of `m` rows is rounded `m` times, and counts `4^phase` as much because it is released so much finer: of `n` rows the rounding of a
    /// phase is `2^phase n` units, what a row moves is `2 lipschitz / 2^shift` in every phase. Where many rows meet a short step, that rounding
    /// would be most of the sensitivity. All that it depends on is public.
    pub fn with_little_rounding(self) -> Self {
        let small = |phase: &u32| {
            self.rounded(*phase) <= (u128::from(self.lipschitz) * 2).checked_shr(self.shift).unwrap_or(0) / SMALL
        };
        let phases = (0..MAX_PHASES).take_while(small).count() as u32;
        PhasePlan { max_phases: phases.max(1), ..self }
    }

    /// Rounding of a phase in grid steps of its release, rounded up and saturating.
    fn rounded(&self, phase: u32) -> u128 {
        let shift = self.shift.saturating_add(PhasePlan::log2_finer(phase));
        let steps = (u128::from(self.block(phase)) + 2) * u128::from(rounding(self.dimension, shift));
        // Never wraps: a plan from a forged file may hold any numbers.
        steps.saturating_mul(1 << PhasePlan::log2_finer(phase))
    }

    /// Rows of phase `phase`, counted from 0: `floor(n / 2^(phase + 1))`.
    pub fn block(&self, phase: u32) -> u64 {
        self.rows.checked_shr(phase + 1).unwrap_or(0)
    }

    /// Number of phases: as many as have a row, at least one and at most `max_phases` and eight.
    pub fn phases(&self) -> u32 {
        let most = self.max_phases.clamp(1, MAX_PHASES);
        (1..most).find(|&phase| self.block(phase) == 0).unwrap_or(most)
    }

    /// What one released integer of a phase stands for: phases are released `4^phase` times finer, as their steps are.
    pub fn log2_finer(phase: u32) -> u32 {
        2 * phase
    }

    /// How far any phase's released vector moves when one row is replaced, rounded up and saturating.
    ///
    /// In a block of `m` rows the two passes agree up to the replaced row, whose steps differ by at most `2 lipschitz / 2^s`, and
    /// then only rounding drives them apart: `2 lipschitz / 2^s + (m + 2) r` with `r` from [`rounding`], the last two for the
    /// division of the sum of iterates by `m` and for the row itself. Times `4^phase` for the finer release.
    pub fn sensitivity(&self) -> u64 {
        let of = |phase: u32| {
            let shift = self.shift.saturating_add(PhasePlan::log2_finer(phase));
            let reach = (u128::from(self.lipschitz) * 2).checked_shr(shift).unwrap_or(0) + 1;
            reach.saturating_mul(1 << PhasePlan::log2_finer(phase)).saturating_add(self.rounded(phase))
        };
        let largest = (0..self.phases()).map(of).max().unwrap_or(u128::MAX);
        u64::try_from(largest).unwrap_or(u64::MAX)
    }
}

/// One pass of phased gradient descent, see [`PhasedPass`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// The public parameters.
    pub plan: PhasePlan,
}

impl DescribeQuery for Phases {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        match adjacency {
            // Blocks have public sizes, so their plan says nothing about added or removed rows.
            Adjacency::AddRemove => u64::MAX,
            Adjacency::ReplaceOne => self.plan.sensitivity(),
        }
    }

    fn reads(&self) -> Reads {
        Reads {
            rows: RowAccess::Order { rows: self.plan.rows, dimension: self.plan.dimension },
            role: Role::Steps(u64::from(self.plan.phases())),
            clip_steps: None,
            persons: false,
            labels: false,
        }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }

    fn sampling(&self, _releases: u64) -> String {
        let phases = self.plan.phases();
        format!("one pass over {phases} disjoint blocks in secret order; no amplification claimed")
    }
}

/// The phases that are left of a paid run of phased descent.
///
/// # Privacy
/// Blocks are disjoint and rows are told apart by their positions, in an order that is drawn from the run's key and from
/// nothing else: a replaced row is in one block, the same in both data sets. Its phase is a Gaussian release of sensitivity
/// [`PhasePlan::sensitivity`]; those before do not see the row, and those after see it through released values alone. So
/// all phases together cost what one costs (parallel composition), in Renyi divergence and in trade-off. The data
/// set is shuffled, but no amplification by that is claimed.
///
/// # Reference
/// Feldman, Koren, Talwar 2020, Algorithm 2 (phased SGD), with the sensitivity `2 L eta` of the mean iterate.
pub struct PhasedPass<'a> {
    rows: &'a PrivateDataset,
    blocks: VecDeque<Vec<usize>>,
    plan: PhasePlan,
    slope: MonotoneSlope,
    smooth: u32,
    noise: VecDeque<i64>,
    values: Vec<i128>,
    permit: Permit<GaussianCharge>,
    phase: u32,
}

impl Permit<GaussianCharge> {
    /// Opens one pass of phased descent over the rows.
    ///
    /// # Errors
    /// When the relation is not replace-one, the plan is for other rows, or the phases move further than was paid for.
    pub fn phases(
        self,
        data: &PrivateDataset,
        plan: PhasePlan,
        loss: Curved,
        label_scale: f64,
    ) -> Fallible<PhasedPass<'_>> {
        check_rows(data, plan.rows, plan.dimension)?;
        self.check(data.origin(), Phases { plan })?;
        let len = plan.dimension * plan.phases() as usize;
        let noise = self.draw(len)?;
        let mut order = order_of(plan.rows as usize, &self.noise).into_iter();
        let blocks = (0..plan.phases()).map(|phase| order.by_ref().take(plan.block(phase) as usize).collect());
        let one = i128::from(data.one()) << LOG2_WEIGHT;
        Ok(PhasedPass {
            blocks: blocks.collect(),
            rows: data,
            plan,
            slope: MonotoneSlope::new(loss, one, label_scale),
            smooth: loss.log2_smooth(),
            noise: noise.into(),
            values: Vec::new(),
            permit: self,
            phase: 0,
        })
    }
}

/// The order in which a pass reads the rows: blocks of it are the phases.
pub(crate) fn order_of(rows: usize, source: &NoiseSource) -> Vec<usize> {
    shuffled(rows, source.row_stream(0))
}

/// Refuses a data set whose public number of rows, coefficients or relation is not what a pass was planned for.
pub(super) fn check_rows(data: &PrivateDataset, rows: u64, dimension: usize) -> Fallible<()> {
    let fits = data.public_len() == Some(rows) && data.shape().dimension() == dimension;
    if fits && data.scope().adjacency == Adjacency::ReplaceOne {
        return Ok(());
    }
    Err(Error::refused("the pass was planned for other rows", "plan with replace-one and these rows"))
}

/// All positions in an order that depends on the stream and their number alone.
pub(in crate::private) fn shuffled(rows: usize, mut stream: NoiseStream) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows).collect();
    for index in (1..rows).rev() {
        order.swap(index, ((u128::from(stream.next_u64()) * (index as u128 + 1)) >> 64) as usize);
    }
    order
}

impl PhasedPass<'_> {
    /// Runs the next phase from a public start and releases its mean iterate, `4^phase` times finer than the start.
    ///
    /// # Errors
    /// When every phase was run, or the start has another dimension.
    pub fn next(&mut self, start: &[i64]) -> Fallible<&[i128]> {
        let Some(block) = self.blocks.pop_front() else {
            return Err(Error::refused("every phase was run", "plan another run"));
        };
        if start.len() != self.plan.dimension {
            return Err(Error::refused("the start has another dimension", "start with one number per coefficient"));
        }
        let finer = PhasePlan::log2_finer(self.phase);
        self.phase += 1;
        let step = FixedStep {
            lipschitz: self.plan.lipschitz,
            shift: self.plan.shift + finer,
            log2_slope: LOG2_SLOPE,
            log2_smooth: self.smooth,
        };
        let mut weights: Vec<i64> = start.iter().map(|w| (*w).clamp(-MAX_WEIGHT, MAX_WEIGHT)).collect();
        let sum = fixed_pass(self.rows.rows()?, &block, &mut weights, &step, |margin, y| self.slope.at(margin, y));
        let from = self.values.len();
        // An empty block has no mean; its phase releases the start, which is public.
        let means = sum
            .iter()
            .zip(&weights)
            .map(|(&total, &last)| total.checked_div_euclid(block.len() as i128).unwrap_or(i128::from(last)) << finer);
        let noise = self.noise.drain(..self.plan.dimension.min(self.noise.len()));
        self.values.extend(means.zip(noise).map(|(mean, noise)| mean + i128::from(noise)));
        Ok(self.values.get(from..).unwrap_or_default())
    }

    /// Everything that was released.
    pub fn finish(self) -> Released {
        self.permit.opened(self.values)
    }
}
