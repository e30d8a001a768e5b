//! How many answers an accurate zCDP mechanism can tell apart, and the pure mechanism that follows from that.
//!
//! Let `q` map data sets of `n` rows to points, and move by at most `w/n` between neighbours. Let a rho-zCDP mechanism (replace-one)
//! be within `a` of `q` but for a probability `b`, on all data.
//!
//! - *Packing.* Take `K` data sets whose answers are more than `2 a` apart. The nearest answer to the output is the right one but
//!   for a probability `b`, so `(1 - b) ln K <= I + h(b)` (Fano 1961), `h` the entropy of a coin. Any two data sets are `n` rows apart
//!   at most, so their divergence of order 1 is at most `rho n^2`, and so is the information `I`: `ln K <= (rho n^2 + h(b)) / (1 - b)`.
//! - *Cover.* A largest such family has every answer within `2 a` of one of its own. The exponential mechanism over the `K` answers, with
//!   the distance from `q` as its score, is pure: it is within `2 a + e` but for a probability `b'` at
//!   `epsilon = 2 w (ln K + ln(1/b')) / (n e)`.
//!
//! So accurate zCDP answers exist only where pure ones do, at an epsilon that grows like `rho n / e`. The way there and back is quadratic:
//! epsilon-DP is `epsilon^2/2`-zCDP. (epsilon, delta)-DP has no such bound: see `experiments/point-queries`.
//!
//! ```
//! use rhograd::accounting::packing::Accurate;
//! # fn main() -> rhograd::error::Fallible<()> {
//! // 1000 rows at rho 0.01 tell at most e^20,000 answers apart when they are right in half of all runs.
//! let mechanism = Accurate::new(0.01, 1000, 0.5)?;
//! assert!(mechanism.ln_answers() >= 20_000.0 && mechanism.ln_answers() < 20_002.0);
//! // 10^18 values, each of which may be that of all rows, need 45 rows and more.
//! let rows = Accurate::least_rows(0.01, 41.4, 0.5)?;
//! assert!(rows > 44.0 && rows < 46.0);
//! # Ok(())
//! # }
//! ```

use super::directed::{nonnegative, positive, probability, raised};
use super::notion::PureDp;
use crate::error::{Error, Fallible};
use crate::num::round::{down, up};

/// A rho-zCDP mechanism under replace-one that is accurate on all data of a number of rows, but for some probability.
///
/// # Reference
/// Fano 1961; Bun and Steinke 2016, section 1 and Theorem 1.10; Hardt and Talwar 2010 (packing); McSherry and Talwar 2007 (the exponential
/// mechanism).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accurate {
    rho: f64,
    rows: u64,
    miss: f64,
}

impl Accurate {
    /// A mechanism from its rho, the number of rows, and the probability with which it may be off.
    ///
    /// # Errors
    /// When `rho` is negative or NaN, `rows` is 0, or `miss` is no probability below 1.
    pub fn new(rho: f64, rows: u64, miss: f64) -> Fallible<Self> {
        if rows == 0 {
            return Err(Error::parameter("rows", "are 0", "use at least 1"));
        }
        Ok(Accurate { rho: nonnegative("rho", rho)?, rows, miss: below_one(miss)? })
    }

    /// The logarithm of the number of answers, pairwise more than twice the error apart, that it can be right about.
    ///
    /// `(rho n^2 + h(b)) / (1 - b)` with `h(b) = -b ln b - (1 - b) ln(1 - b)`, and `ln 2` from one half on.
    ///
    /// # Privacy
    /// An upper bound, rounded up.
    ///
    /// # Reference
    /// Fano 1961; Bun and Steinke 2016, Theorem 1.10 (`I <= rho n^2`).
    pub fn ln_answers(self) -> f64 {
        let rows = up(self.rows as f64, 1);
        let information = if self.rho == 0.0 { 0.0 } else { up(self.rho * rows * rows, 2) };
        let value = (information + entropy(self.miss)) / (1.0 - self.miss);
        if value == 0.0 { 0.0 } else { raised(value, value, 8.0) }
    }

    /// The rows that a rho-zCDP mechanism needs to be right about so many answers.
    ///
    /// `sqrt(((1 - b) ln K - h(b)) / rho)`, or 0; infinite at a rho of 0 with something to tell.
    ///
    /// # Errors
    /// When `rho` or `ln_count` is negative or NaN, or `miss` is no probability below 1.
    ///
    /// # Privacy
    /// A lower bound on rows, rounded down.
    ///
    /// # Reference
    /// Fano 1961; Bun and Steinke 2016, Theorem 1.10.
    pub fn least_rows(rho: f64, ln_count: f64, miss: f64) -> Fallible<f64> {
        let (rho, ln_count, miss) = (nonnegative("rho", rho)?, nonnegative("ln count", ln_count)?, below_one(miss)?);
        let told = down((1.0 - miss) * ln_count, 2) - entropy(miss);
        // The difference of two rounded numbers, by less than three units of either.
        let told = told - 4.0 * f64::EPSILON * (ln_count.min(f64::MAX) + 1.0);
        if told <= 0.0 || rho == f64::INFINITY {
            return Ok(0.0);
        }
        let rows = (told / rho).sqrt();
        Ok(if rows == f64::INFINITY { rows } else { down(rows, 4).max(0.0) })
    }

    /// The epsilon at which the exponential mechanism over a cover answers, with an error of twice that of this mechanism and `extra`.
    ///
    /// `2 w (ln K + ln(1/b')) / (n e)` with `ln K` of [`Accurate::ln_answers`], `width` `w`: a row moves the answer by at most `w/n`, and
    /// `b'` the probability of a larger error.
    ///
    /// # Errors
    /// When `width` or `extra` is not finite and positive, or `miss` is no probability above 0.
    ///
    /// # Privacy
    /// What this epsilon allows is pure DP under replace-one, rounded up. The mechanism is not implemented: a cover has up to `K` answers.
    ///
    /// # Reference
    /// McSherry and Talwar 2007, Theorem 6; Bun and Steinke 2016, section 1 (the quadratic loss).
    ///
    /// ```
    /// use rhograd::accounting::packing::Accurate;
    /// # fn main() -> rhograd::error::Fallible<()> {
    /// // The largest error of all counts, as shares of the rows: a row moves it by one row.
    /// let pure = Accurate::new(1e-4, 1000, 0.5)?.pure(1.0, 0.1, 0.5)?;
    /// assert!(pure.epsilon() > 4.0 && pure.epsilon() < 4.1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn pure(self, width: f64, extra: f64, miss: f64) -> Fallible<PureDp> {
        let (width, extra) = (positive("width", width)?, positive("extra", extra)?);
        let miss = probability("miss", miss)?;
        if miss == 0.0 {
            return Err(Error::parameter("miss", "is 0", "give a probability above 0"));
        }
        let epsilon = 2.0 * width * (self.ln_answers() + up(-miss.ln(), 2)) / (self.rows as f64 * extra);
        PureDp::new(raised(epsilon, epsilon, 16.0))
    }
}

/// Passes a probability below 1.
fn below_one(miss: f64) -> Fallible<f64> {
    match probability("miss", miss)? {
        1.0 => Err(Error::parameter("miss", "is 1", "give a probability below 1")),
        miss => Ok(miss),
    }
}

/// The entropy of a coin, `ln 2` from one half on; rounded up.
fn entropy(miss: f64) -> f64 {
    let b = miss.min(0.5);
    if b == 0.0 {
        return 0.0;
    }
    let value = -b * b.ln() - (1.0 - b) * (-b).ln_1p();
    raised(value, value, 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Information about which of `count` equally likely data sets was used, from the laws of the output.
    fn information(laws: &[Vec<f64>]) -> f64 {
        let count = laws.len() as f64;
        let mean: Vec<f64> = (0..laws[0].len()).map(|y| laws.iter().map(|law| law[y]).sum::<f64>() / count).collect();
        let one = |law: &Vec<f64>| {
            law.iter().zip(&mean).map(|(p, m)| if *p > 0.0 { p * (p / m).ln() } else { 0.0 }).sum::<f64>()
        };
        laws.iter().map(one).sum::<f64>() / count
    }

    #[test]
    fn guesses_by_a_private_mechanism_keep_the_bound() {
        // K data sets of n rows of one value each; the output names that value with probability t, and another one otherwise. Two
        // such laws have the largest divergence of pure privacy, so rho n^2 is at least that of order 1.
        for count in [2usize, 5, 40] {
            for truth in [0.3f64, 0.6, 0.9, 0.99] {
                let lie = (1.0 - truth) / (count - 1) as f64;
                if truth <= lie {
                    continue;
                }
                let laws: Vec<Vec<f64>> =
                    (0..count).map(|i| (0..count).map(|y| if y == i { truth } else { lie }).collect()).collect();
                let divergence = (truth - lie) * (truth / lie).ln();
                assert!(information(&laws) <= divergence + 1e-12);
                let mechanism = Accurate::new(divergence / 100.0, 10, 1.0 - truth).unwrap();
                assert!(mechanism.ln_answers() >= (count as f64).ln(), "{count} {truth}");
                let rows = Accurate::least_rows(divergence / 100.0, (count as f64).ln(), 1.0 - truth).unwrap();
                assert!(rows <= 10.0, "{count} {truth}: {rows}");
            }
        }
    }

    #[test]
    fn fano_is_reached_by_information_alone() {
        // With the information in the place of the divergence the bound is an equality for this law.
        let (count, truth) = (7usize, 0.4f64);
        let lie = (1.0 - truth) / 6.0;
        let laws: Vec<Vec<f64>> =
            (0..count).map(|i| (0..count).map(|y| if y == i { truth } else { lie }).collect()).collect();
        let (told, miss) = (information(&laws), 1.0 - truth);
        let entropy = -miss * miss.ln() - truth * truth.ln();
        assert!((told - ((count as f64).ln() - entropy - miss * 6f64.ln())).abs() < 1e-12);
    }

    #[test]
    fn rows_and_answers_are_inverse_of_each_other() {
        for rho in [1e-6, 0.01, 2.0] {
            for rows in [1u64, 30, 4_000_000] {
                for miss in [0.0, 0.1, 0.5, 0.9] {
                    let told = Accurate::new(rho, rows, miss).unwrap().ln_answers();
                    let back = Accurate::least_rows(rho, told, miss).unwrap();
                    let near = 1e-6 * rows as f64 + 1e-9 / rho;
                    assert!((back - rows as f64).abs() <= near, "{rho} {rows} {miss}: {back}");
                    assert!(Accurate::least_rows(rho, told * (1.0 - 1e-12) - 1e-12, miss).unwrap() <= rows as f64);
                }
            }
        }
    }

    #[test]
    fn the_exponential_mechanism_over_a_cover_is_as_accurate_as_said() {
        // Counts of K values in n rows that all have one value: the cover has a point for each value, the right one has the score 0
        // and each other one -1.
        for (count, rows) in [(3u32, 50u64), (1000, 400)] {
            let rho = f64::from(count).ln() / (rows * rows) as f64;
            let mechanism = Accurate::new(rho, rows, 0.5).unwrap();
            let (width, extra, miss) = (1.0, 0.5, 0.25);
            let epsilon = mechanism.pure(width, extra, miss).unwrap().epsilon();
            // Weights e^(epsilon score / (2 w/n)).
            let wrong = f64::from(count - 1) * (-epsilon * rows as f64 / (2.0 * width)).exp();
            assert!(wrong / (1.0 + wrong) <= miss);
        }
    }

    #[test]
    fn what_is_impossible_is_refused() {
        assert!(Accurate::new(-0.1, 1, 0.1).is_err() && Accurate::new(0.1, 0, 0.1).is_err());
        assert!(Accurate::new(0.1, 1, 1.0).is_err() && Accurate::least_rows(0.1, 1.0, 1.5).is_err());
        let mechanism = Accurate::new(0.1, 10, 0.0).unwrap();
        assert!(mechanism.pure(0.0, 0.1, 0.1).is_err() && mechanism.pure(1.0, 0.1, 0.0).is_err());
        assert_eq!(Accurate::least_rows(0.0, 2.0, 0.1).unwrap(), f64::INFINITY);
        assert_eq!(Accurate::least_rows(0.5, 0.5, 0.5).unwrap(), 0.0);
        // An upper bound, rounded up.
        assert!(Accurate::new(0.0, 10, 0.0).unwrap().ln_answers() < 1e-300);
        assert_eq!(Accurate::new(f64::INFINITY, 10, 0.1).unwrap().ln_answers(), f64::INFINITY);
    }
}
