//! Values of a flat column as its pages hold them: numbers side by side, and texts by their place in a dictionary.
//!
//! The library's reader of records makes a value of its own of every text. Pages say once which texts there are, and then which of them a
//! record has.
//!
//! Reference: Apache Parquet format, encodings PLAIN and RLE_DICTIONARY, and its hybrid of runs and packed bits.

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::errors::{ParquetError, Result};

use super::cells::few;

/// A value as PLAIN pages and dictionaries store it.
pub(super) trait Stored: Sized {
    /// Takes the next values away, as many as there must be.
    fn take(bytes: &mut Bytes, count: usize, to: &mut Vec<Self>) -> Result<()>;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Stored for $number {
            fn take(bytes: &mut Bytes, count: usize, to: &mut Vec<Self>) -> Result<()> {
                let length = count.checked_mul(size_of::<$number>()).ok_or_else(few)?;
                let own = split(bytes, length)?;
                to.extend(own.as_chunks().0.iter().copied().map(<$number>::from_le_bytes));
                Ok(())
            }
        }
    )*};
}
numbers!(i32, i64, f32, f64);

/// A text is its length in four bytes, and then itself.
impl Stored for Bytes {
    fn take(bytes: &mut Bytes, count: usize, to: &mut Vec<Self>) -> Result<()> {
        for _ in 0..count {
            let length = length(bytes)?;
            to.push(split(bytes, length)?);
        }
        Ok(())
    }
}

/// Takes the first bytes away.
fn split(bytes: &mut Bytes, length: usize) -> Result<Bytes> {
    if length <= bytes.len() { Ok(bytes.split_to(length)) } else { Err(few()) }
}

/// Takes a length away.
fn length(bytes: &mut Bytes) -> Result<usize> {
    let four = split(bytes, 4)?;
    let length = four.first_chunk().map(|&four| u32::from_le_bytes(four)).ok_or_else(few)?;
    Ok(usize::try_from(length)?)
}

/// The pages of a column of a row group, and how far they were read.
pub(super) struct Pages<T> {
    reader: Box<dyn PageReader>,
    /// Whether values may be missing.
    optional: bool,
    dictionary: Vec<T>,
    /// Bytes of the dictionary's page.
    dictionary_bytes: usize,
    /// A page that was looked at before it was needed.
    next: Option<Page>,
    /// Records of the open page that were not read.
    left: usize,
    /// Which of them have a value; used where some may have none.
    levels: Hybrid,
    values: Values,
    /// Levels, or places in the dictionary, of the records taken last.
    numbers: Vec<u32>,
}

/// The values of a page that were not read.
enum Values {
    Plain(Bytes),
    /// Places in the dictionary.
    Coded(Hybrid),
}

/// Where the values of consecutive records of one page are.
pub(super) enum Taken<'a, T> {
    /// At the end of the caller's list.
    Plain,
    /// In the dictionary, at these places, each of which exists.
    Coded(&'a [u32], &'a [T]),
}

/// Whether pages of this encoding are read here.
fn is_known(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::PLAIN | Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
}

/// Whether a column may name this encoding and have all its pages read here; what its levels are packed by, pages say.
pub(super) fn is_named(encoding: Encoding) -> bool {
    #[expect(deprecated, reason = "older files name it where there are no levels")]
    let old = Encoding::BIT_PACKED;
    is_known(encoding) || encoding == Encoding::RLE || encoding == old
}

/// Whether a page is read here, of a column some of whose values may be missing.
fn is_readable(page: &Page, optional: bool) -> bool {
    let levels = match page {
        Page::DataPage { def_level_encoding, .. } => !optional || *def_level_encoding == Encoding::RLE,
        Page::DataPageV2 { .. } => true,
        // A second dictionary would change what places mean.
        Page::DictionaryPage { .. } => false,
    };
    levels && is_known(page.encoding())
}

impl<T: Stored> Pages<T> {
    /// The pages of a column, if the first ones are read here.
    ///
    /// # Errors
    /// When the first page cannot be read.
    pub(super) fn new(mut reader: Box<dyn PageReader>, optional: bool) -> Result<Option<Self>> {
        let mut next = reader.get_next_page()?;
        let (mut dictionary, mut dictionary_bytes) = (Vec::new(), 0);
        if let Some(Page::DictionaryPage { mut buf, num_values, encoding, .. }) = next {
            if !matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
                return Ok(None);
            }
            dictionary_bytes = buf.len();
            T::take(&mut buf, usize::try_from(num_values)?, &mut dictionary)?;
            next = reader.get_next_page()?;
        }
        if next.as_ref().is_some_and(|page| !is_readable(page, optional)) {
            return Ok(None);
        }
        let (levels, values) = (Hybrid::default(), Values::Plain(Bytes::new()));
        Ok(Some(Pages {
            reader,
            optional,
            dictionary,
            dictionary_bytes,
            next,
            left: 0,
            levels,
            values,
            numbers: Vec::new(),
        }))
    }

    /// Records of the open page that were not read.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Bytes in which all values of the open page are.
    pub(super) fn held(&self) -> usize {
        match &self.values {
            Values::Plain(bytes) => bytes.len(),
            Values::Coded(_) => self.dictionary_bytes,
        }
    }

    /// The values of the next records, of at least one and at most so many, or where they are; whether each of these is missing is
    /// added to a list.
    pub(super) fn take(&mut self, most: usize, missing: &mut Vec<bool>, to: &mut Vec<T>) -> Result<Taken<'_, T>> {
        while self.left == 0 {
            let page = if self.next.is_some() { self.next.take() } else { self.reader.get_next_page()? };
            self.open(page.ok_or_else(|| ParquetError::EOF("a column is shorter than its row group".into()))?)?;
        }
        let records = most.min(self.left);
        self.left -= records;
        let mut there = records;
        if self.optional {
            let levels = self.levels.read(records, &mut self.numbers)?;
            if largest(levels) > 1 {
                return Err(few());
            }
            there = levels.iter().map(|&level| level as usize).sum();
            missing.extend(levels.iter().map(|&level| level == 0));
        } else {
            missing.resize(missing.len() + records, false);
        }
        match &mut self.values {
            Values::Plain(bytes) => {
                T::take(bytes, there, to)?;
                Ok(Taken::Plain)
            }
            Values::Coded(places) => {
                let places = places.read(there, &mut self.numbers)?;
                let known = places.is_empty() || (largest(places) as usize) < self.dictionary.len();
                if known { Ok(Taken::Coded(places, &self.dictionary)) } else { Err(few()) }
            }
        }
    }

    /// Begins to read a page.
    fn open(&mut self, page: Page) -> Result<()> {
        if !is_readable(&page, self.optional) {
            return Err(ParquetError::NYI("an encoding".into()));
        }
        let coded = page.encoding() != Encoding::PLAIN;
        self.left = usize::try_from(page.num_values())?;
        let (levels, mut values) = match page {
            Page::DataPageV2 { mut buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                split(&mut buf, usize::try_from(rep_levels_byte_len)?)?;
                (split(&mut buf, usize::try_from(def_levels_byte_len)?)?, buf)
            }
            Page::DataPage { mut buf, .. } if self.optional => {
                let length = length(&mut buf)?;
                (split(&mut buf, length)?, buf)
            }
            Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => (Bytes::new(), buf),
        };
        self.levels = Hybrid::new(levels, 1)?;
        self.values = if coded {
            // Where all values are missing there may be no width.
            let width = if values.is_empty() { 0 } else { split(&mut values, 1)?[0] };
            Values::Coded(Hybrid::new(values, width)?)
        } else {
            Values::Plain(values)
        };
        Ok(())
    }
}

/// The largest of some numbers; 0 of none.
fn largest(numbers: &[u32]) -> u32 {
    numbers.iter().fold(0, |most, &number| most.max(number))
}

/// Whole numbers of a few bits: runs of one of them, and packed ones.
#[derive(Default)]
struct Hybrid {
    /// What follows the open run.
    data: Bytes,
    width: usize,
    run: Run,
}

enum Run {
    Same {
        value: u32,
        left: usize,
    },
    /// The first bit that was not read, and how many numbers follow.
    Packed {
        bytes: Bytes,
        bit: usize,
        left: usize,
    },
}

impl Default for Run {
    fn default() -> Self {
        Run::Same { value: 0, left: 0 }
    }
}

impl Hybrid {
    fn new(data: Bytes, width: u8) -> Result<Self> {
        // Wider numbers are none of 32 bits.
        if width > 32 { Err(few()) } else { Ok(Hybrid { data, width: width.into(), run: Run::default() }) }
    }

    /// The next numbers, as many as there must be, in a list that is kept for them.
    fn read<'a>(&mut self, count: usize, list: &'a mut Vec<u32>) -> Result<&'a [u32]> {
        list.resize(count, 0);
        let mut to = &mut list[..];
        while !to.is_empty() {
            let width = self.width;
            let count = match &mut self.run {
                Run::Same { value, left } => {
                    let count = to.len().min(*left);
                    to[..count].fill(*value);
                    *left -= count;
                    count
                }
                Run::Packed { bytes, bit, left } => {
                    let count = to.len().min(*left);
                    unpack(bytes, *bit, width, &mut to[..count]);
                    (*bit, *left) = (*bit + count * width, *left - count);
                    count
                }
            };
            to = &mut to[count..];
            if count == 0 {
                self.open()?;
            }
        }
        Ok(list)
    }

    /// Begins the next run.
    fn open(&mut self) -> Result<()> {
        let header = self.header()?;
        let many = usize::try_from(header >> 1)?;
        if header & 1 == 0 {
            let mut value = [0; 4];
            let own = split(&mut self.data, self.width.div_ceil(8))?;
            value[..own.len()].copy_from_slice(&own);
            self.run = Run::Same { value: u32::from_le_bytes(value), left: many };
            return Ok(());
        }
        // Groups of eight numbers; the last of them may lack the bytes of what is not there.
        let length = many.checked_mul(self.width).ok_or_else(few)?.min(self.data.len());
        let whole = many.checked_mul(8).ok_or_else(few)?;
        let left = (8 * length).checked_div(self.width).map_or(whole, |fit| fit.min(whole));
        self.run = Run::Packed { bytes: split(&mut self.data, length)?, bit: 0, left };
        Ok(())
    }

    /// A number in groups of seven bits, the least first.
    fn header(&mut self) -> Result<u64> {
        let mut header = 0;
        for shift in (0..35).step_by(7) {
            let byte = split(&mut self.data, 1)?[0];
            header |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(header);
            }
        }
        Err(few())
    }
}

/// Reads numbers that are packed from a bit on.
fn unpack(bytes: &[u8], bit: usize, width: usize, to: &mut [u32]) {
    let mask = (1u64 << width) - 1;
    // Eight bytes from one on; less where there are no more.
    let word = |at: usize| match bytes.get(at..).map(|rest| (rest, rest.first_chunk())) {
        Some((_, Some(&eight))) => u64::from_le_bytes(eight),
        Some((rest, None)) => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        None => 0,
    };
    let (mut at, mut to) = (bit, to);
    // Four numbers of one word, of which at most 7 bits are skipped.
    if width <= 14 {
        let (fours, rest) = to.as_chunks_mut::<4>();
        for four in fours {
            let word = word(at / 8) >> (at % 8);
            *four = std::array::from_fn(|k| (word >> (k * width) & mask) as u32);
            at += 4 * width;
        }
        to = rest;
    }
    for number in to {
        *number = (word(at / 8) >> (at % 8) & mask) as u32;
        at += width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs, packed numbers and a last group without its end, by hand.
    #[test]
    fn runs_and_packed_numbers_are_read_in_pieces_of_any_size() {
        // 5 times 6; the numbers 0 to 7 of three bits each, as in the format's own example; two of a group whose end is missing.
        let data = [10, 6, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010, 3, 0b0010_1011];
        let expected = [6, 6, 6, 6, 6, 0, 1, 2, 3, 4, 5, 6, 7, 3, 5];
        for piece in 1..=expected.len() {
            let mut it = Hybrid::new(Bytes::copy_from_slice(&data), 3).unwrap();
            let mut found: Vec<u32> = Vec::new();
            let mut list = vec![9; 20];
            while found.len() < expected.len() {
                found.extend(it.read(piece.min(expected.len() - found.len()), &mut list).unwrap());
            }
            assert_eq!(found, expected, "{piece}");
            assert!(it.read(1, &mut list).is_err());
        }
        let mut nothing = Hybrid::new(Bytes::from_static(&[8]), 0).unwrap();
        assert_eq!(nothing.read(4, &mut vec![9; 4]).unwrap(), [0; 4]);
        assert!(Hybrid::new(Bytes::new(), 33).is_err());
    }

    #[test]
    fn numbers_of_any_width_are_unpacked() {
        for width in 1..=32usize {
            let mask = (1u64 << width) - 1;
            let numbers: Vec<u64> = (0..50u64).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 7 & mask).collect();
            let mut bytes = vec![0u8; (50 * width).div_ceil(8)];
            for (k, number) in numbers.iter().enumerate() {
                for bit in (0..width).filter(|bit| number >> bit & 1 == 1) {
                    let at = k * width + bit;
                    bytes[at / 8] |= 1 << (at % 8);
                }
            }
            for from in 0..9 {
                let mut found = vec![0; 50 - from];
                unpack(&bytes, from * width, width, &mut found);
                assert!(found.iter().zip(&numbers[from..]).all(|(a, b)| u64::from(*a) == *b), "{width} {from}");
            }
        }
    }
}
