//! A budget for each row, spent by what that row contributes and not by what any row might.

use crate::accounting::directed::{finite, positive};
use crate::accounting::notion::GaussianDp;
use crate::error::{Error, Fallible};
use crate::num::round::up;

/// Lets a row take part in noised sums as long as the squares of its own contributions add up to no more than a budget.
///
/// A row whose next contribution does not fit counts as zero in that sum. However many sums there are, and although who takes part follows from
/// what was released, all of them together are `mu`-GDP with `mu = sqrt(budget) / sigma`: that of one release of l2 sensitivity
/// `sqrt(budget)`. Rows with short gradients stay for many steps where a bound for all rows would have ended the run. Squares are integers, in
/// squared steps of the grid, so a row's total is exact.
///
/// Each sum gets fresh independent normal noise of deviation `sigma` in every coordinate, floored after it was added to an integer sum or not. It is
/// not so for the discrete Gaussian: at a budget of 1 and sigma 1 its delta(1) is 0.1414, that of `mu` 0.1269. A sum whose noise has another
/// deviation `s` has a weight of at least `(sigma / s)^2`, a whole number, and spends so many times the square.
///
/// # Privacy
/// Add-remove of a row, twice the `mu` under replace-one. Budget and sigma are fixed beforehand; weights, the number of sums and when to stop may follow from
/// what was released. What a row contributes must follow from that row and from what was released, and from nothing else: a clipped gradient at a
/// released iterate does, one that is divided by how many rows still take part does not, and a row's place in a batch must not hang on other rows. Who takes part
/// is as secret as the rows, and so is how many there are: release neither, nor stop by it. Other releases on the same rows are accounted for besides.
///
/// *Proof.* Multiply the sum of weight `w` by `sqrt(w)`, so that all noise has deviation `sigma`. Given what was released, all other rows contribute the
/// same with and without the row, so the means of a sum differ by the row's contribution `v_t` alone, which is fixed by what was released before, with
/// `sum |v_t|^2 / sigma^2 <= mu^2` on every course of events. For the proof alone add one release whose mean is `r` with the row and 0 without,
/// `r^2` being what is left of the budget, so that the sum is `mu^2` on every course. Without the row, `S = sum v_t Z_t / sigma^2` has
/// `E exp(i x S + x^2 mu^2 / 2) = 1` for every real `x`: the products up to a step are a martingale, bounded by `exp(x^2 mu^2 / 2)`. So `S` is
/// normal with variance `mu^2`; the logarithm of the likelihood ratio is `S - mu^2 / 2`, and the best test is that of `N(0, 1)` against
/// `N(mu, 1)`, which is its own inverse. What was added can only have helped it.
///
/// Reference: Feldman and Zrnic 2021 (individual Renyi filters); Smith and Thakurta 2022, and Koskela, Tobaben and Honkela 2023 (Gaussian DP).
///
/// ```
/// use rhograd::accounting::compose::IndividualFilter;
///
/// // Two rows, sums of noise 10, and a budget for contributions of length 5.
/// let mut filter = IndividualFilter::new(2, 25, 10.0)?;
/// assert_eq!(filter.admit(&[16, 1], 1)?, [true, true]);
/// // The first has 9 left.
/// assert_eq!(filter.admit(&[16, 1], 1)?, [false, true]);
/// assert!((filter.guarantee().mu() - 0.5).abs() < 1e-12);
/// # Ok::<(), rhograd::error::Error>(())
/// ```
pub struct IndividualFilter {
    budget: u128,
    guarantee: GaussianDp,
    /// What each row may still spend.
    left: Vec<u128>,
}

/// The budget alone: the rest is as secret as the rows.
impl std::fmt::Debug for IndividualFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndividualFilter").field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl IndividualFilter {
    /// A filter for so many rows, each of which may spend the budget, and noise of deviation `sigma` in sums of weight 1, in steps of the grid.
    ///
    /// # Errors
    /// When sigma is not a number above 0, or `mu` is above what a double holds.
    pub fn new(rows: usize, budget: u128, sigma: f64) -> Fallible<Self> {
        let sigma = positive("sigma", sigma)?;
        let mu = match budget {
            0 => 0.0,
            // Conversion, root and quotient are off by half a unit each, at most.
            budget => finite("mu", up((budget as f64).sqrt() / sigma, 2))?,
        };
        Ok(IndividualFilter { budget, guarantee: GaussianDp::new(mu)?, left: vec![budget; rows] })
    }

    /// What all sums together guarantee, whatever was admitted.
    pub fn guarantee(&self) -> GaussianDp {
        self.guarantee
    }

    /// Which rows take part in the next sum, by the squared l2 norms of what they would contribute; they have spent it then.
    ///
    /// Shape of `squares` and of the result: one item a row, in the same order in every call. A square is that of the whole vector which would be added, rounded
    /// up where it is no integer, and zero for a row outside the batch; add squares of coordinates so that they saturate and do not wrap.
    ///
    /// # Errors
    /// When there are more or fewer squares than rows, or the weight is 0. Nothing is spent then.
    pub fn admit(&mut self, squares: &[u128], weight: u64) -> Fallible<Vec<bool>> {
        if squares.len() != self.left.len() {
            return Err(Error::parameter(
                "squares",
                "are not one for each row",
                "give a zero for a row that has nothing to contribute",
            ));
        }
        if weight == 0 {
            return Err(Error::parameter(
                "weight",
                "is 0, must be at least 1",
                "give what the noise of this sum is worth",
            ));
        }
        let one = |(left, square): (&mut u128, &u128)| {
            // A product that has no room is above every budget.
            let rest = square.checked_mul(u128::from(weight)).and_then(|cost| left.checked_sub(cost));
            rest.map(|rest| *left = rest).is_some()
        };
        Ok(self.left.iter_mut().zip(squares).map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::num::Dyadic;

    /// What a row contributes to a step: it follows from the row and from the outputs so far.
    fn contribution(row: [i64; 2], outputs: &[[i64; 2]]) -> [i64; 2] {
        let [a, b] = outputs.last().copied().unwrap_or_default();
        [row[0] + (a ^ row[1]).rem_euclid(7), row[1] - (b & row[0]).rem_euclid(5)]
    }

    fn square(v: [i64; 2]) -> u128 {
        (v[0] * v[0] + v[1] * v[1]) as u128
    }

    /// The sums of a run whose outputs are forced to be these.
    fn sums(rows: &[[i64; 2]], budget: u128, outputs: &[[i64; 2]], weights: &[u64]) -> Vec<[i64; 2]> {
        let mut filter = IndividualFilter::new(rows.len(), budget, 1.0).unwrap();
        let step = |(at, weight): (usize, &u64)| {
            let all: Vec<_> = rows.iter().map(|&row| contribution(row, &outputs[..at])).collect();
            let squares: Vec<_> = all.iter().map(|&v| square(v)).collect();
            let there = filter.admit(&squares, *weight).unwrap();
            let taken = all.iter().zip(there).filter(|(_, there)| *there);
            taken.fold([0, 0], |sum, (v, _)| [sum[0] + v[0], sum[1] + v[1]])
        };
        weights.iter().enumerate().map(step).collect()
    }

    /// What the sums of two runs differ by, in squares by weight.
    fn moved(rows: &[[i64; 2]], budget: u128, outputs: &[[i64; 2]], weights: &[u64]) -> u128 {
        let (with, without) = (sums(rows, budget, outputs, weights), sums(&rows[1..], budget, outputs, weights));
        let pairs = with.iter().zip(&without).zip(weights);
        pairs.map(|((a, b), &weight)| square([a[0] - b[0], a[1] - b[1]]) * u128::from(weight)).sum()
    }

    proptest! {
        #[test]
        fn a_row_moves_all_sums_by_no_more_than_the_budget(
            rows in proptest::collection::vec(proptest::array::uniform2(-20..20i64), 1..6),
            budget in 0..4000u128,
            steps in proptest::collection::vec((proptest::array::uniform2(-50..50i64), 1..4u64), 1..30),
        ) {
            let (outputs, weights): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
            prop_assert!(moved(&rows, budget, &outputs, &weights) <= budget);
        }
    }

    #[test]
    fn some_row_spends_nearly_all_of_it() {
        let (outputs, weights) = (vec![[0, 0]; 40], vec![1; 40]);
        let spent = moved(&[[5, 0], [3, 3]], 1000, &outputs, &weights);
        assert!((991..=1000).contains(&spent), "{spent}");
    }

    #[test]
    fn who_no_longer_fits_spends_nothing_and_may_come_back() {
        let mut filter = IndividualFilter::new(3, 10, 1.0).unwrap();
        assert_eq!(filter.admit(&[7, 10, 11], 1).unwrap(), [true, true, false]);
        assert_eq!(filter.admit(&[4, 1, 5], 2).unwrap(), [false, false, true]);
        assert_eq!(filter.admit(&[3, 0, u128::MAX], u64::MAX).unwrap(), [false, true, false]);
        assert_eq!(filter.admit(&[3, 0, 0], 1).unwrap(), [true, true, true]);
        assert!(filter.admit(&[0, 0], 1).is_err() && filter.admit(&[0, 0, 0], 0).is_err());
    }

    #[test]
    fn the_guarantee_is_that_of_one_release_and_no_less() {
        for budget in [1, 2, 3, 25, (1 << 53) + 1, (1 << 54) + 3, (1 << 100) + 1, u128::MAX] {
            let mu = IndividualFilter::new(1, budget, 0.25).unwrap().guarantee().mu();
            // The square of 2^-2 mu as an exact fraction.
            let root = Dyadic::from_f64(mu / 4.0).unwrap();
            let square = Dyadic::new(root.numerator() * root.numerator(), 2 * root.log2_denominator());
            assert!(square >= Dyadic::new(budget.into(), 0), "{budget}");
            assert!(mu <= 4.0 * (budget as f64).sqrt() * (1.0 + 1e-14), "{budget}: {mu}");
        }
        assert_eq!(IndividualFilter::new(1, 0, 1.0).unwrap().guarantee().mu(), 0.0);
        assert!([0.0, -1.0, f64::NAN, f64::INFINITY].iter().all(|&sigma| IndividualFilter::new(1, 4, sigma).is_err()));
        assert!(IndividualFilter::new(1, 4, 1e-320).is_err());
    }

    #[test]
    fn nothing_of_a_row_is_printed() {
        let mut filter = IndividualFilter::new(2, 10, 1.0).unwrap();
        filter.admit(&[7, 3], 1).unwrap();
        assert_eq!(format!("{filter:?}"), "IndividualFilter { budget: 10, .. }");
    }
}
