//! The verdict of the adjacency experiment notices planted errors.

use rhograd_experiments::adjacency;
use rhograd_experiments::setup::{Plant, Setup};

use crate::{assert_sound, assert_turned, failed};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("adjacency", true, Some(folder.path())) };
    let verdict = adjacency::run(&setup(None)).unwrap();
    assert_sound(&verdict);
    let verdict = adjacency::run(&setup(Some(Plant::HalfNoise))).unwrap();
    assert_turned(&verdict);
    // In rho, in epsilon, in the noise of a budget, and in what the trainer releases.
    for what in ["full batches: least ratio of rho", "full batches: least ratio of noise", "samples", "dp-gd", "dp-sgd"]
    {
        assert!(failed(&verdict, what), "{what}\n{}", verdict.text());
    }
    assert!(adjacency::run(&setup(Some(Plant::WrongStep))).is_err());
}
