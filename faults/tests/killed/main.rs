//! Every planted fault is found by the check that rhograd itself passes; docs/assurance.md has the table.
//!
//! False alarms: the statistical checks here are two of noise, two audits, and nine attacks on sparse vector techniques at `1e-6` each, under fixed seeds.

mod accounting;
mod additive;
mod auditor;
mod books;
mod clipping;
mod flow;
mod labels;
mod names;
mod noise;
mod persons;
mod public;
mod reading;
mod summaries;
mod weights;

use rhograd::privacy::Adjacency;
use rhograd_faults::invariants::neighbours::Table;
use rhograd_faults::{Honest, Parts, recorded, replays};

/// The replay on neighbours of every kind passes the trainer without the fault, and finds the fault for this reason.
#[track_caller]
fn replay_finds(fault: &dyn Parts, reason: &str) {
    replays(&Honest).unwrap();
    let found = replays(fault).unwrap_err();
    assert!(found.contains(reason), "{found}");
}

/// A fault is found with one pair of neighbours made for it; the second has a row more.
#[track_caller]
fn pair_finds(fault: &dyn Parts, [fewer, more]: [Table; 2], reason: &str) {
    recorded(&Honest, Adjacency::AddRemove, &fewer, &more).unwrap();
    let found = recorded(fault, Adjacency::AddRemove, &fewer, &more).unwrap_err();
    assert!(found.contains(reason), "{found}");
}

/// What a sum that moves too far is reported as.
const MOVES: &str = "of the sensitivity";

/// What a row that shows outside the releases is reported as.
const SHOWS: &str = "this shows the row";
