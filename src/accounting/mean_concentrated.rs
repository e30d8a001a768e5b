//! Mean-concentrated differential privacy: what zero-concentrated privacy grew out of.
//!
//! The one notion here that is **not** closed under post-processing: [`MeanConcentrated::of_two_outcomes`] shows it, and
//! `experiments/mean-concentrated` measures by how much. So it is converted, and never claimed for a release.

use std::convert::Infallible;

use super::directed::{add_up, finite, nonnegative, probability};
use super::zcdp::Zcdp;
use crate::error::{Error, Fallible};
use crate::num::minimize::scan_then_golden;
use crate::num::round::{down, up};

/// How far from their unit places are looked for.
const REACH: f64 = 1e4;

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

    /// What every mechanism with rho-zCDP has.
    ///
    /// `(rho, spread)` with `spread^2 = min_T max{2 rho (1 + 1/T), min_u (2 / (e u))^2 E(T + u)}`, where `E(w)` bounds the mean of `e^(w |Z - E Z|)`:
    /// `2 e^(rho w^2) cosh(rho w)` from `w = 1` on, else `max{e^(rho w^2 + rho w) + 1, e^(rho w^2) + e^(rho w)}`. Near `1.72 sqrt(rho)` where rho is small, and
    /// proportional to rho where it is large.
    ///
    /// *Proof.* The mean `m` is a divergence of order 1, so between 0 and rho. `E e^(t Z)` is at most `e^(rho t (t + 1))` for `t > 0`, by the orders of one direction, at most
    /// `e^(rho t (t + 1))` for `t <= -1` by those of the other, and at most 1 in between. Where `|t| >= T` that is at most `e^(t m + rho t^2 (1 + 1/T))`. Where
    /// `|t| <= T`, `e^x <= 1 + x + x^2 e^|x| / 2` leaves `1 + t^2 E[(Z - m)^2 e^(T |Z - m|)] / 2`, and `x^2 <= (2 / (e u))^2 e^(u |x|)`.
    ///
    /// *The order is right.* A mechanism that is silent half of the time and else answers a question truthfully with the odds `e^epsilon` is epsilon-DP, so
    /// rho-zCDP with `rho = epsilon`, and its loss deviates by rho/2: no bound of the order of the root of rho holds for large rho.
    ///
    /// # Errors
    /// When `rho` is negative, infinite or NaN.
    ///
    /// # Privacy
    /// Both are upper bounds, for neighbours in either order; rounded up.
    ///
    /// # Reference
    /// Bun and Steinke 2016, Lemma 4.3, has `O(sqrt(rho))`; constants and proof are our own.
    pub fn of_zcdp(rho: f64) -> Fallible<Self> {
        let rho = finite("rho", rho)?;
        if rho == 0.0 {
            return Ok(MeanConcentrated::default());
        }
        let unit = 1.0 / (rho + rho.sqrt());
        let near = |end: f64| {
            let at = |u: f64| {
                let (square, line) = (up(rho * up((end + u) * (end + u), 2), 1), up(rho * up(end + u, 1), 1));
                let moment = if end + u >= 1.0 {
                    (square + line).exp() + (square - line).exp()
                } else {
                    ((square + line).exp() + 1.0).max(square.exp() + line.exp())
                };
                let root = up(2.0 / (std::f64::consts::E * u), 3);
                up(root * root * moment, 8) * (1.0 + 8.0 * f64::EPSILON * (1.0 + square + line))
            };
            let Ok(best) = scan_then_golden(unit / REACH, unit * REACH, 81, |u| Ok::<_, Infallible>(at(u)));
            best.value
        };
        let far = |end: f64| up(2.0 * rho * (1.0 + 1.0 / end), 4);
        // One grows with the end, the other falls; the larger of both is a bound at every end.
        let (mut low, mut high) = (1.0 / (1.0 + rho) / REACH, 1.0 / (1.0 + rho) * REACH);
        let mut least = f64::INFINITY;
        for _ in 0..60 {
            let end = low.sqrt() * high.sqrt();
            let (far, near) = (far(end), near(end));
            least = least.min(far.max(near));
            if far > near { low = end } else { high = end }
        }
        if !least.is_finite() {
            return Err(Error::numerical("the spread of a mechanism with zCDP", "is beyond every double"));
        }
        Ok(MeanConcentrated { mean: rho, spread: up(least.sqrt(), 1) })
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

    /// `ln E e^(t (Z - E Z))`, the mean and the deviation of the loss of `p` against `q`.
    fn loss(p: &[f64], q: &[f64], t: f64) -> (f64, f64, f64) {
        let losses: Vec<f64> = p.iter().zip(q).map(|(p, q)| (p / q).ln()).collect();
        let over = |f: &dyn Fn(f64) -> f64| p.iter().zip(&losses).map(|(p, z)| p * f(*z)).sum::<f64>();
        let mean = over(&|z| z);
        (over(&|z| (t * (z - mean)).exp()).ln(), mean, over(&|z| (z - mean) * (z - mean)).sqrt())
    }

    #[test]
    fn zcdp_has_a_mean_and_a_spread() {
        let tail = |at: f64| normal_tail(at);
        let mut closest = 0.0f64;
        for epsilon in [0.01f64, 0.3, 1.0, 3.0, 10.0] {
            let odds = epsilon.exp();
            let answers: [(Vec<f64>, Vec<f64>); 3] = [
                // Randomized response, and with silence half of the time.
                (vec![odds / (1.0 + odds), 1.0 / (1.0 + odds)], vec![1.0 / (1.0 + odds), odds / (1.0 + odds)]),
                (
                    vec![0.5, 0.5 * odds / (1.0 + odds), 0.5 / (1.0 + odds)],
                    vec![0.5, 0.5 / (1.0 + odds), 0.5 * odds / (1.0 + odds)],
                ),
                // Normal noise in cells.
                {
                    let law = |at: f64| -> Vec<f64> {
                        (-60..60)
                            .map(|i| tail(f64::from(i) / 10.0 - at) - tail(f64::from(i + 1) / 10.0 - at))
                            .map(|x| x.max(1e-300))
                            .collect()
                    };
                    let mu = (2.0 * epsilon * (epsilon / 2.0).tanh()).sqrt().min(2.0);
                    (law(0.0), law(mu))
                },
            ];
            for (p, q) in answers {
                let renyi = |alpha: f64| {
                    let sum: f64 = p.iter().zip(&q).map(|(p, q)| (alpha * p.ln() + (1.0 - alpha) * q.ln()).exp()).sum();
                    sum.ln() / ((alpha - 1.0) * alpha)
                };
                let rho = (1..4000).map(|i| renyi(1.0 + f64::from(i) / 100.0)).fold(loss(&p, &q, 0.0).1, f64::max);
                let found = MeanConcentrated::of_zcdp(rho * (1.0 + 1e-9)).unwrap();
                assert!(loss(&p, &q, 0.0).1 <= found.mean());
                for i in -400i32..=400 {
                    let t = f64::from(i) / 20.0;
                    let allowed = t * t * found.spread() * found.spread() / 2.0;
                    let moment = loss(&p, &q, t).0;
                    assert!(moment <= allowed + 1e-12, "{epsilon} {rho} {t}: {moment} {allowed}");
                    if allowed > 1e-9 {
                        closest = closest.max(moment / allowed);
                    }
                }
            }
        }
        assert!(closest > 0.6, "{closest}");
    }

    #[test]
    fn the_spread_is_of_the_order_of_the_root_of_rho_or_of_rho() {
        let spread = |rho: f64| MeanConcentrated::of_zcdp(rho).unwrap().spread();
        let small = spread(1e-10) / 1e-5;
        assert!(small > 2f64.sqrt() && small < 1.75, "{small}");
        assert!(spread(1e6) < 3.0 * 1e6, "{}", spread(1e6));
        // Silent half of the time: rho/2 for large rho, which no multiple of the root of rho bounds.
        let (epsilon, odds) = (60.0f64, 60f64.exp());
        let p = [0.5, 0.5 * odds / (1.0 + odds), 0.5 / (1.0 + odds)];
        let q = [p[0], p[2], p[1]];
        let deviation = loss(&p, &q, 0.0).2;
        assert!(deviation > 0.499 * epsilon && deviation <= spread(epsilon), "{deviation}");
        assert!(deviation > 3.0 * (2.0 * epsilon).sqrt() / 1.2, "{deviation}");
        let found: Vec<f64> = (-40..40).map(|i| spread(f64::from(i).exp2())).collect();
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{found:?}");
        assert_eq!(MeanConcentrated::of_zcdp(0.0).unwrap(), MeanConcentrated::default());
        assert!([-1.0, f64::NAN, f64::INFINITY].iter().all(|rho| MeanConcentrated::of_zcdp(*rho).is_err()));
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
