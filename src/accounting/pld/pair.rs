//! Dominating pairs cut into cells: how much mass a set of outputs has, and between which losses.
//!
//! Every pair here has a loss that is monotone along one coordinate, so an interval of the coordinate is
//! a set of outputs whose losses lie between those of its ends.

use crate::num::normal;
use crate::num::special::{LN_SQRT_TAU, ln_normal_tail};

/// A set of outputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    /// `ln` of its mass under P.
    pub ln_mass: f64,
    /// No loss in it is below.
    pub low: f64,
    /// The loss of the whole set, `ln P(set)/Q(set)`.
    pub mean: f64,
    /// No loss in it is above.
    pub high: f64,
}

impl Cell {
    fn new(ln_mass: f64, low: f64, mean: f64, high: f64) -> Self {
        Cell { ln_mass, low, mean: mean.max(low).min(high), high }
    }

    /// [`Cell::share_high`] rounded down instead: what is at `low` counts more in moments of negative order.
    pub(super) fn share_high_least(&self) -> f64 {
        let width = self.high - self.low;
        if width <= 0.0 {
            return 1.0;
        }
        let error = 8.0 * f64::EPSILON * (self.low.abs() + self.high.abs());
        (((self.low - self.mean).exp_m1() + error) / (-width).exp_m1()).clamp(0.0, 1.0)
    }

    /// The share of the mass that must sit at `high` when the rest sits at `low` and both masses, under P
    /// and under Q, are kept.
    ///
    /// Moving the set there can only make P and Q easier to tell apart (connect the dots). The share is
    /// rounded up by more than the error of the mean: a strong tilt multiplies what is at `high` by
    /// `e^(c (high - low))`, so that a share of 1e-13 may be what matters.
    pub(super) fn share_high(&self) -> f64 {
        let width = self.high - self.low;
        if width <= 0.0 {
            return 1.0;
        }
        let error = 8.0 * f64::EPSILON * (self.low.abs() + self.high.abs());
        (((self.low - self.mean).exp_m1() - error) / (-width).exp_m1()).clamp(0.0, 1.0)
    }
}

/// What a pair is before sampling. Q is the law without the row, P the law with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Base {
    /// `N(mu, 1)` against `N(0, 1)`; the coordinate is the output.
    Gaussian { mu: f64 },
    /// The discrete Gaussian moved by `shift` against itself; the coordinate is the output.
    DiscreteGaussian { sigma: f64, shift: f64 },
    /// The Laplace law moved by `epsilon` scales; the coordinate is the loss.
    Laplace { epsilon: f64 },
    /// The two-sided geometric law of rate `unit` moved by `shift`; the coordinate counts steps.
    DiscreteLaplace { unit: f64, shift: f64 },
    /// A choice of epsilon-bounded range; the coordinate is the loss, whose density is `e^(l/2)` under P and `e^(-l/2)` under Q up to a
    /// common factor, on `[-epsilon, epsilon]`.
    ///
    /// Losses of two neighbours lie in an interval of length epsilon, so the choice is dominated by randomised responses with losses
    /// `epsilon - t` and `-t` for one t, whose profile is the chord of `(1 - r)_+` between the two. The largest of them all over t is
    /// `(e^(epsilon/2) - e^(x/2))^2 / (e^epsilon - 1)` at x (Dong, Durfee and Rogers 2020). It is convex in `r = e^x`, as a largest of
    /// convex functions is, so it is the profile of a pair (Zhu, Dong and Wang 2022, Proposition 8), whose density under Q is its second
    /// derivative in r. This is that pair; it is the same in both directions.
    BoundedRange { epsilon: f64 },
    /// Randomised response.
    TwoPoint { epsilon: f64 },
}

/// How a row enters the sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sampling {
    /// Always: the pair is (P, Q).
    Whole,
    /// By a coin: the pair is `((1-q) Q + q P, Q)`.
    Remove(f64),
    /// By a coin: the pair is `(Q, (1-q) Q + q P)`.
    Add(f64),
    /// By a coin, and the other data set has the opposite row; Gaussian only.
    Replace(f64),
}

/// A dominating pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub base: Base,
    pub sampling: Sampling,
}

/// Where the cells of a pair are.
pub(super) struct Outline {
    /// Sets with one loss, outside the coordinate.
    pub atoms: Vec<Cell>,
    /// The ends of the coordinate, if it has any inside.
    pub range: Option<(f64, f64)>,
    /// `ln` of a bound on the mass under P beyond each end.
    pub ln_beyond: f64,
}

/// A cell before sampling: mass under Q, and losses.
#[derive(Clone, Copy)]
struct Plain {
    ln_mass: f64,
    low: f64,
    mean: f64,
    high: f64,
}

/// `ln(1 - q + q e^loss)`, relatively precise also when tiny.
pub(super) fn mixed(q: f64, loss: f64) -> f64 {
    if loss >= 700.0 {
        // A tiny q has no reciprocal, and its logarithm would lose digits where the two nearly cancel.
        let half = (loss / 2.0).exp();
        let odds = q * half * half;
        if odds.is_finite() { (odds - q).ln_1p() } else { loss + q.ln() + ((-q).ln_1p() - loss - q.ln()).exp() }
    } else if q > 0.5 && loss < -0.5 {
        // Here 1 - q is exact, and the other form would cancel.
        ((1.0 - q) + q * loss.exp()).ln()
    } else {
        (q * loss.exp_m1()).ln_1p()
    }
}

/// The density of the standard normal times a polynomial, relative to `e^ln_mass`.
fn relative_density(u: f64, ln_mass: f64) -> f64 {
    (-u * u / 2.0 - LN_SQRT_TAU - ln_mass).exp()
}

/// By how much the sum over the integers of a cell exceeds the integral, relative to the latter: two
/// terms of the midpoint Euler-Maclaurin formula, the next one being below 1e-12 from sigma 1000 on.
fn sum_excess(a: f64, b: f64, ln_mass: f64, sigma: f64) -> f64 {
    let (at_a, at_b) = (relative_density(a, ln_mass), relative_density(b, ln_mass));
    let first = (b * at_b - a * at_a) / 24.0;
    let third = ((3.0 - b * b) * b * at_b - (3.0 - a * a) * a * at_a) * 7.0 / 5760.0;
    (first + third / (sigma * sigma)) / (sigma * sigma)
}

/// From this sigma on sums over many integers are integrals with corrections.
const WIDE: f64 = 1000.0;
/// Cells of at most so many integers are always summed.
const FEW: f64 = 64.0;

/// `ln sum_x e^(-x^2 / (2 sigma^2))` over all integers (Poisson summation for large sigma).
fn ln_normalizer(sigma: f64) -> f64 {
    if sigma >= 1.0 {
        let correction = 2.0 * (-2.0 * (std::f64::consts::PI * sigma).powi(2)).exp();
        return sigma.ln() + LN_SQRT_TAU + correction.ln_1p();
    }
    let sum: f64 = (1..60).map(|x| (-0.5 * (f64::from(x) / sigma).powi(2)).exp()).sum();
    (2.0 * sum).ln_1p()
}

/// The integers from `from` up to and without `to` under the discrete Gaussian.
fn integers(sigma: f64, shift: f64, from: f64, to: f64) -> Plain {
    let loss = |x: f64| shift / sigma * ((x - shift / 2.0) / sigma);
    let (low, high) = (loss(from), loss(to - 1.0));
    if sigma < WIDE || to - from <= FEW {
        // Relative to the integer nearest 0, so that nothing underflows.
        let nearest = 0f64.clamp(from, to - 1.0);
        let exponent = |x: f64| -(x - nearest) / sigma * ((x + nearest) / sigma) / 2.0;
        // Small losses are summed less 1, others as they are: far out the density falls so fast that a
        // difference from 1 would keep no digit. The largest term under P is the one nearest the shift.
        let peak = shift.clamp(from, to - 1.0).round();
        let (small, top) = (low.abs().max(high.abs()) < 1.0, exponent(peak) + loss(peak));
        let (mut mass, mut moved) = (0.0, 0.0);
        for i in 0..(to - from) as u64 {
            let x = from + i as f64;
            let density = exponent(x).exp();
            mass += density;
            moved += if small { density * loss(x).exp_m1() } else { (exponent(x) + loss(x) - top).exp() };
        }
        let mean = if small { (moved / mass).ln_1p() } else { (moved / mass).ln() + top };
        let ln_mass = f64::ln(mass) - 0.5 * (nearest / sigma).powi(2) - ln_normalizer(sigma);
        return Plain { ln_mass, low, mean, high };
    }
    let (a, b, mu) = ((from - 0.5) / sigma, (to - 0.5) / sigma, shift / sigma);
    let (ln_mass, ratio) = normal::cell(a, b, mu);
    let plain = sum_excess(a, b, ln_mass, sigma);
    let moved = sum_excess(a - mu, b - mu, ln_mass + ratio, sigma);
    Plain { ln_mass: ln_mass + plain.ln_1p(), low, mean: ratio + moved.ln_1p() - plain.ln_1p(), high }
}

impl Base {
    fn plain(&self, from: f64, to: f64) -> Plain {
        match *self {
            Base::Gaussian { mu } => {
                let (ln_mass, mean) = normal::cell(from, to, mu);
                Plain { ln_mass, low: normal::loss(from, mu), mean, high: normal::loss(to, mu) }
            }
            Base::DiscreteGaussian { sigma, shift } => integers(sigma, shift, from, to),
            Base::Laplace { epsilon } => {
                let width = (from - to) / 2.0;
                let ln_mass = (-width.exp_m1() / 2.0).ln() - (epsilon + from) / 2.0;
                Plain { ln_mass, low: from, mean: from / 2.0 + to / 2.0, high: to }
            }
            Base::BoundedRange { epsilon } => {
                // The integral of e^(-l/2) / 2 over that of all, `e^(epsilon/2) - e^(-epsilon/2)`.
                let width = (from - to) / 2.0;
                let ln_all = epsilon / 2.0 + (-(-epsilon).exp_m1()).ln();
                let ln_mass = (-width.exp_m1()).ln() - from / 2.0 - ln_all;
                Plain { ln_mass, low: from, mean: from / 2.0 + to / 2.0, high: to }
            }
            Base::DiscreteLaplace { unit, shift } => {
                let ln_sum = (-(-unit * (to - from)).exp_m1()).ln() - (-unit).exp().ln_1p();
                let loss = |twice: f64| (twice - shift) * unit;
                Plain {
                    ln_mass: ln_sum - from * unit,
                    low: loss(2.0 * from),
                    mean: loss(from + (to - 1.0)),
                    high: loss(2.0 * (to - 1.0)),
                }
            }
            Base::TwoPoint { epsilon } => Plain { ln_mass: 0.0, low: -epsilon, mean: 0.0, high: epsilon },
        }
    }

    fn atoms(&self) -> Vec<Plain> {
        let atom = |ln_mass: f64, loss: f64| Plain { ln_mass, low: loss, mean: loss, high: loss };
        // Masses under Q at the largest and the smallest loss.
        let pair = |low: f64, epsilon: f64| vec![atom(low, -epsilon), atom(low - epsilon, epsilon)];
        match *self {
            Base::Gaussian { .. } | Base::DiscreteGaussian { .. } | Base::BoundedRange { .. } => Vec::new(),
            Base::Laplace { epsilon } => pair(-std::f64::consts::LN_2, epsilon),
            Base::DiscreteLaplace { unit, shift } => pair(-(-unit).exp().ln_1p(), unit * shift),
            Base::TwoPoint { epsilon } => pair(-(-epsilon).exp().ln_1p(), epsilon),
        }
    }
}

impl Pair {
    /// Puts the sampling on a cell.
    fn sampled(&self, plain: Plain) -> Cell {
        let Plain { ln_mass, low, mean, high } = plain;
        match self.sampling {
            Sampling::Whole | Sampling::Replace(_) => Cell::new(ln_mass + mean, low, mean, high),
            Sampling::Remove(q) => Cell::new(ln_mass + mixed(q, mean), mixed(q, low), mixed(q, mean), mixed(q, high)),
            Sampling::Add(q) => Cell::new(ln_mass, -mixed(q, high), -mixed(q, mean), -mixed(q, low)),
        }
    }

    /// The outputs between two points of the coordinate.
    pub(super) fn cell(&self, from: f64, to: f64) -> Cell {
        let (Base::Gaussian { mu }, Sampling::Replace(q)) = (self.base, self.sampling) else {
            return self.sampled(self.base.plain(from, to));
        };
        let (ln_mass, right) = normal::cell(from, to, mu);
        let (_, left) = normal::cell(from, to, -mu);
        let loss = |u: f64| mixed(q, normal::loss(u, mu)) - mixed(q, normal::loss(u, -mu));
        let with = mixed(q, right);
        Cell::new(ln_mass + with, loss(from), with - mixed(q, left), loss(to))
    }

    /// Atoms, range and what lies beyond, when the normal laws are cut at `reach` standard deviations.
    pub(super) fn outline(&self, reach: f64) -> Outline {
        let atoms = self.base.atoms().into_iter().map(|it| self.sampled(it)).collect();
        let ln_tail = ln_normal_tail(reach);
        let (range, ln_beyond) = match self.base {
            Base::Gaussian { mu } => {
                let left = if matches!(self.sampling, Sampling::Replace(_)) { -mu - reach } else { -reach };
                (Some((left, mu + reach)), ln_tail)
            }
            // P[X >= m] <= P[N(0, sigma^2) >= m - 1] (Canonne, Kamath and Steinke 2020).
            Base::DiscreteGaussian { sigma, shift } => {
                let end = (reach * sigma).ceil() + 2.0;
                (Some((-end, shift + end)), ln_tail)
            }
            Base::Laplace { epsilon } | Base::BoundedRange { epsilon } => {
                (Some((-epsilon, epsilon)), f64::NEG_INFINITY)
            }
            Base::DiscreteLaplace { shift, .. } if shift > 1.0 => (Some((1.0, shift)), f64::NEG_INFINITY),
            Base::DiscreteLaplace { .. } | Base::TwoPoint { .. } => (None, f64::NEG_INFINITY),
        };
        Outline { atoms, range, ln_beyond }
    }

    /// Whether the coordinate counts whole steps.
    pub(super) fn is_discrete(&self) -> bool {
        matches!(self.base, Base::DiscreteGaussian { .. } | Base::DiscreteLaplace { .. })
    }

    /// Whether the pair is in the range for which tilts and cells are meant; others get analytic bounds.
    pub(super) fn is_tractable(&self, reach: f64) -> bool {
        let rate = match self.sampling {
            Sampling::Whole => 1.0,
            Sampling::Remove(q) | Sampling::Add(q) | Sampling::Replace(q) => q,
        };
        let size = match self.base {
            Base::Gaussian { mu } => mu,
            Base::DiscreteGaussian { sigma, shift } if sigma < WIDE && shift + 2.0 * reach * sigma > 1e6 => f64::NAN,
            Base::DiscreteGaussian { sigma, shift } => shift / sigma,
            Base::Laplace { epsilon } | Base::BoundedRange { epsilon } | Base::TwoPoint { epsilon } => epsilon,
            Base::DiscreteLaplace { unit, shift } => unit * shift,
        };
        reach.is_finite() && rate >= 1e-30 && (1e-30..=1e3).contains(&size)
    }

    /// A point that splits an interval of the coordinate, unless it cannot be split.
    pub(super) fn middle(&self, from: f64, to: f64) -> Option<f64> {
        let half = from + (to - from) / 2.0;
        let middle = if self.is_discrete() { half.floor() } else { half };
        (middle > from && middle < to).then_some(middle)
    }

    /// `ln` mass and loss, rounded down, of the outputs with the largest loss, if they have any mass.
    pub(super) fn top(&self) -> Option<(f64, f64)> {
        let atoms = self.base.atoms().into_iter().map(|it| self.sampled(it));
        let top = atoms.reduce(|a, b| if a.mean >= b.mean { a } else { b })?;
        Some((top.ln_mass - 1e-14 * (1.0 + top.ln_mass.abs()), top.mean * (1.0 - 1e-14)))
    }

    /// The largest loss, if it is bounded; used as a bound on epsilon, so rounded up.
    pub(super) fn largest_loss(&self) -> f64 {
        let plain = match self.base {
            Base::Gaussian { .. } | Base::DiscreteGaussian { .. } => f64::INFINITY,
            Base::Laplace { epsilon } | Base::BoundedRange { epsilon } | Base::TwoPoint { epsilon } => epsilon,
            Base::DiscreteLaplace { unit, shift } => unit * shift,
        };
        let loss = match self.sampling {
            Sampling::Whole => plain,
            Sampling::Replace(q) => {
                if q < 1.0 {
                    f64::INFINITY
                } else {
                    plain
                }
            }
            Sampling::Remove(q) if plain.is_finite() => mixed(q, plain),
            Sampling::Remove(_) => plain,
            Sampling::Add(q) => -mixed(q, -plain),
        };
        loss * (1.0 + 1e-14)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::logs::LnSum;

    fn pairs() -> Vec<Pair> {
        let bases = [
            Base::Gaussian { mu: 1.0 },
            Base::Gaussian { mu: 1e-3 },
            Base::DiscreteGaussian { sigma: 0.7, shift: 1.0 },
            Base::DiscreteGaussian { sigma: 5e4, shift: 30.0 },
            Base::Laplace { epsilon: 0.8 },
            Base::DiscreteLaplace { unit: 0.3, shift: 7.0 },
            Base::BoundedRange { epsilon: 0.9 },
            Base::TwoPoint { epsilon: 1.5 },
        ];
        let samplings = [Sampling::Whole, Sampling::Remove(0.1), Sampling::Add(0.1)];
        let mut all: Vec<Pair> =
            bases.iter().flat_map(|&base| samplings.map(|sampling| Pair { base, sampling })).collect();
        all.push(Pair { base: Base::Gaussian { mu: 0.7 }, sampling: Sampling::Replace(0.2) });
        all
    }

    /// Far out all of a wide cell sits at its near end, many units of loss below its middle.
    #[test]
    fn wide_cells_in_the_tail_keep_their_ratio() {
        let (sigma, shift) = (4.580_946_529_368_63, 2.0);
        for (from, to) in [(1900.0, 2400.0), (-2400.0, -1900.0), (-300.0, 300.0), (40.0, 41.0), (1500.0, 1564.0)] {
            let (mut with, mut without) = (LnSum::default(), LnSum::default());
            for i in 0..(to - from) as u64 {
                let x = from + i as f64;
                without.add(-x * x / (2.0 * sigma * sigma));
                with.add(-(x - shift) * (x - shift) / (2.0 * sigma * sigma));
            }
            let truth = with.value() - without.value();
            let found = integers(sigma, shift, from, to).mean;
            let size = 1.0 + without.value().abs();
            assert!((found - truth).abs() < 1e-14 * size, "{from} {to}: {found} {truth}");
        }
    }

    #[test]
    fn cells_make_up_both_laws() {
        for pair in pairs() {
            let outline = pair.outline(12.0);
            let mut cells = outline.atoms;
            if let Some((from, to)) = outline.range {
                let mut stack = vec![(from, to, 10)];
                while let Some((a, b, left)) = stack.pop() {
                    match pair.middle(a, b) {
                        Some(m) if left > 0 => stack.extend([(a, m, left - 1), (m, b, left - 1)]),
                        _ => cells.push(pair.cell(a, b)),
                    }
                }
            }
            let p: f64 = cells.iter().map(|it| it.ln_mass.exp()).sum();
            let q: f64 = cells.iter().map(|it| (it.ln_mass - it.mean).exp()).sum();
            assert!((p - 1.0).abs() < 1e-12 && (q - 1.0).abs() < 1e-12, "{pair:?}: {p} {q}");
            assert!(cells.iter().all(|it| it.low <= it.mean && it.mean <= it.high), "{pair:?}");
        }
    }

    #[test]
    fn sums_and_integrals_of_the_discrete_gaussian_agree() {
        let sigma = 1500.0;
        for (from, to) in [(-4000.0, -3900.0), (-50.0, 50.0), (9000.0, 9070.0)] {
            let sum = |shift: f64| -> f64 {
                (0..(to - from) as i64).map(|i| (-0.5 * ((from + i as f64 - shift) / sigma).powi(2)).exp()).sum()
            };
            let it = integers(sigma, 3.0, from, to);
            assert!((it.ln_mass - (sum(0.0).ln() - ln_normalizer(sigma))).abs() < 1e-12);
            assert!((it.mean - (sum(3.0) / sum(0.0)).ln()).abs() < 1e-12);
        }
    }
}
