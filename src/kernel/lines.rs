//! Numbers that begin at a cache line, so that no load of a whole line touches two.

use std::ops::{Deref, DerefMut};

/// Bytes of a cache line.
const LINE: usize = 64;

/// Most numbers in front of the first line.
const MOST: usize = LINE / size_of::<i16>() - 1;

/// 16-bit numbers; only speed depends on where they lie.
#[derive(Default)]
pub(super) struct Lines {
    buffer: Vec<i16>,
    start: usize,
}

impl Lines {
    /// Zeros straight from the system: what is never filled is never touched.
    pub(super) fn zeroed(len: usize) -> Self {
        let mut lines = Lines { buffer: vec![0; len + MOST], start: 0 };
        lines.start = first_line(&lines.buffer);
        lines.truncate(len);
        lines
    }

    /// Adds zeros up to a length.
    pub(super) fn grow(&mut self, len: usize) {
        if self.start + len > self.buffer.capacity() {
            let mut buffer = Vec::with_capacity(len.max(2 * self.len()) + MOST);
            let start = first_line(&buffer);
            buffer.resize(start, 0);
            buffer.extend_from_slice(self);
            *self = Lines { buffer, start };
        }
        self.buffer.resize(self.buffer.len().max(self.start + len), 0);
    }

    /// Drops what is behind a length.
    pub(super) fn truncate(&mut self, len: usize) {
        self.buffer.truncate(self.start + len);
    }
}

/// Position of the first number that begins a line.
fn first_line(buffer: &[i16]) -> usize {
    let offset = buffer.as_ptr().align_offset(LINE);
    if offset <= MOST { offset } else { 0 }
}

impl Deref for Lines {
    type Target = [i16];

    fn deref(&self) -> &[i16] {
        &self.buffer[self.start..]
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [i16] {
        &mut self.buffer[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_and_begin_a_line() {
        let begins = |lines: &Lines| lines.as_ptr().align_offset(LINE) == 0;
        for len in [0, 1, 31, 32, 1000, 100_000] {
            let mut lines = Lines::zeroed(len);
            assert!(lines.len() == len && begins(&lines) && lines.iter().all(|&q| q == 0));
            lines.iter_mut().enumerate().for_each(|(i, q)| *q = i as i16);
            for more in [len + 1, len + 40, 3 * len + 70] {
                lines.grow(more);
                assert!(lines.len() == more && begins(&lines));
                assert!(lines.iter().enumerate().all(|(i, &q)| q == if i < len { i as i16 } else { 0 }));
            }
            lines.grow(1);
            assert_eq!(lines.len(), 3 * len + 70);
            lines.truncate(len);
            assert_eq!(lines.len(), len);
        }
        let mut grown = Lines::default();
        (1..300).for_each(|len| grown.grow(32 * len));
        assert!(begins(&grown) && grown.len() == 32 * 299);
    }
}
