//! Exact numbers as text.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Fallible};
use crate::num::Dyadic;
use crate::privacy::Rho;

/// Longest numerator in decimal digits and largest denominator exponent: room for every double.
const MAX_DIGITS: usize = 700;
const MAX_LOG2_DENOMINATOR: u32 = 1100;

/// A rho that is written as `{"num": decimal digits, "log2_den": integer}`, never as a float.
///
/// # Example
/// ```
/// use rhograd::{ledger::ExactRho, privacy::Rho};
///
/// let rho = ExactRho::new(&Rho::from_f64(0.75)?)?;
/// assert_eq!(serde_json::to_string(&rho).unwrap(), r#"{"num":"3","log2_den":2}"#);
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fraction", into = "Fraction")]
pub struct ExactRho(Rho);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fraction {
    num: String,
    log2_den: u32,
}

impl ExactRho {
    /// Wraps a rho that is small enough to be stored.
    ///
    /// # Errors
    /// When the numerator has more than 700 digits or the denominator exceeds `2^1100`; no float does.
    pub fn new(rho: &Rho) -> Fallible<Self> {
        let exact = rho.as_dyadic();
        // A decimal digit holds more than three bits, so this many bits fit in the digits.
        let fits = exact.numerator().bits() < 3 * MAX_DIGITS as u64;
        if fits && exact.log2_denominator() <= MAX_LOG2_DENOMINATOR {
            return Ok(ExactRho(rho.clone()));
        }
        Err(Error::parameter("rho", "has too many digits to be stored", "use a number that a double can hold"))
    }

    /// The rho.
    pub fn rho(&self) -> &Rho {
        &self.0
    }
}

impl From<ExactRho> for Fraction {
    fn from(rho: ExactRho) -> Self {
        let exact = rho.0.as_dyadic();
        Fraction { num: exact.numerator().to_string(), log2_den: exact.log2_denominator() }
    }
}

impl TryFrom<Fraction> for ExactRho {
    type Error = String;
    fn try_from(raw: Fraction) -> Result<Self, String> {
        // Checked before parsing: both bounds also bound the memory that the number can take.
        if raw.num.len() > MAX_DIGITS || raw.log2_den > MAX_LOG2_DENOMINATOR {
            return Err("a rho has too many digits".into());
        }
        let exact = Dyadic::parse(&raw.num, raw.log2_den).ok_or("a rho is not a number")?;
        ExactRho::new(&Rho::exact(exact)).map_err(|error| error.to_string())
    }
}
