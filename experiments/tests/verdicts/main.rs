//! The verdict of every experiment holds, and planted errors turn it.

use rhograd_experiments::verdict::{Outcome, Verdict};

mod adjacency;
mod amplification;
mod audit_power;
mod composition;
mod erm_rate;
mod gradient_complexity;
mod labels;
mod losses;
mod marginals;
mod persons;
mod sco_rate;
mod utility;
mod without_steps;

/// A sound run of few measurements: every estimate lies where the claim says, and no interval is outside of it.
fn assert_sound(verdict: &Verdict) {
    assert!(verdict.is_near() && verdict.outcome() != Outcome::Failed, "{}", verdict.text());
}

/// Whether a finding whose quantity begins so failed with its whole interval.
fn failed(verdict: &Verdict, what: &str) -> bool {
    verdict.0.iter().any(|it| it.quantity.starts_with(what) && it.outcome() == Outcome::Failed)
}

/// A planted error makes the claim fail: at least one whole interval lies outside.
fn assert_turned(verdict: &Verdict) {
    assert!(verdict.outcome() == Outcome::Failed && !verdict.is_near(), "{}", verdict.text());
}
