//! Questions about profiles, failures at one order, accurate answers, sparse vector with normal noise, and beliefs.

use super::answer::Answer;
use super::kind::Kind;
use super::params::Params;
use crate::accounting::belief;
use crate::accounting::notion::ApproximateDp;
use crate::accounting::packing::Accurate;
use crate::accounting::profile::SubgaussianProfile;
use crate::accounting::rdp::{self, ApproximateRenyi, Form, GaussianSparseVector};
use crate::error::{Error, Fallible};

pub(super) const KINDS: &[Kind] = &[
    Kind::new("profile_to_zcdp", &["xi", "rho"], profile_to_zcdp).or(&["slope"]),
    Kind::new("profile_to_rdp", &["xi", "rho", "alpha"], profile_to_rdp),
    Kind::new("profile_to_delta", &["xi", "rho", "epsilon"], profile_to_delta),
    Kind::new("approximate_rdp_compose", &["alpha", "rdps", "deltas"], approximate_compose),
    Kind::new("approximate_rdp_of_dp", &["epsilon", "delta", "alpha"], approximate_of_dp),
    Kind::new("approximate_rdp_to_delta", &["alpha", "rdp", "delta", "epsilon"], approximate_to_delta),
    Kind::new("approximate_rdp_to_eps", &["alpha", "rdp", "delta", "total_delta"], approximate_to_epsilon),
    Kind::new("zcdp_answers", &["rho", "rows", "miss"], answers),
    Kind::new("zcdp_answers_least_rows", &["rho", "ln_count", "miss"], least_rows),
    Kind::new("zcdp_answers_to_pure", &["rho", "rows", "miss", "width", "extra", "pure_miss"], to_pure),
    Kind::new(
        "rdp_gaussian_sparse_vector",
        &["threshold_noise", "question_noise", "questions", "alpha"],
        sparse_vector,
    ),
    Kind::new(
        "gaussian_sparse_vector_eps",
        &["threshold_noise", "question_noise", "questions", "delta"],
        sparse_epsilon,
    ),
    Kind::new("posterior_unless_failed", &["epsilon", "delta", "prior"], posterior),
];

fn promise(p: &Params<'_>) -> Fallible<SubgaussianProfile> {
    SubgaussianProfile::new(p.number("xi")?, p.number("rho")?)
}

fn profile_to_zcdp(p: &Params<'_>) -> Fallible<Answer> {
    let promise = promise(p)?;
    let sloped = promise.to_zcdp_of_slope(p.number_or("slope", promise.rho())?)?;
    Ok(Answer::new().number("rho", promise.to_zcdp()?.rho()).number("xi_at_slope", sloped.xi()))
}

fn profile_to_rdp(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().number("rdp", promise(p)?.renyi(p.number("alpha")?)?))
}

fn profile_to_delta(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().ln_delta("delta", promise(p)?.to_approximate_dp(p.epsilon("epsilon")?)?.ln_delta()))
}

/// A bound at an order with a delta that may be 0.
fn approximate(alpha: f64, renyi: f64, delta: f64) -> Fallible<ApproximateRenyi> {
    ApproximateRenyi::new(alpha, renyi, ApproximateDp::new(0.0, delta)?.ln_delta())
}

fn approximate_compose(p: &Params<'_>) -> Fallible<Answer> {
    let (alpha, renyi, deltas) = (p.number("alpha")?, p.numbers("rdps")?, p.numbers("deltas")?);
    if renyi.len() != deltas.len() {
        return Err(Error::parameter("deltas", "are not as many as the divergences", "give one for each"));
    }
    let none = approximate(alpha, 0.0, 0.0)?;
    let mut parts = renyi.into_iter().zip(deltas).map(|(r, d)| approximate(alpha, r, d));
    let all = parts.try_fold(none, |all, part| all.compose(part?))?;
    Ok(Answer::new().number("rdp", all.renyi()).ln_delta("delta", all.ln_delta()))
}

fn guarantee(p: &Params<'_>) -> Fallible<ApproximateDp> {
    ApproximateDp::new(p.number("epsilon")?, p.number("delta")?)
}

fn approximate_of_dp(p: &Params<'_>) -> Fallible<Answer> {
    let found = ApproximateRenyi::of_approximate_dp(guarantee(p)?, p.number("alpha")?)?;
    Ok(Answer::new().number("rdp", found.renyi()).ln_delta("delta", found.ln_delta()))
}

fn approximate_to_delta(p: &Params<'_>) -> Fallible<Answer> {
    let bound = approximate(p.number("alpha")?, p.number("rdp")?, p.number("delta")?)?;
    Ok(Answer::new().ln_delta("delta", bound.to_approximate_dp(p.epsilon("epsilon")?)?.ln_delta()))
}

fn approximate_to_epsilon(p: &Params<'_>) -> Fallible<Answer> {
    let bound = approximate(p.number("alpha")?, p.number("rdp")?, p.number("delta")?)?;
    Ok(Answer::new().number("epsilon", bound.to_epsilon(p.delta("total_delta")?)?.value()))
}

fn accurate(p: &Params<'_>) -> Fallible<Accurate> {
    Accurate::new(p.number("rho")?, p.whole("rows")?, p.number("miss")?)
}

fn answers(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().number("ln_count", accurate(p)?.ln_answers()))
}

fn least_rows(p: &Params<'_>) -> Fallible<Answer> {
    let rows = Accurate::least_rows(p.number("rho")?, p.number("ln_count")?, p.number("miss")?)?;
    Ok(Answer::new().number("rows", rows))
}

fn to_pure(p: &Params<'_>) -> Fallible<Answer> {
    let pure = accurate(p)?.pure(p.number("width")?, p.number("extra")?, p.number("pure_miss")?)?;
    Ok(Answer::new().number("epsilon", pure.epsilon()))
}

fn technique(p: &Params<'_>) -> Fallible<GaussianSparseVector> {
    GaussianSparseVector::new(p.number("threshold_noise")?, p.number("question_noise")?, p.whole("questions")?)
}

fn sparse_vector(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().number("rdp", technique(p)?.renyi(p.number("alpha")?)?))
}

fn sparse_epsilon(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().number("epsilon", rdp::epsilon(&technique(p)?, p.delta("delta")?, Form::Improved)?.value))
}

fn posterior(p: &Params<'_>) -> Fallible<Answer> {
    let (lowest, highest) = belief::unless_failed(guarantee(p)?, p.number("prior")?)?;
    Ok(Answer::new().number("lowest", lowest).number("highest", highest))
}
