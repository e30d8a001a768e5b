//! Columns of numpy arrays, copied piece by piece while they are encoded.

use std::collections::HashMap;
use std::ops::Range;

use numpy::ndarray::{Array1, ArrayView2, Axis, Slice};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use rhograd::data::{Cells, Numbers, Schema, Table};
use rhograd::error::{Error, Fallible};
use rhograd::preprocess::{EncodedTable, PiecesEncoder, label_codes, numbers_of};

use crate::errors::raised;
use crate::supervise::{alone, aside, held};

/// Cells that are copied and encoded at a time.
const CELLS_PER_PIECE: usize = 1 << 22;

/// Cells that are copied and looked at once: few enough to be in a cache still, many enough for the cores to share.
const CELLS_PER_LOOK: usize = 1 << 19;

/// So many rows are looked at faster than a thread is woken.
const FEW_ROWS: usize = 1024;

/// So many cells of a matrix are looked at while Python waits: some milliseconds.
const CELLS_IN_PLACE: usize = 1 << 24;

/// Cells that are copied together: the rows of a matrix that fit a cache near the core.
const CELLS_PER_BLOCK: usize = 1 << 15;

/// Cells that are copied before others in Python get their turn: less than a millisecond.
const CELLS_PER_HOLD: usize = CELLS_PER_BLOCK;

/// A column as Python gives it: its name, the list of its texts where it is one of places in a list, the numbers, and which
/// of them are missing cells whatever they are.
pub type GivenColumn<'py> = (String, Option<Vec<String>>, Bound<'py, PyAny>, Option<PyReadonlyArray1<'py, bool>>);

/// Declares an array of any of the types that the engine reads.
macro_rules! held {
    ($($variant:ident: $number:ty,)*) => {
        /// A one-dimensional array, read with the interpreter's lock held.
        enum Held<'py> { $($variant(PyReadonlyArray1<'py, $number>),)* }

        impl<'py> Held<'py> {
            fn of(array: &Bound<'py, PyAny>) -> Option<Self> {
                $(if let Ok(array) = array.extract::<PyReadonlyArray1<'py, $number>>() {
                    return Some(Held::$variant(array));
                })*
                None
            }

            fn len(&self) -> usize {
                match self { $(Held::$variant(array) => array.as_array().len(),)* }
            }

            /// Room for copies of so many numbers.
            fn room(&self, rows: usize) -> Copied {
                match self { $(Held::$variant(_) => Copied::$variant(Array1::zeros(rows)),)* }
            }

            /// Copies some of the numbers to the same place in `room`, which begins with row `first`; false where the array
            /// has become shorter.
            fn copy(&self, rows: Range<usize>, first: usize, room: &mut Copied) -> bool {
                match (self, room) {
                    $((Held::$variant(array), Copied::$variant(room)) => {
                        let array = array.as_array();
                        if rows.end > array.len() {
                            return false;
                        }
                        let to = Slice::from(rows.start - first..rows.end - first);
                        room.slice_axis_mut(Axis(0), to).assign(&array.slice_axis(Axis(0), Slice::from(rows)));
                        true
                    })*
                    _ => false,
                }
            }
        }

        /// Numbers that nobody else sees.
        enum Copied { $($variant(Array1<$number>),)* }

        impl Copied {
            fn numbers(&self) -> Numbers<'_> {
                match self { $(Copied::$variant(array) => Numbers::$variant(array.view()),)* }
            }

            /// Each as a place in a list of `most`, if it is one.
            fn places(&self, most: usize) -> Vec<Option<usize>> {
                let place = |value: f64| (value >= 0.0 && (value as usize) < most).then_some(value as usize);
                #[allow(clippy::unnecessary_cast, reason = "of ten types one needs none")]
                match self { $(Copied::$variant(array) => array.iter().map(|&value| place(value as f64)).collect(),)* }
            }
        }
    };
}

held! {
    F64: f64,
    I64: i64,
    I32: i32,
    F32: f32,
    I16: i16,
    I8: i8,
    U64: u64,
    U32: u32,
    U16: u16,
    U8: u8,
}

/// A column that is held while the engine reads it.
struct HeldColumn<'py> {
    name: String,
    texts: Option<Vec<String>>,
    numbers: Held<'py>,
    missing: Option<PyReadonlyArray1<'py, bool>>,
}

impl HeldColumn<'_> {
    /// Number of cells, of which there is one in each of its parts.
    fn len(&self) -> Option<usize> {
        let rows = self.numbers.len();
        self.missing.as_ref().is_none_or(|missing| missing.as_array().len() == rows).then_some(rows)
    }

    /// Room for copies of so many cells.
    fn room(&self, rows: usize) -> (Copied, Option<Array1<bool>>) {
        (self.numbers.room(rows), self.missing.as_ref().map(|_| Array1::default(rows)))
    }

    /// Copies some rows of a column with the marks of its missing cells.
    fn copy(&self, rows: Range<usize>, first: usize, room: &mut (Copied, Option<Array1<bool>>)) -> bool {
        if let (Some(missing), Some(room)) = (&self.missing, &mut room.1) {
            let missing = missing.as_array();
            if rows.end > missing.len() {
                return false;
            }
            let to = Slice::from(rows.start - first..rows.end - first);
            room.slice_axis_mut(Axis(0), to).assign(&missing.slice_axis(Axis(0), Slice::from(rows.clone())));
        }
        self.numbers.copy(rows, first, &mut room.0)
    }
}

/// Columns that are held while the engine reads them.
pub struct Columns<'py>(Vec<HeldColumn<'py>>);

impl<'py> Columns<'py> {
    /// Takes hold of the arrays.
    ///
    /// # Errors
    /// When one is no array of one dimension and a type that the engine reads.
    pub fn new(given: Vec<GivenColumn<'py>>) -> PyResult<Self> {
        let column = |(name, texts, array, missing): GivenColumn<'py>| match Held::of(&array) {
            Some(numbers) => Ok(HeldColumn { name, texts, numbers, missing }),
            None => Err(PyTypeError::new_err(format!(
                "column {name:?} is no one-dimensional array of numbers of 8 to 64 bits; convert it"
            ))),
        };
        given.into_iter().map(column).collect::<PyResult<_>>().map(Columns)
    }

    /// Hands the rows to `add` in copied pieces, one after the other, and looks for signals in between.
    ///
    /// Memory of Python may change whenever its lock is free, so it is read with the lock held, into memory that is ours, and
    /// the lock is let go after every few megabytes and while `add` works. Every cell is read once, all cells of a row
    /// together. Of an array that another thread writes to meanwhile some rows are taken as they were, others as they have
    /// become; nothing worse comes of it.
    ///
    /// # Errors
    /// When columns differ in length, one becomes shorter meanwhile, a signal came, or `add` refuses.
    pub fn each_piece(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        add: impl FnMut(&Table<'_>) -> Fallible<()> + Send,
    ) -> PyResult<()> {
        let piece = (CELLS_PER_PIECE / self.0.len().max(1)).max(PiecesEncoder::MULTIPLE);
        self.each_of(py, threads, piece / PiecesEncoder::MULTIPLE * PiecesEncoder::MULTIPLE, add)
    }

    /// Hands the rows to `look` in smaller pieces, for work of so little time that the way to memory counts.
    ///
    /// # Errors
    /// When columns differ in length, one becomes shorter meanwhile, a signal came, or `look` refuses.
    pub fn each_look(&self, py: Python<'_>, look: impl FnMut(&Table<'_>) -> Fallible<()> + Send) -> PyResult<()> {
        self.each_of(py, None, (CELLS_PER_LOOK / self.0.len().max(1)).max(1024), look)
    }

    /// Hands on all rows of the columns as one piece.
    ///
    /// # Errors
    /// When columns differ in length, one becomes shorter meanwhile, a signal came, or the work on a piece refuses.
    pub fn whole(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        look: impl FnMut(&Table<'_>) -> Fallible<()> + Send,
    ) -> PyResult<()> {
        self.each_of(py, threads, usize::MAX / 2, look)
    }

    /// Hands on the rows of the columns in pieces of so many rows.
    fn each_of(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        piece: usize,
        mut add: impl FnMut(&Table<'_>) -> Fallible<()> + Send,
    ) -> PyResult<()> {
        let rows = self.rows(py)?;
        let mut first = 0;
        // Memory that one piece after the other is copied to.
        let mut rooms: Vec<(Copied, Option<Array1<bool>>)> = Vec::new();
        let mut size = usize::MAX;
        // Also where there is no row: what is wrong with a table is wrong with an empty one.
        while first < rows || first == 0 {
            let range = first..rows.min(first + piece);
            if range.len() != size {
                size = range.len();
                rooms = self.0.iter().map(|column| column.room(size)).collect();
            }
            let copied = self.copy(py, &range, &mut rooms)?;
            aside(py, threads, || {
                let lists = copied.iter().map(|column| column.list(range.len())).collect::<Vec<_>>();
                let cells =
                    copied.iter().zip(&lists).map(|(column, list)| (column.name.to_owned(), column.cells(list)));
                add(&Table::new(cells.collect())?)
            })?;
            py.check_signals()?;
            first += piece;
        }
        Ok(())
    }

    /// All rows, encoded by a schema.
    ///
    /// # Errors
    /// When columns differ in length, one becomes shorter meanwhile, a signal came, or the table does not fit the schema.
    pub fn encoded(&self, py: Python<'_>, schema: &Schema, threads: Option<usize>) -> PyResult<EncodedTable> {
        let mut encoder = PiecesEncoder::new(schema, self.rows(py)?);
        self.each_piece(py, threads, |piece| encoder.add(piece))?;
        aside(py, threads, || Ok(encoder.finish()))
    }

    /// Number of rows, which is the same in all columns.
    pub fn rows(&self, py: Python<'_>) -> PyResult<usize> {
        let Some(first) = self.0.first() else {
            let none = Error::parameter("columns", "there is none", "give at least one column");
            return raised(py, Err(none));
        };
        let rows = first.numbers.len();
        match self.0.iter().find(|column| column.len() != Some(rows)) {
            None => Ok(rows),
            Some(HeldColumn { name, .. }) => {
                let problem = "does not have as many rows as the first one";
                raised(py, Err(Error::parameter(format!("column {name:?}"), problem, "give one cell for every row")))
            }
        }
    }

    fn copy<'a>(
        &'a self,
        py: Python<'_>,
        rows: &Range<usize>,
        rooms: &'a mut [(Copied, Option<Array1<bool>>)],
    ) -> PyResult<Vec<CopiedColumn<'a>>> {
        // All cells of a few rows at a time: they lie together in a matrix of rows, and no row is torn by another thread.
        let block = (CELLS_PER_BLOCK / self.0.len().max(1)).max(1);
        let mut held_for = 0;
        for start in rows.clone().step_by(block) {
            let some = start..rows.end.min(start + block);
            for (column, room) in self.0.iter().zip(rooms.iter_mut()) {
                if !column.copy(some.clone(), rows.start, room) {
                    let name = &column.name;
                    let problem = "became shorter while it was read";
                    let error = Error::parameter(format!("column {name:?}"), problem, "leave it as it is during fit");
                    return raised(py, Err(error));
                }
            }
            held_for += some.len() * self.0.len();
            if held_for >= CELLS_PER_HOLD {
                held_for = 0;
                py.detach(|| ());
            }
        }
        let copied = self.0.iter().zip(rooms.iter()).map(|(HeldColumn { name, texts, .. }, (numbers, missing))| {
            CopiedColumn { name, texts: texts.as_deref(), numbers, missing: missing.as_ref() }
        });
        Ok(copied.collect())
    }
}

/// Some rows of a column, copied.
struct CopiedColumn<'a> {
    name: &'a str,
    texts: Option<&'a [String]>,
    numbers: &'a Copied,
    missing: Option<&'a Array1<bool>>,
}

/// The texts that occur in a piece, and where each row's stands among them.
struct Listed {
    list: Vec<String>,
    places: Option<Array1<i32>>,
}

impl CopiedColumn<'_> {
    /// The texts of the piece: all of them where they are few, else those that occur.
    fn list(&self, rows: usize) -> Option<Listed> {
        let texts = self.texts?;
        if texts.len() <= rows.max(1024) {
            return Some(Listed { list: texts.to_vec(), places: None });
        }
        let (mut known, mut list) = (HashMap::new(), Vec::new());
        let local = |place: Option<usize>| match place {
            None => -1,
            Some(place) => *known.entry(place).or_insert_with(|| {
                list.push(texts[place].clone());
                list.len() as i32 - 1
            }),
        };
        let places = self.numbers.places(texts.len()).into_iter().map(local).collect();
        Some(Listed { list, places: Some(places) })
    }

    fn cells<'a>(&'a self, listed: &'a Option<Listed>) -> Cells<'a> {
        match listed {
            None => match self.missing {
                Some(missing) => Cells::Masked { numbers: self.numbers.numbers(), missing: missing.view() },
                None => Cells::Numbers(self.numbers.numbers()),
            },
            Some(Listed { list, places }) => {
                let places =
                    places.as_ref().map_or_else(|| self.numbers.numbers(), |places| Numbers::I32(places.view()));
                Cells::Texts { list: list.clone(), places }
            }
        }
    }
}

/// Hands the rows of a matrix of numbers to `look` in pieces. Few are copied and looked at by this thread while Python goes on. Many are looked at
/// where they lie, by threads of our own, where that takes nanoseconds a row (`quick`): Python waits for some milliseconds at a time, so that
/// none of its code changes them meanwhile. Else they are copied and looked at while Python goes on.
///
/// # Errors
/// When the matrix has another number of columns, has another shape when Python went on, a signal came, or `look` refuses.
pub fn each_of_matrix(
    py: Python<'_>,
    columns: usize,
    matrix: &Bound<'_, PyArray2<f64>>,
    quick: bool,
    mut look: impl FnMut(&ArrayView2<'_, f64>) -> Fallible<()> + Send,
) -> PyResult<()> {
    let shape = matrix.try_readonly()?.as_array().dim();
    let size = match (shape.0 <= FEW_ROWS, quick) {
        (true, _) => FEW_ROWS,
        (false, true) => (CELLS_IN_PLACE / shape.1.max(1)).max(FEW_ROWS),
        (false, false) => (CELLS_PER_LOOK / shape.1.max(1)).max(FEW_ROWS),
    };
    for first in (0..shape.0.max(1)).step_by(size) {
        // Let go of before Python goes on: it may do with the array what it likes then.
        let seen = matrix.try_readonly()?;
        let all = seen.as_array();
        if all.dim() != shape || shape.1 != columns {
            let problem = "has other rows or columns than when the call began";
            return raised(py, Err(Error::parameter("X", problem, "leave it as it is until the call returns")));
        }
        let rows = all.slice_axis(Axis(0), Slice::from(first..shape.0.min(first + size)));
        if shape.0 > FEW_ROWS && quick {
            held(py, || look(&rows))?;
            drop(seen);
            py.detach(|| ());
        } else {
            let copied = rows.to_owned();
            drop(seen);
            let work = || look(&copied.view());
            if shape.0 <= FEW_ROWS { alone(py, work) } else { aside(py, None, work) }?;
        }
        py.check_signals()?;
    }
    Ok(())
}

/// Adds the functions of this file to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(single, module)?)?;
    module.add_function(wrap_pyfunction!(label_places, module)?)?;
    module.add_function(wrap_pyfunction!(numbers_in, module)?)
}

/// The number that the fewest digits of a single-precision number say.
#[pyfunction]
fn single(value: f32) -> f64 {
    rhograd::data::single(value)
}

/// The place of each cell's label among declared ones, and -1 for any other cell.
#[pyfunction]
fn label_places<'py>(
    py: Python<'py>,
    labels: Vec<String>,
    column: GivenColumn<'py>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (name, mut places) = (column.0.clone(), Vec::new());
    Columns::new(vec![column])?.each_piece(py, None, |piece| {
        let codes = label_codes(&name, piece.column(&name)?, &labels)?;
        places.extend(codes.into_iter().map(|place| place.map_or(-1, i64::from)));
        Ok(())
    })?;
    Ok(PyArray1::from_vec(py, places))
}

/// The numbers that the cells of a column say, NaN for a missing one.
#[pyfunction]
fn numbers_in<'py>(py: Python<'py>, column: GivenColumn<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (name, mut numbers) = (column.0.clone(), Vec::new());
    Columns::new(vec![column])?.each_piece(py, None, |piece| {
        numbers.extend(numbers_of(&name, piece.column(&name)?)?);
        Ok(())
    })?;
    Ok(PyArray1::from_vec(py, numbers))
}
