//! What the kernel is compared with: a streaming read, and the two-pass ways to compute a clipped gradient.

use ndarray::{Array1, Array2, ArrayView2};
use rayon::prelude::*;

/// Adds up all words: what the memory can deliver to the same threads.
pub fn stream(words: &[u64]) -> u64 {
    let sum = |chunk: &[u64]| chunk.iter().fold(0u64, |a, &b| a.wrapping_add(b));
    if rayon::current_num_threads() == 1 {
        return sum(words);
    }
    words.par_chunks(64 << 10).map(sum).reduce(|| 0, u64::wrapping_add)
}

/// Dense rows with labels and norms, in one precision.
pub struct Dense<T> {
    x: Array2<T>,
    y: Array1<T>,
    norms: Array1<T>,
}

impl Dense<f64> {
    /// Rows of numbers between -1 and 1.
    pub fn numbers(n: usize, d: usize) -> Self {
        let x = Array2::from_shape_fn((n, d), |(i, j)| ((i * 31 + j * 17) % 255) as f64 / 127.0 - 1.0);
        Self::new(x)
    }

    fn new(x: Array2<f64>) -> Self {
        let norms = x.rows().into_iter().map(|row| row.dot(&row).sqrt()).collect();
        let y = Array1::from_shape_fn(x.nrows(), |i| (i % 2) as f64);
        Dense { x, y, norms }
    }

    /// The textbook way: margins by one matrix-vector product of ndarray, gradient by another.
    pub fn two_pass(&self, w: f64) -> Array1<f64> {
        let w = Array1::from_elem(self.x.ncols(), w);
        let mut slopes = self.x.dot(&w).mapv(|t| 1.0 / (1.0 + (-t).exp())) - &self.y;
        slopes.zip_mut_with(&self.norms, |c, &norm| *c *= (1.0 / (c.abs() * norm)).min(1.0));
        self.x.t().dot(&slopes)
    }
}

impl Dense<f32> {
    /// Rows of numbers between -1 and 1.
    pub fn numbers(n: usize, d: usize) -> Self {
        Self::new(Array2::from_shape_fn((n, d), |(i, j)| ((i * 31 + j * 17) % 255) as f32 / 127.0 - 1.0))
    }

    /// Rows of one 1 for each category, `codes(row, column)` below `levels[column]`.
    pub fn one_hot(n: usize, levels: &[u16], codes: impl Fn(usize, usize) -> u16) -> Self {
        let width: usize = levels.iter().map(|&l| usize::from(l)).sum();
        let mut x = Array2::zeros((n, width));
        for (i, mut row) in x.rows_mut().into_iter().enumerate() {
            let mut first = 0;
            for (column, &level) in levels.iter().enumerate() {
                row[first + usize::from(codes(i, column))] = 1.0;
                first += usize::from(level);
            }
        }
        Self::new(x)
    }

    fn new(x: Array2<f32>) -> Self {
        let norms = x.rows().into_iter().map(|row| row.dot(&row).sqrt()).collect();
        let y = Array1::from_shape_fn(x.nrows(), |i| (i % 2) as f32);
        Dense { x, y, norms }
    }

    /// The same in two hand-vectorised passes over rows, compiled for the processor at hand.
    pub fn two_pass(&self, w: f32) -> Vec<f32> {
        let w = vec![w; self.x.ncols()];
        let mut slopes = vec![0f32; self.x.nrows()];
        pulp::Arch::new().dispatch(Gemv { x: self.x.view(), w: &w, out: &mut slopes });
        for ((c, &y), &norm) in slopes.iter_mut().zip(&self.y).zip(&self.norms) {
            let slope = 1.0 / (1.0 + (-*c).exp()) - y;
            *c = slope * (1.0 / (slope.abs() * norm)).min(1.0);
        }
        let mut sum = vec![0f32; self.x.ncols()];
        pulp::Arch::new().dispatch(Transposed { x: self.x.view(), c: &slopes, out: &mut sum });
        sum
    }
}

/// `out = x w`, 64 partial sums a row.
struct Gemv<'a> {
    x: ArrayView2<'a, f32>,
    w: &'a [f32],
    out: &'a mut [f32],
}

impl pulp::WithSimd for Gemv<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Some(x) = self.x.to_slice() else { return };
        for (row, out) in x.chunks_exact(self.w.len()).zip(self.out) {
            let mut sums = [0f32; 64];
            let ((rows, rest), (weights, last)) = (row.as_chunks::<64>(), self.w.as_chunks::<64>());
            for (x, w) in rows.iter().zip(weights) {
                for lane in 0..64 {
                    sums[lane] += x[lane] * w[lane];
                }
            }
            *out = sums.iter().sum::<f32>() + rest.iter().zip(last).map(|(x, w)| x * w).sum::<f32>();
        }
    }
}

/// `out += x^T c`, four rows at a time.
struct Transposed<'a> {
    x: ArrayView2<'a, f32>,
    c: &'a [f32],
    out: &'a mut [f32],
}

impl pulp::WithSimd for Transposed<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Some(x) = self.x.to_slice() else { return };
        let d = self.out.len();
        for (rows, c) in x.chunks(4 * d).zip(self.c.chunks(4)) {
            if let [c0, c1, c2, c3] = *c {
                let (a, rest) = rows.split_at(d);
                let (b, rest) = rest.split_at(d);
                let (e, f) = rest.split_at(d);
                for ((((out, a), b), e), f) in self.out.iter_mut().zip(a).zip(b).zip(e).zip(f) {
                    *out += (a * c0 + b * c1) + (e * c2 + f * c3);
                }
            } else {
                for (row, &c) in rows.chunks_exact(d).zip(c) {
                    self.out.iter_mut().zip(row).for_each(|(out, x)| *out += x * c);
                }
            }
        }
    }
}
