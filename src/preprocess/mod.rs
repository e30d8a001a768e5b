//! From records to encoded rows by public rules alone: bounds, declared categories, fixed rules for gaps.

mod bins;
mod buckets;
mod cache;
mod codes;
mod columns;
mod encode;
mod footer;
mod lines;
mod load;
mod person_stream;
mod persons;
mod pieces;
mod positional;
mod quantise;
mod recoding;
mod report;
mod segments;
mod standardise;
mod stream;
mod survey;
mod tally;
mod target;
#[cfg(test)]
mod tests;

use codes::Codes;

pub use bins::Binner;
pub use cache::{CacheUse, RowCache};
pub use columns::{TableEncoder, label_codes, numbers_of};
pub use encode::{Encoder, shape_of};
pub use person_stream::PersonStream;
pub(crate) use persons::identifier;
pub use persons::{EncodedRows, PersonsMet, person_places};
pub use pieces::{EncodedTable, PiecesEncoder};
pub use recoding::Recoding;
pub use report::{Fault, LoadReport, Loss};
pub use segments::{SegmentReader, SegmentWriter};
pub use standardise::{Affine, Standardiser};
pub use stream::{MemoryLimit, RowStream};
pub use survey::{Survey, Whole, is_numbers_with_gaps};
pub use tally::{Count, Met};
pub use target::TargetRule;
