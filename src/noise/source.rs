//! Where randomness comes from: one ChaCha20 key per run, split into streams that never overlap.

use std::convert::Infallible;
use std::hint::black_box;

use rand::rngs::OsRng;
use rand::{RngCore, SeedableRng, TryRngCore};
use rand_chacha::ChaCha20Rng;
use zeroize::Zeroizing;

use super::bits::BitSource;
use crate::error::{Fallible, no_randomness};

/// The secret of one run, from which all noise of that run is drawn.
///
/// A run takes a fresh 256-bit key from the operating system; a resumed run is a new run and takes a new one.
/// The key cannot be printed, copied, stored or read back: the type has no `Debug`, `Clone` or `Serialize`,
/// and the streams it hands out do not show it either. It is wiped from memory when the source is dropped, and a stream's copy
/// when the stream is.
///
/// Privacy: the guarantee holds against anyone who cannot tell ChaCha20 from random bits, and only when
/// [`is_secure`](Self::is_secure) is true.
///
/// Reference: Bernstein 2008, "ChaCha, a variant of Salsa20".
///
/// ```compile_fail
/// fn printable<T: std::fmt::Debug>(_: T) {}
/// printable(rhograd::noise::NoiseSource::insecure_from_seed(1));
/// ```
/// ```compile_fail
/// let source = rhograd::noise::NoiseSource::insecure_from_seed(1);
/// let copy = source.clone();
/// ```
pub struct NoiseSource {
    /// In a place of its own, so that moving the source leaves no copy behind.
    key: Box<Zeroizing<[u8; 32]>>,
    secure: bool,
    /// The streams that were opened, release and block, so that tests can see that none is opened twice.
    #[cfg(test)]
    opened: Opened,
}

#[cfg(test)]
pub(crate) type Opened = std::sync::Arc<std::sync::Mutex<Vec<(u32, u32)>>>;

impl NoiseSource {
    /// Takes a fresh key from the operating system.
    ///
    /// # Errors
    /// When the operating system gives no randomness. There is no second choice: the run must stop before it
    /// reads a row.
    pub fn from_os() -> Fallible<Self> {
        Self::from_entropy(&mut OsRng)
    }

    /// The part of [`from_os`](Self::from_os) that can be fed a failing source.
    pub(super) fn from_entropy<R: TryRngCore>(entropy: &mut R) -> Fallible<Self> {
        let mut key = Box::new(Zeroizing::new([0; 32]));
        entropy.try_fill_bytes(key.as_mut_slice()).map_err(|why| no_randomness(&why))?;
        Ok(NoiseSource {
            key,
            secure: true,
            #[cfg(test)]
            opened: Opened::default(),
        })
    }

    /// A reproducible source for tests and experiments.
    ///
    /// Privacy: none. Anyone who knows or guesses the 64-bit seed can subtract the noise.
    ///
    /// ```
    /// use rhograd::noise::NoiseSource;
    /// assert!(!NoiseSource::insecure_from_seed(7).is_secure());
    /// ```
    pub fn insecure_from_seed(seed: u64) -> Self {
        let mut key = Box::new(Zeroizing::new([0; 32]));
        key[..8].copy_from_slice(&seed.to_le_bytes());
        NoiseSource {
            key,
            secure: false,
            #[cfg(test)]
            opened: Opened::default(),
        }
    }

    /// A source with this key, which another source has drawn.
    pub(super) fn of_key(key: [u8; 32]) -> Self {
        NoiseSource {
            key: Box::new(Zeroizing::new(key)),
            secure: false,
            #[cfg(test)]
            opened: Opened::default(),
        }
    }

    /// Whether the key came from the operating system; if not, the run is not private and must say so.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// The stream of block `block` of release `release`, always from its beginning.
    ///
    /// ChaCha20 turns (key, stream id, counter) into 64 output bytes by a fixed function, the counter being
    /// the place within the stream. The stream id is `release * 2^32 + block`, which is one-to-one, so two
    /// different pairs never meet in the same (key, stream id, counter) and share no key stream, however long
    /// each gets (a stream ends after 2^70 bytes).
    ///
    /// Privacy: the same pair gives the same stream again. Whoever calls must use each release number for one
    /// release only: two releases with equal noise reveal their exact difference.
    pub fn stream(&self, release: u32, block: u32) -> NoiseStream {
        self.numbered(release, block)
    }

    /// The stream from which random choices about rows of block `block` are drawn, always from its beginning.
    ///
    /// It is that of release `2^32 - 1`, a number that is kept from releases: choices are independent of all noise. The
    /// key of the coins of a hold-out comes from block `2^32 - 1` of that number and the order of an exact one from the block before,
    /// which no row ever reaches.
    pub fn row_stream(&self, block: u32) -> NoiseStream {
        self.numbered(ROWS, block)
    }

    /// What was opened so far and will be.
    #[cfg(test)]
    pub(crate) fn opened(&self) -> Opened {
        Opened::clone(&self.opened)
    }

    fn numbered(&self, release: u32, block: u32) -> NoiseStream {
        #[cfg(test)]
        self.opened.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((release, block));
        let generator = generator(&self.key, u64::from(release) << 32 | u64::from(block));
        wipe_stack();
        NoiseStream { generator, spare: 0, spare_bits: 0 }
    }
}

/// A generator in a place of its own. What it was made from stays on the stack, below the caller.
#[inline(never)]
fn generator(key: &[u8; 32], stream: u64) -> Box<ChaCha20Rng> {
    let mut generator = Box::new(ChaCha20Rng::from_seed(*key));
    generator.set_stream(stream);
    generator
}

/// Overwrites what functions that have returned left on the stack, parts of a key among it.
///
/// Eight kibibytes are more than a sampler and the generator below it use. As for the generator, nothing but the opaque use
/// keeps the compiler from leaving the writes out; a test looks through the memory of the process.
#[inline(never)]
fn wipe_stack() {
    black_box(&mut [0u64; 1024]);
}

/// The release number that no release ever gets, see [`NoiseSource::row_stream`].
const ROWS: u32 = u32::MAX;

/// One stream of random bits; it can be read forward and nothing else.
///
/// The generator inside can tell its key, so it is not handed out, printed or copied, and it is overwritten in the end.
pub struct NoiseStream {
    /// In a place of its own, so that moving the stream leaves no copy behind.
    generator: Box<ChaCha20Rng>,
    /// Unused random bits of a word taken for a draw of less than a word, in the low places.
    spare: u64,
    spare_bits: u32,
}

impl Drop for NoiseStream {
    fn drop(&mut self) {
        *self.generator = ChaCha20Rng::from_seed([0; 32]);
        self.spare = 0;
        black_box((&mut self.generator, &mut self.spare));
        wipe_stack();
    }
}

impl RngCore for NoiseStream {
    #[inline]
    fn next_u32(&mut self) -> u32 {
        self.generator.next_u32()
    }

    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    #[inline]
    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.generator.fill_bytes(bytes);
    }
}

impl rand::CryptoRng for NoiseStream {}

impl BitSource for NoiseStream {
    type Error = Infallible;
    const DIGIT_BITS: u32 = 64;

    #[inline]
    fn digit(&mut self) -> Result<u64, Infallible> {
        Ok(self.generator.next_u64())
    }

    #[inline]
    fn bits(&mut self, count: u32) -> Result<u64, Infallible> {
        debug_assert!(count < 64, "a whole word is a digit");
        if count > 16 {
            // A fresh word: the spare bits are worth keeping for the many draws of one bit.
            return Ok(self.generator.next_u64() >> (64 - count));
        }
        if self.spare_bits < count {
            // The few bits left are dropped: independent of all others, they may be.
            self.spare = self.generator.next_u64();
            self.spare_bits = 64;
        }
        let taken = self.spare & ((1 << count) - 1);
        self.spare >>= count;
        self.spare_bits -= count;
        Ok(taken)
    }
}
