//! Whether one of two programs is slower, from times that were taken in pairs.

use std::fmt;

/// All claims about the benchmarks of one comparison together are wrong with at most this probability.
const ERROR: f64 = 0.05;

/// What pairs of times say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The second takes longer, by more than the least difference that counts.
    Slower,
    /// The second takes less time, by more than that.
    Faster,
    /// Neither is shown.
    NotShown,
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Pace::Slower => "slower",
            Pace::Faster => "faster",
            Pace::NotShown => "no difference shown",
        })
    }
}

/// What times of a second program over those of the first one say, where so many benchmarks are compared.
///
/// A sign test (Dixon and Mood 1946) against a median ratio of `1 + least`, or of its inverse, divided by twice the
/// comparisons (Bonferroni): of all benchmarks whose median ratio lies between the two, one is called slower or faster with a
/// probability of at most 0.05. Nothing is assumed of the law of times, but that pairs are independent.
///
/// ```
/// use rhograd_experiments::paired::{Pace, pace};
/// assert_eq!(pace(&[1.1; 10], 1, 0.02), Pace::Slower);
/// assert_eq!(pace(&[1.1, 0.9, 1.2, 1.1, 1.0, 0.99, 1.1], 1, 0.02), Pace::NotShown);
/// ```
pub fn pace(ratios: &[f64], comparisons: usize, least: f64) -> Pace {
    if ratios.iter().any(|ratio| !ratio.is_finite() || *ratio <= 0.0) {
        return Pace::NotShown;
    }
    let level = ERROR / (2.0 * comparisons.max(1) as f64);
    let slower = ratios.iter().filter(|&&ratio| ratio > 1.0 + least).count();
    let faster = ratios.iter().filter(|&&ratio| ratio < 1.0 / (1.0 + least)).count();
    if at_least(slower, ratios.len()) <= level {
        Pace::Slower
    } else if at_least(faster, ratios.len()) <= level {
        Pace::Faster
    } else {
        Pace::NotShown
    }
}

/// The fewest pairs from which anything can be shown, where so many benchmarks are compared.
pub fn fewest_pairs(comparisons: usize) -> usize {
    (2.0 * comparisons.max(1) as f64 / ERROR).log2().ceil() as usize
}

/// The middle one of some numbers.
pub fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => sorted[len / 2],
        len => f64::midpoint(sorted[len / 2 - 1], sorted[len / 2]),
    }
}

/// The probability of so many heads or more of fair coins.
fn at_least(heads: usize, coins: usize) -> f64 {
    let mut term = 0.5f64.powi(coins as i32);
    let mut below = 0.0;
    for count in 0..heads {
        below += term;
        term *= (coins - count) as f64 / (count + 1) as f64;
    }
    // Of few coins all is exact; the sum of all may pass 1 by rounding.
    (1.0 - below).max(0.0)
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::*;

    /// Times that scatter by some percent, now and then by a lot.
    fn ratios(rng: &mut ChaCha8Rng, pairs: usize, change: f64) -> Vec<f64> {
        let one = |rng: &mut ChaCha8Rng| {
            let scatter = if rng.random_bool(0.1) { 0.5 } else { 0.02 };
            (scatter * rng.sample::<f64, _>(StandardNormal)).exp()
        };
        (0..pairs).map(|_| change * one(rng) / one(rng)).collect()
    }

    #[test]
    fn equal_programs_are_hardly_ever_called_slower() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (comparisons, trials) = (20, 400);
        let pairs = fewest_pairs(comparisons);
        let wrong = |rng: &mut ChaCha8Rng, change: f64, claimed: Pace| {
            let one = |rng: &mut ChaCha8Rng| pace(&ratios(rng, pairs, change), comparisons, 0.02) == claimed;
            (0..trials).filter(|_| (0..comparisons).fold(false, |any, _| one(rng) | any)).count()
        };
        // At the least difference itself the error is at most 5% of the trials; 4 deviations of their number are 17.
        for (change, claimed) in [(1.02, Pace::Slower), (1.0 / 1.02, Pace::Faster)] {
            assert!(wrong(&mut rng, change, claimed) <= trials / 20 + 17);
        }
        assert_eq!(wrong(&mut rng, 1.0, Pace::Slower), 0);
    }

    #[test]
    fn a_tenth_more_is_seen() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let seen = (0..200).filter(|_| pace(&ratios(&mut rng, 40, 1.1), 20, 0.02) == Pace::Slower).count();
        assert!(seen > 190, "{seen}");
        assert_eq!(pace(&ratios(&mut rng, 40, 1.0 / 1.1), 20, 0.02), Pace::Faster);
    }

    #[test]
    fn so_few_pairs_show_something_and_fewer_do_not() {
        for comparisons in [1, 2, 30, 500] {
            let pairs = fewest_pairs(comparisons);
            assert_eq!(pace(&vec![2.0; pairs], comparisons, 0.02), Pace::Slower);
            assert_eq!(pace(&vec![2.0; pairs - 1], comparisons, 0.02), Pace::NotShown);
        }
        assert_eq!(pace(&[f64::NAN; 20], 1, 0.02), Pace::NotShown);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    }
}
