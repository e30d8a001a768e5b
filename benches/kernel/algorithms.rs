//! Every algorithm from encoded rows to model, on one thread, beside a streaming read of the same bytes.
//!
//! A step is what more steps take longer; what is left of a run is what it takes besides. Algorithms whose work is no number of
//! steps have all of it there.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use rhograd::data::{CsvFile, Schema, Synthetic, SyntheticKind};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::optim::Settings;
use rhograd::preprocess::RowCache;
use rhograd::privacy::{Adjacency, Delta, Epsilon};
use rhograd::train::{Algorithm, Budget, TrainConfig, load_cached, train};

use crate::{CASES, Effort, alternately, history, in_pool, stream, synthetic};

/// An algorithm with settings besides the number of steps, and two numbers of these.
struct Trial {
    algorithm: Algorithm,
    about: &'static str,
    settings: Settings,
    steps: Option<(u64, u64)>,
}

fn trials() -> Vec<Trial> {
    let of = |algorithm, steps| Trial { algorithm, about: "", settings: Settings::NONE, steps };
    let steps = |algorithm, few, many| of(algorithm, Some((few, many)));
    let with = |about, settings, trial| Trial { about, settings, ..trial };
    let passes = Settings { passes: Some(8), ..Settings::NONE };
    let rate = Settings { sampling_rate: Some(0.02), ..Settings::NONE };
    let half = Settings { sampling_rate: Some(0.5), ..Settings::NONE };
    vec![
        steps(Algorithm::DpGd, 20, 120),
        steps(Algorithm::DpGdTheory, 20, 120),
        steps(Algorithm::Whitened, 20, 120),
        with("2% of the rows", rate, steps(Algorithm::DpSgd, 100, 400)),
        with("half of the rows", half, steps(Algorithm::DpSgd, 20, 60)),
        steps(Algorithm::DpFtrl, 64, 128),
        with("8 passes", passes, steps(Algorithm::DpFtrl, 64, 128)),
        steps(Algorithm::FrankWolfe, 10, 40),
        steps(Algorithm::BoostedAdaSsp, 4, 24),
        steps(Algorithm::Newton, 2, 6),
        steps(Algorithm::NewtonDoubleNoise, 2, 6),
        steps(Algorithm::Additive, 10, 40),
        of(Algorithm::AdaSsp, None),
        of(Algorithm::OnePass, None),
        of(Algorithm::Localization, None),
        of(Algorithm::OutputPerturbation, None),
        of(Algorithm::Amp, None),
        of(Algorithm::ObjectivePerturbation, None),
        of(Algorithm::Rich, None),
        of(Algorithm::Adaptive, None),
    ]
}

/// Seconds from encoded rows to model.
fn seconds(trial: &Trial, steps: Option<u64>, schema: &Schema, folder: &Path) -> f64 {
    let file = CsvFile::open(&folder.join("rows.csv")).expect("a header");
    let cache = RowCache::new(&folder.join("rows.cache"), false).expect("a folder");
    let relations = trial.algorithm.description().relations.all();
    let relation = if relations.contains(&Adjacency::AddRemove) { Adjacency::AddRemove } else { Adjacency::ReplaceOne };
    let (epsilon, delta) = (Epsilon::new(1.0).expect("a budget"), Delta::new(1e-8).expect("a delta"));
    let config = TrainConfig {
        algorithm: trial.algorithm,
        adjacency: relation,
        settings: Settings { steps, ..trial.settings.clone() },
        ..TrainConfig::new(Budget::Epsilon(epsilon, Some(delta)))
    };
    let loaded = load_cached(&config, schema.clone(), &file, Some(&cache), &|_, _| Ok(())).expect("rows");
    let (mut ledger, noise) = (Ledger::in_memory().expect("a ledger"), NoiseSource::insecure_from_seed(1));
    let start = Instant::now();
    let trained = train(loaded, &mut ledger, noise, &mut |_| Ok(()));
    let took = start.elapsed().as_secs_f64();
    black_box(trained.map(drop)).expect("a model");
    took
}

pub fn against_reading(effort: &Effort) {
    let case = &CASES[0];
    let folder = tempfile::tempdir().expect("a folder");
    let rows = (case.rows / effort.share).max(1000) as u64;
    let data = Synthetic {
        kind: SyntheticKind::Logistic,
        rows,
        features: case.numeric,
        categories: 0,
        noise: 0.5,
        seed: 1,
        persons: false,
    };
    let mut file = std::fs::File::create(folder.path().join("rows.csv")).expect("a file");
    data.write(&mut file, &|_| ()).expect("rows");
    let schema = data.schema();
    let bytes = vec![1u64; synthetic(case, effort).bytes() / 8];
    let repeats = if effort.share > 1 { 1 } else { 3 };
    println!("\nalgorithms / streaming read of the same bytes, {}, one thread\n", case.name);
    println!("{:36} {:>9} {:>9} {:>9} {:>9}", "algorithm", "step ms", "to a read", "else ms", "to a read");
    in_pool(1, || {
        let mut reading = || {
            black_box(stream(&bytes));
        };
        let [read] = alternately([&mut reading], effort.repeats);
        for trial in trials() {
            let shortest = |steps| {
                let all = (0..repeats).map(|_| seconds(&trial, steps, &schema, folder.path()));
                all.fold(f64::INFINITY, f64::min)
            };
            let name = match trial.about {
                "" => trial.algorithm.name().to_owned(),
                about => format!("{}, {about}", trial.algorithm.name()),
            };
            let Some((few, many)) = trial.steps else {
                let whole = shortest(None);
                history::note(&name, [("reading", read), ("whole", whole)]);
                println!("{name:36} {:>9} {:>9} {:9.0} {:9.0}", "", "", whole * 1e3, whole / read);
                continue;
            };
            let (short, long) = (shortest(Some(few)), shortest(Some(many)));
            let step = (long - short) / (many - few) as f64;
            let rest = short - few as f64 * step;
            history::note(&name, [("reading", read), ("step", step), ("whole", short)]);
            let (more, times) = (step * 1e3, step / read);
            println!("{name:36} {more:9.2} {times:9.1} {:9.0} {:9.0}", rest * 1e3, rest / read);
        }
        println!("a streaming read takes {:.2} ms", read * 1e3);
    });
}
