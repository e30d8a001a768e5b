//! What runs left before still holds: files of earlier versions verify, and a seed gives the same bits.
//!
//! `tests/golden/make_runs.sh` makes the files of a version. Where a change of results is meant,
//! `RHOGRAD_WRITE_GOLDEN=1 cargo test --test public golden_runs::` writes the digests anew, and says so in the changelog.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use rhograd::data::{CsvFile, Protect, Schema};
use rhograd::error::Error;
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::optim::Settings;
use rhograd::preprocess::{CacheUse, RowCache};
use rhograd::privacy::{Adjacency, Delta, Epsilon, NoiseLaw};
use rhograd::train::{
    Algorithm, Budget, Candidate, Checkpoint, Edit, Evidence, ModelFile, ModelKind, TrainConfig, load, load_cached,
    reshape, sha256_hex, train, train_from, verify,
};
use serde_json::Value;

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/runs")
}

fn writes() -> bool {
    std::env::var_os("RHOGRAD_WRITE_GOLDEN").is_some()
}

/// A copy that may be written to.
fn copied(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let to = folder.path().join(Path::new(name).file_name().unwrap());
        std::fs::copy(home().join(name), to).unwrap();
    }
    folder
}

#[test]
fn models_logs_and_ledgers_of_every_version_verify() {
    for version in ["first", "second"] {
        let folder = copied(&[&format!("{version}/ledger.sqlite")]);
        let mut ledger = Ledger::open_existing(folder.path().join("ledger.sqlite")).unwrap();
        ledger.verify().unwrap();
        let mut algorithms = std::collections::BTreeSet::new();
        for entry in std::fs::read_dir(home().join(version)).unwrap() {
            let path = entry.unwrap().path();
            let Some(case) = path.to_str().unwrap().strip_suffix(".model.json") else { continue };
            let (text, log) = (ModelFile::read_text(&path).unwrap(), format!("{case}.log.jsonl"));
            let model = ModelFile::parse(&text, &path).unwrap();
            algorithms.insert(model.statement.facts.algorithm.name());
            let mut log = BufReader::new(std::fs::File::open(log).unwrap());
            let evidence = Evidence { log: Some(&mut log), ledger: Some(&mut ledger), ..Evidence::default() };
            let found = verify(&model, &text, evidence).unwrap();
            let failed: Vec<_> = found.checks.iter().filter(|check| !check.held).collect();
            let as_told = failed.is_empty() && found.by_ledger;
            assert!(as_told, "{case}: {failed:#?}");
        }
        // Sixteen that existed then; "auto" runs as another one, and a tuned run is called so.
        assert!(algorithms.len() >= 16, "{version} has {algorithms:?} only");
    }
}

/// A released model, what was made of it by hand, and their ledger; made once, where they are missing.
const EDITED: [&str; 3] = ["edited/source.model.json", "edited/edited.model.json", "edited/ledger.sqlite"];

const EDITS: &str = r#"[{"edit":"increasing","column":"x"},{"edit":"concave","column":"x"},
    {"edit":"increasing","column":"c","order":["u","v"]}]"#;

#[test]
fn a_model_that_was_edited_before_verifies_with_its_source() {
    if writes() && !home().join(EDITED[1]).exists() {
        let (schema, file) = source("labels");
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger.sqlite");
        let loaded = load(&config(Algorithm::Additive, Settings::default()), schema, &file, &|_, _| Ok(())).unwrap();
        let noise = NoiseSource::from_os().unwrap();
        let (made, _) = train(loaded, &mut Ledger::open_or_create(&ledger).unwrap(), noise, &mut |_| Ok(())).unwrap();
        let edits = serde_json::from_str::<Vec<Edit>>(EDITS).unwrap();
        let (edited, _) = reshape(&made.model, &made.text, &edits).unwrap();
        std::fs::create_dir_all(home().join("edited")).unwrap();
        std::fs::write(home().join(EDITED[0]), &made.text).unwrap();
        std::fs::write(home().join(EDITED[1]), edited.to_json()).unwrap();
        std::fs::copy(ledger, home().join(EDITED[2])).unwrap();
    }
    let folder = copied(&EDITED[2..]);
    let mut ledger = Ledger::open_existing(folder.path().join("ledger.sqlite")).unwrap();
    let read = |name: &str| {
        let text = ModelFile::read_text(&home().join(name)).unwrap();
        (ModelFile::parse(&text, &home().join(name)).unwrap(), text)
    };
    let [(source, source_text), (edited, text)] = [EDITED[0], EDITED[1]].map(read);
    let with = Some((&source, source_text.as_str()));
    let evidence = Evidence { source: with, ledger: Some(&mut ledger), ..Evidence::default() };
    let found = verify(&edited, &text, evidence).unwrap();
    let failed: Vec<_> = found.checks.iter().filter(|check| !check.held).collect();
    assert!(failed.is_empty() && found.by_ledger, "{failed:#?}");
    assert!(verify(&edited, &text, Evidence::default()).unwrap().held());
}

#[test]
fn a_cache_that_was_made_before_is_read() {
    let folder = copied(&["numbers.csv", "numbers.schema.json", "numbers.rows"]);
    let path = |name: &str| folder.path().join(name);
    if writes() {
        let _ = std::fs::remove_file(path("numbers.rows"));
    }
    let (schema, file) =
        (Schema::read(&path("numbers.schema.json")).unwrap(), CsvFile::open(&path("numbers.csv")).unwrap());
    let cache = RowCache::new(&path("numbers.rows"), true).unwrap();
    let loaded =
        load_cached(&config(Algorithm::DpGd, Settings::default()), schema, &file, Some(&cache), &|_, _| Ok(()));
    let used = loaded.unwrap().cache;
    if writes() {
        std::fs::copy(path("numbers.rows"), home().join("numbers.rows")).unwrap();
        return;
    }
    // Renewed means refused with a reason: that is told, never read wrongly.
    assert_eq!(used, Some(CacheUse::Used));
}

fn config(algorithm: Algorithm, settings: Settings) -> TrainConfig {
    let budget = Budget::Epsilon(Epsilon::new(2.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
    TrainConfig { algorithm, settings, ..TrainConfig::new(budget) }
}

fn source(name: &str) -> (Schema, CsvFile) {
    let data = if name == "few" { "labels" } else { name };
    let file = CsvFile::open(&home().join(format!("{data}.csv"))).unwrap();
    (Schema::read(&home().join(format!("{name}.schema.json"))).unwrap(), file)
}

/// Where a run was stopped, and with what it goes on.
const STOPPED: [&str; 2] = ["stopped.checkpoint", "stopped.sqlite"];

#[test]
fn a_run_that_was_stopped_before_goes_on() {
    let config = config(Algorithm::DpGd, Settings { steps: Some(6), ..Settings::default() });
    let seed = || NoiseSource::insecure_from_seed(11);
    let loaded = || {
        let (schema, file) = source("labels");
        load(&config, schema, &file, &|_, _| Ok(())).unwrap()
    };
    let ledger = |folder: &Path| Ledger::open_or_create(folder.join(STOPPED[1])).unwrap();
    if writes() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = Checkpoint::open(&folder.path().join(STOPPED[0])).unwrap();
        let stopped = train_from(checkpoint, "data", loaded(), &mut ledger(folder.path()), seed(), &mut |entry| {
            if entry.release == 4 { Err(Error::numerical("test", "stopped")) } else { Ok(()) }
        });
        assert!(stopped.is_err());
        for name in STOPPED {
            std::fs::copy(folder.path().join(name), home().join(name)).unwrap();
        }
    }
    let folder = copied(&STOPPED);
    let checkpoint = Checkpoint::open(&folder.path().join(STOPPED[0])).unwrap();
    assert_eq!(checkpoint.releases(), Some(4));
    let mut heard = 0;
    // Of another seed: what was released before is read, not drawn.
    let noise = NoiseSource::insecure_from_seed(12);
    let mut ledger = ledger(folder.path());
    let gone_on = train_from(checkpoint, "data", loaded(), &mut ledger, noise, &mut |_| {
        heard += 1;
        Ok(())
    });
    assert_eq!((gone_on.unwrap().model.features.len(), heard), (2, 7));
    let whole = train(loaded(), &mut Ledger::in_memory().unwrap(), seed(), &mut |_| Ok(())).unwrap().0;
    assert_eq!(whole.model.features.len(), 2);
}

/// Every algorithm under every relation, every loss, and every other way to a release.
fn cases() -> Vec<(String, &'static str, TrainConfig)> {
    let mut cases = Vec::new();
    let steps = |steps| Settings { steps: Some(steps), ..Settings::default() };
    for algorithm in Algorithm::ALL {
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            for table in ["labels", "numbers", "few"] {
                for settings in [Settings::default(), steps(5)] {
                    let name = format!("{} {adjacency} {table} {:?}", algorithm.name(), settings.steps);
                    cases.push((name, table, TrainConfig { adjacency, ..config(algorithm, settings) }));
                }
            }
        }
    }
    let models = [
        ("labels", ModelKind::svm()),
        ("classes", ModelKind::Multinomial),
        ("numbers", ModelKind::Ridge),
        ("numbers", ModelKind::huber(None)),
        ("numbers", ModelKind::quantile(None)),
        ("counts", ModelKind::poisson()),
    ];
    for (table, model) in [("classes", ModelKind::Multinomial), ("counts", ModelKind::poisson())] {
        let labels = TrainConfig { model: Some(model), ..config(Algorithm::LabelSums, Settings::default()) };
        let labels = TrainConfig { adjacency: Adjacency::ReplaceOne, ..labels };
        cases.push((format!("label-sums {}", model.name()), table, labels));
    }
    for algorithm in [Algorithm::Whitened, Algorithm::DpGd, Algorithm::DpSgd] {
        for (table, model) in models {
            let config = TrainConfig { model: Some(model), ..config(algorithm, steps(5)) };
            cases.push((format!("{} {}", algorithm.name(), model.name()), table, config));
        }
    }
    let base = || config(Algorithm::DpGd, steps(5));
    let tuned = |grid: &str| TrainConfig { tune: Candidate::grid(grid, &base()).unwrap(), ..base() };
    let variants = [
        ("tuned", "labels", tuned("steps=2,3")),
        ("tuned of many", "labels", tuned("steps=2,3;learning-rate=0.1,0.2,0.4,0.8;momentum=0,0.3,0.6,0.9")),
        ("held out", "numbers", TrainConfig { evaluate_budget: Some(0.1), ..base() }),
        (
            "held out, replace-one",
            "labels",
            TrainConfig { evaluate_budget: Some(0.1), adjacency: Adjacency::ReplaceOne, ..base() },
        ),
        ("discrete", "numbers", TrainConfig { noise: NoiseLaw::DiscreteGaussian, ..base() }),
        ("declared rows", "numbers", TrainConfig { rows: Some(240), ..base() }),
        ("not standardised", "numbers", TrainConfig { standardize: Some(false), ..base() }),
        (
            "sparse",
            "labels",
            TrainConfig { settings: Settings { l1: 0.1, l2: Some(0.1), radius: Some(2.0), ..steps(5) }, ..base() },
        ),
    ];
    cases.extend(variants.map(|(name, table, config)| (name.to_owned(), table, config)));
    cases
}

/// What a seed gives: the digests of coefficients and metrics, and of the log; or that the request is refused.
fn outcome(table: &str, config: &TrainConfig) -> String {
    let (mut schema, file) = source(table);
    if config.algorithm.description().needs.labels_alone {
        schema.protect = Protect::Label;
    }
    let Ok(loaded) = load(config, schema, &file, &|_, _| Ok(())) else { return "refused".into() };
    let noise = NoiseSource::insecure_from_seed(3);
    let model = match train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())) {
        Ok((trained, _)) => trained.model,
        Err(_) => return "failed".into(),
    };
    let mut text: Value = serde_json::from_str(&model.to_json()).unwrap();
    // What explains coefficients came later than they did, and stands last.
    for feature in text["features"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        for later in ["deviations", "shares"] {
            feature.shift_remove(later);
        }
    }
    if let Some(evaluation) = text.get_mut("evaluation").and_then(Value::as_object_mut) {
        evaluation.shift_remove("margins");
    }
    let released = ["intercept", "features", "evaluation"].map(|key| text.get(key).map(Value::to_string));
    format!("{} {}", &sha256_hex(format!("{released:?}").as_bytes())[..16], &model.log_sha256[..16])
}

/// The elementary functions of this machine, which its C library rounds as it likes.
fn arithmetic() -> String {
    let values = (1..2000).map(|i| f64::from(i) / 97.0);
    let bits: Vec<u64> = values
        .flat_map(|x| [x.exp(), x.ln(), x.ln_1p(), (-x).exp_m1(), x.tanh(), x.cos(), x.powf(0.3), x.cbrt()])
        .map(f64::to_bits)
        .collect();
    sha256_hex(format!("{bits:?}").as_bytes())[..16].to_owned()
}

#[test]
fn a_seed_gives_the_bits_that_it_gave() {
    let path = home().join("seeded.txt");
    let made: Vec<String> = std::iter::once(format!("arithmetic: {}", arithmetic()))
        .chain(cases().iter().map(|(name, table, config)| format!("{name}: {}", outcome(table, config))))
        .collect();
    let models = made.iter().filter(|line| !line.ends_with("refused")).count();
    assert!(models > 90, "{models} of {}", made.len());
    if writes() {
        std::fs::write(&path, made.join("\n") + "\n").unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap();
    let known: Vec<&str> = known.lines().collect();
    if known[0] != made[0] {
        eprintln!("the elementary functions of this machine round otherwise: bits are not compared");
        return;
    }
    let changed: Vec<_> = made.iter().zip(&known).filter(|(made, known)| made != *known).collect();
    assert!(changed.is_empty() && made.len() == known.len(), "{changed:#?}");
}
