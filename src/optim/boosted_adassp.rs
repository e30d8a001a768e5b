//! # `boosted-adassp`: several rounds with one Gram matrix
//!
//! Gradient boosting whose weak learner is private least squares: each round solves for the clipped residuals of the last with the same noised Gram
//! matrix.
//!
//! **What it does.** `w <- w - eta (c (X^T X + E) + ridge)^(-1) (g + e)`, `g` the clipped gradient sum at `w` and `c` the largest curvature of the loss.
//! For the squared loss `-g` is `X^T` times the clipped residuals, and the first round is [`adassp`](adassp.md). For the logistic loss, whose residuals
//! are the label less the predicted probability, it is Newton's method with the bound `X^T X / 4` on the Hessian. An l2 penalty is part of the matrix,
//! which makes a full step the proximal one in that metric.
//!
//! **What is released, and why the bound is exact.** The Gram matrix as in [`whitened`](whitened.md), and a clipped sum a round as in
//! [`dp-gd`](dp-gd.md).
//!
//! **Cost.** Gaussian releases: 12% of the budget for the matrix for labels, 25% for numbers. The ridge is the operator norm of the matrix's noise for
//! labels, a quarter of it for numbers.
//!
//! **Settings and defaults.** `--clip` (the rule of `dp-gd`), `--steps` (12 rounds), `--learning-rate` (1), `--momentum` (0), `--l2` (0), `--radius`
//! (none), `--averaging` (the last iterate for labels, the mean of the second half for numbers).
//!
//! **Use it when** columns are few and the budget is small or middling. Like `whitened` it needs one Gram matrix, but it takes Newton-like steps in the
//! given coordinates.
//!
//! **Models.** `logistic`, `linear`, `ridge`.
//!
//! **Source.** Tang, Aydore, Kearns, Rho, Roth, Wang, Wang, Wu 2023, "Improved differentially private regression via gradient boosting"; Boehning and
//! Lindsay 1988 for the bound on the Hessian. Both relations.

use super::adassp::GramSteps;
use super::description::{AUDIT_STILL, AuditRecipe, Description, Losses, Needs, Relations};
use super::step::curvature::RidgeRule;
use super::{Averaging, ClipRule, Descent, Fitted, Optimizer, Planned, Problem, Settings, Start, settings};
use crate::error::Fallible;
use crate::loss::Curved;
use crate::private::{LoggedRun, PrivateDataset};

/// Rounds of boosting.
const ROUNDS: u64 = 12;

pub(super) static DESCRIPTION: Description = Description {
    name: "boosted-adassp",
    about: "Rounds of AdaSSP on clipped residuals with one noised Gram matrix",
    releases: "Gram matrix, T sums of clipped residuals",
    reference: "Tang et al. 2023",
    relations: Relations::Both,
    losses: Losses::Curved,
    settings: settings::OF_SMOOTH_DESCENT,
    needs: Needs::NOTHING,
    plan: |problem| Ok(Box::new(BoostedAdaSsp::plan(problem)?)),
    audit: |_| AuditRecipe {
        one_run: Some("releases a matrix, in which canaries meet"),
        ..AuditRecipe::with(Settings { steps: Some(3), ..AUDIT_STILL })
    },
};

/// The constants of one loss.
struct Rule {
    /// Share of the budget for the Gram matrix.
    share: f64,
    /// Ridge over the operator norm of the noise.
    ridge: f64,
    averaging: Averaging,
}

fn rule(loss: Curved) -> Rule {
    match loss {
        Curved::Logistic => Rule { share: 0.12, ridge: 1.0, averaging: Averaging::Last },
        Curved::Squared => Rule { share: 0.25, ridge: 0.25, averaging: Averaging::Tail },
    }
}

/// BoostedAdaSSP: every round solves for the clipped residuals of the last with the same noised Gram matrix.
///
/// `w <- w - (c X^T X + E + ridge)^(-1) (g + e)`, `g` the clipped gradient sum at `w` and `c` the largest curvature of the
/// loss. For the squared loss `-g` is `X^T` times the clipped residuals, and the first round is AdaSSP. For the logistic
/// loss, whose residuals are `y` minus the predicted probability, it is Newton's method with the bound `X^T X / 4` on the
/// Hessian. The clip follows the noise as in [`super::DpGd`].
///
/// # Privacy
/// One Gaussian release of the Gram matrix and one of a clipped sum per round, both adjacencies.
///
/// # Reference
/// Tang, Aydore, Kearns, Rho, Roth, Wang, Wang, Wu 2023, "Improved differentially private regression via gradient boosting";
/// Boehning and Lindsay 1988 for the bound on the Hessian.
#[derive(Clone, Debug, PartialEq)]
pub struct BoostedAdaSsp {
    statistics: GramSteps,
    clip: ClipRule,
}

impl BoostedAdaSsp {
    /// Plans with the whole budget of the problem.
    ///
    /// # Errors
    /// When the budget is too small for a Gram matrix or for the number of rounds.
    pub fn plan(problem: &Problem<'_>) -> Fallible<Self> {
        DESCRIPTION.fits(problem)?;
        let loss = DESCRIPTION.curved_loss(problem)?;
        let rule = rule(loss);
        let descent = Descent::of(problem, ROUNDS, 1.0, 0.0, rule.averaging);
        let statistics = GramSteps::plan(problem, loss, rule.share, descent, RidgeRule::OperatorNorm(rule.ridge))?;
        Ok(BoostedAdaSsp { statistics, clip: ClipRule::of(problem) })
    }
}

impl Optimizer for BoostedAdaSsp {
    fn planned(&self) -> Vec<Planned> {
        self.statistics.planned()
    }

    fn run(&self, data: &PrivateDataset, start: &Start<'_>, run: &mut LoggedRun<'_>) -> Fallible<Fitted> {
        let dimension = data.shape().dimension() as f64;
        let mu = self.statistics.gradient.mu();
        let clip_norm = self.clip.clip_norm(self.statistics.gram.row_norm(), dimension, start, mu);
        self.statistics.run(clip_norm, data, start, run)
    }
}
