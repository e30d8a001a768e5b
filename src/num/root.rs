//! Bracketed root finding that returns both ends of the final bracket.
//!
//! A caller that must err on one side takes [`Bracket::holds`]: the predicate was really evaluated
//! there and was true, whatever the solver did in between.

/// The two ends of a search for the point where a predicate changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bracket {
    /// A point where the predicate is false.
    pub fails: f64,
    /// A point where the predicate is true.
    pub holds: f64,
}

/// Position of a float in the order of all floats, so that halving a difference halves the number of
/// floats in between and every bracket closes in at most 64 steps.
fn rank(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

/// The float at a position; the inverse of [`rank`].
fn unrank(rank: i64) -> f64 {
    f64::from_bits(if rank < 0 { i64::MIN.wrapping_sub(rank) } else { rank } as u64)
}

/// Narrows a bracket of a monotone predicate until its ends are adjacent floats, or differ by at most
/// `relative_width` times the larger magnitude.
///
/// The predicate says `None` where it has no answer (a NaN). At most 66 evaluations are made. If the
/// predicate is not monotone the result is still a true pair: false at one end, true at the other.
///
/// Returns `None` when the ends are not finite, when the predicate is not false at `fails` and true at
/// `holds`, or when it once has no answer.
///
/// ```
/// use rhograd::num::root::bisect;
/// let root = bisect(0.0, 2.0, 0.0, |x| Some(x * x >= 2.0)).unwrap();
/// assert!(root.holds * root.holds >= 2.0);
/// assert_eq!(root.fails.next_up(), root.holds);
/// ```
pub fn bisect(
    fails: f64,
    holds: f64,
    relative_width: f64,
    mut predicate: impl FnMut(f64) -> Option<bool>,
) -> Option<Bracket> {
    if !fails.is_finite() || !holds.is_finite() || predicate(fails)? || !predicate(holds)? {
        return None;
    }
    let (mut no, mut yes) = (rank(fails), rank(holds));
    loop {
        let bracket = Bracket { fails: unrank(no), holds: unrank(yes) };
        let wide =
            (bracket.fails - bracket.holds).abs() > relative_width * bracket.fails.abs().max(bracket.holds.abs());
        // The floored mean of two positions, free of overflow; it equals an end once they are adjacent.
        let middle = (no & yes) + ((no ^ yes) >> 1);
        if !wide || middle == no || middle == yes {
            return Some(bracket);
        }
        if predicate(unrank(middle))? {
            yes = middle;
        } else {
            no = middle;
        }
    }
}

/// Like [`bisect`], but first walks away from a guess in growing steps, so that a good guess costs a
/// few evaluations and a bad one only about ten more than the plain search.
///
/// Returns `None` under the same conditions.
pub fn bisect_near(
    fails: f64,
    holds: f64,
    guess: f64,
    relative_width: f64,
    mut predicate: impl FnMut(f64) -> Option<bool>,
) -> Option<Bracket> {
    if !fails.is_finite() || !holds.is_finite() {
        return None;
    }
    let between = |x: f64, a: f64, b: f64| x > a.min(b) && x < a.max(b);
    let (mut no, mut yes) = (fails, holds);
    if between(guess, no, yes) {
        let guess_holds = predicate(guess)?;
        *(if guess_holds { &mut yes } else { &mut no }) = guess;
        let away = if guess_holds { fails - holds } else { holds - fails }.signum();
        let mut step = guess.abs() * 2f64.powi(-48);
        let mut growth = 4.0;
        let mut at = guess + away * step;
        while between(at, no, yes) {
            let at_holds = predicate(at)?;
            *(if at_holds { &mut yes } else { &mut no }) = at;
            if at_holds != guess_holds {
                break;
            }
            step *= growth;
            growth *= growth;
            at += away * step;
        }
    }
    bisect(no, yes, relative_width, predicate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_a_bracket_fails() {
        let above = |x: f64| Some(x >= 1.0);
        for (a, b) in [(0.0, 0.5), (1.0, 2.0), (2.0, 0.0), (f64::NAN, 2.0), (0.0, f64::INFINITY)] {
            assert_eq!(bisect(a, b, 0.0, above), None);
            assert_eq!(bisect_near(a, b, 0.7, 0.0, above), None);
        }
        assert_eq!(bisect(0.0, 2.0, 0.0, |x| if x == 0.0 || x == 2.0 { Some(x > 1.0) } else { None }), None);
        assert_eq!(bisect_near(0.0, 2.0, 1.0, 0.0, |_| None), None);
    }

    #[test]
    fn a_predicate_that_is_not_monotone_still_ends() {
        let root = bisect(0.0, 8.0, 0.0, |x| Some(x == 8.0 || (x.to_bits() & 1 == 1 && x > 0.0))).unwrap();
        assert_eq!(root.fails.next_up(), root.holds);
    }

    #[test]
    fn stops_at_the_asked_width() {
        let mut calls = 0;
        let root = bisect(1.0, 2.0, 1e-3, |x| {
            calls += 1;
            Some(x >= 1.5)
        })
        .unwrap();
        assert!(root.holds - root.fails <= 2e-3 && calls < 15);
    }

    proptest! {
        #[test]
        fn finds_any_threshold_from_any_guess(a in any::<f64>(), b in any::<f64>(), c in any::<f64>(), guess in any::<u64>()) {
            let mut ordered = [a, b, c];
            ordered.sort_by(f64::total_cmp);
            let [a, t, b] = ordered;
            prop_assume!(a.is_finite() && b.is_finite() && a < t);
            let mut calls = 0;
            let rising = bisect_near(a, b, f64::from_bits(guess), 0.0, |x| { calls += 1; Some(x >= t) }).unwrap();
            prop_assert!(rising.holds == t && rising.fails < t && rising.fails.next_up() >= t);
            prop_assert!(calls < 100);
            let falling = bisect_near(b, a, t, 0.0, |x| Some(x < t)).unwrap();
            prop_assert!(falling.fails == t && falling.holds < t);
        }
    }
}
