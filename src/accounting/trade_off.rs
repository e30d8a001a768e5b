//! Trade-off curves: hypothesis testing as a notion of privacy.

use crate::accounting::directed::{finite, group_size, nonnegative, probability};
use crate::accounting::finite::Pair;
use crate::accounting::gaussian;
use crate::accounting::notion::ApproximateDp;
use crate::error::{Error, Fallible};
use crate::num::root::bisect;
use crate::num::round::{down, up};
use crate::num::special::normal_tail;
use crate::privacy::Epsilon;

/// Largest number of outcomes kept when curves given by data are composed.
const MAX_OUTCOMES: usize = 1 << 16;

/// f-differential privacy: a lower bound `f(a)` on the false negative rate of every test between
/// neighbours with false positive rate `a`.
///
/// Closed under post-processing, which only takes tests away.
///
/// Reference: Dong, Roth and Su 2022, Definition 2.3.
#[derive(Clone, Debug, PartialEq)]
pub struct TradeOff {
    curve: Curve,
    /// The curve is read for groups of this size.
    group: u64,
}

/// Where a curve comes from.
#[derive(Clone, Debug, PartialEq)]
enum Curve {
    Gaussian { mu: f64 },
    Laplace { epsilon: f64 },
    Approximate { guarantee: ApproximateDp },
    Data { pair: Pair },
}

impl TradeOff {
    /// `N(0, 1)` against `N(mu, 1)`.
    ///
    /// # Errors
    /// When `mu` is negative, infinite or NaN.
    pub fn gaussian(mu: f64) -> Fallible<Self> {
        Ok(TradeOff { curve: Curve::Gaussian { mu: finite("mu", mu)? }, group: 1 })
    }

    /// `Lap(0, 1)` against `Lap(epsilon, 1)`.
    ///
    /// # Errors
    /// When `epsilon` is negative, infinite or NaN.
    pub fn laplace(epsilon: f64) -> Fallible<Self> {
        Ok(TradeOff { curve: Curve::Laplace { epsilon: finite("epsilon", epsilon)? }, group: 1 })
    }

    /// The curve of every (epsilon, delta)-DP mechanism.
    ///
    /// # Errors
    /// When epsilon is infinite.
    pub fn approximate(guarantee: ApproximateDp) -> Fallible<Self> {
        finite("epsilon", guarantee.epsilon())?;
        Ok(TradeOff { curve: Curve::Approximate { guarantee }, group: 1 })
    }

    /// The curve of the best tests between two laws on finitely many outcomes, in both orders.
    pub fn data(pair: Pair) -> Self {
        TradeOff { curve: Curve::Data { pair }, group: 1 }
    }

    /// The least false negative rate at a false positive rate.
    ///
    /// Gaussian `Phi(Phi^{-1}(1-a) - mu)`; Laplace `1 - e^epsilon a`, `e^-epsilon/(4a)` or
    /// `e^-epsilon (1-a)`; (epsilon, delta) `max{0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)}`;
    /// data: the likelihood ratio test. For groups of k the map `1 - f` is applied k times.
    ///
    /// # Errors
    /// When `false_positive_rate` is no probability.
    ///
    /// # Privacy
    /// A lower bound, rounded down, under the relation of the curve.
    ///
    /// Reference: Dong, Roth and Su 2022, equations 3 to 6 and Theorem 2.14.
    pub fn false_negative_rate(&self, false_positive_rate: f64) -> Fallible<f64> {
        let mut rate = probability("false positive rate", false_positive_rate)?;
        let mut beta = self.once(rate)?;
        for _ in 1..self.group.min(100_000) {
            rate = up(1.0 - beta, 1).min(1.0);
            beta = self.once(rate)?;
        }
        Ok(if self.group > 100_000 { 0.0 } else { beta })
    }

    fn once(&self, a: f64) -> Fallible<f64> {
        let value = match &self.curve {
            Curve::Gaussian { mu } => gaussian_beta(a, *mu),
            Curve::Laplace { epsilon } => {
                let shrink = (-epsilon).exp();
                if a < shrink / 2.0 {
                    1.0 - a / shrink
                } else if a <= 0.5 {
                    shrink / a / 4.0
                } else {
                    shrink * (1.0 - a)
                }
            }
            Curve::Approximate { guarantee } => {
                let kept = 1.0 - guarantee.delta();
                let growth = guarantee.epsilon().exp();
                (kept - growth * a).max((kept - a) / growth)
            }
            Curve::Data { pair } => pair.false_negative_rate(a)?.min(pair.swapped().false_negative_rate(a)?) - 1e-14,
        };
        Ok(down(value - 4e-15, 4).clamp(0.0, 1.0))
    }

    /// Both mechanisms, the second possibly chosen in view of the first output.
    ///
    /// Gaussian curves compose to one with `mu^2 + mu'^2`; all others to the product of finite pairs,
    /// where a Laplace curve is replaced by the lower one of its epsilon.
    ///
    /// # Errors
    /// When a Gaussian curve meets another kind, a curve is for groups, or the product has more than
    /// 65536 outcomes.
    ///
    /// # Privacy
    /// A lower bound on the trade-off of the composition.
    ///
    /// Reference: Dong, Roth and Su 2022, Theorem 3.2 and Corollary 3.3.
    pub fn compose(&self, other: &Self) -> Fallible<Self> {
        if let (Curve::Gaussian { mu: a }, Curve::Gaussian { mu: b }) = (&self.curve, &other.curve) {
            let group = |k: u64| up(k as f64, if k > 1 { 1 } else { 0 });
            let (a, b) = (a * group(self.group), b * group(other.group));
            return Self::gaussian(up(a.hypot(b), 4));
        }
        let (first, second) = (self.pair()?, other.pair()?);
        if first.len().saturating_mul(second.len()) > MAX_OUTCOMES {
            return Err(Error::refused("the product of the curves has too many outcomes", "use the PLD accountant"));
        }
        Ok(Self::data(first.product(&second)?))
    }

    /// The curve for groups of `k` rows.
    ///
    /// Gaussian `k mu`, Laplace `k epsilon`; others by applying `1 - f` k times.
    ///
    /// # Errors
    /// When `k` is 0.
    ///
    /// Reference: Dong, Roth and Su 2022, Theorem 2.14.
    pub fn group(mut self, k: u64) -> Fallible<Self> {
        let size = group_size(k)?;
        if size == 1 {
            return Ok(self);
        }
        match &mut self.curve {
            Curve::Gaussian { mu } => *mu = finite("mu", up(*mu * size as f64, 2))?,
            Curve::Laplace { epsilon } => *epsilon = finite("epsilon", up(*epsilon * size as f64, 2))?,
            _ => self.group = self.group.saturating_mul(size),
        }
        Ok(self)
    }

    /// The delta at epsilon.
    ///
    /// `max over a of 1 - f(a) - e^epsilon a`: the exact profile for Gaussian curves,
    /// `1 - e^{(epsilon - epsilon_0)/2}` for Laplace curves, the hockey-stick divergence for data.
    ///
    /// # Errors
    /// When the curve is for groups and has no closed form.
    ///
    /// # Privacy
    /// An upper bound, rounded up.
    ///
    /// Reference: Dong, Roth and Su 2022, Proposition 2.12.
    pub fn to_delta(&self, epsilon: Epsilon) -> Fallible<f64> {
        let e = nonnegative("epsilon", epsilon.value())?;
        Ok(match &self.curve {
            Curve::Gaussian { mu } => up(gaussian::ln_delta(*mu, epsilon)?.exp(), 2).min(1.0),
            Curve::Laplace { epsilon: most } if e < *most => up(-((e - most) / 2.0).exp_m1(), 4).min(1.0),
            Curve::Laplace { .. } => 0.0,
            _ => {
                let pair = self.pair()?;
                up(pair.hockey_stick(e).max(pair.swapped().hockey_stick(e)) + 1e-15, 4).min(1.0)
            }
        })
    }

    /// A finite pair whose trade-off is not above the curve.
    fn pair(&self) -> Fallible<Pair> {
        if self.group > 1 {
            return Err(Error::parameter("trade-off", "is for groups", "compose first, then take groups"));
        }
        match &self.curve {
            Curve::Data { pair } => Ok(pair.clone()),
            Curve::Laplace { epsilon } => Pair::worst(*epsilon, 0.0),
            Curve::Approximate { guarantee } => Pair::worst(guarantee.epsilon(), guarantee.delta()),
            Curve::Gaussian { .. } => {
                Err(Error::parameter("trade-off", "is Gaussian beside another kind", "use the PLD accountant"))
            }
        }
    }
}

/// `Phi(Phi^{-1}(1-a) - mu)` by inverting the normal tail.
fn gaussian_beta(a: f64, mu: f64) -> f64 {
    if a == 0.0 || a == 1.0 {
        return 1.0 - a;
    }
    // The tail falls, so the smaller end of the final bracket errs to a smaller rate.
    let root = bisect(-40.0, 40.0, 1e-15, |x| Some(normal_tail(x) <= a));
    root.map_or(0.0, |it| normal_tail(mu - it.fails))
}
