//! The registers of x86 processors, through the checked tokens of `pulp`: safe code throughout.

use std::arch::x86_64::{__m128i, __m256i, __m512i, _MM_HINT_T0};

use pulp::x86::{V1, V3, V4};

use super::words::{Column, LANES, WithWords, Words};

/// Code together with the registers to run it on, so that it is compiled for them.
pub(super) struct Call<O, W> {
    pub(super) operation: O,
    pub(super) words: W,
}

impl<O: WithWords, W: Words> pulp::NullaryFnOnce for Call<O, W> {
    type Output = O::Output;

    #[inline(always)]
    fn call(self) -> O::Output {
        self.operation.run(self.words)
    }
}

/// Implements [`Words`] for a token: its register, how many fill a column, and the fields and instructions to use.
///
/// The instructions work on each 128 bits apart; so a register of pairs holds rows in groups of four, first those of the
/// low halves, then those of the high ones.
macro_rules! words {
    ($token:ident, $register:ident, parts $parts:literal, groups $groups:literal,
     fill $fill:ident: $zero:ident $set:ident,
     lanes $lanes:ident: $add:ident $low32:ident $high32:ident $low64:ident $high64:ident,
     pairs $pairs:ident: $low16:ident $high16:ident $multiply:ident) => {
        impl Words for $token {
            type Register = $register;
            const PARTS: usize = $parts;

            #[inline(always)]
            fn load(self, column: &Column, part: usize) -> $register {
                pulp::cast(column.as_chunks::<{ LANES / $parts }>().0[part])
            }

            #[inline(always)]
            fn zero(self) -> $register {
                self.$fill.$zero()
            }

            #[inline(always)]
            fn everywhere(self, pair: [i16; 2]) -> $register {
                self.$fill.$set(pulp::cast(pair))
            }

            #[inline(always)]
            fn pairs(self, a: $register, b: $register) -> [$register; 2] {
                [self.$pairs.$low16(a, b), self.$pairs.$high16(a, b)]
            }

            #[inline(always)]
            fn add_products(self, sum: $register, a: $register, b: $register) -> $register {
                self.$lanes.$add(sum, self.$pairs.$multiply(a, b))
            }

            #[inline(always)]
            fn rows(self, lanes: [$register; 2], out: &mut [i32; LANES], part: usize) {
                let [low, high]: [[[i32; 4]; $groups]; 2] = lanes.map(|register| pulp::cast(register));
                let out = &mut out.as_chunks_mut::<{ 8 * $groups }>().0[part];
                for (out, (low, high)) in out.as_chunks_mut::<8>().0.iter_mut().zip(low.iter().zip(&high)) {
                    out[..4].copy_from_slice(low);
                    out[4..].copy_from_slice(high);
                }
            }

            #[inline(always)]
            fn sums(self, [a, b, c, d]: [$register; 4]) -> [i64; 4] {
                // Transposed while added: in each 128 bits one lane a register.
                let lanes = self.$lanes;
                let two = |x, y| lanes.$add(lanes.$low32(x, y), lanes.$high32(x, y));
                let (ab, cd) = (two(a, b), two(c, d));
                let all: [[i32; 4]; $groups] = pulp::cast(lanes.$add(lanes.$low64(ab, cd), lanes.$high64(ab, cd)));
                let mut sums = [0i64; 4];
                for group in all {
                    sums.iter_mut().zip(group).for_each(|(sum, lane)| *sum += i64::from(lane));
                }
                sums
            }

            #[inline(always)]
            fn prefetch(self, column: &Column) {
                self.sse._mm_prefetch::<_MM_HINT_T0>(column.as_ptr().cast());
            }
        }
    };
}

words!(V4, __m512i, parts 1, groups 4,
    fill avx512f: _mm512_setzero_si512 _mm512_set1_epi32,
    lanes avx512f: _mm512_add_epi32 _mm512_unpacklo_epi32 _mm512_unpackhi_epi32 _mm512_unpacklo_epi64 _mm512_unpackhi_epi64,
    pairs avx512bw: _mm512_unpacklo_epi16 _mm512_unpackhi_epi16 _mm512_madd_epi16);

words!(V3, __m256i, parts 2, groups 2,
    fill avx: _mm256_setzero_si256 _mm256_set1_epi32,
    lanes avx2: _mm256_add_epi32 _mm256_unpacklo_epi32 _mm256_unpackhi_epi32 _mm256_unpacklo_epi64 _mm256_unpackhi_epi64,
    pairs avx2: _mm256_unpacklo_epi16 _mm256_unpackhi_epi16 _mm256_madd_epi16);

words!(V1, __m128i, parts 4, groups 1,
    fill sse2: _mm_setzero_si128 _mm_set1_epi32,
    lanes sse2: _mm_add_epi32 _mm_unpacklo_epi32 _mm_unpackhi_epi32 _mm_unpacklo_epi64 _mm_unpackhi_epi64,
    pairs sse2: _mm_unpacklo_epi16 _mm_unpackhi_epi16 _mm_madd_epi16);
