//! One algorithm at one epsilon: planned once, trained once a seed.

use rhograd::data::{Column, CsvFile, Schema};
use rhograd::error::{Error, Fallible};
use rhograd::ledger::Ledger;
use rhograd::optim::Relations;
use rhograd::privacy::{Adjacency, Delta, Epsilon};
use rhograd::train::{Algorithm, Budget, Metrics, Plan, TrainConfig, evaluate, load, train};

use super::DELTA;
use super::data::DataSet;
use crate::setup::{Plant, noise};

/// Plans with more steps are not run.
const MAX_STEPS: u64 = 100_000;

/// Steps times rows from which a cell gets fewer seeds, and how many.
const COSTLY: (u64, u64) = (300_000_000, 3);

/// Numeric columns that the exponential mechanism gets: with the intercept, as many coefficients as its grid can hold.
const GRID_COLUMNS: usize = 2;

/// A step size far from the rule's, in units of it: what the planted error uses.
const WRONG_STEP: f64 = 1e-4;

/// A cell that can be trained.
pub(super) struct Planned {
    pub(super) epsilon: f64,
    config: TrainConfig,
    schema: Schema,
    cost: u64,
}

impl Planned {
    /// Plans the cell from public facts.
    ///
    /// # Errors
    /// When the algorithm refuses the data, or needs too many steps.
    pub(super) fn new(data: &DataSet, algorithm: Algorithm, epsilon: f64, plant: Option<Plant>) -> Fallible<Self> {
        let budget = Budget::Epsilon(Epsilon::new(epsilon)?, Some(Delta::new(DELTA)?));
        let adjacency = adjacency_of(algorithm);
        // One delta for data sets of all sizes, the largest of which have more rows than suit it.
        let mut config = TrainConfig { algorithm, adjacency, accept_large_delta: true, ..TrainConfig::new(budget) };
        if plant == Some(Plant::WrongStep) {
            config.settings.learning_rate = Some(WRONG_STEP);
        }
        let schema = schema_for(algorithm, &data.schema);
        let public_len = adjacency.row_count_is_public().then_some(data.rows);
        let plan = Plan::new(&config, &schema, public_len)?;
        let steps = plan.steps();
        if steps > MAX_STEPS {
            let problem = format!("plans {steps} steps, more than {MAX_STEPS}");
            return Err(Error::parameter(algorithm.name(), problem, "skipped"));
        }
        Ok(Planned { epsilon, config, schema, cost: steps * data.rows })
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        self.config.algorithm
    }

    /// How many seeds the cell gets at most.
    pub(super) fn seeds(&self) -> u64 {
        if self.cost > COSTLY.0 { COSTLY.1 } else { u64::MAX }
    }

    /// Trains with one seed and measures on the test file.
    pub(super) fn train(&self, data: &DataSet, seed: u64) -> Fallible<Vec<f64>> {
        let loaded = load(&self.config, self.schema.clone(), &CsvFile::open(&data.train)?, &|_, _| Ok(()))?;
        let (trained, _) = train(loaded, &mut Ledger::in_memory()?, noise(seed), &mut |_| Ok(()))?;
        Ok(match evaluate(&trained.model, &CsvFile::open(&data.test)?)? {
            Metrics::Label { accuracy, auc, .. } => vec![accuracy, auc.unwrap_or(f64::NAN)],
            Metrics::Classes { accuracy, .. } => vec![accuracy],
            Metrics::Number { r2, .. } => vec![r2.unwrap_or(f64::NAN)],
        })
    }
}

/// The number of rows is private wherever the algorithm allows it.
pub(super) fn adjacency_of(algorithm: Algorithm) -> Adjacency {
    let description = algorithm.description();
    match description.relations {
        Relations::Both if !description.needs.row_count => Adjacency::AddRemove,
        Relations::Both | Relations::ReplaceOne { .. } => Adjacency::ReplaceOne,
    }
}

/// The whole schema, or its first numeric columns for the one algorithm that cannot take more.
fn schema_for(algorithm: Algorithm, schema: &Schema) -> Schema {
    let mut schema = schema.clone();
    if algorithm.description().needs.coefficients.is_some_and(|most| most <= GRID_COLUMNS + 1) {
        let features: Vec<(String, bool)> = schema
            .features()
            .map(|(name, column)| (name.to_owned(), matches!(column, Column::Numeric { .. })))
            .collect();
        let kept: Vec<&String> = features.iter().filter(|f| f.1).map(|f| &f.0).take(GRID_COLUMNS).collect();
        schema.ignore.extend(features.iter().map(|f| &f.0).filter(|name| !kept.contains(name)).cloned());
    }
    schema
}
