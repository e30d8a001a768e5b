//! What files hold of a charge.

use super::*;

/// Every kind as files hold it.
const STORED: [&str; 6] = [
    r#"{"what":"t","sensitivity":3,"log2_scale":4,"noise":"floored-normal","count":5}"#,
    r#"{"sampled":{"what":"t","sensitivity":3,"log2_scale":4,"noise":"discrete-gaussian","count":5},"exponent":6,"claim":{"epsilon":1.0,"delta":0.25,"rho":0.5}}"#,
    r#"{"perturbed":{"what":"t","sensitivity":3,"log2_scale":4,"noise":"floored-normal","count":1},"curvature":0.5,"claim":{"epsilon":1.0,"delta":0.25,"rho":0.5}}"#,
    r#"{"what":"t","sensitivity":3,"log2_scale":4,"candidates":9,"count":5}"#,
    r#"{"what":"t","rho":0.5,"stop":7,"claim":{"epsilon":1.0,"delta":0.25,"rho":0.5}}"#,
    r#"{"noised":{"what":"t","sensitivity":3,"log2_scale":4,"noise":"floored-normal","count":5},"row":3,"threshold":90,"delta":0.25}"#,
];

fn stored() -> [Charge; 6] {
    STORED.map(|text| serde_json::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}")))
}

#[test]
fn files_tell_kinds_apart_by_their_fields() {
    let [gaussian, sampled, objective, selection, best, stable] = stored();
    assert!(matches!(gaussian, Charge::Gaussian(_)) && matches!(sampled, Charge::PoissonGaussian(_)));
    assert!(matches!(objective, Charge::Objective(_)) && matches!(selection, Charge::Exponential(_)));
    assert!(matches!(best, Charge::PrivateSelection(_)) && matches!(stable, Charge::Threshold(_)));
    for (text, charge) in STORED.iter().zip(stored()) {
        charge.check().unwrap();
        assert_eq!(serde_json::to_string(&charge).unwrap(), *text);
        let more = text.replacen('{', r#"{"more":1,"#, 1);
        assert!(serde_json::from_str::<Charge>(&more).is_err(), "{more}");
    }
}

#[test]
fn a_cost_is_exact_or_claimed() {
    let rho = stored().map(|charge| charge.rho().unwrap());
    let half = Rho::from_f64(0.5).unwrap();
    // (3 / 16)^2 / 2 five times, and a quarter of it for choices; a threshold costs its noise.
    let exact = Rho::from_f64(5.0 * 9.0 / 512.0).unwrap();
    let choices = Rho::from_f64(5.0 * 9.0 / 2048.0).unwrap();
    assert_eq!(rho, [exact.clone(), half.clone(), half.clone(), choices, half, exact]);
    let delta = stored().map(|charge| charge.delta());
    assert_eq!(delta[..5], [0.0, 0.25, 0.25, 0.0, 0.25]);
    assert!((1.25..1.2501).contains(&delta[5]), "five releases, each with its own: {}", delta[5]);
    assert_eq!(stored().map(|charge| charge.claim().is_some()), [false, true, true, false, true, false]);
    assert_eq!(stored().map(|charge| charge.has_loss_distribution()), [true, true, false, true, false, true]);
}

#[test]
fn one_release_of_a_charge_is_all_of_it_but_for_the_count() {
    for charge in stored() {
        let one = charge.single();
        assert_eq!((one.count(), one.sensitivity(), one.what()), (1, charge.sensitivity(), "t"));
        assert_eq!((one.claim(), one.noise()), (charge.claim(), charge.noise()));
        assert_eq!(one.single(), one);
    }
}
