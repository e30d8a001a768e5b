//! Rows handed out to parts, and chosen rows.

use super::lines::Lines;
use super::{LANES, RawRow, Rows, RowsBuilder};

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

    /// Splits the rows into `parts` parts; row `i` goes to part `part_of(i)`, and to the last if there is no such part.
    ///
    /// The encoding stays as it is, so a row contributes to a sum over its part what it contributed before.
    pub fn partition(&self, parts: usize, mut part_of: impl FnMut(usize) -> usize) -> Vec<Rows> {
        let empty = || RowsBuilder::with_one(self.shape.clone(), self.one);
        let mut builders: Vec<RowsBuilder> = (0..parts).map(|_| empty()).collect();
        let mut row = RawRow::empty(&self.shape);
        for index in 0..self.len {
            self.read(index, &mut row);
            let part = part_of(index).min(parts.saturating_sub(1));
            if let Some(builder) = builders.get_mut(part) {
                builder.push(&row);
            }
        }
        builders.into_iter().map(RowsBuilder::build).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Shape;
    use crate::kernel::gram_sum;

    #[test]
    fn parts_hold_every_row_once() {
        let mut builder = RowsBuilder::new(Shape::new(2, &[3]));
        for i in 0..100i16 {
            let row = RawRow { numeric: vec![300 * i, -i], codes: vec![i as u16 % 5], label: i, null: i % 7 == 0 };
            builder.push(&row);
        }
        let rows = builder.build().recode(20_000, |_, q| q, |y| y);
        let parts = rows.partition(3, |index| if index == 50 { 9 } else { index % 2 });
        assert_eq!(parts.iter().map(Rows::len).collect::<Vec<_>>(), [49, 50, 1]);
        assert!(parts.iter().all(|part| part.one() == 20_000));
        let mut sum = vec![0; 21];
        for part in &parts {
            sum.iter_mut().zip(gram_sum(part, 1 << 40, 90)).for_each(|(total, entry)| *total += entry);
        }
        assert_eq!(sum, gram_sum(&rows, 1 << 40, 90));
        assert!(rows.partition(0, |_| 0).is_empty());
    }
}
