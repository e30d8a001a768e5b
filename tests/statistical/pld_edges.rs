//! The loss-distribution accountant where doubles run out: underflow, absurd counts, losses at their ends.

use rhograd::accounting::pld::{self, Interval};
use rhograd::privacy::{Adjacency, Delta, DpEvent, Epsilon, Mechanism};

use Adjacency::{AddRemove, ReplaceOne};

fn single(mechanism: Mechanism) -> DpEvent {
    DpEvent::Single { mechanism }
}

fn ln_delta(event: &DpEvent, epsilon: f64) -> Interval {
    pld::ln_delta(event, AddRemove, Epsilon::new(epsilon).unwrap(), 1e-3).unwrap()
}

fn epsilon(event: &DpEvent, delta: f64) -> Interval {
    pld::epsilon(event, AddRemove, Delta::new(delta).unwrap(), 1e-3).unwrap()
}

/// Squares of such noise underflow; its cost does not.
#[test]
fn noise_beyond_the_root_of_the_largest_double_still_costs() {
    // delta(0) = erf(mu / (2 sqrt 2)), about mu / sqrt(2 pi).
    let truth = (1e-200 / std::f64::consts::TAU.sqrt()).ln();
    let gaussian = single(Mechanism::Gaussian { noise_multiplier: 1e200 });
    let found = ln_delta(&gaussian, 0.0);
    assert!(found.contains(truth) && found.width() < 1e-8, "{found:?} {truth}");
    assert!(epsilon(&gaussian, 1e-250).lower > 0.0);
    let hundred = DpEvent::repeated(Mechanism::Gaussian { noise_multiplier: 1e200 }, 100);
    assert!(ln_delta(&hundred, 0.0).contains(truth + 10f64.ln()));
    let sampled = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 1e200 }, 0.1, 1);
    let integer = single(Mechanism::DiscreteGaussian { sigma: 1e200, sensitivity: 1 });
    for (event, truth) in [(sampled, truth - 10f64.ln()), (integer, truth)] {
        let found = ln_delta(&event, 0.0);
        assert!(found.contains(truth) && found.upper < -300.0, "{found:?}");
    }
    // 1 - e^(-e/2) for Laplace noise, tanh(e/2) for randomised response.
    let truth = f64::ln(1e-200 / 2.0);
    for mechanism in [Mechanism::Laplace { scale: 1e200 }, Mechanism::Pure { epsilon: 1e-200 }] {
        let found = ln_delta(&single(mechanism), 0.0);
        assert!(found.contains(truth) && found.upper < -300.0, "{mechanism:?} {found:?}");
    }
}

/// A rate below the smallest normal number times an odds above the largest one.
#[test]
fn a_tiny_rate_does_not_cancel_an_infinite_odds() {
    let event = DpEvent::poisson(Mechanism::Pure { epsilon: 800.0 }, 1e-309, 1);
    // ln(1 + 1e-309 (e^800 - 1)) = 88.5...
    let amplified = 800.0 + f64::ln(1e-309);
    let found = epsilon(&event, 1e-6);
    assert!(found.lower < amplified && amplified - 1e-3 < found.upper && found.width() < 1e-3, "{found:?} {amplified}");
    assert!(ln_delta(&event, 80.0).lower > -1e-3);
}

#[test]
fn a_failure_probability_that_underflows_is_not_none() {
    let event = DpEvent::poisson(Mechanism::Approximate { epsilon: 0.5, delta: 1e-200 }, 1e-200, 1);
    let truth = 2.0 * 1e-200f64.ln();
    let found = ln_delta(&event, 1.0);
    assert!(found.lower <= truth && truth <= found.upper, "{found:?}");
    let many = DpEvent::poisson(Mechanism::Approximate { epsilon: 0.5, delta: 1e-150 }, 1e-100, 1 << 40);
    let found = ln_delta(&many, 1e30);
    assert!(found.contains(1e-250f64.ln() + 40.0 * 2f64.ln()) && found.width() < 1e-9, "{found:?}");
}

/// 1/3 as a double lies below the loss of noise of scale 3.
#[test]
fn delta_is_not_0_at_a_rounded_largest_loss() {
    for (scale, at) in [(3.0, 1.0 / 3.0), (0.1, 10.0), (7.0, 1.0 / 7.0)] {
        let at_end = ln_delta(&single(Mechanism::Laplace { scale }), at);
        assert!(at_end.upper > f64::NEG_INFINITY && at_end.upper < -30.0, "{at_end:?}");
        let beyond = ln_delta(&single(Mechanism::Laplace { scale }), at * (1.0 + 1e-9));
        assert_eq!(beyond.upper, f64::NEG_INFINITY);
    }
    let truth = 0.9f64;
    let at_end = ln_delta(&single(Mechanism::RandomisedResponse { truth }), (truth / (1.0 - truth)).ln());
    assert!(at_end.upper > f64::NEG_INFINITY && at_end.upper < -30.0, "{at_end:?}");
}

/// Rounding of a sum of squares grows with its length; the bounds must grow with it.
#[test]
fn a_long_sum_of_gaussians_stays_inside_its_bounds() {
    let parts: Vec<DpEvent> =
        (1..=3000).map(|i| single(Mechanism::Gaussian { noise_multiplier: 40.0 + f64::from(i) / 7.0 })).collect();
    let squares: f64 = (1..=3000).rev().map(|i| (40.0 + f64::from(i) / 7.0).powi(-2)).sum();
    let found =
        pld::epsilon(&DpEvent::Composed { events: parts }, ReplaceOne, Delta::new(1e-6).unwrap(), 1e-9).unwrap();
    let mu = 2.0 * squares.sqrt();
    let truth = rhograd::accounting::gaussian::epsilon(mu, Delta::new(1e-6).unwrap()).unwrap().value();
    assert!(found.contains(truth) && found.width() < 1e-9, "{found:?} {truth}");
}

#[test]
fn absurd_counts_and_tolerances_are_answered() {
    let mut event = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 100.0 }, 1e-8, u64::MAX);
    for _ in 0..20 {
        event = DpEvent::Repeated { event: Box::new(event), count: u64::MAX };
    }
    let found = epsilon(&event, 1e-6);
    assert!(found.lower >= 0.0 && found.upper == f64::INFINITY, "{found:?}");
    assert_eq!(ln_delta(&event, 1.0).upper, 0.0);
    event = DpEvent::Repeated { event: Box::new(event), count: 0 };
    assert_eq!(epsilon(&event, 1e-6).upper, 0.0);
    let plain = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 1.0 }, 0.01, 1000);
    let delta = Delta::new(1e-5).unwrap();
    let [finest, widest] = [0.0, f64::INFINITY].map(|it| pld::epsilon(&plain, AddRemove, delta, it).unwrap());
    assert!(widest.lower <= finest.lower && finest.upper <= widest.upper && finest.width() < 1e-6);
    for bad in [-1.0, f64::NAN, f64::NEG_INFINITY] {
        assert!(pld::epsilon(&plain, AddRemove, delta, bad).is_err());
    }
}

/// The smallest and the largest delta that a double can hold.
#[test]
fn the_ends_of_delta_are_answered() {
    let sampled = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 1.0 }, 0.01, 1000);
    let laplace = DpEvent::repeated(Mechanism::Laplace { scale: 1.0 }, 30);
    for event in [&sampled, &laplace] {
        let least = epsilon(event, 5e-324);
        assert!(least.width() < 1e-2 && least.lower > 25.0, "{least:?}");
        assert_eq!(epsilon(event, 1.0 - f64::EPSILON / 2.0).upper, 0.0);
    }
}

/// Under a strong tilt a share of 1e-13 of a cell of integers decides; rounded down it broke the upper bound.
#[test]
fn coarse_and_fine_intervals_of_a_deep_tail_overlap() {
    let parts = vec![
        DpEvent::repeated(Mechanism::Gaussian { noise_multiplier: 3.960_008_052_479_739 }, 34),
        single(Mechanism::DiscreteGaussian { sigma: 4.580_946_529_368_63, sensitivity: 2 }),
    ];
    let event = DpEvent::Composed { events: parts };
    let at = Epsilon::new(684.356_647_231_319_8).unwrap();
    let found = [0.3, 1e-2, 1e-4, 0.0].map(|it| pld::ln_delta(&event, AddRemove, at, it).unwrap());
    for a in &found {
        assert!(found.iter().all(|b| a.lower <= b.upper), "{found:?}");
    }
    assert!(found[3].width() < 1e-6, "{found:?}");
}
