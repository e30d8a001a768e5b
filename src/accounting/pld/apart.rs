//! Which losses are large, and when to sum the others alone.
//!
//! An exponential tilt that moves the sum of rare losses to epsilon moves most of its mass past it, to losses that are still rarer but
//! heavy-tailed, and leaves the rest at 0: next to nothing is where delta comes from. Once [`Large`] takes all compositions with a large
//! loss, the others tilt well. Everything here is an estimate; what is released are sums and bounds that hold wherever the threshold lies.

use super::chernoff::{Question, TILTS, atoms, conversion, ln_moment, variance};
use super::large::Large;
use super::partition::{Partition, Side};
use crate::num::logs::ln_add_exp;
use crate::num::minimize::scan_then_golden;

/// `ln` of the share of delta that large losses may leave to a bound, at first, and once they come close.
const LEFT: [f64; 2] = [13.0, 8.5];
/// By how much those shares may be missed.
const MISSED: [f64; 2] = [2.0, 0.5];
/// By how much `ln delta` lies below Chernoff's bound, about.
const GUESS: f64 = 2.5;
/// By how much an estimate of `ln delta` must fall for large losses to stand apart.
const WORTH: f64 = 1.0;
/// The largest epsilon to be asked about lies above the estimated one by this factor, and above one that is known to suffice by the other.
const MARGIN: (f64, f64) = (1.3, 1.01);
/// No cell at a loss of interest is wider than this share of it, as long as there are not so many cells; in these two cases.
const GRADED: [(f64, usize); 2] = [(0.15, 800), (0.03, 3000)];

/// What large losses that stand apart contribute.
#[derive(Clone, Copy)]
pub(super) struct Apart {
    large: Large,
    /// Chernoff's bound on `ln delta` from all other compositions, for the estimated epsilon.
    pub ln_rest: f64,
}

impl Apart {
    /// How fast `ln delta` falls with epsilon, when the others fall by c.
    pub(super) fn slope(&self, c: f64, epsilon: f64, ln_delta: f64) -> f64 {
        c * (self.ln_rest - GUESS - ln_delta).exp().min(1.0) + self.large.slope(epsilon, ln_delta)
    }
}

/// Large losses that were found: the partitions that know them, and the estimates of epsilon and `ln delta`.
pub(super) struct Found {
    pub parts: Vec<(Partition, f64)>,
    pub apart: Apart,
    pub epsilon: f64,
    pub ln_delta: f64,
}

/// The search for large losses.
pub(super) struct Search {
    /// As the pairs were first cut.
    coarse: Vec<(Partition, f64)>,
    /// As they are cut for the search.
    parts: Vec<(Partition, f64)>,
    mu2: f64,
    question: Question,
    /// The standard deviation without any tilt.
    spread: f64,
    /// No epsilon outside is of interest.
    floor: f64,
    ceiling: f64,
    /// Whether as many losses are called large as can be.
    close: bool,
}

impl Search {
    /// The share of delta that large losses may leave to a bound once they come close.
    pub(super) fn closest() -> f64 {
        (-LEFT[1]).exp()
    }

    pub(super) fn new(coarse: Vec<(Partition, f64)>, mu2: f64, question: Question) -> Self {
        let spread = variance(&atoms(&coarse, Side::Optimistic), mu2, TILTS.0).sqrt();
        Search { coarse, parts: Vec::new(), mu2, question, spread, floor: 0.0, ceiling: f64::INFINITY, close: false }
    }

    /// `ln` of the share of delta that large losses may leave to a bound.
    fn left(&self) -> f64 {
        LEFT[usize::from(self.close)]
    }

    /// Whether large losses leave about as little of a delta to a bound as they may.
    pub(super) fn leaves_little(&self, apart: &Apart, epsilon: f64, ln_delta: f64) -> bool {
        apart.large.ln_excess(epsilon) <= ln_delta - self.left() + MISSED[usize::from(self.close)]
    }

    /// Calls more losses large from now on, so that the others tilt better; whether that is new.
    pub(super) fn come_close(&mut self) -> bool {
        !std::mem::replace(&mut self.close, true)
    }

    /// The standard deviation without any tilt.
    pub(super) fn spread(&self) -> f64 {
        self.spread
    }

    /// Takes note of bounds on the epsilon that is asked for.
    pub(super) fn narrow(&mut self, floor: f64, ceiling: f64) {
        (self.floor, self.ceiling) = (floor, ceiling);
    }

    /// Another guess of epsilon where the answer is not near the one that large losses were chosen for, by bounds on the answer.
    pub(super) fn move_to(&mut self, chosen: f64, floor: f64, ceiling: f64) -> Option<f64> {
        let reach = self.reach(chosen);
        if matches!(self.question, Question::Epsilon(_)) || (0.98 * reach..=reach).contains(&ceiling) {
            return None;
        }
        // Above the reach nothing was learnt but that the answer lies there, too.
        self.narrow(if ceiling > reach { reach.max(floor) } else { floor }, ceiling);
        Some(ceiling.min(2.0 * self.floor.max(reach)))
    }

    /// The large losses of these partitions, for epsilons up to somewhat above the one given.
    pub(super) fn large(&self, parts: &[(Partition, f64)], epsilon: f64) -> Large {
        let reach = self.reach(epsilon);
        Large::new(parts, self.mu2, reach, reach.max(self.spread))
    }

    /// The largest epsilon at which large losses stand apart when it is about this.
    fn reach(&self, epsilon: f64) -> f64 {
        match self.question {
            Question::Epsilon(_) => epsilon,
            Question::LnDelta(_) => (MARGIN.0 * epsilon).min(MARGIN.1 * self.ceiling.max(epsilon)),
        }
    }

    /// Calls losses large from a threshold on.
    fn set_large(&mut self, threshold: f64) {
        self.parts.iter_mut().for_each(|it| it.0.set_large(threshold));
    }

    /// Sets large losses apart: the least threshold at which what they leave to a bound is small against `ln_delta`.
    fn set_apart(&mut self, epsilon: f64, ln_delta: f64) -> Option<Large> {
        let reach = self.reach(epsilon);
        let (scale, left) = (reach.max(self.spread), self.left());
        let mut at = |threshold: f64| {
            self.set_large(threshold);
            let large = self.large(&self.parts, epsilon);
            (large.ln_excess(reach) <= ln_delta - left).then_some(large)
        };
        let ends = [2.0, 4.0, 16.0, 256.0].map(|factor| factor * scale);
        let Some(mut high) = ends.into_iter().find(|&end| at(end).is_some()) else {
            self.set_large(f64::INFINITY);
            return None;
        };
        let mut low = reach.max(1e-3 * high);
        for _ in 0..6 {
            let middle = (low * high).sqrt();
            if at(middle).is_some() { high = middle } else { low = middle }
        }
        at(high)
    }

    /// The best Chernoff bound on `ln delta` at epsilon from losses that are not large.
    fn ln_rest(&self, epsilon: f64) -> f64 {
        let atoms = atoms(&self.parts, Side::Optimistic);
        let bound = |c: f64| ln_moment(&atoms, self.mu2, c) + conversion(c) - c * epsilon;
        let scale = epsilon.max(self.spread);
        let best = scan_then_golden(1e-3 / scale, 1e6 / scale, 40, |c| Ok::<f64, std::convert::Infallible>(bound(c)));
        let Ok(best) = best;
        best.value
    }

    /// Large losses apart at epsilon, and the estimate of `ln delta` there.
    fn apart_at(&mut self, epsilon: f64, ln_delta: f64) -> Option<(f64, Apart)> {
        let large = self.set_apart(epsilon, ln_delta)?;
        let ln_rest = self.ln_rest(epsilon);
        Some((ln_add_exp(ln_rest - GUESS, large.lower(epsilon)), Apart { large, ln_rest }))
    }

    /// The answer to the question, about: epsilon and `ln delta`, from a guess of either that is not too small.
    fn about(&mut self, epsilon: f64, ln_delta: f64) -> (f64, f64) {
        match self.question {
            Question::Epsilon(epsilon) => {
                let mut found = ln_delta;
                for _ in 0..4 {
                    match self.apart_at(epsilon, found) {
                        Some((next, _)) if next < found - 1.0 => found = next,
                        _ => break,
                    }
                }
                (epsilon, found)
            }
            Question::LnDelta(ln_delta) => {
                let (mut low, mut high) = (self.floor.max(1e-4 * epsilon), epsilon);
                while high > 1.1 * low {
                    let middle = (low * high).sqrt();
                    let found = self.apart_at(middle, ln_delta).map(|it| it.0);
                    if found.unwrap_or_else(|| self.ln_rest(middle) - GUESS) <= ln_delta {
                        high = middle;
                    } else {
                        low = middle;
                    }
                }
                (high, ln_delta)
            }
        }
    }

    /// Large losses that stand apart and make the estimate of delta much smaller, from guesses of epsilon and `ln delta` that are not too
    /// small.
    pub(super) fn part(&mut self, epsilon: f64, ln_delta: f64) -> Option<Found> {
        // Cells that are fine at all losses of interest, and only there.
        self.parts = self.coarse.clone();
        let least = match self.question {
            Question::Epsilon(epsilon) => epsilon.max(1e-2 * self.spread),
            Question::LnDelta(_) => self.floor.max(1e-3 * epsilon),
        };
        let (share, limit) = GRADED[usize::from(self.close)];
        self.parts.iter_mut().for_each(|it| it.0.grade(0.5 * least, share, limit));
        let (epsilon, ln_delta) = self.about(epsilon, ln_delta);
        self.set_large(f64::INFINITY);
        let whole = self.ln_rest(epsilon) - GUESS;
        let (found, apart) = self.apart_at(epsilon, ln_delta)?;
        let parts = std::mem::take(&mut self.parts);
        (found < whole - WORTH).then_some(Found { parts, apart, epsilon, ln_delta: found })
    }
}
