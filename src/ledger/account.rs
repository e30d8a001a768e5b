//! What one data set has spent, and whether the next run fits under its cap.

use super::cap::{Cap, Cost, exact};
use super::record::Position;
use crate::error::{Error, Fallible};
use crate::num::round;
use crate::privacy::{Adjacency, DatasetId, PrivacyUnit, Rho, Scope};

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
    /// The rho that the cap still allows, exactly.
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
    pub(super) runs: u64,
    pub(super) completed: u64,
    pub(super) seeded: u64,
    cap_raised: u64,
    runs_before_cap: u64,
}

impl Account {
    pub(super) fn new(adjacency: Adjacency, unit: PrivacyUnit, cap: Option<Cap>) -> Self {
        let spent = Cost::zero();
        Account { adjacency, unit, cap, spent, runs: 0, completed: 0, seeded: 0, cap_raised: 0, runs_before_cap: 0 }
    }

    /// Whether a cap may take the place of the one before.
    pub(super) fn admit_cap(&self, dataset: &DatasetId, cap: &Cap) -> Fallible<()> {
        if matches!(cap, Cap::Gaussian { .. }) && !self.spent.gaussian {
            return Err(Error::refused(
                format!("data set \"{dataset}\" has runs that were not Gaussian noise on all rows, which no mu covers"),
                "set a cap in zCDP, without --gaussian",
            ));
        }
        Ok(())
    }

    pub(super) fn set_cap(&mut self, cap: Cap) {
        self.cap_raised += u64::from(self.cap.as_ref().is_some_and(|old| cap.raises(old)));
        self.cap = Some(cap);
        self.runs_before_cap = self.runs;
    }

    pub(super) fn charge(&mut self, cost: &Cost, private: bool) {
        self.spent = self.spent.plus(cost);
        self.runs += 1;
        self.seeded += u64::from(!private);
    }

    /// Refuses another relation, another unit, and a cost that the cap does not allow.
    pub(super) fn afford(&self, scope: &Scope, cost: &Cost) -> Fallible<()> {
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
        let Some(cap) = &self.cap else { return Ok(()) };
        if matches!(cap, Cap::Gaussian { .. }) && !cost.gaussian {
            return Err(Error::refused(
                format!(
                    "the cap of data set \"{dataset}\" fixes mu and admits Gaussian noise on all rows alone, and this run \
                     releases something else; rho {} is left of its {}",
                    shown_down(&cap.most_rho().minus(&self.spent.rho)),
                    shown_down(cap.most_rho()),
                ),
                "use an algorithm of full-batch Gaussian steps with --noise normal, or set a cap without --gaussian",
            ));
        }
        let after = self.spent.plus(cost);
        let over_rho = after.rho > *cap.most_rho();
        let over_delta = match cap.claims_delta() {
            Some(most) => after.delta > exact(most)?,
            None => false,
        };
        if !over_rho && !over_delta {
            return Ok(());
        }
        let (left, most) = (shown_down(&cap.most_rho().minus(&self.spent.rho)), shown_down(cap.most_rho()));
        let rho = cost.rho.as_dyadic().to_decimal_up(SHOWN_DIGITS);
        let problem = match self.left_delta() {
            None => format!("data set \"{dataset}\" has rho {left} left of its cap {most}, and this run costs {rho}"),
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
            left: self.cap.as_ref().map(|cap| cap.most_rho().minus(&self.spent.rho)),
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
