//! The verdict of the marginals experiment notices planted errors.

use rhograd_experiments::marginals;
use rhograd_experiments::setup::{Plant, Setup};

use crate::{assert_sound, assert_turned};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("marginals", true, Some(folder.path())) };
    let verdict = marginals::run(&setup(None)).unwrap();
    assert_sound(&verdict);
    let verdict = marginals::run(&setup(Some(Plant::HalfNoise))).unwrap();
    assert_turned(&verdict);
    assert!(marginals::run(&setup(Some(Plant::WrongStep))).is_err());
}
