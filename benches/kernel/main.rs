//! One full-batch step against a streaming read of the same bytes, in one run on one machine.
//!
//! Prints ratios for each shape, instruction set and number of threads, then comparisons with two-pass code, with one-hot
//! rows and with the noise that a release draws. Times of one ratio are taken alternately, so that a change of clock or
//! neighbour hits both; the shortest is reported, since others may use the machine.
//! `cargo bench --bench kernel` for the full tables, `-- --quick` for a smoke run, `-- --persons` or
//! `-- --curves` for the steps over persons or over curves and waves alone, `-- --products` for Gram matrices and norms alone,
//! `-- --algorithms` for every algorithm from encoded rows to model.

mod algorithms;
mod curves;
#[path = "../history/mod.rs"]
mod history;
mod persons;
mod products;
mod rivals;

use std::hint::black_box;
use std::time::Instant;

use rand::{Rng, SeedableRng};
use rhograd::grid::{FULL_SCALE, Shape};
use rhograd::kernel::{Caps, Level, RawRow, Rows, RowsBuilder, Step, clipped_sum_on};
use rhograd::loss::{Logistic, Loss, OwnLoss};
use rhograd::noise::{NoiseSource, integer_noise};
use rhograd::privacy::NoiseLaw;

use rivals::{Dense, stream};

struct Case {
    name: &'static str,
    rows: usize,
    numeric: usize,
    levels: &'static [u16],
}

/// Fourteen columns of 105 values in all, as Adult has with numbers cut into ranges.
const CODES: &[u16] = &[5, 8, 5, 16, 5, 7, 14, 6, 5, 2, 3, 3, 5, 21];

const CASES: &[Case] = &[
    Case { name: "1e6 x 32", rows: 1_000_000, numeric: 32, levels: &[] },
    Case { name: "2e5 x 128", rows: 200_000, numeric: 128, levels: &[] },
    Case { name: "5e4 x 1000", rows: 50_000, numeric: 1000, levels: &[] },
    Case { name: "5e3 x 20000", rows: 5_000, numeric: 20_000, levels: &[] },
    Case { name: "1e6 x 14 codes", rows: 1_000_000, numeric: 0, levels: CODES },
    Case { name: "1e3 x 16", rows: 1_000, numeric: 16, levels: &[] },
];

/// How long to measure.
#[derive(Clone, Copy)]
struct Effort {
    /// Part of the rows that is used.
    share: usize,
    repeats: usize,
}

fn main() {
    measure();
    history::write("kernel");
}

fn measure() {
    // `cargo test --benches` calls with --test: then only the smallest run.
    let quick = std::env::args().any(|a| a == "--quick" || a == "--test");
    let effort = if quick { Effort { share: 50, repeats: 5 } } else { Effort { share: 1, repeats: 60 } };
    if std::env::args().any(|a| a == "--persons") {
        return persons::against_rows(&effort);
    }
    if std::env::args().any(|a| a == "--curves") {
        return curves::against_linear(&effort);
    }
    if std::env::args().any(|a| a == "--products") {
        return products::against_single_precision(&effort);
    }
    if std::env::args().any(|a| a == "--algorithms") {
        return algorithms::against_reading(&effort);
    }
    against_reading(&effort);
    against_two_passes(&effort);
    against_one_hot(&effort);
    against_noise(&effort);
    own_against_built_in(&effort);
    persons::against_rows(&effort);
    curves::against_linear(&effort);
    products::against_single_precision(&effort);
    algorithms::against_reading(&effort);
}

fn against_reading(effort: &Effort) {
    println!("step / streaming read of the same bytes\n");
    println!(
        "{:16} {:>7} {:>8} {:>8} {:>9} {:>9} {:>7}",
        "rows", "threads", "level", "MB", "read ms", "step ms", "ratio"
    );
    for case in CASES {
        let rows = synthetic(case, effort);
        let bytes = vec![1u64; rows.bytes() / 8];
        for (threads, level) in levels() {
            in_pool(threads, || {
                let mut read = || {
                    black_box(stream(&bytes));
                };
                let mut step = prepared(&rows, level);
                let [read, step] = alternately([&mut read, &mut step], effort.repeats);
                let group = format!("{}, {threads} threads, {level:?}", case.name);
                history::note(&group, [("reading", read), ("step", step)]);
                println!(
                    "{:16} {threads:7} {:>8} {:8.1} {:9.3} {:9.3} {:7.2}",
                    case.name,
                    format!("{level:?}"),
                    rows.bytes() as f64 / 1e6,
                    read * 1e3,
                    step * 1e3,
                    step / read
                );
            });
        }
    }
}

/// Every instruction set on one thread, and the best on two.
fn levels() -> impl Iterator<Item = (usize, Level)> {
    Level::available().into_iter().map(|level| (1, level)).chain([(2, Level::best())])
}

fn against_two_passes(effort: &Effort) {
    println!("\ntwo-pass code on dense rows / step, one thread\n");
    println!("{:16} {:>9} {:>12} {:>12} {:>9} {:>9}", "rows", "step ms", "ndarray f64", "hand f32", "f64 x", "f32 x");
    for case in CASES.iter().filter(|case| case.levels.is_empty() && case.rows > 1000) {
        let rows = synthetic(case, effort);
        let (n, d) = (rows.len(), case.numeric);
        let repeats = effort.repeats.div_ceil(10);
        in_pool(1, || {
            let (double, single) = (Dense::<f64>::numbers(n, d), Dense::<f32>::numbers(n, d));
            let mut double = || drop(black_box(double.two_pass(0.01)));
            let mut single = || drop(black_box(single.two_pass(0.01)));
            let mut step = prepared(&rows, Level::best());
            let [step, double, single] = alternately([&mut step, &mut double, &mut single], repeats);
            let group = format!("{}, two passes", case.name);
            history::note(&group, [("step", step), ("double", double), ("single", single)]);
            println!(
                "{:16} {:9.3} {:12.1} {:12.2} {:9.1} {:9.1}",
                case.name,
                step * 1e3,
                double * 1e3,
                single * 1e3,
                double / step,
                single / step
            );
        });
    }
}

/// Categories as codes against the same data expanded: by this kernel, and in two passes.
fn against_one_hot(effort: &Effort) {
    let case = &CASES[4];
    let n = case.rows / effort.share / 5;
    let codes = |i: usize, column: usize| ((i * 31 + column * 7 + i / 97) % usize::from(CODES[column])) as u16;
    let (mut coded, mut expanded) = (builder(0, CODES), builder(105, &[]));
    for i in 0..n {
        let own: Vec<u16> = (0..CODES.len()).map(|column| codes(i, column)).collect();
        let mut numeric = Vec::with_capacity(105);
        for (&code, &levels) in own.iter().zip(CODES) {
            numeric.extend((0..levels).map(|level| if level == code { FULL_SCALE } else { 0 }));
        }
        let label = (i % 2) as i16;
        coded.push(&RawRow { numeric: vec![], codes: own, label, null: false });
        expanded.push(&RawRow { numeric, codes: vec![], label, null: false });
    }
    let (coded, expanded) = (coded.build(), expanded.build());
    in_pool(1, || {
        let dense = Dense::<f32>::one_hot(n, CODES, codes);
        let mut dense = || drop(black_box(dense.two_pass(0.01)));
        let (mut step, mut wide) = (prepared(&coded, Level::best()), prepared(&expanded, Level::best()));
        let [step, wide, dense] = alternately([&mut step, &mut wide, &mut dense], effort.repeats);
        history::note("codes", [("step", step), ("one-hot", wide), ("one-hot in two passes", dense)]);
        println!("\n{n} rows of 14 codes, 105 values, one thread\n");
        println!("as codes {:.3} ms ({:.2} ns a row)", step * 1e3, step * 1e9 / n as f64);
        println!("one-hot in this kernel {:.3} ms, {:.1} x", wide * 1e3, wide / step);
        println!("one-hot in two passes of f32 {:.3} ms, {:.1} x", dense * 1e3, dense / step);
    });
}

/// A logistic loss as a table against the built-in one.
fn own_against_built_in(effort: &Effort) {
    let own = OwnLoss::of_label("logistic", |t, y| Logistic.value(t, y), |t, y| 1.0 / (1.0 + (-t).exp()) - y);
    let own = own.expect("a convex loss");
    println!("\na loss as a table / the built-in loss, one thread\n");
    for case in CASES {
        let rows = synthetic(case, effort);
        in_pool(1, || {
            for level in Level::available() {
                let (mut table, mut built_in) = (prepared_with(&rows, level, own), prepared(&rows, level));
                let [table, built_in] = alternately([&mut table, &mut built_in], effort.repeats.div_ceil(2));
                let group = format!("{}, {level:?}, loss", case.name);
                history::note(&group, [("table", table), ("built-in", built_in)]);
                let per_row = (table - built_in) * 1e9 / rows.len() as f64;
                let (ratio, level) = (table / built_in, format!("{level:?}"));
                println!("{:16} {level:>8} {ratio:7.2}, {per_row:+.2} ns a row", case.name);
            }
        });
    }
}

fn against_noise(effort: &Effort) {
    let rows = synthetic(&CASES[2], effort);
    let source = NoiseSource::insecure_from_seed(1);
    println!("\nnoise for {} coordinates / step on {} rows\n", rows.shape().dimension(), rows.len());
    for threads in [1, 2] {
        in_pool(threads, || {
            let mut release = 0;
            let mut noise = || {
                release += 1;
                let drawn = integer_noise(NoiseLaw::FlooredNormal, 27, rows.shape().dimension(), &source, release);
                black_box(drawn).expect("noise of this size is drawn");
            };
            let mut step = prepared(&rows, Level::best());
            let [noise, step] = alternately([&mut noise, &mut step], effort.repeats);
            history::note(&format!("noise, {threads} threads"), [("noise", noise), ("step", step)]);
            println!("{threads} threads: {:.3} ms, {:.1}% of a step", noise * 1e3, 100.0 * noise / step);
        });
    }
}

fn builder(numeric: usize, levels: &[u16]) -> RowsBuilder {
    RowsBuilder::new(Shape::new(numeric, levels))
}

fn synthetic(case: &Case, effort: &Effort) -> Rows {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let shape = Shape::new(case.numeric, case.levels);
    let mut builder = RowsBuilder::new(shape.clone());
    let mut row = RawRow::empty(&shape);
    row.null = false;
    for _ in 0..(case.rows / effort.share).max(1000) {
        row.numeric.iter_mut().for_each(|q| *q = rng.random());
        row.codes.iter_mut().zip(case.levels).for_each(|(code, &level)| *code = rng.random_range(0..level));
        row.label = rng.random_range(0..=1);
        builder.push(&row);
    }
    builder.build()
}

/// One logistic step, ready to be repeated.
fn prepared(rows: &Rows, level: Level) -> impl FnMut() {
    prepared_with(rows, level, Logistic)
}

fn prepared_with(rows: &Rows, level: Level, loss: impl Loss) -> impl FnMut() {
    let d = rows.shape().dimension();
    let weights: Vec<f64> = (0..d).map(|j| ((j % 17) as f64 - 8.0) / (8.0 * (d as f64).sqrt())).collect();
    let bound = 4095 * FULL_SCALE as u64;
    let caps = Caps::new(rows, bound);
    let multiplier_scale = bound as f64 / (f64::from(FULL_SCALE) * (d as f64).sqrt());
    move || {
        let step = Step { weights: &weights, label_scale: 1.0, multiplier_scale };
        let sum = clipped_sum_on(
            level,
            rows,
            &caps,
            &step,
            #[inline(always)]
            |t, y| loss.slope(t, y),
        );
        drop(black_box(sum));
    }
}

fn in_pool(threads: usize, work: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("thread pool").install(work);
}

/// Seconds that each piece of work takes, the shortest time of each.
fn alternately<const N: usize>(mut work: [&mut dyn FnMut(); N], repeats: usize) -> [f64; N] {
    let mut shortest = [f64::INFINITY; N];
    for _ in 0..repeats {
        for (work, shortest) in work.iter_mut().zip(&mut shortest) {
            let start = Instant::now();
            work();
            *shortest = shortest.min(start.elapsed().as_secs_f64());
        }
    }
    shortest
}
