//! Small dense linear algebra on released values: a thin layer over `nalgebra`.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, Array2};

use crate::error::{Error, Fallible};

/// Iterations per eigenvalue; ordinary matrices need about three.
const MAX_SWEEPS: usize = 100;

/// Eigenvalues, in no order, and the matching orthonormal eigenvectors as columns: shapes n, and n by n, as the matrix has.
///
/// # Errors
/// When an entry is not finite or the iteration does not converge.
pub fn symmetric_eigen(matrix: Array2<f64>) -> Fallible<(Array1<f64>, Array2<f64>)> {
    let n = matrix.nrows();
    if n == 0 {
        return Ok((Array1::zeros(0), Array2::zeros((0, 0))));
    }
    if !matrix.is_square() || matrix.iter().any(|x| !x.is_finite()) {
        return Err(Error::numerical("eigenvalues", "the matrix is not square and finite"));
    }
    let square = DMatrix::from_fn(n, n, |row, column| matrix[(row, column)]);
    let eigen = nalgebra::SymmetricEigen::try_new(square, f64::EPSILON, MAX_SWEEPS * n.max(1))
        .ok_or_else(|| Error::numerical("eigenvalues", "the iteration did not converge"))?;
    let vectors = Array2::from_shape_fn((n, n), |(row, column)| eigen.eigenvectors[(row, column)]);
    Ok((eigen.eigenvalues.iter().copied().collect(), vectors))
}

/// The solution of `A x = b` for a symmetric positive definite matrix (shape n by n, `b` and `x` of length n); `None` where it is not one.
pub fn solve_positive(matrix: Array2<f64>, right: &Array1<f64>) -> Option<Array1<f64>> {
    let n = matrix.nrows();
    if !matrix.is_square() || right.len() != n || matrix.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let factor = DMatrix::from_fn(n, n, |row, column| matrix[(row, column)]).cholesky()?;
    let solution = factor.solve(&DVector::from_fn(n, |row, _| right[row]));
    Some(solution.iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_parts_make_the_matrix() {
        let a = array![[4.0, 1.0, -2.0], [1.0, 0.0, 3.0], [-2.0, 3.0, -1.0]];
        let (values, vectors) = symmetric_eigen(a.clone()).unwrap();
        let again = vectors.dot(&Array2::from_diag(&values)).dot(&vectors.t());
        assert!((again - a).iter().all(|e| e.abs() < 1e-12));
        assert!(symmetric_eigen(array![[f64::NAN]]).is_err());
        assert!(symmetric_eigen(Array2::zeros((0, 0))).is_ok());
    }

    #[test]
    fn positive_systems_are_solved_and_others_refused() {
        let a = array![[4.0, 1.0], [1.0, 3.0]];
        let x = solve_positive(a.clone(), &array![1.0, 2.0]).unwrap();
        assert!((a.dot(&x) - array![1.0, 2.0]).iter().all(|e| e.abs() < 1e-14));
        assert!(solve_positive(array![[1.0, 2.0], [2.0, 1.0]], &array![1.0, 1.0]).is_none());
        assert!(solve_positive(array![[f64::NAN]], &array![1.0]).is_none());
    }
}
