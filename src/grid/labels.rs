//! What labels stand for in sums of rows weighed by their labels.

use serde::{Deserialize, Serialize};

use super::FULL_SCALE;

/// The encoded label of a row that has none, where it is a record all the same: labels alone are protected then.
pub const NO_LABEL: i16 = -1;

/// How many times finer than its cap the multiplier of a row is, so that small numbers among large ones are not rounded away.
pub const LABEL_STEPS: u16 = 16;

/// How a label weighs its row in a sum: one whole multiplier, or one for each label, out of a public multiplier of the row.
///
/// ```
/// use rhograd::grid::{FULL_SCALE, LabelCoding, NO_LABEL};
/// assert_eq!([0, 1, NO_LABEL].map(|label| LabelCoding::Two.multiplier(label, 100)), [0, 100, 50]);
/// assert_eq!([-FULL_SCALE, FULL_SCALE].map(|label| LabelCoding::Numbers.multiplier(label, 100)), [-100, 100]);
/// assert_eq!(LabelCoding::Classes { labels: 3 }.outputs(), 3);
/// // Another label moves what a row of norm 1000 adds by at most so much.
/// assert_eq!(LabelCoding::Two.spread(1000), 1000);
/// assert_eq!(LabelCoding::Classes { labels: 3 }.spread(1000), 1415);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LabelCoding {
    /// Two labels, 0 and 1: nothing and the whole multiplier; a row without a label gets half of it.
    Two,
    /// Numbers from the lower bound to the upper one: from minus the multiplier to the multiplier.
    Numbers,
    /// Counts from zero on: from nothing to the multiplier.
    Counts,
    /// One sum for each of several labels: the whole multiplier in that of the label; a row without a label is in none.
    Classes {
        /// How many labels.
        labels: u16,
    },
}

impl LabelCoding {
    /// Number of sums.
    pub fn outputs(self) -> usize {
        match self {
            LabelCoding::Two | LabelCoding::Numbers | LabelCoding::Counts => 1,
            LabelCoding::Classes { labels } => labels.into(),
        }
    }

    /// The multiplier of a row in the one sum that its label is in, from `-most` to `most` where labels are numbers and else from 0 to
    /// `most`; of several labels that of the label's own sum.
    #[inline(always)]
    pub fn multiplier(self, label: i16, most: i32) -> i32 {
        let scaled = |label: i16| {
            let (product, full) = (i64::from(label) * i64::from(most), i64::from(FULL_SCALE));
            // No larger than `most` in size, as the label is no larger than the full scale.
            ((2 * product + product.signum() * full) / (2 * full)) as i32
        };
        match self {
            LabelCoding::Two => match label {
                0 => 0,
                1 => most,
                _ => most / 2,
            },
            LabelCoding::Numbers => scaled(label.clamp(-FULL_SCALE, FULL_SCALE)),
            LabelCoding::Counts => scaled(label.clamp(0, FULL_SCALE)),
            LabelCoding::Classes { labels } => match u16::try_from(label) {
                Ok(label) if label < labels => most,
                _ => 0,
            },
        }
    }

    /// By how much, in l2 norm, what a row adds moves when its label is replaced, where `m q` has a norm of at most `clip_steps` for the
    /// largest multiplier `m` of the row; saturating.
    ///
    /// Numbers move it from `-m q` to `m q`. Of several labels one block leaves and another enters, and blocks are orthogonal: the root
    /// of two, rounded up.
    pub fn spread(self, clip_steps: u64) -> u64 {
        match self {
            LabelCoding::Two | LabelCoding::Counts => clip_steps,
            LabelCoding::Numbers => clip_steps.saturating_mul(2),
            LabelCoding::Classes { .. } => {
                let Some(square) = (u128::from(clip_steps) * u128::from(clip_steps)).checked_mul(2) else {
                    return u64::MAX;
                };
                let root = square.isqrt();
                u64::try_from(if root * root == square { root } else { root + 1 }).unwrap_or(u64::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn codings() -> [LabelCoding; 4] {
        [LabelCoding::Two, LabelCoding::Numbers, LabelCoding::Counts, LabelCoding::Classes { labels: 5 }]
    }

    proptest! {
        #[test]
        fn no_two_labels_are_further_apart_than_is_stated(a in any::<i16>(), b in any::<i16>(), most in 0i32..70_000) {
            for coding in codings() {
                let (x, y) = (i64::from(coding.multiplier(a, most)), i64::from(coding.multiplier(b, most)));
                let (most, square) = (i64::from(most), |v: i64| u128::from(v.unsigned_abs()).pow(2));
                prop_assert!(x.abs() <= most && y.abs() <= most);
                let apart = match coding {
                    LabelCoding::Classes { .. } if a != b => square(x) + square(y),
                    _ => square(x - y),
                };
                prop_assert!(apart <= u128::from(coding.spread(most as u64)).pow(2), "{coding:?} {a} {b}");
            }
        }
    }

    #[test]
    fn some_labels_are_as_far_apart_as_is_stated() {
        for (coding, a, b) in [
            (LabelCoding::Two, 0, 1),
            (LabelCoding::Numbers, -FULL_SCALE, FULL_SCALE),
            (LabelCoding::Counts, 0, FULL_SCALE),
        ] {
            let apart = coding.multiplier(b, 65_520) - coding.multiplier(a, 65_520);
            assert_eq!(apart as u64, coding.spread(65_520), "{coding:?}");
        }
        assert_eq!(LabelCoding::Classes { labels: 2 }.spread(70), 99, "98.99");
        assert_eq!(LabelCoding::Classes { labels: 2 }.spread(u64::MAX), u64::MAX);
    }
}
