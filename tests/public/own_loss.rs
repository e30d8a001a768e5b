//! A loss from outside the crate: near the built-in one, refused where it must be, and told in every file.

use std::path::Path;

use rhograd::data::{CsvFile, Schema};
use rhograd::ledger::Ledger;
use rhograd::loss::{Logistic, Loss, OwnLoss};
use rhograd::noise::NoiseSource;
use rhograd::optim::{Losses, Settings};
use rhograd::privacy::{Delta, Epsilon};
use rhograd::train::{
    Algorithm, Budget, Evidence, Metrics, ModelFile, ModelKind, Plan, TrainConfig, evaluate, load, train, verify,
};

use super::models::coefficients;
use super::support::Folder;

fn shipped(name: &str) -> (Schema, CsvFile) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets");
    let file = CsvFile::open(&folder.join(format!("{name}.csv"))).unwrap();
    (Schema::read(&folder.join(format!("{name}.schema.json"))).unwrap(), file)
}

fn config(algorithm: Algorithm, model: ModelKind) -> TrainConfig {
    let budget = Budget::Epsilon(Epsilon::new(1.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
    TrainConfig { algorithm, model: Some(model), ..TrainConfig::new(budget) }
}

fn trained(config: &TrainConfig, data: &str) -> ModelFile {
    let (schema, file) = shipped(data);
    let loaded = load(config, schema, &file, &|_, _| Ok(())).unwrap();
    let noise = NoiseSource::insecure_from_seed(7);
    train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap().0.model
}

fn logistic() -> ModelKind {
    let slope = |t: f64, y: f64| 1.0 / (1.0 + (-t).exp()) - y;
    ModelKind::Own(OwnLoss::of_label("my-logistic", |t, y| Logistic.value(t, y), slope).unwrap())
}

/// Twice as hard on predictions that are too low.
fn expectile() -> ModelKind {
    let weight = |r: f64| if r < 0.0 { 2.0 } else { 1.0 };
    ModelKind::Own(OwnLoss::of_residual("expectile", |r| 0.5 * weight(r) * r * r, |r| weight(r) * r).unwrap())
}

/// Slopes of the table are within 3e-6 of the exact ones, and noise of a seed is the same: what is left is which of two integers a
/// multiplier is rounded to.
#[test]
fn the_table_of_a_built_in_loss_trains_the_built_in_model() {
    let settings = Settings { steps: Some(20), learning_rate: Some(0.5), clip: Some(1.0), ..Settings::default() };
    for algorithm in [Algorithm::DpGd, Algorithm::Whitened] {
        let fit = |model| trained(&TrainConfig { settings: settings.clone(), ..config(algorithm, model) }, "fair");
        let (own, built_in) = (coefficients(&fit(logistic())), coefficients(&fit(ModelKind::Logistic)));
        let largest = built_in.iter().fold(0f64, |most, w| most.max(w.abs()));
        let apart = own.iter().zip(&built_in).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        println!("{}: {apart:e} of {largest}", algorithm.name());
        assert!(largest > 0.05 && apart < 1e-4 * largest, "{algorithm:?}: {apart:e} of {largest}");
    }
}

/// By what algorithms say of themselves; those that trust slope or curvature are named here once more.
#[test]
fn algorithms_that_trust_what_a_loss_says_refuse_it_before_a_charge() {
    let trusting = |algorithm: Algorithm| {
        matches!(
            algorithm,
            Algorithm::Newton
                | Algorithm::NewtonDoubleNoise
                | Algorithm::DpFtrl
                | Algorithm::Localization
                | Algorithm::OnePass
                | Algorithm::OutputPerturbation
                | Algorithm::Amp
                | Algorithm::ObjectivePerturbation
                | Algorithm::AdaSsp
                | Algorithm::BoostedAdaSsp
                | Algorithm::LabelSums
        )
    };
    for (name, model) in [("fair", logistic()), ("randhie", expectile())] {
        let (schema, _) = shipped(name);
        for algorithm in Algorithm::ALL {
            let it = algorithm.description();
            let few = it.needs.coefficients.is_some();
            assert_eq!(it.losses.has(model.loss(&schema)), !trusting(algorithm), "{}", it.name);
            assert_eq!(
                matches!(it.losses, Losses::Any | Losses::OneMargin | Losses::NeverNegative),
                !trusting(algorithm)
            );
            let adjacency = it.relations.all()[0];
            let asked = TrainConfig { adjacency, rows: Some(6_366), ..config(algorithm, model) };
            match Plan::new(&asked, &schema, Some(6_366)) {
                Ok(_) => assert!(!trusting(algorithm), "{}", it.name),
                // Rows are planned for before they are charged for: without a plan there is nothing to pay.
                Err(error) if trusting(algorithm) => {
                    let message = error.to_string();
                    let named = ["--algorithm dp-gd", "--model linear"].iter().any(|cure| message.contains(cure));
                    assert!(named && message.contains("--"), "{}: {message}", it.name);
                }
                Err(error) => assert!(few, "{}: {error}", it.name),
            }
        }
    }
}

#[test]
fn a_loss_that_fits_no_target_of_the_schema_or_was_read_from_a_file_is_refused() {
    let refused = |model, data: &str| {
        let (schema, _) = shipped(data);
        Plan::new(&config(Algorithm::Auto, model), &schema, None).unwrap_err().to_string()
    };
    assert!(refused(expectile(), "fair").contains("does not fit"));
    assert!(refused(logistic(), "randhie").contains("does not fit"));
    let named: ModelKind = serde_json::from_str(&serde_json::to_string(&expectile()).unwrap()).unwrap();
    assert_eq!(named, expectile());
    assert!(refused(named, "randhie").contains("OwnLoss::of_residual"));
}

#[test]
fn a_hold_out_and_a_choice_among_candidates_take_it() {
    for (data, model, measured) in [("fair", logistic(), "loss"), ("randhie", expectile(), "rmse")] {
        let asked = TrainConfig { evaluate_budget: Some(0.2), ..config(Algorithm::Auto, model) };
        let tune = rhograd::train::Candidate::grid("algorithm=whitened,dp-gd", &asked).unwrap();
        let model = trained(&TrainConfig { tune, ..asked }, data);
        let measured = model.evaluation.as_ref().unwrap().metrics[measured];
        assert!(measured.value > 0.0 && measured.value < measured.limit.unwrap(), "{measured:?}");
        assert!(model.statement.facts.tuned().is_some());
    }
}

/// Whoever has the files has neither the closures nor the table, and needs none.
#[test]
fn files_are_stated_verified_predicted_and_evaluated_without_the_loss() {
    for (data, model, heading) in [("fair", logistic(), "label,score\n"), ("randhie", expectile(), "prediction\n")] {
        let folder = Folder::with(data);
        let trained = trained(&config(Algorithm::Auto, model), data);
        folder.write("m.model.json", trained.to_json());
        let read = ModelFile::read(&folder.path("m.model.json")).unwrap();
        assert_eq!(read, trained);
        let (_, file) = shipped(data);
        match (evaluate(&read, &file).unwrap(), evaluate(&trained, &file).unwrap()) {
            (Metrics::Label { accuracy, log_loss, .. }, whole) => {
                assert!(accuracy > 0.65 && log_loss.is_none());
                assert_eq!(evaluate(&read, &file).unwrap(), whole);
            }
            (whole, other) => assert_eq!(whole, other),
        }
        assert!(verify(&read, &read.to_json(), Evidence::default()).unwrap().held());
        let ModelKind::Own(loss) = model else { unreachable!() };
        let limits = read.statement.limits.join("\n");
        assert!(limits.contains(&format!("the loss is external ({}, table SHA-256", loss.name())), "{limits}");

        let verified = folder.run("verify m.model.json");
        assert!(verified.stdout.contains("the model family is the recorded one"), "{verified:?}");
        let stated = folder.succeed("statement m.model.json --coefficients").stdout;
        assert!(
            stated.contains(&format!("external loss {}", loss.name())) && stated.contains(&loss.table_sha256()),
            "{stated}"
        );
        assert!(folder.succeed(&format!("predict m.model.json {data}.csv")).stdout.starts_with(heading));
        folder.succeed(&format!("evaluate m.model.json {data}.csv --json"));
        // Another table under the same name is another loss.
        folder.edit("m.model.json", &loss.table_sha256(), &"0".repeat(64));
        assert_ne!(folder.run("verify m.model.json").code, Some(0));
    }
}
