//! Attacks on real training runs: `dp-gd` on neighbours made for the purpose, as in the library's own tests.

use rhograd::audit::{Attack, Draws, Guarantee, Instance, View, Worlds, attack};
use rhograd::error::Fallible;
use rhograd::optim::Settings;
use rhograd::privacy::{Adjacency, Delta, Rho};
use rhograd::train::{Algorithm, Budget, TrainConfig};

use super::FALSE_ALARM;
use super::theory::Case;

/// A public number of rows, far from what matters here.
const ROWS: u64 = 1000;

/// Pairs of records beside the one that is attacked; their gradients cancel.
const PAIRS: usize = 2;

/// Whether one attack, whose rule is learned from half as many runs as it is judged by, refutes the claim.
pub(super) fn refuted(case: &Case, halved: f64, trials: u64, seed: u64) -> Fallible<bool> {
    let claim = Guarantee::of(worlds(case.claimed)?.absent().plan())?;
    // Less noise is what a larger budget buys.
    let faulty = worlds(case.claimed / (case.factor * halved))?;
    let judge = trials as usize;
    let size = Attack {
        view: View::Releases,
        draws: Draws::Secret,
        learn: judge / 2,
        judge,
        confidence: 1.0 - FALSE_ALARM,
        seed: seed >> 32,
    };
    Ok(attack(&faulty, &claim, &size)?.shown.refutes())
}

/// The two worlds of a trainer that is `mu`-Gaussian DP: steps so short that every release shows the record alike.
fn worlds(mu: f64) -> Fallible<Worlds> {
    let budget = Budget::Rho(Rho::from_f64(mu * mu / 2.0)?, Some(Delta::new(1e-6)?));
    let (algorithm, adjacency) = (Algorithm::DpGd, Adjacency::AddRemove);
    let mut config = TrainConfig { algorithm, adjacency, rows: Some(ROWS), ..TrainConfig::new(budget) };
    config.standardize = Some(false);
    config.settings = Settings { learning_rate: Some(1e-7), clip: Some(0.05), steps: Some(4), ..Settings::default() };
    Worlds::load(&config, &Instance::Labels.neighbours(PAIRS, 0, false))
}
