//! Questions about finite laws, integer noise, objective perturbation, audits and plans.

use super::answer::Answer;
use super::kind::Kind;
use super::params::Params;
use crate::accounting::erm::{self, Jacobian};
use crate::accounting::finite::Pair;
use crate::accounting::gaussian::{self, integer_noise};
use crate::error::Fallible;
use crate::num::round::up;
use crate::statistics::evidence::{self, Counts};

pub(super) const KINDS: &[Kind] = &[
    Kind::new("plrv_delta_identities", &["P", "Q", "epsilon"], identities),
    Kind::new("discrete_gaussian_delta", &["sigma", "sensitivity", "epsilon"], discrete_gaussian),
    Kind::new(
        "objective_perturbation_glm_delta",
        &["gradient_sensitivity", "sigma", "smoothness", "regularisation", "epsilon"],
        objective_perturbation,
    ),
    Kind::new(
        "audit_epsilon_lower_bound",
        &["false_positives", "negatives", "false_negatives", "positives", "delta", "confidence"],
        audit,
    ),
    Kind::new("dp_erm_noisy_gd_parameters", &["n", "d", "epsilon", "delta", "lipschitz", "diameter"], noisy_descent),
];

fn identities(p: &Params<'_>) -> Fallible<Answer> {
    let pair = Pair::new(p.numbers("P")?, p.numbers("Q")?)?;
    let epsilon = p.epsilon("epsilon")?.value();
    let forms = pair.delta_forms(epsilon);
    Ok(Answer::new()
        .delta("delta", pair.delta(epsilon))
        .number("delta_tails", forms.tails)
        .number("delta_expectation", forms.expectation)
        .number("delta_integral", forms.integral)
        .number("tail_probability", pair.loss().tail(epsilon)))
}

fn discrete_gaussian(p: &Params<'_>) -> Fallible<Answer> {
    let (sigma, epsilon) = (p.number("sigma")?, p.epsilon("epsilon")?);
    let sensitivity = integer_noise::whole(p.number("sensitivity")?)?;
    let continuous = if sensitivity == 0 { 0.0 } else { up(sensitivity as f64 / sigma, 1) };
    Ok(Answer::new()
        .ln_delta("delta", integer_noise::ln_delta(sigma, sensitivity, epsilon)?)
        .ln_delta("delta_continuous_gaussian", gaussian::ln_delta(continuous, epsilon)?)
        .number("zcdp_rho", integer_noise::rho(sigma, sensitivity)?)
        .number("variance", integer_noise::variance(sigma)?))
}

fn objective_perturbation(p: &Params<'_>) -> Fallible<Answer> {
    let (gradient, sigma) = (p.number("gradient_sensitivity")?, p.number("sigma")?);
    let (beta, lambda, epsilon) = (p.number("smoothness")?, p.number("regularisation")?, p.epsilon("epsilon")?);
    let at = |jacobian| erm::objective_perturbation(gradient, sigma, beta, lambda, jacobian, epsilon);
    Ok(Answer::new()
        .ln_delta("delta_published_jacobian", at(Jacobian::Published)?)
        .ln_delta("delta_log1p_jacobian", at(Jacobian::RankOne)?))
}

fn audit(p: &Params<'_>) -> Fallible<Answer> {
    let counts = Counts {
        false_positives: p.whole("false_positives")?,
        negatives: p.whole("negatives")?,
        false_negatives: p.whole("false_negatives")?,
        positives: p.whole("positives")?,
    };
    let shown = evidence::epsilon_lower(counts, p.number("delta")?, p.number("confidence")?)?;
    Ok(Answer::new()
        .number("fpr_upper", shown.false_positive_rate)
        .number("fnr_upper", shown.false_negative_rate)
        .number("epsilon_lower", shown.epsilon))
}

fn noisy_descent(p: &Params<'_>) -> Fallible<Answer> {
    let (n, d) = (p.whole("n")? as f64, p.whole("d")? as f64);
    let (epsilon, delta) = (p.number("epsilon")?, p.delta("delta")?);
    let plan = erm::noisy_descent(n, d, epsilon, delta, p.number("lipschitz")?, p.number("diameter")?)?;
    Ok(Answer::new()
        .number("T", plan.steps)
        .number("sigma", plan.sigma)
        .number("rho_total", plan.rho)
        .number("eta_lecture", plan.eta_lecture)
        .number("bound_lecture_proof", plan.bound_lecture)
        .number("target_8LR", plan.target)
        .number("eta_exact_second_moment", plan.eta)
        .number("bound_exact_second_moment", plan.bound)
        .number("epsilon_classical", plan.epsilon_classical)
        .number("epsilon_exact", plan.epsilon_exact))
}
