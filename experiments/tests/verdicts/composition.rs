//! The verdict of the composition experiment notices planted errors.

use rhograd_experiments::composition;
use rhograd_experiments::setup::{Plant, Setup};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn half_the_noise_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("composition", true, Some(folder.path())) };
    let verdict = composition::run(&setup(None)).unwrap();
    assert!(verdict.is_near(), "{}", verdict.text());
    let verdict = composition::run(&setup(Some(Plant::HalfNoise))).unwrap();
    let missed = |what: &str| verdict.0.iter().any(|finding| finding.quantity.starts_with(what) && !finding.is_near());
    // Both halves of the experiment notice: what accountants promise, and what the noise does.
    assert!(missed("largest epsilon of exact") && missed("variance of the loss"), "{}", verdict.text());
    assert!(composition::run(&setup(Some(Plant::WrongStep))).is_err());
}
