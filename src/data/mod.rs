//! Schemas and data: what is public about a data set, and its records, lines of a file or rows in memory.

mod blocks;
mod builder;
mod csv_file;
mod decimal;
mod dialect;
mod draft;
mod fields;
#[cfg(feature = "libsvm")]
mod libsvm;
#[cfg(feature = "parquet")]
mod parquet;
mod release;
mod schema;
mod source;
mod suggest;
mod synthetic;
mod table;
mod value;

pub use blocks::{Block, longest_line};
pub use builder::SchemaBuilder;
pub use csv_file::CsvFile;
pub use dialect::Dialect;
pub use draft::{draft_schema, draft_schema_with_notes};
pub use fields::Fields;
pub use release::{LedgerPlace, SchemaRelease};
pub use schema::{Column, Columns, Schema, Task};
pub use source::Stamp;
pub use synthetic::{Synthetic, SyntheticKind};
pub use table::{Cells, Numbers, Table};
pub use value::single;

pub(crate) use blocks::{is_replacement, trim_line};
pub(crate) use decimal::{near_separator, plain_decimal};
pub(crate) use fields::{is_decimal_comma, is_gap};
pub(crate) use table::{NumberCells, Reading, Shown};
pub(crate) use value::{Spelled, trim, value};
