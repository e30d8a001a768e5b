//! Schemas and CSV files: what is public about a data set, and its lines, one record each.

mod csv_file;
mod draft;
mod schema;
mod synthetic;

pub use csv_file::{CsvFile, Fields};
pub use draft::draft_schema;
pub use schema::{Column, Columns, Schema, Task};
pub use synthetic::{Synthetic, SyntheticKind};
