//! # `dp-sgd`: steps on Poisson samples
//!
//! The steps of [`dp-gd`](dp-gd.md), each on a fresh random sample of the rows. Less work a step, and privacy amplified by the secrecy of the sample.
//!
//! **What it does.** In every step each row joins on its own with probability `q`; the clipped gradients of the sample are summed, noised and divided by
//! `q n`. Then as `dp-gd`. It takes the constants of `dp-gd` for every loss; the step size is shortened by `300 / T` where there are more than 300 steps,
//! so that it goes as far in all.
//!
//! **What is released, and why the bound is exact.** The clipped sum of a sample, with the clip of `dp-gd`. The coin of a row is exact: it joins with
//! probability `1 - exp(-x / 2^64)`, `x` an integer. The gap to the next chosen row is geometric; digit `j` of a geometric number is an independent coin
//! of `p / (1 + p)`, `p = exp(-2^j x)`. The sample never leaves the gate, and its coins and the noise come from different streams.
//!
//! **Cost.** The noise multiplier is the least for which the privacy-loss distribution of everything released, both directions, keeps epsilon at delta
//! (certified upper bounds). Replace-one has its own dominating pair. No rho expresses sampling, so the charge records a *claim* (epsilon, delta, and the
//! rho of delta-approximate zCDP, `epsilon tanh(epsilon / 2)`); the ledger counts the claim, and the accountant confirms it whenever a ledger or a
//! statement is read. That is dear under a cap; the statement's own epsilon is tight. It needs `--epsilon`, and noise that is the floor of a normal.
//!
//! **Settings and defaults.** Those of `dp-gd`: `--clip`, `--steps` (1000), `--learning-rate`, `--momentum` (0.9), `--l1`, `--l2`, `--radius`,
//! `--averaging`; and `--sampling-rate` (0.02, at most 0.5: beyond that full batches are better in every way).
//!
//! **Use it when** rows are so many that full passes take too long. It needs all rows in memory, so it is refused with `--memory-limit` and on a cluster.
//! True Poisson samples, not shuffled batches.
//!
//! **Source.** Abadi et al. 2016; Song, Chaudhuri, Sarwate 2013; Zhu, Dong, Wang 2022, Theorem 11. Both relations.

use serde_json::json;

use super::description::{AUDIT_STILL, AuditRecipe, Description, Losses, Needs, Relations};
use super::{
    Averaging, ClipRule, Descent, Fitted, GaussianRule, Optimizer, Planned, Problem, Settings, Start, Target, settings,
};
use crate::accounting::claim;
use crate::error::{Error, Fallible};
use crate::grid::MAX_MULTIPLIER;
use crate::privacy::{Adjacency, Charge, Claim, MAX_LOG2_SCALE, NoiseLaw, PoissonGaussianCharge};
use crate::private::{LoggedRun, PrivateDataset, Query, query};

/// Probability with which a row joins a step.
const RATE: f64 = 0.02;

/// Gradient steps.
const STEPS: u64 = 1000;

/// Largest sampling rate: beyond it full batches are better in every way.
const MAX_RATE: f64 = 0.5;

/// Relative accuracy of the calibrated noise multiplier.
const ACCURACY: f64 = 1e-3;

pub(super) static DESCRIPTION: Description = Description {
    name: "dp-sgd",
    about: "DP gradient descent on Poisson samples, accounted for by privacy-loss distributions",
    releases: "T clipped sums of Poisson samples",
    reference: "Abadi et al. 2016",
    relations: Relations::Both,
    losses: Losses::Any,
    settings: settings::OF_SAMPLED_DESCENT,
    needs: Needs { epsilon: Some("sampled steps"), ..Needs::ROWS },
    plan: |problem| Ok(Box::new(DpSgd::plan(problem)?)),
    audit: |adjacency| {
        let steps = if adjacency.row_count_is_public() { 16 } else { 8 };
        let sampled = Settings { steps: Some(steps), sampling_rate: Some(0.5), ..AUDIT_STILL };
        // Sampled rows would add to the noise, and what a mixture shows is clearest with one coefficient.
        AuditRecipe {
            pairs: 0,
            alone: true,
            one_run: Some("gives each row a random part of the run"),
            ..AuditRecipe::with(sampled)
        }
    },
};

/// DP-SGD with momentum and true Poisson sampling on rows whose features are standardised.
///
/// Each step sums the clipped gradients of a fresh sample, every row joining on its own with probability `q`, and
/// divides by `q n`. The noise multiplier is the smallest whose privacy-loss distribution, composed with what was
/// released before, keeps the epsilon that was asked for.
///
/// # Privacy
/// `steps` Poisson-sampled Gaussian releases; both directions of add-remove are composed and the worse one counts,
/// and replace-one has its own pair. Needs `--epsilon`: sampling does not lower rho.
///
/// # Reference
/// Song, Chaudhuri, Sarwate 2013; Abadi et al. 2016; Zhu, Dong, Wang 2022, Theorem 11.
#[derive(Clone, Debug, PartialEq)]
pub struct DpSgd {
    event: PoissonGaussianCharge,
    clip_steps: u64,
    clip: ClipRule,
    descent: Descent,
    row_norm: f64,
    /// Clip norm over the noise of the mean gradient of all steps together, per row.
    mu: f64,
}

impl DpSgd {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is no epsilon, the noise is discrete, or the budget cannot be met.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        let Settings { steps, sampling_rate, .. } = *problem.settings;
        DESCRIPTION.fits(problem)?;
        let target = DESCRIPTION.target(problem)?;
        let rate = sampling_rate.unwrap_or(RATE);
        if !(rate > 0.0 && rate <= MAX_RATE) {
            let problem = format!("is {rate:?}, must be in (0, {MAX_RATE}]");
            return Err(Error::parameter("--sampling-rate", problem, "leave it out for the default"));
        }
        let steps = steps.unwrap_or(STEPS);
        let grid = Grid { adjacency: problem.adjacency, one: problem.one.unsigned_abs().into(), steps, rate };
        let (event, clip_steps) = grid.calibrate(target)?;
        let square = problem.typical_square();
        let scale = problem.loss.tuning().step;
        // As far in all as full-batch descent goes in its hundred steps, but no step longer.
        let length = scale / square * (300.0 / steps as f64).min(1.0);
        let descent = Descent::of(problem, steps, length, 0.9, Averaging::Tail);
        let multiplier = 2f64.powi(event.sampled.log2_scale as i32) / clip_steps as f64;
        let mu = rate * (steps as f64).sqrt() / multiplier;
        Ok(DpSgd { event, clip_steps, clip: ClipRule::of(problem), descent, row_norm: square.sqrt(), mu })
    }

    fn gradient(&self) -> Planned {
        Planned {
            charge: Charge::PoissonGaussian(self.event.clone()),
            query: query::ClippedSum { clip_steps: self.clip_steps }.into(),
        }
    }
}

/// What fixes the releases but for their noise.
struct Grid {
    adjacency: Adjacency,
    one: u64,
    steps: u64,
    rate: f64,
}

impl Grid {
    /// The releases of noise multiplier about `z` on the finest grid that the kernel allows, with their clip.
    fn event(&self, z: f64) -> (PoissonGaussianCharge, u64) {
        let largest = (MAX_MULTIPLIER as u64).saturating_mul(self.one) as f64;
        let log2_scale = (largest * z).log2().floor().clamp(0.0, f64::from(MAX_LOG2_SCALE)) as u32;
        let clip_steps = (2f64.powi(log2_scale as i32) / z).floor().min(largest) as u64;
        let (what, query) =
            ("clipped gradient sum of a sample", |clip_steps| Query::from(query::ClippedSum { clip_steps }));
        let (adjacency, noise) = (self.adjacency, NoiseLaw::FlooredNormal);
        let rule = GaussianRule { what, query: &query, adjacency, noise, count: self.steps };
        let sampled = rule.at(clip_steps, log2_scale).event().clone();
        // Rounded down; the rate that is accounted for is recomputed from this integer.
        let exponent = (-(-self.rate).ln_1p() * 2f64.powi(64)).floor() as u64;
        (PoissonGaussianCharge { sampled, exponent, claim: Claim { epsilon: 1.0, delta: 0.5, rho: 1.0 } }, clip_steps)
    }

    /// The least noise for which everything together keeps the target; the answer is checked as it will be charged.
    fn calibrate(&self, target: &Target<'_>) -> Fallible<(PoissonGaussianCharge, u64)> {
        let keeps = |z: f64| {
            let charges: Vec<Charge> =
                target.before.iter().cloned().chain([Charge::PoissonGaussian(self.event(z).0)]).collect();
            claim::epsilon(&charges, self.adjacency, target.delta, target.epsilon.value())
                .is_ok_and(|epsilon| epsilon <= target.epsilon.value())
        };
        let (mut low, mut high) = (0.1, 1.0);
        while !keeps(high) {
            (low, high) = (high, 2.0 * high);
            if high > 1e6 {
                return Err(Error::parameter(
                    "--epsilon",
                    "is too small for this many sampled steps",
                    "use a larger epsilon, fewer --steps or a smaller --sampling-rate",
                ));
            }
        }
        while high / low > 1.0 + ACCURACY {
            let middle = (low * high).sqrt();
            if keeps(middle) { high = middle } else { low = middle }
        }
        let (event, clip_steps) = self.event(high);
        if clip_steps < 16 * self.one {
            return Err(Error::parameter(
                "budget",
                "is too small for this many steps",
                "use a larger epsilon or fewer --steps",
            ));
        }
        Ok((claim::make(event, self.adjacency, target.delta, target.epsilon.value())?, clip_steps))
    }
}

impl Optimizer for DpSgd {
    fn planned(&self) -> Vec<Planned> {
        vec![self.gradient()]
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let dimension = (data.shape().dimension() * self.descent.loss.outputs()) as f64;
        let clip_norm = self.clip.clip_norm(self.row_norm, dimension, start, self.mu);
        let rows = data.clipped(self.clip_steps)?;
        let weights = self.descent.run(&rows, &self.gradient(), clip_norm, start, run)?;
        let rate = ("sampling_rate", json!(self.event.rate()));
        Ok(Fitted::of(weights).stating(self.descent.settings()).stating([rate]))
    }
}
