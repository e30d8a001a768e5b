//! Arithmetic without domain words: exact dyadic rationals, directed rounding, normal tails, bracketed roots.

mod dyadic;
pub mod root;
pub mod round;
pub mod special;

pub use dyadic::Dyadic;
