//! A run that is stopped after any release goes on to the model it would have had, is charged once, and goes on once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rhograd::data::{CsvFile, Protect, Schema};
use rhograd::error::{Error, Fallible};
use rhograd::ledger::{Ledger, Record};
use rhograd::loss::OwnLoss;
use rhograd::noise::NoiseSource;
use rhograd::optim::Settings;
use rhograd::privacy::{DatasetId, Delta, Epsilon};
use rhograd::train::{
    Algorithm, Budget, Candidate, Checkpoint, ModelFile, ModelKind, TrainConfig, finish, load, sha256_hex, train,
    train_from,
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
        let trained = train_from(checkpoint.clone(), data, loaded, &mut ledger, noise, &mut |entry| {
            if stop == Some(entry.release) { Err(killed()) } else { Ok(()) }
        })?;
        checkpoint.remove()?;
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
    let mut schema = Schema::read(&folder.join(format!("{name}.schema.json"))).unwrap();
    if config.algorithm.description().needs.labels_alone {
        schema.protect = Protect::Label;
    }
    (schema, file)
}

fn config(algorithm: Algorithm) -> TrainConfig {
    let budget = Budget::Epsilon(Epsilon::new(1.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
    let adjacency = algorithm.description().relations.all()[0];
    let settings = match algorithm {
        Algorithm::DpSgd | Algorithm::FrankWolfe | Algorithm::DpGdTheory => {
            Settings { steps: Some(6), ..Settings::default() }
        }
        Algorithm::DpGd => Settings { steps: Some(8), ..Settings::default() },
        _ => Settings::default(),
    };
    let rows = algorithm.description().needs.row_count.then_some(6_366);
    TrainConfig { algorithm, adjacency, settings, rows, ..TrainConfig::new(budget) }
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
    // A grid of models is searched over fewer columns than these data have.
    let fits = |it: &Algorithm| it.description().needs.coefficients.is_none_or(|most| most > 8);
    for algorithm in Algorithm::ALL.into_iter().filter(fits) {
        let config = config(algorithm);
        let whole = uninterrupted(&config);
        let releases: u64 = whole.statement.facts.charges().iter().map(|charge| charge.count()).sum();
        let stops = [1, 2, 3, releases / 2, releases - 1, releases].map(|stop| stop.clamp(1, releases));
        for stop in BTreeSet::from(stops) {
            let desk = Desk::new();
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
    assert_eq!(before.len(), 8, "a header, the charge and six releases, the last of which nobody heard of");
    // A stop in the middle of a line: the value in it was never seen, and is drawn again.
    let torn = std::fs::read_to_string(desk.checkpoint()).unwrap();
    std::fs::write(desk.checkpoint(), &torn[..torn.len() - 9]).unwrap();
    assert!(desk.run(&config, fresh(), Some(8)).is_err());
    let after = lines(&desk);
    assert_eq!(after[..7], before[..7]);
    assert!(after.len() > 8 && after[7] != before[7], "fresh noise");
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
    // A copy that was made before the result was there would draw another one.
    std::fs::write(desk.checkpoint(), &late).unwrap();
    refused(&desk, "same data", &config, seed(), "released its result already");

    // Another ledger knows nothing of the run.
    let elsewhere = Desk::new();
    std::fs::write(elsewhere.checkpoint(), &late).unwrap();
    refused(&elsewhere, "same data", &config, seed(), "no charge");
}

#[test]
fn a_run_with_a_loss_from_outside_goes_on_with_the_same_table_alone() {
    let with = |strength: f64| {
        let slope = move |t: f64, y: f64| strength / (1.0 + (-t).exp()) - strength * y;
        let value = move |t: f64, y: f64| strength * (t.max(0.0) + (-t.abs()).exp().ln_1p() - y * t);
        let model = ModelKind::Own(OwnLoss::of_label("mine", value, slope).unwrap());
        TrainConfig { model: Some(model), ..config(Algorithm::DpGd) }
    };
    let (desk, whole) = (Desk::new(), uninterrupted(&with(1.0)));
    assert!(desk.run(&with(1.0), seed(), Some(3)).is_err());
    let message = desk.run(&with(1.5), seed(), None).unwrap_err().to_string();
    assert!(message.contains("something else"), "{message}");
    let model = desk.run(&with(1.0), seed(), None).unwrap();
    assert_eq!(told(&model), told(&whole));
    assert_eq!(desk.spent("fair").1, 1);
}

#[test]
fn a_file_that_is_in_use_or_something_else_is_refused() {
    let desk = Desk::new();
    let config = config(Algorithm::DpGd);
    assert_eq!(Checkpoint::open(&desk.checkpoint()).unwrap().releases(), None);
    assert!(!desk.checkpoint().exists(), "nothing is made before there is something to keep");
    assert!(desk.run(&config, seed(), Some(2)).is_err());
    let first = Checkpoint::open(&desk.checkpoint()).unwrap();
    assert!(Checkpoint::open(&desk.checkpoint()).unwrap_err().to_string().contains("still going"));
    drop(first);
    std::fs::remove_file(desk.checkpoint()).unwrap();
    // What is no text behind the last whole line is dropped like any other damage.
    let desk = Desk::new();
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

/// What the only run of the ledger is noted to have released.
fn noted(desk: &Desk) -> Vec<String> {
    let mut ledger = desk.ledger();
    let entries = (1..).map_while(|sequence| ledger.entry(sequence).unwrap());
    let complete = entries.filter_map(|entry| match entry.record {
        Record::Complete { artefact_sha256, .. } => Some(artefact_sha256),
        _ => None,
    });
    complete.collect()
}

/// Leaves a run of this algorithm that was stopped with its result on the disk, before the ledger could note it.
fn unnoted(config: &TrainConfig, noise: NoiseSource) -> Desk {
    let desk = Desk::new();
    let (schema, file) = source(config);
    let loaded = load(config, schema, &file, &|_, _| Ok(())).unwrap();
    let mut ledger = desk.ledger();
    let last: u64 = loaded.plan().charges().iter().map(|charge| charge.count()).sum();
    let checkpoint = Checkpoint::open(&desk.checkpoint()).unwrap();
    let result = train_from(checkpoint, "same data", loaded, &mut ledger, noise, &mut |entry| {
        if entry.release == last {
            // The ledger is gone when the run ends: what it had open lies nowhere any more.
            std::fs::rename(desk.path("ledger.sqlite"), desk.path("elsewhere.sqlite")).unwrap();
            std::fs::create_dir(desk.path("ledger.sqlite-journal")).unwrap();
        }
        Ok(())
    });
    let message = result.err().unwrap();
    assert_eq!(message.exit_code(), 2);
    let message = message.to_string();
    assert!(message.contains("the run was charged: rho ") && message.contains("the same command"), "{message}");
    drop(ledger);
    std::fs::remove_dir(desk.path("ledger.sqlite-journal")).unwrap();
    std::fs::rename(desk.path("elsewhere.sqlite"), desk.path("ledger.sqlite")).unwrap();
    desk
}

#[test]
fn what_was_finished_is_the_only_result_whatever_drew_it() {
    let fresh = || NoiseSource::from_os().unwrap();
    let bare = config(Algorithm::DpGd);
    let tuned = TrainConfig { tune: Candidate::grid("steps=2,3,4,5,6,7,8,9", &bare).unwrap(), ..bare.clone() };
    let held_out = TrainConfig { evaluate_budget: Some(0.2), ..bare.clone() };
    let fits = |it: &Algorithm| it.description().needs.rows_at_hand;
    let algorithms = Algorithm::ALL.into_iter().filter(fits);
    for config in [bare, tuned, held_out].into_iter().chain(algorithms.map(config)) {
        let desk = unnoted(&config, fresh());
        assert!(noted(&desk).is_empty());
        let (schema, _) = source(&config);
        let publish = |secret| {
            let checkpoint = Checkpoint::open(&desk.checkpoint()).unwrap();
            assert!(checkpoint.is_finished());
            finish(&checkpoint, &config, &schema, secret, &mut desk.ledger()).map(|trained| trained.unwrap().text)
        };
        // No row, and no noise: the same bytes each time, noted once.
        assert!(publish(false).is_err_and(|error| error.to_string().contains("something else")));
        let text = publish(true).unwrap();
        assert_eq!(publish(true).unwrap(), text);
        assert_eq!(noted(&desk), [sha256_hex(text.as_bytes())]);
        assert_eq!(desk.run(&config, fresh(), None).unwrap().to_json(), text, "also with the rows at hand");
        assert_eq!((desk.spent(&schema.name).1, desk.spent(&schema.name).2), (1, 1));
    }
}

#[test]
fn another_result_than_the_one_that_is_noted_stays_unseen() {
    let config = config(Algorithm::DpFtrl);
    let desk = unnoted(&config, NoiseSource::from_os().unwrap());
    let (schema, _) = source(&config);
    let run = (1..).find_map(|sequence| match desk.ledger().entry(sequence).unwrap().unwrap().record {
        Record::Reserve { run, .. } => Some(run),
        _ => None,
    });
    let other = unnoted(&config, NoiseSource::from_os().unwrap());
    // As if a copy of the checkpoint had gone on elsewhere and ended first.
    std::fs::copy(desk.checkpoint(), desk.path("copy")).unwrap();
    desk.run(&config, NoiseSource::from_os().unwrap(), None).unwrap();
    let text = std::fs::read_to_string(desk.path("copy")).unwrap();
    let beginning: Vec<&str> = text.lines().take(2).collect();
    std::fs::write(desk.checkpoint(), beginning.join("\n") + "\n").unwrap();
    let refused = desk.run(&config, NoiseSource::from_os().unwrap(), None).unwrap_err();
    assert!(refused.to_string().contains("released its result already"), "{refused}");
    // The ledger of another run holds no charge for it.
    std::fs::copy(desk.path("copy"), desk.checkpoint()).unwrap();
    let checkpoint = Checkpoint::open(&desk.checkpoint()).unwrap();
    let refused = finish(&checkpoint, &config, &schema, true, &mut other.ledger()).err().unwrap();
    assert!(run.is_some() && refused.to_string().contains("no charge"), "{refused}");
}

/// A copy of a checkpoint beside another ledger, where the same request was charged, too.
#[test]
fn a_result_is_not_published_by_a_ledger_without_its_charge() {
    let config = config(Algorithm::DpFtrl);
    let fresh = || NoiseSource::from_os().unwrap();
    let desk = unnoted(&config, fresh());
    let finished = std::fs::read_to_string(desk.checkpoint()).unwrap();
    let elsewhere = Desk::new();
    elsewhere.run(&config, fresh(), None).unwrap();
    std::fs::write(elsewhere.checkpoint(), finished.lines().next().unwrap().to_owned() + "\n").unwrap();
    assert!(elsewhere.run(&config, fresh(), Some(1)).is_err());
    assert_eq!(elsewhere.spent("fair").1, 2);
    // That ledger holds charges, of runs with other names: one that it did not hold was drawn anew.
    std::fs::write(elsewhere.checkpoint(), finished).unwrap();
    let checkpoint = Checkpoint::open(&elsewhere.checkpoint()).unwrap();
    let refused = finish(&checkpoint, &config, &source(&config).0, true, &mut elsewhere.ledger()).err().unwrap();
    assert!(refused.to_string().contains("no charge"), "{refused}");
    assert_eq!(noted(&elsewhere).len(), 1);
}

#[test]
fn a_run_that_is_stopped_before_its_charge_is_noted_down_is_charged_once() {
    let config = config(Algorithm::DpGd);
    let desk = Desk::new();
    assert!(desk.run(&config, seed(), Some(1)).is_err());
    // As a kill leaves it between the charge and the line that says where it stands.
    let text = std::fs::read_to_string(desk.checkpoint()).unwrap();
    std::fs::write(desk.checkpoint(), text.lines().next().unwrap().to_owned() + "\n").unwrap();
    let whole = uninterrupted(&config);
    assert_eq!(told(&desk.run(&config, seed(), None).unwrap()), told(&whole));
    assert_eq!(desk.spent(&whole.statement.facts.dataset).1, 1);
    // And between the first line and the charge.
    std::fs::write(desk.checkpoint(), text.lines().next().unwrap().to_owned() + "\n").unwrap();
    let elsewhere = Desk::new();
    std::fs::copy(desk.checkpoint(), elsewhere.checkpoint()).unwrap();
    elsewhere.run(&config, seed(), None).unwrap();
    assert_eq!(elsewhere.spent(&whole.statement.facts.dataset).1, 1);
}

#[test]
fn checkpoints_of_the_first_format_are_refused_with_the_cure() {
    let config = config(Algorithm::DpGd);
    let desk = Desk::new();
    assert!(desk.run(&config, seed(), Some(4)).is_err());
    let text = std::fs::read_to_string(desk.checkpoint()).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let header = serde_json::json!({"format": "rhograd-checkpoint-1", "run": lines[0]["run"],
        "position": lines[1]["charged"], "request_sha256": lines[0]["work_sha256"]});
    std::fs::write(desk.checkpoint(), format!("{header}\n")).unwrap();
    let refused = desk.run(&config, seed(), None).unwrap_err().to_string();
    assert!(refused.contains("earlier version") && refused.contains("delete the file"), "{refused}");
    assert_eq!(desk.spent("fair").1, 1);
    assert!(desk.checkpoint().exists());
}

#[test]
fn long_runs_keep_their_result_alone() {
    let bare = config(Algorithm::DpGd);
    let config = TrainConfig { settings: Settings { steps: Some(10_001), ..Settings::default() }, ..bare };
    let desk = Desk::new();
    assert!(desk.run(&config, seed(), Some(3)).is_err());
    assert_eq!(Checkpoint::open(&desk.checkpoint()).unwrap().releases(), Some(0));
}
