//! Normal tails to full double precision: relative errors of a few units in the last place, in the far
//! tail too.
//!
//! Everything rests on one sum. The trapezoid rule with step `h = 7/16` and nodes half a step off the
//! origin, applied to `erfcx(y) = (y/pi) * integral of exp(-t^2)/(t^2+y^2) dt`, errs by about
//! `exp(-pi^2/h^2) < 1e-22` once the residue at `t = iy` is added. All its terms are positive, so
//! nothing cancels.
//!
//! Reference: Chiarella and Reichel 1968, "On the evaluation of integrals related to the error
//! function"; half-shifted nodes as in Hunter and Regan 1972.

use std::f64::consts::{LN_2, PI, SQRT_2};

/// `1/sqrt(pi)`.
const INV_SQRT_PI: f64 = 0.564_189_583_547_756_3;
/// `sqrt(2 pi)`.
pub(crate) const SQRT_TAU: f64 = 2.506_628_274_631_000_5;
/// `ln sqrt(2 pi)`.
pub(crate) const LN_SQRT_TAU: f64 = 0.918_938_533_204_672_7;
/// Beyond this the leading asymptotic term is exact to the last bit and squares need no care.
const FAR: f64 = 1e8;
/// Beyond this even the smallest positive double exceeds the tail.
const UNDERFLOW: f64 = 39.0;

/// Units of rounding of a Mills ratio of what is not negative, relatively: 19 of a sum of 16 positive terms and 4 of its factors; the residue errs by less.
pub(crate) const MILLS_UNITS: f64 = 26.0;

/// Positive nodes of the 10-point Gauss-Legendre rule on `[-1, 1]` and half their weights.
pub(crate) const LEGENDRE: [(f64, f64); 5] = [
    (0.973_906_528_517_171_7, 0.033_335_672_154_344_07),
    (0.865_063_366_688_984_5, 0.074_725_674_575_290_3),
    (0.679_409_568_299_024_4, 0.109_543_181_257_991_02),
    (0.433_395_394_129_247_2, 0.134_633_359_654_998_18),
    (0.148_874_338_981_631_2, 0.147_762_112_357_376_44),
];

/// The step of the rule; the nodes are `t_k = (k + 1/2) STEP`.
const STEP: f64 = 0.4375;

/// `exp(-t_k^2)` at the nodes.
const WEIGHTS: [f64; 16] = [
    0.953_275_278_375_071_5,
    0.650_077_259_426_284_5,
    0.302_314_001_257_049_4,
    0.095_873_413_933_312_82,
    0.020_734_079_858_838_74,
    0.003_057_862_726_327_566,
    0.000_307_537_335_293_303_1,
    2.109_232_004_813_447e-5,
    9.865_009_361_729_048e-7,
    3.146_424_351_080_933e-8,
    6.843_586_028_613_928e-10,
    1.015_071_913_207_284_4e-11,
    1.026_730_669_116_234_7e-13,
    7.082_113_820_800_41e-16,
    3.331_316_633_863_974e-18,
    1.068_600_979_735_010_4e-20,
];

/// `2 t_k^2`, exact in binary.
fn twice_square(k: usize) -> f64 {
    let odd = (2 * k + 1) as f64;
    odd * odd * (STEP * STEP / 2.0)
}

/// `exp(sign * x^2 / 2)` without the error of squaring, which the exponential would magnify.
fn exp_half_square(x: f64, sign: f64) -> f64 {
    let square = x * x;
    let lost = x.mul_add(x, -square);
    (sign * square / 2.0).exp() * (1.0 + sign * lost / 2.0)
}

/// The residue at the pole, `sqrt(2 pi) e^(x^2/2) / (1 + e^(sqrt2 pi x / h))`, for `x >= 0`.
fn residue(x: f64) -> f64 {
    // Further out the pole leaves the strip of the rule; from 10 on the residue is below 1e-21.
    if x > 10.0 { 0.0 } else { SQRT_TAU * exp_half_square(x, 1.0) / (1.0 + (SQRT_2 * PI / STEP * x).exp()) }
}

/// The standard normal density.
///
/// `phi(x) = exp(-x^2/2) / sqrt(2 pi)`; zero beyond 39 in magnitude, where it underflows.
pub fn normal_density(x: f64) -> f64 {
    if x.abs() > UNDERFLOW { 0.0 } else { exp_half_square(x, -1.0) / SQRT_TAU }
}

/// The Mills ratio of the standard normal.
///
/// `R(x) = Phi(-x) / phi(x) = sqrt(pi/2) erfcx(x/sqrt 2)`; positive and decreasing, about `1/x` for
/// large `x`, infinite below about -37.6 where it overflows. NaN gives NaN.
///
/// Reference: Mills 1926.
///
/// ```
/// let r = rhograd::num::special::mills(0.0);
/// assert!((r - (std::f64::consts::PI / 2.0).sqrt()).abs() < 1e-15);
/// ```
pub fn mills(x: f64) -> f64 {
    if x < 0.0 {
        // A positive number minus at most half of itself.
        return if x < -UNDERFLOW { f64::INFINITY } else { SQRT_TAU * exp_half_square(x, 1.0) - mills(-x) };
    }
    if x > FAR {
        return 1.0 / x;
    }
    let square = x * x;
    let sum: f64 = (0..WEIGHTS.len()).rev().map(|k| WEIGHTS[k] / (twice_square(k) + square)).sum();
    x * (2.0 * STEP * INV_SQRT_PI) * sum + residue(x)
}

/// How much the Mills ratio falls per unit, `-R'(x)`, without the cancellation of its formula.
///
/// `1 - x R(x)`, where `R` is the Mills ratio; positive and decreasing, about `1/x^2` for large `x`,
/// infinite below about -37.6. NaN gives NaN.
pub fn one_minus_x_mills(x: f64) -> f64 {
    if x < 0.0 {
        return 1.0 - x * mills(x);
    }
    if x > FAR {
        return 1.0 / x / x;
    }
    let square = x * x;
    // The same rule applied to 1 itself, subtracted term by term: each difference is again positive.
    let sum: f64 = (0..WEIGHTS.len()).rev().map(|k| WEIGHTS[k] * twice_square(k) / (twice_square(k) + square)).sum();
    2.0 * STEP * INV_SQRT_PI * sum - x * residue(x)
}

/// The scaled complementary error function.
///
/// `erfcx(x) = exp(x^2) erfc(x)`; infinite below about -26.6 where it overflows. NaN gives NaN.
pub fn erfcx(x: f64) -> f64 {
    if x < 0.0 {
        let square = x * x;
        let lost = x.mul_add(x, -square);
        return if x < -27.0 { f64::INFINITY } else { 2.0 * square.exp() * (1.0 + lost) - erfcx(-x) };
    }
    // mills(sqrt2 x) sqrt(2/pi); the condition number is at most 1, so rounding sqrt2 x is harmless.
    2.0 * mills(SQRT_2 * x) / SQRT_TAU
}

/// The upper tail of the standard normal.
///
/// `Phi(-x) = P[Z > x]`; underflows to 0 beyond about 38.5, so bounds use [`ln_normal_tail`] there.
/// NaN gives NaN.
///
/// ```
/// assert_eq!(rhograd::num::special::normal_tail(0.0), 0.5);
/// ```
pub fn normal_tail(x: f64) -> f64 {
    if x < 0.0 { 1.0 - normal_tail(-x) } else { normal_density(x) * mills(x) }
}

/// The logarithm of the upper tail of the standard normal.
///
/// `ln Phi(-x)`; relative error of a few ulps for every `x`, `-inf` once `x^2/2` overflows. NaN gives
/// NaN.
///
/// ```
/// let far = rhograd::num::special::ln_normal_tail(1e3);
/// assert!((far + 500_007.826_694_812).abs() < 1e-9);
/// ```
pub fn ln_normal_tail(x: f64) -> f64 {
    if x < 0.0 {
        (-normal_tail(-x)).ln_1p()
    } else if x == 0.0 {
        -LN_2
    } else {
        -x * x / 2.0 + (mills(x).ln() - LN_SQRT_TAU)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_the_line_are_answered() {
        let functions = [mills, one_minus_x_mills, erfcx, normal_tail];
        for f in functions {
            assert!(f(f64::NAN).is_nan());
            assert_eq!(f(f64::INFINITY), 0.0);
            assert!(f(f64::NEG_INFINITY) >= 1.0);
            assert!(f(f64::MIN_POSITIVE) > 0.0 && f(1e150) >= 0.0 && f(-1e300) >= 1.0);
        }
        assert_eq!(ln_normal_tail(f64::INFINITY), f64::NEG_INFINITY);
        assert_eq!(ln_normal_tail(f64::NEG_INFINITY), 0.0);
        assert!(ln_normal_tail(f64::NAN).is_nan());
    }

    #[test]
    fn the_two_mills_forms_agree() {
        for i in -3000..6000 {
            let x = f64::from(i) / 100.0;
            let (ratio, fall) = (mills(x), one_minus_x_mills(x));
            let plain = 1.0 - x * ratio;
            assert!((plain - fall).abs() <= 4e-15 * (1.0 + (x * ratio).abs()), "{x}: {plain} {fall}");
        }
    }
}
