//! Attacks on a trainer with neighbours made for the purpose, and what they prove about its claim.
//!
//! [`Neighbours`] are two small data sets that differ in one record, or in all rows of one person, crafted so that what differs
//! saturates its clip.
//! [`Worlds`] plans a training run on both. [`attack`] trains many times in each world, learns on some of the runs how to
//! tell the worlds apart, from all [releases](View::Releases) or from the [model](View::Model) alone, and guesses the
//! world of the others. The errors it makes bound from below what the run gives away, with a stated confidence; a
//! bound above the [`Guarantee`] refutes it.
//!
//! [`Campaign`] does all of this for one configuration. [`OneRun`] audits plain clipped sums by a single run with many records,
//! each there or not by a coin of its own.
//!
//! An audit refutes and never certifies. It is worth something where the same attack refutes a trainer with a planted
//! [`Fault`]: too little noise, too wide a clip, or, where persons are the unit, rows clipped one by one; `docs/audit.md` has a table.
//!
//! # Reference
//! Jagielski, Ullman and Oprea 2020; Nasr et al. 2023, "Tight auditing of differentially private machine learning"; Steinke, Nasr
//! and Jagielski 2023, "Privacy auditing with one (1) training run".

mod attack;
mod campaign;
mod canaries;
mod craft;
mod distinguish;
mod draws;
mod fault;
mod guarantee;
mod neighbours;
mod observe;
mod one_run;

pub use attack::{Attack, Verdict, View, attack};
pub use campaign::{Campaign, Finding};
pub use draws::Draws;
pub use fault::Fault;
pub use guarantee::{Guarantee, Shown};
pub use neighbours::{Instance, Neighbours, Worlds};
pub use one_run::{OneRun, OneRunFinding, Reading};
