//! Rows with weights: they count as much as they should in what is fitted, and for no more than one row in what is paid for.

use std::fmt::Write as _;
use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Poisson};
use rhograd::data::{Cells, Numbers, RowWeight, Schema, Table};
use rhograd::grid::WEIGHT_ONE;
use rhograd::ledger::Ledger;
use rhograd::ndarray::aview1;
use rhograd::noise::NoiseSource;
use rhograd::preprocess::MemoryLimit;
use rhograd::privacy::{Adjacency, Epsilon, PrivacyUnit, Rho};
use rhograd::private::Query;
use rhograd::statement::{Facts, Statement};
use rhograd::train::{
    Algorithm, Budget, Feature, Metrics, ModelFile, ModelKind, Plan, TrainConfig, check, effects, evaluate, load,
    load_table, load_within, predict, train,
};

use crate::files::{file, fit, nearly_exact as config};

const ROWS: usize = 4000;

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Target {
    Label,
    Number,
    Count,
}

fn schema(target: Target, more: &str) -> Schema {
    let target = match target {
        Target::Label => r#""task":"classification","positive":"yes","negative":"no""#,
        Target::Number => r#""task":"regression","target_lower":-8,"target_upper":8"#,
        Target::Count => r#""task":"regression","target_lower":0,"target_upper":40"#,
    };
    let text = format!(
        r#"{{"name":"t",{target},"target":"y"{more},"columns":{{"x":{{"type":"numeric","lower":-1,"upper":1}},
        "z":{{"type":"numeric","lower":-1,"upper":1}},"c":{{"type":"categorical","values":["u"]}}}}}}"#
    );
    Schema::parse(&text, Path::new("s")).unwrap()
}

/// Rows whose weight goes with what they say, so that a fit that forgets it is another one: weights are 1, 2 and 1000.
fn rows(target: Target, seed: u64) -> Vec<(f64, f64, &'static str, String, u32)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut row = |index: usize| {
        let (x, z, heavy): (f64, f64, bool) =
            (rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0), index.is_multiple_of(2));
        let c = ["u", "v"][index % 3 % 2];
        // Rows of different weights follow different lines.
        let slope = if heavy { 2.0 } else { -1.0 };
        let t = slope * x - z + if c == "u" { 0.5 } else { 0.0 };
        let y = match target {
            Target::Label => ["no", "yes"][usize::from(rng.random_bool(1.0 / (1.0 + (-t).exp())))].to_owned(),
            Target::Number => (t + rng.random_range(-1.0..1.0)).to_string(),
            Target::Count => ((t / 2.0).exp() * 3.0 * rng.random_range(0.0..2.0)).round().to_string(),
        };
        (x, z, c, y, if heavy { 1000 } else { 1 + index as u32 % 4 / 2 * 4 })
    };
    (0..ROWS).map(&mut row).collect()
}

fn values(model: &ModelFile) -> Vec<f64> {
    effects(model).iter().map(|effect| effect.value).collect()
}

/// A row of weight 3 is three rows of weight 1, for every family and by every way that serves weights.
#[test]
fn weights_are_rows_that_stand_there_more_than_once() {
    let families = [
        (Target::Label, ModelKind::Logistic, Algorithm::Whitened),
        (Target::Label, ModelKind::Logistic, Algorithm::DpGd),
        (Target::Label, ModelKind::Logistic, Algorithm::Newton),
        (Target::Label, ModelKind::Logistic, Algorithm::Additive),
        (Target::Label, ModelKind::svm(), Algorithm::DpGd),
        (Target::Number, ModelKind::Linear, Algorithm::Whitened),
        (Target::Number, ModelKind::Linear, Algorithm::AdaSsp),
        (Target::Count, ModelKind::poisson(), Algorithm::Auto),
    ];
    for (target, model, algorithm) in families {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let (mut weighted, mut plain, mut once) = ("x,z,c,y,w\n".to_owned(), "x,z,c,y\n".to_owned(), String::new());
        once.push_str(&plain);
        for (x, z, c, y, heavy) in rows(target, 1) {
            let times = if heavy == 1000 { rng.random_range(3..=5) } else { 1 };
            writeln!(weighted, "{x},{z},{c},{y},{times}").unwrap();
            (0..times).for_each(|_| writeln!(plain, "{x},{z},{c},{y}").unwrap());
            writeln!(once, "{x},{z},{c},{y}").unwrap();
        }
        let config = config(model, algorithm);
        let (_kept, by_weight) = file(&weighted);
        let (_kept, repeated) = file(&plain);
        let (_kept, alone) = file(&once);
        let of_weights = values(&fit(&config, schema(target, r#","weight":{"column":"w","max":8}"#), &by_weight));
        let of_rows = values(&fit(&config, schema(target, ""), &repeated));
        let forgotten = values(&fit(&config, schema(target, ""), &alone));
        let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let (near, far) = (apart(&of_weights, &of_rows), apart(&of_weights, &forgotten));
        println!("{model:?} {algorithm:?}: {near:.4} {far:.4}");
        assert!(
            near < 0.03 && far > 5.0 * near && far > 0.1,
            "{model:?} {algorithm:?}: {near} {far}\n{of_weights:?}\n{of_rows:?}"
        );
    }
}

/// At a ratio of a thousand small weights still count: they are nearly all that is there.
#[test]
fn small_weights_are_not_rounded_away() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let (mut text, mut plain) = ("x,z,c,y,w\n".to_owned(), "x,z,c,y\n".to_owned());
    // Two heavy rows set the largest weight, and all others have a thousandth of it.
    for index in 0..20_000 {
        let (x, z): (f64, f64) = (rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0));
        let y = 2.0 * x - z + rng.random_range(-1.0..1.0);
        let w = if index < 2 { 1000.0 } else { 1.0 };
        writeln!(text, "{x},{z},{},{y},{w}", ["u", "v"][index % 2]).unwrap();
        (0..w as usize).for_each(|_| writeln!(plain, "{x},{z},{},{y}", ["u", "v"][index % 2]).unwrap());
    }
    let config = config(ModelKind::Linear, Algorithm::Whitened);
    let (_kept, weighted) = file(&text);
    let (_kept, plain) = file(&plain);
    let found = values(&fit(&config, schema(Target::Number, r#","weight":{"column":"w","max":1000}"#), &weighted));
    let expected = values(&fit(&config, schema(Target::Number, ""), &plain));
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 0.02, "{found} {expected}");
    }
}

#[test]
fn weights_of_labels_are_weights_of_rows() {
    let (mut by_label, mut by_column) = ("x,z,c,y\n".to_owned(), "x,z,c,y,w\n".to_owned());
    for (x, z, c, y, _) in rows(Target::Label, 2) {
        writeln!(by_label, "{x},{z},{c},{y}").unwrap();
        writeln!(by_column, "{x},{z},{c},{y},{}", if y == "yes" { 4 } else { 1 }).unwrap();
    }
    let config = config(ModelKind::Logistic, Algorithm::Whitened);
    let (_kept, by_label) = file(&by_label);
    let (_kept, by_column) = file(&by_column);
    let labels = schema(Target::Label, r#","weight":{"labels":{"yes":4}}"#);
    let column = schema(Target::Label, r#","weight":{"column":"w","max":4}"#);
    let found = fit(&config, labels.clone(), &by_label);
    assert_eq!(values(&found), values(&fit(&config, column, &by_column)), "to the bit");
    assert_ne!(values(&found), values(&fit(&config, schema(Target::Label, ""), &by_label)));
    let given = RowWeight { labels: [("yes".to_owned(), 4.0)].into(), ..RowWeight::default() };
    assert_eq!(schema(Target::Label, "").with_weight(given).unwrap(), labels);
    assert_eq!(found.statement.facts.weight, labels.weight);
    assert!(found.statement.limits.iter().any(|limit| limit.contains("4 for \"yes\"")), "{:?}", found.statement.limits);
}

/// A count over an exposure is a rate that weighs as much: the model of both is that of the true rates, and not that of raw counts.
#[test]
fn exposures_make_counts_rates_of_their_weight() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let (mut counts, mut rates, mut rates_of) = ("x,z,c,y,e\n".to_owned(), "x,z,c,y,e\n".to_owned(), Vec::new());
    for index in 0..20_000 {
        let (x, z): (f64, f64) = (rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0));
        let exposure: f64 = [0.5, 1.0, 2.0, 4.0][index % 4];
        let law = Poisson::new(exposure * (1.0 + 0.8 * x - 0.5 * z).exp()).unwrap();
        let y: f64 = law.sample(&mut rng);
        writeln!(counts, "{x},{z},u,{y},{exposure}").unwrap();
        writeln!(rates, "{x},{z},u,{},{exposure}", y / exposure).unwrap();
        rates_of.push((y / exposure, exposure));
    }
    let config = config(ModelKind::poisson(), Algorithm::Auto);
    let (_kept, counts) = file(&counts);
    let (_kept, rates) = file(&rates);
    let exposed = schema(Target::Count, r#","weight":{"exposure":{"column":"e","max":4}}"#);
    let model = fit(&TrainConfig { model: None, ..config.clone() }, exposed.clone(), &counts);
    assert_eq!(model.model, ModelKind::poisson());
    let weighed = fit(&config, schema(Target::Count, r#","weight":{"column":"e","max":4}"#), &rates);
    assert_eq!(values(&model), values(&weighed), "to the bit");
    let slopes = values(&model);
    assert!((slopes[0] - 0.8).abs() < 0.03 && (slopes[1] + 0.5).abs() < 0.03, "{slopes:?}");
    // Rates are measured by their exposures.
    let Metrics::Number { rmse, .. } = evaluate(&model, &counts).unwrap() else { panic!() };
    let predicted = predict(&model, &counts).unwrap().into_values();
    let squares: f64 = rates_of.iter().zip(&predicted).map(|((y, e), p)| e * (y.clamp(0.0, 40.0) - p).powi(2)).sum();
    let expected = (squares / rates_of.iter().map(|(_, e)| e).sum::<f64>()).sqrt();
    assert!((rmse / expected - 1.0).abs() < 1e-9, "{rmse} {expected}");
    assert!(model.statement.limits.iter().any(|limit| limit.contains("exposure in \"e\"")));
    let linear = TrainConfig { model: Some(ModelKind::Linear), ..config };
    let problem = load(&linear, exposed, &counts, &|_, _| Ok(())).err().unwrap().to_string();
    assert!(problem.contains("--exposure") && problem.contains("poisson"), "{problem}");
}

#[test]
fn a_table_trains_as_its_file_does_and_odd_weights_count_for_nothing() {
    let (mut text, mut columns) =
        ("x,z,c,y,w\n".to_owned(), (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new()));
    for (index, (x, z, c, y, _)) in rows(Target::Label, 3).into_iter().enumerate() {
        let cell = ["2", "0.5", "", "-1", "9", "0", "nan", "1e-9"][index % 8];
        writeln!(text, "{x},{z},{c},{y},{cell}").unwrap();
        columns.0.push(x);
        columns.1.push(z);
        columns.2.push(i8::from(c == "v"));
        columns.3.push(i8::from(y == "yes"));
        columns.4.push(cell.parse().unwrap_or(f64::NAN));
    }
    let texts =
        |list: [&str; 2], places| Cells::Texts { list: list.map(String::from).to_vec(), places: Numbers::I8(places) };
    let number = |numbers| Cells::Numbers(Numbers::F64(aview1(numbers)));
    let table = Table::new(vec![
        ("w".into(), number(&columns.4)),
        ("x".into(), number(&columns.0)),
        ("z".into(), number(&columns.1)),
        ("c".into(), texts(["u", "v"], aview1(&columns.2))),
        ("y".into(), texts(["no", "yes"], aview1(&columns.3))),
    ])
    .unwrap();
    let (_kept, file) = file(&text);
    let schema = schema(Target::Label, r#","weight":{"column":"w","max":4}"#);
    let config = config(ModelKind::Logistic, Algorithm::Auto);
    let loaded = load_table(&config, schema.clone(), &table).unwrap();
    let noise = NoiseSource::insecure_from_seed(3);
    let of_table = train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap().0.model;
    assert_eq!(of_table, fit(&config, schema.clone(), &file));
    let found = check(None, &schema, &file, &|_, _| Ok(())).unwrap().findings;
    let told = |needle: &str| found.iter().any(|finding| finding.text.contains(needle));
    assert!(told("no weight, exposure or offset"), "{found:?}");
    assert!(
        found.iter().any(|finding| finding.text.starts_with("\"w\": 500 of") && finding.text.contains("above")),
        "{found:?}"
    );
}

#[test]
fn what_has_no_proof_for_weights_is_refused_before_a_row_is_read() {
    let (_kept, file) = file("x,z,c,y,w\n");
    let weighted = || schema(Target::Label, r#","weight":{"column":"w","max":4}"#);
    let base = config(ModelKind::Logistic, Algorithm::Auto);
    let plain = Budget::Epsilon(Epsilon::new(1.0).unwrap(), None);
    for (config, needle) in [
        (TrainConfig { evaluate_budget: Some(0.1), ..base.clone() }, "--evaluate-budget"),
        (
            TrainConfig { algorithm: Algorithm::DpSgd, budget: plain.clone(), rows: Some(1000), ..base.clone() },
            "dp-sgd",
        ),
        (
            TrainConfig { algorithm: Algorithm::OutputPerturbation, rows: Some(1000), ..base.clone() },
            "output-perturbation",
        ),
    ] {
        let problem = load(&config, weighted(), &file, &|_, _| Ok(())).err().unwrap().to_string();
        assert!(problem.contains(needle) && problem.contains("weights"), "{problem}");
    }
    let limit = MemoryLimit::new(1 << 20).unwrap();
    let problem = load_within(&base, weighted(), &file, None, limit, &|_, _| Ok(())).err().unwrap().to_string();
    assert!(problem.contains("--memory-limit"), "{problem}");
    for (more, needle) in [
        (r#","weight":{}"#, "says nothing"),
        (r#","weight":{"column":"w"}"#, "largest"),
        (r#","weight":{"max":3}"#, "no column"),
        (r#","weight":{"column":"w","max":0}"#, "not above 0"),
        (r#","weight":{"column":"x","max":3}"#, "feature"),
        (r#","weight":{"column":"y","max":3}"#, "target"),
        (r#","weight":{"labels":{"maybe":3}}"#, "not declared"),
        (r#","weight":{"exposure":{"column":"e","max":3}}"#, "label"),
        (r#","weight":{"labels":{"yes":-3}}"#, "above 0"),
        (r#","weight":{"column":"w","max":1e308,"labels":{"yes":1e308}}"#, "larger than any"),
        (r#","unit":{"column":"p"},"weight":{"column":"w","max":3}"#, "persons"),
        (r#","protect":"label","weight":{"column":"w","max":3}"#, "protect"),
    ] {
        let text = serde_json::to_string(&schema(Target::Label, "")).unwrap();
        let text = text.replace(r#","columns""#, &format!(r#"{more},"columns""#));
        let problem = Schema::parse(&text, Path::new("s")).unwrap_err().to_string();
        assert!(problem.contains(needle), "{more}: {problem}");
    }
    let other = weighted().with_weight(RowWeight::column("w", 5.0)).unwrap_err().to_string();
    assert!(other.contains("--max-weight") && other.contains('4'), "{other}");
}

/// Weights cost nothing of the budget, and what is planned pays for a row of the largest weight, also where the number of rows is public.
#[test]
fn plans_release_the_sum_of_weights_and_cost_what_others_cost() {
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let config = TrainConfig {
            adjacency,
            budget: Budget::Rho(Rho::from_f64(0.5).unwrap(), None),
            ..config(ModelKind::Logistic, Algorithm::Auto)
        };
        let of = |more: &str| Plan::new(&config, &schema(Target::Label, more), Some(1000)).unwrap();
        let (weighted, plain) = (of(r#","weight":{"column":"w","max":4}"#), of(""));
        let counts = |plan: &Plan| plan.planned()[0].charge.what().starts_with("count");
        assert!(counts(&weighted) && !counts(&plain));
        let spent = |plan: &Plan| rhograd::privacy::total_rho(&plan.charges()).unwrap().upper();
        assert!(spent(&weighted) <= 0.5 && spent(&weighted) > 0.999 * spent(&plain), "{}", spent(&weighted));
    }
}

/// The grid of weights leaves enough of what multipliers have: the same algorithm runs as without weights, with at least eight binary digits.
#[test]
fn weights_change_no_algorithm_at_ordinary_budgets() {
    for features in [2, 20, 60] {
        let columns: Vec<String> =
            (0..features).map(|j| format!(r#""x{j}":{{"type":"numeric","lower":-1,"upper":1}}"#)).collect();
        let schema = |weight: &str| {
            let text = format!(
                r#"{{"name":"t","task":"classification","positive":"yes","negative":"no","target":"y"{weight},"columns":{{{}}}}}"#,
                columns.join(",")
            );
            Schema::parse(&text, Path::new("s")).unwrap()
        };
        for epsilon in [0.1, 0.5, 1.0, 8.0] {
            for algorithm in [Algorithm::Auto, Algorithm::Newton, Algorithm::Additive] {
                let budget = Budget::Epsilon(Epsilon::new(epsilon).unwrap(), None);
                let config = TrainConfig { algorithm, ..TrainConfig::new(budget) };
                let of = |weight: &str| Plan::new(&config, &schema(weight), None);
                let Ok(plain) = of("") else { continue };
                let weighted = of(r#","weight":{"column":"w","max":4}"#)
                    .unwrap_or_else(|e| panic!("{algorithm:?} {features} {epsilon}: {e}"));
                assert_eq!(weighted.algorithm, plain.algorithm, "{features} {epsilon}");
                let clip = |plan: &Plan| {
                    let mut planned = plan.planned().into_iter();
                    planned.find_map(|it| {
                        if let Query::ClippedSum(query) = it.query { Some(query.clip_steps) } else { None }
                    })
                };
                let (weighted, plain) = (clip(&weighted).unwrap(), clip(&plain).unwrap());
                // Of 4095 multipliers of a row that weighs most.
                let left = weighted as f64 / WEIGHT_ONE as f64 / plain as f64;
                assert!(left > 1.0 / 16.0 && left < 1.0001, "{algorithm:?} {features} {epsilon}: {left}");
            }
        }
    }
}

/// The number of rows is public, and the sum of their weights is not: means are over the latter, under either relation.
#[test]
fn means_are_over_the_released_sum_of_weights_where_the_number_of_rows_is_public() {
    let mut text = "x,z,c,y,w\n".to_owned();
    for (x, z, c, y, w) in rows(Target::Number, 4) {
        writeln!(text, "{x},{z},{c},{y},{}", f64::from(w) / 100.0).unwrap();
    }
    let (_kept, file) = file(&text);
    let config = config(ModelKind::Linear, Algorithm::Whitened);
    let of = |adjacency| {
        let config = TrainConfig { adjacency, ..config.clone() };
        fit(&config, schema(Target::Number, r#","weight":{"column":"w","max":10}"#), &file)
    };
    // A wrong number of rows changes how numbers are scaled, and not the optimum.
    let scales = |model: &ModelFile| {
        let scale = |feature: &Feature| if let Feature::Numeric { map, .. } = feature { Some(map.scale) } else { None };
        model.features.iter().filter_map(scale).collect::<Vec<_>>()
    };
    let [added, replaced] = [Adjacency::AddRemove, Adjacency::ReplaceOne].map(|adjacency| scales(&of(adjacency)));
    assert_eq!(added.len(), 2);
    assert!(added.iter().zip(&replaced).all(|(a, b)| (a / b - 1.0).abs() < 0.01), "{added:?} {replaced:?}");
}

#[test]
fn a_statement_about_weights_is_of_releases_that_serve_them() {
    let (_kept, file) = file("x,z,c,y,w\n0.5,0.1,u,yes,2\n");
    let config = TrainConfig { rows: Some(1000), ..config(ModelKind::Logistic, Algorithm::Whitened) };
    let made = fit(&config, schema(Target::Label, r#","weight":{"column":"w","max":4}"#), &file);
    let again = |change: fn(&mut Facts)| {
        let mut facts = made.statement.facts.clone();
        change(&mut facts);
        Statement::new(facts).is_ok()
    };
    assert!(again(|_| ()));
    // A sum of weights in the place of a public number of rows.
    assert!(!again(|facts| facts.weight = None));
    assert!(!again(|facts| facts.holdout = Some(0.2)));
    assert!(!again(|facts| facts.weight = Some(RowWeight::column("w", -4.0))));
    assert!(!again(|facts| facts.weight = Some(RowWeight::default())));
    assert!(!again(|facts| facts.unit = PrivacyUnit::person("who").unwrap()));
}
