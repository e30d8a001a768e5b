//! Differentially private convex training with exact arithmetic and an exact zCDP ledger.
//!
//! A data custodian gives a CSV, a public schema and a privacy budget; [`train`] gives back a model, a
//! log of every release with its cumulative rho and epsilon, and a privacy statement that anyone can
//! recompute. Clipping, summation and noise run in integers, so the guarantee holds exactly and not up
//! to rounding; costs are exact rationals; reported numbers are rounded outward.
//!
//! Modules import only from lower floors:
//!
//! | floor | modules |
//! |---|---|
//! | 10 | `cli` |
//! | 9 | `report`, pages for others; [`formats`], JSON Schemas of files |
//! | 8 | [`audit`], [`schema_draft`] |
//! | 7 | [`train`] |
//! | 6 | [`statement`] |
//! | 5 | [`optim`] |
//! | 4 | [`private`], the gate; [`calculator`] |
//! | 3 | [`ledger`], [`preprocess`], [`statistics`] |
//! | 2 | [`accounting`], [`noise`], [`loss`], [`kernel`], [`solve`], [`data`] |
//! | 1 | [`privacy`], the vocabulary; [`grid`], the integers; `plot`, pictures |
//! | 0 | [`error`], [`num`], [`process`], [`text`] |
//!
//! A model, trained on a file within epsilon 1 and stated:
//!
//! ```
//! use rhograd::prelude::*;
//!
//! let schema = Schema::read("datasets/fair.schema.json".as_ref())?;
//! let file = CsvFile::open("datasets/fair.csv".as_ref())?;
//! let config = TrainConfig::new(Budget::Epsilon(Epsilon::new(1.0)?, None));
//! let loaded = load(&config, schema, &file, &|_, _| Ok(()))?;
//! let (trained, _) = train(loaded, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut |_| Ok(()))?;
//! println!("{}", trained.model.statement.statement);
//! # Ok::<(), Error>(())
//! ```
//!
//! A run with a ledger that lasts, a run that goes on where it was stopped, and the files of model and log:
//!
//! ```no_run
//! use std::path::Path;
//!
//! use rhograd::data::{CsvFile, Schema};
//! use rhograd::ledger::Ledger;
//! use rhograd::noise::NoiseSource;
//! use rhograd::privacy::Epsilon;
//! use rhograd::train::{Budget, Checkpoint, StagedFile, TrainConfig, load, publish_with, train_from};
//! use rhograd::statement::write_log;
//!
//! # fn main() -> rhograd::error::Fallible<()> {
//! let config = TrainConfig::new(Budget::Epsilon(Epsilon::new(1.0)?, None));
//! let schema = Schema::read(Path::new("fair.schema.json"))?;
//! let file = CsvFile::open(Path::new("fair.csv"))?;
//! let loaded = load(&config, schema, &file, &|_, _| Ok(()))?;
//! // Charges, draws, and notes the result; what stops it is made good by doing the same again.
//! let checkpoint = Checkpoint::open(Path::new("fair.checkpoint"))?;
//! let mut ledger = Ledger::open_or_create("fair.ledger.sqlite")?;
//! let trained = train_from(checkpoint.clone(), "", loaded, &mut ledger, NoiseSource::from_os()?, &mut |_| Ok(()))?;
//!
//! let mut model = StagedFile::new(Path::new("fair.model.json"), false)?;
//! model.append(trained.text.as_bytes())?;
//! let mut log = StagedFile::new(Path::new("fair.log.jsonl"), false)?;
//! write_log(&trained.model.statement.facts, &mut |line| log.append(line.as_bytes()))?;
//! publish_with(Some(model), [log])?;
//! checkpoint.remove()?;
//! # Ok(())
//! # }
//! ```
//!
//! The accountant alone:
//!
//! ```
//! use rhograd::accounting::Conversion;
//! use rhograd::privacy::Delta;
//!
//! let epsilon = Conversion::Exact.epsilon(0.5, Delta::new(1e-5)?)?;
//! assert!(epsilon.value() < 4.378);
//! # Ok::<(), rhograd::error::Error>(())
//! ```

pub mod accounting;
pub mod audit;
pub mod calculator;
#[cfg(feature = "cli")]
pub mod cli;
pub mod data;
pub mod error;
pub mod formats;
pub mod grid;
pub mod kernel;
pub mod ledger;
pub mod loss;
mod model_kind;
pub mod noise;
pub mod num;
pub mod optim;
mod partial;
#[cfg(feature = "plot")]
pub mod plot;
pub mod preprocess;
pub mod privacy;
pub mod private;
pub mod process;
#[cfg(feature = "plot")]
pub mod report;
pub mod schema_draft;
pub mod solve;
pub mod statement;
pub mod statistics;
pub mod summary;
pub mod text;
pub mod train;

/// What its public types are made of, in the version that they need.
pub use ndarray;

/// What a program that trains, or adds an algorithm of its own, writes first.
///
/// A schema made in code, for [`SchemaBuilder`](prelude::SchemaBuilder):
///
/// ```
/// use rhograd::prelude::*;
///
/// let schema: Fallible<Schema> = SchemaBuilder::regression("survey", "wage", 0.0, 100.0).numeric("age", 18.0, 90.0).build();
/// let settings = Settings { steps: Some(8), ..Settings::default() };
/// let config = TrainConfig {
///     adjacency: Adjacency::ReplaceOne,
///     algorithm: Algorithm::DpGd,
///     model: Some(ModelKind::Linear),
///     settings,
///     ..TrainConfig::new(Budget::Rho(Rho::from_f64(0.1)?, Some(Delta::new(1e-6)?)))
/// };
/// config.check(&schema?)?;
/// # Ok::<(), Error>(())
/// ```
///
/// A loss of one's own, of which nothing but a table meets rows:
///
/// ```
/// use rhograd::prelude::*;
///
/// let absolute = OwnLoss::of_residual("absolute", f64::abs, f64::signum)?;
/// assert_eq!(ModelKind::Own(absolute).name(), "own");
/// # Ok::<(), Error>(())
/// ```
///
/// An algorithm of one's own, whole:
///
/// ```
#[doc = include_str!("../examples/own_algorithm.rs")]
/// ```
pub mod prelude {
    pub use crate::data::{CsvFile, Schema, SchemaBuilder};
    pub use crate::error::{Error, Fallible};
    pub use crate::ledger::Ledger;
    pub use crate::loss::{Objective, OwnLoss};
    pub use crate::noise::NoiseSource;
    pub use crate::optim::{Algorithm, ClippedPlan, Fitted, Optimizer, Planned, Problem, Settings, Start};
    pub use crate::privacy::{Adjacency, Delta, Epsilon, Rho};
    pub use crate::private::{Gradient, LoggedRun, PrivateDataset};
    pub use crate::train::{Budget, Metrics, ModelKind, TrainConfig, evaluate, load, load_with, train};
}
