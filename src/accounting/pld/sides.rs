//! Compositions of pairs that are known from above and from below, as close as a question needs.

use super::bracket::Bracket;
use super::interval::Interval;
use super::law::Law;
use super::table::Table;
use crate::accounting::ratio::FINE;

/// A composition that bounds another, and a bound on the error of its `ln delta`.
pub(super) struct Side {
    pub law: Law,
    pub error: f64,
}

impl Side {
    /// The composition that dominates.
    pub(super) fn above(law: &Law, level: usize) -> Self {
        Self::of(law, |bracket| {
            let (table, lost, error) = bracket.above(level);
            Some((table, Interval { lower: (-lost.min(1.0)).ln_1p() * (1.0 + 1e-9), upper: 0.0 }, error))
        })
    }

    /// The composition that is dominated.
    pub(super) fn below(law: &Law, level: usize) -> Self {
        let mut side = Self::of(law, |bracket| {
            let (table, error) = bracket.below(level)?;
            Some((table, Interval { lower: 0.0, upper: 0.0 }, error))
        });
        side.law.compose(&Law { mu: Interval { lower: law.least_mu, upper: law.least_mu }, ..Law::default() });
        side
    }

    fn of(law: &Law, known: impl Fn(&Bracket) -> Option<(Table, Interval, f64)>) -> Self {
        let mut side = Side { law: Law { brackets: Vec::new(), least_mu: 0.0, ..law.clone() }, error: 0.0 };
        for (bracket, count) in &law.brackets {
            let Some((table, ln_keep, error)) = known(bracket) else { continue };
            side.law.compose(&Law::of_table(table, ln_keep, *count));
            side.error += (2.0 * error + 1e-12) * count;
        }
        side
    }
}

/// An answer between those for both sides, which come closer as long as it is wider than the tolerance and finer laws would make it narrower.
pub(super) fn between(
    law: &Law,
    tolerance: f64,
    upper: impl Fn(&Side) -> f64 + Sync,
    lower: impl Fn(&Side) -> f64 + Sync,
) -> Interval {
    let mut best = Interval { lower: f64::NEG_INFINITY, upper: f64::INFINITY };
    let apart = law.brackets.iter().any(|it| it.0.is_apart());
    let mut level = Some(0);
    let mut before: Option<(usize, f64)> = None;
    while let Some(at) = level {
        let (above, below) = rayon::join(|| upper(&Side::above(law, at)), || lower(&Side::below(law, at)));
        best = Interval { lower: best.lower.max(below), upper: best.upper.min(above) };
        // Widths fall with the square of the fineness, but for what lies between two different pairs.
        let left = match before {
            Some((coarse, width)) if apart && width.is_finite() => {
                (width - best.width()) / ((FINE[at] / FINE[coarse]).powi(2) - 1.0)
            }
            _ => best.width(),
        };
        let narrow = |it: usize| left * (FINE[at] / FINE[it]).powi(2) <= tolerance;
        let last = if apart { at + 1 } else { FINE.len() - 1 };
        let finest = (at < last && last < FINE.len()).then_some(last);
        level = if narrow(at) { None } else { (at + 1..FINE.len()).find(|it| narrow(*it)).or(finest) };
        before = Some((at, best.width()));
    }
    Interval { lower: best.lower.min(best.upper), upper: best.upper }
}
