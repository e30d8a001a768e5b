//! The privacy-loss-distribution accountant against references, at extremes, and its laws on random arguments.
//!
//! `tests/golden/generate_pld.py` writes `pld.csv` and documents its columns.

use proptest::prelude::*;
use rhograd::accounting::{gaussian, pld};
use rhograd::privacy::{Adjacency, Delta, DpEvent, Epsilon, Mechanism, RunCount};
use statrs::distribution::{ContinuousCDF, Normal};

use crate::{del, eps};

use Adjacency::{AddRemove, ReplaceOne};

fn sgd(rate: f64, noise_multiplier: f64, steps: u64) -> DpEvent {
    DpEvent::poisson(Mechanism::Gaussian { noise_multiplier }, rate, steps)
}

/// The event and relation of a row of the golden table.
fn event_of(cells: &[&str]) -> (DpEvent, Adjacency) {
    let number = |i: usize| cells[i].parse::<f64>().unwrap();
    let count: u64 = cells[4].parse().unwrap();
    let mechanism = match cells[0] {
        "poisson-gaussian" => return (sgd(number(2), number(3), count), relation(cells[1])),
        "mixed" => {
            let rest = DpEvent::repeated(Mechanism::Gaussian { noise_multiplier: 5.0 }, 3);
            let events = vec![sgd(number(2), number(3), count), rest];
            return (DpEvent::Composed { events }, relation(cells[1]));
        }
        "gaussian" => Mechanism::Gaussian { noise_multiplier: number(2) },
        "discrete-gaussian" => Mechanism::DiscreteGaussian { sigma: number(2), sensitivity: cells[3].parse().unwrap() },
        "laplace" => Mechanism::Laplace { scale: number(2) },
        "pure" => Mechanism::Pure { epsilon: number(2) },
        "approximate" => Mechanism::Approximate { epsilon: number(2), delta: number(3) },
        other => panic!("unknown mechanism {other}"),
    };
    (DpEvent::repeated(mechanism, count), relation(cells[1]))
}

fn relation(name: &str) -> Adjacency {
    if name == "replace-one" { ReplaceOne } else { AddRemove }
}

#[test]
fn intervals_contain_the_reference() {
    let mut widest = (0.0, 0.0);
    let mut rows = 0;
    for line in include_str!("../golden/pld.csv").lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let (event, adjacency) = event_of(&cells);
        let (at, truth): (f64, f64) = (cells[5].parse().unwrap(), cells[6].parse().unwrap());
        let found = pld::ln_delta(&event, adjacency, eps(at), 1e-3).unwrap();
        // The reference is rounded to a double.
        let slack = 4.0 * f64::EPSILON * truth.abs();
        assert!(found.lower <= truth + slack && truth - slack <= found.upper, "{line}: {found:?}");
        widest.0 = f64::max(widest.0, found.width());
        assert!(found.width() <= 1.1e-3, "{line}: {found:?}");
        if at > 0.0 && truth.exp() > 1e-290 {
            let found = pld::epsilon(&event, adjacency, del(truth.exp()), 1e-3).unwrap();
            // Delta was rounded, by a relative `1e-16 |ln delta|`, and epsilon moves with it.
            let slack = 1e-13 * (1.0 + truth.abs());
            assert!(found.lower <= at + slack && at - slack <= found.upper, "{line}: {found:?}");
            widest.1 = f64::max(widest.1, found.width());
            assert!(found.width() <= 1.1e-3, "{line}: {found:?}");
        }
        rows += 1;
    }
    println!("{rows} rows, widest {widest:?}");
    assert!(rows >= 60);
}

/// Few steps of little noise, where the contour integral of the table does not converge; the references are by
/// `golden/nested_pld.py`, with the error that its refinements show.
#[test]
fn intervals_contain_nested_quadratures() {
    for (rate, noise, steps, at, truth, error) in [
        (0.1, 0.4, 8, 12.0, -7.326_353_7, 1e-5),
        (0.7, 0.5, 6, 20.0, -6.027_851_5, 1e-6),
        (0.02, 0.5, 20, 5.0, -9.282_626_6, 1e-6),
    ] {
        let found = pld::ln_delta(&sgd(rate, noise, steps), AddRemove, eps(at), 1e-4).unwrap();
        assert!(found.lower <= truth + error && truth - error <= found.upper, "{rate} {noise}: {found:?}");
        assert!(found.width() <= 2e-4, "{rate} {noise}: {found:?}");
    }
}

/// Points that other accountants publish, with the certified bounds of independent discretisations.
#[test]
fn published_values_are_met_at_fine_tolerance() {
    let points = [
        (sgd(0.01, 1.0, 1000), AddRemove, 1e-5, 1.828_236_666_516_6),
        (sgd(0.001, 0.8, 10_000), AddRemove, 1e-6, 0.947_195_687_270_281),
        (sgd(0.05, 2.0, 200), AddRemove, 1e-6, 1.792_052_837_141_338),
        (sgd(0.2, 4.0, 100), AddRemove, 1e-8, 2.894_940_183_818_815),
        (sgd(0.004, 1.1, 15_000), AddRemove, 1e-5, 2.295_370_196_659_75),
        (sgd(0.5, 3.0, 50), AddRemove, 1e-6, 6.294_259_033_445_41),
        (sgd(1.0, 10.0, 100), AddRemove, 1e-6, 4.886_554_117_462_126),
        (sgd(0.01, 2.0, 1000), ReplaceOne, 1e-5, 1.205_198_652_692_785),
        (sgd(0.1, 4.0, 100), ReplaceOne, 1e-6, 2.251_361_715_859_79),
        (DpEvent::repeated(Mechanism::Laplace { scale: 2.0 }, 10), AddRemove, 1e-5, 4.989_962_311_150_63),
        (DpEvent::repeated(Mechanism::Laplace { scale: 10.0 }, 30), AddRemove, 1e-6, 2.297_819_023_065_916),
        (DpEvent::repeated(Mechanism::Pure { epsilon: 0.1 }, 100), AddRemove, 1e-6, 4.774_567_588_107_986_5),
    ];
    for (event, adjacency, delta, truth) in points {
        let found = pld::epsilon(&event, adjacency, del(delta), 1e-5).unwrap();
        assert!(found.contains(truth) && found.width() <= 1e-5, "{event:?}: {found:?}");
    }
    let groups = vec![
        DpEvent::repeated(Mechanism::Approximate { epsilon: 0.1, delta: 1e-8 }, 10),
        DpEvent::repeated(Mechanism::Pure { epsilon: 0.25 }, 6),
    ];
    let found = pld::epsilon(&DpEvent::Composed { events: groups }, AddRemove, del(1e-5), 1e-9).unwrap();
    assert!(found.contains(2.298_380_875_254_765) && found.width() < 1e-9);
}

#[test]
fn one_step_deltas_are_exact() {
    for (rate, noise, at, remove, add) in [
        (0.1, 1.0, 0.5, 0.002_032_536_920_340_358, 0.0),
        (0.5, 2.0, 0.6, 0.003_901_044_816_882_749_6, 4.483_640_975_879_361_4e-8),
    ] {
        let found = pld::poisson_gaussian_one_step(rate, noise, eps(at)).unwrap();
        assert!(found.remove >= remove && found.remove <= remove * (1.0 + 1e-9));
        assert!(found.add >= add && found.add <= add * (1.0 + 1e-9));
    }
}

/// Two mixtures of unit normals, by weights and means.
#[derive(Clone)]
struct Mixtures {
    one: [(f64, f64); 2],
    other: [(f64, f64); 2],
    /// Whether the loss rises along the line.
    rises: bool,
}

impl Mixtures {
    /// What a sampled Gaussian does with a row and with its opposite.
    fn replaced(rate: f64, mu: f64) -> Self {
        Mixtures { one: [(1.0 - rate, 0.0), (rate, mu)], other: [(1.0 - rate, 0.0), (rate, -mu)], rises: true }
    }

    /// What it does with a row and without one, and the reverse.
    fn removed_and_added(rate: f64, mu: f64) -> [Self; 2] {
        let with = [(1.0 - rate, 0.0), (rate, mu)];
        let without = [(1.0, 0.0), (0.0, 0.0)];
        [Mixtures { one: with, other: without, rises: true }, Mixtures { one: without, other: with, rises: false }]
    }

    fn density(side: &[(f64, f64); 2], x: f64) -> f64 {
        side.iter().map(|(w, m)| w * (-(x - m).powi(2) / 2.0).exp()).sum::<f64>() / std::f64::consts::TAU.sqrt()
    }

    fn loss(&self, x: f64) -> f64 {
        (Self::density(&self.one, x) / Self::density(&self.other, x)).ln()
    }

    /// The exact hockey-stick divergence of one release at any real epsilon.
    fn delta(&self, epsilon: f64) -> f64 {
        let law = Normal::new(0.0, 1.0).unwrap();
        // Beyond the threshold in the direction in which the loss rises.
        let sign = if self.rises { 1.0 } else { -1.0 };
        let (mut low, mut high) = (-25.0f64, 25.0);
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if self.loss(sign * middle) > epsilon { high = middle } else { low = middle }
        }
        let beyond = |side: &[(f64, f64); 2]| side.iter().map(|(w, m)| w * law.sf(high - sign * m)).sum::<f64>();
        (beyond(&self.one) - epsilon.exp() * beyond(&self.other)).max(0.0)
    }

    /// That of two releases, by the midpoint rule over the first.
    fn delta_of_two(&self, epsilon: f64) -> f64 {
        let step = 0.02;
        let at = (-500..700).map(|i| (f64::from(i) + 0.5) * step);
        at.map(|x| Self::density(&self.one, x) * step * self.delta(epsilon - self.loss(x))).sum()
    }
}

/// Under replace-one neither the pair of add-remove nor that of twice the row dominates: the one has a smaller divergence in
/// one step, the other in two. The bounds of the accountant contain the exact divergence.
#[test]
fn a_replaced_row_of_a_sample_is_not_one_that_is_added() {
    let mut too_small = [f64::INFINITY; 2];
    for (rate, mu) in [(0.05, 1.0), (0.3, 0.3), (0.3, 2.0), (0.7, 1.0), (0.95, 1.0)] {
        let truth = Mixtures::replaced(rate, mu);
        let twice = Mixtures::removed_and_added(rate, 2.0 * mu);
        let once = Mixtures::removed_and_added(rate, mu);
        for at in [0.0, 0.1, 0.5, 1.0, 2.0] {
            for steps in [1, 2] {
                let delta = |pair: &Mixtures| if steps == 1 { pair.delta(at) } else { pair.delta_of_two(at) };
                let exact = delta(&truth);
                if exact < 1e-9 {
                    continue;
                }
                let found = pld::ln_delta(&sgd(rate, 1.0 / mu, steps), ReplaceOne, eps(at), 1e-4).unwrap();
                let error = if steps == 1 { 1e-9 } else { 1e-5 };
                assert!(found.lower <= exact.ln() + error, "{rate} {mu} {at} {steps}: {found:?} {exact}");
                assert!(found.upper >= exact.ln() - error, "{rate} {mu} {at} {steps}: {found:?} {exact}");
                assert!(found.width() < 1e-3, "{found:?}");
                let larger = |pairs: &[Mixtures; 2]| delta(&pairs[0]).max(delta(&pairs[1])) / exact;
                too_small[0] = too_small[0].min(larger(&once));
                too_small[1] = too_small[1].min(larger(&twice));
                assert!(steps == 2 || larger(&twice) > 1.0 - 1e-9, "one step of the pair of twice the row");
            }
        }
    }
    assert!(too_small[0] < 0.1 && (0.99..0.995).contains(&too_small[1]), "{too_small:?}");
}

#[test]
fn extremes_are_answered_narrowly() {
    for (rate, noise, steps, delta, width) in [
        (1e-8, 1.0, 1_000_000_000, 1e-6, 1e-3),
        (1e-4, 1.0, 1_000_000_000, 1e-6, 1e-3),
        (1e-8, 0.2, 1_000_000_000, 1e-6, 1e-3),
        (0.5, 1e4, 1_000_000_000, 1e-6, 1e-3),
        (1e-3, 1e4, 1_000_000_000, 1e-15, 1e-3),
        (0.01, 0.2, 10, 1e-6, 1e-3),
        (0.01, 0.2, 10_000, 1e-6, 1e-2),
        (0.01, 1.0, 1000, 1e-300, 1e-3),
        (0.5, 1.0, 2, 1e-300, 1e-3),
        (0.01, 1.0, 100_000, 0.9, 1e-3),
        (0.9999, 1.0, 100, 1e-6, 1e-3),
        (1.0 - 1e-12, 3.0, 100, 1e-6, 1e-3),
        (0.3, 0.2, 1000, 1e-6, 1e-2),
    ] {
        let found = pld::epsilon(&sgd(rate, noise, steps), AddRemove, del(delta), 1e-3).unwrap();
        assert!(found.upper.is_finite() && found.width() <= width, "{rate} {noise} {steps} {delta}: {found:?}");
        let twice = pld::epsilon(&sgd(rate, noise, steps), ReplaceOne, del(delta), 1e-3).unwrap();
        assert!(twice.upper >= found.lower, "{rate} {noise} {steps} {delta}: {twice:?}");
    }
    let far = pld::ln_delta(&sgd(0.01, 1.0, 1000), AddRemove, eps(300.0), 1e-2).unwrap();
    assert!(far.upper < -2000.0 && far.width() < 1e-1, "{far:?}");
    let wide = DpEvent::repeated(Mechanism::DiscreteGaussian { sigma: 1e6, sensitivity: 30_000 }, 50);
    let plain = gaussian::epsilon(50f64.sqrt() * 0.03, del(1e-6)).unwrap().value();
    let found = pld::epsilon(&wide, AddRemove, del(1e-6), 1e-4).unwrap();
    assert!((found.upper - plain).abs() < 2e-4 && found.width() <= 1e-4);
}

#[test]
fn full_sampling_is_no_sampling_and_none_is_free() {
    for adjacency in [AddRemove, ReplaceOne] {
        let full = pld::epsilon(&sgd(1.0, 10.0, 100), adjacency, del(1e-6), 1e-9).unwrap();
        let mu = if adjacency == AddRemove { 1.0 } else { 2.0 };
        let exact = gaussian::epsilon(mu, del(1e-6)).unwrap().value();
        assert!(full.contains(exact) && full.width() < 1e-8, "{full:?} {exact}");
        let near = pld::epsilon(&sgd(1.0 - 1e-9, 10.0, 100), adjacency, del(1e-6), 1e-4).unwrap();
        assert!(near.lower <= exact && near.upper >= exact - 1e-6, "{near:?} {exact}");
        let none = pld::epsilon(&sgd(0.0, 1.0, 1000), adjacency, del(1e-6), 1e-3).unwrap();
        assert_eq!((none.lower, none.upper), (0.0, 0.0));
        let none = pld::ln_delta(&sgd(0.0, 1.0, 1000), adjacency, eps(0.0), 1e-3).unwrap();
        assert_eq!(none.upper, f64::NEG_INFINITY);
    }
}

#[test]
fn what_has_no_pair_is_refused_by_name() {
    let gaussian = Mechanism::Gaussian { noise_multiplier: 1.0 };
    let without = DpEvent::SampledWithoutReplacement { mechanism: gaussian, fraction: 0.1 };
    let selected =
        DpEvent::Selected { event: Box::new(DpEvent::repeated(gaussian, 3)), runs: RunCount::Poisson { mean: 3.0 } };
    let laplace = DpEvent::PoissonSampled { mechanism: Mechanism::Laplace { scale: 1.0 }, rate: 0.1 };
    for (part, adjacency, name) in [
        (without, AddRemove, "event.events[1]"),
        (selected, AddRemove, "event.events[1]"),
        (laplace, ReplaceOne, "replace-one"),
    ] {
        let event = DpEvent::Composed { events: vec![sgd(0.1, 1.0, 10), part] };
        let error = pld::epsilon(&event, adjacency, del(1e-6), 1e-3).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
    for bad in [f64::NAN, -1.0] {
        assert!(pld::epsilon(&sgd(bad, 1.0, 1), AddRemove, del(1e-6), 1e-3).is_err());
        assert!(pld::epsilon(&sgd(0.1, bad, 1), AddRemove, del(1e-6), 1e-3).is_err());
        assert!(pld::epsilon(&sgd(0.1, 1.0, 1), AddRemove, del(1e-6), bad).is_err());
    }
    assert!(pld::epsilon(&sgd(1.5, 1.0, 0), AddRemove, del(1e-6), 1e-3).is_err());
}

#[test]
fn outright_failures_go_into_delta() {
    let event = DpEvent::repeated(Mechanism::Approximate { epsilon: 0.1, delta: 1e-3 }, 100);
    assert_eq!(pld::epsilon(&event, AddRemove, del(1e-2), 1e-3).unwrap().lower, f64::INFINITY);
    let broken = DpEvent::repeated(Mechanism::RandomisedResponse { truth: 1.0 }, 1);
    assert_eq!(pld::epsilon(&broken, AddRemove, del(0.5), 1e-3).unwrap().upper, f64::INFINITY);
    assert_eq!(pld::ln_delta(&broken, AddRemove, eps(5.0), 1e-3).unwrap().upper, 0.0);
    let far = pld::ln_delta(&event, AddRemove, eps(f64::INFINITY), 1e-3).unwrap();
    assert!(far.contains((-(0.999f64.powi(100) - 1.0)).ln()) && far.width() < 1e-12);
}

#[test]
fn the_order_of_parts_does_not_matter() {
    let parts = [
        sgd(0.02, 1.2, 300),
        sgd(0.1, 3.0, 20),
        DpEvent::repeated(Mechanism::Laplace { scale: 8.0 }, 4),
        DpEvent::repeated(Mechanism::Gaussian { noise_multiplier: 6.0 }, 2),
        DpEvent::repeated(Mechanism::DiscreteGaussian { sigma: 9.0, sensitivity: 2 }, 3),
        DpEvent::poisson(Mechanism::DiscreteLaplace { scale: 3.0, sensitivity: 2 }, 0.2, 5),
        DpEvent::poisson(Mechanism::Pure { epsilon: 0.5 }, 0.2, 5),
    ];
    let forward = pld::epsilon(&DpEvent::Composed { events: parts.to_vec() }, AddRemove, del(1e-7), 1e-4).unwrap();
    let backward: Vec<DpEvent> = parts.iter().rev().cloned().collect();
    let backward = pld::epsilon(&DpEvent::Composed { events: backward }, AddRemove, del(1e-7), 1e-4).unwrap();
    assert!(forward.width() <= 1e-4 && forward.lower <= backward.upper && backward.lower <= forward.upper);
    let one_by_one = parts.iter().map(|it| pld::Pld::new(it, AddRemove).unwrap());
    let composed = one_by_one.reduce(|a, b| a.compose(&b).unwrap()).unwrap();
    let composed = composed.epsilon(del(1e-7), 1e-4).unwrap();
    assert!(forward.lower <= composed.upper && composed.lower <= forward.upper);
    let other = pld::Pld::new(&parts[0], ReplaceOne).unwrap();
    assert!(other.compose(&pld::Pld::new(&parts[0], AddRemove).unwrap()).is_err());
    let twice = pld::Pld::new(&parts[0], AddRemove).unwrap().self_compose(2).epsilon(del(1e-7), 1e-4).unwrap();
    let direct = pld::epsilon(&sgd(0.02, 1.2, 600), AddRemove, del(1e-7), 1e-4).unwrap();
    assert_eq!(twice, direct);
}

#[test]
fn calibration_ends_on_the_safe_side() {
    for adjacency in [AddRemove, ReplaceOne] {
        let (target, delta) = (2.0, del(1e-6));
        let cost = |event: &DpEvent| pld::epsilon(event, adjacency, delta, 1e-6).unwrap();
        let noise = pld::calibrate_noise_multiplier(0.01, 1000, adjacency, eps(target), delta).unwrap();
        assert!(pld::run_epsilon(0.01, noise, 1000, adjacency, delta).unwrap() <= target);
        // One unit of the fifth digit less is not enough.
        assert!(cost(&sgd(0.01, noise * (1.0 - 1.1e-4), 1000)).lower > target);
        let steps = pld::calibrate_steps(0.01, noise * (1.0 + 1e-4), adjacency, eps(target), delta).unwrap();
        assert!((999..=1002).contains(&steps), "{steps}");
        let rate = pld::calibrate_rate(noise * (1.0 + 1e-4), 1000, adjacency, eps(target), delta).unwrap();
        assert!((0.01..0.0101).contains(&rate), "{rate}");
    }
    assert!(pld::calibrate_noise_multiplier(0.01, 10, AddRemove, eps(0.0), del(1e-6)).is_err());
    assert!(pld::calibrate_noise_multiplier(0.01, 10, AddRemove, Epsilon::INFINITE, del(1e-6)).is_err());
    assert_eq!(pld::calibrate_steps(0.5, 0.3, AddRemove, eps(0.1), del(1e-6)).unwrap(), 0);
    assert_eq!(pld::calibrate_rate(1e3, 10, AddRemove, eps(1.0), del(1e-6)).unwrap(), 1.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn more_of_anything_costs_more(
        ln_rate in -9.0f64..-0.1, ln_noise in -1.0f64..3.0, ln_steps in 0.0f64..12.0, ln_delta in -60.0f64..-1.0,
        replace in any::<bool>(), factor in 1.01f64..3.0,
    ) {
        let adjacency = if replace { ReplaceOne } else { AddRemove };
        let (rate, noise, steps, delta) = (ln_rate.exp(), ln_noise.exp(), ln_steps.exp() as u64, ln_delta.exp());
        let ask = |rate: f64, noise: f64, steps: u64, delta: f64| {
            pld::epsilon(&sgd(rate, noise, steps), adjacency, del(delta), 1e-2).unwrap()
        };
        let base = ask(rate, noise, steps, delta);
        prop_assert!(base.lower <= base.upper && base.upper.is_finite());
        for more in [
            ask((rate * factor).min(1.0), noise, steps, delta),
            ask(rate, noise / factor, steps, delta),
            ask(rate, noise, (steps as f64 * factor) as u64, delta),
            ask(rate, noise, steps, delta / factor),
        ] {
            prop_assert!(base.lower <= more.upper, "{:?} {:?}", base, more);
        }
    }

    #[test]
    fn both_questions_agree(ln_rate in -7.0f64..-0.1, ln_noise in -0.5f64..2.0, ln_steps in 0.0f64..9.0, at in 0.0f64..8.0) {
        let event = sgd(ln_rate.exp(), ln_noise.exp(), ln_steps.exp() as u64);
        let ln_delta = pld::ln_delta(&event, AddRemove, eps(at), 1e-2).unwrap();
        prop_assert!(ln_delta.lower <= ln_delta.upper);
        if ln_delta.upper > -600.0 && ln_delta.upper < -1e-6 && at > 0.0 {
            let back = pld::epsilon(&event, AddRemove, del(ln_delta.upper.exp()), 1e-3).unwrap();
            prop_assert!(back.lower <= at * (1.0 + 1e-12) + 1e-12, "{:?} {:?}", ln_delta, back);
        }
    }

    #[test]
    fn any_bits_are_answered_or_refused(bits in prop::array::uniform5(any::<u64>()), kind in 0u8..9, replace in any::<bool>()) {
        let [a, b, c, d, e] = bits.map(f64::from_bits);
        let count = bits[3] >> (bits[4] % 64);
        let mechanism = match kind {
            0 => Mechanism::Gaussian { noise_multiplier: a },
            1 => Mechanism::DiscreteGaussian { sigma: a, sensitivity: bits[1] },
            2 => Mechanism::Laplace { scale: a },
            3 => Mechanism::DiscreteLaplace { scale: a, sensitivity: bits[1] },
            4 => Mechanism::Exponential { epsilon: a },
            5 => Mechanism::RandomisedResponse { truth: a },
            6 => Mechanism::Pure { epsilon: a },
            7 => Mechanism::Approximate { epsilon: a, delta: b },
            _ => Mechanism::Gaussian { noise_multiplier: (a.abs().ln() / 50.0).exp() },
        };
        let rate = if bits[2] % 2 == 0 { c } else { bits[2] as f64 / u64::MAX as f64 };
        let adjacency = if replace { ReplaceOne } else { AddRemove };
        for event in [DpEvent::repeated(mechanism, count), DpEvent::poisson(mechanism, rate, count)] {
            if let (Ok(delta), Ok(it)) = (Delta::new(d), pld::Pld::new(&event, adjacency)) {
                let found = it.epsilon(delta, 1e-1).unwrap();
                prop_assert!(found.lower >= 0.0 && found.lower <= found.upper, "{:?}", found);
            }
            if let (Ok(at), Ok(it)) = (Epsilon::new(e), pld::Pld::new(&event, adjacency)) {
                let found = it.ln_delta(at, 1e-1).unwrap();
                prop_assert!(found.lower <= found.upper && found.upper <= 0.0, "{:?}", found);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// All mechanisms and all their parameters, at a coarse tolerance: each case compares ten pairs.
    #[test]
    fn every_mechanism_costs_more_with_less_noise(
        kind in 0u8..6, ln_scale in 0.0f64..4.0, ln_rate in -6.0f64..0.0, count in 1u64..300, at in 0.0f64..6.0,
        ln_delta in -80.0f64..-1.0, sensitivity in 1u64..6, factor in 1.01f64..2.0,
    ) {
        let event = |scale: f64, sensitivity: u64, rate: f64, count: u64| {
            let mechanism = match kind {
                0 => Mechanism::Laplace { scale },
                1 => Mechanism::DiscreteLaplace { scale, sensitivity },
                2 => Mechanism::DiscreteGaussian { sigma: scale, sensitivity },
                3 => Mechanism::Gaussian { noise_multiplier: scale / sensitivity as f64 },
                4 => Mechanism::Pure { epsilon: 1.0 / scale },
                _ => Mechanism::Approximate { epsilon: 1.0 / scale, delta: 1e-9 / scale },
            };
            DpEvent::poisson(mechanism, rate, count)
        };
        let (scale, rate) = (ln_scale.exp(), ln_rate.exp());
        let base = event(scale, sensitivity, rate, count);
        let more = [
            event(scale / factor, sensitivity, rate, count),
            event(scale, sensitivity + 1, rate, count),
            event(scale, sensitivity, (rate * factor).min(1.0), count),
            event(scale, sensitivity, rate, count + 1),
        ];
        let ln_delta_of = |it: &DpEvent, at: f64| pld::ln_delta(it, AddRemove, eps(at), 0.3).unwrap();
        let epsilon_of = |it: &DpEvent, ln: f64| pld::epsilon(it, AddRemove, del(ln.exp()), 0.3).unwrap();
        let (low, small) = (ln_delta_of(&base, at), epsilon_of(&base, ln_delta));
        for more in &more {
            prop_assert!(low.lower <= ln_delta_of(more, at).upper, "{:?} {:?}", base, more);
            prop_assert!(small.lower <= epsilon_of(more, ln_delta).upper, "{:?} {:?}", base, more);
        }
        prop_assert!(ln_delta_of(&base, at * factor).lower <= low.upper);
        prop_assert!(small.lower <= epsilon_of(&base, ln_delta * factor).upper);
    }
}
