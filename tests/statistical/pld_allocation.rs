//! Steps that rows draw, and sensitivities that are drawn: intervals contain references by another method, and both relate to what is known.
//!
//! `tests/golden/allocation.py` writes `allocation.csv` and documents its columns.

use rhograd::accounting::notion::GaussianDp;
use rhograd::accounting::pld::{self, Interval, Pld};
use rhograd::accounting::{rdp, zcdp};
use rhograd::privacy::{Adjacency, DpEvent, Mechanism};

use crate::{del, eps};

use Adjacency::{AddRemove, ReplaceOne};

fn steps(noise_multiplier: f64, steps: u64) -> DpEvent {
    DpEvent::allocated(Mechanism::Gaussian { noise_multiplier }, steps)
}

fn mixture(standard_deviation: f64, parts: &[(f64, f64)]) -> DpEvent {
    let (sensitivities, probabilities) = parts.iter().copied().unzip();
    DpEvent::MixtureOfGaussians { standard_deviation, sensitivities, probabilities }
}

fn times(event: DpEvent, count: u64) -> DpEvent {
    DpEvent::Repeated { event: Box::new(event), count }
}

/// References are right to the digits that are given, and to what two grids of another distance differ by.
const REFERENCE: f64 = 4e-6;

/// The interval of each row in question, with the truth.
fn found(
    rows: impl Iterator<Item = &'static str>,
    tolerance: f64,
) -> impl Iterator<Item = (&'static str, Interval, f64)> {
    rows.map(move |line| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |i: usize| cells[i].parse::<f64>().unwrap();
        let list = |i: usize| cells[i].split(' ').map(|it| it.parse::<f64>().unwrap());
        let event = match cells[0] {
            "steps" => steps(number(1), cells[2].parse().unwrap()),
            _ => mixture(number(1), &list(3).zip(list(2)).collect::<Vec<_>>()),
        };
        let pld = Pld::new(&times(event, cells[4].parse().unwrap()), AddRemove).unwrap();
        let both = pld.ln_delta_by_direction(eps(number(6)), tolerance).unwrap();
        (line, if cells[5] == "remove" { both.remove } else { both.add }, number(7))
    })
}

fn references(kind: &'static str) -> impl Iterator<Item = &'static str> {
    include_str!("../golden/allocation.csv").lines().filter(move |line| line.starts_with(kind))
}

fn check(rows: impl Iterator<Item = &'static str>, tolerance: f64, error: f64) -> usize {
    let checked = found(rows, tolerance).map(|(line, found, truth)| {
        assert!(found.lower - error <= truth && truth <= found.upper + error, "{line}: {found:?}");
        assert!(found.width() <= tolerance, "{line}: {found:?}");
    });
    checked.count()
}

#[test]
fn intervals_contain_references_by_another_method() {
    // Fewer and wider than they can be: code of tests is slow.
    assert!(check(references("steps").filter(|line| line.contains(",1,")).step_by(4), 2e-2, REFERENCE) >= 12);
    assert!(check(references("mixture").step_by(2), 1e-2, 1e-11) >= 20);
}

#[test]
#[ignore = "takes minutes without optimization"]
fn all_intervals_are_narrow_and_contain_references() {
    assert!(check(references("steps"), 1e-3, REFERENCE) >= 70);
    assert!(check(references("mixture"), 1e-3, 1e-11) >= 40);
}

/// The least noise for an epsilon: passes, Poisson samples of the same steps, and one step a pass on all rows. `docs/accounting/pld.md` has what it prints.
#[test]
#[ignore = "takes minutes; prints a table"]
fn noise_of_passes_at_length() {
    for (epsilon, count, passes) in [1.0, 8.0].into_iter().flat_map(|epsilon| {
        [(10, 1), (100, 1), (1000, 1), (100, 10), (50, 20), (10, 100)].map(|(count, passes)| (epsilon, count, passes))
    }) {
        let least = |event: &dyn Fn(f64) -> DpEvent| {
            let keeps = |z: f64| {
                let pld = Pld::new(&event(z), AddRemove).unwrap();
                pld.upper_epsilon(del(1e-6), 1e-4 * epsilon).unwrap() <= epsilon
            };
            let (mut low, mut high) = (0.15f64, 60.0f64);
            while high / low > 1.0003 {
                let middle = (low * high).sqrt();
                if keeps(middle) { high = middle } else { low = middle }
            }
            high
        };
        let one = |noise_multiplier| Mechanism::Gaussian { noise_multiplier };
        let drawn = least(&|z| times(steps(z, count), passes));
        let sampled = least(&|z| DpEvent::poisson(one(z), 1.0 / count as f64, count * passes));
        let whole = least(&|z| DpEvent::repeated(one(z), passes));
        println!("| {epsilon} | {passes} of {count} | {drawn:.3} | {sampled:.3} | {whole:.3} |");
        assert!(drawn < sampled && drawn < whole);
    }
}

#[test]
fn one_step_is_no_choice_and_more_cost_less() {
    let epsilon = |event: &DpEvent| pld::epsilon(event, AddRemove, del(1e-5), 5e-3).unwrap();
    let whole = epsilon(&DpEvent::Single { mechanism: Mechanism::Gaussian { noise_multiplier: 1.5 } });
    assert_eq!(epsilon(&steps(1.5, 1)), whole);
    let mut before = whole;
    for count in [2, 3, 6, 13, 40] {
        let next = epsilon(&steps(1.5, count));
        assert!(next.upper < before.lower, "{count}: {next:?} after {before:?}");
        before = next;
    }
    // A pass over many steps is much like a Poisson sample of each, and less than it where few are at risk.
    let poisson = epsilon(&DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 1.5 }, 1.0 / 40.0, 40));
    assert!(before.upper < poisson.lower && before.lower > 0.6 * poisson.upper, "{before:?} {poisson:?}");
}

#[test]
fn passes_add_up_and_cost_more_than_one() {
    let one = Pld::new(&steps(1.0, 8), AddRemove).unwrap();
    let repeated = Pld::new(&times(steps(1.0, 8), 3), AddRemove).unwrap();
    let composed = one.clone().compose(&one).unwrap().compose(&one).unwrap();
    let at = |pld: &Pld| pld.epsilon(del(1e-6), 2e-2).unwrap();
    let (once, three, apart) = (at(&one), at(&repeated), at(&composed));
    assert!(three.lower > once.upper && three.upper < 3.0 * once.upper);
    assert!(three.lower <= apart.upper && apart.lower <= three.upper, "{three:?} {apart:?}");
    assert_eq!(one.clone().self_compose(3), repeated);
}

#[test]
fn a_mixture_of_nothing_and_one_is_a_poisson_sample() {
    for (rate, z, count) in [(0.1, 1.0, 1), (0.02, 0.7, 200), (0.5, 3.0, 10)] {
        let mixed = times(mixture(2.0 * z, &[(0.0, 1.0 - rate), (2.0, rate)]), count);
        let sampled = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: z }, rate, count);
        let at = |event: &DpEvent| Pld::new(event, AddRemove).unwrap().epsilon_by_direction(del(1e-6), 1e-3).unwrap();
        let (mixed, sampled) = (at(&mixed), at(&sampled));
        for (mixed, sampled) in [(mixed.remove, sampled.remove), (mixed.add, sampled.add)] {
            assert!(mixed.lower <= sampled.upper && sampled.lower <= mixed.upper, "{rate}: {mixed:?} {sampled:?}");
            assert!(mixed.width() <= 1e-3);
        }
    }
}

#[test]
fn a_mixture_is_between_its_least_and_its_largest() {
    let at = |event: &DpEvent| pld::epsilon(event, AddRemove, del(1e-6), 1e-4).unwrap();
    let drawn = at(&mixture(1.0, &[(1.0, 0.25), (0.5, 0.75)]));
    assert!(
        at(&mixture(1.0, &[(0.5, 1.0)])).upper < drawn.lower && drawn.upper < at(&mixture(1.0, &[(1.0, 1.0)])).lower
    );
    // The order and parts that are nothing do not count; a sensitivity that is named twice is one.
    let same = mixture(1.0, &[(0.5, 0.375), (9.0, 0.0), (1.0, 0.25), (0.5, 0.375)]);
    assert_eq!(at(&same), drawn);
    // Probabilities that miss 1 by a rounding count for the costlier side.
    let short = at(&mixture(1.0, &[(0.5, 0.75), (1.0, 0.25 - 1e-10)]));
    assert!((short.upper - drawn.upper).abs() < 1e-7);
}

#[test]
fn other_notions_count_one_step_or_the_largest_sensitivity() {
    for (event, z) in [(steps(2.0, 50), 2.0), (mixture(3.0, &[(0.0, 0.9), (1.5, 0.1)]), 2.0)] {
        let one = DpEvent::Single { mechanism: Mechanism::Gaussian { noise_multiplier: z } };
        for adjacency in [AddRemove, ReplaceOne] {
            let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12 && a >= b, "{a} {b}");
            let rho = |event: &DpEvent| zcdp::of_event(event, adjacency).unwrap().zcdp().rho();
            near(rho(&event), rho(&one));
            let mu = |event: &DpEvent| GaussianDp::of_event(event, adjacency).unwrap().mu();
            near(mu(&event), mu(&one));
        }
        let renyi = |event: &DpEvent| rdp::curve(event, ReplaceOne).unwrap().at(3.0).unwrap();
        assert!((renyi(&event) / renyi(&one) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn renyi_divergences_are_just_above_their_moments() {
    for (z, t) in [(1.0f64, 100), (0.5, 30), (2.0, 1000), (5.0, 7)] {
        let curve = rdp::curve(&steps(z, t), AddRemove).unwrap();
        let (m, t) = ((z * z).recip().exp(), t as f64);
        // E[R^2] and E[R^3] of a mean of t log-normal numbers, of which E[X^k] = m^(k (k - 1) / 2).
        let second = ((m - 1.0) / t).ln_1p();
        let third = (t * m.powi(3) + 3.0 * t * (t - 1.0) * m + t * (t - 1.0) * (t - 2.0)) / t.powi(3);
        for (order, truth) in [(2.0, second), (3.0, third.ln() / 2.0)] {
            let found = curve.at(order).unwrap();
            assert!(found >= truth && found < truth * 1.002, "{z} {t} {order}: {found} {truth}");
        }
        // Never above one step on all rows, at any order.
        for order in [1.0, 1.01, 40.0, 1e3, 1e9] {
            assert!(curve.at(order).unwrap() <= order / (2.0 * z * z) * (1.0 + 1e-12));
        }
        let both = rdp::curve(&mixture(z, &[(0.0, 0.9), (1.0, 0.1)]), AddRemove).unwrap();
        let sampled = rdp::curve(&DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: z }, 0.1, 1), AddRemove);
        let (both, sampled) = (both.at(2.5).unwrap(), sampled.unwrap().at(2.5).unwrap());
        assert!(both >= sampled && both < sampled * 1.002, "{both} {sampled}");
    }
}

#[test]
fn several_steps_of_a_pass_cost_between_a_sum_and_as_many_groups() {
    let several = |z: f64, count: u64, participations: u64| {
        let mechanism = Mechanism::Gaussian { noise_multiplier: z };
        DpEvent::RandomAllocation { mechanism, steps: count, participations }
    };
    let at = |event: &DpEvent| pld::epsilon(event, AddRemove, del(1e-5), 1e-2).unwrap();
    // All of two steps, or both of two: no choice.
    let whole = at(&DpEvent::repeated(Mechanism::Gaussian { noise_multiplier: 2.0 }, 2));
    assert_eq!(at(&several(2.0, 2, 2)), whole);
    let two = at(&several(2.0, 6, 2));
    let groups = at(&times(steps(2.0, 3), 2));
    assert!(two.upper >= groups.lower && two.upper <= groups.upper + 1e-2, "{two:?} {groups:?}");
    assert!(two.lower > 0.0 && two.lower < two.upper && two.upper < whole.lower);
    // Seven steps are groups of four and three: less than two of three.
    let uneven = at(&several(2.0, 7, 2));
    assert!(uneven.upper < two.upper && uneven.upper > at(&times(steps(2.0, 4), 2)).lower);
    let rho = |event: &DpEvent| zcdp::of_event(event, AddRemove).unwrap().zcdp().rho();
    assert!((rho(&several(2.0, 6, 2)) - 0.25).abs() < 1e-12);
    let renyi = |event: &DpEvent| rdp::curve(event, AddRemove).unwrap().at(4.0).unwrap();
    assert!(
        renyi(&several(2.0, 6, 2)) < 0.5 * renyi(&DpEvent::repeated(Mechanism::Gaussian { noise_multiplier: 2.0 }, 2))
    );
    for (count, participations) in [(3, 0), (3, 4), (0, 0)] {
        assert!(Pld::new(&several(1.0, count, participations), AddRemove).is_err());
        assert!(rdp::curve(&several(1.0, count, participations), AddRemove).is_err());
    }
    let text = serde_json::to_string(&steps(1.0, 5)).unwrap();
    assert!(!text.contains("participations") && serde_json::from_str::<DpEvent>(&text).unwrap() == steps(1.0, 5));
}

/// Where a step stands out although there are very many: some output above 11 deviations shows it.
#[test]
fn passes_of_very_many_steps_are_not_for_nothing() {
    for (z, count, least) in [(0.15, 1u64 << 60, 10.0), (0.1, 1 << 58, 50.0), (0.1, 1 << 52, 55.0)] {
        let event = steps(z, count);
        let found = pld::epsilon(&event, AddRemove, del(1e-6), 1e-1).unwrap();
        assert!(found.upper >= least && found.lower <= found.upper, "{z} {count}: {found:?}");
        let by_orders = rdp::curve(&event, AddRemove).unwrap().to_approximate_dp(del(1e-6)).unwrap();
        assert!(by_orders.epsilon() >= least, "{z} {count}");
    }
    // Errors that add up to more than delta leave the largest sensitivity.
    let (event, whole) =
        (steps(1e3, 1_000_000), DpEvent::Single { mechanism: Mechanism::Gaussian { noise_multiplier: 1e3 } });
    for passes in [1_000_000, 10_000_000_000] {
        let at = |event: &DpEvent| pld::epsilon(&times(event.clone(), passes), AddRemove, del(1e-6), 1e-2).unwrap();
        let (found, most) = (at(&event), at(&whole));
        assert!(found.lower <= found.upper && found.upper <= most.upper * (1.0 + 1e-9), "{passes}: {found:?} {most:?}");
    }
    // Noise beyond what laws are computed for.
    assert!(rdp::curve(&steps(1e10, 5), AddRemove).is_ok() && rdp::curve(&steps(0.01, 5), AddRemove).is_ok());
}

#[test]
fn what_has_no_bound_is_refused_with_its_part() {
    let refused = |event: DpEvent, adjacency: Adjacency, part: &str| {
        let problem = Pld::new(&times(event, 2), adjacency).unwrap_err().to_string();
        assert!(problem.contains(part), "{problem}");
    };
    refused(steps(1.0, 5), ReplaceOne, "random-allocation");
    refused(steps(1.0, 0), AddRemove, "participations");
    refused(steps(0.01, 5), AddRemove, "noise");
    refused(DpEvent::allocated(Mechanism::Laplace { scale: 1.0 }, 3), AddRemove, "Gaussian");
    refused(mixture(1.0, &[(0.0, 0.5), (1.0, 0.5)]), ReplaceOne, "mixture");
    for parts in [
        &[][..],
        &[(1.0, 0.5)],
        &[(-1.0, 1.0)],
        &[(f64::INFINITY, 1.0)],
        &[(1.0, 1.5), (2.0, -0.5)],
        &[(f64::NAN, 1.0)],
    ] {
        refused(mixture(1.0, parts), AddRemove, "");
        assert!(zcdp::of_event(&mixture(1.0, parts), AddRemove).is_err());
    }
    refused(mixture(0.0, &[(1.0, 1.0)]), AddRemove, "standard deviation");
    let uneven =
        DpEvent::MixtureOfGaussians { standard_deviation: 1.0, sensitivities: vec![1.0], probabilities: vec![] };
    refused(uneven, AddRemove, "probabilities");
    assert!(zcdp::of_event(&steps(1.0, 0), AddRemove).is_err() && rdp::curve(&steps(1.0, 0), AddRemove).is_err());
}
