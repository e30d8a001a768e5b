//! Questions about privacy loss distributions, answered with certified bounds.

use super::answer::Answer;
use super::conversion::adjacency;
use super::kind::Kind;
use super::params::Params;
use crate::accounting::directed::{delta_from_ln, positive};
use crate::accounting::pld::{self, Interval, Pld};
use crate::accounting::sampled_last_iterate::SampledLastIterate;
use crate::error::{Error, Fallible};
use crate::num::round::down;
use crate::privacy::{Adjacency, DpEvent, Mechanism};

/// Largest asked width of an epsilon interval, and relative width of a delta interval.
const TOLERANCE: f64 = 1e-5;

const STEPS: &[&str] = &["sampling_rate", "noise_multiplier", "steps", "delta", "adjacency"];

pub(super) const KINDS: &[Kind] = &[
    Kind::new("poisson_gaussian_pld_eps", STEPS, sampled_eps),
    Kind::new(
        "poisson_gaussian_pld_delta",
        &["sampling_rate", "noise_multiplier", "steps", "epsilon", "adjacency"],
        sampled_delta,
    ),
    Kind::new("poisson_gaussian_pld_eps_replace_one", STEPS, sampled_replace_one).or(&["noise_multiplier_relative_to"]),
    Kind::new(
        "poisson_gaussian_one_step_delta",
        &["sampling_rate", "noise_multiplier", "epsilon", "adjacency"],
        one_step,
    ),
    Kind::new(
        "sampled_last_iterate_eps",
        &["contraction", "steps", "sampling_rate", "shift", "delta", "adjacency"],
        last_iterate,
    )
    .or(&["diameter"]),
    Kind::new("laplace_composition_eps", &["eps0", "steps", "delta"], laplace_eps),
    Kind::new("laplace_composition_delta", &["eps0", "steps", "epsilon"], laplace_delta),
];

/// The repeated Poisson-sampled Gaussian of the parameters.
fn sampled(p: &Params<'_>) -> Fallible<DpEvent> {
    let mechanism = Mechanism::Gaussian { noise_multiplier: p.number("noise_multiplier")? };
    Ok(DpEvent::poisson(mechanism, p.number("sampling_rate")?, p.whole("steps")?))
}

/// Refuses a relation that the kind is not about.
fn only(p: &Params<'_>, wanted: Adjacency) -> Fallible<()> {
    if adjacency(p)? == wanted {
        return Ok(());
    }
    Err(Error::parameter("adjacency", format!("must be {wanted} here"), "use the kind for the other relation"))
}

fn epsilons(interval: Interval) -> Answer {
    Answer::new().number("epsilon", interval.upper).number("lower", interval.lower).number("upper", interval.upper)
}

fn deltas(interval: Interval) -> Answer {
    let lower = down(interval.lower.exp(), 2).max(0.0);
    Answer::new()
        .ln_delta("delta", interval.upper)
        .number("lower", lower)
        .number("upper", delta_from_ln(interval.upper))
        .number("log_lower", interval.lower)
        .number("log_upper", interval.upper)
}

fn sampled_eps(p: &Params<'_>) -> Fallible<Answer> {
    only(p, Adjacency::AddRemove)?;
    let pld = Pld::new(&sampled(p)?, Adjacency::AddRemove)?;
    let delta = p.delta("delta")?;
    let both = pld.narrow_epsilon(delta, TOLERANCE)?;
    let each = pld.epsilon_by_direction(delta, both.width().clamp(1e-7, TOLERANCE))?;
    // Either direction is within both, whichever was computed more narrowly.
    let (remove, add) = (each.remove.upper.min(both.upper), each.add.upper.min(both.upper));
    let answer = epsilons(Interval { upper: remove.max(add), ..both });
    Ok(answer.number("epsilon_remove", remove).number("epsilon_add", add))
}

fn sampled_delta(p: &Params<'_>) -> Fallible<Answer> {
    only(p, Adjacency::AddRemove)?;
    let pld = Pld::new(&sampled(p)?, Adjacency::AddRemove)?;
    let epsilon = p.epsilon("epsilon")?;
    let each = pld.ln_delta_by_direction(epsilon, TOLERANCE)?;
    let answer = deltas(each.both());
    Ok(answer.number("log_delta_remove", each.remove.upper).number("log_delta_add", each.add.upper))
}

fn sampled_replace_one(p: &Params<'_>) -> Fallible<Answer> {
    only(p, Adjacency::ReplaceOne)?;
    p.only_text("noise_multiplier_relative_to", &["clip norm C"])?;
    let (event, delta) = (sampled(p)?, p.delta("delta")?);
    let other = pld::narrow_epsilon(&event, Adjacency::AddRemove, delta, TOLERANCE)?;
    let answer = epsilons(pld::narrow_epsilon(&event, Adjacency::ReplaceOne, delta, TOLERANCE)?);
    Ok(answer.number("epsilon_add_remove_same_noise", other.upper))
}

fn one_step(p: &Params<'_>) -> Fallible<Answer> {
    only(p, Adjacency::AddRemove)?;
    let (rate, z) = (p.number("sampling_rate")?, p.number("noise_multiplier")?);
    let step = pld::poisson_gaussian_one_step(rate, z, p.epsilon("epsilon")?)?;
    Ok(Answer::new()
        .delta("delta", step.remove.max(step.add))
        .delta("delta_remove", step.remove)
        .delta("delta_add", step.add))
}

fn last_iterate(p: &Params<'_>) -> Fallible<Answer> {
    only(p, Adjacency::AddRemove)?;
    let mut steps = SampledLastIterate::new(p.number("contraction")?, p.whole("steps")?, p.number("sampling_rate")?)?;
    if p.has("diameter") {
        steps = steps.within(p.number("diameter")?)?;
    }
    let found = steps.epsilon(p.number("shift")?, p.delta("delta")?)?;
    let (window, share) = (found.window as f64, found.share);
    Ok(Answer::new()
        .number("epsilon", found.last)
        .number("epsilon_all", found.all)
        .number("window", window)
        .number("share", share))
}

/// Repeated Laplace noise whose loss is at most `eps0`, not below it.
fn laplace(p: &Params<'_>) -> Fallible<DpEvent> {
    let scale = down(1.0 / positive("eps0", p.number("eps0")?)?, 1);
    Ok(DpEvent::repeated(Mechanism::Laplace { scale }, p.whole("steps")?))
}

fn laplace_eps(p: &Params<'_>) -> Fallible<Answer> {
    let interval = pld::narrow_epsilon(&laplace(p)?, Adjacency::AddRemove, p.delta("delta")?, TOLERANCE)?;
    // The scale was rounded, which moves the loss by a few rounding errors.
    Ok(epsilons(Interval { lower: interval.lower * (1.0 - 1e-14), ..interval }))
}

fn laplace_delta(p: &Params<'_>) -> Fallible<Answer> {
    let interval = pld::ln_delta(&laplace(p)?, Adjacency::AddRemove, p.epsilon("epsilon")?, TOLERANCE)?;
    Ok(deltas(Interval { lower: interval.lower - 1e-12 * (1.0 + interval.lower.abs()), ..interval }))
}
