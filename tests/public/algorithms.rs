//! Every algorithm: what it costs, where it is refused, and that it finds the optimum when privacy is cheap.

use std::path::{Path, PathBuf};

use rhograd::data::{CsvFile, Protect, Schema, Synthetic, SyntheticKind, Task};
use rhograd::error::Fallible;
use rhograd::grid::Shape;
use rhograd::kernel::{RawRow, Rows, RowsBuilder};
use rhograd::ledger::Ledger;
use rhograd::loss::Curved;
use rhograd::noise::NoiseSource;
use rhograd::optim::settings::{self, Kind};
use rhograd::optim::{Losses, Planned, SETTINGS, Setting, Settings};
use rhograd::privacy::{
    Adjacency, Charge, Claim, DatasetId, Delta, Epsilon, GaussianCharge, L2, NoiseLaw, PoissonGaussianCharge, Rho,
    Scope, total_rho,
};
use rhograd::private::{
    DescribeQuery, DirectionInputs, Gradient, OfPasses, Permit, PhasePlan, PrefixPasses, PrivateDataset, RowAccess,
    Sensitive, Stopped, charge_run, prefix_coefficients, query, resume,
};
use rhograd::train::{Algorithm, Budget, Metrics, ModelKind, Plan, TrainConfig, evaluate, load, train};

/// The relations under which an algorithm is defined.
fn relations(algorithm: Algorithm) -> &'static [Adjacency] {
    algorithm.description().relations.all()
}

/// Those of Gaussian releases on all rows; the others have tests of their own.
fn on_all_rows() -> impl Iterator<Item = Algorithm> {
    Algorithm::ALL.into_iter().filter(|algorithm| {
        let it = algorithm.description();
        matches!(it.losses, Losses::Any | Losses::Curved) && it.needs.epsilon.is_none()
    })
}

fn schema(name: &str) -> Schema {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets").join(format!("{name}.schema.json"));
    Schema::read(&path).unwrap()
}

/// A schema that protects what the algorithm does.
fn protected(mut schema: Schema, algorithm: Algorithm) -> Schema {
    if algorithm.description().needs.labels_alone {
        schema.protect = Protect::Label;
    }
    schema
}

fn config(algorithm: Algorithm, adjacency: Adjacency, epsilon: f64) -> TrainConfig {
    let budget = Budget::Epsilon(Epsilon::new(epsilon).unwrap(), Some(Delta::new(1e-6).unwrap()));
    TrainConfig { algorithm, adjacency, ..TrainConfig::new(budget) }
}

#[test]
fn every_plan_costs_at_most_its_budget() {
    for algorithm in on_all_rows() {
        for name in ["fair", "randhie"] {
            for &adjacency in relations(algorithm) {
                for epsilon in [0.05, 1.0, 20.0] {
                    let plan = Plan::new(&config(algorithm, adjacency, epsilon), &schema(name), Some(6_000)).unwrap();
                    let case = format!("{} {name} {adjacency} {epsilon}", algorithm.name());
                    let spent = total_rho(&plan.charges()).unwrap();
                    assert!(spent <= plan.rho, "{case}");
                    assert!(spent.upper() > 0.98 * plan.rho.lower(), "{case}: wastes budget");
                    for planned in plan.planned() {
                        assert_eq!(planned.charge.sensitivity(), planned.query.sensitivity(adjacency), "{case}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_relation_without_a_theorem_is_refused_with_the_cure() {
    for algorithm in Algorithm::ALL {
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            if !relations(algorithm).contains(&adjacency) {
                let refused = Plan::new(&config(algorithm, adjacency, 1.0), &schema("fair"), Some(6_000)).unwrap_err();
                let text = refused.to_string();
                assert!(text.contains(algorithm.name()) && text.contains("--adjacency"), "{text}");
            }
        }
    }
}

/// A legal request for a setting.
fn with(setting: &Setting) -> Settings {
    let mut settings = Settings::default();
    setting.read(&mut settings, if let Kind::Choice { names, .. } = setting.kind { names[1] } else { "0.5" }).ok();
    if matches!(setting.kind, Kind::Count { .. }) {
        setting.read(&mut settings, "3").unwrap();
    }
    settings
}

#[test]
fn a_setting_without_a_meaning_is_refused_by_name_and_any_other_is_none() {
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| *algorithm != Algorithm::Auto) {
        let description = algorithm.description();
        for setting in SETTINGS {
            let base = config(algorithm, relations(algorithm)[0], 1.0);
            let config = TrainConfig { settings: with(setting), rows: Some(6_000), ..base };
            assert!(setting.is_given(&config.settings), "{}", setting.name);
            let schema =
                if description.needs.coefficients.is_some_and(|most| most < 8) { one_column() } else { schema("fair") };
            let schema = protected(schema, algorithm);
            let outcome = Plan::new(&config, &schema, Some(6_000));
            let case = format!("{} {}", algorithm.name(), setting.name);
            let passed_over = setting.name == "steps" && description.needs.no_steps;
            match description.takes(setting) || passed_over {
                true => drop(outcome.unwrap_or_else(|refused| panic!("{case}: {refused}"))),
                false => {
                    let text = outcome.expect_err(&case).to_string();
                    assert!(text.contains(&setting.flag()) && text.contains("--algorithm"), "{case}: {text}");
                }
            }
        }
    }
    let settings = Settings { steps: Some(6_001), ..Settings::default() };
    let config = TrainConfig { settings, ..config(Algorithm::OnePass, Adjacency::ReplaceOne, 1.0) };
    let text = Plan::new(&config, &schema("fair"), Some(6_000)).unwrap_err().to_string();
    assert!(text.contains("--steps") && text.contains("one-pass"), "{text}");
}

/// One column, so that a grid of models can be searched.
fn one_column() -> Schema {
    let text = r#"{"name":"t","task":"classification","target":"y","positive":"1",
        "columns":{"x":{"type":"numeric","lower":0,"upper":1}}}"#;
    Schema::parse(text, Path::new("s")).unwrap()
}

#[test]
fn what_is_said_to_need_rows_at_hand_asks_for_more_than_sums() {
    for algorithm in Algorithm::ALL {
        let base = config(algorithm, relations(algorithm)[0], 1.0);
        let plan =
            Plan::new(&TrainConfig { rows: Some(6_000), ..base }, &protected(one_column(), algorithm), Some(6_000))
                .unwrap();
        let sums = plan.planned().iter().all(Planned::is_streamable);
        assert_eq!(algorithm.description().needs.rows_at_hand, !sums, "{}", algorithm.name());
    }
}

/// The page of an algorithm names every setting that it takes, its source and where it is defined.
#[test]
fn every_algorithm_has_a_page_that_says_what_it_takes_and_from_whom() {
    let mut lacking = Vec::new();
    for algorithm in Algorithm::ALL {
        let it = algorithm.description();
        let page = algorithm.page();
        let authors = it.reference.split(|c: char| !c.is_alphabetic() && c != '-');
        let authors = authors.filter(|word| word.len() > 2 && word.starts_with(char::is_uppercase)).map(str::to_owned);
        let relation = if it.relations.in_words() == "both" { "Both relations" } else { "Replace-one only" };
        let flags = it.settings.iter().map(|setting| setting.flag());
        let title = page.lines().next().filter(|line| line.starts_with("# `")).unwrap_or_default();
        if !title.contains(&format!("`{}`", it.name)) || Algorithm::named(&algorithm.page_name()).is_none() {
            lacking.push(format!("the documentation of the file of {} does not begin with \"# `{0}`: ..\"", it.name));
        }
        let wanted = flags.chain(authors).chain([relation.to_owned()]);
        lacking.extend(wanted.filter(|word| !page.contains(word)).map(|word| format!("{}: {word}", it.name)));
    }
    assert!(lacking.is_empty(), "{lacking:#?}");
}

#[test]
fn a_loss_without_a_theory_is_refused_with_the_cure() {
    let models = [
        ("fair", ModelKind::Svm { width: 0.5 }),
        ("randhie", ModelKind::Huber { threshold: 1.0 }),
        ("randhie", ModelKind::Quantile { level: 0.5, width: 0.1 }),
    ];
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.description().losses == Losses::Curved) {
        for (name, model) in models {
            let adjacency = relations(algorithm)[0];
            let config = TrainConfig { model: Some(model), ..config(algorithm, adjacency, 1.0) };
            let text = Plan::new(&config, &schema(name), Some(6_000)).unwrap_err().to_string();
            assert!(text.contains("--model") && text.contains(algorithm.name()), "{text}");
            assert!(text.contains("--algorithm dp-gd"), "{text}");
        }
    }
}

#[test]
fn blocks_and_batches_of_public_size_leave_out_a_hold_out_of_public_size() {
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| relations(*algorithm) == [Adjacency::ReplaceOne]) {
        let config = TrainConfig { evaluate_budget: Some(0.1), ..config(algorithm, Adjacency::ReplaceOne, 1.0) };
        if algorithm.description().needs.labels_alone {
            continue;
        }
        let plan = Plan::new(&config, &schema("fair"), Some(6_001)).unwrap();
        let rows = plan.planned().into_iter().find_map(|planned| match planned.query.kind().reads().rows {
            RowAccess::Order { rows, .. } => Some(rows),
            _ => None,
        });
        assert_eq!((rows, plan.training_rows()), (Some(4_801), Some(4_801)), "{}", algorithm.name());
    }
}

#[test]
fn an_l2_penalty_shrinks_with_every_algorithm_that_takes_one() {
    let folder = tempfile::tempdir().unwrap();
    let (path, schema) = synthetic(folder.path(), Task::Regression);
    let file = CsvFile::open(&path).unwrap();
    let fit = |algorithm, l2| {
        let settings = Settings { l2, ..Settings::default() };
        let config = TrainConfig { settings, ..config(algorithm, Adjacency::AddRemove, 100.0) };
        let loaded = load(&config, schema.clone(), &file, &|_, _| Ok(())).unwrap();
        let noise = NoiseSource::insecure_from_seed(3);
        let (trained, _) = train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap();
        match evaluate(&trained.model, &file).unwrap() {
            Metrics::Number { r2, .. } => r2.unwrap(),
            Metrics::Label { .. } | Metrics::Classes { .. } => unreachable!("a number"),
        }
    };
    let curved = on_all_rows().filter(|algorithm| algorithm.description().losses == Losses::Curved);
    for algorithm in curved.filter(|algorithm| algorithm.description().takes(&settings::L2)) {
        // As dp-gd with the same penalty, and no penalty is too large for the step size.
        for l2 in [0.5, 1e6] {
            let (reached, expected) = (fit(algorithm, Some(l2)), fit(Algorithm::DpGd, Some(l2)));
            assert!((reached - expected).abs() < 0.05, "{} {l2}: {reached}, {expected}", algorithm.name());
        }
    }
}

/// A synthetic data set in a folder, with its schema.
fn synthetic(folder: &Path, task: Task) -> (PathBuf, Schema) {
    let kind = match task {
        Task::Classification => SyntheticKind::Logistic,
        Task::Regression => SyntheticKind::Linear,
    };
    let synthetic = Synthetic { kind, rows: 20_000, features: 4, categories: 1, noise: 0.3, seed: 7, persons: false };
    let path = folder.join("s.csv");
    let mut file = std::fs::File::create(&path).unwrap();
    synthetic.write(&mut file, &|_| ()).unwrap();
    (path, synthetic.schema())
}

fn score(algorithm: Algorithm, adjacency: Adjacency, path: &Path, schema: &Schema, epsilon: f64) -> f64 {
    let file = CsvFile::open(path).unwrap();
    let loaded = load(&config(algorithm, adjacency, epsilon), schema.clone(), &file, &|_, _| Ok(())).unwrap();
    let noise = NoiseSource::insecure_from_seed(3);
    let (trained, mut paid) = train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap();
    assert!(paid.permit::<GaussianCharge>().is_err(), "every paid release was made");
    match evaluate(&trained.model, &file).unwrap() {
        Metrics::Label { auc, .. } => auc.unwrap(),
        Metrics::Number { r2, .. } => r2.unwrap(),
        Metrics::Classes { .. } => unreachable!("two labels"),
    }
}

#[test]
fn every_algorithm_finds_the_optimum_when_privacy_is_cheap() {
    for task in [Task::Classification, Task::Regression] {
        let folder = tempfile::tempdir().unwrap();
        let (path, schema) = synthetic(folder.path(), task);
        let best = score(Algorithm::Whitened, Adjacency::AddRemove, &path, &schema, 1e4);
        for algorithm in on_all_rows().filter(|a| *a != Algorithm::DpGdTheory) {
            for &adjacency in relations(algorithm) {
                let reached = score(algorithm, adjacency, &path, &schema, 100.0);
                // AdaSSP cuts large rows in both of its sums, each in its own way, and no later step corrects that.
                let slack = if algorithm == Algorithm::AdaSsp { 0.03 } else { 0.01 };
                assert!(reached > best - slack, "{} {task:?} {adjacency}: {reached} of {best}", algorithm.name());
            }
        }
    }
}

fn scope(adjacency: Adjacency) -> Scope {
    Scope::of_rows(DatasetId::new("a").unwrap(), adjacency)
}

const LEVELS: [u16; 2] = [3, 2];

fn extreme(index: usize) -> RawRow {
    let cell = |k: usize| [i16::MIN, -20_000, -1, 0, 1, 30_000, i16::MAX][(index / k) % 7];
    RawRow {
        numeric: vec![cell(1), cell(7), cell(3)],
        codes: vec![(index % 5) as u16, (index % 3) as u16],
        label: cell(2),
        null: index.is_multiple_of(11),
    }
}

fn rows(indices: &[usize]) -> Rows {
    let mut builder = RowsBuilder::new(Shape::new(3, &LEVELS));
    indices.iter().for_each(|&index| builder.push(&extreme(index)));
    builder.build()
}

/// What a query releases of these rows under noise that depends on the seed alone.
fn released(
    indices: &[usize],
    adjacency: Adjacency,
    sensitivity: u64,
    ask: impl Fn(&PrivateDataset) -> Sensitive<L2>,
) -> Vec<i128> {
    let data = PrivateDataset::new(rows(indices), scope(adjacency));
    let noise = NoiseLaw::FlooredNormal;
    let event = GaussianCharge { what: "t".into(), sensitivity, log2_scale: 20, noise, count: 1 };
    let source = NoiseSource::insecure_from_seed(1);
    let mut paid = charge_run(&mut Ledger::in_memory().unwrap(), data.scope(), &[event], source).unwrap();
    paid.permit::<GaussianCharge>().unwrap().release(ask(&data)).unwrap().values().to_vec()
}

#[test]
fn hessians_of_neighbours_differ_by_at_most_the_stated_sensitivity() {
    let weights = ndarray::Array1::from(vec![0.4, -0.3, 2.0, 0.1, 0.2, -0.5, 0.0, 0.3, -0.1]);
    let common = [1usize, 5, 17, 64, 200, 333];
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        for loss in [Curved::Logistic, Curved::Squared] {
            for bound in [1u64 << 18, 1 << 22, 1 << 27] {
                let sensitivity = query::Hessian { clip_steps: bound }.sensitivity(adjacency);
                let ask = |data: &PrivateDataset| data.hessian(loss, &weights, bound, 100).unwrap();
                let mut largest = 0i128;
                for index in 0..200 {
                    let first: Vec<usize> = match adjacency {
                        Adjacency::AddRemove => common.to_vec(),
                        Adjacency::ReplaceOne => [&common[..], &[index * 31 + 4]].concat(),
                    };
                    let second = [&common[..], &[index]].concat();
                    let (a, b) =
                        (released(&first, adjacency, sensitivity, ask), released(&second, adjacency, sensitivity, ask));
                    let square: i128 = a.iter().zip(&b).map(|(x, y)| (x - y) * (x - y)).sum();
                    assert!(square <= i128::from(sensitivity) * i128::from(sensitivity));
                    largest = largest.max(square);
                }
                assert!(largest > 0 || bound == 1 << 18, "{bound}");
            }
        }
    }
}

/// Runs passes over random batches on these rows, as paid for; the same source draws the same batches, coins and noise.
fn passed<M: OfPasses>(data: &PrivateDataset, query: query::PrefixSums, paid: Charge) -> Fallible<Vec<i128>> {
    let source = NoiseSource::insecure_from_seed(4);
    let mut run = charge_run(&mut Ledger::in_memory()?, data.scope(), std::slice::from_ref(&paid), source)?;
    let permits = (0..paid.count()).map(|_| run.permit::<M>()).collect::<Fallible<_>>()?;
    let mut passes = PrefixPasses::open(permits, data, query)?;
    let weights = ndarray::Array1::from(vec![0.1; 9]);
    let gradient = Gradient { loss: Curved::Squared.into(), weights: &weights, label_scale: 1.0, clip_norm: 0.5 };
    let mut heard = Vec::new();
    for _ in 0..u64::from(query.batches) * paid.count() {
        let part = passes.next(&gradient)?;
        assert_eq!(part.len(), 9);
        heard.extend(part.to_vec());
    }
    assert!(passes.next(&gradient).is_err(), "a batch is used once in each pass");
    let released = passes.finish();
    assert_eq!(released.len() as u64, paid.count());
    assert_eq!(released.iter().flat_map(|pass| pass.values().to_vec()).collect::<Vec<_>>(), heard);
    Ok(heard)
}

fn gaussian_passes(sensitivity: u64, count: u64) -> GaussianCharge {
    GaussianCharge { what: "t".into(), sensitivity, log2_scale: 50, noise: NoiseLaw::FlooredNormal, count }
}

/// Samples of about a third.
fn sampled_passes(sampled: GaussianCharge) -> Charge {
    PoissonGaussianCharge { sampled, exponent: u64::MAX / 5 * 2, claim: Claim { epsilon: 1.0, delta: 0.5, rho: 1.0 } }
        .into()
}

#[test]
fn prefix_sums_of_neighbours_differ_by_at_most_the_stated_sensitivity() {
    let common = [3usize, 8, 21, 40, 77, 100, 215, 300];
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        for (batches, passes) in [(1u32, 1u64), (2, 1), (7, 1), (33, 1), (1, 4), (2, 3), (7, 2)] {
            let query = query::PrefixSums { clip_steps: 1 << 24, batches };
            let sensitivity = query.sensitivity(adjacency);
            let most = passes as i128 * i128::from(sensitivity) * i128::from(sensitivity);
            let run = |indices: &[usize], sampled: bool| {
                let data = PrivateDataset::new(rows(indices), scope(adjacency));
                let paid = gaussian_passes(sensitivity, passes);
                if sampled {
                    passed::<PoissonGaussianCharge>(&data, query, sampled_passes(paid)).unwrap()
                } else {
                    passed::<GaussianCharge>(&data, query, paid.into()).unwrap()
                }
            };
            let (mut largest, mut stayed_away) = (0i128, 0);
            for index in 0..60 {
                // The last row, so that those before it keep their draws and a difference is the row's own.
                let common = &common[..index % 9];
                let first: Vec<usize> = match adjacency {
                    Adjacency::AddRemove => common.to_vec(),
                    Adjacency::ReplaceOne => [common, &[index * 31 + 4]].concat(),
                };
                let second = [common, &[index]].concat();
                for sampled in [false, true] {
                    let square: i128 =
                        run(&first, sampled).iter().zip(run(&second, sampled)).map(|(x, y)| (x - y) * (x - y)).sum();
                    assert!(square <= most, "{adjacency} {batches} {passes}");
                    if sampled {
                        stayed_away += u32::from(square < most / 4);
                    } else {
                        largest = largest.max(square);
                    }
                }
            }
            assert!(largest > 0 && (passes == 1 || stayed_away > 0));
            // A row of the first batch moves every part of every pass.
            let used = (largest as f64 / most as f64).sqrt();
            let whole = adjacency == Adjacency::AddRemove && batches <= 2;
            assert!(!whole || used > 0.99, "{adjacency} {batches} {passes}: {used}");
        }
    }
}

#[test]
fn no_part_is_moved_by_two_uses_of_a_row() {
    const BATCHES: u32 = 5;
    let query = query::PrefixSums { clip_steps: 1 << 24, batches: BATCHES };
    let paid = gaussian_passes(query.sensitivity(Adjacency::AddRemove), 3);
    let run = |indices: &[usize]| {
        let data = PrivateDataset::new(rows(indices), scope(Adjacency::AddRemove));
        passed::<GaussianCharge>(&data, query, paid.clone().into()).unwrap()
    };
    for extra in 0..20 {
        let (before, after) = (run(&[3, 8, 21]), run(&[3, 8, 21, extra]));
        let moved: Vec<Vec<i128>> =
            after.iter().zip(&before).map(|(a, b)| a - b).collect::<Vec<_>>().chunks(9).map(<[i128]>::to_vec).collect();
        // The same gradient in every pass, for weights stay: each part is one coefficient times it, in turn from the row's batch on.
        let Some(first) = moved.iter().position(|part| part.iter().any(|v| *v != 0)) else { continue };
        for (part, values) in moved.iter().enumerate() {
            let coefficient = part.checked_sub(first).map_or(0, |lag| prefix_coefficients(BATCHES)[lag % 5]);
            let expected = moved[first].iter().map(|v| v / 1024 * i128::from(coefficient));
            assert!(values.iter().copied().eq(expected), "{extra} {part}");
        }
    }
}

#[test]
fn a_pass_is_refused_without_enough_budget_or_for_other_rows() {
    let data = PrivateDataset::new(rows(&[1, 2, 3]), scope(Adjacency::AddRemove));
    let query = query::PrefixSums { clip_steps: 1 << 20, batches: 4 };
    let sensitivity = query.sensitivity(Adjacency::AddRemove);
    let open = |sensitivity: u64, data: &PrivateDataset| {
        let paid = [gaussian_passes(sensitivity, 2)];
        let source = NoiseSource::insecure_from_seed(4);
        let mut run =
            charge_run(&mut Ledger::in_memory().unwrap(), &scope(Adjacency::AddRemove), &paid, source).unwrap();
        let permits = vec![run.permit::<GaussianCharge>().unwrap(), run.permit().unwrap()];
        PrefixPasses::open(permits, data, query).is_ok()
    };
    assert!(open(sensitivity, &data) && !open(sensitivity - 1, &data));
    assert!(!open(sensitivity, &PrivateDataset::new(rows(&[1]), scope(Adjacency::ReplaceOne))));
    let batches = u32::MAX;
    assert_eq!(query::PrefixSums { clip_steps: 1, batches }.sensitivity(Adjacency::AddRemove), u64::MAX);
    // Permits of two charges, or of two runs, are no passes of one.
    let of = |sensitivity| gaussian_passes(sensitivity, 1);
    let mut runs = [0, 1].map(|_| {
        let (source, paid) = (NoiseSource::insecure_from_seed(4), [of(sensitivity), of(sensitivity + 1)]);
        charge_run(&mut Ledger::in_memory().unwrap(), data.scope(), &paid, source).unwrap()
    });
    let [first, second] = &mut runs;
    let mixed = vec![first.permit::<GaussianCharge>().unwrap(), second.permit().unwrap()];
    assert!(PrefixPasses::open(mixed, &data, query).is_err());
    let other = vec![first.permit::<GaussianCharge>().unwrap()];
    assert!(PrefixPasses::open(other, &data, query).is_ok());
    assert!(PrefixPasses::open(Vec::<Permit<GaussianCharge>>::new(), &data, query).is_err());
    // What was released before a run was stopped is not released again, with other noise.
    let stopped = Stopped { run: "run".into(), position: None, released: vec![vec![0; 36]] };
    let (paid, source) = ([Charge::from(of(sensitivity))], NoiseSource::insecure_from_seed(5));
    let mut again = resume(&mut Ledger::in_memory().unwrap(), data.scope(), &paid, source, stopped).unwrap();
    assert!(PrefixPasses::open(vec![again.permit::<GaussianCharge>().unwrap()], &data, query).is_err());
}

const PHASES: PhasePlan = PhasePlan { lipschitz: 3 << 44, shift: 6, rows: 60, dimension: 9, max_phases: 8 };

/// All phases of a run on these rows from a start far out, under noise that depends on the seed alone.
fn phased(indices: &[usize], plan: PhasePlan, loss: Curved, seed: u64) -> Vec<i128> {
    let adjacency = Adjacency::ReplaceOne;
    let data = PrivateDataset::new(rows(indices), scope(adjacency));
    let sensitivity = query::Phases { plan }.sensitivity(adjacency);
    // A release whose noise is a hundredth of a step of the finest phase shows the means themselves.
    let event =
        GaussianCharge { what: "t".into(), sensitivity, log2_scale: 0, noise: NoiseLaw::FlooredNormal, count: 1 };
    let source = NoiseSource::insecure_from_seed(seed);
    let mut paid = charge_run(&mut Ledger::in_memory().unwrap(), data.scope(), &[event], source).unwrap();
    let mut phases = paid.permit::<GaussianCharge>().unwrap().phases(&data, plan, loss, 1e-4).unwrap();
    // The same public start in every phase, so that phases differ by the row alone.
    let start: Vec<i64> = (0..9).map(|j| (j - 4) << 38).collect();
    while phases.next(&start).is_ok() {}
    phases.finish().values().to_vec()
}

#[test]
fn a_replaced_row_moves_one_phase_by_at_most_the_stated_sensitivity() {
    let sensitivity = PHASES.sensitivity();
    let mut moved = [false; 6];
    let mut largest = 0f64;
    for loss in [Curved::Logistic, Curved::Squared] {
        for case in 0..60usize {
            let first: Vec<usize> = (0..60).map(|i| (i * 131 + case) % 700).collect();
            let mut second = first.clone();
            second[case] = (case * 37 + 5) % 700;
            let (a, b) = (phased(&first, PHASES, loss, 3), phased(&second, PHASES, loss, 3));
            assert_eq!(a.len(), 9 * PHASES.phases() as usize);
            let mut phases_moved = 0;
            for (phase, (x, y)) in a.chunks(9).zip(b.chunks(9)).enumerate() {
                let square: i128 = x.iter().zip(y).map(|(p, q)| (p - q) * (p - q)).sum();
                assert!(square <= i128::from(sensitivity) * i128::from(sensitivity), "{loss:?} {case} {phase}");
                largest = largest.max((square as f64).sqrt() / sensitivity as f64);
                moved[phase] |= square > 0;
                phases_moved += usize::from(square > 0);
            }
            assert!(phases_moved <= 1, "a row is in one block");
        }
    }
    assert_eq!(moved.iter().filter(|m| **m).count(), PHASES.phases() as usize);
    // The first step of a block moves the mean by almost everything that is charged.
    assert!(largest > 0.3, "{largest}");
}

#[test]
fn phases_are_refused_for_other_rows_or_relations() {
    let open = |adjacency, count: usize| {
        let indices: Vec<usize> = (0..count).collect();
        let data = PrivateDataset::new(rows(&indices), scope(adjacency));
        let noise = NoiseLaw::FlooredNormal;
        let event = GaussianCharge { what: "t".into(), sensitivity: u64::MAX, log2_scale: 0, noise, count: 1 };
        let source = NoiseSource::insecure_from_seed(3);
        let mut paid = charge_run(&mut Ledger::in_memory().unwrap(), data.scope(), &[event], source).unwrap();
        paid.permit::<GaussianCharge>().unwrap().phases(&data, PHASES, Curved::Squared, 1.0).is_ok()
    };
    assert!(open(Adjacency::ReplaceOne, 60));
    assert!(!open(Adjacency::ReplaceOne, 59) && !open(Adjacency::AddRemove, 60));
    assert_eq!(query::Phases { plan: PHASES }.sensitivity(Adjacency::AddRemove), u64::MAX);
}

#[test]
fn directions_of_neighbours_differ_by_at_most_the_stated_sensitivity() {
    let weights = ndarray::Array1::from(vec![0.4, -0.3, 2.0, 0.1, 0.2, -0.5, 0.0, 0.3, -0.1]);
    let gradient: Vec<i128> = (0..9).map(|j| (j - 3) * (1 << 30) + 12_345).collect();
    let (clip_steps, l2_sensitivity) = (1u64 << 27, 1u64 << 40);
    let mut used = 0f64;
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let sensitivity = query::Direction { l2_sensitivity }.sensitivity(adjacency);
        // A ridge near one row's part: the bound is attained by a row along the gradient where there are no others.
        for (common, ridge) in [(&[][..], 1u64 << 27), (&[1usize, 5, 17, 64][..], 1 << 25), (&[7, 9], 1 << 33)] {
            let asked = DirectionInputs { gradient: &gradient, clip_steps, ridge, l2_sensitivity };
            let ask = |data: &PrivateDataset| data.direction(Curved::Squared, &weights, &asked).unwrap();
            for index in 0..120 {
                let first: Vec<usize> = match adjacency {
                    Adjacency::AddRemove => common.to_vec(),
                    Adjacency::ReplaceOne => [common, &[index * 31 + 4]].concat(),
                };
                let second = [common, &[index]].concat();
                let (a, b) =
                    (released(&first, adjacency, sensitivity, ask), released(&second, adjacency, sensitivity, ask));
                let square: i128 = a.iter().zip(&b).map(|(x, y)| (x - y) * (x - y)).sum();
                assert!(square <= i128::from(sensitivity) * i128::from(sensitivity), "{adjacency} {index}");
                used = used.max((square as f64).sqrt() / sensitivity as f64);
            }
        }
    }
    assert!(used > 0.3, "{used}");
}

#[test]
fn budgets_are_exact_in_rho_too() {
    for algorithm in on_all_rows() {
        let adjacency = *relations(algorithm).last().unwrap();
        let budget = Budget::Rho(Rho::from_f64(0.3).unwrap(), None);
        let config = TrainConfig { adjacency, algorithm, ..TrainConfig::new(budget) };
        let plan = Plan::new(&config, &schema("fair"), Some(6_000)).unwrap();
        assert!(total_rho(&plan.charges()).unwrap() <= Rho::from_f64(0.3).unwrap());
    }
}
