//! Theorems of the accountant against 50-digit references, and their laws on random arguments.
//!
//! `tests/golden/generate_theorems.py` writes the table and documents its columns.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rhograd::accounting::compose::{Group, Optimal};
use rhograd::accounting::finite::Pair;
use rhograd::accounting::gaussian::integer_noise;
use rhograd::accounting::notion::{ApproximateDp, GaussianDp, PureDp, RdpCurve, TradeOff, TruncatedCdp, Zcdp};
use rhograd::accounting::rdp::{self, Component, Form};
use rhograd::accounting::zcdp::{self, tail_bounds};
use rhograd::accounting::{compose, pld, selection, subsample};
use rhograd::calculator;
use rhograd::privacy::{Adjacency, Delta, DpEvent, Mechanism, RunCount};
use rhograd::statistics::evidence;
use serde_json::{Value, json};

use crate::{del, eps, number_of};

#[test]
fn every_theorem_meets_its_reference_from_the_safe_side() {
    let mut reader = csv::Reader::from_reader(include_str!("../golden/theorems.csv").as_bytes());
    let mut worst = BTreeMap::new();
    let mut rows = 0;
    for row in reader.records() {
        let row = row.unwrap();
        let params: Value = serde_json::from_str(&row[1]).unwrap();
        let label = format!("{} {} {}", &row[0], &row[1], &row[2]);
        let answer = calculator::answer(&row[0], &params).unwrap_or_else(|error| panic!("{label}: {error}"));
        let ours = number_of(answer.get(&row[2]).unwrap_or_else(|| panic!("{label} is missing"))).unwrap();
        let [tolerance, below, above] = [4, 5, 6].map(|i| row[i].parse::<f64>().unwrap());
        let (safe, near) = match &row[3] {
            "above" => (ours >= above, above),
            "below" => (ours <= below, below),
            _ => (true, above),
        };
        assert!(safe, "{label}: {ours:e} is on the unsafe side of [{below:e}, {above:e}]");
        let distance = if ours == near { 0.0 } else { (ours - near).abs() / near.abs().max(1e-300) };
        assert!(distance <= tolerance || (near == 0.0 && ours.abs() < 1e-12), "{label}: {ours:e} against {near:e}");
        let entry = worst.entry(format!("{} {}", &row[0], &row[2])).or_insert(0.0);
        *entry = distance.max(*entry);
        rows += 1;
    }
    assert!(rows >= 200, "{rows}");
    for (name, distance) in worst {
        println!("{name:64} worst relative distance {distance:.1e}");
    }
}

#[test]
fn every_reference_says_how_it_was_computed() {
    let page = include_str!("../golden/README.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let named: BTreeSet<&str> =
        rows.flat_map(|line| line.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)).collect();
    let mut reader = csv::Reader::from_reader(include_str!("../golden/theorems.csv").as_bytes());
    let asked: BTreeSet<String> = reader.records().map(|row| row.unwrap()[0].to_owned()).collect();
    let missing: Vec<&String> = asked.iter().filter(|query| !named.contains(query.as_str())).collect();
    assert!(asked.len() > 40 && missing.is_empty(), "tests/golden/README.md has no row for {missing:?}");
}

/// A row that is rarely sampled hardly moves the law, whatever orders say of the rare case: delta is at most the total variation, which a
/// privacy loss distribution brackets.
#[test]
fn delta_by_orders_is_at_most_the_total_variation_and_no_less_than_the_truth() {
    for (rate, noise) in [(0.01, 1.1), (0.001, 0.8), (0.1, 0.7)] {
        let event = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: noise }, rate, 1);
        let curve = rdp::curve(&event, Adjacency::AddRemove).unwrap();
        let variation = (-(-curve.at(1.0 + 1e-5).unwrap()).exp_m1()).sqrt().ln();
        let found = |epsilon: f64| rdp::ln_delta(&curve, eps(epsilon), Form::Improved).unwrap().value;
        assert!((found(0.0) - variation).abs() < 1e-12, "{rate} {noise}: {} {variation}", found(0.0));
        for epsilon in [0.0, 1e-3, 0.05, 0.5] {
            let truth = pld::ln_delta(&event, Adjacency::AddRemove, eps(epsilon), 1e-3).unwrap();
            assert!(found(epsilon) >= truth.lower && found(epsilon) <= variation + 1e-12, "{rate} {noise} {epsilon}");
        }
    }
}

/// Parameters that every kind accepts.
fn examples() -> Vec<(&'static str, Value)> {
    let sampled = |extra: Value| {
        let mut all = json!({"sampling_rate": 0.01, "noise_multiplier": 1.0});
        all.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        all
    };
    // Samples have kinds of their own above, and hostile numbers in them take a while.
    let event = json!({"kind": "repeated", "count": 5, "event": {"kind": "single", "mechanism":
        {"mechanism": "gaussian", "noise_multiplier": 2.0}}});
    let groups = json!([{"epsilon": 0.1, "delta": 1e-9, "count": 5}]);
    vec![
        ("zcdp_to_eps_classical", json!({"xi": 0.1, "rho": 0.5, "delta": 1e-5})),
        ("zcdp_to_delta_classical", json!({"xi": 0.1, "rho": 0.5, "epsilon": 3.0})),
        ("zcdp_max_rho_classical", json!({"xi": 0.1, "epsilon": 1.0, "delta": 1e-5})),
        ("zcdp_to_eps_optimal", json!({"xi": 0.1, "rho": 0.5, "delta": 1e-5})),
        ("zcdp_to_delta_optimal", json!({"xi": 0.1, "rho": 0.5, "epsilon": 3.0})),
        ("zcdp_max_rho_optimal", json!({"xi": 0.1, "epsilon": 1.0, "delta": 1e-5})),
        ("bun_steinke_lemma_3_6_delta", json!({"xi": 0.0, "rho": 0.5, "epsilon": 3.0})),
        ("bun_steinke_lemma_3_6_eps", json!({"xi": 0.0, "rho": 0.5, "delta": 1e-5})),
        ("gaussian_delta_exact", json!({"mu": 0.5, "epsilon": 1.0})),
        ("gaussian_eps_exact", json!({"rho": 0.5, "delta": 1e-5})),
        ("gaussian_max_rho_exact", json!({"epsilon": 1.0, "delta": 1e-5})),
        (
            "gaussian_sigma_calibration",
            json!({"epsilon": 1.0, "delta": 1e-5, "steps": 10, "clip_norm": 1.0, "adjacency": "replace_one"}),
        ),
        ("gdp_composition", json!({"mus": [0.1, 0.2], "delta": 1e-5})),
        ("pure_dp_to_zcdp", json!({"epsilon": 1.0})),
        ("tcdp_to_eps", json!({"rho": 0.1, "omega": 10.0, "delta": 1e-5})),
        ("group_privacy_dp", json!({"epsilon": 0.5, "delta": 1e-8, "k": 3})),
        ("group_privacy_zcdp", json!({"xi": 0.1, "rho": 0.1, "k": 3})),
        ("zcdp_chained", json!({"rhos": [0.1, 0.2]})),
        ("tcdp_sampled", json!({"rho": 0.01, "omega": "inf", "fraction": 0.01, "sampled_omega": 40.0})),
        ("gdp_last_iterate", json!({"contraction": 0.9, "steps": 30, "period": 3, "shift": 0.1})),
        ("zcdp_to_mcdp", json!({"rho": 0.1})),
        ("mcdp_to_zcdp", json!({"mean": 0.5, "spread": 0.9})),
        ("mcdp_two_outcomes", json!({"p": 0.3, "q": 0.2})),
        ("generalization_gap_gaussian", json!({"mu": 0.1, "width": 1.0})),
        ("generalization_gap_zcdp", json!({"rho": 0.1, "width": 1.0})),
        ("generalization_gap_approximate_dp", json!({"epsilon": 0.5, "delta": 1e-6, "width": 1.0})),
        (
            "moment_gap",
            json!({"epsilon": 0.5, "delta": 1e-6, "positive": 0.3, "negative": 0.1, "low": 1.0, "high": 2.0}),
        ),
        ("profile_to_zcdp", json!({"xi": 0.1, "rho": 0.1})),
        ("profile_to_rdp", json!({"xi": 0.1, "rho": 0.1, "alpha": 3.0})),
        ("profile_to_delta", json!({"xi": 0.1, "rho": 0.1, "epsilon": 0.5})),
        ("approximate_rdp_compose", json!({"alpha": 2.0, "rdps": [0.1, 0.2], "deltas": [1e-6, 0.0]})),
        ("approximate_rdp_of_dp", json!({"epsilon": 1.0, "delta": 1e-6, "alpha": 2.0})),
        ("approximate_rdp_to_delta", json!({"alpha": 2.0, "rdp": 0.5, "delta": 1e-6, "epsilon": 1.0})),
        ("approximate_rdp_to_eps", json!({"alpha": 2.0, "rdp": 0.5, "delta": 1e-7, "total_delta": 1e-6})),
        ("zcdp_answers", json!({"rho": 0.1, "rows": 10, "miss": 0.25})),
        ("zcdp_answers_least_rows", json!({"rho": 0.1, "ln_count": 20.0, "miss": 0.25})),
        (
            "zcdp_answers_to_pure",
            json!({"rho": 0.1, "rows": 10, "miss": 0.25, "width": 1.0, "extra": 0.1, "pure_miss": 0.1}),
        ),
        (
            "rdp_gaussian_sparse_vector",
            json!({"threshold_noise": 10.0, "question_noise": 20.0, "questions": 100, "alpha": 8.0}),
        ),
        (
            "gaussian_sparse_vector_eps",
            json!({"threshold_noise": 10.0, "question_noise": 20.0, "questions": 100, "delta": 1e-6}),
        ),
        ("bounded_noise_delta", json!({"weights": [9, 5, 1], "counts": 3, "epsilon": 1.0})),
        ("bounded_noise_eps", json!({"weights": [9, 5, 1], "counts": 3, "delta": 0.3})),
        ("bounded_noise_least_reach", json!({"counts": 4, "epsilon": 2.0, "delta": 1e-6})),
        ("posterior_unless_failed", json!({"epsilon": 1.0, "delta": 1e-6, "prior": 0.1})),
        ("rdp_gaussian", json!({"sensitivity": 1.0, "sigma": 2.0, "alpha": 8.0})),
        ("rdp_laplace", json!({"eps0": 1.0, "alpha": 2.0})),
        ("rdp_randomized_response", json!({"p": 0.75, "alpha": 3.0})),
        ("rdp_pure_dp_tight", json!({"epsilon": 1.0, "alpha": 2.0})),
        ("rdp_poisson_gaussian", sampled(json!({"alpha": 2.5, "adjacency": "add_remove"}))),
        (
            "rdp_poisson_gaussian_grid_to_eps",
            sampled(json!({"steps": 10, "delta": 1e-5, "orders": [2.0, 3.5], "adjacency": "add_remove"})),
        ),
        ("rdp_curve_to_eps", json!({"components": [{"type": "laplace", "eps0": 0.1, "count": 3}], "delta": 1e-5})),
        ("rdp_single_order_to_delta", json!({"alpha": 2.0, "rdp": 0.5, "epsilon": 1.0})),
        (
            "rdp_without_replacement",
            json!({"sampling_fraction": 0.01, "base": "gaussian", "noise_multiplier": 2.0, "alpha": 4,
                   "adjacency": "replace_one"}),
        ),
        (
            "private_selection_rdp",
            json!({"base_rho_zcdp": 0.01, "distribution": "truncated_negative_binomial", "eta": 1.0, "gamma": 0.1,
                   "alpha": 20.0}),
        ),
        ("composition_basic", json!({"epsilons": [0.1, 0.2], "deltas": [1e-6, 0.0]})),
        ("composition_advanced_drv", json!({"epsilon0": 0.1, "delta0": 1e-8, "k": 10, "delta_prime": 1e-6})),
        (
            "composition_advanced_heterogeneous",
            json!({"epsilons": [0.1, 0.2], "deltas": [1e-9, 0.0], "delta_total": 1e-6}),
        ),
        ("composition_optimal_eps", json!({"groups": groups, "delta": 1e-6})),
        ("composition_optimal_delta", json!({"groups": groups, "epsilon": 0.2})),
        (
            "approximate_zcdp_composition",
            json!({"parts": [{"rho": 0.05, "xi": 0.0, "delta": 1e-8}], "delta_total": 1e-6}),
        ),
        ("subsampling_approx_dp", json!({"epsilon": 1.0, "delta": 1e-6, "sampling_rate": 0.01})),
        ("plrv_delta_identities", json!({"P": [0.5, 0.5], "Q": [0.25, 0.75], "epsilon": 0.3})),
        ("discrete_gaussian_delta", json!({"sigma": 3.0, "sensitivity": 1, "epsilon": 0.5})),
        (
            "objective_perturbation_glm_delta",
            json!({"gradient_sensitivity": 1.0, "sigma": 8.0, "smoothness": 0.25, "regularisation": 2.0,
                   "epsilon": 1.0}),
        ),
        (
            "audit_epsilon_lower_bound",
            json!({"false_positives": 3, "negatives": 100, "false_negatives": 60, "positives": 100, "delta": 1e-5,
                   "confidence": 0.95}),
        ),
        (
            "dp_erm_noisy_gd_parameters",
            json!({"n": 1000, "d": 5, "epsilon": 1.0, "delta": 1e-6, "lipschitz": 1.0, "diameter": 2.0}),
        ),
        ("poisson_gaussian_pld_eps", sampled(json!({"steps": 10, "delta": 1e-5, "adjacency": "add_remove"}))),
        ("poisson_gaussian_pld_delta", sampled(json!({"steps": 10, "epsilon": 1.0, "adjacency": "add_remove"}))),
        (
            "poisson_gaussian_pld_eps_replace_one",
            sampled(json!({"steps": 10, "delta": 1e-5, "adjacency": "replace_one"})),
        ),
        ("poisson_gaussian_one_step_delta", sampled(json!({"epsilon": 0.5, "adjacency": "add_remove"}))),
        ("event_to_eps", json!({"event": event, "adjacency": "add_remove", "delta": 1e-6})),
        ("event_to_delta", json!({"event": event, "adjacency": "add_remove", "epsilon": 1.0})),
        (
            "sampled_last_iterate_eps",
            json!({"contraction": 0.9, "steps": 40, "sampling_rate": 0.1, "shift": 0.4, "delta": 1e-6, "adjacency": "add_remove"}),
        ),
        ("laplace_composition_eps", json!({"eps0": 0.5, "steps": 10, "delta": 1e-5})),
        ("laplace_composition_delta", json!({"eps0": 1.0, "steps": 5, "epsilon": 2.0})),
    ]
}

#[test]
fn every_kind_is_answered_and_strict() {
    let examples = examples();
    let named: Vec<_> = examples.iter().map(|(name, _)| *name).collect();
    for name in calculator::QUERIES {
        assert!(named.contains(name), "{name} has no example");
    }
    assert_eq!(named.len(), calculator::QUERIES.len());
    for (name, params) in &examples {
        let answer = calculator::answer(name, params).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (field, value) in &answer {
            assert!(value.is_null() || number_of(value).is_some_and(|x| !x.is_nan()), "{name} {field} {value}");
            let beside = field.replacen("delta", "log_delta", 1);
            let is_delta = field.starts_with("delta") && !field.contains("tails");
            let plain = ["delta_expectation", "delta_integral"].contains(&field.as_str());
            assert!(!is_delta || plain || answer.contains_key(&beside), "{name} {field}");
        }
        let mut more = params.clone();
        more["surplus"] = json!(1.0);
        assert!(calculator::answer(name, &more).unwrap_err().to_string().starts_with("surplus: "));
        for key in params.as_object().unwrap().keys() {
            let mut less = params.clone();
            less.as_object_mut().unwrap().remove(key);
            assert!(calculator::answer(name, &less).unwrap_err().to_string().contains(key.as_str()), "{name} {key}");
        }
    }
    assert!(calculator::answer("no_such_kind", &json!({})).is_err());
}

/// Replaces the n-th number of a value, counted through lists and objects.
fn replace_number(value: &mut Value, index: &mut usize, by: &Value) {
    match value {
        Value::Number(_) => {
            if *index == 0 {
                *value = by.clone();
            }
            *index = index.wrapping_sub(1);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_number(item, index, by)),
        Value::Object(map) => map.values_mut().for_each(|item| replace_number(item, index, by)),
        _ => {}
    }
}

fn count_numbers(value: &Value) -> usize {
    match value {
        Value::Number(_) => 1,
        Value::Array(items) => items.iter().map(count_numbers).sum(),
        Value::Object(map) => map.values().map(count_numbers).sum(),
        _ => 0,
    }
}

#[test]
fn no_bit_pattern_breaks_an_answer() {
    let special = [0.0, -0.0, 5e-324, f64::MIN_POSITIVE, 1.0, 1.0 - f64::EPSILON / 2.0, 2.0, 1e15, f64::MAX, -1.0];
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for (name, params) in examples() {
        // The accountant of loss distributions has its own tests.
        if name.contains("pld") || name.contains("laplace_composition") {
            continue;
        }
        for target in 0..count_numbers(&params) {
            for round in 0..40 {
                let value = special.get(round).copied().unwrap_or_else(|| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    f64::from_bits(state ^ (state >> 29))
                });
                let mut changed = params.clone();
                replace_number(&mut changed, &mut target.clone(), &json!(value));
                let Ok(answer) = calculator::answer(name, &changed) else { continue };
                for (field, result) in answer {
                    let unknown = || panic!("{name} {changed} {field}: {result}");
                    let tiny = result.is_null() && field.contains("delta");
                    let shown = if tiny { 0.0 } else { number_of(&result).unwrap_or_else(unknown) };
                    let signed = ["log", "tails", "expectation", "integral"].iter().any(|it| field.contains(it));
                    assert!(shown >= 0.0 || signed, "{name} {changed} {field}: {shown}");
                }
            }
        }
    }
}

/// A component whose cost is positive, by number.
fn component(kind: u8, size: f64, share: f64) -> Component {
    match kind % 8 {
        0 => Component::Gaussian { noise_multiplier: 1.0 / size },
        1 => Component::Laplace { epsilon: size },
        2 => Component::Pure { epsilon: size },
        3 => Component::BoundedRange { epsilon: size },
        4 => Component::DiscreteLaplace { scale: 3.0 / size, sensitivity: 3 },
        5 => Component::Concentrated { xi: 0.0, rho: size * size / 2.0 },
        6 => Component::RandomisedResponse { truth: 0.5 + 0.49 * share },
        _ => Component::PoissonGaussian { rate: share, noise_multiplier: 0.5 + 1.0 / size },
    }
}

/// Two outward-rounded results may each exceed the truth by their margin.
fn not_above(lower: f64, upper: f64) -> bool {
    lower <= upper * (1.0 + 1e-9) + 1e-12 || upper == f64::INFINITY
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// Each case compares ten pairs, so that these and the next laws see 1e5 pairs in total.
    #[test]
    fn costs_rise_with_every_parameter(a in 0.01f64..3.0, more in 1.0f64..2.0, q in 0.001f64..1.0, alpha in 1.0f64..40.0,
                                       ln_delta in -60.0f64..-0.5, e in 0.0f64..6.0) {
        let (b, delta) = (a * more, del(ln_delta.exp()));
        for f in [rdp::laplace, rdp::pure, rdp::bounded_range] {
            prop_assert!(not_above(f(a, alpha).unwrap(), f(b, alpha).unwrap()));
            prop_assert!(not_above(f(a, alpha).unwrap(), f(a, alpha * more).unwrap()));
        }
        prop_assert!(not_above(subsample::epsilon(a, q / more).unwrap(), subsample::epsilon(a, q).unwrap()));
        prop_assert!(not_above(subsample::epsilon(a, q).unwrap(), subsample::epsilon(b, q).unwrap()));
        let mu = |x: f64, d: Delta| GaussianDp::new(x).unwrap().to_approximate_dp(d).unwrap().epsilon();
        prop_assert!(not_above(mu(a, delta), mu(b, delta)));
        prop_assert!(not_above(mu(a, delta), mu(a, del(delta.value() / more))));
        let tcdp = |rho: f64, omega: f64| TruncatedCdp::new(rho, omega).unwrap().to_epsilon_optimal(delta).unwrap().value;
        prop_assert!(not_above(tcdp(a, alpha + 1.0), tcdp(b, alpha + 1.0)));
        prop_assert!(not_above(tcdp(a, (alpha + 1.0) * more), tcdp(a, alpha + 1.0)));
        let profile = |sigma: f64, at: f64| integer_noise::ln_delta(sigma, 2, eps(at)).unwrap();
        prop_assert!(profile(a + 0.5, e + 0.1) <= profile(a + 0.5, e) + 1e-9);
        if e > a {
            let third = |at: f64| tail_bounds::ln_delta(0.0, a, eps(at)).unwrap().third;
            prop_assert!(third(e * more) <= third(e) + 1e-12);
        }
        let group = |k: u64| Zcdp::new(a, b).unwrap().group(k).unwrap();
        prop_assert!(group(3).rho() < group(4).rho() && group(3).xi() < group(4).xi());
    }

    #[test]
    fn compositions_rise_with_every_part(a in 0.01f64..1.0, more in 1.0f64..2.0, k in 1u64..40, other in 0.01f64..1.0,
                                         n in 0u64..6, d in 1e-12f64..1e-6, target in 1e-3f64..0.1, e in 0.0f64..5.0) {
        let optimal = |x: f64, d: f64, k: u64| {
            let group = |e: f64, count: u64| Group { guarantee: ApproximateDp::new(e, d).unwrap(), count };
            Optimal::new(&[group(x, k), group(other, n)]).unwrap()
        };
        let base = optimal(a, d, k);
        prop_assert!(base.ln_delta(eps(e)) <= optimal(a * more, d, k).ln_delta(eps(e)) + 1e-9);
        prop_assert!(base.ln_delta(eps(e)) <= optimal(a, d * more, k).ln_delta(eps(e)) + 1e-9);
        prop_assert!(base.ln_delta(eps(e)) <= optimal(a, d, k + 1).ln_delta(eps(e)) + 1e-9);
        prop_assert!(base.ln_delta(eps(e * more)) <= base.ln_delta(eps(e)) + 1e-12);
        // Optimal composition is never worse than the theorems it sharpens.
        let mut parts = vec![ApproximateDp::new(a, d).unwrap(); k as usize];
        parts.extend(vec![ApproximateDp::new(other, d).unwrap(); n as usize]);
        let best = base.epsilon(del(target)).unwrap().value();
        let loose = compose::heterogeneous(&parts, del(target)).unwrap();
        prop_assert!(best <= loose.epsilon_tight * (1.0 + 1e-9) && loose.epsilon_tight <= loose.epsilon);
        prop_assert!(best <= compose::basic(&parts).epsilon() * (1.0 + 1e-9));
    }

    #[test]
    fn evidence_weakens_with_errors(fp in 0u64..50, fneg in 0u64..50, n in 51u64..4000, d in 0.0f64..0.5, c in 0.5f64..0.999) {
        let at = |fp, fneg, d, c| {
            let counts = evidence::Counts { false_positives: fp, negatives: n, false_negatives: fneg, positives: n };
            evidence::epsilon_lower(counts, d, c).unwrap().epsilon
        };
        let base = at(fp, fneg, d, c);
        prop_assert!(at(fp + 1, fneg, d, c) <= base + 1e-12 && at(fp, fneg + 1, d, c) <= base + 1e-12);
        prop_assert!(at(fp, fneg, d + 0.01, c) <= base + 1e-12 && at(fp, fneg, d, c + 5e-4) <= base + 1e-12);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_200))]

    #[test]
    fn curves_rise_and_their_moments_are_convex(kind in any::<u8>(), size in 0.05f64..2.0, share in 0.01f64..0.9,
                                                alpha in 1.05f64..60.0, gap in 0.05f64..10.0) {
        let curve = RdpCurve::from(component(kind, size, share)).repeat(3);
        let r = [1.0, alpha, alpha + gap, alpha + 2.0 * gap].map(|a| curve.at(a).unwrap());
        prop_assert!(r.windows(2).all(|pair| not_above(pair[0], pair[1])), "{r:?}");
        // r(1) is the Kullback-Leibler divergence or a bound on it.
        prop_assert!(not_above(r[0], r[1]));
        let moment = |i: usize, a: f64| (a - 1.0) * r[i];
        let (low, middle, high) = (moment(1, alpha), moment(2, alpha + gap), moment(3, alpha + 2.0 * gap));
        // A bounded range is the smaller of two convex bounds, which need not be convex.
        prop_assert!(kind % 8 == 3 || 2.0 * middle <= (low + high) * (1.0 + 1e-9) + 1e-12, "{low} {middle} {high}");
    }

    #[test]
    fn tighter_theorems_give_less(kind in any::<u8>(), size in 0.05f64..2.0, share in 0.01f64..0.9, alpha in 1.05f64..60.0,
                                  r in 1e-4f64..5.0, e in 0.0f64..8.0, ln_delta in -40.0f64..-1.0) {
        let delta = del(ln_delta.exp());
        let at = |form| rdp::ln_delta_at_order(alpha, r, eps(e), form).unwrap();
        let lossless = rdp::ln_delta_lossless(alpha, r, eps(e)).unwrap();
        prop_assert!(lossless <= at(Form::Improved) + 1e-9 && at(Form::Improved) <= at(Form::Mironov) + 1e-9);
        if kind % 8 != 7 {
            let curve = RdpCurve::from(component(kind, size, share)).repeat(5);
            let improved = rdp::epsilon(&curve, delta, Form::Improved).unwrap().value;
            let mironov = rdp::epsilon(&curve, delta, Form::Mironov).unwrap().value;
            prop_assert!(not_above(improved, mironov));
            let back = rdp::ln_delta(&curve, eps(improved), Form::Improved).unwrap().value;
            prop_assert!(back <= ln_delta + 1e-6 || improved == 0.0 || back <= 0.5 * ln_delta.max(-2.0), "{back}");
        }
        let rho = size * size / 2.0;
        let curve = RdpCurve::from(Component::Gaussian { noise_multiplier: 1.0 / size });
        let improved = rdp::epsilon(&curve, delta, Form::Improved).unwrap().value;
        let optimal = zcdp::epsilon_optimal(0.0, rho, delta).unwrap().value();
        let exact = GaussianDp::new(size).unwrap().to_approximate_dp(delta).unwrap().epsilon();
        prop_assert!(not_above(exact, improved) && (improved - optimal).abs() <= 1e-6 * optimal + 1e-9);
        prop_assert!(optimal <= zcdp::epsilon_classical(0.0, rho, delta).unwrap().value());
    }

    #[test]
    fn finite_laws_obey_their_identities(weights in prop::collection::vec((0.0f64..1.0, 0.0f64..1.0), 2..9),
                                         holes in any::<u16>(), e in 0.01f64..3.0, alpha in 1.0f64..20.0, extra in 0.0f64..0.2) {
        let pair = pair_of(&weights, holes);
        let forms = pair.delta_forms(e);
        for form in [forms.tails, forms.expectation, forms.integral] {
            prop_assert!((form - forms.supremum).abs() <= 1e-13, "{forms:?}");
        }
        prop_assert!(forms.supremum <= pair.loss().tail(e) + 1e-15);
        prop_assert!(not_above(pair.kullback_leibler(), pair.renyi(alpha).unwrap()));
        prop_assert!(not_above(pair.renyi(alpha).unwrap(), pair.max_divergence()));
        // Merging outcomes is a post-processing: no divergence grows.
        let merged = pair.post_processed(&(0..weights.len()).map(|i| i / 2).collect::<Vec<_>>()).unwrap();
        prop_assert!(not_above(merged.renyi(alpha).unwrap(), pair.renyi(alpha).unwrap()));
        prop_assert!(merged.hockey_stick(e) <= forms.supremum + 1e-15);
        // The trade-off curve is the hockey stick, seen from the side.
        let least = pair.swapped().trade_off().iter().map(|(a, b)| 1.0 - b - e.exp() * a).fold(0.0, f64::max);
        prop_assert!((least - forms.supremum).abs() < 1e-13);
        let delta = (pair.hockey_stick(e).max(pair.swapped().hockey_stick(e)) + extra).min(0.999);
        if pair.hockey_stick(e).max(pair.swapped().hockey_stick(e)) < 0.999 {
            let parts = pair.decompose(e, delta).unwrap();
            let rebuilt = parts.rebuilt().unwrap();
            for (x, y) in rebuilt.p().iter().chain(rebuilt.q()).zip(pair.p().iter().chain(pair.q())) {
                prop_assert!((x - y).abs() < 1e-12, "{parts:?}");
            }
            for law in [&parts.a, &parts.b] {
                prop_assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-10);
            }
        }
    }
}

/// A pair from positive weights, some of them set to 0.
fn pair_of(weights: &[(f64, f64)], holes: u16) -> Pair {
    let keep = |i: usize, bit: u16| if holes >> (2 * (i % 4) as u16 + bit) & 7 == 7 { 0.0 } else { 1.0 };
    let law = |pick: fn(&(f64, f64)) -> f64, bit: u16| -> Vec<f64> {
        let raw: Vec<f64> = weights.iter().enumerate().map(|(i, w)| (pick(w) + 1e-3) * keep(i, bit)).collect();
        let total: f64 = raw.iter().sum();
        raw.iter().map(|x| if total > 0.0 { x / total } else { 1.0 / raw.len() as f64 }).collect()
    };
    Pair::new(law(|w| w.0, 0), law(|w| w.1, 1)).unwrap()
}

#[test]
fn curves_dominate_the_divergence_of_the_worst_pair() {
    for e in [0.01, 0.5, 3.0] {
        let pair = Pair::worst(e, 0.0).unwrap();
        for alpha in [1.0, 1.5, 4.0, 30.0, f64::INFINITY] {
            let (truth, bound) = (pair.renyi(alpha).unwrap(), rdp::pure(e, alpha).unwrap());
            assert!(bound >= truth * (1.0 - 1e-12) && bound <= truth * (1.0 + 1e-10), "{e} {alpha}");
        }
    }
}

#[test]
fn events_become_curves_or_name_what_they_cannot() {
    let gaussian = Mechanism::Gaussian { noise_multiplier: 2.0 };
    let event = DpEvent::Composed {
        events: vec![
            DpEvent::repeated(gaussian, 10),
            DpEvent::poisson(Mechanism::Laplace { scale: 2.0 }, 0.1, 5),
            DpEvent::Single { mechanism: Mechanism::DiscreteLaplace { scale: 4.0, sensitivity: 2 } },
            DpEvent::Selected {
                event: Box::new(DpEvent::Single { mechanism: Mechanism::RandomisedResponse { truth: 0.6 } }),
                runs: RunCount::TruncatedNegativeBinomial { eta: 1.0, gamma: 0.1 },
            },
        ],
    };
    let add = rdp::curve(&event, Adjacency::AddRemove).unwrap();
    let replace = rdp::curve(&event, Adjacency::ReplaceOne).unwrap();
    for alpha in [1.5, 3.0, 20.0] {
        assert!(add.at(alpha).unwrap() < replace.at(alpha).unwrap());
    }
    assert!(zcdp::of_event(&event, Adjacency::AddRemove).unwrap().zcdp().rho() > 10.0 / 8.0);
    let fixed = DpEvent::SampledWithoutReplacement { mechanism: gaussian, fraction: 0.1 };
    let inside = DpEvent::Composed { events: vec![DpEvent::repeated(gaussian, 3), fixed.clone()] };
    let error = rdp::curve(&inside, Adjacency::AddRemove).unwrap_err().to_string();
    assert!(error.contains("sampled-without-replacement") && error.contains("add-remove"), "{error}");
    assert!(rdp::curve(&inside, Adjacency::ReplaceOne).is_ok());
    assert!(zcdp::of_event(&fixed, Adjacency::ReplaceOne).is_err());
    let failing = DpEvent::Single { mechanism: Mechanism::Approximate { epsilon: 1.0, delta: 1e-6 } };
    assert!(rdp::curve(&failing, Adjacency::AddRemove).is_err());
    assert!((zcdp::of_event(&failing, Adjacency::AddRemove).unwrap().delta() - 1e-6).abs() < 1e-18);
    assert!(GaussianDp::of_event(&event, Adjacency::AddRemove).is_err());
    let only = GaussianDp::of_event(&DpEvent::repeated(gaussian, 4), Adjacency::ReplaceOne).unwrap();
    assert!((only.mu() - 2.0).abs() < 1e-13);
}

#[test]
fn trade_off_curves_agree_with_their_profiles() {
    let pure = PureDp::new(1.0).unwrap().to_trade_off().unwrap();
    let laplace = TradeOff::laplace(1.0).unwrap();
    let gaussian = TradeOff::gaussian(0.7).unwrap();
    for i in 0..=50 {
        let a = f64::from(i) / 50.0;
        let (p, l) = (pure.false_negative_rate(a).unwrap(), laplace.false_negative_rate(a).unwrap());
        assert!(p <= l + 1e-12 && l <= 1.0 - a + 1e-12, "{a}");
    }
    for curve in [&pure, &laplace, &gaussian] {
        for e in [0.0, 0.3, 0.9] {
            let seen = (0..=20_000)
                .map(|i| f64::from(i) / 20_000.0)
                .map(|a| 1.0 - curve.false_negative_rate(a).unwrap() - f64::exp(e) * a)
                .fold(0.0, f64::max);
            let delta = curve.to_delta(eps(e)).unwrap();
            assert!((seen - delta).abs() < 2e-4, "{e}: {seen} {delta}");
        }
    }
    let twice = pure.compose(&pure).unwrap().to_delta(eps(0.5)).unwrap();
    let group = Group { guarantee: ApproximateDp::new(1.0, 0.0).unwrap(), count: 2 };
    assert!((twice - Optimal::new(&[group]).unwrap().delta(eps(0.5))).abs() < 1e-12);
    assert!(gaussian.compose(&laplace).is_err());
    let grouped = gaussian.clone().group(3).unwrap().false_negative_rate(0.2).unwrap();
    assert!((grouped - TradeOff::gaussian(2.1).unwrap().false_negative_rate(0.2).unwrap()).abs() < 1e-12);
}

#[test]
fn selection_costs_more_for_more_runs() {
    let base = RdpCurve::from(Component::Concentrated { xi: 0.0, rho: 0.01 });
    let mut last = 0.0;
    for gamma in [0.9, 0.5, 0.1, 0.01, 1e-4] {
        let runs = RunCount::TruncatedNegativeBinomial { eta: 0.5, gamma };
        let cost = selection::renyi(&base, runs, 10.0).unwrap();
        assert!(cost > last && cost > base.at(10.0).unwrap());
        last = cost;
    }
    assert!(selection::pure(1.0, 1.0, 0.1).unwrap() >= selection::liu_talwar(1.0).unwrap());
}
