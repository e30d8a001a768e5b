//! Time of the privacy-loss-distribution accountant, with the widths of the intervals it returns.

mod history;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group};
use rhograd::accounting::pld;
use rhograd::privacy::{Adjacency, Delta, DpEvent, Epsilon, Mechanism};

fn delta() -> Delta {
    Delta::new(1e-6).expect("a legal delta")
}

fn epsilon(c: &mut Criterion) {
    let mut group = c.benchmark_group("pld epsilon, rate 0.01, noise multiplier 1");
    for (steps, tolerance) in [(1_000, 1e-3), (10_000, 1e-3), (1_000, 1e-6), (1_000_000_000, 1e-3)] {
        let event = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 1.0 }, 0.01, steps);
        let ask = || pld::epsilon(black_box(&event), Adjacency::AddRemove, delta(), tolerance).expect("a legal event");
        let found = ask();
        println!("{steps} steps, tolerance {tolerance:e}: {found:?}, width {:.2e}", found.width());
        group.bench_function(BenchmarkId::new(format!("tolerance {tolerance:e}"), steps), |b| b.iter(ask));
    }
    group.finish();
}

fn calibration(c: &mut Criterion) {
    let mut group = c.benchmark_group("pld calibration");
    group.sample_size(10);
    let target = Epsilon::new(2.0).expect("a legal epsilon");
    let noise = || {
        pld::calibrate_noise_multiplier(black_box(0.01), 1000, Adjacency::AddRemove, target, delta())
            .expect("a reachable budget")
    };
    println!("noise multiplier for (2, 1e-6), 1000 steps: {}", noise());
    group.bench_function("noise multiplier", |b| b.iter(noise));
    let steps = || {
        pld::calibrate_steps(black_box(0.01), 1.0, Adjacency::AddRemove, target, delta()).expect("a reachable budget")
    };
    println!("steps for (2, 1e-6), noise multiplier 1: {}", steps());
    group.bench_function("steps", |b| b.iter(steps));
    group.finish();
}

criterion_group!(benches, epsilon, calibration);
fn main() {
    history::of_criterion("accounting", benches);
}
