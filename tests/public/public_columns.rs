//! Some columns are public: what is planned for it, what is refused, and that models are no other than those of whole rows.

use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::data::{CsvFile, Schema};
use rhograd::error::Fallible;
use rhograd::ledger::Ledger;
use rhograd::noise::NoiseSource;
use rhograd::optim::Settings;
use rhograd::preprocess::MemoryLimit;
use rhograd::privacy::{Adjacency, Delta, Epsilon, PrivacyUnit};
use rhograd::private::Query;
use rhograd::statement::Statement;
use rhograd::train::{
    Algorithm, Budget, Evidence, ModelFile, Plan, TrainConfig, effects, load, load_within, train, verify,
};

const COLUMNS: &str = r#""a":{"type":"numeric","lower":-4,"upper":4,"public":true},"b":{"type":"numeric","lower":-4,"upper":4},
    "c":{"type":"categorical","values":["u","v"],"public":true},"d":{"type":"numeric","lower":0,"upper":1,"public":true},
    "e":{"type":"numeric","lower":0,"upper":1,"public":true}"#;

const TWO: &str = r#""task":"classification","positive":"1","negative":"0""#;
const NUMBER: &str = r#""task":"regression","target_lower":-10,"target_upper":10"#;

fn parse(target: &str, more: &str, columns: &str) -> Fallible<Schema> {
    let text = format!(r#"{{"name":"t",{target},"target":"y",{more}"columns":{{{columns}}}}}"#);
    Schema::parse(&text, Path::new("s"))
}

fn config(epsilon: f64) -> TrainConfig {
    let budget = Budget::Epsilon(Epsilon::new(epsilon).unwrap(), Some(Delta::new(1e-6).unwrap()));
    TrainConfig { adjacency: Adjacency::ReplaceOne, accept_large_delta: true, ..TrainConfig::new(budget) }
}

/// Rows of a truth `0.5 + a - 0.5 b + 0.75 [c = u]` on the margin; every `none`-th without a label.
fn rows(number: bool, count: usize, none: usize) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut csv = String::from("a,b,c,d,e,y\n");
    for row in 0..count {
        let (a, b): (f64, f64) = (rng.random_range(-1.6..1.6), rng.random_range(-1.6..1.6));
        let u: bool = rng.random();
        let margin = 0.5 + a - 0.5 * b + if u { 0.75 } else { 0.0 };
        let uniform: f64 = rng.random();
        let label = match number {
            true => format!("{}", margin + uniform - 0.5),
            false => u8::from(uniform < 1.0 / (1.0 + (-margin).exp())).to_string(),
        };
        let label = if none > 0 && row % none == 0 { "" } else { &label };
        let c = if u { "u" } else { "v" };
        csv.push_str(&format!("{a},{b},{c},{},{},{label}\n", rng.random::<f64>(), rng.random::<f64>()));
    }
    csv
}

fn trained(config: &TrainConfig, schema: Schema, csv: &str) -> Fallible<(ModelFile, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, csv).unwrap();
    let loaded = load(config, schema, &CsvFile::open(&path)?, &|_, _| Ok(()))?;
    let (mut ledger, noise) = (Ledger::in_memory()?, NoiseSource::insecure_from_seed(5));
    let (trained, _) = train(loaded, &mut ledger, noise, &mut |_| Ok(()))?;
    Ok((trained.model, trained.text))
}

/// The effects of numbers; those of values and the intercept are told apart by a penalty alone.
fn values(model: &ModelFile) -> Vec<f64> {
    let all = effects(model).into_iter();
    all.filter(|effect| ["a", "b", "d", "e"].contains(&&*effect.name)).map(|effect| effect.value).collect()
}

#[test]
fn the_public_block_is_exact_and_the_rest_is_charged_for_what_it_moves() {
    let public = parse(TWO, "", COLUMNS).unwrap();
    let plan = Plan::new(&config(1.0), &public, Some(5000)).unwrap();
    assert_eq!(plan.scope.unit, PrivacyUnit::PrivateCells { public: ["a", "c", "d", "e"].map(String::from).to_vec() });
    let rows = Plan::new(&config(1.0), &parse(TWO, "", &COLUMNS.replace(",\"public\":true", "")).unwrap(), Some(5000));
    let rho = |plan: &Plan, place: usize| plan.planned()[place].charge.rho().unwrap().upper();
    let rows = rows.unwrap();
    // One private number of four.
    assert!((rho(&plan, 0) / rho(&rows, 0) - 0.25).abs() < 0.01);
    let [moments, gram] = [0, 1].map(|place| plan.planned()[place].query.clone());
    assert!(matches!(moments, Query::Moments(moments) if moments.columns == 1));
    // Five public features, the intercept being one, and one private: 2 sqrt(11) of sqrt(2) 6, squared.
    assert!(matches!(gram, Query::CrossGram(_)));
    let share = rho(&plan, 1) / rho(&rows, 1);
    // Of what moments left.
    assert!((share - 44.0 / 72.0 * (1.0 - 0.05 / 4.0) / 0.95).abs() < 1e-3, "{share}");
    let left = |plan: &Plan| (0..2).map(|place| rho(plan, place)).sum::<f64>() + rho(plan, 2);
    assert!((left(&plan) / left(&rows) - 1.0).abs() < 1e-3, "the steps get what is saved");
    // With few public columns whole matrices are cheaper, without the entries that are free.
    let few = COLUMNS.replace(",\"public\":true", "").replacen("\"upper\":4", "\"upper\":4,\"public\":true", 1);
    let plan = Plan::new(&config(1.0), &parse(TWO, "", &few).unwrap(), Some(5000)).unwrap();
    assert!(matches!(plan.planned()[1].query, Query::Gram(_)));
    // Where all numbers are public nothing is released of moments.
    let numbers = COLUMNS.replace("\"lower\":-4,\"upper\":4}", "\"lower\":-4,\"upper\":4,\"public\":true}");
    let numbers = numbers.replace("[\"u\",\"v\"],\"public\":true", "[\"u\",\"v\"]");
    let plan = Plan::new(&config(1.0), &parse(TWO, "", &numbers).unwrap(), Some(5000)).unwrap();
    assert!(plan.moments.is_none() && plan.standardize);
}

#[test]
fn with_next_to_no_noise_models_are_those_of_whole_rows_and_statements_verify() {
    for (target, number) in [(TWO, false), (NUMBER, true)] {
        let mut algorithms = vec![Algorithm::Auto, Algorithm::DpGd, Algorithm::Newton, Algorithm::Additive];
        algorithms.extend(number.then_some(Algorithm::AdaSsp));
        for algorithm in algorithms {
            let config = TrainConfig { algorithm, ..config(1000.0) };
            let csv = rows(number, 6000, 0);
            let (public, text) = trained(&config, parse(target, "", COLUMNS).unwrap(), &csv).unwrap();
            let whole = parse(target, "", &COLUMNS.replace(",\"public\":true", "")).unwrap();
            let (whole, _) = trained(&config, whole, &csv).unwrap();
            if algorithm != Algorithm::Additive {
                for (a, b) in values(&public).into_iter().zip(values(&whole)) {
                    assert!((a - b).abs() < 0.06, "{algorithm:?} {number} {a} {b}");
                }
            }
            let facts = &public.statement.facts;
            assert!(facts.unit.is_private_cells() && facts.private_numeric == Some(1), "{facts:?}");
            assert!(verify(&public, &text, Evidence::default()).unwrap().held());
            assert!(public.statement.limits.iter().any(|limit| limit.contains("a, c, d, e")));
        }
    }
}

#[test]
fn rows_without_a_label_take_no_part_in_steps() {
    let csv = rows(false, 8000, 3);
    let (model, _) = trained(&config(1000.0), parse(TWO, "", COLUMNS).unwrap(), &csv).unwrap();
    let whole = trained(
        &config(1000.0),
        parse(TWO, "", &COLUMNS.replace(",\"public\":true", "")).unwrap(),
        &csv.lines().filter(|line| !line.ends_with(',')).map(|line| format!("{line}\n")).collect::<String>(),
    );
    for (a, b) in values(&model).into_iter().zip(values(&whole.unwrap().0)) {
        assert!((a - b).abs() < 0.15, "{a} {b}");
    }
}

#[test]
fn a_statement_that_says_otherwise_is_refused() {
    let (model, _) = trained(&config(2.0), parse(TWO, "", COLUMNS).unwrap(), &rows(false, 2000, 0)).unwrap();
    let facts = &model.statement.facts;
    let refused = |facts: rhograd::statement::Facts| assert!(Statement::new(facts).is_err());
    assert!(Statement::new(facts.clone()).is_ok());
    refused(rhograd::statement::Facts { unit: PrivacyUnit::Row, ..facts.clone() });
    refused(rhograd::statement::Facts { unit: PrivacyUnit::Row, private_numeric: None, ..facts.clone() });
    refused(rhograd::statement::Facts { private_numeric: None, ..facts.clone() });
    refused(rhograd::statement::Facts { private_numeric: Some(2), ..facts.clone() });
    refused(rhograd::statement::Facts { private_numeric: Some(9), ..facts.clone() });
    // Four numbers, of which one is private, are not public by one name.
    let public = PrivacyUnit::PrivateCells { public: vec!["a".into()] };
    refused(rhograd::statement::Facts { unit: public, ..facts.clone() });
    let mut forged = model.clone();
    forged.statement.facts.unit =
        PrivacyUnit::PrivateCells { public: ["a", "d", "e", "zz"].map(String::from).to_vec() };
    forged.statement = Statement::new(forged.statement.facts.clone()).unwrap();
    forged.digest = forged.expected_digest();
    let text = forged.to_json();
    let checks = verify(&forged, &text, Evidence::default()).unwrap().checks;
    assert!(checks.iter().any(|check| !check.held && check.what.contains("public columns")), "{checks:?}");
    refused(rhograd::statement::Facts { adjacency: Adjacency::AddRemove, ..facts.clone() });
    for public in [vec![], vec!["b".to_owned(), "a".to_owned()]] {
        refused(rhograd::statement::Facts { unit: PrivacyUnit::PrivateCells { public }, ..facts.clone() });
    }
    let mut without = facts.clone();
    without.releases.remove(0);
    refused(without);
}

/// Where all numbers are public a number to predict is released all the same: who leaves that out has used what no release records.
#[test]
fn a_statement_without_the_moments_of_its_target_is_refused() {
    let numbers = COLUMNS.replace("\"lower\":-4,\"upper\":4}", "\"lower\":-4,\"upper\":4,\"public\":true}");
    let private_values = numbers.replace("[\"u\",\"v\"],\"public\":true", "[\"u\",\"v\"]");
    let (model, _) = trained(&config(2.0), parse(NUMBER, "", &private_values).unwrap(), &rows(true, 2000, 0)).unwrap();
    let mut facts = model.statement.facts.clone();
    assert!(matches!(facts.releases[0].query, Query::Moments(moments) if moments.columns == 0));
    assert!(Statement::new(facts.clone()).is_ok());
    facts.releases.remove(0);
    assert!(Statement::new(facts).is_err());
}

#[test]
fn what_does_not_fit_is_refused_before_a_charge() {
    let schema = || parse(TWO, "", COLUMNS).unwrap();
    let plan = |config: &TrainConfig, schema: &Schema| Plan::new(config, schema, Some(2000)).map(drop);
    let says = |error: Fallible<()>, words: &str| {
        let text = error.unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    };
    says(plan(&TrainConfig { adjacency: Adjacency::AddRemove, ..config(1.0) }, &schema()), "replace-one");
    says(plan(&TrainConfig { algorithm: Algorithm::LabelSums, ..config(1.0) }, &schema()), "label");
    assert!(plan(&config(1.0), &schema()).is_ok());
    assert!(
        plan(&TrainConfig { settings: Settings { steps: Some(3), ..Settings::default() }, ..config(1.0) }, &schema())
            .is_ok()
    );
    let all = COLUMNS.replace("\"lower\":-4,\"upper\":4}", "\"lower\":-4,\"upper\":4,\"public\":true}");
    let broken = |more: &str, columns: &str| parse(TWO, more, columns).map(drop);
    says(broken("", &all), "\"protect\": \"label\"");
    says(broken(r#""protect":"label","#, COLUMNS), "public");
    says(broken(r#""unit":{"column":"who"},"#, COLUMNS), "persons");
    says(broken(r#""weight":{"column":"w","max":2},"#, COLUMNS), "weights");
    says(broken("", &format!(r#"{COLUMNS},"y":{{"type":"categorical","values":["0","1"],"public":true}}"#)), "target");
    let plain = parse(TWO, "", &COLUMNS.replace(",\"public\":true", "")).unwrap();
    assert!(plain.clone().with_public(&["nothing".into()]).unwrap_err().to_string().contains("nothing"));
    let said = plain.with_public(&["a", "c", "d", "e"].map(String::from)).unwrap();
    assert_eq!(said.fingerprint(), schema().fingerprint());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, rows(false, 50, 0)).unwrap();
    let limit = MemoryLimit::new(1 << 20).unwrap();
    let file = CsvFile::open(&path).unwrap();
    let streamed = load_within(&config(1.0), schema(), &file, None, limit, &|_, _| Ok(()));
    says(streamed.map(drop), "public columns");
}
