//! Re-encoding by released intervals: every column becomes a category, the interval that its number lies in.

use serde::{Deserialize, Serialize};

use super::quantize::quantize;
use super::standardize::encode_label;
use super::{Affine, RowStream};
use crate::error::{Error, Fallible};
use crate::grid::{FULL_SCALE, Shape, Tree};
use crate::kernel::{RawRow, Rows};

/// Largest number of intervals of a column: their codes are 16 bits, and one stands for "none of them".
const MAX_PIECES: usize = u16::MAX as usize - 1;

/// Places of the grid, see [`Tree::place`].
const PLACES: usize = 2 * FULL_SCALE as usize + 1;

/// For every column of the schema the intervals that its values are told apart by; released, and public from then on.
///
/// Rows re-encoded by it have no numeric columns: what was one is a categorical column with a value for each interval, before those that
/// were categorical anyway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", deny_unknown_fields)]
pub struct Binner {
    /// For each numeric column the places of the grid at which an interval begins, but for the first; ascending.
    numeric: Vec<Vec<u16>>,
    /// Declared values of each categorical column.
    levels: Vec<u16>,
    /// The map of the target; `None` leaves labels as they are.
    target: Option<Affine>,
}

/// A re-encoding that came from elsewhere; it is checked before it is one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    numeric: Vec<Vec<u16>>,
    levels: Vec<u16>,
    target: Option<Affine>,
}

impl TryFrom<Parts> for Binner {
    type Error = Error;

    fn try_from(Parts { numeric, levels, target }: Parts) -> Fallible<Self> {
        Binner::new(numeric, levels, target)
    }
}

/// The least number from `low` to `high` that something holds for which holds from there on; `high` where it holds for none below.
fn least(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (low, high);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return high;
        }
        if holds(middle) { high = middle } else { low = middle }
    }
}

impl Binner {
    /// Intervals by their beginnings, counted in steps of the grid from the lower bound ([`Tree::place`]) and ascending; one for each numeric column, then
    /// the numbers of declared values, and the map of the target.
    ///
    /// # Errors
    /// When beginnings do not ascend, or there are too many.
    pub fn new(numeric: Vec<Vec<u16>>, levels: Vec<u16>, target: Option<Affine>) -> Fallible<Self> {
        let usable = |starts: &Vec<u16>| starts.len() < MAX_PIECES && starts.windows(2).all(|pair| pair[0] < pair[1]);
        if !numeric.iter().all(usable) || target.is_some_and(|map| !map.is_usable()) {
            return Err(Error::numerical("intervals", "do not ascend, or are too many"));
        }
        Ok(Binner { numeric, levels, target })
    }

    /// The map of the target.
    pub fn target(&self) -> Option<&Affine> {
        self.target.as_ref()
    }

    /// Number of intervals of each numeric column.
    pub fn pieces(&self) -> impl Iterator<Item = usize> {
        self.numeric.iter().map(|starts| starts.len() + 1)
    }

    /// The columns of re-encoded rows.
    pub fn shape(&self) -> Shape {
        let levels: Vec<u16> = self.pieces().map(|pieces| pieces as u16).chain(self.levels.iter().copied()).collect();
        Shape::new(0, &levels)
    }

    /// What a row becomes, alone: the interval of each of its numbers, then the codes that it had.
    pub(crate) fn codes(&self, row: &RawRow) -> Vec<u16> {
        let interval = |(starts, &q): (&Vec<u16>, &i16)| {
            starts.partition_point(|&start| usize::from(start) <= Tree::place(q)) as u16
        };
        self.numeric.iter().zip(&row.numeric).map(interval).chain(row.codes.iter().copied()).collect()
    }

    /// For a numeric column with its bounds the least values in its own units that lie in each interval, but for the first: exactly those
    /// that the encoder tells apart.
    pub fn edges(&self, column: usize, lower: f64, upper: f64) -> Vec<f64> {
        let place = |value: f64| Tree::place(quantize(value, lower, upper));
        let edge = |&start: &u16| least(lower, upper, |value| place(value) >= usize::from(start));
        self.numeric.get(column).map_or_else(Vec::new, |starts| starts.iter().map(edge).collect())
    }

    /// Re-encodes rows; each new row depends on its old self and on released quantities alone.
    ///
    /// Rows of other columns than those that it was made for become null rows.
    pub fn recode(&self, rows: &Rows) -> Rows {
        // The interval of every place, so that no row has to search for it; beginnings ascend.
        let table = |starts: &Vec<u16>| -> Vec<u16> {
            let mut table = vec![starts.len() as u16; PLACES];
            let mut from = 0;
            for (piece, &start) in (0..).zip(starts) {
                table[from..usize::from(start)].fill(piece);
                from = usize::from(start);
            }
            table
        };
        let tables: Vec<Vec<u16>> = self.numeric.iter().map(table).collect();
        let code = |column: usize, q: i16| tables[column][Tree::place(q)];
        rows.as_categories(self.shape(), (tables.len(), code), |q| match &self.target {
            Some(map) => encode_label(map, q),
            None => q,
        })
    }

    /// Re-encodes rows in a file, which are written to another one.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub fn recode_stream(&self, rows: RowStream) -> Fallible<RowStream> {
        rows.rewritten(&self.shape(), |part| self.recode(part))
    }

    /// What an encoded label of 1 stands for after [`Binner::recode`].
    pub fn label_scale(&self) -> f64 {
        self.target.as_ref().map_or(1.0, Affine::label_scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_where_the_encoder_tells_intervals_apart() {
        let starts: Vec<u16> = (1..65_535).step_by(37).chain([16_384, 32_767, 32_768, 49_151]).collect();
        let starts: Vec<u16> = starts.into_iter().collect::<std::collections::BTreeSet<_>>().into_iter().collect();
        let bins = Binner::new(vec![starts.clone()], vec![], None).unwrap();
        // Quarters of the range are halves of steps, which go away from the middle.
        for (lower, upper) in [(1.0, 5.0), (0.0, 1.0), (-1e-9, 3e7), (17.0, 90.0)] {
            let place = |value: f64| Tree::place(quantize(value, lower, upper)) as u16;
            for (edge, start) in bins.edges(0, lower, upper).into_iter().zip(&starts) {
                assert!(place(edge) >= *start && place(edge.next_down()) < *start, "{edge} {start}");
            }
        }
    }
}
