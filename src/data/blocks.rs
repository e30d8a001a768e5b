//! Blocks of whole lines, read ahead by one thread while all others work on those read before.

use super::decimal::PADDING;
use super::source::{Source, SourceReader};
use crate::error::Fallible;

/// Text in all blocks that are worked on at a time; as much again is read meanwhile.
const BATCH_BYTES: usize = 8 << 20;

/// Least and most text in a block; a line that is longer makes its block longer.
const BLOCK_BYTES: std::ops::RangeInclusive<usize> = 64 << 10..=512 << 10;

/// Blocks for every thread, so that none waits long for the last one.
const BLOCKS_PER_THREAD: usize = 8;

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

    /// All lines with their endings; the last one may lack its own.
    pub(crate) fn text(&self) -> &[u8] {
        &self.buffer[..self.end]
    }

    /// The same with at least [`PADDING`] newlines behind it.
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

/// Reads all lines behind the first `skip` bytes and hands them out in order, some blocks at a time.
///
/// Every block but the last has a multiple of `multiple` lines. `work` gets the blocks and the number of bytes of the
/// file read so far; the next blocks are read while it runs. Returns the digest of the file, if asked for.
pub(super) fn scan(
    source: &Source,
    skip: u64,
    multiple: usize,
    digest: bool,
    work: &mut (dyn FnMut(&[Block], u64) -> Fallible<()> + Send),
) -> Fallible<Option<u128>> {
    let mut reader = BlockReader::new(source, skip, multiple, digest)?;
    let (mut current, mut next) = (Batch::default(), Batch::default());
    reader.fill(&mut current)?;
    while current.used > 0 {
        let (blocks, done) = (&current.blocks[..current.used], reader.source.raw_bytes());
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
    multiple: usize,
    block_bytes: usize,
}

impl<'a> BlockReader<'a> {
    fn new(source: &'a Source, skip: u64, multiple: usize, digest: bool) -> Fallible<Self> {
        let mut source = source.reader(digest)?;
        let mut left = skip;
        let mut scratch = vec![0; (1 << 16).min(skip) as usize];
        while left > 0 {
            let count = left.min(scratch.len() as u64) as usize;
            if source.read(&mut scratch[..count])? < count {
                break;
            }
            left -= count as u64;
        }
        let blocks = BLOCKS_PER_THREAD * rayon::current_num_threads();
        let block_bytes = (BATCH_BYTES / blocks).clamp(*BLOCK_BYTES.start(), *BLOCK_BYTES.end());
        Ok(BlockReader { source, carry: Vec::new(), at_end: false, multiple: multiple.max(1), block_bytes })
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
            newlines += memchr::memchr_iter(b'\n', &block.buffer[counted..block.end]).count();
            counted = block.end;
            let over = newlines % self.multiple;
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
            wanted = 2 * block.end.max(self.block_bytes);
        }
        let end = block.end;
        block.buffer[end..end + PADDING].fill(b'\n');
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
