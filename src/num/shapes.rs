//! The numbers of a shape that are nearest to given ones: ascending, convex, or both, in weighted least squares.

use crate::error::{Error, Fallible};

/// Inner steps of a convex fit for each of its places; few are needed.
const STEPS: usize = 50;

/// A derivative below this, in units of the root of the weighted squares, is a rounding error.
const LEAST: f64 = 1e-11;

/// The nearest ascending numbers: `f` with the least `sum_i w_i (f_i - y_i)^2` of all `f_1 <= f_2 <= ...`, by pooling adjacent violators.
///
/// Numbers that fall are replaced by their weighted mean, together with those that this mean contradicts, so `sum_i w_i f_i` is that of `y`.
/// Weights are positive. Numbers that ascend already stay to the bit.
///
/// ```
/// use rhograd::num::shapes::ascending;
/// assert_eq!(ascending(&[1.0, 5.0, 2.0, 7.0], &[1.0, 1.0, 2.0, 1.0]), [1.0, 3.0, 3.0, 7.0]);
/// ```
///
/// # Reference
/// Barlow, Bartholomew, Bremner and Brunk 1972.
pub fn ascending(values: &[f64], weights: &[f64]) -> Vec<f64> {
    // Mean, weight and length of each run of equal numbers.
    let mut runs: Vec<(f64, f64, usize)> = Vec::new();
    for (&value, &weight) in values.iter().zip(weights) {
        let mut last = (value, weight, 1);
        while let Some(&(mean, weight, length)) = runs.last()
            && mean > last.0
        {
            runs.pop();
            let total = weight + last.1;
            last = ((mean * weight + last.0 * last.1) / total, total, length + last.2);
        }
        runs.push(last);
    }
    runs.into_iter().flat_map(|(mean, _, length)| std::iter::repeat_n(mean, length)).collect()
}

/// The nearest convex numbers at ascending places `x`: `f` with the least `sum_i w_i (f_i - y_i)^2` of all whose slopes
/// `(f_{i+1} - f_i) / (x_{i+1} - x_i)` ascend; and of all that ascend besides, where `ascends`.
///
/// Such numbers are `a + b x + sum_k c_k max(x - x_k, 0)` with no `c_k` below 0, and no `b` where they ascend, too. Bends are taken in and
/// left out one by one, as in non-negative least squares, until no other has a descent; with the bends known the fit is a line from bend to
/// bend, whose normal equations have three diagonals. `sum_i w_i f_i` is that of `y`. Weights are positive. Numbers that have the form
/// already stay to the bit.
///
/// ```
/// use rhograd::num::shapes::convex;
/// let nearest = convex(&[0.0, 1.0, 2.0, 3.0], &[4.0, 1.0, 2.0, 5.0], &[1.0; 4], false)?;
/// assert_eq!(nearest.iter().map(|f| (f * 10.0).round()).collect::<Vec<_>>(), [40.0, 10.0, 20.0, 50.0]);
/// let line = convex(&[0.0, 1.0, 2.0], &[0.0, 3.0, 0.0], &[1.0; 3], false)?;
/// assert!(line.iter().all(|f| (f - 1.0).abs() < 1e-12));
/// # Ok::<(), rhograd::error::Error>(())
/// ```
///
/// # Errors
/// When places do not ascend, or the fit does not end.
///
/// # Reference
/// Lawson and Hanson 1974, chapter 23; Meyer 1999.
pub fn convex(places: &[f64], values: &[f64], weights: &[f64], ascends: bool) -> Fallible<Vec<f64>> {
    let count = values.len();
    let (Some(first), Some(last)) = (places.first(), places.last()) else { return Ok(Vec::new()) };
    if count < 2 {
        return Ok(values.to_vec());
    }
    if places.len() != count || weights.len() != count || !places.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(Error::numerical("convex fit", "places do not ascend"));
    }
    let slope = |at: usize| (values[at] - values[at - 1]) / (places[at] - places[at - 1]);
    if (1..count).is_sorted_by_key(slope) && (!ascends || slope(1) >= 0.0) {
        return Ok(values.to_vec());
    }
    let places: Vec<f64> = places.iter().map(|place| (place - first) / (last - first)).collect();
    let fit = Bends { places: &places, values, weights, ascends };
    let (mut bends, mut sizes): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut numbers = fit.between(&bends).0;
    let mut barred = vec![false; count];
    for _ in 0..STEPS * count {
        let Some(next) = fit.steepest(&numbers, |bend| barred[bend] || bends.binary_search(&bend).is_ok()) else {
            return Ok(numbers);
        };
        let at = bends.partition_point(|&bend| bend < next);
        bends.insert(at, next);
        sizes.insert(at, 0.0);
        let mut is_new = true;
        loop {
            let (found, wanted) = fit.between(&bends);
            // What should rise and does not was a rounding error.
            if std::mem::take(&mut is_new) && wanted[at] <= 0.0 {
                bends.remove(at);
                sizes.remove(at);
                barred[next] = true;
                break;
            }
            // As far as all bends stay up.
            let share = |(&old, &new): (&f64, &f64)| if new < 0.0 { old / (old - new) } else { 1.0 };
            let share = sizes.iter().zip(&wanted).map(share).fold(1.0, f64::min);
            if share >= 1.0 {
                (numbers, sizes) = (found, wanted);
                barred.fill(false);
                break;
            }
            let kept: Vec<(usize, f64)> = (bends.iter().zip(&sizes).zip(&wanted))
                .map(|((&bend, &old), &new)| (bend, old + share * (new - old), new))
                .filter(|&(_, size, new)| size > 0.0 && (new >= 0.0 || size > LEAST * new.abs()))
                .map(|(bend, size, _)| (bend, size))
                .collect();
            if kept.len() == bends.len() {
                return Err(Error::numerical("convex fit", "no bend is left out where one should be"));
            }
            (bends, sizes) = kept.into_iter().unzip();
        }
    }
    Err(Error::numerical("convex fit", "does not end"))
}

/// Numbers that are to be convex over places from 0 to 1.
struct Bends<'a> {
    places: &'a [f64],
    values: &'a [f64],
    weights: &'a [f64],
    ascends: bool,
}

impl Bends<'_> {
    /// The bend along which the squares fall fastest, for its length; of these all but `left_out`. Bend 0 is the slope from the first place
    /// on, which is free where numbers need not ascend.
    fn steepest(&self, numbers: &[f64], left_out: impl Fn(usize) -> bool) -> Option<usize> {
        let count = numbers.len();
        let scale = self.values.iter().zip(self.weights).map(|(y, w)| w * y * y).sum::<f64>().sqrt();
        // Over all places behind: weights, weights times distance and its square, residuals and residuals times distance.
        let (mut sums, mut best) = ([0.0; 5], (LEAST * scale, None));
        for bend in (0..count - 1).rev() {
            let behind = bend + 1;
            let weight = self.weights[behind];
            let residual = weight * (self.values[behind] - numbers[behind]);
            let far = self.places[behind] - self.places[bend];
            let [w, wx, wxx, r, rx] = sums;
            let (w, r) = (w + weight, r + residual);
            sums = [w, wx + far * w, wxx + 2.0 * far * wx + far * far * w, r, rx + far * r];
            let descent = sums[4] / sums[2].sqrt();
            if descent > best.0 && (bend > 0 || self.ascends) && !left_out(bend) {
                best = (descent, Some(bend));
            }
        }
        best.1
    }

    /// The nearest numbers that bend at some places alone, and how much they do at each.
    fn between(&self, bends: &[usize]) -> (Vec<f64>, Vec<f64>) {
        let count = self.values.len();
        // Where slopes are free, the first line begins at the first place; else all is level before the first bend.
        let start = if self.ascends { None } else { Some(0) };
        let nodes: Vec<usize> = start.into_iter().chain(bends.iter().copied()).chain([count - 1]).collect();
        let place = |node: usize| self.places[nodes[node]];
        let mut node = 0;
        let parts: Vec<(usize, f64)> = (0..count)
            .map(|at| {
                while node + 1 < nodes.len() && nodes[node + 1] <= at {
                    node += 1;
                }
                let along = |next: usize| (self.places[at] - place(node)) / (place(next) - place(node));
                (node, if node + 1 < nodes.len() && at > nodes[node] { along(node + 1) } else { 0.0 })
            })
            .collect();
        let mut equations = vec![(0.0, 0.0, 0.0); nodes.len()];
        for ((&(node, share), value), weight) in parts.iter().zip(self.values).zip(self.weights) {
            let rest = 1.0 - share;
            let (own, next, right) = &mut equations[node];
            *own += weight * rest * rest;
            *next += weight * rest * share;
            *right += weight * rest * value;
            if let Some((own, _, right)) = equations.get_mut(node + 1) {
                *own += weight * share * share;
                *right += weight * share * value;
            }
        }
        for node in 1..nodes.len() {
            let (own, next, right) = equations[node - 1];
            equations[node].0 -= next * next / own;
            equations[node].2 -= next * right / own;
        }
        let mut heights = vec![0.0; nodes.len()];
        for node in (0..nodes.len()).rev() {
            let (own, next, right) = equations[node];
            let behind = heights.get(node + 1).copied().unwrap_or(0.0);
            heights[node] = (right - next * behind) / own;
        }
        let height = |(node, share): (usize, f64)| {
            let next = heights.get(node + 1).copied().unwrap_or(0.0);
            if share == 0.0 { heights[node] } else { heights[node] + share * (next - heights[node]) }
        };
        let slope = |node: usize| (heights[node + 1] - heights[node]) / (place(node + 1) - place(node));
        let skipped = usize::from(!self.ascends);
        let before = |node: usize| if node == 0 { 0.0 } else { slope(node - 1) };
        let sizes = (skipped..nodes.len() - 1).map(|node| slope(node) - before(node)).collect();
        (parts.into_iter().map(height).collect(), sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By the formula of all means: `max over a <= i of min over b >= i` of the mean from `a` to `b`.
    fn ascending_by_means(values: &[f64], weights: &[f64]) -> Vec<f64> {
        let mean = |a: usize, b: usize| {
            let weight: f64 = weights[a..=b].iter().sum();
            values[a..=b].iter().zip(&weights[a..=b]).map(|(y, w)| y * w).sum::<f64>() / weight
        };
        let least = |a: usize, i: usize| (i..values.len()).map(|b| mean(a, b)).fold(f64::INFINITY, f64::min);
        (0..values.len()).map(|i| (0..=i).map(|a| least(a, i)).fold(f64::NEG_INFINITY, f64::max)).collect()
    }

    fn near(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a.abs()))
    }

    proptest! {
        #[test]
        fn pooling_gives_the_formula_of_all_means(
            rows in proptest::collection::vec((-5.0f64..5.0, 0.001f64..1.0), 1..30)
        ) {
            let (values, weights): (Vec<f64>, Vec<f64>) = rows.into_iter().unzip();
            let found = ascending(&values, &weights);
            prop_assert!(found.is_sorted() && near(&found, &ascending_by_means(&values, &weights)));
            prop_assert_eq!(ascending(&found, &weights), found);
        }

        /// The projection onto a cone is known by three things: it lies in the cone, what is left is orthogonal to it, and has no
        /// positive product with anything that spans the cone.
        #[test]
        fn convex_fits_are_projections(
            rows in proptest::collection::vec((0.0001f64..3.0, -5.0f64..5.0, 0.00001f64..1.0), 2..60), ascends: bool
        ) {
            let mut place = 0.0;
            let places: Vec<f64> = rows.iter().map(|row| { place += row.0; place }).collect();
            let values: Vec<f64> = rows.iter().map(|row| row.1).collect();
            let weights: Vec<f64> = rows.iter().map(|row| row.2).collect();
            let found = convex(&places, &values, &weights, ascends).unwrap();
            let slopes: Vec<f64> = (1..found.len()).map(|i| (found[i] - found[i - 1]) / (places[i] - places[i - 1])).collect();
            let least = places.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
            prop_assert!(slopes.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9 / least), "{slopes:?}");
            prop_assert!(!ascends || slopes[0] > -1e-9 / least, "{slopes:?}");
            let product = |of: &dyn Fn(usize) -> f64| -> f64 {
                let left = (0..found.len()).map(|i| weights[i] * (values[i] - found[i]) * of(i)).sum::<f64>();
                let length = (0..found.len()).map(|i| weights[i] * of(i).powi(2)).sum::<f64>().sqrt();
                left / length.max(1e-300)
            };
            prop_assert!(product(&|_| 1.0).abs() < 1e-7 && product(&|i| found[i]).abs() < 1e-7);
            prop_assert!(ascends || product(&|i| places[i]).abs() < 1e-7);
            for bend in usize::from(!ascends)..found.len() - 1 {
                let along = product(&|i| (places[i] - places[bend]).max(0.0));
                prop_assert!(along < 1e-7, "{bend} {along}");
            }
        }
    }

    #[test]
    fn what_has_the_shape_stays() {
        let places: Vec<f64> = (0..1024).map(f64::from).collect();
        let weights = vec![1.0 / 1024.0; 1024];
        let square: Vec<f64> = places.iter().map(|x| (x / 1024.0).powi(2)).collect();
        assert_eq!(convex(&places, &square, &weights, true).unwrap(), square);
        assert_eq!(ascending(&square, &weights), square);
        let falling: Vec<f64> = square.iter().map(|y| -y).collect();
        let mean = falling.iter().sum::<f64>() / 1024.0;
        assert!(near(&convex(&places, &falling, &weights, true).unwrap(), &[mean; 1024]));
        assert!(convex(&[0.0, 0.0], &[1.0, 2.0], &[1.0, 1.0], false).is_err());
        assert_eq!(convex(&[], &[], &[], true).unwrap(), [0.0; 0]);
        assert_eq!(convex(&[3.0], &[2.0], &[1.0], true).unwrap(), [2.0]);
    }

    #[test]
    fn many_noisy_places_end() {
        let places: Vec<f64> = (0..1024).map(|i| (f64::from(i) / 100.0).exp()).collect();
        let noisy: Vec<f64> = (0..1024u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / 1e6).collect();
        let weights: Vec<f64> = (0..1024).map(|i| 10f64.powi(-(i % 7))).collect();
        for ascends in [false, true] {
            let found = convex(&places, &noisy, &weights, ascends).unwrap();
            assert!(!ascends || found.windows(2).all(|pair| pair[1] - pair[0] > -1e-9));
        }
    }
}
