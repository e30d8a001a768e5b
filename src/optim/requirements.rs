//! What solvers and choices require of a problem, refused with a cure where it is not met.

use super::Problem;
use crate::error::{Error, Fallible};
use crate::loss::{BoundedLoss, Glm, Objective};

/// The loss of one margin.
///
/// # Errors
/// When the loss has one margin per label.
pub(super) fn margin_loss(algorithm: &str, problem: &Problem<'_>) -> Fallible<Glm> {
    match problem.loss {
        Objective::Margin(loss) => Ok(loss),
        Objective::Softmax { .. } => {
            Err(unfit(algorithm, "handles one margin per row, not one per label", "or a target with two labels"))
        }
    }
}

/// The loss with slopes in `[-1, 1]` that is minimised in the place of the problem's.
///
/// # Errors
/// When no such loss has slopes with a proved error.
pub(super) fn bounded_loss(algorithm: &str, problem: &Problem<'_>) -> Fallible<BoundedLoss> {
    let cure = match margin_loss(algorithm, problem)? {
        Glm::Logistic | Glm::Hinge(_) => "or --model logistic",
        Glm::Squared | Glm::Huber(_) | Glm::Pinball(_) | Glm::Poisson(_) => "or --model linear",
    };
    BoundedLoss::of(problem.loss)
        .ok_or_else(|| unfit(algorithm, "certifies minimisers of logistic and linear regression only", cure))
}

/// Refuses penalties that an algorithm has no place for.
///
/// # Errors
/// When one is asked for.
pub(super) fn no_l1(algorithm: &str, problem: &Problem<'_>) -> Fallible<()> {
    if problem.settings.l1 > 0.0 {
        return Err(Error::parameter("--l1", format!("has no place in {algorithm}"), "use --algorithm dp-gd"));
    }
    Ok(())
}

/// As [`no_l1`], for the l2 penalty.
///
/// # Errors
/// When one is asked for, be it by the model family.
pub(super) fn no_l2(algorithm: &str, problem: &Problem<'_>) -> Fallible<()> {
    if problem.settings.l2.is_some_and(|l2| l2 > 0.0) {
        let cure = "leave it out, and use --model linear in the place of ridge";
        return Err(Error::parameter("--l2", format!("has no place in {algorithm}"), cure));
    }
    Ok(())
}

pub(super) fn unfit(algorithm: &str, why: &str, cure: &str) -> Error {
    Error::parameter(format!("--algorithm {algorithm}"), why, format!("use --algorithm dp-gd, {cure}"))
}
