//! What a load found, in plain words for the custodian.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Serialize;

use crate::data::{Protect, Schema};
use crate::preprocess::{Count, Fault, LoadReport, Loss, offset_bounds};

/// The share of all rows, or of the cells of one column, from which on something is said to be mostly lost; public.
pub const MOSTLY: f64 = 0.5;

/// Findings that a short summary shows.
const SHOWN: usize = 12;

/// Something about the rows that the custodian may want to change before paying; computed from rows, never released.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The column that it is about, where it is about one.
    pub column: Option<String>,
    /// The share of the rows, or of the cells of the column, that does not count as what stands there.
    pub share: f64,
    /// What was found, in plain words, without any cell.
    pub text: String,
    /// What stands in the first such cell; shown by a check and nowhere else. Empty where nothing does.
    pub example: String,
}

impl Finding {
    pub(super) fn new(column: Option<&str>, share: f64, text: String) -> Self {
        Finding { column: column.map(String::from), share, text, example: String::new() }
    }

    /// Whether most rows, or most cells of the column, are lost.
    pub fn is_grave(&self) -> bool {
        self.share > MOSTLY
    }
}

/// What a load found, worst first; nothing where everything fits.
///
/// `place` is what the number of a row counts: `"line"` in files, `"row"` in tables.
pub fn findings(schema: &Schema, report: &LoadReport, place: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let rows = report.lines;
    if rows == 0 {
        found.push(Finding::new(None, 1.0, "there are no rows".into()));
    }
    found.extend(lost(schema, report, place));
    if report.positives == Some(0) && rows > 0 {
        let label = schema.positive.as_deref().unwrap_or_default();
        let text = format!("no row has the positive label {label:?}; check \"positive\" in the schema");
        found.push(Finding::new(Some(&schema.target), 1.0, text));
    }
    for (name, lenient, faults) in columns(schema).zip(&report.columns).map(|((name, lenient), f)| (name, lenient, f)) {
        for (fault, count) in faults {
            found.push(of_cells(&name, lenient, *fault, count, report, (name == schema.target, schema), place));
        }
    }
    sort(&mut found);
    found
}

/// Worst first; the order of the columns stays.
pub(super) fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| b.share.total_cmp(&a.share));
}

/// The first lines of a summary, and how many more there are; no cell stands in it.
pub fn summary(findings: &[Finding]) -> Vec<String> {
    let mut lines: Vec<String> = findings.iter().take(SHOWN).map(|finding| finding.text.clone()).collect();
    if findings.len() > SHOWN {
        lines.push(format!("and {} more findings; `rhograd check` shows all", findings.len() - SHOWN));
    }
    lines
}

/// The columns of a report: names, and whether undeclared values, or missing numbers, have a value that stands for them.
pub(super) fn columns(schema: &Schema) -> impl Iterator<Item = (Cow<'_, str>, bool)> {
    let told: HashSet<&str> = schema.categorical().filter_map(|column| Some(column.missing_of?.0)).collect();
    let numeric = schema.numeric().map(move |(name, ..)| (name.into(), told.contains(name)));
    let categorical = schema.categorical().map(|column| (column.name, column.other.is_some()));
    let [own, exposure, added] = schema.weight_columns();
    // The code of an offset has a place of its own.
    let offset = added.filter(|_| offset_bounds(schema).is_some());
    let joined = [own, exposure, added.filter(|_| offset.is_none())].into_iter().flatten().collect::<Vec<_>>();
    let weight = schema.weight.as_ref().map(|_| (joined.join(" and ").into(), false));
    let offset = offset.map(|name| (name.into(), false));
    numeric.chain(categorical).chain(offset).chain(weight).chain([(schema.target.as_str().into(), false)])
}

/// Lines that are no records, reason by reason.
fn lost<'a>(schema: &'a Schema, report: &'a LoadReport, place: &'a str) -> impl Iterator<Item = Finding> + 'a {
    report.lost.iter().filter_map(move |(loss, count)| {
        let why = match loss {
            Loss::FewCells => "fewer cells than the header",
            Loss::ManyCells => "more cells than the header: commas that are not quoted, or decimal commas",
            Loss::OpenQuote => "a quote that is not closed on its line: a line break inside quotes, for instance",
            Loss::TooLong => "too long a line",
            Loss::Form => "not of the form label index:value ...",
            // By column, with what stands there.
            Loss::Target => return None,
            Loss::Weight => "no weight, exposure or offset: nothing, no number, a negative weight, or an exposure of 0",
            Loss::Identifier => return Some(of_identifier(schema, count, report, place)),
        };
        let share = share(count.count, report.lines);
        let text = format!(
            "{} are no records and contribute nothing: {why}; the first is {place} {}",
            of("line", count.count, report.lines),
            count.line
        );
        Some(Finding::new(None, share, text))
    })
}

/// Rows that are nobody's.
fn of_identifier(schema: &Schema, count: &Count, report: &LoadReport, place: &str) -> Finding {
    let name = schema.unit.as_ref().map_or("", |unit| unit.column.as_str());
    let (rows, verb) = (of("row", count.count, report.lines), if count.count == 1 { "has" } else { "have" });
    let text = format!(
        "{rows} {verb} no identifier in {name:?}, so nobody's, and contribute nothing; the first is {place} {}",
        count.line
    );
    Finding::new(Some(name), share(count.count, report.lines), text)
}

fn of_cells(
    name: &str,
    lenient: bool,
    fault: Fault,
    count: &Count,
    report: &LoadReport,
    (is_target, schema): (bool, &Schema),
    place: &str,
) -> Finding {
    let lost = is_target && !matches!(fault, Fault::Below | Fault::Above);
    let what = match fault {
        Fault::Missing => "nothing",
        Fault::Unreadable => "text where a number belongs",
        Fault::DecimalComma => {
            "a number whose decimal sign is the other one of comma and point, which is not read (see --decimal)"
        }
        Fault::NotUtf8 => "bytes that are not UTF-8",
        Fault::Undeclared if is_target => "a label that the schema does not declare",
        Fault::Undeclared => "a value that the schema does not declare",
        Fault::Below => "a number below the lower bound",
        Fault::Above => "a number above the upper bound",
    };
    // Of lost rows nothing else is counted.
    let all = if is_target { report.lines } else { report.lines.saturating_sub(report.unusable) };
    let cell = if count.cell.is_empty() { String::new() } else { format!("{:?}", count.cell) };
    let met = if is_target && !report.labels.texts.is_empty() && fault == Fault::Undeclared {
        format!("; met: {}", report.labels)
    } else {
        String::new()
    };
    let effect = match (lost, schema.keeps_unlabelled(), schema.protect) {
        (true, false, _) => ", so their rows contribute nothing",
        (true, true, _) if schema.target_bounds().is_some() => ", so their rows count as the middle of the bounds",
        (true, true, Protect::Label) => ", so their rows count without a label",
        (true, true, Protect::Row) => ", so their rows contribute to what is public alone",
        (false, ..) if lenient && fault == Fault::Missing => ", which has a coefficient of its own",
        (false, ..) => "",
    };
    let cells = of("cell", count.count, all);
    let text = format!("{name:?}: {cells} hold {what}{effect}; the first is {place} {}", count.line);
    let counts = !(lenient && matches!(fault, Fault::Undeclared | Fault::Missing));
    let share = if counts { share(count.count, all) } else { 0.0 };
    Finding { example: cell + &met, ..Finding::new(Some(name), share, text) }
}

pub(super) fn share(count: u64, all: u64) -> f64 {
    count as f64 / all.max(1) as f64
}

/// "3 of 12 cells (25%)".
pub(super) fn of(what: &str, count: u64, all: u64) -> String {
    format!("{count} of {all} {what}s ({:.2}%)", 100.0 * share(count, all))
}
