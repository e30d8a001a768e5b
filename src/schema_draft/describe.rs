//! The schema that released intervals and values make.

use std::path::Path;

use super::domain::Domain;
use super::roles::Kind;
use super::run::Draft;
use crate::data::{Column, Missing, Schema, SchemaRelease, Task, Unit};
use crate::error::{Error, Fallible};
use crate::optim::Frequent;

/// Most values of a column, the most frequent ones.
const MAX_VALUES: usize = 256;

/// A target written in numbers has labels if there are at most so many,
const MAX_NUMBERED: usize = 10;

/// and they are held by at least this share of the rows.
const MIN_COVERED: f64 = 0.9;

/// Undeclared values, and missing numbers, get a coefficient of their own if at least this share of the rows holds them,
const MIN_OTHER: f64 = 0.01;

/// and if that share is above the noise by so many deviations.
const CLEAR: f64 = 2.0;

/// What stands for undeclared values.
const OTHER: &str = "(other)";

/// Builds the schema, with notes on what it leaves out.
///
/// # Errors
/// When no label or no feature was released.
pub(super) fn schema(
    draft: &Draft<'_>,
    domain: &Domain,
    rows: f64,
    release: SchemaRelease,
) -> Fallible<(Schema, Vec<String>)> {
    let header = draft.cells.header();
    let target = draft.roles.target;
    let mut notes = Vec::new();
    if let Some((threshold, _)) = domain.threshold {
        let who = if draft.request.unit.is_some() { "persons" } else { "rows" };
        notes.push(format!("values held by fewer than about {threshold:.0} {who} are not declared"));
    }
    let public = draft.request.rows.then_some(rows.round().max(1.0) as u64);
    let unit = draft.request.unit.as_ref().map(|column| Unit { persons: public, ..Unit::new(column.as_str()) });
    let mut schema = Schema {
        rows: public.filter(|_| unit.is_none()),
        unit,
        draft: !draft.secret,
        // Known noise protects nobody, so there is no cost to state, and the mark stays.
        released: draft.secret.then_some(release),
        ..Schema::without_columns(draft.request.name.clone(), header[target].clone(), Task::Regression)
    };
    describe_target(&mut schema, draft, domain, rows)?;
    let is_unit = |name: &String| draft.request.unit.as_ref() == Some(name);
    for (column, name) in header.iter().enumerate().filter(|(column, name)| *column != target && !is_unit(name)) {
        let described = match draft.roles.kinds[column] {
            Some(Kind::Numeric(_)) => bounds(domain, column).map(|bounds| told(bounds, draft, column, rows)),
            Some(Kind::Categorical) => categories(domain, column, rows, missing(draft, column, rows)),
            Some(Kind::Ignored) | None => None,
        };
        match described {
            Some(described) => schema.columns.0.push((name.clone(), described)),
            None => {
                if !draft.request.ignore.contains(name) {
                    notes.push(format!("column {name:?} is ignored: no value of it is frequent enough to be released"));
                }
                schema.ignore.push(name.clone());
            }
        }
    }
    // The same rules as for a schema that somebody wrote.
    let text = serde_json::to_string(&schema).map_err(|error| Error::numerical("schema", error.to_string()))?;
    Schema::parse(&text, Path::new("the draft")).map_err(|error| {
        Error::refused(format!("no schema follows from what was released ({error})"), "use a larger budget")
    })?;
    Ok((schema, notes))
}

fn bounds(domain: &Domain, column: usize) -> Option<Column> {
    let (_, (lower, upper)) = domain.bounds.iter().find(|(of, _)| *of == column)?;
    Some(Column::number(*lower, *upper))
}

/// The released number of missing cells, where there are enough of them.
fn missing(draft: &Draft<'_>, column: usize, rows: f64) -> Option<f64> {
    // Three noised numbers make it.
    let noise = draft.roles.deviation * f64::sqrt(3.0);
    draft.roles.missing.get(&column).copied().filter(|missing| *missing > MIN_OTHER * rows && *missing > CLEAR * noise)
}

/// Bounds with a coefficient for missing numbers, where a release says that there are enough of them.
fn told(bounds: Column, draft: &Draft<'_>, column: usize, rows: f64) -> Column {
    match bounds {
        Column::Numeric { lower, upper, .. } if missing(draft, column, rows).is_some() => {
            Column::Numeric { lower, upper, missing: Missing::Indicator, public: false }
        }
        bounds => bounds,
    }
}

fn frequent(domain: &Domain, column: usize) -> &[Frequent] {
    let values = domain.values.iter().find(|(of, _)| *of == column).map_or(&[][..], |(_, values)| values);
    &values[..values.len().min(MAX_VALUES)]
}

fn held(values: &[Frequent]) -> f64 {
    values.iter().map(|value| value.rows).sum()
}

fn categories(domain: &Domain, column: usize, rows: f64, missing: Option<f64>) -> Option<Column> {
    let frequent = frequent(domain, column);
    let mut values: Vec<String> = frequent.iter().map(|value| value.value.clone()).collect();
    if values.is_empty() {
        return None;
    }
    let deviation = domain.threshold.map_or(0.0, |(_, deviation)| deviation) * (values.len() as f64).sqrt();
    let undeclared = rows - held(frequent) - missing.unwrap_or(0.0);
    let matters = undeclared > MIN_OTHER * rows && undeclared > CLEAR * deviation;
    let known = values.iter().any(|value| value == OTHER);
    if matters && !known {
        values.push(OTHER.into());
    }
    // The empty text is the one of a missing cell.
    values.extend(missing.map(|_| String::new()));
    Some(Column::Categorical { values, other: matters.then(|| OTHER.into()), public: false })
}

/// Labels where there are some, the rarer of two counting as 1; else a number.
fn describe_target(schema: &mut Schema, draft: &Draft<'_>, domain: &Domain, rows: f64) -> Fallible<()> {
    let target = draft.roles.target;
    let labels = frequent(domain, target);
    let numeric = bounds(domain, target);
    let labelled = match numeric {
        None => true,
        Some(_) => (2..=MAX_NUMBERED).contains(&labels.len()) && held(labels) > MIN_COVERED * rows,
    };
    match (numeric, labels) {
        (Some(Column::Numeric { lower, upper, .. }), _) if !labelled => {
            schema.target_lower = Some(lower);
            schema.target_upper = Some(upper);
        }
        (_, [often, rarely]) => {
            schema.task = Task::Classification;
            schema.positive = Some(rarely.value.clone());
            schema.negative = Some(often.value.clone());
        }
        (_, labels) if labels.len() > 2 => {
            schema.task = Task::Classification;
            let values = labels.iter().map(|label| label.value.clone()).collect();
            schema.columns.0.push((schema.target.clone(), Column::categories(values)));
        }
        _ => {
            return Err(Error::refused(
                "fewer than two labels of the target are frequent enough to be released",
                "use a larger budget, or --task regression for numbers",
            ));
        }
    }
    Ok(())
}
