//! Rows that break other clips, through the encodings of curves and waves: whatever a cell holds, a row moves counts and sums by what is stated at most.

use ndarray::Array2;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rhograd::grid::{FEATURE_TREE, FULL_SCALE, IntegerMap, Shape, TARGET_TREE};
use rhograd::kernel::{Caps, RawRow, Rows, RowsBuilder, Step, clipped_sum, marginal_counts};
use rhograd::preprocess::{Binner, Scores, Waves};
use rhograd::privacy::Adjacency;
use rhograd::private::DescribeQuery;
use rhograd::private::query::Marginals;

/// Rows of a data set; one of them is taken away.
const ROWS: usize = 32;

/// Columns of the files and of the encodings that follow from some releases.
struct Encodings {
    shape: Shape,
    bins: Binner,
    waves: Option<Waves>,
    map: IntegerMap,
    bound: u64,
}

impl Encodings {
    fn new(waves: usize, rng: &mut ChaCha8Rng) -> Self {
        let levels = vec![1u16, 3, 7];
        let mut starts = |count: usize| -> Vec<u16> {
            let starts: std::collections::BTreeSet<u16> = (0..count).map(|_| rng.random_range(1..=65_534)).collect();
            starts.into_iter().collect()
        };
        let numeric: Vec<Vec<u16>> = [0, 1, 9, 70].map(&mut starts).to_vec();
        let shape = Shape::new(numeric.len(), &levels);
        let bins = Binner::new(numeric.clone(), levels.clone(), None).unwrap();
        let waves = (waves > 0).then(|| {
            let scores: Vec<Vec<i16>> =
                numeric.iter().map(|starts| starts.iter().chain([&0]).map(|_| rng.random()).collect()).collect();
            let coordinates = scores.len() + levels.iter().map(|&levels| usize::from(levels)).sum::<usize>();
            let frequencies = (0..coordinates).map(|_| (0..waves).map(|_| rng.random()).collect()).collect();
            let offsets = (0..waves).map(|_| rng.random()).collect();
            Waves::new(Scores { numeric: scores, levels: levels.clone() }, frequencies, offsets).unwrap()
        });
        let count = waves.as_ref().map_or(0, Waves::count);
        let tables = (0..bins.shape().categorical()).map(|column| {
            let coordinates = rng.random_range(0..4);
            Array2::from_shape_fn((bins.shape().levels(column), coordinates), |_| rng.random_range(-9.0..9.0))
        });
        let tables = tables.collect();
        let numbers = Array2::from_shape_fn((count.div_ceil(4), count + 1), |_| rng.random_range(-0.3..0.3));
        let map = IntegerMap::of_blocks(numbers, tables, 10).unwrap();
        Encodings { shape, bins, waves, map, bound: 1 << rng.random_range(24..36) }
    }

    fn rows<'a>(&self, raw: impl Iterator<Item = &'a RawRow>) -> Rows {
        let mut builder = RowsBuilder::new(self.shape.clone());
        raw.for_each(|row| builder.push(row));
        builder.build()
    }

    /// Any cell may be anything; half of them are at an end of their range.
    fn row(&self, rng: &mut ChaCha8Rng) -> RawRow {
        let ends = [i16::MIN, -FULL_SCALE, -1, 0, 1, FULL_SCALE];
        let cell = |rng: &mut ChaCha8Rng| if rng.random() { ends[rng.random_range(0..6)] } else { rng.random() };
        let code =
            |rng: &mut ChaCha8Rng, levels: u16| if rng.random() { rng.random_range(0..=levels) } else { rng.random() };
        RawRow {
            numeric: (0..self.shape.numeric()).map(|_| cell(rng)).collect(),
            codes: (0..self.shape.categorical()).map(|column| code(rng, self.shape.levels(column) as u16)).collect(),
            label: cell(rng),
            null: rng.random_range(0..20) == 0,
        }
    }

    /// The released counts before noise, in steps.
    fn counts(&self, rows: &Rows) -> Vec<i128> {
        let counts: Vec<i128> = marginal_counts(rows, true).into_iter().map(i128::from).collect();
        let (features, rest) = counts.split_at(self.shape.numeric() * FEATURE_TREE.cells());
        let (categories, target) = rest.split_at(rest.len() - TARGET_TREE.cells());
        let weighted = |sums: Vec<i128>, weight: u64| sums.into_iter().map(move |sum| sum * i128::from(weight));
        let of_features = features
            .chunks(FEATURE_TREE.cells())
            .flat_map(|cells| weighted(FEATURE_TREE.sums(cells), Marginals::FEATURE));
        of_features
            .chain(categories.iter().copied())
            .chain(weighted(TARGET_TREE.sums(target), Marginals::TARGET))
            .collect()
    }

    /// What is noised in a step.
    fn sum(&self, rows: &Rows, weights: &[f64]) -> Vec<i128> {
        let cut = self.bins.recode(rows);
        let rows = self.waves.as_ref().map_or_else(|| self.bins.recode(rows), |waves| waves.recode(&cut));
        let caps = Caps::through(&self.map, &rows, self.bound);
        let step = Step { weights, label_scale: 1.0 / f64::from(FULL_SCALE), multiplier_scale: 1e6 };
        self.map.image(&clipped_sum(&rows, &caps, &step, wild))
    }
}

/// Any bit pattern, as a function of margin and label.
fn wild(margin: f32, label: f32) -> f32 {
    let margin = if margin.is_nan() { f32::NAN } else { margin + 0.0 };
    let mixed = (u64::from(margin.to_bits()) << 32 | u64::from(label.to_bits())).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    if mixed >> 62 == 0 { f32::NAN } else { f32::from_bits((mixed >> 16) as u32) }
}

/// The squared distance of two sums.
fn moved(a: &[i128], b: &[i128]) -> u128 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).unsigned_abs().pow(2)).sum()
}

/// Takes one row of each small data set away: the largest share of the bound by which a step moves.
fn rows_keep_the_bounds(rows: usize, waves: usize) {
    let largest = (0..rows / ROWS).into_par_iter().map(|seed| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed as u64);
        // Few encodings, many rows.
        let encodings = Encodings::new(waves, &mut ChaCha8Rng::seed_from_u64(seed as u64 % 64));
        let raw: Vec<RawRow> = (0..ROWS).map(|_| encodings.row(&mut rng)).collect();
        let gone = rng.random_range(0..ROWS);
        let (whole, rest) = (encodings.rows(raw.iter()), encodings.rows(raw[..gone].iter().chain(&raw[gone + 1..])));
        let stated = Marginals {
            numeric: encodings.shape.numeric(),
            categorical: encodings.shape.categorical(),
            target: true,
            step: 1,
        };
        let counted = moved(&encodings.counts(&whole), &encodings.counts(&rest));
        let sensitivity = u128::from(stated.sensitivity(Adjacency::AddRemove));
        assert!(counted <= sensitivity * sensitivity, "{:?}: {counted}", raw[gone]);
        // One interval on each level, whatever the number is; undeclared values count nowhere.
        let declared = raw[gone]
            .codes
            .iter()
            .enumerate()
            .filter(|(column, code)| usize::from(**code) < encodings.shape.levels(*column));
        assert_eq!(counted, if raw[gone].null { 0 } else { 20 * 4 + 96 + declared.count() as u128 }, "{:?}", raw[gone]);
        let wild = [f64::NAN, f64::INFINITY, 1e200, 1e-200, -1.0];
        let dimension = encodings.waves.as_ref().map_or_else(|| encodings.bins.shape(), Waves::shape).dimension();
        let weight =
            |_| if rng.random_range(0..9) == 0 { wild[rng.random_range(0..5)] } else { rng.random_range(-1.0..1.0) };
        let weights: Vec<f64> = (0..dimension).map(weight).collect();
        let square = moved(&encodings.sum(&whole, &weights), &encodings.sum(&rest, &weights));
        let bound = u128::from(encodings.bound);
        assert!(square <= bound * bound, "{:?}: {square} of {}", raw[gone], encodings.bound);
        (square as f64).sqrt() / encodings.bound as f64
    });
    // The clip bites, so a looser one would be seen.
    let largest = largest.reduce(|| 0.0, f64::max);
    assert!(largest > 0.99, "{largest}");
}

#[test]
fn hostile_rows_move_counts_and_sums_of_curves_by_what_is_stated() {
    rows_keep_the_bounds(100_000, 0);
    rows_keep_the_bounds(20_000, 20);
}

/// `cargo test --release --test public -- --ignored a_million_hostile_rows`
#[test]
#[ignore = "takes minutes"]
fn a_million_hostile_rows_move_counts_and_sums_by_what_is_stated() {
    rows_keep_the_bounds(1_000_000, 0);
    rows_keep_the_bounds(1_000_000, 400);
}
