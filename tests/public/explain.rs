//! What a model says of itself: contributions add up to scores, files of earlier versions are explained as far as they tell, and what
//! columns do together is what draws show.

use std::fmt::Write as _;
use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::data::{CsvFile, Schema};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::optim::Settings;
use rhograd::privacy::{Delta, Epsilon};
use rhograd::train::{
    Algorithm, Bands, Budget, Curve, Evidence, Explanation, FAMILIES, FamilyParameters, Feature, ModelFile, ModelKind,
    Target, TrainConfig, contributions, load, predict_explaining, train, verify,
};

/// Rows of two numbers and a category, and a model of them.
fn trained(model: ModelKind, algorithm: Algorithm, folder: &Path) -> (ModelFile, CsvFile) {
    trained_by(model, algorithm, Settings::default(), folder)
}

fn trained_by(model: ModelKind, algorithm: Algorithm, settings: Settings, folder: &Path) -> (ModelFile, CsvFile) {
    let (target, labels): (&str, fn(f64) -> f64) = match model {
        ModelKind::Multinomial => (r#""task":"classification""#, |m: f64| (m + 1.0).clamp(0.0, 2.0).floor()),
        ModelKind::Logistic | ModelKind::Svm { .. } => {
            (r#""task":"classification","positive":"1""#, |m: f64| f64::from(u8::from(m > 0.0)))
        }
        ModelKind::Poisson { .. } => {
            (r#""task":"regression","target_lower":0,"target_upper":40"#, |m: f64| m.exp().floor())
        }
        _ => (r#""task":"regression","target_lower":-5,"target_upper":5"#, |m: f64| m),
    };
    let classes =
        if model == ModelKind::Multinomial { r#","y":{"type":"categorical","values":["0","1","2"]}"# } else { "" };
    let schema = format!(
        r#"{{"name":"t",{target},"target":"y","columns":{{"a":{{"type":"numeric","lower":-2,"upper":2}},
        "b":{{"type":"numeric","lower":-2,"upper":2}},"c":{{"type":"categorical","values":["u","v","w"]}}{classes}}}}}"#
    );
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut text = String::from("a,b,c,y\n");
    for at in 0..4000 {
        let (a, b): (f64, f64) = (rng.random_range(-2.0..2.0), rng.random_range(-2.0..2.0));
        writeln!(text, "{a},{b},{},{}", ["u", "v", "w"][at % 3], labels(a * b)).unwrap();
    }
    text.push_str("no record\n,,other,1\n99,-99,u,0\n");
    let path = folder.join("t.csv");
    std::fs::write(&path, text).unwrap();
    let file = CsvFile::open(&path).unwrap();
    let budget = Budget::Epsilon(Epsilon::new(8.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
    let config = TrainConfig { model: Some(model), algorithm, settings, ..TrainConfig::new(budget) };
    let loaded = load(&config, Schema::parse(&schema, &path).unwrap(), &file, &|_, _| Ok(())).unwrap();
    let noise = NoiseSource::insecure_from_seed(3);
    (train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap().0.model, file)
}

#[test]
fn contributions_add_up_to_predictions() {
    let folder = tempfile::tempdir().unwrap();
    let given = FamilyParameters::default();
    for (family, algorithm) in FAMILIES.iter().flat_map(|family| {
        [Algorithm::Auto, Algorithm::Additive, Algorithm::Rich, Algorithm::Adaptive]
            .map(|algorithm| ((family.model)(&given), algorithm))
    }) {
        let (model, file) = trained(family, algorithm, folder.path());
        let outputs = model.intercept.values().len();
        let predictions = predict_explaining(&model, &file, &[]).unwrap();
        let names = contributions(&model);
        assert_eq!(names.len() % outputs, 0);
        assert_eq!(names.iter().any(|name| name.starts_with("(together)")), algorithm == Algorithm::Rich);
        for (line, row) in predictions.rows().enumerate() {
            let parts = predictions.contributions(line);
            assert_eq!(parts.len(), names.len());
            let Some(row) = row else {
                assert!(parts.iter().all(|part| *part == 0.0) && line == 4000);
                continue;
            };
            let sums: Vec<f64> = (0..outputs).map(|k| parts.iter().skip(k).step_by(outputs).sum()).collect();
            let expected = match (&model.target, family) {
                (Target::Classes { .. }, _) => {
                    let total: f64 = sums.iter().map(|sum| sum.exp()).sum();
                    sums.iter().map(|sum| sum.exp() / total).collect()
                }
                (_, ModelKind::Svm { .. }) => sums,
                (Target::Label { .. }, _) => vec![1.0 / (1.0 + (-sums[0]).exp())],
                (Target::Number { lower, upper, centre, scale, .. }, ModelKind::Poisson { .. }) => {
                    // The logarithm of the rate, of which a margin is that over the scale.
                    vec![(centre + scale * (sums[0] - scale.ln()).clamp(-3.0, 3.0).exp()).clamp(*lower, *upper)]
                }
                (Target::Number { lower, upper, .. }, _) => vec![sums[0].clamp(*lower, *upper)],
            };
            let off = expected.iter().zip(row).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-9, "{family:?} {algorithm:?} line {line}: {expected:?} {row:?}");
        }
    }
}

#[test]
fn shapes_are_the_coefficients_and_cover_the_columns() {
    let folder = tempfile::tempdir().unwrap();
    for (family, algorithm, bands) in [
        (ModelKind::Logistic, Algorithm::Additive, Some(Bands::StepNoise)),
        (ModelKind::Multinomial, Algorithm::Additive, Some(Bands::StepNoise)),
        (ModelKind::Linear, Algorithm::Rich, None),
        (ModelKind::Logistic, Algorithm::Adaptive, Some(Bands::StepNoise)),
        (ModelKind::Linear, Algorithm::Adaptive, Some(Bands::StepNoise)),
        (ModelKind::Linear, Algorithm::Whitened, Some(Bands::StandardErrors)),
        (ModelKind::Multinomial, Algorithm::DpGd, None),
    ] {
        let (model, _) = trained(family, algorithm, folder.path());
        let explanation = Explanation::of(&model, 2).unwrap();
        let outputs = model.intercept.values().len();
        assert_eq!((explanation.bands, explanation.columns.len()), (bands, 3 * outputs), "{family:?} {algorithm:?}");
        assert!(explanation.columns.windows(2).all(|pair| pair[0].importance >= pair[1].importance));
        for shape in &explanation.columns {
            let places = match &shape.curve {
                Curve::Line { places } => places.len(),
                Curve::Steps { ends } => ends.len() - 1,
                Curve::Values { values } => values.len(),
            };
            assert_eq!(places, shape.effects.len());
            assert!(shape.shares.is_empty() || (shape.shares.iter().sum::<f64>() - 1.0).abs() < 1e-4);
            assert!(shape.deviations.iter().all(|it| *it >= 0.0 && it.is_finite()));
            assert_eq!(shape.shares.is_empty(), !algorithm.cuts_columns());
            assert_eq!(shape.deviations.is_empty(), bands.is_none());
        }
        assert_eq!(explanation.beyond.is_some(), algorithm == Algorithm::Rich);
        let found = verify(&model, &model.to_json(), Evidence::default()).unwrap();
        assert!(found.held(), "{found:?}");
    }
}

/// Of steps that grow and grow nobody knows what their noise does.
#[test]
fn an_adaptive_model_whose_steps_do_not_settle_tells_no_bands() {
    let folder = tempfile::tempdir().unwrap();
    for family in [ModelKind::Logistic, ModelKind::Linear] {
        for (learning_rate, told) in [(1.0, true), (400.0, false)] {
            let settings = Settings { learning_rate: Some(learning_rate), ..Settings::default() };
            let (model, _) = trained_by(family, Algorithm::Adaptive, settings, folder.path());
            let explanation = Explanation::of(&model, 0).unwrap();
            assert_eq!(explanation.bands.is_some(), told, "{family:?}, steps of {learning_rate}");
            assert!(explanation.columns.iter().all(|shape| shape.deviations.is_empty() != told));
            assert!(explanation.columns.iter().flat_map(|shape| &shape.effects).all(|effect| effect.is_finite()));
        }
    }
}

/// Everything that is learned stands in what `a` and `b` do together.
#[test]
fn what_two_columns_do_together_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (model, _) = trained(ModelKind::Linear, Algorithm::Rich, folder.path());
    let explanation = Explanation::of(&model, 2).unwrap();
    let strongest = &explanation.pairs[0];
    assert_eq!((strongest.first.as_str(), strongest.second.as_str()), ("a", "b"));
    assert!(strongest.importance > 4.0 * explanation.pairs[1].importance, "{:?}", explanation.pairs);
    // The product, whose deviation is 4/3.
    assert!((0.9..1.6).contains(&strongest.importance), "{}", strongest.importance);
    let last = strongest.effects.len() - 1;
    assert!(strongest.effects[0][0] > 1.0 && strongest.effects[last][0] < -1.0 && strongest.effects[last][last] > 1.0);
    assert!(explanation.beyond.is_some_and(|share| share > 0.8), "{:?}", explanation.beyond);
    assert!(explanation.columns.iter().all(|shape| shape.importance < 0.3));
}

#[test]
fn files_of_earlier_versions_are_explained_as_far_as_they_tell() {
    let folder = tempfile::tempdir().unwrap();
    let (model, _) = trained(ModelKind::Logistic, Algorithm::Rich, folder.path());
    let mut old = model.clone();
    for feature in &mut old.features {
        if let Feature::Steps { shares, deviations, .. } | Feature::Categorical { shares, deviations, .. } = feature {
            shares.clear();
            deviations.clear();
        }
    }
    old.together.iter_mut().for_each(|together| together.covariance = None);
    old.digest = old.expected_digest();
    assert!(!old.to_json().contains("shares") && !old.to_json().contains("covariance"));
    let read = ModelFile::parse(&old.to_json(), Path::new("m")).unwrap();
    let explanation = Explanation::of(&read, 3).unwrap();
    assert!(explanation.bands.is_none() && explanation.pairs.is_empty() && explanation.missing.len() == 2);
    // What counts alone tell stands in no file of a run that counted nothing.
    let (linear, _) = trained(ModelKind::Logistic, Algorithm::Whitened, folder.path());
    let mut edited = linear.clone();
    let Some(Feature::Categorical { shares, .. }) = edited.features.last_mut() else { unreachable!("a category") };
    *shares = vec![0.25, 0.25, 0.5];
    edited.digest = edited.expected_digest();
    let found = verify(&edited, &edited.to_json(), Evidence::default()).unwrap();
    assert!(!found.held());
    for wrong in [vec![1.0], vec![0.5, -0.5, 1.0], vec![0.0; 3], vec![f64::NAN; 3]] {
        let mut edited = model.clone();
        let Some(Feature::Categorical { shares, .. }) = edited.features.last_mut() else { unreachable!("a category") };
        *shares = wrong;
        edited.digest = edited.expected_digest();
        assert!(ModelFile::parse(&edited.to_json(), Path::new("m")).is_err());
    }
    let refused = |forged: &ModelFile| {
        let mut forged = forged.clone();
        forged.digest = forged.expected_digest();
        ModelFile::parse(&forged.to_json(), Path::new("m")).is_err()
    };
    // A band that is no number where it begins at the largest effect.
    let mut edited = model.clone();
    let Some(Feature::Categorical { deviations, .. }) = edited.features.last_mut() else { unreachable!("a category") };
    *deviations = vec![1e308; 3];
    assert!(refused(&edited));
    // No label at all.
    let (classes, _) = trained(ModelKind::Multinomial, Algorithm::DpGd, folder.path());
    let mut edited = classes.clone();
    let Target::Classes { labels, .. } = &mut edited.target else { unreachable!("labels") };
    labels.clear();
    assert!(refused(&edited));
    // Errors that belong to no coefficient, or coefficients without one.
    for wrong in [vec![], vec![0.1; 3], vec![0.1; 100], vec![-0.1; 6]] {
        assert!(refused(&ModelFile { standard_errors: Some(wrong), ..linear.clone() }));
    }
    assert!(![&model, &classes, &linear].into_iter().any(refused));
}

#[test]
fn a_covariance_that_no_run_tells_is_refused() {
    let told = |scores: usize| {
        let lower = vec![0.0; scores * (scores + 1) / 2];
        let text = serde_json::json!({"lower": lower, "noise": 0.1}).to_string();
        serde_json::from_str::<rhograd::train::Covariance>(&text).unwrap().is_of(scores)
    };
    assert!(told(0) && told(3) && told(512) && !told(513));
}
