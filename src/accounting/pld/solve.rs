//! From bounds on `ln delta` at every epsilon to an interval for the question asked.

use super::chernoff::Question;
use super::contour::Profile;
use super::finite::Finite;
use super::interval::Interval;
use super::law::Law;
use super::plan::Prepared;
use super::sides::{Side, between};
use crate::accounting::{gaussian, zcdp};
use crate::error::Fallible;
use crate::num::logs::ln_add_exp;
use crate::num::root::bisect;
use crate::num::round::{down, up};
use crate::privacy::{Delta, Epsilon};

/// Runs with a finer tolerance when the first interval is too wide, and as many more that ask about another epsilon.
const RUNS: usize = 8;

/// No finer tolerance on `ln delta` is tried.
const MIN_TOLERANCE: f64 = 1e-9;

/// No finer tolerance on `ln delta` is tried for what large losses are chosen by.
const GUESSED: f64 = 0.1;

/// No epsilon is asked for more closely than to this part of itself: sums of thousands of steps are hardly known better.
const MIN_RELATIVE: f64 = 1e-8;

/// Width of bounds on epsilon over epsilon that answers have.
pub(super) const NARROW: f64 = 1e-4;

/// Width of bounds on epsilon that is always narrow enough.
pub(super) const NARROW_ENOUGH: f64 = 1e-7;

/// The share of the tolerance on `ln delta` that sums are first taken with: they miss it by up to a seventh, and would be taken twice.
const REACHED: f64 = 0.85;

/// The share of the upper bound on epsilon from which on the lower one is near it.
const NEAR: f64 = 0.8;

/// Bounds on `ln delta` as a function of epsilon.
enum Curve {
    /// `mu` rounded down and up.
    Gaussian(f64, f64),
    Finite(Finite),
    /// The dominated composition and the dominating one.
    Contour(Box<(Profile, Profile)>),
}

impl Curve {
    fn lower(&self, epsilon: f64) -> f64 {
        match self {
            Curve::Gaussian(mu, _) => {
                gaussian_ln_delta(*mu, epsilon).map_or(f64::NEG_INFINITY, |upper| upper - 1e-12 * (1.0 + upper.abs()))
            }
            Curve::Finite(finite) => finite.bounds(epsilon).0,
            Curve::Contour(both) => both.0.lower(epsilon),
        }
    }

    fn upper(&self, epsilon: f64) -> f64 {
        match self {
            Curve::Gaussian(_, mu) => gaussian_ln_delta(*mu, epsilon).unwrap_or(0.0),
            Curve::Finite(finite) => finite.bounds(epsilon).1,
            Curve::Contour(both) => both.1.upper(epsilon),
        }
    }
}

/// The exact upper bound, if it has an answer.
fn gaussian_ln_delta(mu: f64, epsilon: f64) -> Option<f64> {
    Epsilon::new(epsilon).and_then(|it| gaussian::ln_delta(mu, it)).ok()
}

/// A composition with the probability of outright failure split off: `delta = p + (1-p) delta'`.
struct Kept {
    /// Lower and upper bound on p.
    failure: (f64, f64),
}

impl Kept {
    fn new(law: &Law) -> Self {
        let (low, high) = (down(-law.ln_keep.upper.exp_m1(), 4), up(-law.ln_keep.lower.exp_m1(), 4));
        // A product that underflowed was rounded up, so that below this nothing is certain.
        let low = if low < 1e-300 { 0.0 } else { low };
        Kept { failure: (low, if law.ln_keep.lower < 0.0 { high.min(1.0) } else { 0.0 }) }
    }

    /// Bounds on the `ln delta'` that makes up a total of delta; `None` when the failures use it all.
    fn target(&self, delta: Delta) -> Option<(f64, f64)> {
        if self.failure.1 == 0.0 {
            return Some((down(delta.ln(), 2), up(delta.ln(), 2)));
        }
        let rest = |p: f64| (delta.value() - p) / (1.0 - p);
        let (low, high) = (rest(self.failure.1), rest(self.failure.0));
        (low > 0.0 && high < 1.0).then(|| (down(low.ln(), 8), up(high.ln(), 8)))
    }

    /// Bounds on the total `ln delta`.
    fn total(&self, ln_delta: (f64, f64)) -> (f64, f64) {
        if self.failure.1 == 0.0 {
            return ln_delta;
        }
        let sum = |p: f64, ln: f64| ln_add_exp(p.ln(), (-p).ln_1p() + ln).min(0.0);
        let (low, high) = (sum(self.failure.0, ln_delta.0), sum(self.failure.1, ln_delta.1));
        (low - 1e-14 * (1.0 + low.abs()), (high + 1e-14 * (1.0 + high.abs())).min(0.0))
    }
}

/// The zCDP bound on epsilon, which always holds.
fn analytic_epsilon(law: &Law, ln_delta: f64) -> f64 {
    // Rounded to 1 it would be no delta; the next one below is that of a target just below 1.
    let delta = ln_delta.exp().min(1f64.next_down());
    let by_rho = Delta::new(delta).and_then(|delta| zcdp::epsilon_optimal(0.0, law.rho(), delta));
    by_rho.map_or(f64::INFINITY, Epsilon::value).min(law.largest_loss())
}

/// The zCDP bound on `ln delta`, which always holds.
fn analytic_ln_delta(law: &Law, epsilon: f64) -> f64 {
    if epsilon >= law.largest_loss() {
        return f64::NEG_INFINITY;
    }
    Epsilon::new(epsilon).and_then(|it| zcdp::ln_delta_optimal(0.0, law.rho(), it)).map_or(0.0, |it| it.min(0.0))
}

/// A lower bound on epsilon from the largest loss alone: `delta >= p (1 - e^(epsilon - loss))`.
fn top_epsilon(law: &Law, ln_delta: f64) -> f64 {
    match law.top() {
        Some((ln_mass, loss)) if ln_delta < ln_mass => (loss + (-(ln_delta - ln_mass).exp()).ln_1p()).max(0.0),
        _ => 0.0,
    }
}

/// A lower bound on `ln delta` from the largest loss alone.
fn top_ln_delta(law: &Law, epsilon: f64) -> f64 {
    match law.top() {
        Some((ln_mass, loss)) if epsilon < loss => ln_mass + (-(epsilon - loss).exp_m1()).ln() - 1e-12,
        _ => f64::NEG_INFINITY,
    }
}

/// Whether the sum of the total variations is at most `e^ln_delta`, so that epsilon is 0.
fn is_free(law: &Law, ln_delta: f64) -> bool {
    let gaussian = gaussian_ln_delta(law.mu.upper, 0.0).map_or(1.0, f64::exp);
    let variation = |pair| super::finite::Single::new(pair, ln_delta.max(-700.0)).map_or(1.0, |it| it.variation());
    let room = ln_delta.exp() * (1.0 - 1e-9);
    // The cheap part first: a single variation that is too large decides.
    let mut total = gaussian + law.tables.iter().map(|(table, count)| count * table.variation()).sum::<f64>();
    for &(pair, count) in &law.parts {
        if total > room {
            return false;
        }
        total += count * variation(pair);
    }
    total <= room
}

/// The interval of epsilon between the bounds of a curve.
///
/// `first` is the distance below the upper end at which the lower end is first looked for.
fn invert(curve: &Curve, target: (f64, f64), guess: f64, ceiling: f64, first: f64) -> Interval {
    let meets = |epsilon: f64| Some(curve.upper(epsilon) <= target.0);
    let mut upper = ceiling;
    if curve.upper(0.0) <= target.0 {
        upper = 0.0;
    } else {
        let mut end = guess.max(1e-300).min(ceiling);
        for _ in 0..12 {
            if !end.is_finite() || meets(end) == Some(true) {
                break;
            }
            end *= 1.5;
        }
        if let Some(bracket) = bisect(0.0, end, 1e-13, meets) {
            upper = bracket.holds.min(ceiling);
        }
    }
    let fails = |epsilon: f64| Some(curve.lower(epsilon) < target.1);
    if upper == 0.0 {
        return Interval { lower: 0.0, upper };
    }
    // Walk down from the upper end until the lower bound on delta is above the target.
    let start = upper.min(f64::MAX);
    let mut step = first.min(1e-3 * start).max(1e-15 * start);
    let mut good = 0.0;
    while step < start {
        if fails(start - step) == Some(false) {
            good = start - step;
            break;
        }
        step *= 3.0;
    }
    let width = (0.02 * (start - good) / start).max(1e-14);
    let lower = bisect(good, start, width, fails).map_or(good, |it| it.fails);
    Interval { lower: lower.min(upper), upper }
}

/// The widths of runs of one kind, each of a finer tolerance than the one before it.
struct Widths {
    /// The last one; infinite where none was found.
    last: f64,
    /// Whether sums were taken with care.
    careful: bool,
}

impl Widths {
    fn new() -> Self {
        Widths { last: f64::INFINITY, careful: false }
    }

    /// Takes note of a width; whether it is hardly below the one before it, so that rounding decides and not the tolerance.
    fn is_no_narrower(&mut self, width: f64, careful: bool) -> bool {
        let before = if careful == self.careful { self.last } else { f64::INFINITY };
        *self = Widths { last: width, careful };
        before < f64::INFINITY && width > 0.9 * before
    }
}

/// The profiles at the tolerance, or at the finest that can be computed, which then becomes the floor.
fn finest(prepared: &Prepared, ln_tolerance: &mut f64, floor: &mut f64) -> Option<(Profile, Profile)> {
    for tried in 0..14 {
        if let Some(found) = prepared.profiles(*ln_tolerance) {
            return Some(found);
        }
        *ln_tolerance *= if tried < 3 { 3.0 } else { 10.0 };
        *floor = *ln_tolerance;
    }
    None
}

/// Sums that bound an epsilon, and what is known of it.
struct Sums {
    prepared: Prepared,
    /// Bounds on the `ln delta` at which it is asked for.
    target: (f64, f64),
    /// The zCDP bound.
    analytic: f64,
    best: Interval,
    /// The tolerance on `ln delta` of the last sums, infinite before the first, and the finest that can be computed.
    ln_tolerance: f64,
    floor: f64,
    /// Whether the next sums are others, not finer ones.
    moved: bool,
    /// Whether the answer was far from where the last ones looked, so that the next guess is another guess.
    far: bool,
    widths: Widths,
}

/// Bounds on epsilon for the part without outright failures, or sums that bound it.
fn kept_epsilon(law: &Law, target: (f64, f64)) -> Result<Sums, Interval> {
    let analytic = analytic_epsilon(law, target.0);
    if law.is_gaussian() {
        if law.mu.upper == 0.0 {
            return Err(Interval { lower: 0.0, upper: 0.0 });
        }
        return Err(invert(&Curve::Gaussian(law.mu.lower, law.mu.upper), target, analytic, analytic, 1e-9 * analytic));
    }
    let best = Interval { lower: top_epsilon(law, target.1).min(analytic), upper: analytic };
    if best.width() <= 1e-12 * analytic {
        return Err(best);
    }
    if let Some(finite) = Finite::new(law, target.0) {
        return Err(invert(&Curve::Finite(finite), target, analytic, analytic, 1e-10 * analytic.min(1e300)));
    }
    if is_free(law, target.0) {
        return Err(Interval { lower: 0.0, upper: 0.0 });
    }
    let prepared = Prepared::new(law, Question::LnDelta(target.0)).ok_or(best)?;
    Ok(Sums {
        prepared,
        target,
        analytic,
        best,
        ln_tolerance: f64::INFINITY,
        floor: MIN_TOLERANCE,
        moved: false,
        far: false,
        widths: Widths::new(),
    })
}

impl Sums {
    /// Whether sums were taken and have told anything: next to epsilon 0 too coarse ones do not, however wide an answer may be.
    fn have_told(&self) -> bool {
        self.ln_tolerance < f64::INFINITY && (self.best.upper < self.analytic || self.best.lower > 0.0)
    }

    /// Whether bounds are at most so far apart.
    fn are_within(&self, tolerance: f64) -> bool {
        self.have_told() && self.best.upper - self.best.lower <= tolerance
    }

    /// The tolerance on `ln delta` of the next sums.
    fn next(&self, tolerance: f64) -> f64 {
        let next = if self.ln_tolerance == f64::INFINITY {
            self.prepared.ln_tolerance(tolerance)
        } else if !self.have_told() {
            self.ln_tolerance * 0.1
        } else if self.moved {
            self.prepared.ln_tolerance(tolerance).max(if self.far { GUESSED } else { 0.0 })
        } else {
            self.ln_tolerance * (0.5 * tolerance / self.best.width()).clamp(1e-3, 0.5)
        };
        next.max(self.floor)
    }

    /// Narrows the bounds by sums of finer and finer tolerance.
    fn narrow(&mut self, tolerance: f64) {
        let closest = |best: Interval| tolerance.max(MIN_RELATIVE * best.lower);
        let mut left = RUNS;
        for _ in 0..2 * RUNS {
            // Where nothing finer can be computed, another sum may say more.
            let exhausted = !self.moved && self.ln_tolerance <= self.floor;
            if self.are_within(closest(self.best)) || (exhausted && !self.come_close()) {
                return;
            }
            self.ln_tolerance = self.next(closest(self.best));
            let careful = self.prepared.is_astray();
            let Some(both) = finest(&self.prepared, &mut self.ln_tolerance, &mut self.floor) else {
                return;
            };
            let (analytic, first) = (self.analytic, self.prepared.distance(self.ln_tolerance));
            let curve = Curve::Contour(Box::new(both));
            let found = invert(&curve, self.target, self.prepared.estimate(), analytic, first);
            self.far = found.upper < 0.9 * self.best.upper;
            self.best = Interval { lower: self.best.lower.max(found.lower), upper: self.best.upper.min(found.upper) };
            self.moved = self.prepared.learn(self.best.lower, self.best.upper, self.target.0);
            // Only what moved nothing was a run that a finer one may follow, and none follows one that was no narrower.
            left -= usize::from(!self.moved);
            // Without a lower bound there is no width yet.
            let found = if found.lower > 0.0 { found.width() } else { f64::INFINITY };
            let last = !self.moved && (self.ln_tolerance <= self.floor || self.widths.is_no_narrower(found, careful));
            if self.moved {
                (self.widths, self.floor) = (Widths::new(), MIN_TOLERANCE);
            }
            if left == 0 || self.are_within(closest(self.best)) {
                return;
            }
            // Near the answer it costs less than finer sums, and says more.
            let near = self.best.lower > NEAR * self.best.upper;
            // It may be asked for more closely later on.
            let narrow = (NARROW * self.best.upper).max(NARROW_ENOUGH) / 2.0;
            let closer = last || (near && self.prepared.may_come_close(closest(self.best).min(narrow)));
            if !(closer && self.come_close()) && last {
                return;
            }
        }
    }

    /// Chooses large losses more closely, which may be done once; whether it did.
    fn come_close(&mut self) -> bool {
        let moved = self.prepared.come_close(self.best.lower, self.best.upper);
        if moved {
            (self.moved, self.far, self.widths, self.floor) = (true, false, Widths::new(), MIN_TOLERANCE);
        }
        moved
    }
}

/// The epsilon of one direction at a delta, which may be asked for more and more closely.
pub(super) struct Asked<'a> {
    law: &'a Law,
    delta: Delta,
    /// What was found for the part without outright failures, once it was asked for.
    kept: Option<Result<Sums, Interval>>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(law: &'a Law, delta: Delta) -> Self {
        Asked { law, delta, kept: None }
    }

    /// Bounds on epsilon, at most `tolerance` apart where that is within reach; what was found before is kept.
    pub(super) fn within(&mut self, tolerance: f64) -> Interval {
        let (law, delta) = (self.law, self.delta);
        if !law.brackets.is_empty() {
            let quarter = tolerance / 4.0;
            return between(law, tolerance, |it| above(law, it, delta, quarter), |it| below(it, delta, quarter));
        }
        if self.kept.is_none() {
            let kept = Kept::new(law);
            self.kept = Some(match kept.target(delta) {
                Some(target) => kept_epsilon(law, target),
                None if kept.failure.0 >= delta.value() => Err(Interval { lower: f64::INFINITY, upper: f64::INFINITY }),
                None => Err(Interval { lower: 0.0, upper: f64::INFINITY }),
            });
        }
        match self.kept.as_mut() {
            Some(Ok(sums)) => {
                sums.narrow(tolerance);
                sums.best
            }
            Some(Err(known)) => *known,
            None => Interval { lower: 0.0, upper: f64::INFINITY },
        }
    }
}

/// Bounds on `ln delta` for the part without outright failures.
fn kept_ln_delta(law: &Law, epsilon: f64, tolerance: f64, enough: f64) -> (f64, f64) {
    let analytic = analytic_ln_delta(law, epsilon);
    let none = f64::NEG_INFINITY;
    if analytic == none || (law.is_gaussian() && law.mu.upper == 0.0) {
        return (none, none);
    }
    if law.is_gaussian() {
        let curve = Curve::Gaussian(law.mu.lower, law.mu.upper);
        return (curve.lower(epsilon), curve.upper(epsilon).min(analytic));
    }
    let prepared = Prepared::new(law, Question::Epsilon(epsilon));
    let depth = prepared.as_ref().map_or(-2000.0, Prepared::estimate) - 30.0;
    if let Some(finite) = Finite::new(law, depth) {
        let (lower, upper) = finite.bounds(epsilon);
        return (lower, upper.min(analytic));
    }
    let mut best = (top_ln_delta(law, epsilon).min(analytic), analytic);
    if let Some(prepared) = prepared {
        refine_ln_delta(law, prepared, epsilon, (tolerance, enough), &mut best);
    }
    if best.1 - best.0 > tolerance && best.1 > enough {
        best.1 = best.1.min(Prepared::rough_ln_delta(law, epsilon));
    }
    best
}

/// Narrows bounds on `ln delta` by sums of finer and finer tolerance, until they are as narrow as that or known to be low enough.
fn refine_ln_delta(
    law: &Law,
    mut prepared: Prepared,
    epsilon: f64,
    (tolerance, enough): (f64, f64),
    best: &mut (f64, f64),
) {
    // Where rounding keeps the best tilt from saying how little there is, a weaker one may say that it is little enough.
    let hardly = || prepared.estimate() < enough && Prepared::rough_ln_delta(law, epsilon) <= enough;
    if prepared.chernoff_ln_delta(epsilon) <= enough || hardly() {
        best.1 = best.1.min(enough);
        return;
    }
    let mut ln_tolerance = prepared.ln_tolerance(REACHED * tolerance);
    let mut floor = MIN_TOLERANCE;
    // Next to the largest loss delta falls to 0 and finer sums gain nothing on the bounds above.
    let once = epsilon > 0.999_999 * law.largest_loss();
    let mut left = RUNS;
    let mut widths = Widths::new();
    for _ in 0..2 * RUNS {
        let careful = prepared.is_astray();
        let Some((lower, upper)) = finest(&prepared, &mut ln_tolerance, &mut floor) else {
            return;
        };
        let found = (lower.lower(epsilon), upper.upper(epsilon));
        *best = (best.0.max(found.0), best.1.min(found.1));
        let moved = prepared.learn(epsilon, epsilon, best.1);
        let width = best.1 - best.0;
        if width <= tolerance || best.1 <= enough || once {
            break;
        }
        left -= usize::from(!moved);
        let last = !moved && (ln_tolerance <= floor || widths.is_no_narrower(found.1 - found.0, careful));
        let moved = moved || (last && prepared.come_close(epsilon, epsilon));
        if left == 0 || (last && !moved) {
            break;
        }
        if moved {
            (widths, floor) = (Widths::new(), MIN_TOLERANCE);
            ln_tolerance = prepared.ln_tolerance(tolerance);
            continue;
        }
        ln_tolerance *= (0.5 * tolerance / width).clamp(1e-3, 0.5);
    }
}

/// No `ln delta` is known to be low enough.
pub(super) const NONE: f64 = f64::NEG_INFINITY;

/// Delta times `e^error`, if that is a delta.
fn moved(delta: Delta, error: f64) -> Option<Delta> {
    Delta::new(delta.value() * error.exp()).ok()
}

/// An upper bound on epsilon by what dominates; where errors have added up to more than delta, by the largest sensitivity of everything.
fn above(law: &Law, side: &Side, delta: Delta, tolerance: f64) -> f64 {
    match moved(delta, -side.error) {
        Some(moved) => epsilon(&side.law, moved, tolerance).upper,
        None => epsilon(&law.without_brackets(), delta, tolerance).upper,
    }
}

/// A lower bound on epsilon of what is dominated.
fn below(side: &Side, delta: Delta, tolerance: f64) -> f64 {
    moved(delta, side.error).map_or(0.0, |delta| epsilon(&side.law, delta, tolerance).lower)
}

/// Bounds on epsilon in one direction.
pub(super) fn epsilon(law: &Law, delta: Delta, tolerance: f64) -> Interval {
    Asked::new(law, delta).within(tolerance)
}

/// By how much of itself an upper bound on epsilon is above the truth, about, for the coarsest laws of ratios.
const COARSE: f64 = 1e-3;

/// An upper bound on epsilon of two directions, for less than an interval costs where laws of ratios are computed.
pub(super) fn upper_epsilon(laws: [&Law; 2], delta: Delta, tolerance: f64) -> f64 {
    let at = |law: &Law, level: usize| {
        let upper = above(law, &Side::above(law, level), delta, tolerance / 4.0);
        Interval { lower: 0.0, upper }.checked(0.0, f64::INFINITY).upper
    };
    let coarse = laws.map(|law| at(law, 0));
    let most = coarse[0].max(coarse[1]);
    if most * COARSE <= tolerance {
        return most;
    }
    let finer = |i: usize| if coarse[i] >= most * (1.0 - 2.0 * COARSE) { at(laws[i], 1) } else { coarse[i] };
    finer(0).max(finer(1)).min(most)
}

/// Bounds on `ln delta` in one direction, which need not be narrow where they are at most `enough`.
pub(super) fn ln_delta(law: &Law, epsilon: f64, tolerance: f64, enough: f64) -> Interval {
    if !law.brackets.is_empty() {
        let quarter = tolerance / 4.0;
        let upper = |it: &Side| (ln_delta(&it.law, epsilon, quarter, NONE).upper + it.error).min(0.0);
        return between(law, tolerance, upper, |it| ln_delta(&it.law, epsilon, quarter, NONE).lower - it.error);
    }
    // Failures that are all but certain decide alone.
    let kept_alone = Kept::new(law);
    let enough = if kept_alone.failure.1 == 0.0 { enough } else { NONE };
    let kept = if epsilon == f64::INFINITY || law.ln_keep.upper < -800.0 {
        (f64::NEG_INFINITY, f64::NEG_INFINITY)
    } else {
        kept_ln_delta(law, epsilon, tolerance, enough)
    };
    let (lower, upper) = kept_alone.total(kept);
    Interval { lower: lower.min(upper), upper }
}

/// A quick upper bound on epsilon, by zCDP or Chernoff.
pub(super) fn quick_epsilon(law: &Law, delta: Delta) -> f64 {
    if !law.brackets.is_empty() {
        let side = Side::above(law, 0);
        return moved(delta, -side.error).map_or(f64::INFINITY, |delta| quick_epsilon(&side.law, delta));
    }
    let Some(target) = Kept::new(law).target(delta) else {
        return f64::INFINITY;
    };
    let chernoff = Prepared::new(law, Question::LnDelta(target.0)).map_or(f64::INFINITY, |it| it.chernoff(target.0));
    analytic_epsilon(law, target.0).min(chernoff)
}

/// The exact delta of a single pair at epsilon, from above.
pub(super) fn single_delta(law: &Law, epsilon: Epsilon) -> Fallible<f64> {
    let upper = ln_delta(law, epsilon.value(), 1e-12, NONE).upper;
    Ok(if upper == f64::NEG_INFINITY { 0.0 } else { up(upper.exp(), 2).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::pld::Pld;
    use crate::privacy::{Adjacency, DpEvent, Mechanism};

    /// Sums of a question start where those before it ended, so that bounds only come closer.
    #[test]
    fn what_was_found_is_kept_for_the_next_question() {
        let event = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 0.73 }, 1.2e-7, 124);
        let pld = Pld::new(&event, Adjacency::ReplaceOne).unwrap();
        let mut asked = Asked::new(&pld.remove, Delta::new(2.6e-25).unwrap());
        let [first, second, third] = [f64::INFINITY, 1e-4, 1.0].map(|tolerance| asked.within(tolerance));
        assert!(first.width() > 1e-2 && second.width() <= 1e-4, "{first:?} {second:?}");
        assert_eq!(third, second);
    }

    /// Here rounding in millions of samples spoils the best tilt, and sums are as far from an answer.
    #[test]
    fn a_direction_that_cannot_be_the_larger_one_is_not_summed() {
        let gaussian = Mechanism::Gaussian { noise_multiplier: 0.5170337369325074 };
        let event = DpEvent::poisson(gaussian, 3.671736742488643e-7, 24_603_588);
        let pld = Pld::new(&event, Adjacency::AddRemove).unwrap();
        let epsilon = 8.327085759842003;
        let enough = -63.5;
        let prepared = Prepared::new(&pld.add, Question::Epsilon(epsilon)).unwrap();
        assert!(prepared.chernoff_ln_delta(epsilon) > enough && analytic_ln_delta(&pld.add, epsilon) > enough);
        assert_eq!(ln_delta(&pld.add, epsilon, 1e-3, enough).upper, enough);
        // Nothing is known to be as little as that.
        assert!(ln_delta(&pld.add, epsilon, 1e-3, -1e5).upper > -1e5);
    }
}
