//! The map from a line to an encoded row: a pure function of the line and the schema.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::data::{CsvFile, Fields, Schema};
use crate::error::Fallible;
use crate::kernel::{FULL_SCALE, LANES, RawRow, Rows, RowsBuilder, Shape};

/// Lines encoded by one task; a multiple of the tile size, so that parts can be joined.
const LINES_PER_BLOCK: usize = 128 * LANES;

/// The columns of the encoded rows of a schema.
pub fn shape_of(schema: &Schema) -> Shape {
    let levels: Vec<u16> = schema.categorical().map(|(_, values, _)| values.len() as u16).collect();
    Shape::new(schema.numeric().count(), &levels)
}

/// What the custodian may know about the load; computed from rows, never released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Physical lines after the header.
    pub lines: u64,
    /// Lines that are no record and contribute nothing.
    pub unusable: u64,
    /// The first of them, counted from 1 with the header.
    pub first_unusable: Option<u64>,
    /// Rows with the positive label, where the schema declares one.
    pub positives: Option<u64>,
    /// Numeric cells that were missing or unreadable.
    pub missing: u64,
    /// Category cells with an undeclared value.
    pub undeclared: u64,
}

impl LoadReport {
    fn merge(&mut self, other: &LoadReport) {
        if self.first_unusable.is_none() {
            self.first_unusable = other.first_unusable.map(|line| line + self.lines);
        }
        self.lines += other.lines;
        self.unusable += other.unusable;
        if let Some(more) = other.positives {
            self.positives = Some(self.positives.unwrap_or(0) + more);
        }
        self.missing += other.missing;
        self.undeclared += other.undeclared;
    }
}

/// Encodes lines by a schema.
///
/// - numeric: bounds map to `-FULL_SCALE..=FULL_SCALE`; outside values move to the nearer bound,
///   missing or unreadable ones to the middle;
/// - categorical: the code of the declared value, else of `other`, else "none of them";
/// - a line with the wrong number of cells, an undeclared label or an unreadable target becomes a null
///   row, which contributes nothing.
pub struct Encoder {
    width: usize,
    target: Option<usize>,
    rule: TargetRule,
    numeric: Vec<(usize, f64, f64)>,
    categorical: Vec<(usize, HashMap<Vec<u8>, u16>, u16)>,
    shape: Shape,
}

/// How a target cell is read.
pub enum TargetRule {
    /// 1 for the positive label; 0 for a negative one, or for any other label when none is declared.
    Label {
        /// The label counted as 1.
        positive: String,
        /// The labels counted as 0.
        negatives: Option<Vec<String>>,
    },
    /// The number of a declared label; any other label is no target.
    Class {
        /// The labels in their declared order.
        labels: Vec<String>,
    },
    /// A number, moved into its bounds.
    Number {
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
}

impl Encoder {
    /// Prepares the encoder for a file; with `needs_target` the file must have the target column.
    ///
    /// # Errors
    /// When the header lacks a declared column.
    pub fn new(schema: &Schema, file: &CsvFile, needs_target: bool) -> Fallible<Self> {
        let target = match file.column(&schema.target) {
            Ok(index) => Some(index),
            Err(error) if needs_target => return Err(error),
            Err(_) => None,
        };
        let numeric = schema
            .numeric()
            .map(|(name, lower, upper)| Ok((file.column(name)?, lower, upper)))
            .collect::<Fallible<Vec<_>>>()?;
        let categorical = schema
            .categorical()
            .map(|(name, values, other)| {
                let codes = values.iter().enumerate().map(|(code, v)| (v.trim().as_bytes().to_vec(), code as u16));
                let fallback = other.and_then(|other| values.iter().position(|v| v == other)).unwrap_or(values.len());
                Ok((file.column(name)?, codes.collect(), fallback as u16))
            })
            .collect::<Fallible<Vec<_>>>()?;
        let shape = shape_of(schema);
        Ok(Encoder { width: file.header().len(), target, rule: TargetRule::of(schema), numeric, categorical, shape })
    }

    /// Encodes every line of the file in parallel; `progress` hears the bytes done so far.
    pub fn encode(&self, file: &CsvFile, progress: &(dyn Fn(u64) + Sync)) -> (Rows, LoadReport) {
        let done = std::sync::atomic::AtomicU64::new(0);
        let parts: Vec<(RowsBuilder, LoadReport)> = file
            .blocks(LINES_PER_BLOCK)
            .into_par_iter()
            .map(|block| {
                let size = block.len() as u64;
                let part = self.encode_block(file.lines(block));
                progress(done.fetch_add(size, std::sync::atomic::Ordering::Relaxed) + size);
                part
            })
            .collect();
        // The header is line 1.
        let mut report = LoadReport { lines: 1, ..LoadReport::default() };
        let mut rows = RowsBuilder::new(self.shape.clone());
        for (part, counts) in parts {
            rows.append(part);
            report.merge(&counts);
        }
        report.lines -= 1;
        (rows.build(), report)
    }

    fn encode_block<'a>(&self, lines: impl Iterator<Item = &'a [u8]>) -> (RowsBuilder, LoadReport) {
        let mut rows = RowsBuilder::new(self.shape.clone());
        let mut report = LoadReport::default();
        let mut fields = Fields::default();
        let mut row = RawRow::empty(&self.shape);
        for line in lines {
            fields.split(line);
            report.lines += 1;
            self.encode_fields(&fields, &mut row, &mut report);
            if row.null {
                report.unusable += 1;
                report.first_unusable = report.first_unusable.or(Some(report.lines));
            }
            rows.push(&row);
        }
        (rows, report)
    }

    /// Encodes one record in place.
    pub fn encode_fields(&self, fields: &Fields, row: &mut RawRow, report: &mut LoadReport) {
        let label = match self.target {
            Some(index) if fields.len() == self.width => self.rule.encode(fields, index),
            None if fields.len() == self.width => Some(0),
            _ => None,
        };
        row.null = label.is_none();
        row.label = label.unwrap_or(0);
        if row.null {
            // What an unusable line leaves behind must not depend on the line before it.
            row.numeric.fill(0);
            row.codes.fill(u16::MAX);
            return;
        }
        if matches!(self.rule, TargetRule::Label { .. }) {
            report.positives = Some(report.positives.unwrap_or(0) + u64::from(row.label == 1));
        }
        for (q, &(index, lower, upper)) in row.numeric.iter_mut().zip(&self.numeric) {
            let value = fields.number(index);
            report.missing += u64::from(value.is_none());
            *q = value.map_or(0, |v| quantise(v, lower, upper));
        }
        for (code, (index, codes, fallback)) in row.codes.iter_mut().zip(&self.categorical) {
            let known = codes.get(fields.get(*index)).copied();
            report.undeclared += u64::from(known.is_none());
            *code = known.unwrap_or(*fallback);
        }
    }
}

impl TargetRule {
    /// The rule that a schema declares.
    pub fn of(schema: &Schema) -> Self {
        match (schema.target_bounds(), schema.classes()) {
            (Some((lower, upper)), _) => TargetRule::Number { lower, upper },
            (None, Some(labels)) => TargetRule::Class { labels: labels.to_vec() },
            (None, None) => TargetRule::Label {
                positive: schema.positive.clone().unwrap_or_default(),
                negatives: schema.negatives(),
            },
        }
    }

    /// The value of a cell in the target's units; `None` when it is no target.
    pub fn value(&self, fields: &Fields, index: usize) -> Option<f64> {
        let is = |label: &String| fields.get(index) == label.trim().as_bytes();
        match self {
            TargetRule::Label { positive, .. } if is(positive) => Some(1.0),
            TargetRule::Label { negatives: Some(known), .. } => known.iter().any(is).then_some(0.0),
            TargetRule::Label { negatives: None, .. } => (!fields.get(index).is_empty()).then_some(0.0),
            TargetRule::Class { labels } => labels.iter().position(is).map(|class| class as f64),
            TargetRule::Number { lower, upper } => fields.number(index).map(|v| v.clamp(*lower, *upper)),
        }
    }

    fn encode(&self, fields: &Fields, index: usize) -> Option<i16> {
        let value = self.value(fields, index)?;
        Some(match self {
            TargetRule::Label { .. } | TargetRule::Class { .. } => value as i16,
            TargetRule::Number { lower, upper } => quantise(value, *lower, *upper),
        })
    }
}

/// Maps `lower..=upper` to `-FULL_SCALE..=FULL_SCALE`, clamping.
fn quantise(value: f64, lower: f64, upper: f64) -> i16 {
    let value = value.clamp(lower, upper);
    let unit = (value - lower) / (upper - lower) * 2.0 - 1.0;
    (unit * f64::from(FULL_SCALE)).round() as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    const SCHEMA: &str = r#"{"name":"a","task":"classification","target":"y","positive":"yes","negative":"no",
        "columns":{"x":{"type":"numeric","lower":0,"upper":10},
                   "c":{"type":"categorical","values":["u","v"],"other":"v"},
                   "d":{"type":"categorical","values":["s"]}}}"#;

    fn encode(line: &str) -> RawRow {
        let schema = Schema::parse(SCHEMA, Path::new("s")).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        std::fs::write(&path, "d,c,x,y\n").unwrap();
        let file = CsvFile::open(&path).unwrap();
        let encoder = Encoder::new(&schema, &file, true).unwrap();
        let (mut fields, mut row) = (Fields::default(), RawRow::empty(&encoder.shape));
        fields.split(line.as_bytes());
        encoder.encode_fields(&fields, &mut row, &mut LoadReport::default());
        row
    }

    #[test]
    fn rules_for_odd_cells() {
        let row = |x: i16, c, d, label| RawRow { numeric: vec![x], codes: vec![c, d], label, null: false };
        assert_eq!(encode("s,u,10,yes"), row(FULL_SCALE, 0, 0, 1));
        assert_eq!(encode("s,v,0,no"), row(-FULL_SCALE, 1, 0, 0));
        assert_eq!(encode("?,?,,no"), row(0, 1, 1, 0));
        for (cell, q) in
            [("1e999", FULL_SCALE), ("-inf", -FULL_SCALE), ("nan", 0), ("0x10", 0), ("-4", -FULL_SCALE), (".5", -29490)]
        {
            assert_eq!(encode(&format!("s,u,{cell},no")).numeric, [q], "{cell}");
        }
        for bad in ["", "s,u,1", "s,u,1,no,", "s,u,1,maybe", "s,u,1,"] {
            assert!(encode(bad).null, "{bad:?}");
        }
    }

    #[test]
    fn an_unusable_line_is_the_same_whatever_came_before() {
        let schema = Schema::parse(SCHEMA, Path::new("s")).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        std::fs::write(&path, "d,c,x,y\n").unwrap();
        let encoder = Encoder::new(&schema, &CsvFile::open(&path).unwrap(), true).unwrap();
        let (mut fields, mut report) = (Fields::default(), LoadReport::default());
        let mut reused = RawRow::empty(&encoder.shape);
        for line in ["s,u,10,yes", "broken"] {
            fields.split(line.as_bytes());
            encoder.encode_fields(&fields, &mut reused, &mut report);
        }
        assert_eq!(reused, RawRow::empty(&encoder.shape));
    }

    proptest! {
        #[test]
        fn quantised_values_stay_in_range(bits in any::<u64>(), lower in -1e9f64..1e9, width in 1e-9f64..1e9) {
            let v = f64::from_bits(bits);
            prop_assume!(!v.is_nan() && lower + width > lower);
            let q = quantise(v, lower, lower + width);
            prop_assert!((-FULL_SCALE..=FULL_SCALE).contains(&q));
        }
    }
}
