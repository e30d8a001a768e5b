//! From a configuration to a released model: plan, charge, train, write, verify, predict.
//!
//! A look that costs nothing, for the custodian's eyes; then a run, and what its model says:
//!
//! ```
//! use rhograd::prelude::*;
//! use rhograd::train::{
//!     Coefficient, DataCheck, Effect, Feature, Finding, LabelsMet, Loaded, ModelFile, Outlook, Own, Plan, Predictions, Target,
//!     Trained, check, effects, labels_met, predict,
//! };
//!
//! let schema = Schema::read("datasets/fair.schema.json".as_ref())?;
//! let file = CsvFile::open("datasets/fair.csv".as_ref())?;
//! let config = TrainConfig::new(Budget::Epsilon(Epsilon::new(1.0)?, None));
//! let looked: DataCheck = check(Some(&config), &schema, &file, &|_, _| Ok(()))?;
//! let outlook: Option<&Outlook> = looked.outlook.as_ref();
//! assert!(outlook.is_some_and(|outlook| outlook.steps > 0) && !looked.findings.iter().any(Finding::is_grave));
//!
//! let loaded: Loaded = load(&config, schema, &file, &|_, _| Ok(()))?;
//! let plan: &Plan = loaded.plan();
//! assert_eq!((plan.model, plan.algorithm), (ModelKind::Logistic, Algorithm::Whitened));
//! let trained: Trained = train(loaded, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut |_| Ok(()))?.0;
//!
//! let model: &ModelFile = &trained.model;
//! assert!(matches!(&model.target, Target::Label { positive, .. } if positive == "1"));
//! assert!(matches!(&model.features[0], Feature::Numeric { coefficient: Coefficient::One(_), .. }));
//! for Effect { name, value, .. } in effects(model) {
//!     println!("{name} {value}");
//! }
//!
//! let predictions: Predictions = predict(model, &file)?;
//! assert_eq!(predictions.rows().count(), 6366);
//! let met: LabelsMet = labels_met(model, &file)?;
//! assert!(met.unknown.texts.is_empty());
//! match evaluate(model, &file)? {
//!     Metrics::Label { accuracy, .. } | Metrics::Classes { accuracy, .. } => assert!(accuracy > 0.5),
//!     Metrics::Number { own: Own { pinball, .. }, .. } => println!("{pinball:?}"),
//! }
//! # Ok::<(), Error>(())
//! ```
//!
//! A family by its name, as command line and Python ask for it:
//!
//! ```
//! use rhograd::train::{FAMILIES, Family, FamilyParameters, ModelKind};
//!
//! let huber: Option<&Family> = FAMILIES.iter().find(|family| family.name == "huber");
//! let given = FamilyParameters { huber_threshold: Some(2.0), ..FamilyParameters::default() };
//! assert_eq!(huber.map(|family| (family.model)(&given)), Some(ModelKind::huber(Some(2.0))));
//! ```
//!
//! A run that can be stopped, whose files appear whole or not at all, and what others check:
//!
//! ```
//! use rhograd::prelude::*;
//! use rhograd::train::{
//!     Check, Checkpoint, ChargeNotice, Evidence, MAX_CLAIMS, MAX_LOG_LINES, Notice, PublicKey, SecretKey, Signature,
//!     SignedLedger, StagedFile, Verified, train_from, verify,
//! };
//!
//! let folder = tempfile::tempdir().unwrap();
//! let place = |name: &str| folder.path().join(name);
//! let file = CsvFile::open("datasets/fair.csv".as_ref())?;
//! let schema = Schema::read("datasets/fair.schema.json".as_ref())?;
//! let loaded = load(&TrainConfig::new(Budget::Rho(Rho::from_f64(0.1)?, None)), schema, &file, &|_, _| Ok(()))?;
//!
//! let checkpoint = Checkpoint::open(&place("fair.checkpoint"))?;
//! checkpoint.on_charge(|notice| {
//!     if let Notice::Charged(ChargeNotice { run, rho, .. }) = notice {
//!         println!("run {run} was charged rho {rho}");
//!     }
//! });
//! let mut ledger = Ledger::open_or_create(place("fair.ledger.sqlite"))?;
//! let trained = train_from(checkpoint.clone(), "", loaded, &mut ledger, NoiseSource::from_os()?, &mut |_| Ok(()))?;
//! let mut staged = StagedFile::new(&place("fair.model.json"), false)?;
//! staged.append(trained.text.as_bytes())?;
//! staged.publish()?;
//! checkpoint.remove()?;
//!
//! SecretKey::generate()?.write(&place("custodian.key"))?;
//! let signature = Signature::of(&trained.model, &trained.text, &mut ledger, &SecretKey::read(&place("custodian.key"))?)?;
//! let signed: Option<&SignedLedger> = signature.ledger.as_ref();
//! assert!(signed.is_some());
//! let public = PublicKey::read(&place("custodian.key.pub"))?;
//! let evidence = Evidence {
//!     log: None,
//!     ledger: Some(&mut ledger),
//!     signature: Some((&signature, &public)),
//!     source: None,
//!     most_log_lines: MAX_LOG_LINES,
//!     most_claims: MAX_CLAIMS,
//! };
//! let verified: Verified = verify(&trained.model, &trained.text, evidence)?;
//! assert!(verified.authenticated() && verified.checks.iter().all(|Check { held, .. }| *held));
//! # Ok::<(), Error>(())
//! ```
//!
//! Candidates of a grid, an optimizer of one's own, and a run that is paid for twice and made twice:
//!
//! ```
//! use rhograd::prelude::*;
//! use rhograd::train::{Candidate, Planner, Rehearsal, Rehearsed};
//!
//! let config = TrainConfig::new(Budget::Rho(Rho::from_f64(0.1)?, None));
//! assert_eq!(Candidate::grid("algorithm=whitened,dp-gd;steps=8,16", &config)?.len(), 4);
//!
//! let planner: &Planner<'_> = &|problem| (Algorithm::DpGd.description().plan)(problem);
//! let schema = Schema::read("datasets/fair.schema.json".as_ref())?;
//! let file = CsvFile::open("datasets/fair.csv".as_ref())?;
//! let loaded = load_with(&config, schema, &file, &|_, _| Ok(()), planner)?;
//! let mut twice = Rehearsal::charge(&loaded, &mut Ledger::in_memory()?, NoiseSource::from_os()?, 2)?;
//! let (first, second): (Rehearsed, Rehearsed) = (twice.run(&mut |_| Ok(()))?, twice.run(&mut |_| Ok(()))?);
//! assert!(first.weights != second.weights && twice.run(&mut |_| Ok(())).is_err());
//! # Ok::<(), Error>(())
//! ```

mod calibration;
mod check;
mod checkpoint;
mod config;
mod covariance;
mod edits;
mod effects;
mod evaluate;
mod explain;
mod files;
mod findings;
mod load;
mod model;
mod plan;
mod predict;
mod predict_table;
mod publish;
mod rehearse;
mod reshape;
mod response;
mod run;
mod schema_account;
mod sign;
#[cfg(test)]
mod streams;
mod tune;
mod verify;

pub use crate::model_kind::{FAMILIES, Family, FamilyParameters, ModelKind};
pub use crate::optim::Algorithm;
pub use calibration::{Reliability, reliability};
pub use check::{DataCheck, Outlook, check, check_parts, check_table};
pub(crate) use checkpoint::Asked;
pub use checkpoint::{ChargeNotice, Checkpoint, Notice};
pub(crate) use config::check_delta;
pub use config::{Budget, TrainConfig, default_delta, is_large};
pub use covariance::Covariance;
pub use edits::{Edit, Reshaped};
pub use effects::{Effect, effect_on, effects};
pub use evaluate::{LabelsMet, Metrics, Own, evaluate, labels_met};
pub use explain::{Bands, Curve, Explanation, Pair, Shape};
pub use files::{StagedFile, check_destination, sha256_hex, sha256_of_file};
pub use findings::{Finding, MOSTLY, findings, summary};
pub use load::{
    Loaded, check_request, load, load_cached, load_encoded, load_remote, load_table, load_with, load_within,
};
pub use model::{Coefficient, Feature, MAX_MODEL, ModelFile, Target};
pub use plan::{Plan, Planner};
pub use predict::{Predictions, contributions, contributors, predict, predict_explaining, predict_keeping};
pub use predict_table::{
    explain_table, predict_matrix, predict_matrix_into, predict_sides, predict_table, predicts_by_rows,
};
pub use publish::{check_unsigned, publish_with};
pub use rehearse::{Rehearsal, Rehearsed};
pub use reshape::{Moved, reshape};
pub use run::{Trained, finish, train, train_from};
pub(crate) use schema_account::is_counted;
pub use sign::{PublicKey, SecretKey, Signature, SignedLedger};
pub use tune::{Candidate, DEFAULT_GRID};
pub use verify::{Check, Evidence, MAX_CLAIMS, MAX_LOG_LINES, Verified, verify};
