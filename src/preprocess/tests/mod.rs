//! What needs a look at encoded rows, which only this crate has.

mod encoding;
