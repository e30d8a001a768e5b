//! # `objective-perturbation` and `amp`: a random linear term in the objective
//!
//! Noise enters the objective and not the answer: the minimiser of `sum_i l(w.x_i, y_i) + Lambda/2 |w|^2 + b.w` with a Gaussian `b`.
//!
//! **What they do.** Rows are shrunk to norm `B`. `Lambda = beta B^2 / (e^(epsilon/10) - 1)`, `beta` the smoothness of the loss, so that the determinant
//! of the change of variables costs a tenth of epsilon; it does not depend on the number of rows. A solver reaches the minimiser only up to a certified
//! distance, so the answer gets noise for that distance: 1% of `mu^2` for `objective-perturbation`, 10% for `amp` (approximate minima perturbation),
//! whose theory is the one that allows an approximate minimiser.
//!
//! **What is released, and why the bound is exact.** The noise on the gradient is drawn and used inside a `Permit<ObjectiveCharge>`; the floor of its
//! steps is part of `tau`. The answer then needs an ordinary Gaussian release of sensitivity `2 tau`. The certificate is that of
//! [`output-perturbation`](output-perturbation.md). Penalty, rows and tolerance are fixed in grid units when the run is planned; what a grid step means
//! follows from the scale of margins, which decides `beta / Lambda` and is recorded.
//!
//! **Cost.** A perturbed objective and a Gaussian release, composed by the hockey-stick profile, or by Renyi divergences where those are smaller or other
//! charges than Gaussian ones come along. The profile needs 10 / 8 / 6% less noise than Renyi divergences at epsilon 0.1 / 1 / 8. They need `--epsilon`.
//!
//! **Settings and defaults.** `--clip` gives `B` (half the typical norm for labels, 1.5 times it for numbers). More than 2,048 coefficients are refused. There are no steps to choose, and no other
//! penalty.
//!
//! Adult, test accuracy / AUC, three seeds, add-remove, in brackets replace-one (claimed by Renyi divergences then):
//!
//! | algorithm | epsilon 0.1 | 1 | 8 |
//! |---|---|---|---|
//! | `objective-perturbation` | 0.841 / 0.891 (0.823 / 0.864) | 0.852 / 0.905 (0.850 / 0.901) | 0.851 / 0.905 (0.851 / 0.904) |
//! | `amp` | 0.841 / 0.890 | 0.852 / 0.905 | 0.851 / 0.905 |
//! | `output-perturbation` | 0.826 / 0.881 (0.788 / 0.851) | 0.847 / 0.902 (0.844 / 0.898) | 0.851 / 0.906 (0.849 / 0.905) |
//!
//! California housing, R^2, one seed, at epsilon 0.1 / 1 / 8: `objective-perturbation` 0.594 / 0.638 / 0.648, `output-perturbation` 0.205 / 0.497 /
//! 0.614; with rows shrunk to half the typical norm, as suits labels, 0.461 / 0.444 / 0.434 and less. On standardised Adult every row is longer than 3,
//! so any `B` below that gives the same model.
//!
//! **Use them when** a single answer without tuning is wanted and the model has a hundred coefficients or so. They need all rows in memory.
//!
//! **Models.** `logistic` and `linear`; `ridge` asks for an l2 penalty, which is refused here.
//!
//! **Source.** Kifer, Smith, Thakurta 2012; Iyengar et al. 2019 (approximate minima), with `2 tau / Lambda`; Redberg, Koskela, Wang 2023 (the profile).
//! Both relations.

use serde_json::json;

use super::description::{AuditRecipe, Description, Losses, Needs, Relations};
use super::output_perturbation::{loss_name, row_bound, row_norm, too_small};
use super::{Fitted, GaussianRelease, GaussianRule, Optimizer, Planned, Problem, Settings, Start, Target, settings};
use crate::accounting::claim;
use crate::error::Fallible;
use crate::grid::MAX_MULTIPLIER;
use crate::loss::BoundedLoss;
use crate::privacy::{Adjacency, Charge, Claim, NoiseLaw, ObjectiveCharge};
use crate::private::{
    Curvature, DescribeQuery, LOG2_REGULARIZATION, LoggedRun, MAX_SOLVED, Minimization, Permit, PrivateDataset, Query,
    query,
};

/// The noise on the gradient has scale `2^40` of its steps.
const LOG2_GRADIENT: u32 = 40;

/// The noise on the answer has scale `2^26` grid steps.
const LOG2_ANSWER: u32 = 26;

/// Share of the noise's cost, `mu^2`, for the noise on the answer.
const ANSWER_SHARE: f64 = 0.01;

/// Share of the noise's cost for the noise on the answer of `amp`.
const AMP_SHARE: f64 = 0.1;

/// `ln(1 + beta / Lambda)` over epsilon.
const JACOBIAN: f64 = 0.1;

/// Relative accuracy of the calibrated noise.
const ACCURACY: f64 = 1e-4;

pub(super) static DESCRIPTION: Description = Description {
    name: "objective-perturbation",
    about: "amp with next to no noise on the minimiser",
    releases: "minimiser of a perturbed objective",
    reference: "Kifer, Smith, Thakurta 2012",
    relations: Relations::Both,
    losses: Losses::Bounded,
    settings: &[&settings::CLIP],
    needs: NEEDS,
    plan: |problem| Ok(Box::new(ObjectivePerturbation::plan(problem)?)),
    audit: AUDIT,
};

pub(super) static AMP: Description = Description {
    name: "amp",
    about: "Noise on the gradient of a regularised loss, a little more on its minimiser",
    releases: "minimiser of a perturbed objective",
    reference: "Iyengar et al. 2019",
    relations: Relations::Both,
    losses: Losses::Bounded,
    settings: &[&settings::CLIP],
    needs: NEEDS,
    plan: |problem| Ok(Box::new(ObjectivePerturbation::amp(problem)?)),
    audit: AUDIT,
};

const NEEDS: Needs =
    Needs { epsilon: Some("a perturbed objective"), coefficients: Some(MAX_SOLVED), no_steps: true, ..Needs::ROWS };

const AUDIT: fn(Adjacency) -> AuditRecipe = |adjacency| AuditRecipe {
    // Lines that are no record make the public count large, so that the released moments are sharp.
    null: if adjacency.row_count_is_public() { 300 } else { 0 },
    raw: false,
    numbers: true,
    one_run: Some("releases a minimiser, which is no sum over canaries"),
    ..AuditRecipe::with(Settings { clip: Some(1.0), ..Settings::NONE })
};

/// The minimiser of `sum_i l(w.x_i, y_i) + Lambda/2 |w|^2 + b.w` over rows shrunk to norm `B`, `b` Gaussian.
///
/// `Lambda = beta B^2 / (e^(epsilon/10) - 1)`, so that the determinant costs a tenth of epsilon; it does not depend on the
/// number of rows. `--clip` gives `B`. A solver reaches the minimiser up to a certified distance only, so the answer gets
/// noise for that distance: 1% of `mu^2`, or 10% for `amp`.
///
/// # Requirements on the problem
/// A generalised linear loss with slopes in `[-1, 1]`: logistic, or Huber's loss in the place of the square.
///
/// # Privacy
/// One perturbed objective and one Gaussian release, composed by Renyi divergences; both adjacencies. Needs `--epsilon`.
///
/// # Reference
/// Kifer, Smith and Thakurta 2012; Iyengar et al. 2019, with `2 tau / Lambda`; Redberg, Koskela and Wang 2023.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectivePerturbation {
    problem: Minimization,
    /// Length of a step of the noise on the gradient over `2^62`.
    step: u64,
    objective: ObjectiveCharge,
    answer: GaussianRelease,
    row_norm: f64,
}

impl ObjectivePerturbation {
    /// Plans with the whole budget of the problem and next to no noise on the answer.
    ///
    /// # Errors
    /// When the budget is no epsilon or too small, the noise is discrete, or there are too many coefficients.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        Self::with_share(&DESCRIPTION, problem, ANSWER_SHARE)
    }

    /// Plans approximate minima perturbation, with more noise on the answer.
    ///
    /// # Errors
    /// When the budget is no epsilon or too small, the noise is discrete, or there are too many coefficients.
    pub fn amp(problem: &Problem<'_>) -> Fallible<Self> {
        Self::with_share(&AMP, problem, AMP_SHARE)
    }

    fn with_share(of: &Description, problem: &Problem<'_>, share: f64) -> Fallible<Self> {
        of.fits(problem)?;
        let target = of.target(problem)?;
        let loss = of.bounded_loss(problem)?;
        let dimension = problem.dimension();
        let grid = Grid {
            loss,
            adjacency: problem.adjacency,
            row_bound: row_bound(row_norm(loss, problem), problem.one)?,
            ratio: (JACOBIAN * target.epsilon.value()).exp_m1().clamp(1e-6, 100.0),
            dimension,
            share,
            one: problem.one,
        };
        grid.calibrate(target)
    }
}

/// What fixes the releases but for the noise.
struct Grid {
    loss: BoundedLoss,
    adjacency: Adjacency,
    row_bound: u64,
    /// `beta / Lambda`.
    ratio: f64,
    dimension: usize,
    share: f64,
    one: i16,
}

impl Grid {
    /// The run whose noise on the gradient has `mu` relative to one row; its claim is still to be made.
    fn at(&self, mu: f64) -> Fallible<ObjectivePerturbation> {
        let factor = self.adjacency.sum_sensitivity(1) as f64;
        let max_sensitivity = self.share.sqrt() * factor * mu * 2f64.powi(LOG2_ANSWER as i32);
        let tolerance = ((max_sensitivity - (self.dimension as f64).sqrt() - 2.0) / 2.0).floor();
        if tolerance.is_nan() || tolerance < 1024.0 {
            return Err(too_small());
        }
        let bound = self.row_bound as f64;
        let quarters = self.loss.smoothness_quarters() as f64;
        // lambda from the ratio at the scale of margins that leaves it room for the certificate.
        let curved = quarters / 4.0 * bound * bound * 2f64.powi(LOG2_REGULARIZATION as i32) / self.ratio;
        let least = (bound * 1024.0 / tolerance).ceil() + 1.0;
        let log2_margin = (curved / least).log2().floor().clamp(30.0, 80.0) as u32;
        let regularization = (curved / 2f64.powi(log2_margin as i32)).ceil() as u64;
        let curvature = Curvature { row_bound: self.row_bound, regularization, tolerance: tolerance as u64 };
        // Rounded up: longer steps of the noise are more noise.
        let step = (bound * 2f64.powi(62) / (mu * 2f64.powi(LOG2_GRADIENT as i32))).ceil() as u64;
        let problem = Minimization { loss: self.loss, label_scale: 1.0, log2_margin, curvature };
        let perturbation = problem.perturbation(step);
        perturbation.check()?;
        let release = |what, query: Query, log2_scale| {
            let (adjacency, noise) = (self.adjacency, NoiseLaw::FlooredNormal);
            GaussianRule { what, query: &|_| query.clone(), adjacency, noise, count: 1 }.at(0, log2_scale)
        };
        let ratio = perturbation.curvature_ratio();
        let perturbed = release("gradient of the regularised loss", Query::Perturbation(perturbation), LOG2_GRADIENT);
        let query = Query::from(query::PerturbedMinimizer { curvature, dimension: self.dimension });
        Ok(ObjectivePerturbation {
            problem,
            step,
            objective: ObjectiveCharge {
                perturbed: perturbed.event().clone(),
                curvature: ratio,
                claim: Claim { epsilon: 1.0, delta: 0.5, rho: 1.0 },
            },
            answer: release("minimiser of the perturbed loss", query, LOG2_ANSWER),
            row_norm: bound / (f64::from(self.one) * f64::from(MAX_MULTIPLIER)),
        })
    }

    /// The least noise for which everything together keeps the target; the answer is checked as it will be charged.
    fn calibrate(&self, target: &Target<'_>) -> Fallible<ObjectivePerturbation> {
        let keeps = |plan: &ObjectivePerturbation| {
            let charges: Vec<Charge> =
                target.before.iter().cloned().chain(plan.releases().map(|planned| planned.charge)).collect();
            claim::epsilon(&charges, self.adjacency, target.delta, target.epsilon.value())
                .is_ok_and(|epsilon| epsilon <= target.epsilon.value())
        };
        let (mut low, mut high) = (1e-4, 100.0);
        let mut best = None;
        while high / low > 1.0 + ACCURACY {
            let mu = f64::sqrt(low * high);
            match self.at(mu) {
                Ok(plan) if keeps(&plan) => {
                    low = mu;
                    best = Some(plan);
                }
                Ok(_) => high = mu,
                // Too little noise on the answer leaves no room for the certificate; more of mu gives room.
                Err(_) => low = mu,
            }
        }
        let plan = best.ok_or_else(too_small)?;
        let objective = claim::make_objective(plan.objective.clone(), self.adjacency, target.delta)?;
        Ok(ObjectivePerturbation { objective, ..plan })
    }
}

impl ObjectivePerturbation {
    /// The noise on the gradient, and the answer.
    fn releases(&self) -> [Planned; 2] {
        let noise = Query::Perturbation(self.problem.perturbation(self.step));
        [Planned { charge: Charge::Objective(self.objective.clone()), query: noise }, self.answer.planned()]
    }
}

impl Optimizer for ObjectivePerturbation {
    fn planned(&self) -> Vec<Planned> {
        self.releases().into()
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let one = data.one();
        let problem = Minimization { label_scale: start.label_scale, ..self.problem };
        let noise_step = self.step as f64 / 2f64.powi(62) / (f64::from(one) * f64::from(MAX_MULTIPLIER));
        let [noise, answer] = self.releases();
        let solve = |permit: Permit<ObjectiveCharge>| permit.solve(data, &problem, self.step);
        let (solved, _) = run.release_by(&noise, noise_step, solve)?;
        let released = run.release(&answer, problem.step(one), || Ok(solved))?;
        let weights: Vec<f64> = released.values().iter().map(|&v| v as f64 * problem.step(one)).collect();
        Ok(Fitted::of(weights).stating([
            ("penalty", json!(problem.penalty(one))),
            ("row_norm", json!(self.row_norm)),
            ("loss", json!(loss_name(self.problem.loss))),
            ("curvature_ratio", json!(self.objective.curvature)),
        ]))
    }
}
