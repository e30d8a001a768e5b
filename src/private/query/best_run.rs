//! The best of several runs.

use serde::{Deserialize, Serialize};

use super::{DescribeQuery, Planned, Role, RowAccess};
use crate::error::Fallible;
use crate::privacy::{Adjacency, BestRunEvent, Charge, L2, total_rho};

/// The best of several runs, see [`crate::private::ChargedRun::best_run`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestRun {
    /// What a run of each candidate releases.
    pub candidates: Vec<Vec<Planned>>,
}

impl BestRun {
    /// The releases of all candidates.
    pub fn releases(&self) -> impl Iterator<Item = &Planned> {
        self.candidates.iter().flatten()
    }
}

impl DescribeQuery for BestRun {
    type Norm = L2;

    /// A run counts as one Gaussian release of sensitivity 1; its cost is that of its own releases.
    fn sensitivity(&self, _adjacency: Adjacency) -> u64 {
        1
    }

    /// A run that fails loses to the others, and a file that cannot be read must end the run: so none is read here.
    fn row_access(&self) -> RowAccess {
        RowAccess::InMemory
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::BestRun(event) if covers_runs(event, &self.candidates))
    }

    fn role(&self) -> Role {
        Role::Steps(1)
    }

    fn check(&self) -> Fallible<()> {
        self.releases().try_for_each(|planned| {
            planned.charge.check()?;
            planned.query.kind().check()
        })
    }
}

/// Whether every run costs at most what is paid for a run, exactly.
pub(in crate::private) fn covers_runs(event: &BestRunEvent, candidates: &[Vec<Planned>]) -> bool {
    let Ok(most) = event.run_rho() else { return false };
    let within = |run: &Vec<Planned>| {
        let charges: Vec<Charge> = run.iter().map(|planned| planned.charge.clone()).collect();
        charges.iter().all(|charge| charge.claim().is_none() && charge.delta() == 0.0)
            && total_rho(&charges).is_ok_and(|rho| rho <= most)
    };
    !candidates.is_empty() && candidates.iter().all(within)
}
