//! An answer between two certified bounds.

/// Certified bounds: `lower <= truth <= upper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Never above the truth.
    pub lower: f64,
    /// Never below the truth.
    pub upper: f64,
}

impl Interval {
    /// `upper - lower`; 0 when both are the same infinity.
    pub fn width(&self) -> f64 {
        if self.lower == self.upper { 0.0 } else { self.upper - self.lower }
    }

    /// Whether a value lies between the bounds, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }

    /// The interval of the larger of two quantities.
    pub(super) fn larger(self, other: Self) -> Self {
        Interval { lower: self.lower.max(other.lower), upper: self.upper.max(other.upper) }
    }

    /// Replaces what is not a number by the bound that says nothing.
    pub(super) fn checked(self, least: f64, most: f64) -> Self {
        let lower = if self.lower.is_nan() { least } else { self.lower.max(least) };
        let upper = if self.upper.is_nan() { most } else { self.upper.min(most) };
        Interval { lower: lower.min(upper), upper }
    }
}
