//! Numbers that begin at a cache line, so that no load of a whole line touches two; many of them on pages as large as the
//! system has.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Bytes from which on whole pages are asked for: with large ones, memory that is touched for the first time costs less than
/// half.
const MANY: usize = 8 << 20;

/// Integers of one kind; only speed depends on where they lie.
pub(super) struct Lines<T>(Memory<T>);

enum Memory<T> {
    Heap {
        buffer: Vec<T>,
        start: usize,
    },
    /// Pages begin where a line does.
    Pages {
        map: MmapMut,
        len: usize,
    },
}

impl<T: Pod> Lines<T> {
    /// Most numbers in front of the first line.
    const MAX: usize = LINE / size_of::<T>() - 1;

    /// Zeros straight from the system: what is never filled is never touched.
    pub(super) fn zeroed(len: usize) -> Self {
        if let Some(bytes) = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes >= MANY)
            && let Some(map) = pages(bytes)
        {
            return Lines(Memory::Pages { map, len });
        }
        let mut buffer = vec![T::zeroed(); len + Self::MAX];
        let offset = buffer.as_ptr().align_offset(LINE);
        let start = if offset <= Self::MAX { offset } else { 0 };
        buffer.truncate(start + len);
        Lines(Memory::Heap { buffer, start })
    }

    /// Adds zeros up to a length.
    pub(super) fn grow(&mut self, len: usize) {
        let old = self.len();
        if len <= old {
            return;
        }
        match &mut self.0 {
            Memory::Heap { buffer, start } if *start + len <= buffer.capacity() => {
                buffer.resize(*start + len, T::zeroed())
            }
            Memory::Pages { map, len: held } if len * size_of::<T>() <= map.len() => {
                *held = len;
                // There may be other numbers from before they were dropped.
                self[old..].fill(T::zeroed());
            }
            _ => {
                let mut more = Lines::zeroed(len.max(2 * old));
                more.truncate(len);
                more[..old].copy_from_slice(self);
                *self = more;
            }
        }
    }

    /// Drops what is behind a length.
    pub(super) fn truncate(&mut self, len: usize) {
        match &mut self.0 {
            Memory::Heap { buffer, start } => buffer.truncate(*start + len),
            Memory::Pages { len: held, .. } => *held = len.min(*held),
        }
    }
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Lines(Memory::Heap { buffer: Vec::new(), start: 0 })
    }
}

/// Zeros on pages of their own; `None` where the system has no room for them.
fn pages(bytes: usize) -> Option<MmapMut> {
    let map = MmapMut::map_anon(bytes).ok()?;
    // A system without large pages refuses, and small ones do as well.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    Some(map)
}

impl<T: Pod> Deref for Lines<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Memory::Heap { buffer, start } => &buffer[*start..],
            Memory::Pages { map, len } => &bytemuck::cast_slice(map)[..*len],
        }
    }
}

impl<T: Pod> DerefMut for Lines<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Memory::Heap { buffer, start } => &mut buffer[*start..],
            Memory::Pages { map, len } => &mut bytemuck::cast_slice_mut(map)[..*len],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most 16-bit numbers that still lie on the heap.
    const FEW: usize = MANY / 2 - 1;

    #[test]
    fn numbers_stay_and_begin_a_line() {
        let begins = |lines: &Lines<i16>| lines.as_ptr().align_offset(LINE) == 0;
        let pages = |lines: &Lines<i16>| matches!(lines.0, Memory::Pages { .. });
        for len in [0, 1, 31, 32, 1000, 100_000, FEW / 3, FEW, FEW + 1] {
            let mut lines = Lines::zeroed(len);
            assert!(lines.len() == len && begins(&lines) && lines.iter().all(|&q| q == 0));
            assert_eq!(pages(&lines), len > FEW);
            lines.iter_mut().enumerate().for_each(|(i, q)| *q = i as i16);
            for more in [len + 1, len + 40, 3 * len + 70] {
                lines.grow(more);
                assert!(lines.len() == more && begins(&lines));
                assert!(lines.iter().enumerate().all(|(i, &q)| q == if i < len { i as i16 } else { 0 }));
            }
            assert_eq!(pages(&lines), 3 * len + 70 > FEW);
            lines.grow(1);
            assert_eq!(lines.len(), 3 * len + 70);
            lines.truncate(len / 2);
            lines.grow(len);
            let kept = |i: usize| if i < len / 2 { i as i16 } else { 0 };
            assert!(lines.len() == len && lines.iter().enumerate().all(|(i, &q)| q == kept(i)), "{len}");
        }
        let mut grown = Lines::<i16>::default();
        (1..300).for_each(|len| grown.grow(32 * len));
        assert!(begins(&grown) && grown.len() == 32 * 299);
    }

    #[test]
    fn wider_numbers_begin_a_line_too() {
        for len in [0, 7, 1000, MANY / 8] {
            let mut lines = Lines::<u64>::zeroed(len);
            lines.grow(len + 9);
            assert!(lines.as_ptr().align_offset(LINE) == 0 && lines.len() == len + 9 && lines.iter().all(|&n| n == 0));
        }
    }
}
