//! The obvious loops that the fast ones must equal; references for tests and benches.

use super::{Caps, LANES, Rows, Step};

/// Row by row, in wide integers, the multiplier checked against the norm instead of a precomputed cap.
pub fn clipped_sum(rows: &Rows, caps: &Caps, step: &Step<'_>, slope: impl Fn(f32, f32) -> f32) -> Vec<i64> {
    let mut sum = vec![0i128; rows.shape().dimension()];
    for row in 0..rows.len() {
        let q = dense_row(rows, row);
        let unit = f64::from(rows.unit());
        let (features, last) = q.split_at(q.len() - 1);
        // Same order and precision as the fast path: intercept first, then columns in order.
        let mut margin = if last[0] == 0 { 0.0 } else { step.weights[q.len() - 1] as f32 };
        for (j, &value) in features.iter().enumerate() {
            if j < rows.shape().numeric() {
                margin += f32::from(value) * (step.weights[j] / unit) as f32;
            } else if value != 0 {
                margin += step.weights[j] as f32;
            }
        }
        let label = f32::from(rows.labels[row]) * step.label_scale as f32;
        let wanted = slope(margin, label) * step.multiplier_scale as f32;
        let mut m = if wanted.is_nan() { 0 } else { wanted.clamp(-8192.0, 8192.0).round_ties_even() as i128 };
        m = m.clamp(-i128::from(super::MAX_MULTIPLIER), i128::from(super::MAX_MULTIPLIER));
        let norm: i128 = q.iter().map(|&v| i128::from(v) * i128::from(v)).sum();
        let square = i128::from(caps.bound()) * i128::from(caps.bound());
        while m * m * norm > square {
            m -= m.signum();
        }
        sum.iter_mut().zip(&q).for_each(|(total, &v)| *total += m * i128::from(v));
    }
    sum.into_iter().map(|total| total as i64).collect()
}

/// The row as a dense integer vector; all zero for a null row.
fn dense_row(rows: &Rows, row: usize) -> Vec<i16> {
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
            q[first + code] = rows.unit();
        }
        first += shape.levels(column);
    }
    if let Some(last) = q.last_mut() {
        *last = rows.unit();
    }
    q
}
