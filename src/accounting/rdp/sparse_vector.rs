//! The sparse vector technique with normal noise.

use super::convert::Renyi;
use super::mechanisms::gaussian;
use crate::accounting::directed::{UNIT, add_up, order, positive, raised};
use crate::error::{Error, Fallible};
use crate::num::round::up;
use crate::num::special::{ln_normal_tail, mills};

/// Smaller orders are counted as this one, as divergences do not fall with the order.
const LEAST_EXCESS: f64 = 1e-6;

/// Shifts below this one are counted as it.
const LEAST_SHIFT: f64 = 1e-5;

/// By how much a ratio must differ from 1 before its side is believed; its rounding is far smaller.
const SIDE: f64 = 1e-6;

/// Which of some questions is the first above a threshold, told with normal noise on the threshold and on each question.
///
/// The threshold gets noise of deviation `sigma`, each question fresh noise of deviation `tau`; the first question whose sum reaches that
/// of the threshold is named, and nothing after it is answered. Questions move by at most 1 between neighbours, each in its own direction,
/// and may be chosen in view of the answers so far. At most `T` are asked.
///
/// `r(a) = a / (2 sigma^2) + ln(1 + T B) / (a - 1)`, `B = max_u [G(u)^a G(u + 2/tau)^(1-a) - G(u)]`, `G` the upper tail of the normal law.
///
/// *Proof.* Given the noise `z` of the threshold, `P[the k-th is named]` is `F_1 .. F_(k-1) G(u_k)` with `F_i = 1 - G(u_i)`. On the neighbour
/// take `z + 1`: then no question is closer to the threshold, so each `F_i` is at least as large, and `u_k` grows by at most `2/tau`. The `a`-th moment of
/// two mixtures is at most the mixture of the moments (joint convexity), and a smaller law below only raises it: it is at most the mean over `z` of
/// `p(z)^a p(z + 1)^(1-a) S(z)`, with `S = F_1 .. F_T + sum_k F_1 .. F_(k-1) G(u_k)^a G(u_k + 2/tau)^(1-a)`. In the place of the `k`-th power `G(u_k)` would make `S` 1;
/// the differences are at most `B`, and the products before them at most 1. So `S <= 1 + T B` for every `z`. What is left is the moment of
/// two normal laws.
///
/// # Privacy
/// An upper bound for neighbours in either order, under the relation of the sensitivity; rounded up. No release here is of this kind: the
/// accountant answers for programs that are. To go on after a name costs another one, with fresh noise on the threshold.
///
/// # Reference
/// Zhu and Wang 2020, who have the technique with normal noise and bounds of this form; the proof above is our own. Dwork, Naor, Reingold, Rothblum and Vadhan 2009.
///
/// ```
/// use rhograd::accounting::rdp::{self, Form, GaussianSparseVector};
/// use rhograd::privacy::Delta;
/// # fn main() -> rhograd::error::Fallible<()> {
/// let technique = GaussianSparseVector::new(10.0, 20.0, 1000)?;
/// let epsilon = rdp::epsilon(&technique, Delta::new(1e-6)?, Form::Improved)?.value;
/// assert!(epsilon < 0.78);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GaussianSparseVector {
    threshold: f64,
    question: f64,
    questions: u64,
}

impl GaussianSparseVector {
    /// The technique from the deviations of both noises over the sensitivity of a question, and the largest number of questions.
    ///
    /// # Errors
    /// When a deviation is not finite and positive, or there are no questions.
    pub fn new(threshold: f64, question: f64, questions: u64) -> Fallible<Self> {
        if questions == 0 {
            return Err(Error::parameter("questions", "are 0", "use at least 1"));
        }
        let (threshold, question) = (positive("threshold noise", threshold)?, positive("question noise", question)?);
        Ok(GaussianSparseVector { threshold, question, questions })
    }

    /// The Renyi divergence at an order.
    ///
    /// `a / (2 sigma^2) + ln(1 + T B) / (a - 1)`; infinite at the infinite order. With many questions a larger order may give less than one near 1, and
    /// then holds for it.
    ///
    /// # Errors
    /// When `alpha` is below 1 or NaN.
    pub fn renyi(self, alpha: f64) -> Fallible<f64> {
        let alpha = order(alpha)?;
        if alpha == f64::INFINITY {
            return Ok(f64::INFINITY);
        }
        let excess = (alpha - 1.0).max(LEAST_EXCESS);
        let shift = up(2.0 / self.question, 1).max(LEAST_SHIFT);
        let ln_sum = up(self.questions as f64, 1).ln() + ln_most(shift, up(excess, 1));
        let ln_moment = if ln_sum > 0.0 { ln_sum + (-ln_sum).exp().ln_1p() } else { ln_sum.exp().ln_1p() };
        // An error of the logarithm is one of the moment relative to what it has beyond 1.
        let size = ln_moment + ln_moment.min(1.0) * (4.0 + ln_sum.abs());
        Ok(add_up(gaussian(self.threshold, 1.0 + up(excess, 1))?, raised(ln_moment / excess, size / excess, 16.0)))
    }
}

impl Renyi for GaussianSparseVector {
    fn divergence(&self, alpha: f64) -> Fallible<f64> {
        self.renyi(alpha)
    }
}

/// `phi / G`, which grows; 0 where it is less than any double.
fn hazard(u: f64) -> f64 {
    1.0 / mills(u)
}

/// `ln G(u) - ln G(u + shift)`, which grows with `u`.
fn fall(u: f64, shift: f64) -> f64 {
    ln_normal_tail(u) - ln_normal_tail(u + shift)
}

/// At least `ln max_u [G(u)^(1+b) G(u + shift)^-b - G(u)]`.
///
/// The difference is `G (e^(b l) - 1)` with `l = ln G(u) - ln G(u + shift)`. Its logarithm has the slope `H (r - 1)` for
/// `r = b (H(u + shift) / H(u) - 1) / (1 - e^(-b l))` and the hazard `H = phi/G`. As `0 < H' < 1` (Sampford 1953), `ln H` is concave and `l` grows, so
/// `r` falls: there is one maximum, where `r` is 1. From a place on its left with the slope `m` it is at most `m` times the distance to one on its right above the
/// value there, with the hazard of the right place.
fn ln_most(shift: f64, b: f64) -> f64 {
    let ratio = |u: f64| {
        let rise = hazard(u + shift) / hazard(u) - 1.0;
        // Where the hazard underflows the ratio is large.
        if rise.is_finite() { b * rise / -(-b * fall(u, shift)).exp_m1() } else { f64::INFINITY }
    };
    let (mut low, mut high) = (-30.0 - shift, b * shift + 30.0);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if ratio(middle) > 1.0 { low = middle } else { high = middle }
    }
    // Out to where the side is beyond doubt.
    let mut width = 1e-7 * (1.0 + high.abs());
    let (mut left, mut right) = (low - width, high + width);
    while ratio(left) < 1.0 + SIDE && left > -30.0 - shift {
        width *= 2.0;
        left -= width;
    }
    while ratio(right) > 1.0 - SIDE && right < b * shift + 60.0 {
        width *= 2.0;
        right += width;
    }
    let (tail, l) = (ln_normal_tail(left), fall(left, shift));
    let x = b * l;
    let ln_growth = if x > 1.0 { x + (-(-x).exp()).ln_1p() } else { x.exp_m1().ln() };
    let climb = hazard(right) * (ratio(left) - 1.0).max(0.0) * (right - left);
    let size =
        4.0 + tail.abs() + ln_growth.abs() + climb + (b + 1.0 / l) * (tail.abs() + ln_normal_tail(left + shift).abs());
    up(tail + ln_growth + climb + 32.0 * UNIT * size, 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::rdp::{self, Form};
    use crate::num::special::{normal_density, normal_tail};
    use crate::privacy::Delta;

    /// The law of the name for questions with these values, by a sum over the noise of the threshold; the last one is "none".
    fn law(technique: GaussianSparseVector, values: &[f64]) -> Vec<f64> {
        let steps = 4000;
        let width = 20.0 / f64::from(steps);
        let mut law = vec![0.0; values.len() + 1];
        for step in 0..steps {
            let z = -10.0 + (f64::from(step) + 0.5) * width;
            let mut left = normal_density(z) * width;
            for (k, value) in values.iter().enumerate() {
                let named = normal_tail((technique.threshold * z - value) / technique.question);
                law[k] += left * named;
                left *= 1.0 - named;
            }
            law[values.len()] += left;
        }
        law
    }

    fn divergence(p: &[f64], q: &[f64], alpha: f64) -> f64 {
        p.iter().zip(q).map(|(p, q)| p * (p / q).powf(alpha - 1.0)).sum::<f64>().ln() / (alpha - 1.0)
    }

    #[test]
    fn the_most_is_that_of_a_fine_grid() {
        for shift in [1e-3, 0.1, 1.0, 4.0] {
            for b in [1e-6, 0.01, 0.5, 3.0, 40.0, 500.0] {
                let most = ln_most(shift, b);
                let end = b * shift + 12.0;
                let places = (0..200_000).map(|i| -12.0 - shift + (end + 12.0 + shift) * f64::from(i) / 200_000.0);
                let at = |u: f64| {
                    let x = b * fall(u, shift);
                    ln_normal_tail(u) + if x > 1.0 { x + (-(-x).exp()).ln_1p() } else { x.exp_m1().ln() }
                };
                let found = places.map(at).fold(f64::NEG_INFINITY, f64::max);
                let allowed = 1e-6 * (1.0 + 1e-3 * b * shift * shift * b);
                assert!(most >= found && most <= found + allowed, "{shift} {b}: {most} {found}");
            }
        }
    }

    #[test]
    fn laws_of_names_keep_the_bound() {
        let mut closest = 0.0f64;
        for (threshold, question) in [(1.0, 2.0), (3.0, 3.0), (8.0, 1.5)] {
            for code in 0..81u32 {
                let digit = |i: u32| f64::from(code / 3u32.pow(i) % 3);
                let values: Vec<f64> = (0..3).map(|i| (digit(i) - 1.5) * 3.0 * question).collect();
                for signs in 0..8u32 {
                    let moved = (0..3).map(|i| values[i] + if signs >> i & 1 == 1 { 1.0 } else { -1.0 });
                    let technique = GaussianSparseVector::new(threshold, question, 3).unwrap();
                    let (here, there) = (law(technique, &values), law(technique, &moved.collect::<Vec<_>>()));
                    assert!((here.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    for alpha in [1.0 + 1e-4, 1.5, 4.0, 20.0] {
                        let found = divergence(&here, &there, alpha);
                        let bound = technique.renyi(alpha).unwrap();
                        assert!(
                            found <= bound + 1e-9,
                            "{threshold} {question} {values:?} {signs} {alpha}: {found} {bound}"
                        );
                        closest = closest.max(found / bound);
                    }
                }
            }
        }
        assert!(closest > 0.3, "{closest}");
    }

    #[test]
    fn the_bound_grows_slowly_with_questions_and_beats_noise_on_all() {
        let epsilon = |questions: u64| {
            let technique = GaussianSparseVector::new(10.0, 20.0, questions).unwrap();
            rdp::epsilon(&technique, Delta::new(1e-6).unwrap(), Form::Improved).unwrap().value
        };
        let found = [1u64, 10, 100, 1000, 10_000, 1_000_000].map(epsilon);
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{found:?}");
        // Noise of the same size on every question costs the root of their number.
        let all = |alpha: f64| Ok(1000.0 * gaussian(20.0, alpha)?);
        struct All<F>(F);
        impl<F: Fn(f64) -> Fallible<f64>> Renyi for All<F> {
            fn divergence(&self, alpha: f64) -> Fallible<f64> {
                (self.0)(alpha)
            }
        }
        let plain = rdp::epsilon(&All(all), Delta::new(1e-6).unwrap(), Form::Improved).unwrap().value;
        assert!(found[3] < plain / 5.0, "{found:?} {plain}");
        // A technique that forgets that a question and the threshold can move both ways would pay half the shift.
        let half = GaussianSparseVector::new(10.0, 40.0, 1000).unwrap().renyi(8.0).unwrap();
        assert!(half < GaussianSparseVector::new(10.0, 20.0, 1000).unwrap().renyi(8.0).unwrap());
    }

    #[test]
    fn ends_of_the_range_are_bounds() {
        for technique in [(1e-3, 1e-3, 1), (1e6, 1e9, u64::MAX), (1.0, 1e-2, 5)] {
            let technique = GaussianSparseVector::new(technique.0, technique.1, technique.2).unwrap();
            for alpha in [1.0, 1.0 + f64::EPSILON, 1.5, 2.0, 64.0, 1e4, 1e7] {
                let found = technique.renyi(alpha).unwrap();
                // Near 1 a larger order may give less, which then holds: divergences do not fall with the order.
                assert!(
                    found.is_finite() && found >= gaussian(technique.threshold, alpha).unwrap(),
                    "{technique:?} {alpha}: {found}"
                );
            }
            assert_eq!(technique.renyi(f64::INFINITY).unwrap(), f64::INFINITY);
            assert!(technique.renyi(0.9).is_err());
        }
        assert!(GaussianSparseVector::new(0.0, 1.0, 1).is_err() && GaussianSparseVector::new(1.0, 1.0, 0).is_err());
    }
}
