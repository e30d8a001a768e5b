//! Public columns: neighbours have another text in private cells of one row, and the same lines otherwise.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rhograd::privacy::Adjacency;
use rhograd::train::{Algorithm, TrainConfig};

use crate::case;
use crate::invariants::neighbours::{Kind, LABELS, NUMBERS, Table};
use crate::invariants::replay::agree;
use crate::recorder::{Case, Recording};

/// Pairs of each case.
const PAIRS: usize = 80;

/// What may stand in a private cell: values, labels, numbers, and what is none.
const CELLS: [&str; 18] = [
    "yes",
    "no",
    "u",
    "v",
    "w",
    "-1",
    "1",
    "0",
    "10",
    "0.25",
    "1e999",
    "-inf",
    "nan",
    "",
    "?",
    "maybe",
    " yes ",
    "never seen",
];

/// Each with the places of its private columns among `x,z,c,y`.
fn cases() -> Vec<(Case, Vec<usize>)> {
    let of = |name: &str, schema: &str, algorithm: Algorithm, public: &[&str], private: &[usize]| {
        let plain = case(name, schema, algorithm);
        let names: Vec<String> = public.iter().map(|name| (*name).to_owned()).collect();
        let schema = plain.schema.with_public(&names).unwrap();
        let config = TrainConfig { adjacency: Adjacency::ReplaceOne, ..plain.config };
        (Case { schema, config, ..plain }, private.to_vec())
    };
    let told = LABELS.replace(r#""lower":-1,"upper":1"#, r#""lower":-1,"upper":1,"missing":"indicator""#);
    vec![
        of("numbers public", LABELS, Algorithm::Whitened, &["x", "z"], &[2, 3]),
        of("one column public", LABELS, Algorithm::Whitened, &["c"], &[0, 1, 3]),
        of("missing ones told", &told, Algorithm::Whitened, &["z", "x"], &[2, 3]),
        of("a number to learn", NUMBERS, Algorithm::Whitened, &["x"], &[1, 2]),
        of("least squares", NUMBERS, Algorithm::AdaSsp, &["x"], &[1, 2]),
        of("a public category", NUMBERS, Algorithm::DpGd, &["c"], &[0, 1]),
        of("newton", LABELS, Algorithm::Newton, &["x", "z"], &[2, 3]),
        of("additive", LABELS, Algorithm::Additive, &["x"], &[1, 2, 3]),
    ]
}

#[test]
fn private_cells_that_are_replaced_move_each_release_within_its_sensitivity_and_nothing_else() {
    cases().into_par_iter().enumerate().for_each(|(seed, (case, private))| {
        let mut rng = ChaCha8Rng::seed_from_u64(100 + seed as u64);
        let table = Table::ending_in(Kind::Ordinary, &mut rng);
        let recorded = Recording::of(&case, &table.bytes());
        recorded.is_covered(&case, &table.bytes());
        let mut largest = 0.0f64;
        for round in 0..PAIRS {
            let (column, cell) = (*private.choose(&mut rng).unwrap(), CELLS.choose(&mut rng).unwrap());
            let neighbour = table.relabelled(column, cell, &mut rng);
            let replay = recorded.replayed(&case, &neighbour.bytes(), round % recorded.sensitivities().len());
            let shares = agree(&recorded.run, &replay, &recorded.sensitivities())
                .unwrap_or_else(|e| panic!("{} {cell:?}: {e}\n{neighbour:?}", case.name));
            largest = shares.into_iter().fold(largest, f64::max);
        }
        assert!(largest > 0.2, "{}: {largest} of the sensitivity", case.name);
    });
}

/// What is not protected shows: public cells that differ are told apart by all that is free.
#[test]
fn a_public_cell_that_is_replaced_shows() {
    let (case, _) = cases().swap_remove(0);
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let table = Table::ending_in(Kind::Ordinary, &mut rng);
    let recorded = Recording::of(&case, &table.bytes());
    let shown = (0..10).filter(|_| {
        let neighbour = table.relabelled(0, &format!("{:.3}", rng.random_range(0.0..10.0)), &mut rng.clone());
        let replay = recorded.replayed(&case, &neighbour.bytes(), 0);
        agree(&recorded.run, &replay, &recorded.sensitivities()).is_err()
    });
    assert!(shown.count() > 5);
}
