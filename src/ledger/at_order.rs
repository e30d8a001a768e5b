//! What charges cost at the order of a Renyi cap.

use std::collections::{BTreeSet, HashMap};

use super::exact_rho::ExactRho;
use crate::accounting::claim;
use crate::error::{Error, Fallible};
use crate::num::round::up;
use crate::privacy::{Adjacency, Charge, Rho};

/// Different orders of all caps in one ledger: whoever reads it computes the charges of a data set at each of its orders.
const MAX_ORDERS: usize = 64;

/// How far a recorded cost lies above what was computed, relatively: room for another version's arithmetic.
const SLACK: f64 = 1e-6;

/// The Renyi divergence of releases at an order, over that order.
#[derive(Clone, Debug, Default)]
pub(super) struct AtOrder {
    /// Of plain zCDP, exactly.
    exact: Rho,
    /// Of everything else, rounded upward.
    computed: Rho,
}

impl AtOrder {
    fn plus(&self, other: &AtOrder) -> Self {
        AtOrder { exact: self.exact.plus(&other.exact), computed: self.computed.plus(&other.computed) }
    }

    /// What an entry says of it.
    pub(super) fn recorded(&self) -> Fallible<ExactRho> {
        if self.computed.as_dyadic().is_zero() {
            return ExactRho::new(&self.exact);
        }
        let raised = up(self.computed.upper() * (1.0 + SLACK), 1);
        ExactRho::new(&self.exact.plus(&Rho::from_f64(raised)?))
    }

    /// Refuses an entry that says less.
    pub(super) fn confirm(&self, recorded: &Rho) -> Fallible<()> {
        if self.exact.plus(&self.computed) <= *recorded {
            return Ok(());
        }
        let problem = "is less than the events cost at the order of the cap";
        Err(Error::parameter(
            "rho at the order",
            problem,
            "restore a copy of the ledger, or use the version that wrote it",
        ))
    }
}

/// Orders of caps, and costs at them that were computed: each once, however many entries repeat it.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    seen: BTreeSet<u64>,
    known: HashMap<String, Option<f64>>,
}

impl Orders {
    /// What was computed, and no orders: those of a ledger that is read anew.
    pub(super) fn without_orders(&self) -> Self {
        Orders { seen: BTreeSet::new(), known: self.known.clone() }
    }

    /// Refuses one order too many.
    pub(super) fn admit(&self, order: f64) -> Fallible<()> {
        if self.seen.len() < MAX_ORDERS || self.seen.contains(&order.to_bits()) {
            return Ok(());
        }
        Err(Error::refused(
            format!("caps of this ledger have {MAX_ORDERS} different orders already, and {order} is none of them"),
            "use one of those, which `rhograd ledger log` names",
        ))
    }

    /// Takes note of the order of a cap.
    pub(super) fn enter(&mut self, order: f64) {
        self.seen.insert(order.to_bits());
    }

    /// What releases cost at an order; `None` where no finite divergence is known.
    pub(super) fn cost(&mut self, charges: &[Charge], adjacency: Adjacency, order: f64) -> Fallible<Option<AtOrder>> {
        let mut total = AtOrder::default();
        for charge in charges {
            if charge.claim().is_none() && charge.delta() == 0.0 {
                total.exact = total.exact.plus(&charge.rho()?);
                continue;
            }
            let text = serde_json::to_string(&(charge, adjacency, order.to_bits()));
            let text = text.map_err(|error| Error::numerical("charge", error.to_string()))?;
            let known = match self.known.get(&text) {
                Some(&known) => known,
                None => {
                    let found = claim::rho_at_order(charge, adjacency, order)?;
                    self.known.insert(text, found);
                    found
                }
            };
            let Some(rho) = known else { return Ok(None) };
            total.computed = total.computed.plus(&Rho::from_f64(rho)?);
        }
        Ok(Some(total))
    }
}

/// All charges of a data set, and what they cost together at the orders that were asked for.
#[derive(Debug, Default)]
pub(super) struct History {
    charges: Vec<Charge>,
    /// By the bits of the order: of how many charges the cost is known, and the cost.
    totals: HashMap<u64, (usize, Option<AtOrder>)>,
}

impl History {
    pub(super) fn add(&mut self, charges: Vec<Charge>) {
        self.charges.extend(charges);
    }

    /// What all charges cost at an order; `None` where one of them has no finite divergence.
    pub(super) fn total(&mut self, orders: &mut Orders, adjacency: Adjacency, order: f64) -> Fallible<Option<AtOrder>> {
        let (counted, known) = self.totals.remove(&order.to_bits()).unwrap_or_else(|| (0, Some(AtOrder::default())));
        let more = orders.cost(&self.charges[counted..], adjacency, order)?;
        let total = known.zip(more).map(|(known, more)| known.plus(&more));
        self.totals.insert(order.to_bits(), (self.charges.len(), total.clone()));
        Ok(total)
    }
}
