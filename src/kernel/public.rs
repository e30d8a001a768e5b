//! Rows of which some columns are public, apart from the same rows as they are protected.

use super::{RawRow, Rows, RowsBuilder};
use crate::grid::{NO_LABEL, PublicColumns};

/// Rows twice: what of them is public, and all of them as a release sees them.
pub struct DividedRows {
    /// The public cells of every record, with nothing in the place of the private ones and of the label.
    pub public: Rows,
    /// All cells; a row without a label is a null row here, which contributes nothing.
    pub all: Rows,
}

impl DividedRows {
    /// Divides rows; of `labelled` ones a label may be [`NO_LABEL`].
    ///
    /// # Privacy
    /// The public part is a function of public cells, and of which lines are records: rows must be encoded so that no private cell decides that.
    ///
    /// ```
    /// use rhograd::grid::{NO_LABEL, PublicColumns, Shape};
    /// use rhograd::kernel::{DividedRows, RawRow, RowsBuilder};
    ///
    /// let mut builder = RowsBuilder::new(Shape::new(2, &[]));
    /// builder.push(&RawRow { numeric: vec![3, 4], codes: vec![], label: NO_LABEL, null: false });
    /// let columns = PublicColumns { numeric: vec![true, false], categorical: vec![] };
    /// let rows = DividedRows::of(builder.build(), &columns, true);
    /// assert_eq!((rows.public.len(), rows.all.len()), (1, 1));
    /// ```
    pub fn of(rows: Rows, columns: &PublicColumns, labelled: bool) -> Self {
        let empty = || RowsBuilder::with_one(rows.shape().clone(), rows.one());
        let (mut public, mut all) = (empty(), empty());
        let mut row = RawRow::empty(rows.shape());
        for index in 0..rows.len() {
            rows.read(index, &mut row);
            let known = row.null;
            row.null |= labelled && row.label == NO_LABEL;
            all.push(&row);
            (row.label, row.null) = (0, known);
            // What nothing says is public is private.
            let private = |of: &[bool], column: usize| of.get(column) != Some(&true);
            let numbers = row.numeric.iter_mut().enumerate();
            numbers.filter(|(column, _)| private(&columns.numeric, *column)).for_each(|(_, number)| *number = 0);
            let codes = row.codes.iter_mut().enumerate();
            codes.filter(|(column, _)| private(&columns.categorical, *column)).for_each(|(_, code)| *code = u16::MAX);
            public.push(&row);
        }
        DividedRows { public: public.build(), all: all.build() }
    }
}
