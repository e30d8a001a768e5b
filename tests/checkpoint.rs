//! A run that is stopped after any release goes on to the model it would have had, is charged once, and goes on once.

use std::path::{Path, PathBuf};

use rhograd::data::{CsvFile, Schema};
use rhograd::error::{Error, Fallible};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::optim::Settings;
use rhograd::privacy::{Adjacency, DatasetId, Delta, Epsilon};
use rhograd::train::{
    Algorithm, Budget, Candidate, Checkpoint, ModelFile, TrainConfig, load, sha256_hex, train, train_from,
};

struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Desk { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn ledger(&self) -> Ledger {
        Ledger::open_or_create(self.path("ledger.sqlite")).unwrap()
    }

    fn checkpoint(&self) -> PathBuf {
        self.path("checkpoint")
    }

    /// Trains, stopping before the release with number `stop` is heard of.
    fn run(&self, config: &TrainConfig, noise: NoiseSource, stop: Option<u64>) -> Fallible<ModelFile> {
        self.run_about("same data", config, noise, stop)
    }

    fn run_about(
        &self,
        data: &str,
        config: &TrainConfig,
        noise: NoiseSource,
        stop: Option<u64>,
    ) -> Fallible<ModelFile> {
        let (schema, file) = source(config);
        let loaded = load(config, schema, &file, &|_, _| Ok(()))?;
        let mut ledger = self.ledger();
        let checkpoint = Checkpoint::open(&self.checkpoint())?;
        let (trained, paid) = train_from(checkpoint, data, loaded, &mut ledger, noise, &mut |entry| {
            if stop == Some(entry.release) { Err(killed()) } else { Ok(()) }
        })?;
        ledger.complete(paid.reservation(), &sha256_hex(trained.model.to_json().as_bytes()))?;
        Ok(trained.model)
    }

    fn spent(&self, name: &str) -> (f64, u64, u64) {
        let summary = self.ledger().summary(&DatasetId::new(name).unwrap()).unwrap();
        (summary.spent.upper(), summary.runs, summary.completed)
    }
}

fn killed() -> Error {
    Error::numerical("test", "killed")
}

/// Few rows, so that a run takes no time; a label or a number as the configuration asks.
fn source(config: &TrainConfig) -> (Schema, CsvFile) {
    let numeric = matches!(config.algorithm, Algorithm::AdaSsp | Algorithm::BoostedAdaSsp);
    let name = if numeric { "randhie" } else { "fair" };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets");
    let file = CsvFile::open(&folder.join(format!("{name}.csv"))).unwrap();
    (Schema::read(&folder.join(format!("{name}.schema.json"))).unwrap(), file)
}

fn config(algorithm: Algorithm) -> TrainConfig {
    let budget = Budget::Epsilon(Epsilon::new(1.0).unwrap(), Some(Delta::new(1e-5).unwrap()));
    let adjacency = match algorithm {
        Algorithm::Localization | Algorithm::OnePass => Adjacency::ReplaceOne,
        _ => Adjacency::AddRemove,
    };
    let settings = match algorithm {
        Algorithm::DpSgd | Algorithm::FrankWolfe => Settings { steps: Some(6), ..Settings::default() },
        Algorithm::DpGd => Settings { steps: Some(8), ..Settings::default() },
        _ => Settings::default(),
    };
    TrainConfig { algorithm, adjacency, settings, ..TrainConfig::new(budget) }
}

fn seed() -> NoiseSource {
    NoiseSource::insecure_from_seed(5)
}

/// The coefficients, and all that the statement says but for the place in the ledger.
fn told(model: &ModelFile) -> String {
    let mut facts = model.statement.facts.clone();
    facts.ledger = None;
    format!("{:?} {:?} {} {facts:?}", model.intercept, model.features, model.log_sha256)
}

fn uninterrupted(config: &TrainConfig) -> ModelFile {
    let (schema, file) = source(config);
    let loaded = load(config, schema, &file, &|_, _| Ok(())).unwrap();
    train(loaded, &mut Ledger::in_memory().unwrap(), seed(), &mut |_| Ok(())).unwrap().0.model
}

#[test]
fn every_algorithm_goes_on_from_every_release() {
    for algorithm in [
        Algorithm::Whitened,
        Algorithm::DpGd,
        Algorithm::DpSgd,
        Algorithm::AdaSsp,
        Algorithm::BoostedAdaSsp,
        Algorithm::Newton,
        Algorithm::NewtonDoubleNoise,
        Algorithm::DpFtrl,
        Algorithm::Localization,
        Algorithm::OnePass,
        Algorithm::OutputPerturbation,
        Algorithm::ObjectivePerturbation,
        Algorithm::FrankWolfe,
    ] {
        let config = config(algorithm);
        let whole = uninterrupted(&config);
        let releases: u64 = whole.statement.facts.charges().iter().map(|charge| charge.count()).sum();
        for stop in [1, 2, 3, releases / 2, releases - 1, releases] {
            let desk = Desk::new();
            let stop = stop.clamp(1, releases);
            assert!(desk.run(&config, seed(), Some(stop)).is_err());
            // With the same seed, noise by number is the same: going on changes nothing at all.
            let model = desk.run(&config, seed(), None).unwrap();
            assert_eq!(told(&model), told(&whole), "{} stopped at {stop}", algorithm.name());
            let (spent, runs, completed) = desk.spent(&model.statement.facts.dataset);
            assert_eq!((runs, completed), (1, 1));
            let cost = rhograd::privacy::total_rho(&whole.statement.facts.charges()).unwrap().upper();
            assert_eq!(spent, cost, "charged once");
        }
    }
}

#[test]
fn choices_among_candidates_go_on_too() {
    for grid in ["steps=4,8", "steps=2,3,4,5,6,7,8,9"] {
        let bare = config(Algorithm::DpGd);
        let config = TrainConfig { tune: Candidate::grid(grid, &bare).unwrap(), ..bare };
        let whole = uninterrupted(&config);
        for stop in [1, 2] {
            let desk = Desk::new();
            assert!(desk.run(&config, seed(), Some(stop)).is_err());
            assert_eq!(told(&desk.run(&config, seed(), None).unwrap()), told(&whole));
        }
    }
}

#[test]
fn released_values_are_read_and_not_drawn_again() {
    let config = config(Algorithm::DpGd);
    let desk = Desk::new();
    let fresh = || NoiseSource::from_os().unwrap();
    assert!(desk.run(&config, fresh(), Some(6)).is_err());
    let lines = |desk: &Desk| -> Vec<String> {
        std::fs::read_to_string(desk.checkpoint()).unwrap().lines().map(str::to_owned).collect()
    };
    let before = lines(&desk);
    assert_eq!(before.len(), 7, "a header and six releases, the last of which nobody heard of");
    // A stop in the middle of a line: the value in it was never seen, and is drawn again.
    let torn = std::fs::read_to_string(desk.checkpoint()).unwrap();
    std::fs::write(desk.checkpoint(), &torn[..torn.len() - 9]).unwrap();
    assert!(desk.run(&config, fresh(), Some(8)).is_err());
    let after = lines(&desk);
    assert_eq!(after[..6], before[..6]);
    assert!(after.len() > 7 && after[6] != before[6], "fresh noise");
    desk.run(&config, fresh(), None).unwrap();
    assert_eq!(desk.spent("fair").1, 1);
}

#[test]
fn a_run_goes_on_only_as_what_it_was_and_never_backwards() {
    let config = config(Algorithm::DpGd);
    let desk = Desk::new();
    assert!(desk.run(&config, seed(), Some(3)).is_err());
    let early = std::fs::read(desk.checkpoint()).unwrap();
    let refused = |desk: &Desk, data: &str, config: &TrainConfig, noise: NoiseSource, why: &str| {
        let message = desk.run_about(data, config, noise, None).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    };
    let other = TrainConfig { settings: Settings { steps: Some(9), ..Settings::default() }, ..config.clone() };
    refused(&desk, "same data", &other, seed(), "something else");
    refused(&desk, "other data", &config, seed(), "something else");
    refused(&desk, "same data", &config, NoiseSource::from_os().unwrap(), "something else");

    assert!(desk.run(&config, seed(), Some(6)).is_err());
    assert!(desk.run(&config, seed(), Some(7)).is_err());
    let late = std::fs::read(desk.checkpoint()).unwrap();
    // An older copy would make releases a second time.
    std::fs::write(desk.checkpoint(), &early).unwrap();
    refused(&desk, "same data", &config, seed(), "newest checkpoint");
    std::fs::write(desk.checkpoint(), &late).unwrap();
    desk.run(&config, seed(), None).unwrap();
    refused(&desk, "same data", &config, seed(), "released its result already");

    // Another ledger knows nothing of the run.
    let elsewhere = Desk::new();
    std::fs::write(elsewhere.checkpoint(), &late).unwrap();
    refused(&elsewhere, "same data", &config, seed(), "no charge");
}

#[test]
fn a_file_that_is_in_use_or_something_else_is_refused() {
    let desk = Desk::new();
    let first = Checkpoint::open(&desk.checkpoint()).unwrap();
    assert!(Checkpoint::open(&desk.checkpoint()).unwrap_err().to_string().contains("still going"));
    drop(first);
    assert_eq!(Checkpoint::open(&desk.checkpoint()).unwrap().releases(), None);
    // What is no text behind the last whole line is dropped like any other damage.
    let config = config(Algorithm::DpGd);
    assert!(desk.run(&config, seed(), Some(3)).is_err());
    let mut bytes = std::fs::read(desk.checkpoint()).unwrap();
    bytes.extend([0, 255, 254, b'\n', 0]);
    std::fs::write(desk.checkpoint(), bytes).unwrap();
    assert_eq!(Checkpoint::open(&desk.checkpoint()).unwrap().releases(), Some(3));
    // Stopped within the first line.
    std::fs::write(desk.checkpoint(), "{\"format\":\"rhograd-check").unwrap();
    assert_eq!(Checkpoint::open(&desk.checkpoint()).unwrap().releases(), None);
    for text in ["a,b\n1,2\n", "{}\n", "{\"format\":\"rhograd-checkpoint-9\"}\n", "notes"] {
        std::fs::write(desk.checkpoint(), text).unwrap();
        assert!(Checkpoint::open(&desk.checkpoint()).is_err(), "{text:?}");
        assert_eq!(std::fs::read_to_string(desk.checkpoint()).unwrap(), text, "and left as it is");
    }
}
