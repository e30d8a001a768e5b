//! Sums of rows weighed by their labels, and by what a model says of them: the two sides of a canonical link's score.
//!
//! The score of a generalized linear model with its canonical link is `sum_i c_i (y_i - mu(w . x_i)) x_i`. Labels are in its first term
//! alone, and that term is a fixed vector: where features are public, its release is all that a run has to pay for.

use rayon::prelude::*;

use super::{Caps, LANES, Rows};
use crate::grid::{LABEL_STEPS, LabelCoding};
use crate::num::vectorized;

/// The public numbers of a sum of rows weighed by what a model says of them.
#[derive(Clone, Copy, Debug)]
pub struct MeanStep<'a> {
    /// The coefficients, one block for each output.
    pub weights: &'a [f64],
    /// Margins of a row.
    pub outputs: usize,
    /// The multiplier of a mean of 1, for each unit of a row's cap.
    pub scale: f64,
    /// No multiplier is larger.
    pub most: i32,
}

/// The sum of `m_i q_i` over all rows, `m_i` the multiplier of the row's label out of [`LABEL_STEPS`] times its cap; a block for each
/// output.
///
/// # Privacy
/// With `caps` for a clip norm, every row has `cap_i |q_i|` at most that, in integers, and `|m_i| <= LABEL_STEPS cap_i`. So where one
/// label is replaced and nothing else changes, the sum moves by at most [`LabelCoding::spread`] of [`LABEL_STEPS`] clip norms in l2.
pub fn label_sum(rows: &Rows, caps: &Caps, coding: LabelCoding) -> Vec<i64> {
    let multipliers = |tile: usize, blocks: &mut [[i32; LANES]]| {
        let lanes = tile * LANES..(tile + 1) * LANES;
        for (lane, (&label, &cap)) in rows.labels[lanes.clone()].iter().zip(&caps.values[lanes]).enumerate() {
            let multiplier = coding.multiplier(label, i32::from(LABEL_STEPS) * i32::from(cap));
            match coding {
                LabelCoding::Classes { .. } => {
                    for (class, block) in blocks.iter_mut().enumerate() {
                        block[lane] = if i32::from(label) == class as i32 { multiplier } else { 0 };
                    }
                }
                LabelCoding::Two | LabelCoding::Numbers | LabelCoding::Counts => blocks[0][lane] = multiplier,
            }
        }
    };
    weighted_sum(rows, coding.outputs(), &multipliers)
}

/// The sum of `m_i q_i` over all rows, `m_i` the rounded mean that a model says of the row times the row's cap; a block for each output.
///
/// `means(margins)` replaces the margins of a tile, one output after the other, by means; one that is no number counts as zero. Each
/// multiplier is a pure function of its row's features and of public numbers, in an order of operations that is fixed, so position, parts,
/// threads and instruction set change nothing.
///
/// # Privacy
/// No label is read: whoever knows the features can compute the sum.
pub fn mean_sum(
    rows: &Rows,
    caps: &Caps,
    step: &MeanStep<'_>,
    means: &(dyn Fn(&mut [[f32; LANES]]) + Sync),
) -> Vec<i64> {
    let dimension = rows.shape().dimension();
    let most = f64::from(step.most);
    let multipliers = |tile: usize, blocks: &mut [[i32; LANES]]| {
        let mut margins = vec![[0f32; LANES]; step.outputs];
        for (margins, weights) in margins.iter_mut().zip(step.weights.chunks_exact(dimension)) {
            *margins = self::margins(rows, tile, weights).map(|margin| margin as f32);
        }
        means(&mut margins);
        let caps = &caps.values[tile * LANES..(tile + 1) * LANES];
        for (block, means) in blocks.iter_mut().zip(&margins) {
            for ((to, &mean), &cap) in block.iter_mut().zip(means).zip(caps) {
                // The cast takes what is no number to 0.
                *to = (f64::from(mean) * step.scale * f64::from(cap)).round_ties_even().clamp(-most, most) as i32;
            }
        }
    };
    weighted_sum(rows, step.outputs, &multipliers)
}

/// The margins of a tile's rows, column after column in a fixed order.
#[inline(always)]
fn margins_of(rows: &Rows, tile: usize, weights: &[f64]) -> [f64; LANES] {
    let shape = rows.shape();
    let intercept = weights.last().copied().unwrap_or(0.0);
    let mut margins = [0.0; LANES];
    for (column, weight) in rows.columns(tile).iter().zip(weights) {
        for (margin, &q) in margins.iter_mut().zip(column) {
            *margin += weight * f64::from(q);
        }
    }
    let one = f64::from(rows.one);
    margins.iter_mut().for_each(|margin| *margin = *margin / one + intercept);
    for (column, codes) in rows.code_tile(tile).as_chunks::<LANES>().0.iter().enumerate() {
        for (margin, &code) in margins.iter_mut().zip(codes) {
            if let Some(coefficient) = shape.coefficient(column, code) {
                *margin += weights.get(coefficient).copied().unwrap_or(0.0);
            }
        }
    }
    margins
}

fn margins(rows: &Rows, tile: usize, weights: &[f64]) -> [f64; LANES] {
    vectorized(
        #[inline(always)]
        || margins_of(rows, tile, weights),
    )
}

/// The sum of rows times the whole multipliers that `multipliers(tile, blocks)` writes for each tile, a block for each output.
fn weighted_sum(rows: &Rows, outputs: usize, multipliers: &(dyn Fn(usize, &mut [[i32; LANES]]) + Sync)) -> Vec<i64> {
    let dimension = rows.shape().dimension();
    let zero = || (vec![0i64; dimension * outputs], vec![[0i32; LANES]; outputs]);
    let add = |(mut sums, mut blocks): (Vec<i64>, Vec<[i32; LANES]>), tile: usize| {
        multipliers(tile, &mut blocks);
        // Rows that are none have no part in it, whatever stands in them.
        let norms = &rows.norms[tile * LANES..(tile + 1) * LANES];
        for (sums, block) in sums.chunks_exact_mut(dimension).zip(&mut blocks) {
            block.iter_mut().zip(norms).filter(|(_, norm)| **norm == 0).for_each(|(multiplier, _)| *multiplier = 0);
            add_tile(rows, tile, block, sums);
        }
        (sums, blocks)
    };
    let merge = |(mut a, blocks): (Vec<i64>, Vec<[i32; LANES]>), (b, _): (Vec<i64>, Vec<[i32; LANES]>)| {
        a.iter_mut().zip(&b).for_each(|(x, y)| *x += y);
        (a, blocks)
    };
    (0..rows.tiles()).into_par_iter().with_min_len(16).fold(zero, add).reduce(zero, merge).0
}

/// Adds one tile, each lane times its multiplier.
fn add_tile(rows: &Rows, tile: usize, multipliers: &[i32; LANES], sums: &mut [i64]) {
    let one = i64::from(rows.one);
    vectorized(
        #[inline(always)]
        || {
            for (sum, column) in sums.iter_mut().zip(rows.columns(tile)) {
                *sum += multipliers.iter().zip(column).map(|(&m, &q)| i64::from(m) * i64::from(q)).sum::<i64>();
            }
        },
    );
    for (column, codes) in rows.code_tile(tile).as_chunks::<LANES>().0.iter().enumerate() {
        for (&m, &code) in multipliers.iter().zip(codes) {
            if let Some(coefficient) = rows.shape().coefficient(column, code) {
                sums[coefficient] += i64::from(m) * one;
            }
        }
    }
    if let Some(intercept) = sums.last_mut() {
        *intercept += one * multipliers.iter().map(|&m| i64::from(m)).sum::<i64>();
    }
}
