//! What is possible without privacy: logistic regression and least squares in double precision, and the best constant.

use std::path::Path;

use nalgebra::{DMatrix, DVector};
use rhograd::data::{Column, CsvFile, Fields, Missing, Schema, Task};
use rhograd::error::{Error, Fallible};

/// Curvature added to every direction, as a share of a standardised column's: one column of every category is superfluous.
const RIDGE: f64 = 1e-9;

/// Newton steps at most; the loss is convex and smooth, and ten are usual.
const STEPS: usize = 50;

/// The gradient of the mean loss at which a minimiser is one.
const TOLERANCE: f64 = 1e-9;

/// Where the loss of the clipped reference turns linear, in deviations of the residuals: 95% efficient for normal ones (Huber 1981).
const HUBER: f64 = 1.345;

/// Where numbers are cut, in deviations, for labels and for targets that are numbers: as by the defaults of training (docs/defaults.md).
const CUT: [f64; 2] = [2.0, 3.0];

/// The median distance of a normal number from its mean, in deviations.
const MEDIAN_DISTANCE: f64 = 0.674_489_750_196_081_7;

/// Metrics on the test file: accuracy and AUC, or R^2.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Of the minimiser of the loss on the training file.
    pub optimum: Vec<f64>,
    /// Of the minimiser on rows as private models see them: every column is cut at 2 deviations for labels and 3 for numbers, and for targets that are numbers
    /// slopes are clipped as by Huber's loss.
    pub clipped: Vec<f64>,
    /// Of the more frequent label, or of the mean, of the training file.
    pub baseline: Vec<f64>,
}

/// Fits on one file and measures on another.
///
/// # Errors
/// When a file cannot be read or the fit does not converge.
pub fn measure(schema: &Schema, train: &Path, test: &Path) -> Fallible<Reference> {
    let (x, y, x_test, y_test) = standardized(schema, train, test)?;
    let mean = y.mean();
    let [labels, numbers] = CUT.map(|most| move |value: f64| value.clamp(-most, most));
    match schema.task {
        Task::Classification => {
            let scores = &x_test * logistic(&x, &y)?;
            let constant = DVector::from_element(y_test.len(), mean - 0.5);
            let baseline = label_metrics(&constant, &y_test);
            let clipped = label_metrics(&(&x_test.map(labels) * logistic(&x.map(labels), &y)?), &y_test);
            Ok(Reference { optimum: label_metrics(&scores, &y_test), clipped, baseline })
        }
        Task::Regression => {
            let squares = |x: &DMatrix<f64>| solve(x.tr_mul(x), x.tr_mul(&y), x.nrows());
            let near = x.map(numbers);
            let clipped = &x_test.map(numbers) * huber(&near, &y, &squares(&near)?)?;
            let constant = DVector::from_element(y_test.len(), mean);
            Ok(Reference {
                optimum: vec![r_squared(&(&x_test * squares(&x)?), &y_test)],
                clipped: vec![r_squared(&clipped, &y_test)],
                baseline: vec![r_squared(&constant, &y_test)],
            })
        }
    }
}

/// Standardised columns and targets of a training and a test file, by the training rows.
///
/// # Errors
/// When a file cannot be read.
pub fn standardized(schema: &Schema, train: &Path, test: &Path) -> Fallible<Split> {
    let (mut x, y) = expanded(schema, train)?;
    let (mut x_test, y_test) = expanded(schema, test)?;
    standardize(&mut x, &mut x_test);
    Ok((x, y, x_test, y_test))
}

/// Columns and targets for training, and those for the test.
pub type Split = (DMatrix<f64>, DVector<f64>, DMatrix<f64>, DVector<f64>);

/// The area under the ROC curve of scores of two labels.
pub fn area(scores: &DVector<f64>, labels: &DVector<f64>) -> f64 {
    label_metrics(scores, labels)[1]
}

/// The minimiser of the mean logistic loss by Newton's method with halved steps (iteratively reweighted least squares).
///
/// # Errors
/// When the steps do not end.
pub fn logistic(x: &DMatrix<f64>, y: &DVector<f64>) -> Fallible<DVector<f64>> {
    let n = x.nrows() as f64;
    let loss = |w: &DVector<f64>| {
        let margins = x * w;
        let softplus = |t: f64| t.max(0.0) + (-t.abs()).exp().ln_1p();
        let sum: f64 = margins.iter().zip(y.iter()).map(|(t, y)| softplus(*t) - y * t).sum();
        sum / n + RIDGE / 2.0 * w.norm_squared()
    };
    let mut w = DVector::zeros(x.ncols());
    for _ in 0..STEPS {
        let p = (x * &w).map(|t| 1.0 / (1.0 + (-t).exp()));
        let gradient = x.tr_mul(&(&p - y)) / n + RIDGE * &w;
        if gradient.norm() < TOLERANCE {
            return Ok(w);
        }
        let mut weighted = x.clone();
        for (mut row, p) in weighted.row_iter_mut().zip(p.iter()) {
            row *= p * (1.0 - p);
        }
        let direction = solve(x.tr_mul(&weighted), gradient * n, x.nrows())?;
        let (now, mut share) = (loss(&w), 1.0);
        while share > 1e-6 && loss(&(&w - share * &direction)) > now {
            share /= 2.0;
        }
        w -= share * direction;
    }
    Err(Error::numerical("reference", "logistic regression did not converge"))
}

/// The minimiser of Huber's loss from that of squares, by reweighted least squares; the loss turns linear beyond
/// 1.345 deviations of the residuals of the latter, by their median.
///
/// # Errors
/// When the steps do not end.
pub fn huber(x: &DMatrix<f64>, y: &DVector<f64>, squares: &DVector<f64>) -> Fallible<DVector<f64>> {
    let mut distances: Vec<f64> = (y - x * squares).iter().map(|r| r.abs()).collect();
    distances.sort_by(f64::total_cmp);
    let turn = HUBER * distances[distances.len() / 2] / MEDIAN_DISTANCE;
    let mut w = squares.clone();
    for _ in 0..20 * STEPS {
        let weights = (y - x * &w).map(|r| if r.abs() <= turn { 1.0 } else { turn / r.abs() });
        let mut weighted = x.clone();
        for (mut row, weight) in weighted.row_iter_mut().zip(weights.iter()) {
            row *= *weight;
        }
        let next = solve(weighted.tr_mul(x), weighted.tr_mul(y), x.nrows())?;
        let moved = (&next - &w).norm();
        w = next;
        if moved < TOLERANCE * (1.0 + w.norm()) {
            return Ok(w);
        }
    }
    Err(Error::numerical("reference", "Huber regression did not converge"))
}

/// `(A + n ridge)^-1 b`.
fn solve(mut a: DMatrix<f64>, b: DVector<f64>, rows: usize) -> Fallible<DVector<f64>> {
    for index in 0..a.nrows() {
        a[(index, index)] += RIDGE * rows as f64;
    }
    let factor = a.cholesky().ok_or_else(|| Error::numerical("reference", "the normal equations are singular"))?;
    Ok(factor.solve(&b))
}

/// A column of ones, numbers within their bounds, one column for each declared value of a category; and the target.
fn expanded(schema: &Schema, path: &Path) -> Fallible<(DMatrix<f64>, DVector<f64>)> {
    let file = CsvFile::open(path)?;
    let target = file.column(&schema.target)?;
    let columns =
        schema.features().map(|(name, column)| Ok((file.column(name)?, column))).collect::<Fallible<Vec<_>>>()?;
    let (mut cells, mut targets) = (Vec::new(), Vec::new());
    file.each_line(|fields| {
        let complete = fields.len() == file.header().len();
        if let Some(y) = complete.then(|| target_of(schema, fields, target)).flatten() {
            targets.push(y);
            cells.push(1.0);
            columns.iter().for_each(|(at, column)| expand(column, fields, *at, &mut cells));
        }
        Ok(())
    })?;
    if targets.is_empty() {
        return Err(Error::input(path, "has no usable line", "check the file against its schema"));
    }
    let (rows, width) = (targets.len(), cells.len() / targets.len());
    Ok((DMatrix::from_row_slice(rows, width, &cells), DVector::from_vec(targets)))
}

/// The numbers that stand for a cell.
fn expand(column: &Column, fields: &Fields, at: usize, cells: &mut Vec<f64>) {
    match column {
        Column::Numeric { lower, upper, missing, .. } => {
            let number = fields.number(at);
            let value = number.map_or((lower + upper) / 2.0, |v| v.clamp(*lower, *upper));
            cells.push((value - lower) / (upper - lower));
            let told = (*missing == Missing::Indicator).then(|| if number.is_none() { 1.0 } else { 0.0 });
            cells.extend(told);
        }
        Column::Categorical { values, other, .. } => {
            let found = values.iter().find(|value| value.as_bytes() == fields.get(at)).or(other.as_ref());
            cells.extend(values.iter().map(|value| if Some(value) == found { 1.0 } else { 0.0 }));
        }
    }
}

fn target_of(schema: &Schema, fields: &Fields, at: usize) -> Option<f64> {
    match schema.target_bounds() {
        Some((lower, upper)) => fields.number(at).map(|v| v.clamp(lower, upper)),
        None => {
            let positive = schema.positive.as_ref()?;
            Some(if fields.get(at) == positive.as_bytes() { 1.0 } else { 0.0 })
        }
    }
}

/// Centres and scales every column but the first by the training rows.
fn standardize(train: &mut DMatrix<f64>, test: &mut DMatrix<f64>) {
    for index in 1..train.ncols() {
        let column = train.column(index);
        let (mean, deviation) = (column.mean(), column.variance().sqrt());
        let scale = if deviation > 1e-12 { 1.0 / deviation } else { 0.0 };
        for matrix in [&mut *train, &mut *test] {
            matrix.column_mut(index).apply(|v| *v = (*v - mean) * scale);
        }
    }
}

/// Accuracy, and the area under the ROC curve with ties counted half (Mann and Whitney 1947).
fn label_metrics(scores: &DVector<f64>, labels: &DVector<f64>) -> Vec<f64> {
    let right = scores.iter().zip(labels.iter()).filter(|(s, y)| (**s > 0.0) == (**y > 0.5)).count();
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    let positives = labels.sum();
    let negatives = labels.len() as f64 - positives;
    let (mut ranks, mut from) = (0.0, 0);
    while from < order.len() {
        let ties = order[from..].iter().take_while(|at| scores[**at] == scores[order[from]]).count();
        let middle = from as f64 + (ties as f64 + 1.0) / 2.0;
        ranks += middle * order[from..from + ties].iter().map(|at| labels[*at]).sum::<f64>();
        from += ties;
    }
    let auc = (ranks - positives * (positives + 1.0) / 2.0) / (positives * negatives);
    vec![right as f64 / scores.len() as f64, auc]
}

fn r_squared(predicted: &DVector<f64>, truth: &DVector<f64>) -> f64 {
    let mean = truth.mean();
    1.0 - (predicted - truth).norm_squared() / truth.map(|y| y - mean).norm_squared()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimizer_has_no_gradient() {
        let x = DMatrix::from_fn(200, 3, |i, j| if j == 0 { 1.0 } else { ((i * (7 + j)) % 23) as f64 / 11.0 - 1.0 });
        let y = DVector::from_fn(200, |i, _| f64::from(u8::from((i * 5) % 3 == 0)));
        let w = logistic(&x, &y).unwrap();
        let p = (&x * &w).map(|t| 1.0 / (1.0 + (-t).exp()));
        assert!((x.tr_mul(&(p - y)) / 200.0).norm() < 1e-8);
    }

    #[test]
    fn the_area_counts_pairs() {
        let scores = DVector::from_vec(vec![-1.0, 0.5, 0.5, 2.0]);
        let labels = DVector::from_vec(vec![0.0, 1.0, 0.0, 1.0]);
        // Of four pairs three are in order and one is a tie.
        assert_eq!(label_metrics(&scores, &labels), [0.75, 0.875]);
        assert_eq!(label_metrics(&DVector::from_element(4, -0.1), &labels), [0.5, 0.5]);
    }

    #[test]
    fn hubers_minimizer_has_no_clipped_gradient_and_outliers_hardly_move_it() {
        let x = DMatrix::from_fn(300, 3, |i, j| if j == 0 { 1.0 } else { ((i * (7 + j)) % 23) as f64 / 11.0 - 1.0 });
        let planted = DVector::from_vec(vec![1.0, -2.0, 0.5]);
        let noise = DVector::from_fn(300, |i, _| ((i * 13) % 29) as f64 / 29.0 - 0.5);
        let outliers = DVector::from_fn(300, |i, _| if i % 20 == 0 { 50.0 } else { 0.0 });
        let y = &x * &planted + noise + outliers;
        let squares = solve(x.tr_mul(&x), x.tr_mul(&y), 300).unwrap();
        let found = huber(&x, &y, &squares).unwrap();
        let mut distances: Vec<f64> = (&y - &x * &squares).iter().map(|r| r.abs()).collect();
        distances.sort_by(f64::total_cmp);
        let turn = HUBER * distances[150] / MEDIAN_DISTANCE;
        let slopes = (&y - &x * &found).map(|r| r.clamp(-turn, turn));
        assert!((x.tr_mul(&slopes) / 300.0).norm() < 1e-6);
        assert!((&found - &planted).norm() < 0.3 * (&squares - &planted).norm());
    }

    #[test]
    fn least_squares_finds_planted_coefficients() {
        let x = DMatrix::from_fn(50, 3, |i, j| if j == 0 { 1.0 } else { ((i * (7 + j)) % 23) as f64 });
        let planted = DVector::from_vec(vec![1.0, -2.0, 0.5]);
        let y = &x * &planted;
        let found = solve(x.tr_mul(&x), x.tr_mul(&y), 50).unwrap();
        assert!((found - planted).norm() < 1e-5);
        assert!((r_squared(&y, &y) - 1.0).abs() < 1e-12);
    }
}
