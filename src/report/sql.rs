//! A model as a query: whoever has rows in a database predicts there.

use crate::error::{Error, Fallible};
use crate::model_kind::Link;
use crate::text::visible;
use crate::train::{Coefficient, Feature, ModelFile, Target};

/// A query that adds the predictions of a model to every row of a table.
///
/// It is plain SQL of conditions, sums and `EXP`, as SQLite, PostgreSQL and DuckDB read it. Numbers outside their bounds count as the nearer
/// bound, `NULL` as the middle of the bounds. Categories are compared as text without blanks around it, and whole numbers also as they are
/// written with `.0`. It agrees with [`predict`](crate::train::predict) up to rounding.
///
/// Columns are added: `prediction` for a number, `probability` for a label, `score` for a support vector machine, and `probability_LABEL` for
/// each of several labels.
///
/// # Errors
/// When columns do something together (`--features rich`), which takes waves that a query cannot hold; when the name of the table is empty.
///
/// # Privacy
/// A function of the released model.
///
/// ```
/// use rhograd::prelude::*;
/// use rhograd::report::sql;
///
/// let schema = Schema::read("datasets/fair.schema.json".as_ref())?;
/// let file = CsvFile::open("datasets/fair.csv".as_ref())?;
/// let loaded = load(&TrainConfig::new(Budget::Rho(Rho::from_f64(0.1)?, None)), schema, &file, &|_, _| Ok(()))?;
/// let (trained, _) = train(loaded, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut |_| Ok(()))?;
///
/// let query = sql(&trained.model, "people")?;
/// assert!(query.contains("FROM \"people\"") && query.contains("AS \"probability\""));
/// # Ok::<(), Error>(())
/// ```
pub fn sql(model: &ModelFile, table: &str) -> Fallible<String> {
    if model.together.is_some() {
        return Err(Error::refused(
            "columns of this model do something together, which no query holds",
            "use `rhograd predict`, or train with --features additive",
        ));
    }
    if table.is_empty() {
        return Err(Error::parameter("--table", "is empty", "name the table with the rows"));
    }
    let outputs = model.intercept.values().len();
    let margins: Vec<String> = (0..outputs).map(|output| margin(model, output)).collect::<Fallible<_>>()?;
    let named = |output: usize| identifier(&format!("rhograd_margin_{output}"));
    let inner = margins.iter().enumerate().map(|(output, sum)| format!("  {sum}\n    AS {}", named(output)));
    let outer = outcomes(model, &(0..outputs).map(named).collect::<Vec<_>>());
    let outer = outer.into_iter().map(|(what, name)| format!("  {what}\n    AS {}", identifier(&name)));
    let statement = &model.statement;
    Ok(format!(
        "-- {}\n-- {}\nSELECT \"rhograd_rows\".*,\n{}\nFROM (\n  SELECT *,\n{}\n  FROM {}\n) AS \"rhograd_rows\"\n",
        visible(&format!(
            "Predictions of a model of \"{}\" by rhograd {}.",
            statement.dataset.id, statement.facts.version
        )),
        visible(&statement.statement),
        outer.collect::<Vec<_>>().join(",\n"),
        inner.collect::<Vec<_>>().join(",\n"),
        identifier(table)
    ))
}

/// The sum of what a row contributes to a margin.
fn margin(model: &ModelFile, output: usize) -> Fallible<String> {
    let at = |coefficient: &Coefficient| {
        let value = coefficient.values().get(output).copied();
        value.ok_or_else(|| Error::numerical("model", "has too few coefficients"))
    };
    let mut terms = vec![number(at(&model.intercept)?)];
    for feature in &model.features {
        terms.push(match feature {
            Feature::Numeric { name, lower, upper, map, coefficient } => {
                let (from, to) = (map.centre - map.limit * map.scale, map.centre + map.limit * map.scale);
                let within = |x: f64| x.max(from).min(to);
                let (low, high) = (within(*lower), within(*upper));
                let (column, middle) = (identifier(name), within(lower + (upper - lower) / 2.0));
                format!(
                    "{} * (CASE WHEN {column} IS NULL THEN {} WHEN {column} < {low} THEN {low} WHEN {column} > {high} THEN {high} ELSE {column} END - {})",
                    number(at(coefficient)? / map.scale),
                    number(middle),
                    number(map.centre),
                    low = number(low),
                    high = number(high),
                )
            }
            Feature::Steps { name, lower, upper, edges, coefficients, .. } => {
                let column = identifier(name);
                let values = coefficients.iter().map(at).collect::<Fallible<Vec<f64>>>()?;
                let middle = lower + (upper - lower) / 2.0;
                let of_middle = edges.partition_point(|&edge| edge <= middle);
                let value = |at: usize| values.get(at).map_or_else(|| number(0.0), |value| number(*value));
                // A number outside the bounds lies where the nearer bound does: an edge beyond them parts nothing.
                let parting = edges.iter().enumerate().filter(|(_, edge)| **edge > *lower && **edge <= *upper);
                let below = parting.map(|(at, edge)| format!(" WHEN {column} < {} THEN {}", number(*edge), value(at)));
                let last = edges.partition_point(|edge| edge <= upper);
                format!(
                    "CASE WHEN {column} IS NULL THEN {}{} ELSE {} END",
                    value(of_middle),
                    below.collect::<String>(),
                    value(last)
                )
            }
            Feature::Categorical { missing_of: Some(column), coefficients, .. } => {
                let effect = coefficients.first().map_or(Ok(0.0), at)?;
                format!("CASE WHEN {} IS NULL THEN {} ELSE {} END", identifier(column), number(effect), number(0.0))
            }
            Feature::Categorical { name, values, other, coefficients, .. } => {
                let text = format!("TRIM(CAST({} AS VARCHAR(65535)))", identifier(name));
                // A missing cell is the empty text.
                let blank = values.iter().any(|value| value.trim().is_empty());
                let column = if blank { format!("COALESCE({text}, '')") } else { text };
                let known = values.iter().zip(coefficients);
                let when = known.map(|(value, coefficient)| {
                    let texts: Vec<String> = spellings(value).iter().map(|text| literal(text)).collect();
                    Ok(format!(" WHEN {column} IN ({}) THEN {}", texts.join(", "), number(at(coefficient)?)))
                });
                let when = when.collect::<Fallible<String>>()?;
                let fallback = other.as_ref().and_then(|other| values.iter().position(|value| value == other));
                let fallback = fallback.and_then(|place| coefficients.get(place)).map_or(Ok(0.0), at)?;
                format!("CASE{when} ELSE {} END", number(fallback))
            }
        });
    }
    Ok(terms.join("\n  + "))
}

/// What is predicted from margins, and the names of the columns.
fn outcomes(model: &ModelFile, margins: &[String]) -> Vec<(String, String)> {
    let first = margins.first().cloned().unwrap_or_default();
    match (&model.target, model.model.link()) {
        (Target::Classes { labels, .. }, _) => {
            let share = |own: &String| {
                let each: Vec<String> = margins.iter().map(|margin| format!("EXP({margin} - {own})")).collect();
                format!("1.0 / ({})", each.join(" + "))
            };
            margins.iter().zip(labels).map(|(own, label)| (share(own), format!("probability_{label}"))).collect()
        }
        (Target::Label { .. }, Link::Score) => vec![(first, "score".into())],
        (Target::Label { .. }, _) => vec![(format!("1.0 / (1.0 + EXP(-{first}))"), "probability".into())],
        (Target::Number { lower, upper, centre, scale, .. }, link) => {
            let unit = match link {
                Link::LogRate { bound } => {
                    format!("EXP({})", within(&first, -bound, bound))
                }
                Link::LogOdds | Link::Score | Link::Softmax | Link::Identity => first,
            };
            let value = format!("({} + {} * {unit})", number(*centre), number(*scale));
            vec![(within(&value, *lower, *upper), "prediction".into())]
        }
    }
}

/// A value moved into an interval.
fn within(value: &str, low: f64, high: f64) -> String {
    let (low, high) = (number(low), number(high));
    format!("CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END")
}

/// How a database may write a value: a whole number with a point and a zero, too.
fn spellings(value: &str) -> Vec<String> {
    let value = value.trim_ascii();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = value.strip_prefix('-').unwrap_or(value);
    match unsigned.strip_suffix(".0") {
        Some(whole) if digits(whole) => vec![value.to_owned(), value.trim_end_matches(".0").to_owned()],
        None if digits(unsigned) => vec![value.to_owned(), format!("{value}.0")],
        _ => vec![value.to_owned()],
    }
}

/// A number with all its digits; in brackets where it has a sign.
fn number(value: f64) -> String {
    if value.is_sign_negative() { format!("({value:?})") } else { format!("{value:?}") }
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_quoted() {
        assert_eq!(identifier("a\"; DROP TABLE b"), "\"a\"\"; DROP TABLE b\"");
        assert_eq!(literal("O'Brien"), "'O''Brien'");
        assert_eq!((number(-0.5), number(1e-300)), ("(-0.5)".into(), "1e-300".into()));
        assert_eq!(spellings(" 3 "), ["3", "3.0"]);
        assert_eq!(spellings("-2.0"), ["-2.0", "-2"]);
        assert_eq!(spellings("3a"), ["3a"]);
        assert_eq!(spellings("1.50"), ["1.50"]);
    }
}
