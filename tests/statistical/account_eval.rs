//! Every kind of question on hostile numbers: an answer that is a bound, or an error that says why.

use rhograd::calculator;
use serde_json::{Value, json};

use crate::number_of;

/// A fixed sequence of 64-bit words (splitmix64).
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between 0 and 1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A power of ten between two exponents.
    fn power(&mut self, low: f64, high: f64) -> f64 {
        10f64.powf(low + (high - low) * self.share())
    }
}

/// Numbers at the ends of what a double, a probability or a count can be.
const HOSTILE: [f64; 15] = [
    -0.0,
    5e-324,
    1e-300,
    1e-17,
    0.5,
    1.0,
    2.0,
    745.2,
    1e4,
    1e9,
    9e15,
    1e300,
    f64::MAX,
    -1.0,
    1.0 - f64::EPSILON / 2.0,
];

/// The kinds about loss distributions, with parameters that they accept; one step is answered fastest.
fn loss_kinds() -> Vec<(&'static str, Value)> {
    let sampled = |extra: &[(&str, Value)]| {
        let mut all = json!({"sampling_rate": 0.01, "noise_multiplier": 1.0, "steps": 1, "adjacency": "add_remove"});
        extra.iter().for_each(|(name, value)| all[*name] = value.clone());
        all
    };
    let mut one = sampled(&[("epsilon", json!(0.5))]);
    one.as_object_mut().unwrap().remove("steps");
    vec![
        ("poisson_gaussian_pld_eps", sampled(&[("delta", json!(1e-5))])),
        ("poisson_gaussian_pld_delta", sampled(&[("epsilon", json!(1.0))])),
        (
            "poisson_gaussian_pld_eps_replace_one",
            sampled(&[("delta", json!(1e-5)), ("adjacency", json!("replace_one"))]),
        ),
        ("poisson_gaussian_one_step_delta", one),
        ("laplace_composition_eps", json!({"eps0": 0.5, "steps": 10, "delta": 1e-5})),
        ("laplace_composition_delta", json!({"eps0": 1.0, "steps": 5, "epsilon": 2.0})),
    ]
}

/// Checks that an answer is a set of bounds and an error names what is wrong.
fn check(name: &str, params: &Value) {
    let answer = match calculator::answer(name, params) {
        Ok(answer) => answer,
        Err(error) => {
            let text = error.to_string();
            let why = params
                .as_object()
                .unwrap()
                .keys()
                .any(|key| text.contains(&key.replace('_', " ")) || text.contains(key));
            assert!(why || text.contains(" is ") || text.contains("scale"), "{name} {params}: {text}");
            return;
        }
    };
    let at = |field: &str| answer.get(field).and_then(number_of);
    for (field, value) in &answer {
        let shown = number_of(value);
        assert!(
            shown.is_some_and(|it| !it.is_nan()) || (value.is_null() && field.contains("delta")),
            "{name} {params} {field}: {value}"
        );
        assert!(shown.is_none_or(|it| it >= 0.0 || field.starts_with("log")), "{name} {params} {field}: {value}");
    }
    for (low, high) in [("lower", "upper"), ("log_lower", "log_upper")] {
        if let (Some(low), Some(high)) = (at(low), at(high)) {
            assert!(low <= high, "{name} {params}: {low} {high}");
        }
    }
    let given = |field: &str| params.get(field).and_then(Value::as_f64).unwrap_or(f64::NAN);
    // Unbounded losses: delta is positive at every finite epsilon.
    let costs =
        given("sampling_rate") > 0.0 && given("noise_multiplier") > 0.0 && params["steps"].as_f64() != Some(0.0);
    if let (true, Some(ln_delta)) = (costs && given("epsilon").is_finite(), at("log_delta")) {
        assert!(ln_delta > f64::NEG_INFINITY, "{name} {params}: delta is not 0");
    }
    // Bounded losses: delta is positive below the largest one.
    let largest = given("eps0") * given("steps");
    if let (true, Some(ln_delta)) = (given("epsilon") < largest * (1.0 - 1e-9), at("log_delta")) {
        assert!(ln_delta > f64::NEG_INFINITY, "{name} {params}: delta is not 0");
    }
}

#[test]
fn hostile_numbers_get_a_bound_or_a_reason() {
    let mut words = Words(1);
    for (name, params) in loss_kinds() {
        let numbers: Vec<String> =
            params.as_object().unwrap().iter().filter(|it| it.1.is_number()).map(|it| it.0.clone()).collect();
        for key in &numbers {
            for value in HOSTILE.into_iter().chain((0..2).map(|_| f64::from_bits(words.next()))) {
                let mut changed = params.clone();
                changed[key] = json!(value);
                check(name, &changed);
            }
            for text in ["inf", "nan", ""] {
                let mut changed = params.clone();
                changed[key] = json!(text);
                check(name, &changed);
            }
        }
        // All numbers at once.
        for _ in 0..10 {
            let mut changed = params.clone();
            for key in &numbers {
                changed[key] = json!(HOSTILE[(words.next() % 15) as usize]);
            }
            check(name, &changed);
        }
    }
}

#[test]
fn the_promised_extremes_are_answered() {
    let mut words = Words(2);
    let mut narrow = 0;
    for round in 0..25 {
        let (rate, noise) = (words.power(-8.0, 0.0), words.power(0.2f64.log10(), 4.0));
        let (steps, delta) = (words.power(0.0, 9.0).round(), words.power(-300.0, -1.0));
        let params = json!({"sampling_rate": rate, "noise_multiplier": noise, "steps": steps, "delta": delta, "adjacency": "add_remove"});
        let answer = calculator::answer("poisson_gaussian_pld_eps", &params).unwrap();
        let (low, high) = (number_of(&answer["lower"]).unwrap(), number_of(&answer["upper"]).unwrap());
        assert!(high.is_finite() && low <= high, "{params}: {low} {high}");
        narrow += u32::from(high - low <= 0.02 * high + 1e-3);
        if round % 5 == 0 {
            let curve = json!({"components": [{"type": "poisson_gaussian", "sampling_rate": rate, "noise_multiplier": noise,
                                           "count": steps}], "delta": delta});
            let by_orders =
                number_of(&calculator::answer("rdp_curve_to_eps", &curve).unwrap()["epsilon_improved"]).unwrap();
            assert!(low <= by_orders && by_orders.is_finite(), "{params}: {low} {by_orders}");
        }
        let rho = words.power(-10.0, 4.0);
        for kind in ["zcdp_to_eps_classical", "zcdp_to_eps_optimal", "gaussian_eps_exact"] {
            let mut params = json!({"rho": rho, "delta": delta});
            if kind.starts_with("zcdp") {
                params["xi"] = json!(0.0);
            }
            let epsilon = number_of(&calculator::answer(kind, &params).unwrap()["epsilon"]).unwrap();
            assert!(epsilon.is_finite() && epsilon >= 0.0, "{kind} {params}: {epsilon}");
        }
    }
    // A bound is always promised, a narrow one not where one step in a billion decides a delta of 1e-200.
    assert!(narrow >= 20, "{narrow} of 25 intervals are narrow");
}
