//! Renyi differential privacy at continuous orders: curves of mechanisms, and their conversion.
//!
//! [`mechanisms`] and [`sampled`] give the divergence of one mechanism at one order, [`Component`] holds
//! one as data, [`RdpCurve`] sums them, [`epsilon`] and [`ln_delta`]
//! convert, and [`curve`] reads a recorded event.

mod convert;
mod curve;
mod event;
pub mod mechanisms;
pub mod sampled;
mod single_order;
mod without_replacement;

pub use convert::{Best, Form, Renyi, epsilon, epsilon_at_order, epsilon_over_orders, ln_delta, ln_delta_at_order};
pub use curve::{Component, RdpCurve};
pub use event::curve;
pub use mechanisms::{bounded_range, discrete_laplace, gaussian, laplace, pure, randomised_response};
pub use sampled::{Directions, poisson_gaussian, poisson_gaussian_replace_one};
pub use single_order::ln_delta_lossless;
pub use without_replacement::{Base, Bounds, without_replacement, without_replacement_bounds};
