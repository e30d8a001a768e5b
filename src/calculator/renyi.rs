//! Questions about Renyi curves.

use serde_json::Value;

use super::answer::Answer;
use super::conversion::adjacency;
use super::kind::Kind;
use super::params::Params;
use crate::accounting::notion::RdpCurve;
use crate::accounting::rdp::{self, Base, Component, Form};
use crate::accounting::{gaussian, selection};
use crate::error::{Error, Fallible};
use crate::num::round::up;
use crate::privacy::{Adjacency, Epsilon, RunCount};

const SAMPLED: &[&str] = &["sampling_rate", "noise_multiplier", "alpha", "adjacency"];

pub(super) const KINDS: &[Kind] = &[
    Kind::new("rdp_gaussian", &["sensitivity", "sigma", "alpha"], gaussian_curve),
    Kind::new("rdp_laplace", &["eps0", "alpha"], laplace),
    Kind::new("rdp_randomized_response", &["p", "alpha"], randomised_response),
    Kind::new("rdp_pure_dp_tight", &["epsilon", "alpha"], pure),
    Kind::new("rdp_poisson_gaussian", SAMPLED, sampled),
    Kind::new(
        "rdp_poisson_gaussian_grid_to_eps",
        &["sampling_rate", "noise_multiplier", "steps", "delta", "orders", "adjacency"],
        sampled_grid,
    ),
    Kind::new("rdp_curve_to_eps", &["components", "delta"], curve).or(&["alpha_domain"]),
    Kind::new("rdp_single_order_to_delta", &["alpha", "rdp", "epsilon"], one_order),
    Kind::new("rdp_without_replacement", &["sampling_fraction", "base", "alpha", "adjacency"], without_replacement)
        .or(&["noise_multiplier", "eps0", "noise_multiplier_relative_to"]),
    Kind::new("private_selection_rdp", &["base_rho_zcdp", "distribution", "alpha"], private_selection)
        .or(&["eta", "gamma", "mean"]),
];

fn gaussian_curve(p: &Params<'_>) -> Fallible<Answer> {
    let (sensitivity, sigma, alpha) = (p.number("sensitivity")?, p.number("sigma")?, p.number("alpha")?);
    let rho = gaussian::rho(sensitivity, sigma)?;
    let curve = RdpCurve::from(Component::Concentrated { xi: 0.0, rho });
    Ok(Answer::new().number("rdp", curve.at(alpha)?).number("rho", rho))
}

fn laplace(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().number("rdp", rdp::laplace(p.number("eps0")?, p.number("alpha")?)?))
}

fn randomised_response(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().number("rdp", rdp::randomised_response(p.number("p")?, p.number("alpha")?)?))
}

fn pure(p: &Params<'_>) -> Fallible<Answer> {
    let (epsilon, alpha) = (p.number("epsilon")?, p.number("alpha")?);
    let bound = if epsilon == 0.0 { 0.0 } else { up(alpha * (epsilon / 2.0 * epsilon), 3) };
    Ok(Answer::new().number("rdp", rdp::pure(epsilon, alpha)?).number("rdp_bun_steinke_bound", bound))
}

fn sampled(p: &Params<'_>) -> Fallible<Answer> {
    let (q, z, alpha) = (p.number("sampling_rate")?, p.number("noise_multiplier")?, p.number("alpha")?);
    Ok(match adjacency(p)? {
        Adjacency::AddRemove => {
            let both = rdp::poisson_gaussian(q, z, alpha)?;
            Answer::new().number("rdp", both.worst()).number("rdp_remove", both.remove).number("rdp_add", both.add)
        }
        Adjacency::ReplaceOne => Answer::new().number("rdp", rdp::poisson_gaussian_replace_one(q, z, alpha)?),
    })
}

/// The curve of a Poisson-sampled Gaussian under a relation.
fn sampled_curve(p: &Params<'_>) -> Fallible<RdpCurve> {
    let (rate, noise_multiplier) = (p.number("sampling_rate")?, p.number("noise_multiplier")?);
    Ok(match adjacency(p)? {
        Adjacency::AddRemove => Component::PoissonGaussian { rate, noise_multiplier },
        Adjacency::ReplaceOne => Component::PoissonGaussianReplaceOne { rate, noise_multiplier },
    }
    .into())
}

fn sampled_grid(p: &Params<'_>) -> Fallible<Answer> {
    let (curve, delta) = (sampled_curve(p)?.repeat(p.whole("steps")?), p.delta("delta")?);
    let values = p.numbers("orders")?.iter().map(|&a| Ok((a, curve.at(a)?))).collect::<Fallible<Vec<_>>>()?;
    let improved = rdp::epsilon_over_orders(&values, delta, Form::Improved)?;
    let mironov = rdp::epsilon_over_orders(&values, delta, Form::Mironov)?;
    Ok(Answer::new()
        .number("epsilon_improved", improved.value)
        .number("alpha_improved", improved.alpha)
        .number("epsilon_mironov", mironov.value)
        .number("alpha_mironov", mironov.alpha))
}

fn curve(p: &Params<'_>) -> Fallible<Answer> {
    p.only_text("alpha_domain", &["(1,inf) continuous"])?;
    let parts = p.list("components")?.iter().map(component).collect::<Fallible<Vec<_>>>()?;
    let (curve, delta) = (parts.iter().fold(RdpCurve::nothing(), RdpCurve::compose), p.delta("delta")?);
    let improved = rdp::epsilon(&curve, delta, Form::Improved)?;
    let mironov = rdp::epsilon(&curve, delta, Form::Mironov)?;
    Ok(Answer::new()
        .number("epsilon_mironov", mironov.value)
        .number("alpha_mironov", mironov.alpha)
        .number("epsilon_improved", improved.value)
        .number("alpha_improved", improved.alpha))
}

/// One component of a curve, with its count.
fn component(value: &Value) -> Fallible<RdpCurve> {
    let kind = value.get("type").and_then(Value::as_str);
    let open = |required: &[&str]| Params::open(value, required, &["count"]);
    let one = |name: &'static str, part: fn(f64) -> Component| {
        let params = open(&["type", name])?;
        let part = part(params.number(name)?);
        Ok::<_, Error>((params, part))
    };
    let (params, part) = match kind {
        Some("gaussian") => one("noise_multiplier", |noise_multiplier| Component::Gaussian { noise_multiplier })?,
        Some("laplace") => one("eps0", |epsilon| Component::Laplace { epsilon })?,
        Some("randomized_response") => one("p", |truth| Component::RandomisedResponse { truth })?,
        Some("pure_dp") => one("epsilon", |epsilon| Component::Pure { epsilon })?,
        Some("bounded_range") => one("epsilon", |epsilon| Component::BoundedRange { epsilon })?,
        Some("zcdp") => one("rho", |rho| Component::Concentrated { xi: 0.0, rho })?,
        Some("poisson_gaussian") => {
            let params = open(&["type", "sampling_rate", "noise_multiplier"])?;
            let (rate, noise_multiplier) = (params.number("sampling_rate")?, params.number("noise_multiplier")?);
            (params, Component::PoissonGaussian { rate, noise_multiplier })
        }
        other => {
            let problem = format!("has the type {other:?}");
            let cure = "use gaussian, laplace, randomized_response, pure_dp, bounded_range, zcdp or poisson_gaussian";
            return Err(Error::parameter("components", problem, cure));
        }
    };
    let count = if params.has("count") { params.whole("count")? } else { 1 };
    Ok(RdpCurve::from(part).repeat(count))
}

fn one_order(p: &Params<'_>) -> Fallible<Answer> {
    let (alpha, renyi, epsilon) = (p.number("alpha")?, p.number("rdp")?, p.epsilon("epsilon")?);
    Ok(Answer::new()
        .ln_delta("delta_exact", rdp::ln_delta_lossless(alpha, renyi, epsilon)?)
        .ln_delta("delta_improved", rdp::ln_delta_at_order(alpha, renyi, epsilon, Form::Improved)?)
        .ln_delta("delta_mironov", rdp::ln_delta_at_order(alpha, renyi, epsilon, Form::Mironov)?))
}

fn without_replacement(p: &Params<'_>) -> Fallible<Answer> {
    if adjacency(p)? != Adjacency::ReplaceOne {
        return Err(Error::parameter("adjacency", "must be replace_one", "samples of fixed size need public n"));
    }
    p.only_text("noise_multiplier_relative_to", &["replace-one"])?;
    let (g, alpha) = (p.number("sampling_fraction")?, p.number("alpha")?);
    let surplus = |name: &str| -> Fallible<()> {
        if p.has(name) {
            return Err(Error::parameter(name, "does not belong to this base", "remove it"));
        }
        Ok(())
    };
    match p.text("base")? {
        "gaussian" => {
            surplus("eps0")?;
            let z = p.number("noise_multiplier")?;
            let renyi = |a: f64| rdp::gaussian(z, a);
            let base = Base { renyi: &renyi, largest: f64::INFINITY, gaussian: Some(z) };
            let bounds = rdp::without_replacement_bounds(&base, g, alpha)?;
            let refined = bounds.refined.unwrap_or(f64::INFINITY);
            // The truth is at least the sampled divergence, which is an upper bound within 1e-10.
            let below = rdp::poisson_gaussian(g, z, alpha)?.remove * (1.0 - 1e-9);
            Ok(Answer::new()
                .number("rdp_general", bounds.general)
                .number("rdp_gaussian_tight", refined)
                .number("rdp_min", bounds.general.min(refined))
                .number("rdp_lower_bound_on_truth", below))
        }
        "laplace" => {
            surplus("noise_multiplier")?;
            let e = p.number("eps0")?;
            let renyi = |a: f64| rdp::laplace(e, a);
            let base = Base { renyi: &renyi, largest: rdp::laplace(e, f64::INFINITY)?, gaussian: None };
            Ok(Answer::new().number("rdp_general", rdp::without_replacement_bounds(&base, g, alpha)?.general))
        }
        other => Err(Error::parameter("base", format!("is {other:?}"), "use gaussian or laplace")),
    }
}

fn private_selection(p: &Params<'_>) -> Fallible<Answer> {
    let (rho, alpha) = (p.number("base_rho_zcdp")?, p.number("alpha")?);
    let base = RdpCurve::from(Component::Concentrated { xi: 0.0, rho });
    let surplus = |names: &[&str]| -> Fallible<()> {
        match names.iter().find(|name| p.has(name)) {
            Some(name) => Err(Error::parameter(*name, "does not belong to this distribution", "remove it")),
            None => Ok(()),
        }
    };
    match p.text("distribution")? {
        "truncated_negative_binomial" => {
            surplus(&["mean"])?;
            let (eta, gamma) = (p.number("eta")?, p.number("gamma")?);
            let runs = RunCount::TruncatedNegativeBinomial { eta, gamma };
            let answer = Answer::new()
                .number("rdp", selection::renyi(&base, runs, alpha)?)
                .number("mean_runs", selection::mean_runs(runs)?);
            // For a zCDP base the best order of the constant is known.
            Ok(answer.number("lambda_hat", (-gamma.ln() / rho).sqrt().max(1.0)))
        }
        "poisson" => {
            surplus(&["eta", "gamma"])?;
            let runs = RunCount::Poisson { mean: p.number("mean")? };
            let rdp = selection::renyi(&base, runs, alpha)?;
            let eps_hat = (1.0 / (alpha - 1.0)).ln_1p();
            let ln_delta = crate::accounting::zcdp::ln_delta_optimal(0.0, rho, Epsilon::new(eps_hat)?)?;
            Ok(Answer::new().number("rdp", rdp).number("eps_hat", eps_hat).ln_delta("delta_hat", ln_delta))
        }
        other => {
            let cure = "use truncated_negative_binomial or poisson";
            Err(Error::parameter("distribution", format!("is {other:?}"), cure))
        }
    }
}
