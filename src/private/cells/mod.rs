//! The cells of a file behind the gate, before there is a schema that says what they mean.

mod interval;
mod kinds;
mod vocabulary;

pub use interval::{Grid, GridPrice};
pub use vocabulary::Vocabulary;

use super::stable::{Proposal, stable_mode};
use super::{Query, Sensitive};
use crate::data::{CsvFile, Fields};
use crate::error::Fallible;
use crate::privacy::{L2, Norm, Range, Scope, Sensitivity};
use interval::Outside;
use kinds::Kinds;
use vocabulary::Counts;

/// A file whose columns are known by name and by nothing else; it hands out no cell.
///
/// Its rows are its lines. A line with another number of cells than the header has none, and contributes nothing.
pub struct PrivateCells {
    file: CsvFile,
    scope: Scope,
}

impl PrivateCells {
    /// Takes the file in; from here on only released values come out.
    pub fn new(file: CsvFile, scope: Scope) -> Self {
        PrivateCells { file, scope }
    }

    /// The data set and relation that guarantees are about.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The names of the columns; public, they are no row.
    pub fn header(&self) -> &[String] {
        self.file.header()
    }

    /// The number of rows where the adjacency makes it public, `None` under add-remove.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn public_len(&self) -> Fallible<Option<u64>> {
        if !self.scope.adjacency.row_count_is_public() {
            return Ok(None);
        }
        let mut rows = 0;
        self.file.each_line(|_| {
            rows += 1;
            Ok(())
        })?;
        Ok(Some(rows))
    }

    /// The number of rows, if asked for, and for each column how many of its cells are numbers and how many other
    /// texts.
    ///
    /// # Privacy
    /// A row adds `weight` grid steps to the count and to one of the two numbers of a column, or to none where its cell is
    /// empty. So its vector has norm at most `weight` times the root of how many of them there are; under replace-one the
    /// count does not move, and each column moves in at most two places.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn kinds(&self, columns: &[usize], counted: bool, weight: u64) -> Fallible<Sensitive<L2>> {
        let mut kinds = Kinds::new(columns, counted);
        self.each_record(|fields| kinds.add(fields))?;
        let query = Query::Kinds { weight, columns: columns.len() as u64, counted };
        Ok(self.sensitive(kinds.values(weight), &query))
    }

    /// For each column the score of every interval of its grid: `weight` times the rows whose number lies outside, beyond
    /// those that may, and the price of its width.
    ///
    /// # Privacy
    /// A row more adds between 0 and `weight` to every score; price and allowance are public. So all changes lie in an
    /// interval of length `weight`, of twice that under replace-one.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn intervals(&self, columns: &[(usize, Grid, GridPrice)], weight: u64) -> Fallible<Vec<Sensitive<Range>>> {
        let mut outside: Vec<Outside> = columns.iter().map(|(column, grid, _)| Outside::new(*column, grid)).collect();
        self.each_record(|fields| outside.iter_mut().for_each(|column| column.add(fields)))?;
        let scores = outside.iter().zip(columns).map(|(outside, (_, grid, price))| {
            let query = Query::Intervals { weight, candidates: grid.candidates() };
            self.sensitive(outside.scores(price, weight), &query)
        });
        Ok(scores.collect())
    }

    /// For each column its values with the number of rows that hold them.
    ///
    /// Of a column with a very long cell, one that is no text, or one with blanks around it, that cell counts for nothing.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn vocabularies(&self, columns: &[usize], weight: u64) -> Fallible<Vec<Vocabulary>> {
        let mut counts: Vec<Counts> = columns.iter().map(|column| Counts::new(*column)).collect();
        self.each_record(|fields| counts.iter_mut().for_each(|column| column.add(fields)))?;
        Ok(counts
            .into_iter()
            .map(|counts| Vocabulary { counts: counts.0, weight, scope: self.scope.clone() })
            .collect())
    }

    /// The most frequent value of a column, to be opened only if it is that by far.
    ///
    /// # Privacy
    /// See [`super::Permit::test`]. The values need not be known before: the distance looks at the two largest counts
    /// only, and a value that nobody holds counts as zero.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn mode(&self, column: usize, weight: u64) -> Fallible<Proposal<Option<String>>> {
        let mut counts = Counts::new(column);
        self.each_record(|fields| counts.add(fields))?;
        let (distance, answer) = stable_mode(&counts.0, self.scope.adjacency);
        Ok(Proposal { distance, answer, weight, scope: self.scope.clone() })
    }

    fn each_record(&self, mut add: impl FnMut(&Fields) + Send) -> Fallible<()> {
        let cells = self.header().len();
        self.file.each_line(|fields| {
            if fields.len() == cells {
                add(fields);
            }
            Ok(())
        })
    }

    fn sensitive<N: Norm>(&self, values: Vec<i128>, query: &Query) -> Sensitive<N> {
        let sensitivity = Sensitivity::new(query.sensitivity(self.scope.adjacency));
        Sensitive { values, sensitivity, scope: self.scope.clone() }
    }
}
