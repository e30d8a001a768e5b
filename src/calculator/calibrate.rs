//! From a budget to noise or to a number of steps, and back.
//!
//! ```
//! use rhograd::accounting::Conversion;
//! use rhograd::calculator::calibrate;
//! use rhograd::privacy::{Delta, Epsilon};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
//! let sigma = calibrate::sigma(Conversion::Exact, epsilon, delta, 100, 1.0)?;
//! assert!((sigma - 42.2467).abs() < 1e-4);
//! # Ok(())
//! # }
//! ```

use num_bigint::BigUint;

use crate::accounting::Conversion;
use crate::accounting::directed::{finite, positive};
use crate::error::{Error, Fallible};
use crate::num::Dyadic;
use crate::num::decimals::Decimals;
use crate::num::round::down;
use crate::privacy::{Delta, Epsilon};

/// The noise standard deviation on a sum that keeps `steps` releases of it within (epsilon, delta).
///
/// `sigma = l2_sensitivity sqrt(steps / (2 rho))` for the rho of [`Conversion::max_rho`].
///
/// # Errors
/// When epsilon is infinite, `steps` is 0, the sensitivity is not finite and positive, or no finite
/// noise meets the target.
///
/// # Privacy
/// An upper bound: rounded up so that `steps l2_sensitivity^2 / (2 sigma^2) <= rho` holds exactly.
///
/// Reference: Bun and Steinke 2016, Proposition 1.6 and Lemma 1.7.
pub fn sigma(conversion: Conversion, epsilon: Epsilon, delta: Delta, steps: u64, l2_sensitivity: f64) -> Fallible<f64> {
    let rho = conversion.max_rho(epsilon, delta)?;
    if rho == 0.0 {
        return Err(Error::parameter(
            "epsilon",
            format!("is {} at delta {}, which leaves no room for any release", epsilon.value(), delta.value()),
            "raise epsilon or delta",
        ));
    }
    sigma_from_rho(rho, steps, l2_sensitivity)
}

/// The noise standard deviation on a sum that keeps `steps` releases of it within a total rho.
///
/// `sigma = l2_sensitivity sqrt(steps / (2 rho))`.
///
/// # Errors
/// When `rho` or the sensitivity is not finite and positive, `steps` is 0, or sigma overflows.
///
/// # Privacy
/// An upper bound: rounded up until `steps l2_sensitivity^2 <= 2 rho sigma^2` holds in exact rational
/// arithmetic.
///
/// Reference: Bun and Steinke 2016, Proposition 1.6 and Lemma 1.7.
///
/// ```
/// use rhograd::calculator::calibrate::sigma_from_rho;
/// assert_eq!(sigma_from_rho(0.5, 100, 3.0).unwrap(), 30.0);
/// ```
pub fn sigma_from_rho(rho: f64, steps: u64, l2_sensitivity: f64) -> Fallible<f64> {
    let (rho, sensitivity) = (positive("rho", rho)?, positive("l2 sensitivity", l2_sensitivity)?);
    if steps == 0 {
        return Err(Error::parameter("steps", "is 0", "use at least 1"));
    }
    let spent = product(&[sensitivity, sensitivity])?.times(steps);
    let square = steps as f64 / rho / 2.0;
    let ratio = if square.is_finite() { square.sqrt() } else { (steps as f64 / 2.0).sqrt() / rho.sqrt() };
    let mut sigma = sensitivity * ratio;
    // A handful of roundings, so a handful of steps; the exact comparison decides.
    for _ in 0..16 {
        if !sigma.is_finite() {
            break;
        }
        if spent <= product(&[sigma, sigma, rho])?.times(2) {
            return Ok(sigma);
        }
        sigma = sigma.next_up();
    }
    Err(Error::numerical("sigma", format!("no finite noise keeps {steps} steps within rho {rho}")))
}

/// Noise multipliers are decimals of twelve digits, which print as they are.
const DECIMALS: Decimals = Decimals::new(12);

/// The smallest noise multiplier of twelve digits that keeps `steps` releases within a total rho.
///
/// [`sigma_from_rho`] for a sensitivity of 1.
///
/// # Errors
/// When `rho` is not finite and positive, `steps` is 0, or the multiplier overflows.
///
/// # Privacy
/// An upper bound: [`rho`] of the result is within the budget.
///
/// Reference: as [`sigma_from_rho`].
///
/// ```
/// use rhograd::calculator::calibrate::{noise_multiplier_from_rho, rho};
/// let noise_multiplier = noise_multiplier_from_rho(0.1, 7).unwrap();
/// assert_eq!(noise_multiplier, 5.9160797831);
/// assert!(rho(noise_multiplier, 7).unwrap() <= 0.1);
/// ```
pub fn noise_multiplier_from_rho(rho: f64, steps: u64) -> Fallible<f64> {
    let least = sigma_from_rho(rho, steps, 1.0)?;
    // Every double from the least one on keeps the budget.
    Ok(DECIMALS.at(DECIMALS.up(least)).max(least))
}

/// The smallest noise multiplier of twelve digits that keeps `steps` releases within (epsilon, delta).
///
/// [`noise_multiplier_from_rho`] for the rho of [`Conversion::max_rho`].
///
/// # Errors
/// When epsilon is infinite, `steps` is 0, or no finite noise meets the target.
///
/// # Privacy
/// An upper bound: [`Conversion::epsilon`] and [`Conversion::ln_delta`] of its [`rho`] meet the target.
///
/// Reference: as [`sigma`].
pub fn noise_multiplier(conversion: Conversion, epsilon: Epsilon, delta: Delta, steps: u64) -> Fallible<f64> {
    let start = DECIMALS.up(sigma(conversion, epsilon, delta, steps, 1.0)?);
    // The conversions are monotone up to their last digits, so the first candidate nearly always passes.
    for position in start..start + 16 {
        let candidate = DECIMALS.at(position);
        let spent = rho(candidate, steps)?;
        if conversion.epsilon(spent, delta)? <= epsilon && conversion.ln_delta(spent, epsilon)? <= delta.ln() {
            return Ok(candidate);
        }
    }
    Err(Error::numerical("noise multiplier", "the conversions there and back disagree"))
}

/// The total rho of Gaussian releases that share a noise multiplier.
///
/// `rho = steps / (2 z^2)`, `z` being noise standard deviation over l2 sensitivity.
///
/// # Errors
/// When the multiplier is not finite and positive, or rho overflows.
///
/// # Privacy
/// An upper bound: the smallest double, or one of the smallest few, that is not below in exact rational arithmetic.
///
/// Reference: Bun and Steinke 2016, Proposition 1.6 and Lemma 1.7.
///
/// ```
/// assert_eq!(rhograd::calculator::calibrate::rho(10.0, 100).unwrap(), 0.5);
/// ```
pub fn rho(noise_multiplier: f64, steps: u64) -> Fallible<f64> {
    let z = positive("noise multiplier", noise_multiplier)?;
    if steps == 0 {
        return Ok(0.0);
    }
    let mut rho = down(steps as f64 / z / z / 2.0, 4);
    let releases = product(&[1.0])?.times(steps);
    for _ in 0..16 {
        if !rho.is_finite() {
            break;
        }
        if releases <= product(&[rho, z, z])?.times(2) {
            return Ok(rho);
        }
        rho = rho.next_up();
    }
    Err(Error::numerical("rho", format!("{steps} steps with noise multiplier {z} have no finite rho")))
}

/// The largest number of releases with a given noise multiplier that stays within (epsilon, delta).
///
/// [`max_steps_from_rho`] for the rho of [`Conversion::max_rho`].
///
/// # Errors
/// When epsilon is infinite or the multiplier is not finite and positive.
///
/// # Privacy
/// A lower bound: so many steps are within the budget.
///
/// Reference: as [`max_steps_from_rho`].
pub fn max_steps(conversion: Conversion, epsilon: Epsilon, delta: Delta, noise_multiplier: f64) -> Fallible<u64> {
    max_steps_from_rho(conversion.max_rho(epsilon, delta)?, noise_multiplier)
}

/// The largest number of releases with a given noise multiplier that stays within a total rho.
///
/// `floor(2 rho z^2)`, `z` being noise standard deviation over l2 sensitivity.
///
/// # Errors
/// When rho is negative, infinite or NaN, or the multiplier is not finite and positive.
///
/// # Privacy
/// A lower bound: floored in exact rational arithmetic, at most `u64::MAX`; 0 when not even one release
/// fits.
///
/// Reference: Bun and Steinke 2016, Proposition 1.6 and Lemma 1.7.
pub fn max_steps_from_rho(rho: f64, noise_multiplier: f64) -> Fallible<u64> {
    let z = positive("noise multiplier", noise_multiplier)?;
    let twice = product(&[finite("rho", rho)?, z, z])?.times(2);
    let whole: BigUint = twice.numerator() >> twice.log2_denominator();
    Ok(u64::try_from(whole).unwrap_or(u64::MAX))
}

/// The noise standard deviation of a noise multiplier.
///
/// `sigma = noise_multiplier l2_sensitivity`.
///
/// # Errors
/// When a number is not finite and positive, or sigma overflows.
///
/// # Privacy
/// Rounded up, exact where the product is a double.
pub fn sigma_of(noise_multiplier: f64, l2_sensitivity: f64) -> Fallible<f64> {
    let (z, sensitivity) =
        (positive("noise multiplier", noise_multiplier)?, positive("l2 sensitivity", l2_sensitivity)?);
    let sigma = z * sensitivity;
    // An underflow is moved up to the smallest double.
    let short = sigma < f64::MIN_POSITIVE || product(&[sigma.min(f64::MAX)])? < product(&[z, sensitivity])?;
    let sigma = if short { sigma.next_up() } else { sigma };
    positive("sigma", sigma)
}

/// The exact product of finite nonnegative doubles.
fn product(factors: &[f64]) -> Fallible<Dyadic> {
    let mut total = Dyadic::new(BigUint::from(1u8), 0);
    for &factor in factors {
        let exact = Dyadic::from_f64(factor)
            .ok_or_else(|| Error::numerical("calibration", format!("{factor} is not a finite nonnegative number")))?;
        let denominator = total.log2_denominator() + exact.log2_denominator();
        total = Dyadic::new(total.numerator() * exact.numerator(), denominator);
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_round_trip() {
        for conversion in Conversion::ALL {
            assert_eq!(conversion.to_string().parse::<Conversion>().unwrap(), conversion);
            assert_eq!(serde_json::to_string(&conversion).unwrap(), format!("\"{conversion}\""));
        }
        let error = "exakt".parse::<Conversion>().unwrap_err().to_string();
        assert_eq!(error, "conversion: there is no \"exakt\"; use classical, optimal or exact");
    }

    #[test]
    fn nonsense_is_refused() {
        let (e, d) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(sigma(Conversion::Exact, e, d, 1, bad).is_err());
            assert!(sigma_from_rho(bad, 1, 1.0).is_err());
            assert!(max_steps(Conversion::Exact, e, d, bad).is_err());
        }
        assert!(sigma(Conversion::Exact, e, d, 0, 1.0).is_err());
        assert!(sigma(Conversion::Exact, Epsilon::INFINITE, d, 1, 1.0).is_err());
        assert!(sigma(Conversion::Classical, Epsilon::new(0.0).unwrap(), d, 1, 1.0).is_err());
        assert!(sigma_from_rho(5e-324, u64::MAX, 1e300).is_err());
    }

    #[test]
    fn rho_is_rounded_up_and_exact_where_it_can_be() {
        assert_eq!(rho(1.0, 1).unwrap(), 0.5);
        assert_eq!(rho(2f64.powi(-20), 3).unwrap(), 1.5 * 2f64.powi(40));
        assert_eq!(rho(5.0, 0).unwrap(), 0.0);
        assert!(rho(1e-300, 1).is_err() && rho(f64::NAN, 1).is_err() && rho(0.0, 1).is_err());
        for z in [0.3, 1.7, 5.9160797831, 1e10] {
            for steps in [1, 7, 12_345, u64::MAX] {
                let spent = rho(z, steps).unwrap();
                assert!(max_steps_from_rho(spent, z).unwrap() >= steps, "{z} {steps}");
                assert!(max_steps_from_rho(spent.next_down(), z).unwrap() < steps, "{z} {steps}");
            }
        }
    }

    #[test]
    fn sigmas_are_rounded_up_and_exact_where_they_can_be() {
        assert_eq!(sigma_of(1.25, 1.0).unwrap(), 1.25);
        assert_eq!(sigma_of(0.1, 2.0).unwrap(), 0.2);
        for (z, sensitivity) in [(0.1, 0.7), (0.3, 1.1), (5.9160797831, 3.3)] {
            let sigma = sigma_of(z, sensitivity).unwrap();
            // The fused operation gives the sign of the exact difference.
            let over = |sigma: f64| f64::mul_add(-z, sensitivity, sigma);
            assert!(over(sigma) >= 0.0 && over(sigma.next_down()) < 0.0);
        }
        assert!(sigma_of(1e-300, 1e-300).unwrap() > 0.0);
        assert!(sigma_of(1e300, 1e300).is_err() && sigma_of(0.0, 1.0).is_err());
    }

    #[test]
    fn steps_are_floored_exactly() {
        let (e, d) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
        for conversion in Conversion::ALL {
            let sigma = sigma(conversion, e, d, 1000, 1.0).unwrap();
            assert_eq!(max_steps(conversion, e, d, sigma).unwrap(), 1000);
            assert_eq!(max_steps(conversion, e, d, sigma.next_down().next_down()).unwrap(), 999);
            assert_eq!(max_steps(conversion, e, d, 1e-3).unwrap(), 0);
            assert_eq!(max_steps(conversion, e, d, 1e200).unwrap(), u64::MAX);
        }
    }
}
