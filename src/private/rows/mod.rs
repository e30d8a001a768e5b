//! Rows behind the gate: in memory, in a file or on other machines, and what passes over them.

mod cells;
mod dataset;
pub(super) mod pass;
mod refused;
mod remote;
pub(super) mod store;
mod worker;

pub use cells::PrivateCells;
pub use dataset::PrivateDataset;
pub use pass::{Candidates, CutLoss};
pub use remote::{Cluster, RemoteRows};
pub use store::Store;
pub use worker::Worker;
