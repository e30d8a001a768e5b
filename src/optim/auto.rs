//! # `auto`: the default
//!
//! Chooses between [`whitened`](whitened.md) and [`dp-gd`](dp-gd.md) by public facts alone, before a row is looked at.
//!
//! **Rule.** `whitened` runs when all of these hold, else `dp-gd`:
//!
//! - features are standardised (no `--no-standardise`);
//! - there are at most 1,024 coefficients;
//! - no `--l1` is asked for, which needs coordinates in which a coefficient belongs to one feature;
//! - the budget allows a release of the Gram matrix at all;
//! - where the number of rows is public: the noise of the Gram matrix is at most 30 times its mean eigenvalue `1/d`.
//!
//! Where the number of rows is private the last rule cannot be asked. A Gram matrix that turns out to be mostly noise costs its share of the budget and
//! leaves coordinates as they were: its eigenvalues are cut at zero and the ridge takes over.
//!
//! **Settings.** Those of the one that runs: `--clip`, `--steps`, `--learning-rate`, `--momentum`, `--l1`, `--l2`, `--radius`, `--averaging`. The
//! statement names the algorithm that ran.
//!
//! **Use it when** you have no reason for another. It is never the worst choice on the data sets of [benchmarks.md](../benchmarks.md); `adassp` is better
//! on heavy-tailed numbers, `newton` and `boosted-adassp` on few columns at small budgets.
//!
//! **Source.** Measured on four data sets, see [defaults.md](../defaults.md). Both relations.

use super::description::{AUDIT_STILL, AuditRecipe, Description, Losses, Needs, Relations};
use super::{Averaging, DpGd, Problem, Settings, WhitenedDpGd, settings};

/// Most coefficients for which a Gram matrix is paid for.
const MAX_WHITENED: usize = 1024;

/// Where the number of rows is public: the largest ratio of the Gram matrix's noise to the mean eigenvalue for which it is
/// paid for.
const MAX_GRAM_NOISE: f64 = 30.0;

pub(super) static DESCRIPTION: Description = Description {
    name: "auto",
    about: "whitened, or dp-gd where a Gram matrix would be mostly noise",
    releases: "those of the one that it chooses",
    reference: "measured",
    relations: Relations::Both,
    losses: Losses::Any,
    settings: settings::OF_DESCENT,
    needs: Needs::NOTHING,
    plan: |problem| match whitens(problem) {
        true => Ok(Box::new(WhitenedDpGd::plan(problem)?)),
        false => Ok(Box::new(DpGd::plan(problem)?)),
    },
    audit: |_| {
        // The last iterate alone shows as much as all releases together.
        let last = Settings { averaging: Some(Averaging::Last), momentum: Some(0.0), ..AUDIT_STILL };
        AuditRecipe::with(last)
    },
};

/// Whether the default whitens: features are standardised, a whitened run can be planned and the Gram matrix pays.
///
/// A budget too small for a Gram matrix, or an l1 penalty, is no reason to fail: the plain method has no map.
pub(super) fn whitens(problem: &Problem<'_>) -> bool {
    problem.standardized && WhitenedDpGd::plan(problem).is_ok_and(|plan| gram_pays(&plan, problem))
}

/// Whether the Gram matrix will tell more than noise: few enough coefficients, and, where the number of rows is
/// public, noise of moderate size beside the mean eigenvalue `1 / d`.
fn gram_pays(plan: &WhitenedDpGd, problem: &Problem<'_>) -> bool {
    let d = problem.shape.dimension() as f64;
    let noise = |rows: u64| (2.0 * d).sqrt() * d / (plan.gram_mu() * rows.max(1) as f64);
    problem.shape.dimension() <= MAX_WHITENED && problem.rows.is_none_or(|rows| noise(rows) <= MAX_GRAM_NOISE)
}
