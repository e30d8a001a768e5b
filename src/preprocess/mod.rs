//! From records to encoded rows by public rules alone: bounds, declared categories, fixed rules for gaps.

mod cache;
mod codes;
mod encode;
mod lines;
mod positional;
mod quantise;
mod report;
mod segments;
mod standardise;
mod target;
#[cfg(test)]
mod tests;

use codes::Codes;

pub use cache::{CacheUse, RowCache};
pub use encode::{Encoder, shape_of};
pub use report::LoadReport;
pub use segments::{SegmentReader, SegmentWriter};
pub use standardise::{Affine, Standardiser};
pub use target::TargetRule;
