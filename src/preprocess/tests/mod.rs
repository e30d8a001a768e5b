//! What needs a look at encoded rows, which only this crate has.

mod cache;
mod columns;
mod encoding;
mod persons;
mod segments;
mod stream;
