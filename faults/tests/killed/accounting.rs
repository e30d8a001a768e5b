//! Faults of the numbers that are printed.

use rhograd::accounting::Conversion;
use rhograd::num::round::decimal_up;
use rhograd::privacy::Delta;
use statrs::distribution::{ContinuousCDF, Normal};

/// A printed number reads back as no smaller one.
fn prints_no_smaller(print: fn(f64) -> String) -> Result<(), String> {
    for i in 1..20_000 {
        let epsilon = f64::from(i) * 1.234_567e-3;
        let printed = print(epsilon);
        if !printed.parse::<f64>().is_ok_and(|back| back >= epsilon) {
            return Err(format!("{epsilon} is printed as {printed}"));
        }
    }
    Ok(())
}

#[test]
fn fault_25_epsilon_is_rounded_to_the_nearest() {
    prints_no_smaller(|epsilon| decimal_up(epsilon, 4)).unwrap();
    assert!(prints_no_smaller(|epsilon| format!("{epsilon:.3}")).is_err());
}

/// A stated pair of epsilon and delta holds for the Gaussian mechanism of this rho: Balle and Wang 2018, Theorem 8.
fn claims_hold(claim: fn(f64, f64) -> (f64, f64)) -> Result<(), String> {
    let tail = |x: f64| Normal::standard().cdf(-x);
    for rho in [0.001, 0.02, 0.3, 2.0] {
        for delta in [1e-3, 1e-5, 1e-7] {
            let (epsilon, stated) = claim(rho, delta);
            let mu = (2.0 * rho).sqrt();
            let truth = tail(epsilon / mu - mu / 2.0) - epsilon.exp() * tail(epsilon / mu + mu / 2.0);
            if truth > stated * (1.0 + 1e-6) {
                return Err(format!("rho {rho} at epsilon {epsilon} has delta {truth}, stated is {stated}"));
            }
        }
    }
    Ok(())
}

fn exact(rho: f64, delta: f64) -> f64 {
    Conversion::Exact.epsilon(rho, Delta::new(delta).unwrap()).unwrap().value()
}

#[test]
fn fault_33_delta_is_halved() {
    claims_hold(|rho, delta| (exact(rho, delta), delta)).unwrap();
    assert!(claims_hold(|rho, delta| (exact(rho, delta), delta / 2.0)).is_err());
}
