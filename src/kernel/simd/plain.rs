//! What every register operation means, in ordinary code.

use super::words::{Column, LANES, Words};

/// Two arrays of 32-bit integers: one for the even and one for the odd 16-bit lanes of a register.
///
/// Which rows are even is free, since only sums over all of them are formed: a column is split into its first and its last
/// rows, so that every operation works element by element and compilers find vectors in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain;

/// Rows in each half of a register.
const WIDTH: usize = 8;

impl Words for Plain {
    type Register = [[i32; WIDTH]; 2];
    const PARTS: usize = LANES / (2 * WIDTH);

    #[inline(always)]
    fn load(self, column: &Column, part: usize) -> Self::Register {
        let halves = column.as_chunks::<WIDTH>().0;
        [halves[2 * part].map(i32::from), halves[2 * part + 1].map(i32::from)]
    }

    #[inline(always)]
    fn zero(self) -> Self::Register {
        [[0; WIDTH]; 2]
    }

    #[inline(always)]
    fn everywhere(self, pair: [i16; 2]) -> Self::Register {
        pair.map(|value| [i32::from(value); WIDTH])
    }

    #[inline(always)]
    fn pairs(self, a: Self::Register, b: Self::Register) -> [Self::Register; 2] {
        [[a[0], b[0]], [a[1], b[1]]]
    }

    #[inline(always)]
    fn add_products(self, sum: Self::Register, a: Self::Register, b: Self::Register) -> Self::Register {
        let mut sums = sum[0];
        for lane in 0..WIDTH {
            // Factors have 16 bits, so a product fits; sums wrap as in a register.
            sums[lane] = sums[lane].wrapping_add(a[0][lane] * b[0][lane]).wrapping_add(a[1][lane] * b[1][lane]);
        }
        [sums, [0; WIDTH]]
    }

    #[inline(always)]
    fn rows(self, [low, high]: [Self::Register; 2], out: &mut [i32; LANES], part: usize) {
        let out = out.as_chunks_mut::<WIDTH>().0;
        out[2 * part] = low[0];
        out[2 * part + 1] = high[0];
    }

    #[inline(always)]
    fn sums(self, registers: [Self::Register; 4]) -> [i64; 4] {
        registers.map(|[sums, _]| sums.iter().map(|&lane| i64::from(lane)).sum())
    }

    #[inline(always)]
    fn prefetch(self, _: &Column) {}
}
