//! The account that a run is charged to, and whether it holds the release of the run's schema too.

use super::load::Loaded;
use crate::data::{LedgerPlace, SchemaRelease};
use crate::error::{Error, Fallible};
use crate::ledger::{Ledger, Record};
use crate::privacy::{DatasetId, total_delta, total_rho};
use crate::statement::Facts;

impl Loaded {
    /// Whether the ledger holds the release of the schema, so that its cost is counted together with the run's; true
    /// where the schema is no private release.
    ///
    /// # Errors
    /// When the release was charged to another data set than the run would be, and when the ledger cannot be read.
    ///
    /// # Privacy
    /// Reads public parameters and the ledger only. Under another name a data set would have a second account, and
    /// neither would show what its rows have cost.
    pub fn counts_schema(&self, ledger: &mut Ledger) -> Fallible<bool> {
        match &self.schema.released {
            Some(release) => is_counted(release, &self.plan.scope.dataset, ledger),
            None => Ok(true),
        }
    }
}

/// Whether the ledger holds the release of a schema; an error where it was charged to another data set.
pub(crate) fn is_counted(release: &SchemaRelease, dataset: &DatasetId, ledger: &mut Ledger) -> Fallible<bool> {
    let mut counted = !release.ledger.is_empty();
    // All places are looked at: one that is not known must not hide another account behind it.
    for place in &release.ledger {
        match charge_at(place, ledger)? {
            Some(Record::Reserve { dataset: charged, .. }) if charged != *dataset => {
                let problem = format!(
                    "the release of the schema was charged to the data set \"{charged}\", and this run would be to \"{dataset}\""
                );
                return Err(Error::refused(
                    problem,
                    "give the schema its first name back: one data set has one account",
                ));
            }
            Some(Record::Reserve { private: true, .. }) => {}
            _ => counted = false,
        }
    }
    Ok(counted)
}

/// Whether every place where a schema says it was charged holds a charge of the same data set, all within its cost.
pub(super) fn is_charged(release: &SchemaRelease, facts: &Facts, ledger: &mut Ledger) -> Fallible<bool> {
    let mut charges = Vec::new();
    for place in &release.ledger {
        match charge_at(place, ledger)? {
            Some(Record::Reserve { dataset, adjacency, unit, events, private: true, .. })
                if dataset.as_str() == facts.dataset && adjacency == facts.adjacency && unit == facts.unit =>
            {
                charges.extend(events);
            }
            _ => return Ok(false),
        }
    }
    let stated = release.cost().unwrap_or_default();
    Ok(!charges.is_empty() && total_rho(&charges)?.upper() <= stated.0 && total_delta(&charges) <= stated.1)
}

/// What stands at a place, if the ledger has it.
fn charge_at(place: &LedgerPlace, ledger: &mut Ledger) -> Fallible<Option<Record>> {
    match ledger.contains(place.sequence, &place.hash)? {
        true => Ok(ledger.entry(place.sequence)?.map(|entry| entry.record)),
        false => Ok(None),
    }
}
