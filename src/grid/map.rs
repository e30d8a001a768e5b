//! Integer linear maps of encoded rows: the rows stay as they are, norms and sums are seen through the map.

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Fallible};

/// Largest entry of a map: with it, and at most [`MAX_ROWS`] coordinates, the image of a row is exact in `f64`.
const MAX_ENTRY: f64 = 131_072.0;

/// Most coordinates: `2^14 * 2^17 * 2^15 < 2^53`.
const MAX_ROWS: usize = 1 << 14;

/// A square integer matrix `A` that stands for the real matrix `A / 2^s`.
///
/// A clipped sum seen through it, `sum_i m_i A q_i = A sum_i m_i q_i`, needs the map only once per pass;
/// the clip needs the exact norms `|A q_i|^2`, which are found once per run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct IntegerMap {
    /// Integers held exactly; one row per output coordinate.
    entries: Array2<f64>,
    log2_unit: u32,
}

/// A map that came from elsewhere; what it may be is checked before it is one.
#[derive(Deserialize)]
struct Parts {
    entries: Array2<f64>,
    log2_unit: u32,
}

impl TryFrom<Parts> for IntegerMap {
    type Error = Error;

    fn try_from(parts: Parts) -> Fallible<Self> {
        let Parts { entries, log2_unit } = parts;
        let small = entries.iter().all(|entry| entry.fract() == 0.0 && entry.abs() <= MAX_ENTRY);
        if !entries.is_square() || entries.nrows() > MAX_ROWS || !small {
            return Err(Error::numerical("linear map", "is not a square matrix of moderate integers"));
        }
        Ok(IntegerMap { entries, log2_unit })
    }
}

impl IntegerMap {
    /// Rounds a real matrix to multiples of the finest `2^-s` with `s <= finest` that keeps entries small.
    ///
    /// # Errors
    /// When the matrix is not square, too large, or has an entry that is not a number.
    pub fn nearest(real: &Array2<f64>, finest: u32) -> Fallible<Self> {
        let largest =
            real.iter().fold(0.0f64, |most, &entry| if entry.is_nan() { f64::NAN } else { most.max(entry.abs()) });
        if !real.is_square() || real.nrows() > MAX_ROWS || !largest.is_finite() || largest > MAX_ENTRY {
            return Err(Error::numerical("linear map", "is not a square matrix of moderate numbers"));
        }
        let mut log2_unit = finest;
        while log2_unit > 0 && largest * 2f64.powi(log2_unit as i32) > MAX_ENTRY {
            log2_unit -= 1;
        }
        let scale = 2f64.powi(log2_unit as i32);
        Ok(IntegerMap { entries: real.mapv(|entry| (entry * scale).round()), log2_unit })
    }

    /// Number of coordinates.
    pub fn dimension(&self) -> usize {
        self.entries.nrows()
    }

    /// The integer that stands for 1.0, `2^s`.
    pub fn unit(&self) -> f64 {
        2f64.powi(self.log2_unit as i32)
    }

    /// `A v / 2^s`; `v` and the result have one entry per feature.
    pub fn apply(&self, v: &Array1<f64>) -> Array1<f64> {
        self.entries.dot(v) / self.unit()
    }

    /// `A^T v / 2^s`; `v` and the result have one entry per feature.
    pub fn transposed(&self, v: &Array1<f64>) -> Array1<f64> {
        self.entries.t().dot(v) / self.unit()
    }

    /// `A v` in exact integers.
    pub fn image(&self, v: &[i64]) -> Vec<i128> {
        let product = |row: ndarray::ArrayView1<'_, f64>| {
            row.iter().zip(v).map(|(&entry, &x)| i128::from(entry as i64) * i128::from(x)).sum()
        };
        self.entries.rows().into_iter().map(product).collect()
    }

    pub(crate) fn entries(&self) -> &Array2<f64> {
        &self.entries
    }
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
        assert_eq!(IntegerMap::nearest(&array![[1e5]], 9).unwrap().unit(), 1.0);
    }
}
