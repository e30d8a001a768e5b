//! The verdict of the tcdp-sampling experiment notices planted errors.

use rhograd_experiments::setup::{Plant, Setup};
use rhograd_experiments::tcdp_sampling;

#[test]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("tcdp-sampling", true, Some(folder.path())) };
    let verdict = tcdp_sampling::run(&setup(None)).unwrap();
    assert!(verdict.is_near(), "{}", verdict.text());
    let verdict = tcdp_sampling::run(&setup(Some(Plant::HalfNoise))).unwrap();
    assert!(!verdict.is_near(), "{}", verdict.text());
    assert!(tcdp_sampling::run(&setup(Some(Plant::WrongStep))).is_err());
}
