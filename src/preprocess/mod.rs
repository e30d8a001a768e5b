//! From records to encoded rows by public rules alone: bounds, declared categories, fixed rules for gaps.

mod codes;
mod encode;
mod lines;
mod quantise;
mod report;
mod standardise;
mod target;
#[cfg(test)]
mod tests;

use codes::Codes;

pub use encode::{Encoder, shape_of};
pub use report::LoadReport;
pub use standardise::{Affine, Standardiser};
pub use target::TargetRule;
