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
    /// With this probability the other law, else this one, and which of both is seen: the choice has the same law under P and under Q.
    pub(super) fn or(self, probability: f64, other: Points) -> Points {
        let most = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.max(b.1));
        let (mut lost, errors) = (most(self.lost, other.lost), most(self.errors, other.errors));
        let mut points = Vec::with_capacity(self.points.len() + other.points.len());
        for (law, weight) in [(self, 1.0 - probability), (other, probability)] {
            for (mass, ratio) in law.points.into_iter().filter(|it| it.0 > 0.0 && weight > 0.0) {
                if mass * weight > f64::MIN_POSITIVE {
                    points.push((mass * weight, ratio));
                } else {
                    // Next to none under Q, and maybe not under P.
                    lost.0 += weight * (mass.ln() + ratio).exp() + f64::MIN_POSITIVE;
                    lost.1 += 2.0 * f64::MIN_POSITIVE;
                }
            }
        }
        let lost = (lost.0 * (1.0 + 1e-9), lost.1 * (1.0 + 1e-9));
        Points { points, lost, errors: (errors.0 + 4.0 * f64::EPSILON, errors.1) }
    }

    /// `ln E_Q[R^power]`.
    pub(super) fn ln_moment(&self, power: f64) -> f64 {
        let mut sum = LnSum::default();
        self.points.iter().filter(|it| it.0 > 0.0).for_each(|(mass, ratio)| sum.add(mass.ln() + power * ratio));
        sum.value()
    }
}
