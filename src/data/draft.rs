//! A first guess of a schema from the rows themselves: a help for custodians, and not private.

use std::collections::BTreeMap;

use super::column::{Column, Missing};
use super::schema::{Schema, Task};
use super::{CsvFile, Fields, is_decimal_comma, is_gap};
use crate::error::{Error, Fallible};

/// Columns with at most this many different texts that are not all numbers count as categories.
const MAX_VALUES: usize = 200;

/// Cells without a number get a coefficient of their own if they are at least this share of the records.
const MIN_MISSING: f64 = 0.01;

/// Drafts a schema by reading every row; the result has `draft` set, so what is trained with it is
/// marked as not private until a person has replaced the bounds by public ones.
///
/// `target` defaults to the last column. Not private: bounds and values are read off the rows.
///
/// # Errors
/// When the target is missing or a column cannot be described.
pub fn draft_schema(file: &CsvFile, name: &str, target: Option<&str>) -> Fallible<Schema> {
    draft_schema_with_notes(file, name, target).map(|(schema, _)| schema)
}

/// Drafts a schema from the rows, with notes for the custodian alone: lines that are left out, numbers with decimal commas, marks of
/// missing values, bytes that are not UTF-8.
///
/// # Errors
/// When the target is missing or a column cannot be described.
pub fn draft_schema_with_notes(file: &CsvFile, name: &str, target: Option<&str>) -> Fallible<(Schema, Vec<String>)> {
    let target = match target {
        Some(target) => file.column(target)?,
        None => file.header().len() - 1,
    };
    let mut columns: Vec<Seen> = file.header().iter().map(|_| Seen::default()).collect();
    let (mut lines, mut records) = (0u64, 0u64);
    let mut lost = Odd::default();
    file.each_line(|fields| {
        lines += 1;
        let line = lines + file.first_line() - 1;
        if fields.len() == columns.len() {
            records += 1;
            columns.iter_mut().enumerate().for_each(|(index, seen)| seen.add(fields, index, line));
        } else {
            lost.add(line);
        }
        Ok(())
    })?;
    if records == 0 {
        let problem = match lines {
            0 => "has a header and no rows, so there is nothing to draft a schema from",
            _ => "has no line with as many cells as the header, so there is nothing to draft a schema from",
        };
        return Err(Error::input(file.path(), problem, "give a file with rows, or write the schema by hand"));
    }
    let blank = Schema::without_columns(name.into(), file.header()[target].clone(), Task::Classification);
    let mut schema = Schema { draft: true, ..blank };
    columns[target].describe_target(&mut schema).ok_or_else(|| {
        Error::input(file.path(), "neither two or more labels nor numbers", "name another column with --target")
            .in_column(&file.header()[target])
    })?;
    for (index, (column, seen)) in file.header().iter().zip(&columns).enumerate() {
        match seen.describe().map(|column| seen.with_missing(column, records)) {
            _ if index == target => {}
            Some(description) => schema.columns.0.push((column.clone(), description)),
            None => schema.ignore.push(column.clone()),
        }
    }
    let mut notes = Vec::new();
    if lost.count > 0 {
        notes.push(format!(
            "{} of {lines} lines have another number of cells than the header and count for nothing (line breaks inside quotes, commas without quotes); the first is line {}",
            lost.count, lost.first
        ));
    }
    for (name, seen) in file.header().iter().zip(&columns) {
        notes.extend(seen.notes(records).into_iter().map(|note| format!("{name:?}: {note}")));
    }
    Ok((schema, notes))
}

/// How often something was seen, and in which line first.
#[derive(Clone, Copy, Default)]
struct Odd {
    count: u64,
    first: u64,
}

impl Odd {
    fn add(&mut self, line: u64) {
        if self.count == 0 {
            self.first = line;
        }
        self.count += 1;
    }
}

/// What was seen in one column.
#[derive(Default)]
struct Seen {
    numbers: u64,
    /// Texts that are neither a number nor a mark of a missing one.
    others: u64,
    commas: Odd,
    gaps: Odd,
    not_utf8: Odd,
    lower: Option<f64>,
    upper: Option<f64>,
    values: BTreeMap<String, u64>,
}

impl Seen {
    fn add(&mut self, fields: &Fields, index: usize, line: u64) {
        let cell = fields.get(index);
        match fields.number(index).filter(|v| v.is_finite()) {
            Some(value) => {
                self.numbers += 1;
                self.lower = Some(self.lower.map_or(value, |l| l.min(value)));
                self.upper = Some(self.upper.map_or(value, |u| u.max(value)));
            }
            None if cell.is_empty() => {}
            None => match std::str::from_utf8(cell) {
                Ok(text) if is_gap(text) => self.gaps.add(line),
                text => {
                    self.others += 1;
                    if text.is_err() {
                        self.not_utf8.add(line);
                    } else if text.is_ok_and(is_decimal_comma) {
                        self.commas.add(line);
                    }
                }
            },
        }
        if !cell.is_empty() && self.values.len() <= MAX_VALUES {
            *self.values.entry(String::from_utf8_lossy(cell).into_owned()).or_default() += 1;
        }
    }

    fn notes(&self, records: u64) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |odd: Odd, what: &str| {
            if odd.count > 0 {
                notes.push(format!("{} of {records} cells {what}; the first is line {}", odd.count, odd.first));
            }
        };
        note(
            self.commas,
            "hold a number whose decimal sign is the other one of comma and point, which is read as text: see --decimal",
        );
        note(self.not_utf8, "hold bytes that are not UTF-8 (Latin-1?): convert the file, for instance by `iconv`");
        if self.is_numeric() {
            note(self.gaps, "hold a mark such as NaN or NA, which is read as a missing number");
        }
        notes
    }

    fn is_numeric(&self) -> bool {
        // A few other texts among numbers do not make a column of categories, and marks of missing numbers never do.
        self.numbers > 0 && self.others * 5 <= self.numbers
    }

    fn bounds(&self) -> Option<(f64, f64)> {
        let (lower, upper) = self.lower.zip(self.upper)?;
        Some(if lower < upper { (lower, upper) } else { (lower - 1.0, upper + 1.0) })
    }

    fn describe(&self) -> Option<Column> {
        if self.is_numeric() {
            let (lower, upper) = self.bounds()?;
            return Some(Column::number(lower, upper));
        }
        let values: Vec<String> = self.values.keys().cloned().collect();
        (!values.is_empty() && values.len() <= MAX_VALUES).then_some(Column::categories(values))
    }

    /// The description with a coefficient for missing cells, where there are enough of them.
    fn with_missing(&self, column: Column, records: u64) -> Column {
        let missing = records.saturating_sub(self.numbers) as f64 >= MIN_MISSING * records as f64;
        match column {
            Column::Numeric { lower, upper, .. } if missing => {
                Column::Numeric { lower, upper, missing: Missing::Indicator, public: false }
            }
            column => column,
        }
    }

    /// Two different texts are labels, the rarer one positive, and so are more of them; numbers are a regression target.
    fn describe_target(&self, schema: &mut Schema) -> Option<()> {
        let named = self.values.iter().filter(|(text, _)| !is_gap(text)).count();
        let mut labels: Vec<(&String, &u64)> = self.values.iter().collect();
        if labels.len() > 2 && named == 2 {
            labels.retain(|(text, _)| !is_gap(text));
        }
        if labels.len() == 2 {
            labels.sort_by_key(|(_, count)| **count);
            schema.positive = Some(labels[0].0.clone());
            schema.negative = Some(labels[1].0.clone());
            return Some(());
        }
        if let Some(labels @ Column::Categorical { .. }) = self.describe().filter(|_| self.values.len() > 2) {
            schema.columns.0.push((schema.target.clone(), labels));
            return Some(());
        }
        let (lower, upper) = if self.others == 0 { self.bounds()? } else { return None };
        schema.task = Task::Regression;
        schema.target_lower = Some(lower);
        schema.target_upper = Some(upper);
        Some(())
    }
}
