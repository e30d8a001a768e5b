//! A step over persons with several rows against the step over the same rows.

use std::hint::black_box;

use ndarray::Array2;
use rhograd::grid::{FULL_SCALE, IntegerMap};
use rhograd::kernel::{Caps, PersonClips, Persons, Step, clipped_person_sum, clipped_sum};
use rhograd::loss::{Logistic, Loss};

use crate::{CODES, Case, Effort, alternately, history, in_pool, synthetic};

/// Rows as people have them: numbers, and numbers cut into ranges.
const CASES: &[Case] = &[
    Case { name: "2e5 x 32", rows: 200_000, numeric: 32, levels: &[] },
    Case { name: "2e5 x 14 codes", rows: 200_000, numeric: 0, levels: CODES },
];

/// Prints the ratio for persons of 1, 5, 20 and 100 rows, where hardly anybody is clipped and where nearly everybody is, with and
/// without a map of the coordinates.
pub(crate) fn against_rows(effort: &Effort) {
    println!("\na step over persons / over their rows\n");
    println!(
        "{:16} {:>7} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "rows", "threads", "each", "row ms", "unclipped", "clipped", "mapped", "map+clip"
    );
    for case in CASES {
        for each in [1, 5, 20, 100] {
            let rows = synthetic(case, effort);
            let d = rows.shape().dimension();
            let people: Vec<u32> = (0..rows.len()).map(|row| (row / each) as u32).collect();
            let persons = Persons::gather(synthetic(case, effort), &people, u32::MAX);
            for threads in [1, 2] {
                let ratio = |clipped: bool, mapped: bool| {
                    let weights: Vec<f64> =
                        (0..d).map(|j| ((j % 17) as f64 - 8.0) / (8.0 * (d as f64).sqrt())).collect();
                    let map = IntegerMap::nearest(
                        &Array2::from_shape_fn((d, d), |(i, j)| if i == j { 1.0 } else { 0.01 }),
                        8,
                    );
                    let map = mapped.then(|| map.expect("a small matrix"));
                    let unit = if mapped { 256 } else { 1 };
                    // Averages of rows are shorter than rows.
                    let bound = 4095 * FULL_SCALE as u64 * unit;
                    let bound = if clipped { bound / 16 } else { bound * 64 };
                    let scale = 4095.0 / 2.0;
                    let clips = PersonClips::new(&persons, map.as_ref(), bound);
                    let caps = match &map {
                        None => Caps::new(&rows, bound),
                        Some(map) => Caps::through(map, &rows, bound),
                    };
                    let step = Step { weights: &weights, label_scale: 1.0, multiplier_scale: scale };
                    let mut seconds = [0.0; 2];
                    in_pool(threads, || {
                        let slope = |t, y| Logistic.slope(t, y);
                        let mut by_row = || drop(black_box(clipped_sum(&rows, &caps, &step, slope)));
                        let mut by_person = || drop(black_box(clipped_person_sum(&persons, &clips, &step, slope)));
                        seconds = alternately([&mut by_person, &mut by_row], effort.repeats.div_ceil(4));
                        let how = match (clipped, mapped) {
                            (false, false) => "unclipped",
                            (true, false) => "clipped",
                            (false, true) => "mapped",
                            (true, true) => "mapped and clipped",
                        };
                        let group = format!("{}, {threads} threads, {each} rows each, {how}", case.name);
                        history::note(&group, [("persons", seconds[0]), ("rows", seconds[1])]);
                    });
                    (seconds[0] / seconds[1], seconds[1] * 1e3)
                };
                let all = [(false, false), (true, false), (false, true), (true, true)].map(|(x, y)| ratio(x, y));
                let [(a, ms), (b, _), (c, _), (d, _)] = all;
                println!("{:16} {threads:7} {each:6} {ms:9.3} {a:9.2} {b:9.2} {c:9.2} {d:9.2}", case.name);
            }
        }
    }
}
