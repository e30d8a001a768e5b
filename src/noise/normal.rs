//! The floor of a scaled exact standard normal.

use super::bits::BitSource;
use super::bits::Exponent;
use super::coins::{exp_minus_half_product, heads_in_a_row, uniform_up_to};
use super::digits::{Uniform, join_clamped};

/// One attempt at `floor(2^log2_scale Z)` with `Z` an exact standard normal, for `log2_scale` at most 58;
/// `None` is a rejection.
///
/// Attempts use fresh bits, so the first that is not rejected has the law of one attempt given that it is
/// not rejected, which is the law wanted:
///
/// 1. [`half_normal`] accepts `y = whole + fraction` with density proportional to `exp(-y^2 / 2)` on `y > 0`.
/// 2. A fair bit is the sign.
/// 3. `floor(2^k y) = whole 2^k + floor(2^k fraction)` needs the first `k` bits of the fraction only. For the
///    negative sign, `2^k y` is an integer with probability 0, so `floor(-2^k y) = -floor(2^k y) - 1`, which
///    in two's complement is `!floor(2^k y)`.
///
/// The result is clamped to an `i64`: for `k = 50` a normal beyond `2^13` standard deviations, of probability
/// below `exp(-2^25)`, and for `k = 58` one beyond `2^5`, below `exp(-2^8)`, gives `i64::MAX` or `i64::MIN`. That is a fixed function of the exact result, hence
/// post-processing, and changes nothing in the guarantee.
///
/// Reference: Karney 2016, "Sampling exactly from the normal distribution", ACM Transactions on Mathematical
/// Software 42(1), Algorithm N.
#[inline]
pub(super) fn attempt<S: BitSource>(log2_scale: u32, source: &mut S) -> Result<Option<i64>, S::Error> {
    let Some((whole, mut fraction)) = half_normal(source)? else {
        return Ok(None);
    };
    let negative = source.flip()?;
    let floor = join_clamped(whole, fraction.leading_bits(log2_scale, source)?, log2_scale);
    Ok(Some(if negative { !floor } else { floor }))
}

/// One attempt at the absolute value of a normal, as whole part and fraction.
///
/// The whole part `k` survives with probability proportional to
/// `exp(-k/2) exp(-k(k-1)/2) = exp(-k^2/2)`, then the fraction `x` with density proportional to
/// `exp(-x(2k+x)/2)`; the product is `exp(-(k^2 + 2kx + x^2)/2) = exp(-(k+x)^2/2)`.
#[inline]
pub(super) fn half_normal<S: BitSource>(source: &mut S) -> Result<Option<(u64, Uniform)>, S::Error> {
    match whole_part(source)? {
        Some(whole) => Ok(fraction_part(whole, source)?.map(|fraction| (whole, fraction))),
        None => Ok(None),
    }
}

/// Gives `k` with probability `(1 - exp(-1/2)) exp(-k^2/2)`, else rejects.
///
/// Reference: Karney 2016, steps N1 and N2, Algorithms G and P.
#[inline]
pub(super) fn whole_part<S: BitSource>(source: &mut S) -> Result<Option<u64>, S::Error> {
    let k = heads_in_a_row(Exponent::Half, source)?;
    let kept = exp_minus_half_product(k, k.saturating_sub(1), source)?;
    Ok(kept.then_some(k))
}

/// Gives a uniform `x` with probability `exp(-x(2k+x)/2)`, else rejects: `k + 1` coins of probability
/// `exp(-x(2k+x)/(2k+2))` must all show heads.
///
/// Reference: Karney 2016, steps N3 and N4.
#[inline]
pub(super) fn fraction_part<S: BitSource>(k: u64, source: &mut S) -> Result<Option<Uniform>, S::Error> {
    let mut x = Uniform::draw(source)?;
    for _ in 0..=k {
        if !fraction_coin(k, &mut x, source)? {
            return Ok(None);
        }
    }
    Ok(Some(x))
}

/// True with probability exactly `exp(-x p)` with `p = (2k + x) / (2k + 2)`, which lies in `(0, 1)`.
///
/// As for the coins of [`Exponent`], a run `x > z1 > z2 > ...` reaches length `m` with
/// probability `x^m / m!`. Here each link must also win an independent toss of probability `p`, so the run
/// reaches `m` with probability `(x p)^m / m!` and is even with probability `exp(-x p)`.
///
/// Reference: Karney 2016, Algorithm B.
#[inline]
pub(super) fn fraction_coin<S: BitSource>(k: u64, x: &mut Uniform, source: &mut S) -> Result<bool, S::Error> {
    let mut last: Option<Uniform> = None;
    let mut even = true;
    loop {
        if !link_toss(k, x, source)? {
            return Ok(even);
        }
        let mut next = Uniform::draw(source)?;
        if !next.is_below(last.as_mut().unwrap_or(x), source)? {
            return Ok(even);
        }
        last = Some(next);
        even = !even;
    }
}

/// True with probability exactly `(2k + x) / (2k + 2)`: one of `k + 1` equally likely cases, of which `k` are
/// sure and the last needs a fair bit and a uniform below `x`, since
/// `k/(k+1) + x/(2(k+1)) = (2k + x)/(2k + 2)`.
///
/// Reference: Karney 2016, Algorithm B, step 3 with its three-way choice C(2k + 2).
#[inline]
pub(super) fn link_toss<S: BitSource>(k: u64, x: &mut Uniform, source: &mut S) -> Result<bool, S::Error> {
    if uniform_up_to(k, source)? < k {
        return Ok(true);
    }
    if source.flip()? {
        return Ok(false);
    }
    Uniform::draw(source)?.is_below(x, source)
}
