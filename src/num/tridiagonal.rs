//! Eigenvalues of symmetric tridiagonal matrices, and eigenvectors of some of them, by plain operations in a fixed order.

use ndarray::{Array1, Array2, ArrayView1, Axis};

use crate::error::{Error, Fallible};

/// Iterations for each eigenvalue; ordinary ones need about two.
const MAX_SWEEPS: usize = 60;

/// Solutions for each eigenvector; ordinary ones need one, and the second is for safety.
const MAX_SOLUTIONS: usize = 8;

/// An eigenvector leaves at most this many rounding errors a row of what the matrix makes of it.
const SLACK: f64 = 8.0;

/// A symmetric matrix with entries on the diagonal and beside it alone.
///
/// ```
/// use rhograd::num::tridiagonal::Tridiagonal;
///
/// let path = Tridiagonal::new(vec![1.0, 2.0, 1.0], vec![-1.0, -1.0])?;
/// let values = path.eigenvalues()?;
/// assert!((values[0].abs() < 1e-12) && (values[1] - 1.0).abs() < 1e-12 && (values[2] - 3.0).abs() < 1e-12);
/// let vectors = path.eigenvectors(&values[1..2], None)?;
/// assert!((vectors[(0, 0)].abs() - 0.5f64.sqrt()).abs() < 1e-12 && vectors[(0, 1)].abs() < 1e-12);
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tridiagonal {
    diagonal: Vec<f64>,
    /// One entry less.
    beside: Vec<f64>,
    /// No eigenvalue is further from zero.
    norm: f64,
}

impl Tridiagonal {
    /// The matrix with these entries on the diagonal, and these beside it.
    ///
    /// # Errors
    /// When there is not one entry less beside the diagonal, or an entry or its square is not finite.
    pub fn new(diagonal: Vec<f64>, beside: Vec<f64>) -> Fallible<Self> {
        let at = |index: usize| beside.get(index).map_or(0.0, |entry| entry.abs());
        let row = |(index, entry): (usize, &f64)| entry.abs() + at(index) + index.checked_sub(1).map_or(0.0, at);
        let norm = diagonal.iter().enumerate().map(row).fold(0.0, |most: f64, row| if row > most { row } else { most });
        let finite = diagonal.iter().chain(&beside).all(|entry| entry.is_finite()) && (norm * norm).is_finite();
        if diagonal.len() != beside.len() + 1 || !finite {
            return Err(Error::numerical("eigenvalues", "the matrix is not tridiagonal and of moderate size"));
        }
        Ok(Tridiagonal { diagonal, beside, norm })
    }

    /// All eigenvalues in ascending order, by the QL algorithm with implicit shifts: each within some rounding errors of the largest.
    ///
    /// # Errors
    /// When the iteration does not converge.
    ///
    /// # Reference
    /// Martin and Wilkinson 1968, "The implicit QL algorithm".
    pub fn eigenvalues(&self) -> Fallible<Vec<f64>> {
        let mut values = self.diagonal.clone();
        let mut beside = self.beside.clone();
        beside.push(0.0);
        for first in 0..values.len() {
            let mut sweeps = 0;
            loop {
                let split =
                    |at: &usize| beside[*at].abs() <= f64::EPSILON * (values[*at].abs() + values[*at + 1].abs());
                let last = (first..values.len() - 1).find(split).unwrap_or(values.len() - 1);
                if last == first {
                    break;
                }
                if sweeps == MAX_SWEEPS {
                    return Err(Error::numerical("eigenvalues", "the iteration did not converge"));
                }
                sweeps += 1;
                sweep(&mut values[first..=last], &mut beside[first..=last]);
            }
        }
        values.sort_unstable_by(f64::total_cmp);
        Ok(values)
    }

    /// Orthonormal eigenvectors as rows, one for each of these eigenvalues, which may lie near each other; all of them orthogonal to `known`, an
    /// eigenvector of length 1, if it is given.
    ///
    /// Inverse iteration: each solution is made orthogonal to the vectors before it.
    ///
    /// # Errors
    /// When what is found is no eigenvector within rounding errors, as where a value is no eigenvalue or comes once too often.
    ///
    /// # Reference
    /// Peters and Wilkinson 1979, "Inverse iteration, ill-conditioned equations and Newton's method".
    pub fn eigenvectors(&self, values: &[f64], known: Option<&Array1<f64>>) -> Fallible<Array2<f64>> {
        let n = self.diagonal.len();
        let tolerance = SLACK * n as f64 * f64::EPSILON * self.norm;
        let mut found = Array2::zeros((values.len(), n));
        for (index, &value) in values.iter().enumerate() {
            let shifted = Factors::new(self, value);
            // Any start will do that is orthogonal to nothing; all machines have the same.
            let start = |row: usize| {
                ((row + 1) as f64 * 0.618_033_988_749_895 + index as f64 * 0.414_213_562_373_095).fract() - 0.5
            };
            let mut vector = Array1::from_shape_fn(n, start);
            let mut residual = f64::INFINITY;
            for solution in 0..MAX_SOLUTIONS {
                if solution > 1 && residual <= tolerance {
                    break;
                }
                shifted.solve(&mut vector);
                normalize(&mut vector);
                let before = found.rows().into_iter().take(index).chain(known.map(|known| known.view()));
                for other in before {
                    let shared = other.dot(&vector);
                    vector.scaled_add(-shared, &other);
                }
                normalize(&mut vector);
                residual = self.residual(value, vector.view());
            }
            if residual.is_nan() || residual > tolerance {
                return Err(Error::numerical("eigenvectors", "the iteration did not converge"));
            }
            found.index_axis_mut(Axis(0), index).assign(&vector);
        }
        Ok(found)
    }

    /// The length of `A v - value v`.
    fn residual(&self, value: f64, vector: ArrayView1<'_, f64>) -> f64 {
        let n = vector.len();
        let entry = |row: usize| {
            let above = if row > 0 { self.beside[row - 1] * vector[row - 1] } else { 0.0 };
            let below = if row + 1 < n { self.beside[row] * vector[row + 1] } else { 0.0 };
            above + (self.diagonal[row] - value) * vector[row] + below
        };
        (0..n).map(|row| entry(row) * entry(row)).sum::<f64>().sqrt()
    }
}

/// One sweep over a block that no entry splits.
fn sweep(values: &mut [f64], beside: &mut [f64]) {
    let last = values.len() - 1;
    let half = (values[1] - values[0]) / (2.0 * beside[0]);
    let root = (half * half + 1.0).sqrt();
    let mut shifted = values[last] - values[0] + beside[0] / (half + if half < 0.0 { -root } else { root });
    let (mut sine, mut cosine, mut moved) = (1.0, 1.0, 0.0);
    for row in (0..last).rev() {
        let (out, beyond) = (sine * beside[row], cosine * beside[row]);
        let length = (out * out + shifted * shifted).sqrt();
        beside[row + 1] = length;
        if length == 0.0 {
            // The block falls apart here.
            values[row + 1] -= moved;
            beside[last] = 0.0;
            return;
        }
        (sine, cosine) = (out / length, shifted / length);
        let from = values[row + 1] - moved;
        let turned = (values[row] - from) * sine + 2.0 * cosine * beyond;
        moved = sine * turned;
        values[row + 1] = from + moved;
        shifted = cosine * turned - beyond;
    }
    values[0] -= moved;
    beside[0] = shifted;
    beside[last] = 0.0;
}

/// Triangular factors of `A - value I` with exchanged rows.
struct Factors {
    /// A row of the upper factor: on the diagonal, one and two places beside it.
    upper: Vec<[f64; 3]>,
    /// What is taken off the next row, and whether it was exchanged with this one.
    lower: Vec<(f64, bool)>,
}

impl Factors {
    fn new(matrix: &Tridiagonal, value: f64) -> Self {
        let n = matrix.diagonal.len();
        let tiny = f64::EPSILON * matrix.norm.max(f64::MIN_POSITIVE);
        let at = |row: usize| matrix.beside.get(row).copied().unwrap_or(0.0);
        let pivot = |entry: f64| if entry.abs() < tiny { tiny } else { entry };
        let (mut upper, mut lower) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let mut row = [matrix.diagonal[0] - value, at(0), 0.0];
        for next in 1..n {
            let below = [at(next - 1), matrix.diagonal[next] - value, at(next)];
            let exchanged = below[0].abs() > row[0].abs();
            let (top, bottom) = if exchanged { (below, row) } else { (row, below) };
            let top = [pivot(top[0]), top[1], top[2]];
            let factor = bottom[0] / top[0];
            upper.push(top);
            lower.push((factor, exchanged));
            row = [bottom[1] - factor * top[1], bottom[2] - factor * top[2], 0.0];
        }
        upper.push([pivot(row[0]), 0.0, 0.0]);
        Factors { upper, lower }
    }

    /// Solves in place.
    fn solve(&self, v: &mut Array1<f64>) {
        for (row, &(factor, exchanged)) in self.lower.iter().enumerate() {
            if exchanged {
                v.swap(row, row + 1);
            }
            v[row + 1] -= factor * v[row];
        }
        let n = v.len();
        for row in (0..n).rev() {
            let [own, next, second] = self.upper[row];
            let beyond = |at: usize| if at < n { v[at] } else { 0.0 };
            v[row] = (v[row] - next * beyond(row + 1) - second * beyond(row + 2)) / own;
        }
    }
}

/// Makes the length 1; what is zero or not finite stays so.
fn normalize(v: &mut Array1<f64>) {
    let largest = v.iter().fold(0.0f64, |most, entry| most.max(entry.abs()));
    *v /= largest;
    let length = v.dot(v).sqrt();
    *v /= length;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::dense;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn full(matrix: &Tridiagonal) -> Array2<f64> {
        let n = matrix.diagonal.len();
        Array2::from_shape_fn((n, n), |(a, b)| match a.abs_diff(b) {
            0 => matrix.diagonal[a],
            1 => matrix.beside[a.min(b)],
            _ => 0.0,
        })
    }

    #[track_caller]
    fn is_solved(matrix: &Tridiagonal) {
        let values = matrix.eigenvalues().unwrap();
        let (mut dense, _) = dense::symmetric_eigen(full(matrix)).map(|(v, w)| (v.to_vec(), w)).unwrap();
        dense.sort_unstable_by(f64::total_cmp);
        let off = values.iter().zip(&dense).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off <= 1e-12 * matrix.norm, "{off}");
        let vectors = matrix.eigenvectors(&values, None).unwrap();
        let gram = vectors.dot(&vectors.t());
        assert!((gram - Array2::<f64>::eye(values.len())).iter().all(|off| off.abs() < 1e-12));
        let again = vectors.t().dot(&Array2::from_diag(&Array1::from(values))).dot(&vectors);
        assert!((again - full(matrix)).iter().all(|off| off.abs() < 1e-12 * matrix.norm));
    }

    #[test]
    fn values_and_vectors_make_the_matrix() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for n in [1, 2, 3, 17, 90] {
            let entries =
                |count: usize, rng: &mut ChaCha8Rng| (0..count).map(|_| rng.random_range(-1.0..1.0)).collect();
            is_solved(&Tridiagonal::new(entries(n, &mut rng), entries(n - 1, &mut rng)).unwrap());
        }
        // Entries of very different size; nothing beside the diagonal; and pairs of values that agree to the last bit or nearly.
        let graded = |row: usize| 10f64.powi(-((row % 9) as i32));
        is_solved(&Tridiagonal::new((0..40).map(graded).collect(), (0..39).map(graded).collect()).unwrap());
        is_solved(&Tridiagonal::new(vec![2.0; 12], vec![0.0; 11]).unwrap());
        is_solved(
            &Tridiagonal::new((0..41).map(|row: i32| f64::from((row - 20).abs())).collect(), vec![1.0; 40]).unwrap(),
        );
    }

    #[test]
    fn what_is_no_matrix_or_no_value_is_refused() {
        for (diagonal, beside) in
            [(vec![], vec![]), (vec![1.0], vec![1.0]), (vec![f64::NAN], vec![]), (vec![1.0, 1e200], vec![0.0])]
        {
            assert!(Tridiagonal::new(diagonal, beside).is_err());
        }
        let path = Tridiagonal::new(vec![1.0, 2.0, 1.0], vec![-1.0, -1.0]).unwrap();
        assert!(path.eigenvectors(&[0.5], None).is_err());
        assert!(path.eigenvectors(&[1.0, 1.0], None).is_err());
    }
}
