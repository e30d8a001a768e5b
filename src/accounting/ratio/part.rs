//! Parts of laws of which means are taken, and where pairs of their points lie.

/// Standard deviations of the logarithm of one ratio that are kept.
pub(super) const REACH: f64 = 13.6;
/// One unit of rounding.
pub(super) const UNIT: f64 = f64::EPSILON / 2.0;

/// A measure under Q of the logarithm of the ratio, on points `step k` or between them.
pub(super) trait Part: Clone {
    /// The ratio of one step whose sensitivity is `mu` deviations of its noise, as far as [`REACH`], on points of this distance.
    fn of_step(mu: f64, step: f64) -> Self;
    /// The mean of `share` times this ratio and the rest times an independent one, on points of the same distance.
    fn average(&self, other: &Self, share: f64) -> Self;
    /// Twice as many points.
    fn finer(&self) -> Self;
    /// Every `2^times`-th point.
    fn coarser(&self, times: u32) -> Self;
    /// Both measures together; their points have the same distance.
    fn plus(&self, other: &Self) -> Self;
    /// The first points, as many as this, and the others.
    fn split(&self, count: usize) -> (Self, Self);
    /// The distance of points.
    fn step(&self) -> f64;
    /// Masses under Q, and logarithms of ratios.
    fn points(&self) -> Vec<(f64, f64)>;
    /// The relative error that an average of so many terms adds to ratios.
    fn ratio_error(terms: f64) -> f64;
}

/// How far the logarithm of the mean of two points, `d` steps apart, is above the larger of them; never above 0.
pub(super) fn offset(step: f64, share: f64, d: i64) -> f64 {
    let (rest, apart) = if d >= 0 { (1.0 - share, d) } else { (share, -d) };
    (rest * (-(apart as f64) * step).exp_m1()).ln_1p()
}

/// Pairs of points that are `d` steps apart: the first index of each, and how many there are.
pub(super) fn diagonal(from: (i64, i64), counts: (usize, usize), d: i64) -> (usize, usize, usize) {
    let ahead = from.0 - from.1;
    let first = (d - ahead).max(0);
    let second = first + ahead - d;
    let pairs = (counts.0 as i64 - first).min(counts.1 as i64 - second).max(0);
    (first as usize, second as usize, pairs as usize)
}

/// All distances of points of two measures.
pub(super) fn distances(from: (i64, i64), counts: (usize, usize)) -> std::ops::RangeInclusive<i64> {
    let ahead = from.0 - from.1;
    ahead - (counts.1 as i64 - 1)..=ahead + counts.0 as i64 - 1
}
