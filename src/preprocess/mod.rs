//! From records to encoded rows by public rules alone: bounds, declared categories, fixed rules for gaps.

mod encode;
mod standardise;

pub use encode::{Encoder, LoadReport, TargetRule, shape_of};
pub use standardise::{Affine, Standardiser};
