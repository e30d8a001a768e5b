//! Characteristic functions at very many frequencies, by fast transforms.
//!
//! What is far has little mass where a loss is rare, and the error of a transform is relative to the mass that it is taken of. So losses
//! whose phase is below 1 at all frequencies are left to a power series, and only the others are transformed.

use num_complex::Complex64;

use crate::num::compensated;
use crate::num::transform::Transform;

/// One unit of rounding.
const UNIT: f64 = f64::EPSILON / 2.0;
/// Frequencies of one transform, at most.
const BLOCK: usize = 1 << 16;
/// Terms of the power series: the next one is below `2e-20` of the first.
const POWERS: usize = 20;
/// Units of rounding of the power series: a term has passed 4 m of them in its moment, 2 in a compensated sum and 3 m in the polynomial, and is
/// at most `1 / m!` of the magnitude, which adds up to 22.5.
pub(super) const SERIES: f64 = 24.0;

/// All characteristic functions of a composition, ready for blocks of frequencies.
pub(super) struct Fast {
    transform: Transform,
    /// The last frequency, in steps.
    last: f64,
    parts: Vec<Part>,
}

/// One characteristic function, the losses of which are near or far up to some frequency.
pub(super) struct Part {
    /// `sum_k p_k (L_k omega)^m / m!` of the near losses at the last frequency, for m from 1 on.
    moments: [f64; POWERS],
    /// `sum_k p_k |L_k omega|` of them.
    pub magnitude: f64,
    /// (probability, angle of a step) of the far losses.
    pub far: Vec<(f64, f64)>,
    /// The sum of their probabilities.
    mass: f64,
}

impl Part {
    /// Splits terms (probability, angle of a step) for frequencies up to the last one, in steps.
    pub(super) fn new(terms: Vec<(f64, f64)>, last: f64) -> Self {
        let (near, far): (Vec<(f64, f64)>, _) = terms.into_iter().partition(|it| it.1.abs() * last <= 1.0);
        let mut powers: Vec<(f64, f64)> = near.into_iter().map(|(p, angle)| (p, angle * last)).collect();
        let magnitude = powers.iter().map(|it| it.0 * it.1.abs()).sum();
        let moments = std::array::from_fn(|m| {
            powers.iter_mut().for_each(|it| it.0 *= it.1 / (m + 1) as f64);
            compensated(powers.iter().map(|it| it.0))
        });
        let mass = compensated(far.iter().map(|it| it.0));
        Part { moments, magnitude, far, mass }
    }

    /// `sum_k p_k (e^(i t theta_k) - 1)` over the near losses, theta being their phase at the last frequency.
    ///
    /// It errs by less than [`SERIES`] units of t times their magnitude.
    pub(super) fn series(&self, t: f64) -> Complex64 {
        // Powers of i t from the last to the first: `i t (moment + rest)`.
        let next = |rest: Complex64, &moment: &f64| Complex64::new(-t * rest.im, t * (moment + rest.re));
        self.moments.iter().rev().fold(Complex64::default(), next)
    }
}

impl Fast {
    /// For the terms (probability, angle of a step) of each component, frequencies below `count` and the runs of them that are wanted.
    pub(super) fn new(
        components: impl Iterator<Item = Vec<(f64, f64)>>,
        count: usize,
        runs: &[(usize, usize)],
    ) -> Self {
        let longest = runs.iter().fold(1, |most, it| it.1.max(most));
        let last = count as f64;
        let parts = components.map(|terms| Part::new(terms, last)).collect();
        Fast { transform: Transform::new(longest.min(BLOCK)), last, parts }
    }

    /// A run in blocks: their first frequency and their length.
    pub(super) fn blocks(&self, (start, count): (usize, usize)) -> impl Iterator<Item = (usize, usize)> {
        (start..start + count).step_by(BLOCK).map(move |first| (first, BLOCK.min(start + count - first)))
    }

    /// `sum_k p_k (e^(i (start + j) angle_k) - 1)` of a component for `j = 0, ..., count - 1`, and a bound on what the transform adds to
    /// the error of sums that are taken one by one.
    pub(super) fn sums(&self, part: usize, start: usize, count: usize) -> (Vec<Complex64>, f64) {
        let part = &self.parts[part];
        let mut sums = self.transform.sums(&part.far, start as f64, count);
        for (j, sum) in sums.values.iter_mut().enumerate() {
            *sum += part.series((start + j) as f64 / self.last) - part.mass;
        }
        (sums.values, sums.error + UNIT * (8.0 * part.mass + SERIES * part.magnitude))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::fourier::exponential_sums;

    #[test]
    fn sums_agree_with_those_one_by_one() {
        let terms: Vec<(f64, f64)> = (0..300)
            .map(|k| (1.0 / f64::from(k + 3), 1e-7 * f64::from(k).powi(3) * if k % 3 == 0 { -1.0 } else { 1.0 }))
            .collect();
        let runs = [(0, 70_000), (90_000, 5)];
        let fast = Fast::new(std::iter::once(terms.clone()), 100_000, &runs);
        let blocks: Vec<_> = runs.iter().flat_map(|&run| fast.blocks(run)).collect();
        assert_eq!(blocks, [(0, 65_536), (65_536, 4_464), (90_000, 5)]);
        for (start, count) in blocks {
            let (found, error) = fast.sums(0, start, count);
            let truth = exponential_sums(&terms, start as f64, count);
            assert_eq!(found.len(), count);
            let worst = found.iter().zip(&truth).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
            assert!(worst <= error && error < 1e-7, "{start}: {worst:e} {error:e}");
        }
    }
}
