//! Differentially private convex training with exact arithmetic and an exact zCDP ledger.
//!
//! A data custodian gives a CSV, a public schema and a privacy budget; [`train`] gives back a model, a
//! log of every release with its cumulative rho and epsilon, and a privacy statement that anyone can
//! recompute. Clipping, summation and noise run in integers, so the guarantee holds exactly and not up
//! to rounding; costs are exact rationals; reported numbers are rounded outward.
//!
//! Modules import only from lower floors:
//!
//! | floor | modules |
//! |---|---|
//! | 8 | `cli` |
//! | 7 | [`audit`] |
//! | 6 | [`train`] |
//! | 5 | [`optim`] |
//! | 4 | [`private`], the gate |
//! | 3 | [`ledger`], [`preprocess`] |
//! | 2 | [`accounting`], [`noise`], [`loss`], [`kernel`], [`solve`], [`data`] |
//! | 1 | [`privacy`], the vocabulary |
//! | 0 | [`error`], [`num`], [`process`], [`text`] |
//!
//! ```
//! use rhograd::accounting::Conversion;
//! use rhograd::privacy::Delta;
//!
//! let epsilon = Conversion::Exact.epsilon(0.5, Delta::new(1e-5)?)?;
//! assert!(epsilon.value() < 4.378);
//! # Ok::<(), rhograd::error::Error>(())
//! ```

pub mod accounting;
pub mod audit;
#[cfg(feature = "cli")]
pub mod cli;
pub mod data;
pub mod error;
pub mod kernel;
pub mod ledger;
pub mod loss;
pub mod noise;
pub mod num;
pub mod optim;
mod partial;
pub mod preprocess;
pub mod privacy;
pub mod private;
pub mod process;
pub mod solve;
pub mod text;
pub mod train;
