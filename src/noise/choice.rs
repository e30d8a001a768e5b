//! Exact choices by the exponential mechanism: uniform proposals, kept with exponential coins.

use super::bits::BitSource;
use super::bits::Exponent;
use super::coins::uniform_up_to;
use super::source::NoiseSource;
use crate::error::{Error, Fallible};
use crate::privacy::MAX_LOG2_SCALE;

/// Chooses `i` with probability exactly proportional to `exp(-score_i / 2^log2_scale)`.
///
/// A uniform candidate is kept with probability `exp(-(score_i - least) / 2^k)`, `least` the smallest score, else another
/// one is drawn. A candidate of the smallest score is always kept, so as many attempts as there are candidates are enough
/// on average; neither the number of attempts nor `least` leaves this function.
///
/// # Errors
/// When there is no candidate, more than `2^62`, or the scale is above [`MAX_LOG2_SCALE`].
///
/// # Privacy
/// The exponential mechanism. Each `release` number must be used once per source.
///
/// Reference: McSherry and Talwar 2007; the coins are those of Canonne, Kamath and Steinke 2020.
///
/// ```
/// use rhograd::noise::{NoiseSource, exponential_choice};
///
/// let source = NoiseSource::from_os()?;
/// assert_eq!(exponential_choice(&[5_000_000, 0, 7_000_000], 10, &source, 0)?, 1);
/// # Ok::<(), rhograd::error::Error>(())
/// ```
pub fn exponential_choice(scores: &[i128], log2_scale: u32, source: &NoiseSource, release: u32) -> Fallible<usize> {
    let (Some(least), true) = (scores.iter().min(), scores.len() < 1 << 62 && log2_scale <= MAX_LOG2_SCALE) else {
        return Err(Error::parameter("candidates", "are none or too many", "use another grid"));
    };
    let mut stream = source.stream(release, 0);
    loop {
        let Ok(kept) = attempt(scores, *least, log2_scale, &mut stream);
        if let Some(choice) = kept {
            return Ok(choice);
        }
    }
}

/// One proposal; `None` is a rejection. There is at least one score and `least` is the smallest.
pub(super) fn attempt<S: BitSource>(
    scores: &[i128],
    least: i128,
    log2_scale: u32,
    source: &mut S,
) -> Result<Option<usize>, S::Error> {
    let index = uniform_up_to(scores.len() as u64 - 1, source)? as usize;
    let excess = scores[index].abs_diff(least);
    let kept = exp_minus_dyadic(excess, log2_scale, source)?;
    Ok(kept.then_some(index))
}

/// True with probability exactly `exp(-excess / 2^log2_scale)`, for a scale of at most 50: one coin of `exp(-1)` for each
/// whole unit, up to the first that fails, and one for the rest.
fn exp_minus_dyadic<S: BitSource>(excess: u128, log2_scale: u32, source: &mut S) -> Result<bool, S::Error> {
    let whole = excess >> log2_scale;
    let rest = excess - (whole << log2_scale);
    for _ in 0..whole {
        if !source.exp_minus(Exponent::One)? {
            return Ok(false);
        }
    }
    // Over 2^0 nothing is left, and a shift by 128 does not exist.
    source.exp_minus(Exponent::Dyadic(rest.checked_shl(128 - log2_scale).unwrap_or(0)))
}
