//! The discrete Gaussian whose parameter is a power of two.

use super::bits::BitSource;
use super::bits::Exponent;
use super::coins::{exp_minus_half_product, heads_in_a_row};
use super::digits::join_clamped;

/// One attempt at the discrete Gaussian `P[Y = y] ~ exp(-y^2 / 2^(2k+1))`, `k = log2_scale` at most 58;
/// `None` is a rejection.
///
/// With `t = 2^k`, the absolute value is `u + v t` with `u` below `t`:
///
/// 1. `u` is uniform and kept with probability `exp(-u/t)`; `v` is geometric, `P[v] ~ exp(-v)`. So the absolute
///    value has probability proportional to `exp(-|y|/t)`.
/// 2. A fair bit is the sign. Zero would come with both signs and is kept with one: now `y` has the discrete
///    Laplace law, proportional to `exp(-|y|/t)` on all integers.
/// 3. `y` is kept with probability `exp(-(|y| - t)^2 / (2 t^2))`, see [`gaussian_coin`]. The product is
///    `exp(-|y|/t - (|y| - t)^2/(2 t^2)) = exp(-1/2) exp(-y^2/(2 t^2))`.
///
/// Any rejection rejects the whole attempt, which leaves the law given success as it is in the reference,
/// where inner steps repeat on their own. Since `t` is a power of two, every probability above is the
/// exponential of a dyadic number of at most 117 bits: there is no division and no big integer.
///
/// The result is clamped to an `i64`: for `k = 50` an absolute value beyond `2^63`, of probability below
/// `exp(-2^25)`, for `k = 58` below `exp(-2^8)`, gives `i64::MAX` with its sign. That is a fixed function of the exact result, hence
/// post-processing.
///
/// Reference: Canonne, Kamath, Steinke 2020, "The Discrete Gaussian for Differential Privacy", Algorithms 2
/// and 3.
#[inline]
pub(super) fn attempt<S: BitSource>(log2_scale: u32, source: &mut S) -> Result<Option<i64>, S::Error> {
    let u = source.bits(log2_scale)?;
    if !source.exp_minus(dyadic(u128::from(u), log2_scale))? {
        return Ok(None);
    }
    let v = heads_in_a_row(Exponent::One, source)?;
    let negative = source.flip()?;
    if negative && u == 0 && v == 0 {
        return Ok(None);
    }
    if !gaussian_coin(u, v, log2_scale, source)? {
        return Ok(None);
    }
    let absolute = join_clamped(v, u, log2_scale);
    Ok(Some(if negative { -absolute } else { absolute }))
}

/// True with probability exactly `exp(-(u + v t - t)^2 / (2 t^2))`, where `t = 2^log2_scale` and `u < t`.
///
/// For `v = 0` the exponent is `(t - u)^2 / (2 t^2)`, at most one half. Otherwise, with `m = v - 1` and
/// `f = u/t`, it is `(m + f)^2 / 2 = m^2/2 + m f + f^2/2`: `m^2` coins of `exp(-1/2)`, `m` of `exp(-f)` and
/// one of `exp(-f^2/2)` must all show heads.
#[inline]
pub(super) fn gaussian_coin<S: BitSource>(u: u64, v: u64, log2_scale: u32, source: &mut S) -> Result<bool, S::Error> {
    let Some(m) = v.checked_sub(1) else {
        let distance = (1 << log2_scale) - u128::from(u);
        return source.exp_minus(dyadic(distance * distance, 2 * log2_scale + 1));
    };
    if !exp_minus_half_product(m, m, source)? {
        return Ok(false);
    }
    let u = u128::from(u);
    for _ in 0..m {
        if !source.exp_minus(dyadic(u, log2_scale))? {
            return Ok(false);
        }
    }
    source.exp_minus(dyadic(u * u, 2 * log2_scale + 1))
}

/// The exponent `numerator / 2^log2_denominator`, which must be below 1.
#[inline]
pub(super) fn dyadic(numerator: u128, log2_denominator: u32) -> Exponent {
    // Over 2^0 only zero is below 1, and a shift by 128 does not exist.
    Exponent::Dyadic(numerator.checked_shl(128 - log2_denominator).unwrap_or(0))
}
