//! Pairs by the law of their likelihood ratio, which is computed from above and from below.
//!
//! All that differs between two laws P and Q follows from the law of `R = dP/dQ` under Q: hockey-stick divergences, in both directions, are
//! means of convex functions of R, and so are the exponentials of Renyi divergences, `E_Q[R^alpha]` and `E_Q[R^(1 - alpha)]`. A law of R
//! that is larger in convex order is therefore that of a pair that dominates, and one that is smaller that of a pair that is dominated
//! (Blackwell 1953). Three kinds of pairs are known in this way: steps that rows draw, Gaussian noise with a drawn sensitivity, and samples that are
//! cut to a largest batch.
//!
//! ```
//! use rhograd::accounting::ratio::{Kind, LikelihoodRatio};
//! # fn main() -> rhograd::error::Fallible<()> {
//! // Ten steps with noise of the size of a row, of which each row draws one.
//! let pass = LikelihoodRatio::new(Kind::Allocation { mu: 1.0, steps: 10 })?;
//! // One step on all rows has `alpha / 2`.
//! assert!(pass.renyi(2.0) < 0.2);
//! # Ok(())
//! # }
//! ```

mod allocation;
mod merged;
mod mixture;
mod part;
mod points;
mod spread;

use std::sync::{Arc, OnceLock};

use crate::error::{Error, Fallible};
use crate::num::logs::LnSum;
use crate::num::round::up;
pub(super) use points::Points;

/// How fine laws are, coarse first: points in a standard deviation.
pub(super) const FINE: [f64; 3] = [64.0, 128.0, 256.0];

/// The most steps of a pass for which laws are computed; errors of masses double with every average.
pub(super) const MAX_STEPS: u64 = 1 << 24;

/// The relative error of masses beyond which a law says nothing.
const MAX_ERROR: f64 = 0.01;

/// What spreading masses over two points adds at most to the logarithm of a moment of order p, over `(p^2 + |p|) mu^2`.
///
/// A mass moves by `Y` in logarithms, `Y` within an interval of length h, with `E[e^Y] = 1`: so `E[e^(p Y)] <= e^((p^2 + |p|) h^2 / 8)`
/// (Hoeffding's lemma, twice). It is spread at most three times in each of 25 averages, with `h <= 4 mu / 64`.
const SPREAD: f64 = 0.04;

/// The largest sensitivity, in deviations of the noise, for which laws are computed: beyond it ratios leave the range of floats.
const MAX_MU: f64 = 20.0;

/// What the ratio is of.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `1/t sum_i N(mu e_i, I_t)` against `N(0, I_t)`: a pass of t steps, of which each row joins one.
    Allocation {
        /// The sensitivity of a step in deviations of its noise.
        mu: f64,
        /// The number of steps.
        steps: u64,
    },
    /// `sum_i p_i N(mu_i, 1)` against `N(0, 1)`: a sensitivity that is drawn.
    Mixture {
        /// Logarithms of probabilities, which add up to 1, with the sensitivity of each in deviations of the noise, at least 0.
        components: Vec<(f64, f64)>,
    },
    /// With a probability of `1 - full` a Poisson sample at this rate, else one whose rows have twice the sensitivity, and which of both is seen.
    ///
    /// From below it is the sample alone: data sets of a few rows fill no batch.
    Truncated {
        /// The sensitivity in deviations of the noise.
        mu: f64,
        /// The sampling rate.
        rate: f64,
        /// At least the probability of a full batch.
        full: f64,
    },
}

impl Kind {
    /// The largest sensitivity.
    fn largest(&self) -> f64 {
        match self {
            Kind::Allocation { mu, .. } => *mu,
            Kind::Mixture { components } => components.iter().fold(0.0, |most, it| f64::max(most, it.1)),
            Kind::Truncated { mu, full, .. } => {
                if *full > 0.0 {
                    2.0 * mu
                } else {
                    *mu
                }
            }
        }
    }

    fn is_possible(&self) -> bool {
        let possible = |mu: f64| (0.0..=MAX_MU).contains(&mu);
        match self {
            Kind::Allocation { mu, steps } => possible(*mu) && *mu > 1e-9 && (1..=MAX_STEPS).contains(steps),
            Kind::Mixture { components } => {
                let sum: f64 = components.iter().map(|it| it.0.exp()).sum();
                self.largest() > 1e-9 && components.iter().all(|it| possible(it.1)) && (sum - 1.0).abs() < 1e-12
            }
            Kind::Truncated { mu, rate, full } => {
                possible(self.largest()) && *mu > 1e-9 && *rate > 0.0 && *rate <= 1.0 && (0.0..=1.0).contains(full)
            }
        }
    }
}

/// A Poisson sample at this rate: a row joins, or not.
fn sample(rate: f64, mu: f64) -> Vec<(f64, f64)> {
    let both = [((-rate).ln_1p(), 0.0), (rate.ln(), mu)];
    both.into_iter().filter(|it| it.0 > f64::NEG_INFINITY).collect()
}

/// The law that dominates and the one that is dominated, once they are asked for.
type Laws = (OnceLock<Points>, OnceLock<Points>);

/// A likelihood ratio with what was computed of its law; clones share it.
#[derive(Clone, Debug)]
pub struct LikelihoodRatio {
    kind: Kind,
    laws: Arc<[Laws; FINE.len()]>,
}

impl PartialEq for LikelihoodRatio {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl LikelihoodRatio {
    /// The ratio of a kind; nothing is computed yet.
    ///
    /// # Errors
    /// When there is no step, or more than 2^24, probabilities do not add up to 1, or a sensitivity is negative, not a number, above 20
    /// deviations, beyond which laws leave the range of floats, or below a billionth of one.
    ///
    /// Reference: Chua et al. 2024 and Feldman and Shenfeld 2025 (allocation); Choquette-Choo, Ganesh, Steinke and Thakurta 2024 (mixtures); Chua et al. 2024 (truncated samples).
    pub fn new(kind: Kind) -> Fallible<Self> {
        if !kind.is_possible() {
            let problem =
                "is above twenty times the noise or below a billionth of it, or probabilities or steps are none";
            return Err(Error::parameter("sensitivity", problem, "account for it by rho or Renyi divergences"));
        }
        Ok(LikelihoodRatio { kind, laws: Arc::default() })
    }

    /// The largest sensitivity in deviations of the noise: that of a pair that dominates.
    pub(super) fn largest(&self) -> f64 {
        self.kind.largest()
    }

    /// Whether the laws above and below are those of different pairs.
    pub(super) fn is_apart(&self) -> bool {
        matches!(self.kind, Kind::Truncated { full, .. } if full > 0.0)
    }

    /// The law that dominates, as fine as [`FINE`] has it at this place.
    pub(super) fn above(&self, level: usize) -> &Points {
        let fine = FINE[level.min(FINE.len() - 1)];
        self.laws[level.min(FINE.len() - 1)].0.get_or_init(|| {
            let law = match &self.kind {
                Kind::Allocation { mu, steps } => allocation::above(*mu, *steps, fine),
                Kind::Mixture { components } => mixture::above(components, fine),
                Kind::Truncated { mu, rate, full } => {
                    let of = |mu: f64| mixture::above(&sample(*rate, mu), fine);
                    if *full > 0.0 { of(*mu).or(*full, of(2.0 * mu)) } else { of(*mu) }
                }
            };
            // A law that lost more than it should is no law: everything may have failed.
            let sum: f64 = law.points.iter().map(|it| it.0).sum();
            let sound = law.errors.0 <= MAX_ERROR && (sum + law.lost.1 - 1.0).abs() <= MAX_ERROR;
            if sound { law } else { Points { points: Vec::new(), lost: (1.0, 1.0), ..law } }
        })
    }

    /// The law that is dominated, as fine as [`FINE`] has it at this place.
    pub(super) fn below(&self, level: usize) -> &Points {
        let fine = FINE[level.min(FINE.len() - 1)];
        self.laws[level.min(FINE.len() - 1)].1.get_or_init(|| match &self.kind {
            Kind::Allocation { mu, steps } => allocation::below(*mu, *steps, fine),
            Kind::Mixture { components } => mixture::below(components, fine),
            Kind::Truncated { mu, rate, .. } => mixture::below(&sample(*rate, *mu), fine),
        })
    }

    /// The larger of the Renyi divergences of order `alpha > 1` in both directions.
    ///
    /// `max(ln E_Q[R^alpha], ln E_Q[R^(1 - alpha)]) / (alpha - 1)`, at most `alpha mu^2 / 2` for the largest `mu`.
    ///
    /// # Privacy
    /// An upper bound. What the law leaves out, of probability p, adds at most `sqrt(p E_Q[R^(2 alpha)])` to the mean (Cauchy and Schwarz), R
    /// with its masses spread, and the mean is at most that of the largest sensitivity, as powers are convex.
    ///
    /// Reference: van Erven and Harremoes 2014, Theorem 13 (quasi-convexity).
    pub fn renyi(&self, alpha: f64) -> f64 {
        let mu = self.largest();
        let whole = up(alpha * (mu * mu / 2.0), 3);
        if !(alpha > 1.0 && whole.is_finite()) {
            return whole;
        }
        let law = self.above(0);
        let bound = |power: f64, lost: f64| {
            // Of the largest sensitivity, E_Q[R^k] = e^(k (k - 1) mu^2 / 2); of twice the power.
            let (p, square) = (2.0 * power, mu * mu);
            let twice = p * (p - 1.0) * square / 2.0 + SPREAD * (p * p + p.abs()) * square;
            let mut sum = LnSum::default();
            sum.add(law.ln_moment(power) + law.errors.0 + power.abs() * law.errors.1);
            sum.add((lost.ln() + twice) / 2.0);
            sum.value()
        };
        let lost = law.lost.0.max(law.lost.1);
        let worst = bound(alpha, lost).max(bound(1.0 - alpha, lost));
        let rounding =
            1e-13 * (1.0 + worst.abs() + alpha * law.points.iter().fold(0.0, |most, it| f64::max(most, it.1.abs())));
        let found = (worst + rounding) / (alpha - 1.0);
        if found.is_nan() { whole } else { found.max(0.0).min(whole) }
    }
}
