//! Rows by weight and offset: those of one weight and one offset stand together, so that a pass over them is a pass over ordinary rows, with the
//! offset added to the intercept, and their sum is taken so many times.

use std::collections::BTreeMap;

use super::{LANES, RawRow, Rows, RowsBuilder};
use crate::grid::{Shape, offset_of, weight_of};

/// Encoded rows by weight. No accessor hands out a row.
///
/// Rows that are no records, and those whose weight is nothing, are left out: they contribute nothing.
///
/// ```
/// use rhograd::grid::{Shape, WEIGHT_LEVELS, weight_code};
/// use rhograd::kernel::{RawRow, RowsBuilder, WeightedRows};
///
/// // A number, and the code of the weight as the last column.
/// let mut builder = RowsBuilder::new(Shape::new(1, &[WEIGHT_LEVELS]));
/// for share in [1.0, 0.25, 0.25] {
///     builder.push(&RawRow { numeric: vec![7], codes: vec![weight_code(share)], label: 1, null: false });
/// }
/// let rows = WeightedRows::gather(&builder.build(), None);
/// assert_eq!((rows.len(), rows.shape().categorical()), (3, 0));
/// ```
pub struct WeightedRows {
    /// At least one, if without rows.
    parts: Vec<Part>,
    /// The number of rows, those included that are left out.
    len: usize,
}

/// Rows of one weight and one offset.
pub(crate) struct Part {
    /// The weight, out of [`crate::grid::WEIGHT_ONE`].
    pub(crate) weight: u64,
    /// What is added to the margin of each.
    pub(crate) offset: f64,
    pub(crate) rows: Rows,
}

impl WeightedRows {
    /// Brings rows together by the code of their weight, which is their last column of categories, and takes that column off; where offsets
    /// have bounds, by the code of their offset, too, which is the column before.
    ///
    /// # Privacy
    /// The weight and the offset of a row are functions of that row alone. Those of others decide nothing but where it stands.
    pub fn gather(rows: &Rows, offsets: Option<(f64, f64)>) -> WeightedRows {
        let shape = without_last(rows.shape(), 1 + usize::from(offsets.is_some()));
        let mut parts: BTreeMap<(u64, u16), RowsBuilder> = BTreeMap::new();
        let mut row = RawRow::empty(rows.shape());
        for index in 0..rows.len() {
            if !rows.read_row(index, &mut row) {
                continue;
            }
            let weight = row.codes.pop().map_or(0, weight_of);
            let offset = if offsets.is_some() { row.codes.pop().unwrap_or(0) } else { 0 };
            if weight > 0 {
                parts.entry((weight, offset)).or_insert_with(|| RowsBuilder::new(shape.clone())).push(&row);
            }
            row.codes.resize(rows.shape().categorical(), 0);
        }
        let offset_of = |code: u16| offsets.map_or(0.0, |bounds| offset_of(code, bounds));
        let part = |((weight, code), rows): ((u64, u16), RowsBuilder)| Part {
            weight,
            offset: offset_of(code),
            rows: rows.build(),
        };
        let mut parts: Vec<Part> = parts.into_iter().map(part).collect();
        if parts.is_empty() {
            parts.push(Part { weight: 1, offset: 0.0, rows: RowsBuilder::new(shape).build() });
        }
        WeightedRows { parts, len: rows.len() }
    }

    /// Number of rows, those included that contribute nothing. Private under add-remove.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The rows of each weight and each offset that rows have.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter()
    }

    fn first(&self) -> &Rows {
        // There is one: see `gather`.
        &self.parts[0].rows
    }

    /// The columns.
    pub fn shape(&self) -> &Shape {
        self.first().shape()
    }

    /// The integer that stands for 1.0.
    pub fn one(&self) -> i16 {
        self.first().one()
    }

    /// The rows with others in the place of theirs.
    ///
    /// `recode` must make each row of its old self alone.
    pub(crate) fn recoded(self, recode: impl Fn(Rows) -> Rows) -> WeightedRows {
        let parts =
            self.parts.into_iter().map(|Part { weight, offset, rows }| Part { weight, offset, rows: recode(rows) });
        WeightedRows { parts: parts.collect(), ..self }
    }

    /// A copy of the rows, by weight.
    pub(crate) fn duplicate(&self) -> WeightedRows {
        let again = |rows: &Rows| rows.subset(&(0..rows.len()).collect::<Vec<_>>());
        let part = |part: &Part| Part { rows: again(&part.rows), ..*part };
        WeightedRows { parts: self.parts().map(part).collect(), len: self.len }
    }
}

/// The columns but for the last ones of categories.
fn without_last(shape: &Shape, last: usize) -> Shape {
    let levels: Vec<u16> =
        (0..shape.categorical().saturating_sub(last)).map(|column| shape.levels(column) as u16).collect();
    Shape::new(shape.numeric(), &levels)
}

impl Rows {
    /// Reads a row; `false` where it is no record.
    fn read_row(&self, index: usize, row: &mut RawRow) -> bool {
        let (tile, lane) = (index / LANES, index % LANES);
        if self.norms.get(index).is_none_or(|&norm| norm == 0) {
            return false;
        }
        row.numeric.iter_mut().zip(self.columns(tile)).for_each(|(q, column)| *q = column[lane]);
        let codes = self.code_tile(tile).as_chunks::<LANES>().0.iter().map(|column| column[lane]);
        row.codes.iter_mut().zip(codes).for_each(|(code, own)| *code = own);
        (row.label, row.null) = (self.labels[index], false);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{FULL_SCALE, OFFSET_LEVELS, WEIGHT_LEVELS, WEIGHT_ONE, offset_code, weight_code};

    fn row(q: i16, codes: [u16; 2], label: i16, null: bool) -> RawRow {
        RawRow { numeric: vec![q, -q], codes: codes.into(), label, null }
    }

    #[test]
    fn rows_of_one_weight_stand_together_without_the_column_of_weights() {
        let shape = Shape::new(2, &[3, WEIGHT_LEVELS]);
        let mut builder = RowsBuilder::new(shape);
        let (half, whole) = (weight_code(0.5), weight_code(1.0));
        let rows = [
            row(7, [2, whole], 1, false),
            row(FULL_SCALE, [0, half], 0, false),
            row(9, [1, half], 1, true),
            row(11, [3, half], 1, false),
            row(13, [1, WEIGHT_LEVELS], 1, false),
        ];
        rows.iter().for_each(|row| builder.push(row));
        let weighted = WeightedRows::gather(&builder.build(), None);
        assert_eq!((weighted.len(), weighted.shape().categorical()), (5, 1));
        let mut expected: Vec<(u64, RowsBuilder)> =
            [WEIGHT_ONE / 2, WEIGHT_ONE].map(|weight| (weight, RowsBuilder::new(Shape::new(2, &[3])))).into();
        for (part, q, code, label) in [(0, FULL_SCALE, 0, 0), (0, 11, 3, 1), (1, 7, 2, 1)] {
            expected[part].1.push(&RawRow { numeric: vec![q, -q], codes: vec![code], label, null: false });
        }
        let found: Vec<(u64, &Rows)> = weighted.parts().map(|part| (part.weight, &part.rows)).collect();
        assert_eq!(found.len(), 2);
        for ((weight, rows), (expected_weight, expected)) in found.into_iter().zip(expected) {
            assert!(weight == expected_weight && rows.same_as(&expected.build()));
        }
        // Of one weight, apart by their offset, whose code stands before that of the weight.
        let mut builder = RowsBuilder::new(Shape::new(2, &[3, OFFSET_LEVELS, WEIGHT_LEVELS]));
        let bounds = (-1.0, 2.0);
        for offset in [-1.0, 2.0, 0.5, 2.0, 9.0] {
            let codes = vec![1, offset_code(offset, bounds), whole];
            builder.push(&RawRow { numeric: vec![7, -7], codes, label: 1, null: false });
        }
        let apart = WeightedRows::gather(&builder.build(), Some(bounds));
        let found: Vec<(f64, usize)> = apart.parts().map(|part| (part.offset, part.rows.len())).collect();
        assert_eq!((apart.shape().categorical(), found.len()), (1, 3));
        assert!(found[0] == (-1.0, 1) && (found[1].0 - 0.5).abs() < 0.002 && found[2] == (2.0, 3), "{found:?}");
        let none = WeightedRows::gather(&RowsBuilder::new(Shape::new(2, &[3, WEIGHT_LEVELS])).build(), None);
        assert!(none.is_empty() && none.parts().count() == 1 && none.shape().categorical() == 1);
    }
}
