//! Amplification of (epsilon, delta) by sampling.

use super::directed::{UNIT, ln_probability, nonnegative, probability};
use super::event::{Loss, loss_of, unsupported};
use super::notion::ApproximateDp;
use crate::error::Fallible;
use crate::num::logs::ln_add_exp;
use crate::num::round::up;
use crate::privacy::{Adjacency, DpEvent, Mechanism};

/// The epsilon of an epsilon-DP mechanism applied to a random sample.
///
/// `ln(1 + q (e^epsilon - 1))`.
///
/// # Errors
/// When `epsilon` is negative or NaN or `rate` is no probability.
///
/// # Privacy
/// An upper bound, rounded up, for Poisson sampling under add-remove and for samples of fixed size
/// without replacement under replace-one.
///
/// Reference: Balle, Barthe and Gaboardi 2018, Theorems 8 and 9.
///
/// ```
/// let epsilon = rhograd::accounting::subsample::epsilon(1.0, 0.01).unwrap();
/// assert!((epsilon - 0.01703686323617655).abs() < 1e-15);
/// ```
pub fn epsilon(epsilon: f64, rate: f64) -> Fallible<f64> {
    let (e, q) = (nonnegative("epsilon", epsilon)?, probability("sampling rate", rate)?);
    if q == 0.0 || e == 0.0 {
        return Ok(0.0);
    }
    if e == f64::INFINITY || q == 1.0 {
        return Ok(e);
    }
    let value = if e < 700.0 { (q * e.exp_m1()).ln_1p() } else { ln_add_exp((-q).ln_1p(), q.ln() + e) };
    // In the far branch the logarithm of q carries its own rounding.
    Ok(up(value + 8.0 * UNIT * if e < 700.0 { value } else { e + q.ln().abs() }, 3).min(e))
}

/// The guarantee of an (epsilon, delta)-DP mechanism applied to a random sample.
///
/// `(ln(1 + q (e^epsilon - 1)), q delta)`.
///
/// # Errors
/// When `rate` is no probability.
///
/// # Privacy
/// As for [`epsilon`]; other pairs of sampling and relation need other formulas.
///
/// Reference: Balle, Barthe and Gaboardi 2018, Theorems 8 and 9.
pub fn approximate(guarantee: ApproximateDp, rate: f64) -> Fallible<ApproximateDp> {
    let q = probability("sampling rate", rate)?;
    let epsilon = epsilon(guarantee.epsilon(), q)?;
    let ln_delta = ln_probability("ln delta", guarantee.ln_delta())?;
    let ln_delta = if q == 0.0 || ln_delta == f64::NEG_INFINITY {
        f64::NEG_INFINITY
    } else if q == 1.0 {
        ln_delta
    } else {
        up(up(q.ln(), 1) + ln_delta, 1).min(0.0)
    };
    ApproximateDp::from_epsilon_and_ln_delta(epsilon, ln_delta)
}

/// The epsilon of a Poisson-sampled mechanism, where it is pure.
///
/// Under replace-one, additive noise is amplified under add-remove and then counted twice.
pub(super) fn pure_poisson(
    event: &DpEvent,
    mechanism: &Mechanism,
    rate: f64,
    adjacency: Adjacency,
) -> Fallible<Option<f64>> {
    let q = probability("sampling rate", rate)?;
    let Loss::Pure { epsilon: one } = loss_of(event, mechanism, Adjacency::AddRemove)? else {
        return Ok(None);
    };
    let additive = matches!(mechanism, Mechanism::Laplace { .. } | Mechanism::DiscreteLaplace { .. });
    match adjacency {
        Adjacency::AddRemove => epsilon(one, q).map(Some),
        Adjacency::ReplaceOne if additive => Ok(Some(2.0 * epsilon(one, q)?)),
        Adjacency::ReplaceOne => Err(unsupported("amplification by sampling", event, adjacency)),
    }
}

/// The epsilon of a mechanism on a sample of fixed size, where it is pure; replace-one only.
pub(super) fn pure_fixed_size(
    event: &DpEvent,
    mechanism: &Mechanism,
    fraction: f64,
    adjacency: Adjacency,
) -> Fallible<Option<f64>> {
    let q = probability("sampling fraction", fraction)?;
    if adjacency != Adjacency::ReplaceOne {
        return Err(unsupported("amplification by sampling", event, adjacency));
    }
    match loss_of(event, mechanism, adjacency)? {
        Loss::Pure { epsilon: one } => epsilon(one, q).map(Some),
        _ => Ok(None),
    }
}
