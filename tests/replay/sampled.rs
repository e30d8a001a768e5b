//! Steps on samples, at the gate: neighbours differ in their last row, so that the same key draws the same rows of the others.

use std::path::Path;

use ndarray::Array1;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::data::{CsvFile, Schema};
use rhograd::ledger::Ledger;
use rhograd::loss::Glm;
use rhograd::noise::{NoiseSource, integer_noise};
use rhograd::preprocess::Encoder;
use rhograd::privacy::{
    Adjacency, AllocatedGaussianCharge, Charge, Claim, DatasetId, GaussianCharge, NoiseLaw, PoissonGaussianCharge,
    Scope,
};
use rhograd::private::{ChargedRun, DescribeQuery, Gradient, PrivateDataset, charge_run, query};

use crate::adjacency;
use crate::invariants::neighbours::{CHANGES, Change, KINDS, Kind, LABELS, Table};
use crate::invariants::replay::moved;

const BOUND: u64 = 1 << 26;

const STEPS: usize = 3;

/// Pairs of each change.
const PAIRS: usize = 102;

/// Steps on half the rows each, with a claim so generous that the accountant confirms it at once.
fn charge(adjacency: Adjacency) -> PoissonGaussianCharge {
    let sensitivity = query::ClippedSum { clip_steps: BOUND }.sensitivity(adjacency);
    let (what, noise) = ("gradient".into(), NoiseLaw::FlooredNormal);
    let sampled = GaussianCharge { what, sensitivity, log2_scale: 30, noise, count: (PAIRS * STEPS) as u64 };
    // A rate of 1/2 is exp(-x) = 1/2.
    let exponent = (2f64.ln() * 2f64.powi(64)) as u64;
    PoissonGaussianCharge { sampled, exponent, claim: Claim { epsilon: 20.0, delta: 1e-6, rho: 20.0 } }
}

fn dataset(table: &Table, scope: &Scope) -> PrivateDataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trial.csv");
    std::fs::write(&path, table.bytes()).unwrap();
    let schema = Schema::parse(LABELS, Path::new("trial.schema.json")).unwrap();
    let file = CsvFile::open(&path).unwrap();
    let rows = Encoder::new(&schema, &file, true).unwrap().encode(&file, &|_| Ok(())).unwrap().0;
    PrivateDataset::new(rows, scope.clone())
}

/// The same steps as passes of [`STEPS`].
fn passes(adjacency: Adjacency) -> AllocatedGaussianCharge {
    let PoissonGaussianCharge { sampled, claim, .. } = charge(adjacency);
    AllocatedGaussianCharge { allocated: sampled, steps_of_pass: STEPS as u32, claim }
}

/// Runs on one data set after another with one key.
struct Runs {
    paid: ChargedRun,
    charge: Charge,
    event: GaussianCharge,
    scope: Scope,
    made: u32,
}

impl Runs {
    fn new(adjacency: Adjacency, charge: Charge) -> Self {
        let scope = Scope::of_rows(DatasetId::new("trial").unwrap(), adjacency);
        let mut ledger = Ledger::in_memory().unwrap();
        let paid = charge_run(&mut ledger, &scope, std::slice::from_ref(&charge), key()).unwrap();
        let event = match &charge {
            Charge::PoissonGaussian(event) => event.sampled.clone(),
            Charge::AllocatedGaussian(event) => event.allocated.clone(),
            other => panic!("{other:?}"),
        };
        Runs { paid, charge, event, scope, made: 0 }
    }

    /// What goes into each step at the given iterates.
    fn inputs(&mut self, table: &Table, iterates: &[Array1<f64>]) -> Vec<Vec<i128>> {
        let data = dataset(table, &self.scope);
        let clipped = data.clipped(BOUND).unwrap();
        let mut step = |weights: &Array1<f64>| {
            let gradient = Gradient { loss: Glm::Logistic.into(), weights, label_scale: 1.0, clip_norm: 0.1 };
            let released = match self.charge {
                Charge::PoissonGaussian(_) => {
                    self.paid.permit::<PoissonGaussianCharge>().unwrap().release(&clipped, &gradient)
                }
                _ => self.paid.permit::<AllocatedGaussianCharge>().unwrap().release(&clipped, &gradient),
            };
            let released = released.unwrap();
            let (values, GaussianCharge { noise, log2_scale, .. }) = (released.values(), &self.event);
            let noise = integer_noise(*noise, *log2_scale, values.len(), &key(), self.made).unwrap();
            self.made += 1;
            values.iter().zip(noise).map(|(value, noise)| value - i128::from(noise)).collect()
        };
        iterates.iter().map(&mut step).collect()
    }
}

fn key() -> NoiseSource {
    NoiseSource::insecure_from_seed(20_262)
}

/// Runs pairs of neighbours, and returns the largest share of the sensitivity that is used and, of each pair, how many steps moved.
fn pairs(change: Change, charge: &Charge) -> (f64, Vec<usize>) {
    let mut rng = ChaCha8Rng::seed_from_u64(77);
    let mut worlds = [(); 2].map(|()| Runs::new(adjacency(change), charge.clone()));
    let (mut largest, mut moves) = (0.0f64, Vec::new());
    for pair in 0..PAIRS {
        let kind = KINDS[pair % KINDS.len()];
        let table = Table::ending_in(if change == Change::Delete { kind } else { Kind::Ordinary }, &mut rng);
        let neighbour = table.neighbour(change, kind, true, &mut rng);
        let iterates = [(); STEPS].map(|()| (0..6).map(|_| rng.random_range(-1.0..1.0)).collect());
        let [recorded, other] = &mut worlds;
        let (before, after) = (recorded.inputs(&table, &iterates), other.inputs(&neighbour, &iterates));
        let mut moving = 0;
        for (before, after) in before.iter().zip(&after) {
            let sensitivity = recorded.event.sensitivity;
            let share = moved(before, after, sensitivity).unwrap_or_else(|e| panic!("{change:?} {kind:?}: {e}"));
            largest = largest.max(share);
            moving += usize::from(share > 0.0);
        }
        moves.push(moving);
    }
    assert!(largest > 0.9, "{change:?}: {largest} of the sensitivity");
    (largest, moves)
}

#[test]
fn sampled_steps_move_within_their_sensitivity_given_the_same_coins() {
    for change in CHANGES {
        let (_, moves) = pairs(change, &charge(adjacency(change)).into());
        // Half of the samples leave the row out, and bad lines count for nothing.
        let (all, moved) = (PAIRS * STEPS, moves.iter().sum::<usize>());
        assert!((all / 6..all * 2 / 3).contains(&moved), "{change:?}: {moved} of {all} moved");
    }
}

#[test]
fn a_row_moves_one_step_of_a_pass_within_its_sensitivity() {
    let (largest, moves) = pairs(Change::Delete, &passes(Adjacency::AddRemove).into());
    assert!(largest > 0.99, "{largest}");
    assert!(moves.iter().all(|moved| *moved <= 1), "{moves:?}");
    assert!(moves.iter().sum::<usize>() > PAIRS / 2, "{moves:?}");
}
