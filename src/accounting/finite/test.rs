//! The best tests between the two laws of a pair.

use super::Pair;
use crate::accounting::directed::probability;
use crate::error::Fallible;

impl Pair {
    /// The corners of the trade-off curve of testing `P` (null) against `Q`: pairs of a false positive
    /// rate `P(reject)` and the least false negative rate `Q(accept)`.
    ///
    /// Outcomes are rejected in the order of falling `Q/P`; between corners the test is randomised and
    /// the curve a straight line, so it is convex and runs from `(0, .)` to `(1, 0)`.
    ///
    /// Reference: Neyman and Pearson 1933.
    pub fn trade_off(&self) -> Vec<(f64, f64)> {
        let mut outcomes: Vec<_> = self.outcomes().collect();
        outcomes.sort_by(|a, b| (b.1 * a.0).total_cmp(&(a.1 * b.0)).then_with(|| b.1.total_cmp(&a.1)));
        let (mut rejected, mut accepted) = (0.0, 1.0f64);
        let mut corners = vec![(0.0, 1.0)];
        for (p, q) in outcomes {
            rejected += p;
            accepted -= q;
            corners.push((f64::min(rejected, 1.0), accepted.max(0.0)));
        }
        corners
    }

    /// The least false negative rate of a test of `P` against `Q` at a false positive rate.
    ///
    /// The trade-off curve of [`Pair::trade_off`], interpolated.
    ///
    /// # Errors
    /// When `false_positive_rate` is no probability.
    ///
    /// Reference: Neyman and Pearson 1933.
    pub fn false_negative_rate(&self, false_positive_rate: f64) -> Fallible<f64> {
        let a = probability("false positive rate", false_positive_rate)?;
        let corners = self.trade_off();
        let mut best = 1.0f64;
        for (left, right) in corners.iter().zip(&corners[1..]) {
            if right.0 <= a {
                best = best.min(right.1);
            } else if left.0 <= a {
                best = best.min(left.1 + (a - left.0) / (right.0 - left.0) * (right.1 - left.1));
            }
        }
        Ok(best)
    }
}
