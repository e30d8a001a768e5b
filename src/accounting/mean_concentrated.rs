//! Mean-concentrated differential privacy: what zero-concentrated privacy grew out of.
//!
//! The one notion here that is **not** closed under post-processing: [`MeanConcentrated::of_two_outcomes`] shows it, and
//! `experiments/mean-concentrated` measures by how much. So it is converted, and never claimed for a release.

use super::directed::{add_up, nonnegative, probability};
use super::zcdp::Zcdp;
use crate::error::{Error, Fallible};
use crate::num::round::{down, up};

/// Mean-concentrated differential privacy: the privacy loss `Z` has `E Z <= mean`, and `Z - E Z` is subgaussian:
/// `E e^(t (Z - E Z)) <= e^(t^2 spread^2 / 2)` for every real `t`.
///
/// It holds for neighbours in either order, under the relation of the mechanism that it was found for. It is not closed under
/// post-processing, and adaptive composition is not that of the pair: see [`MeanConcentrated::compose`].
///
/// ```
/// use rhograd::accounting::mean_concentrated::MeanConcentrated;
/// # fn main() -> rhograd::error::Fallible<()> {
/// // Two normal laws one deviation apart, and whether each exceeds 6.
/// let normal = MeanConcentrated::gaussian(1.0)?;
/// let exceeds = MeanConcentrated::of_two_outcomes(2.867e-7, 9.866e-10)?;
/// assert!(exceeds.mean() < normal.mean() && exceeds.spread() > normal.spread());
/// assert!(normal.to_zcdp()?.rho() <= 0.500_000_000_001);
/// # Ok(())
/// # }
/// ```
///
/// # Reference
/// Dwork and Rothblum 2016, who defined it; Bun and Steinke 2016, section 4.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanConcentrated {
    mean: f64,
    spread: f64,
}

impl MeanConcentrated {
    /// A bound on the mean of the loss and one on its spread.
    ///
    /// # Errors
    /// When either is negative or NaN.
    pub fn new(mean: f64, spread: f64) -> Fallible<Self> {
        Ok(MeanConcentrated { mean: nonnegative("mean", mean)?, spread: nonnegative("spread", spread)? })
    }

    /// The guarantee of normal laws that are `mu` deviations apart.
    ///
    /// `(mu^2/2, mu)`: the loss itself is normal with this mean and deviation. The mean is rounded up.
    ///
    /// # Errors
    /// When `mu` is negative or NaN.
    ///
    /// # Reference
    /// Dwork and Rothblum 2016, on the Gaussian mechanism.
    pub fn gaussian(mu: f64) -> Fallible<Self> {
        let mu = nonnegative("mu", mu)?;
        Ok(MeanConcentrated { mean: if mu == 0.0 { 0.0 } else { up(mu / 2.0 * mu, 2) }, spread: mu })
    }

    /// The least guarantee of an event that has probability `p` under one law and `q` under the other.
    ///
    /// `mean = p ln(p/q) + (1-p) ln((1-p)/(1-q))`, and `spread = |logit p - logit q| sqrt((1 - 2p) / (2 ln((1-p)/p)))`, the
    /// best constant for a number with two values; of each the larger in either order of `p` and `q`.
    ///
    /// # Errors
    /// When `p` or `q` is not strictly between 0 and 1.
    ///
    /// # Privacy
    /// Both are upper bounds, the truth but for about 1e-15.
    ///
    /// # Reference
    /// Kearns and Saul 1998; Buldygin and Moskvichova 2013 (the constant is the best).
    pub fn of_two_outcomes(p: f64, q: f64) -> Fallible<Self> {
        let inner = |name, value| match probability(name, value)? {
            value if value > 0.0 && value < 1.0 => Ok(value),
            _ => Err(Error::parameter(name, "is certain or impossible", "give a probability between 0 and 1")),
        };
        let (p, q): (f64, f64) = (inner("p", p)?, inner("q", q)?);
        if p == q {
            return Ok(MeanConcentrated::default());
        }
        let (one, other) = (Self::ordered(p, q), Self::ordered(q, p));
        Ok(MeanConcentrated { mean: one.mean.max(other.mean), spread: one.spread.max(other.spread) })
    }

    /// Mean and spread of the loss where the first law is true.
    fn ordered(p: f64, q: f64) -> Self {
        // Terms may cancel: what each could be off by is added.
        let (there, absent) = (p * (p.ln() - q.ln()), (1.0 - p) * ((-p).ln_1p() - (-q).ln_1p()));
        let sizes = p * (p.ln().abs() + q.ln().abs()) + (-p).ln_1p().abs() + (-q).ln_1p().abs();
        let mean = up((there + absent).max(0.0) + 8.0 * f64::EPSILON * sizes, 2);
        let logit = |x: f64| x.ln() - (-x).ln_1p();
        let apart = (logit(p) - logit(q)).abs() + 4.0 * f64::EPSILON * (logit(p).abs() + logit(q).abs() + 2.0);
        let odds = logit(p).abs();
        // tanh(x/2)/(2x), which falls from 1/4 as x grows.
        let share = if odds < 1e-8 { 0.25 } else { (up((odds / 2.0).tanh(), 4) / down(2.0 * odds, 6)).min(0.25) };
        MeanConcentrated { mean, spread: up(up(apart, 2) * up(share.sqrt(), 2), 1) }
    }

    /// The bound on the mean of the loss.
    pub fn mean(self) -> f64 {
        self.mean
    }

    /// The bound on the spread of the loss.
    pub fn spread(self) -> f64 {
        self.spread
    }

    /// Two mechanisms that were chosen in advance and draw independently.
    ///
    /// Means add, and squares of spreads do; rounded up. **Not for a mechanism that is chosen in view of the first output**: what the
    /// choice does to the mean of the second loss counts to the spread of both. Compose those as zCDP, of each by itself.
    ///
    /// # Reference
    /// Sums of independent subgaussian numbers (Kahane 1960).
    pub fn compose(self, other: Self) -> Self {
        let spread = if self.spread == 0.0 || other.spread == 0.0 {
            self.spread.max(other.spread)
        } else {
            up(self.spread.hypot(other.spread), 2)
        };
        MeanConcentrated { mean: add_up(self.mean, other.mean), spread }
    }

    /// The zCDP that it implies, which is closed under post-processing.
    ///
    /// `(max{mean - spread^2/2, 0}, spread^2/2)`, from `ln E e^((a-1) Z) <= (a-1) mean + (a-1)^2 spread^2 / 2`; rounded up. Laws with the same
    /// support have a least mean of at most `spread^2/2`, so that the constant part is 0 for them.
    ///
    /// # Errors
    /// Never for a valid value; the conversion checks again.
    ///
    /// # Reference
    /// Bun and Steinke 2016, Lemma 4.2.
    pub fn to_zcdp(self) -> Fallible<Zcdp> {
        if self.spread == 0.0 {
            return Zcdp::new(self.mean, 0.0);
        }
        let half = self.spread / 2.0 * self.spread;
        Zcdp::new(up(self.mean - down(half, 2), 1).max(0.0), up(half, 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::special::normal_tail;

    /// `ln E e^(t (Z - E Z))` for two outcomes.
    fn ln_moment(p: f64, q: f64, t: f64) -> f64 {
        let (a, b) = ((p / q).ln(), ((1.0 - p) / (1.0 - q)).ln());
        let mean = p * a + (1.0 - p) * b;
        (p * (t * (a - mean)).exp() + (1.0 - p) * (t * (b - mean)).exp()).ln()
    }

    #[test]
    fn the_spread_of_two_outcomes_is_the_least_that_holds_at_every_order() {
        for p in [0.001f64, 0.05, 0.3, 0.5, 0.500_001, 0.8, 0.999] {
            for q in [0.01f64, 0.3, 0.45, 0.9] {
                let found = MeanConcentrated::of_two_outcomes(p, q).unwrap();
                assert_eq!(found, MeanConcentrated::of_two_outcomes(q, p).unwrap());
                let orders = [(p, q), (q, p)];
                let needed = |t: f64| orders.map(|(p, q)| 2.0 * ln_moment(p, q, t) / (t * t));
                let most = (1..4000).flat_map(|i| [f64::from(i) / 50.0, -f64::from(i) / 50.0]).flat_map(needed);
                let most = most.filter(|x| x.is_finite()).fold(0.0, f64::max);
                let square = found.spread() * found.spread();
                assert!(square >= most * (1.0 - 1e-9) && square <= most * 1.001 + 1e-12, "{p} {q}: {square} {most}");
                let mean = orders.map(|(p, q)| p * (p / q).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - q)).ln());
                let mean = mean[0].max(mean[1]);
                assert!(found.mean() >= mean - 1e-15 && found.mean() <= mean + 1e-13);
            }
        }
        assert_eq!(MeanConcentrated::of_two_outcomes(0.2, 0.2).unwrap(), MeanConcentrated::default());
    }

    #[test]
    fn zcdp_bounds_every_divergence_of_two_outcomes() {
        let pairs = [(0.3f64, 0.2f64), (0.01, 0.4), (0.9, 0.5), (1e-4, 1e-7), (0.001, 0.5), (0.2, 0.4)];
        for (p, q) in pairs.into_iter().flat_map(|(p, q)| [(p, q), (q, p)]) {
            let zcdp = MeanConcentrated::of_two_outcomes(p, q).unwrap().to_zcdp().unwrap();
            for alpha in [1.01f64, 1.5, 2.0, 5.0, 30.0] {
                let power = |p: f64, q: f64| (alpha * p.ln() + (1.0 - alpha) * q.ln()).exp();
                let divergence = (power(p, q) + power(1.0 - p, 1.0 - q)).ln() / (alpha - 1.0);
                assert!(divergence <= zcdp.xi() + zcdp.rho() * alpha + 1e-12, "{p} {q} {alpha}");
            }
        }
    }

    #[test]
    fn a_threshold_on_normal_laws_has_a_larger_spread_than_they_have() {
        let normal = MeanConcentrated::gaussian(1.0).unwrap();
        for threshold in [4.0, 5.0, 7.0] {
            let found =
                MeanConcentrated::of_two_outcomes(normal_tail(threshold - 1.0), normal_tail(threshold)).unwrap();
            assert!(found.mean() < normal.mean() && found.spread() > 1.02, "{threshold}: {found:?}");
            // What it implies stays: Renyi divergences never grow.
            let zcdp = normal.to_zcdp().unwrap();
            assert!((zcdp.rho() - 0.5).abs() < 1e-12 && zcdp.xi() < 1e-12);
        }
    }

    #[test]
    fn a_choice_in_view_of_the_first_output_spreads_the_loss_further() {
        // A coin that no row moves decides whether a Gaussian mechanism of mu 3 is run or nothing is.
        let mu = 3.0f64;
        let both = MeanConcentrated::default().compose(MeanConcentrated::gaussian(mu).unwrap());
        let loss = |t: f64| (0.5 + 0.5 * (t * mu * mu / 2.0 + t * t * mu * mu / 2.0).exp()).ln() - t * mu * mu / 4.0;
        assert!(loss(0.1) > 0.005 * both.spread() * both.spread(), "the pair does not bound it");
        // As zCDP it is bounded: at every order by what Gaussian noise alone has.
        let zcdp = both.to_zcdp().unwrap();
        for alpha in [1.01, 2.0, 10.0] {
            let divergence = (0.5 + 0.5 * ((alpha - 1.0) * alpha * mu * mu / 2.0).exp()).ln() / (alpha - 1.0);
            assert!(divergence <= zcdp.xi() + zcdp.rho() * alpha);
        }
    }

    #[test]
    fn parts_add_up() {
        let (a, b) = (MeanConcentrated::new(0.5, 3.0).unwrap(), MeanConcentrated::new(0.25, 4.0).unwrap());
        let both = a.compose(b);
        assert!(both.mean() == 0.75 && both.spread() >= 5.0 && both.spread() < 5.0 + 1e-14);
        assert_eq!(a.compose(MeanConcentrated::default()), a);
        let constant = MeanConcentrated::new(0.5, 0.0).unwrap().to_zcdp().unwrap();
        assert_eq!((constant.xi(), constant.rho()), (0.5, 0.0));
        assert!(MeanConcentrated::new(-1.0, 0.0).is_err() && MeanConcentrated::new(0.0, f64::NAN).is_err());
        assert!(
            [(0.0, 0.5), (0.5, 1.0), (f64::NAN, 0.5)]
                .iter()
                .all(|&(p, q)| MeanConcentrated::of_two_outcomes(p, q).is_err())
        );
    }
}
