//! A private hold-out: how far a row moves what is measured, how rows are held out, and that the run verifies.

use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::data::{CsvFile, Schema};
use rhograd::error::ErrorKind;
use rhograd::grid::{FULL_SCALE, MomentWeights, ScoreStep, Scoring, Shape};
use rhograd::kernel::{RawRow, Rows, RowsBuilder, score_sum};
use rhograd::ledger::Ledger;
use rhograd::loss::{Glm, Hinge, Objective, Pinball, Poisson};
use rhograd::noise::NoiseSource;
use rhograd::optim::Relations;
use rhograd::privacy::{Adjacency, Charge, DatasetId, Delta, Epsilon, GaussianCharge, NoiseLaw, Scope};
use rhograd::private::{ChargedRun, DescribeQuery, HoldOut, PrivateDataset, Query, charge_run, query};
use rhograd::statement::Statement;
use rhograd::train::{Algorithm, Budget, ModelFile, TrainConfig, load, train};

use crate::support;

use support::Folder;

const LABELS: &str = r#"{"name":"t","task":"classification","target":"y","positive":"yes","negative":"no",
    "columns":{"x":{"type":"numeric","lower":0,"upper":10},"z":{"type":"numeric","lower":-1,"upper":1},
    "c":{"type":"categorical","values":["u","v","w"]}}}"#;

const RELATIONS: [Adjacency; 2] = [Adjacency::AddRemove, Adjacency::ReplaceOne];

fn measures() -> [(Objective, Scoring); 6] {
    [
        (Glm::Logistic.into(), Scoring::Label),
        (Glm::Hinge(Hinge { width: 0.5 }).into(), Scoring::Score),
        (Objective::Softmax { classes: 4 }, Scoring::Class { labels: 4 }),
        (Glm::Squared.into(), Scoring::Number),
        (Glm::Pinball(Pinball { level: 0.9, width: 0.1 }).into(), Scoring::Quantile),
        (Glm::Poisson(Poisson { bound: 3.0, most: 20.0 }).into(), Scoring::Count),
    ]
}

fn random_row(rng: &mut ChaCha8Rng, labels: i16) -> RawRow {
    let extreme = [i16::MIN, -FULL_SCALE, 0, FULL_SCALE];
    let cell = |rng: &mut ChaCha8Rng| if rng.random() { extreme[rng.random_range(0..4)] } else { rng.random() };
    RawRow {
        numeric: vec![cell(rng), cell(rng)],
        codes: vec![rng.random_range(0..5)],
        // A label outside of its range counts like any other.
        label: if rng.random() { rng.random_range(0..labels) } else { rng.random() },
        null: rng.random_range(0..20) == 0,
    }
}

fn build(rows: &[RawRow]) -> Rows {
    let mut builder = RowsBuilder::new(Shape::new(2, &[3]));
    rows.iter().for_each(|row| builder.push(row));
    builder.build()
}

/// The sums by the same kernel that the gate uses.
fn sums(rows: &[RawRow], loss: Objective, step: &ScoreStep<'_>) -> Vec<i128> {
    score_sum(&build(rows), step, |margins| loss.prediction(margins), |margins, label| loss.reported(margins, label))
}

#[test]
fn neighbours_differ_by_at_most_the_stated_sensitivity() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for (loss, scoring) in measures() {
        let mut largest = [0f64; 2];
        for round in 0..400 {
            let wild = [f64::NAN, f64::INFINITY, -1e300, 0.0];
            let weights: Vec<f64> = (0..6 * scoring.outputs())
                .map(
                    |_| if rng.random_range(0..8 + round) == 0 { wild[round % 4] } else { rng.random_range(-4.0..4.0) },
                )
                .collect();
            let weight = rng.random_range(1..1u32 << 24);
            let label_scale = [1.0, 1e-3, f64::NAN][usize::from(round % 5 == 0) * (1 + round % 2)];
            let step = ScoreStep { weights: &weights, label_scale, scoring, weight };
            let rows: Vec<RawRow> = (0..40).map(|_| random_row(&mut rng, 4)).collect();
            let (whole, gone) = (sums(&rows, loss, &step), rng.random_range(0..40));
            let mut removed = rows.clone();
            removed.remove(gone);
            let mut replaced = rows.clone();
            replaced[gone] = random_row(&mut rng, 4);
            for (index, neighbour) in [removed, replaced].iter().enumerate() {
                let other = sums(neighbour, loss, &step);
                let square: i128 = whole.iter().zip(&other).map(|(a, b)| (a - b) * (a - b)).sum();
                let stated = i128::from(query::Scores { scoring, weight }.sensitivity(RELATIONS[index]));
                assert!(square <= stated * stated, "{scoring:?} {}", RELATIONS[index]);
                largest[index] = largest[index].max((square as f64).sqrt() / stated as f64);
            }
        }
        // Rows come near the bound: only being right and losing all at once, which it allows for, does not occur.
        assert!(largest[0] > 0.8 && largest[1] > 0.8, "{scoring:?} {largest:?}");
    }
}

#[test]
fn null_rows_contribute_nothing() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for (loss, scoring) in measures() {
        let weights = vec![0.5; 6 * scoring.outputs()];
        let step = ScoreStep { weights: &weights, label_scale: 1.0, scoring, weight: 1000 };
        let rows: Vec<RawRow> = (0..50).map(|_| RawRow { null: true, ..random_row(&mut rng, 4) }).collect();
        assert!(sums(&rows, loss, &step).iter().all(|&sum| sum == 0));
        assert_eq!(sums(&[], loss, &step).len(), scoring.entries());
    }
}

fn dataset(rows: &[RawRow], adjacency: Adjacency) -> PrivateDataset {
    PrivateDataset::new(build(rows), Scope::of_rows(DatasetId::new("a").unwrap(), adjacency))
}

fn paid(adjacency: Adjacency, count: u64) -> ChargedRun {
    let scope = Scope::of_rows(DatasetId::new("a").unwrap(), adjacency);
    let noise = NoiseLaw::FlooredNormal;
    let event = GaussianCharge { what: "test".into(), sensitivity: 1 << 40, log2_scale: 20, noise, count };
    charge_run(&mut Ledger::in_memory().unwrap(), &scope, &[event], NoiseSource::insecure_from_seed(9)).unwrap()
}

/// Noised moments of both parts; the same noise whenever it is called.
fn parts(rows: &[RawRow], adjacency: Adjacency, how: HoldOut) -> [Vec<i128>; 2] {
    let mut paid = paid(adjacency, 2);
    let (held_out, rest) = paid.hold_out(dataset(rows, adjacency), how).unwrap();
    let weights = MomentWeights { count: 1, features: 1, ..MomentWeights::default() };
    [held_out, rest].map(|part| {
        paid.permit::<GaussianCharge>().unwrap().release(part.moments(&weights).unwrap()).unwrap().values().to_vec()
    })
}

#[test]
fn an_exact_hold_out_has_its_size_and_a_replaced_row_is_in_one_part() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let rows: Vec<RawRow> = (0..97).map(|_| RawRow { null: false, ..random_row(&mut rng, 2) }).collect();
    for held in [0, 1, 20, 97] {
        let paid = paid(Adjacency::ReplaceOne, 1);
        let how = HoldOut::Exactly { rows: held };
        let (held_out, rest) = paid.hold_out(dataset(&rows, Adjacency::ReplaceOne), how).unwrap();
        assert_eq!((held_out.public_len(), rest.public_len()), (Some(held), Some(97 - held)));
    }
    let mut moved = [0; 2];
    for gone in 0..97 {
        let mut other = rows.clone();
        other[gone].numeric[0] ^= 1 << 13;
        for how in [HoldOut::Exactly { rows: 30 }, HoldOut::Coins { exponent: 1 << 62 }] {
            let (a, b) = (parts(&rows, Adjacency::ReplaceOne, how), parts(&other, Adjacency::ReplaceOne, how));
            let differ = [a[0] != b[0], a[1] != b[1]];
            assert!(differ[0] != differ[1], "{how:?}: one part and the other not at all");
            moved[0] += usize::from(differ[0] && how == HoldOut::Exactly { rows: 30 });
            moved[1] += usize::from(differ[0] && how != HoldOut::Exactly { rows: 30 });
        }
    }
    assert_eq!(moved[0], 30, "every position is held out or not, whatever stands there");
    assert!((8..40).contains(&moved[1]), "about 0.22 of them by coins: {moved:?}");
}

/// Row `i` has a number in column `i` alone, so that the sums of a part tell which rows it has.
fn marked(count: usize) -> Vec<RawRow> {
    let numeric = |row: usize| (0..count).map(|column| if column == row { 1 << 10 } else { 0 }).collect();
    (0..count).map(|row| RawRow { numeric: numeric(row), codes: vec![], label: 0, null: false }).collect()
}

/// Which rows of a marked table are held out, read off sums whose noise is far below a mark; and the part of each row.
fn held_out(rows: &[RawRow], how: HoldOut) -> Vec<[bool; 2]> {
    let mut builder = RowsBuilder::new(Shape::new(rows.len(), &[]));
    rows.iter().for_each(|row| builder.push(row));
    let scope = Scope::of_rows(DatasetId::new("a").unwrap(), Adjacency::ReplaceOne);
    let data = PrivateDataset::new(builder.build(), scope.clone());
    let event = GaussianCharge {
        what: "t".into(),
        sensitivity: 1 << 40,
        log2_scale: 0,
        noise: NoiseLaw::FlooredNormal,
        count: 2,
    };
    let source = NoiseSource::insecure_from_seed(9);
    let mut paid = charge_run(&mut Ledger::in_memory().unwrap(), &scope, &[event], source).unwrap();
    let (held, rest) = paid.hold_out(data, how).unwrap();
    let weights = MomentWeights { features: 1, ..MomentWeights::default() };
    let [held, rest] = [held, rest].map(|part| {
        let released = paid.permit::<GaussianCharge>().unwrap().release(part.moments(&weights).unwrap()).unwrap();
        (0..rows.len()).map(|row| released.values()[1 + row] > 1 << 9).collect::<Vec<bool>>()
    });
    held.into_iter().zip(rest).map(|(held, rest)| [held, rest]).collect()
}

/// Whatever is put in the place of a row, be it no record at all, every other row stays in its part.
#[test]
fn no_row_decides_where_another_one_goes() {
    const ROWS: usize = 23;
    let rows = marked(ROWS);
    for how in [HoldOut::Exactly { rows: 7 }, HoldOut::Exactly { rows: 22 }, HoldOut::Coins { exponent: 1 << 62 }] {
        let before = held_out(&rows, how);
        assert!(before.iter().all(|part| part[0] != part[1]), "each row is in one part");
        for place in 0..ROWS {
            let null = RawRow { null: true, ..rows[place].clone() };
            let empty = RawRow { numeric: vec![0; ROWS], ..rows[place].clone() };
            let far = RawRow { numeric: vec![i16::MIN; ROWS], label: i16::MAX, ..rows[place].clone() };
            let twin = rows[(place + 1) % ROWS].clone();
            for (other, changes) in [(null, false), (empty, false), (far, true), (twin, true)] {
                let mut neighbour = rows.clone();
                neighbour[place] = other;
                let after = held_out(&neighbour, how);
                assert!(changes || after[place] == [false; 2], "{how:?}: what is no record counts in a part");
                let moved = (0..ROWS).filter(|&row| row != place && after[row] != before[row]).count();
                assert!(changes || moved == 0, "{how:?}: row {place} moves {moved} others");
                if changes {
                    // A row with other marks hides or shows them in its own part, and nowhere else.
                    let part = usize::from(!before[place][0]);
                    let kept = (0..ROWS).all(|row| row == place || after[row][1 - part] == before[row][1 - part]);
                    assert!(kept, "{how:?}: row {place} shows in the other part");
                }
            }
        }
    }
}

#[test]
fn an_exact_hold_out_is_refused_where_it_would_tell_or_move_other_rows() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let rows: Vec<RawRow> = (0..5).map(|_| random_row(&mut rng, 2)).collect();
    for (adjacency, held) in [(Adjacency::AddRemove, 2), (Adjacency::ReplaceOne, 6)] {
        let split = paid(adjacency, 1).hold_out(dataset(&rows, adjacency), HoldOut::Exactly { rows: held });
        assert!(split.is_err_and(|e| matches!(e.kind(), ErrorKind::Refused { .. })), "{adjacency}");
    }
}

/// Counts, moments, matrices and steps are of the others: the same row in their place changes what is learned, in the place of a row that
/// is held out it does not.
#[test]
fn a_row_that_is_held_out_moves_scores_alone() {
    const ROWS: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let schema = Schema::parse(LABELS, Path::new("s")).unwrap();
    for algorithm in [Algorithm::Whitened, Algorithm::Newton, Algorithm::Additive, Algorithm::Rich, Algorithm::Adaptive]
    {
        let budget = Budget::Epsilon(Epsilon::new(50.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
        let shared = TrainConfig { evaluate_budget: Some(0.2), holdout: 0.5, ..TrainConfig::new(budget) };
        let config = TrainConfig { algorithm, adjacency: Adjacency::ReplaceOne, ..shared };
        let learned = |odd: Option<usize>| {
            let line = |i: usize| match odd == Some(i) {
                true => "9.75,-0.9,w,no\n".into(),
                false => format!("{},{},{},{}\n", i % 7, i as f64 / 10.0, ["u", "v"][i % 2], ["yes", "no"][i / 2 % 2]),
            };
            std::fs::write(&path, format!("x,z,c,y\n{}", (0..ROWS).map(line).collect::<String>())).unwrap();
            let loaded = load(&config, schema.clone(), &CsvFile::open(&path).unwrap(), &|_, _| Ok(())).unwrap();
            let noise = NoiseSource::insecure_from_seed(5);
            let (trained, _) = train(loaded, &mut Ledger::in_memory().unwrap(), noise, &mut |_| Ok(())).unwrap();
            let model: serde_json::Value = serde_json::from_str(&trained.model.to_json()).unwrap();
            ["intercept", "features", "together"].map(|part| model[part].clone())
        };
        let usual = learned(None);
        let unmoved = (0..ROWS).filter(|&row| learned(Some(row)) == usual).count();
        assert_eq!(unmoved, ROWS / 2, "{algorithm:?}");
    }
}

#[test]
fn passes_of_public_size_train_beside_a_hold_out_and_verify() {
    let passes = Algorithm::ALL.into_iter().map(Algorithm::description);
    let passes = passes.filter(|it| it.relations != Relations::Both && !it.needs.labels_alone);
    for name in passes.map(|it| it.name) {
        let folder = Folder::with("fair");
        let train = format!(
            "train fair.csv --algorithm {name} --adjacency replace-one --epsilon 8 --evaluate-budget 0.2 --json"
        );
        let summary = folder.succeed(&train).json();
        let accuracy = summary["evaluation"]["metrics"]["accuracy"]["value"].as_f64().unwrap();
        let truth = folder.succeed("evaluate fair.model.json fair.csv --json").json()["accuracy"].as_f64().unwrap();
        assert!((accuracy - truth).abs() < 0.06, "{name}: {accuracy} {truth}");
        let scope = &folder.json("fair.model.json")["statement"]["scope"];
        // A fifth of 6,366 rows.
        assert!(scope["evaluation_on_private_data"].as_str().unwrap().contains("on 1273 rows held out at random"));
        folder.succeed("verify fair.model.json --ledger fair.ledger.sqlite --log fair.log.jsonl");
        // Another share means another number of rows that train, and another plan.
        folder.edit("fair.model.json", "\"holdout\": 0.2", "\"holdout\": 0.3");
        assert_eq!(folder.run("verify fair.model.json").code, Some(1), "{name}");
    }
}

/// What earlier versions paid for under replace-one: as if one row's vector left and another's entered, at right angles.
#[test]
fn statements_that_paid_for_twice_the_sensitivity_hold_and_no_others_do() {
    let folder = Folder::with("fair");
    folder.succeed("train fair.csv --adjacency replace-one --epsilon 4 --evaluate-budget 0.3 --no-ledger");
    let facts = ModelFile::read(&folder.path("fair.model.json")).unwrap().statement.facts;
    let with = |times: fn(u64) -> u64| {
        let mut facts = facts.clone();
        let score = facts.releases.iter_mut().find(|it| matches!(it.query, Query::Scores(_))).unwrap();
        let Charge::Gaussian(event) = &mut score.charge else { panic!("{score:?}") };
        event.sensitivity = times(event.sensitivity);
        let rho = event.rho();
        (Statement::new(facts), rho)
    };
    let (now, cost) = with(|it| it);
    let (earlier, cost_then) = with(|it| 2 * it);
    assert!(now.is_ok() && earlier.is_ok());
    assert!(cost.upper() * 4.0 == cost_then.upper(), "{} {}", cost.upper(), cost_then.upper());
    for times in [|it| it - 1, |it| it + 1, |it| it / 2, |it| 3 * it] {
        assert!(with(times).0.is_err());
    }
}

#[test]
fn every_new_measure_is_stated_logged_and_verified() {
    let folder = Folder::new();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut csv = String::from("x,y,z\n");
    (0..400).for_each(|_| {
        csv += &format!("{:.3},{},{}\n", rng.random_range(-1.0..1.0), rng.random_range(0..3), rng.random_range(0..9))
    });
    folder.write("t.csv", csv);
    let x = r#""x":{"type":"numeric","lower":-1,"upper":1}"#;
    let schema = |name: &str, rest: &str, columns: &str| {
        folder.write(name, format!(r#"{{"name":"t",{rest},"columns":{{{columns}}}}}"#));
    };
    schema("two.json", r#""task":"classification","target":"y","positive":"1""#, x);
    let labels = format!(r#"{x},"y":{{"type":"categorical","values":["0","1","2"]}}"#);
    schema("three.json", r#""task":"classification","target":"y""#, &labels);
    schema("number.json", r#""task":"regression","target":"z","target_lower":0,"target_upper":9"#, x);
    for (schema, flags, metrics) in [
        ("two", "svm", vec!["accuracy", "auc", "hinge_loss"]),
        ("three", "multinomial", vec!["accuracy", "log_loss"]),
        ("number", "poisson", vec!["deviance", "mae"]),
        ("number", "poisson --no-standardise", vec!["deviance", "mae"]),
        ("number", "quantile --quantile 0.9", vec!["coverage", "mae", "pinball"]),
        ("number", "huber --no-standardise", vec!["mae", "rmse"]),
        ("number", "huber", vec!["mae", "r2", "rmse"]),
    ] {
        for adjacency in ["add-remove", "replace-one"] {
            let train = format!(
                "train t.csv --overwrite --schema {schema}.json --model {flags} --epsilon 4 --evaluate-budget 0.5 --adjacency {adjacency}"
            );
            let page = folder.succeed(&train).stdout;
            assert!(page.contains("rows cut at") && page.contains(metrics[0]), "{page}");
            let evaluation = folder.json("t.model.json")["evaluation"].clone();
            let names: Vec<&String> = evaluation["metrics"].as_object().unwrap().keys().collect();
            assert_eq!(names, metrics, "{flags}");
            folder.succeed("verify t.model.json --ledger t.ledger.sqlite --log t.log.jsonl");
            // One ledger counts one relation.
            folder.remove("t.ledger.sqlite");
            folder.remove("t.ledger.sqlite.note");
        }
    }
}
