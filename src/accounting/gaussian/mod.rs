//! The exact trade-off of the Gaussian mechanism.
//!
//! `mu` is sensitivity over noise standard deviation, `rho = mu^2/2`. Adaptive releases compose to one
//! Gaussian with `mu^2 = sum mu_t^2`, so one formula covers a whole run. It holds for the continuous
//! Gaussian and for anything computed from its output (a floored normal, for one). It is **not** an
//! upper bound for the discrete Gaussian, which must use [`crate::accounting::zcdp`].
//!
//! With `a = epsilon/mu - mu/2`, `b = epsilon/mu + mu/2` and the Mills ratio `R`,
//! `e^epsilon phi(b) = phi(a)`, hence `delta = phi(a) (R(a) - R(b))`: nothing overflows, and the tail
//! keeps its relative accuracy.

mod formulas;
mod guarantee;
pub mod integer_noise;

pub use formulas::{
    compose, epsilon, epsilon_from_rho, ln_delta, ln_delta_from_rho, max_mu, max_rho, mu_upper_from_rho, rho,
};
pub use guarantee::GaussianDp;
