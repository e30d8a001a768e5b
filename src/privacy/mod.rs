//! The vocabulary of privacy: adjacency, sensitivity, events, and newtypes for epsilon, delta and rho.
//!
//! Nothing here computes a conversion or sees a row; everything here is plain data that a ledger can
//! store and re-check years later.

mod adjacency;
mod budget;
mod charge;
mod dataset;
mod dp_event;
mod sensitivity;

pub use adjacency::{Adjacency, Scope};
pub use budget::{Delta, Epsilon, Rho};
pub use charge::{
    Charge, Claim, ExponentialCharge, GaussianCharge, MAX_LOG2_SCALE, NoiseLaw, ObjectiveCharge, PoissonGaussianCharge,
    PrivateSelectionCharge, ThresholdCharge, add_deltas, total_delta, total_rho,
};
pub use dataset::DatasetId;
pub use dp_event::{DpEvent, Mechanism, RunCount};
pub use sensitivity::{L1, L2, Norm, Range, Sensitivity};
