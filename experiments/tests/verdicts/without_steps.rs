//! Verdicts of experiments on single releases and formulas, which have no step size: half the noise is noticed.

use rhograd::error::Fallible;
use rhograd_experiments::setup::{Plant, Setup};
use rhograd_experiments::verdict::Verdict;
use rhograd_experiments::{
    generalization, lemmas, mean_concentrated, point_queries, reconstruction, sparse_vector, summaries, tcdp_sampling,
};

use crate::{assert_sound, assert_turned};

fn check(name: &str, run: fn(&Setup) -> Fallible<Verdict>) {
    let folder = tempfile::tempdir().unwrap();
    let setup = |plant| Setup { plant, ..Setup::of(name, true, Some(folder.path())) };
    let verdict = run(&setup(None)).unwrap();
    assert_sound(&verdict);
    let verdict = run(&setup(Some(Plant::HalfNoise))).unwrap();
    assert_turned(&verdict);
    assert!(run(&setup(Some(Plant::WrongStep))).is_err());
}

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn generalization_notices() {
    check("generalization", generalization::run);
}

#[test]
fn lemmas_notice() {
    check("lemmas", lemmas::run);
}

#[test]
fn mean_concentrated_notices() {
    check("mean-concentrated", mean_concentrated::run);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn point_queries_notices() {
    check("point-queries", point_queries::run);
}

#[test]
fn reconstruction_notices() {
    check("reconstruction", reconstruction::run);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn sparse_vector_notices() {
    check("sparse-vector", sparse_vector::run);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "computes much: cargo test --release -p rhograd-experiments")]
fn summaries_notice() {
    check("summaries", summaries::run);
}

#[test]
fn tcdp_sampling_notices() {
    check("tcdp-sampling", tcdp_sampling::run);
}
