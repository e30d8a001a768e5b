//! Questions about bounded noise on counts.

use super::answer::Answer;
use super::kind::Kind;
use super::params::Params;
use crate::accounting::bounded::{least, losses};
use crate::accounting::pld::Pld;
use crate::error::{Error, Fallible};
use crate::privacy::BoundedLaw;

pub(super) const KINDS: &[Kind] = &[
    Kind::new("bounded_noise_delta", &["weights", "counts", "epsilon"], delta),
    Kind::new("bounded_noise_eps", &["weights", "counts", "delta"], epsilon),
    Kind::new("bounded_noise_least_reach", &["counts", "epsilon", "delta"], least_reach),
];

/// Width of the intervals whose upper ends are told: of epsilon, and of delta relative to itself.
const TOLERANCE: f64 = 1e-6;

fn pld(p: &Params<'_>) -> Fallible<Pld> {
    let whole = |weight: f64| {
        if (0.0..=BoundedLaw::MAX_WEIGHT as f64).contains(&weight) && weight.fract() == 0.0 {
            return Ok(weight as u64);
        }
        Err(Error::parameter("weights", format!("have {weight}"), "use whole numbers from 1 to 2^53"))
    };
    let weights = p.numbers("weights")?.into_iter().map(whole).collect::<Fallible<Vec<u64>>>()?;
    losses(&BoundedLaw::new(weights)?, p.whole("counts")?)
}

fn delta(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().ln_delta("delta", pld(p)?.ln_delta(p.epsilon("epsilon")?, TOLERANCE)?.upper))
}

fn epsilon(p: &Params<'_>) -> Fallible<Answer> {
    Ok(Answer::new().number("epsilon", pld(p)?.epsilon(p.delta("delta")?, TOLERANCE)?.upper))
}

fn least_reach(p: &Params<'_>) -> Fallible<Answer> {
    let (counts, epsilon) = (p.whole("counts")?, p.epsilon("epsilon")?);
    let law = least(counts, epsilon, p.delta("delta")?)?;
    let certified = losses(&law, counts)?.ln_delta(epsilon, TOLERANCE)?.upper;
    Ok(Answer::new().number("reach", law.reach() as f64).ln_delta("delta", certified))
}
