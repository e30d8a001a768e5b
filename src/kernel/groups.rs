//! Categorical columns joined to groups, so that a row takes one look-up a group instead of one a column.

use rayon::prelude::*;

use super::lines::Lines;
use super::simd::LANES;
use crate::grid::Shape;

/// Most slots of a group: its table and its sums stay in the first-level cache.
pub(super) const SLOTS: usize = 2048;

/// Which columns are looked up together; public, it follows from the shape.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    pub(super) joint: Vec<Vec<usize>>,
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
    pub(super) fn pack(&self, shape: &Shape, codes: &[u16]) -> Lines<u16> {
        if self.len() == 0 {
            return Lines::default();
        }
        let codes = codes.as_chunks::<LANES>().0.par_chunks_exact(shape.categorical());
        let mut packed = Lines::zeroed(self.len() * codes.len() * LANES);
        let tiles = packed.as_chunks_mut::<LANES>().0.par_chunks_exact_mut(self.len());
        tiles.zip(codes).for_each(|(out, codes)| {
            for (columns, out) in self.joint.iter().zip(out) {
                // A local array, which the compiler keeps in registers.
                let (mut joint, mut stride) = ([0u16; LANES], 1);
                for &column in columns {
                    let codes = &codes[column];
                    for lane in 0..LANES {
                        joint[lane] += stride * codes[lane];
                    }
                    // The last product is at most `SLOTS`.
                    stride *= shape.slots_of(column).len() as u16;
                }
                *out = joint;
            }
        });
        packed
    }
}
