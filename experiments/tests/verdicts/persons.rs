//! The verdict of the experiment about persons notices a planted error.

use rhograd_experiments::persons;
use rhograd_experiments::setup::{Plant, Setup};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn a_step_of_the_wrong_sign_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("persons", true, Some(folder.path())) };
    let verdict = persons::run(&setup(Some(Plant::WrongStep))).unwrap();
    let missed = |what: &str| verdict.0.iter().any(|finding| finding.quantity.contains(what) && !finding.is_near());
    assert!(missed("AUC of descent: joint clip above"), "{}", verdict.text());
    assert!(persons::run(&setup(Some(Plant::HalfNoise))).is_err());
}
