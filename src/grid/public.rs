//! Which columns of encoded rows all may know.

use serde::{Deserialize, Serialize};

use super::{Shape, each_entry};

/// The columns of encoded rows that are public; the others are private, and so is the label.
///
/// ```
/// use rhograd::grid::{PublicColumns, Shape};
///
/// // A public number, a private one, and a private column with two values.
/// let public = PublicColumns { numeric: vec![true, false], categorical: vec![false] };
/// assert_eq!(public.coefficients(&Shape::new(2, &[2])), [true, false, false, false, true]);
/// assert_eq!((public.private_numeric(), public.count(), public.private()), (1, 2, 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublicColumns {
    /// Whether each numeric column is.
    pub numeric: Vec<bool>,
    /// Whether each categorical column is.
    pub categorical: Vec<bool>,
}

impl PublicColumns {
    /// Whether they are of these columns.
    pub fn fits(&self, shape: &Shape) -> bool {
        (self.numeric.len(), self.categorical.len()) == (shape.numeric(), shape.categorical())
    }

    /// Whether the feature of each coefficient is public, in their order; the intercept, which is last, is.
    pub fn coefficients(&self, shape: &Shape) -> Vec<bool> {
        let values = self.categorical.iter().enumerate().take(shape.categorical());
        let values = values.flat_map(|(column, &public)| std::iter::repeat_n(public, shape.levels(column)));
        self.numeric.iter().copied().chain(values).chain([true]).collect()
    }

    /// Number of private numeric columns.
    pub fn private_numeric(&self) -> usize {
        self.numeric.iter().filter(|public| !**public).count()
    }

    /// Number of public columns, the intercept counted as one.
    pub fn count(&self) -> usize {
        1 + self.all().filter(|public| **public).count()
    }

    /// Number of private columns.
    pub fn private(&self) -> usize {
        self.all().filter(|public| !**public).count()
    }

    fn all(&self) -> impl Iterator<Item = &bool> {
        self.numeric.iter().chain(&self.categorical)
    }

    /// Calls `visit(index)` for each entry of an upper triangle over coefficients, row by row, that two public features make.
    pub(crate) fn each_public_entry(&self, shape: &Shape, mut visit: impl FnMut(usize)) {
        let public = self.coefficients(shape);
        each_entry(shape.dimension(), |index, row, column| {
            if public[row] && public[column] {
                visit(index);
            }
        });
    }
}
