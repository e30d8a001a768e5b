//! Rows as files, and what is trained on them nearly without noise.

use rhograd::data::{CsvFile, Schema};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::optim::Settings;
use rhograd::privacy::Rho;
use rhograd::train::{Algorithm, Budget, Evidence, ModelFile, ModelKind, TrainConfig, load, train, verify};
use tempfile::NamedTempFile;

/// A file of this text, which is there as long as the first of both is kept.
pub fn file(text: &str) -> (NamedTempFile, CsvFile) {
    let kept = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    std::fs::write(kept.path(), text).unwrap();
    let file = CsvFile::open(kept.path()).unwrap();
    (kept, file)
}

/// Almost without noise, and without a penalty.
pub fn nearly_exact(model: ModelKind, algorithm: Algorithm) -> TrainConfig {
    let budget = Budget::Rho(Rho::from_f64(1e5).unwrap(), None);
    let settings = Settings { l2: Some(1e-9), ..Settings::default() };
    TrainConfig { model: Some(model), algorithm, settings, ..TrainConfig::new(budget) }
}

/// A model whose statement verifies.
pub fn fit(config: &TrainConfig, schema: Schema, file: &CsvFile) -> ModelFile {
    let loaded = load(config, schema, file, &|_, _| Ok(())).unwrap();
    let noise = NoiseSource::insecure_from_seed(3);
    let model = train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap().0.model;
    assert!(verify(&model, &model.to_json(), Evidence::default()).unwrap().held(), "{config:?}");
    model
}
