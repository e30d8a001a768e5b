//! The clipped Gram matrix, and the norms of rows through a matrix, beside products of matrices in single precision that find as much.

use std::hint::black_box;

use ndarray::Array2;
use rhograd::grid::IntegerMap;
use rhograd::kernel::{Caps, gram_sum};

use crate::{Case, Effort, alternately, history, in_pool, synthetic};

/// Numbers alone, and as many coefficients of which most are those of categories.
const CASES: &[Case] = &[
    Case { name: "1e6 x 32", rows: 1_000_000, numeric: 32, levels: &[] },
    Case { name: "2e5 x 128", rows: 200_000, numeric: 128, levels: &[] },
    Case { name: "5e4 x 1000", rows: 50_000, numeric: 1000, levels: &[] },
    Case { name: "1e6 x 14 mixed", rows: 1_000_000, numeric: 6, levels: &[8, 16, 7, 14, 6, 5, 2, 42] },
];

pub fn against_single_precision(effort: &Effort) {
    println!(
        "\nproducts of single precision (ndarray) / exact sums: the Gram matrix, and norms through a square map\n"
    );
    println!(
        "{:16} {:>7} {:>9} {:>9} {:>7} {:>9} {:>9} {:>7}",
        "rows", "threads", "Gram ms", "f32 ms", "ratio", "norms ms", "f32 ms", "ratio"
    );
    for case in CASES {
        let rows = synthetic(case, effort);
        let (n, d) = (rows.len(), rows.shape().dimension());
        let real = Array2::from_shape_fn((d, d), |(i, j)| ((i * 37 + j * 11) % 101) as f64 / 101.0 - 0.5);
        let Ok(map) = IntegerMap::nearest(&real, 17) else { continue };
        let x = Array2::from_shape_fn((n, d), |(i, j)| ((i * 31 + j * 17) % 255) as f32 / 127.0 - 1.0);
        let a = real.mapv(|entry| entry as f32);
        for threads in [1, 2] {
            in_pool(threads, || {
                let mut gram = || drop(black_box(gram_sum(&rows, 1 << 40, 127)));
                let mut product = || drop(black_box(x.t().dot(&x)));
                let mut norms = || drop(black_box(Caps::through(&map, &rows, 1 << 40)));
                let mut images = || {
                    let images = x.dot(&a);
                    black_box(images.rows().into_iter().map(|row| row.dot(&row)).collect::<Vec<_>>());
                };
                let repeats = effort.repeats.div_ceil(20);
                let [gram, product, norms, images] =
                    alternately([&mut gram, &mut product, &mut norms, &mut images], repeats);
                let group = format!("{}, products, {threads} threads", case.name);
                history::note(&group, [("gram", gram), ("f32 gram", product), ("norms", norms), ("f32 norms", images)]);
                println!(
                    "{:16} {threads:7} {:9.1} {:9.1} {:7.2} {:9.1} {:9.1} {:7.2}",
                    case.name,
                    gram * 1e3,
                    product * 1e3,
                    product / gram,
                    norms * 1e3,
                    images * 1e3,
                    images / norms,
                );
            });
        }
    }
}
