//! Conversions between rho, mu and (epsilon, delta), and calibration of Gaussian noise.
//!
//! Every result errs to the safe side: epsilon, delta and sigma come out at or above the true value,
//! the rho, mu and number of steps that a budget allows come out at or below it. What cannot be
//! answered is an error or infinity, never a smaller number.
//!
//! Three conversions of the same rho, from the loosest to the tightest:
//!
//! | | holds for | module |
//! |---|---|---|
//! | classical | every zCDP mechanism | [`zcdp`] |
//! | optimal order | every zCDP mechanism | [`zcdp`] |
//! | exact | Gaussian mechanisms and their post-processing only | [`gaussian`] |
//!
//! [`Conversion`] picks one by name; [`calibrate`] turns a budget into noise or steps.
//!
//! Other mechanisms than the Gaussian, and finer notions:
//!
//! | module | what it answers |
//! |---|---|
//! | [`notion`] | notions of privacy as types: composition, groups, conversions |
//! | [`rdp`] | Renyi curves at real orders, sampling included, from a recorded event |
//! | [`pld`] | certified bounds by privacy-loss distributions |
//! | [`claim`] | what recorded charges guarantee together |
//! | [`compose`] | composition theorems, filters and an odometer |
//! | [`subsample`], [`selection`], [`erm`], [`perturbed_objective`], [`integer_noise`], [`tail_bounds`] | single theorems |
//! | [`stable`] | thresholds that hide what one row holds |
//! | [`finite`], [`bounds`] | small laws exactly, lower bounds |
//! | [`evidence`], [`effect`], [`one_run`] | what an experiment shows |
//! | [`query`] | all of these as questions in JSON |
//!
//! ```
//! use rhograd::accounting::{Conversion, calibrate};
//! use rhograd::privacy::{Delta, Epsilon};
//! # fn main() -> rhograd::error::Fallible<()> {
//! let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-6)?);
//! let sigma = calibrate::sigma(Conversion::Exact, epsilon, delta, 100, 1.0)?;
//! assert!((sigma - 42.2467).abs() < 1e-4);
//! # Ok(())
//! # }
//! ```

pub mod bounds;
pub mod calibrate;
pub mod claim;
pub mod compose;
pub mod curves;
mod directed;
pub mod effect;
pub mod erm;
mod event;
pub mod evidence;
pub mod finite;
pub mod gaussian;
pub mod integer_noise;
pub mod notion;
mod of_event;
pub mod one_run;
pub mod perturbed_objective;
pub mod pld;
pub mod query;
pub mod rdp;
pub mod selection;
pub mod stable;
pub mod subsample;
pub mod tail_bounds;
pub mod zcdp;

pub use calibrate::Conversion;
