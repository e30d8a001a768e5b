//! Labels alone: neighbours have another text in one cell of the target, and the same lines otherwise.

use rayon::prelude::*;
use rhograd::data::Protect;
use rhograd::privacy::Adjacency;
use rhograd::train::{Algorithm, ModelKind, TrainConfig};

use crate::case;
use crate::invariants::neighbours::{CLASSES, LABELS, NUMBERS};
use crate::recorder::Case;
use crate::replaced::{largest_share, shown};

/// Pairs of each case.
const PAIRS: usize = 120;

/// What may stand in a cell of a target: labels and numbers, and what is none.
const CELLS: [&str; 22] = [
    "yes",
    "no",
    "no\rx",
    "\r",
    "u",
    "v",
    "w",
    "-1",
    "1",
    "0",
    "0.25",
    "5",
    "1e999",
    "-inf",
    "nan",
    "",
    "?",
    "maybe",
    " yes ",
    "YES",
    "1e-320",
    "never seen",
];

/// Each with the column of its target.
fn cases() -> Vec<(Case, usize)> {
    let counts = NUMBERS.replace("\"target_lower\":-1,\"target_upper\":1", "\"target_lower\":0,\"target_upper\":6");
    let of = |name: &str, schema: &str, model: Option<ModelKind>, column: usize| {
        let plain = case(name, schema, Algorithm::LabelSums);
        let config = TrainConfig { model, adjacency: Adjacency::ReplaceOne, ..plain.config };
        (Case { schema: plain.schema.with_protect(Protect::Label).unwrap(), config, ..plain }, column)
    };
    let open = LABELS.replace(",\"negative\":\"no\"", "");
    vec![
        of("labels", LABELS, None, 3),
        of("labels, any other counts as 0", &open, None, 3),
        of("numbers", NUMBERS, None, 1),
        of("ridge", NUMBERS, Some(ModelKind::Ridge), 1),
        of("counts", &counts, Some(ModelKind::poisson()), 1),
        of("classes", CLASSES, Some(ModelKind::Multinomial), 2),
    ]
}

#[test]
fn a_label_that_is_replaced_moves_one_sum_within_its_sensitivity_and_nothing_else() {
    cases().into_par_iter().enumerate().for_each(|(seed, (case, column))| {
        let largest = largest_share(&case, &[column], &CELLS, PAIRS, seed as u64);
        // Rows beyond the clip use all of it where a label goes from one end to the other.
        assert!(largest > 0.9, "{}: {largest} of the sensitivity", case.name);
    });
}

/// The audit that looks for what is not protected: features that differ are told apart by all that is free.
#[test]
fn a_feature_that_is_replaced_shows() {
    let (case, _) = cases().swap_remove(0);
    assert!(shown(&case) > 5);
}
