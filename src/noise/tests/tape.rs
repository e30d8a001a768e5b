//! Bit sources for tests, and the exact law of a sampler by trying every bit string.

use std::collections::BTreeMap;
use std::convert::Infallible;

use crate::noise::bits::{BitSource, Exponent};

/// A finite string of choices, read from the left: bits in digits of `W`, and, if `COINS` is set, exponential
/// coins as single choices of their exact probability.
pub struct Tape<const W: u32, const COINS: bool = false> {
    string: u64,
    left: u32,
    weight: f64,
}

/// The string was too short to decide.
#[derive(Debug)]
pub struct Exhausted;

impl<const W: u32, const COINS: bool> Tape<W, COINS> {
    /// The next choice, true with probability `heads`.
    fn choose(&mut self, heads: f64) -> Result<bool, Exhausted> {
        self.left = self.left.checked_sub(1).ok_or(Exhausted)?;
        let choice = self.string >> self.left & 1 == 1;
        self.weight *= if choice { heads } else { 1.0 - heads };
        Ok(choice)
    }
}

impl<const W: u32, const COINS: bool> BitSource for Tape<W, COINS> {
    type Error = Exhausted;
    const DIGIT_BITS: u32 = W;

    fn digit(&mut self) -> Result<u64, Exhausted> {
        self.bits(W)
    }

    fn bits(&mut self, count: u32) -> Result<u64, Exhausted> {
        (0..count).try_fold(0, |value, _| Ok(value << 1 | u64::from(self.choose(0.5)?)))
    }

    fn exp_minus(&mut self, exponent: Exponent) -> Result<bool, Exhausted> {
        match exponent {
            _ if !COINS => exponent.toss(self),
            // No choice, as in the real coin.
            Exponent::Dyadic(0) => Ok(true),
            Exponent::Dyadic(gamma) => self.choose((-(gamma as f64) / 2f64.powi(128)).exp()),
            Exponent::Half => self.choose((-0.5f64).exp()),
            Exponent::One => self.choose((-1f64).exp()),
        }
    }
}

/// Fixed 64-bit words, for both digits and bits; panics at their end.
pub struct Script(pub std::vec::IntoIter<u64>);

impl BitSource for Script {
    type Error = Infallible;
    const DIGIT_BITS: u32 = 64;

    fn digit(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next().expect("enough words"))
    }

    fn bits(&mut self, _: u32) -> Result<u64, Infallible> {
        self.digit()
    }
}

/// Lower bounds on the probabilities of outcomes, and the probability of the strings that do not decide.
pub struct Law<T> {
    mass: BTreeMap<T, f64>,
    undetermined: f64,
}

/// Runs `sampler` on every string of choices until it decides or the string is less likely than `2^-depth`.
/// A string that decides stands for all its continuations. With bits alone all sums are exact.
pub fn enumerate<const W: u32, const COINS: bool, T: Ord>(
    depth: i32,
    sampler: impl Fn(&mut Tape<W, COINS>) -> Result<T, Exhausted>,
) -> Law<T> {
    let mut law = Law { mass: BTreeMap::new(), undetermined: 0.0 };
    let least = 2f64.powi(-depth);
    let mut open = vec![(0u64, 0u32)];
    while let Some((string, length)) = open.pop() {
        let mut tape = Tape { string, left: length, weight: 1.0 };
        match sampler(&mut tape) {
            Ok(outcome) => *law.mass.entry(outcome).or_default() += tape.weight,
            Err(Exhausted) if tape.weight <= least || length == 63 => law.undetermined += tape.weight,
            Err(Exhausted) => open.extend([(string << 1, length + 1), (string << 1 | 1, length + 1)]),
        }
    }
    let total = law.mass.values().sum::<f64>() + law.undetermined;
    assert!((total - 1.0).abs() < 1e-11, "every string is counted once: {total}");
    law
}

impl<T: Ord> Law<T> {
    /// Probability of the strings that do not decide.
    pub fn undetermined(&self) -> f64 {
        self.undetermined
    }

    /// Bounds on the probability of an outcome.
    pub fn bounds(&self, outcome: &T) -> (f64, f64) {
        let low = self.mass.get(outcome).copied().unwrap_or(0.0);
        (low, low + self.undetermined)
    }

    /// Whether `truth` can be the probability of `outcome`; the slack covers the rounding of `truth` only.
    pub fn allows(&self, outcome: &T, truth: f64) -> bool {
        let (low, high) = self.bounds(outcome);
        low - 1e-10 <= truth && truth <= high + 1e-10
    }
}

impl<T: Ord> Law<Option<T>> {
    /// Bounds on the probability of an outcome given that the attempt is kept.
    pub fn kept_bounds(&self, outcome: T) -> (f64, f64) {
        let rejected = self.mass.get(&None).copied().unwrap_or(0.0);
        // Both extremes keep all that is undetermined, as this outcome or as another.
        let kept = 1.0 - rejected;
        let (low, high) = self.bounds(&Some(outcome));
        (low / kept, high / kept)
    }

    /// Whether `truth` can be the probability of `outcome` given that the attempt is kept.
    pub fn kept_allows(&self, outcome: T, truth: f64) -> bool {
        let (low, high) = self.kept_bounds(outcome);
        low - 1e-10 <= truth && truth <= high + 1e-10
    }
}
