//! Exact integer noise: the floor of a scaled normal, and the discrete Gaussian.
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

mod bits;
mod choice;
mod coins;
mod digits;
mod discrete_gaussian;
mod normal;
mod runs;
mod sample;
mod source;

#[cfg(test)]
mod tests;

use std::convert::Infallible;

use rayon::prelude::*;

use crate::error::{Error, Fallible};
use crate::privacy::{MAX_LOG2_SCALE, NoiseLaw};

pub use choice::exponential_choice;
pub use runs::RunCoins;
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
/// When `log2_scale` is above [`MAX_LOG2_SCALE`], or `len` above `2^42`.
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
    if log2_scale > MAX_LOG2_SCALE {
        return Err(Error::parameter(
            "noise scale",
            format!("is 2^{log2_scale} grid steps, must be at most 2^{MAX_LOG2_SCALE}"),
            "use a coarser grid",
        ));
    }
    // Block numbers must fit the 32 bits they have in a stream id.
    if u32::try_from(len.div_ceil(BLOCK)).is_err() {
        return Err(Error::parameter("length", format!("is {len}, must be at most 2^42"), "use fewer coordinates"));
    }
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

/// Fills one block from its stream.
fn fill(law: NoiseLaw, log2_scale: u32, part: &mut [i64], stream: &mut NoiseStream) {
    match law {
        NoiseLaw::FlooredNormal => part.fill_with(|| first_kept(|| normal::attempt(log2_scale, stream))),
        NoiseLaw::DiscreteGaussian => part.fill_with(|| first_kept(|| discrete_gaussian::attempt(log2_scale, stream))),
    }
}

/// The result of the first attempt that is not rejected.
///
/// Both laws keep an attempt with probability above 0.3 whatever the scale, so this ends.
#[inline]
fn first_kept(mut attempt: impl FnMut() -> Result<Option<i64>, Infallible>) -> i64 {
    loop {
        let Ok(kept) = attempt();
        if let Some(value) = kept {
            return value;
        }
    }
}
