//! Experiments on the public library: each states a claim, measures, fits, and says whether the claim held.
//!
//! `cargo run --release -p rhograd-experiments -- list | NAME [--quick] [--out DIR] | all`; see `experiments/README.md`.

pub mod fit;
pub mod plot;
pub mod progress;
pub mod reference;
pub mod results;
pub mod setup;
pub mod utility;
pub mod verdict;

use rhograd::error::Fallible;

use setup::Setup;
use verdict::Verdict;

/// One experiment.
pub struct Experiment {
    /// Its name, which is that of its folder.
    pub name: &'static str,
    /// What it claims, in one sentence.
    pub claim: &'static str,
    /// Measures what is missing, fits, draws, and judges.
    pub run: fn(&Setup) -> Fallible<Verdict>,
}

/// Every experiment, in the order of `all`.
pub const EXPERIMENTS: [Experiment; 1] = [Experiment { name: "utility", claim: utility::CLAIM, run: utility::run }];
