//! Training on rows that stay in a file: the same bits as in memory, clean failures, and nothing left behind.

#[cfg(feature = "cli")]
use crate::support;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use rhograd::data::{CsvFile, Estimand, Schema};
use rhograd::error::Fallible;
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::optim::{Settings, settings};
use rhograd::preprocess::{CacheUse, MemoryLimit, RowCache};
use rhograd::privacy::{Adjacency, Delta, Epsilon};
use rhograd::train::{Algorithm, Budget, Candidate, Loaded, TrainConfig, load, load_cached, load_within, train};

const ROWS: usize = 3000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    Label,
    Class,
    Number,
}

struct Trial {
    folder: tempfile::TempDir,
    schema: Schema,
}

/// The fractional part of a multiple of the golden ratio: spread evenly, the same everywhere.
fn spread(i: usize) -> f64 {
    (i as f64 * 0.618_033_988_749_895).fract()
}

/// Whose a row is: mostly one of many with a few rows, in no order; one with very many; nobody.
fn whose(i: usize) -> String {
    match i % 12 {
        2 => "giant".into(),
        7 => ["", "NA", " "][i / 12 % 3].into(),
        _ => format!(" p{} ", (i * i + i / 5) % 701),
    }
}

impl Trial {
    fn new(target: Target, rows: usize) -> Self {
        Trial::made(target, rows, false)
    }

    /// The same rows of persons with one row and more.
    fn of_persons(target: Target, rows: usize) -> Self {
        Trial::made(target, rows, true)
    }

    fn made(target: Target, rows: usize, persons: bool) -> Self {
        let (task, label) = match target {
            Target::Label => (r#""task":"classification","positive":"1","negative":"0""#, ""),
            Target::Class => (r#""task":"classification""#, r#","y":{"type":"categorical","values":["0","1","2"]}"#),
            Target::Number => (r#""task":"regression","target_lower":-3,"target_upper":3"#, ""),
        };
        let unit = if persons { r#""unit":{"column":"who","persons":650,"max_rows":40},"# } else { "" };
        let text = format!(
            r#"{{"name":"t",{task},"target":"y",{unit}"columns":{{"a":{{"type":"numeric","lower":-1,"upper":1}},
            "b":{{"type":"numeric","lower":-1,"upper":1}},"c":{{"type":"categorical","values":["u","v"]}}{label}}}}}"#
        );
        let mut csv = String::from("a,b,c,y\n");
        for i in 0..rows {
            let (a, b) = (2.0 * spread(i) - 1.0, 2.0 * spread(3 * i + 1) - 1.0);
            let t = a - 0.5 * b + spread(7 * i) - 0.5;
            match target {
                Target::Label => writeln!(csv, "{a:.4},{b:.4},{},{}", ["u", "v"][i % 2], u8::from(t > 0.0)),
                Target::Class => {
                    writeln!(csv, "{a:.4},{b:.4},{},{}", ["u", "v"][i % 2], (t > -0.4) as u8 + (t > 0.4) as u8)
                }
                Target::Number => writeln!(csv, "{a:.4},{b:.4},{},{t:.4}", ["u", "v"][i % 2]),
            }
            .unwrap();
        }
        if persons {
            let lines = csv.lines().enumerate();
            let whose = |number: usize| if number == 0 { "who".into() } else { whose(number) };
            csv = lines.map(|(number, line)| format!("{},{line}\n", whose(number))).collect();
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("t.csv"), csv).unwrap();
        Trial { folder, schema: Schema::parse(&text, Path::new("s")).unwrap() }
    }

    fn file(&self) -> CsvFile {
        CsvFile::open(&self.folder.path().join("t.csv")).unwrap()
    }

    fn cache_path(&self) -> PathBuf {
        self.folder.path().join("t.rows")
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn in_memory(&self, config: &TrainConfig) -> Loaded {
        load(config, self.schema.clone(), &self.file(), &|_, _| Ok(())).unwrap()
    }

    /// Loads for streaming, into a cache where there is to be one.
    fn streamed(&self, config: &TrainConfig, segment_bytes: usize, cache: bool) -> Fallible<Loaded> {
        let cache = cache.then(|| RowCache::new(&self.cache_path(), false).unwrap());
        let limit = MemoryLimit::always_streaming(segment_bytes);
        load_within(config, self.schema.clone(), &self.file(), cache.as_ref(), limit, &|_, _| Ok(()))
    }
}

/// Four steps, where they can be set.
pub(crate) fn config(algorithm: Algorithm, adjacency: Adjacency) -> TrainConfig {
    let budget = Budget::Epsilon(Epsilon::new(2.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
    let steps = algorithm.description().takes(&settings::STEPS) && algorithm != Algorithm::Auto;
    let settings = Settings { steps: steps.then_some(4), ..Settings::default() };
    TrainConfig { algorithm, adjacency, settings, ..TrainConfig::new(budget) }
}

/// Model and log, to the last bit; `observe` is called after each release.
fn bits(loaded: Loaded, threads: usize, observe: &mut (dyn FnMut(usize) + Send)) -> (Fallible<String>, Vec<String>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut log = Vec::new();
    let mut ledger = Ledger::in_memory().unwrap();
    let trained = pool.install(|| {
        train(loaded, &mut ledger, NoiseSource::insecure_from_seed(5), &mut |entry| {
            log.push(entry.to_json()?);
            observe(log.len());
            Ok(())
        })
    });
    (trained.map(|(trained, _)| trained.model.to_json()), log)
}

#[track_caller]
fn same(trial: &Trial, config: &TrainConfig, segment_bytes: usize, threads: usize) {
    let (expected, expected_log) = bits(trial.in_memory(config), 2, &mut |_| ());
    let loaded = trial.streamed(config, segment_bytes, false).unwrap();
    assert!(loaded.streamed);
    let (model, log) = bits(loaded, threads, &mut |_| assert_eq!(trial.names(), ["t.csv"]));
    assert!(!log.is_empty() && log == expected_log, "{config:?}");
    assert_eq!(model.unwrap(), expected.unwrap(), "{config:?}");
}

#[test]
fn model_and_log_have_the_bits_of_training_in_memory() {
    for target in [Target::Label, Target::Class, Target::Number] {
        let trial = Trial::new(target, ROWS);
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            for (algorithm, threads) in [(Algorithm::Whitened, 1), (Algorithm::DpGd, 3), (Algorithm::Additive, 2)] {
                same(&trial, &config(algorithm, adjacency), 1, threads);
                same(&trial, &config(algorithm, adjacency), 1000, 4 - threads);
            }
        }
    }
}

/// It makes 400 waves for however few rows, so it meets fewer cases.
#[test]
fn waves_and_lines_have_the_bits_of_training_in_memory() {
    for algorithm in [Algorithm::Rich, Algorithm::Adaptive] {
        for (target, adjacency, evaluate_budget, segment_bytes, threads) in [
            (Target::Label, Adjacency::AddRemove, None, 1, 3),
            (Target::Class, Adjacency::ReplaceOne, Some(0.2), 1000, 1),
            (Target::Number, Adjacency::ReplaceOne, None, 20_000, 2),
            (Target::Number, Adjacency::AddRemove, Some(0.2), 1, 2),
        ] {
            let config = TrainConfig { evaluate_budget, ..config(algorithm, adjacency) };
            same(&Trial::new(target, ROWS), &config, segment_bytes, threads);
        }
        for rows in [0, 1, 33] {
            same(&Trial::new(Target::Label, rows), &config(algorithm, Adjacency::AddRemove), 1, 2);
        }
    }
}

/// Its rows are in memory where all of their encodings fit, waves among them.
#[test]
fn waves_count_where_rows_are_to_fit_the_limit() {
    let trial = Trial::new(Target::Label, ROWS);
    let streamed = |algorithm, bytes| {
        let (config, limit) = (config(algorithm, Adjacency::AddRemove), MemoryLimit::new(bytes).unwrap());
        load_within(&config, trial.schema.clone(), &trial.file(), None, limit, &|_, _| Ok(())).unwrap().streamed
    };
    assert!(!streamed(Algorithm::Additive, 1_000_000) && streamed(Algorithm::Rich, 800 * ROWS as u64));
    assert!(!streamed(Algorithm::Rich, 1000 * ROWS as u64));
}

#[test]
fn other_sums_stream_as_well() {
    let (label, number) = (Trial::new(Target::Label, ROWS), Trial::new(Target::Number, ROWS));
    for algorithm in [Algorithm::Auto, Algorithm::Newton, Algorithm::NewtonDoubleNoise, Algorithm::DpGdTheory] {
        let config = TrainConfig { rows: Some(ROWS as u64), ..config(algorithm, Adjacency::AddRemove) };
        same(&label, &config, 500, 2);
    }
    for algorithm in [Algorithm::AdaSsp, Algorithm::FrankWolfe] {
        same(&number, &config(algorithm, Adjacency::ReplaceOne), 500, 2);
    }
    for (target, algorithm) in [(Target::Label, Algorithm::Whitened), (Target::Number, Algorithm::DpGd)] {
        let mut weighing = Trial::of_persons(target, ROWS);
        weighing.schema.unit.as_mut().unwrap().estimand = Some(Estimand::Rows);
        same(&weighing, &config(algorithm, Adjacency::AddRemove), 1, 2);
        same(&weighing, &config(algorithm, Adjacency::ReplaceOne), 500, 1);
    }
    let few = config(Algorithm::Auto, Adjacency::AddRemove);
    let few = TrainConfig { tune: Candidate::grid("algorithm=whitened,dp-gd", &few).unwrap(), ..few };
    same(&label, &few, 500, 2);
    let raw = TrainConfig { standardize: Some(false), ..config(Algorithm::DpGd, Adjacency::AddRemove) };
    same(&label, &raw, 500, 2);
}

#[test]
fn persons_who_stay_in_a_file_give_the_bits_of_persons_in_memory() {
    for target in [Target::Label, Target::Class, Target::Number] {
        let trial = Trial::of_persons(target, ROWS);
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            for (algorithm, threads) in [(Algorithm::Whitened, 1), (Algorithm::DpGd, 3)] {
                same(&trial, &config(algorithm, adjacency), 1, threads);
                same(&trial, &config(algorithm, adjacency), 5000, 4 - threads);
            }
        }
    }
    let (label, number) = (Trial::of_persons(Target::Label, ROWS), Trial::of_persons(Target::Number, ROWS));
    for algorithm in [Algorithm::Auto, Algorithm::Newton, Algorithm::DpGdTheory] {
        same(&label, &config(algorithm, Adjacency::AddRemove), 500, 2);
    }
    for algorithm in [Algorithm::AdaSsp, Algorithm::BoostedAdaSsp] {
        same(&number, &config(algorithm, Adjacency::ReplaceOne), 500, 2);
    }
    let few = config(Algorithm::Auto, Adjacency::AddRemove);
    let few = TrainConfig { tune: Candidate::grid("algorithm=whitened,dp-gd", &few).unwrap(), ..few };
    same(&label, &few, 500, 2);
    let raw = TrainConfig { standardize: Some(false), ..config(Algorithm::DpGd, Adjacency::AddRemove) };
    same(&label, &raw, 500, 2);
    for rows in [0, 1, 40] {
        same(&Trial::of_persons(Target::Number, rows), &config(Algorithm::DpGd, Adjacency::AddRemove), 1, 2);
    }
}

#[test]
fn persons_train_from_a_cache_as_from_the_file_whatever_is_asked_of_them() {
    let trial = Trial::of_persons(Target::Label, ROWS);
    // Until a change of the data would get another time.
    std::thread::sleep(std::time::Duration::from_millis(150));
    let streamed = config(Algorithm::Whitened, Adjacency::AddRemove);
    let (expected, _) = bits(trial.in_memory(&streamed), 2, &mut |_| ());
    for used in [CacheUse::Made, CacheUse::Used] {
        let loaded = trial.streamed(&streamed, 100, true).unwrap();
        assert_eq!((&loaded.cache, loaded.streamed), (&Some(used), true));
        let (model, _) = bits(loaded, 2, &mut |_| assert_eq!(trial.names(), ["t.csv", "t.rows"]));
        assert_eq!(model.unwrap(), expected.as_deref().unwrap());
    }
    // What needs everybody at hand, by number: the same persons are sampled and held out.
    let cache = RowCache::new(&trial.cache_path(), false).unwrap();
    for algorithm in [Algorithm::DpSgd, Algorithm::DpGd] {
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            let config = TrainConfig { evaluate_budget: Some(0.2), ..config(algorithm, adjacency) };
            let load = || load_cached(&config, trial.schema.clone(), &trial.file(), Some(&cache), &|_, _| Ok(()));
            let (here, there) = (trial.in_memory(&config), load().unwrap());
            assert_eq!(there.cache, Some(CacheUse::Used));
            assert_eq!(here.rows_digest(), there.rows_digest(), "a run that was stopped goes on with either");
            let (expected, cached) = (bits(here, 2, &mut |_| ()), bits(there, 2, &mut |_| ()));
            assert!(cached.1 == expected.1 && cached.0.unwrap() == expected.0.unwrap(), "{config:?}");
        }
    }
    // Where everybody fits, persons are the same as well.
    let limit = MemoryLimit::new(100_000_000).unwrap();
    let whole = load_within(&streamed, trial.schema.clone(), &trial.file(), None, limit, &|_, _| Ok(())).unwrap();
    assert!(!whole.streamed && whole.rows_digest() == trial.in_memory(&streamed).rows_digest());
}

/// Rows are held out by their numbers in the file, persons by those of their first rows, as in memory.
#[test]
fn rows_and_persons_held_out_of_a_file_are_those_held_out_in_memory() {
    for persons in [false, true] {
        for target in [Target::Label, Target::Class, Target::Number] {
            let trial = Trial::made(target, ROWS, persons);
            for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
                let held = TrainConfig { evaluate_budget: Some(0.2), ..config(Algorithm::Whitened, adjacency) };
                same(&trial, &held, 1, 1);
                same(&trial, &TrainConfig { algorithm: Algorithm::DpGd, holdout: 0.5, ..held }, 5000, 3);
            }
        }
        for rows in [0, 1, 40] {
            for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
                let held = TrainConfig { evaluate_budget: Some(0.2), ..config(Algorithm::DpGd, adjacency) };
                same(&Trial::made(Target::Number, rows, persons), &held, 1, 2);
            }
        }
        // From a cache that is used again, which stays as it is.
        let trial = Trial::made(Target::Label, ROWS, persons);
        let held = TrainConfig { evaluate_budget: Some(0.2), ..config(Algorithm::DpGd, Adjacency::ReplaceOne) };
        let (expected, _) = bits(trial.in_memory(&held), 2, &mut |_| ());
        let expected = expected.unwrap();
        std::thread::sleep(std::time::Duration::from_millis(150));
        let mut cached = None;
        for used in [CacheUse::Made, CacheUse::Used] {
            let loaded = trial.streamed(&held, 100, true).unwrap();
            assert_eq!((&loaded.cache, loaded.streamed), (&Some(used), true));
            let (model, _) = bits(loaded, 2, &mut |_| assert_eq!(trial.names(), ["t.csv", "t.rows"]));
            assert_eq!(model.unwrap(), expected);
            let now = fs::read(trial.cache_path()).unwrap();
            assert!(cached.replace(now.clone()).is_none_or(|before| before == now));
        }
    }
    let trial = Trial::new(Target::Number, ROWS);
    let curves = config(Algorithm::Additive, Adjacency::AddRemove);
    same(&trial, &TrainConfig { evaluate_budget: Some(0.2), ..curves }, 500, 2);
}

#[test]
fn a_file_without_rows_trains_like_any_other() {
    for rows in [0, 1, 32] {
        same(&Trial::new(Target::Number, rows), &config(Algorithm::DpGd, Adjacency::AddRemove), 1, 2);
    }
}

#[test]
fn the_cache_is_made_once_and_streamed_from_then_on() {
    let trial = Trial::new(Target::Label, ROWS);
    let config = config(Algorithm::Whitened, Adjacency::AddRemove);
    let (expected, _) = bits(trial.in_memory(&config), 2, &mut |_| ());
    let expected = expected.unwrap();
    // Until a change of the data would get another time.
    std::thread::sleep(std::time::Duration::from_millis(150));
    for used in [CacheUse::Made, CacheUse::Used] {
        let loaded = trial.streamed(&config, 100, true).unwrap();
        assert_eq!(loaded.cache, Some(used));
        let (model, _) = bits(loaded, 2, &mut |_| assert_eq!(trial.names(), ["t.csv", "t.rows"]));
        assert_eq!(model.unwrap(), expected);
    }
}

/// Segments of a cache are as long as they were made, whatever a later limit would make of them.
#[test]
fn a_cache_with_other_segments_is_cut_into_intervals_as_well() {
    let trial = Trial::new(Target::Label, ROWS);
    std::thread::sleep(std::time::Duration::from_millis(150));
    for algorithm in [Algorithm::Additive, Algorithm::Rich, Algorithm::Adaptive] {
        let config = config(algorithm, Adjacency::AddRemove);
        let (expected, _) = bits(trial.in_memory(&config), 2, &mut |_| ());
        let expected = expected.unwrap();
        // 3 tiles a segment, then 20 such segments a part of which new segments would have 7 tiles.
        for segment_bytes in [1000, 2000, 700] {
            let loaded = trial.streamed(&config, segment_bytes, true).unwrap();
            assert!(loaded.streamed && (segment_bytes == 1000 || loaded.cache == Some(CacheUse::Used)));
            assert_eq!(bits(loaded, 2, &mut |_| ()).0.unwrap(), expected, "{segment_bytes}");
        }
    }
}

/// What happens to a file while it is read.
fn damage(path: &Path, cut: bool) {
    if cut {
        let size = fs::metadata(path).unwrap().len();
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(size / 2).unwrap();
    } else {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 3;
        bytes[middle] ^= 4;
        // The file that is held open, not a new one in its place.
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_segment_that_is_damaged_in_mid_run_ends_it() {
    for persons in [false, true] {
        damaged_in_mid_run(persons);
    }
}

fn damaged_in_mid_run(persons: bool) {
    for standardize in [true, false] {
        for cut in [false, true] {
            for after in [0, 1, 3] {
                let trial = Trial::made(Target::Label, ROWS, persons);
                let config =
                    TrainConfig { standardize: Some(standardize), ..config(Algorithm::DpGd, Adjacency::AddRemove) };
                let loaded = trial.streamed(&config, 100, true).unwrap();
                let path = trial.cache_path();
                if after == 0 {
                    damage(&path, cut);
                }
                let mut hear = |releases| {
                    if releases == after {
                        damage(&path, cut);
                    }
                };
                let (model, log) = bits(loaded, 2, &mut hear);
                if standardize && after == 3 {
                    // Standardised rows are in a file of their own by then.
                    assert!(model.is_ok());
                    continue;
                }
                let error = model.unwrap_err().to_string();
                assert!(error.contains("t.rows"), "{error}");
                assert!(cut || error.contains("checksum"), "{error}");
                assert_eq!(log.len(), after, "no release was made from damaged rows");
                assert_eq!(trial.names(), ["t.csv", "t.rows"]);
            }
        }
    }
}

#[track_caller]
fn refused(config: &TrainConfig, name: &str, persons: bool) {
    let trial = Trial::made(Target::Label, ROWS, persons);
    // Also where everything would fit: what is refused must not depend on the number of rows.
    for limit in [MemoryLimit::always_streaming(1), MemoryLimit::new(1 << 40).unwrap()] {
        let Err(error) = load_within(config, trial.schema.clone(), &trial.file(), None, limit, &|_, _| Ok(())) else {
            panic!("{name} was not refused");
        };
        let error = error.to_string();
        assert!(error.contains("--memory-limit") && error.contains(name) && error.contains("leave it out"), "{error}");
    }
    assert_eq!(trial.names(), ["t.csv"]);
}

#[test]
fn what_needs_rows_at_hand_is_refused_by_name() {
    let plain = |algorithm, adjacency| {
        let config = config(algorithm, adjacency);
        TrainConfig { settings: Settings::default(), ..config }
    };
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.description().needs.rows_at_hand) {
        refused(&plain(algorithm, algorithm.description().relations.all()[0]), algorithm.name(), false);
    }
    refused(&plain(Algorithm::DpSgd, Adjacency::AddRemove), "dp-sgd", true);
    let auto = plain(Algorithm::Auto, Adjacency::AddRemove);
    for persons in [false, true] {
        let many = Candidate::grid("l2=0,0.01,0.1;steps=4,8,16", &auto).unwrap();
        refused(&TrainConfig { tune: many, ..auto.clone() }, "--tune", persons);
    }
}

#[test]
fn rows_that_fit_the_limit_are_held_in_memory() {
    let trial = Trial::new(Target::Label, ROWS);
    let config = config(Algorithm::Whitened, Adjacency::AddRemove);
    let load_in = |bytes| {
        let limit = MemoryLimit::new(bytes).unwrap();
        load_within(&config, trial.schema.clone(), &trial.file(), None, limit, &|_, _| Ok(())).unwrap()
    };
    let loaded = load_in(10_000_000);
    assert!(!loaded.streamed);
    let (expected, _) = bits(trial.in_memory(&config), 2, &mut |_| ());
    assert_eq!(bits(loaded, 2, &mut |_| ()).0.unwrap(), expected.unwrap());
}

#[test]
fn clips_that_are_kept_belong_to_their_parts() {
    for persons in [false, true] {
        clips_of_parts(persons);
    }
}

fn clips_of_parts(persons: bool) {
    let trial = Trial::made(Target::Class, 20_000, persons);
    let limit = MemoryLimit::new(1_000_000).unwrap().in_segments_of(2_000);
    // Intervals are for rows alone.
    let linear = [Algorithm::Whitened, Algorithm::DpGd];
    let curved = [Algorithm::Additive, Algorithm::Rich, Algorithm::Adaptive];
    for algorithm in linear.into_iter().chain(curved.into_iter().filter(|_| !persons)) {
        let config = config(algorithm, Adjacency::AddRemove);
        let (expected, _) = bits(trial.in_memory(&config), 2, &mut |_| ());
        let loaded = load_within(&config, trial.schema.clone(), &trial.file(), None, limit, &|_, _| Ok(())).unwrap();
        assert!(loaded.streamed);
        assert_eq!(bits(loaded, 2, &mut |_| ()).0.unwrap(), expected.unwrap());
    }
}

#[cfg(feature = "cli")]
mod program {
    use super::support::{Folder, SCHEMA, rows};

    /// Enough for a megabyte.
    const ROWS: u64 = 30_000;

    fn folder() -> Folder {
        Folder::trial(SCHEMA, rows(ROWS))
    }

    #[test]
    fn the_program_streams_and_leaves_its_results_only() {
        let (streamed, whole) = (folder(), folder());
        let run = "train trial.csv --overwrite --epsilon 1 --seed 3 --no-ledger";
        let outcome = streamed.succeed(&format!("{run} --memory-limit 1MB"));
        assert!(outcome.stderr.contains("larger than the memory limit"), "{}", outcome.stderr);
        let other = whole.succeed(run);
        assert!(!other.stderr.contains("memory limit"));
        assert_eq!(outcome.stdout, other.stdout);
        for name in ["trial.model.json", "trial.log.jsonl"] {
            assert_eq!(streamed.text(name), whole.text(name));
        }
        assert_eq!(streamed.names(), whole.names());
        streamed.succeed(&format!("{run} --memory-limit 1MB --cache auto"));
        assert!(streamed.names().contains(&"trial.csv.rows".to_owned()));
        assert_eq!(streamed.names().len(), whole.names().len() + 1);
    }

    #[test]
    fn sizes_and_combinations_that_mean_nothing_are_usage_errors() {
        let folder = folder();
        let before = folder.names();
        let run = "train trial.csv --epsilon 1 --memory-limit";
        for bad in
            ["500", "-1GB", "nanMB", "10KiB", "1e", "", "1PB", "1GB --evaluate-budget 2", "1GB --algorithm dp-sgd"]
        {
            let outcome = folder.run(&format!("{run} {bad}"));
            assert_eq!(outcome.code, Some(2), "{bad}: {outcome:?}");
        }
        let outcome = folder.run(&format!("{run} 1GB --algorithm dp-sgd"));
        assert!(outcome.stderr.contains("dp-sgd") && outcome.stderr.contains("--memory-limit"), "{}", outcome.stderr);
        assert_eq!(folder.names(), before, "nothing was charged or written");
        for good in ["1.5GB", "2gib", "900mb --evaluate-budget 0.1"] {
            folder.succeed(&format!("{run} {good} --no-ledger --overwrite --out m.json"));
        }
    }
}
