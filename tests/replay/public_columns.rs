//! Public columns: neighbours have another text in private cells of one row, and the same lines otherwise.

use rayon::prelude::*;
use rhograd::privacy::Adjacency;
use rhograd::train::{Algorithm, TrainConfig};

use crate::case;
use crate::invariants::neighbours::{LABELS, NUMBERS};
use crate::recorder::Case;
use crate::replaced::{largest_share, shown};

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
        let largest = largest_share(&case, &private, &CELLS, PAIRS, 100 + seed as u64);
        assert!(largest > 0.2, "{}: {largest} of the sensitivity", case.name);
    });
}

/// What is not protected shows: public cells that differ are told apart by all that is free.
#[test]
fn a_public_cell_that_is_replaced_shows() {
    let (case, _) = cases().swap_remove(0);
    assert!(shown(&case) > 5);
}
