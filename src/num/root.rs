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

/// The whole number nearest to `fails_end` at which a monotone predicate holds, that end included.
///
/// Walks from `guess` in doubling steps, the first `step` long, then halves. The predicate was really evaluated
/// at the result and true there, and false at the next number towards `fails_end`, unless the result is that end.
/// `None` when it does not even hold at `holds_end`.
///
/// # Errors
/// The first error of the predicate.
///
/// ```
/// use rhograd::num::root::last_whole;
/// let cube = |n: i128| Ok::<bool, ()>(n * n * n <= 1000);
/// assert_eq!(last_whole(100, 0, 1, 1, cube), Ok(Some(10)));
/// assert_eq!(last_whole(7, 0, 1, 1, cube), Ok(Some(7)));
/// assert_eq!(last_whole(100, 11, 12, 1, cube), Ok(None));
/// ```
pub fn last_whole<E>(
    fails_end: i128,
    holds_end: i128,
    guess: i128,
    step: i128,
    mut predicate: impl FnMut(i128) -> Result<bool, E>,
) -> Result<Option<i128>, E> {
    let only = |holds: bool| if holds { f64::NEG_INFINITY } else { f64::INFINITY };
    last_whole_by(fails_end, holds_end, guess, step, |n| predicate(n).map(only))
}

/// Evaluations in a row that may fail to halve a bracket before it is halved at its middle.
const PATIENCE: u32 = 2;

/// The whole number nearest to `fails_end` at which a monotone function is at most 0, that end included.
///
/// Walks from `guess` in doubling steps, the first `step` long. Inside the bracket the next number is where the straight line between its ends
/// crosses 0; an end that stays has its value halved each time, and a bracket that shrinks too slowly is cut in two. The function was really evaluated at the
/// result and at most 0 there, and above 0 at the next number towards `fails_end`, unless the result is that end. `None` when it is above 0 even at `holds_end`.
///
/// Values that are not finite say no more than on which side they are; NaN is above 0.
///
/// # Errors
/// The first error of the function.
///
/// Reference: Dowell and Jarratt 1971, "A modified regula falsi method for computing the root of an equation" (the Illinois method).
///
/// ```
/// use rhograd::num::root::last_whole_by;
/// let mut calls = 0;
/// let found = last_whole_by(1_000_000, 0, 0, 1000, |n| {
///     calls += 1;
///     Ok::<f64, ()>((n as f64).sqrt() - 300.5)
/// });
/// assert_eq!(found, Ok(Some(90_300)));
/// // Halving takes 24.
/// assert!(calls < 15);
/// ```
pub fn last_whole_by<E>(
    fails_end: i128,
    holds_end: i128,
    guess: i128,
    step: i128,
    mut excess: impl FnMut(i128) -> Result<f64, E>,
) -> Result<Option<i128>, E> {
    let away = if fails_end > holds_end { 1 } else { -1 };
    let clamp = |n: i128| n.clamp(fails_end.min(holds_end), fails_end.max(holds_end));
    let mut at = clamp(guess);
    let (mut holds, mut fails) = (None, None);
    let mut step = step.max(1);
    let (mut yes, mut no) = loop {
        let value = excess(at)?;
        let outwards = if value <= 0.0 {
            holds = Some((at, value));
            if at == fails_end {
                return Ok(Some(at));
            }
            away
        } else {
            fails = Some((at, value));
            if at == holds_end {
                return Ok(None);
            }
            -away
        };
        if let (Some(yes), Some(no)) = (holds, fails) {
            break (yes, no);
        }
        at = clamp(at.saturating_add(outwards * step));
        step = step.saturating_mul(2);
    };
    let (mut slow, mut before) = (0, None);
    while (no.0 - yes.0).abs() > 1 {
        let gap = no.0 - yes.0;
        let share = yes.1 / (yes.1 - no.1);
        let told = slow < PATIENCE && yes.1.is_finite() && no.1.is_finite();
        let inward = if told { (gap.abs() as f64 * share).round() as i128 } else { gap.abs() / 2 };
        let at = yes.0 + inward.clamp(1, gap.abs() - 1) * gap.signum();
        let value = excess(at)?;
        let found = value <= 0.0;
        let (moved, stayed) = if found { (&mut yes, &mut no) } else { (&mut no, &mut yes) };
        *moved = (at, value);
        if before == Some(found) {
            stayed.1 *= 0.5;
        }
        before = Some(found);
        slow = if 2 * (no.0 - yes.0).abs() <= gap.abs() { 0 } else { slow + 1 };
    }
    Ok(Some(yes.0))
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
    fn a_jump_that_a_line_cannot_find_is_found_by_halving() {
        let mut calls = 0;
        let found = last_whole_by(100_000, 0, 0, 50_000, |n| {
            calls += 1;
            Ok::<f64, ()>(if n <= 70_000 { -1e-300 } else { 1.0 })
        });
        assert_eq!(found, Ok(Some(70_000)));
        assert!(calls <= 3 * 17, "{calls}");
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
        fn finds_any_whole_threshold(low in -1000i128..0, high in 1i128..1000, at in -1100i128..1100, guess in -2000i128..2000, step in 0i128..50) {
            let expected = (at >= low).then_some(at.min(high));
            let rising = last_whole(high, low, guess, step, |n| Ok::<bool, ()>(n <= at)).unwrap();
            prop_assert_eq!(rising, expected);
            let falling = last_whole(-high, -low, -guess, step, |n| Ok::<bool, ()>(-n <= at)).unwrap();
            prop_assert_eq!(falling, expected.map(|n| -n));
        }

        #[test]
        fn finds_any_whole_root_of_any_rising_function(
            at in -50_000i128..50_000, guess in -60_000i128..60_000, step in 1i128..40_000, power in 0.05f64..6.0, scale in -300i32..300,
            blind in 0u8..4,
        ) {
            let mut calls = 0;
            // Steep or flat about its root, told on both sides, one or none.
            let mut value = |n: i128| {
                calls += 1;
                let far = (n - at) as f64 - 0.5;
                let value = 10f64.powi(scale) * far.signum() * far.abs().powf(power);
                let untold = if far > 0.0 { blind & 1 > 0 } else { blind & 2 > 0 };
                Ok::<f64, ()>(if untold { far.signum() * f64::INFINITY } else { value })
            };
            prop_assert_eq!(last_whole_by(50_000, -50_000, guess, step, &mut value), Ok(Some(at)));
            prop_assert_eq!(last_whole_by(-50_000, 50_000, guess, step, |n| value(-n)), Ok(Some(-at)));
            // Three evaluations halve a bracket, after a walk of doubling steps.
            prop_assert!(calls <= 2 * (18 + 3 * 17), "{calls}");
        }

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
