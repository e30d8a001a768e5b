//! Schemas and data: what is public about a data set, and its records, lines of a file or rows in memory.
//!
//! Public facts, then rows in memory, then rows in a file:
//!
//! ```
//! use rhograd::data::{Cells, Column, Columns, Numbers, Schema, Table, Task};
//! use rhograd::ndarray::ArrayView1;
//!
//! let text = r#"{"name": "survey", "task": "regression", "target": "wage", "target_lower": 0, "target_upper": 100,
//!     "columns": {"age": {"type": "numeric", "lower": 18, "upper": 90},
//!                 "job": {"type": "categorical", "values": ["clerk", "farmer"]}}}"#;
//! let schema = Schema::parse(text, "survey.schema.json".as_ref())?;
//! let Columns(columns) = &schema.columns;
//! assert!(schema.task == Task::Regression && columns[0].1 == Column::number(18.0, 90.0));
//!
//! // Columns of numbers, and of texts by their place in a list; each of them one-dimensional, one entry a row.
//! let (ages, places) = ([30.0, f64::NAN], [1i8, 0]);
//! let job = Cells::Texts { list: vec!["farmer".into(), "clerk".into()], places: Numbers::I8(ArrayView1::from(&places)) };
//! let age = Cells::Numbers(Numbers::F64(ArrayView1::from(&ages)));
//! let table = Table::new(vec![("age".into(), age), ("job".into(), job)])?;
//! assert_eq!(table.names().collect::<Vec<_>>(), ["age", "job"]);
//! # Ok::<(), rhograd::error::Error>(())
//! ```
//!
//! ```
//! use rhograd::data::{Block, CsvFile, Fields, Stamp, Synthetic, SyntheticKind};
//!
//! let made_up = Synthetic { kind: SyntheticKind::Logistic, rows: 100, features: 3, categories: 1, noise: 0.5, seed: 1, persons: false };
//! let path = tempfile::NamedTempFile::new().unwrap();
//! made_up.write(&mut path.as_file(), &|_| ())?;
//! let file = CsvFile::open(path.path())?;
//! file.require(made_up.schema().features().map(|(name, _)| name))?;
//! file.each_line(|cells: &Fields| {
//!     assert_eq!(cells.len(), file.header().len());
//!     Ok(())
//! })?;
//!
//! // Blocks of lines, for work in parallel, and what tells whether the file is still the one that was opened.
//! let mut lines = 0;
//! file.scan(1, |blocks: &[Block], _| {
//!     lines += blocks.iter().map(Block::line_count).sum::<usize>();
//!     Ok(())
//! })?;
//! let stamp: Option<&Stamp> = file.stamp();
//! assert!(lines == 100 && stamp.is_some_and(|stamp| stamp.size == file.size()));
//! # Ok::<(), rhograd::error::Error>(())
//! ```
//!
//! What a schema says that was released from the rows:
//!
//! ```
//! use rhograd::data::{LedgerPlace, SchemaRelease};
//! use rhograd::privacy::{Adjacency, PrivacyUnit};
//!
//! let release = SchemaRelease {
//!     statement: String::new(),
//!     unit: PrivacyUnit::Row,
//!     adjacency: Adjacency::AddRemove,
//!     rho: "0.1".into(),
//!     approximate_delta: "1e-7".into(),
//!     epsilon: "2".into(),
//!     delta: "1e-6".into(),
//!     ledger: vec![LedgerPlace { sequence: 1, hash: "00".into() }],
//! };
//! assert_eq!(release.cost(), Some((0.1, 1e-7)));
//! ```

mod blocks;
mod builder;
mod column;
mod csv_file;
mod decimal;
mod dialect;
mod draft;
mod editor;
mod fields;
#[cfg(feature = "libsvm")]
mod libsvm;
#[cfg(feature = "parquet")]
mod parquet;
mod positional;
mod release;
mod schema;
mod source;
mod suggest;
mod synthetic;
mod table;
mod unit;
mod value;
mod weight;

pub use blocks::{Block, longest_line};
pub use builder::SchemaBuilder;
pub use column::{Categorical, Column, Columns, Missing};
pub use csv_file::CsvFile;
pub use dialect::Dialect;
pub use draft::{draft_schema, draft_schema_with_notes};
pub use fields::Fields;
pub use release::{LedgerPlace, SchemaRelease};
pub use schema::{Schema, Task};
pub use source::Stamp;
pub use synthetic::{Synthetic, SyntheticKind};
pub use table::{Cells, Numbers, Table};
pub use unit::{Estimand, Protect, Unit};
pub use value::single;
pub use weight::{Exposure, Offset, RowWeight};

pub(crate) use blocks::{is_replacement, trim_line};
pub(crate) use decimal::{enclosed_decimal, near_separator, plain_decimal};
pub(crate) use fields::{is_decimal_comma, is_gap};
pub(crate) use positional::ReadAt;
pub(crate) use table::{NumberCells, Reading, Shown, Wanted};
pub(crate) use value::{Spelled, line_bytes, trim, value};
