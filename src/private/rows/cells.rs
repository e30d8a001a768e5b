//! The cells of a file behind the gate, before there is a schema that says what they mean; what may be asked of them lies in
//! [`crate::private::query`].

use crate::data::{CsvFile, Fields};
use crate::error::Fallible;
use crate::privacy::Scope;
use crate::private::{DescribeQuery, Sensitive};

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

    /// Hands on the cells of every line that has as many as the header.
    pub(in crate::private) fn each_record(&self, mut add: impl FnMut(&Fields) + Send) -> Fallible<()> {
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
