//! The one interface through which samplers see randomness.

/// The exponent of a coin.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exponent {
    /// One half.
    Half,
    /// One.
    One,
    /// A numerator over `2^128`.
    Dyadic(u128),
}

/// A supply of independent fair bits.
///
/// The samplers are written once against this trait. A run feeds them a cipher stream with 64-bit digits,
/// which never fails; a test feeds them every string of a few bits in turn, learning from the error which
/// strings were too short, and so obtains the probability of each outcome exactly.
pub(super) trait BitSource: Sized {
    /// Why no bit came; [`std::convert::Infallible`] in a run.
    type Error;

    /// Width of a digit, from 1 to 64 bits.
    const DIGIT_BITS: u32;

    /// A uniform digit below `2^DIGIT_BITS`.
    fn digit(&mut self) -> Result<u64, Self::Error>;

    /// `count` fair bits as an integer below `2^count`, for `count` below 64.
    fn bits(&mut self, count: u32) -> Result<u64, Self::Error>;

    /// One fair bit.
    #[inline]
    fn flip(&mut self) -> Result<bool, Self::Error> {
        Ok(self.bits(1)? == 1)
    }

    /// True with probability exactly `exp(-exponent)`, made of the bits above.
    ///
    /// A test of what is built from such coins may branch on a coin as a whole, its law being tested apart.
    #[inline]
    fn exp_minus(&mut self, exponent: Exponent) -> Result<bool, Self::Error> {
        exponent.toss(self)
    }
}
