//! Neighbours that have other texts in some cells of one row, and the same lines otherwise.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::invariants::neighbours::{Kind, Table};
use crate::invariants::replay::agree;
use crate::recorder::{Case, Recording};

/// The largest share of its sensitivity that a release uses, where a cell of one of these columns is replaced by one of `cells` in each of
/// `pairs` neighbours; each pair is looked at in one release and in all else that leaves.
///
/// # Panics
/// When a release moves further, or anything else moves at all.
pub fn largest_share(case: &Case, columns: &[usize], cells: &[&str], pairs: usize, seed: u64) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let table = Table::ending_in(Kind::Ordinary, &mut rng);
    let recorded = Recording::of(case, &table.bytes());
    recorded.is_covered(case, &table.bytes());
    let sensitivities = recorded.sensitivities();
    let mut largest = 0.0f64;
    for pair in 0..pairs {
        let (column, cell) = (*columns.choose(&mut rng).unwrap(), *cells.choose(&mut rng).unwrap());
        let neighbour = table.relabelled(column, cell, &mut rng);
        let replay = recorded.replayed(case, &neighbour.bytes(), pair % sensitivities.len());
        let shares = agree(&recorded.run, &replay, &sensitivities)
            .unwrap_or_else(|e| panic!("{} {cell:?}: {e}\n{neighbour:?}", case.name));
        largest = shares.into_iter().fold(largest, f64::max);
    }
    largest
}

/// In how many of ten neighbours another number in the first column shows in what is free: it must, where it is not protected.
pub fn shown(case: &Case) -> usize {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let table = Table::ending_in(Kind::Ordinary, &mut rng);
    let recorded = Recording::of(case, &table.bytes());
    let shown = (0..10).filter(|_| {
        let neighbour = table.relabelled(0, &format!("{:.3}", rng.random_range(0.0..10.0)), &mut rng.clone());
        let replay = recorded.replayed(case, &neighbour.bytes(), 0);
        agree(&recorded.run, &replay, &recorded.sensitivities()).is_err()
    });
    shown.count()
}
