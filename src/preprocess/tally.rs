//! Counts of what was met, with examples; parts of a data set add up in any grouping.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::trim;

/// Characters of a cell that are kept as an example.
const EXAMPLE_CHARACTERS: usize = 40;

/// Different labels that are kept.
pub(super) const MAX_MET: usize = 20;

/// How often something was met, and where first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// How often.
    pub count: u64,
    /// The first line, counted from 1 with the header; in a table the row, counted from 1.
    pub line: u64,
    /// The first cell, cut where it is long.
    pub cell: String,
}

impl Count {
    /// Adds what was met in the lines that follow; counts end at the largest number, for a part may come from elsewhere.
    pub(super) fn add(&mut self, more: &Count, lines_before: u64) {
        if self.count == 0 {
            self.line = more.line.saturating_add(lines_before);
            self.cell.clone_from(&more.cell);
        }
        self.count = self.count.saturating_add(more.count);
    }
}

/// Texts and how often each was met.
///
/// Of many the first in alphabetical order are kept, so that parts of a data set can be added up in any grouping: what is
/// among the first of the whole is among the first of every part, and its count is exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Met {
    /// The first of them.
    pub texts: BTreeMap<String, u64>,
    /// How often any other text was met.
    pub others: u64,
}

impl Met {
    /// Counts a text so many times.
    pub fn add(&mut self, text: &[u8], times: u64) {
        let text = example(text);
        match self.texts.get_mut(&text) {
            Some(count) => *count = count.saturating_add(times),
            None => {
                self.texts.insert(text, times);
                self.shorten();
            }
        }
    }

    /// Adds what another part met.
    pub fn merge(&mut self, other: &Met) {
        self.others = self.others.saturating_add(other.others);
        for (text, count) in &other.texts {
            let mine = self.texts.entry(text.clone()).or_default();
            *mine = mine.saturating_add(*count);
        }
        self.shorten();
    }

    fn shorten(&mut self) {
        while self.texts.len() > MAX_MET {
            let dropped = self.texts.pop_last().map_or(0, |(_, count)| count);
            self.others = self.others.saturating_add(dropped);
        }
    }
}

/// The most frequent first.
impl std::fmt::Display for Met {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut texts: Vec<(&String, &u64)> = self.texts.iter().collect();
        texts.sort_by(|a, b| b.1.cmp(a.1));
        for (index, (text, count)) in texts.into_iter().enumerate() {
            write!(f, "{}{text:?} {}", if index > 0 { ", " } else { "" }, often(*count))?;
        }
        if self.others > 0 { write!(f, ", others {}", often(self.others)) } else { Ok(()) }
    }
}

fn often(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

/// A cell as an example.
pub(super) fn example(cell: &[u8]) -> String {
    // A character has at most four bytes.
    let cell = trim(cell);
    let text = String::from_utf8_lossy(&cell[..cell.len().min(4 * EXAMPLE_CHARACTERS + 4)]);
    match text.char_indices().nth(EXAMPLE_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_short_and_whole_characters() {
        assert_eq!(example(" ä ".as_bytes()), "ä");
        assert_eq!(example(format!("{}ä", " ".repeat(1000)).as_bytes()), "ä");
        let long = "ä".repeat(1000);
        assert_eq!(example(long.as_bytes()), format!("{}…", "ä".repeat(EXAMPLE_CHARACTERS)));
        assert!(example(&[0xff; 1000]).chars().count() <= EXAMPLE_CHARACTERS + 1);
    }
}
