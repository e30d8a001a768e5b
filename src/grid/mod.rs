//! The integer grid: what the integers of rows, sums and maps stand for, and how large they may be.
//!
//! Encoders, planners, queries and the kernel agree on these public numbers. Sensitivities are computed from them.

mod gram;
mod labels;
mod map;
mod moments;
mod public;
mod scoring;
mod shape;
mod tree;
mod weights;

pub(crate) use gram::coarse;
pub use gram::{DIAGONAL, GRAM_MULTIPLIER, OFF_DIAGONAL, PERSON_WEIGHT, each_entry, gram_one};
pub use labels::{LABEL_STEPS, LabelCoding, NO_LABEL};
pub use map::IntegerMap;
pub use moments::{MomentWeights, SIZE_CELLS, size_cell};
pub use public::PublicColumns;
pub(crate) use scoring::Outcome;
pub use scoring::{MARGIN_BINS, ScoreStep, Scoring};
pub use shape::Shape;
pub use tree::{FEATURE_TREE, TARGET_TREE, Tree};
pub use weights::{OFFSET_LEVELS, WEIGHT_LEVELS, WEIGHT_ONE, offset_code, offset_of, weight_code, weight_of};

/// The integer that a feature at its upper bound is encoded as; its lower bound is the negative.
pub const FULL_SCALE: i16 = i16::MAX;

/// Largest multiplier of any row. With it, 32-lane 32-bit partial sums over 16 tiles
/// cannot overflow: `4095 * 32767 * 16 < 2^31`.
pub const MAX_MULTIPLIER: i16 = 4095;

/// Coefficients are integers in units of `2^-40`.
pub const LOG2_WEIGHT: u32 = 40;

/// Largest coefficient; moving one back into the box is a projection.
pub const MAX_WEIGHT: i64 = 1 << 56;
