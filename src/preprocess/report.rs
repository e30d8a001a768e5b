//! What the custodian may know about a load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::tally::{Count, Met, example};
use crate::data::{is_decimal_comma, is_gap, trim};

/// Why a cell does not count as what stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Nothing stands where a number belongs, or a mark such as `?` or `NA`.
    Missing,
    /// Text stands where a number belongs.
    Unreadable,
    /// A number with a decimal comma.
    DecimalComma,
    /// Bytes that are not UTF-8.
    NotUtf8,
    /// A value or label that the schema does not declare.
    Undeclared,
    /// A number below its declared bounds, which counts as the lower one.
    Below,
    /// A number above its declared bounds, which counts as the upper one.
    Above,
}

/// Why a line is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Fewer cells than columns.
    FewCells,
    /// More cells than columns.
    ManyCells,
    /// A quote is opened and not closed: a line break inside quotes, for instance.
    OpenQuote,
    /// The line is longer than a line may be.
    TooLong,
    /// It is not of the form that the kind of file asks for.
    Form,
    /// The target is missing, unreadable or not declared.
    Target,
    /// The identifier of the person is missing.
    Identifier,
    /// The weight is missing, unreadable or negative.
    Weight,
}

/// What the custodian may know about the load; computed from rows, never released.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadReport {
    /// Physical lines after the header.
    pub lines: u64,
    /// Lines that are no record and contribute nothing.
    pub unusable: u64,
    /// The first of them, counted from 1 with the header, if there is one.
    pub first_unusable: Option<u64>,
    /// Rows with the positive label, where the schema declares one.
    pub positives: Option<u64>,
    /// Numeric cells that were missing or unreadable.
    pub missing: u64,
    /// Category cells with an undeclared value.
    pub undeclared: u64,
    /// Why lines are no records.
    pub lost: BTreeMap<Loss, Count>,
    /// Labels that were met and are not declared; their lines are lost.
    pub labels: Met,
    /// What was found in records, column by column: numeric ones in the order of the schema, categorical ones, the target.
    /// Empty where everything fits.
    pub columns: Vec<BTreeMap<Fault, Count>>,
}

impl LoadReport {
    /// Adds the report of the lines that follow, or of another part of the rows; grouping does not matter.
    pub fn merge(&mut self, other: &LoadReport) {
        let before = self.lines;
        if self.first_unusable.is_none() {
            self.first_unusable = other.first_unusable.map(|line| line.saturating_add(before));
        }
        self.lines = self.lines.saturating_add(other.lines);
        self.unusable = self.unusable.saturating_add(other.unusable);
        if let Some(more) = other.positives {
            self.positives = Some(self.positives.unwrap_or(0).saturating_add(more));
        }
        self.missing = self.missing.saturating_add(other.missing);
        self.undeclared = self.undeclared.saturating_add(other.undeclared);
        for (loss, count) in &other.lost {
            self.lost.entry(*loss).or_default().add(count, before);
        }
        self.labels.merge(&other.labels);
        if self.columns.len() < other.columns.len() {
            self.columns.resize_with(other.columns.len(), BTreeMap::new);
        }
        for (mine, theirs) in self.columns.iter_mut().zip(&other.columns) {
            for (fault, count) in theirs {
                mine.entry(*fault).or_default().add(count, before);
            }
        }
    }

    /// Counts a record; `positive` says whether its label is the positive one, where the schema declares one.
    #[inline(always)]
    pub(super) fn count(&mut self, positive: Option<bool>) {
        self.lines += 1;
        if let Some(positive) = positive {
            self.positives = Some(self.positives.unwrap_or(0) + u64::from(positive));
        }
    }

    /// Counts a line that is no record.
    #[cold]
    pub(super) fn lose(&mut self, loss: Loss) {
        self.lines += 1;
        self.unusable += 1;
        self.first_unusable = self.first_unusable.or(Some(self.lines));
        let line = self.lines;
        let count = self.lost.entry(loss).or_insert_with(|| Count { line, ..Count::default() });
        count.count += 1;
    }

    /// Counts what is odd about a cell of a record, or of the target of a line that was lost for it.
    pub(super) fn note(&mut self, columns: ReportColumns, column: usize, fault: Fault, line: u64, cell: &[u8]) {
        self.note_with(columns, column, fault, line, || example(cell));
    }

    /// Notes a cell whose text is asked for where it is the first.
    pub(super) fn note_text(
        &mut self,
        columns: ReportColumns,
        column: usize,
        fault: Fault,
        line: u64,
        cell: impl FnOnce() -> String,
    ) {
        self.note_with(columns, column, fault, line, || example(cell().as_bytes()));
    }

    /// Counts a number that was moved into its bounds.
    pub(super) fn note_number(&mut self, columns: ReportColumns, column: usize, fault: Fault, line: u64, value: f64) {
        self.note_with(columns, column, fault, line, || value.to_string());
    }

    pub(super) fn note_with(
        &mut self,
        columns: ReportColumns,
        column: usize,
        fault: Fault,
        line: u64,
        cell: impl FnOnce() -> String,
    ) {
        if self.columns.is_empty() {
            self.columns.resize_with(columns.all, BTreeMap::new);
        }
        let count = self.columns[column].entry(fault).or_default();
        // Cells of a tile are not met in the order of their lines.
        if count.count == 0 || line < count.line {
            (count.line, count.cell) = (line, cell());
        }
        count.count += 1;
        match fault {
            Fault::Below | Fault::Above => {}
            _ if column + 1 == columns.all => {}
            _ if column < columns.numeric => self.missing += 1,
            _ => self.undeclared += 1,
        }
    }

    /// How often something was met in a column.
    pub fn cells(&self, column: usize, fault: Fault) -> u64 {
        self.columns.get(column).and_then(|faults| faults.get(&fault)).map_or(0, |count| count.count)
    }
}

/// What is wrong with a cell that is no number.
#[cold]
pub(super) fn no_number(cell: &[u8]) -> Fault {
    let cell = trim(cell);
    let Ok(text) = std::str::from_utf8(cell) else { return Fault::NotUtf8 };
    if is_gap(text) {
        return Fault::Missing;
    }
    if is_decimal_comma(text) { Fault::DecimalComma } else { Fault::Unreadable }
}

/// What is wrong with a cell that names no declared value or label.
#[cold]
pub(super) fn no_value(cell: &[u8]) -> Fault {
    if std::str::from_utf8(cell).is_err() { Fault::NotUtf8 } else { Fault::Undeclared }
}

/// What is wrong with a number that is read, but moved into its bounds.
#[inline(always)]
pub(super) fn outside(value: f64, lower: f64, upper: f64) -> Option<Fault> {
    if value < lower {
        Some(Fault::Below)
    } else if value > upper {
        Some(Fault::Above)
    } else {
        None
    }
}

/// The columns of a report: numeric ones, categorical ones, the target.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportColumns {
    pub numeric: usize,
    pub all: usize,
}

/// What is odd about a cell of a line that may still turn out to be no record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Odd {
    /// Column of the report.
    pub column: usize,
    pub fault: Fault,
    /// Where the cell begins and ends, or its number.
    pub place: (usize, usize),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preprocess::tally::MAX_MET;
    use proptest::prelude::*;

    #[test]
    fn cells_that_are_no_numbers_are_told_apart() {
        for (cell, fault) in [
            ("", Fault::Missing),
            (" ? ", Fault::Missing),
            ("NaN", Fault::Missing),
            ("n/a", Fault::Missing),
            ("1,5", Fault::DecimalComma),
            ("-1.234,50", Fault::DecimalComma),
            (",5", Fault::DecimalComma),
            ("1,", Fault::Unreadable),
            ("a,5", Fault::Unreadable),
            ("12 kg", Fault::Unreadable),
            ("0x10", Fault::Unreadable),
        ] {
            assert_eq!(no_number(cell.as_bytes()), fault, "{cell:?}");
        }
        assert_eq!(no_number(b"\xe9t\xe9"), Fault::NotUtf8);
    }

    #[test]
    fn forged_reports_add_up_to_something() {
        let most = Count { count: u64::MAX, line: u64::MAX, cell: "x".into() };
        let forged = LoadReport {
            lines: u64::MAX,
            unusable: u64::MAX,
            first_unusable: Some(u64::MAX),
            positives: Some(u64::MAX),
            missing: u64::MAX,
            undeclared: u64::MAX,
            labels: Met { texts: [("x".to_string(), u64::MAX)].into(), others: u64::MAX },
            columns: vec![[(Fault::Missing, most)].into()],
            ..LoadReport::default()
        };
        let mut sum = LoadReport { lines: 7, ..LoadReport::default() };
        sum.merge(&forged);
        assert_eq!((sum.lines, sum.first_unusable), (u64::MAX, Some(u64::MAX)));
        sum.merge(&forged);
        assert_eq!(sum, forged);
    }

    /// A report as encoders make them, and all of its parts.
    fn report_of(lines: &[(u8, u8)]) -> LoadReport {
        let mut report = LoadReport::default();
        for &(kind, text) in lines {
            let cell = format!("{text}");
            match kind % 5 {
                0 => report.lose(if text % 2 == 0 { Loss::FewCells } else { Loss::OpenQuote }),
                1 => {
                    report.lose(Loss::Target);
                    report.labels.add(cell.as_bytes(), 1);
                }
                kind => {
                    report.count(Some(kind == 2));
                    let fault = [Fault::Missing, Fault::Above, Fault::Undeclared][usize::from(text % 3)];
                    let columns = ReportColumns { numeric: 1, all: 3 };
                    report.note(columns, usize::from(kind % 3), fault, report.lines, cell.as_bytes());
                }
            }
        }
        report
    }

    proptest! {
        #[test]
        fn parts_add_up_in_any_grouping(
            lines in proptest::collection::vec((any::<u8>(), any::<u8>()), 0..200), a in 0usize..200, b in 0usize..200,
        ) {
            let (a, b) = (a.min(b).min(lines.len()), a.max(b).min(lines.len()));
            let parts = [&lines[..a], &lines[a..b], &lines[b..]].map(report_of);
            let mut left = parts[0].clone();
            left.merge(&parts[1]);
            left.merge(&parts[2]);
            let mut behind = parts[1].clone();
            behind.merge(&parts[2]);
            let mut right = parts[0].clone();
            right.merge(&behind);
            prop_assert_eq!(&left, &right);
            prop_assert_eq!(&left, &report_of(&lines));
            prop_assert!(left.labels.texts.len() <= MAX_MET);
            let text = serde_json::to_string(&left).unwrap();
            prop_assert_eq!(serde_json::from_str::<LoadReport>(&text).unwrap(), left.clone());
            let bytes = postcard::to_stdvec(&left).unwrap();
            prop_assert_eq!(postcard::from_bytes::<LoadReport>(&bytes).unwrap(), left);
        }
    }
}
