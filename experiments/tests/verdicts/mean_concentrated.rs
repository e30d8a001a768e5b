//! The verdict of the mean-concentrated experiment notices planted errors.

use rhograd_experiments::mean_concentrated;
use rhograd_experiments::setup::{Plant, Setup};

#[test]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("mean-concentrated", true, Some(folder.path())) };
    let verdict = mean_concentrated::run(&setup(None)).unwrap();
    assert!(verdict.is_near(), "{}", verdict.text());
    let verdict = mean_concentrated::run(&setup(Some(Plant::HalfNoise))).unwrap();
    assert!(!verdict.is_near(), "{}", verdict.text());
    assert!(mean_concentrated::run(&setup(Some(Plant::WrongStep))).is_err());
}
