//! Questions about composition, sampling, and steps of which only the last iterate is released.

use serde_json::Value;

use super::answer::Answer;
use super::kind::Kind;
use super::params::Params;
use crate::accounting::compose::{self, Group, Optimal};
use crate::accounting::directed::add_up;
use crate::accounting::last_iterate::LastIterate;
use crate::accounting::notion::{ApproximateDp, ApproximateZcdp, Zcdp};
use crate::accounting::{subsample, zcdp};
use crate::error::{Error, Fallible};
use crate::num::round::up;
use crate::privacy::{Delta, Epsilon};

pub(super) const KINDS: &[Kind] = &[
    Kind::new("composition_basic", &["epsilons", "deltas"], basic),
    Kind::new("composition_advanced_drv", &["epsilon0", "delta0", "k", "delta_prime"], advanced),
    Kind::new("composition_advanced_heterogeneous", &["epsilons", "deltas", "delta_total"], heterogeneous),
    Kind::new("composition_optimal_eps", &["groups", "delta"], optimal_eps),
    Kind::new("composition_optimal_delta", &["groups", "epsilon"], optimal_delta),
    Kind::new("approximate_zcdp_composition", &["parts", "delta_total"], approximate_zcdp),
    Kind::new("gdp_last_iterate", &["contraction", "steps", "period", "shift"], last_iterate).or(&["diameter"]),
    Kind::new("subsampling_approx_dp", &["epsilon", "delta", "sampling_rate"], subsampling),
];

/// Two lists of the same length as guarantees.
fn guarantees(p: &Params<'_>) -> Fallible<Vec<ApproximateDp>> {
    let (epsilons, deltas) = (p.numbers("epsilons")?, p.numbers("deltas")?);
    if epsilons.len() != deltas.len() {
        let problem = format!("has {} numbers, epsilons {}", deltas.len(), epsilons.len());
        return Err(Error::parameter("deltas", problem, "give one delta for each epsilon"));
    }
    epsilons.iter().zip(&deltas).map(|(&e, &d)| ApproximateDp::new(e, d)).collect()
}

fn basic(p: &Params<'_>) -> Fallible<Answer> {
    let parts = guarantees(p)?;
    let total = compose::basic(&parts);
    let sum = p.numbers("deltas")?.iter().fold(0.0, |sum, &d| add_up(sum, d)).min(1.0);
    Ok(Answer::new()
        .number("epsilon", total.epsilon())
        .delta("delta_sum", sum)
        .ln_delta("delta_product", total.ln_delta()))
}

fn advanced(p: &Params<'_>) -> Fallible<Answer> {
    let one = ApproximateDp::new(p.number("epsilon0")?, p.number("delta0")?)?;
    let total = compose::advanced(one, p.whole("k")?, p.delta("delta_prime")?)?;
    Ok(Answer::new().number("epsilon", total.epsilon()).ln_delta("delta", total.ln_delta()))
}

fn heterogeneous(p: &Params<'_>) -> Fallible<Answer> {
    let total = compose::heterogeneous(&guarantees(p)?, p.delta("delta_total")?)?;
    Ok(Answer::new()
        .number("epsilon", total.epsilon)
        .delta("delta_prime", total.slack)
        .number("epsilon_tight_zcdp", total.epsilon_tight)
        .number("epsilon_optimal_zcdp", total.epsilon_optimal))
}

fn groups(p: &Params<'_>) -> Fallible<Optimal> {
    let read = |value: &Value| {
        let group = Params::open(value, &["epsilon", "delta", "count"], &[])?;
        let guarantee = ApproximateDp::new(group.number("epsilon")?, group.number("delta")?)?;
        Ok(Group { guarantee, count: group.whole("count")? })
    };
    Optimal::new(&p.list("groups")?.iter().map(read).collect::<Fallible<Vec<_>>>()?)
}

fn optimal_eps(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().number("epsilon", groups(p)?.epsilon(p.delta("delta")?)?.value()))
}

fn optimal_delta(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().ln_delta("delta", groups(p)?.ln_delta(p.epsilon("epsilon")?)))
}

fn approximate_zcdp(p: &Params<'_>) -> Fallible<Answer> {
    let (mut total, mut sum) = (ApproximateZcdp::default(), 0.0);
    for value in p.list("parts")? {
        let part = Params::open(value, &["rho", "delta"], &["xi"])?;
        let one = Zcdp::new(part.number_or("xi", 0.0)?, part.number("rho")?)?;
        let delta = part.number("delta")?;
        let ln_delta = ApproximateDp::new(0.0, delta)?.ln_delta();
        total = total.compose(ApproximateZcdp::new(ln_delta, one)?);
        sum = add_up(sum, delta);
    }
    let budget = p.delta("delta_total")?;
    let (rho, xi) = (total.zcdp().rho(), total.zcdp().xi());
    let simple = match Delta::new(if sum == 0.0 { budget.value() } else { (budget.value() - sum).next_down() }) {
        Ok(left) => zcdp::epsilon_classical(xi, rho, left)?,
        Err(_) => Epsilon::INFINITE,
    };
    Ok(Answer::new()
        .number("rho", rho)
        .number("xi", xi)
        .ln_delta("delta_composed", total.ln_delta())
        .delta("delta_composed_sum", sum.min(1.0))
        .number("epsilon_classical", total.to_epsilon_classical(budget)?.value())
        .number("epsilon_optimal", total.to_epsilon_optimal(budget)?.value())
        .number("epsilon_classical_simple", simple.value()))
}

fn last_iterate(p: &Params<'_>) -> Fallible<Answer> {
    let mut steps = LastIterate::new(p.number("contraction")?, p.whole("steps")?, p.whole("period")?)?;
    if p.has("diameter") {
        steps = steps.within(p.number("diameter")?)?;
    }
    let shift = p.number("shift")?;
    let (last, all) = (steps.to_gaussian_dp(shift)?, steps.all_to_gaussian_dp(shift)?);
    Ok(Answer::new().number("mu", last.mu()).number("mu_all", all.mu()))
}

fn subsampling(p: &Params<'_>) -> Fallible<Answer> {
    let (delta, rate) = (p.number("delta")?, p.number("sampling_rate")?);
    let sampled = subsample::approximate(ApproximateDp::new(p.number("epsilon")?, delta)?, rate)?;
    let product = if delta == 0.0 || rate == 0.0 { 0.0 } else { up(delta * rate, 1) };
    Ok(Answer::new().number("epsilon", sampled.epsilon()).delta_pair("delta", product, sampled.ln_delta()))
}
