//! The gate: the only place where a value computed from a private data set is opened, and only against a paid permit.
//!
//! - [`PrivateDataset`] holds encoded rows and hands out no row.
//! - A query on it returns a [`Sensitive`] value, which cannot be read, printed, copied or compared.
//! - [`charge_run`] charges the whole plan to the ledger, durably, and returns a [`ChargedRun`].
//! - Each [`Permit`] of a charged run opens one sensitive value, once, by the [`Mechanism`] that was paid
//!   for, and turns it into a [`Released`] one. Everything computed from released values is
//!   post-processing and free.
//! - A [`LoggedRun`] is what an optimizer gets: a release is one call, with its line in the log and its record.
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
mod charged_run;
mod dataset;
mod holdout;
mod journal;
mod logged_run;
mod mechanism;
mod pass;
mod permit;
pub mod query;
mod remote;
mod sensitive;
mod stable;
mod store;
#[cfg(test)]
mod tests;
mod worker;

pub use best_run::CandidateRun;
pub use cells::PrivateCells;
pub(crate) use charged_run::charge_run_as;
pub use charged_run::{ChargedRun, charge_run, resume};
pub use dataset::PrivateDataset;
pub use holdout::HoldOut;
pub(crate) use holdout::{LARGEST_HOLDOUT, training_rows};
pub use journal::{Keep, Stopped};
pub use logged_run::{Listener, LoggedCandidate, LoggedRun, Release, ReleaseRecord};
pub use mechanism::Mechanism;
pub use permit::{Permit, Released};
pub use query::{
    Candidates, ClippedRows, ColumnValues, Curvature, CutLoss, DescribeQuery, DirectionInputs, Gradient, Grid,
    GridPrice, LOG2_REGULARISATION, MOST_BATCHES, MOST_SOLVED, Minimisation, PassPlan, Perturbation, PhasePlan,
    PhasedPass, Planned, PrefixPass, Query, Role, RowAccess, prefix_coefficients,
};
pub(crate) use query::{batch_of, order_of};
pub use remote::{Cluster, RemoteRows};
pub use sensitive::Sensitive;
pub use stable::Proposal;
pub use store::Store;
pub use worker::Worker;
