//! Choosing the tilt, the cells, the window and the number of frequencies for one question.

use super::contour::{Grid, Profile};
use super::law::Law;
use super::partition::{Atoms, Partition, Side};
use crate::num::minimize::scan_then_golden;
use crate::num::round::{down, up};

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Question {
    /// The epsilon at this `ln delta`.
    LnDelta(f64),
    /// The `ln delta` at this epsilon.
    Epsilon(f64),
}

/// Cells of one partition, at most.
const CELLS: usize = 20_000;
/// Frequencies, at most; most of them are usually bounded and not computed.
const FREQUENCIES: f64 = 2e7;
/// Standard deviations after which the Gaussian factor has killed the integrand.
const CUT: f64 = 8.7;
/// The neighbouring copies of the function may take this share of the tolerance.
const NEGLIGIBLE: f64 = 1e-3;
/// Range and points of the search for the tilt.
const TILTS: (f64, f64, u32) = (1e-5, 1e30, 120);

/// A composition prepared for one question.
pub(super) struct Prepared {
    parts: Vec<(Partition, f64)>,
    /// `sum mu^2` of the Gaussians, from below and from above.
    mu2: (f64, f64),
    question: Question,
    /// The abscissa.
    c: f64,
    /// Estimates at the abscissa: `K(c)`, the standard deviation, epsilon and `ln delta`.
    ln_moment: f64,
    deviation: f64,
    epsilon: f64,
    ln_delta: f64,
    /// By how much `ln delta` lies below its Chernoff bound, or a guess.
    below: f64,
}

/// `ln` of the largest value of `(1 - e^-x) e^(-c x)`: the gain of the conversion over plain Chernoff.
///
/// Reference: Canonne, Kamath and Steinke 2020, Proposition 12, with `c = alpha - 1`.
pub(super) fn conversion(c: f64) -> f64 {
    -c.ln_1p() - c * c.recip().ln_1p()
}

/// Refines all partitions to a total gap in `K(c)`.
fn refine(parts: &mut [(Partition, f64)], c: f64, gap: f64, limit: usize) {
    let share = gap / parts.len() as f64;
    for (partition, count) in parts {
        partition.refine(c, share / *count, limit);
    }
}

/// The atoms of every pair, and how often it occurs.
fn atoms(parts: &[(Partition, f64)], side: Side) -> Vec<(Atoms, f64)> {
    parts.iter().map(|(partition, count)| (partition.atoms(side), *count)).collect()
}

impl Prepared {
    /// Cuts the pairs coarsely and finds the tilt; `None` when there is no finite answer.
    pub(super) fn new(law: &Law, question: Question) -> Option<Self> {
        let mut depth = match question {
            Question::LnDelta(ln_delta) => -ln_delta,
            Question::Epsilon(_) => 50.0,
        };
        for _ in 0..8 {
            let it = Self::with_depth(law, question, depth)?;
            if -it.ln_delta <= depth {
                return Some(it);
            }
            depth = 1.2 * -it.ln_delta + 10.0;
        }
        None
    }

    fn with_depth(law: &Law, question: Question, depth: f64) -> Option<Self> {
        let reach = (2.0 * (depth + law.count().max(1.0).ln() + 40.0)).sqrt();
        if law.parts.iter().any(|(pair, _)| !pair.is_tractable(reach)) {
            return None;
        }
        let cut = law.parts.iter().map(|&(pair, count)| (Partition::new(pair, reach, 64), count));
        let given = law.tables.iter().map(|(table, count)| (Partition::of_table(table), *count));
        let parts: Vec<(Partition, f64)> = cut.chain(given).collect();
        let mut it = Prepared {
            parts,
            mu2: (down(law.mu.lower * law.mu.lower, 1).max(0.0), up(law.mu.upper * law.mu.upper, 1)),
            question,
            c: 1.0,
            ln_moment: 0.0,
            deviation: 0.0,
            epsilon: 0.0,
            ln_delta: 0.0,
            below: 0.0,
        };
        for _ in 0..3 {
            it.tilt()?;
            refine(&mut it.parts, it.c, 0.3, 2_000);
        }
        it.tilt()?;
        Some(it)
    }

    /// `K(c)` of the coarse composition.
    fn ln_moment(&self, atoms: &[(Atoms, f64)], c: f64) -> f64 {
        let gaussian = c * (c + 1.0) * self.mu2.1 / 2.0;
        gaussian + atoms.iter().map(|(atoms, count)| count * atoms.ln_moment(c)).sum::<f64>()
    }

    /// Finds the abscissa that gives the best Chernoff bound, and the estimates there.
    fn tilt(&mut self) -> Option<()> {
        let atoms = atoms(&self.parts, Side::Optimistic);
        let objective = |c: f64| {
            let ln_moment = self.ln_moment(&atoms, c);
            match self.question {
                Question::LnDelta(ln_delta) => (ln_moment + conversion(c) - ln_delta) / c,
                Question::Epsilon(epsilon) => ln_moment + conversion(c) - c * epsilon,
            }
        };
        let best = scan_then_golden(TILTS.0, TILTS.1, TILTS.2, |c| Ok::<f64, std::convert::Infallible>(objective(c)));
        let Ok(best) = best;
        let variance = |c: f64| {
            let sum: f64 = atoms.iter().map(|(it, count)| count * it.tilted(c).variance()).sum();
            sum + self.mu2.1
        };
        // A tilt of at least four standard deviations keeps the window short when delta is large; it may
        // cost a few digits, not more.
        let (mut c, deviation) = (best.at, variance(best.at).sqrt());
        let epsilon = match self.question {
            Question::LnDelta(_) => best.value,
            Question::Epsilon(epsilon) => epsilon,
        };
        let untilted = variance(TILTS.0).sqrt();
        let cost = |c: f64| self.ln_moment(&atoms, c) + conversion(c) - c * epsilon;
        let least = cost(c);
        while c * deviation < 4.0 && c * untilted < 4.0 && cost(1.3 * c) - least < 6.0 {
            c *= 1.3;
        }
        let ln_moment = self.ln_moment(&atoms, c);
        let deviation = variance(c).sqrt();
        if !ln_moment.is_finite() || !deviation.is_finite() {
            return None;
        }
        let (epsilon, ln_delta) = match self.question {
            Question::LnDelta(ln_delta) => (best.value.max(0.0), ln_delta),
            Question::Epsilon(epsilon) => (epsilon, best.value.min(0.0)),
        };
        (self.c, self.ln_moment, self.deviation, self.epsilon, self.ln_delta) =
            (c, ln_moment, deviation, epsilon, ln_delta);
        self.below = 3.0 + (c * deviation).ln_1p();
        Some(())
    }

    /// A tolerance on `ln delta` that corresponds to one on the answer.
    pub(super) fn ln_tolerance(&self, tolerance: f64) -> f64 {
        match self.question {
            Question::LnDelta(_) => tolerance * self.c,
            Question::Epsilon(_) => tolerance,
        }
        .clamp(1e-9, 0.3)
    }

    /// The length of the window: the copies of the function on both sides of it must be negligible.
    fn window(&self, parts: &[(Partition, f64)], ln_tolerance: f64) -> Option<(f64, f64)> {
        let below = self.below;
        let slack = below - (NEGLIGIBLE * ln_tolerance).ln();
        let epsilon = match self.question {
            Question::LnDelta(_) => self.epsilon - below / self.c,
            Question::Epsilon(epsilon) => epsilon,
        };
        let left = (slack - self.ln_delta) / self.c;
        let atoms = atoms(parts, Side::Pessimistic);
        let base = self.ln_moment(&atoms, self.c);
        let candidates = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0].map(|f| f * self.c);
        let spread = [0.5, 1.0, 2.0, 4.0].map(|f| f / self.deviation.max(1e-3 / self.c));
        let (mut right, mut beyond) = (f64::INFINITY, self.c);
        for d in candidates.into_iter().chain(spread) {
            let growth = self.ln_moment(&atoms, self.c + d) - base;
            let here = (growth - d * epsilon + slack - conversion(self.c)) / d;
            if here < right {
                (right, beyond) = (here, d);
            }
        }
        let window = left.max(right).max(4.0 * self.deviation);
        window.is_finite().then_some((window, beyond))
    }

    /// Both discrete compositions, within about `ln_tolerance` of each other, the dominated one first;
    /// `None` when that takes too long.
    pub(super) fn profiles(&self, ln_tolerance: f64) -> Option<(Profile, Profile)> {
        let mut parts = self.parts.clone();
        refine(&mut parts, self.c, 0.3 * ln_tolerance, CELLS);
        let (window, beyond) = self.window(&parts, ln_tolerance)?;
        let step = std::f64::consts::TAU / window;
        let c = self.c;
        let mut tau2 = 0.25 * ln_tolerance / (c * (c + 1.0));
        if tau2 <= self.mu2.0 {
            tau2 = 0.0;
        }
        let count = (CUT / (tau2 + self.mu2.0).sqrt() / step).ceil();
        if !(1.0..=FREQUENCIES).contains(&count) {
            return None;
        }
        // A search asks at hundreds of epsilons, with many sums each.
        let sums = match self.question {
            Question::LnDelta(_) => 300,
            Question::Epsilon(_) => 20,
        };
        let grid = |mu2| Grid { c, step, count: count as usize, tau2, mu2, beyond, sums };
        let upper = Profile::new(&parts, Side::Pessimistic, grid(self.mu2.1))?;
        Some((Profile::new(&parts, Side::Optimistic, grid(self.mu2.0))?, upper))
    }

    /// Takes note of a point near the answer: how far delta really lies below its Chernoff bound.
    pub(super) fn learn(&mut self, epsilon: f64, ln_delta: f64) {
        let gap = self.ln_moment + conversion(self.c) - self.c * epsilon - ln_delta;
        self.epsilon = epsilon.min(self.epsilon);
        if gap.is_finite() {
            self.below = gap.max(0.0) + 1.0;
        }
    }

    /// A certified upper bound on epsilon, by Chernoff.
    pub(super) fn chernoff(&self, ln_delta: f64) -> f64 {
        let atoms = atoms(&self.parts, Side::Pessimistic);
        let ln_moment = self.ln_moment(&atoms, self.c);
        let lost = self.parts.iter().map(|(it, count)| count * it.ln_beyond.exp()).sum::<f64>();
        // The truncated mass is paid from the first term, rounding from the others.
        let rounding: f64 = atoms.iter().map(|(it, count)| count * it.moment(self.c).1).sum();
        let allowance = 1e-9 + 2.0 * rounding + 1e-13 * (ln_moment.abs() + ln_delta.abs());
        if lost > 1e-10 * ln_delta.exp() || allowance > 0.1 {
            return f64::INFINITY;
        }
        (ln_moment + conversion(self.c) - ln_delta + allowance) / self.c
    }

    /// How far epsilon moves when `ln delta` moves by a tolerance.
    pub(super) fn distance(&self, ln_tolerance: f64) -> f64 {
        ln_tolerance / self.c
    }

    /// An estimate of the answer, by Chernoff.
    pub(super) fn estimate(&self) -> f64 {
        match self.question {
            Question::LnDelta(_) => self.epsilon,
            Question::Epsilon(_) => self.ln_delta,
        }
    }
}
