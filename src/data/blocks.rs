//! Blocks of whole lines, read ahead by one thread while all others work on those read before.

use rayon::prelude::*;

use super::decimal::PADDING;
use super::dialect::Dialect;
use super::source::{Source, SourceReader};
use crate::error::Fallible;

/// Text in all blocks that are worked on at a time; as much again is read meanwhile.
const BATCH_BYTES: usize = 8 << 20;

/// Least and most text in a block; a line that is longer makes its block longer.
const BLOCK_BYTES: std::ops::RangeInclusive<usize> = 64 << 10..=512 << 10;

/// Blocks for every thread, so that none waits long for the last one.
const BLOCKS_PER_THREAD: usize = 8;

/// Longest line, but for what the columns add to it.
const MAX_LINE_LENGTH: usize = 1 << 20;

/// What each column adds to the longest line.
const BYTES_PER_COLUMN: usize = 256;

/// What stands in the place of a line that is too long, where records have several cells.
pub(super) const NO_CELLS: &[u8] = b"\x18";

/// What stands in the place of a line that is too long, where records have one cell.
pub(super) const NO_SINGLE_CELL: &[u8] = b"\x18,";

/// What stands in the place of a line that is too long, in libsvm files.
pub(super) const NO_LIBSVM_RECORD: &[u8] = b"\x18 \x18";

/// The most bytes of a line of a file with so many columns, its ending left out: 1 MiB and 256 bytes for every column.
///
/// A longer line is no record. The length is public: it follows from the header.
pub fn longest_line(columns: usize) -> usize {
    MAX_LINE_LENGTH.saturating_add(BYTES_PER_COLUMN.saturating_mul(columns))
}

/// Whether a line stands in the place of one that was too long.
pub(crate) fn is_replacement(line: &[u8]) -> bool {
    line.first() == Some(&NO_CELLS[0]) && [NO_CELLS, NO_SINGLE_CELL, NO_LIBSVM_RECORD].contains(&line)
}

/// How a file is scanned.
pub(super) struct Scan {
    /// Bytes before the first line.
    pub skip: u64,
    /// Every block but the last has a multiple of so many lines.
    pub multiple: usize,
    /// Whether all bytes are digested.
    pub digest: bool,
    /// Longest line.
    pub longest: usize,
    /// What stands in the place of a longer one.
    pub replacement: &'static [u8],
    /// How lines are written, where that is not the usual way.
    pub dialect: Option<Dialect>,
}

/// Consecutive physical lines.
#[derive(Default)]
pub struct Block {
    /// The text, then room that was used before, then [`PADDING`] newlines somewhere behind the end.
    buffer: Vec<u8>,
    end: usize,
    lines: usize,
}

impl Block {
    /// Number of lines.
    pub fn line_count(&self) -> usize {
        self.lines
    }

    /// Size in bytes, line endings included.
    pub fn bytes(&self) -> usize {
        self.end
    }

    /// The lines without their endings.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let (mut at, text) = (0, self.text());
        std::iter::from_fn(move || {
            let end = line_end(text.get(at..).filter(|rest| !rest.is_empty())?) + at;
            let line = trim_line(&text[at..end]);
            at = end + 1;
            Some(line)
        })
    }

    /// Puts the usual lines in the place of those in another dialect.
    fn translate(&mut self, dialect: &Dialect, replacement: &[u8]) {
        let mut text = Vec::with_capacity(self.end + self.end / 8 + PADDING);
        let mut fields = dialect.fields();
        for line in self.lines() {
            if line == replacement {
                text.extend_from_slice(line);
            } else {
                dialect.translate(line, &mut fields, &mut text);
            }
            text.push(b'\n');
        }
        self.end = text.len();
        text.resize(self.end + PADDING, b'\n');
        self.buffer = text;
    }

    /// All lines with their endings; the last one may lack its own.
    pub(crate) fn text(&self) -> &[u8] {
        &self.buffer[..self.end]
    }

    /// All lines with their endings, and at least [`PADDING`] newlines behind them.
    pub(crate) fn padded(&self) -> &[u8] {
        &self.buffer[..self.end + PADDING]
    }
}

/// Index of the first newline, or the length.
pub(super) fn line_end(bytes: &[u8]) -> usize {
    memchr::memchr(b'\n', bytes).unwrap_or(bytes.len())
}

/// A line without its carriage return.
pub(crate) fn trim_line(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Blocks that are worked on together.
#[derive(Default)]
struct Batch {
    blocks: Vec<Block>,
    used: usize,
}

/// Reads all lines and hands them out in order, some blocks at a time; memory is bounded by the longest line whatever stands in them.
///
/// `work` gets the blocks and the number of bytes of the
/// file read so far; the next blocks are read while it runs. Returns the digest of the file, if asked for.
pub(super) fn scan(
    source: &Source,
    how: Scan,
    work: &mut (dyn FnMut(&[Block], u64) -> Fallible<()> + Send),
) -> Fallible<Option<u128>> {
    let (dialect, replacement) = (how.dialect, how.replacement);
    let mut reader = BlockReader::new(source, how)?;
    let (mut current, mut next) = (Batch::default(), Batch::default());
    reader.fill(&mut current)?;
    while current.used > 0 {
        let (blocks, done) = (&mut current.blocks[..current.used], reader.source.raw_bytes());
        if let Some(dialect) = dialect {
            blocks.par_iter_mut().for_each(|block| block.translate(&dialect, replacement));
        }
        let (worked, read) = rayon::join(|| work(blocks, done), || reader.fill(&mut next));
        worked?;
        read?;
        std::mem::swap(&mut current, &mut next);
    }
    reader.source.finish()
}

struct BlockReader<'a> {
    source: SourceReader<'a>,
    /// What was read behind the end of the last block.
    carry: Vec<u8>,
    at_end: bool,
    how: Scan,
    block_bytes: usize,
}

impl<'a> BlockReader<'a> {
    fn new(source: &'a Source, how: Scan) -> Fallible<Self> {
        let mut source = source.reader(how.digest)?;
        let mut left = how.skip;
        let mut scratch = vec![0; (1 << 16).min(how.skip) as usize];
        while left > 0 {
            let count = left.min(scratch.len() as u64) as usize;
            if source.read(&mut scratch[..count])? < count {
                break;
            }
            left -= count as u64;
        }
        let blocks = BLOCKS_PER_THREAD * rayon::current_num_threads();
        let block_bytes = (BATCH_BYTES / blocks).clamp(*BLOCK_BYTES.start(), *BLOCK_BYTES.end());
        let how = Scan { multiple: how.multiple.max(1), ..how };
        Ok(BlockReader { source, carry: Vec::new(), at_end: false, how, block_bytes })
    }

    /// Reads the next batch; it is empty at the end.
    fn fill(&mut self, batch: &mut Batch) -> Fallible<()> {
        batch.used = 0;
        let mut bytes = 0;
        while bytes < BATCH_BYTES {
            if batch.used == batch.blocks.len() {
                batch.blocks.push(Block::default());
            }
            let block = &mut batch.blocks[batch.used];
            self.fill_block(block)?;
            if block.lines == 0 {
                break;
            }
            batch.used += 1;
            bytes += block.end;
        }
        Ok(())
    }

    fn fill_block(&mut self, block: &mut Block) -> Fallible<()> {
        block.end = 0;
        append(block, &self.carry);
        self.carry.clear();
        let (mut newlines, mut counted, mut wanted) = (0, 0, self.block_bytes);
        loop {
            self.read_to(block, wanted)?;
            if block.end > self.how.longest {
                // Lines are shortened, so that all of them are counted anew.
                self.shorten(block)?;
                counted = 0;
                newlines = 0;
            }
            newlines += memchr::memchr_iter(b'\n', &block.buffer[counted..block.end]).count();
            counted = block.end;
            let over = newlines % self.how.multiple;
            if self.at_end {
                // A last line without an ending is a line.
                let open = block.end > 0 && block.buffer[block.end - 1] != b'\n';
                block.lines = newlines + usize::from(open);
                break;
            }
            if newlines > over {
                let text = &block.buffer[..block.end];
                let cut = memchr::memrchr_iter(b'\n', text).nth(over).map_or(block.end, |newline| newline + 1);
                self.carry.extend_from_slice(&text[cut..]);
                block.end = cut;
                block.lines = newlines - over;
                break;
            }
            wanted = block.end + block.end.clamp(self.block_bytes, self.how.longest.max(self.block_bytes));
        }
        let end = block.end;
        block.buffer[end..end + PADDING].fill(b'\n');
        Ok(())
    }

    /// Puts the replacement in the place of every line that is too long; of the last one all that is not read yet is skipped.
    fn shorten(&mut self, block: &mut Block) -> Fallible<()> {
        let (longest, replacement) = (self.how.longest, self.how.replacement);
        let (mut from, mut to) = (0, 0);
        while from < block.end {
            let length = line_end(&block.buffer[from..block.end]);
            let is_open = from + length == block.end;
            let next = (from + length + 1).min(block.end);
            if trim_line(&block.buffer[from..from + length]).len() > longest {
                if is_open {
                    // Longer than the replacement, so that there is room for it.
                    block.buffer[to..to + replacement.len()].copy_from_slice(replacement);
                    block.end = to + replacement.len();
                    return self.skip_line(block);
                }
                block.buffer[to..to + replacement.len()].copy_from_slice(replacement);
                block.buffer[to + replacement.len()] = b'\n';
                to += replacement.len() + 1;
            } else {
                if to < from {
                    block.buffer.copy_within(from..next, to);
                }
                to += next - from;
            }
            from = next;
        }
        block.end = to;
        Ok(())
    }

    /// Reads to the end of a line without keeping it; what follows is appended.
    fn skip_line(&mut self, block: &mut Block) -> Fallible<()> {
        let mut scratch = vec![0; self.block_bytes];
        while !self.at_end {
            let count = self.source.read(&mut scratch)?;
            self.at_end = count < scratch.len();
            if let Some(newline) = memchr::memchr(b'\n', &scratch[..count]) {
                append(block, &scratch[newline..count]);
                break;
            }
        }
        Ok(())
    }

    /// Reads on until the block has `wanted` bytes or the file ends.
    fn read_to(&mut self, block: &mut Block, wanted: usize) -> Fallible<()> {
        make_room(block, wanted);
        if self.at_end || block.end >= wanted {
            return Ok(());
        }
        let count = self.source.read(&mut block.buffer[block.end..wanted])?;
        self.at_end = block.end + count < wanted;
        block.end += count;
        Ok(())
    }
}

fn append(block: &mut Block, bytes: &[u8]) {
    make_room(block, block.end + bytes.len());
    block.buffer[block.end..block.end + bytes.len()].copy_from_slice(bytes);
    block.end += bytes.len();
}

fn make_room(block: &mut Block, bytes: usize) {
    if block.buffer.len() < bytes + PADDING {
        block.buffer.resize(bytes + PADDING, 0);
    }
}
