//! Persons under attack: neighbours differ in all rows of one.

use rhograd::audit::{Fault, OneRun, View};
use rhograd::data::Unit;
use rhograd::privacy::{Delta, Rho};
use rhograd::train::{Algorithm, Budget, TrainConfig};

use super::case::{BOTH, Case, MISS};
use super::{checked, of_rows};

/// The algorithms that train on persons.
const SERVED: [Algorithm; 9] = [
    Algorithm::Auto,
    Algorithm::Whitened,
    Algorithm::DpGd,
    Algorithm::DpGdTheory,
    Algorithm::DpSgd,
    Algorithm::AdaSsp,
    Algorithm::BoostedAdaSsp,
    Algorithm::Newton,
    Algorithm::Additive,
];

/// Rows of the person who differs: no power of two, so that a third or a fifth of one has to be rounded.
const ROWS: u32 = 7;

/// Runs of an honest trainer in [`one_run_of_persons`], each of which may fail in two ways.
pub const RUNS: usize = 2;

/// The first attack on each algorithm under each relation, on persons.
pub fn of(cases: Vec<Case>) -> Vec<Case> {
    let mut persons: Vec<Case> = Vec::new();
    for case in cases.into_iter().filter(|case| !case.long && case.view == View::Releases) {
        let (algorithm, adjacency) = (case.config.algorithm, case.config.adjacency);
        let plain = case.config.tune.is_empty() && SERVED.contains(&algorithm);
        if plain && !persons.iter().any(|known| known.is_of(algorithm, adjacency)) {
            // A part of these budgets goes to how many rows persons have, and a sample shows little beside it; curves have fewer runs as rows.
            let more = matches!(algorithm, Algorithm::DpSgd | Algorithm::Additive);
            let trials = if more { 2 * case.trials } else { case.trials };
            persons.push(Case { trials, ..case.of_persons(ROWS) });
        }
    }
    persons
}

#[test]
fn persons_keep_their_claim_and_a_trainer_that_clips_rows_is_refuted() {
    let cases = of(of_rows());
    assert_eq!(cases.len(), BOTH.len() * SERVED.len());
    for case in &cases {
        checked(case);
        let by_rows = case.verdict_by_rows();
        assert!(by_rows.shown.refutes(), "{}: rows that are clipped one by one go unnoticed: {by_rows:?}", case.name);
    }
}

#[test]
fn one_run_of_persons_keeps_its_claim_and_shows_all_faults() {
    for adjacency in BOTH {
        let budget = Budget::Rho(Rho::from_f64(8.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
        let config = TrainConfig { adjacency, algorithm: Algorithm::DpGd, ..TrainConfig::new(budget) };
        let unit = Some(Unit { max_rows: Some(3), ..Unit::new("who") });
        let finding =
            OneRun { config, unit, fault: 0.8, canaries: 1400, confidence: 1.0 - MISS, seed: 1 }.run(|_| ()).unwrap();
        assert!(!finding.refuted() && finding.powerful(), "{adjacency}: {finding:?}");
        let own = &finding.honest;
        assert!((own.signal - finding.share).abs() < 0.09 && (own.noise - 1.0).abs() < 0.09, "{adjacency}: {own:?}");
        let (fault, by_rows) = &finding.faulty[2];
        assert_eq!(*fault, Fault::Rows(3));
        assert!(
            (by_rows.signal / 3.0 - finding.share).abs() < 0.06 && finding.above(by_rows),
            "{adjacency}: {by_rows:?}"
        );
    }
}
