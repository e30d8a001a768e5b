//! What a guarantee means to somebody who knows no formula: words that follow its numbers.

use super::Statement;
use crate::num::round::{decimal_up, up};
use crate::privacy::{Adjacency, PrivacyUnit};

/// Up to this epsilon chances with and without a row are nearly the same: none is more than 1.29 times another.
const NEARLY: f64 = 0.25;

/// From this epsilon on a guess about a row may be right 19 times in 20.
const WEAK: f64 = 3.0;

/// From this epsilon on a guess about a row may be wrong once in 3,000 times.
const NEXT_TO_NOTHING: f64 = 8.0;

/// A factor beyond this is no longer written out.
const MAX_FACTOR: f64 = 1e6;

/// From this delta on the words warn of it.
const LARGE_DELTA: f64 = 1e-3;

/// Significant digits of factors and percentages.
const DIGITS: u32 = 4;

impl Statement {
    /// The guarantee in plain words; `None` where there is no guarantee.
    ///
    /// Recomputed whenever they are shown, from the numbers of the statement, and no part of it: statements of earlier
    /// versions get today's words.
    pub fn in_plain_words(&self) -> Option<String> {
        let number = |text: &str| text.parse().unwrap_or(f64::INFINITY);
        let guarantee = &self.guarantee;
        self.dp.then(|| {
            plain_words(&self.facts.unit, self.facts.adjacency, number(&guarantee.epsilon), number(&guarantee.delta))
        })
    }
}

/// The largest probability with which a guess between two equally likely neighbours is right, rounded upward:
/// `1 - (1 - delta) / (1 + e^epsilon)`.
///
/// # Reference
/// Kairouz, Oh and Viswanath 2015, Theorem 2.1: the sum of both error rates is at least `2 (1 - delta) / (1 + e^epsilon)`.
fn right_at_most(epsilon: f64, delta: f64) -> f64 {
    up(1.0 - (1.0 - delta) / (1.0 + up(epsilon.exp(), 4)), 4).min(1.0)
}

/// The factor of an epsilon, rounded upward.
pub(super) fn times(epsilon: f64) -> String {
    let factor = up(epsilon.exp(), 4);
    match factor <= MAX_FACTOR {
        true => format!("at most {} times as often", decimal_up(factor, DIGITS)),
        false => "more than a million times as often, as far as this guarantee goes".into(),
    }
}

/// What epsilon and delta mean to somebody who knows no formula.
pub(crate) fn plain_words(unit: &PrivacyUnit, adjacency: Adjacency, epsilon: f64, delta: f64) -> String {
    let (change, question) = match (unit, adjacency) {
        (PrivacyUnit::Row, Adjacency::AddRemove) => {
            ("with any single row as without it", "whether some row is among the data")
        }
        (PrivacyUnit::Row, Adjacency::ReplaceOne) => {
            ("with any single row as with another in its place", "which of two rows is among the data")
        }
        (PrivacyUnit::Person { .. }, Adjacency::AddRemove) => {
            ("with all rows of any single person as without them", "whether some person is among the data")
        }
        (PrivacyUnit::Person { .. }, Adjacency::ReplaceOne) => (
            "with all rows of any single person as with another's in their place",
            "which of two persons is among the data",
        ),
        (PrivacyUnit::PrivateCells { .. }, _) => {
            ("with any single row as with other private cells in it", "which of two sets of private cells some row has")
        }
        (PrivacyUnit::Label, _) => {
            ("with any single label as with another in its place", "which of two labels some row has")
        }
    };
    let (one, others) = match unit {
        PrivacyUnit::Row => ("row", "all other rows"),
        PrivacyUnit::Person { .. } => ("person", "all rows of everybody else"),
        PrivacyUnit::PrivateCells { .. } => ("row", "all public columns and all other rows"),
        PrivacyUnit::Label => ("label", "all features and all other labels"),
    };
    let times = times(epsilon);
    let nearly = if epsilon <= NEARLY && delta < LARGE_DELTA {
        format!("nearly as often {change}: {times}")
    } else {
        format!("{times} {change}")
    };
    let shown = |delta: f64| if delta < LARGE_DELTA { format!("{delta:e}") } else { delta.to_string() };
    let right = decimal_up(100.0 * right_at_most(epsilon, delta), DIGITS);
    // Pure differential privacy adds nothing.
    let besides = if delta > 0.0 { format!(", plus a probability of {}", shown(delta)) } else { String::new() };
    let mut text = format!(
        "whatever someone looks for in what was released, even knowing {others}, they find it {nearly}{besides}. Who \
         guesses {question}, both being equally likely before, is right in at most {right}% of cases; a coin is in 50%."
    );
    if epsilon >= NEXT_TO_NOTHING {
        text.push_str(&format!(
            " This guarantee is next to none: it does not stop anyone from being all but sure about a {one}."
        ));
    } else if epsilon >= WEAK {
        text.push_str(" This is weak protection: epsilon is large.");
    }
    if delta >= LARGE_DELTA {
        text.push_str(&format!(
            " Delta is large, too: with a probability of {} everything about some {one} may come out.",
            shown(delta)
        ));
    }
    if let PrivacyUnit::Person { column } = unit {
        text.push_str(&format!(" A person is all rows with the same \"{column}\"."));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_number() {
        let said = |epsilon: f64| plain_words(&PrivacyUnit::Row, Adjacency::AddRemove, epsilon, 1e-6);
        let judged =
            |text: &str| ["nearly", "weak protection", "next to none"].map(|judgement| text.contains(judgement));
        for (epsilons, expected) in [
            (&[0.0, 0.01, 0.1, 0.25][..], [true, false, false]),
            (&[0.26, 0.5, 1.0, 2.0, 2.99], [false, false, false]),
            (&[3.0, 4.0, 7.99], [false, true, false]),
            (&[8.0, 20.0, 709.0, 710.0, 1000.0, 1e300, f64::INFINITY], [false, false, true]),
        ] {
            for &epsilon in epsilons {
                let text = said(epsilon);
                assert_eq!(judged(&text), expected, "{epsilon}: {text}");
                assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
            }
        }
    }

    #[test]
    fn persons_are_called_persons() {
        let patient = PrivacyUnit::person("patient").unwrap();
        for (adjacency, change) in [
            (Adjacency::AddRemove, "with all rows of any single person as without them"),
            (Adjacency::ReplaceOne, "as with another's in their place"),
        ] {
            for epsilon in [0.1, 1.0, 4.0, 9.0] {
                let text = plain_words(&patient, adjacency, epsilon, 0.01);
                assert!(text.contains(change) && text.contains("all rows of everybody else"), "{text}");
                assert!(text.ends_with("A person is all rows with the same \"patient\"."), "{text}");
                assert!(
                    !text.contains("a row") && !text.contains("some row") && !text.contains("single row"),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn factors_and_guesses_are_those_of_the_number() {
        let said = |epsilon: f64, delta: f64| plain_words(&PrivacyUnit::Row, Adjacency::ReplaceOne, epsilon, delta);
        let one = said(1.0, 1e-5);
        assert!(one.contains("at most 2.719 times as often") && one.contains("at most 73.11%"), "{one}");
        assert!(
            one.contains("plus a probability of 1e-5.")
                && one.contains("another in its place")
                && one.contains("which of two rows"),
            "{one}"
        );
        let eight = said(8.0, 1e-5);
        assert!(eight.contains("at most 2981 times") && eight.contains("at most 99.97%"), "{eight}");
        assert!(said(13.8, 1e-5).contains("times as often with") && said(13.9, 1e-5).contains("more than a million"));
    }

    #[test]
    fn a_large_delta_is_never_called_nearly_nothing() {
        let text = plain_words(&PrivacyUnit::Row, Adjacency::AddRemove, 0.001, 0.5);
        assert!(!text.contains("nearly") && text.contains("Delta is large"), "{text}");
        // Three in four: half of the time all is told, else a coin decides.
        assert!(text.contains("at most 75.02%"), "{text}");
        assert!(!plain_words(&PrivacyUnit::Row, Adjacency::AddRemove, 0.001, 9e-4).contains("Delta is large"));
    }

    #[test]
    fn a_guess_is_right_no_more_often_than_the_best_test_of_the_guarantee() {
        // Randomised response that fails with probability delta keeps (epsilon, delta) exactly, and is guessed so often.
        for epsilon in [0.0f64, 0.1, 1.0, 3.0, 10.0] {
            for delta in [1e-9, 1e-3, 0.3] {
                let truth = epsilon.exp() / (1.0 + epsilon.exp());
                let best = delta + (1.0 - delta) * truth;
                let bound = right_at_most(epsilon, delta);
                assert!(bound >= best && bound < best + 1e-12, "{epsilon} {delta}: {bound} {best}");
            }
        }
        assert_eq!(right_at_most(f64::INFINITY, 1e-6), 1.0);
    }
}
