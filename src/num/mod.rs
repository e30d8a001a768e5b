//! Arithmetic without domain words: exact dyadic rationals, directed rounding, normal tails, bracketed roots.

pub mod binomial;
mod compensated;
pub mod decimals;
pub mod dense;
mod dyadic;
pub mod fourier;
pub mod logs;
pub mod minimize;
pub(crate) mod normal;
pub mod root;
pub mod round;
pub mod shapes;
pub mod special;
pub mod transform;
pub mod tridiagonal;
mod vectorized;

pub(crate) use compensated::{Compensated, compensated, larger};
pub use dyadic::Dyadic;
pub(crate) use vectorized::vectorized;
