//! What code may ask of registers, whichever the processor has.

/// Rows in a tile. One column of a tile is 64 bytes, one cache line and one AVX-512 register.
pub const LANES: usize = 32;

/// One column of a tile: [`LANES`] rows, one cache line.
pub(in crate::kernel) type Column = [i16; LANES];

/// Registers of 16-bit or 32-bit integers. A column fills [`Words::PARTS`] of them.
pub(in crate::kernel) trait Words: Copy {
    /// A register; its 32-bit lanes are half as many as its 16-bit lanes.
    type Register: Copy;

    /// Registers that one column fills.
    const PARTS: usize;

    /// A part of a column; which of its rows are even lanes is free.
    fn load(self, column: &Column, part: usize) -> Self::Register;

    /// All lanes zero.
    fn zero(self) -> Self::Register;

    /// These two integers in every 32-bit lane.
    fn everywhere(self, pair: [i16; 2]) -> Self::Register;

    /// Rows of `a` and `b` side by side, so that a 32-bit lane holds one row of both; see [`Words::rows`] for their order.
    fn pairs(self, a: Self::Register, b: Self::Register) -> [Self::Register; 2];

    /// `sum + a_even b_even + a_odd b_odd` in each 32-bit lane, wrapping.
    fn add_products(self, sum: Self::Register, a: Self::Register, b: Self::Register) -> Self::Register;

    /// Writes 32-bit lanes in the order that [`Words::pairs`] gave them back to the rows of a part.
    fn rows(self, lanes: [Self::Register; 2], out: &mut [i32; LANES], part: usize);

    /// The sum of all 32-bit lanes of each register; sums of four neighbouring lanes must fit 32 bits.
    fn sums(self, registers: [Self::Register; 4]) -> [i64; 4];

    /// Asks for a column ahead of its use; changes nothing but time.
    fn prefetch(self, column: &Column);
}

/// Code that runs on any registers; everything it calls must be `#[inline(always)]`, or it is compiled without them.
pub(in crate::kernel) trait WithWords {
    /// What the code returns.
    type Output;

    /// Runs the code.
    fn run<W: Words>(self, words: W) -> Self::Output;
}
