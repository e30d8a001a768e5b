//! The verdict of the audit-power experiment notices planted errors.

use rhograd_experiments::audit_power;
use rhograd_experiments::setup::{Plant, Setup};

use crate::{assert_sound, assert_turned};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("audit-power", true, Some(folder.path())) };
    let verdict = audit_power::run(&setup(None)).unwrap();
    assert_sound(&verdict);
    let verdict = audit_power::run(&setup(Some(Plant::HalfNoise))).unwrap();
    assert_turned(&verdict);
    assert!(audit_power::run(&setup(Some(Plant::WrongStep))).is_err());
}
