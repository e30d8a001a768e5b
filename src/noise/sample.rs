//! Exact Poisson samples of row numbers, by skipping from one chosen row to the next.

use super::bits::BitSource;
use super::bits::Exponent;
use super::coins::heads_in_a_row;
use super::source::{NoiseSource, NoiseStream};

/// The block of a release's streams that draws samples; noise never gets this far, see
/// [`super::integer_noise`].
pub(super) const SAMPLE_BLOCK: u32 = u32::MAX;

/// The numbers below `len` that are chosen, each on its own with probability `1 - exp(-exponent / 2^64)`, in order.
///
/// The gap between chosen rows is geometric, drawn exactly: no floating point, and work in proportion to the
/// number of rows chosen. An exponent of zero chooses nothing.
///
/// # Privacy
/// The choice is as secret as the noise; it must not leave the gate.
///
/// ```
/// use rhograd::noise::{NoiseSource, poisson_sample};
///
/// let source = NoiseSource::insecure_from_seed(1);
/// let chosen = poisson_sample(1 << 58, 10_000, &source, 0);
/// assert!((100..230).contains(&chosen.len()), "about one in 64: {}", chosen.len());
/// assert!(chosen.is_sorted());
/// ```
pub fn poisson_sample(exponent: u64, len: usize, source: &NoiseSource, release: u32) -> Vec<usize> {
    PoissonSample::new(exponent, len, source, release).collect()
}

/// What [`poisson_sample`] chooses, number by number, where there may be more of them than should be held.
///
/// # Privacy
/// The choice is as secret as the noise; it must not leave the gate.
pub struct PoissonSample {
    /// None where nothing is chosen any more.
    stream: Option<NoiseStream>,
    exponent: u64,
    len: usize,
    next: usize,
}

impl PoissonSample {
    /// The sample of a source and a release.
    pub fn new(exponent: u64, len: usize, source: &NoiseSource, release: u32) -> Self {
        let stream = (exponent > 0).then(|| source.stream(release, SAMPLE_BLOCK));
        PoissonSample { stream, exponent, len, next: 0 }
    }
}

impl Iterator for PoissonSample {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let Ok(gap) = gap(self.exponent, self.stream.as_mut()?);
        // A gap beyond every row ends the sample.
        let row = usize::try_from(gap).ok().and_then(|gap| self.next.checked_add(gap)).filter(|&row| row < self.len);
        match row {
            Some(row) => self.next = row + 1,
            None => self.stream = None,
        }
        row
    }
}

/// How many rows in a row are not chosen: `P[G >= g] = exp(-g x)` for `x = exponent / 2^64`, saturating.
///
/// The binary digits of a geometric number are independent: digit `j` is one with probability
/// `p / (1 + p)`, `p = exp(-2^j x)`. Digits are drawn while `2^j x` is below one half; what is left is geometric again
/// with `p = exp(-2^J x)`.
pub(super) fn gap<S: BitSource>(exponent: u64, source: &mut S) -> Result<u64, S::Error> {
    let digits = exponent.leading_zeros();
    let mut low = 0;
    for j in 0..digits {
        if odds(u128::from(exponent) << (64 + j), source)? {
            low |= 1 << j;
        }
    }
    let high = heads_in_a_row(Exponent::Dyadic(u128::from(exponent) << (64 + digits)), source)?;
    Ok(high.checked_mul(1 << digits).and_then(|high| high.checked_add(low)).unwrap_or(u64::MAX))
}

/// True with probability exactly `p / (1 + p)`, `p = exp(-gamma / 2^128)`.
///
/// A fair coin decides between stopping with "false" and tossing a coin of `p`, which stops with "true" or starts
/// again: `P = (p/2) / (1/2 + p/2)`.
fn odds<S: BitSource>(gamma: u128, source: &mut S) -> Result<bool, S::Error> {
    loop {
        if source.flip()? {
            return Ok(false);
        }
        if source.exp_minus(Exponent::Dyadic(gamma))? {
            return Ok(true);
        }
    }
}
