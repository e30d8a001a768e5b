//! Linear systems with integer coefficients, solved to a certified distance.

use ndarray::{Array1, Array2};
use num_bigint::BigInt;

use crate::num::dense;

/// Corrections of a floating-point solution; each gains about ten digits on ordinary systems.
const CORRECTIONS: usize = 12;

/// An integer vector within `slack` of the solution of `A x = b`, `slack` at least the root of the dimension.
///
/// `A` is symmetric, given row by row, and its eigenvalues are at least `floor > 0`; the caller knows that from how it was made.
/// A floating-point solution is corrected until the residual `r = A x - b`, in exact integers, has
/// `|r| <= floor slack`, whence `|x - A^(-1) b| <= |r| / floor <= slack`. Where that is not reached the system is
/// solved exactly by fraction-free elimination (Bareiss 1968) and rounded down. So no floating-point number decides the distance.
pub fn definite_solve(matrix: &[i128], right: &[i128], floor: u64, slack: u64) -> Vec<i128> {
    corrected(matrix, right, floor, slack).unwrap_or_else(|| eliminated(matrix, right))
}

/// `b - A x`; `None` when a number does not fit.
fn residual(matrix: &[i128], right: &[i128], x: &[i128]) -> Option<Vec<i128>> {
    let rows = matrix.chunks_exact(right.len().max(1));
    rows.zip(right)
        .map(|(row, &b)| {
            let mut left = b;
            for (&a, &v) in row.iter().zip(x) {
                left = left.checked_sub(a.checked_mul(v)?)?;
            }
            Some(left)
        })
        .collect()
}

/// Whether `|r| <= floor slack`, in integers; a sum that does not fit is too long.
fn is_short(residual: &[i128], floor: u64, slack: u64) -> bool {
    let limit = u128::from(floor) * u128::from(slack);
    let square = |r: &i128| r.unsigned_abs().checked_mul(r.unsigned_abs());
    let total = residual.iter().try_fold(0u128, |sum, r| sum.checked_add(square(r)?));
    total.is_some_and(|total| total.isqrt() < limit)
}

fn corrected(matrix: &[i128], right: &[i128], floor: u64, slack: u64) -> Option<Vec<i128>> {
    let dimension = right.len();
    let real = Array2::from_shape_fn((dimension, dimension), |(j, k)| matrix[j * dimension + k] as f64);
    let (values, vectors) = dense::symmetric_eigen(real).ok()?;
    let inverse = values.mapv(|value| 1.0 / value.max(floor as f64));
    let mut x = vec![0i128; dimension];
    for _ in 0..CORRECTIONS {
        let left = residual(matrix, right, &x)?;
        if is_short(&left, floor, slack) {
            return Some(x);
        }
        let left: Array1<f64> = left.iter().map(|&r| r as f64).collect();
        let step = vectors.dot(&(&inverse * &vectors.t().dot(&left)));
        for (entry, correction) in x.iter_mut().zip(&step) {
            *entry = entry.checked_add(correction.round() as i128)?;
        }
    }
    None
}

/// The exact solution, rounded down.
///
/// All leading minors of a positive definite matrix are positive, so no pivot is zero and every division is exact.
fn eliminated(matrix: &[i128], right: &[i128]) -> Vec<i128> {
    let n = right.len();
    let mut rows: Vec<Vec<BigInt>> = matrix
        .chunks_exact(n.max(1))
        .zip(right)
        .map(|(row, &b)| row.iter().copied().chain([b]).map(BigInt::from).collect())
        .collect();
    let mut before = BigInt::from(1);
    for pivot in 0..n {
        let (done, rest) = rows.split_at_mut(pivot + 1);
        let top = &done[pivot];
        for row in rest {
            let factor = row[pivot].clone();
            for column in pivot..=n {
                row[column] = (&row[column] * &top[pivot] - &factor * &top[column]) / &before;
            }
        }
        before = top[pivot].clone();
    }
    // `before` is the determinant; numerators of Cramer's rule are integers.
    let mut numerators = vec![BigInt::ZERO; n];
    for j in (0..n).rev() {
        let known: BigInt = (j + 1..n).map(|k| &rows[j][k] * &numerators[k]).sum();
        numerators[j] = (&before * &rows[j][n] - known) / &rows[j][j];
    }
    let floor = |numerator: &BigInt| {
        let quotient: BigInt = numerator / &before;
        let down = &quotient * &before > *numerator;
        // It fits: the solution is no longer than `|b| / floor`.
        i128::try_from(quotient).unwrap_or(0) - i128::from(down)
    };
    numerators.iter().map(floor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `sum of v v^T + floor` in integers.
    fn definite(vectors: &[Vec<i64>], dimension: usize, floor: u64) -> Vec<i128> {
        let mut matrix = vec![0i128; dimension * dimension];
        for v in vectors {
            for j in 0..dimension {
                for k in 0..dimension {
                    matrix[j * dimension + k] += i128::from(v[j]) * i128::from(v[k]);
                }
            }
        }
        (0..dimension).for_each(|j| matrix[j * (dimension + 1)] += i128::from(floor));
        matrix
    }

    proptest! {
        #[test]
        fn both_ways_solve_the_system(
            vectors in prop::collection::vec(prop::collection::vec(-5_000i64..5_000, 5), 0..9),
            right in prop::collection::vec(-(1i64 << 60)..1 << 60, 5),
            log_floor in 4u32..30,
        ) {
            let floor = 1u64 << log_floor;
            let matrix = definite(&vectors, 5, floor);
            let right: Vec<i128> = right.into_iter().map(i128::from).collect();
            let exact = eliminated(&matrix, &right);
            // Off by less than one in each coordinate, downward.
            let left = residual(&matrix, &right, &exact).unwrap();
            let rows: Vec<i128> = matrix.chunks(5).map(|row| row.iter().map(|a| a.abs()).sum()).collect();
            prop_assert!(left.iter().zip(&rows).all(|(r, row)| r.abs() <= *row));
            let slack = 1 << 20;
            let solved = definite_solve(&matrix, &right, floor, slack);
            let square: i128 = solved.iter().zip(&exact).map(|(a, b)| (a - b) * (a - b)).sum();
            prop_assert!(square <= (i128::from(slack) + 3).pow(2), "{:?} {:?}", solved, exact);
        }
    }

    #[test]
    fn an_ill_conditioned_system_falls_back_on_elimination() {
        let matrix = definite(&[vec![1 << 40, 1 << 39], vec![1 << 40, (1 << 39) + 1]], 2, 3);
        let right = [1i128 << 20, -(1i128 << 20)];
        assert!(corrected(&matrix, &right, 3, 4).is_none());
        let left = residual(&matrix, &right, &definite_solve(&matrix, &right, 3, 4)).unwrap();
        assert!(left.iter().zip([1i128 << 83, 1 << 82]).all(|(r, row)| r.abs() <= row));
    }
}
