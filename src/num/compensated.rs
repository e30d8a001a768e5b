/// A sum with its rounding errors added back (Neumaier 1974).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    /// Adds a term.
    pub(crate) fn add(&mut self, term: f64) {
        let next: f64 = self.sum + term;
        let of_both = if self.sum.abs() >= term.abs() { (self.sum - next) + term } else { (term - next) + self.sum };
        self.lost += of_both;
        self.sum = next;
    }

    /// The sum so far.
    pub(crate) fn value(&self) -> f64 {
        self.sum + self.lost
    }
}

/// The sum of all terms, by [`Compensated`].
pub(crate) fn compensated(terms: impl Iterator<Item = f64>) -> f64 {
    let mut sum = Compensated::default();
    terms.for_each(|term| sum.add(term));
    sum.value()
}

/// The larger of two numbers; not a number where one of them is not, unlike [`f64::max`].
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}
