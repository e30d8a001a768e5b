//! One full-batch step against a streaming read of the same bytes, in one run on one machine.
//!
//! Prints a table with both times and their ratio for each shape, for one and for all threads.
//! `cargo bench --bench kernel` for the full table, `-- --quick` for a smoke run.

use std::hint::black_box;
use std::time::Instant;

use ndarray::{Array1, Array2};
use rand::{Rng, SeedableRng};
use rayon::prelude::*;
use rhograd::kernel::{Caps, FULL_SCALE, RawRow, Rows, RowsBuilder, Shape, Step, clipped_sum};
use rhograd::loss::{Logistic, Loss};

struct Case {
    name: &'static str,
    rows: usize,
    numeric: usize,
    levels: &'static [u16],
}

const ADULT: &[u16] = &[9, 16, 7, 15, 6, 5, 2, 42];

const CASES: &[Case] = &[
    Case { name: "1e6 x 32", rows: 1_000_000, numeric: 32, levels: &[] },
    Case { name: "2e5 x 128", rows: 200_000, numeric: 128, levels: &[] },
    Case { name: "5e4 x 1000", rows: 50_000, numeric: 1000, levels: &[] },
    Case { name: "5e3 x 20000", rows: 5_000, numeric: 20_000, levels: &[] },
    Case { name: "adult-like 5 + 8 codes", rows: 500_000, numeric: 5, levels: ADULT },
];

fn main() {
    // `cargo test --benches` calls with --test: then only the smallest run.
    let quick = std::env::args().any(|a| a == "--quick" || a == "--test");
    println!("threads  shape                    MB   read ms   step ms   step/read   f64 two-pass ms   speed-up");
    for threads in [1, rayon::current_num_threads()] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("thread pool");
        pool.install(|| CASES.iter().for_each(|case| measure(case, threads, quick)));
    }
}

fn measure(case: &Case, threads: usize, quick: bool) {
    let n = if quick { case.rows / 50 } else { case.rows };
    let repeats = if quick { 3 } else { 41 };
    let rows = synthetic(n, case);
    let bytes = vec![1u64; rows.bytes() / 8];
    let d = rows.shape().dimension();
    let weights: Vec<f64> = (0..d).map(|j| ((j % 17) as f64 - 8.0) / (8.0 * (d as f64).sqrt())).collect();
    let bound = 4095 * FULL_SCALE as u64;
    let caps = Caps::new(&rows, bound);
    let step = Step {
        weights: &weights,
        label_scale: 1.0,
        multiplier_scale: bound as f64 / (f64::from(FULL_SCALE) * (d as f64).sqrt()),
    };
    // Both alternately, so that a change of clock or neighbour hits both.
    let (mut read, mut fused) = (Vec::new(), Vec::new());
    for _ in 0..repeats {
        read.push(time(|| stream(&bytes)));
        fused.push(time(|| {
            clipped_sum(
                &rows,
                &caps,
                &step,
                #[inline(always)]
                |t, y| Logistic.slope(t, y),
            )
        }));
    }
    let (read, fused) = (median(read), median(fused));
    // The dense reference needs 8 bytes a coefficient; it is left out where that would be gigabytes.
    let dense = (threads == 1 && n * d < 200_000_000).then(|| two_pass(n, d, quick));
    println!(
        "{threads:7}  {:22} {:5.0} {:9.3} {:9.3} {:11.2}   {:>15}   {:>8}",
        case.name,
        rows.bytes() as f64 / 1e6,
        read * 1e3,
        fused * 1e3,
        fused / read,
        dense.map_or("-".into(), |s| format!("{:.1}", s * 1e3)),
        dense.map_or("-".into(), |s| format!("{:.1}x", s / fused)),
    );
}

fn synthetic(n: usize, case: &Case) -> Rows {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let shape = Shape::new(case.numeric, case.levels);
    let mut builder = RowsBuilder::new(shape.clone());
    let mut row = RawRow::empty(&shape);
    row.null = false;
    for _ in 0..n {
        row.numeric.iter_mut().for_each(|q| *q = rng.random());
        row.codes.iter_mut().zip(case.levels).for_each(|(code, &level)| *code = rng.random_range(0..level));
        row.label = rng.random_range(0..=1);
        builder.push(&row);
    }
    builder.build()
}

/// Adds up all words: what the memory can deliver to the same threads.
fn stream(words: &[u64]) -> u64 {
    words
        .par_chunks(64 << 10)
        .map(|chunk| chunk.iter().fold(0u64, |a, &b| a.wrapping_add(b)))
        .reduce(|| 0, u64::wrapping_add)
}

/// The textbook way: margins by one matrix-vector product, gradient by another, rows in f64.
fn two_pass(n: usize, d: usize, quick: bool) -> f64 {
    let x = Array2::from_shape_fn((n, d), |(i, j)| ((i * 31 + j * 17) % 255) as f64 / 127.0 - 1.0);
    let y = Array1::from_shape_fn(n, |i| (i % 2) as f64);
    let norms = x.rows().into_iter().map(|row| row.dot(&row).sqrt()).collect::<Array1<f64>>();
    let w = Array1::from_elem(d, 0.01);
    let once = || {
        let margins = x.dot(&w);
        let mut slopes = margins.mapv(|t| 1.0 / (1.0 + (-t).exp())) - &y;
        slopes.zip_mut_with(&norms, |c, &norm| *c *= (1.0 / (c.abs() * norm)).min(1.0));
        x.t().dot(&slopes)
    };
    median((0..if quick { 1 } else { 5 }).map(|_| time(once)).collect())
}

fn time<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
