//! The discrete Laplace law, also called two-sided geometric, and a comparison under such noise.

use super::bits::{BitSource, Exponent};
use super::coins::heads_in_a_row;
use super::discrete_gaussian::dyadic;

/// One attempt at the discrete Laplace law `P[Y = y] ~ exp(-rate |y| / 2^k)`, `k = log2_scale` at most 50 and `rate` positive;
/// `None` is a rejection.
///
/// With `t = 2^k`, the number `x = u + v t` with `u` below `t` has probability proportional to `exp(-x / t)`: `u` is uniform and
/// kept with probability `exp(-u/t)`, `v` is geometric. The absolute value is `x / rate` rounded down, of probability proportional to
/// `exp(-rate |y| / t)`: so is the sum over the `rate` numbers `x` that give `y`. A fair bit is the sign; zero would come with both and is
/// kept with one.
///
/// Nothing is cut off: `v` counts coins that were tossed, fewer than `2^64`, so `x` fits 128 bits. Pure privacy rests on that, for a bound
/// that noise cannot pass is a place where neighbours differ.
///
/// Reference: Ghosh, Roughgarden and Sundararajan 2009 (geometric mechanism); Canonne, Kamath and Steinke 2020, Algorithm 2, for a
/// scale of `2^k / rate`.
#[inline]
pub(super) fn attempt<S: BitSource>(rate: u64, log2_scale: u32, source: &mut S) -> Result<Option<i128>, S::Error> {
    let u = u128::from(source.bits(log2_scale)?);
    if !source.exp_minus(dyadic(u, log2_scale))? {
        return Ok(None);
    }
    let v = u128::from(heads_in_a_row(Exponent::One, source)?);
    let negative = source.flip()?;
    let absolute = (((v << log2_scale) + u) / u128::from(rate)).cast_signed();
    if negative && absolute == 0 {
        return Ok(None);
    }
    Ok(Some(if negative { -absolute } else { absolute }))
}

/// The first of `values` that is at least a noised bar: the bar has discrete Laplace noise of scale `2^k`, each value fresh noise of scale
/// `2^(k+1)`, and a comparison that fails is forgotten. `None` where none is.
pub(super) fn first_above<S: BitSource>(
    values: &[i128],
    bar: i128,
    log2_scale: u32,
    source: &mut S,
) -> Result<Option<usize>, S::Error> {
    let bar = bar.saturating_add(noise(log2_scale, source)?);
    for (index, value) in values.iter().enumerate() {
        if value.saturating_add(noise(log2_scale + 1, source)?) >= bar {
            return Ok(Some(index));
        }
    }
    Ok(None)
}

/// Noise of scale `2^log2_scale`.
fn noise<S: BitSource>(log2_scale: u32, source: &mut S) -> Result<i128, S::Error> {
    loop {
        if let Some(noise) = attempt(1, log2_scale, source)? {
            return Ok(noise);
        }
    }
}
