//! One release of the Gram matrix of the rows.

use ndarray::{Array1, Array2};

use crate::error::{Error, Fallible};
use crate::grid::{DIAGONAL, GRAM_MULTIPLIER, OFF_DIAGONAL, PERSON_WEIGHT, PublicColumns, each_entry, gram_one};
use crate::loss::Curved;
use crate::num::dense;
use crate::optim::{Fineness, GaussianRelease, GaussianRule, Problem};
use crate::preprocess::Scores;
use crate::privacy::Rho;
use crate::private::{LoggedRun, PrivateDataset, Query, Released, query};

/// A release of `sum x x^T` over rows divided by `R` and cut to norm 1, with symmetric Gaussian noise.
///
/// `R^2` is the typical squared norm of a row. The off-diagonal entries have noise smaller by the root of two than
/// the diagonal ones, as the Frobenius norm allows.
///
/// # Privacy
/// One Gaussian release; l2 sensitivity 1 in these units under add-remove and `sqrt(2)` under replace-one.
#[derive(Clone, Debug, PartialEq)]
pub struct GramPlan {
    clip_steps: u64,
    most: u64,
    /// The release.
    pub release: GaussianRelease,
    /// `R^2`.
    square: f64,
    /// The integer that a diagonal entry of `R^2` is released as, per row.
    one: f64,
    /// How often a row counts, or all rows of a person together.
    weight: u64,
    /// Which columns are public, where some are: entries of two of them are exact, and free.
    public: Option<PublicColumns>,
    /// Whether rows are cut by what is private of their matrices alone.
    crossed: bool,
}

impl GramPlan {
    /// Plans a release that costs at most `rho`.
    ///
    /// # Errors
    /// When the share of the budget is too small for the integer grid.
    pub fn new(problem: &Problem<'_>, rho: f64) -> Fallible<Self> {
        Self::widened(problem, rho, 1.0)
    }

    /// Plans a release of which rows count whole up to `width` times the typical squared norm.
    ///
    /// # Errors
    /// When the share of the budget is too small for the integer grid.
    pub fn widened(problem: &Problem<'_>, rho: f64, width: f64) -> Fallible<Self> {
        let square = width * problem.typical_square();
        let whole = |clip_steps| Query::from(query::Gram { clip_steps });
        let Some(public) = problem.public else {
            return Self::of(problem, (rho, square, square), "Gram matrix", &whole);
        };
        // Of a typical row: a matrix of norm `a + b` moves by the root of two times that, and what is private of it by twice its own norm.
        let (a, b) = (public.count() as f64, public.private() as f64);
        let norm = (b * (2.0 * a + b)).sqrt();
        let (moves, moves_whole) = (2.0 * norm, 2f64.sqrt() * (a + b));
        let crossed = moves < moves_whole;
        let share = if crossed { (moves / moves_whole).powi(2) } else { 1.0 };
        let plan = match crossed {
            true => Self::of(problem, (rho * share, square, width * norm), "Gram matrix", &|clip_steps| {
                Query::from(query::CrossGram { clip_steps })
            }),
            false => Self::of(problem, (rho, square, square), "Gram matrix", &whole),
        };
        Ok(GramPlan { public: Some(public.clone()), crossed, ..plan? })
    }

    /// Plans a release of the Hessian of a loss for at most `rho`, on the finest grid that it allows.
    ///
    /// # Errors
    /// When the share of the budget is too small for the integer grid.
    pub fn hessian(problem: &Problem<'_>, rho: f64) -> Fallible<Self> {
        let square = problem.typical_square();
        Self::of(problem, (rho, square, square), "Hessian", &|clip_steps| Query::from(query::Hessian { clip_steps }))
    }

    fn of(
        problem: &Problem<'_>,
        (rho, square, norm): (f64, f64, f64),
        what: &str,
        query: &dyn Fn(u64) -> Query,
    ) -> Fallible<Self> {
        let one = f64::from(gram_one(problem.one));
        // The norm of what a typical row adds once.
        let step = norm * one * one;
        let Problem { adjacency, noise, .. } = *problem;
        let rule = GaussianRule { what, query, adjacency, noise, count: 1 };
        let sensitivity = query(1 << 20).sensitivity(adjacency) as f64 / f64::from(1 << 20);
        let weight = if problem.persons { PERSON_WEIGHT } else { problem.finer() };
        let target = (GRAM_MULTIPLIER * weight) as f64 * step * sensitivity;
        let wanted = Fineness { sensitivity, target, largest: u64::MAX, slack: 1e-9 };
        let (release, clip_steps) = rule.finest_to(problem.finest_grid(), &Rho::from_f64(rho)?, &wanted);
        let most = ((clip_steps / weight) as f64 / step).floor();
        if !(most >= 8.0 && clip_steps / weight < 1 << 52 && clip_steps < 1 << 56) {
            return Err(Error::parameter(
                "budget",
                "is too small or too large for a release of the Gram matrix",
                "use another epsilon, or --algorithm dp-gd",
            ));
        }
        let most = (most as u64).min(GRAM_MULTIPLIER);
        Ok(GramPlan { clip_steps, most, release, square, one, weight, public: None, crossed: false })
    }

    /// What one grid step stands for when rows have norm at most 1.
    pub fn step(&self) -> f64 {
        1.0 / (self.square * self.one * self.one * (self.most * self.weight) as f64 * DIAGONAL as f64)
    }

    /// Frobenius bound of a row over the noise, `1 / sigma` of a diagonal entry in units where rows have norm 1.
    pub fn mu(&self) -> f64 {
        1.0 / (self.step() * self.release.scale())
    }

    /// `R`, by which rows are divided.
    pub fn row_norm(&self) -> f64 {
        self.square.sqrt()
    }

    /// Makes the release and reads off `sum x x^T / R^2` as a symmetric matrix, of shape dimension by dimension.
    ///
    /// # Errors
    /// When it is not the next release of the plan, or fails.
    pub fn run(&self, data: &PrivateDataset, run: &mut LoggedRun<'_>) -> Fallible<Array2<f64>> {
        let (clip_steps, most) = (self.clip_steps, self.most);
        let released = run.release(&self.release.planned(), self.step(), || match self.crossed {
            true => data.cross_gram(clip_steps, most),
            false => data.gram(clip_steps, most),
        })?;
        let mut matrix = self.read(&released, data.shape().dimension());
        if let Some(public) = &self.public {
            let (exact, public) = (public_gram(data)? / self.square, public.coefficients(data.shape()));
            let entries = matrix.indexed_iter_mut().filter(|((row, column), _)| public[*row] && public[*column]);
            entries.for_each(|(at, entry)| *entry = exact[at]);
        }
        Ok(matrix)
    }

    /// Makes the release of scores and reads it off as [`GramPlan::run`] does.
    ///
    /// # Errors
    /// When it is not the next release of the plan, or fails.
    pub fn run_scores(&self, data: &PrivateDataset, scores: &Scores, run: &mut LoggedRun<'_>) -> Fallible<Array2<f64>> {
        let gram = || data.gram_of_scores(scores, self.clip_steps, self.most);
        let released = run.release(&self.release.planned(), self.step(), gram)?;
        Ok(self.read(&released, scores.shape().dimension()))
    }

    /// Releases the planned Hessian `sum l''(t) x x^T / (R^2 b)`, `b` the largest curvature of the loss, at `weights` in feature
    /// coordinates (shape: dimension); the matrix has the shape dimension by dimension.
    ///
    /// # Errors
    /// When it is not the next release of the plan, or fails.
    pub fn run_hessian(
        &self,
        data: &PrivateDataset,
        loss: Curved,
        weights: &Array1<f64>,
        run: &mut LoggedRun<'_>,
    ) -> Fallible<Array2<f64>> {
        let hessian = || data.hessian(loss, weights, self.clip_steps, self.most);
        let released = run.release(&self.release.planned(), self.step() * loss.smoothness(), hessian)?;
        Ok(self.read(&released, data.shape().dimension()))
    }

    fn read(&self, released: &Released, dimension: usize) -> Array2<f64> {
        matrix_of(released.values(), dimension, self.step())
    }
}

/// A symmetric matrix of its weighted upper triangle, of which one on the diagonal stands for `step`.
fn matrix_of(triangle: &[i128], dimension: usize, step: f64) -> Array2<f64> {
    let mut matrix = Array2::zeros((dimension, dimension));
    each_entry(dimension, |index, row, column| {
        let weight = if row == column { DIAGONAL } else { OFF_DIAGONAL };
        let value = triangle[index] as f64 * step * DIAGONAL as f64 / weight as f64;
        matrix[(row, column)] = value;
        matrix[(column, row)] = value;
    });
    matrix
}

/// `sum x x^T` over all rows, of shape dimension by dimension, of features that are public: exact, but for rows rounded to ten bits.
///
/// # Privacy
/// It is free: the same for all neighbours. Entries of private features are those of nothing.
///
/// # Errors
/// When nothing is public, or rows in a file cannot be read.
pub(in crate::optim) fn public_gram(data: &PrivateDataset) -> Fallible<Array2<f64>> {
    // No row is cut.
    let triangle = data.public_gram(u64::MAX, GRAM_MULTIPLIER)?;
    let one = f64::from(gram_one(data.one()));
    Ok(matrix_of(&triangle, data.shape().dimension(), 1.0 / (one * one * (GRAM_MULTIPLIER * DIAGONAL) as f64)))
}

/// A symmetric matrix `(H + ridge)^(-1/2)` and the effective dimension that goes with it.
pub(in crate::optim) struct Whitening {
    /// The map.
    pub(in crate::optim) map: Array2<f64>,
    /// Trace of `H (H + ridge)^(-1)`.
    pub(in crate::optim) effective_dimension: f64,
    /// Eigenvectors as columns.
    pub(in crate::optim) vectors: Array2<f64>,
    /// Eigenvalues, negative ones cut at zero.
    pub(in crate::optim) values: Vec<f64>,
}

impl Whitening {
    /// From a noised, symmetric `H`; its negative eigenvalues are noise and are cut at zero.
    pub(in crate::optim) fn new(noised: Array2<f64>, ridge: f64) -> Fallible<Self> {
        let (values, vectors) = dense::symmetric_eigen(noised)?;
        let kept: Vec<f64> = values.iter().map(|&value| value.max(0.0)).collect();
        let scaled = Array2::from_shape_fn(vectors.raw_dim(), |(row, column)| {
            vectors[(row, column)] / (kept[column] + ridge).sqrt().sqrt()
        });
        let effective_dimension = kept.iter().map(|&value| value / (value + ridge)).sum();
        Ok(Whitening { map: scaled.dot(&scaled.t()), effective_dimension, vectors, values: kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn whitening_undoes_the_matrix() {
        let h = array![[2.0, 0.5], [0.5, 1.0]];
        let whitening = Whitening::new(h.clone(), 0.0).unwrap();
        let identity = whitening.map.dot(&h).dot(&whitening.map);
        assert!((identity - Array2::<f64>::eye(2)).iter().all(|e| e.abs() < 1e-12));
        assert!((whitening.effective_dimension - 2.0).abs() < 1e-12);
        let half = Whitening::new(array![[1.0, 0.0], [0.0, -3.0]], 1.0).unwrap();
        assert!((half.effective_dimension - 0.5).abs() < 1e-12);
        assert!((half.map[(1, 1)] - 1.0).abs() < 1e-12);
    }
}
