//! Columns of numpy arrays, read where they lie.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use rhograd::data::{Cells, Numbers, Table};
use rhograd::error::Fallible;

/// A column as Python gives it: its name, the list of its texts where it is one of places in a list, and the numbers.
pub type GivenColumn<'py> = (String, Option<Vec<String>>, Bound<'py, PyAny>);

/// Declares an array of any of the types that the engine reads.
macro_rules! held {
    ($($variant:ident: $number:ty,)*) => {
        /// A one-dimensional array that stays as it is while we hold it.
        enum Held<'py> { $($variant(PyReadonlyArray1<'py, $number>),)* }

        impl<'py> Held<'py> {
            fn of(array: &Bound<'py, PyAny>) -> Option<Self> {
                $(if let Ok(array) = array.extract::<PyReadonlyArray1<'py, $number>>() {
                    return Some(Held::$variant(array));
                })*
                None
            }

            fn numbers(&self) -> Numbers<'_> {
                match self { $(Held::$variant(array) => Numbers::$variant(array.as_array()),)* }
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

/// Columns that are held while the engine reads them.
pub struct Columns<'py>(Vec<(String, Option<Vec<String>>, Held<'py>)>);

impl<'py> Columns<'py> {
    /// Takes hold of the arrays.
    ///
    /// # Errors
    /// When one is no array of one dimension and a type that the engine reads.
    pub fn new(given: Vec<GivenColumn<'py>>) -> PyResult<Self> {
        let column = |(name, texts, array): GivenColumn<'py>| match Held::of(&array) {
            Some(held) => Ok((name, texts, held)),
            None => Err(PyTypeError::new_err(format!(
                "column {name:?} is no one-dimensional array of numbers of 8 to 64 bits; convert it"
            ))),
        };
        given.into_iter().map(column).collect::<PyResult<_>>().map(Columns)
    }

    /// The table of them.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn table(&self) -> Fallible<Table<'_>> {
        let cells = |texts: &Option<Vec<String>>, numbers| match texts {
            None => Cells::Numbers(numbers),
            Some(list) => Cells::Texts { list: list.clone(), places: numbers },
        };
        Table::new(self.0.iter().map(|(name, texts, held)| (name.clone(), cells(texts, held.numbers()))).collect())
    }
}
