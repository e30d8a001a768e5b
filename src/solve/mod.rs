//! Deterministic minimisation of strongly convex functions to a certified accuracy.
//!
//! Nothing here is private: what is minimised sees rows, so the gate alone calls this and keeps the result.

mod newton;

pub use newton::{Convex, LOG2_POINT, minimize};
