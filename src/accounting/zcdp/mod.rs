//! Zero-concentrated differential privacy to (epsilon, delta) and back.
//!
//! A mechanism is (xi, rho)-zCDP when its Renyi divergences satisfy `D_alpha <= xi + rho alpha` for all
//! `alpha > 1`; plain rho-zCDP is `xi = 0`. Write `L = ln(1/delta)`.
//!
//! The classical conversion needs one order and a Chernoff bound. The optimal-order conversion keeps a
//! factor that the Chernoff bound drops and minimises over real orders. Each order gives a valid
//! bound, so only the evaluation must be rounded outward: an inexact minimiser is merely less tight.

mod approximate;
mod formulas;
mod guarantee;
mod of_event;
pub mod tail_bounds;
mod truncated;
mod truncated_sample;

pub use approximate::ApproximateZcdp;
pub(crate) use formulas::outward;
pub use formulas::{
    chained, epsilon_classical, epsilon_optimal, ln_delta_classical, ln_delta_optimal, max_rho_classical,
    max_rho_optimal, order_for_delta, order_for_epsilon, renyi,
};
pub use guarantee::Zcdp;
pub use of_event::of_event;
pub use truncated::TruncatedCdp;
