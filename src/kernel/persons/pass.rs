//! The pass over persons: multipliers of all their rows, one clip for each person, exact sums.

use rayon::prelude::*;

use super::super::classes::clipped_class_sum_by;
use super::super::joint::{Table, look_up, tables};
use super::super::margins::Margins;
use super::super::simd::{Column, Level, WithWords, Words};
use super::super::slopes::{JointSlopes, Slopes};
use super::super::step::{MAX_TILES, clipped_sum_by, round_to_i32};
use super::super::totals::Totals;
use super::super::{ClassStep, LANES, Rows, Step};
use super::clips::{GroupClip, JointClip, PersonClips, Seen, root_up};
use super::{FEW_ROWS, Layout, Persons};
use crate::grid::{FULL_SCALE, MAX_MULTIPLIER};

/// Rows that are worth another thread.
const ROWS_PER_TASK: usize = 2048;

/// Bits of the largest entry of a row times the largest multiplier.
const ENTRY_BITS: u32 = (MAX_MULTIPLIER as u32 * FULL_SCALE as u32).ilog2() + 1;

/// Products of two columns that are added up in 32 bits: `8 * 2 * 4095 * 32767 < 2^31`.
const PAIRS_IN_32_BITS: usize = 8;

/// How many times larger than one row alone could be a row of many is let be, as a power of two: the others may make up for it.
const HEADROOM_BITS: u32 = 2;

/// Most bits of the factor by which a person's vector is shortened.
const FACTOR_BITS: u32 = 30;

/// Bits up to which a float holds integers, and products of matrices of them are exact.
const FLOAT_BITS: u32 = 53;

/// The sum over persons of the average gradient of their rows, each average clipped as a whole, in exact integers.
///
/// The multiplier of a row is that of [`super::super::clipped_sum`] divided by the number `k` of rows of its person, rounded, for `k`
/// above 32 to multiples of `2^-t` with `t = floor(log2 k) - 2`. Clips that weigh rows have a public number in the place of every `k`, so
/// that a person with more rows adds more, up to the clip norm. The vectors of a person's rows are added up, and where the norm of that sum `u` is
/// above the clip norm `C`, each entry becomes `u_j f`, cut toward zero, with a fraction `f <= C / |u|`. The result has one entry per
/// coordinate.
///
/// # Privacy
/// Each person contributes an integer vector of norm at most `clips.clip_steps()`, whatever floating point computed the multipliers. Without a
/// map `|u_j f|` summed in squares is at most `C^2`, and cutting toward zero only shortens. Through a map `A` the entries are cut before it: `A` moves what is cut off
/// by less than `s = |A|_F sqrt(d)`, so `f` is at most `(C - s) / r` with an integer `r >= |A u|`, found from the vector or from
/// the products of the images of the person's rows. Tables share no coordinate, so there `s^2 = sum_b |A_b|_F^2 d_b + |A_0|^2` over the tables `A_b`
/// of `d_b` values and the entry `A_0` of the intercept, and `|A u|^2` is added up exactly, table by table. All of this is in integers, and every number that decides it is a function of the
/// person's rows and of public inputs. So the sum has exactly that l2 sensitivity if a person with all rows is added or removed,
/// and twice that if one is replaced.
pub fn clipped_person_sum(
    persons: &Persons,
    clips: &PersonClips,
    step: &Step<'_>,
    slope: impl Fn(f32, f32) -> f32 + Sync,
) -> Vec<i128> {
    let margins = Margins::new(persons.first(), step.weights);
    let tables = tables(persons.first(), &margins);
    let level = Level::best();
    let slopes = Slopes::new(level, &slope);
    let wanted = ByMargin { margins: &margins, tables: &tables, label_scale: step.label_scale as f32, slopes };
    let single = |rows: &Rows, caps: &_| clipped_sum_by(level, rows, caps, step, slopes);
    sum(persons, clips, 1, step.multiplier_scale, &wanted, single)
}

/// [`clipped_person_sum`] for losses of several margins per row, one joint clip for all of them; see [`super::super::clipped_class_sum`].
///
/// # Privacy
/// As there: the vectors of all labels together are what is clipped.
pub fn clipped_person_class_sum(
    persons: &Persons,
    clips: &PersonClips,
    step: &ClassStep<'_>,
    slopes: impl Fn(&mut [[f32; LANES]], &[i16; LANES]) + Sync,
) -> Vec<i128> {
    let (outputs, rows) = (step.counted(), persons.first());
    let of_class = |class| Margins::new(rows, step.weights_of(class, rows.shape().dimension()));
    let margins: Vec<Margins> = (0..outputs).map(of_class).collect();
    let level = Level::best();
    let slopes = JointSlopes::new(level, &slopes);
    let wanted = ByClass { margins: &margins, slopes };
    let single = |rows: &Rows, caps: &_| clipped_class_sum_by(level, rows, caps, step, slopes);
    sum(persons, clips, outputs, step.multiplier_scale, &wanted, single)
}

/// What finds the multipliers of rows.
trait Wanted: Sync {
    /// Tables of joint codes are at hand, so sums may use them, too.
    const JOINT: bool;

    /// The multipliers of consecutive tiles, for each output a run of as many columns.
    fn fill<W: Words>(&self, words: W, rows: &Rows, first: usize, scale: f32, out: &mut [Column]);
}

struct ByMargin<'a> {
    margins: &'a Margins,
    tables: &'a [Table],
    label_scale: f32,
    slopes: Slopes<'a>,
}

impl Wanted for ByMargin<'_> {
    const JOINT: bool = true;

    #[inline(always)]
    fn fill<W: Words>(&self, words: W, rows: &Rows, first: usize, scale: f32, out: &mut [Column]) {
        for (chunk, out) in out.chunks_mut(MAX_TILES).enumerate() {
            let first = first + chunk * MAX_TILES;
            let mut categories = [[0i32; LANES]; MAX_TILES];
            look_up(rows, self.tables, first, &mut categories[..out.len()]);
            let mut margins = [[0f32; LANES]; MAX_TILES];
            let margins = &mut margins[..out.len()];
            for (offset, (categories, margins)) in categories.iter_mut().zip(&mut *margins).enumerate() {
                let tile = first + offset;
                self.margins.add_codes(rows, tile, rows.groups.alone().iter().copied(), categories);
                let numeric = self.margins.numeric(words, rows.columns(tile), &[]);
                *margins = self.margins.join(&numeric, categories);
            }
            let labels = &rows.labels.as_chunks::<LANES>().0[first..first + out.len()];
            self.slopes.replace(margins, labels, self.label_scale);
            for (slopes, out) in margins.iter().zip(out) {
                for lane in 0..LANES {
                    out[lane] = multiplier(slopes[lane] * scale);
                }
            }
        }
    }
}

struct ByClass<'a> {
    margins: &'a [Margins],
    slopes: JointSlopes<'a>,
}

impl Wanted for ByClass<'_> {
    const JOINT: bool = false;

    #[inline(always)]
    fn fill<W: Words>(&self, words: W, rows: &Rows, first: usize, scale: f32, out: &mut [Column]) {
        let tiles = out.len() / self.margins.len().max(1);
        let mut values = vec![[0f32; LANES]; self.margins.len()];
        for offset in 0..tiles {
            let tile = first + offset;
            for (values, margins) in values.iter_mut().zip(self.margins) {
                let mut categories = [0; LANES];
                margins.add_codes(rows, tile, 0..rows.shape.categorical(), &mut categories);
                *values = margins.join(&margins.numeric(words, rows.columns(tile), &[]), &categories);
            }
            self.slopes.replace(&mut values, &rows.labels.as_chunks::<LANES>().0[tile]);
            for (class, values) in values.iter().enumerate() {
                let out = &mut out[class * tiles + offset];
                for lane in 0..LANES {
                    out[lane] = multiplier(values[lane] * scale);
                }
            }
        }
    }
}

/// The nearest integer that a multiplier may be.
#[inline(always)]
fn multiplier(wanted: f32) -> i16 {
    let most = i32::from(MAX_MULTIPLIER);
    round_to_i32(wanted).min(most).max(-most) as i16
}

/// What was added up so far: persons within the clip norm by their multipliers, the others as they were shortened.
struct Sums {
    within: Vec<Totals>,
    shortened: Vec<i64>,
}

/// Adds up all persons, each clipped as a whole; `single` does those of one row.
fn sum(
    persons: &Persons,
    clips: &PersonClips,
    outputs: usize,
    scale: f64,
    wanted: &impl Wanted,
    single: impl Fn(&Rows, &super::super::Caps) -> Vec<i64>,
) -> Vec<i128> {
    let rows = persons.first();
    let dimension = rows.shape().dimension();
    let mut total = vec![0i64; outputs * dimension];
    let mut joint = Vec::new();
    for (group, clip) in persons.groups.iter().zip(&clips.groups) {
        match clip {
            GroupClip::Single(caps) => {
                total.iter_mut().zip(single(&group.rows, caps)).for_each(|(total, sum)| *total += sum);
            }
            GroupClip::Joint(_) if group.layout.each == 0 => {}
            GroupClip::Joint(clip) => joint.push(Joint::new(&group.rows, group.layout, clip, clips, outputs, scale)),
        }
    }
    if !joint.is_empty() {
        let new = || Sums {
            within: (0..outputs)
                .map(|_| Totals::new(rows, if joint_codes(wanted) { rows.groups.len() } else { 0 }))
                .collect(),
            shortened: vec![0; outputs * dimension],
        };
        let merge = |a: Sums, b: Sums| Sums {
            within: a.within.into_iter().zip(b.within).map(|(a, b)| a.merge(b, rows)).collect(),
            shortened: a.shortened.iter().zip(&b.shortened).map(|(x, y)| x + y).collect(),
        };
        let run = |mut sums: Sums, (joint, first): &(&Joint<'_>, usize)| {
            let blocks = *first..(first + joint.per_task()).min(joint.layout.blocks());
            Level::best().run(Task { joint, blocks, wanted, sums: &mut sums });
            sums
        };
        let tasks: Vec<(&Joint<'_>, usize)> = joint
            .iter()
            .flat_map(|joint| (0..joint.layout.blocks()).step_by(joint.per_task()).map(move |first| (joint, first)))
            .collect();
        let sums = tasks.par_iter().fold(new, run).reduce(new, merge);
        let within = sums.within.into_iter().flat_map(|total| total.coefficients(rows));
        total.iter_mut().zip(within.zip(sums.shortened)).for_each(|(total, (x, y))| *total += x + y);
    }
    clips.image(&total, dimension)
}

fn is_of_tables(clips: &PersonClips) -> bool {
    clips.map.as_ref().is_some_and(|seen| seen.tables.is_some())
}

fn joint_codes<M: Wanted>(_: &M) -> bool {
    M::JOINT
}

/// Persons of several rows under one clip norm.
struct Joint<'a> {
    rows: &'a Rows,
    layout: Layout,
    clip: &'a JointClip,
    clips: &'a PersonClips,
    outputs: usize,
    /// Multipliers are in units of `2^-finer`.
    finer: u32,
    scale: f32,
    /// The clip norm less what cutting off may add through the map.
    target: u128,
    /// Bits of factors: with as many a vector stays what it is.
    factor_bits: u32,
    /// What cutting a vector to whole numbers adds to the norm of its image at most.
    slack: u128,
    /// Bits that are left out of a vector before it is multiplied by the map.
    coarser: u32,
    /// The coefficient of each category slot; for "none of them" one behind the last.
    coefficients: Vec<u32>,
}

impl<'a> Joint<'a> {
    fn new(
        rows: &'a Rows,
        layout: Layout,
        clip: &'a JointClip,
        clips: &'a PersonClips,
        outputs: usize,
        scale: f64,
    ) -> Self {
        let divisor = clips.typical_rows.map_or(layout.each, |typical| typical.get() as usize);
        let finer = if divisor <= FEW_ROWS { 0 } else { divisor.ilog2() - HEADROOM_BITS };
        let each_bits = layout.each.next_power_of_two().ilog2();
        let slack = clips.map.as_ref().map_or(0, |seen| seen.slack(outputs));
        let target = u128::from(clips.clip_steps).saturating_sub(slack);
        // A vector times a factor fits 63 bits.
        let room = 63u32.saturating_sub(ENTRY_BITS + each_bits);
        // An image is a sum of entries of the map times those of a vector.
        let image_bits = clips.map.as_ref().map_or(0, |seen| seen.row_bits + ENTRY_BITS + each_bits);
        let mut coefficients = vec![rows.shape.dimension() as u32; rows.shape.slots()];
        rows.shape.each_slot(|coefficient, slot| coefficients[slot] = coefficient as u32);
        Joint {
            rows,
            layout,
            clip,
            clips,
            outputs,
            finer,
            scale: (scale * f64::from(1u32 << finer) / divisor as f64) as f32,
            target,
            factor_bits: FACTOR_BITS.min(room),
            slack,
            coarser: image_bits.saturating_sub(FLOAT_BITS).max(if clips.map.is_some() { finer } else { 0 }),
            coefficients,
        }
    }

    /// Blocks that are worth a task.
    fn per_task(&self) -> usize {
        (ROWS_PER_TASK / (self.layout.tiles() * LANES).max(1)).max(1)
    }

    /// Sums over the lanes of each person, in the first of them.
    #[inline(always)]
    fn gather_lanes<T: Copy + Default + std::ops::AddAssign>(&self, lanes: &mut [T; LANES]) {
        if self.layout.lanes > 1 {
            for own in lanes.chunks_exact_mut(self.layout.lanes) {
                let mut sum = T::default();
                own.iter().for_each(|&x| sum += x);
                own.fill(T::default());
                own[0] = sum;
            }
        }
    }

    /// The factor of a person whose vector, or its image, has at most a norm of `norm / 2^finer`; out of `2^factor_bits`.
    fn factor(&self, norm: u128) -> u64 {
        let whole = 1u64 << self.factor_bits;
        // Nothing is cut off vectors that stay as they are, unless they are finer than the grid.
        let stays = if self.finer == 0 { u128::from(self.clips.clip_steps) } else { self.target };
        match (stays << self.finer).checked_sub(norm) {
            Some(_) => whole,
            None => ((self.target << self.finer << self.factor_bits) / norm) as u64,
        }
    }

    #[inline(always)]
    fn block<W: Words>(&self, words: W, block: usize, wanted: &impl Wanted, scratch: &mut Scratch, sums: &mut Sums) {
        let (rows, tiles) = (self.rows, self.layout.tiles());
        let first = block * tiles;
        let multipliers = &mut scratch.multipliers;
        wanted.fill(words, rows, first, self.scale, multipliers);
        // By the triangle inequality; most persons are within the clip norm by it.
        let mut most = [0u64; LANES];
        let reaches = &self.clip.reaches[first * LANES..][..tiles * LANES];
        for (row, reaches) in reaches.as_chunks::<LANES>().0.iter().enumerate() {
            for output in multipliers.chunks_exact_mut(tiles) {
                let m = &mut output[row];
                for lane in 0..LANES {
                    // Nobody's row, beside those of a person or at the end of the last block.
                    m[lane] &= -i16::from(reaches[lane] > 0);
                    most[lane] += u64::from(m[lane].unsigned_abs()) * u64::from(reaches[lane]);
                }
            }
        }
        self.gather_lanes(&mut most);
        let units = self.clip.reach_units(block);
        let stays = if self.finer == 0 { u128::from(self.clips.clip_steps) } else { self.target };
        let within = |lane: usize| u128::from(most[lane]) << units[lane] <= stays << self.finer;
        let mut settled = [true; LANES];
        (0..LANES).for_each(|lane| settled[lane] = within(lane));
        let mut factors = [1u64 << self.factor_bits; LANES];
        let mut all = settled.iter().all(|&settled| settled);
        let mut there = false;
        let tables = self.clips.map.as_ref().and_then(|seen| seen.tables.as_deref());
        if !all {
            let squares = match (&self.clip.pairs, &self.clips.map) {
                (_, Some(seen)) if tables.is_some() => {
                    for lane in (0..LANES).filter(|&lane| !settled[lane]) {
                        let norm = self.norm_through(seen, first, lane, multipliers);
                        // What is too long to be counted is nothing.
                        factors[lane] = norm.map_or(0, |norm| self.factor(norm));
                    }
                    [0; LANES]
                }
                (Some(pairs), _) => self.clip.squares(pairs, self.layout.each, block, multipliers),
                (None, map) => {
                    let mut squares = [0; LANES];
                    for output in multipliers.chunks_exact(tiles) {
                        self.vector(words, first, output, &mut scratch.vector);
                        match map {
                            None => add_squares(&scratch.vector[..rows.shape.dimension()], &mut squares),
                            Some(_) => self.add_image(&scratch.vector, &mut squares),
                        }
                    }
                    there = self.outputs == 1;
                    squares
                }
            };
            for lane in (0..LANES).filter(|&lane| !settled[lane] && tables.is_none()) {
                let root = || root_up(squares[lane]);
                let norm = match (&self.clip.pairs, &self.clips.map) {
                    (Some(pairs), _) => self.clip.norm(pairs, block, lane, squares[lane]),
                    (None, Some(_)) if self.coarser > 0 => (root() + self.slack) << self.coarser,
                    (None, _) => root(),
                };
                factors[lane] = self.factor(norm);
            }
            all = factors.iter().all(|&factor| factor == 1 << self.factor_bits);
        }
        if all && self.finer == 0 {
            let alone: &[usize] = if joint_codes(wanted) { rows.groups.alone() } else { &scratch.columns };
            for (totals, multipliers) in sums.within.iter_mut().zip(scratch.multipliers.chunks_exact(tiles)) {
                totals.add_codes(rows, first, multipliers, alone);
                totals.add_numeric(words, rows.columns_of(first..first + tiles), multipliers, &[]);
            }
            return;
        }
        let dimension = rows.shape.dimension();
        if tables.is_some() {
            let outputs = scratch.multipliers.chunks_exact(tiles).zip(sums.shortened.chunks_exact_mut(dimension));
            return outputs.for_each(|(output, shortened)| self.add_shortened(first, output, &factors, shortened));
        }
        let outputs = scratch.multipliers.chunks_exact(tiles).zip(sums.shortened.chunks_exact_mut(dimension));
        for (output, shortened) in outputs {
            if !there {
                self.vector(words, first, output, &mut scratch.vector);
            }
            add_scaled(&scratch.vector[..dimension], &factors, self.factor_bits + self.finer, shortened);
        }
    }

    /// The rows of the person who begins at a lane, of those that count: tile, lane and multiplier.
    fn rows_of<'b>(&'b self, lane: usize, multipliers: &'b [Column]) -> impl Iterator<Item = (usize, usize, i64)> + 'b {
        let own = lane..lane + self.layout.lanes;
        let of_tile = move |(tile, m): (usize, &'b Column)| {
            own.clone().map(move |lane| (tile, lane, i64::from(m[lane]))).filter(|&(.., m)| m != 0)
        };
        multipliers.iter().enumerate().flat_map(of_tile)
    }

    /// An integer no less than the norm of the image of the vector `u` of the person who begins at a lane, all outputs together; `None` where it is
    /// too long to be counted.
    ///
    /// The image is `u_0` times a sum of entries of tables, with `u_0` the integer that stands for 1.0. A sum has at most `2^32` rows, so
    /// it is below `2^(32 + 12 + 17)`.
    fn norm_through(&self, seen: &Seen, first: usize, lane: usize, multipliers: &[Column]) -> Option<u128> {
        let mut square = 0u128;
        let mut add = |entry: i64| {
            let size = u128::from(entry.unsigned_abs());
            square.checked_add(size * size).map(|more| square = more)
        };
        let mut image: Vec<i64> = Vec::new();
        for output in multipliers.chunks_exact(self.layout.tiles()) {
            for (column, table) in seen.tables.iter().flatten().enumerate() {
                image.clear();
                image.resize(table.coordinates, 0);
                for (tile, lane, m) in self.rows_of(lane, output) {
                    let row = table.row(self.rows.code_tile(first + tile)[column * LANES + lane]);
                    image.iter_mut().zip(row).for_each(|(sum, &entry)| *sum += m * i64::from(entry));
                }
                image.iter().try_for_each(|&entry| add(entry))?;
            }
            let all: i64 = self.rows_of(lane, output).map(|(.., m)| m).sum();
            add(all * seen.map.one() as i64)?;
        }
        root_up(square).checked_mul(u128::from(self.rows.one.unsigned_abs()))
    }

    /// Adds the vectors of all persons of a block for one output, times their factors and cut toward zero; numbers have no coordinates.
    fn add_shortened(&self, first: usize, multipliers: &[Column], factors: &[u64; LANES], out: &mut [i64]) {
        let (rows, bits) = (self.rows, self.factor_bits + self.finer);
        let mut values: Vec<(u32, i64)> = Vec::new();
        for lane in (0..LANES).step_by(self.layout.lanes) {
            let mut add = |coefficient: u32, sum: i64| {
                if let Some(out) = out.get_mut(coefficient as usize) {
                    let entry = sum * i64::from(rows.one);
                    let size = ((entry.unsigned_abs() * factors[lane]) >> bits) as i64;
                    *out += if entry < 0 { -size } else { size };
                }
            };
            for column in 0..rows.shape.categorical() {
                let coefficients = &self.coefficients[rows.shape.slot(column)..];
                values.clear();
                values.extend(self.rows_of(lane, multipliers).map(|(tile, lane, m)| {
                    let code = rows.code_tile(first + tile)[column * LANES + lane];
                    (coefficients[usize::from(code)], m)
                }));
                // Rows of one value are one entry of the vector.
                values.sort_unstable_by_key(|&(coefficient, _)| coefficient);
                for own in values.chunk_by(|a, b| a.0 == b.0) {
                    add(own[0].0, own.iter().map(|&(_, m)| m).sum());
                }
            }
            add(rows.shape.dimension() as u32 - 1, self.rows_of(lane, multipliers).map(|(.., m)| m).sum());
        }
    }

    /// The sum of the vectors of each person's rows for one output, an entry a coefficient, in grid steps over `2^finer`.
    #[inline(always)]
    fn vector<W: Words>(&self, words: W, first: usize, multipliers: &[Column], out: &mut [[i64; LANES]]) {
        let rows = self.rows;
        out.iter_mut().for_each(|entry| *entry = [0; LANES]);
        let width = rows.shape.numeric();
        for (chunk, m) in multipliers.chunks(2 * PAIRS_IN_32_BITS).enumerate() {
            let tile = first + chunk * 2 * PAIRS_IN_32_BITS;
            add_lanes(words, rows.columns_of(tile..tile + m.len()), m, &mut out[..width]);
        }
        let (one, last) = (i64::from(rows.one), rows.shape.dimension() - 1);
        for (offset, m) in multipliers.iter().enumerate() {
            let codes = rows.code_tile(first + offset).as_chunks::<LANES>().0;
            for (column, codes) in codes.iter().enumerate() {
                let coefficients = &self.coefficients[rows.shape.slot(column)..];
                for lane in 0..LANES {
                    out[coefficients[usize::from(codes[lane])] as usize][lane] += i64::from(m[lane]);
                }
            }
            out[last].iter_mut().zip(m).for_each(|(sum, &m)| *sum += i64::from(m));
        }
        for entry in &mut out[width..=last] {
            entry.iter_mut().for_each(|sum| *sum *= one);
        }
        if self.layout.lanes > 1 {
            out.iter_mut().for_each(|entry| self.gather_lanes(entry));
        }
    }

    /// Adds the squared norms of the images of vectors that are cut to units of `2^coarser`.
    #[inline(always)]
    fn add_image(&self, vector: &[[i64; LANES]], squares: &mut [u128; LANES]) {
        let Some(seen) = &self.clips.map else { return };
        let dimension = seen.map.dimension();
        let cut: Vec<f64> = vector[..dimension].iter().flatten().map(|&x| (x >> self.coarser) as f64).collect();
        // Sums of absolute values are integers below 2^53, so the order of operations cannot matter.
        let Ok(cut) = ndarray::ArrayView2::from_shape((dimension, LANES), &cut) else {
            // There are as many.
            return squares.fill(u128::MAX >> 32);
        };
        let image = seen.map.matrix().dot(&cut);
        let image: Vec<[i64; LANES]> =
            image.rows().into_iter().map(|row| std::array::from_fn(|lane| row[lane] as i64)).collect();
        add_squares(&image, squares);
    }
}

/// What a task works in.
struct Scratch {
    multipliers: Vec<Column>,
    /// One entry more than coefficients, for categories that have none.
    vector: Vec<[i64; LANES]>,
    columns: Vec<usize>,
}

/// A run of blocks, compiled once per instruction set and chosen at run time.
struct Task<'a, M> {
    joint: &'a Joint<'a>,
    blocks: std::ops::Range<usize>,
    wanted: &'a M,
    sums: &'a mut Sums,
}

impl<M: Wanted> WithWords for Task<'_, M> {
    type Output = ();

    #[inline(always)]
    fn run<W: Words>(self, words: W) {
        let Task { joint, blocks, wanted, sums } = self;
        let shape = &joint.rows.shape;
        let mut scratch = Scratch {
            multipliers: vec![[0; LANES]; joint.outputs * joint.layout.tiles()],
            // Through tables nobody's vector is written out: a row has one entry of many.
            vector: vec![[0; LANES]; if is_of_tables(joint.clips) { 0 } else { shape.dimension() + 1 }],
            columns: (0..shape.categorical()).collect(),
        };
        for block in blocks {
            joint.block(words, block, wanted, &mut scratch, sums);
        }
    }
}

/// Adds multipliers times numeric columns of at most sixteen consecutive tiles, each lane for itself.
#[inline(always)]
fn add_lanes<W: Words>(words: W, columns: &[Column], multipliers: &[Column], out: &mut [[i64; LANES]]) {
    let width = out.len();
    const NONE: &Column = &[0; LANES];
    for part in 0..W::PARTS {
        let mut pairs = [[words.zero(); 2]; PAIRS_IN_32_BITS];
        for (pair, m) in pairs.iter_mut().zip(multipliers.chunks(2)) {
            *pair = words.pairs(words.load(&m[0], part), words.load(m.get(1).unwrap_or(NONE), part));
        }
        for (column, out) in out.iter_mut().enumerate() {
            let mut sum = [words.zero(); 2];
            for (pair, tiles) in pairs.iter().zip(columns.chunks(2 * width)) {
                let both = words.pairs(
                    words.load(&tiles[column], part),
                    words.load(tiles.get(width + column).unwrap_or(NONE), part),
                );
                sum[0] = words.add_products(sum[0], both[0], pair[0]);
                sum[1] = words.add_products(sum[1], both[1], pair[1]);
            }
            let mut lanes = [0i32; LANES];
            words.rows(sum, &mut lanes, part);
            let own = part * (LANES / W::PARTS)..(part + 1) * (LANES / W::PARTS);
            out[own.clone()].iter_mut().zip(&lanes[own]).for_each(|(sum, &more)| *sum += i64::from(more));
        }
    }
}

/// Adds the squared norms of vectors whose entries are below `2^53`, lane by lane.
#[inline(always)]
fn add_squares(vector: &[[i64; LANES]], squares: &mut [u128; LANES]) {
    const HALF: u32 = 26;
    // Of 27 bits each square has 54, so 256 of them fit 62.
    for entries in vector.chunks(256) {
        let (mut high, mut mixed, mut low) = ([0u64; LANES], [0u64; LANES], [0u64; LANES]);
        for entry in entries {
            for lane in 0..LANES {
                let size = entry[lane].unsigned_abs();
                let (h, l) = (u64::from((size >> HALF) as u32), u64::from(size as u32 & ((1 << HALF) - 1)));
                high[lane] += h * h;
                mixed[lane] += h * l;
                low[lane] += l * l;
            }
        }
        for lane in 0..LANES {
            squares[lane] += (u128::from(high[lane]) << (2 * HALF))
                + (u128::from(mixed[lane]) << (HALF + 1))
                + u128::from(low[lane]);
        }
    }
}

/// Adds vectors times their factors, out of `2^bits`, each entry cut toward zero.
#[inline(always)]
fn add_scaled(vector: &[[i64; LANES]], factors: &[u64; LANES], bits: u32, out: &mut [i64]) {
    for (entry, out) in vector.iter().zip(out) {
        let mut sum = 0i64;
        for lane in 0..LANES {
            let size = ((entry[lane].unsigned_abs() * factors[lane]) >> bits) as i64;
            sum += if entry[lane] < 0 { -size } else { size };
        }
        *out += sum;
    }
}
