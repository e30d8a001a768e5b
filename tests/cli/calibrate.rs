//! One parameter from the others: the answer meets the target, and the next decimal or step does not.

use proptest::prelude::*;
use serde_json::Value;

use super::support::{Folder, number};

const CONVERSIONS: [&str; 3] = ["classical", "optimal", "exact"];
const RELATIONS: [&str; 2] = ["add-remove", "replace-one"];

fn ask(folder: &Folder, arguments: &str) -> Value {
    folder.succeed(&format!("account {arguments} --json")).json()
}

/// A value one unit of its sixth digit away, upward or downward.
fn sixth_digit(value: f64, direction: f64) -> f64 {
    value + direction * 10f64.powf(value.log10().floor() - 5.0)
}

/// The same for the fifth digit, the last of sampled answers.
fn fifth_digit(value: f64, direction: f64) -> f64 {
    sixth_digit(value, 10.0 * direction)
}

/// A number with few digits, as people type it.
fn typed(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plain_noise_and_steps_meet_the_target_and_nothing_beyond_does(
        ln_epsilon in -3.0f64..2.5, ln_delta in -40.0f64..-3.0, ln_steps in 0.0f64..12.0, replace in 0usize..2,
    ) {
        let folder = Folder::new();
        let (epsilon, delta, steps) = (typed(ln_epsilon.exp()), typed(ln_delta.exp()), ln_steps.exp() as u64);
        let relation = RELATIONS[replace];
        let target = format!("--epsilon {epsilon} --delta {delta:e}");
        let noise = ask(&folder, &format!("calibrate {target} --steps {steps} --adjacency {relation} --clip 0.5"));
        for name in CONVERSIONS {
            let z = number(&noise, &format!("/noise_multiplier_{name}"));
            let spent = |z: f64, steps: f64| {
                let run = format!("convert --noise-multiplier {z:e} --steps {steps} --delta {delta:e}");
                number(&ask(&folder, &run), &format!("/epsilon_{name}"))
            };
            prop_assert!(spent(z, steps as f64) <= epsilon);
            prop_assert!(spent(sixth_digit(z, -1.0), steps as f64) > epsilon);
            let sigma = number(&noise, &format!("/sigma_{name}"));
            let sensitivity = if replace == 1 { 1.0 } else { 0.5 };
            prop_assert!(sigma >= z * sensitivity && sigma <= z * sensitivity * (1.0 + 1e-15));

            let z = typed(z * 1.7);
            let most = number(&ask(&folder, &format!("calibrate {target} --noise-multiplier {z:e}")),
                &format!("/max_steps_{name}"));
            prop_assert!(spent(z, most) <= epsilon);
            prop_assert!(most > 1e9 || spent(z, most + 1.0) > epsilon);
        }
    }

    #[test]
    fn rho_there_and_back(ln_rho in -8.0f64..3.0, ln_steps in 0.0f64..14.0) {
        let folder = Folder::new();
        let (rho, steps) = (typed(ln_rho.exp()), ln_steps.exp() as u64);
        let z = number(&ask(&folder, &format!("calibrate --rho {rho:e} --steps {steps}")), "/noise_multiplier_rho");
        let spent = |z: f64, steps: f64| {
            number(&ask(&folder, &format!("calibrate --noise-multiplier {z:e} --steps {steps}")), "/rho")
        };
        prop_assert!(spent(z, steps as f64) <= rho && spent(sixth_digit(z, -1.0), steps as f64) > rho);
        let z = typed(z);
        let most = ask(&folder, &format!("calibrate --noise-multiplier {:e} --rho {rho:e}", 2.0 * z));
        let most = number(&most, "/max_steps_rho");
        prop_assert!(spent(2.0 * z, most) <= rho && spent(2.0 * z, most + 1.0) > rho);
    }

    #[test]
    fn epsilon_and_delta_answer_each_other(
        ln_z in -0.5f64..3.0, ln_delta in -20.0f64..-5.0, ln_steps in 0.0f64..7.0, ln_rate in -6.0f64..-0.7,
    ) {
        let folder = Folder::new();
        let (z, delta, rate, steps) = (typed(ln_z.exp()), typed(ln_delta.exp()), typed(ln_rate.exp()), ln_steps.exp() as u64);
        let run = format!("calibrate --noise-multiplier {z:e} --steps {steps}");
        let plain = ask(&folder, &format!("{run} --delta {delta:e}"));
        for name in CONVERSIONS {
            let epsilon = number(&plain, &format!("/epsilon_{name}"));
            let back = ask(&folder, &format!("{run} --epsilon {epsilon:e}"));
            let back = number(&back, &format!("/delta_{name}"));
            prop_assert!(back <= delta * (1.0 + 1e-9) && (epsilon == 0.0 || back >= delta * (1.0 - 1e-9)));
        }
        let epsilon = number(&ask(&folder, &format!("{run} --rate {rate:e} --delta {delta:e}")), "/epsilon_pld");
        let back = ask(&folder, &format!("{run} --rate {rate:e} --epsilon {epsilon:e}"));
        let back = number(&back, "/delta_pld");
        // Two certified upper bounds one after the other. At few steps and small rates, where the law of the loss is
        // least smooth, the sums that can be afforded leave up to 1.5e-3 of epsilon and 1% of delta between the bounds.
        prop_assert!(back <= delta * 1.05 && (epsilon == 0.0 || back >= delta / 1.05), "{back} {delta}");
    }
}

proptest! {
    // Each case makes three searches, of some twenty evaluations each.
    #![proptest_config(ProptestConfig {
        cases: 3,
        failure_persistence: None,
        // A failure takes long enough as it is.
        max_shrink_iters: 0,
        rng_seed: proptest::test_runner::RngSeed::Fixed(4),
        ..ProptestConfig::default()
    })]

    #[test]
    fn sampled_answers_meet_the_target_and_nothing_beyond_does(
        ln_epsilon in -1.5f64..2.0, ln_delta in -25.0f64..-7.0, ln_steps in 0.0f64..8.0, ln_rate in -6.0f64..-0.7,
        replace in 0usize..2,
    ) {
        let folder = Folder::new();
        let (epsilon, delta, rate) = (typed(ln_epsilon.exp()), typed(ln_delta.exp()), typed(ln_rate.exp()));
        let steps = ln_steps.exp() as u64;
        let relation = format!("--adjacency {}", RELATIONS[replace]);
        let target = format!("{relation} --epsilon {epsilon} --delta {delta:e}");
        let spent = |z: f64, rate: f64, steps: f64| {
            let run = format!("calibrate {relation} --delta {delta:e} --noise-multiplier {z:e} --rate {rate:e} --steps {steps}");
            number(&ask(&folder, &run), "/epsilon_pld")
        };
        let z = number(&ask(&folder, &format!("calibrate {target} --steps {steps} --rate {rate:e}")),
            "/noise_multiplier_pld");
        // Twice the multiplier of replace-one is the decimal of five digits.
        let factor = 1.0 + replace as f64;
        prop_assert!(spent(z, rate, steps as f64) <= epsilon);
        prop_assert!(spent(fifth_digit(z * factor, -1.0) / factor, rate, steps as f64) > epsilon);

        let z = typed(1.2 * z);
        let largest = number(&ask(&folder, &format!("calibrate {target} --steps {steps} --noise-multiplier {z:e}")),
            "/max_rate_pld");
        prop_assert!(largest >= rate && spent(z, largest, steps as f64) <= epsilon);
        prop_assert!(largest == 1.0 || spent(z, fifth_digit(largest, 1.0), steps as f64) > epsilon);

        let most = number(&ask(&folder, &format!("calibrate {target} --rate {rate:e} --noise-multiplier {z:e}")),
            "/max_steps_pld");
        prop_assert!(most >= steps as f64 && spent(z, rate, most) <= epsilon && spent(z, rate, most + 1.0) > epsilon);
    }
}

#[test]
fn exact_budgets_are_used_up() {
    let folder = Folder::new();
    assert_eq!(number(&ask(&folder, "calibrate --rho 0.5 --noise-multiplier 10"), "/max_steps_rho"), 100.0);
    assert_eq!(number(&ask(&folder, "calibrate --noise-multiplier 10 --steps 100"), "/rho"), 0.5);
    assert_eq!(number(&ask(&folder, "calibrate --rho 0.5 --steps 100"), "/sigma_rho"), 10.0);
    let most = ask(&folder, "calibrate --solve rho --epsilon 1 --delta 1e-6");
    assert_eq!(most, ask(&folder, "convert --epsilon 1 --delta 1e-6"));
    let spent = ask(&folder, "calibrate --rho 0.5 --delta 1e-6");
    assert_eq!(
        number(&spent, "/epsilon_exact"),
        number(&ask(&folder, "convert --rho 0.5 --delta 1e-6"), "/epsilon_exact")
    );
}

#[test]
fn what_is_granted_is_printed_no_larger_than_it_is() {
    let folder = Folder::new();
    let json = ask(&folder, "calibrate --solve rho --epsilon 1 --delta 1e-6");
    let page = folder.succeed("account calibrate --solve rho --epsilon 1 --delta 1e-6");
    for name in ["max_rho_classical", "max_rho_optimal", "max_rho_exact", "max_mu_exact"] {
        assert!(page.number(name) <= number(&json, &format!("/{name}")), "{name}");
    }
}

#[test]
fn impossible_requests_say_why() {
    let folder = Folder::new();
    for (arguments, code, needle) in [
        ("--epsilon 1 --delta 1e-6 --noise-multiplier 0.1", 1, "not even one step"),
        ("--epsilon 1 --delta 1e-6 --noise-multiplier 0.1 --rate 0.5", 1, "not even one step"),
        ("--rho 0.5 --noise-multiplier 0.1", 1, "not even one step"),
        ("--epsilon 1 --delta 1e-6 --noise-multiplier 1e200", 1, "any number of steps"),
        ("--rho 0.5 --noise-multiplier 1e200", 1, "any number of steps"),
        ("--epsilon 1 --delta 0.5 --rate 1e-6", 1, "every noise multiplier"),
        ("--epsilon 0 --delta 1e-6", 2, "no room for any release"),
        ("--epsilon 0 --delta 1e-6 --rate 0.1", 2, "above 0"),
        ("--epsilon inf --delta 1e-6", 2, "epsilon"),
        ("--epsilon 1 --delta 1e-6 --rate 0.1 --steps 0", 2, "--steps"),
        ("--epsilon 1 --delta 1e-6 --rate 2", 2, "rate"),
        ("--epsilon 1 --delta 1e-6 --rate nan", 2, "rate"),
        ("--rho 0.5 --rate 0.1", 2, "--rate"),
        ("--noise-multiplier 3 --rate 0.1", 2, "--rate"),
        ("--noise-multiplier 3 --steps 10 --rate 0.1 --epsilon 1 --delta 1e-6", 2, "--rate: is both given"),
        ("--rho 0.5 --noise-multiplier 10 --steps 3", 2, "--rho: is both given"),
        ("--solve steps --steps 4 --epsilon 1 --delta 1e-6", 2, "--steps: is both given"),
        ("--solve steps --epsilon 1 --delta 1e-6", 2, "--noise-multiplier"),
        ("--solve delta --noise-multiplier 1", 2, "--epsilon"),
        ("--epsilon 1 --delta 1e-6 --clip 0", 2, "--clip: is 0, must be finite and above 0"),
        ("--epsilon 1 --delta 1e-6 --clip=-1 --adjacency replace-one", 2, "--clip: is -1"),
        ("--solve epsilon --noise-multiplier 1", 2, "--delta"),
        ("--solve epsilon --rho 1 --noise-multiplier 1 --delta 0.1", 2, "drop one"),
        ("--rho 0.5 --epsilon 1 --delta 1e-6", 2, "drop one"),
    ] {
        let outcome = folder.run(&format!("account calibrate {arguments}"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(code), ""), "{outcome:?}");
        assert!(outcome.stderr.contains(needle), "{outcome:?}");
    }
}

#[test]
fn the_noise_of_passes_meets_the_target_and_is_less_than_that_of_samples() {
    let folder = Folder::new();
    let target = "calibrate --epsilon 2 --delta 1e-6 --steps 40";
    let noise = number(&ask(&folder, &format!("{target} --steps-of-pass 20")), "/noise_multiplier_pld");
    let sampled = number(&ask(&folder, &format!("{target} --rate 0.05")), "/noise_multiplier_pld");
    assert!(noise < sampled && noise > 0.8 * sampled, "{noise} {sampled}");
    let spent = |z: f64| {
        let run = format!("calibrate --delta 1e-6 --noise-multiplier {z:e} --steps 40 --steps-of-pass 20");
        number(&ask(&folder, &run), "/epsilon_pld")
    };
    assert!(spent(noise) <= 2.0 && spent(0.999 * noise) > 2.0);
    let run = format!("calibrate --epsilon 2 --noise-multiplier {noise:e} --steps 40 --steps-of-pass 20");
    let delta = number(&ask(&folder, &run), "/delta_pld");
    assert!(delta <= 1.02e-6 && delta > 0.98e-6, "{delta:e}");
    for (more, words) in [
        ("--steps-of-pass 20 --rate 0.05", &["--steps-of-pass", "--rate"][..]),
        ("--steps-of-pass 20 --noise-multiplier 1 --solve rho", &["--steps-of-pass"]),
        ("--steps-of-pass 0", &["participations"]),
        ("--steps-of-pass 20 --adjacency replace-one", &["replace-one"]),
    ] {
        folder.refuse(&format!("account {target} {more}"), 2, words);
    }
    folder.refuse("account calibrate --epsilon 2 --delta 1e-6 --steps-of-pass 20", 2, &["--steps"]);
}
