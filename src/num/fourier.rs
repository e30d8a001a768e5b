//! Sums of complex exponentials at equally spaced frequencies, for points that lie anywhere.
//!
//! Every term is advanced by a rotation and recomputed from scratch every 64 steps, so that errors stay
//! near one rounding of the phase: about `2^-53 (64 + |phase|)` relative to a term.

use num_complex::Complex64;

use super::{compensated, vectorized};

/// Terms advanced side by side: a register of the widest instruction set.
const LANES: usize = 8;
/// Chunks of terms whose rotations take turns.
const TOGETHER: usize = 4;
/// Steps between recomputed phases.
const BLOCK: usize = 64;

/// The principal logarithm of `1 + z`, precise near 0; `-inf` in the real part at -1.
pub fn ln_1p(z: Complex64) -> Complex64 {
    let excess = z.re * (2.0 + z.re) + z.im * z.im;
    let size = if excess.abs() < 0.5 { excess.ln_1p() / 2.0 } else { (1.0 + z.re).hypot(z.im).ln() };
    Complex64::new(size, z.im.atan2(1.0 + z.re))
}

/// Eight terms and their rotation by one step, less 1.
#[derive(Clone, Copy, Default)]
struct Chunk {
    weight: [f64; LANES],
    angle: [f64; LANES],
    turn_re: [f64; LANES],
    turn_im: [f64; LANES],
}

/// `e^(i angle) - 1`, relatively precise.
fn turn(angle: f64) -> Complex64 {
    let (sin, cos) = (angle / 2.0).sin_cos();
    Complex64::new(-2.0 * sin * sin, 2.0 * sin * cos)
}

impl Chunk {
    fn new(terms: &[(f64, f64)]) -> Self {
        let mut it = Chunk::default();
        for (lane, &(weight, angle)) in terms.iter().enumerate() {
            let turn = turn(angle);
            (it.weight[lane], it.angle[lane]) = (weight, angle);
            (it.turn_re[lane], it.turn_im[lane]) = (turn.re, turn.im);
        }
        it
    }

    /// `e^(i start angle) - 1` of each term.
    fn at(&self, start: f64) -> [[f64; LANES]; 2] {
        let (mut x, mut y) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let first = turn(self.angle[lane] * start);
            (x[lane], y[lane]) = (first.re, first.im);
        }
        [x, y]
    }
}

/// Adds the values of terms at as many steps from `start` on as there is room for.
///
/// Every instruction set rounds as any other: products and sums are of their own, and in the same order.
struct AddTo<'a> {
    chunks: &'a [Chunk],
    start: f64,
    re: &'a mut [[f64; LANES]],
    im: &'a mut [[f64; LANES]],
}

impl pulp::WithSimd for AddTo<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(mut self, simd: S) {
        let (together, rest) = self.chunks.as_chunks::<TOGETHER>();
        for chunks in together {
            self.advance(simd, chunks);
        }
        for chunk in rest {
            self.advance(simd, std::array::from_ref(chunk));
        }
    }
}

impl AddTo<'_> {
    /// Rotations wait for each other, so those of several chunks take turns.
    #[inline(always)]
    fn advance<S: pulp::Simd, const CHUNKS: usize>(&mut self, simd: S, chunks: &[Chunk; CHUNKS]) {
        let first = chunks.each_ref().map(|chunk| chunk.at(self.start));
        for part in 0..LANES / S::F64_LANES {
            let register = |lanes: &[f64; LANES]| S::as_simd_f64s(lanes).0[part];
            let weight = chunks.each_ref().map(|chunk| register(&chunk.weight));
            let turn = chunks.each_ref().map(|chunk| [register(&chunk.turn_re), register(&chunk.turn_im)]);
            let mut at = first.each_ref().map(|[x, y]| [register(x), register(y)]);
            for (re, im) in self.re.iter_mut().zip(self.im.iter_mut()) {
                let (re, im) = (&mut S::as_mut_simd_f64s(re).0[part], &mut S::as_mut_simd_f64s(im).0[part]);
                for chunk in 0..CHUNKS {
                    let ([u, v], [d, e]) = (at[chunk], turn[chunk]);
                    *re = simd.add_f64s(*re, simd.mul_f64s(weight[chunk], u));
                    *im = simd.add_f64s(*im, simd.mul_f64s(weight[chunk], v));
                    // With u = z - 1 and d the turn, (1 + u)(1 + d) - 1 = u + d + u d.
                    let real = simd.sub_f64s(simd.mul_f64s(u, d), simd.mul_f64s(v, e));
                    let imaginary = simd.add_f64s(simd.mul_f64s(u, e), simd.mul_f64s(v, d));
                    at[chunk] =
                        [simd.add_f64s(u, simd.add_f64s(d, real)), simd.add_f64s(v, simd.add_f64s(e, imaginary))];
                }
            }
        }
    }
}

/// The sums `sum_k weight_k (e^(i (start + j) angle_k) - 1)` for `j = 0, ..., count - 1`.
///
/// Errors are relative to `sum_k weight_k |e^(i (start + j) angle_k) - 1|`, so that a characteristic
/// function near 1 can be raised to a high power.
///
/// ```
/// use rhograd::num::fourier::exponential_sums;
/// let sums = exponential_sums(&[(2.0, 0.0), (1.0, std::f64::consts::PI)], 0.0, 3);
/// assert!(sums[0].re.abs() < 1e-15 && (sums[1].re + 2.0).abs() < 1e-15);
/// ```
pub fn exponential_sums(terms: &[(f64, f64)], start: f64, count: usize) -> Vec<Complex64> {
    let chunks: Vec<Chunk> = terms.chunks(LANES).map(Chunk::new).collect();
    let arch = pulp::Arch::new();
    let mut sums = Vec::with_capacity(count);
    while sums.len() < count {
        let first = start + sums.len() as f64;
        let (mut re, mut im) = ([[0.0; LANES]; BLOCK], [[0.0; LANES]; BLOCK]);
        let keep = BLOCK.min(count - sums.len());
        let (re, im) = (&mut re[..keep], &mut im[..keep]);
        arch.dispatch(AddTo { chunks: &chunks, start: first, re, im });
        sums.extend(re.iter().zip(im).map(|(x, y)| Complex64::new(x.iter().sum(), y.iter().sum())));
    }
    sums
}

/// Coefficients that share a table of phases.
const SHARED: usize = LANES * BLOCK;

/// Adds a row of coefficients times the conjugates of phases.
#[inline(always)]
fn add_row([re, im]: &mut [[f64; LANES]; 2], row: &[Complex64; LANES], phases: &[Complex64; LANES]) {
    for lane in 0..LANES {
        let (by, phase) = (row[lane], phases[lane]);
        re[lane] += by.re * phase.re + by.im * phase.im;
        im[lane] += by.im * phase.re - by.re * phase.im;
    }
}

/// The sum of coefficients times the conjugates of phases.
#[inline(always)]
fn turned(coefficients: &[Complex64], phases: &[Complex64]) -> Complex64 {
    let mut sums = [[0.0; LANES]; 2];
    let (rows, rest) = coefficients.as_chunks::<LANES>();
    let (turns, _) = phases.as_chunks::<LANES>();
    for (row, turns) in rows.iter().zip(turns) {
        add_row(&mut sums, row, turns);
    }
    let mut last = [[Complex64::default(); LANES]; 2];
    last[0][..rest.len()].copy_from_slice(rest);
    last[1][..rest.len()].copy_from_slice(&phases[LANES * rows.len()..][..rest.len()]);
    add_row(&mut sums, &last[0], &last[1]);
    Complex64::new(sums[0].iter().sum(), sums[1].iter().sum())
}

/// Units of rounding in [`series`], of the sum of all moduli: 63 in the sums of a lane, 7 in that of all lanes, 10 in products, sines and
/// cosines, 2 in the compensated sum of blocks, and 2 for what is of second order.
pub(crate) const SERIES_UNITS: f64 = 84.0;

/// The real part of `sum_j coefficient_j e^(-i (start + j) angle)`.
///
/// With `u = 2^-53` it errs by at most `u (84 + 2 p)` times the sum of all moduli where no phase exceeds p, for a start from 0 on and up to
/// `2^34` coefficients.
///
/// ```
/// use num_complex::Complex64;
/// use rhograd::num::fourier::series;
/// let sum = series(&[Complex64::new(1.0, 0.0), Complex64::new(0.0, 2.0)], 0.0, std::f64::consts::FRAC_PI_2);
/// assert!((sum - 3.0).abs() < 1e-15);
/// ```
///
/// Reference: Higham 2002, Lemma 3.5 for products of complex numbers, section 4.2 for sums; Neumaier 1974 for compensated ones.
pub fn series(coefficients: &[Complex64], start: f64, angle: f64) -> f64 {
    let phase = |at: f64| {
        let (sin, cos) = (angle * at).sin_cos();
        Complex64::new(cos, sin)
    };
    let phases: Vec<Complex64> = (0..coefficients.len().min(SHARED)).map(|j| phase(j as f64)).collect();
    compensated(coefficients.chunks(SHARED).enumerate().map(|(block, coefficients)| {
        let (sum, first) = (vectorized(|| turned(coefficients, &phases)), phase(start + (block * SHARED) as f64));
        sum.re * first.re + sum.im * first.im
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sums_agree_with_their_definition() {
        let terms: Vec<(f64, f64)> = (0..37).map(|k| (1.0 / f64::from(k + 1), (f64::from(k) * 0.7).sin())).collect();
        let sums = exponential_sums(&terms, 0.0, 1500);
        assert_eq!(sums.len(), 1500);
        for (j, sum) in sums.iter().enumerate() {
            let direct: f64 = terms.iter().map(|(w, a)| w * ((a * j as f64).cos() - 1.0)).sum();
            assert!((sum.re - direct).abs() < 1e-12, "{j}");
        }
        let later = exponential_sums(&terms, 77.0, 3);
        assert!((later[2].re - sums[79].re).abs() < 1e-12);
        for angle in [0.0, 0.01, 1.3, -2.0] {
            let direct: f64 = (0..1500).map(|j| (sums[j] * Complex64::new(0.0, -angle * j as f64).exp()).re).sum();
            let parts = series(&sums[..700], 0.0, angle) + series(&sums[700..], 700.0, angle);
            assert!((series(&sums, 0.0, angle) - direct).abs() < 1e-9 && (parts - direct).abs() < 1e-9);
        }
    }

    /// Angles of few bits, so that phases are exact. A plain sum of so many terms errs by more.
    #[test]
    fn a_long_series_errs_by_the_units_that_are_stated() {
        let unit = f64::EPSILON / 2.0;
        for count in [1, 7, 8, 512, 513, 1_000_003] {
            let all: Vec<Complex64> = (0..count).map(|j| Complex64::new(0.1, 1e-3 / f64::from(j + 1))).collect();
            let moduli = compensated(all.iter().map(|it| it.norm()));
            for (start, angle) in [(0.0, 0.0), (0.0, 0.375), (70_000.0, -1.25 / 1024.0)] {
                let term = |(j, it): (usize, &Complex64)| {
                    let (sin, cos) = (angle * (start + j as f64)).sin_cos();
                    it.re * cos + it.im * sin
                };
                let error = (series(&all, start, angle) - compensated(all.iter().enumerate().map(term))).abs();
                assert!(error <= (SERIES_UNITS + 6.0) * unit * moduli, "{count} {angle}: {error:e}");
            }
            let plain: f64 = all.iter().map(|it| it.re).sum();
            let error = (plain - series(&all, 0.0, 0.0)).abs();
            assert!(count < 1_000_000 || error > 10.0 * SERIES_UNITS * unit * moduli, "{error:e}");
        }
    }

    #[test]
    fn complex_functions_are_inverse_to_each_other() {
        for z in [Complex64::new(0.3, -1.2), Complex64::new(-0.01, 0.02), Complex64::new(-3.0, 1.0)] {
            let back = ln_1p(Complex64::new(z.exp().re - 1.0, z.exp().im));
            assert!((back.re - z.re).abs() + (back.im - z.im).abs() < 1e-14);
        }
        assert!((ln_1p(Complex64::new(1e-18, 0.0)).re - 1e-18).abs() < 1e-33);
        let z = Complex64::new(0.3, -1.2);
        let one = z * z.inv();
        assert!((one.re - 1.0).abs() < 1e-15 && one.im.abs() < 1e-15);
    }
}
