//! Whole steps on curves and waves beside linear steps on the same rows, each against a streaming read of its own bytes.

use std::hint::black_box;

use ndarray::{Array1, Array2};
use rand::{Rng, SeedableRng};
use rhograd::grid::{FULL_SCALE, IntegerMap};
use rhograd::kernel::{Caps, Level, Rows, Step, clipped_sum_on};
use rhograd::loss::{Logistic, Loss};
use rhograd::preprocess::{Binner, Scores, Waves};

use crate::rivals::stream;
use crate::{Case, Effort, alternately, history, in_pool, prepared, synthetic};

/// A case, the intervals that numbers are cut into, and the coordinates of each column.
struct Curves {
    case: Case,
    intervals: usize,
    coordinates: usize,
}

const CASES: &[Curves] = &[
    // Six numbers and eight categories, as Adult has, with the intervals that it gets.
    Curves {
        case: Case { name: "1e6 x 14 mixed", rows: 1_000_000, numeric: 6, levels: &[8, 16, 7, 14, 6, 5, 2, 42] },
        intervals: 200,
        coordinates: 25,
    },
    // All that there can be: eighths of 1,024 cells.
    Curves {
        case: Case { name: "1e6 x 32 numbers", rows: 1_000_000, numeric: 32, levels: &[] },
        intervals: 8192,
        coordinates: 100,
    },
];

/// Waves of a row, and how many coordinates they get.
const WAVES: [usize; 2] = [400, 120];

/// Rows with waves are so many times fewer: they take 800 bytes each.
const FEWER: usize = 5;

pub fn against_linear(effort: &Effort) {
    println!(
        "\nwhole steps (coordinates to coefficients, the pass, its sum through the map) / streaming read of the same bytes\n"
    );
    println!(
        "{:17} {:9} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}",
        "rows", "encoding", "threads", "bytes/row", "read ns", "pass ns", "step ns", "M rows/s", "ratio"
    );
    for curves in CASES {
        let rows = synthetic(&curves.case, effort);
        for threads in [1, 2] {
            in_pool(threads, || {
                let (mut pass, mut step) = (prepared(&rows, Level::best()), prepared(&rows, Level::best()));
                report(curves, "linear", threads, &rows, [&mut pass, &mut step], effort);
            });
        }
        let cut = curves.binner().recode(&rows);
        for threads in [1, 2] {
            in_pool(threads, || curves.measure("additive", threads, &cut, &curves.map(0), effort));
        }
        drop(rows);
        let fewer = synthetic(&curves.case, &Effort { share: FEWER * effort.share, ..*effort });
        let waved = curves.waves().recode(&curves.binner().recode(&fewer));
        for threads in [1, 2] {
            in_pool(threads, || curves.measure("rich", threads, &waved, &curves.map(WAVES[0]), effort));
        }
    }
}

impl Curves {
    fn binner(&self) -> Binner {
        let start = |at: usize| (at * (2 * FULL_SCALE as usize + 1) / self.intervals) as u16;
        let starts: Vec<u16> = (1..self.intervals).map(start).collect();
        Binner::new(vec![starts; self.case.numeric], self.case.levels.to_vec(), None).expect("ascending")
    }

    fn waves(&self) -> Waves {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(2);
        let numeric = vec![(0..self.intervals).map(|_| rng.random()).collect(); self.case.numeric];
        let values: usize = self.case.levels.iter().map(|&levels| usize::from(levels)).sum();
        let frequencies =
            (0..self.case.numeric + values).map(|_| (0..WAVES[0]).map(|_| rng.random()).collect()).collect();
        let offsets = (0..WAVES[0]).map(|_| rng.random()).collect();
        Waves::new(Scores { numeric, levels: self.case.levels.to_vec() }, frequencies, offsets).expect("few waves")
    }

    fn map(&self, waves: usize) -> IntegerMap {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
        let shape = self.binner().shape();
        let mut random = |size: (usize, usize)| Array2::from_shape_fn(size, |_| rng.random_range(-3.0..3.0));
        let tables = (0..shape.categorical())
            .map(|column| random((shape.levels(column), self.coordinates.min(shape.levels(column) - 1))));
        let tables = tables.collect();
        let numbers = random((if waves == 0 { 0 } else { WAVES[1] }, waves + 1));
        IntegerMap::of_blocks(numbers, tables, 10).expect("moderate numbers")
    }

    fn measure(&self, encoding: &str, threads: usize, rows: &Rows, map: &IntegerMap, effort: &Effort) {
        let bound = 4095 * FULL_SCALE as u64 * 64;
        let caps = Caps::through(map, rows, bound);
        let theta: Array1<f64> = (0..map.dimension()).map(|at| ((at % 17) as f64 - 8.0) / 100.0).collect();
        let sum = |weights: &[f64]| {
            let step = Step { weights, label_scale: 1.0, multiplier_scale: 1000.0 };
            clipped_sum_on(
                Level::best(),
                rows,
                &caps,
                &step,
                #[inline(always)]
                |t, y| Logistic.slope(t, y),
            )
        };
        let weights = map.transposed(&theta).to_vec();
        let mut pass = || drop(black_box(sum(&weights)));
        let mut step = || drop(black_box(map.image(&sum(&map.transposed(&theta).to_vec()))));
        report(self, encoding, threads, rows, [&mut pass, &mut step], effort);
    }
}

fn report(
    curves: &Curves,
    encoding: &str,
    threads: usize,
    rows: &Rows,
    [pass, step]: [&mut dyn FnMut(); 2],
    effort: &Effort,
) {
    let bytes = vec![1u64; rows.bytes() / 8];
    let mut read = || {
        black_box(stream(&bytes));
    };
    let [read, pass, step] = alternately([&mut read, pass, step], effort.repeats.div_ceil(3));
    let group = format!("{}, {encoding}, {threads} threads", curves.case.name);
    history::note(&group, [("reading", read), ("pass", pass), ("step", step)]);
    let per_row = |seconds: f64| seconds * 1e9 / rows.len() as f64;
    println!(
        "{:17} {encoding:9} {threads:7} {:9.1} {:9.2} {:9.2} {:9.2} {:9.1} {:7.2}",
        curves.case.name,
        rows.bytes() as f64 / rows.len() as f64,
        per_row(read),
        per_row(pass),
        per_row(step),
        1e3 / per_row(step),
        step / read
    );
}
