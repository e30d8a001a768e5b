//! Composition theorems for (epsilon, delta), and budgets for costs chosen as one goes.

mod advanced;
mod filter;
mod optimal;

pub use advanced::{Advanced, advanced, basic, basic_sum, heterogeneous};
pub use filter::{ApproximateFilter, Odometer, ZcdpFilter};
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
