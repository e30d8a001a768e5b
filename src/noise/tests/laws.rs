//! The law of one whole attempt, from every bit string, against the law promised; planted bugs must fail.
//!
//! Bits alone leave about a tenth of the probability undetermined at an affordable length. With the exponential
//! coins as single choices, whose own law is tested by bits apart, it is below 1e-6 for the discrete Gaussian and
//! a few hundredths for the normal, whose fraction is compared bit by bit.

use statrs::distribution::{ContinuousCDF, Normal};

use super::tape::{Exhausted, Law, Tape, enumerate};
use crate::noise::bits::{BitSource, Exponent};
use crate::noise::coins::heads_in_a_row;
use crate::noise::digits::join_clamped;
use crate::noise::normal::{fraction_part, half_normal};
use crate::noise::{discrete_gaussian, normal};

/// Outcomes to compare: eight standard deviations.
fn support(log2_scale: u32) -> std::ops::RangeInclusive<i64> {
    -(8 << log2_scale)..=8 << log2_scale
}

fn floored_normal(y: i64, log2_scale: u32) -> f64 {
    let phi = Normal::standard();
    // In the lower half, where the distribution function does not lose digits.
    let low = y.min(-1 - y) as f64;
    let scale = 2f64.powi(log2_scale as i32);
    phi.cdf((low + 1.0) / scale) - phi.cdf(low / scale)
}

fn discrete(y: i64, log2_scale: u32) -> f64 {
    let weight = |y: i64| (-((y * y) as f64) / 2f64.powi(2 * log2_scale as i32 + 1)).exp();
    weight(y) / (-400..=400).map(weight).sum::<f64>()
}

/// Outcomes whose promised probability lies outside the bounds.
fn misfits(law: &Law<Option<i64>>, log2_scale: u32, truth: fn(i64, u32) -> f64) -> Vec<i64> {
    support(log2_scale).filter(|&y| !law.kept_allows(y, truth(y, log2_scale))).collect()
}

#[test]
fn floored_normal_has_its_law() {
    for k in 0..=3 {
        let law = enumerate::<1, true, _>(25, |s| normal::attempt(k, s));
        println!("floored normal, k = {k}: undetermined {:.1e}", law.undetermined());
        assert!(law.undetermined() < 0.05);
        assert_eq!(misfits(&law, k, floored_normal), [0i64; 0], "k = {k}");
    }
    assert_eq!(misfits(&enumerate::<3, false, _>(24, |s| normal::attempt(2, s)), 2, floored_normal), [0i64; 0]);
    let law = enumerate::<1, false, _>(25, |s| normal::attempt(1, s));
    println!("floored normal, k = 1, bits alone: undetermined {:.1e}", law.undetermined());
    assert!(law.undetermined() < 0.2);
    assert_eq!(misfits(&law, 1, floored_normal), [0i64; 0]);
}

#[test]
fn discrete_gaussian_has_its_law() {
    for k in 0..=3 {
        let law = enumerate::<1, true, _>(28, |s| discrete_gaussian::attempt(k, s));
        println!("discrete gaussian, k = {k}: undetermined {:.1e}", law.undetermined());
        assert!(law.undetermined() < 1e-5);
        assert_eq!(misfits(&law, k, discrete), [0i64; 0], "k = {k}");
    }
    assert_eq!(misfits(&enumerate::<3, false, _>(24, |s| discrete_gaussian::attempt(2, s)), 2, discrete), [0i64; 0]);
    let law = enumerate::<1, false, _>(25, |s| discrete_gaussian::attempt(1, s));
    println!("discrete gaussian, k = 1, bits alone: undetermined {:.1e}", law.undetermined());
    assert!(law.undetermined() < 0.2);
    assert_eq!(misfits(&law, 1, discrete), [0i64; 0]);
}

#[test]
fn the_laws_are_not_each_other() {
    let law = enumerate::<1, true, _>(24, |s| discrete_gaussian::attempt(1, s));
    assert!(!misfits(&law, 1, floored_normal).is_empty());
}

/// Truncates towards zero where the law says floor.
fn truncating<const W: u32, const COINS: bool>(k: u32, source: &mut Tape<W, COINS>) -> Result<Option<i64>, Exhausted> {
    let Some((whole, mut fraction)) = half_normal(source)? else { return Ok(None) };
    let negative = source.flip()?;
    let size = join_clamped(whole, fraction.leading_bits(k, source)?, k);
    Ok(Some(if negative { -size } else { size }))
}

/// Tosses a fair bit for `exp(-1/2)`.
fn fair_coin<const W: u32, const COINS: bool>(k: u32, source: &mut Tape<W, COINS>) -> Result<Option<i64>, Exhausted> {
    let mut whole = 0u64;
    while source.flip()? {
        whole += 1;
    }
    for _ in 0..whole * whole.saturating_sub(1) {
        if !source.flip()? {
            return Ok(None);
        }
    }
    let Some(mut fraction) = fraction_part(whole, source)? else { return Ok(None) };
    let negative = source.flip()?;
    let floor = join_clamped(whole, fraction.leading_bits(k, source)?, k);
    Ok(Some(if negative { !floor } else { floor }))
}

/// Faults of the discrete Gaussian.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// Zero is kept under both signs.
    TwoZeros,
    /// The final coin is left out.
    Laplace,
    /// The coin `exp(-1)` shows heads 1e-3 too often.
    Biased,
}

fn faulty<const W: u32, const COINS: bool>(
    fault: Fault,
    k: u32,
    source: &mut Tape<W, COINS>,
) -> Result<Option<i64>, Exhausted> {
    let u = source.bits(k)?;
    if !source.exp_minus(Exponent::Dyadic(u128::from(u) << (128 - k)))? {
        return Ok(None);
    }
    // exp(-1021.2/1024) is exp(-1) + 1e-3.
    let one = if fault == Fault::Biased { Exponent::Dyadic(10_212 * (u128::MAX / 10_240)) } else { Exponent::One };
    let v = heads_in_a_row(one, source)?;
    let negative = source.flip()?;
    if negative && u == 0 && v == 0 && fault != Fault::TwoZeros {
        return Ok(None);
    }
    if fault != Fault::Laplace && !discrete_gaussian::gaussian_coin(u, v, k, source)? {
        return Ok(None);
    }
    let size = join_clamped(v, u, k);
    Ok(Some(if negative { -size } else { size }))
}

#[test]
fn planted_bugs_are_found() {
    for k in 0..=3 {
        let law = enumerate::<1, true, _>(24, |s| truncating(k, s));
        assert!(misfits(&law, k, floored_normal).contains(&0), "truncation at k = {k}");
    }
    let law = enumerate::<1, true, _>(24, |s| fair_coin(0, s));
    assert!(!misfits(&law, 0, floored_normal).is_empty(), "1/2 for exp(-1/2)");
    for fault in [Fault::TwoZeros, Fault::Laplace, Fault::Biased] {
        let law = enumerate::<1, true, _>(28, |s| faulty(fault, 1, s));
        assert!(!misfits(&law, 1, discrete).is_empty(), "{fault:?}");
    }
    let law = enumerate::<1, true, _>(28, |s| faulty(Fault::None, 1, s));
    assert_eq!(misfits(&law, 1, discrete), [0i64; 0], "the fault is what was found");
}
