//! Schemas and data files: what is public about a data set, and its lines, one record each.

mod blocks;
mod csv_file;
mod decimal;
mod draft;
mod fields;
#[cfg(feature = "libsvm")]
mod libsvm;
#[cfg(feature = "parquet")]
mod parquet;
mod release;
mod schema;
mod source;
mod synthetic;

pub use blocks::Block;
pub use csv_file::CsvFile;
pub use draft::draft_schema;
pub use fields::Fields;
pub use release::{LedgerPlace, SchemaRelease};
pub use schema::{Column, Columns, Schema, Task};
pub use source::Stamp;
pub use synthetic::{Synthetic, SyntheticKind};

pub(crate) use blocks::trim_line;
pub(crate) use decimal::{near_separator, plain_decimal};
pub(crate) use fields::{number, trim};
