//! Bytes per second of a pass over rows in a file, beside reading the same file and doing nothing with it.
//!
//! `RAYON_NUM_THREADS=2 cargo bench --bench streaming` for two threads. The file lies in TMPDIR and was just written: with
//! enough memory the system reads it from there, so this is the price of checks and of waiting for each other, not of a disk.

mod history;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group};
use rhograd::data::{CsvFile, Synthetic, SyntheticKind};
use rhograd::kernel::{Caps, Rows, Step, clipped_sum};
use rhograd::preprocess::{Encoder, MemoryLimit, RowCache};

/// One thread, one buffer of a mebibyte.
fn read_plainly(path: &Path) -> usize {
    let (mut file, mut buffer, mut total) = (File::open(path).expect("a file"), vec![0; 1 << 20], 0);
    loop {
        match file.read(&mut buffer).expect("bytes") {
            0 => return total,
            count => total += count,
        }
    }
}

fn step(rows: &Rows, caps: &Caps, weights: &[f64]) -> Vec<i64> {
    let step = Step { weights, label_scale: 1.0, multiplier_scale: 100.0 };
    clipped_sum(rows, caps, &step, |margin, label| 1.0 / (1.0 + (-margin).exp()) - label)
}

fn streaming(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = if std::env::args().any(|a| a == "--test") { 2_000 } else { 4_000_000 };
    let kind = SyntheticKind::Logistic;
    let synthetic = Synthetic { kind, rows, features: 32, categories: 0, noise: 0.5, seed: 1, persons: false };
    let (data, cache) = (folder.path().join("numeric.csv"), folder.path().join("numeric.rows"));
    synthetic.write(&mut File::create(&data).expect("a file"), &|_| ()).expect("rows");
    let file = CsvFile::open(&data).expect("a header");
    let schema = synthetic.schema();
    let encoder = Encoder::new(&schema, &file, true).expect("the columns");
    let limit = MemoryLimit::always_streaming(1 << 20);
    let kept = RowCache::new(&cache, false).expect("a folder");
    let (streamed, ..) = kept.stream(&schema, &file, &encoder, limit, &|_| Ok(())).expect("rows");
    let whole = streamed.read_all().expect("rows");
    let weights = vec![0.1; whole.shape().dimension()];
    let clips_of = |rows: &Rows| Caps::new(rows, 1 << 26);
    let mut clips = Vec::new();
    let keep = |part: &Rows| {
        clips.push(clips_of(part));
        Ok(())
    };
    streamed.each_part(keep).expect("rows");
    let all = clips_of(&whole);
    let mut group = c.benchmark_group("32 numbers");
    let size = std::fs::metadata(&cache).expect("a file").len();
    group.sample_size(10).throughput(Throughput::Bytes(size));
    group.bench_function("read", |b| b.iter(|| read_plainly(&cache)));
    group.bench_function("read and check", |b| b.iter(|| streamed.check().expect("rows")));
    group.bench_function("step, streamed", |b| {
        b.iter(|| {
            let mut clips = clips.iter();
            streamed
                .each_part(|part| {
                    clips.next().into_iter().for_each(|caps| drop(step(part, caps, &weights)));
                    Ok(())
                })
                .expect("rows");
        });
    });
    group.bench_function("step, in memory", |b| b.iter(|| step(&whole, &all, &weights)));
    group.finish();
}

criterion_group!(benches, streaming);
fn main() {
    history::of_criterion("streaming", benches);
}
