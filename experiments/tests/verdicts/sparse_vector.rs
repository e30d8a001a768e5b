//! The verdict of the sparse-vector experiment notices planted errors.

use rhograd_experiments::setup::{Plant, Setup};
use rhograd_experiments::sparse_vector;

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("sparse-vector", true, Some(folder.path())) };
    let verdict = sparse_vector::run(&setup(None)).unwrap();
    assert!(verdict.is_near(), "{}", verdict.text());
    let verdict = sparse_vector::run(&setup(Some(Plant::HalfNoise))).unwrap();
    assert!(!verdict.is_near(), "{}", verdict.text());
    assert!(sparse_vector::run(&setup(Some(Plant::WrongStep))).is_err());
}
