//! From a configuration to a released model: plan, charge, train, write, verify, predict.

mod checkpoint;
mod config;
mod draft;
mod evaluate;
mod files;
mod kind;
mod load;
mod log;
mod model;
mod plan;
mod predict;
mod rehearse;
mod response;
mod run;
mod statement;
mod tune;
mod verify;

pub use checkpoint::Checkpoint;
pub use config::{Algorithm, Budget, TrainConfig, default_delta};
pub use draft::{DraftRequest, Drafted, draft_privately};
pub use evaluate::{Metrics, Own, evaluate};
pub use files::{StagedFile, sha256_hex};
pub use kind::ModelKind;
pub use load::{Loaded, load, load_cached, load_with, load_within};
pub use log::LogEntry;
pub use model::{Coefficient, Feature, ModelFile, Target};
pub use plan::{Plan, Planner};
pub use predict::{Predictions, predict};
pub use rehearse::Rehearsal;
pub use run::{Trained, train, train_from};
pub use statement::{Facts, Guarantee, LedgerFacts, ReleaseFacts, Statement};
pub use tune::{Candidate, DEFAULT_GRID};
pub use verify::{Check, verify};
