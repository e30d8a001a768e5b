//! From a configuration to a released model: plan, charge, train, write, verify, predict.

mod check;
mod checkpoint;
mod config;
mod effects;
mod evaluate;
mod files;
mod findings;
mod load;
mod model;
mod plan;
mod predict;
mod predict_table;
mod publish;
mod rehearse;
mod response;
mod run;
mod schema_account;
mod sign;
#[cfg(test)]
mod streams;
mod tune;
mod verify;

pub use crate::model_kind::ModelKind;
pub use crate::optim::Algorithm;
pub use check::{DataCheck, Outlook, check, check_parts, check_table};
pub(crate) use checkpoint::Asked;
pub use checkpoint::{ChargeNotice, Checkpoint, Notice};
pub(crate) use config::check_delta;
pub use config::{Budget, TrainConfig, default_delta, is_large};
pub use effects::{Effect, effects};
pub use evaluate::{LabelsMet, Metrics, Own, evaluate, labels_met};
pub use files::{StagedFile, check_destination, sha256_hex, sha256_of_file};
pub use findings::{Finding, MOSTLY, findings, summary};
pub use load::{
    Loaded, check_request, load, load_cached, load_encoded, load_remote, load_table, load_with, load_within,
};
pub use model::{Coefficient, Feature, LARGEST_MODEL, ModelFile, Target};
pub use plan::{Plan, Planner};
pub use predict::{Predictions, predict, predict_keeping};
pub use predict_table::predict_table;
pub use publish::{check_unsigned, publish_with};
pub use rehearse::Rehearsal;
pub use run::{Trained, finish, train, train_from};
pub use sign::{PublicKey, SecretKey, Signature, SignedLedger};
pub use tune::{Candidate, DEFAULT_GRID};
pub use verify::{Check, Evidence, MOST_CLAIMS, MOST_LOG_LINES, Verified, verify};
