//! Faults of the numbers that are printed, and of what hidden iterates are taken to cost.

use rhograd::accounting::Conversion;
use rhograd::accounting::last_iterate::LastIterate;
use rhograd::accounting::pld::{self, Pld};
use rhograd::num::round::decimal_up;
use rhograd::privacy::{Adjacency, Delta, DpEvent, Epsilon, Mechanism};
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

/// A bound on what is released of steps `x -> contraction x + noise`, of which the last and every n-th before use the row, and move `x` by one deviation more.
type StepsBound<'a> = &'a dyn Fn(f64, u64, u64) -> f64;

/// What is released of the steps.
#[derive(Clone, Copy)]
enum Told {
    Last,
    Mean,
}

/// Contractions, steps, and one in how many uses the row.
const STEPS: [(f64, u64, u64); 6] =
    [(1.0, 40, 1), (0.9, 200, 1), (1.0, 40, 8), (0.97, 60, 3), (0.5, 12, 4), (1.0, 1000, 50)];

/// The bound is not below how far apart two releases are, which are normal laws: on a line, or, of the last iterate, in a plane in which the last use goes
/// another way than those before, and steps forget that way.
fn covers((contraction, steps, period): (f64, u64, u64), bound: StepsBound<'_>, told: Told) -> Result<(), String> {
    // What a unit at step k comes to in the release.
    let reach = |k: u64| {
        let at = |step: u64| if step < k { 0.0 } else { f64::powi(contraction, (step - k) as i32) };
        match told {
            Told::Last => at(steps),
            Told::Mean => (1..=steps).map(at).sum::<f64>() / steps as f64,
        }
    };
    let uses = (1..=steps).filter(|k| (steps - k).is_multiple_of(period));
    let apart: f64 = uses.clone().map(reach).sum();
    let deviation = (1..=steps).map(|k| reach(k).powi(2)).sum::<f64>().sqrt();
    let before: f64 = uses.filter(|&k| k < steps).map(reach).sum();
    let truth = match told {
        Told::Last => (apart / deviation).max((1.0 + (before / deviation).powi(2)).sqrt()),
        Told::Mean => apart / deviation,
    };
    let stated = bound(contraction, steps, period);
    match stated >= truth {
        true => Ok(()),
        false => {
            Err(format!("{steps} steps of {contraction}, one in {period}: {stated} is stated, they are {truth} apart"))
        }
    }
}

fn last_iterate(contraction: f64, steps: u64, period: u64) -> f64 {
    LastIterate::new(contraction, steps, period).unwrap().factor()
}

#[test]
fn fault_53_passes_are_counted_once() {
    for steps in STEPS {
        covers(steps, &last_iterate, Told::Last).unwrap();
        let once = |contraction, _, period| last_iterate(contraction, period, period);
        assert!(covers(steps, &once, Told::Last).is_err(), "{steps:?}");
    }
}

#[test]
fn fault_54_a_mean_of_iterates_is_charged_as_the_last_one() {
    let all = |contraction, steps, period| {
        LastIterate::new(contraction, steps, period).unwrap().all_to_gaussian_dp(1.0).unwrap().mu()
    };
    STEPS.iter().for_each(|&steps| covers(steps, &all, Told::Mean).unwrap());
    let found = covers((0.9, 200, 1), &last_iterate, Told::Mean).unwrap_err();
    assert!(found.contains("is stated"), "{found}");
}

/// A bound on delta at epsilon of passes of steps with Gaussian noise, of each of which a row draws one.
type PassesBound<'a> = &'a dyn Fn(f64, u64, u64, f64) -> f64;

/// No bound is below what two passes of two steps show of a row to whoever looks at each pass for the step that stands out: a test, so a lower bound.
fn passes_cover(bound: PassesBound<'_>) -> Result<(), String> {
    for (z, epsilon) in [(0.3f64, 12.0f64), (0.4, 8.0), (0.7, 2.0), (1.0, 1.0)] {
        // With the row the larger of two numbers is above the bar with 1 - F(t) F(t - 1/z), without it with 1 - F(t)^2.
        let mut most = f64::NEG_INFINITY;
        for i in -200..800 {
            let bar = f64::from(i) * 0.01;
            let below = |mean: f64| Normal::standard().cdf(bar - mean);
            let (with, without) = (1.0 - below(0.0) * below(1.0 / z), 1.0 - below(0.0).powi(2));
            // Both passes are above it.
            most = most.max(with.powi(2) - epsilon.exp() * without.powi(2));
        }
        let stated = bound(z, 2, 2, epsilon);
        if stated < most {
            return Err(format!("two passes with noise {z} at epsilon {epsilon}: {stated} is stated, {most} was seen"));
        }
    }
    Ok(())
}

fn delta_of_passes(z: f64, steps: u64, passes: u64, epsilon: f64) -> f64 {
    let pass = DpEvent::allocated(Mechanism::Gaussian { noise_multiplier: z }, steps);
    let event = DpEvent::Repeated { event: Box::new(pass), count: passes };
    let bound = pld::ln_delta(&event, Adjacency::AddRemove, Epsilon::new(epsilon).unwrap(), 1e-2).unwrap();
    bound.upper.exp()
}

#[test]
fn fault_61_one_pass_is_charged_for_several() {
    passes_cover(&delta_of_passes).unwrap();
    let found = passes_cover(&|z, steps, _, epsilon| delta_of_passes(z, steps, 1, epsilon)).unwrap_err();
    assert!(found.contains("was seen"), "{found}");
}

#[test]
fn fault_62_passes_are_bounded_in_one_direction() {
    let by_direction = |z: f64, epsilon: f64| {
        let pass = DpEvent::allocated(Mechanism::Gaussian { noise_multiplier: z }, 2);
        let pld = Pld::new(&DpEvent::Repeated { event: Box::new(pass), count: 2 }, Adjacency::AddRemove).unwrap();
        pld.ln_delta_by_direction(Epsilon::new(epsilon).unwrap(), 1e-2).unwrap()
    };
    let found = passes_cover(&|z, _, _, epsilon| by_direction(z, epsilon).add.upper.exp()).unwrap_err();
    assert!(found.contains("was seen"), "{found}");
}
