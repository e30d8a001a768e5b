//! The verdict of the generalization experiment notices planted errors.

use rhograd_experiments::generalization;
use rhograd_experiments::setup::{Plant, Setup};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("generalization", true, Some(folder.path())) };
    let verdict = generalization::run(&setup(None)).unwrap();
    assert!(verdict.is_near(), "{}", verdict.text());
    let verdict = generalization::run(&setup(Some(Plant::HalfNoise))).unwrap();
    assert!(!verdict.is_near(), "{}", verdict.text());
    assert!(generalization::run(&setup(Some(Plant::WrongStep))).is_err());
}
