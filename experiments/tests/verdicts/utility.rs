//! The verdict of the utility experiment notices a planted error.

use rhograd_experiments::setup::{Plant, Setup};
use rhograd_experiments::utility;

use crate::{assert_sound, assert_turned};

fn setup(folder: &std::path::Path, plant: Option<Plant>) -> Setup {
    let mut setup = Setup { plant, ..Setup::of("utility", true, Some(folder)) };
    setup.utility.algorithm = Some(rhograd::train::Algorithm::Auto);
    setup.utility.data = vec!["randhie".into()];
    setup
}

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn a_wrong_step_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let verdict = utility::run(&setup(folder.path(), None)).unwrap();
    assert_sound(&verdict);
    for file in ["results-randhie.csv", "plot.svg", "tables.md"] {
        assert!(folder.path().join("utility").join(file).exists(), "{file}");
    }
    // In the same folder: measurements of the sound run are not taken for those of the planted one.
    let verdict = utility::run(&setup(folder.path(), Some(Plant::WrongStep))).unwrap();
    assert_turned(&verdict);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn an_error_that_cannot_be_noticed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(utility::run(&setup(folder.path(), Some(Plant::HalfNoise))).is_err());
}
