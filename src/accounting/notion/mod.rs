//! Notions of differential privacy as types: each composes, handles groups, and converts where a theorem
//! allows.
//!
//! Every value holds under one adjacency relation, which the holder must keep: values under different
//! relations are never composed. All are closed under post-processing: a value stays valid for
//! anything computed from the output alone.

mod approximate;
mod approximate_zcdp;
mod gaussian_dp;
mod pure;
mod rdp_curve;
mod trade_off;
mod truncated;
mod zcdp;

pub use approximate::ApproximateDp;
pub use approximate_zcdp::ApproximateZcdp;
pub use gaussian_dp::GaussianDp;
pub use pure::PureDp;
pub use rdp_curve::RdpCurve;
pub use trade_off::TradeOff;
pub use truncated::TruncatedCdp;
pub use zcdp::Zcdp;

use crate::error::{Error, Fallible};

/// Passes a group size of at least 1.
fn group_size(k: u64) -> Fallible<u64> {
    if k > 0 {
        return Ok(k);
    }
    Err(Error::parameter("group size", "is 0", "use at least 1"))
}
