//! Releases: a plan is charged, and each of its permits opens one value.

mod best_run;
mod charged_run;
mod holdout;
mod journal;
mod laplace;
mod logged_run;
mod mechanism;
mod permit;
mod threshold;

pub use best_run::CandidateRun;
pub(crate) use charged_run::charge_run_as;
pub use charged_run::{ChargedRun, charge_run, resume};
pub use holdout::HoldOut;
pub(crate) use holdout::{MAX_HOLDOUT, training_rows};
pub use journal::{Keep, Stopped};
pub use logged_run::{Listener, LoggedCandidate, LoggedRun, Release, ReleaseRecord};
pub use mechanism::Mechanism;
pub use permit::{Permit, Released};
pub use threshold::Proposal;
