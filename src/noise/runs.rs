//! The coins of a random number of runs: when to stop, and which candidate to run.

use super::bits::BitSource;
use super::coins::uniform_up_to;
use super::sample::SAMPLE_BLOCK;
use super::source::{NoiseSource, NoiseStream};

/// The secret coins of one repeated selection.
///
/// # Privacy
/// How often they were tossed must not leave the gate: the number of runs is part of what is hidden.
///
/// Reference: Papernot and Steinke 2022, Definition 1 with `eta = 1`.
///
/// ```
/// use rhograd::noise::{NoiseSource, RunCoins};
///
/// let mut coins = RunCoins::new(&NoiseSource::insecure_from_seed(1), 0);
/// assert!(coins.candidate(3) < 3);
/// ```
pub struct RunCoins {
    stream: NoiseStream,
}

impl RunCoins {
    /// The coins that belong to a release number.
    pub fn new(source: &NoiseSource, release: u32) -> Self {
        RunCoins { stream: source.stream(release, SAMPLE_BLOCK) }
    }

    /// A uniform number below `candidates`, which must not be zero.
    pub fn candidate(&mut self, candidates: usize) -> usize {
        let Ok(index) = uniform_up_to((candidates as u64).saturating_sub(1), &mut self.stream);
        index as usize
    }

    /// True with probability exactly `numerator / 2^32`.
    pub fn stop(&mut self, numerator: u32) -> bool {
        let Ok(bits) = self.stream.bits(32);
        bits < u64::from(numerator)
    }
}
