//! What a guarantee is not about: the schema, the public number of rows, and what a released schema cost.

use crate::privacy::PrivacyUnit;
use crate::statement::Statement;

/// What is told of the rows without noise of this run: the schema, and their number where it is public.
pub(super) fn outside_the_guarantee(statement: &Statement) -> String {
    let facts = &statement.facts;
    let schema = match &facts.released_schema {
        Some(_) => "The schema, which was released from the same rows by a release that was paid for",
        None if facts.unit == PrivacyUnit::Label => {
            "All features of all rows, and the schema: names, bounds and values of columns, which were set without looking at the labels"
        }
        None if facts.unit.is_private_cells() => {
            "The public columns of all rows, and the schema: names, bounds and values of columns, which were set without looking at private cells"
        }
        None => "The schema: names, bounds and values of columns, which were set without looking at the rows",
    };
    match facts.rows {
        Some(rows) => format!("{schema}; the number of rows, as public: {rows} ({}).", facts.rows_origin),
        None if statement.definition.row_count_is_public => format!("{schema}; the number of rows, which is public."),
        None => format!("{schema}."),
    }
}

/// What a released schema cost besides; nothing where there is none.
pub(super) fn cost_of_the_schema(statement: &Statement) -> String {
    statement.facts.released_schema.as_ref().map_or(String::new(), |release| {
        format!(
            ". The schema was released from the same rows at a cost of its own, which these parameters do not hold: epsilon {} at delta {}",
            release.epsilon, release.delta
        )
    })
}
