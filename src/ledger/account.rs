//! What one data set has spent, and whether the next run fits under its cap.

use std::cell::RefCell;

use super::at_order::{AtOrder, History, Orders};
use super::cap::{Cap, Cost, exact};
use super::exact_rho::ExactRho;
use super::record::Position;
use crate::error::{Error, Fallible};
use crate::num::round;
use crate::privacy::{Adjacency, Charge, DatasetId, PrivacyUnit, Rho, Scope};

/// Significant digits of a number in a message.
const SHOWN_DIGITS: u32 = 6;

/// What one data set has spent and may still spend.
///
/// # Privacy
/// A function of public parameters only: nothing here is computed from rows.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetSummary {
    /// The data set.
    pub dataset: DatasetId,
    /// The relation of all its guarantees.
    pub adjacency: Adjacency,
    /// What neighbours differ in, in all its guarantees.
    pub unit: PrivacyUnit,
    /// What all runs may cost together; `None` counts without refusing.
    pub cap: Option<Cap>,
    /// Sum of the rho of all runs, completed or not, with secret noise or a fixed seed.
    pub spent: Rho,
    /// Sum of the deltas of runs whose guarantee is approximate zCDP, rounded upward; zero without such runs.
    pub spent_delta: f64,
    /// Whether every release so far was Gaussian noise on all rows.
    pub gaussian: bool,
    /// Under a Renyi cap, the divergence of all runs at its order, over that order.
    pub spent_at_order: Option<Rho>,
    /// The rho that the cap still allows, exactly; under a Renyi cap at its order.
    pub left: Option<Rho>,
    /// What the cap still allows of the deltas of claims, rounded downward; `None` where it does not bound them.
    pub left_delta: Option<f64>,
    /// Runs that were charged.
    pub runs: u64,
    /// Those that released a result.
    pub completed: u64,
    /// Those with a fixed seed, whose output protects nobody.
    pub seeded: u64,
    /// How often a cap was raised after it had been set.
    pub cap_raised: u64,
    /// Runs that had been charged when the cap was set; the cap holds if it was not chosen by what they released.
    pub runs_before_cap: u64,
    /// Hash of the last entry of the whole ledger.
    pub head_hash: String,
    /// Number of entries in the whole ledger.
    pub sequence: u64,
}

#[derive(Debug)]
pub(super) struct Account {
    adjacency: Adjacency,
    unit: PrivacyUnit,
    cap: Option<Cap>,
    spent: Cost,
    /// All that was charged: another cap may count it at another order.
    history: RefCell<History>,
    pub(super) runs: u64,
    pub(super) completed: u64,
    pub(super) seeded: u64,
    cap_raised: u64,
    runs_before_cap: u64,
}

impl Account {
    pub(super) fn new(adjacency: Adjacency, unit: PrivacyUnit, cap: Option<Cap>) -> Self {
        let rho_at_order = cap.as_ref().and_then(Cap::order).map(|_| Rho::zero());
        let (spent, history) = (Cost { rho_at_order, ..Cost::zero() }, RefCell::default());
        let (runs, completed, seeded, cap_raised, runs_before_cap) = (0, 0, 0, 0, 0);
        Account { adjacency, unit, cap, spent, history, runs, completed, seeded, cap_raised, runs_before_cap }
    }

    /// The order of the cap.
    pub(super) fn order(&self) -> Option<f64> {
        self.cap.as_ref().and_then(Cap::order)
    }

    /// What releases cost at the order of the cap, as an entry says it; `None` where it has none, and where that is not finite.
    pub(super) fn rho_at_order(&self, charges: &[Charge], orders: &RefCell<Orders>) -> Fallible<Option<ExactRho>> {
        let Some(order) = self.order() else { return Ok(None) };
        orders.borrow_mut().cost(charges, self.adjacency, order)?.map(|cost| cost.recorded()).transpose()
    }

    /// What all runs so far cost at an order, as an entry says it; `None` where that is not finite.
    pub(super) fn spent_at_order(&self, order: f64, orders: &RefCell<Orders>) -> Fallible<Option<ExactRho>> {
        self.total(order, orders)?.map(|spent| spent.recorded()).transpose()
    }

    fn total(&self, order: f64, orders: &RefCell<Orders>) -> Fallible<Option<AtOrder>> {
        self.history.borrow_mut().total(&mut orders.borrow_mut(), self.adjacency, order)
    }

    /// Refuses a recorded cost at the order of the cap that is less than the releases have, or that belongs to no cap.
    pub(super) fn confirm_at_order(
        &self,
        charges: &[Charge],
        recorded: Option<&Rho>,
        orders: &RefCell<Orders>,
    ) -> Fallible<()> {
        match (self.order(), recorded) {
            (None, None) => Ok(()),
            (Some(order), Some(recorded)) => match orders.borrow_mut().cost(charges, self.adjacency, order)? {
                Some(cost) => cost.confirm(recorded),
                None => Err(misplaced("rho_at_order")),
            },
            _ => Err(misplaced("rho_at_order")),
        }
    }

    /// Whether a cap may take the place of the one before.
    pub(super) fn admit_cap(
        &self,
        dataset: &DatasetId,
        cap: &Cap,
        spent: Option<&Rho>,
        orders: &RefCell<Orders>,
    ) -> Fallible<()> {
        match (cap.order(), spent) {
            (None, None) => {}
            (Some(order), spent) => {
                let Some(found) = self.total(order, orders)? else {
                    return Err(Error::refused(
                        format!(
                            "data set \"{dataset}\" has runs whose guarantee may fail altogether, such as a draft of a schema with \
                             texts, which no Renyi divergence covers"
                        ),
                        "set a cap in zCDP, without --renyi",
                    ));
                };
                found.confirm(spent.ok_or_else(|| misplaced("spent_at_order"))?)?;
            }
            (None, Some(_)) => return Err(misplaced("spent_at_order")),
        }
        if matches!(cap, Cap::Gaussian { .. }) && !self.spent.gaussian {
            return Err(Error::refused(
                format!("data set \"{dataset}\" has runs that were not Gaussian noise on all rows, which no mu covers"),
                "set a cap in zCDP, without --gaussian",
            ));
        }
        Ok(())
    }

    pub(super) fn set_cap(&mut self, cap: Cap, spent_at_order: Option<Rho>) {
        self.spent.rho_at_order = spent_at_order;
        self.cap_raised += u64::from(self.cap.as_ref().is_some_and(|old| cap.raises(old)));
        self.cap = Some(cap);
        self.runs_before_cap = self.runs;
    }

    pub(super) fn charge(&mut self, cost: &Cost, charges: Vec<Charge>, private: bool) {
        self.spent = self.spent.plus(cost);
        self.history.get_mut().add(charges);
        self.runs += 1;
        self.seeded += u64::from(!private);
    }

    /// Refuses another relation, and another unit.
    pub(super) fn admit_scope(&self, scope: &Scope) -> Fallible<()> {
        let Scope { dataset, adjacency, unit } = scope;
        let (counted, adjacency) = (self.adjacency, *adjacency);
        if adjacency != counted {
            return Err(Error::refused(
                format!(
                    "data set \"{dataset}\" is counted under {counted}, and guarantees under {adjacency} cannot be added"
                ),
                format!("use --adjacency {counted}"),
            ));
        }
        if *unit != self.unit {
            let counted = &self.unit;
            return Err(Error::refused(
                format!(
                    "data set \"{dataset}\" is counted by the {counted}, and guarantees by the {unit} cannot be added"
                ),
                match (counted, unit) {
                    (PrivacyUnit::Row, PrivacyUnit::Person { column }) => format!(
                        "leave the unit out (\"unit\" in the schema, --unit), or give --ledger a file of its own, made by \
                         `rhograd ledger init` with --unit {column}"
                    ),
                    (PrivacyUnit::Row, PrivacyUnit::Label) => {
                        "leave \"protect\" out (in the schema, --protect), or give --ledger a file of its own, made by `rhograd ledger \
                         init` with --protect label"
                            .to_string()
                    }
                    (PrivacyUnit::Label, _) => {
                        "use \"protect\": \"label\" in the schema, or --protect label, or give --ledger a file of its own".to_string()
                    }
                    (PrivacyUnit::Row, PrivacyUnit::PrivateCells { .. }) => {
                        "leave \"public\" out of the columns, or give --ledger a file of its own, made by `rhograd ledger init` with --public"
                            .to_string()
                    }
                    (PrivacyUnit::PrivateCells { public }, _) => format!(
                        "say \"public\": true of these columns and of no others ({}), or give --ledger a file of its own",
                        public.join(", ")
                    ),
                    (PrivacyUnit::Row, PrivacyUnit::Row) => "leave the unit out".to_string(),
                    (PrivacyUnit::Person { column }, _) => {
                        format!("use \"unit\": {{\"column\": \"{column}\"}} in the schema, or --unit {column}")
                    }
                },
            ));
        }
        Ok(())
    }

    /// What a cost counts under the cap; `None` where that is an order at which it is not finite.
    fn counted<'a>(&self, cost: &'a Cost) -> Option<&'a Rho> {
        match self.order() {
            Some(_) => cost.rho_at_order.as_ref(),
            None => Some(&cost.rho),
        }
    }

    /// What the cap still allows of rho, in its own notion.
    fn left(&self) -> Option<Rho> {
        let cap = self.cap.as_ref()?;
        Some(self.counted(&self.spent).map_or(Rho::zero(), |spent| cap.most_rho().minus(spent)))
    }

    /// Refuses a cost that the cap does not allow, for releases in the relation and by the unit of the account.
    pub(super) fn afford(&self, dataset: &DatasetId, cost: &Cost) -> Fallible<()> {
        let Some(cap) = &self.cap else { return Ok(()) };
        let (left, most) = (shown_down(&self.left().unwrap_or_default()), shown_down(cap.most_rho()));
        let at = cap.order().map_or(String::new(), |order| format!(" at order {order}"));
        if matches!(cap, Cap::Gaussian { .. }) && !cost.gaussian {
            return Err(Error::refused(
                format!(
                    "the cap of data set \"{dataset}\" fixes mu and admits Gaussian noise on all rows alone, and this run \
                     releases something else; rho {left} is left of its {most}"
                ),
                "use an algorithm of full-batch Gaussian steps with --noise normal, or set a cap without --gaussian",
            ));
        }
        let Some(rho) = self.counted(cost) else {
            return Err(Error::refused(
                format!(
                    "the cap of data set \"{dataset}\" bounds the Renyi divergence{at}, and this run has none that is finite, as where a \
                     guarantee may fail altogether; rho {left} is left of its {most}"
                ),
                "use another algorithm, or set a cap without --renyi",
            ));
        };
        let after = self.spent.plus(cost);
        let over_rho = self.counted(&after).is_none_or(|after| after > cap.most_rho());
        let over_delta = match cap.claims_delta() {
            Some(most) => after.delta > exact(most)?,
            None => false,
        };
        if !over_rho && !over_delta {
            return Ok(());
        }
        let rho = rho.as_dyadic().to_decimal_up(SHOWN_DIGITS);
        let problem = match self.left_delta() {
            None => {
                format!("data set \"{dataset}\" has rho {left}{at} left of its cap {most}, and this run costs {rho}")
            }
            Some(left_delta) => format!(
                "data set \"{dataset}\" has rho {left} left of its cap {most} and delta {} left of its {} for claims, and \
                 this run costs rho {rho} and delta {}",
                shown_delta(left_delta),
                shown_delta(cap.claims_delta().unwrap_or(0.0)),
                cost.delta.to_decimal_up(SHOWN_DIGITS),
            ),
        };
        Err(Error::refused(
            problem,
            match over_delta {
                true => {
                    "use a --delta that is left, or an algorithm whose cost is a rho (auto, dp-gd), or set a cap with a \
                     larger --claims-delta; a raise is recorded"
                }
                false if cap.order().is_some() => {
                    "use a smaller --epsilon, or more steps with more noise each, or raise the cap, which is recorded, and so is a cap at \
                     another order, such as the smaller one that fits few rows at a time with little noise (--renyi=ORDER): all runs \
                     then keep the new cap alone"
                }
                false => {
                    "spend at most what is left (--rho or a smaller --epsilon), or raise the cap, which is recorded"
                }
            },
        ))
    }

    /// What the cap still allows of the deltas of claims, rounded downward.
    fn left_delta(&self) -> Option<f64> {
        let most = exact(self.cap.as_ref()?.claims_delta()?).ok()?;
        Some(most.saturating_minus(&self.spent.delta).to_f64_down())
    }

    pub(super) fn summarize(&self, dataset: &DatasetId, head: &Position) -> DatasetSummary {
        DatasetSummary {
            dataset: dataset.clone(),
            adjacency: self.adjacency,
            unit: self.unit.clone(),
            cap: self.cap.clone(),
            spent: self.spent.rho.clone(),
            spent_delta: self.spent.delta.to_f64_up(),
            gaussian: self.spent.gaussian,
            spent_at_order: self.spent.rho_at_order.clone(),
            left: self.left(),
            left_delta: self.left_delta(),
            runs: self.runs,
            completed: self.completed,
            seeded: self.seeded,
            cap_raised: self.cap_raised,
            runs_before_cap: self.runs_before_cap,
            head_hash: head.hash.clone(),
            sequence: head.sequence,
        }
    }
}

/// A number at an order in an entry that should have none, or none where there should be one.
fn misplaced(field: &str) -> Error {
    Error::parameter(field, "does not fit the cap of the data set", "restore a copy of the ledger")
}

/// A decimal that reads back as a float not above `rho`, so that typing it in is allowed.
fn shown_down(rho: &Rho) -> String {
    shown_delta(rho.lower())
}

/// A number with few digits, rounded down.
fn shown_delta(value: f64) -> String {
    // Rounding the negative number up is rounding its size down.
    round::decimal_up(-value, SHOWN_DIGITS).trim_start_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_printed_downwards() {
        for x in [1.3049e-7, 0.1, 1.0 / 3.0, 2.0, 123_456.789, 0.999_999_99] {
            let rho = Rho::from_f64(x).unwrap();
            let typed = Rho::from_f64(shown_down(&rho).parse().unwrap()).unwrap();
            assert!(typed <= rho && typed.upper() >= x * (1.0 - 1e-5), "{x}");
        }
        assert_eq!(shown_down(&Rho::zero()), "0");
        assert_eq!(shown_down(&Rho::from_f64(1.0).unwrap()), "1");
    }
}
