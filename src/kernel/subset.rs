//! Chosen rows.

use super::lines::Lines;
use super::{LANES, RawRow, Rows};

impl Rows {
    /// Copies of the rows with the given numbers; a null row where there is none with that number.
    pub fn subset(&self, chosen: &[usize]) -> Rows {
        let tiles = chosen.len().div_ceil(LANES);
        let (numeric, categorical) = (self.shape.numeric(), self.shape.categorical());
        let mut subset = Rows {
            shape: self.shape.clone(),
            len: chosen.len(),
            one: self.one,
            numeric: Lines::zeroed(tiles * numeric * LANES),
            codes: Lines::zeroed(tiles * categorical * LANES),
            labels: Lines::zeroed(tiles * LANES),
            norms: Lines::zeroed(tiles * LANES),
            groups: self.groups.clone(),
            packed: Lines::default(),
        };
        for (index, codes) in subset.codes.chunks_exact_mut(LANES).enumerate() {
            codes.fill(self.shape.levels(index % categorical) as u16);
        }
        let (values, codes) = (&mut *subset.numeric, &mut *subset.codes);
        let (labels, norms) = (&mut *subset.labels, &mut *subset.norms);
        let (values_here, codes_here, labels_here, norms_here) =
            (&*self.numeric, &*self.codes, &*self.labels, &*self.norms);
        for (index, &row) in chosen.iter().enumerate().filter(|&(_, &row)| row < self.len) {
            let (to, at) = (index / LANES, index % LANES);
            let (from, lane) = (row / LANES, row % LANES);
            for column in 0..numeric {
                values[(to * numeric + column) * LANES + at] = values_here[(from * numeric + column) * LANES + lane];
            }
            for column in 0..categorical {
                codes[(to * categorical + column) * LANES + at] =
                    codes_here[(from * categorical + column) * LANES + lane];
            }
            labels[index] = labels_here[row];
            norms[index] = norms_here[row];
        }
        subset.pack();
        subset
    }

    pub(super) fn read(&self, index: usize, row: &mut RawRow) {
        let (tile, lane) = (index / LANES, index % LANES);
        let numeric = self.numeric_tile(tile).chunks_exact(LANES);
        row.numeric.iter_mut().zip(numeric).for_each(|(value, column)| *value = column[lane]);
        let codes = self.code_tile(tile).chunks_exact(LANES);
        row.codes.iter_mut().zip(codes).for_each(|(code, column)| *code = column[lane]);
        row.label = self.labels[index];
        row.null = self.norms[index] == 0;
    }
}
