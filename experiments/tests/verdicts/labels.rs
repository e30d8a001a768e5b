//! The verdict of the experiment on labels notices a planted error.

use rhograd_experiments::labels;
use rhograd_experiments::setup::{Plant, Setup};

use crate::{assert_sound, assert_turned};

fn setup(folder: &std::path::Path, plant: Option<Plant>) -> Setup {
    Setup { plant, ..Setup::of("labels", true, Some(folder)) }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn a_clip_that_no_rule_would_choose_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    assert_sound(&labels::run(&setup(folder.path(), None)).unwrap());
    for file in ["results.csv", "plot.svg", "tables.md"] {
        assert!(folder.path().join("labels").join(file).exists(), "{file}");
    }
    assert_turned(&labels::run(&setup(folder.path(), Some(Plant::WrongStep))).unwrap());
    assert!(labels::run(&setup(folder.path(), Some(Plant::HalfNoise))).is_err());
}
