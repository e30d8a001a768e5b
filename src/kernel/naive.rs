//! The obvious loops that the fast ones must equal; references for tests and benches.

use super::classes::{settle, shortening};
use super::margins::{MAX_CATEGORIES, MAX_COEFFICIENT, integers, largest};
use super::{Caps, ClassStep, LANES, Rows, Step};
use crate::grid::MAX_MULTIPLIER;

/// Row by row, in wide integers, the multiplier checked against the norm instead of a precomputed cap.
pub fn clipped_sum(rows: &Rows, caps: &Caps, step: &Step<'_>, slope: impl Fn(f32, f32) -> f32) -> Vec<i64> {
    let mut sum = vec![0i128; rows.shape().dimension()];
    for row in 0..rows.len() {
        let q = dense_row(rows, row);
        let margin = margin(rows, &q, step.weights);
        let label = f32::from(rows.labels[row]) * step.label_scale as f32;
        let wanted = slope(margin, label) * step.multiplier_scale as f32;
        let mut m = if wanted.is_nan() { 0 } else { wanted.clamp(-8192.0, 8192.0).round_ties_even() as i128 };
        m = m.clamp(-i128::from(MAX_MULTIPLIER), i128::from(MAX_MULTIPLIER));
        let norm: i128 = q.iter().map(|&v| i128::from(v) * i128::from(v)).sum();
        let square = i128::from(caps.clip_steps()) * i128::from(caps.clip_steps());
        while m * m * norm > square {
            m -= m.signum();
        }
        sum.iter_mut().zip(&q).for_each(|(total, &v)| *total += m * i128::from(v));
    }
    sum.into_iter().map(|total| total as i64).collect()
}

/// Row by row and label by label, with the cap of each row found by trying.
pub fn clipped_class_sum(
    rows: &Rows,
    caps: &Caps,
    step: &ClassStep<'_>,
    slopes: impl Fn(&mut [[f32; 1]], &[i16; 1]),
) -> Vec<i64> {
    let (dimension, classes) = (rows.shape().dimension(), step.counted());
    let mut sums = vec![0i64; dimension * classes];
    for row in 0..rows.len() {
        let q = dense_row(rows, row);
        let mut wanted: Vec<[f32; 1]> =
            (0..classes).map(|class| [margin(rows, &q, step.weights_of(class, dimension))]).collect();
        slopes(&mut wanted, &[rows.labels[row]]);
        wanted.iter_mut().for_each(|w| w[0] *= step.multiplier_scale as f32);
        let norm: i128 = q.iter().map(|&v| i128::from(v) * i128::from(v)).sum();
        let square = i128::from(caps.clip_steps()) * i128::from(caps.clip_steps());
        let fits = |m: i16| norm > 0 && i128::from(m) * i128::from(m) * norm <= square;
        let cap = (0..=MAX_MULTIPLIER).rev().find(|&m| fits(m)).unwrap_or(0);
        let factor = shortening(wanted.iter().map(|w| w[0] * w[0]).sum(), cap, step.slack());
        let most = f32::from(MAX_MULTIPLIER);
        let whole = |w: &[f32; 1]| if w[0].is_nan() { 0 } else { w[0].round_ties_even().clamp(-most, most) as i16 };
        let mut m: Vec<i16> = wanted.iter().map(|w| whole(&[w[0] * factor])).collect();
        let length: u32 = m.iter().map(|&m| u32::from(m.unsigned_abs()) * u32::from(m.unsigned_abs())).sum();
        let cap = u32::from(cap.unsigned_abs());
        if length > cap * cap {
            settle(m.iter_mut(), length, cap);
        }
        for (block, m) in sums.chunks_exact_mut(dimension).zip(m) {
            block.iter_mut().zip(&q).for_each(|(total, &v)| *total += i64::from(m) * i64::from(v));
        }
    }
    sums
}

/// The margin from the same rounded coefficients: integer sums of 16 columns, upper and lower halves apart, and then floats.
pub(super) fn margin(rows: &Rows, q: &[i16], weights: &[f64]) -> f32 {
    let shape = rows.shape();
    let (numeric, categories) = weights[..q.len() - 1].split_at(shape.numeric());
    let (w, step) = integers(numeric, largest(numeric), MAX_COEFFICIENT);
    let step = (step / f64::from(rows.one())) as f32;
    let (mut upper, mut lower) = (0f32, 0f32);
    for (w, q) in w.chunks(16).zip(q.chunks(16)) {
        let sum = |half: fn(i32) -> i32| w.iter().zip(q).map(|(&w, &q)| i64::from(half(w)) * i64::from(q)).sum::<i64>();
        upper += sum(|w| w.div_euclid(4096)) as f32;
        lower += sum(|w| w.rem_euclid(4096)) as f32;
    }
    let mut first = 0;
    let sizes = (0..shape.categorical()).map(|column| {
        first += shape.levels(column);
        largest(&categories[first - shape.levels(column)..first])
    });
    let (w, slot_step) = integers(categories, sizes.sum(), MAX_CATEGORIES);
    let chosen: i32 = w.iter().zip(&q[shape.numeric()..]).filter(|(_, q)| **q != 0).map(|(w, _)| w).sum();
    (weights[q.len() - 1] as f32 + (upper * 4096.0 + lower) * step) + chosen as f32 * slot_step as f32
}

/// The row as a dense integer vector; all zero for a null row.
pub(super) fn dense_row(rows: &Rows, row: usize) -> Vec<i16> {
    let shape = rows.shape();
    let mut q = vec![0i16; shape.dimension()];
    let (tile, lane) = (row / LANES, row % LANES);
    if rows.norms[row] == 0 {
        return q;
    }
    for (column, value) in q.iter_mut().enumerate().take(shape.numeric()) {
        *value = rows.numeric_tile(tile)[column * LANES + lane];
    }
    let mut first = shape.numeric();
    for column in 0..shape.categorical() {
        let code = usize::from(rows.code_tile(tile)[column * LANES + lane]);
        if code < shape.levels(column) {
            q[first + code] = rows.one();
        }
        first += shape.levels(column);
    }
    if let Some(last) = q.last_mut() {
        *last = rows.one();
    }
    q
}
