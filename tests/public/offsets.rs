//! Offsets: numbers that are added to a margin, in fits, in evaluations and in statements, and where they are refused.

use std::fmt::Write as _;
use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::data::{Cells, CsvFile, Numbers, Offset, RowWeight, Schema, Table};
use rhograd::error::Fallible;
use rhograd::ledger::Ledger;
use rhograd::ndarray::aview1;
use rhograd::noise::NoiseSource;
use rhograd::train::{Algorithm, Metrics, ModelFile, ModelKind, Plan, check, effects, evaluate, load_table, train};

use crate::files::{file, fit, nearly_exact as config};

const LABEL: &str = r#""task":"classification","positive":"yes","negative":"no""#;
const NUMBER: &str = r#""task":"regression","target_lower":-6,"target_upper":6"#;
const COUNT: &str = r#""task":"regression","target_lower":0,"target_upper":40"#;
const OFFSET: &str = r#","weight":{"offset":{"column":"o","lower":-3,"upper":3}}"#;

fn parse(target: &str, more: &str) -> Fallible<Schema> {
    let text = format!(
        r#"{{"name":"t",{target},"target":"y"{more},"columns":{{"x":{{"type":"numeric","lower":-1,"upper":1}},
        "z":{{"type":"numeric","lower":-1,"upper":1}}}}}}"#
    );
    Schema::parse(&text, Path::new("s"))
}

/// Rows of the margin `0.4 + 2 x - z + o`, the offset going with `x`; the last row has none.
fn rows(number: bool) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut text = "x,z,o,y\n".to_owned();
    for _ in 0..30_000 {
        let (x, z): (f64, f64) = (rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0));
        let o: f64 = (1.5 * x + rng.random_range(-1.0..1.0)).clamp(-2.4, 2.4);
        let margin: f64 = 0.4 + 2.0 * x - z + o;
        let y = match number {
            true => (margin + rng.random_range(-1.0..1.0)).to_string(),
            false => ["no", "yes"][usize::from(rng.random_bool(1.0 / (1.0 + (-margin).exp())))].to_owned(),
        };
        writeln!(text, "{x},{z},{o},{y}").unwrap();
    }
    writeln!(text, "0.5,0.5,none,{}", if number { "5" } else { "yes" }).unwrap();
    text
}

fn slopes(model: &ModelFile) -> [f64; 2] {
    let of = |name: &str| effects(model).iter().find(|effect| effect.name == name).map(|effect| effect.value).unwrap();
    ["x", "z"].map(of)
}

#[test]
fn an_offset_is_a_feature_whose_coefficient_is_one() {
    let cases = [
        (LABEL, ModelKind::Logistic, Algorithm::Whitened),
        (LABEL, ModelKind::Logistic, Algorithm::DpGd),
        (LABEL, ModelKind::Logistic, Algorithm::Newton),
        (NUMBER, ModelKind::Linear, Algorithm::Whitened),
        (NUMBER, ModelKind::Huber { threshold: 1.345 }, Algorithm::DpGd),
    ];
    for (target, model, algorithm) in cases {
        let mut config = config(model, algorithm);
        match algorithm {
            // No row is cut.
            Algorithm::DpGd => (config.settings.clip, config.settings.steps) = (Some(3.0), Some(300)),
            Algorithm::Newton => (config.settings.clip, config.settings.steps) = (Some(3.0), Some(8)),
            _ => {}
        }
        let text = rows(target == NUMBER);
        let (_kept, data) = file(&text);
        let with = slopes(&fit(&config, parse(target, OFFSET).unwrap(), &data));
        let without = slopes(&fit(&config, parse(target, "").unwrap(), &data));
        assert!((with[0] / 2.0 - 1.0).abs() < 0.06 && (with[1] + 1.0).abs() < 0.06, "{model:?} {algorithm:?} {with:?}");
        // Whoever leaves it out takes it for an effect of what it goes with.
        assert!(without[0] > 2.8, "{model:?} {algorithm:?} {without:?}");
    }
}

/// The same as a target that was made less beforehand, to the last bit.
#[test]
fn an_offset_of_a_number_is_subtracted() {
    let (_kept, data) = file(&rows(true));
    let config = config(ModelKind::Linear, Algorithm::Auto);
    let schema = parse(NUMBER, OFFSET).unwrap();
    let model = fit(&config, schema.clone(), &data);
    let text = std::fs::read_to_string(data.path()).unwrap();
    let less: String = text
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let less = cells[3].parse().ok().zip(cells[2].parse().ok()).map(|(y, o): (f64, f64)| (y - o).to_string());
            format!(
                "{},{},0,{}\n",
                cells[0],
                cells[1],
                less.as_deref().unwrap_or(if cells[3] == "y" { "y" } else { "?" })
            )
        })
        .collect();
    let (_kept, before) = file(&less.replace("x,z,0,y", "x,z,o,y"));
    assert_eq!(slopes(&fit(&config, schema, &before)), slopes(&model));
    // It is measured as it was trained.
    let Metrics::Number { r2, .. } = evaluate(&model, &file(&text.replace("0.5,0.5,none,5\n", "")).1).unwrap() else {
        panic!("a number is predicted")
    };
    assert!(r2 > Some(0.75), "{r2:?}");
}

#[test]
fn log_odds_are_measured_with_the_offset() {
    let text = rows(false).replace("0.5,0.5,none,yes\n", "");
    let (_kept, data) = file(&text);
    let config = config(ModelKind::Logistic, Algorithm::Auto);
    let model = fit(&config, parse(LABEL, OFFSET).unwrap(), &data);
    let loss = |data: &CsvFile| match evaluate(&model, data).unwrap() {
        Metrics::Label { log_loss: Some(loss), .. } => loss,
        other => panic!("{other:?}"),
    };
    let (_kept, without) = file(
        &text
            .lines()
            .map(|line| {
                let cells: Vec<&str> = line.split(',').collect();
                let offset = if cells[2] == "o" { "o" } else { "0" };
                format!("{},{},{offset},{}\n", cells[0], cells[1], cells[3])
            })
            .collect::<String>(),
    );
    assert!(loss(&data) < loss(&without) - 0.02, "{} {}", loss(&data), loss(&without));
    let missing = text.replacen(",no\n", ",no\n0,0,,yes\n", 1);
    assert!(evaluate(&model, &file(&missing).1).unwrap_err().to_string().contains("offset"));
}

#[test]
fn files_and_tables_read_offsets_alike() {
    for (target, number) in [(LABEL, false), (NUMBER, true)] {
        let text = rows(number);
        let (_kept, data) = file(&text);
        let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
        let numbers =
            |column: usize| -> Vec<f64> { lines.iter().map(|line| line[column].parse().unwrap_or(f64::NAN)).collect() };
        let [x, z, o, y] = [0, 1, 2, 3].map(numbers);
        let places: Vec<i8> = lines.iter().map(|line| i8::from(line[3] == "yes")).collect();
        let places = aview1(&places);
        let cells = |numbers| Cells::Numbers(Numbers::F64(aview1(numbers)));
        let target_cells = match number {
            true => cells(&y),
            false => Cells::Texts { list: vec!["no".into(), "yes".into()], places: Numbers::I8(places) },
        };
        let columns = [("x", cells(&x)), ("z", cells(&z)), ("o", cells(&o)), ("y", target_cells)];
        let table = Table::new(columns.map(|(name, cells)| (name.to_owned(), cells)).into()).unwrap();
        let config = config(if number { ModelKind::Linear } else { ModelKind::Logistic }, Algorithm::Auto);
        let schema = parse(target, OFFSET).unwrap();
        let by_file = fit(&config, schema.clone(), &data);
        let loaded = load_table(&config, schema, &table).unwrap();
        let noise = NoiseSource::insecure_from_seed(3);
        let by_table = train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap().0.model;
        assert_eq!(by_file.to_json(), by_table.to_json());
    }
}

#[test]
fn faults_are_told_of_the_column_that_has_them() {
    let text = rows(false).replacen(",yes\n", ",maybe\n", 40).replacen(",no\n", "x,z,9,no\n", 0);
    let text = format!("{text}0,0,9,no\n0,0,-9,no\n0,0,0,perhaps\n");
    let (_kept, data) = file(&text);
    let found = check(None, &parse(LABEL, OFFSET).unwrap(), &data, &|_, _| Ok(())).unwrap();
    let told = |needle: &str| found.findings.iter().any(|finding| finding.text.contains(needle));
    assert!(told("\"y\": 41 of") && told("does not declare"), "{:?}", found.findings);
    assert!(told("\"o\": 1 of"), "{:?}", found.findings);
    assert!(told("above the upper bound") && told("below the lower bound"), "{:?}", found.findings);
    assert!(found.ignored.is_empty(), "{:?}", found.ignored);
}

#[test]
fn what_has_no_offset_is_refused() {
    let says = |error: Fallible<()>, words: &str| {
        let text = error.unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    };
    let broken = |target: &str, offset: &str| parse(target, &format!(r#","weight":{offset}"#)).map(drop);
    says(broken(LABEL, r#"{"offset":{"column":"o","lower":2,"upper":1}}"#), "inverted");
    says(broken(LABEL, r#"{"offset":{"column":"x","lower":-1,"upper":1}}"#), "feature");
    says(broken(LABEL, r#"{"offset":{"column":"y","lower":-1,"upper":1}}"#), "target");
    says(
        broken(COUNT, r#"{"exposure":{"column":"e","max":1},"offset":{"column":"o","lower":-1,"upper":1}}"#),
        "exponential",
    );
    let plan = |target: &str, model: ModelKind, algorithm| {
        Plan::new(&config(model, algorithm), &parse(target, OFFSET).unwrap(), None).map(drop)
    };
    says(plan(COUNT, ModelKind::poisson(), Algorithm::Auto), "--exposure");
    says(plan(LABEL, ModelKind::Logistic, Algorithm::DpFtrl), "weights");
    assert!(plan(LABEL, ModelKind::svm(), Algorithm::DpGd).is_ok());
    let offset = |upper: f64| Offset { column: "o".into(), lower: -3.0, upper };
    let given = |upper: f64| RowWeight { offset: Some(offset(upper)), ..RowWeight::default() };
    let said = parse(LABEL, "").unwrap().with_weight(given(3.0)).unwrap();
    assert_eq!(said.fingerprint(), parse(LABEL, OFFSET).unwrap().fingerprint());
    says(said.with_weight(given(4.0)).map(drop), "--offset");
}
