//! The cells of a file behind the gate, before there is a schema that says what they mean; what may be asked of them lies in
//! [`crate::private::query`].

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_128;

use crate::data::{CsvFile, Fields};
use crate::error::Fallible;
use crate::preprocess::{identifier, identifier_column};
use crate::privacy::{PrivacyUnit, Scope};
use crate::private::{DescribeQuery, Sensitive};

/// A file whose columns are known by name and by nothing else; it hands out no cell.
///
/// Its rows are its lines, or one line of each person where persons are the unit. A line with another number of cells than the header
/// has none, and contributes nothing.
pub struct PrivateCells {
    file: CsvFile,
    scope: Scope,
    /// Where persons are the unit: a line of each.
    persons: Option<Vec<Line>>,
}

/// The cells of a line.
struct Line {
    /// Lines of a person are compared by it first.
    digest: u128,
    cells: Box<[u8]>,
    ends: Box<[u32]>,
}

impl Line {
    fn of(fields: &Fields, digest: u128) -> Line {
        let (cells, ends) = fields.laid_out();
        let end = |&end: &usize| u32::try_from(end).unwrap_or(u32::MAX);
        Line { digest, cells: cells.into(), ends: ends.iter().map(end).collect() }
    }

    /// What decides which of two lines is kept.
    fn key(&self) -> (u128, &[u8], &[u32]) {
        (self.digest, &self.cells, &self.ends)
    }
}

impl PrivateCells {
    /// Takes the file in; from here on only released values come out.
    ///
    /// # Privacy
    /// It protects rows, whatever unit `scope` has: lines are not brought together by person.
    pub fn new(file: CsvFile, scope: Scope) -> Self {
        PrivateCells { file, scope: Scope { unit: PrivacyUnit::Row, ..scope }, persons: None }
    }

    /// Takes the file in by the unit of `scope`: where that is a person, one line of each is kept and all others are left out.
    ///
    /// Of a person the line with the least digest is kept: a function of which lines that person has, and neither of their order, nor of how often a
    /// line is repeated, nor of anybody else. A line without an identifier is nobody's.
    ///
    /// # Privacy
    /// Neighbours that differ in all lines of one person differ in one kept line: under add-remove in one that comes or goes, under
    /// replace-one in one that has other cells. So whatever is asked of the kept lines moves as it does between neighbours that differ in one
    /// row, and no value that one person brings is counted more than once.
    ///
    /// # Errors
    /// When the file cannot be read, or has no column of the unit, or one that does not tell persons apart.
    pub fn by_unit(file: CsvFile, scope: Scope) -> Fallible<Self> {
        let PrivacyUnit::Person { column } = &scope.unit else { return Ok(PrivateCells::new(file, scope)) };
        let (column, cells) = (identifier_column(&file, column)?, file.header().len());
        let mut known: HashMap<Box<[u8]>, usize> = HashMap::new();
        let mut persons: Vec<Line> = Vec::new();
        file.each_line(|fields| {
            if fields.len() != cells {
                return Ok(());
            }
            let Some(text) = identifier(fields.get(column)) else { return Ok(()) };
            let digest = xxh3_128(fields.laid_out().0);
            match known.get(text).and_then(|&person| persons.get_mut(person)) {
                None => {
                    known.insert(text.into(), persons.len());
                    persons.push(Line::of(fields, digest));
                }
                Some(kept) if digest > kept.digest => {}
                Some(kept) => {
                    let line = Line::of(fields, digest);
                    if line.key() < kept.key() {
                        *kept = line;
                    }
                }
            }
            Ok(())
        })?;
        Ok(PrivateCells { file, scope, persons: Some(persons) })
    }

    /// The data set and relation that guarantees are about.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The names of the columns; public, they are no row.
    pub fn header(&self) -> &[String] {
        self.file.header()
    }

    /// The number of rows, or of persons where they are the unit, where the adjacency makes it public; `None` under add-remove.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn public_len(&self) -> Fallible<Option<u64>> {
        if !self.scope.adjacency.row_count_is_public() {
            return Ok(None);
        }
        if let Some(persons) = &self.persons {
            return Ok(Some(persons.len() as u64));
        }
        let mut rows = 0;
        self.file.each_line(|_| {
            rows += 1;
            Ok(())
        })?;
        Ok(Some(rows))
    }

    /// Hands on the cells of every line that has as many as the header, or of the one line of each person.
    pub(in crate::private) fn each_record(&self, mut add: impl FnMut(&Fields) + Send) -> Fallible<()> {
        if let Some(persons) = &self.persons {
            let mut fields = Fields::default();
            for line in persons {
                fields.put_back(&line.cells, line.ends.iter().map(|&end| end as usize));
                add(&fields);
            }
            return Ok(());
        }
        let cells = self.header().len();
        self.file.each_line(|fields| {
            if fields.len() == cells {
                add(fields);
            }
            Ok(())
        })
    }

    /// The answer to a query, with the sensitivity that the query has.
    pub(in crate::private) fn sensitive<Q: DescribeQuery>(&self, values: Vec<i128>, query: Q) -> Sensitive<Q::Norm> {
        Sensitive::of(values, query, &self.scope.clone().into())
    }
}
