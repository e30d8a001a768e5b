//! What the custodian may know about a load.

use serde::{Deserialize, Serialize};

/// What the custodian may know about the load; computed from rows, never released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
}

impl LoadReport {
    /// Adds the report of the lines that follow.
    pub(crate) fn merge(&mut self, other: &LoadReport) {
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

    /// Counts a line, and the cells of its record.
    pub(super) fn count(&mut self, record: Option<Tally>) {
        self.lines += 1;
        let Some(tally) = record else {
            self.unusable += 1;
            self.first_unusable = self.first_unusable.or(Some(self.lines));
            return;
        };
        if let Some(positive) = tally.positive {
            self.positives = Some(self.positives.unwrap_or(0) + u64::from(positive));
        }
        self.missing += tally.missing;
        self.undeclared += tally.undeclared;
    }
}

/// What is counted of one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Whether the label is the positive one, where the schema declares one.
    pub positive: Option<bool>,
    /// Numeric cells that were missing or unreadable.
    pub missing: u64,
    /// Category cells with an undeclared value.
    pub undeclared: u64,
}
