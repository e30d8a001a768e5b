//! The verdict of the experiment on losses notices a planted error.

use rhograd_experiments::losses;
use rhograd_experiments::setup::{Plant, Setup};

use crate::{assert_sound, assert_turned};

fn setup(folder: &std::path::Path, plant: Option<Plant>) -> Setup {
    let mut setup = Setup { plant, ..Setup::of("losses", true, Some(folder)) };
    setup.utility.data = vec!["fair".into()];
    setup
}

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn a_wrong_step_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let verdict = losses::run(&setup(folder.path(), None)).unwrap();
    assert_sound(&verdict);
    for file in ["results.csv", "plot.svg", "tables.md"] {
        assert!(folder.path().join("losses").join(file).exists(), "{file}");
    }
    let verdict = losses::run(&setup(folder.path(), Some(Plant::WrongStep))).unwrap();
    assert_turned(&verdict);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn an_error_that_cannot_be_noticed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(losses::run(&setup(folder.path(), Some(Plant::HalfNoise))).is_err());
}
