//! The verdict of the erm-rate experiment notices planted errors.

use rhograd_experiments::erm_rate;
use rhograd_experiments::setup::{Plant, Setup};

use crate::{assert_sound, assert_turned};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn half_the_noise_and_a_wrong_step_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let run = |plant| erm_rate::run(&Setup { plant, ..Setup::of("erm-rate", true, Some(folder.path())) }).unwrap();
    let verdict = run(None);
    assert_sound(&verdict);
    for plant in [Plant::HalfNoise, Plant::WrongStep] {
        let verdict = run(Some(plant));
        assert_turned(&verdict);
    }
}
