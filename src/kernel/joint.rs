//! Look-ups and sums by joint code; see [`Groups`](super::groups::Groups).

use super::groups::SLOTS;
use super::margins::Margins;
use super::rows::Rows;
use super::simd::{Column, LANES};

/// The integer coefficient of every joint code of a group.
pub(super) type Table = [i32; SLOTS];

/// Tiles after which 32-bit sums must be moved on: `2^15 * 16 * 4095 < 2^31`, each of two tables getting 16 rows a tile.
pub(super) const MAX_JOINT_TILES: usize = 1 << 15;

/// The integer coefficient of every joint code.
pub(super) fn tables(rows: &Rows, margins: &Margins) -> Vec<Table> {
    let mut tables = vec![[0; SLOTS]; rows.groups.len()];
    for (columns, table) in rows.groups.joint.iter().zip(&mut tables) {
        let mut size = 1;
        for &column in columns {
            let slots = &margins.slots()[rows.shape.slots_of(column)];
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
        self.tiles + tiles > MAX_JOINT_TILES
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
            // The other codes stand for nothing: with few categories they are most of the table.
            let codes = columns.iter().map(|&column| rows.shape.slots_of(column).len()).product::<usize>().min(SLOTS);
            let [even, odd] = tables.each_mut().map(|table| &mut table[..codes]);
            let sums: Vec<i64> = even.iter().zip(&*odd).map(|(&a, &b)| i64::from(a) + i64::from(b)).collect();
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
            even.fill(0);
            odd.fill(0);
        }
        self.tiles = 0;
    }
}
