//! Bounded integer noise by its weights.

use crate::error::{Error, Fallible};

/// The law of integer noise that never leaves an interval: `P[Y = y] = w(|y|) / W` for whole `-R <= y <= R`.
///
/// `w` are positive whole numbers, one for each distance from 0, and `W = w(0) + 2 (w(1) + ... + w(R))`. They are the law: whatever
/// proposed them, probabilities are ratios of whole numbers, a draw is exact, and so is the account.
///
/// # Privacy
/// Says nothing by itself: the ends of the interval are places where neighbours differ. `accounting::bounded` has what it costs.
///
/// # Reference
/// Dagan and Kur 2022; Ghazi, Kumar and Manurangsi 2021.
///
/// ```
/// use rhograd::privacy::BoundedLaw;
///
/// let law = BoundedLaw::new(vec![6, 4, 1])?;
/// assert_eq!((law.reach(), law.total()), (2, 16));
/// assert!(BoundedLaw::new(vec![6, 0]).is_err());
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundedLaw {
    weights: Vec<u64>,
    total: u64,
}

impl BoundedLaw {
    /// No weight is larger, so that each is a double without rounding.
    pub const MAX_WEIGHT: u64 = 1 << 53;

    /// No sum of weights is larger, so that one uniform number of 62 bits decides a draw.
    pub const MAX_TOTAL: u64 = 1 << 62;

    /// A law from the weights of 0, 1, ..., R; each holds for both signs.
    ///
    /// # Errors
    /// When there are fewer than two weights, one is 0 or above [`BoundedLaw::MAX_WEIGHT`], or their sum over all integers is above
    /// [`BoundedLaw::MAX_TOTAL`].
    pub fn new(weights: Vec<u64>) -> Fallible<Self> {
        let wrong = |problem: &str| Error::parameter("weights", problem, "give those of 0, 1, ..., R, each positive");
        let Some((first, others)) = weights.split_first().filter(|(_, others)| !others.is_empty()) else {
            return Err(wrong("are fewer than two"));
        };
        if weights.iter().any(|weight| !(1..=Self::MAX_WEIGHT).contains(weight)) {
            return Err(wrong("have one that is 0 or above 2^53"));
        }
        let total = u128::from(*first) + 2 * others.iter().copied().map(u128::from).sum::<u128>();
        match u64::try_from(total) {
            Ok(total) if total <= Self::MAX_TOTAL => Ok(BoundedLaw { weights, total }),
            _ => Err(wrong("have a sum above 2^62")),
        }
    }

    /// The largest absolute value `R` of the noise, which is the largest error.
    pub fn reach(&self) -> u64 {
        self.weights.len() as u64 - 1
    }

    /// The weights of 0, 1, ..., R.
    pub fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// The sum `W` of the weights of all integers.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The weight of an integer, 0 beyond the reach.
    ///
    /// ```
    /// let law = rhograd::privacy::BoundedLaw::new(vec![3, 1])?;
    /// assert_eq!([-2, -1, 0, 1].map(|y| law.weight(y)), [0, 1, 3, 1]);
    /// # Ok::<(), rhograd::error::Error>(())
    /// ```
    pub fn weight(&self, y: i64) -> u64 {
        usize::try_from(y.unsigned_abs()).ok().and_then(|at| self.weights.get(at)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_is_symmetric_and_its_weights_add_up() {
        for weights in [vec![1, 1], vec![9, 5, 2, 1], vec![BoundedLaw::MAX_WEIGHT; 256]] {
            let law = BoundedLaw::new(weights.clone()).unwrap();
            let reach = law.reach() as i64;
            assert_eq!((-reach..=reach).map(|y| law.weight(y)).sum::<u64>(), law.total());
            assert!((0..=reach + 2).all(|y| law.weight(y) == law.weight(-y)));
            assert_eq!([law.weight(reach + 1), law.weight(i64::MIN)], [0, 0]);
            assert_eq!(law.weights(), weights);
        }
    }

    #[test]
    fn what_is_no_law_is_refused() {
        let most = BoundedLaw::MAX_WEIGHT;
        for weights in [vec![], vec![1], vec![1, 0], vec![0, 1], vec![most + 1, 1], vec![most; 258], vec![u64::MAX; 4]]
        {
            assert!(BoundedLaw::new(weights).is_err());
        }
    }
}
