//! The exact composition of (epsilon, delta) guarantees, grouped by equal parameters.
//!
//! Every (epsilon, delta)-DP mechanism is a post-processing of randomised response that fails with
//! probability delta, so the composition of those is the worst one: its loss is
//! `sum_i epsilon_i (k_i - 2 B_i)` with `B_i` binomial, and nothing is lost.

use super::ln_union_repeated;
use crate::accounting::directed::{UNIT, delta_from_ln, finite, ln_union};
use crate::accounting::notion::ApproximateDp;
use crate::error::{Error, Fallible};
use crate::num::logs::{LnSum, ln_choose, ln_one_minus_exp};
use crate::num::root::bisect;
use crate::privacy::{Delta, Epsilon};

/// Largest number of distinct losses, `prod (k_i + 1)`.
const MAX_LOSSES: u64 = 1 << 19;

/// `count` mechanisms with the same guarantee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// The guarantee of each.
    pub guarantee: ApproximateDp,
    /// How many.
    pub count: u64,
}

/// The privacy loss of the worst composition, ready for queries.
///
/// ```
/// use rhograd::accounting::{compose::{Group, Optimal}, notion::ApproximateDp};
/// use rhograd::privacy::Delta;
/// # fn main() -> rhograd::error::Fallible<()> {
/// let group = Group { guarantee: ApproximateDp::new(0.1, 0.0)?, count: 100 };
/// let epsilon = Optimal::new(&[group])?.epsilon(Delta::new(1e-6)?)?;
/// assert!((epsilon.value() - 4.7745675881).abs() < 1e-9);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Optimal {
    /// Losses in decreasing order, with the logarithms of their probabilities.
    losses: Vec<(f64, f64)>,
    /// The logarithm of the probability that some mechanism fails.
    ln_failure: f64,
    /// Rounding of losses and of the logarithms of probabilities, absolute.
    slack: f64,
}

impl Optimal {
    /// Enumerates the losses of mechanisms grouped by equal parameters.
    ///
    /// # Errors
    /// When an epsilon is infinite, or the groups have more than 2^19 distinct losses together (the
    /// exact problem is #P-hard; use the PLD accountant).
    ///
    /// Reference: Kairouz, Oh and Viswanath 2015, Theorem 3.3; Murtagh and Vadhan 2016, Theorem 1.5.
    pub fn new(groups: &[Group]) -> Fallible<Self> {
        let mut merged: Vec<Group> = Vec::new();
        let mut ln_failure = f64::NEG_INFINITY;
        let mut slack = 8.0;
        for group in groups.iter().filter(|group| group.count > 0) {
            let e = finite("epsilon", group.guarantee.epsilon())?;
            ln_failure = ln_union(ln_failure, ln_union_repeated(group.guarantee.ln_delta(), group.count as f64));
            slack += 8.0 * group.count as f64 * (1.0 + e + (group.count as f64).ln());
            match merged.iter_mut().find(|it| it.guarantee.epsilon() == e) {
                Some(same) => same.count = same.count.saturating_add(group.count),
                None if e > 0.0 => merged.push(*group),
                None => {}
            }
        }
        let size = merged.iter().try_fold(1u64, |n, group| n.checked_mul(group.count.saturating_add(1)));
        if size.is_none_or(|n| n > MAX_LOSSES) {
            return Err(Error::refused(
                "the composition has more than 2^19 distinct losses",
                "group equal parameters, or use the PLD accountant",
            ));
        }
        let mut losses = vec![(0.0, 0.0)];
        for group in &merged {
            losses = spread(&losses, group);
        }
        losses.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(Optimal { losses, ln_failure, slack: slack * UNIT })
    }

    /// The logarithm of delta at epsilon.
    ///
    /// `delta = 1 - prod(1 - delta_i) (1 - E[(1 - e^{epsilon - Z})_+])`.
    ///
    /// # Privacy
    /// An upper bound, at most 0, attained by randomised response; under the relation of the parts.
    ///
    /// Reference: Murtagh and Vadhan 2016, Theorem 1.5.
    pub fn ln_delta(&self, epsilon: Epsilon) -> f64 {
        let e = epsilon.value();
        let mut sum = LnSum::default();
        // Raising the loss by the slack covers the rounding of both factors.
        for &(loss, ln_mass) in self.losses.iter().take_while(|(loss, _)| loss + self.slack > e) {
            sum.add(ln_mass + ln_one_minus_exp(e - (loss + self.slack)));
        }
        let value = sum.value();
        let excess = if value == f64::NEG_INFINITY { value } else { (value + 2.0 * self.slack).min(0.0) };
        ln_union(self.ln_failure, if excess.is_nan() { 0.0 } else { excess })
    }

    /// Delta at epsilon.
    ///
    /// `exp` of [`Optimal::ln_delta`].
    ///
    /// # Privacy
    /// An upper bound, rounded up.
    ///
    /// Reference: Murtagh and Vadhan 2016, Theorem 1.5.
    pub fn delta(&self, epsilon: Epsilon) -> f64 {
        delta_from_ln(self.ln_delta(epsilon))
    }

    /// The smallest epsilon at delta, on the continuum and not only at the losses.
    ///
    /// The root of [`Optimal::ln_delta`]; infinite when the mechanisms fail with probability above delta.
    ///
    /// # Errors
    /// When the search fails.
    ///
    /// # Privacy
    /// An upper bound: the upper bound on delta meets the target there.
    ///
    /// Reference: Kairouz, Oh and Viswanath 2015, Theorem 3.3; Murtagh and Vadhan 2016, Theorem 1.5.
    pub fn epsilon(&self, delta: Delta) -> Fallible<Epsilon> {
        let target = crate::accounting::directed::ln_delta_down(delta);
        if self.ln_failure > target {
            return Ok(Epsilon::INFINITE);
        }
        let meets = |e: f64| Epsilon::new(e).ok().map(|e| self.ln_delta(e) <= target);
        if meets(0.0) == Some(true) {
            return Epsilon::new(0.0);
        }
        let end = self.losses.first().map_or(0.0, |it| it.0) + 2.0 * self.slack;
        let root = bisect(0.0, end, 1e-14, meets)
            .ok_or_else(|| Error::numerical("optimal composition", "the search found no bracket"))?;
        Epsilon::new(root.holds)
    }
}

/// Every loss plus every loss of a group of randomised responses.
fn spread(losses: &[(f64, f64)], group: &Group) -> Vec<(f64, f64)> {
    let (e, k) = (group.guarantee.epsilon(), group.count);
    let (ln_truth, ln_lie) = (-(-e).exp().ln_1p(), -(e + (-e).exp().ln_1p()));
    let outcomes: Vec<_> = (0..=k)
        .map(|lies| {
            let ln_mass = ln_choose(k, lies) + (k - lies) as f64 * ln_truth + lies as f64 * ln_lie;
            (e * (k as f64 - 2.0 * lies as f64), ln_mass)
        })
        .collect();
    losses.iter().flat_map(|(z, m)| outcomes.iter().map(move |(dz, dm)| (z + dz, m + dm))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mechanism_is_itself_and_failures_are_final() {
        let one = Group { guarantee: ApproximateDp::new(1.0, 1e-3).unwrap(), count: 1 };
        let optimal = Optimal::new(&[one]).unwrap();
        let epsilon = optimal.epsilon(Delta::new(1.001e-3).unwrap()).unwrap().value();
        assert!(epsilon <= 1.0 + 1e-12 && epsilon > 0.99);
        assert!((optimal.delta(Epsilon::new(1.0).unwrap()) - 1e-3).abs() < 1e-12);
        assert_eq!(optimal.epsilon(Delta::new(0.999e-3).unwrap()).unwrap(), Epsilon::INFINITE);
        let many: Vec<_> = (1..30)
            .map(|i| Group { guarantee: ApproximateDp::new(0.1 * f64::from(i), 0.0).unwrap(), count: 3 })
            .collect();
        assert!(Optimal::new(&many).is_err());
        let none = Optimal::new(&[]).unwrap();
        assert_eq!(none.epsilon(Delta::new(1e-9).unwrap()).unwrap().value(), 0.0);
    }
}
