//! What columns do together, in the mean where one or two of them are known.

use ndarray::{Array1, Array2, Axis};
use rayon::prelude::*;

use super::shape::{Curve, Pair, deviation_under};
use crate::error::Fallible;
use crate::num::dense;
use crate::optim::{Given, NormalWaves};
use crate::train::model::{Feature, ModelFile, Target, Together};

/// Parts of a column of a heat map, and where pairs are looked for.
const FINE: usize = 20;
const COARSE: usize = 8;

/// Degrees of Hermite polynomials by which functions of one score are told.
const DEGREES: usize = 6;

/// Variances below this are rounding errors.
const LEAST: f64 = 1e-9;

/// The waves of a model with the released law of their scores.
pub(super) struct Joint<'a> {
    features: &'a [Feature],
    normal: NormalWaves,
    /// A row for each wave, a column for each margin.
    coefficients: Array2<f64>,
    /// Means of the waves, and their covariance.
    law: (Array1<f64>, Array2<f64>),
}

impl<'a> Joint<'a> {
    /// That of a model which tells the covariance and the shares of all categories.
    pub(super) fn of(model: &'a ModelFile) -> Option<Self> {
        let Together { waves, coefficients, covariance } = model.together.as_ref()?;
        let covariance = covariance.as_ref()?;
        let of_category = |feature: &Feature| match feature {
            Feature::Categorical { shares, .. } => Some(shares.clone()),
            Feature::Numeric { .. } | Feature::Steps { .. } => None,
        };
        let shares: Vec<Vec<f64>> = model.features.iter().filter_map(of_category).collect();
        let of_values: Vec<f64> = shares.concat();
        if waves.numeric() + of_values.len() != waves.coordinates() {
            return None;
        }
        let turns: Vec<f64> = waves.frequencies().flatten().collect();
        let turns = Array2::from_shape_vec((waves.coordinates(), waves.count()), turns).ok()?;
        // Values of categories are taken less their shares, which is one more offset.
        let means: Array1<f64> = std::iter::repeat_n(0.0, waves.numeric()).chain(of_values).collect();
        let placed: Array1<f64> = waves.start().iter().map(|&offset| f64::from(offset) / 65_536.0).collect();
        let offsets = (placed + means.dot(&turns)) * std::f64::consts::TAU;
        let normal = NormalWaves {
            radians: turns * std::f64::consts::TAU,
            offsets,
            covariance: covariance.matrix(waves.coordinates()),
            noise: covariance.noise(),
            scores: waves.scores().collect(),
            shares,
        };
        let outputs = model.target.outputs();
        let coefficient =
            |(wave, output): (usize, usize)| coefficients[wave].values().get(output).copied().unwrap_or(0.0);
        let coefficients = Array2::from_shape_fn((waves.count(), outputs), coefficient);
        let law = normal.law();
        Some(Joint { features: &model.features, normal, coefficients, law })
    }

    /// The mean of what waves contribute, for each margin.
    pub(super) fn mean(&self) -> Array1<f64> {
        self.law.0.dot(&self.coefficients)
    }

    /// For each column, each of its values and each margin what waves contribute in the mean, less their mean.
    pub(super) fn alone(&self) -> Fallible<Vec<Array2<f64>>> {
        let (known, mean) = (self.normal.known(), self.mean());
        let column = |column: usize| {
            let given = known.given(&[column])?;
            let at = self.normal.coordinates(column);
            let rows: Vec<f64> = at.iter().flat_map(|at| given.means(at).dot(&self.coefficients) - &mean).collect();
            Ok(Array2::from_shape_vec((at.len(), mean.len()), rows).unwrap_or_default())
        };
        (0..self.normal.columns()).into_par_iter().map(column).collect()
    }

    /// The share of the variance of the score that no sum of functions of single scores has, under the normal law.
    ///
    /// Functions of one score are sums of Hermite polynomials `He_m`: these have the covariance `m! r^m` for two scores with correlation `r`,
    /// and `E[sqrt(2) cos(w . z + b) He_m(z_j)] = sqrt(2) a^m cos(b + m pi / 2) exp(-w^T S w / 2)`, `a = S_jw`, for scores of variance 1.
    pub(super) fn beyond(&self) -> Fallible<f64> {
        let covariance = &self.normal.covariance;
        let deviations = covariance.diag().mapv(|variance| variance.max(0.0).sqrt());
        // What varies less than its noise says nothing.
        let varies = |at: usize| deviations[at].powi(2) > self.normal.noise.max(LEAST);
        let image = covariance.dot(&self.normal.radians);
        let left = (&self.normal.radians * &image).sum_axis(Axis(0)).mapv(|variance| (-variance / 2.0).exp());
        let scaled =
            Array2::from_shape_fn(
                image.raw_dim(),
                |(at, k)| {
                    if varies(at) { image[(at, k)] / deviations[at] } else { 0.0 }
                },
            );
        let correlation = Array2::from_shape_fn(covariance.raw_dim(), |(a, b)| {
            if varies(a) && varies(b) {
                (covariance[(a, b)] / (deviations[a] * deviations[b])).clamp(-1.0, 1.0)
            } else {
                0.0
            }
        });
        let outputs = self.coefficients.ncols();
        let whole = |output: usize| {
            let own = self.coefficients.column(output);
            own.dot(&self.law.1.dot(&own))
        };
        // Of each margin what waves vary by, and what they and curves vary by.
        let mut rest: Vec<f64> = (0..outputs).map(whole).collect();
        let mut total: Vec<f64> = (0..outputs).map(|output| rest[output] + self.variance_of_curves(output)).collect();
        let mut factorial = 1.0;
        for degree in 1..=DEGREES {
            factorial *= degree as f64;
            let turn = degree as f64 * std::f64::consts::FRAC_PI_2;
            let power = correlation.mapv(|r| factorial * r.powi(degree as i32));
            let (values, vectors) = dense::symmetric_eigen(power.clone())?;
            let least = factorial * self.normal.noise.max(LEAST);
            let raised = scaled.mapv(|a| a.powi(degree as i32));
            for output in 0..outputs {
                let wave = Array1::from_shape_fn(left.len(), |k| {
                    let mean = std::f64::consts::SQRT_2 * (self.normal.offsets[k] + turn).cos() * left[k];
                    mean * self.coefficients[(k, output)]
                });
                let shared = raised.dot(&wave);
                let curve = self.hermite(output, degree, &deviations) / factorial;
                total[output] += 2.0 * curve.dot(&shared) + self.across(&power, &curve);
                let along = vectors.t().dot(&shared);
                let told = along.iter().zip(&values).filter(|(_, value)| **value > least);
                rest[output] -= told.map(|(along, value)| along * along / value).sum::<f64>();
            }
        }
        let rest: Vec<f64> = rest.into_iter().map(|rest| rest.max(0.0)).collect();
        let total: f64 = total.iter().zip(&rest).map(|(total, rest)| total.max(*rest)).sum();
        Ok(if total > 0.0 { rest.iter().sum::<f64>() / total } else { 0.0 })
    }

    /// The curves of all columns, taken as independent.
    fn variance_of_curves(&self, output: usize) -> f64 {
        let column = |feature: &Feature| {
            let (effects, shares) = told(feature, output);
            deviation_under(&effects, &shares).powi(2)
        };
        self.features.iter().map(column).sum()
    }

    /// The mean of each curve times a Hermite polynomial of its score; categories are linear in their values.
    fn hermite(&self, output: usize, degree: usize, deviations: &Array1<f64>) -> Array1<f64> {
        let mut found = Array1::zeros(deviations.len());
        for (column, feature) in self.features.iter().enumerate() {
            let (effects, shares) = told(feature, output);
            let place = self.normal.place(column);
            match self.normal.scores.get(column) {
                Some(scores) if deviations[place.start] > LEAST => {
                    let total: f64 = shares.iter().sum();
                    let term = |((effect, share), score): ((&f64, &f64), &f64)| {
                        share / total * effect * hermite(degree, score / deviations[place.start])
                    };
                    found[place.start] = effects.iter().zip(&shares).zip(scores).map(term).sum();
                }
                Some(_) => {}
                None if degree == 1 => {
                    place.zip(&effects).for_each(|(at, effect)| found[at] = effect * deviations[at]);
                }
                None => {}
            }
        }
        found
    }

    /// What different columns have in common: `v^T M v` without the blocks of single columns.
    fn across(&self, matrix: &Array2<f64>, v: &Array1<f64>) -> f64 {
        let own = |column: usize| {
            let place = self.normal.place(column);
            let inner = |a: usize| place.clone().map(|b| v[a] * matrix[(a, b)] * v[b]).sum::<f64>();
            place.clone().map(inner).sum::<f64>()
        };
        v.dot(&matrix.dot(v)) - (0..self.normal.columns()).map(own).sum::<f64>()
    }

    /// The pairs of columns that do most together beyond what each does alone, by the standard deviation of it under the shares of rows
    /// that both have, see [`Joint::share`].
    pub(super) fn pairs(&self, model: &ModelFile, count: usize, unit: f64) -> Fallible<Vec<Pair>> {
        let (columns, known) = (self.normal.columns(), self.normal.known());
        let alone: Vec<Given> =
            (0..columns).into_par_iter().map(|column| known.given(&[column])).collect::<Fallible<_>>()?;
        let pair = |(a, b): (usize, usize), parts: usize| {
            known.given(&[a, b]).map(|both| self.pair(model, (a, b), [&alone[a], &alone[b], &both], (parts, unit)))
        };
        let all: Vec<(usize, usize)> = (0..columns).flat_map(|a| (a + 1..columns).map(move |b| (a, b))).collect();
        let coarse: Vec<Vec<Pair>> = all.par_iter().map(|&both| pair(both, COARSE)).collect::<Fallible<_>>()?;
        let mut ranked: Vec<((usize, usize), f64)> = Vec::new();
        for (both, found) in all.into_iter().zip(coarse) {
            ranked.push((both, found.iter().map(|it| it.importance.powi(2)).sum()));
        }
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked.truncate(count);
        let fine = ranked.into_par_iter().map(|(both, _)| pair(both, FINE));
        Ok(fine.collect::<Fallible<Vec<Vec<Pair>>>>()?.concat())
    }

    /// One pair, for each label of several.
    fn pair(
        &self,
        model: &ModelFile,
        (a, b): (usize, usize),
        [of_a, of_b, of_both]: [&Given; 3],
        (parts, unit): (usize, f64),
    ) -> Vec<Pair> {
        let labels: &[String] = if let Target::Classes { labels, .. } = &model.target { labels } else { &[] };
        let (x, y, mean) = (self.side(a, parts), self.side(b, parts), self.mean());
        let alone = |given: &Given, side: &Side| -> Vec<Array1<f64>> {
            side.at.iter().map(|at| given.means(at).dot(&self.coefficients)).collect()
        };
        let (of_x, of_y) = (alone(of_a, &x), alone(of_b, &y));
        let mut effects = vec![vec![vec![0.0; y.at.len()]; x.at.len()]; mean.len()];
        for (row, (at_x, alone_x)) in x.at.iter().zip(&of_x).enumerate() {
            for (column, (at_y, alone_y)) in y.at.iter().zip(&of_y).enumerate() {
                let both = of_both.means(&[at_x.as_slice(), at_y].concat()).dot(&self.coefficients);
                let rest = (both - alone_x - alone_y + &mean) * unit;
                rest.iter().zip(&mut effects).for_each(|(value, effects)| effects[row][column] = *value);
            }
        }
        let share = |row: usize, column: usize| self.share((a, &x, row), (b, &y, column));
        let shares: Vec<Vec<f64>> =
            (0..x.at.len()).map(|row| (0..y.at.len()).map(|column| share(row, column)).collect()).collect();
        let pair = |(output, effects): (usize, Vec<Vec<f64>>)| Pair {
            first: self.features[a].name().to_owned(),
            second: self.features[b].name().to_owned(),
            label: labels.get(output).cloned(),
            importance: deviation_under(&effects.concat(), &shares.concat()),
            first_at: x.curve.clone(),
            second_at: y.curve.clone(),
            effects,
            shares: shares.clone(),
        };
        effects.into_iter().enumerate().map(pair).collect()
    }

    /// The share of rows in two parts at once: of numbers by the normal law, of values by their covariance.
    fn share(&self, (a, x, row): (usize, &Side, usize), (b, y, column): (usize, &Side, usize)) -> f64 {
        let (numeric, apart) = (self.normal.scores.len(), x.shares[row] * y.shares[column]);
        let (score_a, score_b) = (x.at[row][0], y.at[column][0]);
        let common = self.normal.covariance[(x.rows[row], y.rows[column])];
        // Numbers with this mean in the place of 0.
        let moved = |mean: f64, score: f64| apart * (mean * score - mean * mean / 2.0).exp();
        match (a < numeric, b < numeric) {
            (true, true) => {
                let r = common.clamp(-0.99, 0.99);
                let form = r * r * (score_a * score_a + score_b * score_b) - 2.0 * r * score_a * score_b;
                apart * (-form / (2.0 * (1.0 - r * r))).exp() / (1.0 - r * r).sqrt()
            }
            (true, false) => moved(common / (y.shares[column] + self.normal.noise), score_a),
            (false, true) => moved(common / (x.shares[row] + self.normal.noise), score_b),
            (false, false) => (apart + common).max(0.0),
        }
    }

    /// A column in few parts: intervals with about equal shares, or the values that most rows have.
    fn side(&self, column: usize, parts: usize) -> Side {
        let (at, first) = (self.normal.coordinates(column), self.normal.place(column).start);
        let (_, shares) = told(&self.features[column], 0);
        match &self.features[column] {
            Feature::Steps { lower, upper, edges, .. } => {
                let ends = [&[*lower], edges.as_slice(), &[*upper]].concat();
                let each = shares.iter().sum::<f64>() / parts as f64;
                let mut side = Side { curve: Curve::Steps { ends: vec![] }, at: vec![], shares: vec![], rows: vec![] };
                let (mut places, mut sum, mut moment) = (vec![*lower], 0.0, 0.0);
                for (interval, (at, share)) in at.iter().zip(&shares).enumerate() {
                    (sum, moment) = (sum + share, moment + share * at[0]);
                    if sum >= each || interval + 1 == shares.len() {
                        let mean = if sum > 0.0 { moment / sum } else { at[0] };
                        side.at.push(vec![mean]);
                        side.shares.push(sum);
                        side.rows.push(first);
                        places.push(ends[interval + 1]);
                        (sum, moment) = (0.0, 0.0);
                    }
                }
                Side { curve: Curve::Steps { ends: places }, ..side }
            }
            Feature::Categorical { values, .. } => {
                let mut chosen: Vec<usize> = (0..values.len()).collect();
                chosen.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
                chosen.truncate(parts);
                chosen.sort_unstable();
                Side {
                    curve: Curve::Values { values: chosen.iter().map(|&value| values[value].clone()).collect() },
                    at: chosen.iter().map(|&value| at[value].clone()).collect(),
                    shares: chosen.iter().map(|&value| shares[value]).collect(),
                    rows: chosen.iter().map(|&value| first + value).collect(),
                }
            }
            Feature::Numeric { .. } => {
                Side { curve: Curve::Steps { ends: vec![] }, at: vec![], shares: vec![], rows: vec![] }
            }
        }
    }
}

/// A column in few parts: where they are, their coordinates, and the share of rows in each.
struct Side {
    curve: Curve,
    at: Vec<Vec<f64>>,
    shares: Vec<f64>,
    /// The row of the covariance that belongs to each.
    rows: Vec<usize>,
}

/// The effects of a column on one margin, and the shares of rows; equal ones where none are told.
fn told(feature: &Feature, output: usize) -> (Vec<f64>, Vec<f64>) {
    match feature {
        Feature::Numeric { .. } => (Vec::new(), Vec::new()),
        Feature::Steps { coefficients, shares, .. } | Feature::Categorical { coefficients, shares, .. } => {
            let effects = coefficients.iter().map(|c| c.values().get(output).copied().unwrap_or(0.0)).collect();
            let equal = || vec![1.0 / coefficients.len().max(1) as f64; coefficients.len()];
            (effects, if shares.is_empty() { equal() } else { shares.clone() })
        }
    }
}

/// The Hermite polynomial `He_m`.
fn hermite(degree: usize, x: f64) -> f64 {
    let next = |(before, last): (f64, f64), at: usize| (last, x * last - at as f64 * before);
    (0..degree).fold((0.0, 1.0), next).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hermite_polynomials_are_those_of_the_textbook() {
        for x in [-1.5f64, 0.0, 0.3, 2.0] {
            let expected = [1.0, x, x * x - 1.0, x.powi(3) - 3.0 * x, x.powi(4) - 6.0 * x * x + 3.0];
            for (degree, expected) in expected.into_iter().enumerate() {
                assert!((hermite(degree, x) - expected).abs() < 1e-12, "{degree} {x}");
            }
        }
    }
}
