//! Columns in memory: numbers, or texts by number, borrowed wherever they lie.

use std::collections::HashMap;

use ndarray::{ArrayView1, Axis, Slice};

use super::suggest::nearest;
use super::value::{Digits, Spelled, number, single, trim, value};
use crate::error::{Error, Fallible};

/// Numbers of one column in any layout; NaN stands for a missing cell.
///
/// Each number is taken as the nearest double of its fewest digits: what a CSV file says that holds them. So one of single
/// precision that is next to 0.1 is 0.1.
#[derive(Clone)]
pub enum Numbers<'a> {
    /// Doubles.
    F64(ArrayView1<'a, f64>),
    /// Single precision.
    F32(ArrayView1<'a, f32>),
    /// Signed, 64 bits.
    I64(ArrayView1<'a, i64>),
    /// Signed, 32 bits.
    I32(ArrayView1<'a, i32>),
    /// Signed, 16 bits.
    I16(ArrayView1<'a, i16>),
    /// Signed, 8 bits.
    I8(ArrayView1<'a, i8>),
    /// Unsigned, 64 bits.
    U64(ArrayView1<'a, u64>),
    /// Unsigned, 32 bits.
    U32(ArrayView1<'a, u32>),
    /// Unsigned, 16 bits.
    U16(ArrayView1<'a, u16>),
    /// Unsigned, 8 bits.
    U8(ArrayView1<'a, u8>),
}

/// Evaluates an expression for whatever type the numbers have.
macro_rules! with_view {
    ($numbers:expr, $view:ident => $body:expr) => {
        match $numbers {
            Numbers::F64($view) => $body,
            Numbers::F32($view) => $body,
            Numbers::I64($view) => $body,
            Numbers::I32($view) => $body,
            Numbers::I16($view) => $body,
            Numbers::I8($view) => $body,
            Numbers::U64($view) => $body,
            Numbers::U32($view) => $body,
            Numbers::U16($view) => $body,
            Numbers::U8($view) => $body,
        }
    };
}

impl Numbers<'_> {
    /// These numbers, borrowed anew.
    fn view(&self) -> Numbers<'_> {
        match self {
            Numbers::F64(view) => Numbers::F64(view.view()),
            Numbers::F32(view) => Numbers::F32(view.view()),
            Numbers::I64(view) => Numbers::I64(view.view()),
            Numbers::I32(view) => Numbers::I32(view.view()),
            Numbers::I16(view) => Numbers::I16(view.view()),
            Numbers::I8(view) => Numbers::I8(view.view()),
            Numbers::U64(view) => Numbers::U64(view.view()),
            Numbers::U32(view) => Numbers::U32(view.view()),
            Numbers::U16(view) => Numbers::U16(view.view()),
            Numbers::U8(view) => Numbers::U8(view.view()),
        }
    }

    fn len(&self) -> usize {
        with_view!(self, view => view.len())
    }

    /// The text of one number.
    fn text(&self, row: usize) -> String {
        match self {
            Numbers::F64(view) => Digits(view[row]).to_string(),
            Numbers::F32(view) => Digits(single(view[row])).to_string(),
            Numbers::I64(view) => view[row].to_string(),
            Numbers::U64(view) => view[row].to_string(),
            // Small enough for a double.
            view => with_view!(view, view => view[row].to_string()),
        }
    }

    /// The numbers of consecutive rows, as many as `out` has room for.
    #[inline]
    #[expect(clippy::unnecessary_cast, reason = "of ten types one needs none")]
    pub(crate) fn read(&self, first: usize, out: &mut [f64]) {
        let rows = first..first + out.len();
        if let Numbers::F32(view) = self {
            let from = view.slice_axis(Axis(0), Slice::from(rows));
            return from.iter().zip(out).for_each(|(&from, to)| *to = single(from));
        }
        with_view!(self, view => {
            view.slice_axis(Axis(0), Slice::from(rows)).iter().zip(out).for_each(|(&from, to)| *to = from as f64);
        });
    }
}

/// The cells of one column.
#[derive(Clone)]
pub enum Cells<'a> {
    /// Numbers.
    Numbers(Numbers<'a>),
    /// Numbers, and which of them are missing cells whatever stands in their places.
    Masked {
        /// The numbers.
        numbers: Numbers<'a>,
        /// Whether each is missing.
        missing: ArrayView1<'a, bool>,
    },
    /// Texts, each row's by its place in a list; a place outside the list stands for a missing cell.
    Texts {
        /// The texts.
        list: Vec<String>,
        /// One place a row.
        places: Numbers<'a>,
    },
}

impl Cells<'_> {
    /// Number of cells.
    pub(crate) fn len(&self) -> usize {
        match self {
            Cells::Numbers(values) | Cells::Texts { places: values, .. } => values.len(),
            // As many in both, or the table is refused.
            Cells::Masked { numbers, missing } => numbers.len().min(missing.len()),
        }
    }

    /// Whether there is a number for every mark.
    fn is_whole(&self) -> bool {
        !matches!(self, Cells::Masked { numbers, missing } if numbers.len() != missing.len())
    }
}

/// What is wanted of the cells of a column of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The number that each cell says.
    Number,
    /// The text of each cell.
    Text,
}

/// The cells of a column as texts for the custodian's eyes.
pub(crate) struct Shown<'a> {
    values: Numbers<'a>,
    missing: Option<ArrayView1<'a, bool>>,
    list: Option<&'a [String]>,
}

impl<'a> Shown<'a> {
    pub fn new(cells: &'a Cells<'_>) -> Self {
        match cells {
            Cells::Numbers(values) => Shown { values: values.view(), missing: None, list: None },
            Cells::Masked { numbers, missing } => {
                Shown { values: numbers.view(), missing: Some(missing.view()), list: None }
            }
            Cells::Texts { list, places } => Shown { values: places.view(), missing: None, list: Some(list) },
        }
    }

    /// What tells the text of a row's cell from other texts of the column; `None` where the cell is missing.
    #[allow(clippy::unnecessary_cast, reason = "one of the types is the one that is cast to")]
    pub fn key(&self, row: usize) -> Option<u64> {
        if self.missing.is_some_and(|missing| missing[row]) {
            return None;
        }
        match &self.values {
            Numbers::F64(view) => Some(view[row]).filter(|value| !value.is_nan()).map(f64::to_bits),
            Numbers::F32(view) => Some(view[row]).filter(|value| !value.is_nan()).map(|value| value.to_bits().into()),
            Numbers::U64(view) => Some(view[row]),
            view => with_view!(view, view => Some(view[row] as i64 as u64)),
        }
    }

    /// Whether a cell is no floating-point number so large that it may stand for several whole ones.
    pub fn is_exact(&self, row: usize) -> bool {
        match &self.values {
            _ if self.list.is_some() => true,
            Numbers::F64(view) => view[row].abs() < 1.0 / f64::EPSILON * 2.0,
            Numbers::F32(view) => view[row].abs() < 1.0 / f32::EPSILON * 2.0,
            _ => true,
        }
    }

    /// What stands in a row; empty where nothing does.
    pub fn get(&self, row: usize) -> String {
        let mut value = [f64::NAN];
        self.values.read(row, &mut value);
        match self.list {
            _ if value[0].is_nan() || self.missing.is_some_and(|missing| missing[row]) => String::new(),
            None => self.values.text(row),
            // A place that is negative, not whole or too large is none.
            Some(list) if value[0] >= 0.0 => list.get(value[0] as usize).cloned().unwrap_or_default(),
            Some(_) => String::new(),
        }
    }
}

/// Named columns of the same length: what a CSV file of the same cells says, without the file.
pub struct Table<'a> {
    rows: usize,
    columns: Vec<(String, Cells<'a>)>,
    /// The place of each column.
    places: HashMap<String, usize>,
}

impl<'a> Table<'a> {
    /// Joins columns.
    ///
    /// # Errors
    /// When there is none, two have the same name, or they differ in length; the lengths are not told.
    pub fn new(columns: Vec<(String, Cells<'a>)>) -> Fallible<Self> {
        let Some((_, first)) = columns.first() else {
            return Err(Error::parameter("columns", "there is none", "give at least one column"));
        };
        let rows = first.len();
        let mut places = HashMap::with_capacity(columns.len());
        for (index, (name, cells)) in columns.iter().enumerate() {
            if places.insert(name.clone(), index).is_some() {
                return Err(Error::parameter(format!("column {name:?}"), "is there twice", "rename one of them"));
            }
            if cells.len() != rows || !cells.is_whole() {
                let problem = "does not have as many rows as the first one";
                return Err(Error::parameter(format!("column {name:?}"), problem, "give one cell for every row"));
            }
        }
        Ok(Table { rows, columns, places })
    }

    /// Number of rows. Private under add-remove.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// The cells of a column.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn column(&self, name: &str) -> Fallible<&Cells<'a>> {
        self.places.get(name).map(|&place| &self.columns[place].1).ok_or_else(|| {
            let meant = nearest(name, self.names()).map_or(String::new(), |meant| format!("it may be {meant:?}; "));
            let cure = format!("{meant}add it to the data or take it out of the schema");
            Error::parameter(format!("column {name:?}"), "is missing", cure)
        })
    }
}

/// Numbers, and which of them are missing cells.
struct Held<'a> {
    numbers: Numbers<'a>,
    missing: Option<ArrayView1<'a, bool>>,
}

impl<'a> Held<'a> {
    fn of(cells: &'a Cells<'_>) -> Self {
        match cells {
            Cells::Numbers(numbers) | Cells::Texts { places: numbers, .. } => {
                Held { numbers: numbers.view(), missing: None }
            }
            Cells::Masked { numbers, missing } => Held { numbers: numbers.view(), missing: Some(missing.view()) },
        }
    }

    /// The numbers of consecutive rows, NaN for a missing one.
    #[inline]
    fn read(&self, first: usize, out: &mut [f64]) {
        let rows = first..first + out.len();
        self.numbers.read(first, out);
        if let Some(missing) = &self.missing {
            let missing = missing.slice_axis(Axis(0), Slice::from(rows));
            missing.iter().zip(out).filter(|(missing, _)| **missing).for_each(|(_, out)| *out = f64::NAN);
        }
    }
}

/// What every cell of a column stands for, found once for each text that may occur.
pub(crate) struct Reading<'a, T> {
    values: Held<'a>,
    rule: Rule<T>,
    missing: T,
}

enum Rule<T> {
    /// By place in a list of texts.
    Listed(Vec<T>),
    /// By number: those of the declared texts that spell numbers, those that only equal the text of a number, and what all other
    /// numbers stand for.
    Valued { known: Spelled<T>, texts: Vec<(String, T)>, other: T },
}

/// A text that no declared one equals: it is not even text.
const NO_TEXT: &[u8] = b"\xff";

impl<'a, T: Copy> Reading<'a, T> {
    /// `read` says what a text stands for, an empty one what a missing cell does; where cells are numbers, a number is what
    /// a declared text stands for that says this number, however it is written.
    ///
    /// # Errors
    /// When cells are numbers and two declared texts say the same one.
    pub fn new(name: &str, cells: &'a Cells<'_>, declared: &[&str], read: impl Fn(&[u8]) -> T) -> Fallible<Self> {
        let missing = read(b"");
        let rule = match cells {
            Cells::Texts { list, .. } => Rule::Listed(list.iter().map(|text| read(trim(text.as_bytes()))).collect()),
            Cells::Numbers(_) | Cells::Masked { .. } => Self::by_number(name, declared, read)?,
        };
        Ok(Reading { values: Held::of(cells), rule, missing })
    }

    fn by_number(name: &str, declared: &[&str], read: impl Fn(&[u8]) -> T) -> Fallible<Rule<T>> {
        let declared = || declared.iter().map(|text| trim(text.as_bytes()));
        let known = Spelled::new(declared().map(|text| (text, read(text))));
        if let Some(value) = known.twice() {
            let problem = format!("declares {value} in two ways of writing, and its cells are numbers");
            return Err(Error::parameter(format!("column {name:?}"), problem, "declare it once, or give texts"));
        }
        // Whole numbers that doubles do not tell apart, and infinities.
        let alone = declared().filter(|text| number(text).is_some_and(|value| known.of(value).is_none()));
        let texts = alone.map(|text| (String::from_utf8_lossy(text).into_owned(), read(text))).collect();
        Ok(Rule::Valued { known, texts, other: read(NO_TEXT) })
    }

    /// What the cells of consecutive rows stand for, as many as `out` has room for; `buffer` is as long.
    #[inline]
    pub fn read(&self, first: usize, buffer: &mut [f64], out: &mut [T]) {
        self.values.read(first, buffer);
        for (row, (&value, out)) in buffer.iter().zip(out).enumerate() {
            *out = match &self.rule {
                // A place that is negative, not whole or too large is none.
                Rule::Listed(list) if value >= 0.0 => list.get(value as usize).copied().unwrap_or(self.missing),
                Rule::Listed(_) => self.missing,
                Rule::Valued { .. } if value.is_nan() => self.missing,
                Rule::Valued { known, texts, other } => match known.of(value) {
                    Some(found) => found,
                    None if texts.is_empty() => *other,
                    None => self.by_text(texts, first + row).unwrap_or(*other),
                },
            };
        }
    }

    #[cold]
    fn by_text(&self, texts: &[(String, T)], row: usize) -> Option<T> {
        let text = self.values.numbers.text(row);
        texts.iter().find(|(known, _)| *known == text).map(|(_, of)| *of)
    }
}

/// The numbers that the cells of a column say; NaN where one says none.
pub(crate) struct NumberCells<'a>(Said<'a>);

enum Said<'a> {
    Numbers(Held<'a>),
    Texts(Reading<'a, f64>),
}

impl<'a> NumberCells<'a> {
    /// Prepares a column.
    ///
    /// # Errors
    /// Never: texts that are no numbers are missing cells.
    pub fn new(name: &str, cells: &'a Cells<'_>) -> Fallible<Self> {
        Ok(NumberCells(match cells {
            Cells::Numbers(_) | Cells::Masked { .. } => Said::Numbers(Held::of(cells)),
            Cells::Texts { .. } => Said::Texts(Reading::new(name, cells, &[], |text| value(text).unwrap_or(f64::NAN))?),
        }))
    }

    /// The numbers of consecutive rows, as many as `out` has room for; `buffer` is as long.
    #[inline]
    pub fn read(&self, first: usize, buffer: &mut [f64], out: &mut [f64]) {
        match &self.0 {
            Said::Numbers(values) => values.read(first, out),
            Said::Texts(texts) => texts.read(first, buffer, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, aview1};

    fn codes(cells: &Cells<'_>, declared: &[&str]) -> Vec<i32> {
        let read = |text: &[u8]| match declared.iter().position(|known| trim(known.as_bytes()) == text) {
            Some(at) => at as i32,
            None if text.is_empty() => -1,
            None => -2,
        };
        let reading = Reading::new("c", cells, declared, read).unwrap();
        let rows = Table::new(vec![("c".into(), cells.clone())]).unwrap().rows();
        let (mut buffer, mut out) = (vec![0.0; rows], vec![0; rows]);
        reading.read(0, &mut buffer, &mut out);
        out
    }

    #[test]
    fn numbers_stand_for_the_texts_that_say_them() {
        let cells = Cells::Numbers(Numbers::F64(aview1(&[1.0, 2.0, -0.0, f64::NAN, 0.5, 7.0, f64::INFINITY])));
        assert_eq!(codes(&cells, &["0", " 1 ", "2.00", "5e-1", "a"]), [1, 2, 0, -1, 3, -2, -2]);
        let cells = Cells::Numbers(Numbers::I8(aview1(&[-1, 3])));
        assert_eq!(codes(&cells, &["3", "-1"]), [1, 0]);
        assert!(Reading::new("c", &cells, &["1", "1.0"], |_| 0).is_err());
    }

    #[test]
    fn places_outside_the_list_are_missing() {
        let list = ["b", " a ", "", "z"].map(String::from).to_vec();
        let cells = Cells::Texts { list, places: Numbers::I32(aview1(&[0, 1, 2, 3, -1, 4])) };
        assert_eq!(codes(&cells, &["a", "b"]), [1, 0, -1, -2, -1, -1]);
        let cells = Cells::Texts { list: vec!["a".into()], places: Numbers::F64(aview1(&[f64::NAN, 0.0, -0.5])) };
        assert_eq!(codes(&cells, &["a"]), [-1, 0, -1]);
    }

    #[test]
    fn texts_that_are_numbers_are_read() {
        let list = ["1e3", " -2.5", "x", "nan"].map(String::from).to_vec();
        let cells = Cells::Texts { list, places: Numbers::U8(aview1(&[0, 1, 2, 3])) };
        let (mut buffer, mut out) = ([0.0; 4], [0.0; 4]);
        NumberCells::new("x", &cells).unwrap().read(0, &mut buffer, &mut out);
        assert_eq!(out[..2], [1000.0, -2.5]);
        assert!(out[2].is_nan() && out[3].is_nan());
    }

    #[test]
    fn columns_of_a_matrix_are_read_where_they_lie() {
        let matrix = Array2::from_shape_fn((5, 3), |(row, column)| (10 * row + column) as f64);
        let mut out = [0.0; 3];
        Numbers::F64(matrix.column(2)).read(1, &mut out);
        assert_eq!(out, [12.0, 22.0, 32.0]);
    }

    #[test]
    fn a_table_has_one_length_and_no_name_twice() {
        let column = |name: &str, cells: &'static [f64]| (name.to_owned(), Cells::Numbers(Numbers::F64(aview1(cells))));
        let refused = |columns| Table::new(columns).err().unwrap().to_string();
        assert!(refused(vec![]).contains("at least one"));
        assert!(refused(vec![column("a", &[1.0]), column("a", &[2.0])]).contains("\"a\""));
        let lengths = refused(vec![column("a", &[1.0, 2.0, 3.0]), column("b", &[2.0])]);
        assert!(lengths.contains("\"b\"") && !lengths.contains('3'), "{lengths}");
        assert!(Table::new(vec![column("a", &[1.0])]).unwrap().column("b").is_err());
    }
}
