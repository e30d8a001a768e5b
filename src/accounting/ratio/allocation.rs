//! Random allocation: every row joins exactly one of t steps, chosen evenly and on its own.
//!
//! Steps add Gaussian noise, so the pair of an epoch is `P = 1/t sum_i N(mu e_i, I_t)` against `Q = N(0, I_t)`, whose likelihood ratio is
//! the mean of t independent ratios of one step, `R = 1/t sum_i e^(mu x_i - mu^2/2)` with x from Q. Everything about the pair follows
//! from the law of R under Q: P has density R there. `delta` is `E_Q[(R - e^eps)_+]` in the remove direction, `E_Q[(1 - e^eps R)_+]` in the
//! add direction, and in a composition the same of the product of the ratios of the epochs. Both are convex in each ratio.
//!
//! So a law of R that is larger in convex order dominates, and one that is smaller is dominated. Convex order survives means of
//! independent terms, so the law of the mean of t is built up by halves, and after each average masses are moved to the points `e^(h k)`:
//! spread over the two next to them with their mean kept (`spread`), or joined with all others between two points at their mean
//! (`merged`). Both err by the square of h. What is far above nearly all of the mass has points that are farther apart.
//!
//! Reference: Chua, Ghazi, Harrison, Kamath, Kumar, Leeman, Manurangsi, Sinha and Zhang 2024, "Balls-and-Bins sampling for DP-SGD" (the
//! pair dominates, also where queries are chosen in view of earlier answers); Feldman and Shenfeld 2025, "Privacy amplification by random
//! allocation"; Shaked and Shanthikumar 2007, Theorem 3.A.12 (convex order of sums).

use super::merged::Merged;
use super::part::{Part, REACH, UNIT};
use super::points::Points;
use super::spread::Spread;
use crate::num::special::ln_normal_tail;

/// Standard deviations that the body of a law covers, about and at most.
const BODY: f64 = 48.0;
/// Points of its tail, at most.
const TAIL_POINTS: f64 = 1_500.0;
/// Mass in the tail.
const TAIL: f64 = 1e-14;
/// Mass that may be left out at each end in each average.
const NEXT_TO_NONE: f64 = 1e-42;

/// The law of a mean of ratios.
#[derive(Clone)]
struct Law<P> {
    /// Points in a standard deviation of the logarithm of the ratio.
    fine: f64,
    body: P,
    tail: P,
    /// Probabilities of what was left out, under P and under Q.
    lost: (f64, f64),
    /// Bounds on the relative errors of masses and of ratios.
    errors: (f64, f64),
}

/// The mass of points under P and under Q.
fn masses(points: &[(f64, f64)]) -> (f64, f64) {
    points.iter().fold((0.0, 0.0), |sum, (mass, ratio)| (sum.0 + mass * ratio.exp(), sum.1 + mass))
}

/// How many of the points, taken in this order, have together at most this mass under P and under Q.
fn few<'a>(points: impl Iterator<Item = &'a (f64, f64)>, most: f64) -> usize {
    let mut sum = (0.0, 0.0);
    points
        .take_while(|(mass, ratio)| {
            sum = (sum.0 + mass * ratio.exp(), sum.1 + mass);
            sum.0.max(sum.1) <= most
        })
        .count()
}

/// The smaller of the standard deviations of the logarithm of the ratio under P and under Q.
fn deviation(points: &[(f64, f64)]) -> f64 {
    let of = |mass: &dyn Fn(&(f64, f64)) -> f64| {
        let sum: f64 = points.iter().map(mass).sum();
        let mean = points.iter().map(|it| mass(it) * it.1).sum::<f64>() / sum;
        (points.iter().map(|it| mass(it) * (it.1 - mean).powi(2)).sum::<f64>() / sum).sqrt()
    };
    of(&|it| it.0).min(of(&|it| it.0 * it.1.exp()))
}

impl<P: Part> Law<P> {
    fn of_step(mu: f64, fine: f64) -> Self {
        let one = P::of_step(mu, mu / fine);
        let beyond = 2.0 * ln_normal_tail(REACH).exp() * (1.0 + 1e-9);
        let (body, tail) = one.split(one.points().len());
        Law { fine, body, tail: tail.coarser(2), lost: (beyond, beyond), errors: (1e-12, 1e-12) }.settled()
    }

    /// Leaves out what has next to no mass at the ends, and puts each point where it belongs.
    fn settled(mut self) -> Self {
        let mut times = 0;
        while self.body.step() * f64::from(1 << times) < 0.75 * self.tail.step() {
            times += 1;
        }
        // What is below the tail moves to the body, and back what is far above its mass.
        let points = self.body.points();
        let high = few(points.iter().rev(), TAIL);
        let (body, above) = self.body.split(points.len() - high);
        let end = body.points().last().map_or(f64::NEG_INFINITY, |it| it.1);
        let below = self.tail.points().iter().filter(|it| it.1 <= end).count();
        let (below, mut tail) = self.tail.split(below);
        let below = (0..times).fold(below, |it, _| it.finer());
        self.body = body.plus(&below);
        tail = tail.plus(&above.coarser(times));
        let points = tail.points();
        let gone = few(points.iter().rev(), NEXT_TO_NONE);
        let lost = masses(&points[points.len() - gone..]);
        self.tail = tail.split(points.len() - gone).0;
        let points = self.body.points();
        let low = few(points.iter(), NEXT_TO_NONE);
        let more = masses(&points[..low]);
        self.body = self.body.split(low).1;
        let sum = |a: f64, b: f64, c: f64| a + (b + c) * (1.0 + 1e-9);
        self.lost = (sum(self.lost.0, lost.0, more.0), sum(self.lost.1, lost.1, more.1));
        self
    }

    /// As many points as its deviation asks for.
    fn refined(mut self) -> Self {
        let points = self.body.points();
        let (deviation, mut count) = (deviation(&points), points.len() as f64);
        while self.body.step() * self.fine > 1.5 * deviation && 2.0 * count <= BODY * self.fine {
            (self.body, count) = (self.body.finer(), 2.0 * count);
        }
        while self.tail.step() > 4.5 * self.body.step() && 2.0 * self.tail.points().len() as f64 <= TAIL_POINTS {
            self.tail = self.tail.finer();
        }
        self
    }

    /// Both laws on the same points.
    fn aligned(&self, other: &Self) -> (Self, Self) {
        let finest = |part: &P, step: f64| {
            let mut part = part.clone();
            while part.step() > 1.25 * step {
                part = part.finer();
            }
            part
        };
        let (body, tail) = (self.body.step().min(other.body.step()), self.tail.step().min(other.tail.step()));
        let one = |it: &Self| Law { body: finest(&it.body, body), tail: finest(&it.tail, tail), ..it.clone() };
        (one(self), one(other))
    }

    /// The law of the mean of `share` times this and the rest times an independent one.
    fn join(&self, other: &Self, share: f64) -> Self {
        let (a, b) = self.aligned(other);
        let mut times = 0;
        while a.body.step() * f64::from(1 << times) < 0.75 * a.tail.step() {
            times += 1;
        }
        let body = a.body.average(&b.body, share);
        let tail = a.tail.average(&b.tail, share);
        let tail = tail.plus(&a.tail.average(&b.body.coarser(times), share));
        let tail = tail.plus(&a.body.coarser(times).average(&b.tail, share));
        let mixed = |p: (f64, f64), q: (f64, f64)| share * (p.0 + q.1) + (1.0 - share) * (p.1 + q.0);
        let count = |it: &Self| it.body.points().len() as f64 + it.tail.points().len() as f64;
        let (n, m) = (count(&a), count(&b));
        // Products that underflow are lost, too.
        let top = |it: &Self| it.tail.points().last().map_or(0.0, |it| it.1).exp().max(1.0);
        let under = 1e-323 * n * m;
        let lost = (mixed(a.lost, b.lost) + under * top(&a).max(top(&b)), a.lost.1 + b.lost.1 + under);
        // Each distance of two points adds to a place at most twice.
        let terms = 2.0 * (n + m) + 16.0;
        let errors = (a.errors.0 + b.errors.0 + 2.0 * terms * UNIT, a.errors.1.max(b.errors.1) + P::ratio_error(terms));
        Law { fine: self.fine, body, tail, lost, errors }.settled().refined()
    }

    /// The law of the mean of `count` independent ratios.
    fn mean(one: Self, count: u64) -> Self {
        let left = |digits: u32| count & ((1 << digits) - 1) != 0;
        let digits = 63 - count.max(1).leading_zeros();
        // The mean of m, the leading digits of the count, and that of m + 1 while a digit that is not 0 is still to come.
        let mut next = left(digits).then(|| one.join(&one, 0.5));
        let (mut law, mut m) = (one, 1);
        for digit in (0..digits).rev() {
            let odd = count >> digit & 1;
            match next.take() {
                None => law = law.join(&law, 0.5),
                Some(after) => {
                    let both = law.join(&after, m as f64 / (2 * m + 1) as f64);
                    (law, next) = if odd == 1 {
                        (both, left(digit).then(|| after.join(&after, 0.5)))
                    } else {
                        (law.join(&law, 0.5), Some(both))
                    };
                }
            }
            m = 2 * m + odd;
        }
        law
    }

    /// The law as it is composed.
    fn points(&self) -> Points {
        let points = self.body.points().into_iter().chain(self.tail.points()).collect();
        Points { points, lost: self.lost, errors: self.errors }
    }
}

/// The law that dominates the ratio of an epoch of `steps` Gaussian steps, whose sensitivity is `mu` deviations of their noise.
pub(super) fn above(mu: f64, steps: u64, fine: f64) -> Points {
    Law::<Spread>::mean(Law::of_step(mu, fine), steps).points()
}

/// The law that is dominated by the ratio of such an epoch.
pub(super) fn below(mu: f64, steps: u64, fine: f64) -> Points {
    Law::<Merged>::mean(Law::of_step(mu, fine), steps).points()
}
