//! A missing number with a coefficient of its own: what it tells is learned, and every reader of a model says the same.

use std::fmt::Write as _;
use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::data::{Cells, Column, CsvFile, Missing, Numbers, Protect, Schema, Table, draft_schema};
use rhograd::error::Fallible;
use rhograd::ledger::Ledger;
use rhograd::ndarray::aview1;
use rhograd::noise::NoiseSource;
use rhograd::privacy::{Adjacency, Epsilon};
use rhograd::train::{
    Algorithm, Budget, Coefficient, Evidence, Feature, Loaded, Metrics, ModelFile, TrainConfig, check, contributors,
    effects, evaluate, explain_table, load, load_table, predict, predict_table, train, verify,
};

use crate::files::file;

const ROWS: usize = 20_000;

/// The chance that the label is yes where the number is missing, and where it is not.
const CHANCES: [f64; 2] = [0.8, 0.3];

fn schema(missing: &str) -> Schema {
    let text = format!(
        r#"{{"name":"t","task":"classification","target":"y","positive":"yes","negative":"no",
        "columns":{{"x":{{"type":"numeric","lower":0,"upper":10{missing}}},"z":{{"type":"numeric","lower":-1,"upper":1}}}}}}"#
    );
    Schema::parse(&text, Path::new("s")).unwrap()
}

/// A number that is missing in a quarter of the rows, which alone tells the label, and one that tells nothing.
fn columns(seed: u64) -> (Vec<f64>, Vec<f64>, Vec<bool>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut row = || {
        let missing = rng.random_bool(0.25);
        let x = if missing { f64::NAN } else { rng.random_range(0.0..10.0) };
        (x, rng.random_range(-1.0..1.0), rng.random_bool(CHANCES[usize::from(!missing)]))
    };
    let mut all = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROWS {
        let (x, z, y) = row();
        all.0.push(x);
        all.1.push(z);
        all.2.push(y);
    }
    all
}

/// The rows as lines; missing numbers in all the ways that files say it.
fn csv((x, z, y): &(Vec<f64>, Vec<f64>, Vec<bool>)) -> String {
    let mut text = String::from("x,z,y\n");
    for (i, ((x, z), y)) in x.iter().zip(z).zip(y).enumerate() {
        let x = if x.is_nan() { ["", "NA", "unknown", "1,5"][i % 3].to_owned() } else { x.to_string() };
        writeln!(text, "{x},{z},{}", if *y { "yes" } else { "no" }).unwrap();
    }
    text
}

fn trained(loaded: Loaded) -> Fallible<ModelFile> {
    Ok(train(loaded, &mut Ledger::in_memory()?, NoiseSource::insecure_from_seed(3), &mut |_| Ok(()))?.0.model)
}

fn config() -> TrainConfig {
    TrainConfig::new(Budget::Epsilon(Epsilon::new(8.0).unwrap(), None))
}

fn accuracy(model: &ModelFile, file: &CsvFile) -> f64 {
    let Metrics::Label { accuracy, .. } = evaluate(model, file).unwrap() else { panic!("two labels") };
    accuracy
}

#[test]
fn what_being_missing_tells_is_learned() {
    let (_kept, file) = file(&csv(&columns(1)));
    let odds = |chance: f64| (chance / (1.0 - chance)).ln();
    let truth = odds(CHANCES[0]) - odds(CHANCES[1]);
    let additive = TrainConfig { algorithm: Algorithm::Additive, ..config() };
    let labels = TrainConfig { adjacency: Adjacency::ReplaceOne, ..config() };
    for (config, protect) in [(config(), Protect::Row), (additive, Protect::Row), (labels, Protect::Label)] {
        let fit = |missing: &str| {
            let schema = schema(missing).with_protect(protect).unwrap();
            let model = trained(load(&config, schema, &file, &|_, _| Ok(())).unwrap()).unwrap();
            assert!(verify(&model, &model.to_json(), Evidence::default()).unwrap().held(), "{config:?}");
            model
        };
        let (model, plain) = (fit(r#","missing":"indicator""#), fit(""));
        let Some(Feature::Categorical { name, missing_of, values, .. }) = model.features.last() else { panic!() };
        assert_eq!((name.as_str(), missing_of.as_deref()), ("x (missing)", Some("x")));
        assert_eq!((values.len(), values[0].as_str()), (1, "missing"));
        let effect = effects(&model).into_iter().find(|effect| effect.name == "x (missing) = missing").unwrap();
        let told = accuracy(&model, &file);
        assert!(told > 0.7, "{told}");
        // An additive model can put the middle of the bounds into an interval of its own, which a slope cannot.
        if config.algorithm != Algorithm::Additive {
            assert!((effect.value - truth).abs() < 0.25, "{} against {truth}", effect.value);
            assert!(accuracy(&plain, &file) < told - 0.05);
        }
    }
}

#[test]
fn tables_train_and_predict_as_their_files_do() {
    let of = columns(2);
    let (_kept, file) = file(&csv(&of));
    let (places, schema) = (of.2.iter().map(|y| i8::from(*y)).collect::<Vec<_>>(), schema(r#","missing":"indicator""#));
    let y = Cells::Texts { list: vec!["no".into(), "yes".into()], places: Numbers::I8(aview1(&places)) };
    let number = |numbers| Cells::Numbers(Numbers::F64(aview1(numbers)));
    let table = Table::new(vec![("z".into(), number(&of.1)), ("y".into(), y), ("x".into(), number(&of.0))]).unwrap();
    for algorithm in [Algorithm::Auto, Algorithm::Additive, Algorithm::Rich] {
        let config = TrainConfig { algorithm, ..config() };
        let model = trained(load(&config, schema.clone(), &file, &|_, _| Ok(())).unwrap()).unwrap();
        assert_eq!(trained(load_table(&config, schema.clone(), &table).unwrap()).unwrap(), model);
        assert_eq!(predict_table(&model, &table).unwrap().into_values(), predict(&model, &file).unwrap().into_values());
        let parts = explain_table(&model, &table).unwrap();
        let names = contributors(&model);
        let (own, width) = (names.iter().position(|name| name == "x (missing)").unwrap(), names.len());
        let Some(Feature::Categorical { coefficients, .. }) = model.features.last() else { panic!() };
        let [Coefficient::One(effect)] = coefficients[..] else { panic!() };
        for (row, x) in of.0.iter().enumerate() {
            let told = parts[row * width + own];
            assert_eq!(told, if x.is_nan() { effect } else { 0.0 });
        }
    }
}

#[test]
fn a_check_says_that_missing_cells_count() {
    let (_kept, file) = file(&csv(&columns(3)));
    let found = |missing: &str| {
        let found = check(None, &schema(missing), &file, &|_, _| Ok(())).unwrap().findings;
        found.into_iter().map(|finding| (finding.share, finding.text)).collect::<Vec<_>>()
    };
    let (told, untold) = (found(r#","missing":"indicator""#), found(""));
    let of = |found: &[(f64, String)]| found.iter().find(|(_, text)| text.contains("hold nothing")).unwrap().clone();
    assert!(of(&told).1.contains("a coefficient of its own") && of(&told).0 == 0.0, "{told:?}");
    assert!(!of(&untold).1.contains("of its own") && of(&untold).0 > 0.1, "{untold:?}");
    // Other text in the place of a number is told of as before.
    assert!(told.iter().any(|(share, text)| text.contains("text where a number belongs") && *share > 0.05), "{told:?}");
}

#[test]
fn a_draft_from_the_rows_sees_what_is_missing() {
    let (_kept, file) = file(&csv(&columns(4)));
    let drafted = draft_schema(&file, "t", None).unwrap();
    let of = |name: &str| drafted.columns.0.iter().find(|(column, _)| column == name).unwrap().1.clone();
    assert!(matches!(of("x"), Column::Numeric { missing: Missing::Indicator, .. }), "{drafted:?}");
    assert!(matches!(of("z"), Column::Numeric { missing: Missing::Middle, .. }), "{drafted:?}");
}
