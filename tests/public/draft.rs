//! Schemas drafted privately, and the releases that they are made of.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use rhograd::accounting::stable::{least_threshold, lifted};
use rhograd::data::{Column, CsvFile, LedgerPlace, Missing, Schema, Task};
use rhograd::error::Fallible;
use rhograd::ledger::{Cap, Ledger, Record};
use rhograd::noise::NoiseSource;
use rhograd::optim::{KindsPlan, RangesPlan, VocabularyPlan};
use rhograd::privacy::{
    Adjacency, Charge, DatasetId, Delta, Epsilon, ExponentialCharge, GaussianCharge, NoiseLaw, PrivacyUnit, Rho, Scope,
    ThresholdCharge, total_delta,
};
use rhograd::private::{ChargedRun, Grid, GridPrice, PrivateCells, Query, Release, charge_run};
use rhograd::schema_draft::{DraftRequest, Drafted, draft_privately};
use rhograd::train::{Budget, Checkpoint, TrainConfig, load, train, train_from};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use tempfile::NamedTempFile;

/// One row counts for 16 grid steps, the deviation of the noise.
const ROW: u64 = 16;
const LOG2_SCALE: u32 = 4;
const TRIALS: u64 = 20_000;

fn scope(adjacency: Adjacency) -> Scope {
    Scope::of_rows(DatasetId::new("trial").unwrap(), adjacency)
}

fn file(text: &str) -> (NamedTempFile, CsvFile) {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let opened = CsvFile::open(file.path()).unwrap();
    (file, opened)
}

fn cells(text: &str, adjacency: Adjacency) -> (NamedTempFile, PrivateCells) {
    let (kept, file) = file(text);
    (kept, PrivateCells::new(file, scope(adjacency)))
}

fn stable(delta: f64, sensitivity: u64, count: u64) -> ThresholdCharge {
    let threshold = least_threshold(ROW, LOG2_SCALE, Delta::new(delta).unwrap()).unwrap();
    let noise = NoiseLaw::FlooredNormal;
    let noised = GaussianCharge { what: "trial".into(), sensitivity, log2_scale: LOG2_SCALE, noise, count };
    ThresholdCharge { noised, row: ROW, threshold, delta }
}

fn paid(charge: Charge, adjacency: Adjacency, seed: u64) -> ChargedRun {
    let noise = NoiseSource::insecure_from_seed(seed);
    charge_run(&mut Ledger::in_memory().unwrap(), &scope(adjacency), &[charge], noise).unwrap()
}

/// Whether a frequency is that of a probability, and whether it would be told from a fifth more of it.
fn agrees(times: u64, probability: f64) {
    let deviation = (TRIALS as f64 * probability * (1.0 - probability)).sqrt();
    let off = (times as f64 - TRIALS as f64 * probability).abs();
    assert!(off < 5.0 * deviation, "{times} of {TRIALS}, expected {probability}");
    assert!(0.25 * TRIALS as f64 * probability > 5.0 * deviation, "too few trials to tell");
}

#[test]
fn a_value_of_one_row_is_opened_with_the_probability_that_is_paid_for() {
    let delta = 0.05;
    let common = "c\n".to_string() + &"often\n".repeat(60);
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let sensitivity = if adjacency == Adjacency::AddRemove { ROW } else { 23 };
        let event = stable(delta, sensitivity, TRIALS);
        let mut opened: BTreeMap<String, u64> = BTreeMap::new();
        let (_kept, with) = cells(&format!("{common}once\n"), adjacency);
        let mut paid = paid(event.clone().into(), adjacency, 7);
        for _ in 0..TRIALS {
            let vocabulary = with.vocabularies(&[0], ROW).unwrap().pop().unwrap();
            for (value, _) in paid.permit::<ThresholdCharge>().unwrap().open(vocabulary).unwrap() {
                *opened.entry(value).or_default() += 1;
            }
        }
        assert_eq!(opened["often"], TRIALS);
        let exact = lifted(ROW, event.threshold, LOG2_SCALE);
        assert!(exact <= delta && exact > 0.8 * delta);
        agrees(opened["once"], exact);
    }
}

/// However often a person repeats a value, and however many they bring.
#[test]
fn a_value_of_one_person_is_opened_with_the_probability_that_is_paid_for() {
    let delta = 0.05;
    let often: String = (0..60).map(|i| format!("often,p{i}\nonce,\n")).collect();
    let repeated = "once,x\n".repeat(100);
    let different: String = (0..100).map(|i| format!("d{i},x\n")).collect();
    for (own, adjacency) in [(repeated, Adjacency::AddRemove), (different, Adjacency::ReplaceOne)] {
        let sensitivity = if adjacency == Adjacency::AddRemove { ROW } else { 23 };
        let event = stable(delta, sensitivity, TRIALS);
        let scope = Scope { unit: PrivacyUnit::person("who").unwrap(), ..scope(adjacency) };
        let (_kept, file) = file(&format!("c,who\n{own}{often}"));
        let with = PrivateCells::by_unit(file, scope.clone()).unwrap();
        let (mut ledger, noise) = (Ledger::in_memory().unwrap(), NoiseSource::insecure_from_seed(7));
        let mut paid = charge_run(&mut ledger, &scope, &[Charge::from(event.clone())], noise).unwrap();
        let (mut secret, mut common) = (0, 0);
        for _ in 0..TRIALS {
            let vocabulary = with.vocabularies(&[0], ROW).unwrap().pop().unwrap();
            let opened = paid.permit::<ThresholdCharge>().unwrap().open(vocabulary).unwrap();
            common += u64::from(opened.iter().any(|(value, _)| value == "often"));
            secret += u64::from(opened.iter().any(|(value, _)| value != "often"));
        }
        assert_eq!(common, TRIALS);
        agrees(secret, lifted(ROW, event.threshold, LOG2_SCALE));
    }
    // A permit of rows opens nothing of persons, nor the other way round.
    let add = Adjacency::AddRemove;
    let (_kept, file) = file("c,who\nu,p\n");
    let persons =
        PrivateCells::by_unit(file, Scope { unit: PrivacyUnit::person("who").unwrap(), ..scope(add) }).unwrap();
    let permit = paid(stable(0.1, ROW, 1).into(), add, 1).permit::<ThresholdCharge>().unwrap();
    assert!(permit.open(persons.vocabularies(&[0], ROW).unwrap().pop().unwrap()).is_err());
}

#[test]
fn an_unstable_mode_stays_secret_and_a_stable_one_does_not() {
    let delta = 0.05;
    let event = stable(delta, ROW, TRIALS);
    for (text, opens) in [("c\nu\nv\nu\n", lifted(ROW, event.threshold, LOG2_SCALE)), ("c\nu\nv\nu\nv\n", 0.0)] {
        let (_kept, table) = cells(text, Adjacency::AddRemove);
        let mut paid = paid(event.clone().into(), Adjacency::AddRemove, 3);
        let mut opened = 0;
        for _ in 0..TRIALS {
            let tested = paid.permit::<ThresholdCharge>().unwrap().test(table.mode(0, ROW).unwrap()).unwrap();
            opened += u64::from(tested.0.is_some());
        }
        if opens > 0.0 {
            agrees(opened, opens);
        }
        assert!(opened as f64 <= delta * TRIALS as f64 * 1.2, "a gap of none or one opens {opened} times");
    }
    let far = "c\n".to_string() + &"u\n".repeat(40) + "v\n";
    for (adjacency, seed) in [(Adjacency::AddRemove, 1), (Adjacency::ReplaceOne, 2)] {
        let (_kept, table) = cells(&far, adjacency);
        let mut paid = paid(stable(1e-6, ROW, 1).into(), adjacency, seed);
        let (mode, distance) = paid.permit::<ThresholdCharge>().unwrap().test(table.mode(0, ROW).unwrap()).unwrap();
        assert_eq!(mode, Some(Some("u".into())));
        let gap = if adjacency == Adjacency::AddRemove { 39 } else { 20 };
        assert!((distance - 16 * gap).abs() < 16 * 6, "{distance}");
    }
}

/// The scores as their definition says.
fn naive_score(numbers: &[f64], (lower, upper): (f64, f64), allowed: i64) -> i64 {
    (numbers.iter().filter(|&&x| x < lower || x > upper).count() as i64 - allowed).max(0)
}

#[test]
fn intervals_are_chosen_with_the_stated_probabilities() {
    let numbers: Vec<f64> = (0..24).map(|i| f64::from(i * i) / 9.0).collect();
    let text = "x\n".to_string() + &numbers.iter().map(|x| format!("{x}\n")).collect::<String>();
    let (_kept, table) = cells(&text, Adjacency::AddRemove);
    let grid = Grid::within(0.0, 64.0).unwrap();
    let price = GridPrice { allowed: 2, halving: 0.0 };
    let candidates = grid.candidates();
    let what = "interval".into();
    let event = ExponentialCharge { what, sensitivity: 8, log2_scale: 4, candidates, count: TRIALS };
    let mut paid = paid(Charge::Exponential(event), Adjacency::AddRemove, 11);
    let mut seen: BTreeMap<i64, f64> = BTreeMap::new();
    for _ in 0..TRIALS {
        let scores = table.intervals(&[(0, grid.clone(), price)], 8).unwrap().pop().unwrap();
        let chosen = paid.permit::<ExponentialCharge>().unwrap().choose(scores).unwrap().values()[0] as usize;
        *seen.entry(naive_score(&numbers, grid.interval(chosen).unwrap(), 2)).or_default() += 1.0;
    }
    // A row outside counts for 8 steps of 2^4; half of it is another law.
    for (each, holds) in [(0.5, true), (0.25, false)] {
        let mut law: BTreeMap<i64, f64> = BTreeMap::new();
        for candidate in 0..candidates as usize {
            let score = naive_score(&numbers, grid.interval(candidate).unwrap(), 2);
            *law.entry(score).or_default() += (-each * score as f64).exp();
        }
        let (statistic, limit) = chi_square(&seen, &law);
        assert_eq!(statistic < limit, holds, "{statistic} of {limit}");
        assert!(holds || statistic > 10.0 * limit, "{statistic} of {limit}");
    }
}

/// Pearson's statistic and its limit at one in a million, outcomes that are hardly expected taken together.
fn chi_square(seen: &BTreeMap<i64, f64>, law: &BTreeMap<i64, f64>) -> (f64, f64) {
    let (trials, total): (f64, f64) = (seen.values().sum(), law.values().sum());
    let mut bins = vec![(0.0, 0.0)];
    for (outcome, weight) in law {
        let (observed, expected) = bins.last_mut().unwrap();
        *observed += seen.get(outcome).copied().unwrap_or(0.0);
        *expected += trials * weight / total;
        if *expected > 10.0 {
            bins.push((0.0, 0.0));
        }
    }
    let rest = bins.pop().unwrap();
    let last = bins.last_mut().unwrap();
    *last = (last.0 + rest.0, last.1 + rest.1);
    assert!(bins.len() > 6, "{bins:?}");
    let statistic = bins.iter().map(|(observed, expected)| (observed - expected).powi(2) / expected).sum();
    (statistic, ChiSquared::new(bins.len() as f64 - 1.0).unwrap().inverse_cdf(1.0 - 1e-6))
}

#[test]
fn a_permit_opens_what_it_was_paid_for_and_nothing_else() {
    let add = Adjacency::AddRemove;
    let (_kept, table) = cells("c\nu\n", add);
    let (_other, elsewhere) = cells("c\nu\n", Adjacency::ReplaceOne);
    let vocabulary = |cells: &PrivateCells, weight| cells.vocabularies(&[0], weight).unwrap().pop().unwrap();
    let permit = || paid(stable(0.1, ROW, 1).into(), add, 1).permit::<ThresholdCharge>().unwrap();
    assert!(permit().open(vocabulary(&table, ROW)).is_ok());
    assert!(permit().open(vocabulary(&table, ROW + 1)).is_err(), "a row counts for more");
    assert!(permit().open(vocabulary(&elsewhere, ROW)).is_err(), "another relation");
    assert!(permit().test(table.mode(0, ROW + 1).unwrap()).is_err());
    assert!(permit().test(elsewhere.mode(0, ROW).unwrap()).is_err());
    let replace = paid(stable(0.1, ROW, 1).into(), Adjacency::ReplaceOne, 1).permit::<ThresholdCharge>().unwrap();
    assert!(replace.open(vocabulary(&elsewhere, ROW)).is_err(), "a row in the place of another moves two counts");
    assert!(paid(stable(0.1, ROW, 1).into(), add, 1).permit::<GaussianCharge>().is_err());
    assert!(paid(stable(0.1, ROW, 1).into(), add, 1).permit::<ExponentialCharge>().is_err());
    let gaussian = GaussianCharge { count: 1, ..stable(0.1, ROW, 1).noised };
    assert!(paid(gaussian.into(), add, 1).permit::<ThresholdCharge>().is_err());
}

#[test]
fn values_that_answer_another_query_than_is_recorded_stay_closed() {
    let add = Adjacency::AddRemove;
    let (_kept, table) = cells(&("a,b\n".to_string() + &"1,x\n".repeat(400)), add);
    let planned = VocabularyPlan::new(1, add, 0.5, 1e-6).unwrap().planned();
    let Query::Vocabulary(asked) = planned.query.clone() else { panic!("{planned:?}") };
    let opened = |weight: u64| {
        let (mut ledger, noise) = (Ledger::in_memory().unwrap(), NoiseSource::insecure_from_seed(1));
        let mut run = charge_run(&mut ledger, &scope(add), std::slice::from_ref(&planned.charge), noise).unwrap();
        let mut nobody = |_: &Release<'_>| Ok(());
        run.logged(&mut nobody).open(&planned, 1.0, table.vocabularies(&[1], weight).unwrap().remove(0)).map(drop)
    };
    opened(asked.weight).unwrap();
    // A row that counts for less moves less, and is another answer all the same.
    assert!(opened(asked.weight - 1).unwrap_err().to_string().contains("answers another query"));
}

#[test]
fn a_draft_releases_what_was_planned_and_every_release_is_heard() {
    let add = Adjacency::AddRemove;
    let (_kept, table) = cells(&("a,b\n".to_string() + &"1,x\n".repeat(400)), add);
    let kinds = KindsPlan::new(vec![0, 1], true, add, 0.5).unwrap();
    let values = VocabularyPlan::new(1, add, 0.5, 1e-6).unwrap();
    let grid = Grid::within(0.0, 64.0).unwrap();
    let ranges = RangesPlan::new(1, grid.candidates(), add, 0.5).unwrap();
    let plan: Vec<Charge> = [kinds.planned(), ranges.planned(), values.planned()].map(|planned| planned.charge).into();
    let noise = NoiseSource::insecure_from_seed(1);
    let mut run = charge_run(&mut Ledger::in_memory().unwrap(), &scope(add), &plan, noise).unwrap();
    let mut heard = Vec::new();
    let mut listener = |release: &Release<'_>| {
        heard.push((
            release.released.charge().what().to_owned(),
            release.grid_step * release.released.values()[0] as f64,
        ));
        Ok(())
    };
    let mut logged = run.logged(&mut listener);
    let early = values.run(&table, &[1], &mut logged).unwrap_err().to_string();
    assert!(early.contains("paid for as \"kinds of the cells of columns\""), "{early}");
    let seen = kinds.run(&table, &mut logged).unwrap();
    ranges.run(&table, &[(0, grid)], 400.0, &mut logged).unwrap();
    assert_eq!(values.run(&table, &[1], &mut logged).unwrap()[0][0].value, "x");
    let records = logged.finish().unwrap();
    assert_eq!(records.into_iter().map(|record| record.planned.charge).collect::<Vec<_>>(), plan);
    let whats: Vec<&str> = heard.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(whats, ["kinds of the cells of columns", "interval of a column", "frequent values of a column"]);
    // What is heard is in rows: there are 400, which all hold the value.
    assert!((heard[0].1 - 400.0).abs() < 50.0 && Some(heard[0].1) == seen.rows && (heard[2].1 - 400.0).abs() < 50.0);
}

#[test]
fn a_ledger_refuses_a_threshold_that_is_lower_than_its_delta_says() {
    let honest = stable(1e-6, ROW, 3);
    let mut ledger = Ledger::in_memory().unwrap();
    let mut reserve =
        |event: ThresholdCharge| ledger.reserve(&scope(Adjacency::AddRemove), &[Charge::Threshold(event)], true);
    for lie in [
        ThresholdCharge { delta: 1e-7, ..honest.clone() },
        ThresholdCharge { threshold: honest.threshold - 2, ..honest.clone() },
        ThresholdCharge { row: honest.row + 4, ..honest.clone() },
        ThresholdCharge { delta: 0.0, ..honest.clone() },
        ThresholdCharge { delta: f64::NAN, ..honest.clone() },
        ThresholdCharge { threshold: 0, ..honest.clone() },
        ThresholdCharge {
            noised: GaussianCharge { noise: NoiseLaw::DiscreteGaussian, ..honest.noised.clone() },
            ..honest.clone()
        },
    ] {
        assert!(reserve(lie.clone()).is_err(), "{lie:?}");
    }
    reserve(honest.clone()).unwrap();
    let spent = ledger.summary(&scope(Adjacency::AddRemove).dataset).unwrap();
    assert!(spent.spent_delta >= 3e-6 && spent.spent_delta < 3.1e-6);
    assert_eq!(spent.spent, honest.noised.rho());
}

/// A threshold is set for one row of a stated weight: heavier rows would reach it more often, however much noise is paid for.
#[test]
fn rows_that_weigh_more_than_the_threshold_is_for_are_refused() {
    let add = Adjacency::AddRemove;
    for (weight, fits) in [(ROW, true), (ROW / 2, true), (ROW + 1, false), (4 * ROW, false)] {
        let (_kept, cells) = cells("a,b\n1,x\n2,x\n", add);
        let event = stable(1e-6, 8 * ROW, 1);
        let vocabulary = cells.vocabularies(&[1], weight).unwrap().remove(0);
        assert_eq!(
            paid(event.clone().into(), add, 1).permit::<ThresholdCharge>().unwrap().open(vocabulary).is_ok(),
            fits
        );
        let mode = cells.mode(1, weight).unwrap();
        assert_eq!(
            paid(event.into(), add, 1).permit::<ThresholdCharge>().unwrap().test(mode).is_ok(),
            fits,
            "{weight}"
        );
    }
}

/// Each run may fail with its own probability, and so may each charge of a run: together with at most the sum.
#[test]
fn deltas_of_charges_and_of_runs_add_up() {
    let mut ledger = Ledger::in_memory().unwrap();
    let scope = scope(Adjacency::AddRemove);
    let charges = [1e-6, 3e-6, 2e-6].map(|delta| Charge::Threshold(stable(delta, ROW, 1)));
    let close = |found: f64, truth: f64| (found / truth - 1.0).abs() < 1e-12;
    assert!(close(total_delta(&charges), 6e-6), "{}", total_delta(&charges));
    for (run, so_far) in [(&charges[..], 6e-6), (&charges[1..], 11e-6), (&charges[..1], 12e-6)] {
        ledger.reserve(&scope, run, true).unwrap();
        let spent = ledger.summary(&scope.dataset).unwrap().spent_delta;
        assert!(close(spent, so_far), "{spent} of {so_far}");
    }
}

fn request(budget: Budget) -> DraftRequest {
    DraftRequest {
        name: "trial".into(),
        adjacency: Adjacency::AddRemove,
        unit: None,
        budget,
        target: None,
        task: None,
        numeric: Vec::new(),
        ranges: Vec::new(),
        categorical: Vec::new(),
        ignore: Vec::new(),
        header: false,
        rows: false,
        accept_large_delta: false,
    }
}

fn epsilon(epsilon: f64) -> Budget {
    Budget::Epsilon(Epsilon::new(epsilon).unwrap(), Some(Delta::new(1e-6).unwrap()))
}

/// Rows with numbers of several sizes, values, names, an empty column, and a target.
fn table(rows: u64, target: impl Fn(u64) -> String) -> String {
    let mut text = "small,large,zeros,value,name,empty,y\n".to_string();
    for i in 0..rows {
        let (a, b) = (i * 7919 % 1009, i * 104_729 % 2003);
        let zeros = if i % 20 == 0 { b } else { 0 };
        let value = ["u", "v", "w"][(i * 31 % 7 % 3) as usize];
        text.push_str(&format!("{},{},{zeros},{value},n{i},,{}\n", a as f64 / 1009.0, 1000 * b, target(i)));
    }
    text
}

/// With secret noise: only such a draft states a cost.
fn drafted_secretly(text: &str, request: &DraftRequest, ledger: &mut Ledger) -> Fallible<Drafted> {
    let (_kept, file) = file(text);
    draft_privately(file, request, ledger, &mut NoiseSource::from_os)
}

fn drafted(text: &str, request: &DraftRequest, ledger: &mut Ledger) -> Fallible<Drafted> {
    let mut seed = 40;
    let (_kept, file) = file(text);
    draft_privately(file, request, ledger, &mut || {
        seed += 1;
        Ok(NoiseSource::insecure_from_seed(seed))
    })
}

fn bounds(schema: &Schema, name: &str) -> (f64, f64) {
    match schema.columns.0.iter().find(|(column, _)| column == name) {
        Some((_, Column::Numeric { lower, upper, .. })) => (*lower, *upper),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_draft_says_what_the_columns_are() {
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let text = table(20_000, |i| if i % 3 == 0 { "yes" } else { "no" }.into());
        let asked = DraftRequest { adjacency, ..request(epsilon(2.0)) };
        let Drafted { schema, notes, runs, .. } = drafted(&text, &asked, &mut Ledger::in_memory().unwrap()).unwrap();
        assert_eq!(runs.len(), 2);
        assert_eq!((schema.task, schema.target.as_str()), (Task::Classification, "y"));
        assert_eq!((schema.positive.as_deref(), schema.negative.as_deref()), (Some("yes"), Some("no")));
        assert!(schema.draft && schema.released.is_none(), "seeded noise protects nobody");
        assert_eq!(schema.ignore, ["name", "empty"]);
        assert!(notes.iter().any(|note| note.contains("\"name\"")), "{notes:?}");
        let (lower, upper) = bounds(&schema, "small");
        assert!(lower <= 0.01 && lower > -0.5 && (0.97..2.0).contains(&upper), "{lower} {upper}");
        let (lower, upper) = bounds(&schema, "large");
        assert!(lower <= 20_000.0 && lower > -5e5 && (1.95e6..4e6).contains(&upper), "{lower} {upper}");
        let (lower, upper) = bounds(&schema, "zeros");
        assert!(lower <= 0.0 && (1_500.0..8000.0).contains(&upper), "one in twenty is no zero: {lower} {upper}");
        let (_, value) = schema.columns.0.iter().find(|(name, _)| name == "value").unwrap();
        let Column::Categorical { values, other, .. } = value else { panic!("{value:?}") };
        assert_eq!((values.len(), other), (3, &None));
    }
}

/// Of a draft's columns: whether missing numbers have a coefficient, and whether missing texts are a value.
#[test]
fn a_draft_tells_missing_cells_where_there_are_enough_of_them() {
    let line = |i: u64, gap: bool| {
        let (x, c) = if gap { ("NA", "") } else { ("", ["u", "v"][(i % 2) as usize]) };
        let x = if gap { x.to_owned() } else { (i % 90).to_string() };
        format!("{x},{},{c},{}\n", i % 50, ["yes", "no", "no"][(i % 3) as usize])
    };
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        for (every, told) in [(5, true), (400, false)] {
            let rows: String = (0..20_000).map(|i| line(i, i % every == 0)).collect();
            let asked = DraftRequest { adjacency, ..request(epsilon(2.0)) };
            let text = format!("x,z,c,y\n{rows}");
            let schema = drafted(&text, &asked, &mut Ledger::in_memory().unwrap()).unwrap().schema;
            let of = |name: &str| schema.columns.0.iter().find(|(column, _)| column == name).unwrap().1.clone();
            let indicated = |column: Column| matches!(column, Column::Numeric { missing: Missing::Indicator, .. });
            assert_eq!((indicated(of("x")), indicated(of("z"))), (told, false), "{schema:?}");
            let Column::Categorical { values, other, .. } = of("c") else { panic!("{schema:?}") };
            assert_eq!((values.contains(&String::new()), other), (told, None), "{values:?}");
        }
    }
}

#[test]
fn targets_in_numbers_are_labels_or_amounts() {
    let asked = request(epsilon(2.0));
    let labels = drafted(&table(20_000, |i| (i % 4 / 3).to_string()), &asked, &mut Ledger::in_memory().unwrap());
    let labels = labels.unwrap().schema;
    assert_eq!((labels.positive.as_deref(), labels.negative.as_deref()), (Some("1"), Some("0")));
    let classes = drafted(&table(20_000, |i| format!("k{}", i % 3)), &asked, &mut Ledger::in_memory().unwrap());
    assert_eq!(classes.unwrap().schema.classes().unwrap().len(), 3);
    let amounts = table(20_000, |i| (100 + i % 900).to_string());
    let amounts = drafted(&amounts, &asked, &mut Ledger::in_memory().unwrap()).unwrap().schema;
    assert_eq!(amounts.task, Task::Regression);
    let (lower, upper) = amounts.target_bounds().unwrap();
    assert!(lower <= 110.0 && lower > -300.0 && (985.0..2000.0).contains(&upper), "{lower} {upper}");
    let nothing = drafted(&table(20_000, |i| format!("n{i}")), &asked, &mut Ledger::in_memory().unwrap());
    assert!(nothing.err().unwrap().to_string().contains("label"));
}

#[test]
fn a_draft_is_charged_what_it_says_and_no_more_than_the_budget() {
    let text = table(2000, |i| (i % 2).to_string());
    let folder = tempfile::tempdir().unwrap();
    let by_rho = Budget::Rho(Rho::from_f64(0.02).unwrap(), None);
    for (index, budget) in [epsilon(0.5), epsilon(3.0), by_rho].into_iter().enumerate() {
        for declared in [false, true] {
            let mut asked = request(budget.clone());
            if declared {
                asked.numeric = vec!["small".into(), "zeros".into()];
                asked.ranges = vec![("large".into(), 0.0, 1e7)];
                asked.categorical = vec!["value".into()];
                asked.ignore = vec!["name".into(), "empty".into()];
                asked.task = Some(Task::Classification);
                asked.rows = true;
            }
            let mut ledger = Ledger::open_or_create(folder.path().join(format!("{index}{declared}"))).unwrap();
            let Ok(Drafted { schema, runs, .. }) = drafted_secretly(&text, &asked, &mut ledger) else {
                panic!("{index} {declared}")
            };
            let release = schema.released.clone().unwrap();
            let (rho, fails) = release.cost().unwrap();
            let account = ledger.summary(&runs[0].reservation().scope().dataset).unwrap();
            assert!(account.spent.upper() <= rho && account.spent.upper() > 0.99 * rho);
            assert!(account.spent_delta <= fails && fails <= 1e-7);
            match budget {
                Budget::Rho(ref most, _) => {
                    assert!(account.spent <= *most && account.spent.upper() > 0.99 * most.upper())
                }
                Budget::Epsilon(most, _) => {
                    let epsilon: f64 = release.epsilon.parse().unwrap();
                    assert!(epsilon <= most.value() && epsilon > 0.99 * most.value(), "{epsilon}");
                }
            }
            assert_eq!(release.ledger.len(), 2);
            for place in &release.ledger {
                let entry = ledger.entry(place.sequence).unwrap().unwrap();
                assert!(matches!(entry.record, Record::Reserve { .. }) && entry.hash == place.hash);
            }
            assert_eq!(schema.rows.is_some(), declared);
            if declared {
                let (lower, upper) = bounds(&schema, "large");
                assert!((0.0..=1e7).contains(&lower) && (0.0..=1e7).contains(&upper), "never beyond what is public");
            }
            let again = Schema::parse(&serde_json::to_string(&schema).unwrap(), Path::new("s")).unwrap();
            assert_eq!(again, schema);
        }
    }
}

#[test]
fn a_model_is_charged_to_the_account_that_holds_its_schema() {
    let text = table(2000, |i| (i % 2).to_string());
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open_or_create(folder.path().join("one")).unwrap();
    let schema = drafted_secretly(&text, &request(epsilon(3.0)), &mut ledger).unwrap().schema;
    let named = |name: &str| Schema { name: name.into(), ..schema.clone() };
    let (_kept, file) = file(&text);
    let loaded = |schema| load(&TrainConfig::new(epsilon(1.0)), schema, &file, &|_, _| Ok(())).unwrap();
    let noise = || NoiseSource::insecure_from_seed(1);
    let spent = |ledger: &mut Ledger| ledger.summaries().unwrap().iter().map(|account| account.runs).sum::<u64>();
    // Another name for the same rows would hide what they have cost.
    let refused = train(loaded(named("another")), &mut ledger, noise(), &mut |_| Ok(())).err().unwrap();
    assert!(refused.to_string().contains("one account"), "{refused}");
    let checkpoint = Checkpoint::open(&folder.path().join("steps")).unwrap();
    let refused = train_from(checkpoint, "", loaded(named("another")), &mut ledger, noise(), &mut |_| Ok(()));
    assert!(refused.err().unwrap().to_string().contains("one account"));
    assert_eq!(spent(&mut ledger), 2, "the draft's own");
    assert!(loaded(schema.clone()).counts_schema(&mut ledger).unwrap());
    train(loaded(schema.clone()), &mut ledger, noise(), &mut |_| Ok(())).unwrap();
    assert_eq!(spent(&mut ledger), 3);
    // Places that the ledger does not have, or that hold a charge for seeded noise, hide nothing and count for nothing.
    let place = |sequence: u64, hash: String| LedgerPlace { sequence, hash };
    let mut entries = (1..).map_while(|sequence| ledger.entry(sequence).unwrap());
    let seeded = entries.find(|entry| matches!(entry.record, Record::Reserve { private: false, .. })).unwrap();
    for first in [place(1, "0".repeat(64)), place(seeded.sequence, seeded.hash)] {
        let mut odd = schema.clone();
        odd.released.as_mut().unwrap().ledger.insert(0, first);
        assert!(!loaded(odd.clone()).counts_schema(&mut ledger).unwrap());
        odd.name = "another".into();
        assert!(loaded(odd).counts_schema(&mut ledger).is_err());
    }
    // A ledger that knows nothing of the draft cannot tell.
    let mut elsewhere = Ledger::in_memory().unwrap();
    assert!(!loaded(schema.clone()).counts_schema(&mut elsewhere).unwrap());
    train(loaded(named("another")), &mut elsewhere, noise(), &mut |_| Ok(())).unwrap();
}

/// The same lines, each person's 1 to 9 of them, in no order; the first column says whose they are.
fn of_persons(text: &str) -> String {
    let whose = |i: usize| (i * i + i / 7) % 701;
    let line = |(i, line): (usize, &str)| match i {
        0 => format!("who,{line}\n"),
        _ => format!("p{},{line}\n", whose(i)),
    };
    text.lines().enumerate().map(line).collect()
}

#[test]
fn a_draft_for_persons_is_charged_to_persons_and_trains_models_for_them_alone() {
    let text = of_persons(&table(4000, |i| (i % 2).to_string()));
    let folder = tempfile::tempdir().unwrap();
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let base = DraftRequest { adjacency, rows: true, ..request(epsilon(3.0)) };
        let asked = DraftRequest { unit: Some("who".into()), ..base.clone() };
        let mut ledger = Ledger::open_or_create(folder.path().join(adjacency.to_string())).unwrap();
        let Drafted { schema, runs, notes, .. } = drafted_secretly(&text, &asked, &mut ledger).unwrap();
        let unit = PrivacyUnit::person("who").unwrap();
        assert!(runs.iter().all(|run| run.reservation().scope().unit == unit));
        let account = ledger.summary(&runs[0].reservation().scope().dataset).unwrap();
        let release = schema.released.clone().unwrap();
        assert!(account.spent.upper() <= release.cost().unwrap().0 && release.unit == unit);
        assert!(release.statement.contains("all rows of one person"), "{}", release.statement);
        assert!(notes.iter().any(|note| note.contains("persons")), "{notes:?}");
        let persons = schema.unit.as_ref().unwrap().persons.unwrap();
        let known = of_persons(&table(4000, |_| String::new()));
        let known: std::collections::BTreeSet<&str> =
            known.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
        assert!(persons.abs_diff(known.len() as u64) < 40, "{persons} of {}", known.len());
        assert!(schema.rows.is_none() && !schema.ignore.contains(&"who".to_owned()));
        assert!(schema.columns.0.iter().all(|(name, _)| name != "who"));
        let (lower, upper) = bounds(&schema, "small");
        assert!(lower < 0.2 && upper > 0.8, "{lower} {upper}");
        let again = Schema::parse(&serde_json::to_string(&schema).unwrap(), Path::new("s")).unwrap();
        assert_eq!(again, schema);
        // It trains, on the same account; without its unit, or with another, it is refused.
        let (_kept, file) = file(&text);
        let config = TrainConfig { adjacency, ..TrainConfig::new(epsilon(1.0)) };
        let loaded = |schema| load(&config, schema, &file, &|_, _| Ok(()));
        let (trained, _) =
            train(loaded(schema.clone()).unwrap(), &mut ledger, NoiseSource::from_os().unwrap(), &mut |_| Ok(()))
                .unwrap();
        let limits = trained.model.statement.limits.join(" ");
        assert!(limits.contains("both together are"), "{limits}");
        let without = Schema { unit: None, ..schema.clone() };
        assert!(Schema::parse(&serde_json::to_string(&without).unwrap(), Path::new("s")).is_err());
        // A draft for rows has another account, and no place on this one.
        let refused = drafted_secretly(&text, &base, &mut ledger).err().unwrap().to_string();
        assert!(refused.contains("unit") || refused.contains("person"), "{refused}");
    }
}

#[test]
fn contradictions_are_refused_before_anything_is_charged() {
    let text = table(100, |_| "1".into());
    let base = || request(epsilon(1.0));
    let name = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let cases = [
        (DraftRequest { target: Some("z".into()), ..base() }, "--target"),
        (DraftRequest { numeric: name(&["z"]), ..base() }, "--numeric"),
        (DraftRequest { numeric: name(&["small"]), categorical: name(&["small"]), ..base() }, "--categorical"),
        (DraftRequest { ranges: vec![("small".into(), 2.0, 1.0)], ..base() }, "--range"),
        (DraftRequest { ranges: vec![("small".into(), 0.0, f64::INFINITY)], ..base() }, "--range"),
        (DraftRequest { ignore: name(&["y"]), ..base() }, "--ignore"),
        (DraftRequest { ignore: name(&["small", "large", "zeros", "value", "name", "empty"]), ..base() }, "--ignore"),
        (DraftRequest { numeric: name(&["y"]), task: Some(Task::Classification), ..base() }, "--task"),
        (DraftRequest { categorical: name(&["y"]), task: Some(Task::Regression), ..base() }, "--task"),
        (DraftRequest { unit: Some("z".into()), ..base() }, "--unit"),
        (DraftRequest { unit: Some("y".into()), ..base() }, "--unit"),
        (DraftRequest { unit: Some(" ".into()), ..base() }, "--unit"),
        (DraftRequest { unit: Some("name".into()), ignore: name(&["name"]), ..base() }, "--ignore"),
        (DraftRequest { name: String::new(), ..base() }, "name"),
        (DraftRequest { budget: epsilon(0.0), ..base() }, "--epsilon"),
    ];
    for (asked, flag) in cases {
        let mut ledger = Ledger::in_memory().unwrap();
        let message = drafted(&text, &asked, &mut ledger).err().expect(flag).to_string();
        assert!(message.contains(flag), "{message}");
        assert!(ledger.summaries().unwrap().is_empty(), "{flag}");
    }
    let mut ledger = Ledger::in_memory().unwrap();
    ledger.init(&scope(Adjacency::AddRemove), Some(&Cap::rho(&Rho::from_f64(0.01).unwrap(), 1e-6).unwrap())).unwrap();
    assert!(drafted(&text, &base(), &mut ledger).is_err(), "the cap is lower than both runs together");
    assert_eq!(ledger.summaries().unwrap()[0].runs, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_makes_a_draft_panic_or_an_invalid_schema(body in "([a-c0-9.,\"\u{a0}-]{0,12}\n){0,30}", tiny in any::<bool>()) {
        let asked = request(epsilon(if tiny { 0.01 } else { 1e4 }));
        if let Ok(drafted) = drafted(&format!("a,b,c\n{body}"), &asked, &mut Ledger::in_memory().unwrap()) {
            let text = serde_json::to_string(&drafted.schema).unwrap();
            prop_assert!(Schema::parse(&text, Path::new("s")).is_ok());
        }
    }
}
