//! Steps on Poisson samples of which only the last iterate is released.
//!
//! # Setting
//! That of [`super::last_iterate`], but which rows a step uses is drawn: every row joins every step on its own with probability `q`. Given the sample
//! the maps of neighbours are at most `a` apart where the row that differs is in it, and the same where it is not: what a sum is divided by, and the noise, follow
//! from no sample and no number of rows, and an empty sample has noise as well.
//!
//! `c` is that of the map of every sample that can be drawn, the empty one and the one of all rows among them, not that of the mean loss. Where a sum over the
//! sample is divided by `q n`, an empty sample leaves the convexity `m` of a penalty outside the clip and nothing else, and all rows together have the
//! smoothness `beta / q` of the rows and that of the penalty: `c = max(|1 - eta m|, |1 - eta (m + beta / q)|)`. With the contraction of the mean loss the
//! delta of two rows is up to hundreds of times what would be claimed.
//!
//! # Proof
//! After Bok, Su and Altschuler 2024, section 4. Noise of variance `s^2` is the sum of two, `A_k` of variance `(1 - p) s^2` and `B_k` of variance
//! `p s^2`. Look at the last `w` steps. Let `X` be a run and `X'` the neighbour's. With the same samples and noise in both `|X_k - X'_k|` grows by
//! a factor of `c` and by `a` at most, and is at most the diameter of the set, so before the last `w` steps the two are at most `z` apart, whatever was drawn.
//!
//! A third run `Y` begins where `X'` is then, and `|X_k - Y_k|` is to fall from `z` to nothing by parts `h_k` that are fixed beforehand: `z_k = c z_(k-1) - h_k`.
//! At each step `Y` has the map, the sample and the noise of `X`, and is moved by `g_k`, `|g_k| <= h_k`, towards the image of `X`: `Y_k = phi_S(Y_(k-1)) + A_k + (B_k + g_k)`,
//! and so `|X_k - Y_k| <= z_k`; a projection moves no two points apart. At last `Y` is `X`.
//!
//! How hard is it to tell `Y_k` from `X'_k = phi'_S(X'_(k-1)) + A_k + B_k`? Given that both were at `x` before, `phi_S(x) + A_k` and `phi'_S(x) + A_k` are told apart
//! no better than the outputs of a Poisson-sampled Gaussian mechanism with `a` over `s sqrt(1 - p)`. Given that, too, `g_k` is some random vector of norm at most `h_k` that is
//! independent of `B_k`, so `B_k + g_k` is told from `B_k` no better than two normal laws at that distance (joint convexity). Both are steps of an adaptive composition (Dong, Roth
//! and Su 2022, Theorem 3.2), of which the last iterates are functions. So all of it costs no more than `w` sampled steps and normal laws at distance
//! `mu`, `mu^2 = sum h_k^2 / (p s^2)`, together. In both directions, for either of the two may have the row.
//!
//! The least `sum h_k^2` is `(c^w z)^2 / sum_(j < w) c^(2 j)`. Every `w` and `p` give a bound; `w = T`, `p = 0` is that for all iterates.

use super::directed::{finite, positive};
use super::last_iterate::LastIterate;
use super::pld;
use crate::error::{Error, Fallible};
use crate::num::round::{down, up};
use crate::privacy::{Adjacency, Delta, DpEvent, Mechanism};

/// Steps of a noisy contraction on Poisson samples, of which the last iterate alone is released.
///
/// Besides the last `w` steps, as sampled Gaussian steps with a share `1 - p` of the variance, it counts what those before come to, as one release:
///
/// ```text
/// mu = (a / s) z c^w / sqrt(p sum_(j < w) c^(2 j)),   z = min(D, sum_(j < T - w) c^j).
/// ```
///
/// # Privacy
/// Add-remove: of neighbouring runs one has a row more, which moves a step by at most `a` where it is in the sample, whatever else is. `c` is that of
/// the step on every sample that can be drawn, the empty one and all rows among them, see the module. Samples and their sizes stay secret, and neither what a sum is
/// divided by nor the noise follows from them or from the number of rows. Samples of a fixed size are not covered. The conditions of
/// [`LastIterate`] hold here as well: no momentum, no average, no log of iterates, numbers of steps and noise that follow from no iterate.
///
/// Reference: Bok, Su and Altschuler 2024, "Shifted interpolation for differential privacy", section 4; the proof is with the module.
///
/// ```
/// use rhograd::accounting::sampled_last_iterate::{SampledCost, SampledLastIterate};
/// use rhograd::privacy::Delta;
///
/// // A thousand steps on a twentieth of the rows that each bring two runs nearer by a tenth.
/// let steps = SampledLastIterate::new(0.9, 1000, 0.05)?;
/// let SampledCost { last, all, .. } = steps.epsilon(0.5, Delta::new(1e-6)?)?;
/// assert!(last < 0.6 * all, "{last} {all}");
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledLastIterate {
    contraction: f64,
    steps: u64,
    rate: f64,
    diameter: Option<f64>,
}

/// What steps on samples cost, see [`SampledLastIterate::epsilon`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledCost {
    /// Epsilon where the last iterate alone is released.
    pub last: f64,
    /// Epsilon where all of them are.
    pub all: f64,
    /// How many of the last steps count as steps.
    pub window: u64,
    /// The share of the variance that hides what came before them.
    pub share: f64,
}

/// Bounds that are computed by privacy-loss distributions, of those that are promising.
const TRIED: usize = 4;

/// Shares of the variance that are tried.
const SHARES: [f64; 11] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 0.9];

impl SampledLastIterate {
    /// So many steps, in each of which a row is with probability `rate`. `contraction` is `c`.
    ///
    /// # Errors
    /// When the contraction or the rate is not from 0 to 1, or there is no step.
    pub fn new(contraction: f64, steps: u64, rate: f64) -> Fallible<Self> {
        LastIterate::new(contraction, steps, 1)?;
        if !(0.0..=1.0).contains(&rate) {
            let cure = "give the probability with which a row is in the sample of a step";
            return Err(Error::parameter("sampling_rate", "is not from 0 to 1", cure));
        }
        Ok(SampledLastIterate { contraction, steps, rate, diameter: None })
    }

    /// Projects every step on a convex set in which no two points are further apart than this, in units of `a`.
    ///
    /// # Errors
    /// When the diameter is not a number above 0.
    pub fn within(self, diameter: f64) -> Fallible<Self> {
        LastIterate::new(self.contraction, self.steps, 1)?.within(diameter)?;
        Ok(SampledLastIterate { diameter: Some(diameter), ..self })
    }

    /// The event that the last iterate costs no more than: the last `window` steps, and what hides those before them in a share of the
    /// variance. `shift` is `a / s`.
    ///
    /// # Errors
    /// When the shift is no number above 0, the window is not from 1 to the number of steps, or the share is not above 0 and below 1 where
    /// steps come before.
    ///
    /// # Privacy
    /// Multipliers are rounded down. Add-remove.
    pub fn event(&self, shift: f64, window: u64, share: f64) -> Fallible<DpEvent> {
        let shift = positive("shift", finite("shift", shift)?)?;
        if !(1..=self.steps).contains(&window) {
            return Err(Error::parameter("window", "is not from 1 to the number of steps", "give some of the steps"));
        }
        let mu = self.mu(shift, window, share);
        if mu == 0.0 {
            return Ok(self.steps_of(shift, window));
        }
        if !(share > 0.0 && share < 1.0) {
            return Err(Error::parameter("share", "is not above 0 and below 1", "give a part of the variance"));
        }
        // Both parts move by as much of their own noise as if each were all of it.
        let steps = self.steps_of(up(shift / (1.0 - share).sqrt(), 3), window);
        let before = DpEvent::Single { mechanism: gaussian(mu) };
        Ok(DpEvent::Composed { events: vec![steps, before] })
    }

    fn steps_of(&self, shift: f64, window: u64) -> DpEvent {
        DpEvent::poisson(gaussian(shift), self.rate, window)
    }

    /// The distance between normal laws that hides what came before the window, rounded up.
    fn mu(&self, shift: f64, window: u64, share: f64) -> f64 {
        let before = self.steps - window;
        let apart = self.powers(before, 1.0).min(self.diameter.unwrap_or(f64::INFINITY));
        if before == 0 || self.rate == 0.0 || self.contraction == 0.0 {
            return 0.0;
        }
        let left = (window as f64 * self.contraction.ln()).exp() * apart;
        // A dozen roundings, an exponential of at most 745 times 2^-53 among them: below 3e-13.
        up(shift * left / (share * self.powers(window, 2.0)).sqrt() * (1.0 + 1e-12), 1)
    }

    /// `sum_(j < count) c^(each j)`.
    fn powers(&self, count: u64, each: f64) -> f64 {
        let ln = each * self.contraction.ln();
        match ln {
            0.0 => count as f64,
            ln if ln == f64::NEG_INFINITY => (count as f64).min(1.0),
            ln => (count as f64 * ln).exp_m1() / ln.exp_m1(),
        }
    }

    /// Epsilon at delta of the last iterate, and of all of them, for steps that move by `shift` deviations of their noise.
    ///
    /// It takes the least of some windows and shares that are promising by the central limit of sampled steps (Bu, Dong, Long and Su 2020); each of
    /// them is a bound.
    ///
    /// # Errors
    /// When the shift is no number of 0 or more, or an epsilon cannot be computed.
    ///
    /// # Privacy
    /// Rounded up. Add-remove, both directions.
    pub fn epsilon(&self, shift: f64, delta: Delta) -> Fallible<SampledCost> {
        if finite("shift", shift)? == 0.0 {
            return Ok(SampledCost { last: 0.0, all: 0.0, window: self.steps, share: 0.0 });
        }
        let of = |event: &DpEvent| {
            pld::narrow_epsilon(event, Adjacency::AddRemove, delta, f64::INFINITY).map(|found| found.upper)
        };
        let all = of(&self.steps_of(shift, self.steps))?;
        let mut best = SampledCost { last: all, all, window: self.steps, share: 0.0 };
        let mut promising: Vec<(f64, u64, f64)> = Vec::new();
        let mut window = 1u64;
        while window < self.steps {
            promising.extend(SHARES.iter().map(|&share| (self.about(shift, window, share), window, share)));
            window = (window + 1).max((window as f64 * 1.25) as u64);
        }
        promising.sort_by(|a, b| a.0.total_cmp(&b.0));
        for &(_, window, share) in promising.iter().take(TRIED) {
            let last = of(&self.event(shift, window, share)?)?;
            if last < best.last {
                best = SampledCost { last, window, share, ..best };
            }
        }
        Ok(best)
    }

    /// About `mu^2` of all together.
    fn about(&self, shift: f64, window: u64, share: f64) -> f64 {
        let steps = self.rate.powi(2) * (shift * shift / (1.0 - share)).exp_m1() * window as f64;
        self.mu(shift, window, share).powi(2) + steps
    }
}

/// A Gaussian mechanism that moves by so many deviations of its noise.
fn gaussian(shift: f64) -> Mechanism {
    Mechanism::Gaussian { noise_multiplier: down(1.0 / shift, 1) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::num::special::normal_tail;

    fn normal_cdf(x: f64) -> f64 {
        normal_tail(-x)
    }

    /// Delta at epsilon of lines `c x + a b_k + Z_k`, exactly: a mixture over which steps have the row, against one normal law.
    fn truth(c: f64, steps: u32, rate: f64, shift: f64, epsilon: f64) -> f64 {
        let variance: f64 = (0..steps).map(|j| c.powi(2 * j as i32)).sum();
        let laws: Vec<(f64, f64)> = (0..1u32 << steps)
            .map(|joined| {
                let chance =
                    rate.powi(joined.count_ones() as i32) * (1.0 - rate).powi((steps - joined.count_ones()) as i32);
                let mean: f64 = (0..steps).filter(|j| joined >> j & 1 == 1).map(|j| c.powi(j as i32)).sum();
                (chance, shift * mean / variance.sqrt())
            })
            .collect();
        // Likelihood ratios rise along the line, so the best test is a threshold, found by halving.
        let ratio =
            |x: f64| laws.iter().map(|(chance, mean)| chance * (mean * x - mean * mean / 2.0).exp()).sum::<f64>();
        let root = |wanted: f64| {
            let (mut low, mut high) = (-60.0, 60.0);
            for _ in 0..200 {
                let middle = (low + high) / 2.0;
                if ratio(middle) < wanted { low = middle } else { high = middle }
            }
            (low + high) / 2.0
        };
        let (above, below) = (root(epsilon.exp()), root((-epsilon).exp()));
        let remove = laws.iter().map(|(chance, mean)| chance * normal_cdf(mean - above)).sum::<f64>()
            - epsilon.exp() * normal_cdf(-above);
        let add = normal_cdf(below)
            - epsilon.exp() * laws.iter().map(|(chance, mean)| chance * normal_cdf(below - mean)).sum::<f64>();
        remove.max(add)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(25))]
        #[test]
        fn no_bound_is_below_what_lines_do(
            c in prop_oneof![Just(1.0), Just(0.0), 0.2..1.0f64], steps in 1..9u32, rate in 0.02..1.0f64, shift in 0.1..2.0f64, ln_delta in -16.0..-2.0f64,
        ) {
            let delta = ln_delta.exp();
            let made = SampledLastIterate::new(c, steps.into(), rate).unwrap();
            let found = made.epsilon(shift, Delta::new(delta).unwrap()).unwrap();
            prop_assert!(found.last <= found.all);
            prop_assert!(truth(c, steps, rate, shift, found.last) <= delta * (1.0 + 1e-9) + 1e-14, "{found:?}");
        }

        #[test]
        fn every_window_and_share_is_a_bound(
            c in 0.2..1.0f64, steps in 2..9u32, part in 0.0..1.0f64, rate in 0.05..1.0f64, shift in 0.1..1.5f64, share in 0.05..0.95f64,
        ) {
            let made = SampledLastIterate::new(c, steps.into(), rate).unwrap();
            let window = 1 + (part * f64::from(steps - 1)) as u64;
            let event = made.event(shift, window, share).unwrap();
            let delta = 1e-4;
            let epsilon = pld::epsilon(&event, Adjacency::AddRemove, Delta::new(delta).unwrap(), 1e-4).unwrap().upper;
            prop_assert!(truth(c, steps, rate, shift, epsilon) <= delta * (1.0 + 1e-9));
        }
    }

    #[test]
    fn what_came_before_fades_or_stays_within_the_set() {
        let delta = Delta::new(1e-6).unwrap();
        let at = |steps, diameter: Option<f64>, c| {
            let made = SampledLastIterate::new(c, steps, 0.1).unwrap();
            diameter.map_or(made, |diameter| made.within(diameter).unwrap()).epsilon(0.3, delta).unwrap()
        };
        let (few, many) = (at(500, None, 0.9), at(50_000, None, 0.9));
        assert!((many.last / few.last - 1.0).abs() < 1e-3 && many.last < 0.1 * many.all, "{few:?} {many:?}");
        let (few, many) = (at(5000, Some(3.0), 1.0), at(50_000, Some(3.0), 1.0));
        assert!((many.last / few.last - 1.0).abs() < 1e-3 && many.last < 0.5 * many.all, "{few:?} {many:?}");
        // Lines that do not contract lose nothing, and steps that forget everything cost one.
        let all = at(50, None, 1.0);
        assert_eq!((all.last, all.window), (all.all, 50));
        let one = at(50, None, 0.0);
        assert_eq!((one.last, one.window), (at(1, None, 1.0).all, 1));
    }

    /// A row of a squared loss, whose step forgets everything where it is in the sample and nothing where it is not: on the mean it contracts by
    /// `1 - q`, and what the last iterate tells of another row is above the bound for that, by far, and below the bound for no contraction.
    #[test]
    fn the_contraction_of_the_mean_loss_is_not_enough() {
        let (rate, shift, steps, delta) = (0.9f64, 1.0, 40u32, 1e-6);
        // Steps since the last one that forgot, and how many of these have the other row.
        let mut laws = Vec::new();
        for since in 1..=steps {
            let forgotten = if since < steps { rate } else { 1.0 };
            let chance = forgotten * (1.0 - rate).powi(since as i32 - 1);
            for joined in 0..=since {
                let ways = (0..joined).fold(1.0, |ways, j| ways * f64::from(since - j) / f64::from(j + 1));
                let part = ways * rate.powi(joined as i32) * (1.0 - rate).powi((since - joined) as i32);
                laws.push((chance * part, f64::from(joined) * shift, f64::from(since).sqrt()));
            }
        }
        let density = |x: f64, with: f64| -> f64 {
            let normal = |d: f64, s: f64| (-0.5 * (d / s).powi(2)).exp() / (s * (2.0 * std::f64::consts::PI).sqrt());
            laws.iter().map(|(chance, mean, s)| chance * normal(x - with * mean, *s)).sum()
        };
        let truth = |epsilon: f64| -> f64 {
            let excess = |x: f64| (density(x, 1.0) - epsilon.exp() * density(x, 0.0)).max(0.0);
            (-3000..9000).map(|i| excess(f64::from(i) * 0.01) * 0.01).sum()
        };
        let claimed = |c| {
            let made = SampledLastIterate::new(c, steps.into(), rate).unwrap();
            made.epsilon(shift, Delta::new(delta).unwrap()).unwrap().last
        };
        assert!(truth(claimed(1.0 - rate)) > 10.0 * delta);
        assert!(truth(claimed(1.0)) <= delta);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (c, steps, rate) in [(1.1, 1, 0.5), (0.5, 0, 0.5), (0.5, 1, -0.1), (0.5, 1, 1.1), (0.5, 1, f64::NAN)] {
            assert!(SampledLastIterate::new(c, steps, rate).is_err(), "{c} {steps} {rate}");
        }
        let steps = SampledLastIterate::new(0.9, 4, 0.5).unwrap();
        assert!([0.0, -1.0, f64::NAN].iter().all(|&diameter| steps.within(diameter).is_err()));
        for (shift, window, share) in
            [(f64::NAN, 2, 0.5), (-1.0, 2, 0.5), (1.0, 0, 0.5), (1.0, 5, 0.5), (1.0, 2, 0.0), (1.0, 2, 1.0)]
        {
            assert!(steps.event(shift, window, share).is_err(), "{shift} {window} {share}");
        }
        assert_eq!(steps.epsilon(0.0, Delta::new(1e-6).unwrap()).unwrap().last, 0.0);
    }
}
