//! Dominating pairs cut into cells: how much mass a set of outputs has, and between which losses.
//!
//! Every pair here has a loss that is monotone along one coordinate, so an interval of the coordinate is
//! a set of outputs whose losses lie between those of its ends.

use crate::num::normal::{self, Mass, Rounded};
use crate::num::special::{LN_SQRT_TAU, SQRT_TAU, ln_normal_tail};
use crate::num::{compensated, larger};

/// One unit of rounding.
const UNIT: f64 = f64::EPSILON / 2.0;

/// A set of outputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    /// Its mass under P, and the logarithm of that, rounded.
    pub mass: Mass,
    pub ln_mass: f64,
    /// No loss in it is below.
    pub low: f64,
    /// The loss of the whole set, `ln P(set)/Q(set)`, and by how many units of rounding it may be off.
    pub mean: f64,
    pub mean_units: f64,
    /// No loss in it is above.
    pub high: f64,
}

impl Cell {
    pub(super) fn new(mass: Mass, low: f64, mean: Rounded, high: f64) -> Self {
        let Rounded { ln, units } = mean;
        let mean = if ln.is_nan() { ln } else { ln.max(low).min(high) };
        Cell { mass, ln_mass: mass.ln(), low, mean, mean_units: units, high }
    }

    /// How much the mean may be off, with what sharing the mass by it rounds.
    fn margin(&self) -> f64 {
        let units = self.mean_units + 6.0 * (self.high - self.low);
        larger(16.0 * (self.low.abs() + self.high.abs()), units) * UNIT
    }

    /// How much the loss of the set may be off, with a product by it and a sum.
    fn blur(&self) -> f64 {
        UNIT * (self.mean_units + 2.0 * self.mean.abs())
    }

    /// The loss of the set, rounded down by more than its error.
    pub(super) fn least(&self) -> f64 {
        self.mean - self.blur()
    }

    /// The loss of the set, rounded up by more than its error.
    pub(super) fn most(&self) -> f64 {
        self.mean + self.blur()
    }

    /// [`Cell::share_high`] rounded down instead: what is at `low` counts more in moments of negative order.
    pub(super) fn share_high_least(&self) -> f64 {
        let width = self.high - self.low;
        if width <= 0.0 {
            return 1.0;
        }
        (((self.low - self.mean).exp_m1() + self.margin()) / (-width).exp_m1()).clamp(0.0, 1.0)
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
        (((self.low - self.mean).exp_m1() - self.margin()) / (-width).exp_m1()).clamp(0.0, 1.0)
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

/// A cell before sampling: masses under Q and under P, and losses.
#[derive(Clone, Copy)]
struct Plain {
    mass: Mass,
    moved: Mass,
    low: f64,
    /// `ln` of the ratio of the masses.
    mean: Rounded,
    high: f64,
}

impl Plain {
    /// The mean loss is some operations on the others, and the mass under P follows from it and the one under Q.
    fn of_ends(mass: Mass, low: f64, mean: f64, high: f64) -> Self {
        let units = 4.0 * (low.abs() + high.abs());
        let exponent = mass.exponent + mean;
        let moved = Mass { exponent, units: mass.units + units + exponent.abs(), ..mass };
        Plain { mass, moved, low, mean: Rounded { ln: mean, units }, high }
    }
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

/// The share of `q P` in `(1 - q) Q + q P`: how much of the error of their ratio is left.
fn share_of(q: f64, ratio: f64) -> f64 {
    (q * (ratio - mixed(q, ratio)).exp()).min(1.0)
}

/// [`mixed`] of a loss that is off by some units. In its own operations it errs by 8 units of itself, or by 4 and 2 of itself where the factor is near
/// 1 and its logarithm is not.
fn mixed_mean(q: f64, mean: Rounded) -> Rounded {
    let ln = mixed(q, mean.ln);
    let own = if q > 0.5 && mean.ln < -0.5 { 4.0 + 2.0 * ln.abs() } else { 8.0 * ln.abs() };
    Rounded { ln, units: 1.01 * share_of(q, mean.ln) * mean.units + own }
}

/// `(1 - q) Q + q P` of masses, from the one that is most of it.
fn with_row(q: f64, mass: Mass, moved: Mass, ratio: Rounded) -> Mass {
    let share = share_of(q, ratio.ln);
    if share < 0.5 {
        // As in `mixed`, where the logarithm of this is taken.
        let rest =
            if q > 0.5 && ratio.ln < -0.5 { (1.0 - q) + q * ratio.ln.exp() } else { 1.0 + q * ratio.ln.exp_m1() };
        mass.times(rest, 4.0 + 1.01 * share * ratio.units)
    } else {
        moved.times(q + (1.0 - q) * (-ratio.ln).exp(), 5.0 + 1.01 * (1.0 - share) * ratio.units)
    }
}

/// The density of the standard normal times a polynomial, relative to `e^ln_mass`.
fn relative_density(u: f64, ln_mass: f64) -> f64 {
    (-u * u / 2.0 - LN_SQRT_TAU - ln_mass).exp()
}

/// From this sigma on sums over many integers are integrals with corrections.
const WIDE: f64 = 1000.0;
/// Cells of at most so many integers are always summed.
const FEW: f64 = 64.0;

/// By how much the sum over the integers of a cell exceeds the integral, relative to the latter: two
/// terms of the midpoint Euler-Maclaurin formula; [`excess_left`] bounds the others. And by how many units that is rounded, absolutely.
fn sum_excess(a: f64, b: f64, ln_mass: f64, sigma: f64) -> (f64, f64) {
    let (at_a, at_b) = (relative_density(a, ln_mass), relative_density(b, ln_mass));
    let first = (b * at_b - a * at_a) / 24.0;
    let third = ((3.0 - b * b) * b * at_b - (3.0 - a * a) * a * at_a) * 7.0 / 5760.0;
    let far = a.abs().max(b.abs());
    let size = far * (at_a + at_b) * (1.0 / 24.0 + (3.0 + far * far) * 7.0 / 5760.0 / (sigma * sigma));
    let exponents = 48.0 + 4.0 * far * far + 3.0 * ln_mass.abs();
    ((first + third / (sigma * sigma)) / (sigma * sigma), size / (sigma * sigma) * exponents)
}

/// Units of rounding of what [`sum_excess`] leaves out: a Hermite polynomial of degree 6 times 31 / 967680.
fn excess_left(far: f64, sigma: f64) -> f64 {
    3.3e-5 * ((far + 3.0) / sigma).powi(6) / UNIT
}

/// `sum_x e^(-x^2 / (2 sigma^2))` over all integers, within 8 units (Poisson summation for large sigma).
fn normalizer(sigma: f64) -> f64 {
    if sigma >= 1.0 {
        let correction = 2.0 * (-2.0 * (std::f64::consts::PI * sigma).powi(2)).exp();
        return sigma * SQRT_TAU * (1.0 + correction);
    }
    let sum = compensated((1..60).map(|x| (-0.5 * (f64::from(x) / sigma).powi(2)).exp()));
    1.0 + 2.0 * sum
}

/// The integers from `from` up to and without `to` under the discrete Gaussian.
fn integers(sigma: f64, shift: f64, from: f64, to: f64) -> Plain {
    let loss = |x: f64| shift / sigma * ((x - shift / 2.0) / sigma);
    let (low, high) = (loss(from), loss(to - 1.0));
    if sigma < WIDE || to - from <= FEW {
        // Relative to the integer nearest 0, so that nothing underflows.
        let nearest = 0f64.clamp(from, to - 1.0);
        let count = (to - from) as u64;
        let exponent = |x: f64| -(x - nearest) / sigma * ((x + nearest) / sigma) / 2.0;
        // Small losses are summed less 1, others as they are: far out the density falls so fast that a
        // difference from 1 would keep no digit. The largest term under P is the one nearest the shift.
        let peak = shift.clamp(from, to - 1.0).round();
        let (small, top) = (low.abs().max(high.abs()) < 1.0, exponent(peak) + loss(peak));
        let at = |i: u64| from + i as f64;
        let density = |i: u64| exponent(at(i)).exp();
        let moved = |i: u64| {
            let x = at(i);
            if small { density(i) * loss(x).exp_m1() } else { (exponent(x) + loss(x) - top).exp() }
        };
        let (mass, moved) = (compensated((0..count).map(density)), compensated((0..count).map(moved)));
        // Units of rounding: some of each exponent, in the mean, and those of a function and a sum.
        let size = |i: u64| density(i) * exponent(at(i)).abs();
        let own = 5.0 + 5.0 * (0..count).map(size).sum::<f64>() / mass;
        let largest = low.abs().max(high.abs());
        let mass_of_q = at_distance(nearest, sigma, mass, own);
        if small {
            let ratio = moved / mass;
            let ln = ratio.ln_1p();
            // Errors of losses, functions and sums; those of weights move a mean by no more than losses differ.
            let units = (2.0 * largest).exp() * (14.0 * largest + 2.0 * own * (high - low));
            let moved = mass_of_q.times(1.0 + ratio, units + 1.0);
            return Plain { mass: mass_of_q, moved, low, mean: Rounded { ln, units }, high };
        }
        let size = |i: u64| {
            let (exponent, loss) = (exponent(at(i)), loss(at(i)));
            (exponent + loss - top).exp() * (exponent.abs() + loss.abs() + top.abs())
        };
        let at_top = 8.0 * (exponent(peak).abs() + loss(peak).abs());
        let other = 5.0 + at_top + 8.0 * (0..count).map(size).sum::<f64>() / moved;
        let ratio = (moved / mass).ln();
        let ln = ratio + top;
        let units = own + other + 1.0 + 2.0 * ratio.abs() + ln.abs();
        // Relative to the largest term, so that its own logarithm is not rounded twice.
        let moved = at_distance(peak - shift, sigma, moved, other);
        return Plain { mass: mass_of_q, moved, low, mean: Rounded { ln, units }, high };
    }
    let (a, b, mu) = ((from - 0.5) / sigma, (to - 0.5) / sigma, shift / sigma);
    let it = normal::cell(a, b, mu);
    // What the width lost when its ends were rounded.
    let width = (to - from) / sigma / (b - a);
    let (of_q, q_units) = sum_excess(a, b, it.mass.ln(), sigma);
    let (of_p, p_units) = sum_excess(a - mu, b - mu, it.moved.ln(), sigma);
    // The place is off by two units, which the square of what is far magnifies; under P the shift is, too.
    let far = a.abs().max(b.abs());
    let (of_far, of_moved) = (excess_left(far, sigma), excess_left(far + mu, sigma));
    let place = |far: f64| 7.0 + 2.0 * (1.0 + far * far);
    let mass = it.mass.times(width * (1.0 + of_q), place(far) + q_units + of_far);
    let moved = it.moved.times(width * (1.0 + of_p), place(far + mu) + p_units + of_moved);
    let ln = it.ratio.ln + (of_p.ln_1p() - of_q.ln_1p());
    // What is left out is a mean of a polynomial under either law, and these differ by no more than the polynomial does over the shift, and over
    // the cell as far as the laws in it differ.
    let apart = mu + (b - a) * (2.0 * mu * (b - a)).min(1.0);
    let left = (of_far + of_moved).min(12.0 * apart * of_moved / (far + mu + 3.0));
    let units = it.ratio.units + 8.0 * mu * (far + mu) + 2.0 * (q_units + p_units) + left + 2.0 * ln.abs();
    let mean = Rounded { ln, units };
    Plain { mass, moved, low, mean, high }
}

/// A sum over integers relative to the density of the discrete Gaussian at a distance, and off by some units.
fn at_distance(distance: f64, sigma: f64, sum: f64, units: f64) -> Mass {
    let x = distance / sigma;
    let square = x * x;
    // What the division and the square rounded.
    let lost = x.mul_add(x, -square) / 2.0 + x * ((-x).mul_add(sigma, distance) / sigma);
    Mass { exponent: -square / 2.0, factor: sum / normalizer(sigma) * (-lost).exp(), units: units + 12.0 }
}

impl Base {
    fn plain(&self, from: f64, to: f64) -> Plain {
        match *self {
            Base::Gaussian { mu } => {
                let it = normal::cell(from, to, mu);
                let (low, high) = (normal::loss(from, mu), normal::loss(to, mu));
                Plain { mass: it.mass, moved: it.moved, low, mean: it.ratio, high }
            }
            Base::DiscreteGaussian { sigma, shift } => integers(sigma, shift, from, to),
            Base::Laplace { epsilon } => {
                let width = (from - to) / 2.0;
                let exponent = -(epsilon + from) / 2.0;
                let mass = Mass { exponent, factor: -width.exp_m1() / 2.0, units: 4.0 + exponent.abs() };
                Plain::of_ends(mass, from, from / 2.0 + to / 2.0, to)
            }
            Base::BoundedRange { epsilon } => {
                // The integral of e^(-l/2) / 2 over that of all, `e^(epsilon/2) - e^(-epsilon/2)`.
                let width = (from - to) / 2.0;
                let exponent = -(epsilon + from) / 2.0;
                let factor = width.exp_m1() / (-epsilon).exp_m1();
                let mass = Mass { exponent, factor, units: 6.0 + exponent.abs() };
                Plain::of_ends(mass, from, from / 2.0 + to / 2.0, to)
            }
            Base::DiscreteLaplace { unit, shift } => {
                let (exponent, factor) = (-from * unit, -(-unit * (to - from)).exp_m1() / (1.0 + (-unit).exp()));
                let mass = Mass { exponent, factor, units: 10.0 + exponent.abs() };
                let loss = |twice: f64| (twice - shift) * unit;
                Plain::of_ends(mass, loss(2.0 * from), loss(from + (to - 1.0)), loss(2.0 * (to - 1.0)))
            }
            Base::TwoPoint { epsilon } => Plain::of_ends(Mass::of_ln(0.0, 0.0), -epsilon, 0.0, epsilon),
        }
    }

    fn atoms(&self) -> Vec<Plain> {
        let atom = |ln_mass: f64, loss: f64| {
            Plain::of_ends(Mass::of_ln(ln_mass, 6.0 * (1.0 + ln_mass.abs() + loss.abs())), loss, loss, loss)
        };
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
        let Plain { mass, moved, low, mean, high } = plain;
        match self.sampling {
            Sampling::Whole | Sampling::Replace(_) => Cell::new(moved, low, mean, high),
            Sampling::Remove(q) => {
                Cell::new(with_row(q, mass, moved, mean), mixed(q, low), mixed_mean(q, mean), mixed(q, high))
            }
            Sampling::Add(q) => {
                let Rounded { ln, units } = mixed_mean(q, mean);
                Cell::new(mass, -mixed(q, high), Rounded { ln: -ln, units }, -mixed(q, low))
            }
        }
    }

    /// The outputs between two points of the coordinate.
    pub(super) fn cell(&self, from: f64, to: f64) -> Cell {
        let (Base::Gaussian { mu }, Sampling::Replace(q)) = (self.base, self.sampling) else {
            return self.sampled(self.base.plain(from, to));
        };
        let it = normal::cell(from, to, mu);
        let loss = |u: f64| mixed(q, normal::loss(u, mu)) - mixed(q, normal::loss(u, -mu));
        let (right, left) = (mixed_mean(q, it.ratio), mixed_mean(q, normal::cell(from, to, -mu).ratio));
        let ln = right.ln - left.ln;
        let mean = Rounded { ln, units: right.units + left.units + ln.abs() };
        Cell::new(with_row(q, it.mass, it.moved, it.ratio), loss(from), mean, loss(to))
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

    /// Against sums over integers, differences of `erfc` and closed forms in 60 digits.
    #[test]
    fn masses_err_by_no_more_than_their_units() {
        let mut used = std::collections::BTreeMap::<String, (f64, u32)>::new();
        let (mut least, mut beyond) = (f64::INFINITY, 0.0);
        for line in include_str!("../../../tests/golden/pair_masses.csv").lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let number = |k: usize| fields[k].parse::<f64>().unwrap();
            let base = match fields[0] {
                "gaussian" => Base::Gaussian { mu: number(1) },
                "discrete-gaussian" => Base::DiscreteGaussian { sigma: number(1), shift: number(2) },
                "laplace" => Base::Laplace { epsilon: number(1) },
                "bounded-range" => Base::BoundedRange { epsilon: number(1) },
                "discrete-laplace" => Base::DiscreteLaplace { unit: number(1), shift: number(2) },
                other => panic!("{other}"),
            };
            let sampling = match fields[3] {
                "whole" => Sampling::Whole,
                "remove" => Sampling::Remove(number(4)),
                "add" => Sampling::Add(number(4)),
                "replace" => Sampling::Replace(number(4)),
                other => panic!("{other}"),
            };
            let cell = Pair { base, sampling }.cell(number(5), number(6));
            let ln_factor = (number(7) - cell.mass.exponent) + number(8);
            let error = (cell.mass.factor / ln_factor.exp() - 1.0).abs() / UNIT;
            // What the comparison itself rounds.
            let slack = 4.0 + 2.0 * ln_factor.abs();
            assert!(error <= cell.mass.units + slack, "{line}: {error} units, {}", cell.mass.units);
            let most = used.entry(fields[0].to_owned()).or_default();
            *most = (most.0.max(error / (cell.mass.units + slack)), most.1 + 1);
            // And so does the loss of the set, by which its mass is shared between its ends.
            let error = ((cell.mean - number(9)) - number(10)).abs();
            assert!(error <= cell.margin(), "{line}: {error:e}, {:e}", cell.margin());
            least = least.min(cell.margin() / (8.0 * f64::EPSILON * (cell.low.abs() + cell.high.abs())));
            beyond = f64::max(beyond, error / (8.0 * f64::EPSILON * (cell.low.abs() + cell.high.abs())));
        }
        assert!(least <= 1.0 && beyond > 1.0, "a margin of the ends alone would do: {least} {beyond}");
        assert!(used.len() == 5 && used["gaussian"].0 > 0.1 && used["discrete-gaussian"].0 > 0.1, "{used:?}");
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
            let found = integers(sigma, shift, from, to).mean.ln;
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
            assert!((it.mass.ln() - (sum(0.0) / normalizer(sigma)).ln()).abs() < 1e-12);
            assert!((it.mean.ln - (sum(3.0) / sum(0.0)).ln()).abs() < 1e-12);
        }
    }
}
