//! Private rows; what may be asked of them lies in [`crate::private::query`].

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

use super::pass::Pass;
use super::store::Store;
use crate::error::{Error, Fallible};
use crate::grid::{MomentWeights, PublicColumns, Shape};
use crate::kernel::{DividedRows, Rows};
use crate::noise::Choice;
use crate::preprocess::Recoding;
use crate::privacy::{PrivacyUnit, Scope};
use crate::private::sensitive::Origin;
use crate::private::{DescribeQuery, Sensitive};

/// Encoded rows behind the gate: no accessor hands out a row or anything computed from rows.
pub struct PrivateDataset {
    rows: Store,
    origin: Origin,
    typical_rows: Option<NonZeroU32>,
    public: Option<PublicPart>,
    /// What tells these rows from all other data sets of this process, parts of them included.
    number: u64,
}

/// The number of the next data set.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A number that no data set has yet.
fn new_number() -> u64 {
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// What of rows is public, where some columns are.
struct PublicPart {
    columns: PublicColumns,
    /// The public cells of all records, in the encoding of the rows.
    rows: Rows,
}

impl PublicPart {
    fn subset(&self, chosen: &[usize]) -> Self {
        PublicPart { columns: self.columns.clone(), rows: self.rows.subset(chosen) }
    }
}

impl PrivateDataset {
    /// Takes the rows in, be they in memory or in a file; from here on only released values come out.
    ///
    /// # Privacy
    /// Rows that were not brought together by person protect rows, whatever `scope` says, and no permit of persons opens what they
    /// answer; nor does a permit of rows open what persons do.
    pub fn new(rows: impl Into<Store>, scope: Scope) -> Self {
        let rows = rows.into();
        let unit = match (&rows, scope.unit) {
            (Store::Persons(_) | Store::StreamedPersons(_), unit @ PrivacyUnit::Person { .. }) => unit,
            (Store::Persons(_) | Store::StreamedPersons(_), _) => PrivacyUnit::Person { column: String::new() },
            (Store::Remote(rows), _) => match rows.column() {
                None => PrivacyUnit::Row,
                Some(column) => PrivacyUnit::Person { column: column.into() },
            },
            (Store::Whole(_) | Store::Streamed(_) | Store::Weighted(_), _) => PrivacyUnit::Row,
        };
        PrivateDataset {
            rows,
            origin: Scope { unit, ..scope }.into(),
            typical_rows: None,
            public: None,
            number: new_number(),
        }
    }

    /// Takes in rows of which the label alone is protected, where they were encoded so that nothing but a label follows from a label.
    ///
    /// # Privacy
    /// Whether a row is a record must not depend on its label: an encoder by a schema that says so keeps that
    /// ([`crate::data::Protect::Label`]), and rows from elsewhere come in by [`PrivateDataset::new`], where they are protected as a whole.
    ///
    /// # Errors
    /// When persons are brought together, or labels could come and go.
    pub(crate) fn of_labels(rows: impl Into<Store>, scope: Scope) -> Fallible<Self> {
        let all = PrivateDataset::new(rows, Scope { unit: PrivacyUnit::Row, ..scope });
        PrivacyUnit::Label.check(all.scope().adjacency)?;
        if matches!(all.rows, Store::Weighted(_)) {
            return Err(Error::refused(
                "labels alone are protected, and rows have weights, which may follow from labels",
                "leave the weights out",
            ));
        }
        if !all.scope().unit.is_row() {
            return Err(Error::refused(
                "labels alone are protected of rows, and these are of persons",
                "leave the unit out",
            ));
        }
        let origin = Scope { unit: PrivacyUnit::Label, ..all.origin.scope }.into();
        Ok(PrivateDataset { origin, ..all })
    }

    /// Takes in rows of which some columns are public, where they were encoded so that no private cell decides which lines are records.
    ///
    /// Of `labelled` rows a label may be [`crate::grid::NO_LABEL`]: such a row has a part in what is public, and in nothing else.
    ///
    /// # Privacy
    /// Whether a row is a record must not depend on private cells: an encoder by a schema with public columns keeps that
    /// ([`crate::data::Column::is_public`]).
    ///
    /// # Errors
    /// When rows are not all in memory, the columns are others, or rows could come and go.
    pub(crate) fn of_private_cells(
        rows: impl Into<Store>,
        scope: Scope,
        columns: &PublicColumns,
        labelled: bool,
    ) -> Fallible<Self> {
        scope.unit.check(scope.adjacency)?;
        if !scope.unit.is_private_cells() {
            return Err(Error::refused(
                "some columns are public, and the unit says nothing of them",
                "name them in the unit",
            ));
        }
        let Store::Whole(rows) = rows.into() else {
            return Err(Error::parameter(
                "--public",
                "is for rows in memory: what is public of them is summed apart from what is not",
                "leave out --memory-limit and --cache, or protect whole rows",
            ));
        };
        if !columns.fits(rows.shape()) {
            return Err(Error::refused(
                "the public columns are not those of the rows",
                "use the schema that encoded them",
            ));
        }
        let DividedRows { public, all } = DividedRows::of(rows, columns, labelled);
        let public = PublicPart { columns: columns.clone(), rows: public };
        Ok(PrivateDataset {
            rows: all.into(),
            origin: scope.into(),
            typical_rows: None,
            public: Some(public),
            number: new_number(),
        })
    }

    /// Which columns are public, where some are and others are not.
    pub(in crate::private) fn public_columns(&self) -> Option<&PublicColumns> {
        self.public.as_ref().map(|public| &public.columns)
    }

    /// Refuses data of which more than labels is protected.
    ///
    /// # Errors
    /// When rows or persons are.
    pub(in crate::private) fn only_labels(&self) -> Fallible<()> {
        match self.scope().unit {
            PrivacyUnit::Label => Ok(()),
            _ => Err(Error::refused(
                "the query is for data of which labels alone are protected",
                "protect labels, or ask another",
            )),
        }
    }

    /// Sums of the encoded features and their squares, weighted by public integers, of features that are public; those of private ones are
    /// those of nothing.
    ///
    /// # Privacy
    /// Labels and private cells have no part in it, so it is the same for all neighbours, and free.
    ///
    /// # Errors
    /// When nothing is public, a label is weighed, or rows in a file cannot be read.
    pub(crate) fn public_moments(&self, weights: &MomentWeights) -> Fallible<Vec<i128>> {
        if (weights.label, weights.label_square) != (0, 0) {
            return Err(Error::refused("moments of labels are not public", "leave them out"));
        }
        if let Some(public) = &self.public {
            return Ok(Pass::Moments(*weights).over(&public.rows));
        }
        self.only_labels()?;
        self.rows.sum(&Pass::Moments(*weights))
    }

    /// The Gram matrix of the features as a weighted upper triangle, see [`crate::kernel::gram_sum`], of features that are public; entries of
    /// private ones are those of nothing.
    ///
    /// # Privacy
    /// Labels and private cells have no part in it, so it is the same for all neighbours, and free.
    ///
    /// # Errors
    /// When nothing is public, or rows in a file cannot be read.
    pub(crate) fn public_gram(&self, clip_steps: u64, most: u64) -> Fallible<Vec<i128>> {
        if let Some(public) = &self.public {
            return Ok(Pass::Gram { clip_steps, most, scores: None }.over(&public.rows));
        }
        self.only_labels()?;
        self.rows.sum(&Pass::Gram { clip_steps, most, scores: None })
    }

    /// The data set and relation that guarantees are about.
    pub fn scope(&self) -> &Scope {
        &self.origin.scope
    }

    /// Where its values come from.
    pub(in crate::private) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// These rows for one run, by its number: no other can open what they answer, nor what a part or a copy of them does.
    pub(in crate::private) fn bound_to(self, run: u64) -> Self {
        PrivateDataset { origin: Origin { run: Some(run), ..self.origin }, ..self }
    }

    /// These rows, of whose persons each adds the sum of the gradients of its rows over `typical` to a clipped sum, and not their average:
    /// a person with as many weighs as much as before. Nothing changes where rows are the unit.
    ///
    /// # Privacy
    /// `typical` must be public or released. Whatever it is, what a person adds is clipped to the same norm, so that the sensitivity is the
    /// same.
    pub(crate) fn weighing_rows(self, typical: NonZeroU32) -> Self {
        PrivateDataset { typical_rows: Some(typical), ..self }
    }

    /// What a person's summed gradients are divided by, where they are not averaged.
    pub(in crate::private) fn typical_rows(&self) -> Option<NonZeroU32> {
        self.typical_rows
    }

    /// Some of these rows, or all of them in another form; nothing is known of them for free.
    fn with(&self, rows: impl Into<Store>) -> Self {
        PrivateDataset {
            rows: rows.into(),
            origin: self.origin.clone(),
            typical_rows: self.typical_rows,
            public: None,
            number: new_number(),
        }
    }

    /// The columns; public, they follow from the schema.
    pub fn shape(&self) -> &Shape {
        self.rows.shape()
    }

    /// The integer that stands for 1.0 in an encoded row; public.
    pub fn one(&self) -> i16 {
        self.rows.one()
    }

    /// The number of rows, or of persons where they are the unit, if the adjacency makes it public; `None` under add-remove.
    pub fn public_len(&self) -> Option<u64> {
        self.origin.scope.adjacency.row_count_is_public().then_some(self.rows.len())
    }

    /// The number of rows or of persons, for drawing samples inside the gate.
    pub(in crate::private) fn private_len(&self) -> usize {
        self.rows.len() as usize
    }

    /// What tells these rows from all other data sets of this process, parts of them included.
    pub(in crate::private) fn number(&self) -> u64 {
        self.number
    }

    /// The rows, for queries inside the gate that are sums over them.
    pub(in crate::private) fn store(&self) -> &Store {
        &self.rows
    }

    /// The rows, for queries inside the gate that need all of them at hand.
    ///
    /// # Errors
    /// When they are in a file.
    pub(in crate::private) fn rows(&self) -> Fallible<&Rows> {
        self.rows.whole()
    }

    /// What tells these rows from others, where they are in memory or with workers.
    ///
    /// # Privacy
    /// A function of the rows, for the custodian alone: it names the rows that a stopped run was about, in a file as private as
    /// they are.
    pub(crate) fn digest(&self) -> Option<String> {
        self.rows.digest()
    }

    /// These rows once more, behind the same gate, for a run that is repeated.
    ///
    /// # Privacy
    /// Nothing comes out: what is asked of the copy is paid for like everything else.
    ///
    /// # Errors
    /// When they are in a file.
    pub fn duplicate(&self) -> Fallible<Self> {
        Ok(match &self.rows {
            Store::Persons(persons) => self.with(persons.subset(&(0..persons.len()).collect::<Vec<_>>())),
            Store::Weighted(rows) => self.with(rows.duplicate()),
            rows => {
                let rows = rows.whole()?;
                let all: Vec<usize> = (0..rows.len()).collect();
                let public = self.public.as_ref().map(|public| public.subset(&all));
                PrivateDataset { public, ..self.with(rows.subset(&all)) }
            }
        })
    }

    /// Re-encodes every row by a map built from public and released quantities; rows in a file go to another one.
    ///
    /// # Privacy
    /// Each new row is a function of its old row alone, so neighbours stay neighbours and nothing
    /// is released.
    ///
    /// # Errors
    /// When rows in a file cannot be read or written.
    pub fn recoded(self, map: &Recoding) -> Fallible<Self> {
        let PrivateDataset { rows, public, .. } = self;
        // Public cells are encoded by themselves, as they are beside others.
        let public = public.map(|PublicPart { columns, rows }| PublicPart { columns, rows: map.recode(rows) });
        // Columns that are made of others are no longer public or private.
        let rows = rows.recoded(map)?;
        let public = public.filter(|public| public.columns.fits(rows.shape()));
        Ok(PrivateDataset { rows, public, ..self })
    }

    /// The rows in parts; each stays behind the gate.
    ///
    /// `part_of` must not depend on what stands in the rows.
    ///
    /// # Errors
    /// When they are in a file.
    pub(in crate::private) fn split(
        &self,
        parts: usize,
        part_of: impl FnMut(usize) -> usize,
    ) -> Fallible<Vec<PrivateDataset>> {
        let parts = self.rows()?.partition(parts, part_of).into_iter();
        Ok(parts.map(|rows| self.with(rows)).collect())
    }

    /// Two data sets: the rows that are chosen, in order, and the rest; persons where they are the unit. The choice must not look at
    /// the rows. Of rows in a file each part goes to another file.
    ///
    /// # Errors
    /// When rows in a file cannot be read or written again.
    pub(in crate::private) fn divided(self, chosen: Choice) -> Fallible<(Self, Self)> {
        let PrivateDataset { rows, origin, typical_rows, public, .. } = self;
        let Some(public) = public else {
            let (chosen, rest) = rows.divided(chosen)?;
            let part = |rows, origin| PrivateDataset { rows, origin, typical_rows, public: None, number: new_number() };
            return Ok((part(chosen, origin.clone()), part(rest, origin)));
        };
        let chosen: Vec<usize> = chosen.positions(public.rows.len()).collect();
        let mut left = chosen.iter().copied().peekable();
        let others: Vec<usize> = (0..public.rows.len()).filter(|row| left.next_if_eq(row).is_none()).collect();
        let (rows, rest) = rows.divided(Choice::Positions(chosen.clone()))?;
        let part = |rows, chosen: &[usize]| {
            let public = Some(public.subset(chosen));
            PrivateDataset { rows, origin: origin.clone(), typical_rows, public, number: new_number() }
        };
        Ok((part(rows, &chosen), part(rest, &others)))
    }

    /// The answer to a query, with the sensitivity that the query has.
    pub(in crate::private) fn sensitive<Q: DescribeQuery>(&self, values: Vec<i128>, query: Q) -> Sensitive<Q::Norm> {
        Sensitive::of(values, query, &self.origin)
    }
}
