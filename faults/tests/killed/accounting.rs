//! Faults of the numbers that are printed, and of what hidden iterates are taken to cost.

use rhograd::accounting::Conversion;
use rhograd::accounting::last_iterate::LastIterate;
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

/// A bound on what is released of steps `x -> contraction x + noise`, a row in the last of them and in every so manieth before moving `x` by one
/// deviation.
type StepsBound<'a> = &'a dyn Fn(f64, u64, u64) -> f64;

/// What is released of the steps.
#[derive(Clone, Copy)]
enum Told {
    Last,
    Mean,
}

/// No bound is below how far apart the releases are, which are normal laws: distance by deviation, from every noise on its own.
fn covers_lines(bound: StepsBound<'_>, told: Told) -> Result<(), String> {
    for (contraction, steps, period) in [(1.0, 40, 1), (1.0, 40, 8), (0.9, 200, 1), (0.97, 60, 3), (0.5, 12, 4)] {
        // What a unit at step k comes to in the release.
        let reach = |k: u64| {
            let at = |step: u64| if step < k { 0.0 } else { f64::powi(contraction, (step - k) as i32) };
            match told {
                Told::Last => at(steps),
                Told::Mean => (1..=steps).map(at).sum::<f64>() / steps as f64,
            }
        };
        let apart: f64 = (1..=steps).filter(|k| (steps - k).is_multiple_of(period)).map(reach).sum();
        let deviation = (1..=steps).map(|k| reach(k).powi(2)).sum::<f64>().sqrt();
        let (truth, stated) = (apart / deviation, bound(contraction, steps, period));
        if stated < truth {
            return Err(format!(
                "{steps} steps of {contraction}, one in {period}: {stated} is stated, they are {truth} apart"
            ));
        }
    }
    Ok(())
}

fn last_iterate(contraction: f64, steps: u64, period: u64) -> f64 {
    LastIterate::new(contraction, steps, period).unwrap().factor()
}

#[test]
fn fault_53_epochs_are_counted_once() {
    covers_lines(&last_iterate, Told::Last).unwrap();
    let found =
        covers_lines(&|contraction, _, period| last_iterate(contraction, period, period), Told::Last).unwrap_err();
    assert!(found.contains("one in 1:"), "{found}");
}

#[test]
fn fault_54_a_mean_of_iterates_is_charged_as_the_last_one() {
    let all = |contraction, steps, period| {
        LastIterate::new(contraction, steps, period).unwrap().all_to_gaussian_dp(1.0).unwrap().mu()
    };
    covers_lines(&all, Told::Mean).unwrap();
    let found = covers_lines(&last_iterate, Told::Mean).unwrap_err();
    assert!(found.contains("200 steps of 0.9"), "{found}");
}
