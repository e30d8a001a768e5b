//! A folder with what the program itself makes of a small data set: the good files that fuzzed ones are held against.

use std::cell::RefCell;
use std::path::PathBuf;

use rhograd::data::{CsvFile, Schema};
use rhograd::error::Error;
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::optim::Settings;
use rhograd::privacy::{Adjacency, Delta, Epsilon};
use rhograd::train::{Algorithm, Budget, Checkpoint, ModelFile, TrainConfig, load, train_from};

use crate::support::{Folder, SCHEMA, rows};

/// A good record, and another one that a model tells from it.
pub const RECORDS: [&str; 2] = ["1.5,-0.25,u,n,yes", "8.5,0.75,w,n,no"];

pub struct Home {
    pub folder: Folder,
    pub model: ModelFile,
    pub model_text: String,
    pub log: String,
    pub ledger: RefCell<Ledger>,
    /// What the model says of the records.
    pub predictions: [f64; 2],
}

impl Home {
    pub fn new() -> Self {
        let folder = Folder::new();
        folder.write("data.csv", rows(60));
        folder.write("data.schema.json", SCHEMA);
        folder.succeed("train data.csv --epsilon 1 --algorithm dp-gd --steps 2 --out first.model.json");
        folder.succeed("ledger init other.sqlite trial --rho 1");
        folder.succeed("train data.csv --epsilon 1 --algorithm dp-gd --steps 4 --cache data.rows");
        let model = ModelFile::read(&folder.path("data.model.json")).unwrap();
        let (model_text, log) = (folder.text("data.model.json"), folder.text("data.log.jsonl"));
        let ledger = RefCell::new(Ledger::open_existing(folder.path("data.ledger.sqlite")).unwrap());
        let mut home = Home { folder, model, model_text, log, ledger, predictions: [0.0; 2] };
        home.leave_a_checkpoint();
        let path =
            home.write("good.csv", format!("{}{}\n{}\n", crate::support::HEADER, RECORDS[0], RECORDS[1]).as_bytes());
        let file = CsvFile::open(&path).unwrap();
        let predictions = rhograd::train::predict(&home.model, &file).unwrap();
        let values: Vec<f64> = predictions.rows().map(|row| row.unwrap()[0]).collect();
        home.predictions = values.try_into().unwrap();
        assert_ne!(home.predictions[0], home.predictions[1]);
        home
    }

    pub fn schema(&self) -> Schema {
        Schema::read(&self.folder.path("data.schema.json")).unwrap()
    }

    pub fn data(&self) -> CsvFile {
        CsvFile::open(&self.folder.path("data.csv")).unwrap()
    }

    pub fn config() -> TrainConfig {
        let budget = Budget::Epsilon(Epsilon::new(1.0).unwrap(), Some(Delta::new(1e-5).unwrap()));
        let settings = Settings { steps: Some(6), ..Settings::default() };
        TrainConfig {
            algorithm: Algorithm::DpGd,
            adjacency: Adjacency::AddRemove,
            settings,
            ..TrainConfig::new(budget)
        }
    }

    /// A run that stops after a few releases.
    fn leave_a_checkpoint(&self) {
        let loaded = load(&Self::config(), self.schema(), &self.data(), &|_, _| Ok(())).unwrap();
        let checkpoint = Checkpoint::open(&self.folder.path("run.checkpoint")).unwrap();
        let mut ledger = Ledger::open_existing(self.folder.path("other.sqlite")).unwrap();
        let noise = NoiseSource::from_os().unwrap();
        let stopped = train_from(checkpoint, "data", loaded, &mut ledger, noise, &mut |entry| match entry.release {
            4 => Err(Error::numerical("test", "stopped")),
            _ => Ok(()),
        });
        assert!(stopped.is_err());
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.folder.bytes(name)
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        self.folder.write(name, bytes);
        self.folder.path(name)
    }
}
