//! What an experiment found, and whether that is what it claimed.

use std::fmt::Write as _;
use std::path::Path;

use rhograd::error::{Error, Fallible};

use crate::fit::{PowerLaw, share_interval};
use crate::results::cell;

/// What the table says of a number without randomness.
pub const EXACT: &str = "exact";

/// One number that a claim is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is.
    pub quantity: String,
    /// Its measured value.
    pub estimate: f64,
    /// The confidence interval of the estimate.
    pub interval: (f64, f64),
    /// Where the claim says that the estimate lies.
    pub claimed: (f64, f64),
    /// Whether nothing was drawn for it: a formula was computed.
    pub exact: bool,
}

impl Finding {
    /// An estimate and half the width of its confidence interval.
    pub fn new(quantity: impl Into<String>, estimate: f64, half_width: f64, claimed: (f64, f64)) -> Self {
        let interval = (estimate - half_width, estimate + half_width);
        Finding { quantity: quantity.into(), estimate, interval, claimed, exact: false }
    }

    /// An estimate and its confidence interval.
    pub fn between(quantity: impl Into<String>, estimate: f64, interval: (f64, f64), claimed: (f64, f64)) -> Self {
        Finding { quantity: quantity.into(), estimate, interval, claimed, exact: false }
    }

    /// A share of independent trials, with the exact interval of its probability.
    pub fn share(quantity: impl Into<String>, successes: u64, trials: u64, claimed: (f64, f64)) -> Self {
        let share = successes as f64 / trials as f64;
        Finding::between(quantity, share, share_interval(successes, trials), claimed)
    }

    /// A number without randomness, which may be infinite.
    pub fn exact(quantity: impl Into<String>, value: f64, claimed: (f64, f64)) -> Self {
        Finding { quantity: quantity.into(), estimate: value, interval: (value, value), claimed, exact: true }
    }

    /// A fitted exponent, whose quantity says over which range it was fitted.
    pub fn slope(quantity: impl std::fmt::Display, law: &PowerLaw, claimed: (f64, f64)) -> Self {
        Finding::between(swept(quantity, law), law.slope, law.interval, claimed)
    }

    /// The exponent of numbers without randomness: how they scatter about the line says nothing about chance.
    pub fn exact_slope(quantity: impl std::fmt::Display, law: &PowerLaw, claimed: (f64, f64)) -> Self {
        Finding::exact(swept(quantity, law), law.slope, claimed)
    }

    /// What the whole interval says about the claim; what could not be measured fails, and an interval that is not known
    /// leaves it undecided.
    pub fn outcome(&self) -> Outcome {
        let ((low, high), (from, to)) = (self.interval, self.claimed);
        if low >= from && high <= to {
            Outcome::Held
        } else if self.estimate.is_nan() || high < from || low > to {
            Outcome::Failed
        } else {
            Outcome::Undecided
        }
    }

    /// How many times as many independent measurements an undecided finding wants, if its estimate stays where it is: an
    /// interval shrinks with the root of their number, until it ends where the claim does; that of a share of none or all with the number itself.
    pub fn more(&self) -> Option<f64> {
        let ((low, high), estimate) = (self.interval, self.estimate);
        let ends = [self.claimed.0, self.claimed.1].into_iter().filter(|end| (low..=high).contains(end));
        let ratios = ends.filter(|end| *end != low && *end != high).map(|end| {
            let side = if end > estimate { high - estimate } else { estimate - low };
            side / (end - estimate).abs()
        });
        let ratio = ratios.fold(0.0, f64::max);
        let factor = if estimate == low || estimate == high { ratio } else { ratio * ratio };
        (self.outcome() == Outcome::Undecided && factor.is_finite() && factor > 0.0).then_some(factor)
    }

    /// Whether the estimate alone lies where the claim says; decides nothing, but an error that was planted must move it.
    pub fn is_near(&self) -> bool {
        self.estimate >= self.claimed.0 && self.estimate <= self.claimed.1
    }
}

/// A quantity and the range over which it was fitted.
fn swept(quantity: impl std::fmt::Display, law: &PowerLaw) -> String {
    format!("{quantity}, from {} to {}", short(law.swept.0), short(law.swept.1))
}

/// A number with five digits.
fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    if (1e-3..1e6).contains(&rounded) { rounded.to_string() } else { format!("{rounded:e}") }
}

/// What was found about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The whole interval lies in the claimed range.
    Held,
    /// Part of the interval does: more measurements could show either.
    Undecided,
    /// None of it does.
    Failed,
}

impl Outcome {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Held => "held",
            Outcome::Undecided => "undecided",
            Outcome::Failed => "NOT held",
        }
    }
}

/// All findings of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict(pub Vec<Finding>);

impl Verdict {
    /// The worst outcome of all findings; a run that found nothing failed.
    pub fn outcome(&self) -> Outcome {
        self.0.iter().map(Finding::outcome).max().unwrap_or(Outcome::Failed)
    }

    /// Whether there is something, and every estimate lies where the claim says.
    pub fn is_near(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(Finding::is_near)
    }

    /// The findings and the word, for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.0 {
            let Finding { quantity, estimate, interval, claimed, exact } = finding;
            let word = finding.outcome().word();
            let measured = match interval {
                _ if *exact => "exact".to_owned(),
                (low, high) if low == high => "without an interval".to_owned(),
                (low, high) => format!("[{low:.4}, {high:.4}]"),
            };
            let more = match finding.more() {
                Some(factor) => format!("; about {factor:.1} times as many measurements would decide"),
                None => String::new(),
            };
            let (from, to) = claimed;
            let _ = writeln!(text, "{word:9}  {quantity}: {estimate:.4} {measured}, claimed in [{from}, {to}]{more}");
        }
        let _ = writeln!(text, "claim: {}", self.outcome().word());
        text
    }

    /// Writes the findings as CSV; the second column says whether a number is exact or has a 95% interval.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Fallible<()> {
        let failed = |e: csv::Error| Error::numerical("fits", e.to_string());
        let mut writer = csv::Writer::from_path(path).map_err(failed)?;
        let header =
            ["quantity", "interval", "estimate", "lower_95", "upper_95", "claimed_from", "claimed_to", "verdict"];
        writer.write_record(header).map_err(failed)?;
        for finding in &self.0 {
            let (low, high) = finding.interval;
            let numbers = [finding.estimate, low, high, finding.claimed.0, finding.claimed.1].map(cell);
            let verdict = finding.outcome().word().to_owned();
            let interval = if finding.exact { EXACT } else { "95%" }.to_owned();
            let cells = [&finding.quantity, &interval].into_iter().chain(&numbers).chain([&verdict]);
            writer.write_record(cells).map_err(failed)?;
        }
        writer.flush().map_err(|e| Error::io(path, "write it", e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(estimate: f64) -> Finding {
        Finding::new("x", estimate, 0.1, (-1.0, 1.0))
    }

    #[test]
    fn the_whole_interval_decides() {
        let outcome = |estimate| finding(estimate).outcome();
        assert_eq!([0.5, 0.9, -0.9].map(outcome), [Outcome::Held; 3]);
        // Whether the estimate lies within or without, the interval says that it is not known.
        assert_eq!([0.95, 1.0, 1.05, -0.95, -1.05].map(outcome), [Outcome::Undecided; 5]);
        assert_eq!([1.2, -7.0, f64::NAN, f64::INFINITY].map(outcome), [Outcome::Failed; 4]);
        // Too wide to say anything, and exact.
        assert_eq!(Finding::new("x", 0.0, 5.0, (-1.0, 1.0)).outcome(), Outcome::Undecided);
        assert_eq!(Finding::new("x", 1.0, 0.0, (-1.0, 1.0)).outcome(), Outcome::Held);
        assert_eq!(Finding::new("x", 0.0, f64::NAN, (-1.0, 1.0)).outcome(), Outcome::Undecided);
        assert_eq!(Finding::new("x", 5.0, 1.0, (1.0, f64::INFINITY)).outcome(), Outcome::Held);
    }

    #[test]
    fn what_is_undecided_says_how_much_more_would_decide() {
        // An interval of 0.1 on either side with 0.05 of room: half as wide, with four times the measurements.
        assert!(
            (finding(0.95).more().unwrap() - 4.0).abs() < 1e-9 && (finding(1.05).more().unwrap() - 4.0).abs() < 1e-9
        );
        assert!([0.5, 1.0, 2.0, f64::NAN].iter().all(|&estimate| finding(estimate).more().is_none()));
        let text = Verdict(vec![finding(0.95), Finding::exact("y", 0.5, (0.0, 1.0))]).text();
        assert!(
            text.contains("about 4.0 times as many measurements") && text.contains("y: 0.5000 exact, claimed"),
            "{text}"
        );
    }

    #[test]
    fn a_share_is_judged_by_its_exact_interval() {
        // No alarm in 8,000 attacks does not show a rate below 2e-4, and all of 20 do not show nine of ten.
        let none = Finding::share("x", 0, 8_000, (0.0, 2e-4));
        assert!(none.outcome() == Outcome::Undecided && (2.0..2.6).contains(&none.more().unwrap()), "{none:?}");
        assert_eq!(Finding::share("x", 0, 19_000, (0.0, 2e-4)).outcome(), Outcome::Held);
        let all = Finding::share("x", 20, 20, (0.9, 1.0));
        assert!(all.outcome() == Outcome::Undecided && (1.6..1.9).contains(&all.more().unwrap()), "{all:?}");
        assert_eq!(Finding::share("x", 36, 36, (0.9, 1.0)).outcome(), Outcome::Held);
        assert_eq!(Finding::share("x", 0, 20, (0.0, 0.0)).outcome(), Outcome::Undecided);
        assert_eq!(Finding::share("x", 100, 100, (0.0, 1e-4)).outcome(), Outcome::Failed);
        let nothing = Finding::share("x", 0, 0, (0.0, 0.5));
        assert!(nothing.estimate.is_nan() && nothing.outcome() == Outcome::Failed);
    }

    #[test]
    fn the_table_says_what_is_exact() {
        let folder = tempfile::tempdir().unwrap();
        let law = PowerLaw::fit(&[(1.0, 1.0), (2.0, 2.5), (4.0, 4.0)]).unwrap();
        let verdict = Verdict(vec![finding(0.5), Finding::exact_slope("y", &law, (0.5, 1.5))]);
        verdict.write(&folder.path().join("fits.csv")).unwrap();
        let text = std::fs::read_to_string(folder.path().join("fits.csv")).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("quantity,interval,estimate,lower_95,upper_95,"), "{text}");
        assert!(lines[1].starts_with("x,95%,0.5,0.4,0.6,") && lines[2].contains(",exact,1,1,1,"), "{text}");
    }

    #[test]
    fn a_fitted_exponent_says_over_which_range() {
        let law = PowerLaw::fit(&[(1.0 / 3.0, 1.0), (1e3, 2.0), (1_048_576.0, 3.0)]).unwrap();
        assert_eq!(
            Finding::slope("exponent of n", &law, (0.0, 1.0)).quantity,
            "exponent of n, from 0.33333 to 1.0486e6"
        );
    }

    #[test]
    fn a_verdict_is_that_of_its_worst_finding() {
        let of = |estimates: &[f64]| Verdict(estimates.iter().copied().map(finding).collect());
        for (estimates, outcome) in [
            (&[0.5, 0.2][..], Outcome::Held),
            (&[0.5, 0.95], Outcome::Undecided),
            (&[0.5, 0.95, 1.5], Outcome::Failed),
            (&[f64::NAN], Outcome::Failed),
            (&[], Outcome::Failed),
        ] {
            let verdict = of(estimates);
            assert_eq!(verdict.outcome(), outcome, "{estimates:?}");
            assert!(verdict.text().ends_with(&format!("claim: {}\n", outcome.word())));
        }
        assert!(of(&[0.5, 0.95]).is_near() && !of(&[0.5, 1.05]).is_near() && !of(&[]).is_near());
    }
}
