//! Where sampling does pay: real data, few passes, the trainer's own rules for everything but steps and rate.

use std::path::Path;

use rhograd::data::{CsvFile, Schema};
use rhograd::error::{Error, Fallible};
use rhograd::ledger::Ledger;
use rhograd::privacy::{Delta, Epsilon};
use rhograd::train::{Budget, Metrics, TrainConfig, evaluate, load, train};

use super::DELTA;
use super::points::Point;
use crate::setup::noise;

/// Passes that are too few for full batches, and passes that are not; each as full batches and as samples.
pub(super) const FAIR: [[Point; 2]; 2] = [pair(2), pair(100)];

const fn pair(passes: u64) -> [Point; 2] {
    [Point { epsilon: 8.0, passes, one_in: 1 }, Point { epsilon: 8.0, passes, one_in: 50 }]
}

/// Mean logistic loss on the rows that were trained on, of which there are so many more than coefficients that those of
/// other rows would be the same.
pub(super) fn run(point: &Point, seed: u64) -> Fallible<f64> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets");
    let budget = Budget::Epsilon(Epsilon::new(point.epsilon)?, Some(Delta::new(DELTA)?));
    let mut config = TrainConfig { algorithm: point.algorithm(), ..TrainConfig::new(budget) };
    config.settings.steps = Some(point.steps());
    config.settings.sampling_rate = point.sampling_rate();
    let file = CsvFile::open(&folder.join("fair.csv"))?;
    let loaded = load(&config, Schema::read(&folder.join("fair.schema.json"))?, &file, &|_, _| Ok(()))?;
    let (trained, _) = train(loaded, &mut Ledger::in_memory()?, noise(seed), &mut |_| Ok(()))?;
    match evaluate(&trained.model, &file)? {
        Metrics::Label { log_loss: Some(loss), .. } => Ok(loss),
        _ => Err(Error::numerical("amplification", "logistic regression has no log loss")),
    }
}
