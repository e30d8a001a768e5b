//! Passes in which each row draws a step: what is paid for, and what the gate makes of it.

use std::sync::{Arc, Mutex};

use ndarray::Array1;
use rhograd::accounting::claim;
use rhograd::error::ErrorKind;
use rhograd::grid::Shape;
use rhograd::kernel::{RawRow, RowsBuilder};
use rhograd::ledger::Ledger;
use rhograd::loss::Glm;
use rhograd::noise::{NoiseSource, integer_noise};
use rhograd::privacy::{
    Adjacency, AllocatedGaussianCharge, Charge, Claim, DatasetId, Delta, GaussianCharge, NoiseLaw,
    PoissonGaussianCharge, Scope,
};
use rhograd::private::{ChargedRun, Gradient, PrivateDataset, Released, Stopped, charge_run, resume};

const ROWS: u32 = 12_000;
const BOUND: u64 = 1 << 27;
const STEPS: u32 = 8;
const PASSES: u64 = 3;

fn scope() -> Scope {
    Scope::of_rows(DatasetId::new("a").unwrap(), Adjacency::AddRemove)
}

/// Rows that each add the same integer, so that a sum counts them.
fn data(scope: &Scope, rows: u32) -> PrivateDataset {
    let mut builder = RowsBuilder::new(Shape::new(0, &[]));
    let row = RawRow { numeric: vec![], codes: vec![], label: 0, null: false };
    (0..rows).for_each(|_| builder.push(&row));
    PrivateDataset::new(builder.build(), scope.clone())
}

fn releases(count: u64) -> GaussianCharge {
    let (what, noise) = ("gradient".into(), NoiseLaw::FlooredNormal);
    GaussianCharge { what, sensitivity: BOUND, log2_scale: 28, noise, count }
}

fn charge(steps_of_pass: u32, count: u64) -> AllocatedGaussianCharge {
    let claim = Claim { epsilon: 1.0, delta: 1e-6, rho: 1.0 };
    let blank = AllocatedGaussianCharge { allocated: releases(count), steps_of_pass, claim };
    claim::make_allocated(blank, Adjacency::AddRemove, Delta::new(1e-6).unwrap(), 1.0).unwrap()
}

fn paid(charge: &AllocatedGaussianCharge, key: u64) -> ChargedRun {
    let noise = NoiseSource::insecure_from_seed(key);
    charge_run(&mut Ledger::in_memory().unwrap(), &scope(), &[Charge::from(charge.clone())], noise).unwrap()
}

fn release(run: &mut ChargedRun, data: &PrivateDataset) -> Result<Released, rhograd::error::Error> {
    let weights = Array1::zeros(1);
    let gradient = Gradient { loss: Glm::Logistic.into(), weights: &weights, label_scale: 1.0, clip_norm: 1.0 };
    let clipped = data.clipped(BOUND).unwrap();
    run.permit::<AllocatedGaussianCharge>().unwrap().release(&clipped, &gradient)
}

/// How many rows are in a release.
fn rows_in(released: &Released, key: u64, number: u32) -> u32 {
    let source = NoiseSource::insecure_from_seed(key);
    let values = released.values();
    assert_eq!(values.len(), 1);
    let noise = integer_noise(NoiseLaw::FlooredNormal, 28, values.len(), &source, number).unwrap();
    let sum = values.iter().zip(noise).map(|(value, noise)| value - i128::from(noise)).sum::<i128>().unsigned_abs();
    // Each has a slope of one half in size at zero, on the grid of slopes.
    let one = sum as f64 / (BOUND as f64 / 2.0);
    assert!((one - one.round()).abs() < 1e-3 * one.max(1.0), "{one}");
    one.round() as u32
}

#[test]
fn each_row_joins_one_step_of_each_pass_and_another_one_in_the_next() {
    let (scope, key) = (scope(), 11);
    let data = data(&scope, ROWS);
    let mut run = paid(&charge(STEPS, PASSES * u64::from(STEPS)), key);
    let mut passes = Vec::new();
    for pass in 0..PASSES as u32 {
        let number = |step| pass * STEPS + step;
        let counts: Vec<u32> =
            (0..STEPS).map(|step| rows_in(&release(&mut run, &data).unwrap(), key, number(step))).collect();
        assert_eq!(counts.iter().sum::<u32>(), ROWS, "{counts:?}");
        // 1500 rows, with a standard deviation of 36.
        assert!(counts.iter().all(|count| (1320..1680).contains(count)), "{counts:?}");
        passes.push(counts);
    }
    assert!(passes[0] != passes[1] && passes[1] != passes[2]);
    let missing = run.permit::<AllocatedGaussianCharge>().map(drop);
    assert!(missing.is_err(), "everything was released");
}

#[test]
fn a_pass_is_made_with_the_same_rows_from_its_first_step_on() {
    let refused = |it: Result<Released, rhograd::error::Error>| {
        let error = it.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Refused { .. }), "{error}");
        error.to_string()
    };
    let (one, other) = (data(&scope(), 40), data(&scope(), 40));
    let mut run = paid(&charge(STEPS, PASSES * u64::from(STEPS)), 1);
    release(&mut run, &one).unwrap();
    assert!(refused(release(&mut run, &other)).contains("other rows"));
    // What was drawn is gone, so nothing of this pass is left.
    (2..STEPS).for_each(|_| assert!(refused(release(&mut run, &one)).contains("not begun")));
    (0..STEPS).for_each(|_| drop(release(&mut run, &other).unwrap()));
    drop(run.permit::<AllocatedGaussianCharge>().unwrap());
    assert!(refused(release(&mut run, &other)).contains("not begun"), "its first step was not made");
}

#[test]
fn a_run_that_was_stopped_within_a_pass_ends_it_without_rows() {
    let (scope, first, second) = (scope(), 5, 6);
    let (data, charge) = (data(&scope, ROWS), charge(STEPS, PASSES * u64::from(STEPS)));
    let mut run = paid(&charge, first);
    let kept = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&kept);
    run.keep_in(Box::new(move |values| {
        into.lock().unwrap().push(values.to_vec());
        Ok(())
    }));
    let made = STEPS + 3;
    (0..made).for_each(|_| drop(release(&mut run, &data).unwrap()));
    let released = kept.lock().unwrap().clone();
    assert_eq!(released.len(), made as usize);
    let stopped = Stopped { run: "0".repeat(32), position: None, released: released.clone() };
    let noise = NoiseSource::insecure_from_seed(second);
    let mut ledger = Ledger::in_memory().unwrap();
    let mut again = resume(&mut ledger, &scope, &[Charge::from(charge)], noise, stopped).unwrap();
    for values in released {
        assert_eq!(release(&mut again, &data).unwrap().values(), values);
    }
    let mut counts = (made..3 * STEPS).map(|number| rows_in(&release(&mut again, &data).unwrap(), second, number));
    assert!(counts.by_ref().take((2 * STEPS - made) as usize).all(|rows| rows == 0), "what rows drew was lost");
    assert_eq!(counts.sum::<u32>(), ROWS, "the next pass is whole");
}

#[test]
fn what_was_paid_for_passes_opens_nothing_else() {
    let passes = Charge::from(charge(STEPS, u64::from(STEPS)));
    let plan = |charge: &Charge| {
        let noise = NoiseSource::insecure_from_seed(1);
        charge_run(&mut Ledger::in_memory().unwrap(), &scope(), std::slice::from_ref(charge), noise).unwrap()
    };
    assert!(plan(&passes).permit::<GaussianCharge>().is_err());
    assert!(plan(&passes).permit::<PoissonGaussianCharge>().is_err());
    assert!(plan(&releases(1).into()).permit::<AllocatedGaussianCharge>().is_err());
    assert_eq!(passes.sampling_rate(), Some(0.125f64.next_up()));
}

#[test]
fn a_claim_that_is_too_low_is_refused_before_anything_is_charged() {
    let honest = charge(STEPS, PASSES * u64::from(STEPS));
    let charged = |charge: AllocatedGaussianCharge, adjacency| {
        let scope = Scope { adjacency, ..scope() };
        let mut ledger = Ledger::in_memory().unwrap();
        let noise = NoiseSource::insecure_from_seed(1);
        let charged = charge_run(&mut ledger, &scope, &[Charge::from(charge)], noise).is_ok();
        assert_eq!(charged, ledger.summary(&scope.dataset).is_ok());
        charged
    };
    assert!(charged(honest.clone(), Adjacency::AddRemove));
    assert!(!charged(honest.clone(), Adjacency::ReplaceOne), "no bound is known");
    let lower = |claim: Claim| AllocatedGaussianCharge { claim, ..honest.clone() };
    for lie in [
        lower(Claim { epsilon: honest.claim.epsilon * 0.99, ..honest.claim }),
        lower(Claim { rho: honest.claim.rho * 0.99, ..honest.claim }),
        lower(Claim { delta: 1e-9, ..honest.claim }),
        // Fewer steps of a pass hide a row less, and are more passes.
        AllocatedGaussianCharge { steps_of_pass: STEPS / 2, ..honest.clone() },
        AllocatedGaussianCharge { steps_of_pass: 1, ..honest.clone() },
        AllocatedGaussianCharge { steps_of_pass: 0, ..honest.clone() },
        // A pass that is begun counts.
        AllocatedGaussianCharge { allocated: releases(PASSES * u64::from(STEPS) + 1), ..honest.clone() },
        AllocatedGaussianCharge {
            allocated: GaussianCharge { sensitivity: BOUND * 2, ..releases(PASSES * u64::from(STEPS)) },
            ..honest.clone()
        },
    ] {
        assert!(!charged(lie, Adjacency::AddRemove));
    }
}
