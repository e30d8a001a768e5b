//! Neighbours that differ in all rows of one person: every algorithm that has a proof for persons, recorded and replayed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rhograd::optim::Settings;
use rhograd::privacy::{Delta, Epsilon};
use rhograd::private::Query;
use rhograd::train::{Algorithm, Budget, Candidate, ModelKind, TrainConfig};

use crate::adjacency;
use crate::invariants::neighbours::{CHANGES, CLASSES, Change, LABELS, NUMBERS};
use crate::invariants::people::{People, SORTS, of_persons};
use crate::invariants::replay::agree;
use crate::recorder::{Case, Recording};

/// A case whose unit is the person.
fn case(name: &str, schema: &str, algorithm: Algorithm) -> Case {
    super::case(name, &of_persons(schema), algorithm)
}

fn with(case: Case, change: impl FnOnce(TrainConfig) -> TrainConfig) -> Case {
    Case { config: change(case.config.clone()), ..case }
}

/// Everything that trains on persons, and whether the number of a person decides something: who is in a sample, or held out.
fn cases() -> Vec<(Case, bool)> {
    let counted = of_persons(LABELS).replace("\"persons\":60,", "");
    let weighing = |schema: &str| of_persons(schema).replace("\"max_rows\":", "\"estimand\":\"rows\",\"max_rows\":");
    let fixed = |model| move |config| TrainConfig { model: Some(model), ..config };
    let sampled = |config: TrainConfig| {
        let settings = Settings { sampling_rate: Some(0.5), ..config.settings };
        let budget = Budget::Epsilon(Epsilon::new(8.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
        TrainConfig { settings, budget, ..config }
    };
    let all = [
        case("dp-gd", LABELS, Algorithm::DpGd),
        with(case("dp-gd, nothing standardised", LABELS, Algorithm::DpGd), |config| TrainConfig {
            standardize: Some(false),
            ..config
        }),
        super::case("dp-gd, private count", &counted, Algorithm::DpGd),
        with(case("svm", LABELS, Algorithm::DpGd), fixed(ModelKind::svm())),
        with(case("huber", NUMBERS, Algorithm::DpGd), fixed(ModelKind::huber(None))),
        with(case("quantile", NUMBERS, Algorithm::DpGd), fixed(ModelKind::quantile(Some(0.9)))),
        with(case("multinomial", CLASSES, Algorithm::DpGd), fixed(ModelKind::Multinomial)),
        case("dp-gd-theory", LABELS, Algorithm::DpGdTheory),
        case("whitened, labels", LABELS, Algorithm::Auto),
        case("whitened, numbers", NUMBERS, Algorithm::Auto),
        case("whitened, classes", CLASSES, Algorithm::Whitened),
        case("adassp", NUMBERS, Algorithm::AdaSsp),
        case("boosted-adassp", NUMBERS, Algorithm::BoostedAdaSsp),
        case("newton", LABELS, Algorithm::Newton),
    ];
    let sampled_persons = with(case("dp-sgd", LABELS, Algorithm::DpSgd), sampled);
    // Last, so that the tables of all others are as they were.
    let weighed = [
        super::case("rows weighed, dp-gd", &weighing(LABELS), Algorithm::DpGd),
        super::case("rows weighed, private count", &weighing(LABELS).replace("\"persons\":60,", ""), Algorithm::DpGd),
        super::case("rows weighed, whitened, numbers", &weighing(NUMBERS), Algorithm::Auto),
        super::case("rows weighed, whitened, classes", &weighing(CLASSES), Algorithm::Whitened),
    ];
    // Under a budget in rho each candidate is run once, and all of it is released.
    let tuned = with(case("tuned", LABELS, Algorithm::Auto), |config| {
        let candidate = |algorithm: Algorithm| Candidate {
            name: algorithm.name().into(),
            algorithm,
            settings: Settings { steps: Some(2), ..Settings::default() },
        };
        TrainConfig { tune: [Algorithm::DpGd, Algorithm::Whitened].map(candidate).into(), ..config }
    });
    let of_both = with(super::case("rows weighed, dp-sgd", &weighing(LABELS), Algorithm::DpSgd), sampled);
    let whoever = |case| (case, false);
    let persons = all.into_iter().map(whoever).chain([(sampled_persons, true)]);
    let additive = [
        case("additive, labels", LABELS, Algorithm::Additive),
        case("additive, numbers", NUMBERS, Algorithm::Additive),
        case("additive, classes", CLASSES, Algorithm::Additive),
        super::case("additive, private count", &counted, Algorithm::Additive),
    ];
    let persons = persons.chain(weighed.into_iter().map(whoever)).chain([(of_both, true), (tuned, false)]);
    persons.chain(additive.map(whoever)).collect()
}

/// How many neighbours each case has under each change: so many of each table, each table being recorded anew.
struct Size {
    tables: usize,
    neighbours: usize,
    /// Whether there are those of [`extreme_pairs`], too.
    extreme: bool,
}

/// The largest share of the sensitivity that each release used, with its query; each neighbour is looked at in one release and in
/// all else that leaves.
fn largest_shares(case: &Case, change: Change, by_number: bool, size: &Size, seed: u64) -> Vec<(Query, f64)> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut largest: Vec<(Query, f64)> = Vec::new();
    for number in 0..size.tables {
        // With other numbers of persons somebody else is in a sample.
        let table = People::new(9 + number % 7, &mut rng);
        let recorded = Recording::of(case, &table.bytes());
        let sensitivities = recorded.sensitivities();
        if largest.is_empty() {
            largest = recorded.planned.iter().map(|planned| (planned.query.clone(), 0.0)).collect();
        }
        for pair in 0..size.neighbours {
            let pair = number * size.neighbours + pair;
            let round = pair / SORTS.len();
            let sort = SORTS[pair % SORTS.len()];
            let neighbour = table.neighbour(change, sort, by_number, &mut rng);
            // Every sort in every release, whatever their numbers have in common.
            let release = (round + pair % SORTS.len()) % largest.len();
            let replay = recorded.replayed(case, &neighbour.bytes(), release);
            let shares = agree(&recorded.run, &replay, &sensitivities)
                .unwrap_or_else(|e| panic!("{} {sort:?}, release {release}: {e}\n{table:?}\n{neighbour:?}", case.name));
            largest.iter_mut().zip(shares).for_each(|((_, largest), share)| *largest = largest.max(share));
        }
        // Where numbers decide who is in a sample, each table has another number of persons, and one pair of it is tried.
        if size.extreme && by_number {
            raise(&mut largest, case, extreme_pairs(change, &table).into_iter().skip(number).take(1));
        } else if size.extreme && number == 0 {
            raise(&mut largest, case, extreme_pairs(change, &table));
        }
    }
    largest
}

/// Neighbours of a table made to use the whole sensitivity, whatever the table is: they differ in a person who pulls as hard as one can,
/// and who gives way to the opposite where one is replaced. The first four have one row.
fn extreme_pairs(change: Change, table: &People) -> Vec<[People; 2]> {
    let persons = People::extreme();
    let with = |person: &People| table.clone().and(person.clone());
    match change {
        Change::Insert => persons.iter().map(|person| [table.clone(), with(person)]).collect(),
        Change::Delete => persons.iter().map(|person| [with(person), table.clone()]).collect(),
        Change::Replace => {
            let pairs = persons.iter().enumerate().flat_map(|(at, one)| {
                // Of those with as many rows; either may come first.
                persons[at + 1..].iter().take(3 - at % 4).map(move |other| (one, other))
            });
            pairs.map(|(one, other)| [with(one), with(other)]).collect()
        }
    }
}

/// Raises the shares to those that such neighbours use in every release.
fn raise(largest: &mut [(Query, f64)], case: &Case, pairs: impl IntoIterator<Item = [People; 2]>) {
    for [before, after] in pairs {
        let recorded = Recording::of(case, &before.bytes());
        for release in 0..largest.len() {
            let replay = recorded.replayed(case, &after.bytes(), release);
            let shares = agree(&recorded.run, &replay, &recorded.sensitivities())
                .unwrap_or_else(|e| panic!("{}, release {release}: {e}\n{before:?}\n{after:?}", case.name));
            largest.iter_mut().zip(shares).for_each(|((_, largest), share)| *largest = largest.max(share));
        }
    }
}

/// What one case used of the sensitivity at most under one change, release by release.
struct Used {
    algorithm: Algorithm,
    change: Change,
    name: String,
    shares: Vec<(Query, f64)>,
}

/// The number of neighbours, and what was used.
fn replayed(size: &Size) -> (usize, Vec<Used>) {
    let cases = cases();
    // Some only, by a part of their names.
    let only = std::env::var("CASE").unwrap_or_default();
    let cases = cases.iter().filter(|(case, _)| case.name.contains(&only));
    let all: Vec<(&(Case, bool), Change)> = cases.flat_map(|case| CHANGES.map(|change| (case, change))).collect();
    let (count, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // Other tables and neighbours.
    let begun_at: u64 = std::env::var("SEED").map_or(0, |seed| seed.parse().unwrap());
    all.par_iter().enumerate().for_each(|(seed, &((case, by_number), change))| {
        let config = TrainConfig { adjacency: adjacency(change), ..case.config.clone() };
        let case = Case { config, name: format!("{} {change:?}", case.name), schema: case.schema.clone() };
        // The cost of samples takes a second to find.
        let neighbours = if *by_number { size.neighbours.div_ceil(SORTS.len()) } else { size.neighbours };
        let size = Size { neighbours, ..*size };
        let begun = Instant::now();
        let shares = largest_shares(&case, change, *by_number, &size, seed as u64 + begun_at);
        let numbers: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
        println!("{}: {numbers:.3?} in {:.1?}", case.name, begun.elapsed());
        count.fetch_add(size.tables * size.neighbours, Ordering::Relaxed);
        found.lock().unwrap().push(Used { algorithm: case.config.algorithm, change, name: case.name, shares });
    });
    (count.into_inner(), found.into_inner().unwrap())
}

#[test]
fn persons_move_inputs_within_the_stated_sensitivity_and_nothing_else() {
    let (pairs, found) = replayed(&Size { tables: 1, neighbours: SORTS.len(), extreme: false });
    assert!(pairs >= 500, "{pairs}");
    for (change, least) in [(Change::Insert, 0.99), (Change::Delete, 0.99), (Change::Replace, 0.8)] {
        let of_change = found.iter().filter(|used| used.change == change).flat_map(|used| &used.shares);
        let largest = of_change.map(|(_, share)| *share).fold(0.0, f64::max);
        assert!(largest > least, "{change:?}: {largest}");
    }
}

/// The share that some person must use of each release, or the test sees too little, whatever the tables are.
///
/// Slopes of the logistic loss are one half at the beginning, where nothing is shorter than its clip by theory. A replaced person pulls
/// twice as hard only where the other is opposite, and no one is in all coordinates.
fn floor(used: &Used, query: &Query) -> f64 {
    match (used.change, query) {
        (Change::Replace, _) => 0.15,
        (_, Query::Moments(_)) => 0.99,
        // A loss is cut where no model of the test is wrong by so much.
        (_, Query::Scores(_)) => 0.5,
        _ if used.algorithm == Algorithm::DpGdTheory => 0.4,
        // A half of few neighbours is in no sample.
        (Change::Insert | Change::Delete, _) if used.algorithm == Algorithm::DpSgd => 0.4,
        // Weights of rows in matrices are whole numbers, up to 127.
        (Change::Delete, Query::Gram(_) | Query::Hessian(_)) => 0.98,
        (Change::Insert | Change::Delete, _) => 0.99,
    }
}

#[test]
#[ignore = "thousands of neighbours, see docs/assurance.md"]
fn thousands_of_persons_move_inputs_within_the_stated_sensitivity() {
    let begun = Instant::now();
    let (pairs, found) = replayed(&Size { tables: 4, neighbours: 4 * SORTS.len(), extreme: true });
    println!("{pairs} neighbours in {:.0?}", begun.elapsed());
    for used in &found {
        for (query, share) in &used.shares {
            assert!(*share >= floor(used, query), "{}: {share} of the sensitivity of {query:?}", used.name);
        }
    }
}
