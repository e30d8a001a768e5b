//! Questions about zCDP, Gaussian and group conversions.

use super::answer::Answer;
use super::calibrate;
use super::kind::Kind;
use super::params::Params;
use crate::accounting::notion::{ApproximateDp, TruncatedCdp, Zcdp};
use crate::accounting::rdp::mechanisms;
use crate::accounting::zcdp::{self, tail_bounds};
use crate::accounting::{Conversion, gaussian};
use crate::error::{Error, Fallible};
use crate::num::round::up;
use crate::privacy::Adjacency;

pub(super) const KINDS: &[Kind] = &[
    Kind::new("zcdp_to_eps_classical", &["xi", "rho", "delta"], eps_classical),
    Kind::new("zcdp_to_delta_classical", &["xi", "rho", "epsilon"], delta_classical),
    Kind::new("zcdp_max_rho_classical", &["xi", "epsilon", "delta"], rho_classical),
    Kind::new("zcdp_to_eps_optimal", &["xi", "rho", "delta"], eps_optimal),
    Kind::new("zcdp_to_delta_optimal", &["xi", "rho", "epsilon"], delta_optimal),
    Kind::new("zcdp_max_rho_optimal", &["xi", "epsilon", "delta"], rho_optimal),
    Kind::new("bun_steinke_lemma_3_6_delta", &["xi", "rho", "epsilon"], lemma_delta),
    Kind::new("bun_steinke_lemma_3_6_eps", &["xi", "rho", "delta"], lemma_eps),
    Kind::new("gaussian_delta_exact", &["mu", "epsilon"], gaussian_delta),
    Kind::new("gaussian_eps_exact", &["rho", "delta"], gaussian_eps),
    Kind::new("gaussian_max_rho_exact", &["epsilon", "delta"], gaussian_rho),
    Kind::new("gaussian_sigma_calibration", &["epsilon", "delta", "steps", "clip_norm", "adjacency"], sigma),
    Kind::new("gdp_composition", &["mus", "delta"], gdp),
    Kind::new("pure_dp_to_zcdp", &["epsilon"], pure_to_zcdp),
    Kind::new("tcdp_to_eps", &["rho", "omega", "delta"], tcdp),
    Kind::new("tcdp_sampled", &["rho", "omega", "fraction", "sampled_omega"], tcdp_sampled),
    Kind::new("group_privacy_dp", &["epsilon", "delta", "k"], group_dp),
    Kind::new("group_privacy_zcdp", &["xi", "rho", "k"], group_zcdp),
];

/// Reads the relation, by either spelling.
pub(super) fn adjacency(params: &Params<'_>) -> Fallible<Adjacency> {
    match params.text("adjacency")? {
        "add_remove" | "add-remove" => Ok(Adjacency::AddRemove),
        "replace_one" | "replace-one" => Ok(Adjacency::ReplaceOne),
        other => Err(Error::parameter("adjacency", format!("is {other:?}"), "use add_remove or replace_one")),
    }
}

fn eps_classical(p: &Params<'_>) -> Fallible<Answer> {
    let epsilon = zcdp::epsilon_classical(p.number("xi")?, p.number("rho")?, p.delta("delta")?)?;
    Ok(Answer::new().number("epsilon", epsilon.value()))
}

fn delta_classical(p: &Params<'_>) -> Fallible<Answer> {
    let ln = zcdp::ln_delta_classical(p.number("xi")?, p.number("rho")?, p.epsilon("epsilon")?)?;
    Ok(Answer::new().ln_delta("delta", ln))
}

fn rho_classical(p: &Params<'_>) -> Fallible<Answer> {
    let rho = zcdp::max_rho_classical(p.number("xi")?, p.epsilon("epsilon")?, p.delta("delta")?)?;
    Ok(Answer::new().number("rho", rho))
}

fn eps_optimal(p: &Params<'_>) -> Fallible<Answer> {
    let (rho, delta) = (p.number("rho")?, p.delta("delta")?);
    let epsilon = zcdp::epsilon_optimal(p.number("xi")?, rho, delta)?;
    Ok(Answer::new().number("epsilon", epsilon.value()).number("alpha", zcdp::order_for_epsilon(rho, delta)?))
}

fn delta_optimal(p: &Params<'_>) -> Fallible<Answer> {
    let (xi, rho, epsilon) = (p.number("xi")?, p.number("rho")?, p.epsilon("epsilon")?);
    let ln = zcdp::ln_delta_optimal(xi, rho, epsilon)?;
    Ok(Answer::new().ln_delta("delta", ln).number("alpha", zcdp::order_for_delta(xi, rho, epsilon)?))
}

fn rho_optimal(p: &Params<'_>) -> Fallible<Answer> {
    let rho = zcdp::max_rho_optimal(p.number("xi")?, p.epsilon("epsilon")?, p.delta("delta")?)?;
    Ok(Answer::new().number("rho", rho))
}

fn lemma_delta(p: &Params<'_>) -> Fallible<Answer> {
    let bounds = tail_bounds::ln_delta(p.number("xi")?, p.number("rho")?, p.epsilon("epsilon")?)?;
    Ok(Answer::new()
        .number("log_delta_option1", bounds.first)
        .number("log_delta_option2", bounds.second)
        .number("log_delta_option3", bounds.third)
        .number("log_delta_integral", bounds.integral)
        .ln_delta("delta", bounds.third))
}

fn lemma_eps(p: &Params<'_>) -> Fallible<Answer> {
    let (xi, rho, delta) = (p.number("xi")?, p.number("rho")?, p.delta("delta")?);
    Ok(Answer::new()
        .number("epsilon_option1", tail_bounds::epsilon_first(xi, rho, delta)?.value())
        .number("epsilon_best", tail_bounds::epsilon_best(xi, rho, delta)?.value()))
}

fn gaussian_delta(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().ln_delta("delta", gaussian::ln_delta(p.number("mu")?, p.epsilon("epsilon")?)?))
}

fn gaussian_eps(p: &Params<'_>) -> Fallible<Answer> {
    let rho = p.number("rho")?;
    let epsilon = gaussian::epsilon_from_rho(rho, p.delta("delta")?)?;
    Ok(Answer::new().number("epsilon", epsilon.value()).number("mu", gaussian::mu_upper_from_rho(rho)?))
}

fn gaussian_rho(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().number("rho", gaussian::max_rho(p.epsilon("epsilon")?, p.delta("delta")?)?))
}

fn sigma(p: &Params<'_>) -> Fallible<Answer> {
    let (epsilon, delta, steps) = (p.epsilon("epsilon")?, p.delta("delta")?, p.whole("steps")?);
    let sensitivity = p.number("clip_norm")? * adjacency(p)?.sum_sensitivity(1) as f64;
    let names = ["classical", "optimal_alpha", "exact"];
    Conversion::ALL.iter().zip(names).try_fold(Answer::new(), |answer, (conversion, name)| {
        let rho = conversion.max_rho(epsilon, delta)?;
        let sigma = calibrate::sigma(*conversion, epsilon, delta, steps, sensitivity)?;
        Ok(answer.number(&format!("sigma_{name}"), sigma).number(&format!("rho_{name}"), rho))
    })
}

fn gdp(p: &Params<'_>) -> Fallible<Answer> {
    let rho = gaussian::compose(&p.numbers("mus")?)?.upper();
    let epsilon = gaussian::epsilon_from_rho(rho, p.delta("delta")?)?;
    Ok(Answer::new()
        .number("mu", gaussian::mu_upper_from_rho(rho)?)
        .number("rho", rho)
        .number("epsilon", epsilon.value()))
}

fn pure_to_zcdp(p: &Params<'_>) -> Fallible<Answer> {
    let epsilon = p.number("epsilon")?;
    Ok(Answer::new()
        .number("rho_tight", mechanisms::pure_rho(epsilon)?)
        .number("rho_half_eps_squared", if epsilon == 0.0 { 0.0 } else { up(epsilon / 2.0 * epsilon, 2) })
        .number("rho_bounded_range", mechanisms::bounded_range_rho(epsilon)?)
        .number("rho_laplace_tight", mechanisms::laplace_rho(epsilon)?))
}

fn tcdp(p: &Params<'_>) -> Fallible<Answer> {
    let (tcdp, delta) = (TruncatedCdp::new(p.number("rho")?, p.number("omega")?)?, p.delta("delta")?);
    let best = tcdp.to_epsilon_optimal(delta)?;
    Ok(Answer::new()
        .number("epsilon_classical", tcdp.to_epsilon_classical(delta)?.value())
        .number("epsilon_optimal", best.value)
        .number("alpha_optimal", best.alpha))
}

fn tcdp_sampled(p: &Params<'_>) -> Fallible<Answer> {
    let tcdp = TruncatedCdp::new(p.number("rho")?, p.number("omega")?)?;
    let sampled = tcdp.sampled_without_replacement(p.number("fraction")?, p.number("sampled_omega")?)?;
    Ok(Answer::new().number("rho", sampled.rho()).number("omega", sampled.omega()))
}

fn group_dp(p: &Params<'_>) -> Fallible<Answer> {
    let one = ApproximateDp::new(p.number("epsilon")?, p.number("delta")?)?;
    let group = one.group(p.whole("k")?)?;
    Ok(Answer::new()
        .number("epsilon", group.epsilon())
        .ln_delta("delta", group.ln_delta())
        .ln_delta("delta_clipped", group.ln_delta()))
}

fn group_zcdp(p: &Params<'_>) -> Fallible<Answer> {
    let group = Zcdp::new(p.number("xi")?, p.number("rho")?)?.group(p.whole("k")?)?;
    Ok(Answer::new().number("rho", group.rho()).number("xi", group.xi()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::notion::GaussianDp;
    use crate::privacy::Delta;

    #[test]
    fn the_type_and_the_question_agree() {
        let delta = Delta::new(1e-6).unwrap();
        let typed = GaussianDp::new(1.0).unwrap().to_approximate_dp(delta).unwrap().epsilon();
        let asked = gaussian::epsilon_from_rho(0.5, delta).unwrap().value();
        assert!((typed - asked).abs() < 1e-12);
    }
}
