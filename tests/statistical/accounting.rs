//! Conversions and calibration against 50-digit references, and their laws on random arguments.
//!
//! `tests/golden/generate.py` writes the tables and documents their columns.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rhograd::accounting::{Conversion, claim, gaussian, pld, zcdp};
use rhograd::calculator::calibrate;
use rhograd::error::Fallible;
use rhograd::num::special;
use rhograd::privacy::{
    Adjacency, Charge, Claim, Delta, DpEvent, Epsilon, GaussianCharge, Mechanism, NoiseLaw, PoissonGaussianCharge,
};

use crate::{del, eps};

/// The cells of a committed table, without its header.
fn table(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().skip(1).map(|line| line.split(',').collect())
}

fn number(cell: &str) -> f64 {
    cell.parse().unwrap()
}

/// Which side of the truth a result must lie on.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Above,
    Below,
}

/// Evaluates the function of a row: result, side and relative tolerance.
fn evaluate(name: &str, x: &[f64]) -> (f64, Side, f64) {
    use Side::{Above, Below};
    let (result, side): (Fallible<f64>, Side) = match name {
        "classical_epsilon" => (zcdp::epsilon_classical(x[0], x[1], del(x[2])).map(Epsilon::value), Above),
        "optimal_epsilon" => (zcdp::epsilon_optimal(x[0], x[1], del(x[2])).map(Epsilon::value), Above),
        "classical_ln_delta" => (zcdp::ln_delta_classical(x[0], x[1], eps(x[2])), Above),
        "optimal_ln_delta" => (zcdp::ln_delta_optimal(x[0], x[1], eps(x[2])), Above),
        "classical_max_rho" => (zcdp::max_rho_classical(x[0], eps(x[1]), del(x[2])), Below),
        "optimal_max_rho" => (zcdp::max_rho_optimal(x[0], eps(x[1]), del(x[2])), Below),
        "exact_epsilon" => (gaussian::epsilon(x[0], del(x[1])).map(Epsilon::value), Above),
        "exact_epsilon_from_rho" => (gaussian::epsilon_from_rho(x[0], del(x[1])).map(Epsilon::value), Above),
        "exact_ln_delta" => (gaussian::ln_delta(x[0], eps(x[1])), Above),
        "exact_max_mu" => (gaussian::max_mu(eps(x[0]), del(x[1])), Below),
        "exact_max_rho" => (gaussian::max_rho(eps(x[0]), del(x[1])), Below),
        "renyi" => (zcdp::renyi(x[0], x[1], x[2]), Above),
        "gaussian_rho" => (gaussian::rho(x[0], x[1]), Above),
        "mu_from_rho" => (gaussian::mu_upper_from_rho(x[0]), Above),
        other => panic!("unknown function {other}"),
    };
    let tolerance = match name {
        "renyi" | "gaussian_rho" | "mu_from_rho" => 1e-14,
        _ if name.starts_with("classical") => 1e-12,
        _ => 1e-9,
    };
    (result.unwrap(), side, tolerance)
}

/// Asserts the side to the last bit and the tolerance; returns the relative distance from the truth.
fn check(label: &str, result: f64, side: Side, below: f64, above: f64, tolerance: f64) -> f64 {
    let safe = if side == Side::Above { result >= above } else { result <= below };
    assert!(safe, "{label}: {result:e} is on the unsafe side of [{below:e}, {above:e}]");
    let near = if side == Side::Above { above } else { below };
    let distance = (result - near).abs();
    assert!(distance <= tolerance * near.abs(), "{label}: {result:e} is far from {near:e}");
    if distance == 0.0 { 0.0 } else { distance / near.abs() }
}

fn report(worst: BTreeMap<String, f64>) {
    for (name, distance) in worst {
        println!("{name:24} worst relative distance {distance:.1e}");
    }
}

#[test]
fn conversions_match_the_reference_from_the_safe_side() {
    let mut worst = BTreeMap::new();
    let mut rows = 0;
    for row in table(include_str!("../golden/accounting.csv")) {
        let arguments: Vec<f64> = row[1..4].iter().filter(|cell| !cell.is_empty()).map(|cell| number(cell)).collect();
        let (result, side, tolerance) = evaluate(row[0], &arguments);
        let label = format!("{} {arguments:?}", row[0]);
        let distance = check(&label, result, side, number(row[4]), number(row[5]), tolerance);
        let entry = worst.entry(row[0].to_owned()).or_insert(0.0);
        *entry = distance.max(*entry);
        rows += 1;
    }
    assert!(rows >= 250);
    report(worst);
}

#[test]
fn calibration_matches_the_reference_from_the_safe_side() {
    let mut worst = BTreeMap::new();
    for row in table(include_str!("../golden/calibrate.csv")) {
        let conversion: Conversion = row[0].parse().unwrap();
        let (epsilon, delta, steps) = (eps(number(row[1])), del(number(row[2])), row[3].parse().unwrap());
        let sigma = calibrate::sigma(conversion, epsilon, delta, steps, number(row[4])).unwrap();
        let distance = check(&row.join(","), sigma, Side::Above, number(row[5]), number(row[6]), 1e-9);
        let allowed = calibrate::max_steps(conversion, epsilon, delta, 20.0).unwrap();
        assert_eq!(allowed, row[7].parse::<u64>().unwrap(), "{row:?}");
        let entry = worst.entry(format!("{conversion} sigma")).or_insert(0.0);
        *entry = distance.max(*entry);
    }
    report(worst);
}

#[test]
fn normal_tails_match_the_reference() {
    let mut worst = BTreeMap::new();
    for row in table(include_str!("../golden/special.csv")) {
        let (x, truth) = (number(row[1]), number(row[2]));
        let result = match row[0] {
            "erfcx" => special::erfcx(x),
            "mills" => special::mills(x),
            "one_minus_x_mills" => special::one_minus_x_mills(x),
            "normal_tail" => special::normal_tail(x),
            "ln_normal_tail" => special::ln_normal_tail(x),
            other => panic!("unknown function {other}"),
        };
        let distance = ((result - truth) / truth).abs();
        assert!(distance <= 4e-15, "{}({x}) = {result:e}, truth {truth:e}", row[0]);
        let entry = worst.entry(row[0].to_owned()).or_insert(0.0);
        *entry = distance.max(*entry);
    }
    report(worst);
}

#[test]
fn a_smaller_delta_never_buys_a_smaller_epsilon() {
    for conversion in Conversion::ALL {
        for rho in [1e-10, 1e-3, 0.5, 30.0, 1e4] {
            let mut last = 0.0;
            for exponent in 1..=300 {
                let epsilon = conversion.epsilon(rho, del(10f64.powi(-exponent))).unwrap().value();
                assert!(epsilon >= last && epsilon.is_finite(), "{conversion} {rho} 1e-{exponent}");
                last = epsilon;
            }
        }
    }
}

/// Slack for comparing two outward-rounded results: each may exceed the truth by its own margin.
fn not_above(lower: f64, upper: f64, scale: f64) -> bool {
    lower <= upper + 1e-11 * upper.abs() + 1e-12 * scale
}

/// Random arguments are drawn afresh each time; a failure prints its own, so no file of them is kept.
fn cases(count: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(count) }
}

fn rhos() -> impl Strategy<Value = f64> {
    (-12.0f64..6.0).prop_map(|power| 10f64.powf(power))
}

fn epsilons() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), (-8.0f64..5.0).prop_map(|power| 10f64.powf(power))]
}

/// From 1e-300 to nearly 1.
fn deltas() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-300.0f64..-0.01).prop_map(|power| 10f64.powf(power)),
        (-12.0f64..-0.01).prop_map(|power| 10f64.powf(power)),
        (-15.0f64..-0.3).prop_map(|power| 1.0 - 10f64.powf(power)),
    ]
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn epsilon_rises_with_rho_and_falls_with_delta(r in (rhos(), rhos()), d in (deltas(), deltas())) {
        let ((r0, r1), (d0, d1)) = ((r.0.min(r.1), r.0.max(r.1)), (d.0.min(d.1), d.0.max(d.1)));
        for conversion in Conversion::ALL {
            let low = conversion.epsilon(r0, del(d1)).unwrap().value();
            for (rho, delta) in [(r1, d1), (r0, d0)] {
                let high = conversion.epsilon(rho, del(delta)).unwrap().value();
                prop_assert!(not_above(low, high, r0.sqrt() + r0), "{conversion}: {low:e} {high:e}");
            }
        }
    }

    #[test]
    fn delta_rises_with_rho_and_falls_with_epsilon(r in (rhos(), rhos()), e in (epsilons(), epsilons())) {
        let ((r0, r1), (e0, e1)) = ((r.0.min(r.1), r.0.max(r.1)), (e.0.min(e.1), e.0.max(e.1)));
        for conversion in Conversion::ALL {
            let low = conversion.ln_delta(r0, eps(e1)).unwrap();
            for (rho, epsilon) in [(r1, e1), (r0, e0)] {
                let high = conversion.ln_delta(rho, eps(epsilon)).unwrap();
                prop_assert!(not_above(low, high, 1.0), "{conversion}: {low:e} {high:e}");
            }
        }
    }

    #[test]
    fn each_conversion_is_at_least_as_tight_as_the_one_before(rho in rhos(), e in epsilons(), d in deltas()) {
        let (epsilon, delta) = (eps(e), del(d));
        for pair in Conversion::ALL.windows(2) {
            prop_assert!(pair[1].epsilon(rho, delta).unwrap() <= pair[0].epsilon(rho, delta).unwrap());
            prop_assert!(pair[1].ln_delta(rho, epsilon).unwrap() <= pair[0].ln_delta(rho, epsilon).unwrap());
            prop_assert!(pair[1].max_rho(epsilon, delta).unwrap() >= pair[0].max_rho(epsilon, delta).unwrap());
        }
    }
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn what_a_budget_allows_meets_it_and_grows_with_it(e in (epsilons(), epsilons()), d in (deltas(), deltas())) {
        let ((e0, e1), (d0, d1)) = ((e.0.min(e.1), e.0.max(e.1)), (d.0.min(d.1), d.0.max(d.1)));
        for conversion in Conversion::ALL {
            let rho = conversion.max_rho(eps(e0), del(d0)).unwrap();
            prop_assert!(conversion.epsilon(rho, del(d0)).unwrap() <= eps(e0));
            prop_assert!(conversion.ln_delta(rho, eps(e0)).unwrap() <= del(d0).ln());
            for (epsilon, delta) in [(e1, d0), (e0, d1)] {
                prop_assert!(not_above(rho, conversion.max_rho(eps(epsilon), del(delta)).unwrap(), 0.0));
            }
        }
    }

    #[test]
    fn noise_and_cost_move_with_every_parameter(e in epsilons(), d in deltas(), steps in 1u64..1_000_000, power in -9.0f64..9.0,
                                                noise in -9.0f64..9.0, more in 1.0f64..10.0) {
        let (sensitivity, sigma) = (10f64.powf(power), 10f64.powf(noise));
        let rho = gaussian::rho(sensitivity, sigma).unwrap();
        prop_assert!(not_above(rho, gaussian::rho(sensitivity * more, sigma).unwrap(), 0.0));
        prop_assert!(not_above(gaussian::rho(sensitivity, sigma * more).unwrap(), rho, 0.0));
        for conversion in Conversion::ALL {
            let scale = |e: f64, d: f64, steps: u64, s: f64| calibrate::sigma(conversion, eps(e), del(d), steps, s);
            let Ok(base) = scale(e, d, steps, sensitivity) else { continue };
            for less in [
                scale(e * more, d, steps, sensitivity),
                scale(e, (d * more).min(0.999), steps, sensitivity),
                scale(e, d, steps.div_ceil(2), sensitivity),
                scale(e, d, steps, sensitivity / more),
            ] {
                prop_assert!(d >= 0.999 || not_above(less.unwrap(), base, 0.0), "{conversion}");
            }
        }
    }

    #[test]
    fn calibrated_noise_meets_its_target(e in epsilons(), d in deltas(), steps in 1u64..1_000_000, power in -9.0f64..9.0) {
        let (epsilon, delta, sensitivity) = (eps(e), del(d), 10f64.powf(power));
        for conversion in Conversion::ALL {
            let Ok(sigma) = calibrate::sigma(conversion, epsilon, delta, steps, sensitivity) else {
                prop_assert!(e < 1e-7 && conversion.max_rho(epsilon, delta).unwrap() == 0.0);
                continue;
            };
            if conversion.max_rho(epsilon, delta).unwrap() < 1e-280 {
                continue; // float products of such numbers are subnormal; the plan itself is exact
            }
            // The float rho of the finished plan is rounded up, so it may miss the exact one by ulps.
            let total = gaussian::rho(sensitivity, sigma).unwrap() * steps as f64 * (1.0 - 1e-15);
            prop_assert!(total <= conversion.max_rho(epsilon, delta).unwrap() * (1.0 + 1e-15));
            prop_assert!(calibrate::max_steps(conversion, epsilon, delta, sigma / sensitivity * (1.0 + 1e-15)).unwrap() >= steps);
        }
    }
}

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn any_bits_get_a_sound_answer_or_an_error(a in any::<u64>(), b in any::<u64>(), c in any::<u64>(), steps in any::<u64>()) {
        let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
        // The bits below those of 1.0 are the doubles from 0 to 1, all exponents alike.
        let delta = del(f64::from_bits(c % 1.0f64.to_bits()).max(f64::from_bits(1)));
        let sound = |result: Fallible<f64>| result.map_or(true, |value| value >= 0.0);
        let log = |result: Fallible<f64>| result.map_or(true, |value| value <= 0.0);
        prop_assert!(sound(zcdp::epsilon_classical(x, y, delta).map(Epsilon::value)));
        prop_assert!(sound(zcdp::epsilon_optimal(x, y, delta).map(Epsilon::value)));
        prop_assert!(sound(gaussian::epsilon(x, delta).map(Epsilon::value)));
        prop_assert!(sound(gaussian::epsilon_from_rho(x, delta).map(Epsilon::value)));
        prop_assert!(sound(gaussian::mu_upper_from_rho(x)) && sound(gaussian::rho(x, y)) && sound(zcdp::renyi(x, y, z)));
        prop_assert!(sound(calibrate::sigma_from_rho(x, steps, y)));
        if let Ok(epsilon) = Epsilon::new(z) {
            prop_assert!(log(zcdp::ln_delta_classical(x, y, epsilon)) && log(zcdp::ln_delta_optimal(x, y, epsilon)));
            prop_assert!(log(gaussian::ln_delta(x, epsilon)) && log(gaussian::ln_delta_from_rho(x, epsilon)));
            prop_assert!(sound(zcdp::max_rho_classical(x, epsilon, delta)) && sound(zcdp::max_rho_optimal(x, epsilon, delta)));
            prop_assert!(sound(gaussian::max_mu(epsilon, delta)) && sound(gaussian::max_rho(epsilon, delta)));
        }
    }
}

/// The sensitivity on record is that of the relation: under replace-one it is that of two rows.
#[test]
fn charges_cost_what_their_sensitivity_over_their_noise_says() {
    let delta = Delta::new(1e-6).unwrap();
    for (adjacency, rows) in [(Adjacency::AddRemove, 1u64), (Adjacency::ReplaceOne, 2)] {
        for (sensitivity, log2_scale, count) in [(1u64 << 20, 22u32, 1u64), (3 << 20, 24, 7), (5 << 20, 22, 2)] {
            let noise = NoiseLaw::FlooredNormal;
            let event =
                GaussianCharge { what: "sum".into(), sensitivity: rows * sensitivity, log2_scale, noise, count };
            let mu = (rows * sensitivity) as f64 / 2f64.powi(log2_scale as i32);
            let exact = gaussian::epsilon(mu * (count as f64).sqrt(), delta).unwrap().value();
            let found = claim::epsilon(&[event.clone().into()], adjacency, delta, exact).unwrap();
            assert!((found / exact - 1.0).abs() < 1e-3, "{adjacency} {sensitivity}: {found}, not {exact}");

            // Of a sample of one row in ten, by the law of one row's gradient.
            let exponent = (-(0.9f64).ln() * 2f64.powi(64)) as u64;
            let blank = Claim { epsilon: 1.0, delta: 1e-6, rho: 1.0 };
            let sampled = Charge::PoissonGaussian(PoissonGaussianCharge { sampled: event, exponent, claim: blank });
            let noise_multiplier = rows as f64 / mu;
            let law = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier }, 0.1, count);
            let exact = pld::epsilon(&law, adjacency, delta, 1e-5).unwrap();
            let found = claim::epsilon(&[sampled], adjacency, delta, exact.upper).unwrap();
            let within = found >= exact.lower * (1.0 - 1e-9) && found <= exact.upper * 1.001;
            assert!(within, "{adjacency} {sensitivity}: {found}, not {exact:?}");
        }
    }
}
