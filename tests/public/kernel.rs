//! The exact clipped sum: sensitivity on neighbours, equality with the naive loop, same bits everywhere.

use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::grid::{FULL_SCALE, LOG2_WEIGHT, MAX_MULTIPLIER, Shape};
use rhograd::kernel::{
    Caps, ClassStep, FixedStep, Level, MAX_CLASSES, RawRow, Rows, RowsBuilder, Step, clipped_class_sum,
    clipped_class_sum_on, clipped_sum, clipped_sum_on, fixed_batch, fixed_pass, naive, rounding,
};
use rhograd::loss::{Curved, LOG2_SLOPE, Logistic, Loss, MonotoneSlope, Softmax, Squared};

fn build<'a>(shape: &Shape, rows: impl IntoIterator<Item = &'a RawRow>) -> Rows {
    let mut builder = RowsBuilder::new(shape.clone());
    rows.into_iter().for_each(|row| builder.push(row));
    builder.build()
}

/// Values that break float clips live in the extremes of the encoding; half of the cells are extreme.
fn random_row(rng: &mut ChaCha8Rng, shape: &Shape) -> RawRow {
    let extreme = [i16::MIN, -FULL_SCALE, -1, 0, 1, FULL_SCALE];
    let cell = |rng: &mut ChaCha8Rng| if rng.random() { extreme[rng.random_range(0..6)] } else { rng.random() };
    RawRow {
        numeric: (0..shape.numeric()).map(|_| cell(rng)).collect(),
        codes: (0..shape.categorical()).map(|j| rng.random_range(0..=shape.levels(j) as u16 + 1)).collect(),
        label: cell(rng),
        null: rng.random_range(0..20) == 0,
    }
}

fn step(weights: &[f64], bound: u64) -> Step<'_> {
    Step { weights, label_scale: 1.0 / f64::from(FULL_SCALE), multiplier_scale: bound as f64 / f64::from(FULL_SCALE) }
}

/// Any bit pattern, as a pure function of margin and label: NaN, infinities, subnormals, 1e30 and 1e-30.
///
/// Which NaN an operation returns, and the sign of zero, are not specified; every loss treats them alike.
fn wild_slope(margin: f32, label: f32) -> f32 {
    let margin = if margin.is_nan() { f32::NAN } else { margin + 0.0 };
    let mixed = (u64::from(margin.to_bits()) << 32 | u64::from(label.to_bits())).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    match mixed >> 61 {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => -1e30,
        3 => 1e-40,
        _ => f32::from_bits((mixed >> 16) as u32),
    }
}

fn square_norm(v: &[i64]) -> u128 {
    v.iter().map(|&x| u128::from(x.unsigned_abs()) * u128::from(x.unsigned_abs())).sum()
}

fn weights(rng: &mut ChaCha8Rng, dimension: usize) -> Vec<f64> {
    let wild = [f64::NAN, f64::INFINITY, 1e200, 1e-200, f64::MIN_POSITIVE / 4.0, -1.0];
    (0..dimension)
        .map(|_| if rng.random_range(0..9) == 0 { wild[rng.random_range(0..6)] } else { rng.random() })
        .collect()
}

#[test]
fn a_million_adversarial_rows_move_the_sum_by_at_most_delta() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    single.install(|| {
        for (rows, shape) in [
            (600_000, Shape::new(3, &[4])),
            (300_000, Shape::new(0, &[2, 60_000])),
            (90_000, Shape::new(33, &[])),
            (10_000, Shape::new(300, &[1, 1, 65_533])),
        ] {
            let bound = rng.random_range(1..=MAX_MULTIPLIER as u64 * FULL_SCALE as u64);
            let w = weights(&mut rng, shape.dimension());
            // Data sets of 32 rows; removing a row is compared with the whole, so every row is a difference of neighbours.
            for _ in 0..rows / 32 {
                let raw: Vec<RawRow> = (0..32).map(|_| random_row(&mut rng, &shape)).collect();
                let whole = sum(&build(&shape, &raw), bound, &w);
                let gone = rng.random_range(0..32);
                let without =
                    sum(&build(&shape, raw.iter().enumerate().filter(|(i, _)| *i != gone).map(|(_, r)| r)), bound, &w);
                let moved: Vec<i64> = whole.iter().zip(&without).map(|(a, b)| a - b).collect();
                assert!(square_norm(&moved) <= u128::from(bound) * u128::from(bound));
            }
        }
    });
}

fn sum(rows: &Rows, bound: u64, weights: &[f64]) -> Vec<i64> {
    clipped_sum(rows, &Caps::new(rows, bound), &step(weights, bound), wild_slope)
}

#[test]
fn every_single_row_stays_within_the_bound() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    single.install(|| {
        let mut largest = 0.0f64;
        for index in 0..200_000 {
            let shape = [Shape::new(2, &[3]), Shape::new(1, &[]), Shape::new(7, &[2, 9])][index % 3].clone();
            let bits = rng.random_range(1..28);
            let bound = rng.random_range(1..=1u64 << bits);
            let row = random_row(&mut rng, &shape);
            let rows = build(&shape, [&row]);
            let w = weights(&mut rng, shape.dimension());
            let norm = square_norm(&sum(&rows, bound, &w));
            assert!(norm <= u128::from(bound) * u128::from(bound), "{row:?} bound {bound}");
            assert!(!row.null || norm == 0);
            if bound > FULL_SCALE as u64 * 64 {
                largest = largest.max(norm as f64 / (bound as f64 * bound as f64));
            }
        }
        // The clip bites: some row uses almost all of its allowance, so a looser bound would be seen.
        assert!(largest > 0.98, "{largest}");
    });
}

#[test]
fn threads_order_and_position_change_no_bit() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let bound = 3_000 * FULL_SCALE as u64;
    for shape in [Shape::new(5, &[9, 16, 7]), Shape::new(40, &[]), Shape::new(0, &[3])] {
        let raw: Vec<RawRow> = (0..20_011).map(|_| random_row(&mut rng, &shape)).collect();
        let w: Vec<f64> = (0..shape.dimension()).map(|_| rng.random::<f64>() - 0.5).collect();
        let total =
            |rows: &Rows| clipped_sum(rows, &Caps::new(rows, bound), &step(&w, bound), |t, y| Squared.slope(t, y));
        let rows = build(&shape, &raw);
        let expected = total(&rows);
        assert!(expected.iter().any(|&x| x != 0));
        for threads in [1, 2, 3, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| total(&rows)), expected, "{threads} threads");
        }
        assert_eq!(total(&build(&shape, raw.iter().rev())), expected, "reversed");
        let mut null = random_row(&mut rng, &shape);
        null.null = true;
        for offset in 1..32 {
            let shifted = std::iter::repeat_n(&null, offset).chain(&raw);
            assert_eq!(total(&build(&shape, shifted)), expected, "shifted by {offset}");
        }
        // Any split into parts adds up to the whole: block and task boundaries do not matter.
        for cut in [1, 31, 32, 512, 16_384, 20_010] {
            let (head, tail) = raw.split_at(cut);
            let parts: Vec<i64> =
                total(&build(&shape, head)).iter().zip(total(&build(&shape, tail))).map(|(a, b)| a + b).collect();
            assert_eq!(parts, expected, "cut at {cut}");
        }
    }
}

#[test]
fn the_fast_sum_equals_the_naive_loop() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for (numeric, levels) in [(0, vec![]), (1, vec![]), (2, vec![3]), (31, vec![]), (33, vec![1, 200]), (700, vec![5])]
    {
        let shape = Shape::new(numeric, &levels);
        for n in [0, 1, 31, 32, 33, 511, 512, 513] {
            let raw: Vec<RawRow> = (0..n).map(|_| random_row(&mut rng, &shape)).collect();
            let rows = build(&shape, &raw);
            for bound in [0, 1, FULL_SCALE as u64, 1 << 20, 4095 * FULL_SCALE as u64, 1 << 40] {
                let caps = Caps::new(&rows, bound);
                let w: Vec<f64> = (0..shape.dimension()).map(|_| 4.0 * rng.random::<f64>() - 2.0).collect();
                let step = step(&w, bound.min(1 << 27));
                for slope in [|t: f32, y: f32| Logistic.slope(t, y), wild_slope] {
                    let fast = clipped_sum(&rows, &caps, &step, slope);
                    assert_eq!(fast, naive::clipped_sum(&rows, &caps, &step, slope), "{numeric} {n} {bound}");
                }
            }
        }
    }
}

/// Shapes that reach every path: odd columns, tails of four, whole groups of categories, columns too wide for a group, and
/// tiles too large for blocks, in runs of an odd and an even number of them.
#[test]
fn every_instruction_set_gives_the_same_bits() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let bound = 3_000 * FULL_SCALE as u64;
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for (numeric, levels, n) in [
        (0, vec![9, 16, 7, 15, 6, 5, 2, 42, 3, 3], 2_000),
        (1, vec![3_000, 2, 5_000], 700),
        (5, vec![9, 16, 7], 3_001),
        (34, vec![], 1_500),
        (131, vec![4], 1_111),
        (4_501, vec![2], 200),
        (4_100, vec![9, 16, 7], 250),
    ] {
        let shape = Shape::new(numeric, &levels);
        let raw: Vec<RawRow> = (0..n).map(|_| random_row(&mut rng, &shape)).collect();
        let rows = build(&shape, &raw);
        let caps = Caps::new(&rows, bound);
        let w: Vec<f64> = (0..2 * shape.dimension()).map(|_| rng.random::<f64>() - 0.5).collect();
        let step = step(&w[..shape.dimension()], bound);
        let both = ClassStep { weights: &w, classes: 2, multiplier_scale: step.multiplier_scale };
        let expected = naive::clipped_sum(&rows, &caps, &step, wild_slope);
        let expected_both = naive::clipped_class_sum(&rows, &caps, &both, wild_slopes);
        for level in Level::available() {
            let sum = || clipped_sum_on(level, &rows, &caps, &step, wild_slope);
            assert_eq!(sum(), expected, "{level:?} {numeric}");
            assert_eq!(single.install(sum), expected, "{level:?} {numeric}, one thread");
            let sums = clipped_class_sum_on(level, &rows, &caps, &both, wild_slopes);
            assert_eq!(sums, expected_both, "{level:?} {numeric}");
        }
    }
}

#[test]
fn joint_sums_of_categories_do_not_overflow() {
    // One code for all rows and every multiplier at its cap, beyond what 32 bits can hold.
    let shape = Shape::new(0, &[1]);
    let row = RawRow { numeric: vec![], codes: vec![0], label: 0, null: false };
    let rows = build(&shape, std::iter::repeat_n(&row, 1_100_000));
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let bound = 1u64 << 40;
    let caps = Caps::new(&rows, bound);
    let total = single.install(|| clipped_sum(&rows, &caps, &step(&[0.0; 2], bound), |_, _| 1.0));
    let each = i64::from(MAX_MULTIPLIER) * i64::from(FULL_SCALE) * 1_100_000;
    assert_eq!(total, [each, each]);
}

#[test]
fn the_largest_possible_sums_do_not_overflow() {
    // Every multiplier at its cap and every value at full scale, over several whole blocks, or tiles too large for them.
    for (columns, count) in [(2, 5_000), (4_200, 400)] {
        let row =
            RawRow { numeric: [FULL_SCALE, -FULL_SCALE].repeat(columns / 2), codes: vec![], label: 0, null: false };
        let rows = build(&Shape::new(columns, &[]), std::iter::repeat_n(&row, count));
        let bound = 1u64 << 50;
        let caps = Caps::new(&rows, bound);
        let total = clipped_sum(&rows, &caps, &step(&vec![0.0; columns + 1], bound), |_, _| 1.0);
        let each = i64::from(MAX_MULTIPLIER) * i64::from(FULL_SCALE) * count as i64;
        let mut expected = [each, -each].repeat(columns / 2);
        expected.push(each);
        assert_eq!(total, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn recoding_keeps_rows_apart_and_norms_exact(seed in any::<u64>(), factor in any::<i16>(), unit in 1i16..=FULL_SCALE) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let shape = Shape::new(3, &[4]);
        let raw: Vec<RawRow> = (0..70).map(|_| random_row(&mut rng, &shape)).collect();
        let map = move |_: usize, q: i16| q.wrapping_mul(factor);
        let bound = 1_000 * unit as u64;
        let w = weights(&mut rng, shape.dimension());
        let recoded = build(&shape, &raw).recode(unit, map, |y| y.wrapping_add(factor));
        let caps = Caps::new(&recoded, bound);
        let fast = clipped_sum(&recoded, &caps, &step(&w, bound), wild_slope);
        // The naive loop measures norms of the recoded values itself.
        prop_assert_eq!(&fast, &naive::clipped_sum(&recoded, &caps, &step(&w, bound), wild_slope));
        let last = build(&shape, &raw[..69]).recode(unit, map, |y| y.wrapping_add(factor));
        let before = clipped_sum(&last, &Caps::new(&last, bound), &step(&w, bound), wild_slope);
        let moved: Vec<i64> = fast.iter().zip(&before).map(|(a, b)| a - b).collect();
        prop_assert!(square_norm(&moved) <= u128::from(bound) * u128::from(bound));
    }
}

/// The slopes of a tile, each a wild pure function of all margins of its lane and its label.
fn wild_slopes<const N: usize>(margins: &mut [[f32; N]], labels: &[i16; N]) {
    for lane in 0..N {
        let mut seen = f32::from(labels[lane]);
        for class in &mut *margins {
            class[lane] = wild_slope(class[lane], seen);
            seen = if class[lane].is_nan() { 0.5 } else { class[lane].clamp(-1e3, 1e3) };
        }
    }
}

fn class_step(weights: &[f64], classes: usize, bound: u64) -> ClassStep<'_> {
    ClassStep { weights, classes, multiplier_scale: bound as f64 / f64::from(FULL_SCALE) }
}

fn random_label(rng: &mut ChaCha8Rng, shape: &Shape, classes: usize) -> RawRow {
    RawRow { label: rng.random_range(-1..=classes as i16), ..random_row(rng, shape) }
}

#[test]
fn the_joint_sum_equals_its_naive_twin() {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    for classes in [1, 3, 10, MAX_CLASSES] {
        for shape in [Shape::new(3, &[4]), Shape::new(0, &[2, 7]), Shape::new(9, &[])] {
            let raw: Vec<RawRow> = (0..133).map(|_| random_label(&mut rng, &shape, classes)).collect();
            let rows = build(&shape, &raw);
            for bits in [4, 15, 20, 27] {
                let bound = rng.random_range(1..=1u64 << bits);
                let caps = Caps::new(&rows, bound);
                let w: Vec<f64> = (0..classes).flat_map(|_| weights(&mut rng, shape.dimension())).collect();
                let step = class_step(&w, classes, bound);
                let wild = clipped_class_sum(&rows, &caps, &step, wild_slopes);
                assert_eq!(wild, naive::clipped_class_sum(&rows, &caps, &step, wild_slopes), "{classes} {bound}");
                let tame = clipped_class_sum(&rows, &caps, &step, Softmax::slopes);
                let twin = naive::clipped_class_sum(&rows, &caps, &step, Softmax::slopes);
                assert_eq!(tame, twin, "{classes} {bound}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// The joint sum over all labels moves by at most the bound when a row goes, and twice that when one is replaced.
    #[test]
    fn neighbours_keep_the_joint_bound(seed in any::<u64>(), classes in 1usize..12, bits in 1u32..28, softmax in any::<bool>()) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let shape = [Shape::new(2, &[3]), Shape::new(1, &[]), Shape::new(4, &[2, 9])][rng.random_range(0..3)].clone();
        let bound = rng.random_range(1..=1u64 << bits);
        let w: Vec<f64> = (0..classes).flat_map(|_| weights(&mut rng, shape.dimension())).collect();
        let sum = |raw: &[RawRow]| {
            let rows = build(&shape, raw);
            let (caps, step) = (Caps::new(&rows, bound), class_step(&w, classes, bound));
            if softmax {
                clipped_class_sum(&rows, &caps, &step, Softmax::slopes)
            } else {
                clipped_class_sum(&rows, &caps, &step, wild_slopes)
            }
        };
        let mut raw: Vec<RawRow> = (0..rng.random_range(1..70)).map(|_| random_label(&mut rng, &shape, classes)).collect();
        let whole = sum(&raw);
        let at = rng.random_range(0..raw.len());
        let moved = |other: &[i64]| whole.iter().zip(other).map(|(a, b)| a - b).collect::<Vec<i64>>();
        let square = u128::from(bound) * u128::from(bound);
        let mut without = raw.clone();
        without.remove(at);
        prop_assert!(square_norm(&moved(&sum(&without))) <= square);
        raw[at] = random_label(&mut rng, &shape, classes);
        prop_assert!(square_norm(&moved(&sum(&raw))) <= 4 * square);
    }
}

#[test]
fn the_joint_clip_uses_its_allowance_and_no_more() {
    let mut rng = ChaCha8Rng::seed_from_u64(22);
    let shape = Shape::new(2, &[3]);
    let mut largest = 0.0f64;
    for _ in 0..20_000 {
        let classes = rng.random_range(2..6);
        let bound = rng.random_range(1..=1u64 << 27);
        let rows = build(&shape, [&random_label(&mut rng, &shape, classes)]);
        let w: Vec<f64> = (0..classes).flat_map(|_| weights(&mut rng, shape.dimension())).collect();
        let sum = clipped_class_sum(&rows, &Caps::new(&rows, bound), &class_step(&w, classes, bound), wild_slopes);
        let norm = square_norm(&sum);
        assert!(norm <= u128::from(bound) * u128::from(bound));
        if bound > FULL_SCALE as u64 * 512 {
            largest = largest.max(norm as f64 / (bound as f64 * bound as f64));
        }
    }
    assert!(largest > 0.97, "{largest}");
}

#[test]
fn threads_and_order_change_no_bit_of_the_joint_sum() {
    let mut rng = ChaCha8Rng::seed_from_u64(23);
    let (shape, classes, bound) = (Shape::new(5, &[9, 3]), 4, 3_000 * FULL_SCALE as u64);
    let mut raw: Vec<RawRow> = (0..20_011).map(|_| random_label(&mut rng, &shape, classes)).collect();
    let w: Vec<f64> = (0..classes * shape.dimension()).map(|_| rng.random::<f64>() - 0.5).collect();
    let total = |raw: &[RawRow], threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let rows = build(&shape, raw);
        let step = class_step(&w, classes, bound);
        pool.install(|| clipped_class_sum(&rows, &Caps::new(&rows, bound), &step, Softmax::slopes))
    };
    let one = total(&raw, 1);
    assert_eq!(one, total(&raw, 5));
    raw.reverse();
    assert_eq!(one, total(&raw, 3));
}

/// A random step of one of the two losses, with rows of a random unit.
fn random_fixed_step(rng: &mut ChaCha8Rng, case: usize) -> (Shape, Rows, FixedStep, MonotoneSlope) {
    let shape = [Shape::new(3, &[4]), Shape::new(40, &[]), Shape::new(0, &[2, 3])][case % 3].clone();
    let count = rng.random_range(1..60);
    let raw: Vec<RawRow> = (0..count).map(|_| random_row(rng, &shape)).collect();
    let rows = build(&shape, &raw).recode(rng.random_range(100..=FULL_SCALE), |_, q| q, |y| y);
    let shift = rng.random_range(0..24);
    let loss = [Curved::Logistic, Curved::Squared][case % 2];
    let lipschitz = 1 << rng.random_range(30..50);
    let step = FixedStep { lipschitz, shift, log2_slope: LOG2_SLOPE, log2_smooth: loss.log2_smooth() };
    let slope = MonotoneSlope::new(loss, i128::from(rows.one()) << LOG2_WEIGHT, 1e-4);
    (shape, rows, step, slope)
}

/// Two points whose distance is up to a unit in each coordinate.
fn random_points(rng: &mut ChaCha8Rng, shape: &Shape) -> [Vec<i64>; 2] {
    let first: Vec<i64> = (0..shape.dimension()).map(|_| rng.random_range(-(1 << 42)..1 << 42)).collect();
    let second = first.iter().map(|w| w + rng.random_range(-(1i64 << 40)..1 << 40)).collect();
    [first, second]
}

fn apart(a: &[i64], b: &[i64]) -> f64 {
    let square: f64 = a.iter().zip(b).map(|(x, y)| ((x - y) as f64).powi(2)).sum();
    square.sqrt()
}

/// Two passes of single-row steps over the same rows never drift apart by more than rounding allows.
#[test]
fn fixed_steps_are_non_expansive_up_to_the_stated_rounding() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for case in 0..300 {
        let (shape, rows, step, slope) = random_fixed_step(&mut rng, case);
        let order: Vec<usize> = (0..rows.len()).rev().collect();
        let [mut first, mut second] = random_points(&mut rng, &shape);
        let mut distance = apart(&first, &second);
        for &index in &order {
            fixed_pass(&rows, &[index], &mut first, &step, |t, y| slope.at(t, y));
            fixed_pass(&rows, &[index], &mut second, &step, |t, y| slope.at(t, y));
            let now = apart(&first, &second);
            let allowed = distance * (1.0 + 1e-12) + rounding(shape.dimension(), step.shift) as f64;
            assert!(now <= allowed, "case {case}: {distance} to {now}");
            distance = now;
        }
    }
}

/// The same for batches, and for batches that differ in a row.
#[test]
fn mean_steps_are_non_expansive_up_to_the_stated_rounding() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut used = 0f64;
    for case in 0..600 {
        let (shape, rows, step, slope) = random_fixed_step(&mut rng, case);
        let batch: Vec<usize> = (0..rows.len()).collect();
        let other = [&batch[1..], &[rng.random_range(0..rows.len())]].concat();
        let [first, second] = random_points(&mut rng, &shape);
        let moved = |batch: &[usize], from: &[i64]| -> Vec<i64> {
            let mean = fixed_batch(&rows, batch, from, &step, |t, y| slope.at(t, y));
            from.iter().zip(mean).map(|(w, mean)| w - mean as i64).collect()
        };
        let allowed = apart(&first, &second) * (1.0 + 1e-12) + rounding(shape.dimension(), step.shift) as f64;
        let from = moved(&batch, &first);
        assert!(apart(&from, &moved(&batch, &second)) <= allowed, "case {case}");
        let reach = 2.0 * step.lipschitz as f64 / 2f64.powi(step.shift as i32) / batch.len() as f64;
        assert!(apart(&from, &moved(&other, &second)) <= allowed + reach, "case {case}: a replaced row");
        used =
            used.max(apart(&from, &moved(&other, &first)) / (reach + rounding(shape.dimension(), step.shift) as f64));
    }
    assert!(used > 0.4 && used <= 1.0, "{used}");
}

#[test]
fn a_batch_of_one_steps_as_a_single_row_and_threads_change_no_bit() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let shape = Shape::new(3, &[4]);
    let raw: Vec<RawRow> = (0..2_000).map(|_| random_row(&mut rng, &shape)).collect();
    let rows = build(&shape, &raw);
    // Long shifts, so that no row is too long for its step.
    let step = FixedStep { lipschitz: 1 << 44, shift: 20, log2_slope: LOG2_SLOPE, log2_smooth: 0 };
    let slope = MonotoneSlope::new(Curved::Squared, i128::from(rows.one()) << LOG2_WEIGHT, 1e-4);
    let [from, _] = random_points(&mut rng, &shape);
    for index in 0..200 {
        let mut single = from.clone();
        fixed_pass(&rows, &[index], &mut single, &step, |t, y| slope.at(t, y));
        let mean = fixed_batch(&rows, &[index], &from, &step, |t, y| slope.at(t, y));
        assert!(from.iter().zip(mean).zip(&single).all(|((w, mean), s)| w - mean as i64 == *s), "{index}");
    }
    let all: Vec<usize> = (0..raw.len()).collect();
    let on = |threads, order: &[usize]| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fixed_batch(&rows, order, &from, &step, |t, y| slope.at(t, y)))
    };
    let backwards: Vec<usize> = all.iter().rev().copied().collect();
    assert!(on(1, &all) == on(5, &all) && on(1, &all) == on(3, &backwards));
}

#[test]
fn a_fixed_step_moves_by_at_most_its_bound() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let shape = Shape::new(5, &[3]);
    for _ in 0..5_000 {
        let row = random_row(&mut rng, &shape);
        let rows = build(&shape, [&row]);
        let shift = rng.random_range(0..30);
        let lipschitz = 1u64 << rng.random_range(10..50);
        let step = FixedStep { lipschitz, shift, log2_slope: LOG2_SLOPE, log2_smooth: 0 };
        let before = vec![7i64; shape.dimension()];
        let mut after = before.clone();
        // Slopes that no convex loss has: the bound on one step must hold for any.
        let wild = rng.random::<i64>();
        let sum = fixed_pass(&rows, &[0], &mut after, &step, |_, _| wild);
        assert_eq!(sum, after.iter().map(|&w| i128::from(w)).collect::<Vec<_>>());
        let square: f64 = after.iter().zip(&before).map(|(a, b)| ((a - b) as f64).powi(2)).sum();
        let bound = lipschitz as f64 / 2f64.powi(shift as i32) + rounding(shape.dimension(), shift) as f64;
        assert!(square.sqrt() <= bound, "{row:?}");
        assert!(!row.null || after == before);
    }
}
