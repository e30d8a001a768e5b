//! What an experiment found, and whether that is what it claimed.

use std::fmt::Write as _;
use std::path::Path;

use rhograd::error::{Error, Fallible};

use crate::fit::PowerLaw;
use crate::results::cell;

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
}

impl Finding {
    /// An estimate and half the width of its confidence interval.
    pub fn new(quantity: impl Into<String>, estimate: f64, half_width: f64, claimed: (f64, f64)) -> Self {
        let interval = (estimate - half_width, estimate + half_width);
        Finding { quantity: quantity.into(), estimate, interval, claimed }
    }

    /// A fitted exponent.
    pub fn slope(quantity: impl Into<String>, law: &PowerLaw, claimed: (f64, f64)) -> Self {
        Finding { quantity: quantity.into(), estimate: law.slope, interval: law.interval, claimed }
    }

    /// Whether the estimate is where the claim says; what could not be measured is not.
    pub fn held(&self) -> bool {
        self.estimate >= self.claimed.0 && self.estimate <= self.claimed.1
    }
}

/// All findings of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict(pub Vec<Finding>);

impl Verdict {
    /// Whether there is something, and all of it is as claimed.
    pub fn held(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(Finding::held)
    }

    /// The findings and the word, for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.0 {
            let Finding { quantity, estimate, interval, claimed } = finding;
            let word = if finding.held() { "held" } else { "NOT held" };
            let _ = writeln!(
                text,
                "{word:8}  {quantity}: {estimate:.4} [{:.4}, {:.4}], claimed in [{}, {}]",
                interval.0, interval.1, claimed.0, claimed.1
            );
        }
        text.push_str(if self.held() { "claim: held\n" } else { "claim: NOT held\n" });
        text
    }

    /// Writes the findings as CSV.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Fallible<()> {
        let failed = |e: csv::Error| Error::numerical("fits", e.to_string());
        let mut writer = csv::Writer::from_path(path).map_err(failed)?;
        let header = ["quantity", "estimate", "lower_95", "upper_95", "claimed_from", "claimed_to", "held"];
        writer.write_record(header).map_err(failed)?;
        for finding in &self.0 {
            let (low, high) = finding.interval;
            let numbers = [finding.estimate, low, high, finding.claimed.0, finding.claimed.1].map(cell);
            let held = finding.held().to_string();
            let cells = [&finding.quantity].into_iter().chain(&numbers).chain([&held]);
            writer.write_record(cells).map_err(failed)?;
        }
        writer.flush().map_err(|e| Error::io(path, "write it", e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_does_not_hold() {
        let finding = |estimate| Finding::new("x", estimate, 0.1, (-1.0, 1.0));
        assert!(Verdict(vec![finding(0.5)]).held());
        assert!(!Verdict(vec![finding(0.5), finding(1.5)]).held());
        assert!(!Verdict(vec![finding(f64::NAN)]).held());
        assert!(!Verdict::default().held());
        assert!(Verdict(vec![finding(2.0)]).text().contains("NOT held"));
    }
}
