//! The loss-distribution accountant where samples are few or rare: narrow bounds that contain references, and calibration to the best noise.
//!
//! `tests/golden/rare_pld.py` writes `rare_pld.csv` and documents its columns.

use std::time::Instant;

use rhograd::accounting::finite::Pair;
use rhograd::accounting::pld::{self, Pld};
use rhograd::calculator;
use rhograd::privacy::{Adjacency, DpEvent, Mechanism};
use serde_json::{Value, json};

use crate::{del, eps, number_of};

use Adjacency::{AddRemove, ReplaceOne};

fn sgd(rate: f64, noise_multiplier: f64, steps: u64) -> DpEvent {
    DpEvent::poisson(Mechanism::Gaussian { noise_multiplier }, rate, steps)
}

/// Wide enough for a reference that is rounded to 13 digits.
const ROUNDED: f64 = 1e-10;

#[test]
fn intervals_of_rare_samples_contain_quadratures_and_are_narrow() {
    let mut rows = 0;
    for line in include_str!("../golden/rare_pld.csv").lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().unwrap();
        let adjacency = if cells[0] == "replace-one" { ReplaceOne } else { AddRemove };
        let event = sgd(number(1), number(2), number(3) as u64);
        let (at, truth) = (number(4), number(5));
        let found = pld::ln_delta(&event, adjacency, eps(at), 1e-3).unwrap();
        assert!(found.lower - ROUNDED <= truth && truth <= found.upper + ROUNDED, "{line}: {found:?}");
        assert!(found.width() <= 1e-3, "{line}: {found:?}");
        rows += 1;
    }
    assert!(rows >= 60);
}

/// Ten thousand questions of the box, a third of them on its faces: widths and times, and those that took over half a second. `docs/accounting/pld.md` has what it prints.
#[test]
#[ignore = "takes ten minutes; prints a table"]
fn the_whole_box_at_length() {
    let (mut widths, mut times) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
    for (event, adjacency, delta) in queries(10_060).skip(60) {
        let started = Instant::now();
        let pld = Pld::new(&event, adjacency).unwrap();
        let found = pld.narrow_epsilon(del(delta), f64::INFINITY).unwrap();
        times[0].push(started.elapsed().as_secs_f64());
        let wanted = (1e-4 * found.upper).max(1e-7);
        widths[0].push(if wanted.is_finite() { found.width() / wanted } else { f64::INFINITY });
        let slow = |times: &[f64]| times.last().is_some_and(|&took| took > 0.5);
        if !is_narrow(found) || slow(&times[0]) {
            println!("{event:?} {adjacency:?} at {delta:e}: {found:?}, {:.2} s", started.elapsed().as_secs_f64());
        }
        if found.lower > 0.0 {
            let started = Instant::now();
            let back = pld.ln_delta(eps(found.upper), 1e-3).unwrap();
            times[1].push(started.elapsed().as_secs_f64());
            widths[1].push(back.width() / 1e-3);
            if back.width() > 1e-3 || slow(&times[1]) {
                let upper = found.upper;
                println!("{event:?} {adjacency:?} at {upper:e}: {back:?}, {:.2} s", started.elapsed().as_secs_f64());
            }
        }
    }
    for ((of, widths), times) in ["epsilon", "ln delta"].into_iter().zip(&mut widths).zip(&mut times) {
        widths.sort_by(f64::total_cmp);
        times.sort_by(f64::total_cmp);
        let (wide, slow) =
            (widths.iter().filter(|it| **it > 1.0).count(), times.iter().filter(|it| **it > 1.0).count());
        let [width, median, slowest] = [widths[widths.len() - 1], times[times.len() / 2], times[times.len() - 1]];
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        println!(
            "{} of {of}: {wide} wide, the widest {width:.2} times what is promised; {mean:.3} s, median {median:.3}, {slow} over a second, {slowest:.2} at most",
            times.len()
        );
        // Times are those of one machine, and are printed alone.
        assert_eq!(wide, 0);
    }
}

/// Numbers that are spread evenly over the logarithms, every third question on a face of the box, the same in every run (additive recurrence of Roberts 2018 in four dimensions).
fn queries(count: u32) -> impl Iterator<Item = (DpEvent, Adjacency, f64)> {
    (1..=count).map(move |i| {
        let at = |power: i32| 0.5 + f64::from(i) * 0.856_674_883_854_502_9f64.powi(power);
        // Every third lies on a face: the first of the four, its other end, the second, and so on.
        let face = (i % 3 == 0).then_some(i / 3 % 8);
        let mut side = 0;
        let mut spread = |start: f64, low: f64, high: f64| {
            side += 2;
            match face {
                Some(face) if face == side - 2 => low,
                Some(face) if face == side - 1 => high,
                _ => (low.ln() + start.fract() * (high / low).ln()).exp(),
            }
        };
        let event = sgd(spread(at(1), 1e-7, 1.0), spread(at(2), 0.3, 1000.0), spread(at(3), 1.0, 1e9).round() as u64);
        (event, if i % 2 == 0 { AddRemove } else { ReplaceOne }, spread(at(4), 1e-30, 0.1))
    })
}

/// Whether bounds on an epsilon are as narrow as promised.
fn is_narrow(found: pld::Interval) -> bool {
    // An infinite width is not narrow, however large the upper bound is.
    found.upper.is_finite() && found.width() <= (1e-4 * found.upper).max(1e-7)
}

/// Thousands of rare samples, of which large losses stand apart: what they left to a bound was a thousandth of delta, for they were chosen for a larger one.
#[test]
fn what_large_losses_leave_is_little_against_the_delta_that_is_found() {
    let event = sgd(2.894458140082813e-7, 0.962552181525336, 15_858_975);
    let found = pld::ln_delta(&event, ReplaceOne, eps(2.41232926737998e-2), 1e-3).unwrap();
    assert!(found.width() <= 1e-3 && found.upper < -53.0, "{found:?}");
}

/// Delta comes from one or two losses below epsilon, and the tilted composition from one above it: cells that were cut for the tilt alone left epsilon
/// between 2.3990 and 2.4001.
#[test]
fn cells_are_fine_where_delta_comes_from() {
    let event = sgd(3.516459486738425e-6, 0.8080010874973482, 1_000_000_000);
    let delta = 1.1475750045026143e-26;
    let pld = Pld::new(&event, AddRemove).unwrap();
    let found = pld.narrow_epsilon(del(delta), f64::INFINITY).unwrap();
    assert!(is_narrow(found) && (2.3990..2.4001).contains(&found.lower), "{found:?}");
    let back = pld.ln_delta(eps(found.upper), 1e-3).unwrap();
    assert!(back.width() <= 1e-3 && back.lower <= delta.ln() && back.upper >= delta.ln() - 0.01, "{back:?}");
}

/// More than twenty nats below Chernoff's bound: rounding decides, and more losses are called large. A few steps, where cells once were cut for steps
/// of the tail.
#[test]
fn the_smallest_deltas_of_rare_samples_are_known_closely() {
    for (rate, z, steps, adjacency, delta) in [
        (1.1465457096691463e-6, 1.0054947020825007, 243_090_760, AddRemove, 1e-30),
        (2.3142070718517142e-7, 0.5714852583467785, 4, ReplaceOne, 3.0705813997204295e-22),
        // The tolerance is less than what large losses leave to a bound once more of them are called so.
        (1.1840543972589826e-7, 0.4520599332353481, 36, ReplaceOne, 7.17278066717425e-10),
    ] {
        let pld = Pld::new(&sgd(rate, z, steps), adjacency).unwrap();
        let found = pld.narrow_epsilon(del(delta), f64::INFINITY).unwrap();
        for width in [1e-2, 1e-3, 1e-4] {
            let found = pld.narrow_epsilon(del(delta), width).unwrap();
            assert!(is_narrow(found), "{width}: {found:?}");
        }
        let back = pld.ln_delta(eps(found.upper), 1e-3).unwrap();
        assert!(is_narrow(found) && back.width() <= 1e-3, "{found:?} {back:?}");
        assert!(back.lower <= delta.ln() && back.upper >= delta.ln() - 0.01, "{back:?}");
    }
}

/// The smaller direction is not narrowed, and the larger of both is what it would be if it were.
#[test]
fn a_direction_that_is_left_out_changes_nothing() {
    let mut apart = 0;
    for (rate, z, steps) in
        [(0.01, 1.0, 1000), (0.4, 1.2, 1_000_000), (0.9, 0.6, 3), (1e-4, 0.5, 100), (0.5, 30.0, 2000)]
    {
        let event = sgd(rate, z, steps);
        let pld = Pld::new(&event, AddRemove).unwrap();
        for epsilon in [0.1, 2.0] {
            let (found, both) =
                (pld.ln_delta(eps(epsilon), 1e-2).unwrap(), pld.ln_delta_by_direction(eps(epsilon), 1e-2).unwrap());
            assert_eq!(found.upper, both.remove.upper.max(both.add.upper), "{event:?} at {epsilon}");
            assert_eq!(found.lower, both.remove.lower.max(both.add.lower), "{event:?} at {epsilon}");
            apart += u32::from(both.add.upper < both.remove.lower - 1.0);
        }
    }
    assert!(apart >= 3, "{apart}");
}

/// Next to epsilon 0 a coarse curve says nothing; the answer was the bound without sampling then, 4847, unless the width was below 1e-3.
#[test]
fn a_wide_question_about_hardly_anything_has_an_answer() {
    let event = sgd(9.58e-6, 0.3727, 313);
    for delta in [1e-3, 1.374e-3] {
        for width in [f64::INFINITY, 1.0, 1e-2] {
            let found = pld::epsilon(&event, ReplaceOne, del(delta), width).unwrap();
            let narrow = pld::narrow_epsilon(&event, ReplaceOne, del(delta), width).unwrap();
            assert!(found.upper < 1e-3 && narrow.width() < 1e-6, "{found:?} {narrow:?}");
        }
    }
}

#[test]
fn bounds_are_narrow_in_the_whole_box() {
    for (event, adjacency, delta) in queries(60) {
        let pld = Pld::new(&event, adjacency).unwrap();
        let found = pld.narrow_epsilon(del(delta), f64::INFINITY).unwrap();
        assert!(is_narrow(found), "{event:?} {adjacency:?} {delta:e}: {found:?}");
        if found.lower > 0.0 {
            let back = pld.ln_delta(eps(found.upper), 1e-3).unwrap();
            assert!(back.width() <= 1e-3, "{event:?} {adjacency:?} at {}: {back:?}", found.upper);
            assert!(back.lower <= delta.ln() + 1e-12, "{event:?} {adjacency:?} {delta:e}: {back:?}");
        }
    }
}

/// A sum of doubles that is rounded down somewhere: masses of tenths, which are no doubles, against the same in thousandths of 2^-60.
#[test]
fn delta_of_a_pair_is_never_below_the_exact_sum() {
    let exact = |x: f64| (x * 2f64.powi(60)) as i128;
    let mut below = 0;
    for seed in 1..200u32 {
        let part = |k: u32| f64::from(seed.wrapping_mul(2_654_435_761).rotate_left(5 * k) % 1000 + 1);
        let law = |from: u32| {
            let parts: Vec<f64> = (from..from + 12).map(part).collect();
            let all: f64 = parts.iter().sum();
            parts.into_iter().map(|it| it / all).collect::<Vec<f64>>()
        };
        let (p, q) = (law(0), law(3));
        let truth: i128 = p.iter().zip(&q).map(|(p, q)| (exact(*p) - exact(*q)).max(0)).sum();
        let pair = Pair::new(p, q).unwrap();
        // Masses above 2^-8 have no digit beyond 2^-60; smaller ones were cut by less than 2^-60 each.
        assert!(exact(pair.delta(0.0)) >= truth - 12, "{seed}");
        assert!(pair.delta(0.0) >= pair.hockey_stick(0.0) && pair.delta(0.0) < pair.hockey_stick(0.0) + 1e-14);
        below += u32::from(exact(pair.hockey_stick(0.0)) < truth - 12);
    }
    assert!(below > 10, "{below}: sums to the nearest double are never below");
}

/// What a published accountant reaches there; 1.6% to 2.4% more noise was needed before large losses stood apart.
#[test]
fn calibration_of_few_rare_samples_reaches_the_best_known_noise() {
    for (target, delta, steps, rate, known) in
        [(0.01, 1e-6, 10, 1e-5, 0.45284), (0.1, 1e-10, 10, 1e-3, 1.214), (0.2, 1e-10, 1000, 1e-5, 0.61612)]
    {
        let found = pld::calibrate_noise_multiplier(rate, steps, AddRemove, eps(target), del(delta)).unwrap();
        assert!(found <= known * 1.000_1, "{target} {delta} {steps} {rate}: {found}");
        assert!(pld::run_epsilon(rate, found, steps, AddRemove, del(delta)).unwrap() <= target);
    }
}

/// Far below every delta that anybody asks for there is still a bound, and it falls with epsilon.
#[test]
fn delta_falls_with_epsilon_down_to_nothing() {
    for (rate, noise, steps) in [(0.01, 4.0, 10), (1.24e-7, 39.0, 177_459), (3e-7, 0.5, 3), (1e-3, 0.8, 10_000)] {
        for adjacency in [AddRemove, ReplaceOne] {
            let pld = Pld::new(&sgd(rate, noise, steps), adjacency).unwrap();
            let mut least = 0.0;
            for at in [0.0, 0.01, 0.04, 0.1, 0.4, 1.0, 2.0, 4.0, 10.0] {
                let found = pld.ln_delta(eps(at), 1e-3).unwrap().upper;
                assert!(
                    found <= least || found < -700.0,
                    "{rate} {noise} {steps} {adjacency} at {at}: {found} {least}"
                );
                least = found + 1e-3;
            }
        }
    }
}

/// Masses under P and Q of a randomised response with losses `epsilon - t` and `-t`: the choices of bounded range that are told best.
fn response(epsilon: f64, t: f64) -> [(f64, f64); 2] {
    let (p, q) = ((-t).exp_m1() / (-epsilon).exp_m1(), t.exp_m1() / epsilon.exp_m1());
    [(p, q), (1.0 - p, 1.0 - q)]
}

#[test]
fn choices_are_dominated_by_their_pair_and_cost_less_than_any_mechanism_of_their_epsilon() {
    let choices = |epsilon: f64, count: u64| DpEvent::repeated(Mechanism::Exponential { epsilon }, count);
    let ln_delta = |event: &DpEvent, at: f64| pld::ln_delta(event, AddRemove, eps(at), 1e-6).unwrap();
    for epsilon in [0.05, 0.9, 4.0] {
        for share in [0.0, 0.3, 0.8] {
            let at: f64 = share * epsilon;
            let truth = ((epsilon / 2.0).exp() - (at / 2.0).exp()).powi(2) / epsilon.exp_m1();
            let found = ln_delta(&choices(epsilon, 1), at);
            assert!(
                found.lower <= truth.ln() + 1e-12 && truth.ln() - 1e-12 <= found.upper,
                "{epsilon} {at}: {found:?}"
            );
            assert!(found.width() < 1e-6, "{epsilon} {at}: {found:?}");
        }
        // Three choices, whatever their responses.
        for shares in [[0.5, 0.5, 0.5], [0.2, 0.5, 0.7], [0.35, 0.4, 0.9], [0.1, 0.3, 0.3]] {
            let mut outcomes = vec![(1.0, 1.0)];
            for share in shares {
                let one = response(epsilon, share * epsilon);
                outcomes = outcomes.iter().flat_map(|a| one.map(|b| (a.0 * b.0, a.1 * b.1))).collect();
            }
            for at in [0.0, 0.4 * epsilon, 1.5 * epsilon] {
                let delta: f64 = outcomes.iter().map(|(p, q)| (p - at.exp() * q).max(0.0)).sum();
                assert!(
                    delta <= ln_delta(&choices(epsilon, 3), at).upper.exp() * (1.0 + 1e-12),
                    "{epsilon} {shares:?} {at}"
                );
            }
        }
        let cost = |event: &DpEvent| pld::epsilon(event, AddRemove, del(1e-6), 1e-4 * epsilon).unwrap();
        let any = cost(&DpEvent::repeated(Mechanism::Pure { epsilon }, 30));
        let half = cost(&DpEvent::repeated(Mechanism::Pure { epsilon: epsilon / 2.0 }, 30));
        let found = cost(&choices(epsilon, 30));
        assert!(half.lower <= found.upper && found.upper < 0.9 * any.lower, "{half:?} {found:?} {any:?}");
    }
}

#[test]
fn a_response_that_lies_more_often_than_not_tells_as_much_as_its_opposite() {
    for (below, above) in [(0.25, 0.75), (0.1, 0.9), (0.0, 1.0)] {
        let of = |truth: f64| {
            let event = DpEvent::repeated(Mechanism::RandomisedResponse { truth }, 5);
            pld::epsilon(&event, ReplaceOne, del(1e-6), 1e-6).unwrap()
        };
        assert!((of(below).upper - of(above).upper).abs() < 1e-12 || of(below) == of(above), "{below}");
    }
    for component in
        [json!({"type": "randomized_response", "p": 0.3}), json!({"type": "randomized_response", "p": 0.7})]
    {
        let found = curve(&component);
        assert!((found - curve(&json!({"type": "pure_dp", "epsilon": (0.7f64 / 0.3).ln()}))).abs() < 1e-9);
    }
    // rho = 1 / (2 z^2), and epsilon^2 / 8 for a choice where that is the smaller bound.
    let gaussian = curve(&json!({"type": "gaussian", "noise_multiplier": 4.0, "count": 10}));
    assert!((curve(&json!({"type": "zcdp", "rho": 1.0 / 32.0, "count": 10})) - gaussian).abs() < 1e-9);
    let choices = curve(&json!({"type": "bounded_range", "epsilon": 0.1, "count": 100}));
    assert!((choices - curve(&json!({"type": "zcdp", "rho": 0.01 / 8.0, "count": 100}))).abs() < 1e-9);
}

/// The epsilon of one component of a curve.
fn curve(component: &Value) -> f64 {
    let answer = calculator::answer("rdp_curve_to_eps", &json!({"components": [component], "delta": 1e-6})).unwrap();
    number_of(&answer["epsilon_improved"]).unwrap()
}
