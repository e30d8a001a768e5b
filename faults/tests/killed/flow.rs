//! Faults of what is done with a sum: what a step follows from, and what shows.

use rhograd::privacy::Adjacency;
use rhograd_faults::invariants::neighbours::Table;
use rhograd_faults::{Honest, Parts, recorded};

use super::{SHOWS, replay_finds};

/// Noise is added to a copy, and the step goes along the gradient computed again.
struct Recomputed;

impl Parts for Recomputed {
    fn direction(&self, sum: &[i128], _: &[i128]) -> Vec<i128> {
        sum.to_vec()
    }
}

#[test]
fn fault_9_noise_is_added_and_the_gradient_computed_again() {
    replay_finds(&Recomputed, SHOWS);
}

/// Means are over the rows that there are.
struct TrueMean;

impl Parts for TrueMean {
    fn divisor(&self, rows: usize) -> f64 {
        rows as f64
    }
}

#[test]
fn fault_16_means_divide_by_the_true_number_of_rows() {
    replay_finds(&TrueMean, SHOWS);
}

/// More rows, longer steps.
struct RateOfRows;

impl Parts for RateOfRows {
    fn rate(&self, rows: usize) -> f64 {
        (rows as f64).sqrt() / 8.0
    }
}

#[test]
fn fault_19_the_step_size_follows_the_number_of_rows() {
    replay_finds(&RateOfRows, SHOWS);
}

/// Training ends once the exact slope along the intercept is small enough.
struct StopsEarly {
    below: i128,
}

impl Parts for StopsEarly {
    fn stops(&self, sum: &[i128]) -> bool {
        sum.last().is_some_and(|&slope| slope < self.below)
    }
}

#[test]
fn fault_20_training_stops_on_an_exact_loss() {
    let [fewer, more] = [20, 21].map(|count| Table::of("3,0.5,v,yes", count));
    let slope = *Honest.sums(&fewer.bytes())(&[0.0; 6]).last().unwrap();
    let check = |parts: &dyn Parts| recorded(parts, Adjacency::AddRemove, &fewer, &more);
    check(&Honest).unwrap();
    check(&StopsEarly { below: i128::MIN }).unwrap();
    let found = check(&StopsEarly { below: i128::from(slope) }).unwrap_err();
    assert!(found.contains(SHOWS), "{found}");
}
