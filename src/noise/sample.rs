//! Exact Poisson samples of row numbers, by skipping from one chosen row to the next.

use std::ops::Range;

use rand::RngCore;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

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

/// Rows of which one key chooses at a time.
const BLOCK: u64 = 1 << 16;

/// A coin for every number, each with probability `1 - exp(-exponent / 2^64)`, that whoever has this can toss for any of them.
///
/// Numbers are tossed in blocks of 65,536, each with a stream of its own, so that the coins of some rows need no look at those before.
///
/// # Privacy
/// The key inside tells which rows are chosen, and nothing else: it is drawn for this purpose, and neither the key of noise nor any
/// stream of it follows from it. Workers that hold rows get it with questions. No bound rests on its secrecy: given the coins of all others, a
/// row is in one part and moves its sums alone.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Coins {
    key: [u8; 32],
    exponent: u64,
}

impl Drop for Coins {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

impl Coins {
    /// The coins that a source has for the rows of a hold-out.
    pub(crate) fn of(exponent: u64, source: &NoiseSource) -> Self {
        let mut key = [0; 32];
        // No release has this number: numbers end one before it.
        source.row_stream(SAMPLE_BLOCK).fill_bytes(&mut key);
        Coins { key, exponent }
    }

    /// The numbers within a range that are chosen, in order.
    pub(crate) fn within(&self, rows: Range<u64>) -> impl Iterator<Item = u64> + use<> {
        let (exponent, source) = (self.exponent, NoiseSource::of_key(self.key));
        let blocks = rows.start / BLOCK..rows.end.div_ceil(BLOCK);
        let chosen = blocks.flat_map(move |block| {
            // Of 2^36 rows there are 2^20 blocks.
            let sample = PoissonSample::new(exponent, BLOCK as usize, &source, block as u32);
            sample.map(move |row| block * BLOCK + row as u64)
        });
        chosen.skip_while(move |row| *row < rows.start).take_while(move |row| *row < rows.end)
    }
}

/// Which rows are chosen.
#[derive(Clone)]
pub(crate) enum Choice {
    /// Those whose coins say so.
    Coins(Coins),
    /// Those at these positions, which are ascending.
    Positions(Vec<usize>),
}

impl Choice {
    /// The positions chosen of the first `all`, in order.
    pub(crate) fn positions(self, all: usize) -> Box<dyn Iterator<Item = usize>> {
        match self {
            Choice::Coins(coins) => Box::new(coins.within(0..all as u64).map(|row| row as usize)),
            Choice::Positions(positions) => Box::new(positions.into_iter()),
        }
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
