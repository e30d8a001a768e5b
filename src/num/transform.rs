//! Sums of complex exponentials at very many equally spaced frequencies, by a fast Fourier transform, with a bound on the error.
//!
//! Terms lie anywhere. Each is spread over the nearest points of an even grid by a Gaussian, the grid is transformed, and the transform of
//! the Gaussian is divided out (Dutt and Rokhlin 1993; Greengard and Lee 2004). With `N` points and the Gaussian `e^(-(pi s)^2 / B)` of the
//! distance `s` in points, frequency `j` of the grid has the factor `sqrt(B / pi) e^(-B (j / N)^2)`, by Poisson's summation formula, and
//! what other frequencies add to it is at most `e^(-B / 2)` of that at the ends of the band `|j| <= N / 4`.

use num_complex::Complex64;

/// One unit of rounding.
const UNIT: f64 = f64::EPSILON / 2.0;
/// The shape of the Gaussian: `e^(-B / 2)` is below one unit of rounding.
const B: f64 = 76.0;
/// Points on each side of a term: what lies beyond is below one unit of rounding, too.
const NEAR: usize = 19;
/// By how much the factor at the ends of the band is smaller than in its middle: `e^(B / 16)`, rounded up.
const AMPLIFIED: f64 = 116.0;

/// A grid of a power of two of points, ready for sums at half as many frequencies.
pub struct Transform {
    /// `e^(2 pi i k / N)` for the first half of the circle.
    roots: Vec<Complex64>,
    /// The Gaussian at whole distances.
    tails: [f64; NEAR + 1],
    /// One over the factors at frequencies 0 to `N / 4`.
    corrections: Vec<f64>,
}

/// Sums, and a bound on the error of each.
pub struct Sums {
    /// One for each frequency.
    pub values: Vec<Complex64>,
    /// No modulus of an error exceeds it.
    pub error: f64,
}

impl Transform {
    /// A grid for sums at up to `frequencies` frequencies.
    pub fn new(frequencies: usize) -> Self {
        let points = (2 * frequencies).next_power_of_two().max(8 * NEAR.next_power_of_two());
        let whole = points as f64;
        let root = |k: usize| {
            let (sin, cos) = (std::f64::consts::TAU * (k as f64 / whole)).sin_cos();
            Complex64::new(cos, sin)
        };
        let factor = (B / std::f64::consts::PI).sqrt();
        Transform {
            roots: (0..points / 2).map(root).collect(),
            tails: std::array::from_fn(|s| (-(std::f64::consts::PI * s as f64).powi(2) / B).exp()),
            corrections: (0..=points / 4).map(|j| (B * (j as f64 / whole).powi(2)).exp() / factor).collect(),
        }
    }

    /// The number of points.
    fn points(&self) -> usize {
        2 * self.roots.len()
    }

    /// The most frequencies of one call.
    pub fn frequencies(&self) -> usize {
        self.points() / 2
    }

    /// `sum_k weight_k e^(i (start + j) angle_k)` for `j = 0, ..., count - 1`, at most as many as the transform has frequencies.
    ///
    /// Weights are nonnegative. The bound covers all rounding, that of angles times frequencies included, as if the angles given were exact.
    ///
    /// ```
    /// use rhograd::num::transform::Transform;
    /// let sums = Transform::new(1000).sums(&[(2.0, 0.0), (1.0, std::f64::consts::PI)], 0.0, 2);
    /// assert!((sums.values[0].re - 3.0).abs() < 1e-11 && (sums.values[1].re - 1.0).abs() < 1e-11);
    /// assert!(sums.error < 1e-10);
    /// ```
    pub fn sums(&self, terms: &[(f64, f64)], start: f64, count: usize) -> Sums {
        let points = self.points();
        let count = count.min(self.frequencies());
        let half = count / 2;
        let centre = start + half as f64;
        let mut grid = vec![Complex64::default(); points];
        let (mut weights, mut phases) = (0.0, 0.0);
        let last = start + count as f64;
        for &(weight, angle) in terms {
            weights += weight;
            phases += weight * (8.0 * UNIT * last * angle.abs()).min(2.0);
            let (sin, cos) = (centre * angle).sin_cos();
            self.spread(&mut grid, Complex64::new(weight * cos, weight * sin), angle);
        }
        let squares: f64 = grid.iter().map(Complex64::norm_sqr).sum();
        self.transform(&mut grid);
        let value = |j: usize| {
            // Frequency `j - half` of the grid.
            let at = (points + j - half) % points;
            grid[at] * self.corrections[j.abs_diff(half)]
        };
        let stages = f64::from(points.trailing_zeros());
        // A stage errs by less than 11 units relative to the norm of all numbers, when roots are right to 5 (Higham 2002, Theorem 24.2).
        let transformed = 12.0 * stages * (points as f64 * squares).sqrt() / (B / std::f64::consts::PI).sqrt();
        // A point has the sum of at most all terms; what is left out of the Gaussian and what other frequencies add is below one unit each.
        let spread = (terms.len() as f64 + 80.0) * weights;
        let error = 1.001 * (UNIT * AMPLIFIED * (transformed + spread) + phases);
        Sums { values: (0..count).map(value).collect(), error }
    }

    /// Adds a term to the points around it.
    fn spread(&self, grid: &mut [Complex64], weight: Complex64, angle: f64) {
        let points = grid.len();
        let turn = angle % std::f64::consts::TAU / std::f64::consts::TAU * points as f64;
        let floor = turn.floor();
        let right = turn - floor;
        // `e^(-pi^2 (s - r)^2 / B)` is the Gaussian at s, that at r, and a power of one number.
        let scale = std::f64::consts::PI * std::f64::consts::PI / B;
        let own = (-scale * right * right).exp();
        let (ratio, back) = ((2.0 * scale * right).exp(), (-2.0 * scale * right).exp());
        let at = floor.rem_euclid(points as f64) as usize % points;
        let mut power = own;
        for s in 0..=NEAR {
            grid[(at + s) % points] += weight * (power * self.tails[s]);
            power *= ratio;
        }
        let mut power = own * back;
        for s in 1..NEAR {
            grid[(at + points - s) % points] += weight * (power * self.tails[s]);
            power *= back;
        }
    }

    /// `sum_m grid_m e^(2 pi i j m / N)` in the place of the grid: radix 2, in order at every stage (Stockham).
    fn transform(&self, grid: &mut Vec<Complex64>) {
        let points = grid.len();
        let mut other = vec![Complex64::default(); points];
        let (mut blocks, mut width) = (points / 2, 1);
        while blocks > 0 {
            let (low, high) = grid.split_at(points / 2);
            let pairs = low.chunks_exact(width).zip(high.chunks_exact(width));
            for (p, ((a, b), out)) in pairs.zip(other.chunks_exact_mut(2 * width)).enumerate() {
                let root = self.roots[p * width];
                let (sum, difference) = out.split_at_mut(width);
                for (((a, b), sum), difference) in a.iter().zip(b).zip(sum).zip(difference) {
                    *sum = a + b;
                    *difference = (a - b) * root;
                }
            }
            std::mem::swap(grid, &mut other);
            blocks /= 2;
            width *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::fourier::exponential_sums;

    #[test]
    fn sums_agree_with_those_term_by_term() {
        for (count, start) in [(100, 0.0), (5_000, 0.0), (4_097, 12_345.0), (60_000, 1e6)] {
            let terms: Vec<(f64, f64)> = (0..50)
                .map(|k| (1.0 / f64::from(k + 1), 3.5 * (f64::from(k) * 0.7).sin() + 0.01 * f64::from(k)))
                .collect();
            let transform = Transform::new(count);
            assert!(transform.frequencies() >= count);
            let found = transform.sums(&terms, start, count);
            assert_eq!(found.values.len(), count);
            let whole: f64 = terms.iter().map(|it| it.0).sum();
            let direct = exponential_sums(&terms, start, count);
            let worst = found.values.iter().zip(&direct).map(|(a, b)| (a - (b + whole)).norm()).fold(0.0, f64::max);
            assert!(worst <= found.error, "{count} {start}: {worst:e} {:e}", found.error);
            assert!(found.error < 1e-7, "{count} {start}: {:e}", found.error);
            // The bound is not idle: a grid too coarse for the terms would exceed it by far.
            assert!(worst > 1e-5 * found.error, "{count} {start}: {worst:e} {:e}", found.error);
        }
    }
}
