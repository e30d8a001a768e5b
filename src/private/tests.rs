//! Sensitivities on neighbouring data sets, in integers, where the values can still be seen.

mod binned;
mod cells;
mod persons;
mod public;
mod theorems;
mod weights;

use ndarray::{Array1, Array2};
use proptest::prelude::*;

use super::{
    Candidates, Curvature, CutLoss, DescribeQuery, Gradient, Minimization, Perturbation, PrivateDataset, Sensitive,
    query,
};
use crate::grid::{MAX_MULTIPLIER, Shape};
use crate::kernel::{RawRow, RowsBuilder};
use crate::loss::{BoundedLoss, FixedSlope, Glm, OwnLoss};
use crate::privacy::{Adjacency, DatasetId, L2, Norm, Scope};

fn dataset(rows: &[RawRow], adjacency: Adjacency) -> PrivateDataset {
    let mut builder = RowsBuilder::new(Shape::new(2, &[2]));
    rows.iter().for_each(|row| builder.push(row));
    PrivateDataset::new(builder.build(), Scope::of_rows(DatasetId::new("a").unwrap(), adjacency))
}

fn row() -> impl Strategy<Value = RawRow> {
    let value = || prop_oneof![3 => any::<i16>(), 1 => Just(i16::MAX), 1 => Just(i16::MIN), 1 => Just(0i16)];
    let label = prop_oneof![4 => 0i16..=1, 1 => any::<i16>()];
    (value(), value(), 0u16..4, label, prop::bool::weighted(0.1)).prop_map(|(a, b, code, label, null)| RawRow {
        numeric: vec![a, b],
        codes: vec![code],
        label,
        null,
    })
}

/// Every pair of neighbours that `first` and `second` make of common rows.
fn pairs(common: &[RawRow], first: &RawRow, second: &RawRow) -> [(PrivateDataset, PrivateDataset); 2] {
    let with = |row: &RawRow| [std::slice::from_ref(row), common].concat();
    let of = |adjacency| move |rows: &[RawRow]| dataset(rows, adjacency);
    let (add, replace) = (of(Adjacency::AddRemove), of(Adjacency::ReplaceOne));
    [(add(common), add(&with(first))), (replace(&with(first)), replace(&with(second)))]
}

fn difference<N: Norm>(a: &Sensitive<N>, b: &Sensitive<N>) -> Vec<i128> {
    assert_eq!(a.sensitivity.grid(), b.sensitivity.grid());
    a.values.iter().zip(&b.values).map(|(x, y)| x - y).collect()
}

/// By how much of its sensitivity each value moves.
fn shares(before: &[Sensitive<L2>], after: &[Sensitive<L2>], adjacency: Adjacency) -> Vec<f64> {
    let moved = |(a, b): (&Sensitive<L2>, &Sensitive<L2>)| {
        assert_eq!(a.sensitivity.grid(), a.query.sensitivity(adjacency));
        let square: u128 = difference(a, b).iter().map(|x| x.unsigned_abs().pow(2)).sum();
        let grid = u128::from(a.sensitivity.grid());
        assert!(square <= grid * grid, "{square} of {grid} squared");
        (square as f64).sqrt() / grid as f64
    };
    before.iter().zip(after).map(moved).collect()
}

fn square(v: &[i128]) -> f64 {
    v.iter().map(|&x| (x as f64) * (x as f64)).sum()
}

/// Rows of norm up to two of encoded units, one moving the minimiser by `2^36`.
fn problem(loss: BoundedLoss, log2_margin: u32) -> Minimization {
    let row_bound = 2 * 32_767 * 4095;
    let regularization = ((row_bound as f64) * 2f64.powi(30 - 36)).ceil() as u64;
    Minimization {
        loss,
        label_scale: 1.0 / 3.0,
        log2_margin,
        curvature: Curvature { row_bound, regularization, tolerance: 1 << 17 },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn minimizers_of_neighbours_are_no_further_apart_than_stated(
        common in prop::collection::vec(row(), 0..40), first in row(), second in row(),
        squared in any::<bool>(), log2_margin in 55u32..75,
    ) {
        let problem = problem(if squared { BoundedLoss::Huber } else { BoundedLoss::Logistic }, log2_margin);
        for (one, other) in pairs(&common, &first, &second) {
            let (a, b) = (one.minimizer(&problem).unwrap(), other.minimizer(&problem).unwrap());
            let bound = a.sensitivity.grid() as f64;
            prop_assert!(square(&difference(&a, &b)).sqrt() <= bound * (1.0 + 1e-12));
        }
    }

    #[test]
    fn scores_of_neighbours_change_within_the_stated_range(
        common in prop::collection::vec(row(), 0..10), first in row(), second in row(), squared in any::<bool>(),
        weights in prop::collection::vec(prop_oneof![4 => -3.0f64..3.0, 1 => Just(f64::NAN), 1 => Just(1e300)], 5),
    ) {
        let loss = if squared { Glm::Squared } else { Glm::Logistic };
        let weights = Array1::from(weights);
        let points = Array2::from_shape_fn((7, 5), |(i, j)| weights[j] * (i as f64 - 3.0));
        let scoring = CutLoss { loss, label_scale: 1.0, cap: 1.5, most: 1000 };
        let gradient = Gradient { loss: loss.into(), weights: &weights, label_scale: 1.0, clip_norm: 0.7 };
        for (one, other) in pairs(&common, &first, &second) {
            let candidates = Candidates { points: points.clone() };
            let losses = |data: &PrivateDataset| data.losses(&scoring, &candidates).unwrap();
            let vertices = |data: &PrivateDataset| data.vertices(&gradient, 4000).unwrap();
            for (a, b) in [(losses(&one), losses(&other)), (vertices(&one), vertices(&other))] {
                let change = difference(&a, &b);
                let range = change.iter().max().unwrap() - change.iter().min().unwrap();
                prop_assert!(range <= i128::from(a.sensitivity.grid()));
            }
        }
    }
}

fn plain(a: i16, label: i16) -> RawRow {
    RawRow { numeric: vec![a, 0], codes: vec![9], label, null: false }
}

#[test]
fn extreme_rows_use_the_whole_bound() {
    // Labels so far away that Huber's slope is -1 or 1 wherever the minimiser lies.
    let problem = problem(BoundedLoss::Huber, 70);
    for (one, other) in pairs(&[], &plain(i16::MAX, i16::MAX), &plain(i16::MAX, i16::MIN)) {
        let (a, b) = (one.minimizer(&problem).unwrap(), other.minimizer(&problem).unwrap());
        let used = square(&difference(&a, &b)).sqrt() / a.sensitivity.grid() as f64;
        assert!(used > 0.7 && used <= 1.0, "{used}: a row of norm 1.41 of 2");
    }
    let weights = Array1::from(vec![50.0, 0.0, 0.0, 0.0, 0.0]);
    let gradient = Gradient { loss: Glm::Squared.into(), weights: &weights, label_scale: 1.0, clip_norm: 1.0 };
    for (one, other) in pairs(&[], &plain(i16::MAX, 0), &plain(i16::MIN, 0)) {
        let (a, b) = (one.vertices(&gradient, 100).unwrap(), other.vertices(&gradient, 100).unwrap());
        let change = difference(&a, &b);
        let range = change.iter().max().unwrap() - change.iter().min().unwrap();
        assert!(range as f64 >= 0.49 * a.sensitivity.grid() as f64);
    }
}

/// Slopes without measure, of a loss from outside: what a row moves is decided by its clip alone.
#[test]
fn a_loss_from_outside_moves_sums_by_the_stated_sensitivity_and_no_more() {
    let absurd = OwnLoss::of_residual("absurd", |r| 5e24 * r * r, |r| 1e25 * r).unwrap();
    let (mut largest, bound) = (0f64, 1u64 << 25);
    for weights in [[0.0; 5], [1.0, -2.0, 0.5, 0.0, 3.0], [f64::NAN; 5], [1e300, -1e300, 0.0, f64::INFINITY, 0.0]] {
        let weights = Array1::from(weights.to_vec());
        let gradient = Gradient { loss: Glm::Own(absurd).into(), weights: &weights, label_scale: 1.0, clip_norm: 0.7 };
        let ends = [i16::MIN, -1, 0, 1, i16::MAX];
        for (a, label) in ends.iter().flat_map(|&a| ends.map(|label| (a, label))) {
            for (one, other) in pairs(&[plain(5, 1)], &plain(a, label), &plain(-a.max(-i16::MAX), 3)) {
                let sum = |data: &PrivateDataset| data.clipped(bound).unwrap().gradient_sum(&gradient).unwrap();
                let (x, y) = (sum(&one), sum(&other));
                let used = square(&difference(&x, &y)).sqrt() / x.sensitivity.grid() as f64;
                assert!(used <= 1.0, "{used}");
                largest = largest.max(used);
            }
        }
    }
    assert!(largest > 0.99, "{largest} of what was stated");
}

#[test]
fn a_perturbed_answer_is_within_the_spread_of_its_exact_minimizer() {
    // Without rows the minimiser is -b / lambda. One row more has the same one for b less the gradient there.
    let problem = Minimization { label_scale: 1.0, ..problem(BoundedLoss::Logistic, 68) };
    let step = 1u64 << 50;
    let perturbation: Perturbation = problem.perturbation(step);
    perturbation.check().unwrap();
    let row = plain(20_000, 1);
    let (none, one) = (dataset(&[], Adjacency::AddRemove), dataset(&[row], Adjacency::AddRemove));
    let m = f64::from(MAX_MULTIPLIER);
    let q = [20_000.0, 0.0, 0.0, 0.0, 32_767.0];
    let lambda = problem.curvature.regularization as f64 / 2f64.powi(30);
    for seed in [-7i64, 1, 3, 1000] {
        let noise: Vec<i64> = (0..5).map(|j| seed * (j - 2) * (1 << 36)).collect();
        let length = step as f64 / 2f64.powi(62);
        let at: Vec<f64> = noise.iter().map(|&b| -(b as f64) * length / lambda).collect();
        let margin: f64 = at.iter().zip(q).map(|(z, q)| z * m * q).sum::<f64>() * 2f64.powi(-68);
        let slope =
            FixedSlope::new(BoundedLoss::Logistic, 1.0).at((margin * 2f64.powi(62)) as i128, 1) as f64 / 2f64.powi(62);
        let moved: Vec<i64> =
            noise.iter().zip(q).map(|(&b, q)| (b as f64 - slope * m * q / length).round() as i64).collect();
        let a = none.perturbed_minimizer(&problem, &noise, &perturbation).unwrap();
        let b = one.perturbed_minimizer(&problem, &moved, &perturbation).unwrap();
        let spread = query::PerturbedMinimizer { curvature: problem.curvature, dimension: 5 };
        let spread = spread.sensitivity(Adjacency::AddRemove) as f64;
        assert!(square(&difference(&a, &b)).sqrt() <= spread, "{seed}");
        assert!(square(&difference(&a, &a)) == 0.0 && square(&a.values) > 0.0);
    }
}

#[test]
fn certificates_that_could_fail_are_refused() {
    let data = dataset(&[plain(1, 1)], Adjacency::AddRemove);
    let good = problem(BoundedLoss::Logistic, 70);
    for curvature in [
        Curvature { tolerance: 1, ..good.curvature },
        Curvature { regularization: 0, ..good.curvature },
        Curvature { row_bound: 0, ..good.curvature },
        Curvature { row_bound: u64::MAX, ..good.curvature },
        Curvature { regularization: u64::MAX, tolerance: u64::MAX, ..good.curvature },
    ] {
        assert!(data.minimizer(&Minimization { curvature, ..good }).is_err(), "{curvature:?}");
    }
    for log2_margin in [0, 29, 81, u32::MAX] {
        assert!(data.minimizer(&Minimization { log2_margin, ..good }).is_err());
    }
    assert!(good.perturbation(0).check().is_err());
    assert!(good.perturbation(u64::MAX).check().is_err());
}
