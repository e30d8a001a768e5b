//! Integer linear maps of encoded rows: the rows stay as they are, norms and sums are seen through the map.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Slice};
use serde::{Deserialize, Serialize};

use super::Shape;
use crate::error::{Error, Fallible};

/// Largest entry of a map: with it, and at most [`MAX_ROWS`] coordinates, the image of a row is exact in `f64`.
const MAX_ENTRY: f64 = 131_072.0;

/// Most coordinates: `2^14 * 2^17 * 2^15 < 2^53`.
const MAX_ROWS: usize = 1 << 14;

/// Most coordinates of tables: more than any run makes.
const MAX_COORDINATES: usize = 1 << 22;

/// With it the intercept of tables is an entry like the others, `2^s <= 2^17`.
const MAX_LOG2_UNIT: u32 = 17;

/// An integer matrix `A` that stands for the real matrix `A / 2^s`: a square one, or a block of numbers beside tables of categories.
///
/// A clipped sum seen through it, `sum_i m_i A q_i = A sum_i m_i q_i`, needs the map only once per pass;
/// the clip needs the exact norms `|A q_i|^2`, which are found once per run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct IntegerMap {
    /// Integers held exactly.
    entries: Entries,
    log2_unit: u32,
}

/// The integers of a map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Entries {
    /// A square matrix; one row per output coordinate.
    Square(Array2<f64>),
    /// Coordinates that no two blocks share, one block after the other; the last one is the intercept's.
    Blocks {
        /// Of all numeric columns: a row for each coordinate, an entry for each column and, last, for the intercept.
        numbers: Array2<f64>,
        /// For each categorical column a table with a row for each declared value.
        tables: Vec<Array2<f64>>,
    },
}

impl Entries {
    fn all(&self) -> Box<dyn Iterator<Item = f64> + '_> {
        match self {
            Entries::Square(matrix) => Box::new(matrix.iter().copied()),
            Entries::Blocks { numbers, tables } => Box::new(numbers.iter().chain(tables.iter().flatten()).copied()),
        }
    }

    /// Whether it is of a form that products are exact for.
    fn is_moderate(&self) -> bool {
        match self {
            Entries::Square(matrix) => matrix.is_square() && matrix.nrows() <= MAX_ROWS,
            Entries::Blocks { numbers, tables } => {
                let add = |sum: usize, table: &Array2<f64>| sum.checked_add(table.ncols());
                (1..=MAX_ROWS).contains(&numbers.ncols())
                    && numbers.nrows() <= MAX_ROWS
                    && tables.iter().all(|table| table.nrows() <= usize::from(u16::MAX))
                    && tables.iter().try_fold(1usize, add).is_some_and(|all| all <= MAX_COORDINATES)
            }
        }
    }

    fn mapped(self, f: impl Fn(f64) -> f64) -> Self {
        match self {
            Entries::Square(matrix) => Entries::Square(matrix.mapv_into(f)),
            Entries::Blocks { numbers, tables } => Entries::Blocks {
                numbers: numbers.mapv_into(&f),
                tables: tables.into_iter().map(|table| table.mapv_into(&f)).collect(),
            },
        }
    }
}

/// A map that came from elsewhere; what it may be is checked before it is one.
#[derive(Deserialize)]
struct Parts {
    entries: Entries,
    log2_unit: u32,
}

impl TryFrom<Parts> for IntegerMap {
    type Error = Error;

    fn try_from(parts: Parts) -> Fallible<Self> {
        let Parts { entries, log2_unit } = parts;
        let small = entries.all().all(|entry| entry.fract() == 0.0 && entry.abs() <= MAX_ENTRY);
        if !entries.is_moderate() || !small || log2_unit > MAX_LOG2_UNIT {
            return Err(Error::numerical("linear map", "is not made of moderate integers"));
        }
        Ok(IntegerMap { entries, log2_unit })
    }
}

impl IntegerMap {
    /// Rounds a square matrix to multiples of the finest `2^-s` with `s <= finest` that keeps entries small.
    ///
    /// # Errors
    /// When the matrix is not square, too large, or has an entry that is not a number.
    pub fn nearest(real: &Array2<f64>, finest: u32) -> Fallible<Self> {
        Self::rounded(Entries::Square(real.clone()), finest)
    }

    /// Rounds tables, one for each categorical column with a row for each declared value, to multiples of the finest `2^-s` with
    /// `s <= finest` that keeps entries small.
    ///
    /// The map takes a row of categories alone to the rows of the tables at its values, one after the other, and a 1 for the intercept.
    ///
    /// # Errors
    /// When there are too many tables, or an entry is not a number.
    pub fn of_tables(tables: Vec<Array2<f64>>, finest: u32) -> Fallible<Self> {
        Self::of_blocks(Array2::zeros((0, 1)), tables, finest)
    }

    /// Rounds a block of numeric columns and tables of categorical ones to multiples of the finest `2^-s` with `s <= finest` that keeps
    /// entries small.
    ///
    /// `numbers` has a row for each of its coordinates, with an entry for each numeric column and, last, for the intercept. The map takes a
    /// row to these coordinates, then to the rows of the tables at its values, one after the other, and a 1 for the intercept.
    ///
    /// # Errors
    /// When there are too many columns or tables, or an entry is not a number.
    pub fn of_blocks(numbers: Array2<f64>, tables: Vec<Array2<f64>>, finest: u32) -> Fallible<Self> {
        Self::rounded(Entries::Blocks { numbers, tables }, finest)
    }

    fn rounded(real: Entries, finest: u32) -> Fallible<Self> {
        let largest =
            real.all().fold(0.0f64, |most, entry| if entry.is_nan() { f64::NAN } else { most.max(entry.abs()) });
        if !real.is_moderate() || !largest.is_finite() || largest > MAX_ENTRY {
            return Err(Error::numerical("linear map", "is not made of moderate numbers"));
        }
        let mut log2_unit = finest.min(MAX_LOG2_UNIT);
        while log2_unit > 0 && largest * 2f64.powi(log2_unit as i32) > MAX_ENTRY {
            log2_unit -= 1;
        }
        let scale = 2f64.powi(log2_unit as i32);
        Ok(IntegerMap { entries: real.mapped(|entry| (entry * scale).round()), log2_unit })
    }

    /// Number of coordinates that it maps to.
    pub fn dimension(&self) -> usize {
        match &self.entries {
            Entries::Square(matrix) => matrix.nrows(),
            Entries::Blocks { numbers, tables } => {
                numbers.nrows() + tables.iter().map(Array2::ncols).sum::<usize>() + 1
            }
        }
    }

    /// Number of features that it maps from.
    pub fn features(&self) -> usize {
        match &self.entries {
            Entries::Square(matrix) => matrix.ncols(),
            Entries::Blocks { numbers, tables } => tables.iter().map(Array2::nrows).sum::<usize>() + numbers.ncols(),
        }
    }

    /// Whether rows of these columns are rows that it maps: a matrix has an entry for each feature, blocks have one for each numeric column
    /// and a row for each declared value.
    pub fn fits(&self, shape: &Shape) -> bool {
        match &self.entries {
            Entries::Square(matrix) => matrix.ncols() == shape.dimension(),
            Entries::Blocks { numbers, tables } => {
                let levels = |(column, table): (usize, &Array2<f64>)| table.nrows() == shape.levels(column);
                numbers.ncols() == shape.numeric() + 1
                    && tables.len() == shape.categorical()
                    && tables.iter().enumerate().all(levels)
            }
        }
    }

    /// The integer that stands for 1.0, `2^s`.
    pub fn one(&self) -> f64 {
        2f64.powi(self.log2_unit as i32)
    }

    /// `A v / 2^s`; `v` has one entry per feature, the result one per coordinate.
    pub fn apply(&self, v: &Array1<f64>) -> Array1<f64> {
        match &self.entries {
            Entries::Square(matrix) => matrix.dot(v) / self.one(),
            Entries::Blocks { numbers, tables } => {
                let mut at = numbers.ncols() - 1;
                let (inner, constant) = split(numbers);
                let intercept = v.last().copied().unwrap_or(0.0);
                let mut image = Vec::with_capacity(self.dimension());
                image.extend((inner.dot(&part(v, 0, at)) + &constant * intercept) / self.one());
                for table in tables {
                    image.extend(part(v, at, table.nrows()).dot(table) / self.one());
                    at += table.nrows();
                }
                image.push(intercept);
                image.into()
            }
        }
    }

    /// `A^T v / 2^s`; `v` has one entry per coordinate, the result one per feature.
    pub fn transposed(&self, v: &Array1<f64>) -> Array1<f64> {
        match &self.entries {
            Entries::Square(matrix) => matrix.t().dot(v) / self.one(),
            Entries::Blocks { numbers, tables } => {
                let mut at = numbers.nrows();
                let (inner, constant) = split(numbers);
                let own = part(v, 0, at);
                let mut features = Vec::with_capacity(self.features());
                features.extend(inner.t().dot(&own) / self.one());
                for table in tables {
                    features.extend(table.dot(&part(v, at, table.ncols())) / self.one());
                    at += table.ncols();
                }
                features.push(v.last().copied().unwrap_or(0.0) + constant.dot(&own) / self.one());
                features.into()
            }
        }
    }

    /// `A v` in exact integers.
    pub fn image(&self, v: &[i64]) -> Vec<i128> {
        let times = |entry: f64, x: i64| i128::from(entry as i64) * i128::from(x);
        match &self.entries {
            Entries::Square(matrix) => {
                let product = |row: ArrayView1<'_, f64>| row.iter().zip(v).map(|(&entry, &x)| times(entry, x)).sum();
                matrix.rows().into_iter().map(product).collect()
            }
            Entries::Blocks { numbers, tables } => {
                let intercept = v.last().copied().unwrap_or(0);
                let (own, mut rest) = v.split_at((numbers.ncols() - 1).min(v.len()));
                let mut image = Vec::with_capacity(self.dimension());
                for row in numbers.rows() {
                    let constant = times(row[own.len()], intercept);
                    image.push(row.iter().zip(own).map(|(&entry, &x)| times(entry, x)).sum::<i128>() + constant);
                }
                for table in tables {
                    let (own, others) = rest.split_at(table.nrows().min(rest.len()));
                    let mut sums = vec![0i128; table.ncols()];
                    // Most values of a sample have a sum of zero.
                    for (row, &x) in table.rows().into_iter().zip(own).filter(|(_, x)| **x != 0) {
                        sums.iter_mut().zip(row).for_each(|(sum, &entry)| *sum += times(entry, x));
                    }
                    image.extend(sums);
                    rest = others;
                }
                image.push(times(self.one(), intercept));
                image
            }
        }
    }

    /// The entries of a square matrix; none of blocks.
    pub(crate) fn matrix(&self) -> ArrayView2<'_, f64> {
        match &self.entries {
            Entries::Square(matrix) => matrix.view(),
            Entries::Blocks { .. } => ArrayView2::from(&[] as &[[f64; 1]]),
        }
    }

    /// The block of numeric columns and the tables, if it is made of such.
    pub(crate) fn blocks(&self) -> Option<(&Array2<f64>, &[Array2<f64>])> {
        match &self.entries {
            Entries::Square(_) => None,
            Entries::Blocks { numbers, tables } => Some((numbers, tables)),
        }
    }
}

/// The part of a block that numeric columns have, and that of the intercept.
fn split(numbers: &Array2<f64>) -> (ArrayView2<'_, f64>, ArrayView1<'_, f64>) {
    let columns = numbers.ncols() - 1;
    (numbers.slice_axis(Axis(1), Slice::from(..columns)), numbers.column(columns))
}

/// `len` entries of a vector from `at` on.
fn part(v: &Array1<f64>, at: usize, len: usize) -> ArrayView1<'_, f64> {
    v.slice_axis(Axis(0), Slice::from(at..at + len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn unusable_matrices_are_refused() {
        assert!(IntegerMap::nearest(&array![[f64::NAN]], 4).is_err());
        assert!(IntegerMap::nearest(&array![[1.0, 2.0]], 4).is_err());
        assert!(IntegerMap::nearest(&array![[1e9]], 4).is_err());
        assert_eq!(IntegerMap::nearest(&array![[1e5]], 9).unwrap().one(), 1.0);
        assert!(IntegerMap::of_tables(vec![array![[1.0], [f64::NAN]]], 4).is_err());
    }

    #[test]
    fn tables_are_the_matrix_that_they_stand_for() {
        let tables = vec![array![[0.5, -1.0], [2.0, 0.25], [0.0, 3.0]], array![[1.5], [-0.75]], Array2::zeros((2, 0))];
        let map = IntegerMap::of_tables(tables.clone(), 2).unwrap();
        let matrix = array![
            [2.0, 8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [-4.0, 1.0, 12.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 6.0, -3.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0],
        ];
        assert_stands_for(&map, &matrix);
        let numbers = array![[1.5, -2.0, 0.25], [0.0, 7.0, -1.0]];
        let map = IntegerMap::of_blocks(numbers, tables, 2).unwrap();
        let mixed = array![
            [6.0, -8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            [0.0, 28.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -4.0],
            [0.0, 0.0, 2.0, 8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, -4.0, 1.0, 12.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 6.0, -3.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0],
        ];
        assert_stands_for(&map, &mixed);
        assert!(map.fits(&Shape::new(2, &[3, 2, 2])) && !map.fits(&Shape::new(1, &[3, 2, 2])));
    }

    fn assert_stands_for(map: &IntegerMap, matrix: &Array2<f64>) {
        assert_eq!((map.dimension(), map.features(), map.one()), (matrix.nrows(), matrix.ncols(), 4.0));
        let v: Array1<f64> = (0..matrix.ncols() as i32).map(|j| f64::from(j * j - 5)).collect();
        assert_eq!(map.apply(&v), matrix.dot(&v) / 4.0);
        let w: Array1<f64> = (0..matrix.nrows() as i32).map(|j| f64::from(3 - j * j) / 2.0).collect();
        assert_eq!(map.transposed(&w), matrix.t().dot(&w) / 4.0);
        let integers: Vec<i64> = v.iter().map(|&x| x as i64).collect();
        assert_eq!(map.image(&integers), matrix.dot(&v).iter().map(|&x| x as i128).collect::<Vec<_>>());
        let text = serde_json::to_string(map).unwrap();
        assert_eq!(serde_json::from_str::<IntegerMap>(&text).unwrap(), *map);
    }
}
