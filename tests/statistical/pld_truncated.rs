//! Poisson samples that are cut to a largest batch: references by another method, the mechanism itself, and what it lies between.
//!
//! `tests/golden/truncated.py` writes `truncated.csv` and documents its columns.

use rhograd::accounting::pld::{self, Pld};
use rhograd::accounting::{rdp, zcdp};
use rhograd::num::binomial::upper_tail;
use rhograd::privacy::{Adjacency, DpEvent, Mechanism};

use crate::{del, eps};

use Adjacency::{AddRemove, ReplaceOne};

fn gaussian(noise_multiplier: f64) -> Mechanism {
    Mechanism::Gaussian { noise_multiplier }
}

fn cut(noise_multiplier: f64, rate: f64, rows: u64, max_batch: u64) -> DpEvent {
    DpEvent::TruncatedPoissonSampled { mechanism: gaussian(noise_multiplier), rate, rows, max_batch }
}

fn times(event: DpEvent, count: u64) -> DpEvent {
    DpEvent::Repeated { event: Box::new(event), count }
}

fn check(step: usize, tolerance: f64) -> usize {
    let rows = include_str!("../golden/truncated.csv").lines().skip(1).step_by(step);
    rows.map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().unwrap();
        let whole = |i: usize| cells[i].parse::<u64>().unwrap();
        let event = times(cut(number(0), number(1), whole(2), whole(3)), whole(4));
        let both = Pld::new(&event, AddRemove).unwrap().ln_delta_by_direction(eps(number(6)), tolerance).unwrap();
        let found = if cells[5] == "remove" { both.remove } else { both.add };
        // Above by the pair with full batches, below by the sample as it is: the rows are so many at most.
        let (sample, truth) = (number(7), number(8));
        assert!(truth - 1e-9 <= found.upper && found.upper <= truth + tolerance, "{line}: {found:?}");
        assert!(sample - tolerance <= found.lower && found.lower <= sample + 1e-9, "{line}: {found:?}");
    })
    .count()
}

#[test]
fn bounds_are_those_of_references_by_another_method() {
    // Fewer and wider than they can be: code of tests is slow.
    assert_eq!(check(5, 2e-2), 20);
}

#[test]
#[ignore = "takes minutes without optimization"]
fn all_bounds_are_those_of_references() {
    assert_eq!(check(1, 1e-3), 100);
}

/// `delta` of two mixtures of normal laws on a line, from one to the other, by the trapezoidal rule.
fn divergence(p: &[(f64, f64)], q: &[(f64, f64)], sigma: f64, epsilon: f64) -> f64 {
    const POINTS: i32 = 40_000;
    let (from, to) = (-60.0, 60.0);
    let width = (to - from) / f64::from(POINTS);
    let density = |law: &[(f64, f64)], u: f64| -> f64 {
        let one = |&(weight, mean): &(f64, f64)| weight * (-0.5 * ((u - mean) / sigma).powi(2)).exp();
        law.iter().map(one).sum::<f64>() / (sigma * std::f64::consts::TAU.sqrt())
    };
    let at = |i: i32| {
        let u = from + width * f64::from(i);
        (density(p, u) - epsilon.exp() * density(q, u)).max(0.0)
    };
    (0..=POINTS).map(at).sum::<f64>() * width
}

/// What a step adds up, with and without a row of value 1 beside `others` rows of this value.
fn sums(others: u64, value: f64, rate: f64, most: u64) -> [Vec<(f64, f64)>; 2] {
    let choose = |n: u64, k: u64| (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for k in 0..=others {
        let drawn = choose(others, k) * rate.powi(k as i32) * (1.0 - rate).powi((others - k) as i32);
        let kept = k.min(most) as f64 * value;
        without.push((drawn, kept));
        let joins = if k < most { rate } else { rate * most as f64 / (k + 1) as f64 };
        with.push((drawn * (1.0 - joins), kept));
        with.push((drawn * joins, if k < most { kept + 1.0 } else { kept - value + 1.0 }));
    }
    [with, without]
}

#[test]
fn neighbours_are_never_told_apart_better_than_stated() {
    let (mut nearest, mut needed) = (f64::INFINITY, f64::NEG_INFINITY);
    for (others, rate, most, sigma) in [(7, 0.4, 3, 1.0), (12, 0.25, 5, 0.8), (5, 0.9, 2, 2.0), (9, 0.1, 1, 0.5)] {
        let pld = Pld::new(&cut(sigma, rate, others + 1, most), AddRemove).unwrap();
        let uncut = Pld::new(&DpEvent::poisson(gaussian(sigma), rate, 1), AddRemove).unwrap();
        for epsilon in [0.1, 1.0] {
            let bound = pld.ln_delta_by_direction(eps(epsilon), 1e-2).unwrap();
            // Others may be few, null, of the same value or of the opposite one.
            for (others, value) in [(0, 0.0), (others, 0.0), (others, 1.0), (others, -1.0), (most, -1.0)] {
                let [with, without] = sums(others, value, rate, most);
                let remove = divergence(&with, &without, sigma, epsilon).ln();
                let add = divergence(&without, &with, sigma, epsilon).ln();
                assert!(remove <= bound.remove.upper + 1e-4 && add <= bound.add.upper + 1e-4, "{rate} {most} {value}");
                nearest = nearest.min(bound.remove.upper - remove);
                // A sample that is never cut is one of those.
                if others == 0 {
                    assert!(bound.remove.lower <= remove + 1e-4 && bound.add.lower <= add + 1e-4);
                }
            }
            // Where others have the opposite value, cutting tells more than the sample alone does.
            let [with, without] = sums(others, -1.0, rate, most);
            let plain = uncut.ln_delta_by_direction(eps(epsilon), 1e-2).unwrap();
            needed = needed.max(divergence(&with, &without, sigma, epsilon).ln() - plain.remove.upper);
        }
    }
    assert!(needed > 0.1, "{needed}");
    // One of these pairs needs most of what is stated.
    assert!(nearest < 0.15, "{nearest}");
}

/// A row that is replaced, where all others have the value that takes its place: more than the sample tells, and no more than the sample with half the noise.
#[test]
fn a_replaced_row_leaves_its_place_to_another() {
    let (others, rate, most, sigma) = (49, 0.1, 1, 1.0);
    let [with, _] = sums(others, -1.0, rate, most);
    // The same batches, in which the row has the value of the others.
    let same: Vec<(f64, f64)> = sums(others, -1.0, rate, most)[0]
        .iter()
        .enumerate()
        .map(|(i, (p, kept))| (*p, if i % 2 == 1 { kept - 2.0 } else { *kept }))
        .collect();
    let at = |event: &DpEvent| pld::ln_delta(event, ReplaceOne, eps(2.0), 1e-2).unwrap();
    let [plain, half] = [sigma, sigma / 2.0].map(|z| at(&DpEvent::poisson(gaussian(z), rate, 1)));
    let shown = divergence(&with, &same, sigma, 2.0).ln();
    assert!(plain.upper + 1.0 < shown && shown <= half.upper, "{plain:?} {shown} {half:?}");
    // Where no batch can be full nothing takes its place.
    assert_eq!(at(&cut(sigma, rate, 10, 10)), plain);
}

#[test]
fn many_steps_cost_what_the_sample_does_and_what_full_batches_show() {
    // As DP-SGD has it: a batch of 100 of 10,000 rows, cut at 160.
    let (z, rate, rows, most, steps) = (0.8, 0.01, 10_000, 160, 1000);
    let full = upper_tail(most, rows - 1, rate);
    assert!(full > 1e-9 && full < 1e-7, "{full}");
    let at = |event: &DpEvent| Pld::new(event, AddRemove).unwrap().ln_delta(eps(3.0), 1e-3).unwrap();
    let plain = at(&DpEvent::poisson(gaussian(z), rate, steps));
    let found = at(&times(cut(z, rate, rows, most), steps));
    // All that a full batch shows as a failure, once; and as two laws that are near each other, as published.
    let failure = -(steps as f64 * (-full).ln_1p()).exp_m1();
    let published = plain.lower.exp() + steps as f64 * (1.0 + 3f64.exp()) * full;
    assert!(found.upper > plain.lower && found.lower <= plain.upper);
    assert!(found.upper.exp() < plain.upper.exp() + rate * failure * 1.1, "{found:?} {plain:?} {failure}");
    assert!(found.upper.exp() < published, "{found:?} {published}");
}

#[test]
fn more_rows_and_smaller_batches_cost_more() {
    let renyi = |event: &DpEvent| rdp::curve(event, AddRemove).unwrap().at(4.0).unwrap();
    let of = |rows, most| renyi(&cut(1.0, 0.1, rows, most));
    let [few, some, many] = [40, 30, 20].map(|most| of(200, most));
    assert!(renyi(&DpEvent::poisson(gaussian(1.0), 0.1, 1)) <= few && few < some && some < many);
    assert!(of(150, 20) < of(200, 20) && of(200, 20) < of(400, 20));
    let epsilon = |event: DpEvent| pld::epsilon(&times(event, 10), AddRemove, del(1e-6), 1e-2).unwrap();
    let sampled = |z: f64| epsilon(DpEvent::PoissonSampled { mechanism: gaussian(z), rate: 0.1 });
    // No batch is ever full: the same event.
    assert_eq!(epsilon(cut(1.0, 0.1, 50, 50)), sampled(1.0));
    // Batches that are always full: every row takes the place of another.
    let (always, doubled) = (epsilon(cut(1.0, 0.1, 1_000_000, 1)), sampled(0.5));
    assert!((always.upper - doubled.upper).abs() < 2e-2, "{always:?} {doubled:?}");
    assert!(always.lower <= sampled(1.0).upper);
}

#[test]
fn renyi_divergences_are_means_of_both_kinds() {
    for (z, rate, rows, most) in [(1.0f64, 0.1, 50, 8), (2.0, 0.3, 200, 70), (0.7, 0.02, 1000, 25)] {
        let full = upper_tail(most, rows - 1, rate);
        let second = |mu: f64| rate * rate * (mu * mu).exp_m1();
        let truth = ((1.0 - full) * second(1.0 / z) + full * second(2.0 / z)).ln_1p();
        let found = rdp::curve(&cut(z, rate, rows, most), AddRemove).unwrap().at(2.0).unwrap();
        assert!(found >= truth && found < truth * 1.002, "{z} {rate}: {found} {truth}");
    }
}

#[test]
fn what_has_no_bound_is_refused_with_its_reason() {
    let refused = |event: &DpEvent, adjacency: Adjacency, part: &str| {
        let problem = Pld::new(&times(event.clone(), 2), adjacency).unwrap_err().to_string();
        assert!(problem.contains(part), "{problem}");
    };
    refused(&cut(1.0, 0.1, 100, 20), ReplaceOne, "half the noise");
    let by_orders = rdp::curve(&cut(1.0, 0.1, 100, 20), ReplaceOne).unwrap_err().to_string();
    assert!(by_orders.contains("half the noise"), "{by_orders}");
    refused(&cut(1.0, 0.1, 100, 0), AddRemove, "max_batch");
    refused(&cut(1.0, 0.1, 0, 5), AddRemove, "rows");
    refused(&cut(0.0, 0.1, 100, 5), AddRemove, "noise multiplier");
    refused(&cut(1.0, 1.5, 100, 5), AddRemove, "probability");
    refused(&cut(1.0, f64::NAN, 100, 5), AddRemove, "probability");
    let laplace = Mechanism::Laplace { scale: 1.0 };
    let event = DpEvent::TruncatedPoissonSampled { mechanism: laplace, rate: 0.1, rows: 100, max_batch: 20 };
    refused(&event, AddRemove, "Gaussian");
    assert!(rdp::curve(&event, AddRemove).is_err() && zcdp::of_event(&cut(1.0, 0.1, 100, 20), AddRemove).is_err());
    // Every row with twice the sensitivity leaves the range of laws; by orders it is a Gaussian mechanism.
    refused(&cut(0.05, 0.1, 100, 5), AddRemove, "noise");
    assert!(rdp::curve(&cut(0.05, 0.1, 100, 5), AddRemove).unwrap().at(2.0).unwrap() >= 1600.0);
    // Nobody is ever drawn.
    assert_eq!(pld::epsilon(&cut(1.0, 0.0, 100, 5), AddRemove, del(1e-6), 1e-3).unwrap().upper, 0.0);
    let text = serde_json::to_string(&cut(1.5, 0.25, 100, 40)).unwrap();
    assert!(text.contains(r#""kind":"truncated-poisson-sampled""#) && text.contains(r#""max_batch":40"#), "{text}");
    assert_eq!(serde_json::from_str::<DpEvent>(&text).unwrap(), cut(1.5, 0.25, 100, 40));
}
