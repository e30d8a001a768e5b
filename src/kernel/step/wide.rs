//! The pass over rows of so many columns that a tile outgrows the caches near a core.
//!
//! What the margins of such a tile have read is gone when it is to be added up. Adding it up by itself would leave memory
//! idle, so two tiles are added up while the margins of the next two are formed: memory is read without a pause, and
//! beside it the tiles before from the large shared cache.

use std::array::from_fn;

use super::super::joint::look_up;
use super::super::margins::{CHUNK, Numeric};
use super::super::rows::Rows;
use super::super::simd::{Column, LANES, WithWords, Words};
use super::super::totals::MAX_TILES_AT_ONCE;
use super::plan::{Plan, Task};

/// Tiles that are worked on together.
const TILES: usize = MAX_TILES_AT_ONCE;

/// How far ahead of the margins memory is asked for, in columns of each tile.
///
/// Measured from one to 32 chunks at 20,000 columns: 4 and 5 are best.
const AHEAD: usize = 4 * CHUNK;

/// A run of wide tiles.
pub(super) struct Wide<'a>(pub(super) Task<'a>);

/// Tiles whose margins are known and that are still to be added up.
struct Pending<'a> {
    columns: [&'a [Column]; TILES],
    multipliers: [Column; TILES],
}

impl Plan<'_> {
    /// Whether [`Wide`] is the way to go.
    pub(super) fn is_wide(&self) -> bool {
        self.block < TILES
    }

    /// Tiles that one thread should take in a row: blocks, or a share of all, since wide runs are slow to begin and to end.
    pub(super) fn run_of_tiles(&self) -> usize {
        if self.is_wide() {
            self.rows.tiles().div_ceil(4 * rayon::current_num_threads()).next_multiple_of(TILES)
        } else {
            self.block
        }
    }
}

impl WithWords for Wide<'_> {
    type Output = ();

    #[inline(always)]
    fn run<W: Words>(self, words: W) {
        let Task { plan, tables, tiles, slopes, totals } = self.0;
        let rest = tiles.end - tiles.len() % TILES;
        let mut pending: Option<Pending<'_>> = None;
        for tile in (tiles.start..rest).step_by(TILES) {
            let columns: [_; TILES] = from_fn(|n| plan.rows.columns(tile + n));
            let [one, two] = from_fn(|n| ahead_of(plan.rows, tile + n));
            let mut ahead = one.iter().zip(two).map(|(one, two)| [one, two]);
            let mut numeric = [Numeric::ZERO; TILES];
            let chunks = columns[0].len().div_ceil(CHUNK);
            for chunk in 0..chunks {
                plan.margins.add_chunk(words, chunk, chunk_of(columns, chunk), &mut numeric, &mut ahead);
                if let Some(Pending { columns, multipliers: [one, two] }) = &pending {
                    // Backwards: what the margins read last is the nearest.
                    let back = chunks - 1 - chunk;
                    let nothing = &mut std::iter::empty();
                    totals.add_columns(words, back * CHUNK, chunk_of(*columns, back), [one, two], nothing);
                }
            }
            let mut categories = [[0i32; LANES]; TILES];
            look_up(plan.rows, tables, tile, &mut categories);
            let mut margins: [_; TILES] = from_fn(|n| {
                let alone = plan.rows.groups.alone().iter().copied();
                plan.margins.add_codes(plan.rows, tile + n, alone, &mut categories[n]);
                plan.margins.join(&numeric[n], &categories[n])
            });
            slopes.replace(&mut margins, &plan.all_labels()[tile..tile + TILES], plan.label_scale);
            let multipliers = from_fn(|n| plan.multipliers(tile + n, &margins[n]));
            totals.add_codes(plan.rows, tile, &multipliers, plan.rows.groups.alone());
            pending = Some(Pending { columns, multipliers });
        }
        if let Some(Pending { columns, multipliers: [one, two] }) = pending {
            totals.add_columns(words, 0, columns, [&one, &two], &mut std::iter::empty());
        }
        for tile in rest..tiles.end {
            plan.block(words, tile..tile + 1, tables, slopes, totals);
        }
    }
}

/// What to ask memory for while the margins of a tile are formed.
#[inline(always)]
fn ahead_of(rows: &Rows, tile: usize) -> &[Column] {
    let (columns, width) = (rows.all_columns(), rows.shape().numeric());
    let start = (tile * width + AHEAD).min(columns.len());
    &columns[start..(start + width).min(columns.len())]
}

/// A chunk of the columns of tiles; the last one may be shorter.
#[inline(always)]
fn chunk_of(tiles: [&[Column]; TILES], chunk: usize) -> [&[Column]; TILES] {
    tiles.map(|tile| {
        let rest = &tile[chunk * CHUNK..];
        &rest[..rest.len().min(CHUNK)]
    })
}
