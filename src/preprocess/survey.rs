//! A slower pass over a file that only looks, for the custodian alone.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::encode::{Encoder, Progress, Role};
use super::lines::LineEncoder;
use super::persons::{EncodedRows, Interner, Numbering, PersonPart, PersonsMet};
use super::report::LoadReport;
use super::tally::{Count, Met};
use crate::data::{Block, CsvFile, Fields, is_gap};
use crate::error::Fallible;
use crate::kernel::{BulkBuilder, LANES, RawRow};

/// Different numbers of a column that are kept.
const MAX_DIFFERENT: usize = 12;

/// Rows that are kept for trials of speed, unless one block of lines makes more.
const SAMPLE_ROWS: usize = 1 << 15;

/// What only a look at every cell tells; computed from rows, never released.
///
/// It is written out where another machine has looked, and goes to the custodian alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survey {
    /// What a load counts.
    pub report: LoadReport,
    /// Targets that were met, where they are labels.
    pub met: Met,
    /// Lines with bytes that are not UTF-8.
    pub not_utf8: Count,
    /// The whole numbers of each numeric column.
    pub whole: Vec<Whole>,
    /// Undeclared values of each categorical column.
    pub undeclared: Vec<Met>,
    /// How many rows persons have, where the schema has a unit; of parts, whose persons may be the same, [`super::PersonSizes`] add up.
    #[serde(default)]
    pub persons: Option<PersonsMet>,
}

/// The different numbers of a column, as long as they are few and whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whole {
    /// All of them so far.
    Few(BTreeSet<i64>),
    /// There are many, or one that is not whole.
    No,
}

impl Default for Whole {
    fn default() -> Self {
        Whole::Few(BTreeSet::new())
    }
}

impl Whole {
    /// Takes a number in.
    pub fn add(&mut self, value: f64) {
        let Whole::Few(numbers) = self else { return };
        let whole = value as i64;
        if whole as f64 != value {
            *self = Whole::No;
            return;
        }
        numbers.insert(whole);
        if numbers.len() > MAX_DIFFERENT {
            *self = Whole::No;
        }
    }

    fn merge(&mut self, other: &Whole) {
        match other {
            Whole::No => *self = Whole::No,
            Whole::Few(more) => more.iter().for_each(|&value| self.add(value as f64)),
        }
    }
}

impl Survey {
    /// Adds the survey of the lines that follow; grouping does not matter.
    pub fn merge(&mut self, other: &Survey) {
        if self.not_utf8.count == 0 {
            self.not_utf8.line = other.not_utf8.line.saturating_add(self.report.lines);
        }
        self.not_utf8.count = self.not_utf8.count.saturating_add(other.not_utf8.count);
        self.report.merge(&other.report);
        self.met.merge(&other.met);
        self.whole.resize(self.whole.len().max(other.whole.len()), Whole::default());
        self.whole.iter_mut().zip(&other.whole).for_each(|(mine, theirs)| mine.merge(theirs));
        self.undeclared.resize(self.undeclared.len().max(other.undeclared.len()), Met::default());
        self.undeclared.iter_mut().zip(&other.undeclared).for_each(|(mine, theirs)| mine.merge(theirs));
    }
}

impl Encoder {
    /// Looks at every line of a file and keeps the first rows, encoded, for trials of speed.
    ///
    /// # Errors
    /// When the file cannot be read or changes meanwhile, or `progress` fails; no error depends on what stands in a line.
    pub fn survey(&self, file: &CsvFile, progress: &Progress<'_>) -> Fallible<(Survey, EncodedRows)> {
        let mut survey = Survey::default();
        survey.report.lines = file.first_line() - 1;
        let mut sample = BulkBuilder::new(self.shape().clone());
        let (mut kept, mut persons) = (0, Numbering::default());
        file.scan(LANES, |blocks, done| {
            let parts: Vec<(Survey, PersonPart)> = blocks.par_iter().map(|block| self.look(file, block)).collect();
            for (part, whose) in parts {
                survey.merge(&part);
                persons.append(whose)?;
            }
            for block in blocks {
                if kept < SAMPLE_ROWS {
                    kept += block.line_count();
                    let mut rooms = sample.grow(&[block.line_count()]);
                    LineEncoder::new(self, file.fields()).encode(block, &mut rooms[0]);
                }
            }
            progress(done)
        })?;
        survey.report.lines -= file.first_line() - 1;
        let sample = sample.build();
        let mut persons = self.unit.map(|(_, max_rows)| (persons.finish(), max_rows));
        survey.persons = persons.as_ref().map(|(persons, max_rows)| PersonsMet::of(persons, *max_rows));
        persons.iter_mut().for_each(|(persons, _)| persons.truncate(sample.len()));
        Ok((survey, EncodedRows { persons: persons.map(|(persons, _)| persons), ..EncodedRows::alone(sample) }))
    }

    fn look(&self, file: &CsvFile, block: &Block) -> (Survey, PersonPart) {
        let shape = self.shape();
        let mut survey = Survey {
            whole: vec![Whole::default(); shape.numeric()],
            undeclared: vec![Met::default(); shape.categorical()],
            ..Survey::default()
        };
        let (mut fields, mut row, mut odd) = (file.fields(), RawRow::empty(shape), Vec::new());
        let mut persons = Interner::default();
        for line in block.lines() {
            fields.split(line);
            let outcome = self.encode_fields(&fields, &mut row, &mut odd);
            if self.unit.is_some() {
                let number = persons.number(self.identifier_of(&fields));
                persons.push(number);
            }
            self.count_fields(line, &fields, outcome, &odd, &mut survey.report);
            if std::str::from_utf8(line).is_err() {
                if survey.not_utf8.count == 0 {
                    survey.not_utf8.line = survey.report.lines;
                }
                survey.not_utf8.count += 1;
            }
            self.look_at_cells(&fields, &mut survey);
        }
        (survey, persons.take())
    }

    fn look_at_cells(&self, fields: &Fields, survey: &mut Survey) {
        if fields.len() != self.roles.len() {
            return;
        }
        for (index, role) in self.roles.iter().enumerate() {
            match role {
                Role::Skipped | Role::Identifier | Role::Weight => {}
                Role::Target if self.reader.is_number() => {}
                Role::Target => survey.met.add(fields.get(index), 1),
                Role::Numeric { slot, .. } if survey.whole[*slot] != Whole::No => {
                    if let Some(value) = fields.value(index) {
                        survey.whole[*slot].add(value);
                    }
                }
                Role::Numeric { .. } => {}
                Role::Categorical { slot, codes, .. } => {
                    let cell = fields.get(index);
                    if codes.get(cell).is_none() {
                        survey.undeclared[*slot].add(cell, 1);
                    }
                }
            }
        }
    }
}

/// Whether declared values are numbers but for marks of missing ones: what an index by number makes of a column of numbers.
pub fn is_numbers_with_gaps<'a>(values: impl Iterator<Item = &'a str>) -> bool {
    let (mut numbers, mut gaps) = (0, 0);
    for value in values {
        match (is_gap(value), value.trim().parse::<f64>()) {
            (true, _) => gaps += 1,
            (false, Ok(_)) => numbers += 1,
            (false, Err(_)) => return false,
        }
    }
    numbers > 0 && gaps > 0
}
