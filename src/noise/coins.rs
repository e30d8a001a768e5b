//! Coins whose probability of heads is an exponential, tossed exactly, and uniform integers.

use super::bits::{BitSource, Exponent};
use super::digits::Uniform;

impl Exponent {
    /// True with probability exactly `exp(-self)`.
    #[inline]
    pub(super) fn toss<S: BitSource>(self, source: &mut S) -> Result<bool, S::Error> {
        match self {
            Exponent::Half => exp_minus_half(source),
            Exponent::One => exp_minus_one(source),
            Exponent::Dyadic(gamma) => exp_minus(gamma, source),
        }
    }
}

/// True with probability exactly `exp(-g)` for `g = gamma / 2^128` in `[0, 1)`.
///
/// Draw uniforms while `g > z1 > z2 > ...` keeps falling, and let `n` count those drawn before the first
/// failure. The first `m` all lie below `g` with probability `g^m`, independent of their order, which is
/// falling with probability `1/m!`; so `P(n >= m) = g^m / m!`, and
/// `P(n even) = sum_m (-1)^m g^m / m! = exp(-g)`.
///
/// Reference: von Neumann 1951; Forsythe 1972; the same coin as Canonne, Kamath, Steinke 2020, Algorithm 1,
/// whose toss of probability `g/m` is here the event that `z_m` is the smallest of `m`.
#[inline]
fn exp_minus<S: BitSource>(gamma: u128, source: &mut S) -> Result<bool, S::Error> {
    if gamma == 0 {
        return Ok(true);
    }
    let mut first = Uniform::draw(source)?;
    if !first.is_below_dyadic(gamma, source)? {
        return Ok(true);
    }
    // One has fallen, so the count from here must be odd.
    Ok(!run_below_is_even(first, source)?)
}

/// True with probability exactly `exp(-1)`: as [`exp_minus`] with `g = 1`, below which the first uniform
/// always is.
#[inline]
fn exp_minus_one<S: BitSource>(source: &mut S) -> Result<bool, S::Error> {
    let first = Uniform::draw(source)?;
    Ok(!run_below_is_even(first, source)?)
}

/// True with probability exactly `exp(-1/2)`: as [`exp_minus`] with `g = 1/2`, where the first comparison is a
/// look at one bit.
///
/// Reference: Karney 2016, Algorithm H.
#[inline]
fn exp_minus_half<S: BitSource>(source: &mut S) -> Result<bool, S::Error> {
    if source.flip()? {
        return Ok(true);
    }
    let first = Uniform::draw_below_half(source)?;
    Ok(!run_below_is_even(first, source)?)
}

/// Whether the falling run `start > z1 > z2 > ...` of fresh uniforms has even length.
#[inline]
fn run_below_is_even<S: BitSource>(start: Uniform, source: &mut S) -> Result<bool, S::Error> {
    let mut last = start;
    let mut even = true;
    loop {
        let mut next = Uniform::draw(source)?;
        if !next.is_below(&mut last, source)? {
            return Ok(even);
        }
        last = next;
        even = !even;
    }
}

/// True with probability exactly `exp(-n m / 2)`: `n m` coins of probability `exp(-1/2)` all show heads.
#[inline]
pub(super) fn exp_minus_half_product<S: BitSource>(n: u64, m: u64, source: &mut S) -> Result<bool, S::Error> {
    // Two loops instead of one product, which could overflow.
    for _ in 0..n {
        for _ in 0..m {
            if !source.exp_minus(Exponent::Half)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// How many coins of probability `exp(-exponent)` show heads before the first that does not.
///
/// A `u64` counts coins really tossed; no run tosses `2^64`.
#[inline]
pub(super) fn heads_in_a_row<S: BitSource>(exponent: Exponent, source: &mut S) -> Result<u64, S::Error> {
    let mut heads = 0;
    while source.exp_minus(exponent)? {
        heads += 1;
    }
    Ok(heads)
}

/// A uniform integer in `0..=last`, for `last` below `2^63`: as many bits as `last` has, again until they fit.
#[inline]
pub(super) fn uniform_up_to<S: BitSource>(last: u64, source: &mut S) -> Result<u64, S::Error> {
    let width = 64 - last.leading_zeros();
    loop {
        let value = source.bits(width)?;
        if value <= last {
            return Ok(value);
        }
    }
}
