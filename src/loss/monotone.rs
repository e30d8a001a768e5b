//! Slopes in exact integers, for maps whose expansion must be known exactly.

use super::Curved;

/// Slopes are integers in units of `2^-30`.
pub const LOG2_SLOPE: u32 = 30;

/// Knots per unit of margin of the interpolated logistic function.
const KNOTS: i128 = 16;

/// The interpolated logistic function is constant beyond this margin.
const MAX_MARGIN: i128 = 20;

/// Slopes beyond this are cut; no clip is as large.
const MAX_SLOPE: i128 = 1 << 45;

/// A slope that is exactly monotone and Lipschitz in the margin, up to one rounding down at the end.
///
/// For the squared loss it is `t - y`. For the logistic loss it is `s(t) - y` with `s` the piecewise linear function through
/// points near the logistic function at multiples of 1/16: its increments between knots are never negative and
/// never above `2^30 / 64`, so `s` itself is monotone and 1/4-Lipschitz whatever the table holds. Both belong to a convex loss.
#[derive(Clone, Debug)]
pub struct MonotoneSlope {
    /// The integer that stands for a margin of 1.
    unit: i128,
    /// The margin that an encoded label of 1 stands for, for the squared loss.
    label: i128,
    /// Values at the knots from `-MAX_MARGIN` on; empty for the squared loss.
    table: Vec<i128>,
}

impl MonotoneSlope {
    /// For margins that are integers in units of `1 / unit`, a positive multiple of 16.
    ///
    /// `label_scale` is what an encoded label of 1 stands for.
    pub fn new(loss: Curved, unit: i128, label_scale: f64) -> Self {
        let table = match loss {
            Curved::Squared => Vec::new(),
            Curved::Logistic => logistic_table(),
        };
        MonotoneSlope { unit, label: (label_scale * unit as f64).round() as i128, table }
    }

    /// The slope at a margin, rounded down to a multiple of `2^-30`.
    pub fn at(&self, margin: i128, label: i16) -> i64 {
        let one = 1i128 << LOG2_SLOPE;
        let slope = if self.table.is_empty() {
            ((margin - i128::from(label) * self.label) * one).div_euclid(self.unit)
        } else {
            self.interpolated(margin) - i128::from(label) * one
        };
        slope.clamp(-MAX_SLOPE, MAX_SLOPE) as i64
    }

    fn interpolated(&self, margin: i128) -> i128 {
        let spacing = self.unit / KNOTS;
        let from = margin + MAX_MARGIN * self.unit;
        let last = self.table.len() as i128 - 1;
        let index = from.div_euclid(spacing);
        if index < 0 {
            return self.table.first().copied().unwrap_or(0);
        }
        if index >= last {
            return self.table.last().copied().unwrap_or(0);
        }
        let (low, high) = (self.table[index as usize], self.table[index as usize + 1]);
        low + ((high - low) * from.rem_euclid(spacing)).div_euclid(spacing)
    }
}

fn logistic_table() -> Vec<i128> {
    let one = (1i128 << LOG2_SLOPE) as f64;
    let steepest = (1i128 << LOG2_SLOPE) / (4 * KNOTS);
    let mut table: Vec<i128> = Vec::new();
    for knot in -MAX_MARGIN * KNOTS..=MAX_MARGIN * KNOTS {
        let margin = knot as f64 / KNOTS as f64;
        let value = (one / (1.0 + (-margin).exp())).round() as i128;
        table.push(table.last().map_or(value, |&before| value.clamp(before, before + steepest)));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::{Logistic, Loss};

    #[test]
    fn slopes_are_near_the_losses_and_never_steeper() {
        let unit = 16i128 << 40;
        let logistic = MonotoneSlope::new(Curved::Logistic, unit, 1.0);
        let squared = MonotoneSlope::new(Curved::Squared, unit, 0.5);
        let step = unit / 1000 + 7;
        for i in -25_000..25_000i128 {
            let t = i as f64 * step as f64 / unit as f64;
            let near = |slope: i64, exact: f64| (slope as f64 / 2f64.powi(30) - exact).abs();
            assert!(near(logistic.at(i * step, 1), f64::from(Logistic.slope(t as f32, 1.0))) < 1e-4, "{t}");
            assert!(near(squared.at(i * step, 3), t - 1.5) < 1e-8, "{t}");
            // Differences of the rounded values may be off by one unit.
            let rise = |slope: &MonotoneSlope| i128::from(slope.at((i + 1) * step, 0) - slope.at(i * step, 0));
            assert!((-1..=step * (1 << 30) / (4 * unit) + 2).contains(&rise(&logistic)), "{t}");
            assert!((0..=step * (1 << 30) / unit + 2).contains(&rise(&squared)), "{t}");
        }
    }

    #[test]
    fn extremes_are_cut() {
        let squared = MonotoneSlope::new(Curved::Squared, 16, 1e9);
        assert_eq!(i128::from(squared.at(1 << 90, 0)), MAX_SLOPE);
        assert_eq!(i128::from(squared.at(-(1 << 90), i16::MAX)), -MAX_SLOPE);
        let logistic = MonotoneSlope::new(Curved::Logistic, 16, 1.0);
        assert_eq!(logistic.at(1 << 90, 0), (1 << 30) - 2);
        assert_eq!(logistic.at(-(1 << 90), 1), -(1 << 30) + 2);
    }
}
