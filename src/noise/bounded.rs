//! Bounded noise from whole weights.

use super::bits::BitSource;
use super::coins::uniform_up_to;
use crate::privacy::BoundedLaw;

/// A bounded law with the running sums that a draw looks up.
pub(super) struct Lookup<'a> {
    law: &'a BoundedLaw,
    /// How many of the `W` equally likely numbers stand for an absolute value of at most that of the place.
    up_to: Vec<u64>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(law: &'a BoundedLaw) -> Self {
        let sums = law.weights().iter().enumerate().scan(0, |sum, (at, weight)| {
            // Each absolute value but 0 has two signs; the law has seen to it that the sum fits.
            *sum += if at == 0 { *weight } else { 2 * weight };
            Some(*sum)
        });
        Lookup { law, up_to: sums.collect() }
    }

    /// One draw: `P[Y = y] = w(|y|) / W`, exactly.
    ///
    /// A number below `W` is uniform. The absolute value is the first place whose sum exceeds it; of the numbers of that place the first
    /// `w` stand for the positive sign and the next `w` for the negative one.
    #[inline]
    pub(super) fn draw<S: BitSource>(&self, source: &mut S) -> Result<i64, S::Error> {
        let number = uniform_up_to(self.law.total() - 1, source)?;
        let place = self.up_to.partition_point(|&sum| sum <= number);
        let before = place.checked_sub(1).map_or(0, |at| self.up_to[at]);
        let absolute = place as i64;
        Ok(if place == 0 || number - before < self.law.weights()[place] { absolute } else { -absolute })
    }
}
