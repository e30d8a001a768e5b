//! Intervals for coefficients cover the truth about as often as they say, privacy noise included.

use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rhograd::data::{CsvFile, Schema};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::privacy::{Delta, Epsilon};
use rhograd::train::{Budget, Feature, ModelFile, Target, TrainConfig, load, train};

const TRUTH: [f64; 3] = [0.4, -0.3, 0.0];

fn fit(label: bool, epsilon: f64, seed: u64) -> ModelFile {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut text = String::from("a,b,c,y\n");
    for _ in 0..2500 {
        let x: [f64; 3] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
        let margin: f64 = TRUTH.iter().zip(&x).map(|(t, x)| t * x).sum();
        let y = if label {
            f64::from(u8::from(rng.random::<f64>() < 1.0 / (1.0 + (-margin).exp())))
        } else {
            margin + rng.random_range(-0.5..0.5)
        };
        writeln!(text, "{},{},{},{y}", x[0], x[1], x[2]).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    let target = if label {
        r#""task":"classification","positive":"1""#
    } else {
        r#""task":"regression","target_lower":-2,"target_upper":2"#
    };
    let columns =
        ["a", "b", "c"].map(|name| format!(r#""{name}":{{"type":"numeric","lower":-1,"upper":1}}"#)).join(",");
    let schema = format!(r#"{{"name":"t",{target},"target":"y","columns":{{{columns}}}}}"#);
    let schema = Schema::parse(&schema, &path).unwrap();
    let budget = Budget::Epsilon(Epsilon::new(epsilon).unwrap(), Some(Delta::new(1e-6).unwrap()));
    let loaded = load(&TrainConfig::new(budget), schema, &CsvFile::open(&path).unwrap(), &|_, _| Ok(())).unwrap();
    let noise = NoiseSource::insecure_from_seed(seed);
    train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap().0.model
}

/// Errors over standard errors of the features of many fits.
fn scores(label: bool, epsilon: f64, fits: u64) -> Vec<f64> {
    let mut scores = Vec::new();
    for seed in 0..fits {
        let model = fit(label, epsilon, seed);
        let unit = match model.target {
            Target::Label { .. } | Target::Classes { .. } => 1.0,
            Target::Number { scale, .. } => scale,
        };
        let errors = model.standard_errors.unwrap();
        assert_eq!(errors.len(), 4, "three features and the intercept");
        for ((feature, error), truth) in model.features.iter().zip(errors).zip(TRUTH) {
            let Feature::Numeric { coefficient, map, .. } = feature else { unreachable!() };
            let coefficient = coefficient.values()[0];
            let per_unit = unit / map.scale;
            scores.push((coefficient * per_unit - truth) / (error * per_unit));
        }
    }
    scores
}

#[test]
fn intervals_cover_the_truth_with_and_without_much_noise() {
    for (label, epsilon) in [(false, 0.7), (false, 50.0), (true, 1.0), (true, 50.0)] {
        let scores = scores(label, epsilon, 30);
        let covered = scores.iter().filter(|z| z.abs() < 1.96).count() as f64 / scores.len() as f64;
        let spread = (scores.iter().map(|z| z * z).sum::<f64>() / scores.len() as f64).sqrt();
        assert!(covered > 0.85, "{label} {epsilon}: {covered} of {} covered", scores.len());
        assert!((0.7..1.4).contains(&spread), "{label} {epsilon}: errors are {spread} standard errors");
    }
}
