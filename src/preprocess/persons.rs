//! Identifiers to numbers of persons, exactly: two rows have one number if and only if their identifiers are the same text.
//!
//! Parts of the rows are numbered by themselves, in parallel, and joined in their order, so that persons are numbered by their
//! first row whatever the parts are. No hash stands for an identifier: texts that collide are compared.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::data::{Cells, Shown, is_gap, line_bytes, trim};
use crate::error::{Error, Fallible};
use crate::kernel::{NOBODY, Rows};

/// Longest mark of a missing cell, with room for blanks around it.
const MAX_GAP: usize = 64;

/// Encoded rows, and whose they are.
pub struct EncodedRows {
    /// The rows.
    pub rows: Rows,
    /// The number of each row's person, by order of first appearance; [`NOBODY`] for a row without an identifier, which is a null
    /// row. Absent where the schema has no unit.
    pub persons: Option<Vec<u32>>,
    /// The places of the identifiers, ascending; see [`person_places`].
    pub(crate) places: Vec<u16>,
    /// Whether a row whose label is none is a record all the same, as a schema asks that protects labels alone.
    pub(crate) keeps_unlabelled: bool,
}

/// Places that identifiers have.
const PLACES: u16 = 1 << 14;

/// The place of an identifier: a hash of its text, the same everywhere.
fn place_of(text: &[u8]) -> u16 {
    (xxh3_64(text) % u64::from(PLACES)) as u16
}

/// Where the rows of a column of identifiers belong when they are divided: all rows of a person have one place, below 16384, so parts
/// that share no place share nobody. Rows without an identifier, who are nobody's, take turns.
///
/// A place is a function of an identifier, and as private.
pub fn person_places(cells: &Cells<'_>) -> Vec<u16> {
    let column = IdentifierColumn::new(cells);
    let mut met: HashMap<u64, Option<u16>> = HashMap::new();
    let place = |row: usize| {
        let text = |_: &u64| column.0.get(row);
        let of = |key: u64| *met.entry(key).or_insert_with_key(|key| identifier(text(key).as_bytes()).map(place_of));
        column.0.key(row).and_then(of).unwrap_or((row % usize::from(PLACES)) as u16)
    };
    (0..cells.len()).map(place).collect()
}

/// An identifier as it is compared; `None` where a cell is missing: nothing, or a mark such as `NA`.
pub(crate) fn identifier(cell: &[u8]) -> Option<&[u8]> {
    let cell = trim(cell);
    let missing = cell.len() <= MAX_GAP && std::str::from_utf8(cell).is_ok_and(is_gap);
    (!missing).then_some(cell)
}

/// Whose some consecutive rows are, by the order of the identifiers among themselves.
#[derive(Default)]
pub(super) struct PersonPart {
    /// The identifiers in the order of their first rows.
    pub texts: Vec<Box<[u8]>>,
    /// For each row the place of its identifier, or [`NOBODY`].
    pub of: Vec<u32>,
}

/// Numbers identifiers of consecutive rows.
#[derive(Default)]
pub(super) struct Interner {
    known: HashMap<Box<[u8]>, u32>,
    of: Vec<u32>,
    /// The identifier before: rows of a person often stand together.
    last: Option<(Vec<u8>, u32)>,
}

impl EncodedRows {
    /// These rows, of an encoder that keeps those without a label, or does not.
    pub(super) fn keeping(self, keeps_unlabelled: bool) -> Self {
        EncodedRows { keeps_unlabelled, ..self }
    }

    /// Rows that are nobody's.
    pub(super) fn alone(rows: Rows) -> Self {
        EncodedRows { rows, persons: None, places: Vec::new(), keeps_unlabelled: false }
    }
}

impl Interner {
    /// The number of an identifier; `None` for a missing one. A part has fewer rows than there are numbers.
    pub fn number(&mut self, cell: &[u8]) -> Option<u32> {
        let text = trim(cell);
        if let Some((last, number)) = &self.last
            && last.as_slice() == text
        {
            return Some(*number);
        }
        let number = match self.known.get(text) {
            Some(&number) => number,
            None => {
                let text = identifier(text)?;
                let next = self.known.len() as u32;
                self.known.insert(text.into(), next);
                next
            }
        };
        let (last, of) = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(text);
        *of = number;
        Some(number)
    }

    /// Says whose the next row is.
    pub fn push(&mut self, number: Option<u32>) {
        self.of.push(number.unwrap_or(NOBODY));
    }

    /// What was numbered since the last time.
    pub fn take(&mut self) -> PersonPart {
        let mut texts = vec![Box::default(); self.known.len()];
        self.known.drain().for_each(|(text, number)| texts[number as usize] = text);
        self.last = None;
        PersonPart { texts, of: std::mem::take(&mut self.of) }
    }
}

/// Whose all rows so far are.
#[derive(Default)]
pub(super) struct Numbering {
    known: HashMap<Box<[u8]>, u32>,
    of: Vec<u32>,
}

impl Numbering {
    /// Appends the rows that follow.
    ///
    /// # Errors
    /// When there are more persons than numbers.
    pub fn append(&mut self, part: PersonPart) -> Fallible<()> {
        let mut numbers = Vec::with_capacity(part.texts.len());
        for text in part.texts {
            let next = self.known.len() as u32;
            if next == NOBODY {
                return Err(Error::parameter("unit", "has 2^32 persons or more", "train on fewer"));
            }
            numbers.push(*self.known.entry(text).or_insert(next));
        }
        self.of.extend(part.of.into_iter().map(|place| numbers.get(place as usize).copied().unwrap_or(NOBODY)));
        Ok(())
    }

    /// The number of each row's person.
    pub fn finish(self) -> Vec<u32> {
        self.of
    }

    /// The rows with the number of each one's person.
    pub fn encoded(self, rows: Rows) -> EncodedRows {
        let mut places: Vec<u16> = self.known.keys().map(|text| place_of(text)).collect();
        places.sort_unstable();
        places.dedup();
        EncodedRows { rows, persons: Some(self.of), places, keeps_unlabelled: false }
    }
}

/// The column of identifiers of a table.
pub(super) struct IdentifierColumn<'a>(Shown<'a>);

impl<'a> IdentifierColumn<'a> {
    pub fn new(cells: &'a Cells<'_>) -> Self {
        IdentifierColumn(Shown::new(cells))
    }
}

/// Numbers the identifiers of consecutive rows of a table: a text is made once for each cell that differs.
pub(super) struct CellInterner<'e, 'a> {
    column: &'e IdentifierColumn<'a>,
    met: HashMap<u64, Option<u32>>,
    texts: Interner,
}

impl<'e, 'a> CellInterner<'e, 'a> {
    pub fn new(column: &'e IdentifierColumn<'a>) -> Self {
        CellInterner { column, met: HashMap::new(), texts: Interner::default() }
    }

    /// Says whose the next row is, and whether it has an identifier.
    pub fn add(&mut self, row: usize) -> bool {
        let shown = &self.column.0;
        let number = shown
            .key(row)
            .filter(|_| shown.is_exact(row))
            .and_then(|key| *self.met.entry(key).or_insert_with(|| self.texts.number(&line_bytes(&shown.get(row)))));
        self.texts.push(number);
        number.is_some()
    }

    pub fn take(mut self) -> PersonPart {
        self.texts.take()
    }
}

/// How many rows persons have; computed from rows, never released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonsMet {
    /// Persons.
    pub persons: u64,
    /// Rows that are somebody's.
    pub rows: u64,
    /// Half of the persons have at most so many rows.
    pub median: u64,
    /// The most rows of a person.
    pub most: u64,
    /// Persons with more rows than count.
    pub above: u64,
}

impl PersonsMet {
    /// Counts the rows of each person.
    pub(super) fn of(persons: &[u32], max_rows: u32) -> Self {
        let all = persons.iter().filter(|&&person| person != NOBODY).max().map_or(0, |&last| last as usize + 1);
        PersonSizes::counted(all, persons).met(max_rows)
    }
}

/// How many persons of a part have how many rows; computed from rows, never released.
///
/// Those of several parts add up where no person is in two of them, which [`PersonSizes::merge`] checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonSizes {
    /// For each number of rows how many persons have it.
    persons: BTreeMap<u64, u64>,
    /// The places of their identifiers, see [`person_places`].
    places: BTreeSet<u16>,
}

impl PersonSizes {
    /// Counts the rows of each identifier of a part.
    pub fn of(cells: &Cells<'_>) -> Self {
        let column = IdentifierColumn::new(cells);
        let mut interner = CellInterner::new(&column);
        (0..cells.len()).for_each(|row| {
            interner.add(row);
        });
        let PersonPart { texts, of } = interner.take();
        let places = texts.iter().map(|text| place_of(text)).collect();
        PersonSizes { places, ..PersonSizes::counted(texts.len(), &of) }
    }

    fn counted(all: usize, of: &[u32]) -> Self {
        let mut rows = vec![0u64; all];
        for &person in of {
            if let Some(own) = rows.get_mut(person as usize) {
                *own += 1;
            }
        }
        let mut persons = BTreeMap::new();
        rows.into_iter().for_each(|own| *persons.entry(own).or_default() += 1);
        PersonSizes { persons, places: BTreeSet::new() }
    }

    /// Adds the persons of another part.
    ///
    /// # Errors
    /// When both may have rows of one person.
    pub fn merge(&mut self, other: &PersonSizes) -> Fallible<()> {
        if !self.places.is_disjoint(&other.places) {
            let problem = "hold rows of one person in two of them, or may";
            let cure = "divide the rows by their places, so that each place is in one part";
            return Err(Error::parameter("persons", problem, cure));
        }
        self.places.extend(&other.places);
        for (rows, persons) in &other.persons {
            let own = self.persons.entry(*rows).or_default();
            *own = own.saturating_add(*persons);
        }
        Ok(())
    }

    /// What they say together, where `max_rows` of a person count.
    pub fn met(&self, max_rows: u32) -> PersonsMet {
        // What other machines sent may say anything.
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
        let all = sum(&mut self.persons.values().copied());
        let mut before = 0u64;
        let median = self.persons.iter().find(|(_, persons)| {
            before = before.saturating_add(**persons);
            before > all.saturating_sub(1) / 2
        });
        let above = self.persons.range(u64::from(max_rows).saturating_add(1)..);
        PersonsMet {
            persons: all,
            rows: sum(&mut self.persons.iter().map(|(rows, persons)| rows.saturating_mul(*persons))),
            median: median.map_or(0, |(rows, _)| *rows),
            most: self.persons.keys().last().copied().unwrap_or(0),
            above: sum(&mut above.map(|(_, persons)| *persons)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbered(cells: &[&[u8]], parts: usize) -> Vec<u32> {
        let mut all = Numbering::default();
        let mut interner = Interner::default();
        for part in cells.chunks(parts.max(1)) {
            for cell in part {
                let number = interner.number(cell);
                interner.push(number);
            }
            all.append(interner.take()).unwrap();
        }
        all.finish()
    }

    #[test]
    fn a_person_is_a_text_and_marks_of_missing_cells_are_nobody() {
        let cells: [&[u8]; 14] =
            [b"b", b" b ", b"a", b"", b"NA", b"nan", b"B", b"1", b"1.0", b"\xe9", b"\xe8", b"?", b"a", b"missing "];
        for parts in 1..15 {
            assert_eq!(
                numbered(&cells, parts),
                [0, 0, 1, NOBODY, NOBODY, NOBODY, 2, 3, 4, 5, 6, NOBODY, 1, NOBODY],
                "{parts}"
            );
        }
    }

    #[test]
    fn rows_of_persons_are_counted() {
        let met = PersonsMet::of(&[0, 1, 1, NOBODY, 2, 1, 2], 2);
        assert_eq!(met, PersonsMet { persons: 3, rows: 6, median: 2, most: 3, above: 1 });
        assert_eq!(PersonsMet::of(&[NOBODY], 1), PersonsMet::default());
    }

    proptest! {
        #[test]
        fn two_rows_have_one_number_if_and_only_if_they_have_one_text(
            cells in proptest::collection::vec("[ab ]{0,2}", 0..40), parts in 1usize..50,
        ) {
            let bytes: Vec<&[u8]> = cells.iter().map(|cell| cell.as_bytes()).collect();
            let numbers = numbered(&bytes, parts);
            for (a, x) in cells.iter().zip(&numbers) {
                prop_assert_eq!(a.trim().is_empty(), *x == NOBODY);
                for (b, y) in cells.iter().zip(&numbers) {
                    prop_assert_eq!(a.trim() == b.trim(), x == y);
                }
            }
            // By first appearance.
            let mut next = 0;
            for &number in numbers.iter().filter(|&&number| number != NOBODY) {
                prop_assert!(number <= next);
                next = next.max(number + 1);
            }
        }
    }
}
