//! The verdict of the audit-power experiment notices planted errors.

use rhograd_experiments::audit_power;
use rhograd_experiments::setup::{Plant, Setup};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("audit-power", true, Some(folder.path())) };
    let verdict = audit_power::run(&setup(None)).unwrap();
    assert!(verdict.is_near(), "{}", verdict.text());
    let verdict = audit_power::run(&setup(Some(Plant::HalfNoise))).unwrap();
    assert!(!verdict.is_near(), "{}", verdict.text());
    assert!(audit_power::run(&setup(Some(Plant::WrongStep))).is_err());
}
