//! What needs a look at encoded rows, which only this crate has.

mod cache;
mod columns;
mod encoding;
#[cfg(feature = "parquet")]
mod parquet;
mod person_stream;
mod persons;
mod segments;
mod stream;
