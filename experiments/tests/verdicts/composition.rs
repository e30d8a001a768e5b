//! The verdict of the composition experiment notices planted errors.

use rhograd_experiments::composition;
use rhograd_experiments::setup::{Plant, Setup};

use crate::{assert_sound, assert_turned, failed};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("composition", true, Some(folder.path())) };
    let verdict = composition::run(&setup(None)).unwrap();
    assert_sound(&verdict);
    let verdict = composition::run(&setup(Some(Plant::HalfNoise))).unwrap();
    assert_turned(&verdict);
    // Both halves of the experiment notice: what accountants promise, and what the noise does.
    for what in ["largest epsilon of exact", "variance of the loss"] {
        assert!(failed(&verdict, what), "{what}\n{}", verdict.text());
    }
    assert!(composition::run(&setup(Some(Plant::WrongStep))).is_err());
}
