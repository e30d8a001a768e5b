//! The words of a statement for what neighbours differ in.

use super::facts::Facts;
use crate::data::{Estimand, RowWeight};
use crate::privacy::{Adjacency, PrivacyUnit};

/// One unit, and several.
pub(super) fn nouns(unit: &PrivacyUnit) -> (&'static str, &'static str) {
    match unit {
        PrivacyUnit::Row | PrivacyUnit::PrivateCells { .. } => ("row", "rows"),
        PrivacyUnit::Person { .. } => ("person", "persons"),
        PrivacyUnit::Label => ("label", "labels"),
    }
}

/// How neighbours differ, for the sentence of the guarantee.
pub(super) fn change(facts: &Facts) -> String {
    facts.unit.change(facts.adjacency)
}

/// How much rows count.
fn weighs(weight: &RowWeight) -> String {
    format!(
        "weighs rows: a row of weight w counts w / {largest} of one of the largest weight, {largest}, in everything that is released, so no row \
         counts for more than one; w is {}, and protected like every other cell",
        weight.in_words(),
        largest = weight.largest(),
    )
}

/// What is added to margins.
fn adds(weight: &RowWeight) -> Option<String> {
    weight.offset.as_ref().map(|offset| {
        format!(
            "adds the number in \"{}\", from {} to {}, to the margin of a row, protected like every other cell; the model predicts for an offset of 0",
            offset.column, offset.lower, offset.upper
        )
    })
}

/// Whom the guarantee protects and whom it does not.
pub(super) fn limits(facts: &Facts) -> Vec<String> {
    let column = match &facts.unit {
        PrivacyUnit::Row => {
            let rows = "protects rows, not persons with several rows".to_owned();
            let weighs = facts.weight.as_ref().filter(|weight| weight.is_of_rows()).map(weighs);
            return [rows].into_iter().chain(weighs).chain(facts.weight.as_ref().and_then(adds)).collect();
        }
        PrivacyUnit::Label => {
            return vec![
                "protects labels alone: features, which rows there are and how many are taken for public, so that a model may show whatever \
                 follows from them"
                    .into(),
                "protects each label alone, not all labels of a person with several rows together".into(),
                "does not stop anyone from predicting a label from features: that is what the model is for, and it may do so nearly as well \
                 for a row that took no part"
                    .into(),
                "files are taken to differ in the cell of one label alone, which neither opens a quote, nor adds a cell, nor makes its line \
                 longer than a line may be"
                    .into(),
            ];
        }
        PrivacyUnit::PrivateCells { public } => {
            return vec![
                format!(
                    "does not protect the public columns, which rows there are or how many; a model may show whatever follows from these. Public \
                     are: {}",
                    public.join(", ")
                ),
                "protects the private cells of one row, not those of a person with several rows".into(),
                "files are taken to differ in private cells of one row alone, which neither open a quote, nor add a cell, nor make their line \
                 longer than a line may be"
                    .into(),
            ];
        }
        PrivacyUnit::Person { column } => column,
    };
    // One of several under an identifier comes or goes by two steps: all leave, and the others enter.
    let within = match facts.adjacency {
        Adjacency::AddRemove => "as a group of 2: all rows leave, and those of the others come back",
        Adjacency::ReplaceOne => "at the cost stated, for their part is replaced",
    };
    let mut limits = vec![
        format!(
            "protects persons as the column \"{column}\" tells them apart: somebody with two identifiers is two persons, each \
             protected alone"
        ),
        format!(
            "protects one of several that share an identifier in \"{column}\" (the members of a household, say), and one row of \
             many, {within}; and only if all rows of theirs have that identifier"
        ),
        match facts.estimand {
            Estimand::Persons => {
                "weighs persons and not rows: all rows of a person count as one, so the model estimates the mean over persons"
            }
            Estimand::Rows => {
                "weighs rows as far as the clip lets it: a person counts once for each row up to the clip norm, so the model \
                 estimates the mean over rows, in which persons with many more rows than others count for less than these"
            }
        }
        .into(),
    ];
    if facts.adjacency == Adjacency::ReplaceOne {
        limits.push("the number of persons is public; how many rows each of them has is not".into());
    }
    limits
}
