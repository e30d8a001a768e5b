//! A law of a likelihood ratio on points.

use crate::num::logs::LnSum;

/// A law of the ratio under Q on points: masses with the logarithms of their ratios.
#[derive(Debug)]
pub(in crate::accounting) struct Points {
    pub(in crate::accounting) points: Vec<(f64, f64)>,
    /// Probabilities of what was left out, under P and under Q.
    pub(in crate::accounting) lost: (f64, f64),
    /// Bounds on the relative errors of masses and of ratios.
    pub(in crate::accounting) errors: (f64, f64),
}

impl Points {
    /// `ln E_Q[R^power]`.
    pub(super) fn ln_moment(&self, power: f64) -> f64 {
        let mut sum = LnSum::default();
        self.points.iter().filter(|it| it.0 > 0.0).for_each(|(mass, ratio)| sum.add(mass.ln() + power * ratio));
        sum.value()
    }
}
