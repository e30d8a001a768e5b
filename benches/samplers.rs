//! Cost of a noise sample by law and scale, next to a floating-point normal that keeps none of the promises.

mod history;

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use rand::Rng;
use rand_distr::StandardNormal;
use rhograd::noise::{NoiseSource, integer_noise};
use rhograd::privacy::NoiseLaw;

/// One block, so that a single thread draws it and a sample costs what a core pays for it.
const LEN: usize = 1024;

fn integer_laws(c: &mut Criterion) {
    let source = NoiseSource::insecure_from_seed(1);
    for (name, law) in [("floored normal", NoiseLaw::FlooredNormal), ("discrete gaussian", NoiseLaw::DiscreteGaussian)]
    {
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(LEN as u64));
        for scale in [0, 10, 31, 40, 50] {
            let mut release = 0;
            group.bench_function(BenchmarkId::new("k", scale), |b| {
                b.iter(|| {
                    // A new release each time: repeating one would train the branch predictor on its noise.
                    release += 1;
                    black_box(integer_noise(law, scale, LEN, &source, release).expect("a legal scale"))
                });
            });
        }
        group.finish();
    }
}

fn float_reference(c: &mut Criterion) {
    let mut stream = NoiseSource::insecure_from_seed(1).stream(0, 0);
    let mut group = c.benchmark_group("float normal (not exact)");
    group.throughput(Throughput::Elements(LEN as u64));
    group.bench_function("rand_distr", |b| {
        b.iter(|| {
            let noise: Vec<f64> = (0..LEN).map(|_| stream.sample(StandardNormal)).collect();
            black_box(noise)
        });
    });
    group.finish();
}

criterion_group!(benches, integer_laws, float_reference);
fn main() {
    history::of_criterion("samplers", benches);
}
