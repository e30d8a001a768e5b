//! Bands of additive and adaptive effects: many runs on the same rows differ by about what their model files say.

use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rhograd::data::{CsvFile, Schema};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::privacy::{Delta, Epsilon};
use rhograd::train::{Algorithm, Budget, Curve, Explanation, TrainConfig, load, train};

const RUNS: u64 = 40;

/// Shares and effects of two categories.
const VALUES: [(&str, f64, f64); 5] =
    [("u", 0.35, 0.0), ("v", 0.3, 0.8), ("w", 0.15, -0.8), ("x", 0.1, 0.3), ("z", 0.1, 1.0)];

/// Where curves of numbers from 0 to 10 are looked at.
const PLACES: [f64; 5] = [1.0, 3.0, 5.0, 7.0, 9.0];

/// Rows of two columns of values, or of two of numbers.
fn drawn_rows(label: bool, numbers: bool) -> String {
    let mut rng = StdRng::seed_from_u64(11);
    let mut text = String::from("a,b,y\n");
    for _ in 0..5000 {
        let mut drawn = || {
            let mut left = rng.random::<f64>();
            if numbers {
                let place = (1000.0 * left).round() / 100.0;
                return (place.to_string(), (0.6 * place).sin());
            }
            let chosen = VALUES.iter().find(|(_, share, _)| {
                left -= share;
                left < 0.0
            });
            let (name, _, effect) = chosen.unwrap_or(&VALUES[0]);
            ((*name).to_owned(), *effect)
        };
        let (a, b) = (drawn(), drawn());
        let margin = a.1 - 0.5 * b.1;
        let y = match label {
            true => f64::from(u8::from(rng.random::<f64>() < 1.0 / (1.0 + (-margin).exp()))),
            false => margin + rng.random_range(-1.0..1.0),
        };
        writeln!(text, "{},{},{y}", a.0, b.0).unwrap();
    }
    text
}

/// The effect of a column, and the deviation that the model tells, at every value, or at [`PLACES`]; with the share that each counts.
fn told(shape: &rhograd::train::Shape) -> Vec<(f64, f64, f64)> {
    let at = |(index, share): (usize, f64)| (shape.effects[index], shape.deviations[index], share);
    match &shape.curve {
        Curve::Values { .. } => VALUES.iter().map(|(_, share, _)| *share).enumerate().map(at).collect(),
        Curve::Steps { ends } => {
            let interval = |place: f64| ends[1..ends.len() - 1].partition_point(|edge| *edge <= place);
            PLACES.iter().map(|place| at((interval(*place), 0.2))).collect()
        }
        Curve::Line { .. } => panic!("a column that was cut"),
    }
}

/// For every effect of every run its value, less the mean of its column, and the deviation that the model tells.
fn runs(label: bool, numbers: bool, algorithm: Algorithm, epsilon: f64) -> Vec<Vec<(f64, f64)>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    std::fs::write(&path, drawn_rows(label, numbers)).unwrap();
    let target = match label {
        true => r#""task":"classification","positive":"1""#,
        false => r#""task":"regression","target_lower":-4,"target_upper":4"#,
    };
    let values = VALUES.map(|(name, ..)| format!("{name:?}")).join(",");
    let column = match numbers {
        true => r#"{"type":"numeric","lower":0,"upper":10}"#.to_owned(),
        false => format!(r#"{{"type":"categorical","values":[{values}]}}"#),
    };
    let schema = format!(r#"{{"name":"t",{target},"target":"y","columns":{{"a":{column},"b":{column}}}}}"#);
    let schema = Schema::parse(&schema, &path).unwrap();
    let budget = Budget::Epsilon(Epsilon::new(epsilon).unwrap(), Some(Delta::new(1e-6).unwrap()));
    let config = TrainConfig { algorithm, rows: Some(5000), ..TrainConfig::new(budget) };
    let run = |seed: u64| {
        let loaded = load(&config, schema.clone(), &CsvFile::open(&path).unwrap(), &|_, _| Ok(())).unwrap();
        let noise = NoiseSource::insecure_from_seed(seed);
        let model = train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap().0.model;
        let mut columns = Explanation::of(&model, 0).unwrap().columns;
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        let without_level = |shape: &rhograd::train::Shape| -> Vec<(f64, f64)> {
            let told = told(shape);
            // The noise of counts moves a column's level, which stands in the intercept as well.
            let level: f64 = told.iter().map(|(effect, _, share)| effect * share).sum();
            told.into_iter().map(|(effect, deviation, _)| (effect - level, deviation)).collect()
        };
        columns.iter().flat_map(without_level).collect()
    };
    (0..RUNS).map(run).collect()
}

/// Root mean square of what runs differ by over that of what they tell.
fn ratio(runs: &[Vec<(f64, f64)>]) -> f64 {
    let count = runs.len() as f64;
    let (mut seen, mut told) = (0.0, 0.0);
    for at in 0..runs[0].len() {
        let mean = runs.iter().map(|run| run[at].0).sum::<f64>() / count;
        seen += runs.iter().map(|run| (run[at].0 - mean).powi(2)).sum::<f64>() / (count - 1.0);
        told += runs.iter().map(|run| run[at].1 * run[at].1).sum::<f64>() / count;
    }
    (seen / told).sqrt()
}

#[test]
fn runs_differ_by_what_their_bands_say() {
    for (label, algorithm, epsilon) in [
        (true, Algorithm::Additive, 1.0),
        (true, Algorithm::Additive, 8.0),
        (false, Algorithm::Additive, 1.0),
        (false, Algorithm::Additive, 4.0),
        (true, Algorithm::Adaptive, 1.0),
        (true, Algorithm::Adaptive, 8.0),
        (false, Algorithm::Adaptive, 1.0),
        (false, Algorithm::Adaptive, 4.0),
    ] {
        let found = ratio(&runs(label, false, algorithm, epsilon));
        assert!((0.75..1.25).contains(&found), "{label} {algorithm:?} {epsilon}: {found}");
    }
}

/// Intervals follow from noised counts, so curves differ by more than by the noise of steps: by less than twice as much.
#[test]
fn curves_of_numbers_differ_by_their_bands_and_by_the_noise_of_counts() {
    for (label, algorithm, epsilon, most) in [
        (true, Algorithm::Additive, 1.0, 1.35),
        (false, Algorithm::Additive, 4.0, 1.35),
        (true, Algorithm::Adaptive, 8.0, 1.9),
        (false, Algorithm::Adaptive, 1.0, 1.9),
    ] {
        let found = ratio(&runs(label, true, algorithm, epsilon));
        assert!((0.75..most).contains(&found), "{label} {algorithm:?} {epsilon}: {found}");
    }
}
