//! Steps of noisy gradient descent of which only the last iterate is released.
//!
//! # Setting
//! `x_k = P(phi_k(x_{k-1}) + Z_k)` for `k = 1..T`, with a public start, `P` a projection on a convex set (or none), and `Z_k` independent normal
//! noise of deviation `s` in every coordinate. Each `phi_k` is a contraction, `|phi_k(x) - phi_k(y)| <= c |x - y|` with `c <= 1`. A neighbour's run has
//! `phi'_k`, with `|phi_k(x) - phi'_k(x)| <= a` at every `x` in the steps that use the row, and `phi'_k = phi_k` in all others. Gradient descent of
//! length `eta` on a loss that is `m`-strongly convex and `beta`-smooth has `c = max(|1 - eta m|, |1 - eta beta|)`; noise `sigma` on the
//! gradient is `s = eta sigma`, and `a = eta` times the l2 sensitivity of the gradient. All of it is about steps as they are made: where gradients
//! are clipped row by row, `c` is that of the clipped map. With one margin clipping keeps `beta` and takes `m` away but for a penalty that is not clipped;
//! with several margins, and in networks, a clipped gradient is none of a convex loss, and its step may be no contraction at all.
//!
//! # Proof
//! After Bok, Su and Altschuler 2024 (shifted interpolation). Let `X'` be the neighbour's run, and `W_k` its noise. A third run `Y` begins where `X'` does
//! and has the maps of `X'`, but its noise at step `k` has a mean `v_k` of norm at most `b_k`, which moves `phi'_k(Y_{k-1})` towards
//! `phi_k(X_{k-1})`, `X` being the run on the data with the same centred noise. With `z_0 = |X_0 - Y_0|` and `z_k = c z_{k-1} + a_k - b_k`, all of them at least zero,
//! `|X_k - Y_k| <= z_k`: the maps bring the two within `c z_{k-1} + a_k`, the mean brings them `b_k` nearer, noise is the same, and `P` moves no two
//! points apart. Where `z_T = 0`, `X_T` is `Y_T`, a function of noises whose means depend on earlier ones alone. Against centred noises these are
//! an adaptive composition of normal releases, so telling `X_T` from `X'_T` is at least as hard as telling `N(0, 1)` from `N(mu, 1)` with
//! `mu^2 = sum b_k^2 / s^2` (Dong, Roth and Su 2022, Corollary 3.3). That curve is its own inverse, so both directions hold.
//!
//! *A bounded set.* Look at the last `t` steps alone. `Y` begins where `X'_(T-t)` is, and `X_(T-t)` is drawn anew, from its own law. Whoever tests is told
//! both points: their joint law is the same under either hypothesis, and given them the argument above applies with `z = D` at the start. With
//! `t = T` the start is the same point and `z = 0`, in the set or not; it may be random, of the same law.
//!
//! *The worst place of a row.* Where its last use is `r` steps before the end, `X_T` is a function of `X_(T-r)` and of noise, and `X_(T-r)` is the case that is
//! counted here, with `r` steps fewer; the least sum does not fall as steps are added before.
//!
//! The least `sum b_k^2`: in the weights `w_k = c^(2(T-k))` the numbers `b_k / c^(T-k)` are the slopes of the greatest convex minorant of the sums of
//! `c^(T-k) a_k`, pooled as in isotonic regression. The best schedule is found, so no other numbers `b_k` that are fixed beforehand give less. For maps
//! `phi_k(x) = c x + a_k` and a row in every step it is attained: the last iterates are normal laws at that distance.

use super::directed::finite;
use super::notion::GaussianDp;
use crate::error::{Error, Fallible};
use crate::num::round::up;

/// Steps of a noisy contraction, one after the other, of which the last iterate alone is released.
///
/// With a row in every `period`-th step, `E = ceil(T / period)` of them, the last iterate is `mu`-GDP with `mu = (a / s) factor`; `factor^2 = E` where
/// all iterates are released. With a row in every step and `c < 1`
///
/// ```text
/// factor^2 = (1 - c^T) (1 + c) / ((1 + c^T) (1 - c)),
/// ```
///
/// which is `(1 + c) / (1 - c)` however many steps there are. Within a set of diameter `D`, in units of `a`, what came more than some `t` steps
/// before the end counts for no more than `D`: with `c = 1` and a row in every step `factor^2 <= (D + t)^2 / t`, about `4 D`.
///
/// # Privacy
/// For pairs of runs whose steps differ by at most `a`; which relation that is follows from what `a` was computed for (twice the clip norm
/// under replace-one). `c` is the contraction of the steps as they are made, clipping included, see the module. It holds where steps have no momentum,
/// nothing but the last iterate is told (no average, no log, no progress), the number of steps, their maps and their noise follow from no iterate, batches are the same in every pass, in the same order, a row is in one
/// of them (a person with rows in several is not covered), and each step is exactly what is described here: rounding is none of it.
///
/// Reference: Bok, Su and Altschuler 2024, "Shifted interpolation for differential privacy", sections 3 and 4; the proof is with the module.
///
/// ```
/// use rhograd::accounting::last_iterate::LastIterate;
///
/// // A thousand steps that each bring two runs nearer by a tenth cost as much as 19 that are all released.
/// let steps = LastIterate::new(0.9, 1000, 1)?;
/// assert!((steps.factor().powi(2) - 19.0).abs() < 1e-9);
/// let released = steps.to_gaussian_dp(0.1)?;
/// assert!((released.mu() - 0.1 * 19f64.sqrt()).abs() < 1e-9);
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastIterate {
    contraction: f64,
    steps: u64,
    period: u64,
    diameter: Option<f64>,
}

/// Some steps taken together: what has to be made up for in them, and the sum of their weights.
#[derive(Clone, Copy)]
struct Block {
    mass: f64,
    weight: f64,
}

impl Block {
    fn slope(self) -> f64 {
        self.mass / self.weight
    }
}

/// Counts of a row that are tried one by one, as to when the diameter is what counts.
const TRIED: u64 = 64;

impl LastIterate {
    /// So many steps, a row being in the last one and in every `period`-th before: the worst place of a row in batches that
    /// come round in a fixed order. `contraction` is `c`.
    ///
    /// # Errors
    /// When the contraction is not from 0 to 1, there is no step, or the period is 0.
    pub fn new(contraction: f64, steps: u64, period: u64) -> Fallible<Self> {
        if !(0.0..=1.0).contains(&contraction) {
            let cure = "give max(|1 - eta m|, |1 - eta beta|), which is at most 1 for steps of at most 2 / beta";
            return Err(Error::parameter("contraction", "is not from 0 to 1", cure));
        }
        if steps == 0 {
            return Err(Error::parameter("steps", "are 0, must be at least 1", "give how often x changed"));
        }
        if period == 0 {
            return Err(Error::parameter("period", "is 0, must be at least 1", "give the number of batches of a pass"));
        }
        Ok(LastIterate { contraction, steps, period, diameter: None })
    }

    /// Projects every step on a convex set in which no two points are further apart than this, in units of `a`.
    ///
    /// # Errors
    /// When the diameter is not a number above 0.
    pub fn within(self, diameter: f64) -> Fallible<Self> {
        if !(diameter > 0.0 && diameter.is_finite()) {
            return Err(Error::parameter(
                "diameter",
                "is not a number above 0",
                "leave it out where there is no projection",
            ));
        }
        Ok(LastIterate { diameter: Some(diameter), ..self })
    }

    /// How often a row is used: what `factor^2` is where all iterates are released.
    pub fn uses(&self) -> u64 {
        self.steps.div_ceil(self.period)
    }

    /// `mu` for steps that move by one deviation of their noise, rounded up.
    pub fn factor(&self) -> f64 {
        let mut least = self.square(self.uses(), None);
        // Of windows in which a row is used equally often the longest is the best; it begins right after a use before it.
        let longest = self.steps / self.period;
        if let Some(diameter) = self.diameter.filter(|_| longest > 0) {
            let at = |uses: u64| self.square(uses, Some(diameter));
            let mut best = (1, at(1));
            let try_one = |uses: u64, best: &mut (u64, f64)| {
                let found = at(uses);
                if found < best.1 {
                    *best = (uses, found);
                }
            };
            (2..=longest.min(TRIED)).for_each(|uses| try_one(uses, &mut best));
            // Every window gives a bound. The square falls and then rises, so the best is near the best of a coarse grid.
            let mut uses = TRIED as f64;
            while uses < longest as f64 {
                try_one(uses as u64, &mut best);
                uses *= 1.1;
            }
            try_one(longest, &mut best);
            let (mut low, mut high) = ((best.0 as f64 / 1.2) as u64, ((best.0 as f64 * 1.2) as u64).min(longest));
            while high > low + 2 {
                let (a, b) = (low + (high - low) / 3, high - (high - low) / 3);
                match at(a.max(1)) <= at(b) {
                    true => high = b,
                    false => low = a,
                }
            }
            (low.max(1)..=high).for_each(|uses| try_one(uses, &mut best));
            least = least.min(best.1);
        }
        // Sums of positive numbers, none of them a difference that cancels; the largest error is that of an exponential, its argument, at most 745 where
        // it counts, times 2^-53: below 2e-13 in a square, and 1.1e-13 was the largest that was seen. No more than all iterates in any case.
        up(least.sqrt() * (1.0 + 1e-12), 2).min(self.of_all())
    }

    /// What the last iterate of steps that move by `shift` deviations of their noise, `a / s`, tells.
    ///
    /// # Errors
    /// When the shift is no number of 0 or more, or `mu` is above what a double holds.
    pub fn to_gaussian_dp(&self, shift: f64) -> Fallible<GaussianDp> {
        Self::moved(shift, self.factor())
    }

    /// What these steps tell where every iterate is released: `mu^2 = E (a / s)^2`.
    ///
    /// # Errors
    /// When the shift is no number of 0 or more, or `mu` is above what a double holds.
    pub fn all_to_gaussian_dp(&self, shift: f64) -> Fallible<GaussianDp> {
        Self::moved(shift, self.of_all())
    }

    fn of_all(&self) -> f64 {
        up((self.uses() as f64).sqrt(), 2)
    }

    fn moved(shift: f64, factor: f64) -> Fallible<GaussianDp> {
        match finite("shift", shift)? {
            0.0 => GaussianDp::new(0.0),
            shift => GaussianDp::new(finite("mu", up(shift * factor, 1))?),
        }
    }

    /// The least sum of squares over the last steps, those in which the row is used so often: from equal points, or from two at a distance, and
    /// then with `period - 1` steps before the first use.
    fn square(&self, uses: u64, distance: Option<f64>) -> f64 {
        let ln = self.contraction.ln();
        let power = |exponent: u64| (exponent as f64 * ln).exp();
        // `first + .. + last` powers of `c^2`.
        let squares = |first: u64, last: u64| {
            let count = (last + 1 - first) as f64;
            match ln == 0.0 {
                true => count,
                false => (2.0 * first as f64 * ln).exp() * (2.0 * count * ln).exp_m1() / (2.0 * ln).exp_m1(),
            }
        };
        let mut blocks: Vec<Block> = Vec::with_capacity(3);
        if let Some(distance) = distance {
            let mass = power(uses * self.period) * distance;
            let weight = match self.period {
                1 => 0.0,
                period => squares((uses - 1) * period + 1, uses * period - 1),
            };
            blocks.push(Block { mass, weight });
        }
        if uses > 1 {
            // Slopes fall from one use to the next, so they are one pool.
            let mass = match ln == 0.0 {
                true => (uses - 1) as f64,
                false => {
                    let period = self.period as f64 * ln;
                    period.exp() * ((uses - 1) as f64 * period).exp_m1() / period.exp_m1()
                }
            };
            blocks.push(Block { mass, weight: squares(1, (uses - 1) * self.period) });
        }
        blocks.push(Block { mass: 1.0, weight: 1.0 });
        let mut pools: Vec<Block> = Vec::with_capacity(3);
        for mut block in blocks.into_iter().filter(|block| block.mass > 0.0) {
            while let Some(last) = pools.pop_if(|last| last.slope() >= block.slope()) {
                block = Block { mass: last.mass + block.mass, weight: last.weight + block.weight };
            }
            pools.push(block);
        }
        pools.iter().map(|pool| pool.mass * pool.mass / pool.weight).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The least sum of squares step by step: slopes pooled over every single step of the window.
    fn step_by_step(c: f64, uses: &[bool], distance: f64) -> f64 {
        let mut pools: Vec<(f64, f64)> = Vec::new();
        for (at, &used) in uses.iter().enumerate() {
            let before_end = (uses.len() - 1 - at) as i32;
            let start = if at == 0 { distance * c.powi(before_end + 1) } else { 0.0 };
            let mut pool = (start + if used { c.powi(before_end) } else { 0.0 }, c.powi(2 * before_end));
            while let Some(last) = pools.pop_if(|last| last.0 / last.1 >= pool.0 / pool.1) {
                pool = (last.0 + pool.0, last.1 + pool.1);
            }
            pools.push(pool);
        }
        pools.iter().map(|(mass, weight)| mass * mass / weight).sum()
    }

    fn schedule(steps: u64, period: u64) -> Vec<bool> {
        (1..=steps).map(|k| (steps - k).is_multiple_of(period)).collect()
    }

    proptest! {
        #[test]
        fn blocks_are_what_single_steps_come_to(c in prop_oneof![Just(1.0), 0.2..1.0f64, 0.95..1.0f64], steps in 1..120u64, part in 0.0..1.0f64, d in prop_oneof![Just(None), (0.01..300.0f64).prop_map(Some)]) {
            let period = 1 + (part * (steps - 1) as f64) as u64;
            let uses = schedule(steps, period);
            let mut least = step_by_step(c, &uses, 0.0);
            let mut made = LastIterate::new(c, steps, period).unwrap();
            if let Some(d) = d {
                made = made.within(d).unwrap();
                // Every window, not only those that begin right after a use.
                least = (0..uses.len()).map(|from| step_by_step(c, &uses[from..], d)).fold(least, f64::min);
            }
            let found = made.factor();
            prop_assert!(found >= least.sqrt() && found <= least.sqrt() * (1.0 + 1e-9), "{found} {}", least.sqrt());
            prop_assert!(found <= (made.uses() as f64).sqrt() * (1.0 + 1e-9));
        }

        #[test]
        fn no_other_schedule_is_better(c in prop_oneof![Just(1.0), 0.3..1.0f64], steps in 1..14u64, period in 1..6u64, shares in proptest::collection::vec(0.0..1.0f64, 14)) {
            let period = period.min(steps);
            let (mut apart, mut sum) = (0.0, 0.0);
            for (at, used) in schedule(steps, period).into_iter().enumerate() {
                apart = c * apart + f64::from(u8::from(used));
                // Some part of the way at each step, and all of it at the last.
                let b = if at + 1 == steps as usize { apart } else { apart * shares[at] };
                apart -= b;
                sum += b * b;
            }
            prop_assert!(LastIterate::new(c, steps, period).unwrap().factor() <= sum.sqrt() * (1.0 + 1e-11));
        }

        /// Maps `c x + a` make normal laws, whose distance the bound is not below; with a row in every step it is that distance.
        #[test]
        fn no_bound_is_below_what_lines_do(c in prop_oneof![Just(1.0), 0.3..1.0f64], steps in 1..400u64, period in 1..30u64) {
            let period = period.min(steps);
            let (mut apart, mut variance) = (0.0, 0.0);
            for used in schedule(steps, period) {
                apart = c * apart + f64::from(u8::from(used));
                variance = c * c * variance + 1.0;
            }
            let (truth, bound) = (apart / f64::sqrt(variance), LastIterate::new(c, steps, period).unwrap().factor());
            prop_assert!(bound >= truth);
            prop_assert!(period > 1 || bound <= truth * (1.0 + 1e-10), "{bound} {truth}");
        }
    }

    #[test]
    fn a_row_in_one_step_is_hidden_by_the_last_noise_alone() {
        // The last batch of one pass: no step follows.
        assert!((LastIterate::new(1.0, 10, 10).unwrap().factor() - 1.0).abs() < 1e-11);
        // A second pass adds a tenth: ten noises hide what the first did.
        assert!((LastIterate::new(1.0, 20, 10).unwrap().factor().powi(2) - 1.1).abs() < 1e-11);
    }

    #[test]
    fn many_steps_in_a_set_cost_about_four_diameters() {
        let at = |steps| LastIterate::new(1.0, steps, 1).unwrap().within(1000.0).unwrap().factor().powi(2);
        // (D + t)^2 / t is least at t = D.
        for steps in [1000, 10_000, 1_000_000_000] {
            assert!((at(steps) - steps.min(4000) as f64).abs() < 1e-6 * at(steps), "{steps}: {}", at(steps));
        }
        let huge = LastIterate::new(1.0, u64::MAX, 1).unwrap().within(1e300).unwrap();
        assert!((huge.factor() / (u64::MAX as f64).sqrt() - 1.0).abs() < 1e-9);
        let contracting = LastIterate::new(1.0 - 1e-9, u64::MAX, 1).unwrap();
        assert!((contracting.factor().powi(2) * 1e-9 - 2.0).abs() < 1e-6);
    }

    #[test]
    fn steps_that_forget_everything_and_rows_that_are_used_once_cost_one_step() {
        for (c, steps, period) in
            [(0.0, 1, 1), (0.0, 50, 1), (0.0, 50, 7), (1e-300, 50, 7), (1.0, 3, 4), (0.5, 1, u64::MAX)]
        {
            let made = LastIterate::new(c, steps, period).unwrap();
            for found in [made.factor(), made.within(5.0).unwrap().factor()] {
                assert!((found - 1.0).abs() < 1e-11, "{c} {steps} {period}: {found}");
            }
        }
        // Never above what all iterates tell, not in the last place either.
        let made = LastIterate::new(1.0, 12, 1).unwrap();
        assert!(made.to_gaussian_dp(0.125).unwrap().mu() <= made.all_to_gaussian_dp(0.125).unwrap().mu());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (c, steps, period) in [(-0.1, 1, 1), (1.1, 1, 1), (f64::NAN, 1, 1), (0.5, 0, 1), (0.5, 3, 0)] {
            assert!(LastIterate::new(c, steps, period).is_err(), "{c} {steps} {period}");
        }
        let steps = LastIterate::new(1.0, 4, 2).unwrap();
        assert!([0.0, -1.0, f64::INFINITY, f64::NAN].iter().all(|&d| steps.within(d).is_err()));
        assert!([-1.0, f64::INFINITY, f64::NAN].iter().all(|&shift| steps.to_gaussian_dp(shift).is_err()));
        assert_eq!(steps.to_gaussian_dp(0.0).unwrap().mu(), 0.0);
    }
}
