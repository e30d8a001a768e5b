//! The verdict of the reconstruction experiment notices planted errors.

use rhograd_experiments::reconstruction;
use rhograd_experiments::setup::{Plant, Setup};

#[test]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("reconstruction", true, Some(folder.path())) };
    let verdict = reconstruction::run(&setup(None)).unwrap();
    assert!(verdict.is_near(), "{}", verdict.text());
    let verdict = reconstruction::run(&setup(Some(Plant::HalfNoise))).unwrap();
    assert!(!verdict.is_near(), "{}", verdict.text());
    assert!(reconstruction::run(&setup(Some(Plant::WrongStep))).is_err());
}
