//! How targets are read.

use super::Codes;
use super::quantize::quantize;
use super::report::{Fault, LoadReport, Loss, ReportColumns, no_number, no_value, outside};
use crate::data::{Schema, Spelled, trim, value};
use crate::grid::{FULL_SCALE, NO_LABEL};

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

    /// The labels that it names; none for numbers.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            TargetRule::Label { positive, negatives } => {
                negatives.iter().flatten().chain([positive]).map(String::as_str).collect()
            }
            TargetRule::Class { labels } => labels.iter().map(String::as_str).collect(),
            TargetRule::Number { .. } => Vec::new(),
        }
    }

    /// The value of a cell in the target's units; `None` when it is no target.
    pub fn value(&self, cell: &[u8]) -> Option<f64> {
        let cell = trim(cell);
        match self {
            TargetRule::Number { lower, upper } => value(cell).map(|v| v.clamp(*lower, *upper)),
            TargetRule::Class { .. } => self.label(cell),
            TargetRule::Label { negatives: Some(_), .. } => self.label(cell),
            TargetRule::Label { negatives: None, .. } => self.label(cell).or((!cell.is_empty()).then_some(0.0)),
        }
    }

    /// The value of a declared label: of the first that is the same text, else of the only one that spells the same number.
    fn label(&self, cell: &[u8]) -> Option<f64> {
        let mut known: Vec<(&[u8], f64)> = Vec::new();
        let labels: Vec<(&str, f64)> = match self {
            TargetRule::Label { positive, negatives } => {
                let zeros = negatives.iter().flatten().map(|label| (label.as_str(), 0.0));
                [(positive.as_str(), 1.0)].into_iter().chain(zeros).collect()
            }
            TargetRule::Class { labels } => {
                labels.iter().zip(0u16..).map(|(l, class)| (l.as_str(), class.into())).collect()
            }
            TargetRule::Number { .. } => Vec::new(),
        };
        for (text, of) in labels {
            let text = trim(text.as_bytes());
            if text == cell {
                return Some(of);
            }
            if known.iter().all(|(other, _)| *other != text) {
                known.push((text, of));
            }
        }
        Spelled::new(known).get(cell)
    }
}

/// What stands for a target that is none, where the row counts all the same: some features are public, all of them where labels alone are
/// protected, and whether a row is there must not depend on its label. A number counts as the middle of its bounds, like one in a feature.
pub(super) fn absent(schema: &Schema) -> Option<i16> {
    match (schema.keeps_unlabelled(), schema.target_bounds()) {
        (false, _) => None,
        (true, Some(_)) => Some(0),
        (true, None) => Some(NO_LABEL),
    }
}

/// A [`TargetRule`] made ready for many cells.
pub(super) enum TargetReader {
    /// Encoded values of the labels, and of any other text but none at all.
    Labels { known: Codes, other: Option<i16>, two: bool },
    /// A number between bounds.
    Number { lower: f64, upper: f64 },
}

impl TargetReader {
    pub(super) fn new(rule: &TargetRule) -> Self {
        match rule {
            TargetRule::Number { lower, upper } => TargetReader::Number { lower: *lower, upper: *upper },
            TargetRule::Class { labels } => {
                // Of two labels that are the same text the first counts, so it is put in last.
                let codes = labels.iter().enumerate().rev().map(|(class, label)| (label.as_str(), class as u16));
                TargetReader::Labels { known: Codes::new(codes), other: None, two: false }
            }
            TargetRule::Label { positive, negatives } => {
                let zeros = negatives.iter().flatten().map(|label| (label.as_str(), 0));
                let known = Codes::new(zeros.chain([(positive.as_str(), 1)]));
                TargetReader::Labels { known, other: negatives.is_none().then_some(0), two: true }
            }
        }
    }

    /// The encoded value of a cell; `None` when it is no target.
    pub(super) fn encode(&self, cell: &[u8]) -> Option<i16> {
        let cell = trim(cell);
        match self {
            TargetReader::Number { lower, upper } => Some(quantize(value(cell)?, *lower, *upper)),
            TargetReader::Labels { known, other, .. } => label(known.get(cell), *other, cell),
        }
    }

    /// The encoded value of a cell over an exposure, which is 1 where rows have none, less an offset.
    pub(super) fn encode_over(&self, cell: &[u8], (exposure, less): (f64, f64)) -> Option<i16> {
        match self {
            TargetReader::Number { lower, upper } => {
                Some(quantize(value(trim(cell))? / exposure - less, *lower, *upper))
            }
            TargetReader::Labels { .. } => self.encode(cell),
        }
    }

    /// What the cell stands for that begins at `at` and ends before `stop`, with eight bytes from `at` on.
    #[inline]
    pub(super) fn find(&self, padded: &[u8], at: usize, stop: usize) -> Option<i16> {
        match self {
            TargetReader::Number { .. } => self.encode(&padded[at..stop]),
            TargetReader::Labels { known, other, .. } => label(known.find(padded, at, stop), *other, &padded[at..stop]),
        }
    }

    /// Whether the number in a cell was moved into its bounds, given its encoded value.
    #[inline(always)]
    pub(super) fn outside(&self, encoded: i16, cell: &[u8]) -> Option<Fault> {
        self.outside_over(encoded, cell, (1.0, 0.0))
    }

    /// Whether the number in a cell over an exposure, less an offset, was moved into its bounds, given its encoded value.
    #[inline(always)]
    pub(super) fn outside_over(&self, encoded: i16, cell: &[u8], (exposure, less): (f64, f64)) -> Option<Fault> {
        match self {
            TargetReader::Number { lower, upper } if encoded.abs() == FULL_SCALE => {
                outside(value(cell)? / exposure - less, *lower, *upper)
            }
            _ => None,
        }
    }

    /// Whether targets are numbers.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, TargetReader::Number { .. })
    }

    /// What is wrong with a cell that is no target.
    #[cold]
    pub(super) fn fault(&self, cell: &[u8]) -> Fault {
        match self {
            TargetReader::Number { .. } => no_number(cell),
            TargetReader::Labels { .. } if trim(cell).is_empty() => Fault::Missing,
            TargetReader::Labels { .. } => no_value(cell),
        }
    }

    /// Whether a value is the positive label, where there is one.
    pub(super) fn positive(&self, value: i16) -> Option<bool> {
        match self {
            TargetReader::Labels { two: true, .. } if value != NO_LABEL => Some(value == 1),
            TargetReader::Labels { .. } | TargetReader::Number { .. } => None,
        }
    }
}

/// Any text but blanks may stand for another label.
fn label(known: Option<u16>, other: Option<i16>, cell: &[u8]) -> Option<i16> {
    match known {
        Some(code) => Some(code as i16),
        None => other.filter(|_| !trim(cell).is_empty()),
    }
}

impl LoadReport {
    /// Counts a line that is no record for what stands in its target.
    #[cold]
    pub(super) fn lose_for_target(&mut self, columns: ReportColumns, reader: &TargetReader, cell: &[u8]) {
        self.lose(Loss::Target);
        let fault = reader.fault(cell);
        let line = self.lines;
        self.note(columns, columns.all - 1, fault, line, cell);
        if matches!(fault, Fault::Undeclared | Fault::NotUtf8) {
            self.labels.add(cell, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules() -> Vec<TargetRule> {
        let label = |positive: &str, negatives: Option<&[&str]>| TargetRule::Label {
            positive: positive.into(),
            negatives: negatives.map(|labels| labels.iter().map(|label| (*label).into()).collect()),
        };
        vec![
            label("yes", Some(&["no", " yes", "perhaps or not"])),
            label(" yes ", None),
            label("", None),
            TargetRule::Class { labels: ["a", "b", " a", "", "a longer label"].map(String::from).to_vec() },
            label("1", Some(&["0", "-1", "-1.0"])),
            label("True", None),
            TargetRule::Class { labels: ["3", "2.0", "02", "1e0", "false"].map(String::from).to_vec() },
            TargetRule::Number { lower: -1.5, upper: 4.0 },
        ]
    }

    proptest! {
        #[test]
        fn readers_follow_the_written_rule(
            cell in prop_oneof![
                " ?(yes|no|a|b|a longer label|perhaps or not|-?[0-9.]{0,9}|)[ \t]?", "[ -~]{0,12}",
                " ?([+-]?0?[0-3](\\.0{0,9})?(e0)?|[Tt]rue|FALSE|false) ?"],
        ) {
            for rule in rules() {
                let expected = rule.value(cell.as_bytes()).map(|value| match rule {
                    TargetRule::Label { .. } | TargetRule::Class { .. } => value as i16,
                    TargetRule::Number { lower, upper } => quantize(value, lower, upper),
                });
                let reader = TargetReader::new(&rule);
                prop_assert_eq!(reader.encode(cell.as_bytes()), expected);
                let padded = format!("{cell},yes, a longer label");
                prop_assert_eq!(reader.find(padded.as_bytes(), 0, cell.len()), expected);
            }
        }
    }
}
