//! Notions of differential privacy as types: each composes, handles groups, and converts where a theorem
//! allows.
//!
//! Every value holds under one adjacency relation, which the holder must keep: values under different
//! relations are never composed. All are closed under post-processing: a value stays valid for
//! anything computed from the output alone.
//!
//! ```
//! use rhograd::accounting::notion::{ApproximateZcdp, GaussianDp, PureDp, TradeOff, TruncatedCdp, Zcdp};
//! use rhograd::privacy::Delta;
//! # fn main() -> rhograd::error::Fallible<()> {
//! let zcdp: Zcdp = PureDp::new(0.5)?.to_zcdp()?;
//! assert!(zcdp.rho() <= 0.125);
//! // Exactly what Gaussian noise gives is less than what its rho alone says.
//! let (gaussian, delta) = (GaussianDp::new(0.5)?, Delta::new(1e-6)?);
//! let (exact, by_rho) = (gaussian.to_approximate_dp(delta)?, gaussian.to_zcdp()?.to_approximate_dp_optimal(delta)?);
//! assert!(exact.epsilon() < by_rho.epsilon());
//! // A test that wrongly accuses in 5% of cases misses at least this share of guilty ones.
//! let curve: TradeOff = gaussian.to_trade_off()?;
//! assert!((curve.false_negative_rate(0.05)? - 0.874).abs() < 1e-3);
//! let (failing, truncated): (ApproximateZcdp, TruncatedCdp) = (zcdp.to_approximate_zcdp(), zcdp.to_truncated_cdp(10.0)?);
//! # let _ = (failing, truncated);
//! # Ok(())
//! # }
//! ```

use super::rdp::{Component, mechanisms};
use crate::error::{Error, Fallible};

pub use super::approximate::ApproximateDp;
pub use super::gaussian::GaussianDp;
pub use super::pure::PureDp;
pub use super::rdp::{ApproximateRenyi, RdpCurve};
pub use super::trade_off::TradeOff;
pub use super::zcdp::{ApproximateZcdp, TruncatedCdp, Zcdp};

// A notion's own file holds the conversions to what is defined before it; those to later ones are here.

impl PureDp {
    /// This guarantee with delta 0.
    ///
    /// `(epsilon, 0)`.
    pub fn to_approximate_dp(self) -> ApproximateDp {
        ApproximateDp::pure(self)
    }

    /// The smallest rho that every epsilon-DP mechanism has.
    ///
    /// `rho = epsilon tanh(epsilon/2)`.
    ///
    /// # Errors
    /// When epsilon is infinite.
    ///
    /// Reference: Bun and Steinke 2016, Proposition 1.4, with the constant made tight.
    pub fn to_zcdp(self) -> Fallible<Zcdp> {
        Zcdp::new(0.0, mechanisms::pure_rho(self.epsilon())?)
    }

    /// The smallest curve of Renyi divergences that every epsilon-DP mechanism has.
    ///
    /// [`mechanisms::pure`].
    pub fn to_rdp_curve(self) -> RdpCurve {
        Component::Pure { epsilon: self.epsilon() }.into()
    }

    /// The trade-off curve of randomised response, the worst epsilon-DP mechanism.
    ///
    /// `max{0, 1 - e^epsilon a, e^-epsilon (1 - a)}`.
    ///
    /// # Errors
    /// When epsilon is infinite.
    ///
    /// Reference: Wasserman and Zhou 2010, Theorem 2.4.
    pub fn to_trade_off(self) -> Fallible<TradeOff> {
        TradeOff::approximate(self.to_approximate_dp())
    }
}

impl ApproximateDp {
    /// Approximate concentrated privacy by the decomposition into randomised response and failure.
    ///
    /// delta-approximate rho-zCDP with `rho = epsilon tanh(epsilon/2)`.
    ///
    /// # Errors
    /// When epsilon is infinite.
    ///
    /// Reference: Bun and Steinke 2016, Lemma 8.3 (there with `epsilon^2/2`).
    pub fn to_approximate_zcdp(self) -> Fallible<ApproximateZcdp> {
        ApproximateZcdp::new(self.ln_delta(), Zcdp::new(0.0, mechanisms::pure_rho(self.epsilon())?)?)
    }

    /// The trade-off curve of the worst mechanism with this guarantee.
    ///
    /// `max{0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)}`.
    ///
    /// # Errors
    /// When epsilon is infinite.
    ///
    /// Reference: Wasserman and Zhou 2010; Dong, Roth and Su 2022, Proposition 2.5.
    pub fn to_trade_off(self) -> Fallible<TradeOff> {
        TradeOff::approximate(self)
    }
}

impl Zcdp {
    /// This guarantee as a curve, of which every order may be used.
    ///
    /// `xi + rho alpha`.
    pub fn to_rdp_curve(self) -> RdpCurve {
        self.into()
    }

    /// The part of the guarantee below an order, when there is no constant part.
    ///
    /// `(rho, omega)`-tCDP.
    ///
    /// # Errors
    /// When `xi` is positive (no slope covers it near order 1) or `omega` is at most 1.
    ///
    /// Reference: Bun, Dwork, Rothblum and Steinke 2018, Definition 1.
    pub fn to_truncated_cdp(self, omega: f64) -> Fallible<TruncatedCdp> {
        if self.xi() > 0.0 {
            return Err(Error::parameter("xi", "is positive", "only rho-zCDP is tCDP"));
        }
        TruncatedCdp::new(self.rho(), omega)
    }

    /// This guarantee without a failure probability.
    pub fn to_approximate_zcdp(self) -> ApproximateZcdp {
        ApproximateZcdp::exact(self)
    }
}
