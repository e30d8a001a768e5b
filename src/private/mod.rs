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
//! Rows and what passes over them lie in `rows`, what may be asked of them in [`query`], charges, permits and releases in `release`.
//!
//! The kernel and the encoder below work on rows they are handed and guard nothing; it is [`PrivateDataset`] that
//! takes rows in and gives none back. A [`crate::loss::Loss`] sees every margin and label, so the losses of
//! this crate are trusted code; one from elsewhere is a table, see [`crate::loss::OwnLoss`].
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

pub mod query;
mod release;
mod rows;
mod sensitive;
#[cfg(test)]
mod tests;

pub use query::{
    ClippedRows, ColumnValues, Curvature, DescribeQuery, DirectionInputs, Gradient, Grid, GridPrice,
    LOG2_REGULARISATION, MAX_BATCHES, MAX_SOLVED, Minimisation, PassPlan, Perturbation, PhasePlan, PhasedPass, Planned,
    PrefixPass, Query, Reads, Role, RowAccess, prefix_coefficients,
};
pub(crate) use query::{batch_of, order_of};
pub use release::{
    CandidateRun, ChargedRun, HoldOut, Keep, Listener, LoggedCandidate, LoggedRun, Mechanism, Permit, Proposal,
    Release, ReleaseRecord, Released, Stopped, charge_run, resume,
};
pub(crate) use release::{MAX_HOLDOUT, charge_run_as, training_rows};
pub use rows::{Candidates, Cluster, CutLoss, PrivateCells, PrivateDataset, RemoteRows, Store, Worker};
pub use sensitive::Sensitive;
