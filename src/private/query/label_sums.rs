//! The sum of rows weighed by their labels, where labels alone are protected.

use serde::{Deserialize, Serialize};

use super::{ClippedRows, DescribeQuery, Gradient, Reads, Role, RowAccess};
use crate::error::{Error, Fallible};
use crate::grid::{FULL_SCALE, LABEL_STEPS, LabelCoding, MAX_MULTIPLIER};
use crate::privacy::{Adjacency, Charge, L2};
use crate::private::Sensitive;
use crate::private::rows::pass::FeatureGradient;

/// The sum of rows weighed by their labels, see [`ClippedRows::label_sum`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelSums {
    /// Largest norm of a row times the largest multiplier that a label gives it, in grid steps.
    #[serde(rename = "bound")]
    pub clip_steps: u64,
    /// How labels weigh rows.
    pub coding: LabelCoding,
}

impl DescribeQuery for LabelSums {
    type Norm = L2;

    /// Labels do not come or go: nothing is said of add-remove.
    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        match adjacency {
            Adjacency::AddRemove => u64::MAX,
            Adjacency::ReplaceOne => self.coding.spread(self.clip_steps),
        }
    }

    fn reads(&self) -> Reads {
        Reads {
            rows: RowAccess::StreamedSum,
            role: Role::Steps(1),
            clip_steps: Some(self.clip_steps),
            persons: false,
            labels: true,
        }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }

    fn check(&self) -> Fallible<()> {
        match self.coding {
            LabelCoding::Classes { labels: 0..=1 } => Err(Error::refused(
                "a sum for each of fewer than two labels is recorded",
                "use the file that `train` wrote",
            )),
            _ => Ok(()),
        }
    }
}

impl ClippedRows<'_> {
    /// The sum over all rows of `m_i A q_i`, the multiplier `m_i` that of the row's label out of [`LABEL_STEPS`] times its cap; a block for
    /// each output, in the coordinates of the map.
    ///
    /// # Privacy
    /// Neighbours have one row whose label differs, and are the same otherwise: features, and which rows are records, are public. A row's
    /// cap follows from its features, with `cap_i |A q_i|` at most the clip norm in integers, and `|m_i| <= LABEL_STEPS cap_i`. So the l2
    /// sensitivity is [`LabelCoding::spread`] of [`LABEL_STEPS`] clip norms, exactly. Data of which more than labels is protected are refused: there another row would
    /// bring other features.
    ///
    /// # Errors
    /// When more than labels is protected, there are more than about 2^32 rows, or rows in a file cannot be read.
    pub fn label_sum(&self, coding: LabelCoding) -> Fallible<Sensitive<L2>> {
        self.data().only_labels()?;
        has_room(self.data().store().len(), i32::from(LABEL_STEPS) * i32::from(MAX_MULTIPLIER))?;
        let sums = self.weighed(FeatureGradient::of_labels(coding))?;
        let clip_steps = self.clip_steps().saturating_mul(LABEL_STEPS.into());
        Ok(self.data().sensitive(sums, LabelSums { clip_steps, coding }))
    }

    /// The sum over all rows of `m_i A q_i`, the multiplier `m_i` the mean that a model with the canonical link says of the row, times the
    /// row's cap and `scale`, rounded; a block for each output, in the coordinates of the map.
    ///
    /// A mean is in the units of the loss; no multiplier is larger than `most` in size. Clip norm and label scale of the gradient mean nothing
    /// here.
    ///
    /// # Privacy
    /// It reads features alone, which are public here. It is the same for all neighbours, so that it is free, as often as it is asked.
    ///
    /// # Errors
    /// When more than labels is protected, sums of so many multipliers may leave 64 bits, or rows in a file cannot be read.
    pub fn mean_sum(&self, at: &Gradient<'_>, scale: f64, most: i32) -> Fallible<Vec<i128>> {
        self.data().only_labels()?;
        has_room(self.data().store().len(), most)?;
        self.weighed(FeatureGradient::of_means(at.loss, self.to_features(at.weights).to_vec(), scale, most))
    }
}

/// Refuses sums that may leave the 64 bits in which the rows at hand are added up: what wraps has no sensitivity.
fn has_room(rows: u64, most: i32) -> Fallible<()> {
    let largest = i128::from(most) * i128::from(FULL_SCALE) * i128::from(rows);
    match most >= 0 && largest <= i128::from(i64::MAX) {
        true => Ok(()),
        false => Err(Error::refused(
            "rows are so many, or their multipliers so large, that a sum may leave 64 bits",
            "use fewer rows: labels of up to 2^32 are added up",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_labels_are_added_up_that_no_sum_wraps() {
        let most = i32::from(LABEL_STEPS) * i32::from(MAX_MULTIPLIER);
        let one = i64::from(most) * i64::from(FULL_SCALE);
        for (rows, fits) in [(0, true), (1 << 32, true), ((1 << 32) + (1 << 23), false), (u64::MAX, false)] {
            assert_eq!(has_room(rows, most).is_ok(), fits, "{rows}");
            let wraps = i64::try_from(rows).ok().and_then(|rows| one.checked_mul(rows)).is_none();
            assert_eq!(wraps, !fits, "{rows}");
        }
        assert!(has_room(1, -1).is_err());
    }
}
