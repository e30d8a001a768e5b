//! What decides how each person is clipped, for one clip norm.

use std::num::NonZeroU32;

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::super::map::RowMap;
use super::super::{Caps, LANES, Rows};
use super::{FEW_ROWS, Group, Layout, Persons};
use crate::grid::{IntegerMap, MAX_MULTIPLIER};
use crate::num::vectorized;

/// Bits of a row's norm that are kept.
const REACH_BITS: u32 = 24;

/// Bits of the largest multiplier.
const MULTIPLIER_BITS: u32 = MAX_MULTIPLIER.ilog2() + 1;

/// Bits that a 64-bit sum may have, its sign left out, with one to spare.
const SUM_BITS: u32 = 62;

/// Fewer coordinates are multiplied out sooner than the rows of a person are paired.
const COORDINATES_A_PAIR: usize = 4;

/// What decides how each person is clipped, for one clip norm.
pub struct PersonClips {
    pub(super) clip_steps: u64,
    /// What a person's gradients are added up and divided by, where they are not averaged.
    pub(super) typical_rows: Option<NonZeroU32>,
    pub(super) map: Option<Seen>,
    pub(super) groups: Vec<GroupClip>,
}

/// The clip of the persons of a group.
pub(super) enum GroupClip {
    /// Persons of one row: the clip of that row.
    Single(Caps),
    /// Persons of several.
    Joint(JointClip),
}

/// What is known of the rows of persons who have several. Each number follows from one person's rows alone.
pub(super) struct JointClip {
    /// The norm of each row in units of `2^reach_unit`, rounded upward; zero where there is no row.
    pub(super) reaches: Vec<u32>,
    /// For each lane of each block how many bits the largest norm of the person's rows has.
    bits: Vec<[u8; LANES]>,
    /// Products of the images of a person's rows, where there is a map and rows are few.
    pub(super) pairs: Option<Pairs>,
}

/// `A q_i . A q_j` for the rows `j <= i` of each person, in units of `2^pair_unit`, off by one such unit at most.
pub(super) struct Pairs {
    /// For each block the products of row 0, then those of row 1 with 0 and 1, and so on.
    products: Vec<[i32; LANES]>,
    /// Bits that a product may have.
    most: u32,
}

/// A map, and what bounds how far rounding moves an image.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) map: IntegerMap,
    /// Its tables, where it is made of them.
    pub(super) tables: Option<Vec<Table>>,
    /// Integer no less than the square of `|A e|`, for errors `e` below 1.
    square: u128,
    /// Bits of the largest sum of absolute entries in a row of a matrix.
    pub(super) row_bits: u32,
}

/// The integers of a table, a run of coordinates for each value.
#[derive(Clone)]
pub(super) struct Table {
    pub(super) coordinates: usize,
    entries: Vec<i32>,
}

impl Table {
    fn new(table: &Array2<f64>) -> Self {
        // Entries are integers of at most 2^17.
        Table { coordinates: table.ncols(), entries: table.iter().map(|&entry| entry as i32).collect() }
    }

    /// The coordinates of a value; none of "none of them".
    pub(super) fn row(&self, code: u16) -> &[i32] {
        let first = usize::from(code) * self.coordinates;
        self.entries.get(first..first + self.coordinates).unwrap_or_default()
    }

    /// The square of the Frobenius norm times the number of values: no less than the square of the image of errors below 1.
    fn square(&self) -> u128 {
        let square: u128 = self.entries.iter().map(|&entry| u128::from(entry.unsigned_abs()).pow(2)).sum();
        square * (self.entries.len() / self.coordinates.max(1)) as u128
    }
}

impl Seen {
    fn new(map: &IntegerMap) -> Self {
        if let Some((_, tables)) = map.blocks() {
            let tables: Vec<Table> = tables.iter().map(Table::new).collect();
            // Tables share no coordinate, so squares of their images add up; the intercept is multiplied by 1.0.
            let one = u128::from((map.one() as i64).unsigned_abs());
            let square = tables.iter().map(Table::square).sum::<u128>() + one * one;
            return Seen { map: map.clone(), tables: Some(tables), square, row_bits: 0 };
        }
        // Entries are integers of at most 2^17.
        let entries = || map.matrix().into_iter().map(|&entry| (entry as i64).unsigned_abs());
        let row = |row: ndarray::ArrayView1<'_, f64>| row.iter().map(|&entry| (entry as i64).unsigned_abs()).sum();
        let largest: u64 = map.matrix().rows().into_iter().map(row).max().unwrap_or(0);
        let square: u128 = entries().map(|entry| u128::from(entry) * u128::from(entry)).sum();
        Seen { map: map.clone(), tables: None, square: square * map.dimension() as u128, row_bits: bits(largest) }
    }

    /// By how much `A e` is longer than zero at most, for errors `e` below 1 in each of so many blocks of coordinates.
    pub(super) fn slack(&self, blocks: usize) -> u128 {
        root_up(self.square * blocks as u128)
    }
}

impl PersonClips {
    /// Decides the clips for a clip norm in grid steps, of rows seen through a map if there is one.
    ///
    /// # Privacy
    /// Through numbers beside tables there is no proof for persons, so nobody contributes anything then; nor through tables of other columns.
    pub fn new(persons: &Persons, map: Option<&IntegerMap>, clip_steps: u64) -> Self {
        Self::weighing(persons, map, clip_steps, None)
    }

    /// [`PersonClips::new`] of persons who add the sum of the gradients of their rows over `typical_rows`, where that is given, and not
    /// their average.
    pub fn weighing(
        persons: &Persons,
        map: Option<&IntegerMap>,
        clip_steps: u64,
        typical_rows: Option<NonZeroU32>,
    ) -> Self {
        let (map, clip_steps) = match map {
            Some(map) if map.blocks().is_some_and(|(numbers, _)| numbers.nrows() > 0 || !map.fits(persons.shape())) => {
                (None, 0)
            }
            map => (map, clip_steps),
        };
        PersonClips { clip_steps, typical_rows, map: map.map(Seen::new), groups: Vec::new() }.anew(persons)
    }

    /// The largest norm of a person's contribution.
    pub fn clip_steps(&self) -> u64 {
        self.clip_steps
    }

    /// As these are, of other persons.
    pub(super) fn anew(&self, persons: &Persons) -> Self {
        let map = self.map.as_ref().map(|seen| &seen.map);
        // A row that is less than one of a person alone is not the business of the pass over rows.
        let whole = self.typical_rows.is_none_or(|typical| typical.get() == 1);
        let clip = |group: &Group| match (group.layout.each, map) {
            (_, map) if !whole => GroupClip::Joint(JointClip::new(group, map)),
            (1, None) => GroupClip::Single(Caps::new(&group.rows, self.clip_steps)),
            (1, Some(map)) => GroupClip::Single(Caps::through(map, &group.rows, self.clip_steps)),
            (_, map) => GroupClip::Joint(JointClip::new(group, map)),
        };
        self.with(persons.groups.iter().map(clip).collect())
    }

    /// These clips of other groups.
    pub(super) fn with(&self, groups: Vec<GroupClip>) -> Self {
        PersonClips { clip_steps: self.clip_steps, typical_rows: self.typical_rows, map: self.map.clone(), groups }
    }

    /// The clips of the persons at some places of a group, who are laid out anew.
    pub(super) fn of_some(&self, persons: &Persons, group: usize, places: &[u32], layout: Layout) -> GroupClip {
        let old = persons.groups[group].layout;
        match &self.groups[group] {
            GroupClip::Single(caps) => {
                let mut values = vec![0; layout.room()];
                values.iter_mut().zip(places).for_each(|(cap, &place)| *cap = caps.values[place as usize]);
                GroupClip::Single(Caps::of(values, self.clip_steps))
            }
            GroupClip::Joint(clip) => GroupClip::Joint(clip.of_some(old, places, layout)),
        }
    }

    /// Sums over features of several outputs as sums over the coordinates of the map.
    pub(super) fn image(&self, sums: &[i64], dimension: usize) -> Vec<i128> {
        match &self.map {
            None => sums.iter().map(|&sum| i128::from(sum)).collect(),
            Some(seen) => sums.chunks_exact(dimension).flat_map(|block| seen.map.image(block)).collect(),
        }
    }
}

impl Persons {
    /// [`Persons::subset`] with their clips, which stay as they were decided.
    pub(crate) fn sampled(&self, clips: &PersonClips, chosen: &[usize]) -> (Persons, PersonClips) {
        let (persons, parts) = self.parts(chosen, |group, places, layout| clips.of_some(self, group, places, layout));
        // Where there is nobody, there is nothing to clip.
        let clips = if parts.is_empty() { clips.anew(&persons) } else { clips.with(parts) };
        (persons, clips)
    }
}

impl JointClip {
    fn new(group: &Group, map: Option<&IntegerMap>) -> Self {
        let (layout, rows) = (group.layout, &group.rows);
        let dimension = rows.shape().dimension();
        let paired = layout.each <= FEW_ROWS && layout.each.pow(2) * COORDINATES_A_PAIR <= dimension.pow(2) * 2;
        let (norms, images) = match map {
            Some(map) if paired && map.blocks().is_none() => (map.norms(rows), Some(map)),
            Some(map) => (map.norms(rows), None),
            None => (rows.norms.iter().map(|&norm| u128::from(norm)).collect(), None),
        };
        let roots: Vec<u64> =
            norms.into_par_iter().map(|norm| u64::try_from(root_up(norm)).unwrap_or(u64::MAX)).collect();
        let of_block = |block: usize| {
            let own = block * layout.tiles() * LANES..(block + 1) * layout.tiles() * LANES;
            let mut most = [0u64; LANES];
            for tile in roots[own].as_chunks::<LANES>().0 {
                most.iter_mut().zip(tile).for_each(|(most, &root)| *most = root.max(*most));
            }
            for lanes in most.chunks_exact_mut(layout.lanes) {
                let largest = lanes.iter().copied().max().unwrap_or(0);
                lanes.fill(largest);
            }
            most.map(|most| bits(most) as u8)
        };
        let bits: Vec<[u8; LANES]> = (0..layout.blocks()).map(of_block).collect();
        let reach = |(place, &root): (usize, &u64)| {
            let unit = reach_unit(bits[place / LANES / layout.tiles()][place % LANES]);
            // Below 2^24, and one more for what is cut off.
            (root >> unit) as u32 + u32::from(root & ((1u64 << unit) - 1) > 0)
        };
        let reaches = roots.iter().enumerate().map(reach).collect();
        let pairs = images.map(|map| Pairs::new(map, rows, layout, &bits));
        JointClip { reaches, bits, pairs }
    }

    fn of_some(&self, old: Layout, places: &[u32], layout: Layout) -> Self {
        let mut reaches = vec![0; layout.room()];
        let mut bits = vec![[0; LANES]; layout.blocks()];
        let count = triangle(old.each);
        let mut pairs =
            self.pairs.as_ref().map(|pairs| Pairs { products: vec![[0; LANES]; layout.blocks() * count], ..*pairs });
        for (to, &from) in places.iter().enumerate() {
            let from = from as usize;
            (0..old.each).for_each(|row| reaches[layout.at(to, row)] = self.reaches[old.at(from, row)]);
            let block =
                |layout: Layout, place: usize| (place / layout.persons(), place % layout.persons() * layout.lanes);
            let ((from, old_lane), (to, lane)) = (block(old, from), block(layout, to));
            bits[to][lane..lane + layout.lanes].fill(self.bits[from][old_lane]);
            if let (Some(new), Some(pairs)) = (&mut pairs, &self.pairs) {
                let (new, old) = (&mut new.products[to * count..][..count], &pairs.products[from * count..][..count]);
                new.iter_mut().zip(old).for_each(|(new, old)| new[lane] = old[old_lane]);
            }
        }
        JointClip { reaches, bits, pairs }
    }

    /// The unit of a block's reaches as a power of two, lane by lane.
    pub(super) fn reach_units(&self, block: usize) -> [u32; LANES] {
        self.bits[block].map(reach_unit)
    }

    /// A norm no less than that of which [`JointClip::squares`] found the square: in grid steps a square could need more than 128 bits, and its
    /// root does not.
    pub(super) fn norm(&self, pairs: &Pairs, block: usize, lane: usize, square: u128) -> u128 {
        root_up(square) << self.root_units(pairs, block)[lane]
    }

    /// The unit of the roots of [`JointClip::squares`] as a power of two, lane by lane.
    pub(super) fn root_units(&self, pairs: &Pairs, block: usize) -> [u32; LANES] {
        self.bits[block].map(|bits| pair_unit(bits, pairs.most) / 2)
    }

    /// Integers no less than the squared norm of each person's `sum_i m_i A q_i`, all outputs together, in units of
    /// `4^`[`JointClip::root_units`]: below `2^62` an output, whatever the norm.
    #[inline(always)]
    pub(super) fn squares(
        &self,
        pairs: &Pairs,
        each: usize,
        block: usize,
        multipliers: &[[i16; LANES]],
    ) -> [u128; LANES] {
        let count = triangle(each);
        let products = &pairs.products[block * count..][..count];
        let mut squares = [0u128; LANES];
        for output in multipliers.chunks_exact(each) {
            let (mut once, mut twice, mut sizes) = ([0i64; LANES], [0i64; LANES], [0i64; LANES]);
            let mut products = products.iter();
            for (i, m) in output.iter().enumerate() {
                for (n, product) in output[..i].iter().zip(&mut products) {
                    add_products(&mut twice, m, n, product);
                }
                if let Some(product) = products.next() {
                    add_products(&mut once, m, m, product);
                }
                sizes.iter_mut().zip(m).for_each(|(sum, &m)| *sum += i64::from(m.unsigned_abs()));
            }
            for lane in 0..LANES {
                // Each product is off by one unit at most.
                let sum = once[lane] + 2 * twice[lane] + sizes[lane] * sizes[lane];
                squares[lane] += u128::from(sum.max(0).unsigned_abs());
            }
        }
        squares
    }
}

/// `sum + a b product`, lane by lane: `a b` fits 32 bits.
#[inline(always)]
fn add_products(sums: &mut [i64; LANES], a: &[i16; LANES], b: &[i16; LANES], products: &[i32; LANES]) {
    for lane in 0..LANES {
        sums[lane] += i64::from(i32::from(a[lane]) * i32::from(b[lane])) * i64::from(products[lane]);
    }
}

impl Pairs {
    fn new(map: &IntegerMap, rows: &Rows, layout: Layout, bits: &[[u8; LANES]]) -> Self {
        // `(each 4095)^2 2^(most + 1) < 2^62`, the square of all sizes included.
        let room = MULTIPLIER_BITS + layout.each.next_power_of_two().ilog2();
        let most = (SUM_BITS - 2 * room - 1).min(29);
        let map = RowMap::new(map, rows);
        let of_block = |block: usize| {
            let tiles = block * layout.tiles()..(block + 1) * layout.tiles();
            let images: Vec<Array2<f64>> = tiles.map(|tile| map.images(tile)).collect();
            // In units of a product; a power of two, so that dividing by it is exact.
            let unit = bits[block].map(|bits| 0.5f64.powi(pair_unit(bits, most) as i32));
            let pairs = (0..images.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
            pairs.map(|(i, j)| product(images[i].view(), images[j].view(), &unit)).collect::<Vec<_>>()
        };
        Pairs { products: (0..layout.blocks()).into_par_iter().flat_map_iter(of_block).collect(), most }
    }
}

/// Products of two images, coordinate by lane, each within one unit.
///
/// Images are integers below `2^53`, and single precision of `d` sums errs by `d 2^-53` of the product of norms, `2^(2 bits)`, at most:
/// by half a unit for `d` below `2^20`, as a unit is no less than `2^(2 bits - 29)`. Rounding adds the other half.
fn product(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>, unit: &[f64; LANES]) -> [i32; LANES] {
    let mut sums = [0f64; LANES];
    if let (Some(a), Some(b)) = (a.as_slice(), b.as_slice()) {
        vectorized(
            #[inline(always)]
            || {
                for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
                    for lane in 0..LANES {
                        sums[lane] += a[lane] * b[lane];
                    }
                }
            },
        );
    }
    let mut products = [0; LANES];
    for lane in 0..LANES {
        products[lane] = (sums[lane] * unit[lane]).round() as i32;
    }
    products
}

/// Pairs of so many rows, each with itself included.
fn triangle(each: usize) -> usize {
    each * (each + 1) / 2
}

fn reach_unit(bits: u8) -> u32 {
    u32::from(bits).saturating_sub(REACH_BITS)
}

/// Even, so that its root is a power of two, too.
fn pair_unit(bits: u8, most: u32) -> u32 {
    (2 * u32::from(bits)).saturating_sub(most).next_multiple_of(2)
}

pub(super) fn bits(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// The least integer whose square is no less.
pub(super) fn root_up(square: u128) -> u128 {
    // A float has 53 bits, so up to there it is off by one at most.
    let root = if square < 1 << 104 { (square as f64).sqrt() as u128 } else { square.isqrt() };
    let mut root = root.saturating_sub(1);
    while root.saturating_mul(root) < square {
        root += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]
        #[test]
        fn roots_are_the_least_that_are_not_less(square in any::<u128>(), shift in 0u32..128) {
            let square = square >> shift;
            let root = root_up(square);
            prop_assert!(root.saturating_mul(root) >= square);
            prop_assert!(root == 0 || (root - 1) * (root - 1) < square);
        }
    }

    #[test]
    fn squares_of_roots_are_exact() {
        for bits in 0..64 {
            for near in [-1i128, 0, 1] {
                let root = ((1u128 << bits) as i128 + near).max(0) as u128;
                assert_eq!(root_up(root * root), root);
                assert_eq!(root_up(root * root + 1), root + 1);
            }
        }
    }

    /// The square of the longest sum there is has more than 128 bits; its root must not be that of what is left of it.
    #[test]
    fn the_longest_sums_have_no_short_roots() {
        let most = 27;
        let pairs = Pairs { products: vec![[(1 << most) - 1; LANES]; triangle(32)], most };
        let clip = JointClip { reaches: vec![], bits: vec![[53; LANES]], pairs: None };
        for outputs in [1, 2, 256] {
            let squares = clip.squares(&pairs, 32, 0, &vec![[4095; LANES]; 32 * outputs]);
            let root = clip.norm(&pairs, 0, 0, squares[0]) as f64;
            let product = f64::from((1 << most) - 1) * 2f64.powi(pair_unit(53, most) as i32);
            let norm = 4095.0 * 32.0 * (product * outputs as f64).sqrt();
            assert!(root >= norm * (1.0 - 1e-12) && root <= norm * 1.001, "{outputs} outputs: {root} of {norm}");
        }
    }

    #[test]
    fn a_product_is_within_a_unit() {
        let random = &mut StdRng::seed_from_u64(1);
        for bits in [3u32, 14, 16, 30, 44, 52] {
            let unit = pair_unit(bits as u8 + 4, 29);
            let mut image =
                || Array2::from_shape_fn((40, LANES), |_| random.random_range(-1i64 << bits..=1 << bits) as f64);
            let (a, b) = (image(), image());
            let found = product(a.view(), b.view(), &[0.5f64.powi(unit as i32); LANES]);
            for lane in 0..LANES {
                let exact: i128 = (0..40).map(|j| a[(j, lane)] as i128 * b[(j, lane)] as i128).sum();
                assert!((exact - (i128::from(found[lane]) << unit)).abs() <= 1 << unit, "{bits} {lane}");
            }
        }
    }
}
