//! Noisy counts in a tree of intervals: what they say together, and the intervals worth telling apart.

use std::ops::Range;

/// Intervals that an interval is cut into.
const BRANCHES: usize = 4;

/// A cell with more than this part of the rows is a spike: sixteen times what each of the 1,024 cells of a column has in the mean.
const SPIKE: f64 = 64.0;

/// An interval of cells, and how many rows are in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leaf {
    /// The cells.
    pub(super) cells: Range<usize>,
    /// Rows, by released counts.
    pub(super) mass: f64,
}

impl Leaf {
    /// Whether it is a single cell with more rows than this.
    pub(super) fn stands_out(&self, rows: f64) -> bool {
        self.cells.len() == 1 && self.mass > rows
    }
}

/// Cuts the whole into intervals: one with more than `split` rows is cut into four, and one with fewer than `join` joins a neighbour that is no spike.
///
/// `levels` are counts of the intervals of each level, the coarsest first, each with noise of deviation `noise`; `total` is the number of
/// rows.
pub(super) fn leaves(levels: &[Vec<f64>], total: f64, noise: f64, split: f64, join: f64) -> Vec<Leaf> {
    let counts = consistent(levels, total, noise);
    let mut leaves = Vec::new();
    // Intervals that are still to be looked at, the leftmost last: level (0 the whole), number in it, rows.
    let mut open = vec![(0usize, 0usize, total)];
    while let Some((level, number, mass)) = open.pop() {
        match counts.get(level) {
            Some(finer) if mass > split => {
                let children = (0..BRANCHES).rev().map(|child| BRANCHES * number + child);
                open.extend(children.map(|child| (level + 1, child, finer[child])));
            }
            _ => {
                let cells = BRANCHES.pow((levels.len() - level) as u32);
                leaves.push(Leaf { cells: number * cells..(number + 1) * cells, mass });
            }
        }
    }
    joined(leaves, join, split.max(total / SPIKE))
}

/// Counts that add up from level to level and to the total, none of them negative: the best linear combination of what each level says,
/// then the nearest ones that are possible.
///
/// # Reference
/// Hay, Rastogi, Miklau and Suciu 2010, Section 4, for any number of branches.
fn consistent(levels: &[Vec<f64>], total: f64, noise: f64) -> Vec<Vec<f64>> {
    fitted(levels, total, noise, share_out)
}

/// Counts that add up, by what moves the parts of an interval so that they add up to it.
fn fitted(levels: &[Vec<f64>], total: f64, noise: f64, share_out: impl Fn(&mut [f64], f64)) -> Vec<Vec<f64>> {
    let mut counts = levels.to_vec();
    let own = noise * noise;
    let mut variance = own;
    for level in (0..counts.len().saturating_sub(1)).rev() {
        let below = BRANCHES as f64 * variance;
        // Without noise both say the same.
        let weight = if own > 0.0 { below / (below + own) } else { 1.0 };
        variance = weight * own;
        let (coarse, fine) = counts.split_at_mut(level + 1);
        for (count, children) in coarse[level].iter_mut().zip(fine[0].chunks(BRANCHES)) {
            *count = weight * *count + (1.0 - weight) * children.iter().sum::<f64>();
        }
    }
    let mut parents = vec![total.max(0.0)];
    for level in &mut counts {
        for (children, &parent) in level.chunks_mut(BRANCHES).zip(&parents) {
            share_out(children, parent);
        }
        parents.clone_from(level);
    }
    counts
}

/// Mean and variance of where rows lie, in cells, by the counts of the finest level made to fit the others.
pub(super) fn spread(levels: &[Vec<f64>], total: f64, noise: f64) -> (f64, f64) {
    // Counts below zero stay: where noise is large, to move them would put rows at both ends.
    let cells = fitted(levels, total, noise, |values, total| {
        let more = (total - values.iter().sum::<f64>()) / values.len() as f64;
        values.iter_mut().for_each(|value| *value += more);
    });
    let cells = cells.last().map_or(&[][..], Vec::as_slice);
    let rows = cells.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mean_of = |value: &dyn Fn(f64) -> f64| {
        cells.iter().enumerate().map(|(cell, mass)| mass * value(cell as f64 + 0.5)).sum::<f64>() / rows
    };
    let mean = mean_of(&|at| at);
    (mean, mean_of(&|at| (at - mean).powi(2)))
}

/// Moves numbers to the nearest ones that are not negative and add up to `total`.
fn share_out(values: &mut [f64], total: f64) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    let mut shift = 0.0;
    for (index, value) in sorted.iter().enumerate() {
        sum += value;
        let candidate = (sum - total) / (index + 1) as f64;
        // Those above the shift stay; the first always does, unless there is nothing to share.
        if index == 0 || *value > candidate {
            shift = candidate;
        }
    }
    values.iter_mut().for_each(|value| *value = (*value - shift).max(0.0));
}

/// Joins the lightest interval to the lighter of its neighbours while it has fewer rows than `least`.
///
/// No cell with more than `spike` rows is joined: what is known of where they lie would be lost, for rows are taken to spread evenly inside an interval.
fn joined(mut leaves: Vec<Leaf>, least: f64, spike: f64) -> Vec<Leaf> {
    let mass = |leaves: &[Leaf], index: usize| leaves.get(index).map_or(f64::INFINITY, |leaf| leaf.mass);
    loop {
        // What an interval may be joined to, by its mass.
        let open = |index: usize| leaves.get(index).is_some_and(|leaf| !leaf.stands_out(spike));
        let neighbour = |index: usize| {
            let beside = [index.checked_sub(1), Some(index + 1)].into_iter().flatten().filter(|&beside| open(beside));
            beside.min_by(|&a, &b| mass(&leaves, a).total_cmp(&mass(&leaves, b)))
        };
        let light = (0..leaves.len()).filter(|&index| mass(&leaves, index) < least);
        let pairs = light.filter_map(|index| Some((index, neighbour(index)?)));
        let lightest = pairs.min_by(|a, b| mass(&leaves, a.0).total_cmp(&mass(&leaves, b.0)));
        let Some((one, other)) = lightest else { return leaves };
        let first = one.min(other);
        let gone = leaves.remove(first + 1);
        leaves[first].cells.end = gone.cells.end;
        leaves[first].mass += gone.mass;
    }
}

/// The place below which a share of the rows lies, in cells: rows spread evenly inside an interval.
pub(super) fn quantile(leaves: &[Leaf], share: f64) -> f64 {
    let total: f64 = leaves.iter().map(|leaf| leaf.mass).sum();
    let mut left = share * total;
    for leaf in leaves {
        if leaf.mass > 0.0 && left <= leaf.mass {
            return leaf.cells.start as f64 + leaf.cells.len() as f64 * left / leaf.mass;
        }
        left -= leaf.mass;
    }
    leaves.last().map_or(0.0, |leaf| leaf.cells.end as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(cells: &[f64]) -> Vec<Vec<f64>> {
        let mut levels = vec![cells.to_vec()];
        while levels[0].len() > BRANCHES {
            let coarser = levels[0].chunks(BRANCHES).map(|four| four.iter().sum()).collect();
            levels.insert(0, coarser);
        }
        levels
    }

    #[test]
    fn a_spike_is_joined_to_nothing() {
        let leaf = |cells: Range<usize>, mass| Leaf { cells, mass };
        // Nothing on the left, most rows in one cell, few on the right.
        let leaves =
            vec![leaf(0..16, 0.0), leaf(16..17, 800.0), leaf(17..20, 1.0), leaf(20..32, 3.0), leaf(32..48, 100.0)];
        let kept = joined(leaves.clone(), 10.0, 50.0);
        assert_eq!(kept, [leaf(0..16, 0.0), leaf(16..17, 800.0), leaf(17..48, 104.0)]);
        // A cell that is none takes the empty ones beside it.
        let all = joined(leaves, 10.0, 1000.0);
        assert_eq!(all, [leaf(0..17, 800.0), leaf(17..48, 104.0)]);
    }

    #[test]
    fn counts_without_noise_stay_as_they_are() {
        let cells: Vec<f64> = (0..64).map(|cell| f64::from(cell % 5)).collect();
        let levels = levels(&cells);
        let total = cells.iter().sum();
        for (own, found) in levels.iter().zip(consistent(&levels, total, 0.0)) {
            assert!(own.iter().zip(found).all(|(a, b)| (a - b).abs() < 1e-9));
        }
    }

    #[test]
    fn the_nearest_shares_are_found() {
        // Against a search on a fine grid.
        for (values, total) in
            [([3.0, -1.0, 0.5, 2.0], 4.0), ([1.0, 1.0, 1.0, 1.0], 0.0), ([-5.0, -6.0, -5.5, -9.0], 2.0)]
        {
            let mut found = values;
            share_out(&mut found, total);
            assert!((found.iter().sum::<f64>() - total).abs() < 1e-12 && found.iter().all(|&x| x >= 0.0));
            let distance = |x: &[f64]| x.iter().zip(values).map(|(x, v)| (x - v) * (x - v)).sum::<f64>();
            let n = 40;
            for a in 0..=n {
                for b in 0..=n - a {
                    for c in 0..=n - a - b {
                        let other = [a, b, c, n - a - b - c].map(|k| total * k as f64 / n as f64);
                        assert!(distance(&found) <= distance(&other) + 1e-12, "{other:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn each_level_says_something_about_the_others() {
        // The variance of a total that four noisy quarters and the level above tell together is less than that of either.
        let levels = vec![vec![0.0; 4], vec![0.0; 16]];
        let moved = |level: usize, index: usize| {
            let mut levels = levels.clone();
            levels[level][index] += 1.0;
            consistent(&levels, 1e6, 1.0)[0][0] - consistent(&levels, 1e6, 1.0)[0][1]
        };
        // Weights 4/5 for the own level, and a fifth for each of the level below.
        assert!((moved(0, 0) - 0.8).abs() < 1e-9 && (moved(1, 0) - 0.2).abs() < 1e-9);
    }

    #[test]
    fn heavy_intervals_are_cut_and_light_ones_join() {
        let mut cells = vec![0.0; 64];
        cells[17] = 500.0;
        cells[40..48].fill(50.0);
        let found = leaves(&levels(&cells), 900.0, 0.0, 60.0, 1.0);
        assert!(found.iter().any(|leaf| leaf.cells == (17..18) || leaf.cells.contains(&17) && leaf.mass == 500.0));
        // Nothing is in the cells before the spike, and they are not joined to it.
        assert_eq!(found[0], Leaf { cells: 0..17, mass: 0.0 });
        assert!(found[1..].iter().all(|leaf| leaf.mass >= 1.0));
        assert_eq!((found[0].cells.start, found[found.len() - 1].cells.end), (0, 64));
        assert!(found.windows(2).all(|pair| pair[0].cells.end == pair[1].cells.start));
        assert!((found.iter().map(|leaf| leaf.mass).sum::<f64>() - 900.0).abs() < 1e-9);
        assert_eq!(joined(vec![Leaf { cells: 0..64, mass: 0.0 }], 1.0, 5.0).len(), 1);
    }

    #[test]
    fn quantiles_lie_where_the_rows_do() {
        let leaves =
            [Leaf { cells: 0..10, mass: 30.0 }, Leaf { cells: 10..12, mass: 0.0 }, Leaf { cells: 12..20, mass: 10.0 }];
        assert_eq!(
            (quantile(&leaves, 0.5), quantile(&leaves, 0.75), quantile(&leaves, 0.875)),
            (20.0 / 3.0, 10.0, 16.0)
        );
    }
}
