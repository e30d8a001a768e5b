//! Composition theorems for (epsilon, delta), and budgets for costs chosen as one goes.
//!
//! ```
//! use rhograd::accounting::compose::{Advanced, ApproximateFilter, Odometer, heterogeneous};
//! use rhograd::accounting::notion::ApproximateDp;
//! use rhograd::privacy::{Delta, Epsilon, Rho};
//! # fn main() -> rhograd::error::Fallible<()> {
//! // Known beforehand: a hundred mechanisms of epsilon 0.05 each.
//! let (one, total) = (ApproximateDp::new(0.05, 0.0)?, Delta::new(1e-6)?);
//! let Advanced { epsilon, epsilon_tight, .. } = heterogeneous(&[one; 100], total)?;
//! assert!(epsilon_tight <= epsilon && epsilon < 5.0);
//! // Chosen on the way, within a cap: what would go beyond it is refused.
//! let mut filter = ApproximateFilter::new(Epsilon::new(1.0)?, total, Delta::new(5e-7)?)?;
//! filter.admit(one)?;
//! assert!(filter.admit(ApproximateDp::new(2.0, 0.0)?).is_err());
//! // Without a cap: what the mechanisms so far guarantee.
//! let mut odometer = Odometer::new(Rho::from_f64(0.1)?)?;
//! odometer.record(&Rho::from_f64(0.15)?);
//! assert_eq!(odometer.guarantee().upper(), 0.2);
//! # Ok(())
//! # }
//! ```

mod advanced;
mod filter;
mod individual;
mod optimal;

pub use advanced::{Advanced, advanced, basic, basic_sum, heterogeneous};
pub use filter::{ApproximateFilter, Odometer, RenyiFilter, ZcdpFilter};
pub use individual::IndividualFilter;
pub use optimal::{Group, Optimal};

use super::directed::UNIT;
use crate::num::logs::ln_one_minus_exp;

/// The logarithm of `1 - (1 - delta)^n` rounded up, for `delta = e^ln_delta`.
pub(super) fn ln_union_repeated(ln_delta: f64, n: f64) -> f64 {
    if ln_delta == f64::NEG_INFINITY || n == 0.0 {
        return f64::NEG_INFINITY;
    }
    // ln(1 - delta) is -delta far below the smallest double.
    let value = if ln_delta < -690.0 { ln_delta + n.ln() } else { ln_one_minus_exp(n * ln_one_minus_exp(ln_delta)) };
    let value = value.min(ln_delta + n.ln());
    if value.is_nan() { 0.0 } else { (value + 16.0 * UNIT * (1.0 + value.abs())).min(0.0) }
}
