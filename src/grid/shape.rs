//! The columns of encoded rows.

/// The columns of a set of encoded rows; public, it follows from the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    numeric: usize,
    /// First internal slot of each categorical column; one more entry than columns.
    offsets: Vec<usize>,
}

impl Shape {
    /// `numeric` columns followed by categorical columns with the given numbers of declared values.
    ///
    /// Each categorical column has one slot more than it has values: the last one stands for "none
    /// of them", carries no coefficient and contributes nothing.
    pub fn new(numeric: usize, levels: &[u16]) -> Self {
        let mut offsets = vec![0];
        let mut next = 0;
        for &level in levels {
            next += usize::from(level) + 1;
            offsets.push(next);
        }
        Shape { numeric, offsets }
    }

    /// Number of numeric columns.
    pub fn numeric(&self) -> usize {
        self.numeric
    }

    /// Number of categorical columns.
    pub fn categorical(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of declared values of a categorical column.
    pub fn levels(&self, column: usize) -> usize {
        self.offsets[column + 1] - self.offsets[column] - 1
    }

    /// Number of coefficients: numeric columns, one per declared category value, and the intercept.
    pub fn dimension(&self) -> usize {
        self.numeric + self.slots() - self.categorical() + 1
    }

    /// The coefficient of a declared value; `None` for the code of "none of them".
    #[inline(always)]
    pub(crate) fn coefficient(&self, column: usize, code: u16) -> Option<usize> {
        let code = usize::from(code);
        (code < self.levels(column)).then(|| self.numeric + self.offsets[column] - column + code)
    }

    pub(crate) fn slots(&self) -> usize {
        self.offsets[self.categorical()]
    }

    pub(crate) fn slot(&self, column: usize) -> usize {
        self.offsets[column]
    }

    /// The slots of a column, that for "none of them" included.
    pub(crate) fn slots_of(&self, column: usize) -> std::ops::Range<usize> {
        self.offsets[column]..self.offsets[column + 1]
    }

    /// Calls `visit(coefficient, slot)` for each category coefficient with its internal slot.
    pub(crate) fn each_slot(&self, mut visit: impl FnMut(usize, usize)) {
        let mut coefficient = self.numeric;
        for column in 0..self.categorical() {
            for level in 0..self.levels(column) {
                visit(coefficient, self.offsets[column] + level);
                coefficient += 1;
            }
        }
    }
}
