//! Every algorithm on every model family and on inputs without any information: it trains and its statement verifies, or
//! it is refused with the flag and a cure, and which of the two, like the layout of what is written, follows from public
//! facts alone.

use std::collections::BTreeMap;
use std::path::Path;

use rhograd::data::{CsvFile, Protect, Schema};
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::optim::{Settings, settings};
use rhograd::privacy::{Adjacency, Delta, Epsilon, GaussianCharge};
use rhograd::train::{Algorithm, Budget, Evidence, ModelKind, TrainConfig, load, train, verify};
use serde_json::Value;

const FAMILIES: [&str; 8] = ["logistic", "svm", "multinomial", "linear", "ridge", "huber", "quantile", "poisson"];

fn family(name: &str) -> ModelKind {
    match name {
        "logistic" => ModelKind::Logistic,
        "svm" => ModelKind::svm(),
        "multinomial" => ModelKind::Multinomial,
        "linear" => ModelKind::Linear,
        "ridge" => ModelKind::Ridge,
        "huber" => ModelKind::huber(None),
        "quantile" => ModelKind::quantile(Some(0.8)),
        _ => ModelKind::poisson(),
    }
}

/// What a schema declares: numeric columns, and values of each categorical one.
type Shape = (&'static str, usize, &'static [usize]);

const SHAPES: [Shape; 5] = [
    ("one feature", 1, &[]),
    ("two features", 2, &[]),
    ("one category of one value", 0, &[1]),
    ("categories only", 0, &[3, 2]),
    ("features and a category", 12, &[2]),
];

fn schema(model: &str, numeric: usize, levels: &[usize]) -> Schema {
    let mut columns: Vec<String> =
        (0..numeric).map(|j| format!(r#""x{j}":{{"type":"numeric","lower":-1,"upper":1}}"#)).collect();
    for (j, levels) in levels.iter().enumerate() {
        let values: Vec<String> = (0..*levels).map(|value| format!("\"v{value}\"")).collect();
        columns.push(format!(r#""c{j}":{{"type":"categorical","values":[{}]}}"#, values.join(",")));
    }
    let target = match model {
        "logistic" | "svm" => r#""task":"classification","positive":"1""#,
        "multinomial" => {
            columns.push(r#""y":{"type":"categorical","values":["0","1","2"]}"#.into());
            r#""task":"classification""#
        }
        "poisson" => r#""task":"regression","target_lower":0,"target_upper":9"#,
        _ => r#""task":"regression","target_lower":-2,"target_upper":2"#,
    };
    let text = format!(r#"{{"name":"t",{target},"target":"y","columns":{{{}}}}}"#, columns.join(","));
    Schema::parse(&text, Path::new("s")).unwrap()
}

/// What stands in the rows; the cell of row `i` and column `j`, and the label of row `i`.
struct Content {
    what: &'static str,
    rows: usize,
    cell: fn(usize, usize) -> usize,
    label: fn(usize) -> usize,
}

const CONTENTS: [Content; 8] = [
    Content { what: "nothing odd", rows: 24, cell: |i, j| (i * 7 + j * 3 + i * i * j) % 11, label: |i| i / 2 % 3 },
    Content { what: "constant features", rows: 24, cell: |_, _| 4, label: |i| i % 3 },
    Content { what: "duplicated features", rows: 24, cell: |i, _| i % 11, label: |i| i % 2 },
    Content { what: "labels all equal", rows: 24, cell: |i, j| (i * 7 + j) % 11, label: |_| 1 },
    Content { what: "everything equal", rows: 24, cell: |_, _| 10, label: |_| 0 },
    Content { what: "fewer rows than coefficients", rows: 2, cell: |i, j| (i * 5 + j) % 11, label: |i| i % 2 },
    Content { what: "one row", rows: 1, cell: |_, j| j % 11, label: |_| 1 },
    Content { what: "no row", rows: 0, cell: |_, _| 0, label: |_| 0 },
];

impl Content {
    fn csv(&self, numeric: usize, levels: &[usize]) -> String {
        let names = (0..numeric).map(|j| format!("x{j}")).chain((0..levels.len()).map(|j| format!("c{j}")));
        let mut csv = names.chain(["y".into()]).collect::<Vec<_>>().join(",") + "\n";
        for i in 0..self.rows {
            let numbers = (0..numeric).map(|j| format!("{}", (self.cell)(i, j) as f64 / 5.0 - 1.0));
            let values = levels.iter().enumerate().map(|(j, levels)| format!("v{}", (self.cell)(i, j) % levels));
            csv += &numbers.chain(values).map(|cell| cell + ",").collect::<String>();
            csv += &format!("{}\n", (self.label)(i));
        }
        csv
    }
}

/// Everything but numbers and digests, which follow from noise.
fn layout(value: &mut Value) {
    match value {
        Value::Number(_) => *value = Value::Null,
        Value::String(text) if text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()) => *value = Value::Null,
        Value::Array(items) => items.iter_mut().for_each(layout),
        Value::Object(items) => {
            // How many intervals there are follows from released counts.
            if items.get("type").is_some_and(|kind| kind == "steps") {
                for name in ["edges", "coefficients", "shares", "deviations"] {
                    items.insert(name.into(), Value::Null);
                }
            }
            if items.contains_key("lower") && items.contains_key("noise") {
                items.insert("lower".into(), Value::Null);
            }
            if let Some(scores) = items.get_mut("scores") {
                scores["numeric"] = Value::Null;
            }
            items.values_mut().for_each(layout);
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The layout of model and log, or the message of a refusal.
fn outcome(config: &TrainConfig, schema: &Schema, csv: &str, folder: &Path) -> Result<String, String> {
    let path = folder.join("t.csv");
    std::fs::write(&path, csv).unwrap();
    let file = CsvFile::open(&path).unwrap();
    let loaded = load(config, schema.clone(), &file, &|_, _| Ok(())).map_err(|e| e.to_string())?;
    let mut ledger = Ledger::in_memory().unwrap();
    let (mut log, mut layouts) = (String::new(), String::new());
    let noise = NoiseSource::insecure_from_seed(11);
    let (trained, mut paid) = train(loaded, &mut ledger, noise, &mut |entry| {
        let line = entry.to_json()?;
        let mut masked = serde_json::from_str(&line).unwrap();
        layout(&mut masked);
        layouts += &format!("{masked}\n");
        log += &line;
        Ok(())
    })
    .unwrap_or_else(|e| panic!("charged, then failed: {config:?}: {e}"));
    assert!(paid.permit::<GaussianCharge>().is_err(), "every paid release was made");
    let text = trained.model.to_json();
    // Finite coefficients are among the checks.
    let evidence = Evidence { log: Some(&mut log.as_bytes()), ..Evidence::default() };
    let found = verify(&trained.model, &text, evidence).unwrap();
    assert!(found.held(), "{config:?}: {found:?}");
    let mut model = serde_json::from_str(&text).unwrap();
    layout(&mut model);
    Ok(format!("{model}\n{layouts}"))
}

fn config(algorithm: Algorithm, model: &str, adjacency: Adjacency, epsilon: f64) -> TrainConfig {
    let budget = Budget::Epsilon(Epsilon::new(epsilon).unwrap(), Some(Delta::new(1e-6).unwrap()));
    // Two steps keep the test short where the default is many.
    let steps = match algorithm {
        Algorithm::DpSgd | Algorithm::FrankWolfe | Algorithm::Whitened | Algorithm::DpGd | Algorithm::Auto => Some(2),
        _ => None,
    };
    // The textbook's number of steps needs a number of rows.
    let rows = (algorithm == Algorithm::DpGdTheory && adjacency == Adjacency::AddRemove).then_some(20);
    let settings = Settings { steps, ..Settings::default() };
    TrainConfig { algorithm, adjacency, settings, rows, model: Some(family(model)), ..TrainConfig::new(budget) }
}

/// Trains on every shape and content: under add-remove the outcome is one for each schema, under replace-one for each
/// number of rows. Returns the shapes that trained.
fn survey(config: &TrainConfig, model: &str, shapes: &[Shape], contents: &[Content]) -> Vec<&'static str> {
    let folder = tempfile::tempdir().unwrap();
    let mut trained = Vec::new();
    for &(shape, numeric, levels) in shapes {
        let mut schema = schema(model, numeric, levels);
        if config.algorithm.description().needs.labels_alone {
            schema.protect = Protect::Label;
        }
        let mut seen: BTreeMap<usize, (&str, Result<String, String>)> = BTreeMap::new();
        for content in contents {
            let outcome = outcome(config, &schema, &content.csv(numeric, levels), folder.path());
            let case = format!("{:?} {model} {}: {shape}, {}", config.algorithm, config.adjacency, content.what);
            if let Err(message) = &outcome {
                let (problem, cure) = message.split_once("; ").unwrap_or_else(|| panic!("{case}: {message}"));
                assert!(problem.starts_with("--"), "{case}: {problem}");
                assert!(cure.contains("--") || cure.contains("declare") || cure.contains("target"), "{case}: {cure}");
            }
            let public = if config.adjacency.row_count_is_public() { content.rows } else { 0 };
            let (first, known) = seen.entry(public).or_insert((content.what, outcome.clone()));
            assert!(*known == outcome, "{case} differs from {first}: {outcome:?} {known:?}");
        }
        if seen.values().all(|(_, outcome)| outcome.is_ok()) {
            trained.push(shape);
        }
    }
    trained
}

/// The families that an algorithm says it takes train on the shapes it says it takes under the relations it says it has, with
/// a small budget and with one that leaves next to no noise, without and with a hold-out; all others are refused.
fn takes_only_what_it_says(algorithm: Algorithm) {
    let it = algorithm.description();
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        // Without noise to speak of, the textbook takes millions of steps.
        let rich = if algorithm == Algorithm::DpGdTheory { 4.0 } else { 1e4 };
        for (epsilon, evaluate_budget) in [(2.0, None), (rich, Some(0.2))] {
            for model in FAMILIES {
                let config = TrainConfig { evaluate_budget, ..config(algorithm, model, adjacency, epsilon) };
                // Ridge regression asks for a penalty.
                let penalised = model != "ridge" || it.takes(&settings::L2);
                let fits = it.losses.has(family(model).loss(&schema(model, 1, &[]))) && penalised;
                let taken = |shape: &&Shape| {
                    fits && it.relations.all().contains(&adjacency)
                        && it.needs.coefficients.is_none_or(|most| 1 + shape.1 + shape.2.iter().sum::<usize>() <= most)
                };
                let expected: Vec<_> = SHAPES.iter().filter(taken).map(|(shape, ..)| *shape).collect();
                assert_eq!(survey(&config, model, &SHAPES, &CONTENTS), expected, "{config:?}");
            }
        }
    }
}

/// One test of each algorithm, and that none is missing.
macro_rules! each {
    ($($test:ident = $algorithm:ident),* $(,)?) => {
        $(
            #[test]
            fn $test() {
                takes_only_what_it_says(Algorithm::$algorithm);
            }
        )*

        #[test]
        fn every_algorithm_has_a_test() {
            let tested = [$(Algorithm::$algorithm),*];
            let apart = [Algorithm::DpSgd, Algorithm::Rich];
            let missing = |it: &Algorithm| !apart.contains(it) && !tested.contains(it);
            assert_eq!(Algorithm::ALL.into_iter().find(missing), None);
        }
    };
}

each! {
    auto = Auto, whitened = Whitened, dp_gd = DpGd, dp_gd_theory = DpGdTheory, adassp = AdaSsp,
    boosted_adassp = BoostedAdaSsp, newton = Newton, additive = Additive, adaptive = Adaptive, newton_double_noise = NewtonDoubleNoise, dp_ftrl = DpFtrl,
    localization = Localization, one_pass = OnePass, output_perturbation = OutputPerturbation, amp = Amp,
    objective_perturbation = ObjectivePerturbation, exponential_mechanism = ExponentialMechanism, frank_wolfe = FrankWolfe, label_sums = LabelSums,
}

/// It makes 400 waves for however few rows, so it meets fewer families.
#[test]
fn rich() {
    let cases = [(Adjacency::AddRemove, "logistic", 1e4, Some(0.2)), (Adjacency::ReplaceOne, "linear", 2.0, None)];
    for ((adjacency, model, epsilon, evaluate_budget), shapes) in cases.into_iter().zip([&SHAPES[..], &SHAPES[4..]]) {
        let config = TrainConfig { evaluate_budget, ..config(Algorithm::Rich, model, adjacency, epsilon) };
        let expected: Vec<_> = shapes.iter().map(|(shape, ..)| *shape).collect();
        assert_eq!(survey(&config, model, shapes, &CONTENTS), expected);
    }
}

/// Its calibration takes a while, so it meets the fewest rows only.
#[test]
fn dp_sgd() {
    for (adjacency, evaluate_budget) in [(Adjacency::AddRemove, None), (Adjacency::ReplaceOne, Some(0.2))] {
        for model in ["logistic", "multinomial", "quantile", "poisson"] {
            let config = TrainConfig { evaluate_budget, ..config(Algorithm::DpSgd, model, adjacency, 2.0) };
            assert_eq!(survey(&config, model, &SHAPES[1..2], &CONTENTS[6..]), [SHAPES[1].0]);
        }
    }
}

#[test]
fn a_schema_without_a_feature_is_refused_with_the_cure() {
    let text = r#"{"name":"t","task":"classification","positive":"1","target":"y","columns":{}}"#;
    let message = Schema::parse(text, Path::new("s.json")).unwrap_err().to_string();
    assert!(message.contains("s.json") && message.contains("declare at least one feature column"), "{message}");
}
