//! The verdict of the gradient-complexity experiment notices planted errors.

use rhograd_experiments::gradient_complexity;
use rhograd_experiments::setup::{Plant, Setup};

use crate::{assert_sound, assert_turned};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn half_the_noise_and_a_wrong_step_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("gradient-complexity", true, Some(folder.path())) };
    let verdict = gradient_complexity::run(&setup(None)).unwrap();
    assert_sound(&verdict);
    for plant in [Plant::HalfNoise, Plant::WrongStep] {
        let verdict = gradient_complexity::run(&setup(Some(plant))).unwrap();
        assert_turned(&verdict);
    }
}
