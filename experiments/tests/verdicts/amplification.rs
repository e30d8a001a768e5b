//! The verdict of the amplification experiment notices planted errors.

use rhograd_experiments::amplification;
use rhograd_experiments::setup::{Plant, Setup};

use crate::{assert_sound, assert_turned, failed};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("amplification", true, Some(folder.path())) };
    let verdict = amplification::run(&setup(None)).unwrap();
    assert_sound(&verdict);
    let verdict = amplification::run(&setup(Some(Plant::HalfNoise))).unwrap();
    assert_turned(&verdict);
    // Sampling would seem to help, the budget would be broken, and the trainer would add less than was calibrated.
    for what in ["least error over that of full batches", "largest epsilon spent", "dp-gd", "dp-sgd"] {
        assert!(failed(&verdict, what), "{what}\n{}", verdict.text());
    }
    assert!(amplification::run(&setup(Some(Plant::WrongStep))).is_err());
}
