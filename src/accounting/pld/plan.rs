//! Choosing the tilt, the cells, the window and the number of frequencies for one question.

use super::apart::{Apart, Search};
use super::chernoff::{Question, TILTS, atoms, conversion, ln_moment, refine, variance};
use super::contour::{Grid, Profile};
use super::law::Law;
use super::partition::{Partition, Side};
use super::tails::Tails;
use crate::num::logs::{LnSum, ln_add_exp};
use crate::num::minimize::scan_then_golden;
use crate::num::round::{down, up};

/// Cells of one partition, at most.
const CELLS: usize = 80_000;
/// Frequencies, at most; most of them are usually bounded and not computed.
const FREQUENCIES: f64 = 2e7;
/// Standard deviations after which the Gaussian factor has killed the integrand.
const CUT: f64 = 8.7;
/// The neighbouring copies of the function may take this share of the tolerance.
const NEGLIGIBLE: f64 = 1e-3;
/// The skewness of a tilted composition from which on it is worth while to look for large losses.
const SKEWED: f64 = 0.5;
/// By how much `ln delta` is below Chernoff's bound where it is worth while, too.
const GAP: f64 = 12.0;
/// By how much it is below where the tilt does not say which cells matter, and rounding may.
const ASTRAY: f64 = 6.0;
/// `-ln delta` from which on nobody asks how small it is.
const DEEP: f64 = 800.0;
/// Tilts that are tried for a bound there.
const ROUGH: u32 = 8;
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
    /// What comes from large losses, where they stand apart.
    apart: Option<Apart>,
    /// The search for large losses.
    search: Search,
    /// Whether it was made.
    searched: bool,
    /// What is known of the answer: an epsilon, and its `ln delta` from above.
    known: Option<(f64, f64)>,
}

impl Prepared {
    /// Cuts the pairs coarsely and finds the tilt; `None` when there is no finite answer.
    pub(super) fn new(law: &Law, question: Question) -> Option<Self> {
        let mut depth = match question {
            Question::LnDelta(ln_delta) => -ln_delta,
            Question::Epsilon(_) => 50.0,
        };
        for _ in 0..8 {
            let mut it = Self::with_depth(law, question, depth)?;
            if -it.ln_delta <= depth {
                it.look();
                return Some(it);
            }
            depth = 1.2 * -it.ln_delta + 10.0;
        }
        None
    }

    /// A certified upper bound on `ln delta` at epsilon, by Chernoff, that need not be tight where delta is below all that is of interest.
    pub(super) fn rough_ln_delta(law: &Law, epsilon: f64) -> f64 {
        let mut least = 0.0;
        let mut at = epsilon;
        // Delta only falls, and a weaker tilt is one that coarse cells bear.
        for _ in 0..ROUGH {
            let it = Self::with_depth(law, Question::Epsilon(at), DEEP);
            least = it.map_or(0.0, |it| it.chernoff_ln_delta(epsilon)).min(least);
            if least <= -DEEP {
                break;
            }
            at /= 8.0;
        }
        least
    }

    fn with_depth(law: &Law, question: Question, depth: f64) -> Option<Self> {
        let reach = (2.0 * (depth + law.count().max(1.0).ln() + 40.0)).sqrt();
        if law.parts.iter().any(|(pair, _)| !pair.is_tractable(reach)) {
            return None;
        }
        let cut = law.parts.iter().map(|&(pair, count)| (Partition::new(pair, reach, 64), count));
        let given = law.tables.iter().map(|(table, count)| (Partition::of_table(table), *count));
        let parts: Vec<(Partition, f64)> = cut.chain(given).collect();
        let mu2 = (down(law.mu.lower * law.mu.lower, 1).max(0.0), up(law.mu.upper * law.mu.upper, 1));
        let mut it = Prepared {
            search: Search::new(parts.clone(), mu2.1, question),
            searched: false,
            known: None,
            parts,
            mu2,
            question,
            c: 1.0,
            ln_moment: 0.0,
            deviation: 0.0,
            epsilon: 0.0,
            ln_delta: 0.0,
            below: 0.0,
            apart: None,
        };
        for _ in 0..3 {
            it.tilt()?;
            refine(&mut it.parts, it.c, 0.3, 2_000);
        }
        it.tilt()?;
        Some(it)
    }

    /// Finds the abscissa that gives the best Chernoff bound, and the estimates there.
    fn tilt(&mut self) -> Option<()> {
        let atoms = atoms(&self.parts, Side::Optimistic);
        let question = if self.apart.is_some() { Question::Epsilon(self.epsilon) } else { self.question };
        let objective = |c: f64| {
            let ln_moment = ln_moment(&atoms, self.mu2.1, c);
            match question {
                Question::LnDelta(ln_delta) => (ln_moment + conversion(c) - ln_delta) / c,
                Question::Epsilon(epsilon) => ln_moment + conversion(c) - c * epsilon,
            }
        };
        let best = scan_then_golden(TILTS.0, TILTS.1, TILTS.2, |c| Ok::<f64, std::convert::Infallible>(objective(c)));
        let Ok(best) = best;
        let variance = |c: f64| variance(&atoms, self.mu2.1, c);
        // A tilt of at least four standard deviations keeps the window short when delta is large; it may
        // cost a few digits, not more.
        let (mut c, deviation) = (best.at, variance(best.at).sqrt());
        let epsilon = match question {
            Question::LnDelta(_) => best.value,
            Question::Epsilon(epsilon) => epsilon,
        };
        let untilted = variance(TILTS.0).sqrt();
        let cost = |c: f64| ln_moment(&atoms, self.mu2.1, c) + conversion(c) - c * epsilon;
        let least = cost(c);
        while c * deviation < 4.0 && c * untilted < 4.0 && cost(1.3 * c) - least < 6.0 {
            c *= 1.3;
        }
        let ln_moment = ln_moment(&atoms, self.mu2.1, c);
        let deviation = variance(c).sqrt();
        if !ln_moment.is_finite() || !deviation.is_finite() {
            return None;
        }
        let (epsilon, ln_delta) = match question {
            _ if self.apart.is_some() => (self.epsilon, self.ln_delta),
            Question::LnDelta(ln_delta) => (best.value.max(0.0), ln_delta),
            Question::Epsilon(epsilon) => (epsilon, best.value.min(0.0)),
        };
        if let Some(apart) = &mut self.apart {
            apart.ln_rest = best.value;
        }
        (self.c, self.ln_moment, self.deviation, self.epsilon, self.ln_delta) =
            (c, ln_moment, deviation, epsilon, ln_delta);
        self.below = 3.0 + (c * deviation).ln_1p();
        Some(())
    }

    /// A tolerance on `ln delta` that corresponds to one on the answer.
    pub(super) fn ln_tolerance(&self, tolerance: f64) -> f64 {
        let tolerance = match self.question {
            Question::LnDelta(_) => tolerance * self.slope(),
            Question::Epsilon(_) => tolerance,
        };
        // An infinite tolerance is a coarse one, also where the slope is 0.
        if tolerance.is_nan() { 0.3 } else { tolerance.clamp(1e-9, 0.3) }
    }

    /// How fast `ln delta` falls with epsilon, about.
    fn slope(&self) -> f64 {
        self.apart.map_or(self.c, |apart| apart.slope(self.c, self.epsilon, self.ln_delta))
    }

    /// The length of the window: the copies of the function on both sides of it must be negligible.
    fn window(&self, parts: &[(Partition, f64)], ln_tolerance: f64) -> Option<(f64, f64)> {
        let below = self.known.map_or(self.below, |known| self.below.max(self.above(known) + 1.0));
        let slack = below - (NEGLIGIBLE * ln_tolerance).ln();
        let epsilon = match self.question {
            _ if self.apart.is_some() => self.epsilon,
            Question::LnDelta(_) => self.epsilon - below / self.c,
            Question::Epsilon(epsilon) => epsilon,
        };
        let ln_delta = self.apart.map_or(self.ln_delta, |apart| apart.ln_rest);
        let left = (slack - ln_delta) / self.c;
        let atoms = atoms(parts, Side::Pessimistic);
        let base = ln_moment(&atoms, self.mu2.1, self.c);
        let candidates = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0].map(|f| f * self.c);
        let spread = [0.5, 1.0, 2.0, 4.0].map(|f| f / self.deviation.max(1e-3 / self.c));
        let (mut right, mut beyond) = (f64::INFINITY, self.c);
        for d in candidates.into_iter().chain(spread) {
            let growth = ln_moment(&atoms, self.mu2.1, self.c + d) - base;
            let here = (growth - d * epsilon + slack - conversion(self.c)) / d;
            if here < right {
                (right, beyond) = (here, d);
            }
        }
        let window = left.max(right).max(4.0 * self.deviation);
        window.is_finite().then_some((window, beyond))
    }

    /// By how much Chernoff's bound at epsilon is above an `ln delta`.
    fn above(&self, (epsilon, ln_delta): (f64, f64)) -> f64 {
        self.ln_moment + conversion(self.c) - self.c * epsilon - ln_delta
    }

    /// Whether the answer is known to be so far below Chernoff's bound that sums are taken with more care.
    pub(super) fn is_astray(&self) -> bool {
        self.known.is_some_and(|it| self.above(it) > ASTRAY)
    }

    /// Both discrete compositions, within about `ln_tolerance` of each other, the dominated one first;
    /// `None` when that takes too long.
    pub(super) fn profiles(&self, ln_tolerance: f64) -> Option<(Profile, Profile)> {
        // What is a small part of delta may be less precise.
        let rest = self.apart.map_or(0.0, |apart| (apart.ln_rest - self.ln_delta).min(0.0));
        let ln_tolerance = (ln_tolerance * (-rest).exp()).min(ln_tolerance.max(0.3));
        let mut parts = self.parts.clone();
        refine(&mut parts, self.c, 0.3 * ln_tolerance, CELLS);
        let careful = self.is_astray();
        if let (Some((epsilon, _)), true) = (self.known, careful) {
            let tails = Tails::new(&self.parts, self.mu2.1, epsilon, self.search.spread(), self.c);
            tails.refine(&mut parts, 0.3 * ln_tolerance, CELLS);
        }
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
        let grid = |mu2| Grid { c, step, count: count as usize, tau2, mu2, beyond, sums, careful };
        let large = self.apart.map(|_| self.search.large(&parts, self.epsilon));
        let upper = Profile::new(&parts, Side::Pessimistic, grid(self.mu2.1), large)?;
        Some((Profile::new(&parts, Side::Optimistic, grid(self.mu2.0), large)?, upper))
    }

    /// Takes note of what is known of the answer: an epsilon that is not above it, and one with its `ln delta`.
    ///
    /// Whether something else will be summed from now on, which may say more at the same tolerance.
    pub(super) fn learn(&mut self, floor: f64, epsilon: f64, ln_delta: f64) -> bool {
        self.known = (epsilon > 0.0 && epsilon.is_finite() && ln_delta.is_finite()).then_some((epsilon, ln_delta));
        if let (Some(apart), Question::Epsilon(_)) = (self.apart, self.question) {
            if ln_delta >= self.ln_delta || self.search.leaves_little(&apart, self.epsilon, ln_delta) {
                return false;
            }
            // Chosen for a delta that is larger than the one that was found.
            self.ln_delta = ln_delta;
            return self.part();
        }
        if self.apart.is_some() {
            let Some(guess) = self.search.move_to(self.epsilon, floor, epsilon) else {
                return false;
            };
            self.epsilon = guess;
            self.part();
            return true;
        }
        let gap = self.above((epsilon, ln_delta));
        self.epsilon = epsilon.min(self.epsilon);
        if gap.is_finite() {
            self.below = gap.max(0.0) + 1.0;
        }
        if self.searched || gap.is_nan() || gap <= GAP {
            return false;
        }
        self.search.narrow(floor, epsilon);
        self.part()
    }

    /// Whether large losses that are chosen again leave little to a bound against a tolerance on the answer.
    pub(super) fn may_come_close(&self, tolerance: f64) -> bool {
        self.ln_tolerance(tolerance) >= 2.0 * Search::closest()
    }

    /// Chooses large losses again, by bounds on the epsilon that is asked for, where they leave others that tilt badly; whether it did.
    pub(super) fn come_close(&mut self, floor: f64, ceiling: f64) -> bool {
        if !self.is_astray() || self.apart.is_none() || !self.search.come_close() {
            return false;
        }
        let before = self.epsilon;
        if let Question::LnDelta(_) = self.question {
            self.search.narrow(floor, ceiling);
            self.epsilon = ceiling;
        }
        let parted = self.part();
        if !parted {
            self.epsilon = before;
        }
        parted
    }

    /// Looks for large losses where the tilted composition is skewed.
    fn look(&mut self) {
        let mut moments = (self.mu2.1, 0.0);
        for (atoms, count) in &atoms(&self.parts, Side::Optimistic) {
            let (square, cube) = atoms.tilted(self.c).central_moments();
            moments = (moments.0 + count * square, moments.1 + count * cube);
        }
        if moments.1 / moments.0.powf(1.5) > SKEWED {
            self.part();
        }
    }

    /// Sets large losses apart where that makes the estimate of delta much smaller; whether it did.
    fn part(&mut self) -> bool {
        self.searched = true;
        let Some(found) = self.search.part(self.epsilon, self.ln_delta) else {
            return false;
        };
        let before = (self.epsilon, self.ln_delta, self.apart, std::mem::replace(&mut self.parts, found.parts));
        (self.epsilon, self.ln_delta, self.apart) = (found.epsilon, found.ln_delta, Some(found.apart));
        if self.settle().is_none() {
            (self.epsilon, self.ln_delta, self.apart, self.parts) = before;
            // As it was: what has an answer once has it again.
            return self.tilt().is_none();
        }
        true
    }

    /// Cells and tilt that fit each other.
    fn settle(&mut self) -> Option<()> {
        for _ in 0..3 {
            self.tilt()?;
            refine(&mut self.parts, self.c, 0.3, 4_000);
        }
        self.tilt()
    }

    /// A certified upper bound on epsilon, by Chernoff.
    pub(super) fn chernoff(&self, ln_delta: f64) -> f64 {
        let (ln_bound, ln_lost) = self.certified();
        if ln_lost > ln_delta - 23.0 { f64::INFINITY } else { (ln_bound - ln_delta) / self.c }
    }

    /// A certified upper bound on `ln delta` at epsilon, by Chernoff.
    pub(super) fn chernoff_ln_delta(&self, epsilon: f64) -> f64 {
        let (ln_bound, ln_lost) = self.certified();
        ln_add_exp(ln_bound - self.c * epsilon, ln_lost)
    }

    /// `ln` of Chernoff's bound on delta at epsilon 0, rounded up, and of the mass that truncation costs besides.
    fn certified(&self) -> (f64, f64) {
        if self.apart.is_some() {
            return (f64::INFINITY, f64::INFINITY);
        }
        let atoms = atoms(&self.parts, Side::Pessimistic);
        let ln_moment = ln_moment(&atoms, self.mu2.1, self.c);
        let mut ln_lost = LnSum::default();
        self.parts.iter().for_each(|(it, count)| ln_lost.add(count.ln() + it.ln_beyond + 1e-9));
        // The truncated mass is paid from the first term, rounding from the others.
        let rounding: f64 = atoms.iter().map(|(it, count)| count * it.moment(self.c).1).sum();
        let allowance = 1e-9 + 2.0 * rounding + 1e-13 * ln_moment.abs();
        if allowance > 0.1 || allowance.is_nan() {
            return (f64::INFINITY, f64::INFINITY);
        }
        (ln_moment + conversion(self.c) + allowance, ln_lost.value())
    }

    /// How far epsilon moves when `ln delta` moves by a tolerance.
    pub(super) fn distance(&self, ln_tolerance: f64) -> f64 {
        ln_tolerance / self.slope()
    }

    /// An estimate of the answer, by Chernoff.
    pub(super) fn estimate(&self) -> f64 {
        match self.question {
            Question::LnDelta(_) => self.epsilon,
            Question::Epsilon(_) => self.ln_delta,
        }
    }
}
