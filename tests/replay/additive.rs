//! Effects that are no straight lines: counts, a covariance, and sums over rows that are encoded by both, on neighbours.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rhograd::privacy::{Adjacency, Delta, Rho};
use rhograd::private::Query;
use rhograd::train::{Algorithm, Budget, TrainConfig};

use crate::case;
use crate::invariants::neighbours::{KINDS, Kind, LABELS, NUMBERS, Table};
use crate::invariants::replay::agree;
use crate::recorder::{Case, Recording};

/// A table with a line more, which under replace-one stands in the place of another.
fn with(common: &Table, line: &str) -> Table {
    common.clone().and(Table::of(line, 1))
}

/// The share of its sensitivity that a release uses on a pair of neighbours; `whole` is what leaves a run on the neighbour.
fn share(case: &Case, recorded: &Recording, neighbour: &Table, release: usize, whole: &[String]) -> f64 {
    let replay = recorded.replayed_within(case, &neighbour.bytes(), release, whole);
    agree(&recorded.run, &replay, &recorded.sensitivities())
        .unwrap_or_else(|e| panic!("{}, release {release}: {e}\n{neighbour:?}", case.name))[release]
}

/// The largest share of each release over neighbours of a table, all of which are looked at in all of them.
fn largest(case: &Case, before: &Table, neighbours: &[Table]) -> Vec<(Query, f64)> {
    let recorded = Recording::of(case, &before.bytes());
    let wholes: Vec<_> = neighbours.par_iter().map(|table| recorded.whole(case, &table.bytes())).collect();
    let most = |release: usize| {
        let both = neighbours.par_iter().zip(&wholes);
        both.map(|(table, whole)| share(case, &recorded, table, release, whole)).reduce(|| 0.0, f64::max)
    };
    recorded.planned.iter().enumerate().map(|(release, planned)| (planned.query.clone(), most(release))).collect()
}

fn under(case: Case, adjacency: Adjacency) -> Case {
    let name = format!("{} {adjacency}", case.name);
    Case { config: TrainConfig { adjacency, ..case.config }, name, ..case }
}

/// Numbers at the ends of their bounds, in rows of either label and of every category.
fn far(number: bool) -> Vec<String> {
    let cells = [("0", "-1"), ("10", "1")].into_iter();
    let labels = if number { &["yes"][..] } else { &["yes", "no"] };
    cells.flat_map(|(x, z)| labels.iter().map(move |y| format!("{x},{z},u,{y}"))).collect()
}

/// Most rows are alike, so that the others are far from them in every encoding, and there is little noise, so that this shows.
fn alike(algorithm: Algorithm, schema: &str, adjacency: Adjacency) -> (Case, Table) {
    let plain = case(algorithm.name(), schema, algorithm);
    let budget = Budget::Rho(Rho::from_f64(50.0).unwrap(), Some(Delta::new(1e-6).unwrap()));
    let case = under(Case { config: TrainConfig { budget, ..plain.config }, ..plain }, adjacency);
    let many = Table::of("5,0,u,yes", 28).and(Table::of("5.2,0.1,v,no", 28));
    (case, ["0,-1,w,yes", "10,1,w,no"].iter().fold(many, |table, line| with(&table, line)))
}

#[test]
fn rows_move_counts_covariances_and_steps_by_all_of_what_is_stated_and_no_more() {
    let forms = [Algorithm::Additive, Algorithm::Rich, Algorithm::Adaptive];
    for (algorithm, schema) in forms.into_iter().flat_map(|form| [LABELS, NUMBERS].map(|schema| (form, schema))) {
        let lines = far(schema == NUMBERS);
        let (add, common) = alike(algorithm, schema, Adjacency::AddRemove);
        let added: Vec<Table> = lines.iter().map(|line| with(&common, line)).collect();
        let found = largest(&add, &common, &added);
        println!("{}: {:.3?}", add.name, found.iter().map(|(_, share)| *share).collect::<Vec<_>>());
        for (query, share) in &found {
            // How often a row counts is a whole number there, and a small one for a row that is so far from the others.
            let few = matches!(query, Query::Gram(_)) && (schema == NUMBERS || algorithm == Algorithm::Adaptive);
            assert!(*share > if few { 0.9 } else { 0.99 }, "{}: {share} of {query:?}", add.name);
        }
        assert_eq!(found.iter().any(|(query, _)| matches!(query, Query::Gram(_))), algorithm != Algorithm::Additive);
        // The same row but for its label, and a row without an interval in common.
        let (replace, common) = alike(algorithm, schema, Adjacency::ReplaceOne);
        let lines = ["0,-1,u,no", "0,1,u,no", "10,-1,v,no", "10,1,v,yes", "10,1,v,no"];
        let replaced: Vec<Table> = lines.map(|line| with(&common, line)).to_vec();
        let found = largest(&replace, &with(&common, "0,-1,u,yes"), &replaced);
        println!("{}: {:.3?}", replace.name, found.iter().map(|(_, share)| *share).collect::<Vec<_>>());
        // A row that later iterates fit pulls less hard one way than the other: some step shows the whole.
        let steps = found.iter().filter(|(query, _)| matches!(query, Query::ClippedSum(_)));
        assert!(steps.map(|(_, share)| *share).fold(0.0, f64::max) > 0.99, "{}", replace.name);
        for (query, share) in found {
            let least = match query {
                Query::Marginals(_) => 0.99,
                // Two rows at a right angle, of which a number and a category alone have none.
                Query::Gram(_) if schema == LABELS => 0.98,
                Query::Gram(_) => 0.65,
                _ => 0.4,
            };
            assert!(share > least, "{}: {share} of {query:?}", replace.name);
        }
    }
}

#[test]
fn rows_of_every_kind_move_nothing_else() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let table = Table::ending_in(Kind::Ordinary, &mut rng);
    for schema in [LABELS, NUMBERS] {
        let forms = [Algorithm::Rich, Algorithm::Adaptive];
        for (change, algorithm) in crate::CHANGES.into_iter().flat_map(|change| forms.map(|form| (change, form))) {
            let case = under(case(algorithm.name(), schema, algorithm), crate::adjacency(change));
            let neighbours = KINDS.map(|kind| table.neighbour(change, kind, false, &mut rng));
            // Each in one release and in all else that leaves.
            let recorded = Recording::of(&case, &table.bytes());
            let releases = recorded.run.inputs.len();
            neighbours.par_iter().enumerate().for_each(|(number, neighbour)| {
                let whole = recorded.whole(&case, &neighbour.bytes());
                share(&case, &recorded, neighbour, number % releases, &whole);
            });
        }
    }
}
