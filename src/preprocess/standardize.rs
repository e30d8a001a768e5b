//! Re-encoding by released moments: centre, scale and limit every numeric feature and the target.

use serde::{Deserialize, Serialize};

use super::{PersonStream, RowStream};
use crate::error::Fallible;
use crate::grid::FULL_SCALE;
use crate::kernel::Rows;

/// `z = clamp((x - centre) / scale, -limit, limit)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Affine {
    /// Subtracted first.
    pub centre: f64,
    /// Divided by next; positive.
    pub scale: f64,
    /// Largest absolute value kept, infinite for none.
    pub limit: f64,
}

impl Affine {
    /// Applies the map.
    #[inline]
    pub fn apply(&self, x: f64) -> f64 {
        ((x - self.centre) / self.scale).clamp(-self.limit, self.limit)
    }

    /// This map for inputs first mapped from `lower..=upper` to `-1..=1`, expressed in the original units.
    pub fn in_units(&self, lower: f64, upper: f64) -> Affine {
        let half = (upper - lower) / 2.0;
        Affine { centre: lower + half * (self.centre + 1.0), scale: self.scale * half, limit: self.limit }
    }

    /// Whether its numbers make a map, and a label that it limits fits the grid.
    pub(super) fn is_usable(&self) -> bool {
        self.centre.is_finite()
            && self.scale > 0.0
            && self.scale.is_finite()
            && self.limit > 0.0
            && self.limit <= f64::from(FULL_SCALE)
    }

    /// What an encoded label of 1 stands for where labels are encoded by this map, the full scale being its limit.
    pub(super) fn label_scale(&self) -> f64 {
        1.0 / (f64::from(FULL_SCALE) / self.limit).floor()
    }
}

/// Maps for all numeric features and the target, in the encoder's units where bounds are at -1 and 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standardizer {
    /// One map per numeric feature, all with the same limit.
    pub features: Vec<Affine>,
    /// The map of the target; `None` leaves labels as they are.
    pub target: Option<Affine>,
    /// Deviations at which features are cut.
    pub limit: f64,
}

impl Standardizer {
    /// Re-encodes rows so that 1.0 is one deviation and the full scale is `limit` deviations.
    ///
    /// Each new value depends on the old value and on released quantities alone.
    pub fn recode(&self, rows: Rows) -> Rows {
        let full = f64::from(FULL_SCALE);
        let one = self.one();
        let encode = |map: &Affine, q: i16| (map.apply(f64::from(q) / full) * one).round() as i16;
        rows.recode(
            self.encoded_one(),
            |column, q| encode(&self.features[column], q),
            |q| match &self.target {
                Some(map) => encode_label(map, q),
                None => q,
            },
        )
    }

    /// Re-encodes rows in a file, which are written to another one.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub fn recode_stream(&self, rows: RowStream) -> Fallible<RowStream> {
        rows.recoded(self.encoded_one(), |part| self.recode(part))
    }

    /// Re-encodes persons in a file, who are written to another one.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub fn recode_persons(&self, persons: PersonStream) -> Fallible<PersonStream> {
        persons.recoded(self.encoded_one(), |rows| self.recode(rows))
    }

    /// The integer that stands for 1.0 in rows that were re-encoded.
    pub fn encoded_one(&self) -> i16 {
        self.one() as i16
    }

    fn one(&self) -> f64 {
        (f64::from(FULL_SCALE) / self.limit).floor()
    }

    /// What an encoded label of 1 stands for after [`Standardizer::recode`].
    pub fn label_scale(&self) -> f64 {
        self.target.as_ref().map_or(1.0, Affine::label_scale)
    }
}

/// A label in the encoding whose full scale is the limit of a map.
pub(super) fn encode_label(map: &Affine, q: i16) -> i16 {
    let full = f64::from(FULL_SCALE);
    (map.apply(f64::from(q) / full) * (full / map.limit).floor()).round() as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_translate() {
        // Bounds 0..10, centre 6, deviation 2: encoded centre 0.2, deviation 0.4.
        let map = Affine { centre: 0.2, scale: 0.4, limit: 2.0 }.in_units(0.0, 10.0);
        assert!((map.centre - 6.0).abs() < 1e-12 && (map.scale - 2.0).abs() < 1e-12);
        assert_eq!(map.apply(7.0), 0.5);
        assert_eq!(map.apply(100.0), 2.0);
        assert_eq!(map.apply(-100.0), -2.0);
    }
}
