//! The verdict of the adjacency experiment notices planted errors.

use rhograd_experiments::adjacency;
use rhograd_experiments::setup::{Plant, Setup};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("adjacency", true, Some(folder.path())) };
    let verdict = adjacency::run(&setup(None)).unwrap();
    assert!(verdict.is_near(), "{}", verdict.text());
    let verdict = adjacency::run(&setup(Some(Plant::HalfNoise))).unwrap();
    let missed = |what: &str| verdict.0.iter().any(|finding| finding.quantity.starts_with(what) && !finding.is_near());
    // In rho, in epsilon, in the noise of a budget, and in what the trainer releases.
    for what in ["full batches: least ratio of rho", "full batches: least ratio of noise", "samples", "dp-gd", "dp-sgd"]
    {
        assert!(missed(what), "{what}\n{}", verdict.text());
    }
    assert!(adjacency::run(&setup(Some(Plant::WrongStep))).is_err());
}
