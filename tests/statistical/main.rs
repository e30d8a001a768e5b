//! Numbers: accountants against golden points, samplers against their laws, audits against claims.

use rhograd::privacy::{Delta, Epsilon};
use serde_json::Value;

mod account_eval;
mod accountant;
mod accounting;
mod audit;
mod bands;
mod pld;
mod pld_allocation;
mod pld_corners;
mod pld_edges;
mod pld_truncated;
mod samplers;
mod uncertainty;

fn eps(value: f64) -> Epsilon {
    Epsilon::new(value).unwrap()
}

fn del(value: f64) -> Delta {
    Delta::new(value).unwrap()
}

/// A number of an answer, infinities included.
fn number_of(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("inf") => Some(f64::INFINITY),
        Some("-inf") => Some(f64::NEG_INFINITY),
        _ => value.as_f64(),
    }
}
