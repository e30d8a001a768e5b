//! Accuracy or R^2 of untuned models against epsilon.

use std::path::{Path, PathBuf};

use rhograd::data::{CsvFile, Schema};
use rhograd::error::{Error, Fallible};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::privacy::{Adjacency, Delta, Epsilon};
use rhograd::train::{Algorithm, Budget, Metrics, TrainConfig, evaluate, load, train};

/// The last stands in for no privacy at all.
const EPSILONS: [f64; 6] = [0.1, 0.5, 1.0, 2.0, 8.0, 1000.0];

/// Column of the claim and what may be lost there against the last column.
const CLAIMED: (usize, f64) = (2, 0.02);

/// Runs the table; `Ok(false)` when the claim did not hold.
pub fn run(arguments: &[String]) -> Fallible<bool> {
    let quick = arguments.iter().any(|a| a == "--quick");
    let seeds = if quick { 3 } else { 10 };
    let (algorithm, rest) = algorithm_of(arguments)?;
    let files: Vec<PathBuf> = rest.iter().filter(|a| *a != "--quick").map(PathBuf::from).collect();
    let directory = std::env::temp_dir().join(format!("rhograd-utility-{}", std::process::id()));
    std::fs::create_dir_all(&directory).map_err(|e| Error::io(&directory, "create it", e))?;
    let pairs = if files.is_empty() {
        ["fair", "randhie"].iter().map(|name| split(name, &directory)).collect::<Fallible<Vec<_>>>()?
    } else {
        files.chunks(2).map(|pair| (pair[0].clone(), pair[pair.len() - 1].clone())).collect()
    };
    let adjacency = adjacency_of(algorithm);
    println!("{}: mean (standard deviation) over {seeds} seeds, delta 1e-5, {adjacency}", algorithm.name());
    println!("{:24} {:9} {}", "data", "metric", EPSILONS.map(|e| format!("{e:>16}")).join(""));
    let mut held = true;
    for (train_file, test_file) in &pairs {
        held &= row(algorithm, train_file, test_file, seeds)?;
    }
    let _ = std::fs::remove_dir_all(&directory);
    println!("claim: {}", if held { "held" } else { "NOT held" });
    Ok(held)
}

/// The algorithm after `--algorithm`, `auto` without it, and all other arguments.
fn algorithm_of(arguments: &[String]) -> Fallible<(Algorithm, Vec<String>)> {
    let mut rest = arguments.to_vec();
    let Some(flag) = rest.iter().position(|a| a == "--algorithm") else { return Ok((Algorithm::Auto, rest)) };
    let words: Vec<String> = rest.drain(flag..rest.len().min(flag + 2)).collect();
    let name = words.get(1).map_or("", String::as_str);
    let found = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name);
    let known = Algorithm::ALL.map(Algorithm::name).join(", ");
    let unknown = || Error::parameter("--algorithm", format!("{name:?} is unknown"), format!("use one of {known}"));
    Ok((found.ok_or_else(unknown)?, rest))
}

/// Every fifth line to the test file.
fn split(name: &str, directory: &Path) -> Fallible<(PathBuf, PathBuf)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(format!("{name}.csv"));
    let text = std::fs::read_to_string(&source).map_err(|e| Error::io(&source, "read it", e))?;
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let (mut train_text, mut test_text) = (format!("{header}\n"), format!("{header}\n"));
    for (index, line) in lines.enumerate() {
        let part = if index % 5 == 4 { &mut test_text } else { &mut train_text };
        part.push_str(line);
        part.push('\n');
    }
    let path = |part: &str| directory.join(format!("{name}_{part}.csv"));
    for (part, text) in [("train", train_text), ("test", test_text)] {
        std::fs::write(path(part), text).map_err(|e| Error::io(&path(part), "write it", e))?;
    }
    let schema = directory.join(format!("{name}.schema.json"));
    std::fs::copy(source.with_extension("schema.json"), &schema).map_err(|e| Error::io(&schema, "write it", e))?;
    Ok((path("train"), path("test")))
}

/// One data set: prints its lines and says whether the claim held on it.
fn row(algorithm: Algorithm, train_file: &Path, test_file: &Path, seeds: u64) -> Fallible<bool> {
    let mut cells: Vec<Vec<(&'static str, Vec<f64>)>> = Vec::new();
    for epsilon in EPSILONS {
        let runs = (0..seeds)
            .map(|seed| once(algorithm, train_file, test_file, epsilon, seed))
            .collect::<Fallible<Vec<_>>>()?;
        let names: Vec<&'static str> = runs[0].iter().map(|(name, _)| *name).collect();
        let column = |index: usize| runs.iter().map(|run| run[index].1).collect();
        cells.push(names.iter().enumerate().map(|(index, name)| (*name, column(index))).collect());
    }
    let mut held = true;
    for index in 0..cells[0].len() {
        let means: Vec<(f64, f64)> = cells.iter().map(|cell| mean_and_deviation(&cell[index].1)).collect();
        let shown: String = means.iter().map(|(m, s)| format!("{:>16}", format!("{m:.4} ({s:.4})"))).collect();
        let name = train_file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        println!("{name:24} {:9} {shown}", cells[0][index].0);
        held &= means[means.len() - 1].0 - means[CLAIMED.0].0 < CLAIMED.1;
    }
    Ok(held)
}

/// Trains and measures once. The seed makes the table reproducible; such runs protect nobody.
fn once(
    algorithm: Algorithm,
    train_file: &Path,
    test_file: &Path,
    epsilon: f64,
    seed: u64,
) -> Fallible<Vec<(&'static str, f64)>> {
    let budget = Budget::Epsilon(Epsilon::new(epsilon)?, Some(Delta::new(1e-5)?));
    let adjacency = adjacency_of(algorithm);
    let config = TrainConfig { algorithm, adjacency, ..TrainConfig::new(budget) };
    let mut schema = schema_of(train_file)?;
    schema.rows = None;
    let loaded = load(&config, schema, &CsvFile::open(train_file)?, &|_, _| ())?;
    let noise = NoiseSource::insecure_from_seed(seed);
    let (trained, _) = train(loaded, &mut Ledger::in_memory()?, noise, &mut |_| Ok(()))?;
    Ok(match evaluate(&trained.model, &CsvFile::open(test_file)?)? {
        Metrics::Label { accuracy, auc, .. } => vec![("accuracy", accuracy), ("auc", auc)],
        Metrics::Classes { accuracy, log_loss, .. } => vec![("accuracy", accuracy), ("log_loss", log_loss)],
        Metrics::Number { r2, .. } => vec![("r2", r2)],
    })
}

/// Row count private wherever the algorithm allows it.
fn adjacency_of(algorithm: Algorithm) -> Adjacency {
    match algorithm {
        Algorithm::DpGdTheory | Algorithm::Localization => Adjacency::ReplaceOne,
        _ => Adjacency::AddRemove,
    }
}

fn schema_of(data: &Path) -> Fallible<Schema> {
    let stem = data.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let short = stem.rsplit_once('_').map_or(stem.as_str(), |(head, _)| head);
    Schema::read(&data.with_file_name(format!("{short}.schema.json")))
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, variance.sqrt())
}
