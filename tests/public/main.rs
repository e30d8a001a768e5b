//! What a user of the library sees: training, files, ledgers, the gate, and the rules of the house.

mod algorithms;
mod architecture;
mod assurance;
mod checkpoint;
mod coordinates;
mod curves;
mod degenerate;
mod docs;
mod draft;
mod explain;
mod files;
mod gate;
mod golden_runs;
mod holdout;
#[cfg(feature = "cli")]
#[path = "../invariants/mod.rs"]
mod invariants;
mod kernel;
mod labels;
mod ledger;
mod missing;
mod misuse;
mod models;
mod objective_profile;
mod offsets;
mod own_loss;
mod own_optimizers;
mod pages;
mod passes;
mod public_columns;
mod remote;
#[cfg(feature = "cli")]
mod side_channels;
mod streaming;
mod summary;
mod supply_chain;
#[path = "../cli/support.rs"]
mod support;
mod tables;
mod training;
mod tune;
mod units;
mod weights;
