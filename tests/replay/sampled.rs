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
use rhograd::privacy::{Adjacency, Charge, Claim, DatasetId, GaussianCharge, NoiseLaw, PoissonGaussianCharge, Scope};
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

/// Runs on one data set after another with one key.
struct Runs {
    paid: ChargedRun,
    event: PoissonGaussianCharge,
    scope: Scope,
    made: u32,
}

impl Runs {
    fn new(change: Change) -> Self {
        let (adjacency, event) = (adjacency(change), charge(adjacency(change)));
        let scope = Scope::of_rows(DatasetId::new("trial").unwrap(), adjacency);
        let mut ledger = Ledger::in_memory().unwrap();
        let paid = charge_run(&mut ledger, &scope, &[Charge::PoissonGaussian(event.clone())], key()).unwrap();
        Runs { paid, event, scope, made: 0 }
    }

    /// What goes into each step at the given iterates.
    fn inputs(&mut self, table: &Table, iterates: &[Array1<f64>]) -> Vec<Vec<i128>> {
        let data = dataset(table, &self.scope);
        let clipped = data.clipped(BOUND).unwrap();
        let mut step = |weights: &Array1<f64>| {
            let gradient = Gradient { loss: Glm::Logistic.into(), weights, label_scale: 1.0, clip_norm: 0.1 };
            let released = self.paid.permit::<PoissonGaussianCharge>().unwrap().release(&clipped, &gradient).unwrap();
            let (values, GaussianCharge { noise, log2_scale, .. }) = (released.values(), &self.event.sampled);
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

#[test]
fn sampled_steps_move_within_their_sensitivity_given_the_same_coins() {
    let mut rng = ChaCha8Rng::seed_from_u64(77);
    for change in CHANGES {
        let mut worlds = [Runs::new(change), Runs::new(change)];
        let (mut largest, mut unmoved) = (0.0f64, 0);
        for pair in 0..PAIRS {
            let kind = KINDS[pair % KINDS.len()];
            let table = Table::ending_in(if change == Change::Delete { kind } else { Kind::Ordinary }, &mut rng);
            let neighbour = table.neighbour(change, kind, true, &mut rng);
            let iterates = [(); STEPS].map(|()| (0..6).map(|_| rng.random_range(-1.0..1.0)).collect());
            let [recorded, other] = &mut worlds;
            let (before, after) = (recorded.inputs(&table, &iterates), other.inputs(&neighbour, &iterates));
            for (before, after) in before.iter().zip(&after) {
                let sensitivity = recorded.event.sampled.sensitivity;
                let share = moved(before, after, sensitivity).unwrap_or_else(|e| panic!("{change:?} {kind:?}: {e}"));
                largest = largest.max(share);
                unmoved += usize::from(share == 0.0);
            }
        }
        assert!(largest > 0.9, "{change:?}: {largest} of the sensitivity");
        // Half of the samples leave the row out, and bad lines count for nothing.
        let all = PAIRS * STEPS;
        assert!((all / 3..all * 5 / 6).contains(&unmoved), "{change:?}: {unmoved} of {all} unmoved");
    }
}
