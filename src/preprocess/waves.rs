//! Re-encoding by waves: cosines of directions through normal scores, from an integer phase and a table that is the same on every machine.

use std::ops::Range;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Fallible};
use crate::grid::Shape;
use crate::kernel::{LANES, Rows};
use crate::num::vectorized;

/// Steps of a full turn, all phases that there are.
const TURN: usize = 1 << 16;

/// Frequencies are in turns of `2^-32` for each step of a score.
const LOG2_FREQUENCY: u32 = 16;

/// Most waves.
const MAX_WAVES: usize = 2048;

/// Most intervals of a column: eight parts of each cell of the tree of a numeric feature.
const MAX_INTERVALS: usize = 1 << 13;

/// `sqrt(2) cos` of every phase, in steps of [`Waves::ONE`].
static COSINES: LazyLock<Vec<i16>> = LazyLock::new(|| {
    // One quarter is computed, the others are its mirror images.
    let quarter: Vec<i16> = (0..=TURN / 4).map(|phase| cosine(phase).round() as i16).collect();
    let at = |phase: usize| match phase / (TURN / 4) {
        0 => quarter[phase],
        1 => -quarter[TURN / 2 - phase],
        2 => -quarter[phase - TURN / 2],
        _ => quarter[TURN - phase],
    };
    (0..TURN).map(at).collect()
});

/// The cosine of a phase of the first quarter, in steps, before it is rounded.
fn cosine(phase: usize) -> f64 {
    f64::from(Waves::AMPLITUDE) * (std::f64::consts::TAU * phase as f64 / TURN as f64).cos()
}

/// A normal score for every interval of every numeric column; released, and public from then on.
///
/// Rows re-encoded by it have a number for each column that intervals were cut of, and keep their other categories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scores {
    /// For each column that was numeric the score of every interval, in steps of [`Scores::ONE`].
    pub numeric: Vec<Vec<i16>>,
    /// Declared values of each categorical column.
    pub levels: Vec<u16>,
}

impl Scores {
    /// The integer that stands for 1.0: scores reach to 4.
    pub const ONE: i16 = 8191;

    /// The columns of re-encoded rows.
    pub fn shape(&self) -> Shape {
        Shape::new(self.numeric.len(), &self.levels)
    }

    /// Re-encodes rows; each new row depends on its old self and on released quantities alone.
    pub(crate) fn recode(&self, rows: &Rows) -> Rows {
        rows.with_numbers(0..rows.tile_count(), (self.shape(), Self::ONE), self.numeric.len(), |codes, numbers| {
            for ((numbers, codes), scores) in numbers.iter_mut().zip(codes).zip(&self.numeric) {
                numbers.iter_mut().zip(codes).for_each(|(q, &code)| *q = score(scores, code));
            }
        })
    }

    /// The columns of the rows that it re-encodes.
    fn columns(&self) -> Vec<u16> {
        self.numeric.iter().map(|scores| scores.len() as u16).chain(self.levels.iter().copied()).collect()
    }

    /// Scores, and values of categories.
    fn coordinates(&self) -> usize {
        self.numeric.len() + self.levels.iter().map(|&levels| usize::from(levels)).sum::<usize>()
    }
}

/// Nothing for "none of them".
fn score(scores: &[i16], code: u16) -> i16 {
    scores.get(usize::from(code)).copied().unwrap_or(0)
}

/// Directions through the scores of all columns, each with an offset: `sqrt(2) cos(w . z + b)` is a feature.
///
/// Rows re-encoded by it have a number for each direction beside the categories that they had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Parts", deny_unknown_fields)]
pub struct Waves {
    scores: Scores,
    /// For each score, then for each value of each category, an entry a wave: turns of `2^-32` for each step of the score.
    frequencies: Vec<Vec<i32>>,
    /// Of each wave, in turns of `2^-16`.
    offsets: Vec<u16>,
    /// Whether a feature is the phase itself, as a signed number, and not its cosine; told by [`super::Recoding::Straight`].
    #[serde(skip)]
    straight: bool,
}

/// Waves that came from elsewhere; they are checked before they are some.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    scores: Scores,
    frequencies: Vec<Vec<i32>>,
    offsets: Vec<u16>,
}

impl TryFrom<Parts> for Waves {
    type Error = Error;

    fn try_from(Parts { scores, frequencies, offsets }: Parts) -> Fallible<Self> {
        Waves::new(scores, frequencies, offsets)
    }
}

impl Waves {
    /// The integer that stands for 1.0.
    pub const ONE: i16 = 23_169;

    /// The integer nearest to `sqrt(2)` times [`Waves::ONE`].
    const AMPLITUDE: i16 = 32_766;

    /// What one step of a frequency is of a turn for a score of 1.
    pub(crate) const STEP: f64 = Scores::ONE as f64 / (TURN as f64 * (1u64 << LOG2_FREQUENCY) as f64);

    /// # Errors
    /// When there are too many, or not one frequency for each score and value.
    pub fn new(scores: Scores, frequencies: Vec<Vec<i32>>, offsets: Vec<u16>) -> Fallible<Self> {
        let whole = frequencies.iter().all(|row| row.len() == offsets.len());
        let few = scores.numeric.iter().all(|column| column.len() <= MAX_INTERVALS);
        if !whole || !few || frequencies.len() != scores.coordinates() || offsets.len() > MAX_WAVES {
            return Err(Error::numerical("waves", "are too many, or do not fit the columns"));
        }
        Ok(Waves { scores, frequencies, offsets, straight: false })
    }

    /// Lines along these directions: a feature is the phase itself, a linear function of the scores, in steps of [`Waves::ONE`].
    ///
    /// Phases go round at half a turn, so slopes are to be chosen such that none gets so far.
    #[must_use]
    pub(crate) fn straight(self) -> Self {
        Waves { straight: true, ..self }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.offsets.len()
    }

    /// How many of the columns that they are made of were numeric; these come first.
    pub(crate) fn numeric(&self) -> usize {
        self.scores.numeric.len()
    }

    /// Values of each column that they are made of: intervals of numbers, then declared values.
    pub(crate) fn columns(&self) -> Vec<u16> {
        self.scores.columns()
    }

    /// The columns of re-encoded rows.
    pub fn shape(&self) -> Shape {
        Shape::new(self.count(), &self.columns())
    }

    /// Scores, and values of categories: what frequencies belong to.
    pub(crate) fn coordinates(&self) -> usize {
        self.scores.coordinates()
    }

    /// For each column that was numeric the score of every interval.
    pub(crate) fn scores(&self) -> impl Iterator<Item = Vec<f64>> + '_ {
        let one = f64::from(Scores::ONE);
        self.scores.numeric.iter().map(move |column| column.iter().map(|&score| f64::from(score) / one).collect())
    }

    /// For each score and value how fast every wave turns, in turns for a score of 1.
    pub(crate) fn frequencies(&self) -> impl Iterator<Item = Vec<f64>> + '_ {
        self.frequencies.iter().map(|row| row.iter().map(|&step| f64::from(step) * Waves::STEP).collect())
    }

    /// Phases before any column is looked at.
    pub(crate) fn start(&self) -> &[u16] {
        &self.offsets
    }

    /// For each value of a column, an interval or a category, what it adds to the phase of every wave.
    pub(crate) fn phases(&self, column: usize) -> Vec<Vec<u16>> {
        let of = |value: u16| {
            let mut phases = vec![0; self.count()];
            self.turn(&mut phases, column, self.before(column), value);
            phases
        };
        self.columns().get(column).map_or_else(Vec::new, |&values| (0..values).map(of).collect())
    }

    /// Adds to the phase of every wave what a value of a column adds; nothing for "none of them". `first` is where the frequencies of the
    /// column begin.
    #[inline(always)]
    fn turn(&self, phases: &mut [u16], column: usize, first: usize, value: u16) {
        let (score, own) = match self.scores.numeric.get(column) {
            Some(scores) => (score(scores, value), Some(first)),
            None => {
                let levels = self.scores.levels.get(column - self.numeric()).copied().unwrap_or(0);
                (Scores::ONE, (value < levels).then_some(first + usize::from(value)))
            }
        };
        let Some(frequencies) = own.and_then(|own| self.frequencies.get(own)) else { return };
        for (phase, &frequency) in phases.iter_mut().zip(frequencies) {
            // Whole turns mean nothing, so the 32 lowest bits of the product are enough.
            let turned = i32::from(score).wrapping_mul(frequency).wrapping_add(1 << (LOG2_FREQUENCY - 1));
            *phase = phase.wrapping_add((turned as u32 >> LOG2_FREQUENCY) as u16);
        }
    }

    /// The features of one row, by the interval or value of each of its columns.
    pub(crate) fn of_codes(&self, codes: &[u16]) -> Vec<i16> {
        let mut phases = self.offsets.clone();
        let each = codes.iter().enumerate().take(self.columns().len());
        each.for_each(|(column, &code)| self.turn(&mut phases, column, self.before(column), code));
        phases.into_iter().map(|phase| self.feature(phase)).collect()
    }

    /// Where the frequencies of a column begin.
    fn before(&self, column: usize) -> usize {
        let numeric = self.numeric();
        let levels = self.scores.levels.iter().take(column.saturating_sub(numeric));
        column.min(numeric) + levels.map(|&levels| usize::from(levels)).sum::<usize>()
    }

    /// The feature of a wave at a phase, in steps of [`Waves::ONE`].
    #[inline]
    pub(crate) fn at(phase: u16) -> i16 {
        COSINES[usize::from(phase)]
    }

    /// The feature at a phase.
    #[inline(always)]
    fn feature(&self, phase: u16) -> i16 {
        // The one phase that has no opposite is not used.
        if self.straight { (phase as i16).max(-i16::MAX) } else { Self::at(phase) }
    }

    /// Re-encodes rows; each new row depends on its old self and on released quantities alone.
    ///
    /// Rows of other columns than those that they were made for become null rows.
    pub fn recode(&self, rows: &Rows) -> Rows {
        self.recode_tiles(rows, 0..rows.tile_count())
    }

    /// Hands out rows in their new encoding, so many at a time that they take about so many bytes with all that is kept for them; the blocks
    /// are the same every time, and there is one for no rows, too.
    ///
    /// # Errors
    /// When `work` fails.
    pub(crate) fn each_block(
        &self,
        rows: &Rows,
        bytes: usize,
        mut work: impl FnMut(&Rows) -> Fallible<()>,
    ) -> Fallible<()> {
        let tile = Rows::footprint(&self.shape(), LANES as u64) as usize;
        let (size, all) = ((bytes / tile).max(1), rows.tile_count());
        let mut blocks = (0..all.max(1)).step_by(size);
        blocks.try_for_each(|first| work(&self.recode_tiles(rows, first..(first + size).min(all))))
    }

    /// Re-encodes the rows of some tiles.
    fn recode_tiles(&self, rows: &Rows, tiles: Range<usize>) -> Rows {
        let firsts: Vec<usize> = (0..self.columns().len()).map(|column| self.before(column)).collect();
        rows.with_numbers(tiles, (self.shape(), Self::ONE), 0, |codes, numbers| {
            let mut phases = vec![0u16; self.count()];
            for lane in 0..LANES {
                phases.copy_from_slice(&self.offsets);
                vectorized(
                    #[inline(always)]
                    || {
                        for (column, (&first, codes)) in firsts.iter().zip(codes).enumerate() {
                            self.turn(&mut phases, column, first, codes[lane]);
                        }
                    },
                );
                numbers.iter_mut().zip(&phases).for_each(|(column, &phase)| column[lane] = self.feature(phase));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{RawRow, RowsBuilder};

    #[test]
    fn every_machine_has_the_same_cosines() {
        // No cosine is so near to the middle of two integers that a library that is off by a few last places could round it otherwise.
        let nearest = (0..=TURN / 4).map(|phase| (cosine(phase).fract() - 0.5).abs()).fold(1.0, f64::min);
        assert!(nearest > 1e-6, "{nearest:e}");
        assert_eq!((Waves::at(0), Waves::at(1 << 14), Waves::at(1 << 15), Waves::at(3 << 14)), (32_766, 0, -32_766, 0));
        for phase in 0..TURN {
            let exact = 32_766.0 * (std::f64::consts::TAU * phase as f64 / TURN as f64).cos();
            assert!((f64::from(Waves::at(phase as u16)) - exact).abs() <= 0.5 + 1e-9, "{phase}");
        }
    }

    #[test]
    fn rows_become_waves_of_their_scores_and_values() {
        let scores = Scores { numeric: vec![vec![-8191, 0, 4000]], levels: vec![2] };
        let frequencies = vec![vec![100_000, -3], vec![7_000_000, 5], vec![-900_000, 1 << 30]];
        let waves = Waves::new(scores.clone(), frequencies.clone(), vec![12, 65_000]).unwrap();
        let mut builder = RowsBuilder::new(Shape::new(0, &[3, 2]));
        // Whole tiles: what pads one is of no interest.
        let codes = [[0u16, 1], [2, 0], [1, 2], [2, 1]].repeat(LANES / 2);
        for (row, codes) in codes.iter().enumerate() {
            builder.push(&RawRow { numeric: vec![], codes: codes.to_vec(), label: row as i16, null: row == 3 });
        }
        let rows = builder.build();
        let turned = |score: i64, frequency: i32| (score * i64::from(frequency) + (1 << 15)).div_euclid(1 << 16);
        let recoded = waves.recode(&rows);
        assert_eq!((recoded.shape(), recoded.one()), (&Shape::new(2, &[3, 2]), Waves::ONE));
        let mut expected = RowsBuilder::new(Shape::new(2, &[3, 2]));
        for (row, &[interval, value]) in codes.iter().enumerate() {
            let score = i64::from(scores.numeric[0][usize::from(interval)]);
            let feature = |wave: usize| {
                let own = frequencies.get(1 + usize::from(value)).map_or(0, |row| turned(8191, row[wave]));
                let own = if value == 2 { 0 } else { own };
                let phase = i64::from([12u16, 65_000][wave]) + turned(score, frequencies[0][wave]) + own;
                Waves::at(phase.rem_euclid(1 << 16) as u16)
            };
            let numeric = vec![feature(0), feature(1)];
            expected.push(&RawRow { numeric, codes: vec![interval, value], label: row as i16, null: row == 3 });
        }
        let expected = expected.build().recode(Waves::ONE, |_, q| q, |q| q);
        assert!(recoded.same_as(&expected));
        // Of other columns: nobody is left.
        let foreign = Scores { levels: vec![3], ..scores };
        let foreign = foreign.recode(&rows);
        assert!(foreign.tile_bytes(0..1).present.iter().all(|&word| word == 0));
        assert!(Waves::new(foreign_scores(), frequencies, vec![1, 2]).is_err());
    }

    fn foreign_scores() -> Scores {
        Scores { numeric: vec![vec![0; 3]; 2], levels: vec![2] }
    }
}
