//! The vocabulary of privacy: adjacency, sensitivity, events, and newtypes for epsilon, delta and rho.
//!
//! Nothing here computes a conversion or sees a row; everything here is plain data that a ledger can
//! store and re-check years later.

mod adjacency;
mod best_run;
mod budget;
mod charge;
mod dataset;
mod event;
mod mechanism;
mod sensitivity;
mod stable;

pub use adjacency::{Adjacency, Scope};
pub use best_run::BestRunEvent;
pub use budget::{Delta, Epsilon, Rho};
pub use charge::{Charge, Claim, ObjectiveEvent, SampledEvent, add_deltas, total_delta, total_rho};
pub use dataset::DatasetId;
pub use event::{GaussianEvent, MAX_LOG2_SCALE, NoiseLaw, SelectionEvent};
pub use mechanism::{Event, Mechanism, RunCount};
pub use sensitivity::{L1, L2, Norm, Range, Sensitivity};
pub use stable::StableEvent;
