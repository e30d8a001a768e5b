//! Ordinary code, compiled for every instruction set.

use pulp::{Arch, Simd, WithSimd};

/// Runs a closure that is compiled once for each instruction set, as it is for the best one of this processor: the same operations in the
/// same order, so the same bits, on wider registers.
///
/// The closure and what it calls are `#[inline(always)]`, else they stay code for the least processor. `FnMut` is what makes that
/// possible: a closure that only borrows is called by reference then, and its code moves into the caller. As `FnOnce`, for which pulp
/// dispatches closures of its own accord, it is called through a shim that is a function of its own, for the least processor.
#[inline(always)]
pub(crate) fn vectorized<R>(work: impl FnMut() -> R) -> R {
    struct Inlined<F>(F);
    impl<R, F: FnMut() -> R> WithSimd for Inlined<F> {
        type Output = R;

        #[inline(always)]
        fn with_simd<S: Simd>(mut self, _: S) -> R {
            (self.0)()
        }
    }
    Arch::new().dispatch(Inlined(work))
}
