//! Renyi differential privacy at continuous orders: curves of mechanisms, and their conversion.
//!
//! [`mechanisms`] and [`sampled`] give the divergence of one mechanism at one order, [`Component`] holds
//! one as data, [`RdpCurve`] sums them, [`epsilon`] and [`ln_delta`]
//! convert, and [`curve`] reads a recorded event.
//!
//! ```
//! use rhograd::accounting::rdp::{self, Base, Best, Bounds, Directions, Form, Renyi};
//! use rhograd::error::Fallible;
//! use rhograd::privacy::Delta;
//!
//! /// A bound of one's own: Gaussian noise of twice the sensitivity.
//! struct Quiet;
//!
//! impl Renyi for Quiet {
//!     fn divergence(&self, alpha: f64) -> Fallible<f64> {
//!         rdp::gaussian(2.0, alpha)
//!     }
//! }
//! # fn main() -> rhograd::error::Fallible<()> {
//! let Best { value, alpha } = rdp::epsilon(&Quiet, Delta::new(1e-6)?, Form::Improved)?;
//! assert!(value < 2.7 && alpha > 1.0);
//! // Sampling makes the divergence smaller, by a different amount where a row comes and where it goes.
//! let Directions { remove, add } = rdp::poisson_gaussian(0.01, 2.0, 8.0)?;
//! assert!(remove.max(add) < 0.1 * rdp::gaussian(2.0, 8.0)?);
//! // A sample of fixed size, under replace-one.
//! let renyi = |alpha| rdp::gaussian(2.0, alpha);
//! let base = Base { renyi: &renyi, largest: f64::INFINITY, gaussian: Some(2.0) };
//! let Bounds { general, refined } = rdp::without_replacement_bounds(&base, 0.01, 8.0)?;
//! assert!(refined.is_some_and(|refined| refined.min(general) < renyi(8.0).unwrap_or(0.0)));
//! # Ok(())
//! # }
//! ```

mod approximate;
mod convert;
mod curve;
mod event;
pub mod mechanisms;
mod remembered;
pub mod sampled;
mod single_order;
mod sparse_vector;
mod without_replacement;

pub use approximate::ApproximateRenyi;
pub use convert::{Best, Form, Renyi, epsilon, epsilon_at_order, epsilon_over_orders, ln_delta, ln_delta_at_order};
pub use curve::{Component, RdpCurve};
pub use event::curve;
pub use mechanisms::{bounded_range, discrete_laplace, gaussian, laplace, pure, randomised_response};
pub use remembered::Remembered;
pub use sampled::{Directions, poisson_gaussian, poisson_gaussian_replace_one};
pub use single_order::ln_delta_lossless;
pub use sparse_vector::GaussianSparseVector;
pub use without_replacement::{Base, Bounds, without_replacement, without_replacement_bounds};
