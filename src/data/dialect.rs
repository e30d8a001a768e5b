//! CSV files whose cells stand between other signs than commas, and whose numbers may have a decimal comma.
//!
//! Such a file is read as the ordinary CSV that it stands for, line by line: everything behind this knows commas and points
//! alone. A line becomes a line, by itself, so that none can change how another one is read.

use std::borrow::Cow;

use super::fields::Fields;
use super::value::number;
use crate::error::{Error, Fallible};

/// Signs that no number and no quote is made of.
const SEPARATORS: [char; 7] = [',', ';', '\t', '|', ':', '^', '~'];

/// How a CSV file separates cells and writes decimals.
///
/// ```
/// use rhograd::data::Dialect;
///
/// let german = Dialect::new(';', ',')?;
/// assert_ne!(german, Dialect::default());
/// assert!(Dialect::new('7', '.').is_err());
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    separator: u8,
    decimal: u8,
}

impl Default for Dialect {
    fn default() -> Self {
        Dialect { separator: b',', decimal: b'.' }
    }
}

impl Dialect {
    /// Cells between `separator`, one of `, ; | : ^ ~` and a tab, and numbers with `decimal`, a point or a comma.
    ///
    /// # Errors
    /// When either is another character.
    pub fn new(separator: char, decimal: char) -> Fallible<Self> {
        if !SEPARATORS.contains(&separator) {
            let problem = format!("is {separator:?}, must be a comma, a tab or one of ; | : ^ ~");
            return Err(Error::parameter("separator", problem, "write the file with one of these"));
        }
        if !['.', ','].contains(&decimal) {
            let problem = format!("is {decimal:?}, must be a point or a comma");
            return Err(Error::parameter("decimal", problem, "write the file with one of these"));
        }
        Ok(Dialect { separator: separator as u8, decimal: decimal as u8 })
    }

    /// Whether files are read as they stand.
    pub(crate) fn is_usual(&self) -> bool {
        *self == Dialect::default()
    }

    /// Both characters, as what a cache or a checkpoint keeps of them; empty for the usual ones.
    pub(crate) fn key(&self) -> String {
        let said = || [self.separator, self.decimal].map(char::from).iter().collect();
        if self.is_usual() { String::new() } else { said() }
    }

    /// A cell of a translated line as it stands in the file: point and comma change places in the same cells, back.
    pub(crate) fn as_written<'a>(&self, cell: &'a [u8]) -> Cow<'a, [u8]> {
        if self.decimal == b',' { with_point(cell) } else { Cow::Borrowed(cell) }
    }

    /// Cells of lines as they stand in the file.
    pub(super) fn fields(&self) -> Fields {
        Fields::separated_by(self.separator)
    }

    /// Appends the line that a line stands for, neither with its ending.
    pub(super) fn translate(&self, line: &[u8], fields: &mut Fields, out: &mut Vec<u8>) {
        fields.split(line);
        for (index, cell) in fields.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let cell = self.as_written(cell);
            if cell.iter().any(|byte| matches!(byte, b',' | b'"' | b'\r')) {
                out.push(b'"');
                for &byte in cell.iter() {
                    out.extend((byte == b'"').then_some(b'"'));
                    out.push(byte);
                }
                out.push(b'"');
            } else {
                out.extend_from_slice(&cell);
            }
        }
    }
}

/// A cell as a file with decimal points has it: in one that is a number with either, point and comma change places.
///
/// So `1,5` is the number 1.5. And `1.500`, which may be meant as fifteen hundred and is no number where decimals have a
/// comma, becomes `1,500`, which is no number either.
fn with_point(cell: &[u8]) -> Cow<'_, [u8]> {
    if !cell.iter().any(|byte| matches!(byte, b',' | b'.')) {
        return Cow::Borrowed(cell);
    }
    let swap = |byte: &u8| match byte {
        b',' => b'.',
        b'.' => b',',
        other => *other,
    };
    let swapped: Vec<u8> = cell.iter().map(swap).collect();
    if number(cell).is_some() || number(&swapped).is_some() { Cow::Owned(swapped) } else { Cow::Borrowed(cell) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn translated(separator: char, decimal: char, line: &str) -> String {
        let dialect = Dialect::new(separator, decimal).unwrap();
        let mut out = Vec::new();
        dialect.translate(line.as_bytes(), &mut dialect.fields(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_become_those_that_they_stand_for() {
        for (separator, decimal, line, expected) in [
            (';', '.', "a;b;c", "a,b,c"),
            (';', '.', "1.5; x ;", "1.5,x,"),
            (';', '.', "a,b;c", "\"a,b\",c"),
            (';', '.', "\"a;b\";\"c\"\"d\"", "a;b,\"c\"\"d\""),
            ('\t', '.', "a\tb c\t", "a,b c,"),
            (';', ',', "1,5;-0,25;1e3;,5;3", "1.5,-0.25,1e3,.5,3"),
            (';', ',', "1,5e-3;1.500;1.234,50", "1.5e-3,\"1,500\",\"1.234,50\""),
            (';', ',', "31.12.2020;a,b;A.1;x", "31.12.2020,\"a,b\",A.1,x"),
            (',', ',', "\"1,5\",2", "1.5,2"),
            ('|', '.', "", ""),
            ('|', '.', "\"open|x", "open|x"),
        ] {
            assert_eq!(translated(separator, decimal, line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn cells_are_kept_and_a_line_stays_a_line(
            line in proptest::collection::vec(
                prop_oneof![6 => proptest::sample::select(b"a1;,.\" \t\r".to_vec()), 1 => any::<u8>()], 0..30),
        ) {
            prop_assume!(!line.contains(&b'\n'));
            let dialect = Dialect::new(';', '.').unwrap();
            let (mut fields, mut read, mut out) = (dialect.fields(), Fields::default(), Vec::new());
            dialect.translate(&line, &mut fields, &mut out);
            prop_assert!(!out.contains(&b'\n'));
            read.split(&out);
            fields.split(&line);
            prop_assert_eq!(fields.iter().collect::<Vec<_>>(), read.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn other_signs_are_refused() {
        for separator in ['.', '"', '\n', '\r', 'x', '1', '-', ' ', 'é', '\u{18}'] {
            assert!(Dialect::new(separator, '.').is_err(), "{separator:?}");
        }
        assert!(Dialect::new(';', ';').is_err());
        assert!(Dialect::new(',', '.').unwrap().is_usual());
    }
}
