//! Noisy gradient descent in double precision, to compare two rules of clipping and nothing else.
//!
//! It protects nobody: columns are standardised and whitened by the rows themselves, the number of persons is known, and the best of
//! several clip norms on the test file is taken. All of that is the same for both rules.

use std::path::Path;

use nalgebra::{DMatrix, DVector};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rhograd::data::CsvFile;
use rhograd::error::{Error, Fallible};

use super::data::DataSet;
use crate::reference::{area, standardized};

const STEPS: usize = 20;

/// In whitened coordinates the logistic loss has a curvature of a quarter at most.
const STEP: f64 = 3.0;

/// Clip norms, in units of the root of the number of coordinates.
const CLIPS: [f64; 4] = [0.03, 0.1, 0.3, 1.0];

/// Rows, whose they are, and the test.
pub(super) struct Descent {
    x: DMatrix<f64>,
    y: DVector<f64>,
    x_test: DMatrix<f64>,
    y_test: DVector<f64>,
    /// The person of each row.
    person: Vec<usize>,
    rows_of: Vec<f64>,
    joint: bool,
}

impl Descent {
    pub(super) fn new(data: &DataSet, train: &Path, joint: bool) -> Fallible<Self> {
        let (x, y, x_test, y_test) = standardized(&data.schema, train, &data.test)?;
        let person =
            data.persons.iter().enumerate().flat_map(|(person, own)| own.iter().map(move |_| person)).collect();
        let person: Vec<usize> = person;
        if person.len() != y.len() || CsvFile::open(train)?.header().is_empty() {
            let cure = "leave such lines out of the file";
            return Err(Error::input(train, "has lines that are no records", cure));
        }
        let rows_of: Vec<f64> = data.persons.iter().map(|own| own.len() as f64).collect();
        let weighted = DMatrix::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, j)] / rows_of[person[i]]);
        let gram = x.tr_mul(&weighted) / rows_of.len() as f64 + DMatrix::identity(x.ncols(), x.ncols()) * 1e-3;
        let singular = || Error::numerical("descent", "the Gram matrix is singular");
        let factor = gram.cholesky().ok_or_else(singular)?.l().try_inverse().ok_or_else(singular)?.transpose();
        let (x, x_test) = (x * &factor, x_test * factor);
        Ok(Descent { x, y, x_test, y_test, person, rows_of, joint })
    }

    /// The best area under the ROC curve of several clip norms.
    pub(super) fn auc(&self, rho: f64, seed: u64, wrong: bool) -> f64 {
        let root = (self.x.ncols() as f64).sqrt();
        let of = |clip: f64| area(&(&self.x_test * self.minimize(rho, clip * root, seed, wrong)), &self.y_test);
        CLIPS.into_iter().map(of).fold(0.0, f64::max)
    }

    fn minimize(&self, rho: f64, clip: f64, seed: u64, wrong: bool) -> DVector<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (persons, width) = (self.rows_of.len(), self.x.ncols());
        // Each step adds noise of `clip sqrt(steps / (2 rho))` to a sum that a person moves by `clip`.
        let noise = clip * (STEPS as f64 / (2.0 * rho)).sqrt() / persons as f64;
        let (mut w, mut mean) = (DVector::zeros(width), DVector::zeros(width));
        for step in 0..STEPS {
            let gradient = self.gradient(&w, clip);
            let drawn = DVector::from_fn(width, |_, _| {
                let z: f64 = StandardNormal.sample(&mut random);
                noise * z
            });
            w -= (gradient + drawn) * if wrong { -STEP } else { STEP };
            if step >= STEPS / 2 {
                mean += &w;
            }
        }
        mean
    }

    /// The mean over persons of the clipped mean over their rows, or of the mean over their clipped rows.
    fn gradient(&self, w: &DVector<f64>, clip: f64) -> DVector<f64> {
        let width = self.x.ncols();
        let margins = &self.x * w;
        let slopes = DVector::from_fn(margins.len(), |i, _| 1.0 / (1.0 + (-margins[i]).exp()) - self.y[i]);
        let shorter = |norm: f64| if norm > clip { clip / norm } else { 1.0 };
        let mut of_person = DMatrix::<f64>::zeros(width, self.rows_of.len());
        for (i, &person) in self.person.iter().enumerate() {
            let row = self.x.row(i);
            let factor = if self.joint { 1.0 } else { shorter(slopes[i].abs() * row.norm()) };
            let weight = factor * slopes[i] / self.rows_of[person];
            of_person.column_mut(person).iter_mut().zip(row.iter()).for_each(|(sum, x)| *sum += weight * x);
        }
        let mut sum = DVector::zeros(width);
        for column in of_person.column_iter() {
            let factor = if self.joint { shorter(column.norm()) } else { 1.0 };
            sum += column * factor;
        }
        sum / self.rows_of.len() as f64
    }
}
