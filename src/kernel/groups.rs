//! Categorical columns joined to groups, so that a row takes one look-up a group instead of one a column.

use rayon::prelude::*;

use super::lines::Lines;
use super::margins::Margins;
use super::simd::Column;
use super::{LANES, Rows};
use crate::grid::Shape;

/// Most slots of a group: its table and its sums stay in the first-level cache.
const SLOTS: usize = 2048;

/// The integer coefficient of every joint code of a group.
pub(super) type Table = [i32; SLOTS];

/// Tiles after which 32-bit sums must be moved on: `2^15 * 16 * 4095 < 2^31`, each of two tables getting 16 rows a tile.
pub(super) const MOST_TILES: usize = 1 << 15;

/// Which columns are looked up together; public, it follows from the shape.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    joint: Vec<Vec<usize>>,
    /// Columns with too many values for a group.
    alone: Vec<usize>,
}

impl Groups {
    /// The widest columns first, each into the first group with room for it.
    pub(super) fn new(shape: &Shape) -> Self {
        let (mut narrow, alone): (Vec<usize>, Vec<usize>) =
            (0..shape.categorical()).partition(|&column| shape.slots_of(column).len() <= SLOTS);
        narrow.sort_by_key(|&column| std::cmp::Reverse(shape.slots_of(column).len()));
        let mut joint: Vec<(usize, Vec<usize>)> = Vec::new();
        for column in narrow {
            let slots = shape.slots_of(column).len();
            match joint.iter_mut().find(|(size, _)| size * slots <= SLOTS) {
                Some((size, columns)) => {
                    *size *= slots;
                    columns.push(column);
                }
                None => joint.push((slots, vec![column])),
            }
        }
        Groups { joint: joint.into_iter().map(|(_, columns)| columns).collect(), alone }
    }

    /// Number of groups of more than a single look-up.
    pub(super) fn len(&self) -> usize {
        self.joint.len()
    }

    /// Columns that belong to no group.
    pub(super) fn alone(&self) -> &[usize] {
        &self.alone
    }

    /// Joint codes of all rows, laid out like numeric columns: in a group the code of its first column counts ones.
    pub(super) fn pack(&self, rows: &Rows) -> Lines<u16> {
        let mut packed = Lines::zeroed(self.len() * rows.padded_len());
        if self.len() == 0 {
            return packed;
        }
        let tiles = packed.as_chunks_mut::<LANES>().0.par_chunks_exact_mut(self.len());
        tiles.enumerate().for_each(|(tile, out)| {
            let codes = rows.code_tile(tile).as_chunks::<LANES>().0;
            for (columns, out) in self.joint.iter().zip(out) {
                // A local array, which the compiler keeps in registers.
                let (mut joint, mut stride) = ([0u16; LANES], 1);
                for &column in columns {
                    let codes = &codes[column];
                    for lane in 0..LANES {
                        joint[lane] += stride * codes[lane];
                    }
                    // The last product is at most `SLOTS`.
                    stride *= rows.shape.slots_of(column).len() as u16;
                }
                *out = joint;
            }
        });
        packed
    }

    /// The integer coefficient of every joint code.
    pub(super) fn tables(&self, shape: &Shape, margins: &Margins) -> Vec<Table> {
        let mut tables = vec![[0; SLOTS]; self.len()];
        for (columns, table) in self.joint.iter().zip(&mut tables) {
            let mut size = 1;
            for &column in columns {
                let slots = &margins.slots()[shape.slots_of(column)];
                // From the last down, so that entries of the columns before are still there to be read.
                for (code, &more) in slots.iter().enumerate().rev() {
                    for index in 0..size {
                        table[code * size + index] = table[index] + more;
                    }
                }
                size *= slots.len();
            }
        }
        tables
    }
}

/// Adds the integer coefficients of all joint codes of consecutive tiles.
#[inline(always)]
pub(super) fn look_up(rows: &Rows, tables: &[Table], first: usize, sums: &mut [[i32; LANES]]) {
    for (group, table) in tables.iter().enumerate() {
        for (tile, sums) in sums.iter_mut().enumerate() {
            let codes = rows.joint_codes(first + tile, group);
            for (sum, &code) in sums.iter_mut().zip(codes) {
                *sum += table[usize::from(code) & (SLOTS - 1)];
            }
        }
    }
}

/// Sums of multipliers by joint code, in two tables a group: rows in even and in odd lanes, so that neighbours with the same
/// code do not wait for each other.
pub(super) struct JointSums {
    tables: Vec<[[i32; SLOTS]; 2]>,
    /// Tiles added since the sums were moved on.
    tiles: usize,
}

impl JointSums {
    /// No sums for `groups` groups.
    pub(super) fn new(groups: usize) -> Self {
        JointSums { tables: vec![[[0; SLOTS]; 2]; groups], tiles: 0 }
    }

    /// Whether the sums must be moved on before `tiles` more tiles.
    pub(super) fn is_full(&self, tiles: usize) -> bool {
        self.tiles + tiles > MOST_TILES
    }

    /// Adds the multipliers of consecutive tiles.
    #[inline(always)]
    pub(super) fn add(&mut self, rows: &Rows, first: usize, multipliers: &[Column]) {
        self.tiles += multipliers.len();
        for (group, [even, odd]) in self.tables.iter_mut().enumerate() {
            for (tile, m) in multipliers.iter().enumerate() {
                let codes = rows.joint_codes(first + tile, group).as_chunks::<2>().0;
                for (codes, m) in codes.iter().zip(m.as_chunks::<2>().0) {
                    even[usize::from(codes[0]) & (SLOTS - 1)] += i32::from(m[0]);
                    odd[usize::from(codes[1]) & (SLOTS - 1)] += i32::from(m[1]);
                }
            }
        }
    }

    /// Moves the sums on to those of the slots, and starts again.
    pub(super) fn settle(&mut self, rows: &Rows, slots: &mut [i64]) {
        if self.tiles == 0 {
            return;
        }
        for (columns, tables) in rows.groups.joint.iter().zip(&mut self.tables) {
            let [even, odd] = &*tables;
            let sums: Vec<i64> = even.iter().zip(odd).map(|(&a, &b)| i64::from(a) + i64::from(b)).collect();
            let mut stride = 1;
            for &column in columns {
                let slots = &mut slots[rows.shape.slots_of(column)];
                let size = stride * slots.len();
                for block in sums.chunks_exact(size) {
                    for (slot, part) in slots.iter_mut().zip(block.chunks_exact(stride)) {
                        *slot += part.iter().sum::<i64>();
                    }
                }
                stride = size;
            }
            *tables = [[0; SLOTS]; 2];
        }
        self.tiles = 0;
    }
}
