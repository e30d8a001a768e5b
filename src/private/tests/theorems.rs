//! Sensitivities and curvatures recomputed from their theorems, in other numbers than those of the code, and rows that are no
//! records in every query.
//!
//! Planner and check share one function for each; a mistake in it would pass both.

use ndarray::{Array1, Array2};

use super::super::{
    Candidates, Curvature, CutLoss, DirectionInputs, Gradient, Minimization, PassPlan, Perturbation, PhasePlan,
    PrivateDataset, Query, Sensitive, query,
};
use crate::grid::{IntegerMap, MomentWeights, ScoreStep, Scoring, Shape};
use crate::kernel::{RawRow, RowsBuilder};
use crate::loss::{BoundedLoss, Curved, Glm, Objective, OwnLoss};
use crate::privacy::{Adjacency, DatasetId, L2, Norm, Scope};

const RELATIONS: [(Adjacency, f64); 2] = [(Adjacency::AddRemove, 1.0), (Adjacency::ReplaceOne, 2.0)];

fn dataset(rows: &[RawRow], adjacency: Adjacency) -> PrivateDataset {
    let mut builder = RowsBuilder::new(Shape::new(2, &[2]));
    rows.iter().for_each(|row| builder.push(row));
    PrivateDataset::new(builder.build(), Scope::of_rows(DatasetId::new("a").unwrap(), adjacency))
}

/// The stated sensitivity is no less than the theorem's and hardly more.
fn meets(query: impl Into<Query>, adjacency: Adjacency, theorem: f64) {
    let query = query.into();
    let stated = query.sensitivity(adjacency) as f64;
    assert!(stated >= theorem * (1.0 - 1e-12), "{adjacency} {query:?}: {stated}, the theorem says {theorem}");
    assert!(stated <= theorem * (1.0 + 1e-9) + 2.0, "{adjacency} {query:?}: {stated}, the theorem says {theorem}");
}

#[test]
fn sensitivities_are_those_of_the_theorems() {
    let root_of_two = std::f64::consts::SQRT_2;
    for (adjacency, factor) in RELATIONS {
        // A sum of vectors of bounded norm moves by one vector, or by two.
        for bound in [1u64, 77, 1 << 27, (1 << 33) + 5] {
            meets(query::ClippedSum { clip_steps: bound }, adjacency, factor * bound as f64);
            meets(query::Direction { l2_sensitivity: bound }, adjacency, factor * bound as f64);
            // Positive semidefinite matrices of rank one are at most the root of two apart; the diagonal weighs 99.
            let matrix = 99.0 * bound as f64 * if factor == 1.0 { 1.0 } else { root_of_two };
            meets(query::Gram { clip_steps: bound }, adjacency, matrix);
            meets(query::Hessian { clip_steps: bound }, adjacency, matrix);
            // Scores towards both signs of each coordinate: from -bound to bound.
            meets(query::Vertices { clip_steps: bound, candidates: 8 }, adjacency, factor * 2.0 * bound as f64);
            meets(query::Losses { most: bound, candidates: 8 }, adjacency, factor * bound as f64);
            meets(query::Intervals { weight: bound, candidates: 8 }, adjacency, factor * bound as f64);
            // One count down and another up.
            let counts = bound as f64 * if factor == 1.0 { 1.0 } else { root_of_two };
            meets(query::Vocabulary { weight: bound }, adjacency, counts);
            for columns in [1u64, 5, 40] {
                // The count and one of two numbers of each column; or both numbers of each column.
                for counted in [false, true] {
                    let moved = if factor == 1.0 { columns + u64::from(counted) } else { 2 * columns };
                    let query = query::Kinds { weight: bound, columns, counted };
                    meets(query, adjacency, bound as f64 * (moved as f64).sqrt());
                }
            }
        }
        for columns in [0usize, 3, 200] {
            let weights = MomentWeights {
                count: 32_767,
                features: 5,
                squares: 9,
                label: 3,
                label_square: 11,
                shares: 0,
                sizes: 0,
            };
            let all = 1.0 + columns as f64 * (25.0 + 81.0) + 9.0 + 121.0;
            meets(query::Moments { weights, columns }, adjacency, factor * 32_767.0 * all.sqrt());
        }
        for (numeric, categorical, target) in [(0usize, 3usize, false), (14, 8, false), (2, 0, true)] {
            // Five levels counted twice, six counted four times, each value once; two rows share no count at worst.
            let ends = numeric as f64 * 5.0 * 4.0 + categorical as f64 + if target { 6.0 * 16.0 } else { 0.0 };
            let query = query::Marginals { numeric, categorical, target, step: 1 << 22 };
            meets(query, adjacency, 2f64.powi(22) * (factor * ends).sqrt());
        }
        for (scoring, entries) in [
            (Scoring::Label, 4.0),
            (Scoring::Score, 4.0),
            (Scoring::Class { labels: 7 }, 3.0),
            (Scoring::Number, 3.0),
            (Scoring::Quantile, 3.0),
            (Scoring::Count, 3.0),
        ] {
            let query = query::Scores { scoring, weight: 1 << 20 };
            // Entries are between zero and the weight, and two records count as one each: a record in the place of another
            // moves no more of them than a record in the place of none.
            meets(query, adjacency, 2f64.powi(20) * f64::sqrt(entries));
        }
        for batches in [1u32, 2, 3, 64] {
            // The first column of the matrix: binom(2k, k) / 4^k, in steps of 2^-10.
            let mut square = 0.0;
            let mut root = 1.0f64;
            for k in 0..batches {
                square += (1024.0 * root).floor().powi(2);
                root *= (2.0 * f64::from(k) + 1.0) / (2.0 * f64::from(k) + 2.0);
            }
            let query = query::PrefixSums { clip_steps: 1 << 25, batches };
            meets(query, adjacency, factor * 2f64.powi(25) * square.sqrt());
        }
        // So few steps that rounding down would show: five over two, and over four.
        for step in [1u64 << 63, 1 << 62] {
            let curvature = Curvature { row_bound: 5, regularization: 2 << 30, tolerance: 0 };
            let noise = Perturbation { curvature, log2_margin: 64, quarters: 1, step };
            let steps = 5.0 * 2f64.powi(62) / step as f64;
            meets(noise, adjacency, factor * steps);
            meets(query::Minimizer { curvature, dimension: 1 }, adjacency, factor * 2.5 + 1.0);
        }
        for dimension in [1usize, 9, 10, 300] {
            let curvature = Curvature { row_bound: 123_456_789, regularization: 1 << 22, tolerance: 1 << 17 };
            let (bound, lambda) = (123_456_789.0, 2f64.powi(22 - 30));
            // Each answer is within the tolerance and half a step in each coordinate of its minimiser.
            let answers = 2.0 * (2f64.powi(17) + (dimension as f64).sqrt() / 2.0);
            meets(query::Minimizer { curvature, dimension }, adjacency, factor * bound / lambda + answers);
            meets(query::PerturbedMinimizer { curvature, dimension }, adjacency, answers);
        }
    }
}

/// `4^p (2 L / 2^(s + 2 p) + (m + 2) r)` for the worst phase, `r` one unit in each coordinate and a slope off by one.
#[test]
fn later_phases_are_charged_their_rounding_on_their_finer_grid() {
    for lipschitz in [1u64, 1 << 20, 3 << 44] {
        for shift in [0u32, 6, 20, 40] {
            for (rows, dimension) in [(1u64, 1usize), (60, 9), (1000, 3), (100_000, 50), (1 << 30, 4)] {
                let plan = PhasePlan { lipschitz, shift, rows, dimension, max_phases: 8 };
                let worst = |slack: f64| {
                    let of = |phase: u32| {
                        let block = (rows >> (phase + 1)) as f64;
                        let root = (dimension as f64).sqrt();
                        let step = 2f64.powi(-((shift + 2 * phase) as i32));
                        let rounding = root + root * 32_767.0 * step + slack;
                        4f64.powi(phase as i32) * (2.0 * lipschitz as f64 * step + slack + (block + 2.0) * rounding)
                    };
                    (0..plan.phases()).map(of).fold(0.0, f64::max)
                };
                let stated = plan.sensitivity() as f64;
                assert!(stated >= worst(0.0) * (1.0 - 1e-12), "{plan:?}: {stated} of {}", worst(0.0));
                assert!(stated <= worst(3.0) * (1.0 + 1e-12), "{plan:?}: {stated} of {}", worst(3.0));
            }
        }
    }
}

/// Where rounding would be most of what is charged, phases are left out; elsewhere none is.
#[test]
fn phases_whose_rounding_would_count_are_left_out() {
    let plan = |shift: u32, rows: u64| PhasePlan { lipschitz: 1 << 42, shift, rows, dimension: 4, max_phases: 8 };
    let phases = |plan: PhasePlan| plan.with_little_rounding().phases();
    assert_eq!(phases(plan(6, 1 << 14)), 8);
    let few: Vec<u32> = (16..=40).map(|log2| phases(plan(12, 1 << log2))).collect();
    assert_eq!(few.first(), Some(&8));
    assert_eq!(few.last(), Some(&1));
    assert!(few.is_sorted_by(|more, less| more >= less), "{few:?}");
    for log2 in 10..28 {
        let reach = |plan: &PhasePlan| (plan.lipschitz >> 11) as f64;
        let kept = plan(12, 1 << log2).with_little_rounding();
        let share = kept.sensitivity() as f64 / reach(&kept);
        // One phase there always is.
        let little = share <= 1.0 + 1.0 / 16.0 + 1e-4;
        assert!(little || kept.phases() == 1, "2^{log2} rows, {} phases: {share}", kept.phases());
        let more = PhasePlan { max_phases: kept.phases() + 1, ..kept };
        let share = more.sensitivity() as f64 / reach(&more);
        assert!(kept.phases() == 8 || share > 1.0 + 1.0 / 16.0, "2^{log2} rows: {share} with a phase more");
    }
}

/// A row of a batch is one of so many, and moves the mean step by its share: twice the bound, if it is replaced.
#[test]
fn a_pass_is_charged_no_less_than_one_step_hidden_by_all_that_follow() {
    for steps in [1u32, 2, 9, 100] {
        let plan = PassPlan::largest(3 << 44, 6, 5000, 4, steps);
        let of = |(batch, left): (u64, u32)| {
            let apart = 2.0 * 3.0 * 2f64.powi(44 - 6) / batch as f64;
            (1..=left).map(|i| apart / f64::from(i).sqrt()).fold(f64::INFINITY, f64::min)
        };
        let least = plan.batches().unwrap().into_iter().rev().zip(1..).map(of).fold(0.0, f64::max);
        assert!(plan.sensitivity() as f64 >= least * (1.0 - 1e-12), "{plan:?}");
    }
}

/// Sherman and Morrison: `K |g| b / (r (r + b))` is how far exact directions move, and two answers are off by `2^16` each.
#[test]
fn a_direction_leaves_room_for_what_both_answers_are_off() {
    let gradient = [3i128 << 20, -(4i128 << 20)];
    for (clip_steps, ridge) in [(1u64 << 20, 1u64 << 24), (1 << 27, 1 << 27)] {
        for l2_sensitivity in [1u64 << 18, (1 << 17) + 4096, 1 << 40] {
            let scale =
                DirectionInputs { gradient: &gradient, clip_steps, ridge, l2_sensitivity }.scale().unwrap() as f64;
            let (b, r) = (clip_steps as f64, ridge as f64);
            let moved = scale * 5.0 * 2f64.powi(20) * b / (r * (r + b));
            assert!(moved + 2.0 * 2f64.powi(16) <= l2_sensitivity as f64 * (1.0 + 1e-12), "{l2_sensitivity}: {moved}");
            assert!(moved + 2.0 * 2f64.powi(16) >= l2_sensitivity as f64 * 0.9, "{l2_sensitivity}: {moved}");
        }
        // A sensitivity that two answers use up alone pays for no direction.
        for l2_sensitivity in [0, 1 << 16, 1 << 17] {
            assert!(
                DirectionInputs { gradient: &gradient, clip_steps, ridge, l2_sensitivity }.scale().is_err(),
                "{l2_sensitivity}"
            );
        }
    }
}

/// The determinant by which the noise of an objective is distorted, measured: where the noise moves, the minimiser without rows
/// moves `1 + beta / Lambda` times as far as that with one row of the largest norm at its largest curvature.
#[test]
fn the_curvature_that_is_paid_for_is_that_of_the_objective() {
    let row_bound = 2 * 32_767 * 4095;
    let regularization = ((row_bound as f64) * 2f64.powi(30 - 36)).ceil() as u64;
    let curvature = Curvature { row_bound, regularization, tolerance: 1 << 17 };
    // A row of that norm at the largest multiplier: all four entries at their bound.
    let row = RawRow { numeric: vec![i16::MAX; 2], codes: vec![0], label: 1, null: false };
    let along = [1.0, 1.0, 1.0, 0.0, 1.0].map(|x| x * 32_767.0);
    let step = 1u64 << 50;
    // The slope of the logistic loss at a margin of zero is -1/2 for label 1; Huber's loss at its target is flat.
    for (loss, label, slope, log2_margin) in [
        (BoundedLoss::Logistic, 1, -0.5, 61),
        (BoundedLoss::Logistic, 1, -0.5, 63),
        (BoundedLoss::Logistic, 0, 0.5, 66),
        (BoundedLoss::Huber, 0, 0.0, 64),
    ] {
        let problem = Minimization { loss, label_scale: 1.0, log2_margin, curvature };
        let perturbation = problem.perturbation(step);
        let row = RawRow { label, ..row.clone() };
        let at = |rows: &[RawRow], share: f64| {
            // Noise against the row's gradient puts the minimiser at a margin of zero.
            let noise: Vec<i64> =
                along.iter().map(|q| ((share - slope) * 4095.0 * q * 2f64.powi(62 - 50)).round() as i64).collect();
            let data = dataset(rows, Adjacency::AddRemove);
            data.perturbed_minimizer(&problem, &noise, &perturbation).unwrap().values
        };
        let moved = |rows: &[RawRow]| {
            let (a, b) = (at(rows, 2f64.powi(-9)), at(rows, -2f64.powi(-9)));
            a.iter().zip(&b).map(|(x, y)| ((x - y) as f64).powi(2)).sum::<f64>().sqrt()
        };
        let measured = moved(&[]) / moved(&[row]) - 1.0;
        let stated = perturbation.curvature_ratio();
        assert!((stated / measured - 1.0).abs() < 5e-3, "{loss:?} {log2_margin}: {stated} is {measured}");
    }
}

fn record(a: i16, b: i16, code: u16, label: i16) -> RawRow {
    RawRow { numeric: vec![a, b], codes: vec![code], label, null: false }
}

/// Everything that can be asked of rows, as plain numbers.
fn every_answer(rows: &[RawRow]) -> Vec<(&'static str, Vec<i128>)> {
    fn plain<N: Norm>(answer: Sensitive<N>) -> Vec<i128> {
        answer.values
    }
    let data = dataset(rows, Adjacency::AddRemove);
    let weights = Array1::from(vec![0.3, -0.2, 0.5, 0.1, -0.4]);
    let twice = Array1::from([weights.to_vec(), weights.iter().map(|w| -w).collect()].concat());
    let moments = MomentWeights { count: 7, features: 5, squares: 3, label: 2, label_square: 11, shares: 0, sizes: 0 };
    let gradient = |loss: Objective| {
        let weights = if loss.outputs() == 1 { &weights } else { &twice };
        Gradient { loss, weights, label_scale: 1.0, clip_norm: 0.7 }
    };
    let sum = |loss: Objective| data.clipped(1 << 25).unwrap().gradient_sum(&gradient(loss)).unwrap();
    let outside = OwnLoss::of_residual("outside", |r| 0.5 * r * r, |r| r).unwrap();
    let map = IntegerMap::nearest(&Array2::<f64>::eye(5).mapv(|x| 1.5 * x + 0.1), 4).unwrap();
    let mapped = data.clipped_through(map, 1 << 28).unwrap();
    let weight = 1000;
    let scores = |scoring, loss: Objective, weights: &Array1<f64>| {
        let step = ScoreStep { weights: weights.as_slice().unwrap(), label_scale: 1.0, scoring, weight };
        plain(data.scores(loss, &step).unwrap())
    };
    let cut = CutLoss { loss: Glm::Logistic, label_scale: 1.0, cap: 1.5, most: 1000 };
    let points = Array2::from_shape_fn((4, 5), |(i, j)| weights[j] * (i as f64 - 1.0));
    let row_bound = 2 * 32_767 * 4095;
    let curvature = Curvature { row_bound, regularization: row_bound >> 6, tolerance: 1 << 17 };
    let problem = Minimization { loss: BoundedLoss::Logistic, label_scale: 1.0, log2_margin: 64, curvature };
    let asked = DirectionInputs {
        gradient: &[1 << 30, 5, -(1 << 28), 0, 9],
        clip_steps: 1 << 27,
        ridge: 1 << 25,
        l2_sensitivity: 1 << 40,
    };
    let sensitive: Vec<(&'static str, Sensitive<L2>)> = vec![
        ("moments", data.moments(&moments).unwrap()),
        ("gram", data.gram(1 << 24, 100).unwrap()),
        ("hessian", data.hessian(Curved::Logistic, &weights, 1 << 24, 100).unwrap()),
        ("one margin", sum(Glm::Logistic.into())),
        ("a loss from outside", sum(Glm::Own(outside).into())),
        ("two margins", sum(Objective::Softmax { classes: 2 })),
        ("through a map", mapped.gradient_sum(&gradient(Glm::Squared.into())).unwrap()),
        ("minimiser", data.minimizer(&problem).unwrap()),
        ("direction", data.direction(Curved::Logistic, &weights, &asked).unwrap()),
    ];
    let mut all: Vec<_> = sensitive.into_iter().map(|(name, answer)| (name, plain(answer))).collect();
    all.push(("labels", scores(Scoring::Label, Glm::Logistic.into(), &weights)));
    all.push(("numbers", scores(Scoring::Number, Glm::Squared.into(), &weights)));
    all.push(("classes", scores(Scoring::Class { labels: 2 }, Objective::Softmax { classes: 2 }, &twice)));
    all.push(("losses", plain(data.losses(&cut, &Candidates { points }).unwrap())));
    all.push(("vertices", plain(data.vertices(&gradient(Glm::Logistic.into()), 4000).unwrap())));
    all
}

/// What is no record counts for nothing, whatever is left in its cells and wherever it stands.
#[test]
fn a_row_that_is_no_record_changes_no_query() {
    let records: Vec<RawRow> =
        (0..70i16).map(|i| record(450 * i - 15_000, 16_000 - 400 * i, (i % 3) as u16, i % 2)).collect();
    let before = every_answer(&records);
    assert!(before.iter().all(|(_, values)| values.iter().any(|v| *v != 0)));
    let odd = [record(i16::MAX, i16::MIN, 0, 1), record(0, 0, 9, 0), record(-1, 1, 1, i16::MIN)];
    let nothing = every_answer(&[]);
    for (place, row) in [0, 31, 32, 69, 70].into_iter().zip(odd.iter().cycle()) {
        let null = RawRow { null: true, ..row.clone() };
        let mut more = records.clone();
        more.insert(place, null.clone());
        for (found, expected) in every_answer(&more).into_iter().zip(&before) {
            assert_eq!(&found, expected, "at {place}");
        }
        assert_eq!(every_answer(&[null]), nothing);
        // A record there shows in every answer, so that the test can see one.
        more[place] = record(20_000, -12_000, 0, 1);
        let shown = every_answer(&more).into_iter().zip(&before);
        shown.for_each(|(found, expected)| assert_ne!(&found, expected, "at {place}"));
    }
}
