//! The gate: the only place where a value computed from a private data set is opened, and only against a paid permit.
//!
//! - [`PrivateDataset`] holds encoded rows and hands out no row.
//! - A query on it returns a [`Sensitive`] value, which cannot be read, printed, copied or compared.
//! - [`pay`] charges the whole plan to the ledger, durably, and returns a [`Paid`] run.
//! - Each [`Permit`] of a paid run opens one sensitive value, once, by adding the noise that was paid
//!   for, and turns it into a [`Released`] one. Everything computed from released values is
//!   post-processing and free.
//!
//! The kernel and the encoder below work on rows they are handed and guard nothing; it is [`PrivateDataset`] that
//! takes rows in and gives none back. A [`crate::loss::Loss`] sees every margin and label, so a loss written elsewhere
//! is trusted code.
//!
//! The compiler rejects reading a raw sum, using a permit twice, releasing without a permit, and
//! releasing a value whose sensitivity is known in another norm.
//!
//! ```compile_fail
//! # use rhograd::{privacy::L2, private::Sensitive};
//! fn read(sum: Sensitive<L2>) -> Vec<i128> {
//!     sum.values // private field
//! }
//! ```

mod best_run;
mod cells;
mod dataset;
mod direction;
mod holdout;
mod journal;
mod minimise;
mod one_pass;
mod paid;
mod pass;
mod permit;
mod phases;
mod prefix;
mod query;
mod remote;
mod scores;
mod sensitive;
mod stable;
mod store;
#[cfg(test)]
mod tests;
mod worker;

pub use best_run::CandidateRun;
pub use cells::{Grid, GridPrice, PrivateCells, Vocabulary};
pub use dataset::{ClippedRows, Gradient, PrivateDataset};
pub use direction::Direction;
pub use holdout::HoldOut;
pub(crate) use holdout::{LARGEST_HOLDOUT, training_rows};
pub use journal::{Keep, Stopped};
pub use minimise::{Curvature, LOG2_REGULARISATION, MOST_SOLVED, Minimisation, Perturbation};
pub use one_pass::PassPlan;
pub(crate) use paid::pay_as;
pub use paid::{Paid, pay, resume};
pub use permit::{ObjectivePermit, Permit, Released, SampledPermit};
pub(crate) use phases::order_of;
pub use phases::{PhasePlan, Phases};
pub(crate) use prefix::batch_of;
pub use prefix::{MOST_BATCHES, PrefixSums, prefix_coefficients};
pub use query::{Planned, Query};
pub use remote::{Cluster, RemoteRows};
pub use scores::{Candidates, CutLoss};
pub use sensitive::Sensitive;
pub use stable::{Proposal, StablePermit};
pub use store::Store;
pub use worker::Worker;
