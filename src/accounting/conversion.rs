//! Three conversions of the same rho to (epsilon, delta).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{gaussian, zcdp};
use crate::error::{Error, Fallible};
use crate::privacy::{Delta, Epsilon, NoiseLaw};

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

    /// The tightest conversion that is valid for Gaussian noise of a law.
    pub fn tightest(noise: NoiseLaw) -> Self {
        match noise {
            NoiseLaw::FlooredNormal => Conversion::Exact,
            NoiseLaw::DiscreteGaussian => Conversion::Optimal,
        }
    }

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
