//! Products of 16-bit integers, on the widest registers that the processor has.
//!
//! Every operation here is exact: whichever [`Level`] runs a pass, the integers are the same. The levels differ in speed
//! only, and [`plain`] says in ordinary code what the instructions of [`x86`] do.

mod plain;
mod words;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use words::LANES;
pub(super) use words::{Column, WithWords, Words};

/// An instruction set. What a pass computes is the same bits on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// 512-bit registers with 16-bit integers (AVX-512 BW).
    Avx512,
    /// 256-bit registers (AVX2).
    Avx2,
    /// 128-bit registers that every 64-bit x86 processor has (SSE2).
    Sse2,
    /// Ordinary code, on any processor.
    Plain,
}

impl Level {
    /// The instruction sets of this processor, the fastest first; the last is always [`Level::Plain`].
    pub fn available() -> Vec<Level> {
        [Level::Avx512, Level::Avx2, Level::Sse2, Level::Plain]
            .into_iter()
            .filter(|level| level.is_available())
            .collect()
    }

    /// The fastest instruction set of this processor.
    pub fn best() -> Level {
        [Level::Avx512, Level::Avx2, Level::Sse2].into_iter().find(|level| level.is_available()).unwrap_or(Level::Plain)
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        match self {
            Level::Avx512 => pulp::x86::V4::try_new().is_some(),
            Level::Avx2 => pulp::x86::V3::try_new().is_some(),
            Level::Sse2 => pulp::x86::V1::try_new().is_some(),
            Level::Plain => true,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        self == Level::Plain
    }

    /// Runs code on this instruction set, or as ordinary code on a processor that lacks it.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn run<O: WithWords>(self, operation: O) -> O::Output {
        match self {
            Level::Avx512 => {
                if let Some(words) = pulp::x86::V4::try_new() {
                    return words.vectorize(x86::Call { operation, words });
                }
            }
            Level::Avx2 => {
                if let Some(words) = pulp::x86::V3::try_new() {
                    return words.vectorize(x86::Call { operation, words });
                }
            }
            Level::Sse2 => {
                if let Some(words) = pulp::x86::V1::try_new() {
                    return words.vectorize(x86::Call { operation, words });
                }
            }
            Level::Plain => {}
        }
        // In one place, for all of it is inlined wherever it is called.
        operation.run(plain::Plain)
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn run<O: WithWords>(self, operation: O) -> O::Output {
        operation.run(plain::Plain)
    }
}

#[cfg(test)]
mod tests;
