//! # `dp-sgd`: steps on samples
//!
//! The steps of [`dp-gd`](dp-gd.md), each on a random sample of the rows. Less work a step, and privacy amplified by the secrecy of the sample.
//!
//! **What it does.** In every step each row joins on its own with probability `q` (`--sampling poisson`); or the steps are those of passes of `1/q`, and
//! each row draws one step of each pass (`--sampling shuffle`). The clipped gradients of the sample are summed, noised and divided by
//! `q n`. Then as `dp-gd`. It takes the constants of `dp-gd` for every loss; the step size is shortened by `300 / T` where there are more than 300 steps,
//! so that it goes as far in all.
//!
//! **What is released, and why the bound is exact.** The clipped sum of a sample, with the clip of `dp-gd`. The coin of a row is exact: it joins with
//! probability `1 - exp(-x / 2^64)`, `x` an integer. The gap to the next chosen row is geometric; digit `j` of a geometric number is an independent coin
//! of `p / (1 + p)`, `p = exp(-2^j x)`. The step that a row draws of a pass is exactly even. Neither leaves the gate, and coins and noise come from different
//! streams. A run that was stopped within a pass goes on, to the end of that pass, with steps that no row joins: what rows drew is nowhere but in memory.
//!
//! **Cost.** The noise multiplier is the least for which the privacy-loss distribution of everything released, both directions, keeps epsilon at delta
//! (certified upper bounds). Replace-one has its own dominating pair with coins, and none is known for passes, which need add-remove. No rho expresses sampling, so the charge records a *claim* (epsilon, delta, and the
//! rho of delta-approximate zCDP, `epsilon tanh(epsilon / 2)`); the ledger counts the claim, and the accountant confirms it whenever a ledger or a
//! statement is read. That is dear under a cap; the statement's own epsilon is tight. It needs `--epsilon`, and noise that is the floor of a normal.
//!
//! **Settings and defaults.** Those of `dp-gd`: `--clip`, `--steps` (1000), `--learning-rate`, `--momentum` (0.9), `--l1`, `--l2`, `--radius`,
//! `--averaging`; `--sampling-rate` (0.02, at most 0.5: beyond that full batches are better in every way), with passes the nearest `1/t`; and
//! `--sampling` (`poisson`). With passes `--steps` is rounded up to whole ones.
//!
//! **Use it when** rows are so many that full passes take too long, and samples are small. Rows of a sample are picked one by one, each from a line of memory
//! for every number, so the default of 2% is no faster than all rows where columns are few: a step on 1e6 rows of 32 columns takes 5.6 ms (5.0 by `dp-gd`; 0.9 with 0.2%), on 2e5
//! rows of 128 columns 2.2 ms (3.6; 0.5), on one thread. It needs all rows in memory, so it is refused with `--memory-limit` and on a cluster.
//! Passes ask for 2% less noise at the defaults and 21% less where one pass of ten steps is made at epsilon 8 ([pld.md](../accounting/pld.md)); accuracy at the
//! defaults is that of coins (Adult at epsilon 0.1, 1 and 8, California at 0.1 and 1, eight seeds: differences of at most 0.0002).
//! Both are what they are called: coins of each row for each step, or one step of each pass for each row. Batches of a fixed size are neither.
//!
//! **Source.** Abadi et al. 2016; Song, Chaudhuri, Sarwate 2013; Zhu, Dong, Wang 2022, Theorem 11. Passes: Chua, Ghazi, Harrison, Kamath, Kumar, Leeman,
//! Manurangsi, Sinha, Zhang 2024; Feldman, Shenfeld 2025. Both relations with coins, add-remove with passes.

use serde_json::json;

use super::description::{AUDIT_STILL, AuditRecipe, Description, Losses, Needs, Relations};
use super::release::{Calibrated, MAX_RATE, SampledRule, Samples};
use super::{
    Averaging, ClipRule, Descent, Fitted, GaussianRule, Optimizer, Planned, Problem, Sampling, Settings, Start,
    settings,
};
use crate::error::{Error, Fallible};
use crate::privacy::{Adjacency, Charge, NoiseLaw};
use crate::private::{LoggedRun, PrivateDataset, Query, query};

/// Probability with which a row joins a step.
const RATE: f64 = 0.02;

/// Gradient steps.
const STEPS: u64 = 1000;

pub(super) static DESCRIPTION: Description = Description {
    name: "dp-sgd",
    about: "DP gradient descent on Poisson samples or shuffled passes, accounted for by privacy-loss distributions",
    releases: "T clipped sums of samples",
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

/// DP-SGD with momentum on rows whose features are standardised: steps on Poisson samples, or on the rows that drew them.
///
/// Each step sums the clipped gradients of its sample and divides by `q n`. Every row joins every step on its own with probability `q`, or
/// one step of each pass of `1/q` steps, which it draws evenly. The noise multiplier is the smallest whose privacy-loss distribution,
/// composed with what was released before, keeps the epsilon that was asked for.
///
/// # Privacy
/// `steps` Poisson-sampled Gaussian releases, or passes of random allocation. Both directions of add-remove are composed and the worse one
/// counts; with Poisson samples replace-one has its own pair. Needs `--epsilon`: sampling does not lower rho.
///
/// # Reference
/// Song, Chaudhuri, Sarwate 2013; Abadi et al. 2016; Zhu, Dong, Wang 2022, Theorem 11; Chua et al. 2024; Feldman and Shenfeld 2025.
#[derive(Clone, Debug, PartialEq)]
pub struct DpSgd {
    charge: Charge,
    clip_steps: u64,
    clip: ClipRule,
    descent: Descent,
    row_norm: f64,
    /// Clip norm over the noise of the mean gradient of all steps together, per row.
    mu: f64,
    rate: f64,
    sampling: Sampling,
}

impl DpSgd {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is no epsilon, the noise is discrete, passes are asked for where a row may be replaced, or the budget cannot be met.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        let Settings { steps, sampling_rate, sampling, .. } = *problem.settings;
        DESCRIPTION.fits(problem)?;
        let target = DESCRIPTION.target(problem)?;
        let rate = sampling_rate.unwrap_or(RATE);
        if !(rate > 0.0 && rate <= MAX_RATE) {
            let problem = format!("is {rate:?}, must be in (0, {MAX_RATE}]");
            return Err(Error::parameter("--sampling-rate", problem, "leave it out for the default"));
        }
        let sampling = sampling.unwrap_or(Sampling::Poisson);
        let (samples, steps, rate) = samples(sampling, steps.unwrap_or(STEPS), rate, problem.adjacency)?;
        let (what, query) =
            ("clipped gradient sum of a sample", |clip_steps| Query::from(query::ClippedSum { clip_steps }));
        let (adjacency, noise) = (problem.adjacency, NoiseLaw::FlooredNormal);
        let rule = GaussianRule { what, query: &query, adjacency, noise, count: steps };
        let rule = SampledRule { rule, samples, sensitivity: 1.0, one: problem.one.unsigned_abs().into() };
        let Calibrated { charge, size: clip_steps, multiplier } = rule.calibrate(target)?;
        let square = problem.typical_square();
        let scale = problem.loss.tuning().step;
        // As far in all as full-batch descent goes in its hundred steps, but no step longer.
        let length = scale / square * (300.0 / steps as f64).min(1.0);
        let descent = Descent { steps, ..Descent::of(problem, steps, length, 0.9, Averaging::Tail) };
        let mu = rate * (steps as f64).sqrt() / multiplier;
        let clip = ClipRule::of(problem);
        Ok(DpSgd { charge, clip_steps, clip, descent, row_norm: square.sqrt(), mu, rate, sampling })
    }

    fn gradient(&self) -> Planned {
        Planned { charge: self.charge.clone(), query: query::ClippedSum { clip_steps: self.clip_steps }.into() }
    }
}

/// The samples, the number of steps and the rate.
fn samples(sampling: Sampling, steps: u64, rate: f64, adjacency: Adjacency) -> Fallible<(Samples, u64, f64)> {
    match sampling {
        Sampling::Poisson => Ok((Samples::Coins(rate), steps, rate)),
        Sampling::Shuffle if adjacency != Adjacency::AddRemove => Err(Error::parameter(
            "--sampling",
            "is shuffle, for which no bound is known where a row is replaced by another",
            "use --adjacency add-remove, or --sampling poisson",
        )),
        Sampling::Shuffle => {
            let pass = (1.0 / rate).round().clamp(2.0, f64::from(u32::MAX)) as u32;
            if u64::from(pass) > steps {
                let problem = format!("makes a pass of {pass} steps, and there are {steps} in all");
                let cure = "use more --steps, at least one pass, or a larger --sampling-rate";
                return Err(Error::parameter("--sampling-rate", problem, cure));
            }
            Ok((Samples::Passes(pass), steps.next_multiple_of(pass.into()), 1.0 / f64::from(pass)))
        }
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
        let fitted = Fitted::of(weights).stating(self.descent.settings());
        let fitted = fitted.stating([("sampling_rate", json!(self.charge.sampling_rate().unwrap_or(self.rate)))]);
        Ok(match self.sampling {
            Sampling::Poisson => fitted,
            Sampling::Shuffle => fitted.stating([("sampling", json!(self.sampling))]),
        })
    }
}
