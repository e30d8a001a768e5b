//! Every model family: trains on degenerate inputs, finds a known truth, and its statement follows from its facts.

use std::fmt::Write as _;
use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Poisson, StandardNormal};
use rhograd::data::{CsvFile, Protect, Schema};
use rhograd::ledger::Ledger;
use rhograd::loss::{OwnForm, OwnLoss};
use rhograd::noise::NoiseSource;
use rhograd::optim::{Losses, Settings, settings};
use rhograd::privacy::{Adjacency, Delta, Epsilon, GaussianCharge};
use rhograd::train::{
    Algorithm, Budget, Coefficient, Evidence, FAMILIES, FamilyParameters, Feature, Metrics, ModelFile, ModelKind, Plan,
    TrainConfig, evaluate, load, train, verify,
};

/// Losses from outside: a label's, a residual's, and a gamma deviance.
fn own() -> [ModelKind; 3] {
    let soft = |z: f64| if z > 30.0 { z } else { z.exp().ln_1p() };
    let sign = |y: f64| 2.0 * y - 1.0;
    [
        OwnLoss::of_label("logistic", |t, y| soft(-sign(y) * t), |t, y| -sign(y) / (1.0 + (sign(y) * t).exp())),
        OwnLoss::of_residual("log-cosh", |r| soft(-2.0 * r.abs()) + r.abs() - 2f64.ln(), f64::tanh),
        OwnLoss::of_count("gamma", |t, y| t + y * (-t).exp(), |t, y| 1.0 - y * (-t).exp()),
    ]
    .map(|loss| ModelKind::Own(loss.unwrap()))
}

/// Every family that has a name, and losses from outside.
fn families() -> Vec<ModelKind> {
    let given = FamilyParameters { quantile: Some(0.8), huber_threshold: None };
    FAMILIES.iter().map(|family| (family.model)(&given)).chain(own()).collect()
}

#[test]
fn families_go_by_the_name_that_files_have() {
    for family in FAMILIES {
        let model = (family.model)(&FamilyParameters::default());
        assert_eq!(model.name(), family.name);
        let file = serde_json::to_value(model).unwrap();
        let tag = file.as_str().or(file.as_object().and_then(|it| it.keys().next()).map(String::as_str));
        assert_eq!(tag, Some(family.name));
    }
}

/// The built-in family that reads the same targets.
fn alike(model: ModelKind) -> ModelKind {
    match model {
        ModelKind::Own(loss) => match loss.form() {
            OwnForm::Label => ModelKind::svm(),
            OwnForm::Residual => ModelKind::Linear,
            OwnForm::Count => ModelKind::poisson(),
        },
        other => other,
    }
}

fn config(model: ModelKind, epsilon: f64) -> TrainConfig {
    let budget = Budget::Epsilon(Epsilon::new(epsilon).unwrap(), Some(Delta::new(1e-6).unwrap()));
    TrainConfig { model: Some(model), ..TrainConfig::new(budget) }
}

/// A schema with `features` numeric columns on `[-1, 1]` and the target that a family needs.
fn schema(model: ModelKind, features: usize) -> Schema {
    let mut columns: Vec<String> =
        (0..features).map(|j| format!(r#""x{j}":{{"type":"numeric","lower":-1,"upper":1}}"#)).collect();
    let target = match alike(model) {
        ModelKind::Logistic | ModelKind::Svm { .. } => r#""task":"classification","positive":"1""#,
        ModelKind::Multinomial => {
            columns.push(r#""y":{"type":"categorical","values":["0","1","2"]}"#.into());
            r#""task":"classification""#
        }
        ModelKind::Poisson { .. } => r#""task":"regression","target_lower":0,"target_upper":40"#,
        _ => r#""task":"regression","target_lower":-5,"target_upper":5"#,
    };
    let text = format!(r#"{{"name":"t",{target},"target":"y","columns":{{{}}}}}"#, columns.join(","));
    Schema::parse(&text, Path::new("s")).unwrap()
}

fn header(features: usize) -> String {
    (0..features).map(|j| format!("x{j},")).collect::<String>() + "y\n"
}

/// Trains, checks that everything paid for was released and that the statement verifies, and evaluates if there are rows.
fn run(config: &TrainConfig, schema: &Schema, csv: &str, seed: u64) -> (ModelFile, Option<Metrics>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    std::fs::write(&path, csv).unwrap();
    let file = CsvFile::open(&path).unwrap();
    let loaded = load(config, schema.clone(), &file, &|_, _| Ok(())).unwrap();
    let mut log = String::new();
    let mut ledger = Ledger::in_memory().unwrap();
    let (trained, mut paid) = train(loaded, &mut ledger, NoiseSource::insecure_from_seed(seed), &mut |entry| {
        log.push_str(&entry.to_json()?);
        Ok(())
    })
    .unwrap_or_else(|e| panic!("{config:?}: {e}"));
    assert!(paid.permit::<GaussianCharge>().is_err(), "every paid release was made");
    let written = directory.path().join("m.json");
    std::fs::write(&written, trained.model.to_json()).unwrap();
    let model = ModelFile::read(&written).unwrap();
    assert_eq!(model, trained.model);
    let evidence = Evidence { log: Some(&mut log.as_bytes()), ..Evidence::default() };
    let found = verify(&model, &model.to_json(), evidence).unwrap();
    assert!(found.held(), "{found:?}");
    let metrics = csv.lines().nth(1).map(|_| evaluate(&model, &file).unwrap());
    (model, metrics)
}

/// Every coefficient of a model, the intercepts last.
pub(super) fn coefficients(model: &ModelFile) -> Vec<f64> {
    let features = model.features.iter().flat_map(|feature| match feature {
        Feature::Numeric { coefficient, .. } => coefficient.values().to_vec(),
        Feature::Steps { coefficients, .. } | Feature::Categorical { coefficients, .. } => {
            coefficients.iter().flat_map(Coefficient::values).copied().collect()
        }
    });
    features.chain(model.intercept.values().iter().copied()).collect()
}

#[test]
fn every_family_trains_on_degenerate_inputs() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for model in families() {
        // Features, rows, and the cells of a row from a random number and the row's index.
        type Cells = fn(f64, usize) -> Vec<f64>;
        let inputs: [(&str, usize, usize, Cells); 7] = [
            ("one feature", 1, 60, |x, _| vec![x]),
            ("constant feature", 2, 60, |x, _| vec![x, 0.5]),
            ("duplicated feature", 2, 60, |x, _| vec![x, x]),
            ("all labels equal", 1, 60, |x, _| vec![x]),
            ("one row", 2, 1, |x, _| vec![x, -x]),
            ("no rows", 2, 0, |_, _| vec![]),
            ("more features than rows", 40, 7, |x, i| (0..40).map(|j| if j % 7 == i { x } else { 0.0 }).collect()),
        ];
        for (what, features, rows, cells) in inputs {
            let mut csv = header(features);
            for i in 0..rows {
                let x: f64 = rng.random_range(-1.0..1.0);
                let label = if what == "all labels equal" { 1 } else { i % 2 };
                cells(x, i).iter().for_each(|cell| write!(csv, "{cell},").unwrap());
                writeln!(csv, "{label}").unwrap();
            }
            for algorithm in [Algorithm::Auto, Algorithm::DpGd] {
                for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
                    for standardize in [None, Some(false)] {
                        let config = TrainConfig { algorithm, adjacency, standardize, ..config(model, 1.0) };
                        let (trained, _) = run(&config, &schema(model, features), &csv, 3);
                        let finite = coefficients(&trained).iter().all(|w| w.is_finite());
                        assert!(finite, "{model:?} {what} {config:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn solvers_and_choices_train_the_families_they_have_a_theory_for_and_name_a_cure_for_the_others() {
    // The penalty of ridge regression is the one that output perturbation solves with.
    let takes = |algorithm: Algorithm, model: ModelKind| {
        let it = algorithm.description();
        it.losses.has(model.loss(&schema(model, 2))) && (model != ModelKind::Ridge || it.takes(&settings::L2))
    };
    let solves = |it: &Algorithm| !matches!(it.description().losses, Losses::Any | Losses::Curved);
    let csv: String = (0..60).map(|i| format!("{},{},{}\n", (i % 7) as f64 / 7.0, 0.5, i % 2)).collect();
    let csv = header(2) + &csv;
    for model in families() {
        for algorithm in Algorithm::ALL.into_iter().filter(solves) {
            let mut config = TrainConfig { algorithm, ..config(model, 1.0) };
            let mut schema = schema(model, 2);
            if algorithm.description().needs.labels_alone {
                (schema.protect, config.adjacency) = (Protect::Label, Adjacency::ReplaceOne);
            }
            if takes(algorithm, model) {
                let (trained, _) = run(&config, &schema, &csv, 3);
                assert!(coefficients(&trained).iter().all(|w| w.is_finite()), "{model:?} {algorithm:?}");
            } else {
                let refused = Plan::new(&config, &schema, None).unwrap_err().to_string();
                let named = ["--algorithm dp-gd", "--model linear"].iter().any(|cure| refused.contains(cure));
                assert!(named, "{model:?} {algorithm:?}: {refused}");
            }
        }
    }
}

/// Rows of a known truth: three features with effects (1.5, -1, 0) on the margin, intercept 0.5.
fn known(model: ModelKind, rows: usize, seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut csv = header(3);
    for _ in 0..rows {
        let x: [f64; 3] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
        let t = 1.5 * x[0] - x[1] + 0.5;
        let target = match alike(model) {
            ModelKind::Logistic | ModelKind::Svm { .. } => {
                f64::from(rng.random::<f64>() < 1.0 / (1.0 + (-4.0 * t).exp()))
            }
            ModelKind::Multinomial => {
                // The margins of the three labels are 2t, 0 and 3 x_2.
                let weights = [(2.0 * t).exp(), 1.0, (3.0 * x[2]).exp()];
                let mut at = rng.random::<f64>() * weights.iter().sum::<f64>();
                let mut label = 0;
                while label < 2 && at > weights[label] {
                    at -= weights[label];
                    label += 1;
                }
                label as f64
            }
            ModelKind::Poisson { .. } => rng.sample(Poisson::new(t.exp()).unwrap()).min(40.0),
            _ => t + 0.5 * rng.sample::<f64, _>(StandardNormal),
        };
        writeln!(csv, "{:.5},{:.5},{:.5},{target}", x[0], x[1], x[2]).unwrap();
    }
    csv
}

/// Effects per unit of the three features in the units of the target (its logarithm for counts).
fn effects(model: &ModelFile) -> [f64; 3] {
    let scale = match (&model.target, alike(model.model)) {
        (rhograd::train::Target::Number { scale, .. }, kind) if !matches!(kind, ModelKind::Poisson { .. }) => *scale,
        _ => 1.0,
    };
    std::array::from_fn(|j| match &model.features[j] {
        Feature::Numeric { coefficient, map, .. } => coefficient.values()[0] * scale / map.scale,
        Feature::Steps { .. } | Feature::Categorical { .. } => unreachable!(),
    })
}

#[test]
fn regressions_find_the_known_effects() {
    for algorithm in [Algorithm::Auto, Algorithm::DpGd] {
        let [_, residual, count] = own();
        let built_in =
            [ModelKind::Linear, ModelKind::huber(None), ModelKind::quantile(Some(0.8)), ModelKind::poisson()];
        for model in built_in.into_iter().chain([residual, count]) {
            let csv = known(model, 6_000, 1);
            for (epsilon, tolerance) in [(1000.0, 0.12), (5.0, 0.2)] {
                let config = TrainConfig { algorithm, ..config(model, epsilon) };
                let (trained, _) = run(&config, &schema(model, 3), &csv, 2);
                for (effect, truth) in effects(&trained).into_iter().zip([1.5, -1.0, 0.0]) {
                    assert!((effect - truth).abs() < tolerance, "{model:?} {algorithm:?} {epsilon}: {effect} {truth}");
                }
            }
        }
    }
}

#[test]
fn a_quantile_covers_its_share_and_counts_have_the_deviance_of_poisson() {
    for level in [0.1, 0.5, 0.9] {
        let model = ModelKind::quantile(Some(level));
        for epsilon in [5.0, 1000.0] {
            match run(&config(model, epsilon), &schema(model, 3), &known(model, 6_000, 3), 4).1 {
                Some(Metrics::Number { own, .. }) => {
                    assert!((own.coverage.unwrap() - level).abs() < 0.03, "{level} {epsilon}: {own:?}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
    let model = ModelKind::poisson();
    match run(&config(model, 5.0), &schema(model, 3), &known(model, 6_000, 3), 4).1 {
        // The expected deviance at the truth is a little above one per row.
        Some(Metrics::Number { own, .. }) => assert!(own.deviance.unwrap() < 1.3, "{own:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn classifiers_come_close_to_the_best_rule() {
    for (model, best) in
        [(ModelKind::Logistic, 0.88), (ModelKind::svm(), 0.88), (own()[0], 0.88), (ModelKind::Multinomial, 0.68)]
    {
        let csv = known(model, 6_000, 5);
        for algorithm in [Algorithm::Auto, Algorithm::DpGd] {
            for (epsilon, margin) in [(5.0, 0.03), (1000.0, 0.02)] {
                let config = TrainConfig { algorithm, ..config(model, epsilon) };
                let accuracy = match run(&config, &schema(model, 3), &csv, 6).1 {
                    Some(Metrics::Label { accuracy, .. } | Metrics::Classes { accuracy, .. }) => accuracy,
                    other => panic!("{other:?}"),
                };
                assert!(accuracy > best - margin, "{model:?} {algorithm:?} {epsilon}: {accuracy}");
            }
        }
    }
}

#[test]
fn an_l1_penalty_sets_coefficients_to_exactly_zero() {
    let zeros = |model: ModelKind, l1: f64| {
        let settings = Settings { l1, ..Settings::default() };
        let config = TrainConfig { settings, ..config(model, 20.0) };
        let (trained, _) = run(&config, &schema(model, 3), &known(model, 6_000, 7), 8);
        assert_eq!(trained.statement.facts.algorithm, Algorithm::DpGd, "whitening mixes features");
        assert_eq!(trained.statement.facts.settings["l1"], l1);
        let numeric = |index: usize| match &trained.features[index] {
            Feature::Numeric { coefficient, .. } => coefficient.values().to_vec(),
            Feature::Steps { .. } | Feature::Categorical { .. } => unreachable!(),
        };
        let intercepts = trained.intercept.values().to_vec();
        assert!(intercepts.iter().all(|&w| w != 0.0), "the intercept is exempt");
        [numeric(0), numeric(1), numeric(2)]
    };
    for model in [ModelKind::Logistic, ModelKind::Linear, ModelKind::huber(None), ModelKind::poisson()] {
        let [first, second, third] = zeros(model, 0.05);
        assert!(first[0] > 0.0 && second[0] < 0.0 && third[0] == 0.0, "{model:?} {first:?} {second:?} {third:?}");
        assert!(zeros(model, 100.0).concat().iter().all(|&w| w == 0.0), "{model:?}");
    }
    assert!(zeros(ModelKind::Multinomial, 100.0).concat().iter().all(|&w| w == 0.0));
    let settings = Settings { l1: 0.1, ..Settings::default() };
    let whitened = TrainConfig { algorithm: Algorithm::Whitened, settings, ..config(ModelKind::Linear, 1.0) };
    let refused = rhograd::train::Plan::new(&whitened, &schema(ModelKind::Linear, 3), None);
    assert!(refused.unwrap_err().to_string().contains("--algorithm dp-gd"));
}

#[test]
fn a_ridge_is_a_linear_model_with_a_penalty() {
    let csv = known(ModelKind::Linear, 2_000, 9);
    let seen = |model, l2| {
        let settings = Settings { l2, ..Settings::default() };
        let (trained, _) = run(&TrainConfig { settings, ..config(model, 1000.0) }, &schema(model, 3), &csv, 1);
        (trained.statement.facts.settings["l2"].as_f64().unwrap(), effects(&trained)[0])
    };
    let (none, linear) = seen(ModelKind::Linear, None);
    let (some, ridge) = seen(ModelKind::Ridge, None);
    let (given, strong) = seen(ModelKind::Ridge, Some(1.0));
    assert_eq!((none, some, given), (0.0, 0.01, 1.0));
    assert!(linear > ridge && ridge > strong && strong > 0.3, "{linear} {ridge} {strong}");
}

#[test]
fn a_family_that_does_not_fit_is_refused_with_one_that_does() {
    let fitting = [
        (ModelKind::Logistic, ModelKind::Multinomial, "--model multinomial"),
        (ModelKind::Multinomial, ModelKind::Logistic, "--model logistic"),
        (ModelKind::poisson(), ModelKind::Linear, "target_lower"),
        (ModelKind::svm(), ModelKind::Linear, "--model linear"),
        (ModelKind::huber(None), ModelKind::Logistic, "--model logistic"),
        (ModelKind::huber(Some(-1.0)), ModelKind::Linear, "--huber-threshold"),
        (ModelKind::quantile(Some(1.0)), ModelKind::Linear, "--quantile"),
        (ModelKind::quantile(Some(f64::NAN)), ModelKind::Linear, "--quantile"),
    ];
    for (asked, of, cure) in fitting {
        let message = config(asked, 1.0).check(&schema(of, 2)).unwrap_err().to_string();
        assert!(message.contains(cure), "{message}");
    }
}

#[test]
fn every_family_trains_on_samples_of_the_rows() {
    for model in families() {
        let settings = Settings { steps: Some(60), sampling_rate: Some(0.1), ..Settings::default() };
        let config = TrainConfig { algorithm: Algorithm::DpSgd, settings, ..config(model, 8.0) };
        let (trained, _) = run(&config, &schema(model, 3), &known(model, 1_500, 11), 12);
        assert!(coefficients(&trained).iter().all(|w| w.is_finite()), "{model:?}");
    }
}

/// The metrics of a hold-out that stand beside those of an evaluation, by family.
fn held_out_metrics(model: ModelKind) -> &'static [&'static str] {
    match alike(model) {
        ModelKind::Logistic => &["accuracy", "auc", "log_loss"],
        ModelKind::Svm { .. } => &["accuracy", "auc"],
        ModelKind::Multinomial => &["accuracy", "log_loss"],
        ModelKind::Quantile { .. } => &["mae", "pinball", "coverage"],
        ModelKind::Poisson { .. } => &["mae", "deviance"],
        ModelKind::Linear | ModelKind::Ridge | ModelKind::Huber { .. } | ModelKind::Own(_) => &["mae", "rmse", "r2"],
    }
}

#[test]
fn a_hold_out_measures_every_family_near_the_truth() {
    for model in families() {
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            let config = TrainConfig { evaluate_budget: Some(0.3), holdout: 0.5, adjacency, ..config(model, 50.0) };
            let (trained, metrics) = run(&config, &schema(model, 3), &known(model, 6_000, 11), 12);
            let evaluation = trained.evaluation.unwrap();
            let truth = serde_json::to_value(metrics.unwrap()).unwrap();
            assert!((evaluation.rows - 3_000.0).abs() < 250.0, "{}", evaluation.rows);
            for name in held_out_metrics(model) {
                let (estimate, truth) = (evaluation.metrics[*name], truth[name].as_f64().unwrap());
                // Four deviations of a mean over 3,000 rows that are at most about 1.2 times as far spread as the mean.
                let slack = 0.09 * truth + 0.02 + 5.0 * estimate.noise;
                assert!((estimate.value - truth).abs() < slack, "{model:?} {name}: {estimate:?} {truth}");
                assert!(estimate.noise < 0.05 * estimate.value, "{model:?} {name}: {estimate:?}");
            }
            if let ModelKind::Svm { .. } = model {
                let hinge = evaluation.metrics["hinge_loss"];
                assert!(hinge.value > 0.1 && hinge.value < 0.8, "{hinge:?}");
            }
        }
    }
}
