//! Labels alone are protected: what moves when one is replaced, what is free, what is refused, and how good models are.

use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::data::{CsvFile, Protect, Schema};
use rhograd::error::Fallible;
use rhograd::grid::{FULL_SCALE, IntegerMap, LabelCoding, NO_LABEL, Shape};
use rhograd::kernel::{Caps, MeanStep, RawRow, Rows, RowsBuilder, label_sum, mean_sum};
use rhograd::ledger::Ledger;
use rhograd::loss::Glm;
use rhograd::ndarray::{Array1, Array2};
use rhograd::noise::NoiseSource;
use rhograd::optim::Settings;
use rhograd::preprocess::MemoryLimit;
use rhograd::privacy::{Adjacency, DatasetId, Epsilon, PrivacyUnit, Scope};
use rhograd::private::{Gradient, PrivateDataset};
use rhograd::statement::Statement;
use rhograd::train::{
    Algorithm, Budget, Evidence, Feature, ModelFile, ModelKind, Plan, Target, TrainConfig, load, load_within, train,
    verify,
};

fn row(rng: &mut ChaCha8Rng, shape: &Shape) -> RawRow {
    let extreme = [-FULL_SCALE, -1, 0, 1, FULL_SCALE];
    RawRow {
        numeric: (0..shape.numeric())
            .map(|_| if rng.random() { extreme[rng.random_range(0..5)] } else { rng.random() })
            .collect(),
        codes: (0..shape.categorical()).map(|j| rng.random_range(0..=shape.levels(j) as u16)).collect(),
        label: 0,
        null: rng.random_range(0..20) == 0,
    }
}

fn built(shape: &Shape, rows: &[RawRow]) -> Rows {
    let mut builder = RowsBuilder::new(shape.clone());
    rows.iter().for_each(|row| builder.push(row));
    builder.build()
}

fn square(v: &[i128]) -> u128 {
    v.iter().map(|&x| x.unsigned_abs() * x.unsigned_abs()).sum()
}

fn labels(coding: LabelCoding, rng: &mut ChaCha8Rng) -> i16 {
    match coding {
        LabelCoding::Two => rng.random_range(-1..=1),
        LabelCoding::Classes { labels } => rng.random_range(-1..labels as i16),
        LabelCoding::Numbers | LabelCoding::Counts => {
            [-FULL_SCALE, FULL_SCALE, 0, rng.random()][rng.random_range(0..4)]
        }
    }
}

/// A label that is replaced by any other, in every coding, through a map: never more than is stated, and nearly all of it somewhere.
#[test]
fn a_replaced_label_moves_the_sum_by_at_most_what_is_stated() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let shape = Shape::new(3, &[4]);
    let dimension = shape.dimension();
    for coding in [LabelCoding::Two, LabelCoding::Numbers, LabelCoding::Counts, LabelCoding::Classes { labels: 5 }] {
        let mut largest = 0.0f64;
        for _ in 0..300 {
            let real = Array2::from_shape_fn((dimension, dimension), |_| rng.random_range(-1.0..1.0));
            let map = IntegerMap::nearest(&real, 12).unwrap();
            let mut rows: Vec<RawRow> = (0..40).map(|_| row(&mut rng, &shape)).collect();
            rows.iter_mut().for_each(|row| row.label = labels(coding, &mut rng));
            let clip_steps = rng.random_range(1u64..1 << 36);
            let image = |rows: &[RawRow]| -> Vec<i128> {
                let rows = built(&shape, rows);
                let sums = label_sum(&rows, &Caps::through(&map, &rows, clip_steps), coding);
                sums.chunks_exact(dimension).flat_map(|block| map.image(block)).collect()
            };
            let before = image(&rows);
            let place = rng.random_range(0..rows.len());
            rows[place].label = labels(coding, &mut rng);
            let moved: Vec<i128> = image(&rows).iter().zip(&before).map(|(a, b)| a - b).collect();
            let (moved, stated) = (square(&moved), u128::from(coding.spread(16 * clip_steps)));
            assert!(moved <= stated * stated, "{coding:?} {clip_steps}");
            largest = largest.max((moved as f64).sqrt() / stated as f64);
        }
        assert!(largest > 0.99, "{coding:?}: {largest}");
    }
}

#[test]
fn sums_are_those_of_the_plain_loop_and_means_read_no_label() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for (count, shape) in
        [(1, Shape::new(0, &[])), (33, Shape::new(2, &[3, 2])), (1000, Shape::new(5, &[])), (0, Shape::new(1, &[2]))]
    {
        let dimension = shape.dimension();
        let coding = LabelCoding::Classes { labels: 3 };
        let mut raw: Vec<RawRow> = (0..count).map(|_| row(&mut rng, &shape)).collect();
        raw.iter_mut().for_each(|row| row.label = rng.random_range(-1..3));
        let rows = built(&shape, &raw);
        let caps = Caps::entrywise(&rows, 77);
        let dense = |row: &RawRow| -> Vec<i64> {
            let mut q: Vec<i64> = row.numeric.iter().map(|&q| q.max(-FULL_SCALE).into()).collect();
            for (column, &code) in row.codes.iter().enumerate() {
                q.extend(
                    (0..shape.levels(column))
                        .map(|level| if level == usize::from(code) { i64::from(FULL_SCALE) } else { 0 }),
                );
            }
            q.push(FULL_SCALE.into());
            q
        };
        let weights: Vec<f64> = (0..2 * dimension).map(|_| rng.random_range(-2.0..2.0)).collect();
        let (mut of_labels, mut of_means) = (vec![0i64; 3 * dimension], vec![0i64; 2 * dimension]);
        for row in raw.iter().filter(|row| !row.null) {
            let q = dense(row);
            if row.label >= 0 {
                let block = &mut of_labels[row.label as usize * dimension..][..dimension];
                block.iter_mut().zip(&q).for_each(|(sum, q)| *sum += 16 * 77 * q);
            }
            for (block, weights) in of_means.chunks_exact_mut(dimension).zip(weights.chunks_exact(dimension)) {
                let margin: f64 = weights.iter().zip(&q).map(|(w, &q)| w * q as f64 / f64::from(FULL_SCALE)).sum();
                let mean = f64::from((margin as f32).tanh());
                let multiplier = (mean * 77.0 * 64.0).round_ties_even() as i64;
                block.iter_mut().zip(&q).for_each(|(sum, q)| *sum += multiplier * q);
            }
        }
        assert_eq!(label_sum(&rows, &caps, coding), of_labels);
        let step = MeanStep { weights: &weights, outputs: 2, scale: 64.0, most: 1 << 20 };
        let tanh = |margins: &mut [[f32; 32]]| margins.as_flattened_mut().iter_mut().for_each(|m| *m = m.tanh());
        let means = mean_sum(&rows, &caps, &step, &tanh);
        // Margins are added up in another order, so that a multiplier may be rounded the other way.
        for (mean, plain) in means.iter().zip(&of_means) {
            assert!((mean - plain).abs() <= 2 * i64::from(FULL_SCALE), "{mean} {plain}");
        }
        raw.iter_mut().for_each(|row| row.label = NO_LABEL);
        let unlabelled = built(&shape, &raw);
        assert_eq!(mean_sum(&unlabelled, &Caps::entrywise(&unlabelled, 77), &step, &tanh), means);
        // What is no number is nothing, and nothing is beyond the largest multiplier.
        let nan = mean_sum(&rows, &caps, &step, &|margins| margins.as_flattened_mut().fill(f32::NAN));
        assert!(nan.iter().all(|&sum| sum == 0));
        let small = MeanStep { most: 3, ..step };
        let cut = mean_sum(&rows, &caps, &small, &|margins| margins.as_flattened_mut().fill(f32::INFINITY));
        let three = mean_sum(&rows, &Caps::entrywise(&rows, 3), &MeanStep { scale: 1.0, ..step }, &|margins| {
            margins.as_flattened_mut().fill(1.0)
        });
        assert_eq!(cut, three);
    }
}

#[test]
fn free_sums_are_refused_where_rows_are_protected() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let shape = Shape::new(2, &[]);
    let rows: Vec<RawRow> = (0..50).map(|_| row(&mut rng, &shape)).collect();
    let dataset = DatasetId::new("d").unwrap();
    for unit in [PrivacyUnit::Row, PrivacyUnit::Label] {
        let scope = Scope { dataset: dataset.clone(), adjacency: Adjacency::ReplaceOne, unit };
        // Whatever the scope says: nobody knows whether these rows are records because of their labels.
        let data = PrivateDataset::new(built(&shape, &rows), scope);
        assert_eq!(data.scope().unit, PrivacyUnit::Row);
        let clipped = data.clipped(1 << 20).unwrap();
        assert!(clipped.label_sum(LabelCoding::Two).is_err());
        let weights = Array1::zeros(3);
        let gradient = Gradient { loss: Glm::Logistic.into(), weights: &weights, label_scale: 1.0, clip_norm: 1.0 };
        assert!(clipped.mean_sum(&gradient, 1.0, 100).is_err());
    }
}

fn schema(target: &str, columns: &str) -> Schema {
    let text = format!(r#"{{"name":"t",{target},"target":"y","protect":"label","columns":{{{columns}}}}}"#);
    Schema::parse(&text, Path::new("s")).unwrap()
}

const COLUMNS: &str = r#""a":{"type":"numeric","lower":-4,"upper":4},"b":{"type":"numeric","lower":-4,"upper":4},
    "c":{"type":"categorical","values":["u","v"]}"#;

const TWO: &str = r#""task":"classification","positive":"1","negative":"0""#;
const NUMBER: &str = r#""task":"regression","target_lower":-10,"target_upper":10"#;
const COUNT: &str = r#""task":"regression","target_lower":0,"target_upper":60"#;

fn config(epsilon: f64, model: ModelKind) -> TrainConfig {
    let budget = Budget::Epsilon(Epsilon::new(epsilon).unwrap(), None);
    TrainConfig { adjacency: Adjacency::ReplaceOne, model: Some(model), ..TrainConfig::new(budget) }
}

/// Rows of a truth `0.5 + a - 0.5 b + 0.75 [c = u]` on the margin; without labels where `share` is not reached.
fn rows(model: ModelKind, count: usize, share: f64) -> String {
    rows_of(model, count, share, 7)
}

fn rows_of(model: ModelKind, count: usize, share: f64, seed: u64) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut csv = String::from("a,b,c,y\n");
    let normal = |rng: &mut ChaCha8Rng| (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    for _ in 0..count {
        let (a, b) = (rng.random_range(-1.6..1.6), rng.random_range(-1.6..1.6));
        let u: bool = rng.random();
        let margin: f64 = 0.5 + a - 0.5 * b + if u { 0.75 } else { 0.0 };
        let uniform: f64 = rng.random();
        let label = match model {
            ModelKind::Poisson { .. } => {
                // By inversion.
                let (mut k, mut p) = (0, (-margin.exp()).exp());
                let mut sum = p;
                while uniform > sum && k < 60 {
                    k += 1;
                    p *= margin.exp() / f64::from(k);
                    sum += p;
                }
                k.to_string()
            }
            ModelKind::Logistic => u8::from(uniform < 1.0 / (1.0 + (-margin).exp())).to_string(),
            ModelKind::Multinomial => {
                // Against the first of three labels the margins are this and its opposite.
                let (second, third) = (margin.exp(), (-margin).exp());
                let all = 1.0 + second + third;
                let label = if uniform < 1.0 / all {
                    0
                } else if uniform < (1.0 + second) / all {
                    1
                } else {
                    2
                };
                label.to_string()
            }
            _ => format!("{:.4}", margin + normal(&mut rng)),
        };
        let label = if rng.random::<f64>() < share { label } else { "?".into() };
        csv += &format!("{a:.4},{b:.4},{},{label}\n", if u { "u" } else { "v" });
    }
    csv
}

struct Desk(tempfile::TempDir);

impl Desk {
    fn of(csv: &str) -> Self {
        let desk = Desk(tempfile::tempdir().unwrap());
        std::fs::write(desk.0.path().join("t.csv"), csv).unwrap();
        desk
    }

    fn file(&self) -> CsvFile {
        CsvFile::open(&self.0.path().join("t.csv")).unwrap()
    }

    fn trained(&self, config: &TrainConfig, schema: &Schema) -> Fallible<(ModelFile, String)> {
        let loaded = load(config, schema.clone(), &self.file(), &|_, _| Ok(()))?;
        let noise = NoiseSource::insecure_from_seed(5);
        let (trained, _) = train(loaded, &mut Ledger::in_memory()?, noise, &mut |_| Ok(()))?;
        Ok((trained.model, trained.text))
    }
}

/// Effects of `a`, of `b`, and of `u` over `v` on the margin of an output, in units of the columns and of the target.
fn effects(model: &ModelFile, output: usize) -> [f64; 3] {
    let unit = match &model.target {
        Target::Number { scale, .. } if model.model == ModelKind::Linear => *scale,
        _ => 1.0,
    };
    let mut found = [0.0; 3];
    for (place, feature) in model.features.iter().enumerate() {
        found[place] = unit
            * match feature {
                Feature::Numeric { coefficient, map, .. } => coefficient.values()[output] / map.scale,
                Feature::Categorical { coefficients, .. } => {
                    coefficients[0].values()[output] - coefficients[1].values()[output]
                }
                Feature::Steps { .. } => panic!("no columns are cut"),
            };
    }
    found
}

#[test]
fn with_next_to_no_noise_effects_are_those_that_made_the_rows() {
    let classes = format!(r#"{COLUMNS},"y":{{"type":"categorical","values":["0","1","2"]}}"#);
    for (model, target, columns) in [
        (ModelKind::Logistic, TWO, COLUMNS),
        (ModelKind::Linear, NUMBER, COLUMNS),
        (ModelKind::poisson(), COUNT, COLUMNS),
        (ModelKind::Multinomial, r#""task":"classification""#, &classes),
    ] {
        let desk = Desk::of(&rows(model, 40_000, 1.0));
        let (made, text) = desk.trained(&config(1000.0, model), &schema(target, columns)).unwrap();
        assert!(verify(&made, &text, Evidence::default()).unwrap().held());
        assert_eq!(made.statement.facts.algorithm, Algorithm::LabelSums, "auto chooses it");
        assert_eq!(made.statement.facts.settings["solved"], true, "{model:?}");
        // Of three labels the margins of the last two are this and its opposite, over that of the first.
        let found = match model {
            ModelKind::Multinomial => [1, 2].map(|k| {
                let (own, first) = (effects(&made, k), effects(&made, 0));
                [0, 1, 2].map(|j| if k == 1 { own[j] - first[j] } else { first[j] - own[j] })
            }),
            _ => [effects(&made, 0); 2],
        };
        for found in found {
            for (effect, truth) in found.into_iter().zip([1.0, -0.5, 0.75]) {
                assert!((effect - truth).abs() < 0.08, "{model:?}: {found:?}");
            }
        }
    }
}

/// Over runs at two budgets, for effects on two numbers: about 19 in 20 lie within 1.96 errors, and errors are no larger than they must be.
#[test]
fn intervals_cover_and_are_no_wider_than_they_must_be() {
    for epsilon in [0.5, 4.0] {
        let (mut within, mut all, mut squares) = (0, 0, 0.0);
        for seed in 0..60 {
            let desk = Desk::of(&rows_of(ModelKind::Logistic, 3000, 1.0, seed));
            let config = config(epsilon, ModelKind::Logistic);
            let loaded = load(&config, schema(TWO, COLUMNS), &desk.file(), &|_, _| Ok(())).unwrap();
            let noise = NoiseSource::insecure_from_seed(seed);
            let made = train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap().0.model;
            let errors = made.standard_errors.clone().unwrap();
            let scales = made.features.iter().filter_map(|feature| match feature {
                Feature::Numeric { map, .. } => Some(map.scale),
                _ => None,
            });
            let found = effects(&made, 0);
            for ((scale, error), (effect, truth)) in scales.zip(&errors).zip(found.into_iter().zip([1.0, -0.5])) {
                let off = (effect - truth) / (error / scale);
                within += usize::from(off.abs() < 1.96);
                squares += off * off;
                all += 1;
            }
        }
        let (share, square) = (within as f64 / all as f64, squares / all as f64);
        assert!((0.88..=1.0).contains(&share) && (0.5..1.6).contains(&square), "{epsilon}: {share} {square}");
    }
}

#[test]
fn rows_that_stay_in_a_file_give_the_same_bits_and_so_do_all_numbers_of_threads() {
    let desk = Desk::of(&rows(ModelKind::Logistic, 3000, 0.9));
    let (schema, config) = (schema(TWO, COLUMNS), config(1.0, ModelKind::Logistic));
    let known = desk.trained(&config, &schema).unwrap().0;
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let limit = MemoryLimit::always_streaming(1 << 12);
            let loaded = load_within(&config, schema.clone(), &desk.file(), None, limit, &|_, _| Ok(())).unwrap();
            assert!(loaded.streamed);
            let noise = NoiseSource::insecure_from_seed(5);
            let (made, _) = train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap();
            assert_eq!((&made.model.features, &made.model.intercept), (&known.features, &known.intercept));
            assert_eq!(desk.trained(&config, &schema).unwrap().0.features, known.features);
        });
    }
}

#[test]
fn a_hold_out_is_paid_for_and_measured_on_rows_with_labels() {
    let desk = Desk::of(&rows(ModelKind::Logistic, 6000, 0.8));
    let config = TrainConfig { evaluate_budget: Some(0.2), ..config(8.0, ModelKind::Logistic) };
    let (made, text) = desk.trained(&config, &schema(TWO, COLUMNS)).unwrap();
    let evaluation = made.evaluation.clone().unwrap();
    assert!((evaluation.rows - 960.0).abs() < 80.0, "four in five of 1200: {}", evaluation.rows);
    let accuracy = evaluation.metrics["accuracy"].value;
    assert!((0.68..0.82).contains(&accuracy), "{accuracy}");
    assert!(verify(&made, &text, Evidence::default()).unwrap().held());
}

#[test]
fn what_does_not_fit_labels_alone_is_refused_before_a_charge() {
    let labels = schema(TWO, COLUMNS);
    let mut all = labels.clone();
    all.protect = Protect::Row;
    let plan =
        |config: &TrainConfig, schema: &Schema| Plan::new(config, schema, Some(100)).map(drop).unwrap_err().to_string();
    let base = config(1.0, ModelKind::Logistic);
    for (changed, schema, word) in [
        (TrainConfig { adjacency: Adjacency::AddRemove, ..base.clone() }, &labels, "replace-one"),
        (TrainConfig { algorithm: Algorithm::DpGd, ..base.clone() }, &labels, "--algorithm auto"),
        (TrainConfig { algorithm: Algorithm::Additive, ..base.clone() }, &labels, "--algorithm auto"),
        (TrainConfig { algorithm: Algorithm::LabelSums, ..base.clone() }, &all, "--protect label"),
        (TrainConfig { model: Some(ModelKind::svm()), ..base.clone() }, &labels, "--model linear"),
    ] {
        let text = plan(&changed, schema);
        assert!(text.contains(word), "{text}");
    }
    let with = |more: &str| {
        let columns = COLUMNS.replace("\"b\"", "\"bb\"");
        let text = format!(r#"{{"name":"t",{TWO},"target":"y","protect":"label",{more},"columns":{{{columns}}}}}"#);
        Schema::parse(&text, Path::new("s")).unwrap_err().to_string()
    };
    assert!(with(r#""unit":{"column":"b"}"#).contains("persons"));
    assert!(all.clone().with_protect(Protect::Label).is_ok());
    assert!(labels.with_protect(Protect::Row).unwrap_err().to_string().contains("--protect"));
}

#[test]
fn a_statement_about_labels_is_not_one_about_rows() {
    let desk = Desk::of(&rows(ModelKind::Logistic, 500, 1.0));
    let (made, _) = desk.trained(&config(1.0, ModelKind::Logistic), &schema(TWO, COLUMNS)).unwrap();
    let facts = made.statement.facts.clone();
    assert_eq!(facts.unit, PrivacyUnit::Label);
    assert_eq!(facts.unit.change(facts.adjacency), "replacing the label of one row, all features being public");
    assert!(made.statement.limits.iter().any(|limit| limit.contains("protects labels alone")));
    let again = |change: fn(&mut rhograd::statement::Facts)| {
        let mut facts = facts.clone();
        change(&mut facts);
        Statement::new(facts)
    };
    assert!(again(|_| ()).is_ok());
    assert!(again(|facts| facts.unit = PrivacyUnit::Row).is_err());
    assert!(again(|facts| facts.unit = PrivacyUnit::person("who").unwrap()).is_err());
    assert!(again(|facts| facts.adjacency = Adjacency::AddRemove).is_err());
}

/// Nothing varies, labels are all alike, rows are few, budgets are tiny or huge: a finite model comes of it.
#[test]
fn odd_tables_end_in_finite_coefficients() {
    let one = |a: &str, y: &str, count: usize| format!("a,b,c,y\n{}", format!("{a},1,u,{y}\n").repeat(count));
    for (model, target) in [(ModelKind::Logistic, TWO), (ModelKind::Linear, NUMBER), (ModelKind::poisson(), COUNT)] {
        for csv in [one("0", "1", 0), one("0", "1", 1), one("4", "0", 40), one("nan", "?", 40), rows(model, 3, 1.0)] {
            for epsilon in [0.001, 1.0, 1000.0] {
                for clip in [None, Some(0.05), Some(100.0)] {
                    let settings = Settings { clip, l2: Some(0.1), ..Settings::default() };
                    let config = TrainConfig { settings, ..config(epsilon, model) };
                    let (made, _) = Desk::of(&csv).trained(&config, &schema(target, COLUMNS)).unwrap();
                    let effects = effects(&made, 0);
                    assert!(
                        effects.iter().all(|effect| effect.is_finite()),
                        "{model:?} {epsilon} {clip:?} {effects:?}"
                    );
                }
            }
        }
    }
}
