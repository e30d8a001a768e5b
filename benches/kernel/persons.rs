//! A step over persons with several rows against the step over the same rows.

use std::hint::black_box;

use ndarray::Array2;
use rhograd::grid::{FULL_SCALE, IntegerMap};
use rhograd::kernel::{Level, PersonClips, Persons, Step, clipped_person_sum};
use rhograd::loss::{Logistic, Loss};

use crate::{CASES, Effort, alternately, in_pool, prepared_with, synthetic};

/// Prints the ratio for persons of 1, 5 and 20 rows, where hardly anybody is clipped and where nearly everybody is, with and
/// without a map of the coordinates.
pub(crate) fn against_rows(effort: &Effort) {
    println!("\na step over persons / over their rows, one thread\n");
    println!("{:16} {:>6} {:>9} {:>9} {:>9} {:>9}", "rows", "each", "unclipped", "clipped", "mapped", "map+clip");
    for case in CASES.iter().filter(|case| case.numeric <= 32 && case.rows > 1000) {
        for each in [1, 5, 20] {
            let ratio = |clipped: bool, mapped: bool| {
                let rows = synthetic(case, effort);
                let d = rows.shape().dimension();
                let weights: Vec<f64> = (0..d).map(|j| ((j % 17) as f64 - 8.0) / (8.0 * (d as f64).sqrt())).collect();
                let map =
                    IntegerMap::nearest(&Array2::from_shape_fn((d, d), |(i, j)| if i == j { 1.0 } else { 0.01 }), 8);
                let map = mapped.then(|| map.expect("a small matrix"));
                let unit = if mapped { 256 } else { 1 };
                let bound = 4095 * FULL_SCALE as u64 * unit * if clipped { 1 } else { 64 };
                let scale = 4095.0 / 2.0;
                let people: Vec<u32> = (0..rows.len()).map(|row| (row / each) as u32).collect();
                let persons = Persons::gather(synthetic(case, effort), &people, u32::MAX);
                let clips = PersonClips::new(&persons, map.as_ref(), bound);
                let step = Step { weights: &weights, label_scale: 1.0, multiplier_scale: scale };
                let mut seconds = [0.0; 2];
                in_pool(1, || {
                    let mut by_row = prepared_with(&rows, Level::best(), Logistic);
                    let mut by_person = || {
                        let slope = |t, y| Logistic.slope(t, y);
                        drop(black_box(clipped_person_sum(&persons, &clips, &step, slope)));
                    };
                    seconds = alternately([&mut by_person, &mut by_row], effort.repeats.div_ceil(4));
                });
                seconds[0] / seconds[1]
            };
            let [a, b, c, d] = [(false, false), (true, false), (false, true), (true, true)].map(|(x, y)| ratio(x, y));
            println!("{:16} {each:6} {a:9.2} {b:9.2} {c:9.2} {d:9.2}", case.name);
        }
    }
}
