//! Experiments on the public library: each states a claim, measures, fits, and says whether the claim held.
//!
//! `cargo run --release -p rhograd-experiments -- list | NAME [--quick] [--out DIR] | all`; see `experiments/README.md`.

pub mod adjacency;
pub mod amplification;
pub mod audit_power;
pub mod composition;
pub mod corners;
pub mod document;
pub mod erm_rate;
pub mod fit;
pub mod generalization;
pub mod gradient_complexity;
pub mod labels;
pub mod lemmas;
pub mod looks;
pub mod losses;
pub mod marginals;
pub mod mean_concentrated;
pub mod paired;
pub mod persons;
pub mod point_queries;
pub mod progress;
pub mod reconstruction;
pub mod redraw;
pub mod reference;
pub mod results;
pub mod rows;
pub mod sco_rate;
pub mod setup;
pub mod silent;
pub mod sparse_vector;
pub mod summaries;
pub mod tcdp_sampling;
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
pub const EXPERIMENTS: [Experiment; 20] = [
    Experiment { name: "adjacency", claim: adjacency::CLAIM, run: adjacency::run },
    Experiment { name: "amplification", claim: amplification::CLAIM, run: amplification::run },
    Experiment { name: "audit-power", claim: audit_power::CLAIM, run: audit_power::run },
    Experiment { name: "composition", claim: composition::CLAIM, run: composition::run },
    Experiment { name: "erm-rate", claim: erm_rate::CLAIM, run: erm_rate::run },
    Experiment { name: "generalization", claim: generalization::CLAIM, run: generalization::run },
    Experiment { name: "gradient-complexity", claim: gradient_complexity::CLAIM, run: gradient_complexity::run },
    Experiment { name: "labels", claim: labels::CLAIM, run: labels::run },
    Experiment { name: "lemmas", claim: lemmas::CLAIM, run: lemmas::run },
    Experiment { name: "losses", claim: losses::CLAIM, run: losses::run },
    Experiment { name: "marginals", claim: marginals::CLAIM, run: marginals::run },
    Experiment { name: "mean-concentrated", claim: mean_concentrated::CLAIM, run: mean_concentrated::run },
    Experiment { name: "persons", claim: persons::CLAIM, run: persons::run },
    Experiment { name: "point-queries", claim: point_queries::CLAIM, run: point_queries::run },
    Experiment { name: "reconstruction", claim: reconstruction::CLAIM, run: reconstruction::run },
    Experiment { name: "sco-rate", claim: sco_rate::CLAIM, run: sco_rate::run },
    Experiment { name: "sparse-vector", claim: sparse_vector::CLAIM, run: sparse_vector::run },
    Experiment { name: "summaries", claim: summaries::CLAIM, run: summaries::run },
    Experiment { name: "tcdp-sampling", claim: tcdp_sampling::CLAIM, run: tcdp_sampling::run },
    Experiment { name: "utility", claim: utility::CLAIM, run: utility::run },
];
