//! White box: which streams of its key a run reads, counted.
//!
//! Two draws from one stream are one draw: noise that repeats the coins of a sample, or of another release, hides nothing. So
//! no stream may be opened twice in a run, whatever it is for.

use std::collections::BTreeMap;

use super::{Algorithm, Budget, Candidate, TrainConfig, load, train};
use crate::data::{CsvFile, Protect, Synthetic, SyntheticKind};
use crate::ledger::Ledger;
use crate::noise::{NoiseSource, Opened, integer_noise, poisson_sample};
use crate::optim::Settings;
use crate::privacy::{Adjacency, Delta, Epsilon, NoiseLaw};

/// The streams that were opened more than once, by release and block.
fn twice(opened: &Opened) -> Vec<(u32, u32)> {
    let mut times: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for stream in opened.lock().unwrap().iter() {
        *times.entry(*stream).or_default() += 1;
    }
    times.into_iter().filter(|(_, times)| *times > 1).map(|(stream, _)| stream).collect()
}

/// The streams that a run with these settings opens; `None` where the request is refused.
fn streams(config: &TrainConfig, kind: SyntheticKind, features: usize, categories: usize) -> Option<Opened> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let data = Synthetic { kind, rows: 1500, features, categories, noise: 0.5, seed: 5, persons: false };
    data.write(&mut std::fs::File::create(&path).unwrap(), &|_| ()).unwrap();
    let mut schema = data.schema();
    if config.algorithm.description().needs.labels_alone {
        schema.protect = Protect::Label;
    }
    let loaded = load(config, schema, &CsvFile::open(&path).unwrap(), &|_, _| Ok(())).ok()?;
    let noise = NoiseSource::insecure_from_seed(3);
    let opened = noise.opened();
    train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap();
    Some(opened)
}

fn config(algorithm: Algorithm, steps: Option<u64>, adjacency: Adjacency) -> TrainConfig {
    let budget = Budget::Epsilon(Epsilon::new(1.0).unwrap(), Some(Delta::new(1e-5).unwrap()));
    let settings = Settings { steps, ..Settings::default() };
    TrainConfig { algorithm, settings, adjacency, rows: Some(1500), ..TrainConfig::new(budget) }
}

#[test]
fn no_run_opens_a_stream_twice() {
    for algorithm in Algorithm::ALL {
        let mut ran = 0;
        for kind in [SyntheticKind::Logistic, SyntheticKind::Linear] {
            for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
                // An algorithm whose steps are not chosen refuses to be told.
                // One that scores a grid of points wants few coefficients.
                let requests = [(Some(4), 3, 1), (None, 3, 1), (None, 1, 0)];
                let found = requests.into_iter().find_map(|(steps, features, categories)| {
                    let plain = config(algorithm, steps, adjacency);
                    let scored = TrainConfig { evaluate_budget: Some(0.1), ..plain.clone() };
                    let opened = |config| streams(config, kind, features, categories);
                    opened(&scored).or_else(|| opened(&plain))
                });
                if let Some(opened) = found {
                    assert_eq!(twice(&opened), [], "{} {kind:?} {adjacency}", algorithm.name());
                    assert!(!opened.lock().unwrap().is_empty(), "{} draws something", algorithm.name());
                    ran += 1;
                }
            }
        }
        assert!(ran > 0, "{} was never run", algorithm.name());
    }
}

#[test]
fn no_choice_among_runs_opens_a_stream_twice() {
    for grid in ["algorithm=whitened,dp-gd", "l2=0,0.01,0.1;steps=4,8,16"] {
        let plain = config(Algorithm::Auto, None, Adjacency::AddRemove);
        let tuned = TrainConfig { tune: Candidate::grid(grid, &plain).unwrap(), ..plain };
        let opened = streams(&tuned, SyntheticKind::Logistic, 3, 1).unwrap();
        assert_eq!(twice(&opened), [], "{grid}");
    }
}

/// Noise takes the blocks from the first on, a sample the last one, which noise never reaches.
#[test]
fn a_draw_opens_the_streams_of_its_kind() {
    let source = NoiseSource::insecure_from_seed(1);
    let opened = source.opened();
    let taken = || std::mem::take(&mut *opened.lock().unwrap());
    for (len, blocks) in [(1, 1), (1024, 1), (1025, 2), (5000, 5)] {
        integer_noise(NoiseLaw::FlooredNormal, 10, len, &source, 7).unwrap();
        let mut noise = taken();
        noise.sort_unstable();
        assert!(noise.into_iter().eq((0..blocks).map(|block| (7, block))), "{len}");
    }
    poisson_sample(1 << 60, 5000, &source, 7);
    assert_eq!(taken(), [(7, u32::MAX)]);
    // So long a vector that its last block would be that of samples is refused.
    assert!(integer_noise(NoiseLaw::FlooredNormal, 10, (u32::MAX as usize + 1) * 1024, &source, 7).is_err());
    assert_eq!(twice(&opened), []);
}

#[test]
fn a_stream_that_is_opened_twice_is_seen() {
    let source = NoiseSource::insecure_from_seed(1);
    for block in [0, 1, 0] {
        let _ = source.stream(2, block);
    }
    assert_eq!(twice(&source.opened()), [(2, 0)]);
}
