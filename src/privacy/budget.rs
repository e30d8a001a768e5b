//! Newtypes for epsilon, delta and rho, checked once at the boundary.

use crate::error::{Error, Fallible};
use crate::num::Dyadic;

/// A privacy loss bound epsilon: nonnegative, possibly infinite, never NaN.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Epsilon(f64);

impl Epsilon {
    /// No protection at all; what a failed computation reports.
    pub const INFINITE: Epsilon = Epsilon(f64::INFINITY);

    /// Checks `value >= 0`.
    ///
    /// # Errors
    /// When the value is negative or NaN.
    pub fn new(value: f64) -> Fallible<Self> {
        if value >= 0.0 {
            return Ok(Epsilon(value));
        }
        Err(Error::parameter("epsilon", format!("is {value}, must be at least 0"), "use a positive number such as 1"))
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// A failure probability delta strictly between 0 and 1, with its logarithm.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Delta(f64);

impl Delta {
    /// Checks `0 < value < 1`.
    ///
    /// # Errors
    /// When the value lies outside the open interval or is NaN.
    pub fn new(value: f64) -> Fallible<Self> {
        if value > 0.0 && value < 1.0 {
            return Ok(Delta(value));
        }
        Err(Error::parameter(
            "delta",
            format!("is {value}, must lie strictly between 0 and 1"),
            "use a number well below one over the number of rows, such as 1e-6",
        ))
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }

    /// Its natural logarithm, negative.
    pub fn ln(self) -> f64 {
        // Near 1 the plain logarithm would lose the distance to 1; below it is accurate to an ulp.
        if self.0 > 0.5 { (-(1.0 - self.0)).ln_1p() } else { self.0.ln() }
    }
}

/// A zCDP parameter rho as an exact rational.
///
/// Reference: Bun and Steinke 2016, Definition 1.1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Rho(Dyadic);

impl Rho {
    /// No cost.
    pub fn zero() -> Self {
        Rho(Dyadic::zero())
    }

    /// The exact value of a finite, nonnegative float.
    ///
    /// # Errors
    /// When the value is negative, infinite or NaN.
    pub fn from_f64(value: f64) -> Fallible<Self> {
        Dyadic::from_f64(value).map(Rho).ok_or_else(|| {
            Error::parameter(
                "rho",
                format!("is {value}, must be finite and at least 0"),
                "use a positive number such as 0.1",
            )
        })
    }

    /// Wraps an exact rational.
    pub fn exact(value: Dyadic) -> Self {
        Rho(value)
    }

    /// The exact rational.
    pub fn as_dyadic(&self) -> &Dyadic {
        &self.0
    }

    /// The smallest float that is not below rho.
    pub fn upper(&self) -> f64 {
        self.0.to_f64_up()
    }

    /// The largest float that is not above rho.
    pub fn lower(&self) -> f64 {
        self.0.to_f64_down()
    }

    /// Cost of both, exactly (Bun and Steinke 2016, Lemma 1.7: zCDP adds up).
    pub fn plus(&self, other: &Rho) -> Rho {
        Rho(self.0.plus(&other.0))
    }

    /// What is left of `self` after `spent`, zero if overspent.
    pub fn minus(&self, spent: &Rho) -> Rho {
        Rho(self.0.saturating_minus(&spent.0))
    }
}

impl std::iter::Sum for Rho {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        Rho(parts.map(|rho| rho.0).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_numbers_are_refused() {
        for bad in [-1.0, f64::NAN] {
            assert!(Epsilon::new(bad).is_err());
            assert!(Rho::from_f64(bad).is_err());
            assert!(Delta::new(bad).is_err());
        }
        for bad in [0.0, 1.0, 2.0, f64::INFINITY] {
            assert!(Delta::new(bad).is_err());
        }
        assert!(Epsilon::new(f64::INFINITY).is_ok());
        assert!(Rho::from_f64(f64::INFINITY).is_err());
    }

    #[test]
    fn rho_adds_exactly() {
        let tenth = Rho::from_f64(0.1).unwrap();
        let sum: Rho = std::iter::repeat_n(tenth.clone(), 10).sum();
        assert_eq!(sum.minus(&tenth).plus(&tenth), sum);
        assert!(sum > Rho::from_f64(1.0).unwrap(), "ten times the double nearest 0.1 is above 1");
    }
}
