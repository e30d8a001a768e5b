//! Planted faults: what has gone wrong in other trainers, put into a small one, and found.
//!
//! A [`Parts`] is a trainer of a few lines whose every part is rhograd's own unless a fault replaces it. The checks in
//! [`invariants`] are those of rhograd's tests: each must pass the trainer without a fault and find the one with it. Nothing
//! here is part of the product, and no switch in the product leads here.

#[path = "../../tests/invariants/mod.rs"]
#[allow(missing_docs, reason = "the modules are shared with test programs")]
pub mod invariants;
mod parts;
mod trainer;

pub use parts::{
    BOUND, CLIP_NORM, Honest, HonestOfPersons, LOG2_SCALE, Parts, STEPS, Sums, clipped, clipped_persons, drawn,
    encoded, encoded_persons, lines_of,
};
pub use trainer::{recorded, recorded_files, replays, replays_of_persons, trained};
