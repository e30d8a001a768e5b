//! Texts with a number each.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::data::Spelled;

/// Longest text that is kept as one integer, its length included.
const SHORT: usize = 7;

/// The key of no text.
const FREE: u64 = u64::MAX;

/// Declared texts and their codes, without surrounding blanks: a text has the code of the declared one that equals it, else of
/// the only one that spells the same number, see [`Spelled`].
///
/// The declared texts are public, so nobody can choose cells that collide more than these few do.
pub(crate) struct Codes {
    /// Short texts by open addressing, at most half of the slots taken, so every search ends.
    short: Vec<(u64, u16)>,
    /// The other ones.
    long: HashMap<Box<[u8]>, u16, FixedState>,
    /// By number, asked where no text is equal.
    numbers: Spelled<u16>,
}

impl Codes {
    /// Of equal texts the last one counts.
    pub(crate) fn new<'a>(texts: impl IntoIterator<Item = (&'a str, u16)>) -> Self {
        let all: HashMap<Box<[u8]>, u16, FixedState> =
            texts.into_iter().map(|(text, code)| (text.trim_ascii().as_bytes().into(), code)).collect();
        let numbers = Spelled::new(all.iter().map(|(text, &code)| (&**text, code)));
        let (few, long): (HashMap<_, _, _>, HashMap<_, _, _>) =
            all.into_iter().partition(|(text, _)| text.len() <= SHORT);
        let mut codes = Codes { short: vec![(FREE, 0); (2 * few.len()).next_power_of_two().max(2)], long, numbers };
        for (text, code) in few {
            let free = codes.slot(short_key(&text));
            codes.short[free] = (short_key(&text), code);
        }
        codes
    }

    /// The code of a text without surrounding blanks.
    pub(crate) fn get(&self, text: &[u8]) -> Option<u16> {
        let same = if text.len() <= SHORT { self.get_short(short_key(text)) } else { self.long.get(text).copied() };
        same.or_else(|| self.by_number(text))
    }

    /// The code of the text that begins at `at` and ends before `stop`, blanks around it left out.
    ///
    /// `padded` must have eight bytes from `at` on.
    #[inline(always)]
    pub(super) fn find(&self, padded: &[u8], at: usize, stop: usize) -> Option<u16> {
        let length = stop - at;
        if let (1..=SHORT, Some(&eight)) = (length, padded[at..].first_chunk()) {
            let (first, last) = (padded[at], padded[stop - 1]);
            if !first.is_ascii_whitespace() && !last.is_ascii_whitespace() {
                let word = u64::from_le_bytes(eight) & ((1 << (8 * length)) - 1);
                return match self.get_short(word | (length as u64) << 56) {
                    None => self.by_number(&padded[at..stop]),
                    same => same,
                };
            }
        }
        self.get(padded[at..stop].trim_ascii())
    }

    /// Out of the way of the texts that are declared.
    #[cold]
    #[inline(never)]
    fn by_number(&self, text: &[u8]) -> Option<u16> {
        self.numbers.get(text)
    }

    #[inline(always)]
    fn get_short(&self, key: u64) -> Option<u16> {
        let (found, code) = self.short[self.slot(key)];
        (found == key).then_some(code)
    }

    /// The slot of a key, or the free one where it would be.
    #[inline(always)]
    fn slot(&self, key: u64) -> usize {
        let mask = self.short.len() - 1;
        // Upper bits of a product depend on all bits of the key; the factor is 2^64 divided by the golden ratio.
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.short[slot].0 != key && self.short[slot].0 != FREE {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// The bytes of a text of at most seven bytes, and its length in the top byte.
fn short_key(text: &[u8]) -> u64 {
    let word = text.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    word | (text.len() as u64) << 56
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_lengths_are_found_and_others_are_not() {
        // Letters in the place of digits: what spells a number has the code of whatever spells the same.
        let letters = |text: String| text.bytes().map(|digit| char::from(digit + b'a' - b'0')).collect::<String>();
        let texts: Vec<String> =
            (0..3000u32).map(|i| letters(format!("{:0width$}", i * 7, width = (i % 17) as usize))).collect();
        let codes = Codes::new(texts.iter().enumerate().map(|(code, text)| (text.as_str(), code as u16)));
        let known: HashMap<&str, u16> =
            texts.iter().enumerate().map(|(code, text)| (text.as_str(), code as u16)).collect();
        let odd = ["", " ", "x", "u\0", "\0", "aaaaaaa", "aaaaaaaa", "aaaaaaaaa"].map(String::from);
        for text in texts.iter().chain(&odd).chain(&texts.iter().map(|text| format!("{text}\0")).collect::<Vec<_>>()) {
            let expected = known.get(text.trim()).copied();
            assert_eq!(codes.get(text.trim().as_bytes()), expected, "{text:?}");
            for blank in ["", " ", "\t "] {
                let padded = format!("{blank}{text}{blank},12345678");
                let stop = padded.len() - 9;
                assert_eq!(codes.find(padded.as_bytes(), 0, stop), expected, "{text:?}");
            }
        }
    }

    #[test]
    fn texts_that_are_not_declared_are_found_by_the_number_they_spell() {
        let codes = Codes::new([("1", 3), ("250", 4), ("12345678", 5), ("word", 6)]);
        let cells = [("1", 3), ("1.0", 3), ("true", 3), ("2.5e2", 4), ("12345678.0", 5), ("+12345678", 5), ("word", 6)];
        for (text, code) in cells {
            assert_eq!(codes.get(text.as_bytes()), Some(code), "{text}");
            let padded = format!(" {text} ,12345678");
            for at in [0, 1] {
                assert_eq!(codes.find(padded.as_bytes(), at, text.len() + 1 + (1 - at)), Some(code), "{text}");
            }
        }
        for text in ["Word", "2", "1,0", ""] {
            assert_eq!(codes.get(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn no_text_at_all_is_known_to_an_empty_table() {
        let codes = Codes::new([]);
        assert_eq!((codes.get(b""), codes.get(b"a"), codes.get(b"a longer text")), (None, None, None));
        assert_eq!(Codes::new([("", 3), ("a", 4), (" a", 5)]).get(b"a"), Some(5));
        assert_eq!(Codes::new([("", 3)]).get(b""), Some(3));
    }
}
