//! What whoever waits for a run is told of its charge.

use std::path::{Path, PathBuf};

use crate::ledger::Ledger;
use crate::private::ChargedRun;

/// Is told of charges.
pub(super) type Hear = Box<dyn FnMut(&Notice) + Send>;

/// What becomes of the charge of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// It is about to be written to the ledger.
    Charging,
    /// It was refused.
    Refused,
    /// It stands.
    Charged(ChargeNotice),
}

/// What a run was charged, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct ChargeNotice {
    /// Name of the run.
    pub run: String,
    /// Its cost, rounded upward.
    pub rho: f64,
    /// The budget that it was asked to keep, in words.
    pub budget: String,
    /// The ledger; `None` for one in memory.
    pub ledger: Option<PathBuf>,
}

impl std::fmt::Display for ChargeNotice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the run was charged: rho {}, {}, ", self.rho, self.budget)?;
        match &self.ledger {
            Some(ledger) => write!(f, "run {} in {}", self.run, ledger.display()),
            None => write!(f, "to no ledger"),
        }
    }
}

impl ChargeNotice {
    /// A run of this name that costs so much, by the budget in words.
    pub(super) fn new(run: &str, rho: f64, budget: &str, ledger: &Ledger) -> Self {
        let (run, budget) = (run.to_owned(), budget.to_owned());
        ChargeNotice { run, rho, budget, ledger: ledger.path().map(Path::to_owned) }
    }

    pub(super) fn of(charged: &ChargedRun, budget: &str, ledger: &Ledger) -> Self {
        let reservation = charged.reservation();
        Self::new(reservation.run(), reservation.rho().upper(), budget, ledger)
    }
}
