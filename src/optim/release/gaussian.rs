//! Gaussian releases of one query: what is asked, what is paid for, and the finest integer grid that a budget allows.

use crate::optim::Planned;
use crate::privacy::{Adjacency, GaussianCharge, MAX_LOG2_SCALE, NoiseLaw, Rho};
use crate::private::Query;

/// Equal Gaussian releases of one query, every number public.
///
/// # Privacy
/// The sensitivity that is paid for is the query's own.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianRelease {
    event: GaussianCharge,
    query: Query,
}

impl GaussianRelease {
    /// What the ledger counts.
    pub fn event(&self) -> &GaussianCharge {
        &self.event
    }

    /// What to pay for, and what is asked for it.
    pub fn planned(&self) -> Planned {
        Planned { charge: self.event.clone().into(), query: self.query.clone() }
    }

    /// The exact cost of all of them.
    pub fn rho(&self) -> Rho {
        self.event.rho()
    }

    /// Standard deviation of the noise, in grid steps.
    pub fn scale(&self) -> f64 {
        2f64.powi(self.event.log2_scale as i32)
    }

    /// This release under another name.
    pub(in crate::optim) fn called(mut self, what: &str) -> Self {
        self.event.what = what.into();
        self
    }
}

/// Gaussian releases of a query whose size, the integer that one row may count, is still to be chosen.
#[derive(Clone, Copy)]
pub struct GaussianRule<'a> {
    /// What is released, in words.
    pub what: &'a str,
    /// The query of a size; a larger one moves further.
    pub query: &'a dyn Fn(u64) -> Query,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Law of the noise.
    pub noise: NoiseLaw,
    /// Number of releases.
    pub count: u64,
}

/// How fine a grid is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fineness {
    /// The l2 sensitivity of a query over its size, not rounded.
    pub sensitivity: f64,
    /// The sensitivity near which the grid is fine enough.
    pub target: f64,
    /// The largest size.
    pub largest: u64,
    /// Share of the size that is left for rounding to whole steps.
    pub slack: f64,
}

impl GaussianRule<'_> {
    /// The releases of one size, with noise of scale `2^log2_scale`.
    pub fn at(&self, size: u64, log2_scale: u32) -> GaussianRelease {
        let query = (self.query)(size);
        let sensitivity = query.sensitivity(self.adjacency);
        let GaussianRule { noise, count, .. } = *self;
        GaussianRelease {
            event: GaussianCharge { what: self.what.into(), sensitivity, log2_scale, noise, count },
            query,
        }
    }

    /// The releases on the finest grid, of the largest size there that costs at most `budget`; the size is zero where none does.
    pub fn finest(&self, budget: &Rho, wanted: &Fineness) -> (GaussianRelease, u64) {
        self.finest_to(MAX_LOG2_SCALE, budget, wanted)
    }

    /// [`GaussianRule::finest`] with noise of scale `2^most` at most.
    pub(in crate::optim) fn finest_to(&self, most: u32, budget: &Rho, wanted: &Fineness) -> (GaussianRelease, u64) {
        let mu = (2.0 * budget.lower() / self.count as f64).sqrt();
        let log2_scale = (wanted.target / mu).log2().floor().clamp(0.0, f64::from(most)) as u32;
        let size = (mu * 2f64.powi(log2_scale as i32) / wanted.sensitivity * (1.0 - wanted.slack)).floor();
        let most = if size.is_finite() { (size as u64).min(wanted.largest) } else { 0 };
        // The float above only proposes; the exact cost decides.
        self.largest(budget, log2_scale, most)
    }

    /// The releases of the largest size up to `most` that cost at most `budget` with noise of scale `2^log2_scale`.
    pub fn largest(&self, budget: &Rho, log2_scale: u32, most: u64) -> (GaussianRelease, u64) {
        let fits = |size| self.at(size, log2_scale).rho() <= *budget;
        let (mut low, mut high) = if fits(most) { (most, most) } else { (0, most) };
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle) { low = middle } else { high = middle }
        }
        (self.at(low, log2_scale), low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private::query;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_largest_size_is_found_and_costs_no_more_than_the_budget(
            log_rho in -18.0f64..9.0, count in 1u64..100_000, replace in any::<bool>(), slack in any::<bool>(),
            each in prop::sample::select(vec![1.0f64, 1.7, 140.0]), log2_scale in 0u32..50, most in 0u64..1 << 40,
        ) {
            let adjacency = if replace { Adjacency::ReplaceOne } else { Adjacency::AddRemove };
            let sensitivity = each * adjacency.sum_sensitivity(1) as f64;
            let query = |size: u64| Query::from(query::ClippedSum { clip_steps: (size as f64 * each).ceil() as u64 });
            let rule = GaussianRule { what: "t", query: &query, adjacency, noise: NoiseLaw::FlooredNormal, count };
            let budget = Rho::from_f64(log_rho.exp()).unwrap();
            let (found, size) = rule.largest(&budget, log2_scale, most);
            prop_assert!(size <= most && (size == 0 || found.rho() <= budget));
            prop_assert!(size == most || rule.at(size + 1, log2_scale).rho() > budget);
            let slack = if slack { 1e-9 } else { 0.0 };
            let wanted = Fineness { sensitivity, target: 2f64.powi(30), largest: u64::MAX, slack };
            let (found, size) = rule.finest(&budget, &wanted);
            prop_assert!(found.rho() <= budget && found == rule.at(size, found.event().log2_scale));
            // Nothing is wasted either, and the sensitivity is near its target, unless the grid sets the limit.
            if (1..50).contains(&found.event().log2_scale) {
                prop_assert!(found.rho().upper() > 0.9999 * budget.lower());
                prop_assert!((2f64.powi(28)..=2f64.powi(30) + 2.0).contains(&(found.event().sensitivity as f64)));
            }
        }
    }

    #[test]
    fn no_budget_pays_for_nothing() {
        let query = |clip_steps| Query::from(query::ClippedSum { clip_steps });
        let (adjacency, noise) = (Adjacency::AddRemove, NoiseLaw::FlooredNormal);
        let rule = GaussianRule { what: "t", query: &query, adjacency, noise, count: 1 };
        let wanted = Fineness { sensitivity: 1.0, target: 1e9, largest: 1 << 30, slack: 0.0 };
        assert_eq!(rule.finest(&Rho::zero(), &wanted).1, 0);
        assert_eq!(GaussianRule { count: 0, ..rule }.finest(&Rho::from_f64(1.0).unwrap(), &wanted).1, 0);
    }
}
