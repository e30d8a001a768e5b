//! Exact integer noise: the floor of a scaled normal, the discrete Gaussian and the discrete Laplace law.
//!
//! Floating-point noise has been broken again and again through its low bits (Mironov 2012, "On significance
//! of the least significant bits for differential privacy"). Here no floating-point number exists at all:
//! every decision is the comparison of uniform real numbers revealed digit by digit, so the output has the
//! stated law itself and not one near it. A test refuses floating-point types and literals in this folder.
//!
//! Layers, bottom up: `source` (key, streams), `bits` (the interface to randomness), `digits` (uniform real
//! numbers), `coins` (exponential probabilities), then one file per law. The number of coins tossed depends on
//! the noise, so drawing takes a time that depends on the noise; timing is outside the adversary's view, and how
//! long a release took must never be published.

mod allocation;
mod bits;
mod bounded;
mod choice;
mod coins;
mod digits;
mod discrete_gaussian;
mod laplace;
mod normal;
mod runs;
mod sample;
mod source;

#[cfg(test)]
mod tests;

use std::convert::Infallible;

use rayon::prelude::*;

use crate::error::{Error, Fallible};
use crate::privacy::{BoundedLaw, MAX_LOG2_FINE, MAX_LOG2_SCALE, NoiseLaw};

pub use allocation::Allocation;
pub use choice::exponential_choice;
pub use runs::RunCoins;
pub(crate) use sample::{Choice, Coins};
pub use sample::{PoissonSample, poisson_sample};
#[cfg(test)]
pub(crate) use source::Opened;
pub use source::{NoiseSource, NoiseStream};

/// Coordinates drawn from one stream. Part of the meaning of a seed: changing it changes seeded runs.
const BLOCK: usize = 1024;

/// Draws `len` independent integers of the given law and scale `2^log2_scale`.
///
/// `FlooredNormal`: `P[Y = y] = Phi((y+1)/2^k) - Phi(y/2^k)`. `DiscreteGaussian`: `P[Y = y]` proportional to
/// `exp(-y^2 / 2^(2k+1))`. Block `b` of 1024 coordinates comes from stream `(release, b)`, blocks are drawn in
/// parallel, and the result depends on the source, the law, the scale and `release`, not on the number of
/// threads.
///
/// # Errors
/// When `log2_scale` is above [`MAX_LOG2_FINE`], or `len` above `2^42`.
///
/// # Privacy
/// Added to an integer vector of l2 sensitivity `s` this costs `rho = s^2 / 2^(2k+1)` zCDP under either law.
/// Each `release` number must be used once per source: the same number gives the same noise.
///
/// Reference: Karney 2016, Algorithm N; Canonne, Kamath, Steinke 2020, Algorithm 3.
///
/// ```
/// use rhograd::noise::{NoiseSource, integer_noise};
/// use rhograd::privacy::NoiseLaw;
///
/// let source = NoiseSource::from_os()?;
/// let noise = integer_noise(NoiseLaw::FlooredNormal, 40, 3, &source, 0)?;
/// assert!(noise.iter().all(|y| y.abs() < 40 << 40), "beyond 40 standard deviations");
/// # Ok::<(), rhograd::error::Error>(())
/// ```
pub fn integer_noise(
    law: NoiseLaw,
    log2_scale: u32,
    len: usize,
    source: &NoiseSource,
    release: u32,
) -> Fallible<Vec<i64>> {
    check(log2_scale, MAX_LOG2_FINE, len)?;
    let mut noise = vec![0; len];
    let fill_block = |(block, part): (usize, &mut [i64])| {
        fill(law, log2_scale, part, &mut source.stream(release, block as u32));
    };
    if len <= BLOCK {
        // Handing a single block to another thread costs more than it saves.
        noise.chunks_mut(BLOCK).enumerate().for_each(fill_block);
    } else {
        noise.par_chunks_mut(BLOCK).enumerate().for_each(fill_block);
    }
    Ok(noise)
}

/// Refuses a scale or a length that no stream serves.
fn check(log2_scale: u32, most: u32, len: usize) -> Fallible<()> {
    if log2_scale > most {
        return Err(Error::parameter(
            "noise scale",
            format!("is 2^{log2_scale} grid steps, must be at most 2^{most}"),
            "use a coarser grid",
        ));
    }
    // Block numbers must fit the 32 bits they have in a stream id.
    if u32::try_from(len.div_ceil(BLOCK)).is_err() {
        return Err(Error::parameter("length", format!("is {len}, must be at most 2^42"), "use fewer coordinates"));
    }
    Ok(())
}

/// Draws `len` independent integers of the discrete Laplace law `P[Y = y] ~ exp(-rate |y| / 2^log2_scale)`.
///
/// Also called two-sided geometric. Blocks come from streams as in [`integer_noise`].
///
/// # Errors
/// When `rate` is zero, `log2_scale` above [`MAX_LOG2_SCALE`], or `len` above `2^42`.
///
/// # Privacy
/// Added to an integer vector of l1 sensitivity `s` this is `s rate / 2^log2_scale`-DP, exactly: nothing is rounded or cut off. Each
/// `release` number must be used once per source.
///
/// # Reference
/// Dwork, McSherry, Nissim and Smith 2006; Ghosh, Roughgarden and Sundararajan 2009; Canonne, Kamath and Steinke 2020, Algorithm 2.
///
/// ```
/// use rhograd::noise::{NoiseSource, laplace_noise};
///
/// // A count with epsilon 1/2: steps of one row.
/// let noise = laplace_noise(1, 1, 3, &NoiseSource::from_os()?, 0)?;
/// assert!(noise.iter().all(|y| y.abs() < 1000), "of probability below 1e-200");
/// # Ok::<(), rhograd::error::Error>(())
/// ```
pub fn laplace_noise(
    rate: u64,
    log2_scale: u32,
    len: usize,
    source: &NoiseSource,
    release: u32,
) -> Fallible<Vec<i128>> {
    check(log2_scale, MAX_LOG2_SCALE, len)?;
    if rate == 0 {
        return Err(Error::parameter("noise rate", "is zero, so noise would have no law", "use a positive one"));
    }
    let mut noise = vec![0; len];
    noise.par_chunks_mut(BLOCK).enumerate().for_each(|(block, part)| {
        let mut stream = source.stream(release, block as u32);
        part.fill_with(|| first_kept(|| laplace::attempt(rate, log2_scale, &mut stream)));
    });
    Ok(noise)
}

/// Draws `len` independent integers of a bounded law: `P[Y = y] = w(|y|) / W`, never beyond its reach.
///
/// Blocks come from streams as in [`integer_noise`].
///
/// # Errors
/// When `len` is above `2^42`.
///
/// # Privacy
/// Added to counts of which a row moves each by one at most this is (epsilon, delta)-DP as
/// [`accounting::bounded`](crate::accounting::bounded) says, with a delta that is never 0. It has no rho, so no ledger charges it and no run
/// releases it. Each `release` number must be used once per source.
///
/// # Reference
/// Dagan and Kur 2022; Ghazi, Kumar and Manurangsi 2021.
///
/// ```
/// use rhograd::noise::{NoiseSource, bounded_noise};
/// use rhograd::privacy::BoundedLaw;
///
/// let law = BoundedLaw::new(vec![6, 4, 1])?;
/// let noise = bounded_noise(&law, 1000, &NoiseSource::from_os()?, 0)?;
/// assert!(noise.iter().all(|y| y.abs() <= 2), "with certainty");
/// # Ok::<(), rhograd::error::Error>(())
/// ```
pub fn bounded_noise(law: &BoundedLaw, len: usize, source: &NoiseSource, release: u32) -> Fallible<Vec<i64>> {
    check(0, MAX_LOG2_SCALE, len)?;
    let lookup = bounded::Lookup::new(law);
    let mut noise = vec![0; len];
    noise.par_chunks_mut(BLOCK).enumerate().for_each(|(block, part)| {
        let mut stream = source.stream(release, block as u32);
        part.fill_with(|| {
            let Ok(drawn) = lookup.draw(&mut stream);
            drawn
        });
    });
    Ok(noise)
}

/// The place of the first value that reaches a bar, both under discrete Laplace noise: of scale `2^log2_scale` on the bar, twice that on
/// each value. `None` where no value does.
///
/// # Errors
/// When the scale of values is above [`MAX_LOG2_SCALE`].
///
/// # Privacy
/// With values that each move by at most `s` this is `2 s / 2^log2_scale`-DP, however many there are, and in whatever directions they move. Each
/// `release` number must be used once per source, and neither how many values were looked at, nor any noise, may leave by another way.
///
/// # Reference
/// Dwork, Naor, Reingold, Rothblum and Vadhan 2009 (sparse vector); Lyu, Su and Li 2017, Algorithm 7 with one answer and
/// `epsilon_1 = epsilon_2`, which is private as it stands; with integers the proof is the same, by shifts of whole steps.
///
/// ```
/// use rhograd::noise::{NoiseSource, first_above};
///
/// let found = first_above(&[10, 20, 90_000, 40], 50_000, 4, &NoiseSource::from_os()?, 0)?;
/// assert_eq!(found, Some(2));
/// # Ok::<(), rhograd::error::Error>(())
/// ```
pub fn first_above(
    values: &[i128],
    bar: i128,
    log2_scale: u32,
    source: &NoiseSource,
    release: u32,
) -> Fallible<Option<usize>> {
    check(log2_scale.saturating_add(1), MAX_LOG2_SCALE, 1)?;
    let Ok(found) = laplace::first_above(values, bar, log2_scale, &mut source.stream(release, 0));
    Ok(found)
}

/// Fills one block from its stream.
fn fill(law: NoiseLaw, log2_scale: u32, part: &mut [i64], stream: &mut NoiseStream) {
    match law {
        NoiseLaw::FlooredNormal => part.fill_with(|| first_kept(|| normal::attempt(log2_scale, stream))),
        NoiseLaw::DiscreteGaussian => part.fill_with(|| first_kept(|| discrete_gaussian::attempt(log2_scale, stream))),
    }
}

/// The result of the first attempt that is not rejected.
///
/// All laws keep an attempt with probability above 0.3 whatever the scale, so this ends.
#[inline]
fn first_kept<T>(mut attempt: impl FnMut() -> Result<Option<T>, Infallible>) -> T {
    loop {
        let Ok(kept) = attempt();
        if let Some(value) = kept {
            return value;
        }
    }
}
