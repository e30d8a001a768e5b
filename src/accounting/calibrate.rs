//! From a budget to noise or to a number of steps.

use std::fmt;
use std::str::FromStr;

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use super::directed::positive;
use super::{gaussian, zcdp};
use crate::error::{Error, Fallible};
use crate::num::Dyadic;
use crate::privacy::{Delta, Epsilon};

/// How rho becomes (epsilon, delta).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Conversion {
    /// `epsilon = rho + 2 sqrt(rho ln(1/delta))`; for every zCDP mechanism.
    Classical,
    /// The best real order; for every zCDP mechanism, never worse than the classical one.
    Optimal,
    /// The exact trade-off; for Gaussian mechanisms and their post-processing **only**.
    Exact,
}

impl Conversion {
    /// All conversions, from the loosest to the tightest.
    pub const ALL: [Conversion; 3] = [Conversion::Classical, Conversion::Optimal, Conversion::Exact];

    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Conversion::Classical => "classical",
            Conversion::Optimal => "optimal",
            Conversion::Exact => "exact",
        }
    }

    /// The epsilon of a rho-zCDP mechanism at delta.
    ///
    /// [`zcdp::epsilon_classical`], [`zcdp::epsilon_optimal`] or [`gaussian::epsilon_from_rho`].
    ///
    /// # Errors
    /// When `rho` is negative or NaN, or a search fails.
    ///
    /// # Privacy
    /// An upper bound: rounded up. Exact <= optimal <= classical always holds.
    ///
    /// Reference: Bun and Steinke 2016, Lemma 3.5; Canonne, Kamath and Steinke 2020, Proposition 12;
    /// Balle and Wang 2018, Theorem 8.
    ///
    /// ```
    /// use rhograd::{accounting::Conversion, privacy::Delta};
    /// # fn main() -> rhograd::error::Fallible<()> {
    /// let delta = Delta::new(1e-5)?;
    /// let epsilons: Vec<f64> =
    ///     Conversion::ALL.iter().map(|it| it.epsilon(0.5, delta).unwrap().value()).collect();
    /// assert!(epsilons[2] < epsilons[1] && epsilons[1] < epsilons[0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn epsilon(self, rho: f64, delta: Delta) -> Fallible<Epsilon> {
        match self {
            Conversion::Classical => zcdp::epsilon_classical(0.0, rho, delta),
            Conversion::Optimal => zcdp::epsilon_optimal(0.0, rho, delta),
            Conversion::Exact => gaussian::epsilon_from_rho(rho, delta),
        }
    }

    /// The logarithm of the delta of a rho-zCDP mechanism at epsilon.
    ///
    /// [`zcdp::ln_delta_classical`], [`zcdp::ln_delta_optimal`] or [`gaussian::ln_delta_from_rho`].
    ///
    /// # Errors
    /// When `rho` is negative or NaN.
    ///
    /// # Privacy
    /// An upper bound, at most 0: rounded up. Exact <= optimal <= classical always holds.
    ///
    /// Reference: as for [`Conversion::epsilon`].
    pub fn ln_delta(self, rho: f64, epsilon: Epsilon) -> Fallible<f64> {
        match self {
            Conversion::Classical => zcdp::ln_delta_classical(0.0, rho, epsilon),
            Conversion::Optimal => zcdp::ln_delta_optimal(0.0, rho, epsilon),
            Conversion::Exact => gaussian::ln_delta_from_rho(rho, epsilon),
        }
    }

    /// The largest rho that meets (epsilon, delta).
    ///
    /// [`zcdp::max_rho_classical`], [`zcdp::max_rho_optimal`] or [`gaussian::max_rho`].
    ///
    /// # Errors
    /// When epsilon is infinite, or a search fails.
    ///
    /// # Privacy
    /// A lower bound: rounded down until [`Conversion::epsilon`] and [`Conversion::ln_delta`] of the
    /// result meet the target too. It is 0 when no positive rho does.
    ///
    /// Reference: as for [`Conversion::epsilon`].
    pub fn max_rho(self, epsilon: Epsilon, delta: Delta) -> Fallible<f64> {
        match self {
            Conversion::Classical => zcdp::max_rho_classical(0.0, epsilon, delta),
            Conversion::Optimal => zcdp::max_rho_optimal(0.0, epsilon, delta),
            Conversion::Exact => gaussian::max_rho(epsilon, delta),
        }
    }
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Conversion {
    type Err = Error;

    fn from_str(text: &str) -> Fallible<Self> {
        Self::ALL.into_iter().find(|it| it.name() == text).ok_or_else(|| {
            Error::parameter("conversion", format!("there is no {text:?}"), "use classical, optimal or exact")
        })
    }
}

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
/// use rhograd::accounting::calibrate::sigma_from_rho;
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

/// The largest number of releases with a given noise multiplier that stays within (epsilon, delta).
///
/// `floor(2 rho z^2)` for the rho of [`Conversion::max_rho`], `z` being noise standard deviation over
/// l2 sensitivity.
///
/// # Errors
/// When epsilon is infinite or the multiplier is not finite and positive.
///
/// # Privacy
/// A lower bound: floored in exact rational arithmetic, at most `u64::MAX`; 0 when not even one release
/// fits.
///
/// Reference: Bun and Steinke 2016, Proposition 1.6 and Lemma 1.7.
pub fn max_steps(conversion: Conversion, epsilon: Epsilon, delta: Delta, noise_multiplier: f64) -> Fallible<u64> {
    let z = positive("noise multiplier", noise_multiplier)?;
    let twice = product(&[conversion.max_rho(epsilon, delta)?, z, z])?.times(2);
    let whole: BigUint = twice.numerator() >> twice.log2_denominator();
    Ok(u64::try_from(whole).unwrap_or(u64::MAX))
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
