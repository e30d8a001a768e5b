//! The verdict of the experiment about persons notices a planted error.

use rhograd_experiments::persons;
use rhograd_experiments::setup::{Plant, Setup};

use crate::{assert_sound, assert_turned, failed};

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn a_step_of_the_wrong_sign_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of("persons", true, Some(folder.path())) };
    assert_sound(&persons::run(&setup(None)).unwrap());
    let verdict = persons::run(&setup(Some(Plant::WrongStep))).unwrap();
    assert_turned(&verdict);
    assert!(failed(&verdict, "generated: AUC of descent: joint clip above"), "{}", verdict.text());
    assert!(persons::run(&setup(Some(Plant::HalfNoise))).is_err());
}
