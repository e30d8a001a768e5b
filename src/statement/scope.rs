//! Everything that touched the data.

use serde::{Deserialize, Serialize};

use super::facts::{DIGITS, Facts};
use super::unit;
use crate::num::round::{decimal_down, decimal_up};
use crate::optim::TUNED;
use crate::privacy::{Charge, PrivacyUnit};
use crate::private::{Query, training_rows};

part! {
    /// One kind of access to the data.
    Access {
        /// What was released.
        what: String,
        /// How often.
        count: u64,
        /// Noise standard deviation over l2 sensitivity, rounded downward.
        noise_multiplier: String,
        /// Largest probability with which a unit takes part in one of them; absent where all do.
        sampling_rate: Option<String>,
        /// rho of all of them, rounded upward; absent where rho cannot express the cost.
        rho_upper: Option<String>,
    }
}

part! {
    /// Everything that touched the data.
    ScopeOfUse {
        /// Accesses, in order.
        data_accesses: Vec<Access>,
        /// Preprocessing.
        preprocessing: String,
        /// Hyper-parameter search.
        hyperparameter_search: String,
        /// Pretraining data.
        pretraining_data: String,
        /// Evaluation.
        evaluation_on_private_data: String,
    }
}

impl ScopeOfUse {
    pub(super) fn of(facts: &Facts) -> Self {
        let access = |charge: &Charge| Access {
            what: charge.what().to_owned(),
            count: charge.count(),
            noise_multiplier: decimal_down(charge.noise_multiplier(), DIGITS),
            sampling_rate: charge.sampling_rate().map(|rate| decimal_up(rate, DIGITS)),
            rho_upper: {
                let exact = charge.claim().is_none() && charge.delta() == 0.0;
                exact.then(|| charge.rho().ok()).flatten().map(|rho| rho.as_dyadic().to_decimal_up(DIGITS))
            },
        };
        ScopeOfUse {
            data_accesses: facts.releases.iter().map(|release| access(&release.charge)).collect(),
            preprocessing: {
                let schema = if facts.released_schema.is_some() { "a privately released" } else { "the public" };
                let public = facts.unit == PrivacyUnit::Label;
                let moved = facts.releases.iter().any(|release| matches!(release.query, Query::Moments(_)));
                let counted = facts.releases.iter().any(|release| matches!(release.query, Query::Marginals(_)));
                let released = match (facts.standardized, counted) {
                    (true, _) if public => " and by features, which are public,",
                    (true, _) if facts.private_numeric == Some(0) && !moved => " and by public columns",
                    (true, _) if facts.unit.is_private_cells() => {
                        " and by public columns, and by released moments of others,"
                    }
                    (true, _) => " and by released moments",
                    (false, true) => " and by released counts",
                    (false, false) => "",
                };
                format!("by {schema} schema{released} only")
            },
            hyperparameter_search: hyperparameter_search(facts),
            pretraining_data: "none".into(),
            evaluation_on_private_data: evaluation(facts),
        }
    }
}

/// What was chosen by looking at the rows, and who pays for it.
fn hyperparameter_search(facts: &Facts) -> String {
    let other = match facts.ledger {
        Some(_) => "this run is charged; other runs are charged to the same ledger on their own",
        None => "no ledger: choices made by looking at other runs are not covered",
    };
    match facts.settings.contains_key(TUNED) {
        true => format!("a choice among the candidates listed in the settings, paid for above; {other}"),
        false => other.into(),
    }
}

fn evaluation(facts: &Facts) -> String {
    let (_, units) = unit::nouns(&facts.unit);
    let whole = if facts.unit.is_person() { ", each with all rows" } else { "" };
    match (facts.holdout, facts.rows) {
        (None, _) => "none".into(),
        (Some(share), Some(rows)) if facts.adjacency.row_count_is_public() => {
            let held_out = rows.saturating_sub(training_rows(rows, Some(share)));
            format!("one release, charged above, on {held_out} {units} held out at random{whole}")
        }
        (Some(share), _) => format!("one release, charged above, on {units} held out with probability {share}{whole}"),
    }
}
