//! What a cell means: one rule for every way in, told to users by `docs/cells.md`.
//!
//! A cell has a text, and nothing but its text counts: a missing cell has the empty one, a truth value `true` or `false`,
//! a number its fewest digits. So a column in memory means what a file of the same texts means, and no cell
//! changes how another one is read.

use std::borrow::Cow;
use std::fmt;

/// A cell without surrounding blanks.
pub(crate) fn trim(cell: &[u8]) -> &[u8] {
    cell.trim_ascii()
}

/// A cell as a number; `None` when it is missing, unreadable or NaN. Infinities are numbers.
pub(crate) fn number(cell: &[u8]) -> Option<f64> {
    std::str::from_utf8(trim(cell)).ok()?.parse().ok().filter(|v: &f64| !v.is_nan())
}

/// Doubles tell whole numbers apart below this size. Larger ones are compared by their texts alone: two of them are often
/// one double, and which of them a cell stands for would be a guess.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The number that a cell says in a numeric column; `None` where it is missing or says none. `true` and `false` are 1 and 0.
#[inline]
pub(crate) fn value(cell: &[u8]) -> Option<f64> {
    number(cell).or_else(|| truth(trim(cell)))
}

/// A truth value in any case.
fn truth(text: &[u8]) -> Option<f64> {
    let is = |word: &[u8]| text.eq_ignore_ascii_case(word);
    if is(b"true") { Some(1.0) } else { is(b"false").then_some(0.0) }
}

/// What begins a text that stands for bytes which are none: no text of a file holds a line ending.
const NO_TEXT: &str = "\u{fffd}\n";

/// Bytes as a text on one line; bytes that are no text become one that no other bytes become.
pub(crate) fn one_line(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.replace(['\n', '\r'], " "),
        Err(_) => {
            let line = |&byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
            let line: Vec<u8> = bytes.iter().map(line).collect();
            let digits = trim(&line).iter().map(|byte| format!("{byte:02x}"));
            std::iter::once(NO_TEXT.to_owned()).chain(digits).collect()
        }
    }
}

/// The bytes that [`one_line`] made a text of, without blanks around them; those of the text itself where it is no such text.
///
/// Two texts never have the same bytes: texts in memory may hold anything, also what looks like the form of other bytes.
pub(crate) fn line_bytes(text: &str) -> Cow<'_, [u8]> {
    let digit = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let digits = text.strip_prefix(NO_TEXT).map(|digits| digits.as_bytes().chunks(2).map(digit));
    let bytes: Option<Vec<u8>> = digits.and_then(Iterator::collect);
    bytes.filter(|bytes| one_line(bytes) == text).map_or(Cow::Borrowed(text.as_bytes()), Cow::Owned)
}

/// A number as two texts are compared by it; `None` where texts alone decide.
fn comparable(value: f64) -> Option<f64> {
    // Adding zero makes one zero of both.
    (value.abs() < MAX_EXACT).then_some(value + 0.0)
}

/// A number as its text: the fewest digits that are read back as the same number, with an exponent where it is long.
pub(crate) struct Digits(pub f64);

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        let long = size != 0.0 && size.is_finite() && !(1e-5..1e16).contains(&size);
        if long { write!(f, "{:e}", self.0) } else { write!(f, "{}", self.0) }
    }
}

/// The number that the fewest digits of a single-precision number say: 0.1 for the one next to 0.1.
///
/// A file that was written from such numbers holds these digits, so memory and file agree.
#[inline]
pub fn single(value: f32) -> f64 {
    /// Up to here the fewest digits of a whole number are all of its digits.
    const WHOLE: f32 = 16_777_216.0;
    let widened = f64::from(value);
    if (value.abs() <= WHOLE && value.trunc() == value) || !value.is_finite() {
        return widened;
    }
    spelled(value).unwrap_or(widened)
}

#[inline(never)]
fn spelled(value: f32) -> Option<f64> {
    zmij::Buffer::new().format_finite(value).parse().ok()
}

/// Declared texts by the number that each of them spells: what decides where no declared text equals that of a cell.
///
/// Of declared texts that spell one number, as `1` and `1.0` do, none is chosen: there the texts alone decide.
pub(crate) struct Spelled<T> {
    /// In increasing order.
    known: Vec<(f64, T)>,
    /// A number that several texts spell.
    twice: Option<f64>,
}

impl<T: Copy> Spelled<T> {
    /// Declared texts, each of them once.
    pub(crate) fn new<'t>(declared: impl IntoIterator<Item = (&'t [u8], T)>) -> Self {
        let numbers = declared.into_iter().filter_map(|(text, of)| Some((comparable(value(text)?)?, of)));
        let mut all: Vec<(f64, T)> = numbers.collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let groups = || all.chunk_by(|a, b| a.0 == b.0);
        let twice = groups().find(|group| group.len() > 1).map(|group| group[0].0);
        Spelled { known: groups().filter(|group| group.len() == 1).flatten().copied().collect(), twice }
    }

    /// What a text stands for that equals no declared one.
    #[inline]
    pub(crate) fn get(&self, text: &[u8]) -> Option<T> {
        // Most columns declare words, and most cells that are not declared are words, too.
        if self.known.is_empty() { None } else { self.of(value(text)?) }
    }

    /// What a number stands for.
    #[inline]
    pub(crate) fn of(&self, value: f64) -> Option<T> {
        let value = comparable(value)?;
        let found = self.known.binary_search_by(|(known, _)| known.total_cmp(&value));
        found.ok().map(|at| self.known[at].1)
    }

    /// A number that several declared texts spell, if there is one.
    pub(crate) fn twice(&self) -> Option<f64> {
        self.twice
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spelled<'t>(declared: &[&'t str]) -> Spelled<&'t str> {
        Spelled::new(declared.iter().map(|text| (text.as_bytes(), *text)))
    }

    #[test]
    fn one_value_has_many_spellings() {
        let known = spelled(&["1", "0", "2.50", "-3", "yes"]);
        for (declared, texts) in [
            ("1", &["1.0", "1e0", "01", "+1", "1.", "true", "TRUE", "True", "10e-1"][..]),
            ("0", &["0.0", "-0", "false", "False", ".0", "-0.0", "0e9", "1e-999"]),
            ("2.50", &["2.5", "25e-1"]),
            ("-3", &["-3.0", "-03"]),
        ] {
            for text in texts {
                assert_eq!(known.get(text.as_bytes()), Some(declared), "{text}");
            }
        }
        for text in
            ["", "yes", "Yes", "t", "truee", "1_0", "0x1", "nan", "inf", "1,0", "-1", "1.0000000000000003", "\u{ff11}"]
        {
            assert_eq!(known.get(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn truth_values_are_one_and_zero_both_ways() {
        let known = spelled(&["True", "False"]);
        for (text, declared) in [("1", "True"), ("0.0", "False"), ("true", "True"), ("FALSE", "False")] {
            assert_eq!(known.get(text.as_bytes()), Some(declared));
        }
        assert_eq!(
            (value(b" tRuE "), value(b"false"), value(b"yes"), value(b"NaN")),
            (Some(1.0), Some(0.0), None, None)
        );
    }

    #[test]
    fn what_two_declared_texts_spell_is_not_guessed() {
        let known = spelled(&["1", "1.0", "2", "true"]);
        assert_eq!((known.get(b"1e0"), known.get(b"2.0"), known.of(1.0)), (None, Some("2"), None));
        assert_eq!(known.twice(), Some(1.0));
        assert_eq!(spelled(&["1", "0", "x"]).twice(), None);
    }

    #[test]
    fn numbers_beyond_the_doubles_are_compared_by_text_alone() {
        let known = spelled(&["9007199254740994", "9007199254740995", "1e300", "inf"]);
        for text in ["9007199254740994.0", "9007199254740996", "1e+300", "inf", "infinity", "1e999"] {
            assert_eq!(known.get(text.as_bytes()), None, "{text}");
        }
        assert_eq!(known.twice(), None);
        assert_eq!(spelled(&["9007199254740991"]).get(b"9007199254740991.0"), Some("9007199254740991"));
    }

    proptest! {
        #[test]
        fn digits_are_read_back(bits in any::<u64>(), narrow in any::<u32>()) {
            let said = |value| Digits(value).to_string();
            let (value, narrow) = (f64::from_bits(bits), f32::from_bits(narrow));
            prop_assume!(!value.is_nan() && !narrow.is_nan());
            prop_assert_eq!(said(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
            let wide = single(narrow);
            prop_assert_eq!((wide as f32).to_bits(), narrow.to_bits());
            // The same number as the standard library's digits say, but for ties.
            let expected: f64 = format!("{narrow}").parse().unwrap();
            prop_assert!(wide == expected || said(wide).len() <= said(expected).len(), "{} {}", wide, expected);
        }
    }

    #[test]
    fn bytes_come_back_from_their_text_and_no_other_text_has_them() {
        for bytes in [&b"\xff"[..], b"\xffff", b"a\xfe", b"\xff \x00"] {
            assert_eq!(line_bytes(&one_line(bytes)), bytes);
            assert_eq!(line_bytes(&one_line(&[b" ", bytes, b"\n"].concat())), bytes);
        }
        assert_eq!((one_line(b"a\r\nb"), line_bytes("a")), ("a  b".into(), Cow::Borrowed(&b"a"[..])));
        // Texts in memory, which nobody keeps from looking like bytes: of text, with blanks, with other digits, in part.
        let alike =
            ["61", "ff20", "20ff", "FF", "+f", "ff", "f", "", "ff0a62", "ff2062"].map(|it| format!("{NO_TEXT}{it}"));
        let mut met: Vec<Vec<u8>> = alike.iter().map(|text| trim(&line_bytes(text)).to_vec()).collect();
        met.extend([b"a".to_vec(), b"\x0f".to_vec()]);
        let all = met.len();
        met.sort();
        met.dedup();
        assert_eq!(met.len(), all);
    }

    #[test]
    fn single_precision_says_its_fewest_digits() {
        for (narrow, wide) in
            [(0.1f32, 0.1), (2.5, 2.5), (-7.0, -7.0), (123_456_789.0, 123_456_790.0), (1e-3, 1e-3), (0.0, 0.0)]
        {
            assert_eq!(single(narrow), wide);
        }
        assert!(single(f32::NAN).is_nan() && single(f32::NEG_INFINITY) == f64::NEG_INFINITY);
    }
}
