//! A uniform real number in (0, 1) of which only as many digits exist as somebody asked for.

use super::bits::BitSource;

/// A uniform random real number, revealed digit by digit (base `2^DIGIT_BITS`) and never rounded.
///
/// A digit is drawn when it is first looked at and kept from then on, so every later look sees the same real
/// number. Two such numbers differ with probability 1, hence a comparison that reveals digits until they do
/// is the comparison of the real numbers, without ties.
///
/// Reference: von Neumann 1951, "Various techniques used in connection with random digits"; Karney 2016,
/// section 2 (u-rands).
pub(super) struct Uniform {
    first: u64,
    /// Digits after the first; with 64-bit digits a comparison needs one with probability `2^-64`, so this
    /// stays empty and unallocated.
    rest: Vec<u64>,
}

impl Uniform {
    /// A new number with its first digit revealed.
    #[inline]
    pub(super) fn draw<S: BitSource>(source: &mut S) -> Result<Self, S::Error> {
        Ok(Uniform { first: source.digit()?, rest: Vec::new() })
    }

    /// A new number that is uniform in (0, 1/2): its first bit is known to be 0.
    #[inline]
    pub(super) fn draw_below_half<S: BitSource>(source: &mut S) -> Result<Self, S::Error> {
        Ok(Uniform { first: source.bits(S::DIGIT_BITS - 1)?, rest: Vec::new() })
    }

    /// Digit `index`, counted from 0 at the most significant, drawn if it is new.
    #[inline]
    fn digit<S: BitSource>(&mut self, index: usize, source: &mut S) -> Result<u64, S::Error> {
        if index == 0 { Ok(self.first) } else { self.later_digit(index - 1, source) }
    }

    #[cold]
    fn later_digit<S: BitSource>(&mut self, index: usize, source: &mut S) -> Result<u64, S::Error> {
        loop {
            if let Some(&digit) = self.rest.get(index) {
                return Ok(digit);
            }
            self.rest.push(source.digit()?);
        }
    }

    /// Whether this number is below `other`.
    #[inline]
    pub(super) fn is_below<S: BitSource>(&mut self, other: &mut Self, source: &mut S) -> Result<bool, S::Error> {
        let mut index = 0;
        loop {
            let (mine, theirs) = (self.digit(index, source)?, other.digit(index, source)?);
            if mine != theirs {
                return Ok(mine < theirs);
            }
            index += 1;
        }
    }

    /// Whether this number is below `threshold / 2^128`.
    ///
    /// A threshold has finitely many digits other than zero. Once they have all been met, what is left of
    /// this number cannot be below what is left of the threshold, and no further digit is drawn.
    #[inline]
    pub(super) fn is_below_dyadic<S: BitSource>(&mut self, threshold: u128, source: &mut S) -> Result<bool, S::Error> {
        let mut left = threshold;
        let mut index = 0;
        while left != 0 {
            let theirs = (left >> (128 - S::DIGIT_BITS)) as u64;
            let mine = self.digit(index, source)?;
            if mine != theirs {
                return Ok(mine < theirs);
            }
            left <<= S::DIGIT_BITS;
            index += 1;
        }
        Ok(false)
    }

    /// The integer part of `2^count` times this number, for `count` at most 64.
    #[inline]
    pub(super) fn leading_bits<S: BitSource>(&mut self, count: u32, source: &mut S) -> Result<u64, S::Error> {
        let digits = count.div_ceil(S::DIGIT_BITS);
        let mut lead = 0u128;
        for index in 0..digits as usize {
            lead = lead << S::DIGIT_BITS | u128::from(self.digit(index, source)?);
        }
        Ok((lead >> (digits * S::DIGIT_BITS - count)) as u64)
    }
}

/// `whole * 2^log2_scale + lead`, or `i64::MAX` if that is larger, for `log2_scale` at most 63.
#[inline]
pub(super) fn join_clamped(whole: u64, lead: u64, log2_scale: u32) -> i64 {
    let exact = (u128::from(whole) << log2_scale) + u128::from(lead);
    i64::try_from(exact).unwrap_or(i64::MAX)
}
