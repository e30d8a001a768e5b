//! The durable record of what each data set has spent: an append-only, hash-chained log in one SQLite file.
//!
//! Budget is charged before noise is drawn: [`Ledger::reserve`] returns only after the whole cost of a
//! run has reached the disk, so a crash at any later point counts as spent. Nothing refunds, and runs
//! with a fixed seed are charged like all others, because they looked at the data as well.
//!
//! One ledger holds any number of data sets, told apart by the custodian's public [`DatasetId`]. The
//! state of an account is never stored: it is recomputed from the integer events of every entry each
//! time the file is opened, together with the hash chain, so a changed, missing or reordered entry is
//! refused. A tail that was cut off leaves a valid, shorter chain; it is found by looking up the
//! [`Position`] that every released model carries ([`Ledger::contains`]).
//!
//! The chain has no key. It guards against accidents and against rewriting history after models were
//! released, not against a custodian who writes a new history and never shows a model of the old one.
//!
//! # Privacy
//! Every run on a data set is one adaptively chosen mechanism, zCDP or approximate zCDP. Refusing whatever would lift
//! the sum of the rho or the sum of the deltas above a [`Cap`] fixed in advance is a privacy filter: all runs together
//! satisfy the cap under the data set's adjacency and for its unit. Sums and comparisons are exact. Raising a cap afterwards is recorded
//! and counted, because the guarantee is then only that of the new cap.
//!
//! # Reference
//! Whitehouse, Ramdas, Rogers and Wu 2023 (filters for approximate zCDP and Gaussian DP); Feldman and Zrnic 2021 (the
//! Renyi filter); Bun and Steinke 2016, Lemma 1.7.
//!
//! # Example
//! ```
//! use rhograd::ledger::{
//!     Asked, Cap, DatasetSummary, Entry, ExactRho, Ledger, Position, Record, Reservation, VerifyReport,
//! };
//! use rhograd::privacy::{Adjacency, DatasetId, Delta, Epsilon, GaussianCharge, NoiseLaw, Rho, Scope};
//!
//! # fn main() -> rhograd::error::Fallible<()> {
//! let scope = Scope::of_rows(DatasetId::new("adult")?, Adjacency::AddRemove);
//! let mut ledger = Ledger::in_memory()?;
//! ledger.init(&scope, Some(&Cap::rho(&Rho::from_f64(1.0)?, 0.0)?))?;
//!
//! let run = [GaussianCharge {
//!     what: "clipped gradient sum".into(),
//!     sensitivity: 1 << 20,
//!     log2_scale: 20,
//!     noise: NoiseLaw::FlooredNormal,
//!     count: 1,
//! }];
//! let first: Reservation = ledger.reserve(&scope, &run, true)?;
//! assert_eq!(first.rho(), ExactRho::new(&Rho::from_f64(0.5)?)?.rho());
//! ledger.reserve(&scope, &run, true)?;
//! assert!(ledger.reserve(&scope, &run, true).is_err(), "two runs of rho 1/2 exhaust the cap");
//!
//! let summary: DatasetSummary = ledger.summary(&scope.dataset)?;
//! assert_eq!((summary.runs, summary.spent.upper()), (2, 1.0));
//! let history: Vec<(Entry, DatasetSummary)> = ledger.history()?;
//! assert!(history.len() == 3 && matches!(history[1].0.record, Record::Reserve { .. }));
//! let VerifyReport { head: Position { sequence, hash }, .. } = ledger.verify()?;
//! assert!(ledger.contains(sequence, &hash)?);
//! let asked: Option<Asked> = Cap::zcdp(Epsilon::new(1.0)?, Delta::new(1e-6)?, None)?.asked();
//! assert!(asked.is_some_and(|asked| asked.epsilon == 1.0));
//! # Ok(())
//! # }
//! ```
//!
//! [`DatasetId`]: crate::privacy::DatasetId

mod account;
mod at_order;
mod book;
mod cap;
mod exact_rho;
mod file;
mod place;
mod record;
mod sqlite;
#[cfg(test)]
mod tests;

pub use account::DatasetSummary;
pub use cap::{Asked, CLAIMS_SHARE, Cap, LARGE_DELTA};
pub use exact_rho::ExactRho;
pub use record::{Entry, Position, Record};
pub(crate) use sqlite::random_name;
pub use sqlite::{Ledger, VerifyReport};

use crate::privacy::{Rho, Scope};

/// Proof that the cost of one run was charged; only [`Ledger::reserve`] and [`Ledger::resume`] make one.
///
/// # Privacy
/// Cannot be copied, so that one charge does not pay for two runs.
#[derive(Debug)]
pub struct Reservation {
    scope: Scope,
    rho: Rho,
    run: String,
    private: bool,
    position: Option<Position>,
}

impl Reservation {
    /// The data set, the relation and the unit that were charged.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// What was charged, exactly.
    pub fn rho(&self) -> &Rho {
        &self.rho
    }

    /// Random name of the run: 128 bits from the operating system as 32 hexadecimal digits.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Whether the run was announced with secret noise; `false` for seeded test runs.
    pub fn private(&self) -> bool {
        self.private
    }

    /// Where the charge stands in the ledger; `None` if the ledger lives in memory only.
    pub fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }
}
