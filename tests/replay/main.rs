//! Record and replay: noise recorded on a data set is replayed on its neighbours. The exact integer input of every release
//! moves by at most the sensitivity that is stated and paid for; given the released values, nothing else that leaves moves at all.
//!
//! # Reference
//! Cebere et al. 2026, "Re:cord-play" (arXiv 2602.17454).

mod additive;
mod divided;
#[path = "../invariants/mod.rs"]
mod invariants;
mod labels;
mod noised;
mod persons;
mod public_columns;
mod recorder;
mod replaced;
mod sampled;
mod summaries;
mod white_box;

use std::path::Path;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rhograd::data::Schema;
use rhograd::loss::OwnLoss;
use rhograd::optim::{Settings, settings};
use rhograd::privacy::{Adjacency, Delta, Rho};
use rhograd::private::Query;
use rhograd::train::{Algorithm, Budget, ModelKind, TrainConfig};

use invariants::neighbours::{CHANGES, CLASSES, Change, KINDS, Kind, LABELS, NUMBERS, Table};
use invariants::replay::agree;
use recorder::{Case, Recording};

/// Neighbour pairs of each case for every change and kind of row.
const PAIRS: usize = 20;

fn adjacency(change: Change) -> Adjacency {
    if change == Change::Replace { Adjacency::ReplaceOne } else { Adjacency::AddRemove }
}

fn case(name: &str, schema: &str, algorithm: Algorithm) -> Case {
    let steps = algorithm.description().takes(&settings::STEPS).then_some(3);
    let budget = Budget::Rho(Rho::from_f64(2.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
    let settings = Settings { steps, ..Settings::default() };
    let config = TrainConfig { algorithm, settings, ..TrainConfig::new(budget) };
    let schema = Schema::parse(schema, Path::new("trial.schema.json")).unwrap();
    Case { name: name.into(), schema, config }
}

fn modelled(name: &str, schema: &str, model: ModelKind) -> Case {
    let plain = case(name, schema, Algorithm::DpGd);
    Case { config: TrainConfig { model: Some(model), ..plain.config }, ..plain }
}

/// Algorithms whose every release is kept in a checkpoint, so that it can be replayed.
fn replayed() -> Vec<Case> {
    let raw = case("dp-gd, nothing standardised", LABELS, Algorithm::DpGd);
    let raw = Case { config: TrainConfig { standardize: Some(false), ..raw.config }, ..raw };
    let counted = case("dp-gd, private count", &LABELS.replace("\"rows\":60,", ""), Algorithm::DpGd);
    let told = LABELS.replace(r#""lower":0,"upper":10"#, r#""lower":0,"upper":10,"missing":"indicator""#);
    // Half of the numbers in z are no weights, for they are negative.
    let weighed = LABELS
        .replace(r#""z":{"type":"numeric","lower":-1,"upper":1},"#, "")
        .replace(r#""columns""#, r#""weight":{"column":"z","max":0.9,"labels":{"yes":2}},"columns""#);
    // Numbers beyond the bounds of offsets are moved to them.
    let added = LABELS
        .replace(r#""z":{"type":"numeric","lower":-1,"upper":1},"#, "")
        .replace(r#""columns""#, r#""weight":{"offset":{"column":"z","lower":-0.5,"upper":9}},"columns""#);
    let absurd = OwnLoss::of_residual("absurd", |r| 5e24 * r * r, |r| 1e25 * r).unwrap();
    vec![
        case("dp-gd", LABELS, Algorithm::DpGd),
        raw,
        counted,
        modelled("svm", LABELS, ModelKind::svm()),
        modelled("huber", NUMBERS, ModelKind::huber(None)),
        modelled("quantile", NUMBERS, ModelKind::quantile(Some(0.9))),
        modelled("multinomial", CLASSES, ModelKind::Multinomial),
        modelled("a loss from outside", NUMBERS, ModelKind::Own(absurd)),
        case("whitened, labels", LABELS, Algorithm::Auto),
        case("whitened, numbers", NUMBERS, Algorithm::Auto),
        case("adassp", NUMBERS, Algorithm::AdaSsp),
        case("boosted-adassp", NUMBERS, Algorithm::BoostedAdaSsp),
        case("newton", LABELS, Algorithm::Newton),
        case("newton-double-noise", LABELS, Algorithm::NewtonDoubleNoise),
        case("output-perturbation", LABELS, Algorithm::OutputPerturbation),
        case("frank-wolfe", LABELS, Algorithm::FrankWolfe),
        case("additive, labels", LABELS, Algorithm::Additive),
        case("additive, numbers", NUMBERS, Algorithm::Additive),
        case("whitened, missing numbers", &told, Algorithm::Auto),
        case("additive, missing numbers", &told, Algorithm::Additive),
        case("whitened, weights", &weighed, Algorithm::Auto),
        case("dp-gd, weights, private count", &weighed.replace("\"rows\":60,", ""), Algorithm::DpGd),
        case("newton, weights", &weighed, Algorithm::Newton),
        case("additive, weights", &weighed, Algorithm::Additive),
        case("whitened, offsets", &added, Algorithm::Auto),
        case("newton, offsets", &added, Algorithm::Newton),
    ]
}

/// The share of the sensitivity that some neighbour must use in a release, or the test sees too little; none for a choice.
///
/// A replaced row pulls twice as hard only where it is the opposite of the other; solutions of whole problems move less than
/// what is proved of them.
fn floor(query: &Query, change: Change) -> f64 {
    match query {
        Query::Vertices(_) => 0.0,
        Query::Direction(_) | Query::Minimizer(_) => 0.1,
        _ if change == Change::Replace => 0.4,
        _ => 0.7,
    }
}

/// The share of its sensitivity that each release used at most, over neighbours of one table: each pair is looked at in one
/// release and in all else that leaves.
fn largest_shares(case: &Case, change: Change, seed: u64) -> Vec<(Query, f64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let table = Table::ending_in(Kind::Ordinary, &mut rng);
    let recorded = Recording::of(case, &table.bytes());
    let sensitivities = recorded.sensitivities();
    let mut largest = vec![0.0f64; recorded.run.inputs.len()];
    for number in 0..PAIRS {
        for kind in KINDS {
            let neighbour = table.neighbour(change, kind, false, &mut rng);
            let release = (number + rng.random_range(0..2)) % largest.len();
            let replay = recorded.replayed(case, &neighbour.bytes(), release);
            let shares = agree(&recorded.run, &replay, &sensitivities)
                .unwrap_or_else(|e| panic!("{} {kind:?}, release {release}: {e}\n{neighbour:?}", case.name));
            largest.iter_mut().zip(shares).for_each(|(largest, share)| *largest = largest.max(share));
        }
    }
    recorded.planned.into_iter().map(|planned| planned.query).zip(largest).collect()
}

/// A release that is not noised in one coordinate moves between neighbours by no more than others: it takes two keys to see it.
#[test]
fn every_coordinate_of_every_release_has_its_noise() {
    replayed().into_par_iter().enumerate().for_each(|(seed, case)| {
        let table = Table::ending_in(Kind::Ordinary, &mut ChaCha8Rng::seed_from_u64(seed as u64));
        Recording::of(&case, &table.bytes()).is_covered(&case, &table.bytes());
    });
}

#[test]
fn neighbours_move_inputs_within_the_stated_sensitivity_and_nothing_else() {
    let cases = replayed();
    assert!(PAIRS * cases.len() >= 300, "pairs of each change and kind");
    let all: Vec<(&Case, Change)> = cases.iter().flat_map(|case| CHANGES.map(|change| (case, change))).collect();
    all.into_par_iter().enumerate().for_each(|(seed, (case, change))| {
        let config = TrainConfig { adjacency: adjacency(change), ..case.config.clone() };
        let name = format!("{} {change:?}", case.name);
        let case = Case { config, name, schema: case.schema.clone() };
        let shares = largest_shares(&case, change, seed as u64);
        println!("{}: {:.2?}", case.name, shares.iter().map(|(_, share)| *share).collect::<Vec<_>>());
        // Most rows weigh less than they could; `private::tests::weights` uses the whole.
        let part = if case.schema.weight.is_some() { 0.2 } else { 1.0 };
        for (query, share) in shares {
            assert!(share >= part * floor(&query, change), "{}: {share} of the sensitivity of {query:?}", case.name);
        }
    });
}
